"""Adaptive average pooling: the bits of PyTorch's kernels, derivatives, and where PyTorch stays."""

from __future__ import annotations

import itertools
import os
import random

import numpy as np
import pytest

import portacl
from kernels import kernels
from portacl import _core

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812

import portacl.torch as pt  # noqa: E402
from portacl.torch import _override  # noqa: E402

aten = torch.ops.aten
SEED = int(os.environ.get("PORTACL_TEST_SEED", random.SystemRandom().randrange(2**32)))
FORMATS = {2: torch.channels_last, 3: torch.channels_last_3d}
FUNCTIONS = {
    2: (aten._adaptive_avg_pool2d, aten._adaptive_avg_pool2d_backward),
    3: (aten._adaptive_avg_pool3d, aten._adaptive_avg_pool3d_backward),
}


@pytest.fixture(autouse=True)
def _disabled():
    pt.disable()
    yield
    pt.disable()
    _core.set_impl("")


def cases(count):
    """Sizes 1 to 64, C 1 to 5, both layouts."""
    chosen = random.Random(SEED)
    for _ in range(count):
        axes = chosen.choice((2, 2, 3))
        most = 64 if axes == 2 else 17
        sizes = [[chosen.randint(1, chosen.choice((5, most))) for _ in range(axes)] for _ in "io"]
        if chosen.random() < 0.3:  # windows that do not overlap
            sizes[0] = [extent * chosen.randint(1, 4) for extent in sizes[1]]
        x = torch.randn(chosen.randint(1, 3), chosen.randint(1, 5), *sizes[0])
        last = chosen.random() < 0.5
        yield axes, x.contiguous(memory_format=FORMATS[axes]) if last else x, sizes[1]


def rounded_once(function, *tensors):
    """PyTorch's row-major kernel on float32, where its own in 16 bits rounds each step.

    PyTorch tells the format by the strides, and ``contiguous()`` leaves these to tensors of 1 x 1.
    """
    dtype = tensors[0].dtype
    wide = dtype if dtype in (torch.float32, torch.float64) else torch.float32
    row_major = [t.to(wide).clone(memory_format=torch.contiguous_format) for t in tensors]
    return function(*row_major).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_bits_are_those_of_pytorch(dtype):
    """Of vectors of channels PyTorch divides by a product: of 4 in float64, of 8 in float32."""
    torch.manual_seed(SEED)
    for axes, sample, size in cases(250):
        x = sample.to(dtype)
        pool, gradient = FUNCTIONS[axes]
        wanted = pool(x, size)
        g = torch.randn_like(wanted)
        wanted_gradient = gradient(g, x)
        strides = wanted.stride(), wanted_gradient.stride()
        own = axes == 2 and x.is_contiguous() and x.stride()[1] != 1
        if dtype != torch.float32 and not (own and dtype != torch.float64):
            wanted = rounded_once(lambda t: pool(t, size), x)
        if dtype != torch.float32:
            wanted_gradient = rounded_once(gradient, g, x)
        where = f"PORTACL_TEST_SEED={SEED} {list(x.shape)} {x.stride()} to {size}"
        for name in kernels():
            _core.set_impl(name)
            with pt.accelerated(forward=True):
                got, got_gradient = pool(x, size), gradient(g, x)
            assert torch.equal(got, wanted), (name, where)
            assert torch.equal(got_gradient, wanted_gradient), (name, where)
            assert (got.stride(), got_gradient.stride()) == strides, where


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_interpolate_by_area(axes):
    shape, size = (2, 3, *(7, 6, 9)[:axes]), (3, 8, 2)[:axes]
    x = torch.randn(shape)
    wanted = F.interpolate(x, size, mode="area")
    assert torch.equal(pt.interpolate(x, size, mode="area"), wanted)
    with pt.accelerated(forward=True):
        assert torch.equal(F.interpolate(x, size, mode="area"), wanted)
    pool = getattr(F, f"adaptive_avg_pool{axes}d")
    with pt.accelerated(forward=True):
        assert torch.equal(pool(x, size), wanted)
    assert portacl.adaptive_avg_pool(x.numpy(), size=size).tobytes() == wanted.numpy().tobytes()
    half = pt.interpolate(x, scale_factor=0.5, mode="area")
    assert torch.equal(half, F.interpolate(x, scale_factor=0.5, mode="area"))
    with pytest.raises(ValueError, match="neither align_corners nor antialias"):
        pt.interpolate(x, size, mode="area", antialias=True)


def exact_area(x, size):
    """Halves are rounded up."""
    out = np.empty((*x.shape[:2], *size), np.uint8)
    for o in itertools.product(*map(range, size)):
        window = tuple(
            slice(i * extent // count, -(-(i + 1) * extent // count))
            for i, extent, count in zip(o, x.shape[2:], size)
        )
        values = x[(slice(None), slice(None), *window)].reshape(*x.shape[:2], -1).astype(np.int64)
        sums, count = values.sum(-1), values.shape[-1]
        out[(slice(None), slice(None), *o)] = (2 * sums + count) // (2 * count)
    return out


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_bytes_have_the_exact_average(axes):
    generator = np.random.default_rng(SEED)
    for size in ((3, 2, 5), (1, 1, 1), (9, 8, 2)):
        shape = (2, 3, *(7, 6, 9)[:axes])
        x = generator.integers(0, 256, shape, np.uint8)
        x[0, 0] = x[0, 0] // 255  # many halves
        wanted = exact_area(x, size[:axes])
        for name in kernels():
            _core.set_impl(name)
            got = portacl.adaptive_avg_pool(x, size=size[:axes])
            assert np.array_equal(got, wanted), (name, SEED)
            out = np.empty_like(wanted)
            assert portacl.adaptive_avg_pool(x, size=size[:axes], out=out) is out
            assert np.array_equal(out, wanted)
            tensor = torch.from_numpy(x)
            got = pt.interpolate(tensor, size[:axes], mode="area")
            assert np.array_equal(got.numpy(), wanted)
    with pytest.raises(TypeError, match="grad_output has dtype uint8"):
        portacl.adaptive_avg_pool_backward(x, size=x.shape[2:])


@pytest.mark.skipif(not _override.uses_native_kernels, reason="pictures need PyTorch 2.13")
def test_pytorch_pools_bytes():
    x = torch.randint(0, 256, (1, 3, 8, 10), dtype=torch.uint8)
    with pt.accelerated(forward=True):
        row = F.interpolate(x[:, :1, :1], (1, 4), mode="area")
    assert np.array_equal(row.numpy(), exact_area(x[:, :1, :1].numpy(), (1, 4)))
    for input in (x, x.contiguous(memory_format=torch.channels_last)):
        with pytest.raises(RuntimeError):
            F.interpolate(input, (3, 4), mode="area")
        with pt.accelerated(forward=True):
            got = F.interpolate(input, (3, 4), mode="area")
        assert np.array_equal(got.numpy(), exact_area(x.numpy(), (3, 4)))


def test_derivatives():
    x = torch.randn(2, 2, 5, 7, dtype=torch.float64, requires_grad=True)
    volume = torch.randn(1, 2, 3, 5, 4, dtype=torch.float64, requires_grad=True)
    for function, input in (
        (lambda t: pt.interpolate(t, (3, 4), mode="area"), x),
        (lambda t: pt.interpolate(t, (2, 7, 3), mode="area"), volume),
    ):
        assert torch.autograd.gradcheck(function, (input,), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(function, (input,))
    with pt.accelerated(forward=True):
        pool = torch.nn.AdaptiveAvgPool2d((3, 4))
        assert torch.autograd.gradcheck(pool, (x,))
        assert torch.autograd.gradgradcheck(pool, (x,))
        assert torch.autograd.gradcheck(torch.nn.AdaptiveAvgPool3d((2, 7, 3)), (volume,))
        assert torch.autograd.gradcheck(torch.nn.AdaptiveAvgPool1d(3), (x[:, :, 0],))


def test_transposes_by_one_hot_inputs():
    for size, pooled in (((5, 7), (3, 4)), ((2, 3), (5, 4)), ((2, 3, 4), (1, 5, 3))):
        count, outputs = int(np.prod(size)), int(np.prod(pooled))
        images = np.eye(count).reshape(count, 1, *size)
        matrix = portacl.adaptive_avg_pool(images, size=pooled).reshape(count, outputs)
        grads = np.eye(outputs).reshape(outputs, 1, *pooled)
        transpose = portacl.adaptive_avg_pool_backward(grads, size=size).reshape(outputs, count)
        assert np.array_equal(matrix.T, transpose)


@pytest.mark.parametrize("shape", [(3, 8, 8), (0, 3, 8, 8), (2, 3, 8, 8)])
def test_what_is_left_to_pytorch(shape):
    x = torch.randn(shape)
    size = (0, 3) if len(shape) == 4 and shape[0] else (3, 3)
    wanted = aten._adaptive_avg_pool2d(x, size)
    with pt.accelerated(forward=True):
        assert torch.equal(aten._adaptive_avg_pool2d(x, size), wanted)
        if wanted.numel() or not shape[0]:
            assert aten._adaptive_avg_pool2d_backward(wanted, x).shape == x.shape


def test_python_kernels(python_kernels):
    for axes, x, size in cases(20):
        pool, gradient = FUNCTIONS[axes]
        wanted = pool(x, size)
        with python_kernels(), pt.accelerated(forward=True):
            got, got_gradient = pool(x, size), gradient(wanted, x)
        assert torch.equal(got, wanted) and got.stride() == wanted.stride()
        assert torch.equal(got_gradient, gradient(wanted, x))


def test_exported_graphs_keep_pytorchs_operator():
    with pt.accelerated(forward=True):
        pool = torch.nn.AdaptiveAvgPool2d((3, 4))
        program = torch.export.export(pool, (torch.randn(1, 2, 8, 9),))
    targets = {str(node.target) for node in program.graph.nodes}
    assert any("aten.adaptive_avg_pool2d" in t or "aten._adaptive_avg_pool2d" in t for t in targets)
    assert not any("portacl" in target for target in targets)


def test_compiled_functions():
    torch._dynamo.reset()
    x = torch.randn(2, 3, 9, 8, requires_grad=True)
    with pt.accelerated(forward=True):
        pool = torch.compile(lambda t: F.adaptive_avg_pool2d(t, (4, 3)).sin(), backend="aot_eager")
        got = pool(x)
        (gradient,) = torch.autograd.grad(got.sum(), x)
    wanted = F.adaptive_avg_pool2d(x, (4, 3)).sin()
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(gradient, torch.autograd.grad(wanted.sum(), x)[0])


def test_jax():
    pytest.importorskip("jax")
    import jax

    import portacl.jax as pj

    x = np.random.default_rng(SEED).standard_normal((2, 3, 5, 7)).astype(np.float32)
    pool = lambda a: pj.adaptive_avg_pool(a, size=(3, 4))  # noqa: E731
    assert np.asarray(pool(x)).tobytes() == portacl.adaptive_avg_pool(x, size=(3, 4)).tobytes()
    g = np.ones((2, 3, 3, 4), np.float32)
    (gradient,) = jax.vjp(pool, x)[1](g)
    wanted = portacl.adaptive_avg_pool_backward(g, size=(5, 7))
    assert np.asarray(gradient).tobytes() == wanted.tobytes()
