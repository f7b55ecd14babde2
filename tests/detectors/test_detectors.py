"""Whole training steps of unmodified detectors: PyTorch's losses, and portacl's bits."""

import importlib
import pathlib
import re

import pytest
import torch
import transformers
from detectors import MODELS, train

import portacl.torch
from portacl.torch import _attention

OPERATOR = {name: "roi_align" if "rcnn" in name else "ms_deform_attn" for name in MODELS}


@pytest.fixture(autouse=True)
def _deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    portacl.torch.disable()


_DEFINES = re.compile(
    r"^(class MultiScaleDeformableAttention\b|def multi_scale_deformable_attention(_v2)?\b)", re.M
)


def test_every_model_of_transformers_that_has_the_formula_is_served():
    folder = pathlib.Path(transformers.__file__).parent / "models"
    found = [f for f in sorted(folder.glob("*/modeling_*.py")) if _DEFINES.search(f.read_text())]
    names = {file.parent.name for file in found}
    assert {"deformable_detr", "rt_detr", "rt_detr_v2", "d_fine", "grounding_dino"} <= names
    assert {"mask2former", "oneformer"} <= names
    portacl.torch.enable()
    not_served = []
    for file in found:
        module = importlib.import_module(f"transformers.models.{file.parent.name}.{file.stem}")
        for match in _DEFINES.finditer(file.read_text()):
            item = getattr(module, match[1].split()[1])
            function = item.forward if isinstance(item, type) else item
            if function.__code__.co_filename != _attention.__file__:
                not_served.append(f"{module.__name__}: {match[1]}")
    assert not not_served


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
