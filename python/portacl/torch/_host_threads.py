"""Runs portacl's kernels on PyTorch's threads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import torch

from .. import _core
from .._settings import info

LIBRARY = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"


class Threads(NamedTuple):
    """The threads that a call by this thread would run on now."""

    count: int
    """How many threads: ``torch.get_num_threads()``, unless ``PORTACL_NUM_THREADS`` or
    ``portacl.set_num_threads`` says otherwise; 1 in a forked child of a process that
    had used more."""
    pool: str
    """The pool that they belong to and, if that is not PyTorch's, why."""


def _why_not() -> str:
    """Why PyTorch's threads should not be used; "" if they should."""
    if "ATen parallel backend: OpenMP" not in torch.__config__.parallel_info():
        return "PyTorch's loops do not run on OpenMP"
    if os.environ.get("OMP_WAIT_POLICY", "").strip().lower() == "passive":
        # Then OpenMP's threads sleep between loops, and oneTBB's wake up faster.
        return "OMP_WAIT_POLICY is passive"
    return ""


def lend() -> None:
    """Run portacl's kernels on PyTorch's threads or, if that is impossible, on as many own ones."""
    why_not = _why_not() or _core.lend_openmp_threads(str(LIBRARY), "PyTorch's (libgomp)")
    if why_not:
        _core.lend_number_of_threads(f"oneTBB, because {why_not}")


def threads() -> Threads:
    """Tell how many threads a call would use now, and their pool."""
    return Threads(_core.get_num_threads(torch.get_num_threads()), info()["thread_pool"])
