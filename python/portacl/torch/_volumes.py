"""Antialiased resizing of rows and volumes in ``torch.nn.functional.interpolate``, which refuses it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from ._functional import interpolate

_MODES = ("linear", "trilinear", "bicubic", "lanczos")
_enabled = False


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
    """Whether PyTorch's function takes them from now on."""
    global _enabled
    _enabled = wanted
    stock = getattr(F.interpolate, "_portacl_stock", None)
    if wanted and stock is None:
        wrapped: Any = _wrap(F.interpolate)
        wrapped._portacl_stock = F.interpolate
        F.interpolate = wrapped
    elif not wanted and stock is not None:
        F.interpolate = stock
