"""PyTorch's own test cases for these operators (its OpInfo database) with enable() on."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
invocations = pytest.importorskip(
    "torch.testing._internal.common_methods_invocations", exc_type=ImportError
)

import portacl.torch as pt  # noqa: E402

NAMES = {
    ("nn.functional.grid_sample", ""),
    ("grid_sampler_2d", ""),
    ("grid_sampler_3d", ""),
    ("nn.functional.interpolate", "nearest-exact"),
}
OPS = [op for op in invocations.op_db if (op.name, op.variant_test_name) in NAMES]
IDS = [f"{op.name}.{op.variant_test_name}".rstrip(".") for op in OPS]

TOLERANCE = {torch.float32: dict(rtol=2e-5, atol=1e-4), torch.float64: dict(rtol=1e-7, atol=1e-7)}


def leaves_of(sample):
    values = (sample.input, *sample.args, *sample.kwargs.values())
    return [v for v in values if isinstance(v, torch.Tensor) and v.requires_grad]


def gradients(op, sample):
    result = op(sample.input, *sample.args, **sample.kwargs)
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(result.shape, generator=generator).to(result.dtype)
    return torch.autograd.grad(result, leaves_of(sample), weights, allow_unused=True)


def test_database_has_the_operators():
    assert {(op.name, op.variant_test_name) for op in OPS} == NAMES


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("op", OPS, ids=IDS)
def test_same_gradients(op, dtype):
    count = 0
    for sample in op.sample_inputs("cpu", dtype, requires_grad=True):
        wanted = gradients(op, sample)
        with pt.accelerated():
            got = gradients(op, sample)
        for a, b in zip(got, wanted):
            if "interpolate" in op.name:
                assert torch.equal(a, b)
            # float32 sums in another order; grid gradients are sums times half the image's width
            torch.testing.assert_close(a, b, **TOLERANCE[dtype])
            assert a.stride() == b.stride()
        count += 1
    assert count > 0


@pytest.mark.parametrize("op", OPS, ids=IDS)
def test_gradcheck(op, second_order):
    """Like PyTorch's test_fn_grad and test_fn_gradgrad, without samples that take minutes."""
    count = 0
    with pt.accelerated():
        for sample in op.sample_inputs("cpu", torch.float64, requires_grad=True):
            if sample.input.numel() > 100_000:
                continue
            count += 1
            leaves = leaves_of(sample)

            def function(*_, sample=sample):
                return op(sample.input, *sample.args, **sample.kwargs)

            assert torch.autograd.gradcheck(function, leaves, fast_mode=True)
            if second_order or "interpolate" in op.name:
                assert torch.autograd.gradgradcheck(function, leaves, fast_mode=True)
    assert count > 0
