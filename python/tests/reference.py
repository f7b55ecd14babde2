"""The operators in plain NumPy and float64, written to be read."""

from __future__ import annotations

import numpy as np


def source_index(in_extent: int, out_extent: int, scale: float = 0.0) -> np.ndarray:
    """Index of the input element of every output element along one axis."""
    with np.errstate(over="ignore", divide="ignore"):
        if scale > 0:
            ratio = np.float32(1.0 / scale)
        else:
            ratio = np.float32(in_extent) / np.float32(out_extent)
        centres = (np.arange(out_extent) + 0.5) * np.float64(ratio)
    return np.minimum(np.floor(centres.astype(np.float32)), in_extent - 1).astype(np.int64)


def upsample_nearest_exact(x: np.ndarray, out_size, scales=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Forward, (N, C, ...)."""
    for axis, extent in enumerate(out_size):
        x = np.take(x, source_index(x.shape[2 + axis], extent, scales[axis]), axis=2 + axis)
    return x


def upsample_nearest_exact_backward(grad, in_size, scales=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Backward in float64, (N, C, ...)."""
    grad = grad.astype(np.float64)
    for axis, extent in enumerate(in_size):
        index = source_index(extent, grad.shape[2 + axis], scales[axis])
        moved = np.moveaxis(grad, 2 + axis, 0)
        summed = np.zeros((extent, *moved.shape[1:]))
        np.add.at(summed, index, moved)
        grad = np.moveaxis(summed, 0, 2 + axis)
    return grad


def grid_sampler_bilinear_zeros(x: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Forward in float64: bilinear, zeros, corners not aligned."""
    n, c, h, w = x.shape
    out = np.zeros((n, c, *grid.shape[1:3]))
    for b in range(n):
        ix = ((grid[b, ..., 0].astype(np.float64) + 1) * w - 1) / 2
        iy = ((grid[b, ..., 1].astype(np.float64) + 1) * h - 1) / 2
        x0, y0 = np.floor(ix).astype(int), np.floor(iy).astype(int)
        for dy in (0, 1):
            for dx in (0, 1):
                px, py = x0 + dx, y0 + dy
                weight = (1 - abs(ix - px)) * (1 - abs(iy - py))
                inside = (px >= 0) & (px < w) & (py >= 0) & (py < h)
                values = x[b][:, np.clip(py, 0, h - 1), np.clip(px, 0, w - 1)]
                out[b] += np.where(inside, weight * values, 0)
    return out
