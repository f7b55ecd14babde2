"""Sampling of detectors: custom calls with first derivatives in reverse mode."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import _ms_deform_attn, _roi_align
from .._numbers import choose, flag, flags
from .._pool import result_bytes
from . import _primitive  # noqa: F401 (registers the handlers)
from ._functional import _array, _check_same_dtype


def _call(
    name: str,
    arrays: Sequence[jax.Array],
    results: Sequence[tuple[tuple[int, ...], Any]],
    tensors: Sequence[int],
    **numbers: Sequence[float],
) -> list[jax.Array]:
    """Run an operator; `tensors` are indices of arrays, then of results; -1: not wanted.

    Under ``vmap`` one call follows the other.
    """
    lengths = {
        "reals": (3, "f8"),
        "integers": (3, "i8"),
        "choices": (2, "i4"),
        "flags": (2, "i4"),
        "lists": (10, "i8"),
    }
    attributes = {"tensors": np.array(tensors, np.int32)}
    for kind, (length, dtype) in lengths.items():
        given = (*numbers.get(kind, ()), *[0] * length)[:length]
        attributes[kind] = np.array(given, dtype)
    for shape, dtype in results:
        result_bytes(shape, np.dtype(dtype).itemsize)
    kinds = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in results]
    call = jax.ffi.ffi_call(f"portacl_{name}", kinds, vmap_method="sequential")
    found: list[jax.Array] = call(*arrays, **attributes)
    return found


# ---- RoiAlign


@dataclasses.dataclass(frozen=True)
class _Regions:
    """The arguments that are no arrays."""

    name: str
    size: tuple[int, ...]
    scale: float
    ratio: int
    flags: tuple[bool, ...]
    mode: int = 0

    def numbers(self, pooled: Sequence[int]) -> dict[str, Sequence[float]]:
        return {
            "reals": (self.scale,),
            "integers": (*pooled, self.ratio),
            "choices": (self.mode,),
            "flags": self.flags,
        }


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _pool(image: jax.Array, boxes: jax.Array, how: _Regions) -> jax.Array:
    shape = (boxes.shape[0], image.shape[1], *how.size)
    numbers = how.numbers(how.size)
    return _call(how.name, (image, boxes), [(shape, image.dtype)], (0, 1, 2), **numbers)[0]


def _spread(
    grad: jax.Array, boxes: jax.Array, image: Any, size: Sequence[int], how: _Regions
) -> jax.Array:
    arrays = (grad, boxes) if image is None else (grad, boxes, image)
    result = len(arrays)
    # For an average the images do not count: the result stands for them.
    tensors = (0, 1, result) if "rotated" in how.name else (0, 1, 2, result)
    name, numbers = f"{how.name}_backward", how.numbers(grad.shape[2:])
    return _call(name, arrays, [(tuple(size), grad.dtype)], tensors, **numbers)[0]


def _pool_forward(image: jax.Array, boxes: jax.Array, how: _Regions) -> tuple[jax.Array, Any]:
    # An array without elements keeps the shape of images that do not count.
    kept = image if how.mode else jnp.zeros((*image.shape, 0), image.dtype)
    return _pool(image, boxes, how), (kept, boxes)


def _pool_backward(how: _Regions, kept: Any, grad: jax.Array) -> tuple[jax.Array, None]:
    image, boxes = kept
    return _spread(grad, boxes, image if how.mode else None, image.shape[:4], how), None


_pool.defvjp(_pool_forward, _pool_backward)


def _checked(array: Any, name: str, boxes: Any, columns: int) -> tuple[jax.Array, jax.Array]:
    image, rois = _array(array, name), _array(boxes, "boxes")
    _check_same_dtype(**{name: image, "boxes": rois})
    if image.ndim != 4:
        raise ValueError(f"{name} has shape {list(image.shape)}, but must have 4 axes")
    if rois.ndim != 2 or rois.shape[1] != columns:
        raise ValueError(f"boxes has shape {list(rois.shape)}, but must be (K, {columns})")
    return image, rois


def _how(name: str, size: Any, numbers: Sequence[Any], *rest: bool, mode: str = "avg") -> _Regions:
    scale, ratio, aligned = _roi_align._numbers(*numbers)
    chosen = choose(_roi_align.MODES, "mode", mode)
    return _Regions(name, size, scale, ratio, (aligned, *rest), chosen)


def roi_align(
    input: Any,
    boxes: Any,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
    *,
    mode: str = "avg",
) -> jax.Array:
    """Pool regions of images, as ``portacl.roi_align`` does; ``input`` has a gradient.

    Args, errors: as ``portacl.roi_align``; a box that names no image stops the computation.
    Sizes and numbers are static. No second derivatives, no forward mode.
    """
    image, rois = _checked(input, "input", boxes, 5)
    size = _roi_align._size("output_size", output_size, 2)
    numbers = (spatial_scale, sampling_ratio, aligned)
    return _pool(image, rois, _how("roi_align", size, numbers, mode=mode))


def roi_align_backward(
    grad_output: Any,
    boxes: Any,
    input_size: Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
    *,
    mode: str = "avg",
    input: Any = None,
) -> jax.Array:
    """Gradient of ``roi_align`` with respect to its input, as ``portacl.roi_align_backward``."""
    grad, rois = _checked(grad_output, "grad_output", boxes, 5)
    how = _how("roi_align", (), (spatial_scale, sampling_ratio, aligned), mode=mode)
    if input is None and how.mode:
        raise ValueError(f"input is None, but the gradient of mode {mode!r} depends on it")
    image = None if input is None else _array(input, "input")
    return _spread(grad, rois, image, _roi_align._size("input_size", input_size, 4), how)


def roi_align_rotated(
    input: Any,
    boxes: Any,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
    clockwise: bool = False,
) -> jax.Array:
    """Pool rotated regions, as ``portacl.roi_align_rotated`` does; otherwise like ``roi_align``."""
    image, rois = _checked(input, "input", boxes, 6)
    size = _roi_align._size("output_size", output_size, 2)
    numbers, turned = (spatial_scale, sampling_ratio, aligned), flag("clockwise", clockwise)
    return _pool(image, rois, _how("roi_align_rotated", size, numbers, turned))


def roi_align_rotated_backward(
    grad_output: Any,
    boxes: Any,
    input_size: Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
    clockwise: bool = False,
) -> jax.Array:
    """Gradient of ``roi_align_rotated`` with respect to its input."""
    grad, rois = _checked(grad_output, "grad_output", boxes, 6)
    numbers, turned = (spatial_scale, sampling_ratio, aligned), flag("clockwise", clockwise)
    how = _how("roi_align_rotated", (), numbers, turned)
    return _spread(grad, rois, None, _roi_align._size("input_size", input_size, 4), how)


# ---- deformable attention

_Levels = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]
"""Shapes and first keys."""


def _tables(levels: _Levels) -> tuple[jax.Array, jax.Array]:
    shapes, starts = levels
    return jnp.asarray(np.array(shapes, np.int32).reshape(-1, 2)), jnp.asarray(starts, jnp.int32)


def _joined(points: jax.Array) -> jax.Array:
    """The points of all levels on one axis."""
    shape = points.shape
    return points.reshape(*shape[:3], prod(shape[3:5]), *shape[5:])


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def _attend(
    value: jax.Array, locations: jax.Array, weights: jax.Array, levels: _Levels
) -> jax.Array:
    arrays = (value, *_tables(levels), _joined(locations), _joined(weights))
    batch, _, heads, channels = value.shape
    shape = (batch, locations.shape[1], heads * channels)
    return _call("ms_deform_attn", arrays, [(shape, value.dtype)], range(6))[0]


def _attend_backward(
    arrays: Sequence[jax.Array], levels: _Levels, grad: jax.Array, mask: Sequence[bool]
) -> list[Any]:
    value, *points = arrays
    operands = (value, *_tables(levels), *map(_joined, points), grad)
    sources = (value, *operands[3:5])
    numbers = iter(range(6, 9))
    tensors = [*range(6), *(next(numbers) if wanted else -1 for wanted in mask)]
    kinds = [(s.shape, s.dtype) for s, wanted in zip(sources, mask) if wanted]
    found = iter(_call("ms_deform_attn_backward", operands, kinds, tensors) if kinds else ())
    return [next(found).reshape(a.shape) if wanted else None for a, wanted in zip(arrays, mask)]


_attend.defvjp(
    lambda value, locations, weights, levels: (
        _attend(value, locations, weights, levels),
        (value, locations, weights),
    ),
    lambda levels, kept, grad: tuple(_attend_backward(kept, levels, grad, (True, True, True))),
)


def _attention(
    value: Any, spatial_shapes: Any, level_start_index: Any, locations: Any, weights: Any
) -> tuple[list[jax.Array], _Levels]:
    """The arrays, and the static tables."""
    arrays = [
        _array(a, n) for a, n in ((value, "value"), (locations, "locations"), (weights, "weights"))
    ]
    shapes = np.asarray(spatial_shapes)
    starts = level_start_index
    starts = _ms_deform_attn._starts(shapes) if starts is None else np.asarray(starts)
    wanted = arrays[1].shape[:5]
    if [a.ndim for a in arrays] != [4, 6, 5] or arrays[2].shape != wanted:
        raise ValueError(
            f"value, locations and weights have shapes {[list(a.shape) for a in arrays]}, but must "
            "be (B, K, M, C), (B, Q, M, L, P, 2) and (B, Q, M, L, P)"
        )
    if shapes.shape != (wanted[3], 2) or starts.shape != (wanted[3],):
        raise ValueError(
            f"spatial_shapes has shape {list(shapes.shape)} and level_start_index "
            f"{list(starts.shape)}, but locations of {wanted[3]} levels ask for "
            f"{[wanted[3], 2]} and {[wanted[3]]}"
        )
    return arrays, (tuple((int(h), int(w)) for h, w in shapes), tuple(int(s) for s in starts))


def ms_deform_attn(
    value: Any, spatial_shapes: Any, level_start_index: Any, locations: Any, weights: Any
) -> jax.Array:
    """Deformable attention, as ``portacl.ms_deform_attn``; differentiable once, in reverse mode.

    Args, errors: as ``portacl.ms_deform_attn``. ``spatial_shapes`` and ``level_start_index`` are
    static: no tracers.
    """
    arrays, levels = _attention(value, spatial_shapes, level_start_index, locations, weights)
    return _attend(*arrays, levels)


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
    """Gradients of ``ms_deform_attn`` with respect to value, locations and weights."""
    arrays, levels = _attention(value, spatial_shapes, level_start_index, locations, weights)
    mask = flags("output_mask", output_mask, 3)
    first, second, third = _attend_backward(
        arrays, levels, _array(grad_output, "grad_output"), mask
    )
    return first, second, third
