"""Resizing and affine grids on arrays of any kind, with their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from . import _core
from ._arrays import describe
from ._numbers import check_exact, flag, resize_flags
from ._operators import Scales, _extents, _into, _resize, _resize_backward, _with

Exact = Literal["pytorch", "pillow", "pillow<13"]

_RESIZE = """\
Args:
    input: (N, C, L), (N, C, H, W) or (N, C, D, H, W), any strides; float16, bfloat16, float32,
        float64, or uint8 with the bits of PyTorch's CPU kernels.
    output_size: spatial extents of the result; None: ``floor(extent * scale)``.
    scales: output extent / input extent, one per spatial axis or one for all; None or 0: the
        sizes decide.
    out: where to put the result: an array of that shape and dtype, any strides.
"""
_ALIGN = """\
    align_corners: whether the middles of the first and last elements fall together, not the
        outer edges of the arrays.
"""
_ANTIALIAS = """\
    antialias: whether an axis that shrinks averages over all elements that one output covers.
"""
_EXACT = """\
    exact: whose bits a resized picture (N, C, H, W) in uint8 has: "pytorch"; "pillow", antialiased
        as Pillow 13 does; "pillow<13", as its older releases do.
"""
_GRADIENT = """\
Args:
    grad_output: (N, C, L), (N, C, H, W) or (N, C, D, H, W), any strides; float16, bfloat16,
        float32, float64.
    input_size: the whole shape of the forward function's input, as in PyTorch.
    scales: output extent / input extent as given to the forward function, one per spatial axis
        or one for all; None or 0: the sizes decide.
    out: where to put the result: an array of that shape and dtype, any strides.
"""
_GIVEN = """\
    align_corners: as given to the forward function.
    antialias: as given to the forward function.
"""
_RESULT = """
Returns:
    ``out``, or a new row-major array of ``input``'s kind.

Raises:
    TypeError: no array, an unknown dtype, or two dtypes.
    ValueError: shapes, sizes or scales do not fit, or ``out`` is read-only or overlaps itself
        or ``input``.
"""
_GRADIENT_RESULT = _RESULT.replace("``input``", "``grad_output``")


def _modes(input: Any, align_corners: Any, antialias: Any, exact: str) -> tuple[bool, int]:
    flags = resize_flags(align_corners, antialias, exact)
    if exact != "pytorch":
        check_exact(exact, *describe(input, "input", pictures=True), flags[0])
    return flags


@_with(_RESIZE, _RESULT)
def upsample_nearest_exact(
    input: Any,
    output_size: int | Sequence[int] | None = None,
    scales: Scales = None,
    out: Any = None,
) -> Any:
    """Resize by nearest-exact interpolation, with the index rule of the backward function.

    Both functions are exact adjoints.
    """
    return _resize(_core.upsample_nearest_exact, input, output_size, scales, out)


@_with(_GRADIENT, _GRADIENT_RESULT)
def upsample_nearest_exact_backward(
    grad_output: Any, input_size: Sequence[int], scales: Scales = None, out: Any = None
) -> Any:
    """Gradient of nearest-exact resizing with respect to its input.

    ``grad_input[n, c, src(o)] += grad_output[n, c, o]``; elements that no ``o`` maps to are 0.
    Sums are sequential in float32 (float64 for float64) and rounded once.
    """
    function = _core.upsample_nearest_exact_backward
    return _resize_backward(function, grad_output, input_size, scales, out)


@_with(_RESIZE, _ALIGN, _ANTIALIAS, _EXACT, _RESULT)
def upsample_linear(
    input: Any,
    output_size: int | Sequence[int] | None = None,
    scales: Scales = None,
    out: Any = None,
    *,
    align_corners: bool = False,
    antialias: bool = False,
    exact: Exact = "pytorch",
) -> Any:
    """Resize by linear interpolation along every spatial axis: bilinear, trilinear."""
    modes = _modes(input, align_corners, antialias, exact)
    return _resize(_core.upsample_linear, input, output_size, scales, out, *modes)


@_with(_GRADIENT, _GIVEN, _GRADIENT_RESULT)
def upsample_linear_backward(
    grad_output: Any,
    input_size: Sequence[int],
    scales: Scales = None,
    out: Any = None,
    *,
    align_corners: bool = False,
    antialias: bool = False,
) -> Any:
    """Gradient of ``upsample_linear`` with respect to its input: its exact transpose."""
    modes = resize_flags(align_corners, antialias)
    return _resize_backward(
        _core.upsample_linear_backward, grad_output, input_size, scales, out, *modes
    )


@_with(_RESIZE, _ALIGN, _ANTIALIAS, _EXACT, _RESULT)
def upsample_cubic(
    input: Any,
    output_size: int | Sequence[int] | None = None,
    scales: Scales = None,
    out: Any = None,
    *,
    align_corners: bool = False,
    antialias: bool = False,
    exact: Exact = "pytorch",
) -> Any:
    """Resize by cubic convolution along every spatial axis (bicubic)."""
    modes = _modes(input, align_corners, antialias, exact)
    return _resize(_core.upsample_cubic, input, output_size, scales, out, *modes)


@_with(_GRADIENT, _GIVEN, _GRADIENT_RESULT)
def upsample_cubic_backward(
    grad_output: Any,
    input_size: Sequence[int],
    scales: Scales = None,
    out: Any = None,
    *,
    align_corners: bool = False,
    antialias: bool = False,
) -> Any:
    """Gradient of ``upsample_cubic`` with respect to its input: its exact transpose."""
    modes = resize_flags(align_corners, antialias)
    return _resize_backward(
        _core.upsample_cubic_backward, grad_output, input_size, scales, out, *modes
    )


@_with(_RESIZE, _EXACT, _RESULT)
def upsample_lanczos(
    input: Any,
    output_size: int | Sequence[int] | None = None,
    scales: Scales = None,
    out: Any = None,
    *,
    exact: Exact = "pytorch",
) -> Any:
    """Resize by Lanczos's filter of three lobes along every spatial axis.

    An axis that shrinks averages over all elements that one output covers.
    """
    modes = _modes(input, False, True, exact)
    return _resize(_core.upsample_lanczos, input, output_size, scales, out, *modes)


@_with(_GRADIENT, _GRADIENT_RESULT)
def upsample_lanczos_backward(
    grad_output: Any, input_size: Sequence[int], scales: Scales = None, out: Any = None
) -> Any:
    """Gradient of ``upsample_lanczos`` with respect to its input: its exact transpose."""
    function = _core.upsample_lanczos_backward
    return _resize_backward(function, grad_output, input_size, scales, out, False, True)


@_with(_RESIZE, _RESULT)
def upsample_nearest(
    input: Any,
    output_size: int | Sequence[int] | None = None,
    scales: Scales = None,
    out: Any = None,
) -> Any:
    """Resize by the element in which an output begins: PyTorch's "nearest"."""
    return _resize(_core.upsample_nearest, input, output_size, scales, out)


@_with(_GRADIENT, _GRADIENT_RESULT)
def upsample_nearest_backward(
    grad_output: Any,
    input_size: Sequence[int],
    scales: Scales = None,
    out: Any = None,
) -> Any:
    """Gradient of ``upsample_nearest`` with respect to its input: its exact transpose."""
    return _resize_backward(_core.upsample_nearest_backward, grad_output, input_size, scales, out)


def affine_grid(
    theta: Any, size: Sequence[int], out: Any = None, *, align_corners: bool = False
) -> Any:
    """Make grids of points from affine maps, for ``grid_sampler_2d`` and ``..3d``.

    Args:
        theta: (N, 2, 3), or (N, 3, 4) for volumes, any strides; float16, bfloat16, float32,
            float64.
        size: of the images to sample: (N, C, H, W) or (N, C, D, H, W).
        out: where to put the result: an array of its shape and dtype, any strides.
        align_corners: true: -1 and 1 are the middles of the border elements; false: their outer
            edges.

    Returns:
        (N, H, W, 2) or (N, D, H, W, 3), x first: ``out``, or a new row-major array of ``theta``'s
        kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes or sizes do not fit, or ``out`` is read-only or overlaps itself or
            ``theta``.

    """
    shape, dtype = describe(theta, "theta")
    extents = _extents("size", size, "the whole shape of the images, a sequence of ints")
    if len(shape) != 3 or len(extents) != shape[1] + 2 or min(extents) < 0:
        raise ValueError(
            f"size is {list(extents)} and theta has shape {list(shape)}, but they must be "
            f"(N, C, H, W) and (N, 2, 3), or (N, C, D, H, W) and (N, 3, 4)"
        )
    if extents[0] != shape[0]:
        raise ValueError(
            f"size is {list(extents)}, but theta of shape {list(shape)} asks for N = {shape[0]}"
        )
    wanted = (extents[0], *extents[2:], shape[1])
    return _into(
        _core.affine_grid, theta, wanted, dtype, (flag("align_corners", align_corners),), out
    )


def affine_grid_backward(grid_grad: Any, out: Any = None, *, align_corners: bool = False) -> Any:
    """Gradient of ``affine_grid`` with respect to ``theta``.

    Args:
        grid_grad: (N, H, W, 2) or (N, D, H, W, 3), any strides; float16, bfloat16, float32,
            float64.
        out: where to put the result: an array of its shape and dtype, any strides.
        align_corners: as given to the forward function.

    Returns:
        (N, 2, 3) or (N, 3, 4): ``out``, or a new row-major array of ``grid_grad``'s kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: another shape, or ``out`` is read-only or overlaps itself or ``grid_grad``.

    """
    shape, dtype = describe(grid_grad, "grid_grad")
    axes = len(shape) - 2
    if axes not in (2, 3) or shape[-1] != axes:
        raise ValueError(
            f"grid_grad has shape {list(shape)}, but must be (N, H, W, 2) or (N, D, H, W, 3)"
        )
    wanted = (shape[0], axes, axes + 1)
    return _into(
        _core.affine_grid_backward,
        grid_grad,
        wanted,
        dtype,
        (flag("align_corners", align_corners),),
        out,
    )
