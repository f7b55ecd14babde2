"""Operators that only devices have, in terms of operators that the CPU has."""

from __future__ import annotations

import inspect
from typing import Any

from . import _attention, _cells, _layers, _sync_batch_norm

_libraries: list[Any] = []

# Namespace, operators, and whether autograd follows them by their parts.
_TABLES: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("aten", _cells.OPERATORS, False),
    ("aten", _sync_batch_norm.ATEN, False),
    ("npu", _sync_batch_norm.NPU, False),
    ("npu", _layers.OPERATORS, True),
    ("npu", _attention.OPERATORS, True),
)


def _exists(space: str, name: str) -> bool:
    import torch

    return bool(torch._C._dispatch_has_kernel(f"{space}::{name}"))


def names() -> list[str]:
    """Return the operators that get a kernel here, with their namespaces."""
    return [
        f"{space}::{name}" for space, table, _ in _TABLES for name in table if _exists(space, name)
    ]


def register() -> None:
    """Register them for the device."""
    import torch

    for space, table, differentiable in _TABLES:
        library = torch.library.Library(space, "IMPL")
        override = "allow_override" in inspect.signature(library.impl).parameters
        more = {"allow_override": True} if override else {}
        for name, function in table.items():
            if not _exists(space, name):  # of another version of the plugin
                continue
            library.impl(name, function, "PrivateUse1", **more)
            if differentiable:
                library.impl(name, function, "AutogradPrivateUse1", **more)
        _libraries.append(library)
