"""Values and gradients with PyTorch's kernels and with portacl's; portacl's calls are counted."""

import torch

import portacl.torch

# Share of the largest value. Both libraries round once an operation; kornia's own arithmetic around
# the sampler multiplies the coordinates' rounding by slopes of up to a hundred pixels.
BOUND = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}


def gradients(function, *arguments):
    """`function` returns its result and the tensors whose gradients are wanted."""
    torch.manual_seed(1)
    result, leaves = function(*arguments)
    weights = torch.rand(result.shape).to(result.dtype)
    found = torch.autograd.grad(result, leaves, weights, allow_unused=True)
    return [result.detach(), *(x for x in found if x is not None)]


def compare(function, *arguments, bound=BOUND[torch.float32]):
    """The names of PyTorch's operators that portacl computed."""
    want = gradients(function, *arguments)
    with portacl.torch.accelerated(forward=True), portacl.torch.profile() as report:
        got = gradients(function, *arguments)
    assert len(got) == len(want)
    for value, wanted in zip(got, want):
        assert value.dtype == wanted.dtype
        largest = wanted.double().abs().max()
        assert largest > 0
        assert (value.double() - wanted.double()).abs().max() <= bound * largest
    assert report.taken == report.calls, report.table()
    return {row.operator for row in report.rows.values()}


def both(*names):
    """Functions with their gradients."""
    return {operator for name in names for operator in (name, f"{name}_backward")}
