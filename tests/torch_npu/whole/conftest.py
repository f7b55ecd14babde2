"""Tests of routed operators: skipped where the process does not route."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3] / "python" / "tests"))

torch = pytest.importorskip("torch")
pytest.importorskip("torch_npu")


@pytest.fixture(autouse=True)
def _routed():
    torch.zeros(1, device="npu")  # the device's first use brings the package in
    if "portacl_npu" not in sys.modules or not sys.modules["portacl_npu"].enabled():
        pytest.skip("PORTACL_NPU=0, or no package portacl_npu")
    torch.manual_seed(0)
