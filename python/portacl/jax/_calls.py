"""The custom calls: XLA's targets, and what each gives for arrays of given shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from .. import _core

for _name, _capsule in _core.jax_handlers().items():
    jax.ffi.register_ffi_target(_name, _capsule, platform="cpu")


def _call(name: str, results: Any, *arrays: jax.Array, **attributes: Any) -> Any:
    # Axes that vmap adds come first in every array; the handlers count them into the batch.
    call = jax.ffi.ffi_call(f"portacl_{name}", results, vmap_method="broadcast_all")
    return call(*arrays, **attributes)


def _like(shape: Sequence[int], array: jax.Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(tuple(shape), array.dtype)


def nearest(
    name: str, array: jax.Array, shape: Sequence[int], scales: tuple[float, float, float]
) -> jax.Array:
    """upsample_nearest_exact or its backward, to an array of `shape`."""
    attributes = {"rank": np.int32(array.ndim), "scales": np.array(scales, np.float64)}
    result: jax.Array = _call(name, _like(shape, array), array, **attributes)
    return result


def _attributes(input: jax.Array, modes: tuple[int, int, bool]) -> dict[str, Any]:
    interpolation, padding, align_corners = modes
    return {
        "rank": np.int32(input.ndim),
        "interpolation": np.int32(interpolation),
        "padding": np.int32(padding),
        "align_corners": bool(align_corners),
    }


def grid_sampler(input: jax.Array, grid: jax.Array, modes: tuple[int, int, bool]) -> jax.Array:
    """grid_sampler_2d or grid_sampler_3d of arrays whose shapes fit."""
    output = _like((*input.shape[:2], *grid.shape[1:-1]), input)
    result: jax.Array = _call("grid_sampler", output, input, grid, **_attributes(input, modes))
    return result


def grid_sampler_gradients(
    arrays: tuple[jax.Array, jax.Array, jax.Array],
    modes: tuple[int, int, bool],
    mask: tuple[bool, bool],
) -> tuple[Any, Any]:
    """The wanted gradients for (grad_output, input, grid), None for the other."""
    _, input, grid = arrays
    of_input, of_grid = _like(input.shape, input), _like(grid.shape, grid)
    attributes = _attributes(input, modes)
    if all(mask):
        both: tuple[Any, Any] = tuple(
            _call("grid_sampler_backward", (of_input, of_grid), *arrays, **attributes)
        )
        return both
    if mask[0]:
        return _call("grid_sampler_input_grad", of_input, *arrays, **attributes), None
    if mask[1]:
        return None, _call("grid_sampler_grid_grad", of_grid, *arrays, **attributes)
    return None, None
