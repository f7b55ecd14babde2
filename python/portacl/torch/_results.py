"""Memory of results as tensors: PyTorch's own, or for large ones the pool's kept huge pages."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .._pool import POOLED_BYTES, empty_tensor, no_memory, pooled_block


def is_like_channels_last(tensor: torch.Tensor) -> bool:
    """Whether PyTorch would make results from this tensor channels_last.

    That is where the strides ascend in the order C, W, H, N, not where they are dense: PyTorch's
    own rule for the results of its resizing operators.
    """
    if tensor.dim() != 4:
        return False
    shape, strides = tensor.shape, tensor.stride()
    if strides[1] == 0:
        return False
    least = 0
    for axis in (1, 3, 2, 0):
        if shape[axis] == 0 or strides[axis] < least:
            return False
        if axis == 0 and least == strides[1]:  # N, 1, 1, 1: ambiguous, counts as row-major
            return False
        least = strides[axis] * max(shape[axis], 1)
    return True


def _channels_last_strides(shape: Sequence[int]) -> tuple[int, ...]:
    _, channels, height, width = shape
    return (channels * height * width, 1, channels * width, channels)


def empty_like(tensor: torch.Tensor) -> torch.Tensor:
    """A row-major CPU tensor with undefined contents and another one's shape and dtype."""
    if tensor.numel() < POOLED_BYTES // 8 and tensor.is_contiguous():
        return torch.empty_like(tensor)  # the cheapest way: small calls are all overhead
    return empty(tensor.shape, tensor.dtype)


def empty(shape: Sequence[int], dtype: torch.dtype, *, channels_last: bool = False) -> torch.Tensor:
    """A CPU tensor with undefined contents, row-major or channels_last.

    Pooled memory (1 MiB and more) goes back to the pool when the tensor dies; such a tensor cannot
    be resized in place.
    """
    if not channels_last:
        tensor: torch.Tensor = empty_tensor(torch, shape, dtype)
        return tensor
    strides = _channels_last_strides(shape)
    block = pooled_block(shape, dtype.itemsize)
    if block is not None:
        return torch.frombuffer(block, dtype=dtype).as_strided(shape, strides)
    try:
        return torch.empty_strided(shape, strides, dtype=dtype)
    except RuntimeError:  # how PyTorch's allocator says that there is no memory
        raise no_memory(shape, dtype.itemsize) from None
