"""Memory of large results: kept huge pages (``PORTACL_POOL_MB``) in place of new ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from . import _core

POOLED_BYTES = 1 << 20
"""Results of at least this size come from the pool."""


def pooled_block(shape: Sequence[int], item_bytes: int) -> _core.Block | None:
    """Memory from the pool for a result, or None where it is small or the pool is off."""
    nbytes = prod(shape) * item_bytes
    if nbytes < POOLED_BYTES or _core.pool_limit() == 0:
        return None
    return _core.Block(nbytes)


def empty_tensor(torch: Any, shape: Sequence[int], dtype: Any) -> Any:
    """A row-major CPU tensor with undefined contents, large ones in the pool's memory.

    ``torch`` is the caller's module: this package works without it.
    """
    block = pooled_block(shape, dtype.itemsize)
    if block is None:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(block, dtype=dtype).view(shape)
