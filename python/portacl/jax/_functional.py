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


def _image_axes(array: jax.Array, name: str) -> int:
    """Spatial axes: volumes have no custom calls yet."""
    axes = _spatial_axes(array.shape, name)
    if axes == 3:
        raise ValueError(
            f"{name} has shape {list(array.shape)}, but must be (N, C, L) or (N, C, H, W)"
        )
    return axes


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
    name: str, shape: tuple[int, ...], scales: tuple[float, float]
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
        input: (N, C, L) or (N, C, H, W); float16, bfloat16, float32, float64.
        output_size: spatial extents of the result; None: ``floor(extent * scale)``.
        scales: output extent / input extent, one per spatial axis or one for all; None or 0: the
            sizes decide.

    Raises:
        TypeError: another dtype.
        ValueError: shapes, sizes or scales do not fit.

    """
    array = _array(input, "input")
    axes = _image_axes(array, "input")
    factors = _axis_scales(scales, axes)
    spatial = _output_extents(array.shape, output_size, factors)
    return _nearest("upsample_nearest_exact", (*array.shape[:2], *spatial), factors)(array)


def upsample_nearest_exact_backward(
    grad_output: Any, input_size: Sequence[int], scales: Scales = None
) -> jax.Array:
    """Gradient of ``upsample_nearest_exact`` with respect to its input.

    Args:
        grad_output: (N, C, L) or (N, C, H, W); float16, bfloat16, float32, float64.
        input_size: the whole shape of the forward function's input.
        scales: as given to the forward function.

    Raises:
        TypeError: another dtype.
        ValueError: shapes, sizes or scales do not fit.

    """
    array = _array(grad_output, "grad_output")
    axes = _image_axes(array, "grad_output")
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


def _check_grid_shapes(input: jax.Array, grid: jax.Array) -> None:
    if input.ndim != 4 or grid.ndim != 4 or grid.shape[3] != 2 or grid.shape[0] != input.shape[0]:
        raise ValueError(
            f"input has shape {list(input.shape)} and grid {list(grid.shape)}, but they must be "
            f"(N, C, H, W) and (N, OH, OW, 2)"
        )
    if 0 in input.shape[2:]:
        raise ValueError(f"input has shape {list(input.shape)}, but H and W must be at least 1")


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
    image, points = _array(input, "input"), _array(grid, "grid")
    _check_same_dtype(input=image, grid=points)
    _check_grid_shapes(image, points)
    return _grid_sampler(_modes(interpolation, padding, align_corners))(image, points)


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
    gradient, image, points = (
        _array(value, name)
        for value, name in ((grad_output, "grad_output"), (input, "input"), (grid, "grid"))
    )
    _check_same_dtype(input=image, grid=points, grad_output=gradient)
    _check_grid_shapes(image, points)
    wanted = (*image.shape[:2], *points.shape[1:3])
    if gradient.shape != wanted:
        raise ValueError(f"grad_output has shape {list(gradient.shape)}, but must have {wanted}")
    if len(output_mask) != 2:
        raise ValueError(f"output_mask has {len(output_mask)} values, but must have 2")
    mask = (bool(output_mask[0]), bool(output_mask[1]))
    modes = _modes(interpolation, padding, align_corners)
    return _calls.grid_sampler_gradients((gradient, image, points), modes, mask)
