"""Multi-scale deformable attention on arrays of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from . import _core
from ._arrays import check_array, check_out, describe, kind_of
from ._numbers import flags, shown


def _indices(values: Any, name: str, axes: int) -> Any:
    """An array of int32 or int64; sequences of numbers become one."""
    check_array(values, name)
    if hasattr(values, "__dlpack__"):
        return values
    try:
        numbers = [[index(n) for n in row] if axes == 2 else index(row) for row in values]
        return np.asarray(numbers, np.int64)
    except (TypeError, ValueError, OverflowError):
        wanted = "height and width of each level" if axes == 2 else "whole numbers"
        raise TypeError(f"{name} is {shown(values)}; wanted {wanted}") from None


def _starts(shapes: Any) -> Any:
    sizes = np.prod(np.asarray(shapes, np.int64), axis=1)
    return np.cumsum(sizes) - sizes


def _joined(points: Any, name: str, rank: int) -> tuple[Any, tuple[int, ...]]:
    """Locations or weights with the points of all levels on one axis, and the original shape."""
    check_array(points, name)
    shape = tuple(points.shape)
    if len(shape) != rank:
        wanted = "(B, Q, M, L, P, 2)" if rank == 6 else "(B, Q, M, L, P)"
        raise ValueError(f"{name} has shape {list(shape)}, but must be {wanted}")
    return points.reshape(*shape[:3], prod(shape[3:5]), *shape[5:]), shape


class _Call:
    """The arrays of a call as ``_core`` takes them."""

    def __init__(
        self, value: Any, spatial_shapes: Any, level_start_index: Any, locations: Any, weights: Any
    ) -> None:
        self.value_shape, self.dtype = describe(value, "value")
        if len(self.value_shape) != 4:
            raise ValueError(f"value has shape {list(self.value_shape)}, but must be (B, K, M, C)")
        shapes = _indices(spatial_shapes, "spatial_shapes", 2)
        if len(shapes.shape) != 2 or shapes.shape[1] != 2:
            raise ValueError(f"spatial_shapes has shape {list(shapes.shape)}, but must be (L, 2)")
        starts = _starts(shapes) if level_start_index is None else level_start_index
        locations, self.locations_shape = _joined(locations, "locations", 6)
        weights, self.weights_shape = _joined(weights, "weights", 5)
        _, self.points_dtype = describe(locations, "locations")
        self.arrays = (value, shapes, _indices(starts, "level_start_index", 1), locations, weights)
        levels = tuple(shapes.shape)[:1]
        if levels != self.locations_shape[3:4]:
            raise ValueError(
                f"spatial_shapes has shape {list(shapes.shape)}, but locations "
                f"{list(self.locations_shape)} ask for {[*self.locations_shape[3:4], 2]}"
            )

    @property
    def output_shape(self) -> tuple[int, ...]:
        """(B, Q, M * C)."""
        batch, _, heads, channels = self.value_shape
        return batch, self.locations_shape[1], heads * channels


def ms_deform_attn(
    value: Any,
    spatial_shapes: Any,
    level_start_index: Any,
    locations: Any,
    weights: Any,
    *,
    out: Any = None,
) -> Any:
    """Sum weighted bilinear samples of several levels: Deformable DETR's attention.

    Args:
        value: (B, K, M, C): K keys of all levels, M heads of C channels; float16, bfloat16,
            float32 or float64; any strides.
        spatial_shapes: (L, 2), height and width of each level; int32, int64 or a sequence.
        level_start_index: (L,), the key of each level's first pixel; None: levels follow each
            other.
        locations: (B, Q, M, L, P, 2), x first; 0 and 1 are the edges of a level. Of ``value``'s
            dtype or, beside 16 bits, float32.
        weights: (B, Q, M, L, P), of the dtype of ``locations``.
        out: where to put the result: an array (B, Q, M * C), any strides.

    Returns:
        ``out``, or a new row-major array (B, Q, M * C) of ``value``'s kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes do not fit, a level does not fit among the keys, or ``out`` is
            read-only or overlaps another array.

    """
    call = _Call(value, spatial_shapes, level_start_index, locations, weights)
    kind = kind_of(value)
    if out is not None:
        check_out(out, call.output_shape, call.dtype)
    result = kind.empty(call.output_shape, call.dtype) if out is None else out
    _core.ms_deform_attn(*call.arrays, result)
    return kind.finish(result) if out is None else out


def ms_deform_attn_backward(
    value: Any,
    spatial_shapes: Any,
    level_start_index: Any,
    locations: Any,
    weights: Any,
    grad_output: Any,
    *,
    output_mask: Sequence[bool] = (True, True, True),
) -> tuple[Any, Any, Any]:
    """Gradients of ``ms_deform_attn`` with respect to value, locations and weights.

    Args:
        value, spatial_shapes, level_start_index, locations, weights: as ``ms_deform_attn`` takes
            them.
        grad_output: (B, Q, M * C) or (B, Q, M, C).
        output_mask: which of the three gradients to compute.

    Returns:
        ``(value_grad, locations_grad, weights_grad)``, None for a masked one: new row-major arrays
        of ``value``'s kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes do not fit, or a level does not fit among the keys.

    """
    call = _Call(value, spatial_shapes, level_start_index, locations, weights)
    describe(grad_output, "grad_output")
    kind = kind_of(value)
    wanted = flags("output_mask", output_mask, 3)
    arrays = (*call.arrays[:1], *call.arrays[3:])
    shapes = [describe(a, name)[0] for a, name in zip(arrays, ("value", "locations", "weights"))]
    dtypes = (call.dtype, call.points_dtype, call.points_dtype)
    results = [
        kind.empty(shape, dtype) if is_wanted else None
        for shape, dtype, is_wanted in zip(shapes, dtypes, wanted)
    ]
    if any(wanted):
        _core.ms_deform_attn_backward(*call.arrays, grad_output, *results)
    own = (call.value_shape, call.locations_shape, call.weights_shape)
    value_grad, locations_grad, weights_grad = (
        None if result is None else kind.finish(result).reshape(shape)
        for result, shape in zip(results, own)
    )
    return value_grad, locations_grad, weights_grad
