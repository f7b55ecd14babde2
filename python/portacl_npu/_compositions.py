"""Operators that only devices have, in terms of operators that the CPU has."""

from __future__ import annotations

import ctypes
import inspect
from typing import Any

from . import (
    _attention,
    _boxes,
    _cells,
    _deform_conv,
    _experts,
    _gradients,
    _kernels,
    _layers,
    _optimizers,
    _products,
    _sync_batch_norm,
)

_libraries: list[Any] = []

# Namespace, operators, and whether autograd follows them by their parts.
_TABLES: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("aten", _cells.OPERATORS, False),
    ("aten", _products.OPERATORS, False),
    ("aten", _sync_batch_norm.ATEN, False),
    ("npu", _sync_batch_norm.NPU, False),
    ("npu", _layers.OPERATORS, True),
    ("npu", _attention.OPERATORS, True),
    ("npu", _boxes.OPERATORS, True),
    ("npu", _deform_conv.OPERATORS, False),
    ("npu", _experts.OPERATORS, True),
    ("npu", _gradients.OPERATORS, False),
    ("npu", _optimizers.OPERATORS, False),
)


def _exists(space: str, name: str) -> bool:
    import torch

    return bool(torch._C._dispatch_has_kernel(f"{space}::{name}"))


def _into(space: str, name: str) -> str | None:
    """Name the operator that writes the one result of ``name`` into ``out``, if there is one."""
    import torch

    base, _, overload = name.partition(".")
    more = f"{overload}_out" if overload else "out"
    if not _exists(space, f"{base}.{more}"):
        return None
    last = torch._C._get_schema(f"{space}::{base}", more).arguments[-1]
    return f"{base}.{more}" if last.name == "out" and str(last.type) == "Tensor" else None


def _write_into(function: Any) -> Any:
    def run(*arguments: Any, out: Any, **more: Any) -> Any:
        result = function(*arguments, **more)
        return out.resize_(result.shape).copy_(result)

    return run


def _operators() -> list[tuple[str, str, Any, bool]]:
    """Return the plugin's operators: namespace, name, function, whether autograd follows parts."""
    found = []
    for space, table, differentiable in _TABLES:
        for name, function in table.items():
            if not _exists(space, name):  # of another version of the plugin
                continue
            found.append((space, name, function, differentiable))
            into = _into(space, name)
            if into is not None and into not in table:
                found.append((space, into, _write_into(function), False))
    return found


def names() -> list[str]:
    """Return the operators that get a kernel here, with their namespaces."""
    return [f"{space}::{name}" for space, name, _, _ in _operators()]


def register(library: ctypes.CDLL) -> None:
    """Register them for the device."""
    import torch

    libraries = {space: torch.library.Library(space, "IMPL") for space in ("aten", "npu")}
    _libraries.extend(libraries.values())
    override = "allow_override" in inspect.signature(libraries["npu"].impl).parameters
    more = {"allow_override": True} if override else {}
    operators = _operators()
    for space, name, function, _ in operators:
        libraries[space].impl(name, function, "PrivateUse1", **more)
    for space in libraries:
        followed = [
            name for of, name, _, differentiable in operators if differentiable and of == space
        ]
        _kernels.take(library, space, followed, "by parts")
