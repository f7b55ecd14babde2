"""The operators on arrays of any kind: NumPy, PyTorch, JAX on CPU, objects with ``__dlpack__``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, Tuple, TypeVar, Union

from . import _core
from ._arrays import check_out, describe, kind_of
from ._numbers import choose, extents, factors, flag, flags, is_number, number, scaled, shown

Interpolation = Literal["bilinear", "nearest", "bicubic"]
Padding = Literal["zeros", "border", "reflection", "circular", "wrap", "constant"]
Scales = Union[float, Sequence[Union[float, None]], None]
Function = TypeVar("Function", bound=Callable[..., Any])

INTERPOLATIONS = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDINGS = {"zeros": 0, "border": 1, "reflection": 2, "circular": 3, "wrap": 3, "constant": 4}
PADDED = {f"grid_sampler_{axes}d_padded{end}" for axes in (2, 3) for end in ("", "_backward")}
"""Functions of ``_core`` that the grid samplers here call for what the others lack."""


_choose = choose
_extents = extents


def _axis_scales(scales: Scales, axes: int) -> tuple[float, float, float]:
    """One factor per spatial axis; 0 if the sizes decide, and for missing axes."""
    first, second, third = (*factors("scales", scales, axes), 0.0, 0.0)[:3]
    return (first, second, third)


def _spatial_axes(shape: tuple[int, ...], name: str) -> int:
    if len(shape) not in (3, 4, 5):
        raise ValueError(
            f"{name} has shape {list(shape)}, but must be (N, C, L), (N, C, H, W) or "
            f"(N, C, D, H, W)"
        )
    return len(shape) - 2


def _output_extents(
    shape: tuple[int, ...],
    output_size: int | Sequence[int] | None,
    scales: Scales,
    factors: tuple[float, float, float],
) -> tuple[int, ...]:
    """Spatial extents of the resized array."""
    axes = len(shape) - 2
    if output_size is None:
        if scales is None:
            raise ValueError("output_size and scales are both missing: one of them is needed")
        if min(factors[:axes]) <= 0:
            raise ValueError(
                f"scales is {shown(scales)}; without output_size, each must be positive"
            )
        return scaled(shape[2:], factors, "scales")
    wanted = "one int, or a sequence of ints"
    sizes = [output_size] * axes if is_number(output_size) else output_size
    spatial = extents("output_size", sizes, wanted)  # type: ignore[arg-type]
    if len(spatial) != axes:
        raise ValueError(
            f"output_size is {list(spatial)}, but the shape {list(shape)} has {axes} spatial axes"
        )
    return spatial


# What the samplers' docstrings share. In braces: the words of an image, or of a volume.
_IMAGE = {
    "image": "image",
    "input": "(N, C, H, W), H and W at least 1",
    "grid": "(N, OH, OW, 2), x first; -1..1 spans the image",
    "output": "(N, C, OH, OW)",
    "interpolation": '"bilinear", "nearest" or "bicubic"',
    "elements": "pixels",
}
_VOLUME = {
    "image": "volume",
    "input": "(N, C, D, H, W), D, H and W at least 1",
    "grid": "(N, OD, OH, OW, 3): x, y, z along W, H, D; -1..1 spans the volume",
    "output": "(N, C, OD, OH, OW)",
    "interpolation": '"bilinear" (trilinear), "nearest" or "bicubic" (tricubic)',
    "elements": "voxels",
}
_MODES = """\
    interpolation: {interpolation}.
    padding: "zeros", "border" or "reflection"; on the CPU also "circular" (or "wrap"): the {image}
        repeats itself, and "constant": {elements} outside are ``value``.
    align_corners: true: -1 and 1 are the border {elements}' centres; false: their outer edges.
    value: of {elements} outside, with the padding "constant" alone.
    outside: of points outside the {image}, whatever the padding; their gradients are 0. None: as
        the padding has them.
"""
_SAMPLE = """\
Args:
    input: {input}; float16, bfloat16, float32, float64;
        any strides.
    grid: {grid}; dtype of ``input``.
"""
_SAMPLE_RESULT = """\
    out: where to put the result: an array {output}, any strides.

Returns:
    ``out``, or a new row-major array of ``input``'s kind.

Raises:
    TypeError: no array, an unknown dtype, or two dtypes.
    ValueError: shapes or modes do not fit, or ``out`` is read-only or overlaps itself
        or another array.
"""
_GRADIENTS = """\
All arrays have one dtype: float16, bfloat16, float32 or float64; any strides. A grid point that
is NaN adds nothing to the input's gradient and gets the gradient NaN (0 for "nearest").

Args:
    grad_output: {output}.
    input: {input}.
    grid: {grid}.
"""
_GRADIENTS_RESULT = """\
    output_mask: which of the two gradients to compute; the other one costs nothing.
    out: (input_grad, grid_grad), where to put the results, None for a masked one.

Returns:
    ``(input_grad, grid_grad)``, None for a masked one: the arrays of ``out``, or new row-major
    arrays of ``grad_output``'s kind.

Raises:
    TypeError: no array, an unknown dtype, or two dtypes.
    ValueError: shapes or modes do not fit, or a result is read-only or overlaps itself
        or another array.
"""


def _with(*parts: str, **words: str) -> Callable[[Function], Function]:
    """Add the shared part to a function's docstring; its own words replace the braces."""

    def add(function: Function) -> Function:
        own = inspect.cleandoc(function.__doc__ or "")  # Python 3.13 has done it, older ones not
        function.__doc__ = "\n\n".join((own, "".join(parts).format(**words)))
        return function

    return add


@_with(_GRADIENTS, _MODES, _GRADIENTS_RESULT, **_IMAGE)
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
    out: Sequence[Any] | None = None,
) -> tuple[Any, Any]:
    """Gradients of ``grid_sampler_2d`` with respect to its input and its grid."""
    arrays = (grad_output, input, grid)
    modes = (interpolation, padding, align_corners, value, outside)
    return _sample_backward(2, arrays, modes, output_mask, out)


@_with(_SAMPLE, _MODES, _SAMPLE_RESULT, **_IMAGE)
def grid_sampler_2d(
    input: Any,
    grid: Any,
    *,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
    align_corners: bool = False,
    value: float = 0.0,
    outside: float | None = None,
    out: Any = None,
) -> Any:
    """Sample an image at the points of a grid, by the rule of the backward function."""
    modes = (interpolation, padding, align_corners, value, outside)
    return _sample(2, (input, grid), modes, out)


@_with(_GRADIENTS, _MODES, _GRADIENTS_RESULT, **_VOLUME)
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
    out: Sequence[Any] | None = None,
) -> tuple[Any, Any]:
    """Gradients of ``grid_sampler_3d`` with respect to its input and its grid."""
    arrays = (grad_output, input, grid)
    modes = (interpolation, padding, align_corners, value, outside)
    return _sample_backward(3, arrays, modes, output_mask, out)


@_with(_SAMPLE, _MODES, _SAMPLE_RESULT, **_VOLUME)
def grid_sampler_3d(
    input: Any,
    grid: Any,
    *,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
    align_corners: bool = False,
    value: float = 0.0,
    outside: float | None = None,
    out: Any = None,
) -> Any:
    """Sample a volume at the points of a grid, by the rule of the backward function."""
    modes = (interpolation, padding, align_corners, value, outside)
    return _sample(3, (input, grid), modes, out)


def _resize_backward(
    function: Callable[..., None],
    grad_output: Any,
    input_size: Sequence[int],
    scales: Scales,
    out: Any,
    *modes: bool,
) -> Any:
    shape, dtype = describe(grad_output, "grad_output")
    axes = _spatial_axes(shape, "grad_output")
    wanted = _extents("input_size", input_size, "the whole shape, a sequence of ints")
    if len(wanted) != len(shape):
        raise ValueError(
            f"input_size is {list(wanted)}, but grad_output of shape {list(shape)} needs "
            f"{len(shape)} extents"
        )
    arguments = (*modes, _axis_scales(scales, axes))
    return _into(function, grad_output, wanted, dtype, arguments, out)


def _resize(
    function: Callable[..., None],
    input: Any,
    output_size: int | Sequence[int] | None,
    scales: Scales,
    out: Any,
    *modes: int,
) -> Any:
    shape, dtype = describe(input, "input", pictures=True)
    factors = _axis_scales(scales, _spatial_axes(shape, "input"))
    wanted = (*shape[:2], *_output_extents(shape, output_size, scales, factors))
    return _into(function, input, wanted, dtype, (*modes, factors), out)


def _into(
    function: Callable[..., None],
    source: Any,
    wanted: tuple[int, ...],
    dtype: str,
    arguments: tuple[Any, ...],
    out: Any,
) -> Any:
    """Run a function of one array and its result; the result is ``out`` or a new array."""
    kind = kind_of(source)
    if out is not None:
        check_out(out, wanted, dtype)
        function(source, out, *arguments)
        return out
    result = kind.empty(wanted, dtype)
    function(source, result, *arguments)
    return kind.finish(result)


_Modes = Tuple[Interpolation, Padding, bool, float, Union[float, None]]


def outside_values(padding: int, value: Any, outside: Any) -> tuple[float, bool, float] | None:
    """Values behind a sampler's modes for these paddings; None: the padding needs none.

    Raises:
        TypeError: no number.
        ValueError: a value that the padding does not read.

    """
    fill = number("value", value, False)
    if fill != 0 and padding != PADDINGS["constant"]:
        raise ValueError(f"value is {fill}, but only the padding 'constant' has one")
    if padding <= PADDINGS["reflection"] and outside is None:
        return None
    replacement = 0.0 if outside is None else number("outside", outside, False)
    return fill, outside is not None, replacement


def _choose_modes(
    axes: int, end: str, modes: _Modes
) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """The function of ``_core`` for the modes, and its arguments behind the arrays."""
    interpolation, padding, align_corners, value, outside = modes
    chosen = (
        _choose(INTERPOLATIONS, "interpolation", interpolation),
        _choose(PADDINGS, "padding", padding),
        flag("align_corners", align_corners),
    )
    more = outside_values(chosen[1], value, outside)
    if more is None:
        return getattr(_core, f"grid_sampler_{axes}d{end}"), chosen
    return getattr(_core, f"grid_sampler_{axes}d_padded{end}"), (*chosen, *more)


def _sample_backward(
    axes: int,
    arrays: tuple[Any, Any, Any],
    modes: _Modes,
    output_mask: Sequence[bool],
    out: Sequence[Any] | None,
) -> tuple[Any, Any]:
    grad_output, input, grid = arrays
    describe(grad_output, "grad_output")
    input_shape, dtype = describe(input, "input")
    grid_shape, _ = describe(grid, "grid")
    function, chosen = _choose_modes(axes, "_backward", modes)
    mask = flags("output_mask", output_mask, 2)
    if out is not None and not isinstance(out, (tuple, list)):
        raise TypeError(f"out is of type {type(out).__name__}; wanted (input_grad, grid_grad)")
    if out is not None and len(out) != 2:
        raise ValueError(f"out has {len(out)} arrays, but must have 2 (None for a masked one)")
    kind = kind_of(grad_output)
    results: list[Any] = [None, None]
    for i, shape in enumerate((input_shape, grid_shape)):
        if mask[i] and out is not None:
            check_out(out[i], shape, dtype)
            results[i] = out[i]
        elif mask[i]:
            results[i] = kind.empty(shape, dtype)
    if any(mask):
        function(grad_output, input, grid, results[0], results[1], *chosen)
    if out is None:
        results = [None if result is None else kind.finish(result) for result in results]
    return results[0], results[1]


def _sample(axes: int, arrays: tuple[Any, Any], modes: _Modes, out: Any) -> Any:
    input, grid = arrays
    input_shape, dtype = describe(input, "input")
    grid_shape, _ = describe(grid, "grid")
    function, chosen = _choose_modes(axes, "", modes)
    volumes = axes == 3
    rank = 5 if volumes else 4
    if len(input_shape) != rank or len(grid_shape) != rank:
        shapes = (
            "(N, C, D, H, W) and (N, OD, OH, OW, 3)"
            if volumes
            else "(N, C, H, W) and (N, OH, OW, 2)"
        )
        raise ValueError(
            f"input has shape {list(input_shape)} and grid {list(grid_shape)}, but they must be "
            f"{shapes}"
        )
    wanted = (*input_shape[:2], *grid_shape[1:-1])
    kind = kind_of(input)
    if out is not None:
        check_out(out, wanted, dtype)
        function(input, grid, out, *chosen)
        return out
    result = kind.empty(wanted, dtype)
    function(input, grid, result, *chosen)
    return kind.finish(result)
