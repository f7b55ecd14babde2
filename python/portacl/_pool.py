"""Memory of large results: kept huge pages (``PORTACL_POOL_MB``) in place of new ones."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from typing import Any

from . import _core

POOLED_BYTES = _core.POOLED_BYTES
"""Results of at least this size come from the pool."""


def result_bytes(shape: Sequence[int], item_bytes: int) -> int:
    """Bytes of a result.

    Raises:
        ValueError: an extent is negative, or they are more than an address space has.

    """
    if min(shape, default=0) < 0:
        raise ValueError(f"a result of shape {list(shape)} has a negative extent")
    nbytes = prod(shape) * item_bytes
    if max(nbytes, *shape) > sys.maxsize:
        raise ValueError(f"a result of shape {list(shape)} has more bytes than 64 bits can count")
    return nbytes


def pooled_block(shape: Sequence[int], item_bytes: int) -> _core.Block | None:
    """Memory from the pool for a result, or None if it is small or the pool is off.

    Raises:
        ValueError: an extent is negative, or the result has more bytes than an address space.
        MemoryError: there is no memory for it.

    """
    nbytes = result_bytes(shape, item_bytes)
    if nbytes < POOLED_BYTES or _core.pool_limit() == 0:
        return None
    return _core.Block(nbytes)


def no_memory(shape: Sequence[int], item_bytes: int) -> MemoryError:
    """Build the library's own error for a result that NumPy or PyTorch cannot allocate."""
    return MemoryError(f"no memory for a result of {prod(shape) * item_bytes} bytes")


def empty_tensor(torch: Any, shape: Sequence[int], dtype: Any) -> Any:
    """A row-major CPU tensor with undefined contents, large ones in the pool's memory.

    ``torch`` is the caller's module: this package works without it.
    """
    block = pooled_block(shape, dtype.itemsize)
    if block is not None:
        return torch.frombuffer(block, dtype=dtype).view(shape)
    try:
        return torch.empty(shape, dtype=dtype, device="cpu")
    except RuntimeError:  # how PyTorch's allocator says that there is no memory
        raise no_memory(shape, dtype.itemsize) from None
