"""portacl.torch.grid_sample and interpolate_nearest_exact under autograd and compilers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402

import portacl.torch as pt  # noqa: E402
from portacl.torch import _library  # noqa: E402, F401  (registers torch.ops.portacl)

MODES = [
    (mode, padding, align)
    for mode in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for align in (False, True)
]


def make(shape=(2, 3, 6, 5), points=(4, 7), dtype=torch.float32, seed=0, grad=True):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator, dtype=dtype)
    grid = torch.rand((shape[0], *points, 2), generator=generator, dtype=dtype) * 2.4 - 1.2
    return x.requires_grad_(grad), grid.requires_grad_(grad)


@pytest.mark.parametrize("mode,padding,align", MODES)
def test_grid_sample_equals_torch(mode, padding, align):
    x, grid = make()
    got = pt.grid_sample(x, grid, mode, padding, align)
    want = F.grid_sample(x, grid, mode, padding, align)
    torch.testing.assert_close(got, want)
    weights = torch.randn_like(want)
    for a, b in zip(
        torch.autograd.grad((got * weights).sum(), (x, grid)),
        torch.autograd.grad((want * weights).sum(), (x, grid)),
    ):
        # Sums of terms of either sign: what float32 rounds away is a part of the largest.
        torch.testing.assert_close(a, b, rtol=0, atol=5e-6 * b.abs().max().item())


@pytest.mark.parametrize("size", [(12, 10), (9, 4), (6, 5)])
@pytest.mark.parametrize("channels_last", [False, True])
def test_interpolate_equals_torch(size, channels_last):
    x, _ = make(grad=False)
    if channels_last:
        x = x.contiguous(memory_format=torch.channels_last)
    x.requires_grad_()
    got = pt.interpolate_nearest_exact(x, size)
    want = F.interpolate(x, size, mode="nearest-exact")
    assert torch.equal(got, want) and got.stride() == want.stride()
    weights = torch.randn_like(want)
    a, b = (torch.autograd.grad((y * weights).sum(), x)[0] for y in (got, want))
    assert torch.equal(a, b) and a.stride() == b.stride()


def test_interpolate_1d_and_scale_factor():
    x = torch.randn(2, 3, 11)
    for arguments in ({"size": 25}, {"scale_factor": 2.5}, {"scale_factor": 0.4}):
        got = pt.interpolate_nearest_exact(x, **arguments)
        assert torch.equal(got, F.interpolate(x, mode="nearest-exact", **arguments))
    y = torch.randn(2, 3, 6, 5)
    got = pt.interpolate_nearest_exact(y, scale_factor=(1.5, 3))
    assert torch.equal(got, F.interpolate(y, scale_factor=(1.5, 3), mode="nearest-exact"))


@pytest.mark.parametrize("mode,padding,align", MODES)
def test_first_and_second_derivatives_of_grid_sample(mode, padding, align, second_order):
    x, grid = make((1, 2, 4, 3), (2, 3), torch.float64)

    def function(x, grid):
        return pt.grid_sample(x, grid, mode, padding, align)

    assert torch.autograd.gradcheck(function, (x, grid))
    if not second_order:
        pytest.skip(f"PyTorch {torch.__version__} has no second order of grid_sample")
    assert torch.autograd.gradgradcheck(function, (x, grid))
    assert torch.autograd.gradgradcheck(lambda x: function(x, grid.detach()), (x,))
    assert torch.autograd.gradgradcheck(lambda grid: function(x.detach(), grid), (grid,))


def test_derivatives_of_interpolate():
    x, _ = make((1, 2, 4, 3), dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: pt.interpolate_nearest_exact(x, (7, 5)), (x,))
    assert torch.autograd.gradgradcheck(lambda x: pt.interpolate_nearest_exact(x, (2, 9)), (x,))


CHECKS = [
    ("grid_sampler_2d", lambda x, grid: (x, grid, 0, 0, False)),
    ("grid_sampler_2d", lambda x, grid: (x, grid.detach(), 1, 1, True)),
    (
        "grid_sampler_2d_backward",
        lambda x, grid: (torch.randn(2, 3, 4, 7), x, grid, 0, 1, False, [True, True]),
    ),
    (
        "grid_sampler_2d_backward",
        lambda x, grid: (torch.randn(2, 3, 4, 7), x, grid, 2, 2, True, [False, True]),
    ),
    ("upsample_nearest_exact", lambda x, grid: (x, [9, 11], None)),
    ("upsample_nearest_exact", lambda x, grid: (x[:, 0], [7], [1.5])),
    (
        "upsample_nearest_exact",
        lambda x, grid: (
            x.detach().contiguous(memory_format=torch.channels_last).requires_grad_(),
            [12, 10],
            [2.0, 2.0],
        ),
    ),
    ("upsample_nearest_exact_backward", lambda x, grid: (x, [2, 3, 3, 4], None)),
]


@pytest.mark.parametrize("name,arguments", CHECKS)
def test_opcheck(name, arguments, second_order):
    operator = getattr(torch.ops.portacl, name).default
    differentiable = second_order or name != "grid_sampler_2d_backward"
    torch.library.opcheck(operator, arguments(*make(grad=differentiable)))


def test_compile():
    def step(x, grid):
        y = pt.interpolate_nearest_exact(pt.grid_sample(x, grid, "bilinear", "border"), (9, 9))
        return (y * y).sum()

    x, grid = make()
    wanted = torch.autograd.grad(step(x, grid), (x, grid))
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    got = torch.autograd.grad(compiled(x, grid), (x, grid))
    assert all(torch.equal(a, b) for a, b in zip(got, wanted))


def test_autocast():
    x, grid = (t.detach().bfloat16() for t in make())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got, want = pt.grid_sample(x, grid), F.grid_sample(x, grid, align_corners=False)
        assert got.dtype == want.dtype == torch.float32
        torch.testing.assert_close(got, want)
        assert pt.grid_sample(x, grid.float()).dtype == torch.float32
        resized = pt.interpolate_nearest_exact(x, (9, 9))
        assert resized.dtype == F.interpolate(x, (9, 9), mode="nearest-exact").dtype


def test_autocast_gradients_have_the_inputs_dtype():
    x, grid = make(dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        pt.grid_sample(x, grid).sum().backward()
    assert x.grad.dtype == grid.grad.dtype == torch.bfloat16


def test_deterministic_mode():
    torch.use_deterministic_algorithms(True)
    try:
        x, grid = make()
        pt.interpolate_nearest_exact(pt.grid_sample(x, grid), scale_factor=2).sum().backward()
        assert x.grad is not None and grid.grad.isfinite().all()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_is_nearer_to_float64_than_torch(dtype):
    x, grid = make((2, 8, 32, 32), (32, 32), dtype)
    weights = torch.randn(2, 8, 32, 32, generator=torch.Generator().manual_seed(1)).to(dtype)

    def gradients(function, cast):
        leaves = [t.detach().to(cast).requires_grad_() for t in (x, grid)]
        return torch.autograd.grad((function(*leaves) * weights.to(cast)).sum(), leaves)

    exact = gradients(lambda x, g: F.grid_sample(x, g, align_corners=False), torch.float64)
    mine = gradients(lambda x, g: pt.grid_sample(x, g), dtype)
    theirs = gradients(lambda x, g: F.grid_sample(x, g, align_corners=False), dtype)
    for best, own, other in zip(exact, mine, theirs):
        assert (own.double() - best).abs().mean() < 0.7 * (other.double() - best).abs().mean()


def test_refusals():
    x, grid = make()
    with pytest.raises(ValueError, match="mode is 'cubic'"):
        pt.grid_sample(x, grid, "cubic")
    with pytest.raises(ValueError, match=r"\(N, C, H, W\)"):
        pt.grid_sample(x[0], grid)
    with pytest.raises(TypeError, match="grid has dtype float64"):
        pt.grid_sample(x, grid.double())
    with pytest.raises(ValueError, match="exactly one"):
        pt.interpolate_nearest_exact(x)
    with pytest.raises(ValueError, match="size is .*, but must have a value for each of 2 axes"):
        pt.interpolate_nearest_exact(x, (1, 2, 3))
    with pytest.raises(ValueError, match="input has shape"):
        pt.interpolate_nearest_exact(x[0, 0], 3)


def test_impossible_sizes_are_refused():
    x, _ = make(grad=False)
    for size, negative in ((-1, -1), ((4, -4), -4)):
        words = rf"size has {negative}, but extents must be 0 to 2\*\*63 - 1"
        with pytest.raises(ValueError, match=words):
            pt.interpolate_nearest_exact(x, size)
    with pytest.raises(ValueError, match="negative extent"):
        torch.ops.portacl.upsample_nearest_exact_backward(x, [2, 3, -2, 5], None)
    for factor in (float("inf"), float("nan"), -1.0, 0.0):
        with pytest.raises(ValueError, match="scale_factor"):
            pt.interpolate_nearest_exact(x, scale_factor=factor)


@pytest.mark.parametrize("size", [9, np.int64(9), np.array(9), torch.tensor(9), [np.int32(9)] * 2])
def test_sizes_of_any_kind(size):
    x, _ = make(grad=False)
    assert torch.equal(pt.interpolate_nearest_exact(x, size), pt.interpolate_nearest_exact(x, 9))


@pytest.mark.parametrize(
    "factor",
    [2, Fraction(2), np.float32(2), np.int64(2), np.array(2.0), torch.tensor(2.0), np.ones(2) * 2],
)
def test_factors_of_any_kind(factor):
    x, _ = make(grad=False)
    got = pt.interpolate_nearest_exact(x, scale_factor=factor)
    assert torch.equal(got, pt.interpolate_nearest_exact(x, scale_factor=2.0))


@pytest.mark.parametrize("size", [2.5, np.float32(9), torch.tensor(9.0), [9, 2.5]])
def test_sizes_that_are_no_integers(size):
    with pytest.raises(TypeError, match="size has .* must be an integer"):
        pt.interpolate_nearest_exact(torch.ones(1, 1, 4, 4), size)


def test_sizes_of_grids_and_pools():
    theta, image = torch.eye(2, 3)[None], torch.ones(1, 1, 4, 4)
    wanted = pt.affine_grid(theta, (1, 1, 4, 4), False)
    assert torch.equal(pt.affine_grid(theta, np.array([1, 1, 4, 4]), False), wanted)
    for size in (4, "1144", None):
        with pytest.raises(TypeError, match="size is .*; wanted .* a sequence"):
            pt.affine_grid(theta, size, False)
    for size in (2, np.int64(2), torch.tensor(2)):
        assert pt.adaptive_avg_pool(image, size=size).shape == (1, 1, 2, 2)
    for no_tensor in (None, [1.0]):
        with pytest.raises(TypeError, match="input"):
            pt.adaptive_avg_pool(no_tensor, size=2)


def test_compile_with_sizes_that_change():
    """One graph for all sizes: they stay symbols."""
    x = torch.randn(1, 2, 6, 5)

    def resize(x, size):
        return pt.interpolate_nearest_exact(x, size)

    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(resize, fullgraph=True, dynamic=True, backend=counter)
    for size in (7, 9, 11):
        assert torch.equal(compiled(x, size), resize(x, size))
    assert counter.frame_count == 1


def dual_tangent(function, *pairs):
    """The tangent of the result of dual tensors, by torch.autograd."""
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(
            function(*(forward_ad.make_dual(t, tangent) for t, tangent in pairs))
        ).tangent


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 5, 4), (1, 2, 3, 4, 5)])
def test_forward_mode_of_interpolate(shape):
    x, tangent = torch.randn(2, *shape, dtype=torch.float64)

    def function(x):
        return pt.interpolate_nearest_exact(x, 7)

    want = function(tangent)
    value, got = torch.func.jvp(function, (x,), (tangent,))
    assert torch.equal(value, function(x)) and torch.equal(got, want)
    assert torch.equal(dual_tangent(function, (x, tangent)), want)
    assert torch.equal(dual_tangent(function, (x.clone().requires_grad_(), tangent)), want)


def check_tangents_of_grid_sample(x, grid, *modes):
    """By the gradients: both modes see the same derivative. Not every PyTorch has forward mode."""

    def sample(x, grid):
        return pt.grid_sample(x, grid, *modes)

    along = (torch.randn_like(x), torch.randn_like(grid))
    leaves = [t.clone().requires_grad_() for t in (x, grid)]
    result = sample(*leaves)
    weights = torch.randn_like(result)
    gradients = torch.autograd.grad((result * weights).sum(), leaves)
    for used in ((True, False), (False, True), (True, True)):
        tangents = tuple(t if use else torch.zeros_like(t) for t, use in zip(along, used))
        value, got = torch.func.jvp(sample, (x, grid), tangents)
        assert torch.equal(value, result)
        want = sum((g * t).sum() for g, t in zip(gradients, tangents))
        torch.testing.assert_close((got * weights).sum(), want)
        torch.testing.assert_close(dual_tangent(sample, *zip((x, grid), tangents)), got)
    got = torch.func.jvp(lambda x: sample(x, grid), (x,), along[:1])[1]
    assert torch.equal(got, sample(along[0], grid))


@pytest.mark.parametrize("modes", MODES)
def test_forward_mode_of_grid_sample(modes):
    check_tangents_of_grid_sample(*make(dtype=torch.float64, grad=False), *modes)


def test_forward_mode_of_volumes():
    x = torch.randn(2, 3, 4, 5, 6, dtype=torch.float64)
    grid = torch.rand(2, 3, 2, 4, 3, dtype=torch.float64) * 2.4 - 1.2
    check_tangents_of_grid_sample(x, grid, "bilinear", "border", False)


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap: a call for each sample
def test_jacobians_in_forward_mode():
    x, grid = make((1, 2, 4, 3), (2, 3), torch.float64, grad=False)
    got = torch.func.jacfwd(pt.grid_sample, (0, 1))(x, grid)
    want = torch.autograd.functional.jacobian(pt.grid_sample, (x, grid))
    torch.testing.assert_close(got, want)
    got = torch.func.jacfwd(lambda x: pt.interpolate_nearest_exact(x, (5, 7)))(x)
    want = torch.func.jacrev(lambda x: F.interpolate(x, (5, 7), mode="nearest-exact"))(x)
    assert torch.equal(got, want)


def test_forward_mode_twice():
    """The levels of torch.func do not hide each other's tangents."""
    x, grid = make(dtype=torch.float64, grad=False)
    ones = torch.ones_like(x)
    for linear in (
        lambda x: pt.interpolate_nearest_exact(x, (9, 8)),
        lambda x: pt.grid_sample(x, grid),
    ):

        def first(x):
            return torch.func.jvp(lambda x: linear(x) ** 3, (x,), (ones,))[1]

        got = torch.func.jvp(first, (x,), (ones,))[1]
        torch.testing.assert_close(got, 6 * linear(x) * linear(ones) ** 2)


def test_forward_mode_of_the_operators():
    """Called by name they have it too, both directions of nearest-exact."""
    grad, tangent = torch.randn(2, 1, 2, 9, 8)
    ops = torch.ops.portacl

    def backward(grad):
        return ops.upsample_nearest_exact_backward(grad, [1, 2, 4, 5], None)

    assert torch.equal(dual_tangent(backward, (grad, tangent)), backward(tangent))

    def forward(x):
        return ops.upsample_nearest_exact(x, [5, 6], None)

    assert torch.equal(dual_tangent(forward, (grad, tangent)), forward(tangent))


def test_forward_over_reverse_of_interpolate():
    x, _ = make(dtype=torch.float64)
    tangent = torch.randn_like(x)

    def gradient(function):
        with forward_ad.dual_level():
            y = function(forward_ad.make_dual(x, tangent))
            (found,) = torch.autograd.grad((y**3).sum(), x)
            return forward_ad.unpack_dual(found).tangent

    got = gradient(lambda x: pt.interpolate_nearest_exact(x, (9, 8)))
    want = gradient(lambda x: F.interpolate(x, (9, 8), mode="nearest-exact"))
    torch.testing.assert_close(got, want)


def test_forward_mode_that_is_refused():
    """Never a tangent that is wrong without a word."""
    x, grid = make()
    with pytest.raises(NotImplementedError, match=r"grid_sampler_2d has no forward mode where"):
        dual_tangent(lambda x: pt.grid_sample(x, grid), (x, torch.ones_like(x)))
    with torch.no_grad():
        assert dual_tangent(lambda x: pt.grid_sample(x, grid), (x, x)) is not None
        for i in range(3):

            def backward(dual, i=i):
                tensors = [torch.randn(2, 3, 4, 7), x, grid]
                tensors[i] = dual
                return torch.ops.portacl.grid_sampler_2d_backward(
                    *tensors, 0, 0, False, [True, True]
                )

            tensor = (torch.randn(2, 3, 4, 7), x, grid)[i]
            with pytest.raises(NotImplementedError, match="grid_sampler_2d_backward has no forw"):
                dual_tangent(backward, (tensor, torch.ones_like(tensor)))


def test_compile_of_forward_mode():
    x, grid = make(grad=False)

    def step(x):
        def function(x):
            return pt.interpolate_nearest_exact(pt.grid_sample(x, grid), (9, 9))

        return torch.func.jvp(function, (x,), (torch.ones_like(x),))[1]

    got = torch.compile(step, fullgraph=True, backend="aot_eager")(x)
    assert got.any() and torch.equal(got, step(x))
