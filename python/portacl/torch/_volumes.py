"""Makes ``torch.nn.functional.interpolate`` take antialiased resizing of rows and volumes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from ._functional import interpolate

_MODES = ("linear", "trilinear", "bicubic", "lanczos")
_enabled = False
_wrapper: Any = None


def _wrap(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def resize(
        input: torch.Tensor,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: Any = None,
        recompute_scale_factor: Any = None,
        antialias: bool = False,
    ) -> torch.Tensor:
        taken = _enabled and antialias and mode in _MODES and input.dim() in (3, 5)
        return (interpolate if taken else stock)(
            input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
        )

    return resize


def set_enabled(wanted: bool) -> None:
    """Set whether PyTorch's function takes vectors and volumes from now on.

    Another library may have wrapped the function since: its wrapper stays.
    """
    global _enabled, _wrapper
    _enabled = wanted
    if wanted and not _is_wrapped():
        _wrapper = _wrap(F.interpolate)
        F.interpolate = _wrapper
    elif not wanted and F.interpolate is _wrapper:
        F.interpolate = _wrapper.__wrapped__


def _is_wrapped() -> bool:
    """Whether a call of the function reaches this file's wrapper."""
    function = F.interpolate
    while function is not _wrapper:
        function = getattr(function, "__wrapped__", None)
        if function is None:
            return False
    return True
