"""portacl.jax under jit, grad and vmap, against jax.scipy, an oracle and the array functions."""

import re
from pathlib import Path

import numpy as np
import pytest

import reference

jax = pytest.importorskip("jax")

import jax.numpy as jnp
from jax.scipy.ndimage import map_coordinates
from jax.test_util import check_grads

import portacl
import portacl.jax as pj

RNG = np.random.default_rng(7)
MODES = [
    (interpolation, padding, align)
    for interpolation in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for align in (False, True)
]


@pytest.fixture(autouse=True)
def float64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def scene(dtype=np.float32, n=2, c=3, size=(7, 9), points=(5, 6)):
    image = RNG.standard_normal((n, c, *size)).astype(dtype)
    grid = RNG.uniform(-1.2, 1.2, (n, *points, len(size))).astype(dtype)
    return image, grid


VOLUMES = {"size": (4, 5, 6), "points": (3, 4, 2)}


def sampler(axes, module, direction=""):
    return getattr(module, f"grid_sampler_{axes}d{direction}")


def sample_with_map_coordinates(image, grid, padding):
    """Bilinear, corners not aligned, by jax.scipy: another implementation of the same function."""
    h, w = image.shape[2:]
    x, y = ((grid[..., i] + 1) * extent / 2 - 0.5 for i, extent in ((0, w), (1, h)))
    mode = {"zeros": "constant", "border": "nearest"}[padding]
    one = lambda plane, iy, ix: map_coordinates(plane, [iy, ix], order=1, mode=mode)  # noqa: E731
    return jax.vmap(jax.vmap(one, (0, None, None)))(image, y, x)


@pytest.mark.parametrize("padding", ["zeros", "border"])
def test_values_and_gradients_are_those_of_map_coordinates(padding):
    image, grid = scene(np.float64)
    weights = RNG.standard_normal((2, 3, 5, 6))

    def loss(sample):
        return lambda image, grid: (sample(image, grid) * weights).sum()

    ours = loss(lambda i, g: pj.grid_sampler_2d(i, g, padding=padding))
    theirs = loss(lambda i, g: sample_with_map_coordinates(i, g, padding))
    np.testing.assert_allclose(ours(image, grid), theirs(image, grid), rtol=1e-12)
    got = jax.jit(jax.grad(ours, (0, 1)))(image, grid)
    want = jax.grad(theirs, (0, 1))(image, grid)
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "interpolation", "padding", "align"),
    [("float32", *modes) for modes in MODES]
    + [(dtype, "bilinear", "border", False) for dtype in ("float16", "bfloat16", "float64")],
)
@pytest.mark.parametrize("axes", [2, 3])
def test_gradients_have_the_bits_of_the_array_functions(axes, dtype, interpolation, padding, align):
    arrays = scene(np.float64, **(VOLUMES if axes == 3 else {}))
    image, grid = (jnp.asarray(a, dtype) for a in arrays)
    modes = {"interpolation": interpolation, "padding": padding, "align_corners": align}
    sample = jax.jit(lambda i, g: sampler(axes, pj)(i, g, **modes))
    output, pull = jax.vjp(sample, image, grid)
    weights = jnp.asarray(RNG.standard_normal(output.shape), dtype)
    want = sampler(axes, portacl, "_backward")(weights, image, grid, **modes)
    assert (output == sampler(axes, portacl)(image, grid, **modes)).all()
    for got, wanted in zip(pull(weights), want):
        assert (got == wanted).all() and got.dtype == wanted.dtype
    backward = sampler(axes, pj, "_backward")
    for got, wanted in zip(backward(weights, image, grid, **modes), want):
        assert (got == wanted).all()
    assert backward(weights, image, grid, **modes, output_mask=(True, False))[1] is None


@pytest.mark.parametrize("argument", [0, 1])
def test_only_the_gradient_that_is_asked_for_is_computed(argument):
    image, grid = scene()
    gradient = jax.grad(lambda i, g: pj.grid_sampler_2d(i, g).sum(), argument)
    text = jax.jit(gradient).lower(image, grid).as_text()
    wanted, other = ("input_grad", "grid_grad")[:: 1 if argument == 0 else -1]
    assert f"portacl_grid_sampler_{wanted}" in text
    assert f"portacl_grid_sampler_{other}" not in text
    assert "portacl_grid_sampler_backward" not in text
    whole = portacl.grid_sampler_2d_backward(np.ones((2, 3, 5, 6), np.float32), image, grid)
    assert (np.asarray(gradient(image, grid)) == whole[argument]).all()


@pytest.mark.parametrize("axes", [(0, 0), (None, 0), (0, None), (1, 2)])
def test_vmap_has_the_bits_of_a_loop(axes):
    images = RNG.standard_normal((4, 2, 3, 7, 9)).astype(np.float32)
    grids = RNG.uniform(-1, 1, (4, 2, 5, 6, 2)).astype(np.float32)
    each = [
        array[0] if axis is None else np.moveaxis(array, 0, axis)
        for array, axis in zip((images, grids), axes)
    ]
    gradient = jax.grad(lambda i, g: (pj.grid_sampler_2d(i, g) ** 2).sum(), (0, 1))
    got = jax.jit(jax.vmap(gradient, axes))(*each)
    for k in range(4):
        of_k = [images[0] if axes[0] is None else images[k], grids[0 if axes[1] is None else k]]
        for g, w in zip(got, gradient(*of_k)):
            assert (g[k] == w).all()


def test_vmap_of_volumes_has_the_bits_of_a_loop():
    volumes = RNG.standard_normal((3, 1, 2, 4, 5, 6)).astype(np.float32)
    grid = RNG.uniform(-1, 1, (1, 2, 3, 4, 3)).astype(np.float32)
    gradient = jax.grad(lambda v, g: (pj.grid_sampler_3d(v, g) ** 2).sum(), (0, 1))
    got = jax.jit(jax.vmap(gradient, (0, None)))(volumes, grid)
    for k in range(3):
        for g, w in zip(got, gradient(volumes[k], grid)):
            assert (g[k] == w).all()


def test_vmap_of_vmap():
    images = RNG.standard_normal((2, 3, 1, 2, 5, 4)).astype(np.float32)
    got = jax.vmap(jax.vmap(lambda x: pj.upsample_nearest_exact(x, (7, 9))))(images)
    want = portacl.upsample_nearest_exact(images.reshape(6, 2, 5, 4), (7, 9))
    assert (np.asarray(got).reshape(6, 2, 7, 9) == want).all()


@pytest.mark.parametrize(
    "sizes", [((5,), (12,)), ((6, 7), (9, 4)), ((3, 5), (3, 20)), ((2, 3, 4), (5, 2, 7))]
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nearest_exact_against_the_oracle(sizes, dtype):
    size_in, size_out = sizes
    x = RNG.standard_normal((2, 3, *size_in)).astype(dtype)
    y, pull = jax.vjp(jax.jit(lambda x: pj.upsample_nearest_exact(x, size_out)), x)
    assert (np.asarray(y) == reference.upsample_nearest_exact(x, size_out)).all()
    g = RNG.standard_normal(y.shape).astype(dtype)
    want = reference.upsample_nearest_exact_backward(g, size_in)
    np.testing.assert_allclose(pull(g)[0], want, rtol=2e-3 if dtype == np.float16 else 1e-5)
    assert (np.asarray(pull(g)[0]) == portacl.upsample_nearest_exact_backward(g, x.shape)).all()


def test_nearest_exact_in_one_dimension_under_vmap():
    x = RNG.standard_normal((3, 2, 4, 5)).astype(np.float32)  # would pass for four axes
    got = jax.vmap(lambda x: pj.upsample_nearest_exact(x, 8))(x)
    want = np.stack([portacl.upsample_nearest_exact(each, 8) for each in x])
    assert (np.asarray(got) == want).all()


def test_nearest_exact_has_every_order_of_gradients():
    x = RNG.standard_normal((1, 2, 3, 4))
    cubed = lambda x: (pj.upsample_nearest_exact(x, scales=2.0) ** 3).sum()  # noqa: E731
    hessian_diagonal = jax.grad(lambda x: jax.grad(cubed)(x).sum())(x)
    np.testing.assert_allclose(hessian_diagonal, 4 * 6 * x, rtol=1e-12)  # four copies of each
    backward = lambda g: (pj.upsample_nearest_exact_backward(g, x.shape) ** 2).sum()  # noqa: E731
    g = RNG.standard_normal((1, 2, 6, 8))
    summed = reference.upsample_nearest_exact_backward(g, (3, 4))
    want = reference.upsample_nearest_exact(2 * summed, (6, 8))
    np.testing.assert_allclose(jax.grad(backward)(g), want, rtol=1e-12)


def test_empty_arrays():
    image, grid = scene(n=0)
    assert pj.grid_sampler_2d(image, grid).shape == (0, 3, 5, 6)
    gradients = jax.grad(lambda i, g: pj.grid_sampler_2d(i, g).sum(), (0, 1))(image, grid)
    assert [g.shape for g in gradients] == [(0, 3, 7, 9), (0, 5, 6, 2)]


def test_a_nan_in_the_grid_reaches_its_own_gradient_only():
    image, grid = scene()
    grid[0, 1, 2] = np.nan
    loss = lambda i, g: pj.grid_sampler_2d(i, g, padding="border").sum()  # noqa: E731
    of_image, of_grid = jax.jit(jax.grad(loss, (0, 1)))(image, grid)
    assert np.isfinite(of_image).all()
    assert np.argwhere(np.isnan(of_grid).all(-1)).tolist() == [[0, 1, 2]]


def test_refusals_say_what_is_wrong_while_tracing():
    image, grid = scene()
    for call, error, words in (
        (lambda: pj.upsample_nearest_exact(image[None, None], 2), ValueError, "must be .N, C, L."),
        (lambda: pj.grid_sampler_2d(image.astype(int), grid), TypeError, "input has dtype int"),
        (lambda: pj.grid_sampler_2d(image, grid.astype(float)), TypeError, "grid has dtype"),
        (lambda: pj.grid_sampler_2d(image[0], grid), ValueError, "input has shape"),
        (lambda: pj.grid_sampler_2d(image, grid[:1]), ValueError, "grid"),
        (lambda: pj.grid_sampler_3d(image, grid), ValueError, "N, OD, OH, OW, 3"),
        (
            lambda: pj.grid_sampler_2d(image, grid, padding="torus"),
            ValueError,
            "padding is 'torus'",
        ),
        (lambda: pj.upsample_nearest_exact(image), ValueError, "one of them is needed"),
        (lambda: pj.upsample_nearest_exact(image, (4, 4, 4)), ValueError, "has 2 spatial axes"),
        (lambda: pj.upsample_nearest(image, (0, 8)), ValueError, "output has .* at least 1"),
        (lambda: pj.upsample_linear(image, scales=0.01), ValueError, "output has .* at least 1"),
        (lambda: pj.upsample_cubic_backward(image[:, :, :0], image.shape), ValueError, "grad_out"),
        (lambda: pj.upsample_nearest_exact_backward(image, (2, 4, 3, 3)), ValueError, "N and C"),
        (lambda: pj.grid_sampler_2d_backward(image, image, grid), ValueError, "grad_output has"),
    ):
        with pytest.raises(error, match=words):
            jax.jit(call)()


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
def test_array_functions_inside_a_transform_name_this_module(transform):
    image = np.ones((2, 1, 1, 3, 3), np.float32)
    with pytest.raises(ValueError, match="traced by JAX .*portacl.jax"):
        transform(lambda x: portacl.upsample_nearest_exact(x, (2, 2)).sum())(image)


def test_export_takes_the_calls_that_are_named():
    image, grid = scene()
    sample = jax.jit(lambda i, g: pj.grid_sampler_2d(i, g))
    with pytest.raises(ValueError, match="portacl_grid_sampler"):
        jax.export.export(sample)(image, grid)
    named = [jax.export.DisabledSafetyCheck.custom_call("portacl_grid_sampler")]
    exported = jax.export.export(sample, disabled_checks=named)(image, grid)
    assert (exported.call(image, grid) == portacl.grid_sampler_2d(image, grid)).all()


def blocks_of_the_guide():
    page = Path(__file__).resolve().parents[2] / "docs/jax.md"
    if not page.is_file():
        return []
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(not blocks_of_the_guide(), reason="away from the source tree")
def test_the_guide_runs(capsys):
    jax.config.update("jax_enable_x64", False)
    names = {}
    blocks = blocks_of_the_guide()
    for block in blocks:
        exec(block, names)
    printed = capsys.readouterr().out.split()
    said = re.findall(r"# prints (.*)$", "".join(blocks), re.MULTILINE)
    assert len(said) >= 3 and printed == " ".join(said).split()


def test_what_the_library_refuses_at_run_time_has_its_message():
    with pytest.raises(Exception, match="input"):
        jax.block_until_ready(pj.upsample_nearest_exact(np.ones((1, 1, 0, 3), np.float32), (2, 2)))


# ---- derivatives beyond the first in reverse mode


@pytest.mark.parametrize(
    ("axes", "interpolation", "padding", "align"),
    [(2, *modes) for modes in MODES[1::2] + MODES[4::6]]
    + [(3, "bilinear", "reflection", False), (3, "bicubic", "zeros", True)],
)
def test_formulas_are_those_of_the_kernels(axes, interpolation, padding, align):
    """Values, gradients and tangents; grids on pixels, borders and folds of reflection included."""
    from portacl.jax import _formulas, _grid_sampler

    image, grid = scene(np.float64, **(VOLUMES if axes == 3 else {}))
    corners = [-1.0, 1.0, 0.0, -3.0, 2.5, 1 / 3]
    grid.reshape(-1)[: len(corners) * axes] = np.repeat(corners, axes)
    names = {"interpolation": interpolation, "padding": padding, "align_corners": align}
    modes = _formulas.Modes(
        axes,
        {"bilinear": 0, "nearest": 1, "bicubic": 2}[interpolation],
        {"zeros": 0, "border": 1, "reflection": 2}[padding],
        align,
    )
    values = sampler(axes, pj)(image, grid, **names)
    formula = jax.jit(lambda i, g: _formulas._sample(i, g, modes))
    np.testing.assert_allclose(formula(image, grid), values, rtol=1e-9, atol=1e-11)
    weights = jnp.asarray(RNG.standard_normal(values.shape))
    both = jax.jit(_formulas.backward(modes, (True, True)))(weights, image, grid)
    for got, want in zip(both, sampler(axes, pj, "_backward")(weights, image, grid, **names)):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)
    directions = [jnp.asarray(RNG.standard_normal(a.shape)) for a in (image, grid)]
    tangent = _grid_sampler.tangent(jnp.asarray(image), jnp.asarray(grid), directions, modes)
    want = jax.jit(_formulas.tangent(modes, (True, True)))(image, grid, *directions)[0]
    np.testing.assert_allclose(tangent, want, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_derivatives_of_second_order_by_differences(interpolation):
    image, grid = scene(np.float64, n=1, c=2, size=(5, 6), points=(2, 3))

    def loss(image, grid):
        return (pj.grid_sampler_2d(image, grid, interpolation=interpolation) ** 3).sum()

    slope = jax.jit(lambda i, g: jax.grad(loss, (0, 1))(i, g))
    along = [RNG.standard_normal(a.shape) for a in (image, grid)]
    step = 1e-6
    moved = [slope(*(a + s * step * d for a, d in zip((image, grid), along))) for s in (1, -1)]
    want = [(up - down) / (2 * step) for up, down in zip(*moved)]
    of_slope = lambda i, g: jax.jvp(slope, (i, g), tuple(along))[1]  # noqa: E731
    forward_over_reverse = jax.jit(of_slope)(image, grid)
    inner = lambda i, g: sum((s * d).sum() for s, d in zip(slope(i, g), along))  # noqa: E731
    reverse_over_reverse = jax.jit(jax.grad(inner, (0, 1)))(image, grid)
    of_tangent = lambda i, g: jax.jvp(loss, (i, g), tuple(along))[1]  # noqa: E731
    reverse_over_forward = jax.jit(jax.grad(of_tangent, (0, 1)))(image, grid)
    for found in (forward_over_reverse, reverse_over_reverse, reverse_over_forward):
        for got, wanted in zip(found, want):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


IMAGE_SHAPE, VOLUME_SHAPE = (2, 2, 4, 5), (1, 2, 3, 4, 3)
DIFFERENTIABLE = {
    "affine_grid": (lambda theta: pj.affine_grid(theta, (2, 1, 3, 4)), (2, 2, 3)),
    "affine_grid_backward": (pj.affine_grid_backward, (2, 3, 4, 2)),
    "grid_sampler_2d": (pj.grid_sampler_2d, IMAGE_SHAPE, (2, 2, 3, 2)),
    "grid_sampler_2d_backward": (
        pj.grid_sampler_2d_backward, (2, 2, 2, 3), IMAGE_SHAPE, (2, 2, 3, 2)
    ),
    "grid_sampler_3d": (pj.grid_sampler_3d, VOLUME_SHAPE, (1, 2, 1, 2, 3)),
    "grid_sampler_3d_backward": (
        pj.grid_sampler_3d_backward, (1, 2, 2, 1, 2), VOLUME_SHAPE, (1, 2, 1, 2, 3)
    ),
    **{
        f"upsample_{kind}": (lambda x, f=f"upsample_{kind}": getattr(pj, f)(x, (7, 3)), IMAGE_SHAPE)
        for kind in ("nearest_exact", "nearest", "linear", "cubic", "lanczos")
    },
    **{
        f"upsample_{kind}_backward": (
            lambda g, f=f"upsample_{kind}_backward": getattr(pj, f)(g, (2, 2, 7, 3)), IMAGE_SHAPE
        )
        for kind in ("nearest_exact", "nearest", "linear", "cubic", "lanczos")
    },
    "adaptive_avg_pool": (lambda x: pj.adaptive_avg_pool(x, size=(3, 2)), IMAGE_SHAPE),
    "adaptive_avg_pool_backward": (
        lambda g: pj.adaptive_avg_pool_backward(g, size=(5, 4)), (2, 2, 3, 2)
    ),
}  # fmt: skip
"""Every function with derivatives of any order, and the shapes of its arguments."""

FIRST_DERIVATIVES = {
    f"{name}{backward}"
    for name in ("deform_conv2d", "ms_deform_attn", "roi_align", "roi_align_rotated")
    for backward in ("", "_backward")
}
"""Functions of test_jax_detection.py."""


def test_every_function_has_derivatives():
    assert set(pj.__all__) == DIFFERENTIABLE.keys() | FIRST_DERIVATIVES


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_every_function_has_both_modes_and_second_derivatives(name):
    function, *shapes = DIFFERENTIABLE[name]
    # Grids inside the image, away from the kinks between pixels.
    at = [RNG.uniform(-0.83, 0.83, shape) for shape in shapes]

    def loss(*arguments):
        return sum(jnp.sin(result).sum() for result in jax.tree.leaves(function(*arguments)))

    # Compiled as a whole, this takes a third of the time of its operations one by one.
    check_grads(jax.jit(loss), at, order=2, modes=("fwd", "rev"), rtol=1e-4, atol=1e-4)


def test_linear_functions_have_transposes():
    image, grid = scene(np.float64)
    weights = RNG.standard_normal((2, 3, 5, 6))
    (back,) = jax.linear_transpose(lambda x: pj.grid_sampler_2d(x, grid), image)(weights)
    assert (back == portacl.grid_sampler_2d_backward(weights, image, grid)[0]).all()
    of_grid = lambda x: pj.grid_sampler_2d_backward(weights, x, grid)[1]  # noqa: E731
    directions = RNG.standard_normal(grid.shape)
    (back,) = jax.linear_transpose(
        lambda x: pj.grid_sampler_2d_backward(weights, x, grid, output_mask=(False, True))[1], image
    )(directions)
    np.testing.assert_allclose((back * image).sum(), (of_grid(image) * directions).sum())


def test_names_of_pytorch_and_channels_last():
    image, grid = scene()
    want = pj.grid_sampler_2d(image, grid, interpolation="nearest", padding="border")
    assert (pj.grid_sampler_2d(image, grid, mode="nearest", padding_mode="border") == want).all()
    last = np.moveaxis(image, 1, -1)
    for name in ("NHWC", "channels_last"):
        got = pj.grid_sampler_2d(
            last, grid, mode="nearest", padding_mode="border", data_format=name
        )
        assert (got == jnp.moveaxis(want, 1, -1)).all()
        gradients = pj.grid_sampler_2d_backward(jnp.ones_like(got), last, grid, data_format=name)
        assert [g.shape for g in gradients] == [last.shape, grid.shape]
        up = pj.upsample_nearest_exact(last, (9, 4), data_format=name)
        assert (jnp.moveaxis(up, -1, 1) == pj.upsample_nearest_exact(image, (9, 4))).all()
        down = pj.upsample_nearest_exact_backward(up, last.shape, data_format=name)
        assert down.shape == last.shape
    for call, words in (
        (lambda: pj.grid_sampler_2d(image, grid, padding_mode="torus"), "padding_mode is 'torus'"),
        (
            lambda: pj.grid_sampler_2d(image, grid, padding="border", padding_mode="zeros"),
            "two names",
        ),
        (lambda: pj.grid_sampler_2d(last, grid, data_format="NDHWC"), "has 4 axes"),
        (lambda: pj.upsample_nearest_exact(last, 3, data_format="HWC"), "data_format is 'HWC'"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


FAMILY = [
    ("upsample_nearest", {}),
    ("upsample_linear", {"align_corners": True}),
    ("upsample_linear", {"antialias": True}),
    ("upsample_cubic", {}),
    ("upsample_cubic", {"antialias": True}),
    ("upsample_lanczos", {}),
]


@pytest.mark.parametrize(("name", "modes"), FAMILY)
@pytest.mark.parametrize("size", [(7,), (7, 5), (7, 5, 6)])
def test_the_resize_family_has_the_bits_of_the_array_functions(name, modes, size):
    x = RNG.standard_normal((2, 3, *size)).astype(np.float32)
    to = tuple(n + 4 if i else n - 3 for i, n in enumerate(size))
    resize = lambda x: getattr(pj, name)(x, to, **modes)  # noqa: E731
    y, pull = jax.vjp(jax.jit(resize), x)
    assert (np.asarray(y) == getattr(portacl, name)(x, to, **modes)).all()
    want = getattr(portacl, f"{name}_backward")(np.asarray(y), x.shape, **modes)
    assert (np.asarray(pull(y)[0]) == want).all()
    assert (getattr(pj, f"{name}_backward")(y, x.shape, **modes) == want).all()
    assert (jax.jvp(resize, (x,), (x,))[1] == y).all()
    many = jax.vmap(resize)(jnp.stack([x, -x]))
    assert (many[0] == y).all() and (many[1] == resize(-x)).all()
    last = getattr(pj, name)(jnp.moveaxis(x, 1, -1), to, **modes, data_format="channels_last")
    assert (jnp.moveaxis(last, -1, 1) == y).all()


@pytest.mark.parametrize("axes", [2, 3])
def test_affine_grids_have_the_bits_of_the_array_functions(axes):
    theta = RNG.standard_normal((2, axes, axes + 1)).astype(np.float32)
    size = (2, 1, *(4, 5, 3)[:axes])
    make = lambda theta: pj.affine_grid(theta, size)  # noqa: E731
    grid, pull = jax.vjp(jax.jit(make), theta)
    assert (np.asarray(grid) == portacl.affine_grid(theta, size)).all()
    want = portacl.affine_grid_backward(np.asarray(grid))
    assert (np.asarray(pull(grid)[0]) == want).all()
    assert (pj.affine_grid_backward(grid) == want).all()
    assert (jax.vmap(make)(jnp.stack([theta, 2 * theta]))[0] == grid).all()
    with pytest.raises(ValueError, match="size is .*, but they must be"):
        pj.affine_grid(theta, (3, *size[1:]))
