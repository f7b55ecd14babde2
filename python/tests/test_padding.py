"""Circular and constant padding, and values for points outside, through every package."""

import functools
import itertools

import numpy as np
import pytest

import portacl

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402

import portacl.torch  # noqa: E402

MODES = ("bilinear", "nearest", "bicubic")
RULES = {
    "circular": {"padding": "circular"},
    "constant": {"padding": "constant", "value": 2.5},
    "outside": {"padding": "reflection", "outside": -3.0},
    "both": {"padding": "constant", "value": 2.5, "outside": float("nan")},
}


def named(rule):
    """As PyTorch's names have it."""
    return {"padding_mode" if name == "padding" else name: v for name, v in rule.items()}


def case(axes, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    extents = (3, 4, 5)[-axes:]
    points = (2, 3, 7)[-axes:]
    x = rng.standard_normal((2, 3, *extents)).astype(dtype)
    grid = rng.uniform(-2.2, 2.2, (2, *points, axes)).astype(dtype)
    return x, grid, rng.standard_normal((2, 3, *points)).astype(dtype)


def samplers(axes):
    return (
        getattr(portacl, f"grid_sampler_{axes}d"),
        getattr(portacl, f"grid_sampler_{axes}d_backward"),
    )


def pixels(grid, size, align_corners):
    extents = np.array(size[::-1], grid.dtype)
    if align_corners:
        return (grid + 1) / 2 * (extents - 1)
    return ((grid + 1) * extents - 1) / 2


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("align_corners", [False, True])
def test_circular_is_sampling_of_a_wrapped_frame(axes, mode, align_corners):
    x, grid, _ = case(axes)
    size = x.shape[2:]
    frame = 12
    padded = np.pad(x, ((0, 0), (0, 0), *[(frame, frame)] * axes), mode="wrap")
    extents = np.array(size[::-1])
    points = (2 * (pixels(grid, size, align_corners) + frame) + 1) / (extents + 2 * frame) - 1
    sample, _ = samplers(axes)
    got = sample(x, grid, interpolation=mode, padding="circular", align_corners=align_corners)
    want = sample(padded, points, interpolation=mode)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
    again = sample(x, grid, interpolation=mode, padding="wrap", align_corners=align_corners)
    np.testing.assert_array_equal(got, again)


@pytest.mark.parametrize("axes", [2, 3])
def test_circular_is_what_scipy_calls_grid_wrap(axes):
    ndimage = pytest.importorskip("scipy.ndimage")
    x, grid, _ = case(axes)
    sample, _ = samplers(axes)
    got = sample(x, grid, padding="circular")
    at = np.moveaxis(pixels(grid, x.shape[2:], False)[..., ::-1], -1, 0)
    for n, c in np.ndindex(x.shape[:2]):
        want = ndimage.map_coordinates(x[n, c], at[:, n], order=1, mode="grid-wrap")
        np.testing.assert_allclose(got[n, c], want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_constant_is_zeros_of_the_difference_plus_the_constant(axes, mode):
    x, grid, _ = case(axes)
    sample, _ = samplers(axes)
    got = sample(x, grid, interpolation=mode, padding="constant", value=2.5)
    want = sample(x - 2.5, grid, interpolation=mode) + 2.5
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("mode", MODES)
def test_packages_agree_bit_for_bit(axes, rule, mode):
    x, grid, g = case(axes, np.float32)
    options = RULES[rule]
    sample, backward = samplers(axes)
    want = sample(x, grid, interpolation=mode, **options)
    input_grad, grid_grad = backward(g, x, grid, interpolation=mode, **options)
    image, points = (torch.from_numpy(a).requires_grad_() for a in (x, grid))
    got = portacl.torch.grid_sample(image, points, mode, align_corners=False, **named(options))
    np.testing.assert_array_equal(got.detach().numpy(), want)
    got.backward(torch.from_numpy(g))
    np.testing.assert_array_equal(image.grad.numpy(), input_grad)
    np.testing.assert_array_equal(points.grad.numpy(), grid_grad)
    alone, nothing = backward(g, x, grid, interpolation=mode, output_mask=(True, False), **options)
    assert nothing is None
    np.testing.assert_array_equal(alone, input_grad)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("rule", ["circular", "constant", "outside"])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_gradients_are_derivatives(axes, rule, mode):
    x, grid, _ = (torch.from_numpy(a) for a in case(axes, seed=3))

    def sample(image, points):
        return portacl.torch.grid_sample(
            image, points, mode, align_corners=False, **named(RULES[rule])
        )

    x.requires_grad_()
    grid.requires_grad_()
    assert torch.autograd.gradcheck(sample, (x, grid), atol=1e-5)


def test_forward_mode_is_the_transpose_of_backward():
    x, grid, g = (torch.from_numpy(a) for a in case(2))
    for rule in RULES.values():

        def sample(image, points, rule=rule):
            return portacl.torch.grid_sample(image, points, align_corners=False, **named(rule))

        tangents = torch.randn_like(x), torch.randn_like(grid)
        _, along = torch.func.jvp(sample, (x, grid), tangents)
        image, points = (a.clone().requires_grad_() for a in (x, grid))
        gradients = torch.autograd.grad(sample(image, points), (image, points), g)
        back = sum((a * b).sum() for a, b in zip(gradients, tangents))
        torch.testing.assert_close((along * g).sum(), back)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("rule", ["circular", "constant", "outside", "both"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("align_corners", [False, True])
def test_second_derivatives(axes, rule, mode, align_corners, second_order):
    if not second_order:
        pytest.skip(f"PyTorch {torch.__version__} has no second order of grid_sample")
    x, grid, _ = (torch.from_numpy(a) for a in case(axes, seed=5))
    x, grid = x[:1, :1].requires_grad_(), grid[:1, :1].requires_grad_()
    options = named(RULES[rule])
    if rule == "both":  # no comparison of numbers finds NaN right
        options["outside"] = -1.5

    def sample(image, points):
        return portacl.torch.grid_sample(
            image, points, mode, align_corners=align_corners, **options
        )

    check = functools.partial(torch.autograd.gradgradcheck, fast_mode=True)
    assert check(sample, (x, grid))
    if mode == "bilinear":
        assert check(lambda image: sample(image, grid.detach()), (x,))
        assert check(lambda points: sample(x.detach(), points), (grid,))


@pytest.mark.parametrize("rule", ["circular", "constant", "outside", "both"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("align_corners", [False, True])
def test_second_derivatives_of_one_column(rule, mode, align_corners, second_order):
    if not second_order:
        pytest.skip(f"PyTorch {torch.__version__} has no second order of grid_sample")
    x, grid, _ = (torch.from_numpy(a) for a in case(2, seed=5))
    x, grid = x[:1, :1, :, :1].requires_grad_(), grid[:1].requires_grad_()
    options = {**named(RULES[rule]), "align_corners": align_corners}
    if rule == "both":
        options["outside"] = -1.5

    def sample(image, points):
        return portacl.torch.grid_sample(image, points, mode, **options)

    assert torch.autograd.gradgradcheck(sample, (x, grid), fast_mode=True)


def second_derivatives(x, grid, g, mode, **options):
    """Of a sum of both gradients with weights, by x, grid and g; and the terms of the sum."""
    tensors = [a.detach().clone().requires_grad_() for a in (x, grid, g)]
    out = portacl.torch.grid_sample(*tensors[:2], mode, **options)
    gradients = torch.autograd.grad(out, tensors[:2], tensors[2], create_graph=True)
    random = torch.Generator().manual_seed(11)
    weighted = [a.double() * torch.randint(1, 9, a.shape, generator=random) for a in gradients]
    terms = torch.cat([a.flatten() for a in weighted])
    results = torch.autograd.grad(terms.sum(), tensors, materialize_grads=True)
    return results, terms.detach()


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fill", [float("nan"), float("-inf"), 1e30])
def test_second_derivatives_without_edges_know_no_constant(axes, mode, fill, second_order):
    if not second_order:
        pytest.skip(f"PyTorch {torch.__version__} has no second order of grid_sample")
    x, grid, g = (torch.from_numpy(a) for a in case(axes, np.float32))
    x = x.repeat_interleave(2, -1).repeat_interleave(2, -2).repeat_interleave(2, 2)
    for align_corners, outside in itertools.product((False, True), (None, 1.0)):
        size = torch.tensor(x.shape[:1:-1], dtype=grid.dtype)
        at = (grid + 1) / 2 * (size - 1) if align_corners else ((grid + 1) * size - 1) / 2
        reach = 1 if mode == "bicubic" else 0
        inside = ((at.floor() >= reach) & (at.floor() + 1 + reach < size)).all(-1)
        assert inside.any() and not inside.all()
        if outside is not None:
            inside |= (grid.abs() > 1).any(-1)
        options = {"mode": mode, "align_corners": align_corners, "outside": outside}
        got, _ = second_derivatives(x, grid, g, padding_mode="constant", value=fill, **options)
        want, _ = second_derivatives(x, grid, g, padding_mode="zeros", **options)
        torch.testing.assert_close(got[0], want[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(got[1][inside], want[1][inside], rtol=1e-4, atol=1e-5)
        of_g = [a[2].movedim(1, -1)[inside] for a in (got, want)]
        torch.testing.assert_close(*of_g, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rule", ["circular", "constant", "outside", "both"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_second_derivatives_are_of_the_same_points(rule, mode, align_corners, dtype, second_order):
    """Points on pixels and between two too: a gradient is linear in the result's gradient."""
    if not second_order:
        pytest.skip(f"PyTorch {torch.__version__} has no second order of grid_sample")
    x, *_ = map(torch.from_numpy, case(2))
    axis = torch.arange(-9, 19)
    size = torch.tensor([5, 4])
    at = torch.stack(torch.meshgrid(axis, axis, indexing="xy"), -1).double() / 2
    grid = 2 * at / (size - 1) - 1 if align_corners else (2 * at + 1) / size - 1
    g = torch.randn(2, 3, *grid.shape[:2], generator=torch.Generator().manual_seed(7))
    x, grid, g = (a.to(dtype) for a in (x, grid.expand(2, -1, -1, -1), g))
    options = {**named(RULES[rule]), "align_corners": align_corners}
    (of_x, of_grid, of_g), terms = second_derivatives(x, grid, g, mode, **options)
    bound = {torch.float64: 1e-13, torch.float32: 1e-6}.get(dtype, 1e-3) * terms.abs().sum()
    assert abs((of_g.double() * g.double()).sum() - terms.sum()) < bound
    if dtype.itemsize == 2:
        wide, _ = second_derivatives(x.float(), grid.float(), g.float(), mode, **options)
        for narrow, result in zip((of_x, of_grid, of_g), wide):
            assert torch.equal(narrow, result.to(dtype))


def test_compiled_graphs_have_the_same_bits():
    x, grid, g = (torch.from_numpy(a) for a in case(2, np.float32))

    def step(image, points):
        out = portacl.torch.grid_sample(image, points, padding_mode="constant", value=1.5)
        return out + portacl.torch.grid_sample(image, points, padding_mode="circular", outside=0.5)

    results = []
    for function in (step, torch.compile(step, backend="aot_eager", fullgraph=True)):
        image = x.clone().requires_grad_()
        out = function(image, grid)
        (gradient,) = torch.autograd.grad(out, image, g)
        results.append((out.detach(), gradient))
    for eager, compiled in zip(*results):
        assert torch.equal(eager, compiled)


@pytest.mark.parametrize("layout", ["contiguous", "channels_last", "flipped"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_layouts_and_types(layout, dtype):
    x, grid, _ = (torch.from_numpy(a).to(dtype) for a in case(2))
    view = x
    if layout == "channels_last":
        view = x.contiguous(memory_format=torch.channels_last)
    elif layout == "flipped":
        view = torch.from_numpy(x.double().numpy()[..., ::-1].copy()).flip(-1).to(dtype)
    for rule, mode in itertools.product(("circular", "constant"), MODES):
        options = named(RULES[rule])
        got = portacl.torch.grid_sample(view, grid, mode, **options)
        assert torch.equal(got, portacl.torch.grid_sample(x, grid, mode, **options))
        exact = portacl.torch.grid_sample(x.double(), grid.double(), mode, **options)
        if mode != "nearest":  # a rounded coordinate may have another pixel
            bound = 0.1 if dtype == torch.bfloat16 else 0.02
            assert (got.double() - exact).abs().max() < bound


def test_refusals():
    x, grid, _ = case(2)
    with pytest.raises(ValueError, match="'zeros', 'border', 'reflection', 'circular'"):
        portacl.grid_sampler_2d(x, grid, padding="periodic")
    with pytest.raises(ValueError, match="only the padding 'constant' has one"):
        portacl.grid_sampler_2d(x, grid, padding="circular", value=1.0)
    with pytest.raises(TypeError, match="outside is 'nan', but must be a number"):
        portacl.grid_sampler_2d(x, grid, outside="nan")
    with pytest.raises(ValueError, match="padding_mode"):
        portacl.torch.grid_sample(torch.from_numpy(x), torch.from_numpy(grid), padding_mode="full")
    with pytest.raises(ValueError, match="padding_mode"):
        F.grid_sample(torch.from_numpy(x), torch.from_numpy(grid), padding_mode="circular")
