"""Version, threads and what the library says of itself."""

from __future__ import annotations

import json
from operator import index
from typing import Any

from . import _core

__version__: str = _core.version()
_MAX_THREADS = 1024


def set_num_threads(threads: int) -> None:
    """Set the number of threads that the operators use. Results never depend on it.

    Waits for calls that run in other threads.

    Args:
        threads: 1 to 1024; 0 restores the default: ``PORTACL_NUM_THREADS``; else PyTorch's number
            if ``portacl.torch`` is imported; else the number of CPUs that this process may use,
            or ``OMP_NUM_THREADS`` if that is less.

    Raises:
        ValueError: ``threads`` is out of range.
        TypeError: ``threads`` is no integer.

    """
    try:
        count = index(threads)
    except TypeError:
        raise TypeError(f"threads is {threads!r}, but must be an integer") from None
    if not 0 <= count <= _MAX_THREADS:
        raise ValueError(f"threads is {count}, but must be 0 (the default) to {_MAX_THREADS}")
    _core.set_num_threads(count)


def get_num_threads() -> int:
    """Number of threads that the operators use; 1 in a forked child if its parent used more."""
    return _core.get_num_threads()


def info() -> dict[str, Any]:
    """Describe the library as it runs here.

    Returns:
        version, CPU, instruction sets, threads, profile, each operator's kernels (best first).
        ``thread_pool``: the pool, oneTBB's, or PyTorch's once ``portacl.torch`` is imported.
        ``cuda``: how many GPUs, and why none. ``adapt_threads``: ``PORTACL_ADAPT_THREADS``.
        Numbers of calls since the start: ``calls_shared`` used several threads; ``calls_lost``
        waited for threads longer than these saved; ``calls_alone`` therefore ran on their
        callers alone. ``result_pool``: bytes of result memory kept for reuse now
        and at most (``PORTACL_POOL_MB``).

    """
    facts: dict[str, Any] = json.loads(_core.info_json())
    facts["result_pool"] = {"kept_bytes": _core.pool_kept(), "limit_bytes": _core.pool_limit()}
    return facts
