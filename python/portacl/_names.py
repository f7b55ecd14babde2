"""The error for a name that a module lacks."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Make the error of a module's ``__getattr__``, with names of functions that may be meant."""
    text = f"module {module!r} has no attribute {name!r}"
    if module == "portacl" and name in ("jax", "testing", "torch"):
        return AttributeError(f"{text} before 'import {module}.{name}'")
    if module == "portacl" and name in ("accelerated", "enable", "interpolate", "profile"):
        return AttributeError(f"{text}; portacl.torch has it")
    near = [] if name.startswith("_") else get_close_matches(name, known)
    meant = ", ".join(near[:-1]) + (" or " if near[1:] else "") + "".join(near[-1:])
    return AttributeError(f"{text}; did you mean {meant}?" if near else text)
