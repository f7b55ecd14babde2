"""RoiAlign, upright and rotated, on arrays of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._arrays import check_out, describe, kind_of
from ._numbers import choose, extents, flag, is_number, number

MODES = {"avg": 0, "max": 1, "max_corners": 2}


def _size(name: str, value: Any, count: int) -> tuple[int, ...]:
    """Extents; one number stands for all of them."""
    given = extents(name, [value] * count if is_number(value) else value, f"{count} ints")
    if len(given) != count:
        raise ValueError(f"{name} is {list(given)}, but must have {count} values")
    return given


def _numbers(spatial_scale: Any, sampling_ratio: Any, aligned: bool) -> tuple[float, int, bool]:
    """The numbers as ``_core`` takes them: torchvision's -1 is 0."""
    scale = number("spatial_scale", spatial_scale, False)
    ratio = max(int(number("sampling_ratio", sampling_ratio, True)), 0)
    return scale, ratio, flag("aligned", aligned)


def _image_shape(array: Any, name: str) -> tuple[tuple[int, ...], str]:
    shape, dtype = describe(array, name)
    if len(shape) != 4:
        raise ValueError(f"{name} has shape {list(shape)}, but must have 4 axes")
    return shape, dtype


def _pool(function: Any, input: Any, boxes: Any, output_size: Any, out: Any, *rest: Any) -> Any:
    shape, dtype = _image_shape(input, "input")
    rois, _ = describe(boxes, "boxes")
    size = _size("output_size", output_size, 2)
    kind = kind_of(input)
    wanted = (*rois[:1], shape[1], *size)
    if out is not None:
        check_out(out, wanted if len(rois) == 2 else None, dtype)
    result = kind.empty(wanted, dtype) if out is None else out
    function(input, boxes, *size, *rest, result)
    return kind.finish(result) if out is None else out


def _spread(
    function: Any, grad_output: Any, boxes: Any, input_size: Any, between: Any, *rest: Any
) -> Any:
    shape, dtype = _image_shape(grad_output, "grad_output")
    kind = kind_of(grad_output)
    result = kind.empty(_size("input_size", input_size, 4), dtype)
    # `_core` takes no None for an array that it reads. If the array is not used, the result takes
    # its place.
    read = (result if array is None else array for array in between)
    function(grad_output, boxes, *read, *shape[2:], *rest, result)
    return kind.finish(result)


def roi_align(
    input: Any,
    boxes: Any,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
    *,
    mode: str = "avg",
    out: Any = None,
) -> Any:
    """Pool regions of images, as ``torchvision.ops.roi_align`` does.

    Args:
        input: (N, C, H, W); float16, bfloat16, float32 or float64; any strides.
        boxes: (K, 5), of ``input``'s dtype: image, x1, y1, x2, y2. A box with a coordinate that is
            not finite gives 0.
        output_size: rows and columns of bins, or one number for both.
        spatial_scale: pixels for each unit of a box, above 0.
        sampling_ratio: samples of a bin along each axis; 0 or less: the bin's length, rounded up.
        aligned: subtract half a pixel from scaled coordinates; boxes may be smaller than a pixel.
        mode: ``avg``, the average of a bin's samples; ``max``, their maximum; ``max_corners``, the
            maximum of their weighted pixels, as in ONNX's reference.
        out: where to put the result: an array (K, C, OH, OW), any strides.

    Returns:
        ``out``, or a new row-major array (K, C, OH, OW) of ``input``'s kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes do not fit, a box names no image, or ``out`` is read-only or
            overlaps another array.

    """
    numbers = _numbers(spatial_scale, sampling_ratio, aligned)
    chosen = choose(MODES, "mode", mode)
    return _pool(_core.roi_align, input, boxes, output_size, out, *numbers, chosen)


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
) -> Any:
    """Gradient of ``roi_align`` with respect to its input.

    Args:
        grad_output: (K, C, PH, PW).
        input_size: (N, C, H, W).
        input: the input of ``roi_align``; needed only for a maximum.
        boxes, spatial_scale, sampling_ratio, aligned, mode: as ``roi_align`` takes them.

    Returns:
        A new row-major array (N, C, H, W) of ``grad_output``'s kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes do not fit, or a box names no image.

    """
    numbers = _numbers(spatial_scale, sampling_ratio, aligned)
    chosen = choose(MODES, "mode", mode)
    if input is None and chosen != MODES["avg"]:
        raise ValueError(f"input is None, but the gradient of mode {mode!r} depends on it")
    function = _core.roi_align_backward
    return _spread(function, grad_output, boxes, input_size, (input,), *numbers, chosen)


def roi_align_rotated(
    input: Any,
    boxes: Any,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
    clockwise: bool = False,
    *,
    out: Any = None,
) -> Any:
    """Pool rotated regions of images, as ``mmcv.ops.roi_align_rotated`` does.

    Args:
        input: (N, C, H, W); float16, bfloat16, float32 or float64; any strides.
        boxes: (K, 6), of ``input``'s dtype: image, centre x, centre y, width, height and angle in
            radians. A box with a number that is not finite gives 0.
        output_size, spatial_scale, sampling_ratio, aligned, out: as ``roi_align`` takes them.
        clockwise: positive angles turn the other way.

    Returns:
        ``out``, or a new row-major array (K, C, OH, OW) of ``input``'s kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes do not fit, a box names no image, or ``out`` is read-only or
            overlaps another array.

    """
    numbers, turned = _numbers(spatial_scale, sampling_ratio, aligned), flag("clockwise", clockwise)
    function = _core.roi_align_rotated
    return _pool(function, input, boxes, output_size, out, *numbers, turned)


def roi_align_rotated_backward(
    grad_output: Any,
    boxes: Any,
    input_size: Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
    clockwise: bool = False,
) -> Any:
    """Gradient of ``roi_align_rotated`` with respect to its input.

    Args:
        grad_output: (K, C, PH, PW).
        input_size: (N, C, H, W).
        boxes, spatial_scale, sampling_ratio, aligned, clockwise: as ``roi_align_rotated`` takes
            them.

    Returns:
        A new row-major array (N, C, H, W) of ``grad_output``'s kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes do not fit, or a box names no image.

    """
    numbers, turned = _numbers(spatial_scale, sampling_ratio, aligned), flag("clockwise", clockwise)
    function = _core.roi_align_rotated_backward
    return _spread(function, grad_output, boxes, input_size, (), *numbers, turned)
