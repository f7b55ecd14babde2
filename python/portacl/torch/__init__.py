"""portacl for PyTorch: differentiable operators, and faster kernels for PyTorch's functions.

``enable()`` makes the backward of ``torch.nn.functional.grid_sample`` and ``interpolate`` use
portacl's kernels on CPU. Existing training code becomes faster, bit-reproducible and safe against
NaN without a change. ``grid_sample``, ``interpolate`` and ``affine_grid`` use portacl's kernels in
both directions, whether ``enable()`` was called or not. Importing this module lends portacl
PyTorch's threads; ``threads()`` tells whether that worked.
"""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as _missing:
    raise ImportError("portacl.torch needs PyTorch 2.7 or newer (pip install torch)") from _missing

from .._names import missing as _missing_name
from ._functional import affine_grid, grid_sample, interpolate, interpolate_nearest_exact
from ._host_threads import Threads, lend, threads
from ._library import LISTED as _LISTED
from ._override import accelerated, disable, enable, is_enabled
from ._profile import Report, profile

lend()
globals().update(_LISTED)

__all__ = [
    "Report",
    "Threads",
    "accelerated",
    "affine_grid",
    "disable",
    "enable",
    "grid_sample",
    "interpolate",
    "interpolate_nearest_exact",
    "is_enabled",
    "profile",
    "threads",
    *_LISTED,
]

_autoload = _sys.modules.get("portacl_autoload")
if _autoload is not None and _autoload.waiting:
    _autoload.load()

if not _TYPE_CHECKING:  # type checkers would take any name for one of this module

    def __getattr__(name: str) -> object:
        raise _missing_name(__name__, name, __all__)
