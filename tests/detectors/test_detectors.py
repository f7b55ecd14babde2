"""Whole training steps of unmodified detectors: PyTorch's losses, and portacl's bits."""

import pytest
import torch
from detectors import MODELS, train

import portacl.torch

OPERATOR = {name: "roi_align" if "rcnn" in name else "ms_deform_attn" for name in MODELS}


@pytest.fixture(autouse=True)
def _deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    portacl.torch.disable()


@pytest.mark.parametrize("name", MODELS)
def test_losses_are_pytorchs_and_runs_repeat(name):
    want, stock = train(name)
    portacl.torch.enable()
    with portacl.torch.profile() as report:
        got, weights = train(name)
    operators = {row.operator for row in report.rows.values() if not row.reason}
    wanted = OPERATOR[name]
    assert {wanted, f"{wanted}_backward"} <= operators, report.table()
    assert got == pytest.approx(want, rel=1e-5, abs=1e-5)
    assert weights != stock  # sums in another order
    assert train(name) == (got, weights)
