"""``torch.ops.portacl.roi_align``, and its use for ``torchvision::roi_align``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import torch

from .. import _core
from . import _kernels
from ._results import empty
from ._torchvision import Replaced

_NUMBERS = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_END = "int sampling_ratio, bool aligned"
SCHEMAS = {
    "roi_align": f"(Tensor input, Tensor rois, {_NUMBERS}, {_END}) -> Tensor",
    "roi_align_backward": f"(Tensor grad, Tensor rois, {_NUMBERS}, {_SIZE}, {_END}) -> Tensor",
    "roi_align_rotated": f"(Tensor input, Tensor rois, {_NUMBERS}, {_END}, bool clockwise)"
    " -> Tensor",
    "roi_align_rotated_backward": f"(Tensor grad, Tensor rois, {_NUMBERS}, {_SIZE}, {_END}, "
    "bool clockwise) -> Tensor",
}
"""The schemas of torchvision's operators; rotated rois add a flag behind them."""

_AVERAGE = 0
Rest = Any


def _pool(
    rotated: bool,
    input: torch.Tensor,
    rois: torch.Tensor,
    scale: float,
    height: int,
    width: int,
    ratio: int,
    aligned: bool,
    *clockwise: bool,
) -> torch.Tensor:
    """(K, C, height, width), row-major."""
    output = empty((*rois.shape[:1], input.shape[1], height, width), input.dtype)
    numbers = (height, width, scale, max(ratio, 0), aligned)
    if rotated:
        _kernels.call(_core.roi_align_rotated, input, rois, *numbers, *clockwise, output)
    else:
        _kernels.call(_core.roi_align, input, rois, *numbers, _AVERAGE, output)
    return output


def _spread(
    rotated: bool,
    grad: torch.Tensor,
    rois: torch.Tensor,
    scale: float,
    height: int,
    width: int,
    images: int,
    channels: int,
    rows: int,
    columns: int,
    ratio: int,
    aligned: bool,
    *clockwise: bool,
) -> torch.Tensor:
    """(images, channels, rows, columns), row-major."""
    result = empty((images, channels, rows, columns), grad.dtype)
    numbers = (height, width, scale, max(ratio, 0), aligned)
    if rotated:
        _kernels.call(_core.roi_align_rotated_backward, grad, rois, *numbers, *clockwise, result)
    else:
        # For an average the images do not count: the result stands for them.
        _kernels.call(_core.roi_align_backward, grad, rois, result, *numbers, _AVERAGE, result)
    return result


KERNELS: dict[str, Callable[..., torch.Tensor]] = {
    "roi_align": lambda *arguments: _pool(False, *arguments),
    "roi_align_backward": lambda *arguments: _spread(False, *arguments),
    "roi_align_rotated": lambda *arguments: _pool(True, *arguments),
    "roi_align_rotated_backward": lambda *arguments: _spread(True, *arguments),
}


def fake(
    input: torch.Tensor, rois: torch.Tensor, scale: float, height: Any, width: Any, *rest: Rest
) -> torch.Tensor:
    """The output's shape for compilers."""
    return input.new_empty((rois.shape[0], input.shape[1], height, width))


def fake_backward(
    grad: torch.Tensor, rois: torch.Tensor, scale: float, height: Any, width: Any, *rest: Rest
) -> torch.Tensor:
    """The gradient's shape for compilers."""
    return grad.new_empty(rest[:4])


def setup(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep rois, numbers and the images' shape."""
    input, rois, *ctx.numbers = inputs
    ctx.save_for_backward(rois)
    ctx.size = input.shape


def gradient(backward: Any, ctx: Any, grad: torch.Tensor) -> tuple[Optional[torch.Tensor], ...]:
    """The gradient of the input; rois have none, as in torchvision."""
    (rois,) = ctx.saved_tensors
    found = backward(grad, rois, *ctx.numbers[:3], *ctx.size, *ctx.numbers[3:])
    return (found, *[None] * (len(ctx.numbers) + 1))


def second_order(forward: Any, ctx: Any, grad: torch.Tensor) -> tuple[Optional[torch.Tensor], ...]:
    """The gradient is linear in its input: its gradient is the function."""
    (rois,) = ctx.saved_tensors
    found = forward(grad, rois, *ctx.numbers[:3], *ctx.numbers[7:])
    return (found, *[None] * (len(ctx.numbers) + 1))


# ---- torchvision -------------------------------------------------------------------------------

replaced = Replaced(
    "torchvision.ops.roi_align",
    {
        "roi_align": KERNELS["roi_align"],
        "_roi_align_backward": KERNELS["roi_align_backward"],
    },
)
set_enabled = replaced.set_enabled
