"""Functions that are made from the list of operators, against those that are written by hand."""

import numpy as np
import pytest

import portacl
from portacl import _core, _listed

OPERATORS = _listed.operators()
RANDOM = np.random.default_rng(1)


def values(*shape, dtype="float32"):
    return RANDOM.uniform(-1, 1, shape).astype(dtype)


def made(name):
    return _listed.function_of(OPERATORS[name])


def same(got, want):
    assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


def test_every_operator_has_a_function():
    for name, operator in OPERATORS.items():
        # The samplers with every padding are the samplers' own functions.
        function = name.replace("_padded", "")
        assert callable(getattr(portacl, function)), name
        assert function in portacl.__all__
        assert len(operator.parameters) == len(_core.native_signatures()[name])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_resizing(axes, dtype):
    small, large = (3, 4, 5)[:axes], (7, 6, 9)[:axes]
    x, g = values(2, 3, *small, dtype=dtype), values(2, 3, *large, dtype=dtype)
    for name in ("upsample_nearest_exact", "upsample_nearest", "upsample_linear"):
        scales = [1.5] * axes
        same(made(name)(x, size=large), getattr(portacl, name)(x, large))
        same(made(name)(x, size=large, scales=scales), getattr(portacl, name)(x, large, scales))
        back = f"{name}_backward"
        same(made(back)(g, size=small), getattr(portacl, back)(g, x.shape))
    corners = {"align_corners": True}
    same(
        made("upsample_linear")(x, size=large, **corners),
        portacl.upsample_linear(x, large, **corners),
    )


def test_sampling_in_every_mode():
    x, grid, g = values(2, 3, 5, 6), values(2, 4, 7, 2), values(2, 3, 4, 7)
    for modes in ({}, {"interpolation": "bicubic", "padding": "border"}, {"align_corners": True}):
        same(made("grid_sampler_2d")(x, grid, **modes), portacl.grid_sampler_2d(x, grid, **modes))
        want = portacl.grid_sampler_2d_backward(g, x, grid, **modes)
        got = made("grid_sampler_2d_backward")(g, x, grid, **modes)
        assert len(got) == 2
        for ours, theirs in zip(got, want):
            same(ours, theirs)


def test_results_that_the_caller_gives():
    x = values(1, 2, 3, 4)
    out = np.full((1, 2, 6, 8), np.nan, "float32")
    assert made("upsample_nearest")(x, size=(6, 8), out=out) is out
    same(out, portacl.upsample_nearest(x, (6, 8)))
    with pytest.raises(ValueError, match="out has shape .*, but must have"):
        made("upsample_nearest")(x, size=(6, 8), out=np.empty((1, 2, 6, 7), "float32"))


def test_refusals():
    x = values(1, 2, 3, 4)
    with pytest.raises(ValueError, match=r"grid has shape \[1, 2, 3\], .* \(N, OH, OW, 2\)"):
        made("grid_sampler_2d")(x, values(1, 2, 3))
    with pytest.raises(ValueError, match="size is"):
        made("upsample_nearest")(x, size=(6,))
    with pytest.raises(ValueError, match="size is"):
        made("upsample_nearest")(x, size=(6, 7, 8))
    with pytest.raises(ValueError, match="interpolation is 'cubic'"):
        made("grid_sampler_2d")(x, values(1, 2, 2, 2), interpolation="cubic")
    with pytest.raises(TypeError):
        made("grid_sampler_2d")(x)
    with pytest.raises(TypeError, match="colour"):
        made("upsample_nearest")(x, size=(6, 8), colour=1)


def test_the_signature_is_that_of_a_written_function():
    import inspect

    function = made("grid_sampler_2d")
    assert list(inspect.signature(function).parameters) == [
        "input",
        "grid",
        "interpolation",
        "padding",
        "align_corners",
        "out",
    ]
    assert function.__name__ == "grid_sampler_2d"
    assert "(N, OH, OW, 2)" in function.__doc__


def test_partners_are_of_linear_operators_alone():
    assert _listed.partner(OPERATORS["upsample_linear"]).name == "upsample_linear_backward"
    assert _listed.partner(OPERATORS["affine_grid_backward"]).name == "affine_grid"
    assert _listed.partner(OPERATORS["grid_sampler_2d"]) is None


def test_operators_of_torch():
    torch = pytest.importorskip("torch")
    import portacl.torch
    from portacl.torch import _library

    forward = OPERATORS["upsample_linear"]
    pair = (forward, _listed.partner(forward))
    names = ("listed_linear", "listed_linear_backward")
    _library.define_listed(pair, names)
    resize = _library.listed_function(forward, names[0])
    x = torch.tensor(values(1, 2, 3, 4, dtype="float64"), requires_grad=True)
    y = resize(x, size=(5, 6), align_corners=True)
    want = torch.nn.functional.interpolate(x, (5, 6), mode="bilinear", align_corners=True)
    torch.testing.assert_close(y, want)
    gradient = torch.tensor(values(1, 2, 5, 6, dtype="float64"))
    (got,) = torch.autograd.grad(y, x, gradient)
    same(got, portacl.upsample_linear_backward(gradient, x.shape, align_corners=True))

    def function(t):
        return resize(t, size=(5, 6), scales=(1.5, 1.5))

    assert torch.autograd.gradcheck(function, (x,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, (x,))
    torch.library.opcheck(torch.ops.portacl.listed_linear, (x, (5, 6), False, True, None))
    assert torch.vmap(lambda t: resize(t.detach(), size=(5, 6)))(x[None]).shape == (1, 1, 2, 5, 6)


def test_operators_of_jax():
    jax = pytest.importorskip("jax")
    import portacl.jax
    from portacl.jax import _listed as listed_of_jax

    for name in ("upsample_linear", "upsample_nearest_exact"):
        function = listed_of_jax.function_of(OPERATORS[name])
        x = jax.numpy.asarray(values(2, 2, 3, 4))
        written = getattr(portacl.jax, name)
        same(function(x, size=(5, 6)), written(x, (5, 6)))
        gradient = jax.grad(lambda t: (function(t, size=(5, 6)) ** 2).sum())(x)
        same(gradient, jax.grad(lambda t: (written(t, (5, 6)) ** 2).sum())(x))
        stack = jax.numpy.stack([x, x + 1])
        same(jax.vmap(lambda t: function(t, size=(5, 6)))(stack)[1], function(x + 1, size=(5, 6)))
        back = listed_of_jax.function_of(OPERATORS[f"{name}_backward"])
        g = jax.numpy.asarray(values(2, 2, 5, 6))
        same(back(g, size=(3, 4)), getattr(portacl.jax, f"{name}_backward")(g, x.shape))
