"""The resize family and affine grids: functions made from one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from .._numbers import flag, resize_flags
from .._operators import Scales, _with
from ._functional import _apply, _array, _extents, _resize, _resize_backward

_RESIZE = """\
Args:
    input: (N, C, L), (N, C, H, W) or (N, C, D, H, W); float16, bfloat16, float32, float64.
    output_size: spatial extents of the result; None: ``floor(extent * scale)``.
    scales: output extent / input extent, one per spatial axis or one for all; None or 0: the
        sizes decide.
"""
_ALIGN = """\
    align_corners: true aligns the middles of the border elements, false their outer edges.
    antialias: whether an axis that shrinks averages over all elements that an output covers.
"""
_GRADIENT = """\
Args:
    grad_output: (N, C, L), (N, C, H, W) or (N, C, D, H, W); float16, bfloat16, float32,
        float64.
    input_size: the whole shape of the forward function's input.
    scales: as given to the forward function.
"""
_GIVEN = """\
    align_corners: as given to the forward function.
    antialias: as given to the forward function.
"""
_FORMAT = """\
    data_format: where the channels are: "channels_first" ("NCHW", ...) or "channels_last"
        ("NHWC", ...), for the array, the sizes and the result.

Raises:
    TypeError: another dtype.
    ValueError: shapes, sizes or scales do not fit.
"""


def _finish(
    name: str, what: str, resize: Any, backward: Any, align: str = "", given: str = ""
) -> tuple[Any, Any]:
    """Give the pair its names and its docstrings."""
    resize.__doc__ = f"Resize by {what}; differentiable any number of times, in both modes."
    backward.__doc__ = f"Gradient of ``{name}``: its exact transpose."
    _with(_RESIZE, align, _FORMAT)(resize)
    _with(_GRADIENT, given, _FORMAT)(backward)
    for function, end in ((resize, ""), (backward, "_backward")):
        function.__name__ = function.__qualname__ = name + end
        function.__module__ = "portacl.jax"
    return resize, backward


def _without_modes(name: str, what: str) -> tuple[Any, Any]:
    def resize(
        input: Any,
        output_size: int | Sequence[int] | None = None,
        scales: Scales = None,
        *,
        data_format: str = "channels_first",
    ) -> jax.Array:
        return _resize(name, input, output_size, scales, data_format)

    def backward(
        grad_output: Any,
        input_size: Sequence[int],
        scales: Scales = None,
        *,
        data_format: str = "channels_first",
    ) -> jax.Array:
        return _resize_backward(name, grad_output, input_size, scales, data_format)

    return _finish(name, what, resize, backward)


def _modes(align_corners: Any, antialias: Any) -> dict[str, bool]:
    return dict(zip(("align_corners", "antialias"), resize_flags(align_corners, antialias)))


def _weighted(name: str, what: str) -> tuple[Any, Any]:
    def resize(
        input: Any,
        output_size: int | Sequence[int] | None = None,
        scales: Scales = None,
        *,
        align_corners: bool = False,
        antialias: bool = False,
        data_format: str = "channels_first",
    ) -> jax.Array:
        modes = _modes(align_corners, antialias)
        return _resize(name, input, output_size, scales, data_format, **modes)

    def backward(
        grad_output: Any,
        input_size: Sequence[int],
        scales: Scales = None,
        *,
        align_corners: bool = False,
        antialias: bool = False,
        data_format: str = "channels_first",
    ) -> jax.Array:
        modes = _modes(align_corners, antialias)
        return _resize_backward(name, grad_output, input_size, scales, data_format, **modes)

    return _finish(name, what, resize, backward, _ALIGN, _GIVEN)


upsample_nearest_exact, upsample_nearest_exact_backward = _without_modes(
    "upsample_nearest_exact", "nearest-exact interpolation"
)
upsample_nearest, upsample_nearest_backward = _without_modes(
    "upsample_nearest", 'the element in which an output begins (PyTorch\'s "nearest")'
)
upsample_linear, upsample_linear_backward = _weighted(
    "upsample_linear", "linear interpolation along every spatial axis"
)
upsample_cubic, upsample_cubic_backward = _weighted(
    "upsample_cubic", "cubic convolution along every spatial axis"
)
upsample_lanczos, upsample_lanczos_backward = _without_modes(
    "upsample_lanczos", "Lanczos's filter of three lobes, which averages where an axis shrinks"
)


def affine_grid(theta: Any, size: Sequence[int], *, align_corners: bool = False) -> jax.Array:
    """Make grids of points from affine maps; differentiable in both modes.

    Args:
        theta: (N, 2, 3), or (N, 3, 4) for volumes; float16, bfloat16, float32, float64.
        size: of the images to sample: (N, C, H, W) or (N, C, D, H, W).
        align_corners: true: -1 and 1 are the middles of the border elements; false: their outer
            edges.

    Raises:
        TypeError: another dtype.
        ValueError: shapes or sizes do not fit.

    """
    maps = _array(theta, "theta")
    extents = _extents("size", size, "the whole shape of the images, a sequence of ints")
    axes = len(extents) - 2
    if axes not in (2, 3) or maps.shape != (extents[0], axes, axes + 1):
        raise ValueError(
            f"size is {list(extents)} and theta has shape {list(maps.shape)}, but they must be "
            f"(N, C, H, W) and (N, 2, 3), or (N, C, D, H, W) and (N, 3, 4)"
        )
    shape = (extents[0], *extents[2:], axes)
    return _apply(
        "affine_grid", maps, shape, batch_axes=1, align_corners=flag("align_corners", align_corners)
    )


def affine_grid_backward(grid_grad: Any, *, align_corners: bool = False) -> jax.Array:
    """Gradient of ``affine_grid`` with respect to ``theta``: its exact transpose."""
    gradient = _array(grid_grad, "grid_grad")
    axes = gradient.ndim - 2
    if axes not in (2, 3) or gradient.shape[-1] != axes:
        raise ValueError(
            f"grid_grad has shape {list(gradient.shape)}, but must be (N, H, W, 2) or "
            f"(N, D, H, W, 3)"
        )
    shape = (gradient.shape[0], axes, axes + 1)
    corners = flag("align_corners", align_corners)
    return _apply("affine_grid", gradient, shape, back=True, batch_axes=1, align_corners=corners)
