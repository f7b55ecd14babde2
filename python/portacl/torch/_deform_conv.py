"""``torch.ops.portacl.deform_conv2d``, and its use for ``torchvision::deform_conv2d``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch

from .. import _core
from . import _kernels
from ._results import empty
from ._torchvision import Replaced

_TENSORS = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
_NUMBERS = (
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)
SCHEMAS = {
    "deform_conv2d": f"({_TENSORS}, {_NUMBERS}) -> Tensor",
    "deform_conv2d_backward": f"(Tensor grad, {_TENSORS}, {_NUMBERS}) -> "
    "(Tensor, Tensor, Tensor, Tensor, Tensor)",
}
"""The schemas of torchvision's operators."""

NAMES = tuple(SCHEMAS)
_PAIRS = 1  # PORTACL_PAIRS of portacl.h
Tensors = tuple[torch.Tensor, ...]


def _numbers(weight: torch.Tensor, numbers: tuple[int, ...]) -> tuple[Any, ...]:
    """The numbers as ``_core`` takes them: y and x of offsets in turn."""
    stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups = numbers
    kernel, padding = list(weight.shape[2:]), [pad_h, pad_h, pad_w, pad_w]
    steps = [stride_h, stride_w], padding, [dilation_h, dilation_w]
    return kernel, *steps, groups, offset_groups, _PAIRS


def kernel(
    input: torch.Tensor,
    weight: torch.Tensor,
    offset: torch.Tensor,
    mask: torch.Tensor,
    bias: torch.Tensor,
    *numbers: Any,
) -> torch.Tensor:
    """(N, O, OH, OW), row-major."""
    *steps, use_mask = numbers
    shape = (*input.shape[:1], *weight.shape[:1], *offset.shape[2:])
    output = empty(shape, input.dtype)
    rest = _numbers(weight, tuple(steps))
    masks = mask if use_mask else None
    _kernels.call(_core.deform_conv2d, input, weight, offset, bias, masks, *rest, output, None)
    return output


def backward_kernel(
    grad: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor,
    offset: torch.Tensor,
    mask: torch.Tensor,
    bias: torch.Tensor,
    *numbers: Any,
) -> Tensors:
    """The gradients of all five tensors, row-major, rounded to the dtype of input."""
    *steps, use_mask = numbers
    grads = [empty(tuple(t.shape), input.dtype) for t in (input, weight, offset, mask, bias)]
    of_input, of_weight, of_offset, of_mask, of_bias = grads
    masks = (mask, of_mask) if use_mask else (None, None)
    if not use_mask:
        of_mask.zero_()
    _kernels.call(
        _core.deform_conv2d_backward,
        input,
        grad,
        None,
        weight,
        offset,
        masks[0],
        *_numbers(weight, tuple(steps)),
        of_input,
        of_weight,
        of_offset,
        of_bias,
        masks[1],
    )
    grads[-1] = of_bias.to(bias.dtype)  # float32 beside 16 bits: what was rounded
    return tuple(grads)


def fake(
    input: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor, *rest: Any
) -> torch.Tensor:
    """The output's shape for compilers."""
    return input.new_empty((input.shape[0], weight.shape[0], *offset.shape[2:]))


def fake_backward(grad: torch.Tensor, *rest: Any) -> Tensors:
    """The gradients' shapes for compilers."""
    return tuple(tensor.new_empty(tensor.shape) for tensor in rest[:5])


def setup(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep tensors and numbers."""
    ctx.save_for_backward(*inputs[:5])
    ctx.numbers = inputs[5:]


def gradients(ctx: Any, grad: torch.Tensor) -> tuple[Optional[torch.Tensor], ...]:
    """The gradients of the five tensors."""
    found = torch.ops.portacl.deform_conv2d_backward(grad, *ctx.saved_tensors, *ctx.numbers)
    return (*found, *[None] * len(ctx.numbers))


def refuse_second_order(ctx: Any, *grads: torch.Tensor) -> Any:
    """Raise: the gradients have no derivatives, as in torchvision."""
    raise RuntimeError("double backwards on deform_conv2d is not supported")


def refused_tangent(primals: Sequence[Any], tangents: Sequence[Any]) -> torch.Tensor:
    """The operator has no forward mode."""
    raise NotImplementedError("portacl::deform_conv2d has no forward mode")


# ---- torchvision -------------------------------------------------------------------------------

replaced = Replaced(
    "torchvision.ops.deform_conv",
    {"deform_conv2d": kernel, "_deform_conv2d_backward": backward_kernel},
    own_errors=True,
)
set_enabled = replaced.set_enabled
