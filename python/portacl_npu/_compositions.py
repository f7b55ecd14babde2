"""Operators that only devices have, in terms of operators that the CPU has."""

from __future__ import annotations

from typing import Any

from . import _cells

_libraries: list[Any] = []


def _tables() -> list[tuple[str, dict[str, Any]]]:
    return [("aten", _cells.OPERATORS)]


def names() -> list[str]:
    """Return the operators that get a kernel here, with their namespaces."""
    return [f"{space}::{name}" for space, table in _tables() for name in table]


def register() -> None:
    """Register them for the device."""
    import inspect

    import torch

    for space, table in _tables():
        library = torch.library.Library(space, "IMPL")
        override = "allow_override" in inspect.signature(library.impl).parameters
        for name, function in table.items():
            more = {"allow_override": True} if override else {}
            library.impl(name, function, "PrivateUse1", **more)
        _libraries.append(library)
