"""The functions of portacl.jax: checks of shapes and dtypes, and the rules of their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Callable

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from .._operators import (
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
)
from . import _calls

_DTYPES = ("float16", "bfloat16", "float32", "float64")


def _array(value: Any, name: str) -> jax.Array:
    array = jnp.asarray(value)
    if array.dtype.name not in _DTYPES:
        raise TypeError(f"{name} has dtype {array.dtype.name}, but must be {', '.join(_DTYPES)}")
    return array


def _check_same_dtype(**arrays: jax.Array) -> None:
    (first, dtype), *others = ((name, array.dtype.name) for name, array in arrays.items())
    for name, other in others:
        if other != dtype:
            raise TypeError(f"{name} has dtype {other}, but {first} has {dtype}")


# ---- nearest-exact


@lru_cache(maxsize=256)
def _nearest(
    name: str, shape: tuple[int, ...], scales: tuple[float, float, float]
) -> Callable[[jax.Array], jax.Array]:
    """The linear map to arrays of `shape`; its transpose is the other one of the two."""
    other = {
        "upsample_nearest_exact": "upsample_nearest_exact_backward",
        "upsample_nearest_exact_backward": "upsample_nearest_exact",
    }[name]

    @jax.custom_vjp
    def apply(array: jax.Array) -> jax.Array:
        return _calls.nearest(name, array, shape, scales)

    def forward(array: jax.Array) -> tuple[jax.Array, Any]:
        # The shape of an array without elements: residuals are arrays.
        return apply(array), jnp.zeros((0, *array.shape), array.dtype)

    def backward(residual: Any, cotangent: jax.Array) -> tuple[jax.Array]:
        return (_nearest(other, residual.shape[1:], scales)(cotangent),)

    apply.defvjp(forward, backward)
    return apply


def upsample_nearest_exact(
    input: Any, output_size: int | Sequence[int] | None = None, scales: Scales = None
) -> jax.Array:
    """Resize by nearest-exact interpolation; differentiable any number of times.

    Args:
        input: (N, C, L), (N, C, H, W) or (N, C, D, H, W); float16, bfloat16, float32, float64.
        output_size: spatial extents of the result; None: ``floor(extent * scale)``.
        scales: output extent / input extent, one per spatial axis or one for all; None or 0: the
            sizes decide.

    Raises:
        TypeError: another dtype.
        ValueError: shapes, sizes or scales do not fit.

    """
    array = _array(input, "input")
    axes = _spatial_axes(array.shape, "input")
    factors = _axis_scales(scales, axes)
    spatial = _output_extents(array.shape, output_size, factors)
    return _nearest("upsample_nearest_exact", (*array.shape[:2], *spatial), factors)(array)


def upsample_nearest_exact_backward(
    grad_output: Any, input_size: Sequence[int], scales: Scales = None
) -> jax.Array:
    """Gradient of ``upsample_nearest_exact`` with respect to its input.

    Args:
        grad_output: (N, C, L), (N, C, H, W) or (N, C, D, H, W); float16, bfloat16, float32,
            float64.
        input_size: the whole shape of the forward function's input.
        scales: as given to the forward function.

    Raises:
        TypeError: another dtype.
        ValueError: shapes, sizes or scales do not fit.

    """
    array = _array(grad_output, "grad_output")
    axes = _spatial_axes(array.shape, "grad_output")
    wanted = _extents("input_size", input_size, "the whole shape, a sequence of ints")
    if len(wanted) != array.ndim or wanted[:2] != array.shape[:2] or min(wanted) < 0:
        raise ValueError(
            f"input_size is {list(wanted)}, but grad_output of shape {list(array.shape)} needs "
            f"its N and C, and {axes} spatial extents"
        )
    factors = _axis_scales(scales, axes)
    return _nearest("upsample_nearest_exact_backward", wanted, factors)(array)


# ---- grid sampler


def _marked(wanted: bool) -> tuple[Any, ...]:
    """A bool as the structure of a residual, so that no tracer takes its place."""
    return ((),) if wanted else ()


@lru_cache(maxsize=64)
def _grid_sampler(modes: tuple[int, int, bool]) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @jax.custom_vjp
    def apply(input: jax.Array, grid: jax.Array) -> jax.Array:
        return _calls.grid_sampler(input, grid, modes)

    def forward(input: Any, grid: Any) -> tuple[jax.Array, Any]:
        mask = (_marked(input.perturbed), _marked(grid.perturbed))
        return apply(input.value, grid.value), (input.value, grid.value, mask)

    def backward(residual: Any, cotangent: Any) -> tuple[Any, Any]:
        input, grid, mask = residual
        if isinstance(cotangent, SymbolicZero):
            return None, None
        wanted = (bool(mask[0]), bool(mask[1]))
        return _calls.grid_sampler_gradients((cotangent, input, grid), modes, wanted)

    apply.defvjp(forward, backward, symbolic_zeros=True)
    return apply


def _modes(interpolation: str, padding: str, align_corners: bool) -> tuple[int, int, bool]:
    return (
        _choose(INTERPOLATIONS, "interpolation", interpolation),
        _choose(PADDINGS, "padding", padding),
        bool(align_corners),
    )


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
    if 0 in input.shape[2:]:
        raise ValueError(
            f"input has shape {list(input.shape)}, but its spatial extents must be at least 1"
        )


def _sample(axes: int, input: Any, grid: Any, modes: tuple[int, int, bool]) -> jax.Array:
    source, points = _array(input, "input"), _array(grid, "grid")
    _check_same_dtype(input=source, grid=points)
    _check_grid_shapes(axes, source, points)
    return _grid_sampler(modes)(source, points)


def _sample_backward(
    axes: int, arrays: tuple[Any, Any, Any], modes: tuple[int, int, bool], mask: Sequence[bool]
) -> tuple[Any, Any]:
    gradient, source, points = (
        _array(value, name) for value, name in zip(arrays, ("grad_output", "input", "grid"))
    )
    _check_same_dtype(input=source, grid=points, grad_output=gradient)
    _check_grid_shapes(axes, source, points)
    wanted = (*source.shape[:2], *points.shape[1:-1])
    if gradient.shape != wanted:
        raise ValueError(f"grad_output has shape {list(gradient.shape)}, but must have {wanted}")
    if len(mask) != 2:
        raise ValueError(f"output_mask has {len(mask)} values, but must have 2")
    return _calls.grid_sampler_gradients(
        (gradient, source, points), modes, (bool(mask[0]), bool(mask[1]))
    )


def grid_sampler_2d(
    input: Any,
    grid: Any,
    *,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
    align_corners: bool = False,
) -> jax.Array:
    """Sample an image at the points of a grid; differentiable once, in reverse mode.

    A grid point that is NaN adds nothing to the input's gradient and gets the gradient NaN (0 for
    "nearest"). Only the gradients that are asked for are computed.

    Args:
        input: (N, C, H, W), H and W at least 1; float16, bfloat16, float32, float64.
        grid: (N, OH, OW, 2), x first; -1..1 spans the image; dtype of ``input``.
        interpolation: "bilinear", "nearest" or "bicubic".
        padding: "zeros", "border" or "reflection".
        align_corners: whether -1 and 1 are the centres of the border pixels, not their outer edges.

    Raises:
        TypeError: another dtype, or two.
        ValueError: shapes or modes do not fit.

    """
    return _sample(2, input, grid, _modes(interpolation, padding, align_corners))


def grid_sampler_3d(
    input: Any,
    grid: Any,
    *,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
    align_corners: bool = False,
) -> jax.Array:
    """Sample a volume at the points of a grid; differentiable like ``grid_sampler_2d``.

    Args:
        input: (N, C, D, H, W), D, H and W at least 1; float16, bfloat16, float32, float64.
        grid: (N, OD, OH, OW, 3): x, y, z along W, H, D; -1..1 spans the volume; dtype of ``input``.
        interpolation: "bilinear" (trilinear), "nearest" or "bicubic" (tricubic).
        padding: "zeros", "border" or "reflection".
        align_corners: whether -1 and 1 are the centres of the border voxels, not their outer edges.

    Raises:
        TypeError: another dtype, or two.
        ValueError: shapes or modes do not fit.

    """
    return _sample(3, input, grid, _modes(interpolation, padding, align_corners))


def grid_sampler_2d_backward(
    grad_output: Any,
    input: Any,
    grid: Any,
    *,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
    align_corners: bool = False,
    output_mask: Sequence[bool] = (True, True),
) -> tuple[Any, Any]:
    """Gradients of ``grid_sampler_2d`` with respect to its input and its grid; None where masked.

    Args and errors: as ``grid_sampler_2d``; grad_output is (N, C, OH, OW).
    """
    modes = _modes(interpolation, padding, align_corners)
    return _sample_backward(2, (grad_output, input, grid), modes, output_mask)


def grid_sampler_3d_backward(
    grad_output: Any,
    input: Any,
    grid: Any,
    *,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
    align_corners: bool = False,
    output_mask: Sequence[bool] = (True, True),
) -> tuple[Any, Any]:
    """Gradients of ``grid_sampler_3d`` with respect to its input and its grid; None where masked.

    Args and errors: as ``grid_sampler_3d``; grad_output is (N, C, OD, OH, OW).
    """
    modes = _modes(interpolation, padding, align_corners)
    return _sample_backward(3, (grad_output, input, grid), modes, output_mask)
