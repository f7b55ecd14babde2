"""Memory of results: PyTorch's memory or, for large tensors, huge pages of the pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import torch

from .._pool import POOLED_BYTES, empty_tensor, no_memory, pooled_block

_MEMORY_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def memory_format_like(tensor: torch.Tensor) -> torch.memory_format:
    """Memory format that PyTorch would give results from this tensor, of images or volumes.

    It is channels_last if the strides ascend in the order C, W, H, (D,) N, dense or not: PyTorch's
    rule for results of resizing.
    """
    if tensor.dim() not in _MEMORY_FORMATS:
        return torch.contiguous_format
    shape, strides = tensor.shape, tensor.stride()
    if strides[1] == 0:
        return torch.contiguous_format
    least = 0
    for axis in _ascending_axes(tensor.dim()):
        if shape[axis] == 0 or strides[axis] < least:
            return torch.contiguous_format
        if axis == 0 and least == strides[1]:  # N, 1, 1, 1: ambiguous, counts as row-major
            return torch.contiguous_format
        least = strides[axis] * max(shape[axis], 1)
    return _MEMORY_FORMATS[tensor.dim()]


def _ascending_axes(rank: int) -> tuple[int, ...]:
    """The axes of channels_last, innermost first."""
    return (1, *range(rank - 1, 1, -1), 0)


def _channels_last_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides, following = [0] * len(shape), 1
    for axis in _ascending_axes(len(shape)):
        strides[axis] = following
        following *= shape[axis]
    return tuple(strides)


def empty_like(tensor: torch.Tensor) -> torch.Tensor:
    """A row-major tensor with undefined contents, and a given tensor's shape, dtype and device."""
    if tensor.is_cuda:
        return torch.empty_like(tensor, memory_format=torch.contiguous_format)
    if tensor.numel() < POOLED_BYTES // 8 and tensor.is_contiguous():
        # The cheapest way: small calls are all overhead.
        return torch.empty_like(tensor, memory_format=torch.contiguous_format)
    return empty(tensor.shape, tensor.dtype)


def empty(
    shape: Sequence[int],
    dtype: torch.dtype,
    memory_format: torch.memory_format = torch.contiguous_format,
    device: Optional[torch.device] = None,
) -> torch.Tensor:
    """A tensor with undefined contents, row-major or channels_last, on the CPU or a GPU.

    Pooled memory (1 MiB and more) goes back to the pool when the tensor dies; such a tensor cannot
    be resized in place.
    """
    if device is not None and device.type == "cuda":
        return torch.empty(shape, dtype=dtype, memory_format=memory_format, device=device)
    if memory_format == torch.contiguous_format:
        tensor: torch.Tensor = empty_tensor(torch, shape, dtype)
        return tensor
    strides = _channels_last_strides(shape)
    block = pooled_block(shape, dtype.itemsize)
    if block is not None:
        return torch.frombuffer(block, dtype=dtype).as_strided(shape, strides)
    try:
        return torch.empty_strided(shape, strides, dtype=dtype, device="cpu")
    except RuntimeError:  # how PyTorch's allocator says that there is no memory
        raise no_memory(shape, dtype.itemsize) from None
