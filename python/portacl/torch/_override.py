"""portacl's kernels in place of PyTorch's own, for the whole process."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Optional

import torch

from . import _kernels

_lock = threading.Lock()
_library: Optional[torch.library.Library] = None
_enabled = False
_blocks = 0  # `with accelerated()` blocks that run now, in any thread


def _grid_sampler_2d_backward(
    grad_output: torch.Tensor,
    input: torch.Tensor,
    grid: torch.Tensor,
    interpolation: int,
    padding: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Optional[torch.Tensor], torch.Tensor]:
    input_grad, grid_grad = _kernels.grid_sampler_2d_backward(
        grad_output, input, grid, interpolation, padding, align_corners, output_mask
    )
    if grid_grad is None:  # compilers count on a tensor here; untouched zero pages cost nothing
        grid_grad = torch.zeros(grid.shape, dtype=grid.dtype)
    return input_grad, grid_grad


def _resize_backward(
    grad_output: torch.Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales: Sequence[Optional[float]],
) -> torch.Tensor:
    if tuple(grad_output.shape) != (*input_size[:2], *output_size):
        raise RuntimeError(
            f"grad_output has shape {list(grad_output.shape)}, but input_size {list(input_size)} "
            f"and output_size {list(output_size)} ask for {[*input_size[:2], *output_size]}"
        )
    return _kernels.upsample_nearest_exact_backward(
        grad_output, input_size, [scale or 0.0 for scale in scales]
    )


def _upsample_nearest_exact1d_backward(
    grad_output: torch.Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales: Optional[float] = None,
) -> torch.Tensor:
    return _resize_backward(grad_output, output_size, input_size, (scales,))


def _upsample_nearest_exact2d_backward(
    grad_output: torch.Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales_h: Optional[float] = None,
    scales_w: Optional[float] = None,
) -> torch.Tensor:
    return _resize_backward(grad_output, output_size, input_size, (scales_h, scales_w))


_KERNELS: dict[str, Any] = {
    "grid_sampler_2d_backward": _grid_sampler_2d_backward,
    "_upsample_nearest_exact1d_backward": _upsample_nearest_exact1d_backward,
    "_upsample_nearest_exact2d_backward": _upsample_nearest_exact2d_backward,
}


def _apply() -> None:
    """Bring PyTorch's dispatcher into the wanted state; the lock is held."""
    global _library
    wanted = _enabled or _blocks > 0
    if wanted and _library is None:
        library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            # PyTorch 2.9 tells, once, that kernels are replaced: that is the purpose.
            warnings.filterwarnings("ignore", "Warning only once for all operators")
            for name, kernel in _KERNELS.items():
                library.impl(name, kernel, "CPU")
        _library = library
    elif not wanted and _library is not None:
        _library._destroy()  # PyTorch's own kernels come back
        _library = None


def enable() -> None:
    """Compute these gradients with portacl in this process, until ``disable()``.

    Replaces the CPU kernels of ``aten::grid_sampler_2d_backward`` and
    ``aten::_upsample_nearest_exact1d_backward`` and ``..2d_backward``, which are behind
    ``torch.nn.functional.grid_sample`` and ``interpolate(mode="nearest-exact")``. Results have the
    same shapes, dtypes and memory formats; those of nearest-exact have the same bits. Forked
    children (DataLoader workers) inherit it and compute with one thread, with the same bits.
    Calling it again does nothing.
    """
    global _enabled
    with _lock:
        _enabled = True
        _apply()


def disable() -> None:
    """Give PyTorch its own kernels back; ``with accelerated()`` blocks that run keep portacl's."""
    global _enabled
    with _lock:
        _enabled = False
        _apply()


def is_enabled() -> bool:
    """Whether portacl's kernels are in place now."""
    return _library is not None


@contextlib.contextmanager
def accelerated() -> Iterator[None]:
    """Compute with portacl's kernels inside a ``with`` block: in the whole process, all threads."""
    global _blocks
    with _lock:
        _blocks += 1
        _apply()
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            _apply()
