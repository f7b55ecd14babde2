"""Circular and constant padding, and values for points outside, in JAX."""

import numpy as np
import pytest

import portacl

jax = pytest.importorskip("jax")

import portacl.jax as pj  # noqa: E402

RULES = {
    "circular": {"padding": "circular"},
    "constant": {"padding": "constant", "value": 2.5},
    "outside": {"padding": "border", "outside": -3.0},
    "both": {"padding": "constant", "value": 2.5, "outside": 7.0},
}


@pytest.fixture(autouse=True)
def in_double():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def case(axes):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 3, *(3, 4, 5)[-axes:]))
    grid = rng.uniform(-2.2, 2.2, (2, *(2, 3, 4)[-axes:], axes))
    return x, grid, rng.standard_normal((2, 3, *(2, 3, 4)[-axes:]))


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_values_and_gradients_are_numpys(axes, rule, mode):
    x, grid, g = case(axes)
    sample = getattr(pj, f"grid_sampler_{axes}d")
    numpys = getattr(portacl, f"grid_sampler_{axes}d")
    backward = getattr(portacl, f"grid_sampler_{axes}d_backward")
    options = {"interpolation": mode, **RULES[rule]}
    out, pull = jax.vjp(lambda i, p: sample(i, p, **options), x, grid)
    np.testing.assert_array_equal(out, numpys(x, grid, **options))
    for got, want in zip(pull(jax.numpy.asarray(g)), backward(g, x, grid, **options)):
        np.testing.assert_array_equal(got, want)
    directions = (np.ones_like(x), np.full_like(grid, 0.5))
    _, along = jax.jvp(lambda i, p: sample(i, p, **options), (x, grid), directions)
    back = sum((a * b).sum() for a, b in zip(backward(g, x, grid, **options), directions))
    np.testing.assert_allclose((along * g).sum(), back, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_second_derivatives_are_differences_of_first_ones(axes, rule, mode):
    x, grid, g = case(axes)
    sample = getattr(pj, f"grid_sampler_{axes}d")
    options = {"interpolation": mode, **RULES[rule]}

    def slope(points):
        return jax.grad(lambda p: (sample(x, p, **options) * g).sum())(points)

    direction = np.random.default_rng(6).standard_normal(grid.shape)
    _, along = jax.jvp(slope, (grid,), (direction,))
    step = 1e-6
    difference = (slope(grid + step * direction) - slope(grid - step * direction)) / (2 * step)
    np.testing.assert_allclose(along, difference, rtol=1e-4, atol=1e-4)
