"""Each program's losses on npu, step by step, against the CPU's with the same seeds."""

from __future__ import annotations

import os

import pytest
from programs import PROGRAMS

TOLERANCE = 2e-5  # relative: orders of summation, over some steps
HALF = 2e-3


@pytest.mark.parametrize("name", PROGRAMS)
def test_losses_equal_the_cpus(name):
    assert os.environ.get("PORTACL_NPU_RANDOM") == "cpu", "the numbers of the same program"
    expected = PROGRAMS[name]("cpu")
    losses = PROGRAMS[name]("npu")
    apart = max(abs(a - b) / max(1, abs(b)) for a, b in zip(losses, expected, strict=True))
    print(f"{name}: {len(losses)} values, {apart:.1e} apart at most")
    assert apart <= (HALF if "float16" in name else TOLERANCE)
