"""The plugin's threads look for work by short sleeps: longer ones leave the CPU to the program.

One of them (``release_thread``) sleeps a microsecond at a time for as long as the process lives. By
Linux's timers these are some 60, and it takes a sixth of a CPU, on a machine with few of them from
the program. Timers of threads are as coarse as those of the thread that makes them.
"""

from __future__ import annotations

import ctypes

_SET_TIMERSLACK = 29  # of <linux/prctl.h>
_COARSE = 1_000_000  # nanoseconds
_OWN = 0  # what the thread began with


def _set(nanoseconds: int) -> None:
    ctypes.CDLL(None).prctl(_SET_TIMERSLACK, ctypes.c_ulong(nanoseconds), 0, 0, 0)


def coarsen() -> None:
    """Have coarse timers in threads that this one makes until the device is ready."""
    import torch_npu

    _set(_COARSE)
    torch_npu.npu._lazy_call(lambda: _set(_OWN))
