"""The functions of portacl.jax: checks of shapes and dtypes, and a primitive's call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from .._arrays import check_array
from .._numbers import flag, flags
from .._operators import (
    _IMAGE,
    _MODES,
    _VOLUME,
    INTERPOLATIONS,
    PADDINGS,
    Interpolation,
    Padding,
    Scales,
    _axis_scales,
    _choose,
    _extents,
    _output_extents,
    _spatial_axes,
    _with,
    outside_values,
)
from .._pool import result_bytes
from . import _grid_sampler, _linear
from ._formulas import Modes

_DTYPES = ("float16", "bfloat16", "float32", "float64")
_ALLOWED = "float16, bfloat16, float32 or float64"


def _array(value: Any, name: str) -> jax.Array:
    check_array(value, name)
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError) as error:
        dtype = getattr(value, "dtype", None)
        what = f"is of type {type(value).__name__}" if dtype is None else f"has dtype {dtype}"
        raise TypeError(f"{name} {what}, which JAX takes for no array: {error}") from error
    if array.dtype.name not in _DTYPES:
        raise TypeError(f"{name} has dtype {array.dtype.name}, but must be {_ALLOWED}")
    return array


def _image(value: Any, name: str, data_format: str) -> jax.Array:
    """An array with the channels behind the batch, whatever the caller's layout."""
    array = _array(value, name)
    return jnp.moveaxis(array, -1, 1) if _channels_last(data_format, array.ndim) else array


def _as_given(array: jax.Array, data_format: str) -> jax.Array:
    return jnp.moveaxis(array, 1, -1) if _channels_last(data_format, array.ndim) else array


def _check_same_dtype(**arrays: jax.Array) -> None:
    (first, dtype), *others = ((name, array.dtype.name) for name, array in arrays.items())
    for name, other in others:
        if other != dtype:
            raise TypeError(f"{name} has dtype {other}, but {first} has {dtype}")


def _check_extents(**shapes: tuple[int, ...]) -> None:
    for name, shape in shapes.items():
        if 0 in shape[2:]:
            raise ValueError(
                f"{name} has shape {list(shape)}, but its spatial extents must be at least 1"
            )


# ---- resizing


def _apply(
    name: str, array: jax.Array, shape: tuple[int, ...], back: bool = False, **how: Any
) -> jax.Array:
    """A linear operator's result of `shape`, or its backward's."""
    result_bytes(shape, array.dtype.itemsize)
    names = [name, f"{name}_backward"]
    target, transpose = reversed(names) if back else names
    return _linear.apply(_linear.Map(target, transpose, array.shape, shape, **how), array)


def _resize(
    name: str, input: Any, output_size: Any, scales: Scales, data_format: str, **modes: bool
) -> jax.Array:
    array = _image(input, "input", data_format)
    factors = _axis_scales(scales, _spatial_axes(array.shape, "input"))
    shape = (*array.shape[:2], *_output_extents(array.shape, output_size, scales, factors))
    _check_extents(input=array.shape, output=shape)
    return _as_given(_apply(name, array, shape, scales=factors, **modes), data_format)


def _resize_backward(
    name: str, grad_output: Any, input_size: Any, scales: Scales, data_format: str, **modes: bool
) -> jax.Array:
    array = _image(grad_output, "grad_output", data_format)
    axes = _spatial_axes(array.shape, "grad_output")
    wanted = _extents("input_size", input_size, "the whole shape, a sequence of ints")
    if len(wanted) == array.ndim and _channels_last(data_format, array.ndim):
        wanted = (wanted[0], wanted[-1], *wanted[1:-1])
    if len(wanted) != array.ndim or wanted[:2] != array.shape[:2]:
        raise ValueError(
            f"input_size is {list(wanted)}, but grad_output of shape {list(array.shape)} needs "
            f"its N and C, and {axes} spatial extents"
        )
    _check_extents(grad_output=array.shape, input=wanted)
    factors = _axis_scales(scales, axes)
    return _as_given(_apply(name, array, wanted, back=True, scales=factors, **modes), data_format)


# ---- grid sampler


def _either(name: str, value: str, default: str, alias: str, other: str | None) -> str:
    """A mode by either of its two names."""
    if other is None:
        return value
    if value not in (default, other):
        raise ValueError(
            f"{name} is {value!r} and {alias} {other!r}, but they are two names of one parameter"
        )
    return other


def _modes(
    axes: int,
    interpolation: str,
    padding: str,
    align_corners: bool,
    mode: str | None,
    padding_mode: str | None,
    value: float,
    outside: float | None,
) -> Modes:
    interpolation = _either("interpolation", interpolation, "bilinear", "mode", mode)
    padding = _either("padding", padding, "zeros", "padding_mode", padding_mode)
    chosen = _choose(PADDINGS, "padding" if padding_mode is None else "padding_mode", padding)
    fill, replaces, replacement = outside_values(chosen, value, outside) or (0.0, False, 0.0)
    return Modes(
        axes,
        _choose(INTERPOLATIONS, "interpolation" if mode is None else "mode", interpolation),
        chosen,
        flag("align_corners", align_corners),
        fill,
        replacement if replaces else None,
    )


_CHANNELS_LAST = {
    **dict.fromkeys(("channels_first", "NCL", "NCHW", "NCDHW"), False),
    **dict.fromkeys(("channels_last", "NLC", "NHWC", "NDHWC"), True),
}


def _channels_last(data_format: str, rank: int) -> bool:
    """Whether the channels are the last axis, by a name that fits the rank."""
    last = bool(_choose(_CHANNELS_LAST, "data_format", data_format))  # type: ignore[arg-type]
    if not data_format.startswith("channels") and len(data_format) != rank:
        raise ValueError(f"data_format is {data_format!r}, but the array has {rank} axes")
    return last


_SHAPES = {2: "(N, C, H, W) and (N, OH, OW, 2)", 3: "(N, C, D, H, W) and (N, OD, OH, OW, 3)"}


def _check_grid_shapes(axes: int, input: jax.Array, grid: jax.Array) -> None:
    rank = axes + 2
    if (
        (input.ndim, grid.ndim) != (rank, rank)
        or grid.shape[-1] != axes
        or grid.shape[0] != input.shape[0]
    ):
        raise ValueError(
            f"input has shape {list(input.shape)} and grid {list(grid.shape)}, but they must be "
            f"{_SHAPES[axes]}"
        )
    _check_extents(input=input.shape)


def _sample(input: Any, grid: Any, modes: Modes, data_format: str) -> jax.Array:
    source, points = _image(input, "input", data_format), _array(grid, "grid")
    _check_same_dtype(input=source, grid=points)
    _check_grid_shapes(modes.axes, source, points)
    return _as_given(_grid_sampler.sample(source, points, modes), data_format)


def _sample_backward(
    arrays: tuple[Any, Any, Any], modes: Modes, mask: Sequence[bool], data_format: str
) -> tuple[Any, Any]:
    gradient, source = (
        _image(value, name, data_format) for value, name in zip(arrays, ("grad_output", "input"))
    )
    points = _array(arrays[2], "grid")
    _check_same_dtype(input=source, grid=points, grad_output=gradient)
    _check_grid_shapes(modes.axes, source, points)
    wanted = (*source.shape[:2], *points.shape[1:-1])
    if gradient.shape != wanted:
        raise ValueError(f"grad_output has shape {list(gradient.shape)}, but must have {wanted}")
    first, second = flags("output_mask", mask, 2)
    of_input, of_grid = _grid_sampler.backward(gradient, source, points, modes, (first, second))
    return None if of_input is None else _as_given(of_input, data_format), of_grid


_SAMPLE = """\
Args:
    input: {input}; float16, bfloat16, float32, float64.
    grid: {grid}; dtype of ``input``.
"""
_NAMES = """\
    mode: another name of ``interpolation``, PyTorch's.
    padding_mode: another name of ``padding``, PyTorch's.
    data_format: where the {image}'s and the result's channels are: "channels_first" or
        "channels_last" ("NCHW", "NHWC", ...).

Raises:
    TypeError: another dtype, or two.
    ValueError: shapes or modes do not fit.
"""


@_with(_SAMPLE, _MODES, _NAMES, **_IMAGE)
def grid_sampler_2d(
    input: Any,
    grid: Any,
    *,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
    align_corners: bool = False,
    value: float = 0.0,
    outside: float | None = None,
    mode: Interpolation | None = None,
    padding_mode: Padding | None = None,
    data_format: str = "channels_first",
) -> jax.Array:
    """Sample an image at the points of a grid; differentiable any number of times, in both modes.

    A grid point that is NaN adds nothing to the input's gradient and gets the gradient NaN (0 for
    "nearest"). Only the gradients that are asked for are computed.
    """
    modes = _modes(2, interpolation, padding, align_corners, mode, padding_mode, value, outside)
    return _sample(input, grid, modes, data_format)


@_with(_SAMPLE, _MODES, _NAMES, **_VOLUME)
def grid_sampler_3d(
    input: Any,
    grid: Any,
    *,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
    align_corners: bool = False,
    value: float = 0.0,
    outside: float | None = None,
    mode: Interpolation | None = None,
    padding_mode: Padding | None = None,
    data_format: str = "channels_first",
) -> jax.Array:
    """Sample a volume at the points of a grid; differentiable like ``grid_sampler_2d``."""
    modes = _modes(3, interpolation, padding, align_corners, mode, padding_mode, value, outside)
    return _sample(input, grid, modes, data_format)


def grid_sampler_2d_backward(
    grad_output: Any,
    input: Any,
    grid: Any,
    *,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
    align_corners: bool = False,
    value: float = 0.0,
    outside: float | None = None,
    output_mask: Sequence[bool] = (True, True),
    mode: Interpolation | None = None,
    padding_mode: Padding | None = None,
    data_format: str = "channels_first",
) -> tuple[Any, Any]:
    """Gradients of ``grid_sampler_2d`` with respect to its input and its grid; None if masked.

    Args and errors: as ``grid_sampler_2d``; grad_output is (N, C, OH, OW).
    """
    modes = _modes(2, interpolation, padding, align_corners, mode, padding_mode, value, outside)
    return _sample_backward((grad_output, input, grid), modes, output_mask, data_format)


def grid_sampler_3d_backward(
    grad_output: Any,
    input: Any,
    grid: Any,
    *,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
    align_corners: bool = False,
    value: float = 0.0,
    outside: float | None = None,
    output_mask: Sequence[bool] = (True, True),
    mode: Interpolation | None = None,
    padding_mode: Padding | None = None,
    data_format: str = "channels_first",
) -> tuple[Any, Any]:
    """Gradients of ``grid_sampler_3d`` with respect to its input and its grid; None if masked.

    Args and errors: as ``grid_sampler_3d``; grad_output is (N, C, OD, OH, OW).
    """
    modes = _modes(3, interpolation, padding, align_corners, mode, padding_mode, value, outside)
    return _sample_backward((grad_output, input, grid), modes, output_mask, data_format)
