"""portacl.torch on volumes: its own functions, and enable() under PyTorch's."""

from __future__ import annotations

import contextlib
import itertools

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812

import portacl.torch as pt  # noqa: E402
from portacl.torch import _override  # noqa: E402

aten = torch.ops.aten
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
PADDINGS = ("zeros", "border", "reflection")
MODES = list(itertools.product(("bilinear", "nearest", "bicubic"), PADDINGS, (False, True)))


@pytest.fixture(autouse=True)
def _disabled():
    pt.disable()
    yield
    pt.disable()


@pytest.fixture(params=["native", "python"])
def way(request, python_kernels):
    """Both ways from PyTorch's dispatcher to portacl."""
    if request.param == "native" and not _override.uses_native_kernels:
        pytest.skip("this PyTorch's stable ABI lacks functions")
    with python_kernels() if request.param == "python" else contextlib.nullcontext():
        yield request.param


def make(shape=(2, 3, 4, 5, 6), points=(3, 4, 2), dtype=torch.float32, grad=False):
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    grid = torch.rand((shape[0], *points, 3), generator=generator, dtype=torch.float64) * 2.4 - 1.2
    return x.requires_grad_(grad), grid.to(dtype).requires_grad_(grad)


def skip_without(mode, x, grid):
    """PyTorch has tricubic sampling since 2.15."""
    if mode == "bicubic":
        try:
            F.grid_sample(x, grid, mode, align_corners=False)
        except RuntimeError:
            pytest.skip(f"PyTorch {torch.__version__} has no tricubic sampling")


def layouts(t):
    yield t
    yield t.contiguous(memory_format=torch.channels_last_3d)
    yield t.transpose(2, 4)
    yield t[:, 1:2]
    yield t[:, :, ::2, 1:]
    yield t[:1].expand(2, -1, -1, -1, -1)
    yield t.contiguous(memory_format=torch.channels_last_3d)[:, :2, 1:]
    yield t[:1, :1]
    yield t[:, :, :1, :1, :1]


# ---- functions of portacl.torch


@pytest.mark.parametrize("mode,padding,align", MODES)
def test_grid_sample_equals_torch(mode, padding, align):
    x, grid = make(dtype=torch.float64, grad=True)
    skip_without(mode, x, grid)
    got = pt.grid_sample(x, grid, mode, padding, align)
    want = F.grid_sample(x, grid, mode, padding, align)
    torch.testing.assert_close(got, want)
    weights = torch.randn(want.shape, dtype=torch.float64)
    for a, b in zip(*(torch.autograd.grad((y * weights).sum(), (x, grid)) for y in (got, want))):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("mode,padding,align", MODES)
def test_derivatives_of_grid_sample(mode, padding, align, second_order):
    x, grid = make((1, 2, 3, 4, 3), (1, 2, 2), torch.float64, grad=True)

    def function(x, grid):
        return pt.grid_sample(x, grid, mode, padding, align)

    assert torch.autograd.gradcheck(function, (x, grid))
    if not second_order:
        pytest.skip(f"PyTorch {torch.__version__} has no second order of grid_sample")
    skip_without(mode, x, grid)
    assert torch.autograd.gradgradcheck(function, (x, grid))
    assert torch.autograd.gradgradcheck(lambda x: function(x, grid.detach()), (x,))
    assert torch.autograd.gradgradcheck(lambda grid: function(x.detach(), grid), (grid,))


def test_derivatives_of_interpolate():
    x, _ = make((1, 2, 3, 4, 2), dtype=torch.float64, grad=True)
    for size in ((5, 2, 4), (2, 9, 1)):
        assert torch.autograd.gradcheck(lambda x: pt.interpolate_nearest_exact(x, size), (x,))
        assert torch.autograd.gradgradcheck(lambda x: pt.interpolate_nearest_exact(x, size), (x,))


@pytest.mark.parametrize("arguments", [{"size": (8, 10, 9)}, {"size": 5}, {"scale_factor": 2.5}])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last_3d])
def test_interpolate_equals_torch(arguments, memory_format):
    x = make()[0].contiguous(memory_format=memory_format).requires_grad_()
    got = pt.interpolate_nearest_exact(x, **arguments)
    want = F.interpolate(x, mode="nearest-exact", **arguments)
    assert torch.equal(got, want) and got.stride() == want.stride()
    weights = torch.randn_like(want)
    a, b = (torch.autograd.grad((y * weights).sum(), x)[0] for y in (got, want))
    assert torch.equal(a, b) and a.is_contiguous(memory_format=memory_format)


BACKWARD = torch.randn(2, 3, 3, 4, 2)
CHECKS = [
    ("grid_sampler_3d", lambda x, grid: (x, grid, 0, 0, False)),
    ("grid_sampler_3d", lambda x, grid: (x, grid.detach(), 2, 1, True)),
    (
        "grid_sampler_3d_backward",
        lambda x, grid: (BACKWARD, x, grid, 0, 1, False, [True, True]),
    ),
    (
        "grid_sampler_3d_backward",
        lambda x, grid: (BACKWARD, x, grid, 1, 2, True, [False, True]),
    ),
    ("upsample_nearest_exact", lambda x, grid: (x, [9, 11, 5], None)),
    (
        "upsample_nearest_exact",
        lambda x, grid: (
            x.detach().contiguous(memory_format=torch.channels_last_3d).requires_grad_(),
            [8, 10, 12],
            [2.0, 2.0, 2.0],
        ),
    ),
    ("upsample_nearest_exact_backward", lambda x, grid: (x, [2, 3, 3, 4, 2], None)),
]


@pytest.mark.parametrize("name,arguments", CHECKS)
def test_opcheck(name, arguments, second_order):
    operator = getattr(torch.ops.portacl, name).default
    differentiable = second_order or name != "grid_sampler_3d_backward"
    torch.library.opcheck(operator, arguments(*make(grad=differentiable)))


def test_compile_and_autocast():
    def step(x, grid):
        y = pt.interpolate_nearest_exact(pt.grid_sample(x, grid, "bilinear", "border"), (9, 9, 7))
        return (y * y).sum()

    x, grid = make(grad=True)
    wanted = torch.autograd.grad(step(x, grid), (x, grid))
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    got = torch.autograd.grad(compiled(x, grid), (x, grid))
    assert all(torch.equal(a, b) for a, b in zip(got, wanted))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert pt.grid_sample(x.bfloat16(), grid).dtype == torch.float32


def test_refusals():
    x, grid = make()
    for wrong in ((x[0], grid), (x, grid[:, 0]), (x[:, :, 0], grid)):
        with pytest.raises(ValueError, match=r"or \(N, C, D, H, W\) and \(N, OD, OH, OW, 3\)"):
            pt.grid_sample(*wrong)
    with pytest.raises(ValueError, match=r"must be 3 \(x, y, z\)"):
        pt.grid_sample(x, grid[..., :2])
    with pytest.raises(ValueError, match="size is .*, but must have a value for each of 3 axes"):
        pt.interpolate_nearest_exact(x, (4, 4))


# ---- enable()


@pytest.mark.parametrize("mode,padding,align", MODES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_enabled_grid_sample(way, mode, padding, align, dtype):
    x, grid = make(dtype=dtype)
    skip_without(mode, x, grid)
    modes = (*(names.index(name) for names, name in zip(NAMES, (mode, padding))), align)
    bounds = {"rtol": 1e-5, "atol": 5e-5} if dtype == torch.float32 else {}
    for input in layouts(x):
        points = grid[: input.shape[0]]
        output = aten.grid_sampler_3d(input, points, *modes)
        grad = torch.randn_like(output)
        for mask in ((True, True), (False, True), (True, False)):
            wanted = aten.grid_sampler_3d_backward(grad, input, points, *modes, mask)
            with pt.accelerated(forward=True):
                sampled = aten.grid_sampler_3d(input, points, *modes)
                got = aten.grid_sampler_3d_backward(grad, input, points, *modes, mask)
            for a, b, asked in zip((sampled, *got), (output, *wanted), (True, *mask)):
                assert (a is None) == (b is None)
                assert a is None or (a.shape, a.stride()) == (b.shape, b.stride())
                if asked:
                    torch.testing.assert_close(a, b, **bounds)
            assert mask[1] or not got[1].any()


NAMES = (("bilinear", "nearest", "bicubic"), PADDINGS)


@pytest.mark.parametrize("dtype", DTYPES)
def test_enabled_nearest_exact_has_the_bits_of_torch(way, dtype):
    for grad in layouts(make((2, 3, 6, 9, 8), dtype=dtype)[0]):
        n, c, *out = grad.shape
        for size, scales in itertools.product(
            ((4, 5, 9), tuple(out), (1, 1, 1), (9, 3, 2)), ((None,) * 3, (1.75, None, 2.0))
        ):
            backward = (grad, out, (n, c, *size), *scales)
            forward = (grad, size, *scales)
            wanted = aten._upsample_nearest_exact3d_backward(*backward)
            resized = aten._upsample_nearest_exact3d(*forward)
            with pt.accelerated(forward=True):
                got = aten._upsample_nearest_exact3d_backward(*backward)
                own = aten._upsample_nearest_exact3d(*forward)
            for a, b in ((got, wanted), (own, resized)):
                assert torch.equal(a, b) and a.stride() == b.stride()


def test_enabled_autograd_and_compilers(way, second_order):
    x, grid = make((1, 2, 3, 4, 3), (2, 2, 2), torch.float64, grad=True)

    def step(x, grid):
        y = F.grid_sample(x, grid, align_corners=False)
        return F.interpolate(y, (3, 5, 4), mode="nearest-exact")

    with pt.accelerated(forward=True):
        assert torch.autograd.gradcheck(step, (x, grid))
        if second_order:
            assert torch.autograd.gradgradcheck(step, (x, grid))
        wanted = torch.autograd.grad(step(x, grid).sum(), (x, grid))
        compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
        got = torch.autograd.grad(compiled(x, grid).sum(), (x, grid))
    assert all(torch.equal(a, b) for a, b in zip(got, wanted))


@pytest.mark.parametrize("padding", range(3))
def test_enabled_nan_follows_the_rule(way, padding):
    x, grid = make((1, 1, 4, 5, 6), (2, 3, 4))
    grid[0, 1, 1, 1, 2] = torch.nan
    grad = torch.ones(1, 1, 2, 3, 4)
    with pt.accelerated():
        x_grad, grid_grad = aten.grid_sampler_3d_backward(
            grad, x, grid, 0, padding, False, (True, True)
        )
    assert x_grad.isfinite().all()
    assert grid_grad.isnan().nonzero().tolist() == [[0, 1, 1, 1, i] for i in range(3)]


def test_enabled_refusals(way):
    x, grid = make()
    y = torch.ones(2, 3, 3, 4, 2)
    wrong = (
        (lambda: aten.grid_sampler_3d(x, grid.double(), 0, 0, False), "dtype"),
        (lambda: aten.grid_sampler_3d(x, grid[..., :2], 0, 0, False), "grid"),
        (lambda: aten.grid_sampler_3d(x[:, :, 0], grid[:, 0], 0, 0, False), "rank"),
        (lambda: aten.grid_sampler_2d(x, grid, 0, 0, False), "rank"),
        (
            lambda: aten.grid_sampler_3d_backward(y[:1], x, grid, 0, 0, False, (True, True)),
            "grad_output",
        ),
        (
            lambda: aten._upsample_nearest_exact3d_backward(x, (4, 5, 7), (2, 3, 2, 2, 2)),
            "grad_output has shape",
        ),
        (
            lambda: aten._upsample_nearest_exact3d_backward(x, (4, 5, 6), (2, 3, 2, -2, 2)),
            "negative",
        ),
    )
    for call, words in wrong:
        with pt.accelerated(forward=True), pytest.raises(RuntimeError, match=words):
            call()


def test_bits_do_not_depend_on_threads():
    x, grid = make((1, 2, 9, 11, 13), (12, 10, 9))
    found = set()
    with pt.accelerated():
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            got = aten.grid_sampler_3d_backward(
                torch.ones(1, 2, 12, 10, 9), x, grid, 0, 1, False, (True, True)
            )
            found.add(tuple(t.numpy().tobytes() for t in got))
    assert len(found) == 1
