"""The kernels that this machine can run, one at a time."""

from __future__ import annotations

from contextlib import contextmanager

import portacl
from portacl import _core


def kernels() -> list[str]:
    """Return the names: each instruction set, and the reference."""
    return [*portacl.info()["instruction_sets"], "ref"]


@contextmanager
def kernel(name: str):
    """Compute with the kernels of this name in a block."""
    _core.set_impl(name)
    try:
        yield
    finally:
        _core.set_impl("")
