"""Deformable convolution on arrays of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

from . import _core
from ._arrays import check_out, describe, kind_of
from ._numbers import flags, is_number, number
from ._roi_align import _size

_PAIRS = 1  # PORTACL_PAIRS of portacl.h
_GRADS = ("input", "weight", "offset", "mask", "bias")
Pair = Union[int, Sequence[int]]


def _shape(array: Any, name: str) -> tuple[int, ...]:
    shape, _ = describe(array, name)
    if len(shape) != 4:
        raise ValueError(f"{name} has shape {list(shape)}, but must have 4 axes")
    return shape


def _steps(kernel: Sequence[int], stride: Pair, padding: Pair, dilation: Pair) -> tuple[Any, ...]:
    """Kernel, stride, padding and dilation as ``_core`` takes them."""
    four = not is_number(padding) and len(tuple(padding)) == 4
    rows, columns = (0, 0) if four else _size("padding", padding, 2)
    return (
        list(kernel),
        list(_size("stride", stride, 2)),
        list(_size("padding", padding, 4)) if four else [rows, rows, columns, columns],
        list(_size("dilation", dilation, 2)),
    )


def _groups_of(
    input: Sequence[int], weight: Sequence[int], offset: Sequence[int]
) -> tuple[int, int]:
    """The groups, as torchvision counts them: by the weight's channels, and by offset's planes."""
    groups = input[1] // weight[1] if weight[1] else 1
    return max(groups, 1), max(offset[1] // max(2 * weight[2] * weight[3], 1), 1)


def _groups(input: Any, weight: Any, offset: Any) -> tuple[int, int]:
    """The groups by the shapes of arrays."""
    return _groups_of(_shape(input, "input"), _shape(weight, "weight"), _shape(offset, "offset"))


def deform_conv2d(
    input: Any,
    offset: Any,
    weight: Any,
    bias: Any = None,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    mask: Any = None,
    *,
    out: Any = None,
) -> Any:
    """Convolve samples at moved positions, as ``torchvision.ops.deform_conv2d`` does.

    Args:
        input: (N, C, H, W); float16, bfloat16, float32 or float64; any strides. The other arrays
            have its dtype.
        offset: (N, 2 * G * KH * KW, OH, OW), in pixels: for each of G parts of the channels and
            each tap of the kernel, y, then x. A sample outside the image is 0; one at NaN is NaN.
        weight: (O, C / groups, KH, KW).
        bias: (O,); may be float32 beside 16 bits.
        stride, padding, dilation: along H and W; one number stands for both. Or four numbers of
            padding: top, bottom, left, right.
        mask: (N, G * KH * KW, OH, OW): factors of the samples.
        out: where to put the result: an array (N, O, OH, OW), any strides.

    Returns:
        ``out``, or a new row-major array (N, O, OH, OW) of ``input``'s kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes do not fit, or ``out`` is read-only or overlaps another array.

    """
    groups = _groups(input, weight, offset)
    of_weight = _shape(weight, "weight")
    kind = kind_of(input)
    shape = (_shape(input, "input")[0], of_weight[0], *_shape(offset, "offset")[2:])
    dtype = describe(input, "input")[1]
    if out is not None:
        check_out(out, None, dtype)
    result = kind.empty(shape, dtype) if out is None else out
    steps = _steps(of_weight[2:], stride, padding, dilation)
    arrays = (input, weight, offset, bias, mask)
    _core.deform_conv2d(*arrays, *steps, *groups, _PAIRS, result, None)
    return kind.finish(result) if out is None else out


def deform_conv2d_backward(
    grad_output: Any,
    input: Any,
    offset: Any,
    weight: Any,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    mask: Any = None,
    *,
    output_mask: Sequence[bool] = (True, True, True, True, True),
) -> tuple[Any, ...]:
    """Gradients of ``deform_conv2d``.

    Args:
        grad_output: (N, O, OH, OW).
        input, offset, weight, stride, padding, dilation, mask: as ``deform_conv2d`` takes them.
        output_mask: which gradients are wanted, in the order of the result.

    Returns:
        The gradients of input, weight, offset, mask and bias, row-major, of ``grad_output``'s kind.
        A gradient that is not wanted is None, and so is the mask's if there is no mask.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes do not fit.

    """
    groups = _groups(input, weight, offset)
    wanted = flags("output_mask", output_mask, len(_GRADS))
    kind, (_, dtype) = kind_of(grad_output), describe(grad_output, "grad_output")
    of_weight = _shape(weight, "weight")
    arrays = {"input": input, "weight": weight, "offset": offset, "mask": mask}
    shapes = {name: describe(a, name)[0] for name, a in arrays.items() if a is not None}
    shapes["bias"] = of_weight[:1]
    grads = [
        kind.empty(shapes[name], dtype) if want and name in shapes else None
        for name, want in zip(_GRADS, wanted)
    ]
    steps = _steps(of_weight[2:], stride, padding, dilation)
    of_input, of_kernel, of_offset, of_mask, of_bias = grads
    _core.deform_conv2d_backward(
        *(input, grad_output, None, weight, offset, mask, *steps, *groups, _PAIRS),
        *(of_input, of_kernel, of_offset, of_bias, of_mask),
    )
    return tuple(None if grad is None else kind.finish(grad) for grad in grads)


def deformable_offsets(
    input: Any,
    offset: Any,
    kernel_size: Pair,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    offset_groups: int = 1,
    *,
    out: Any = None,
) -> Any:
    """Sample an image at the positions of a deformable convolution, as ``DeformableOffsets`` does.

    Args:
        input: (N, C, H, W); float16, bfloat16, float32 or float64; any strides.
        offset: (N, 2 * G * KH * KW, OH, OW) or 3 * G: all planes of x, then y, then masks.
        kernel_size, stride, padding, dilation: along H and W; one number stands for both.
        offset_groups: G, the number of parts of the channels; each part has its own offsets.
        out: where to put the result: an array (N, C, OH * KH, OW * KW), any strides.

    Returns:
        ``out``, or a new row-major array (N, C, OH * KH, OW * KW) of ``input``'s kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes do not fit, or ``out`` is read-only or overlaps another array.

    """
    kernel = _size("kernel_size", kernel_size, 2)
    kind, positions = kind_of(input), _shape(offset, "offset")[2:]
    shape = (*_shape(input, "input")[:2], *(n * k for n, k in zip(positions, kernel)))
    dtype = describe(input, "input")[1]
    if out is not None:
        check_out(out, None, dtype)
    result = kind.empty(shape, dtype) if out is None else out
    steps = _steps(kernel, stride, padding, dilation)
    groups = int(number("offset_groups", offset_groups, True))
    _core.deformable_offsets(input, offset, *steps, groups, result)
    return kind.finish(result) if out is None else out


def deformable_offsets_backward(
    grad_output: Any,
    input: Any,
    offset: Any,
    kernel_size: Pair,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    offset_groups: int = 1,
) -> tuple[Any, Any]:
    """Gradients of ``deformable_offsets``.

    Args:
        grad_output: (N, C, OH * KH, OW * KW).
        input, offset, kernel_size, stride, padding, dilation, offset_groups: as
            ``deformable_offsets`` takes them.

    Returns:
        The gradients of input and offset, row-major, of ``grad_output``'s kind.

    Raises:
        TypeError: no array, an unknown dtype, or two dtypes.
        ValueError: shapes do not fit.

    """
    kind, (_, dtype) = kind_of(grad_output), describe(grad_output, "grad_output")
    grads = [
        kind.empty(_shape(array, name), dtype)
        for name, array in (("input", input), ("offset", offset))
    ]
    steps = _steps(_size("kernel_size", kernel_size, 2), stride, padding, dilation)
    groups = int(number("offset_groups", offset_groups, True))
    _core.deformable_offsets_backward(grad_output, input, offset, *steps, groups, *grads)
    return kind.finish(grads[0]), kind.finish(grads[1])
