"""Whether two peers computed the same, so that nothing wrong is timed.

nearest-exact: equal bits (peers may sum in another order). Grid sampler: within a tolerance. It is
wide enough for another order of sums and other last bits of the coordinates. It is far too narrow
for a wrong tap or weight. (The tests check the operators, with bounds per element.)
"""

from __future__ import annotations

import dataclasses

import torch

from . import peers
from .cases import Case
from .data import Problem

EPSILON = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7, "float64": 2.0**-52}
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def reference(problem: Problem) -> peers.Outputs:
    """PyTorch's result. Grid sampler on 16-bit types: computed in float from the same values."""
    case = problem.case
    if not case.is_grid or case.item_size > 2:
        return _torch(problem)
    assert problem.input is not None and problem.grid is not None
    wide = Problem(
        dataclasses.replace(case, dtype="float32"),
        problem.grad_output.float(),
        problem.input.float(),
        problem.grid.float(),
    )
    return _torch(wide)


def _torch(problem: Problem) -> peers.Outputs:
    outputs = peers.Torch().prepare(problem).outputs
    assert outputs is not None
    return outputs()


def compare(case: Case, results: peers.Outputs, expected: peers.Outputs, exact: bool) -> str:
    """ "bits", "tolerance" or "differs: ..."."""
    verdicts = [
        _compare(case, result, wanted, exact)
        for result, wanted in zip(results, expected)
        if result is not None and wanted is not None
    ]
    return max(verdicts, key=lambda v: (v.startswith("differs"), v == "tolerance"), default="bits")


def _compare(case: Case, result: torch.Tensor, expected: torch.Tensor, exact: bool) -> str:
    if result.shape != expected.shape:
        return f"differs: shape {tuple(result.shape)}"
    if result.dtype == expected.dtype and _same_bits(result, expected):
        return "bits"
    if not torch.isfinite(result).all():
        return "differs: not finite"
    largest, mean = _distance(result, expected)
    bound = _bound(case, exact)
    if largest <= bound and mean <= bound / 2:
        return "tolerance"
    return f"differs: max {largest:.1e}, mean {mean:.1e} (relative), allowed {bound:.1e}"


def _bound(case: Case, exact: bool) -> float:
    """Largest difference that is let pass, relative to the largest value."""
    rounding = 2 * EPSILON[case.dtype]
    if not case.is_grid:
        return 0.0 if exact else rounding
    coordinates = 1e-10 if case.dtype == "float64" else 4 * 2.0**-23 * max(256, *case.input[2:])
    return coordinates + rounding


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    kind = _BITS[a.element_size()]
    return bool(torch.equal(a.contiguous().view(kind), b.contiguous().view(kind)))


def _distance(a: torch.Tensor, b: torch.Tensor) -> tuple[float, float]:
    """Largest and mean difference, relative to the largest and the mean value."""
    difference = (a.double() - b.double()).abs_()
    size = b.double().abs()  # not in place: b may be double itself
    largest, mean = float(size.max()), float(size.mean())
    if largest == 0.0:
        return (0.0 if float(difference.max()) == 0.0 else float("inf"),) * 2
    return float(difference.max()) / largest, float(difference.mean()) / mean
