"""The kernels of CPU and GPU: tensors in, tensors out, no autograd; arguments as in aten's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Optional

import torch
from torch import get_num_threads

from .. import _core
from ._host_threads import LIBRARY
from ._results import empty, empty_like, memory_format_like

uses_native_kernels = not _core.find_torch(str(LIBRARY))
"""Whether calls reach portacl without Python. Before PyTorch 2.13 they cannot."""

DTYPES = {torch.float16, torch.bfloat16, torch.float32, torch.float64}

Scales = Sequence[float]
Results = tuple[Optional[torch.Tensor], Optional[torch.Tensor]]


Function = Callable[..., None]


def _on_gpu(function: Function, device: torch.device, arguments: Sequence[Any]) -> None:
    """Enqueue a call on the current stream of the GPU."""
    index = device.index
    stream = torch.cuda.current_stream(index).cuda_stream
    _core.set_cuda_stream(index, stream, torch.cuda.is_current_stream_capturing())
    try:
        function(*arguments)
    finally:
        _core.set_cuda_stream(-1, 0)


def call(function: Function, *arguments: Any) -> None:
    """Call a function of ``_core`` where its first argument, a tensor, lies."""
    device = arguments[0].device
    if device.type != "cuda":
        function(*arguments, get_num_threads())
        return
    try:
        _on_gpu(function, device, arguments)
    except MemoryError:
        # CUDA has no memory left for a workspace: PyTorch keeps the memory of freed tensors.
        torch.cuda.empty_cache()
        _on_gpu(function, device, arguments)


def _grid_sampler(
    function: Function,
    input: torch.Tensor,
    grid: torch.Tensor,
    *modes: Any,
) -> torch.Tensor:
    """Sampled values (N, C, OH, OW) or (N, C, OD, OH, OW), row-major."""
    output = empty((*input.shape[:2], *grid.shape[1:-1]), input.dtype, device=input.device)
    call(function, input, grid, output, *modes)
    return output


def _grid_sampler_backward(
    function: Function,
    grad_output: torch.Tensor,
    input: torch.Tensor,
    grid: torch.Tensor,
    *modes_and_mask: Any,
) -> Results:
    """(input_grad, grid_grad), both row-major; None for one that the mask leaves out."""
    *modes, output_mask = modes_and_mask
    input_grad = empty_like(input) if output_mask[0] else None
    grid_grad = empty_like(grid) if output_mask[1] else None
    if input_grad is not None or grid_grad is not None:
        call(function, grad_output, input, grid, input_grad, grid_grad, *modes)
    return input_grad, grid_grad


_GRID_STEMS = [f"grid_sampler_{axes}d{end}" for end in ("", "_padded") for axes in (2, 3)]

GRID_SAMPLERS = {name: partial(_grid_sampler, getattr(_core, name)) for name in _GRID_STEMS}
"""By name; ``_padded`` take a fill, a flag and a value for points outside behind the modes."""

GRID_SAMPLERS_BACKWARD = {
    name: partial(_grid_sampler_backward, getattr(_core, f"{name}_backward"))
    for name in _GRID_STEMS
}


def _axis_scales(tensor: torch.Tensor, scales: Optional[Scales]) -> tuple[float, float, float]:
    if scales and len(scales) != tensor.dim() - 2:
        raise ValueError(
            f"scales has {len(scales)} values, but the tensor of shape {list(tensor.shape)} has "
            f"{tensor.dim() - 2} spatial axes"
        )
    first, second, third = (*(scales or ()), 0.0, 0.0, 0.0)[:3]
    return (first, second, third)


def _resize(
    function: Function,
    input: torch.Tensor,
    output_size: Sequence[int],
    scales: Optional[Scales],
    *modes: int,
) -> torch.Tensor:
    """Resized values in the memory format of ``input``."""
    shape = (*input.shape[:2], *output_size)
    output = empty(shape, input.dtype, memory_format_like(input), input.device)
    call(function, input, output, *modes, _axis_scales(input, scales))
    return output


def _resize_backward(
    function: Function,
    grad_output: torch.Tensor,
    input_size: Sequence[int],
    scales: Optional[Scales],
    *modes: bool,
    memory_format: Optional[torch.memory_format] = None,
) -> torch.Tensor:
    """Gradient of resizing's input; if the format is None, in the format of ``grad_output``."""
    memory_format = memory_format or memory_format_like(grad_output)
    grad_input = empty(input_size, grad_output.dtype, memory_format, grad_output.device)
    call(function, grad_output, grad_input, *modes, _axis_scales(grad_output, scales))
    return grad_input


RESIZES = {
    name: partial(_resize, getattr(_core, name))
    for name in (
        "upsample_nearest_exact",
        "upsample_nearest",
        "upsample_linear",
        "upsample_cubic",
        "upsample_lanczos",
    )
}
"""By portacl's names. Weighted ones take align_corners and antialias behind the scales."""

RESIZES_BACKWARD = {
    name: partial(_resize_backward, getattr(_core, f"{name}_backward")) for name in RESIZES
}


def _pooled_format(image: torch.Tensor) -> torch.memory_format:
    return memory_format_like(image) if image.dim() == 4 else torch.contiguous_format


def adaptive_avg_pool(input: torch.Tensor, output_size: Sequence[int]) -> torch.Tensor:
    """Averages in the memory format of ``input``, of volumes row-major."""
    shape = (*input.shape[:2], *output_size)
    output = empty(shape, input.dtype, _pooled_format(input), input.device)
    call(_core.adaptive_avg_pool, input, output)
    return output


def adaptive_avg_pool_backward(grad_output: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    """Gradient of ``input``, in its memory format, of volumes row-major."""
    grad_input = empty(input.shape, grad_output.dtype, _pooled_format(input), input.device)
    call(_core.adaptive_avg_pool_backward, grad_output, grad_input)
    return grad_input


def affine_grid(theta: torch.Tensor, size: Sequence[int], align_corners: bool) -> torch.Tensor:
    """Points (N, H, W, 2) or (N, D, H, W, 3), row-major."""
    grid = empty((size[0], *size[2:], len(size) - 2), theta.dtype, device=theta.device)
    call(_core.affine_grid, theta, grid, align_corners)
    return grid


def affine_grid_backward(
    grid_grad: torch.Tensor, size: Sequence[int], align_corners: bool
) -> torch.Tensor:
    """Gradient (N, 2, 3) or (N, 3, 4) of the maps."""
    axes = len(size) - 2
    theta_grad = empty((size[0], axes, axes + 1), grid_grad.dtype, device=grid_grad.device)
    call(_core.affine_grid_backward, grid_grad, theta_grad, align_corners)
    return theta_grad
