"""Arrays of rank 5: nearest-exact and the grid sampler on volumes."""

import itertools

import numpy as np
import pytest

import portacl

INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


@pytest.fixture
def arrays():
    """Gradient, volume and grid, in float64."""
    random = np.random.default_rng(8)
    volume = random.uniform(-1, 1, (2, 3, 4, 5, 6))
    grid = random.uniform(-1.4, 1.4, (2, 3, 4, 2, 3))
    return random.uniform(-1, 1, (2, 3, 3, 4, 2)), volume, grid


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS[:2])
def test_sampling_is_pytorchs(arrays, interpolation, padding, align_corners):
    torch = pytest.importorskip("torch")
    modes = {"interpolation": interpolation, "padding": padding, "align_corners": align_corners}
    grad, volume, grid = arrays
    x, points = (torch.tensor(a, requires_grad=True) for a in (volume, grid))
    y = torch.nn.functional.grid_sample(x, points, interpolation, padding, align_corners)
    y.backward(torch.tensor(grad))
    np.testing.assert_allclose(
        portacl.grid_sampler_3d(volume, grid, **modes), y.detach(), rtol=0, atol=1e-13
    )
    input_grad, grid_grad = portacl.grid_sampler_3d_backward(grad, volume, grid, **modes)
    np.testing.assert_allclose(input_grad, x.grad, rtol=0, atol=1e-12)
    np.testing.assert_allclose(grid_grad, points.grad, rtol=0, atol=1e-12)


@pytest.mark.parametrize("padding", PADDINGS)
def test_tricubic_gradients_are_slopes(arrays, padding):
    grad, volume, grid = arrays

    def loss(x, points):
        y = portacl.grid_sampler_3d(x, points, interpolation="bicubic", padding=padding)
        return float((y * grad).sum())

    input_grad, grid_grad = portacl.grid_sampler_3d_backward(
        grad, volume, grid, interpolation="bicubic", padding=padding
    )
    assert np.isclose((input_grad * volume).sum(), loss(volume, grid), rtol=1e-12)
    step = 1e-6
    smooth = 0
    for place in itertools.islice(np.ndindex(grid.shape), 60):
        shifted = [grid.copy() for _ in range(2)]
        shifted[0][place] -= step
        shifted[1][place] += step
        left, middle, right = (loss(volume, g) for g in (shifted[0], grid, shifted[1]))
        if abs((right - middle) - (middle - left)) > 1e-9:
            continue  # a kink within the step
        smooth += 1
        assert np.isclose(grid_grad[place], (right - left) / (2 * step), atol=2e-4)
    assert smooth > 40


@pytest.mark.parametrize("scales", [None, (2.0, 1.5, 2.0), (1.7, 1.2, 1.9)])
def test_nearest_exact_is_pytorchs(scales):
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(9)
    volume = random.uniform(-1, 1, (2, 3, 4, 5, 6)).astype(np.float32)
    size = (8, 7, 12)
    x = torch.tensor(volume, requires_grad=True)
    aten = torch.ops.aten
    factors = scales or (None, None, None)
    y = aten._upsample_nearest_exact3d(x, size, *factors)
    assert (portacl.upsample_nearest_exact(volume, size, scales) == y.detach().numpy()).all()
    grad = random.uniform(-1, 1, y.shape).astype(np.float32)
    want = aten._upsample_nearest_exact3d_backward(torch.tensor(grad), size, volume.shape, *factors)
    got = portacl.upsample_nearest_exact_backward(grad, volume.shape, scales)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


def test_bits_do_not_depend_on_strides_or_threads(arrays):
    arrays = [a.astype(np.float32) for a in arrays]
    wanted = [a.tobytes() for a in portacl.grid_sampler_3d_backward(*arrays)]
    last = [np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1) for a in arrays[:2]]
    before = portacl.get_num_threads()
    try:
        for threads in (1, 2, 3):
            portacl.set_num_threads(threads)
            got = portacl.grid_sampler_3d_backward(*last, arrays[2])
            assert [a.tobytes() for a in got] == wanted
    finally:
        portacl.set_num_threads(before)


def test_masks_and_out(arrays):
    _, volume, grid = arrays
    whole = portacl.grid_sampler_3d_backward(*arrays)
    out = (np.empty_like(volume), np.empty_like(grid))
    for mask in itertools.product((False, True), repeat=2):
        got = portacl.grid_sampler_3d_backward(*arrays, output_mask=mask, out=out)
        for wanted, gradient, own, all_of_it in zip(mask, got, out, whole):
            assert (gradient is own and (own == all_of_it).all()) if wanted else gradient is None


def test_refusals(arrays):
    grad, volume, grid = arrays
    with pytest.raises(ValueError, match=r"\(N, C, D, H, W\) and \(N, OD, OH, OW, 3\)"):
        portacl.grid_sampler_3d(volume[0], grid)
    with pytest.raises(ValueError, match=r"its last extent must be 3 \(x, y, z\)"):
        portacl.grid_sampler_3d(volume, grid[..., :2])
    with pytest.raises(ValueError, match="grad_output has shape"):
        portacl.grid_sampler_3d_backward(grad[:, :, :2], volume, grid)
    with pytest.raises(ValueError, match="interpolation is 'cubic'"):
        portacl.grid_sampler_3d(volume, grid, interpolation="cubic")
    with pytest.raises(ValueError, match="scales has 2 values, but there are 3 spatial axes"):
        portacl.upsample_nearest_exact(volume, scales=(2.0, 2.0))
