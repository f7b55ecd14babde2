"""Every companion operator through torch_npu against PyTorch's CPU: types, values, layouts."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")
torch_npu = pytest.importorskip("torch_npu")

import torch.nn.functional as F  # noqa: E402, N812

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
DTYPES = (*FLOATS, *INTEGERS, torch.bool)
PAIRS = list(itertools.product(DTYPES, DTYPES))


def values(dtype, *shape, seed=1):
    """No zeros, so that everything can be divided by; both signs where the type has them."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(*shape, generator=generator) > 0.4
    if dtype.is_floating_point:
        tensor = torch.randn(*shape, generator=generator) * 3
        return torch.where(tensor.abs() < 0.1, torch.tensor(0.5), tensor).to(dtype)
    low = 1 if dtype == torch.uint8 else -50
    tensor = torch.randint(low, 50, shape, generator=generator)
    return torch.where(tensor == 0, torch.tensor(7), tensor).to(dtype)


def check(function, *tensors, exact=True, once=False):
    """Result on the device and on the CPU: the same type, shape and bits.

    once: PyTorch's CPU rounds half precision in between; the device computes in float and rounds
    once, so that is what it is compared with.
    """
    got = function(*(t.npu() for t in tensors))
    expected = function(*tensors)
    if once and expected.dtype in (torch.float16, torch.bfloat16):
        expected = function(*(t.float() for t in tensors)).to(expected.dtype)
    torch.npu.synchronize()
    assert got.device.type == "npu"
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if exact:
        assert torch.equal(got.cpu(), expected), (got.cpu(), expected)
    else:  # a rounding of the CPU's own more or less
        torch.testing.assert_close(got.cpu(), expected)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_arithmetic_of_two_tensors(pair):
    a, b = values(pair[0], 3, 1, 5), values(pair[1], 4, 5, seed=2)
    check(torch.add, a, b)
    check(torch.mul, a, b)
    if pair[1] != torch.bool:
        check(torch.div, a, b)
    if torch.bool not in pair:
        check(torch.sub, a, b)
    check(torch.ne, a, b)


@pytest.mark.parametrize("pair", list(itertools.product((*INTEGERS, torch.bool), repeat=2)), ids=str)
def test_bits_of_two_tensors(pair):
    check(torch.bitwise_and, values(pair[0], 2, 5), values(pair[1], 2, 5, seed=2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arithmetic_with_scalars(dtype):
    a = values(dtype, 4, 5)
    for scalar in (2, 0.3, True):
        check(lambda x, s=scalar: x + s, a, once=True)
        check(lambda x, s=scalar: x * s, a)
        if scalar is not True:
            check(lambda x, s=scalar: x / s, a)
        if dtype != torch.bool and scalar is not True:
            check(lambda x, s=scalar: x - s, a, once=True)
        check(lambda x, s=scalar: x != s, a)
        check(lambda x, s=scalar: x > s, a)
        check(lambda x, s=scalar: x < s, a)
    if not dtype.is_floating_point:
        check(lambda x: x & 3, a)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_in_place_arithmetic(dtype):
    def change(x, y):
        x = x.clone()
        x += y
        x *= 3
        x -= 1
        x *= y
        x += 2
        x -= y
        if dtype.is_floating_point:
            x /= y
            x /= 1.7
        return x

    check(change, values(dtype, 4, 5), values(dtype, 4, 5, seed=2))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_factors(dtype):
    a, b = values(dtype, 4, 5), values(dtype, 4, 5, seed=2)
    check(lambda x, y: torch.add(x, y, alpha=-0.3), a, b, exact=False)
    check(lambda x, y: torch.sub(x, y, alpha=0.3), a, b, exact=False)
    check(lambda x: torch.add(x, 2, alpha=3), a)
    check(lambda x: torch.sub(x, 2, alpha=3), a)
    for results in zip(
        torch._foreach_add([a.npu(), b.npu()], [b.npu(), a.npu()], alpha=2),
        torch._foreach_add([a, b], [b, a], alpha=2),
        strict=True,
    ):
        assert torch.equal(results[0].cpu(), results[1])
    for results in zip(
        torch._foreach_mul([a.npu(), b.npu()], 0.9), torch._foreach_mul([a, b], 0.9), strict=True
    ):
        assert torch.equal(results[0].cpu(), results[1])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_functions_of_one_tensor(dtype):
    a = values(dtype, 4, 5)
    check(torch.neg, a)
    check(torch.abs, a)
    check(torch.ceil, a)
    check(torch.isfinite, a)
    if dtype.is_floating_point:
        check(torch.isfinite, torch.tensor([1, float("inf"), float("nan")]).to(dtype))


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_casts_and_copies(pair):
    a = values(pair[0], 3, 4)
    if pair[0].is_floating_point and pair[1] == torch.uint8:
        a = a.abs()  # a negative number has no defined unsigned value
    check(lambda x: x.to(pair[1]), a)
    check(lambda x: torch.zeros(2, 3, 4, dtype=pair[1], device=x.device).copy_(x), a)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layouts_and_constants(dtype):
    a = values(dtype, 3, 4, 5)
    check(lambda x: x.clone(), a)
    check(lambda x: x.permute(2, 0, 1).contiguous(), a)
    check(lambda x: x[1:, ::2, 1::3].contiguous(), a)
    check(lambda x: x.expand(2, 3, 4, 5).contiguous(), a)
    check(torch.ones_like, a)
    check(torch.zeros_like, a)
    check(lambda x: torch.full_like(x, 1), a)
    check(lambda x: x.clone().fill_(1), a)
    check(lambda x: x.clone().zero_(), a)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_loss_and_its_gradient(dtype, reduction):
    a, b = values(dtype, 6, 7), values(dtype, 6, 7, seed=2)
    check(lambda x, y: F.mse_loss(x, y, reduction=reduction), a, b, exact=False, once=True)

    def gradient(x, y):
        leaf = x.clone().requires_grad_()
        F.mse_loss(leaf, y, reduction=reduction).sum().backward()
        return leaf.grad

    check(gradient, a, b, exact=False)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions(dtype):
    a = values(dtype, 5, 6, 7)
    check(lambda x: x.sum(), a, exact=not dtype.is_floating_point)
    check(lambda x: x.sum((0, 2)), a, exact=not dtype.is_floating_point)
    check(lambda x: x.sum(1, keepdim=True), a, exact=not dtype.is_floating_point)
    if dtype.is_floating_point:
        check(lambda x: x.mean(), a, exact=False)
        check(lambda x: x.mean(-1), a, exact=False)
    if dtype != torch.bool:
        check(torch.max, a)
        check(torch.min, a)
        check(torch.masked_select, a, values(torch.bool, 5, 6, 7, seed=3))


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_cat_and_stack(pair):
    a, b = values(pair[0], 3, 2, 4), values(pair[1], 3, 5, 4, seed=2)
    check(lambda x, y: torch.cat([x, y], 1), a, b)
    if pair[0] == pair[1]:
        check(lambda x, y: torch.stack([x, y[:, :2]], -1), a, b)
