"""Values of the operators on NumPy arrays."""

from __future__ import annotations

import numpy as np
import pytest

import portacl
import reference


def test_document_example():
    grad = np.arange(8, dtype=np.float32).reshape(1, 1, 4, 2)
    got = portacl.upsample_nearest_exact_backward(grad, (1, 1, 8, 4), scales=(2.0, 2.0))
    assert got[0, 0, 0, 0] == 6 and got[0, 0, 1, 0] == 22
    assert np.count_nonzero(got) == 2


@pytest.mark.parametrize("sizes", [(5, 7, 10, 14), (6, 4, 3, 9), (1, 1, 5, 1), (13, 8, 13, 8)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nearest_backward(rng, sizes, dtype):
    h, w, oh, ow = sizes
    grad = rng.integers(-8, 8, (2, 3, oh, ow)).astype(dtype)  # sums are exact
    got = portacl.upsample_nearest_exact_backward(grad, (2, 3, h, w))
    assert got.dtype == grad.dtype
    np.testing.assert_array_equal(got, reference.upsample_nearest_exact_backward(grad, (h, w)))


def test_nearest_1d(rng):
    grad = rng.integers(-8, 8, (2, 3, 17)).astype(np.float32)
    got = portacl.upsample_nearest_exact_backward(grad, (2, 3, 7))
    np.testing.assert_array_equal(got, reference.upsample_nearest_exact_backward(grad, (7,)))
    x = rng.standard_normal((2, 3, 7)).astype(np.float32)
    np.testing.assert_array_equal(
        portacl.upsample_nearest_exact(x, 17), reference.upsample_nearest_exact(x, (17,))
    )


@pytest.mark.parametrize("scales", [2.0, (1.7, 2.4), (0.6, 3.0)])
def test_nearest_forward_scales(rng, scales):
    x = rng.standard_normal((2, 3, 9, 11)).astype(np.float32)
    pair = (scales, scales) if isinstance(scales, float) else scales
    got = portacl.upsample_nearest_exact(x, scales=scales)
    size = (int(9 * pair[0]), int(11 * pair[1]))
    assert got.shape == (2, 3, *size)
    np.testing.assert_array_equal(got, reference.upsample_nearest_exact(x, size, pair))


def test_nearest_is_its_own_adjoint(rng):
    """<forward(x), g> = <x, backward(g)>, exactly with integers."""
    x = rng.integers(-8, 8, (2, 3, 6, 5)).astype(np.float64)
    g = rng.integers(-8, 8, (2, 3, 17, 13)).astype(np.float64)
    forward = portacl.upsample_nearest_exact(x, (17, 13))
    backward = portacl.upsample_nearest_exact_backward(g, x.shape)
    assert (forward * g).sum() == (x * backward).sum()


def test_grid_sampler_forward(rng):
    x = rng.standard_normal((2, 3, 5, 6))
    grid = rng.uniform(-1.3, 1.3, (2, 4, 7, 2))
    np.testing.assert_allclose(
        portacl.grid_sampler_2d(x, grid), reference.grid_sampler_bilinear_zeros(x, grid), atol=1e-12
    )


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_grid_sampler_gradients(rng, interpolation, padding, align_corners):
    """Against differences of the forward function, which is linear in the input."""
    modes = dict(interpolation=interpolation, padding=padding, align_corners=align_corners)
    x = rng.standard_normal((1, 2, 5, 6))
    grid = rng.uniform(-1.4, 1.4, (1, 3, 4, 2))
    g = rng.standard_normal((1, 2, 3, 4))

    def loss(x, grid):
        return (portacl.grid_sampler_2d(x, grid, **modes) * g).sum()

    input_grad, grid_grad = portacl.grid_sampler_2d_backward(g, x, grid, **modes)
    direction = rng.standard_normal(x.shape)
    assert (input_grad * direction).sum() == pytest.approx(loss(direction, grid), abs=1e-10)
    step = 1e-6 * rng.standard_normal(grid.shape)
    difference = loss(x, grid + step) - loss(x, grid - step)
    assert 2 * (grid_grad * step).sum() == pytest.approx(difference, abs=1e-10)


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest", "bicubic"])
def test_masks_of_all_modes(rng, interpolation):
    g, x = rng.standard_normal((2, 1, 2, 3, 4)), rng.standard_normal((2, 2, 5, 6))
    grid = rng.uniform(-1, 1, (2, 3, 4, 2))
    g = np.ascontiguousarray(g[:, 0])
    both = portacl.grid_sampler_2d_backward(g, x, grid, interpolation=interpolation)
    for mask in ((True, False), (False, True)):
        got = portacl.grid_sampler_2d_backward(
            g, x, grid, interpolation=interpolation, output_mask=mask
        )
        for wanted, one, all_of_it in zip(mask, got, both):
            assert (one is not None) == wanted
            assert one is None or one.tobytes() == all_of_it.tobytes()


def test_mask_leaves_out():
    x = np.ones((1, 1, 3, 3), np.float32)
    grid = np.zeros((1, 2, 2, 2), np.float32)
    g = np.ones((1, 1, 2, 2), np.float32)
    input_grad, grid_grad = portacl.grid_sampler_2d_backward(g, x, grid, output_mask=(True, False))
    assert input_grad.sum() == pytest.approx(4) and grid_grad is None
    input_grad, grid_grad = portacl.grid_sampler_2d_backward(g, x, grid, output_mask=(False, True))
    assert input_grad is None and grid_grad.shape == grid.shape
    assert portacl.grid_sampler_2d_backward(g, x, grid, output_mask=(False, False)) == (None, None)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("interpolation", ["bilinear", "nearest", "bicubic"])
def test_nan_in_grid(rng, interpolation, padding):
    """An unusable point adds nothing and gets NaN (nearest: 0); others are untouched."""
    x = rng.standard_normal((1, 2, 5, 6)).astype(np.float32)
    grid = rng.uniform(-1, 1, (1, 3, 4, 2)).astype(np.float32)
    g = rng.standard_normal((1, 2, 3, 4)).astype(np.float32)
    modes = dict(interpolation=interpolation, padding=padding)
    silenced = g.copy()
    silenced[:, :, 1, 2] = 0
    wanted, _ = portacl.grid_sampler_2d_backward(silenced, x, grid, **modes)
    grid[0, 1, 2, 0] = np.nan
    input_grad, grid_grad = portacl.grid_sampler_2d_backward(g, x, grid, **modes)
    np.testing.assert_array_equal(input_grad, wanted)
    expected = 0.0 if interpolation == "nearest" else np.nan
    np.testing.assert_array_equal(grid_grad[0, 1, 2], [expected, expected])
    assert np.isfinite(np.delete(grid_grad.reshape(-1, 2), 6, axis=0)).all()


def test_empty_arrays():
    assert portacl.upsample_nearest_exact_backward(
        np.ones((0, 3, 4, 4), np.float32), (0, 3, 2, 2)
    ).shape == (0, 3, 2, 2)
    input_grad, grid_grad = portacl.grid_sampler_2d_backward(
        np.ones((1, 2, 0, 3), np.float32),
        np.ones((1, 2, 4, 4), np.float32),
        np.ones((1, 0, 3, 2), np.float32),
    )
    assert not input_grad.any() and grid_grad.shape == (1, 0, 3, 2)


def test_bits_do_not_depend_on_threads(rng):
    x = rng.standard_normal((3, 5, 64, 48)).astype(np.float32)
    grid = rng.uniform(-1.1, 1.1, (3, 96, 80, 2)).astype(np.float32)
    g = rng.standard_normal((3, 5, 96, 80)).astype(np.float32)
    results = []
    for threads in (1, 2, 3):
        portacl.set_num_threads(threads)
        assert portacl.get_num_threads() == threads
        nearest = portacl.upsample_nearest_exact_backward(g, x.shape)
        results.append([*portacl.grid_sampler_2d_backward(g, x, grid), nearest])
    for other in results[1:]:
        for first, second in zip(results[0], other):
            assert first.tobytes() == second.tobytes()
