"""enable() without Python between PyTorch's dispatcher and portacl, and with it: the same calls."""

from __future__ import annotations

import contextlib
import gc
import itertools

import pytest

torch = pytest.importorskip("torch")

import portacl  # noqa: E402
import portacl.torch as pt  # noqa: E402
from portacl.torch import _kernels, _override  # noqa: E402

aten = torch.ops.aten
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]

pytestmark = pytest.mark.skipif(
    not _override.uses_native_kernels, reason="this PyTorch's stable ABI lacks functions"
)


@pytest.fixture(autouse=True)
def _disabled():
    pt.disable()
    yield
    pt.disable()


def both(python_kernels, call):
    """What a call returns without Python, and with it."""
    with pt.accelerated(forward=True):
        native = call()
    with python_kernels(), pt.accelerated(forward=True):
        return native, call()


def check_same(got, wanted):
    got, wanted = (list(r) if isinstance(r, (tuple, list)) else [r] for r in (got, wanted))
    for a, b in zip(got, wanted):
        assert (a is None) == (b is None)
        if a is not None:
            assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
            assert a.device == torch.device("cpu") and not a.requires_grad
            assert torch.equal(a, b)
    assert len(got) == len(wanted)


def random(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def layouts(t):
    yield t
    yield t.contiguous(memory_format=torch.channels_last)
    yield t.transpose(2, 3)
    yield t[:, 1:2]
    yield t[:, :, ::2, 1:]
    yield t[:1].expand(2, -1, -1, -1)
    yield t[:0]
    yield t[:, :, :1, :1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_grid_sampler(python_kernels, dtype):
    grid = (torch.rand(2, 7, 9, 2, generator=torch.Generator().manual_seed(1)) * 2.2 - 1.1).to(
        dtype
    )
    for x in layouts(random(2, 3, 12, 11, dtype=dtype)):
        points = grid[: x.shape[0]]
        grad = random(x.shape[0], x.shape[1], 7, 9, dtype=dtype, seed=2)
        for modes in ((0, 0, False), (0, 1, True), (1, 2, False), (2, 0, True)):
            check_same(*both(python_kernels, lambda: aten.grid_sampler_2d(x, points, *modes)))
            for mask in ((True, True), (False, True), (True, False), (False, False)):
                arguments = (grad, x, points, *modes, mask)
                check_same(*both(python_kernels, lambda: aten.grid_sampler_2d_backward(*arguments)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_nearest_exact(python_kernels, dtype):
    for grad in layouts(random(2, 3, 9, 14, dtype=dtype)):
        n, c, oh, ow = grad.shape
        for size in ((5, 7), (oh, ow), (20, 3)):
            for scales in ((None, None), (1.75, None), (1.75, 2.0)):
                arguments = (grad, (oh, ow), (n, c, *size), *scales)
                resize = aten._upsample_nearest_exact2d_backward
                check_same(*both(python_kernels, lambda: resize(*arguments)))
        line = grad[:, :, 0]
        for scale in (None, 2.8):
            arguments = (line, (ow,), (n, c, 5), scale)
            check_same(
                *both(python_kernels, lambda: aten._upsample_nearest_exact1d_backward(*arguments))
            )


def test_no_python_runs(monkeypatch):
    def fail(*_):
        raise AssertionError

    for name in ("empty", "empty_like"):  # with which every kernel in Python begins
        monkeypatch.setattr(_kernels, name, fail)
    x, grid = random(1, 2, 5, 6), torch.rand(1, 3, 4, 2)
    with pt.accelerated(forward=True):
        aten.grid_sampler_2d(x, grid, 0, 0, False)
        aten.grid_sampler_2d_backward(x[..., :3, :4], x, grid, 0, 0, False, (True, True))
        aten._upsample_nearest_exact2d_backward(x, (5, 6), (1, 2, 3, 3))
        aten._upsample_nearest_exact1d_backward(x[0], (6,), (2, 5, 3))
        volume = x[:, :, None]
        aten.grid_sampler_3d(volume, torch.rand(1, 2, 3, 4, 3), 0, 0, False)
        aten.grid_sampler_3d_backward(
            x[:, :, None, :3, :4], volume, torch.rand(1, 1, 3, 4, 3), 0, 0, False, (True, True)
        )
        aten._upsample_nearest_exact3d_backward(volume, (1, 5, 6), (1, 2, 1, 3, 3))


@pytest.mark.usefixtures("empty_pool")
def test_large_results_come_from_the_pool():
    x = random(1, 4, 300, 400)
    grid = torch.rand(1, 300, 400, 2) * 2 - 1
    with pt.accelerated(forward=True):
        y = aten.grid_sampler_2d(x, grid, 0, 0, False)
        grads = aten.grid_sampler_2d_backward(y, x, grid, 0, 0, False, (True, True))
        copy = grads[0].clone()
        kept = grads[0].view(-1)  # shares the memory
        del grads
        again = aten.grid_sampler_2d_backward(y, x, grid, 0, 0, False, (True, True))
        assert torch.equal(kept, copy.view(-1)) and kept.data_ptr() != again[0].data_ptr()
        del y, kept, again
    gc.collect()
    assert portacl.info()["result_pool"]["kept_bytes"] >= 3 * x.numel() * x.element_size()


def test_unwanted_grid_grad_is_zero():
    x, grid = random(1, 1, 5, 6), torch.rand(1, 300, 400, 2)
    with pt.accelerated():
        _, grid_grad = aten.grid_sampler_2d_backward(
            torch.ones(1, 1, 300, 400), x, grid, 0, 0, False, (True, False)
        )
    assert grid_grad.shape == grid.shape and not grid_grad.any()


def test_nan_in_the_grid():
    x, grid = random(1, 1, 5, 6), torch.rand(1, 3, 4, 2)
    grid[0, 1, 1, 0] = torch.nan
    with pt.accelerated():
        x_grad, grid_grad = aten.grid_sampler_2d_backward(
            torch.ones(1, 1, 3, 4), x, grid, 0, 1, False, (True, True)
        )
    assert x_grad.isfinite().all()
    assert grid_grad.isnan().sum() == 2


def test_errors(python_kernels):
    x, grid = random(1, 1, 5, 6), torch.rand(1, 3, 4, 2)
    wrong = (
        (lambda: aten.grid_sampler_2d(x, grid.double(), 0, 0, False), "dtype"),
        (lambda: aten.grid_sampler_2d(x, grid[..., :1], 0, 0, False), "grid"),
        (lambda: aten.grid_sampler_2d(x, grid, 3, 0, False), "interpolation"),
        (
            lambda: aten._upsample_nearest_exact2d_backward(x, (4, 6), (1, 1, 3, 3)),
            "grad_output has shape",
        ),
        (
            lambda: aten._upsample_nearest_exact2d_backward(x, (5, 6), (1, 1, 3, -3)),
            "negative extent",
        ),
    )
    for way in (contextlib.nullcontext, python_kernels):
        for call, words in wrong:
            with way(), pt.accelerated(forward=True), pytest.raises(RuntimeError, match=words):
                call()
    with pt.accelerated(forward=True):  # and all is well after them
        assert aten.grid_sampler_2d(x, grid, 0, 0, False).shape == (1, 1, 3, 4)
        # A kept plan serves no call but its own, however far its numbers are from that.
        for padding in (-(2**31), 2**30, 2**31 - 1):
            with pytest.raises(RuntimeError, match="padding"):
                aten.grid_sampler_2d(x, grid, 0, padding, False)


@pytest.mark.parametrize("sizes", [((4,) * 9, (1, 1, 2, 2)), ((4, 4), (1,) * 9), ((4,) * 8, (2,))])
def test_lists_of_sizes_are_no_longer_than_tensors_have_axes(sizes):
    with pt.accelerated(), pytest.raises(RuntimeError, match="a list has 9 numbers|ask for"):
        aten._upsample_nearest_exact2d_backward(torch.ones(1, 1, 4, 4), *sizes)


def test_an_unloaded_library_is_refused():
    assert portacl._core.find_torch("/nowhere/libtorch_cpu.so").endswith("is not loaded")
    assert portacl._core.find_torch("libc.so.6") == "PyTorch is older than 2.13"


def test_stock_kernels_are_behind_those_that_stand_aside():
    """All operators: values, memory formats and words are the same as before a block."""

    def calls():
        torch.manual_seed(0)
        for axes, dtype in itertools.product((2, 3), DTYPES):
            x = torch.randn(2, 3, *(7, 8, 9)[:axes], dtype=dtype)
            grid = torch.rand(2, *(5, 6, 4)[:axes], axes).to(dtype) * 2.4 - 1.2
            grad = torch.randn(2, 3, *grid.shape[1:-1], dtype=dtype)
            for modes in ((0, 0, False), (1, 1, True), (0, 2, True)):
                yield [getattr(aten, f"grid_sampler_{axes}d")(x, grid, *modes)]
                backward = getattr(aten, f"grid_sampler_{axes}d_backward")
                for mask in ((True, True), (False, True)):
                    yield backward(grad, x, grid, *modes, mask)
        for axes, last in itertools.product((1, 2, 3), (False, True)):
            small, large = (5, 6, 4)[:axes], (9, 8, 7)[:axes]
            memory_format = torch.channels_last if last and axes == 2 else torch.contiguous_format
            for scales in ((None,) * axes, (1.7,) * axes):
                x = torch.randn(2, 3, *small).to(memory_format=memory_format)
                grad = torch.randn(2, 3, *large).to(memory_format=memory_format)
                operator = getattr(aten, f"_upsample_nearest_exact{axes}d")
                yield [operator(x, large, *scales)]
                backward = getattr(aten, f"_upsample_nearest_exact{axes}d_backward")
                yield [backward(grad, large, x.shape, *scales)]
        for wrong in (
            lambda: aten.grid_sampler_2d(x, x, 0, 0, False),
            lambda: aten.grid_sampler_3d(x.int(), x.int()[..., :3], 0, 0, False),
            lambda: aten.grid_sampler_2d_backward(*[x[0].int()] * 3, 0, 0, False, (True, True)),
            lambda: aten._upsample_nearest_exact2d_backward(x[:, :, 0], (5, 6), (2, 3, 3, 3)),
        ):
            with pytest.raises(RuntimeError) as error:
                wrong()
            yield [type(error.value).__name__, *str(error.value).splitlines()[:1]]

    assert _override._stands_aside
    before = list(calls())
    with pt.accelerated(forward=True):
        calls_inside = list(calls())
    after = list(calls())
    for wanted, got in zip(before, after):
        if isinstance(wanted[0], str):
            assert got == wanted
        else:
            check_same(got, wanted)
    # Bilinear values differ in their last bits: calls inside the block ran another kernel.
    assert not all(torch.equal(a[0], b[0]) for a, b in zip(before[:12], calls_inside[:12]))
