"""Whole torch_npu programs on portacl: PyTorch's CPU kernels for what portacl lacks.

With portacl device memory is host memory, so an operator of PyTorch's CPU runs on tensors of the
device ``npu`` without a copy. This package takes every such operator; portacl's operators on
images stay portacl's. It comes into a program by itself: by ``import torch`` (entry point
``torch.backends``), else when the device is first used. It does nothing if the ACL library of the
process is not portacl, so not on a machine with an NPU and its toolkit.

``PORTACL_NPU=0`` turns it off; ``python -m portacl_npu --operators`` lists what it takes.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from typing import Any

_library: ctypes.CDLL | None = None
_chosen: Any = None  # _operators.Chosen, once the operators are taken
_failed = False


def _acl_library() -> ctypes.CDLL | None:
    """Return the ACL library that torch_npu loaded."""
    try:
        return ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def runs_on_portacl() -> bool:
    """Whether the ACL library of this process is portacl."""
    library = _acl_library()
    return library is not None and hasattr(library, "portaclNpuWatched")


def enabled() -> bool:
    """Whether PyTorch's operators are taken in this process."""
    return _library is not None


def enable() -> bool:
    """Take the operators, once a process. False where torch_npu does not run on portacl.

    Raises:
        BuildError: the package's C++ part neither comes with it nor can be built.
        RuntimeError: PyTorch refuses a kernel.

    """
    global _library, _chosen
    if _library is not None:
        return True
    if not runs_on_portacl():
        return False
    from . import _build, _collectives, _compilers, _compositions, _kernels, _operators

    library = ctypes.CDLL(str(_build.library()))
    _kernels.declare(library)
    chosen = _operators.choose(_acl_library(), _compositions.names())
    _kernels.take(library, "aten", chosen.routed, "route")
    _kernels.take(library, "aten", chosen.routed_with_hosts, "route with hosts")
    _kernels.take(library, "aten", chosen.allocating, "allocate")
    _kernels.take(library, "aten", chosen.composite, "composite")
    _kernels.take(library, "aten", chosen.to_copy, "to copy")
    _kernels.take(library, "aten", chosen.formulas, "autograd")
    _kernels.take(library, "aten", chosen.no_formulas, "no autograd")
    for kind, names in chosen.preferred().items():
        _kernels.take(library, "aten", names, kind)
    _kernels.take(library, "c10d", chosen.collectives, "collective")
    _compositions.register(library)
    for space, names in chosen.refused.items():
        _kernels.take(library, space, names, "refuse")
    _kernels.follow_generators(library)
    _collectives.use_gloo(library)
    _compilers.refuse()
    library.portacl_npu_install()
    _library, _chosen = library, chosen
    return True


def first_use() -> None:
    """Autoload, as libportacl.so asks for it from ``aclInit``."""
    autoload()


def autoload() -> None:
    """Enable the package where the environment wants it; an error becomes a warning.

    PyTorch calls it as an entry point of ``torch.backends``.
    """
    global _failed
    if runs_on_portacl():
        # In the plugin's task queue an operator fails after its line, and the plugin then drops
        # all later work of the process without a word. Streams here are queues already.
        os.environ.setdefault("TASK_QUEUE_ENABLE", "0")
    if enabled() or _failed or os.environ.get("PORTACL_NPU", "1") == "0":
        return
    try:
        import torch_npu  # noqa: F401
    except Exception:  # its own entry point says so
        return
    try:
        enable()
    except Exception as error:
        _failed = True
        warnings.warn(
            f"portacl_npu: {error}\nOnly portacl's own operators run on npu in this process.",
            RuntimeWarning,
            stacklevel=2,
        )


def operators() -> dict[str, Any]:
    """Return this process's kernels: for each kind the names of its operators."""
    from . import _compositions

    chosen = _chosen
    if chosen is None:
        return {}
    return {
        "routed": sorted(
            chosen.routed
            + chosen.routed_with_hosts
            + chosen.allocating
            + [f"c10d::{name}" for name in chosen.collectives]
        ),
        "composed": sorted(chosen.composite + chosen.to_copy + _compositions.names()),
        "portacl": sorted(chosen.portacl),
        "refused": sorted(f"{s}::{n}" for s, names in chosen.refused.items() for n in names),
    }
