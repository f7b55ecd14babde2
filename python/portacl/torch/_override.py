"""portacl's kernels in place of PyTorch's own, for the whole process."""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

import torch

from .. import _core
from . import _compiled, _kernels
from ._host_threads import LIBRARY

_lock = threading.Lock()

uses_native_kernels = not _core.find_torch(str(LIBRARY))
"""Whether calls reach portacl without Python. Before PyTorch 2.13 they cannot."""

_stands_aside = uses_native_kernels and _core.find_stock_kernels(str(LIBRARY))
"""Whether kernels stay in the dispatcher once they are there, and call PyTorch's own while nobody
wants them: other threads may be on their way into a kernel that is taken out, and crash."""


stock_kernels: dict[str, Any] = {}
"""What stood under PyTorch's operators before portacl's kernels, where PyTorch hands it out."""


class _Replacement:
    """Kernels of one direction, in place while somebody wants them; the lock is held."""

    def __init__(self) -> None:
        self.enabled = False
        self.blocks = 0  # `with accelerated()` blocks that run now, in any thread
        self.in_place = False
        self.kernels: dict[str, Any] = {}
        self._library: Optional[torch.library.Library] = None
        self._native: Optional[_core.TorchKernels] = None  # those that need no Python

    def apply(self) -> None:
        """Bring PyTorch's dispatcher into the wanted state."""
        wanted = self.enabled or self.blocks > 0
        if wanted and self._library is None:
            self._register()
        if self._native is not None and _stands_aside:
            self._native.stand_aside(not wanted)
        elif not wanted and self._library is not None:
            self._native = None
            self._library._destroy()  # PyTorch's own kernels come back
            self._library = None
        self.in_place = wanted
        if wanted and not _compiled.rules:
            _compiled.add_rules(
                list(_forward.kernels), lambda: _backward.in_place, lambda: _forward.in_place
            )
        _compiled.mark_caches(_backward.in_place, _forward.in_place)

    def _register(self) -> None:
        if hasattr(torch.library, "get_kernel"):
            for name in self.kernels.keys() - stock_kernels.keys():
                stock_kernels[name] = torch.library.get_kernel(f"aten::{name}", "CPU")
        native = _core.TorchKernels(list(self.kernels)) if uses_native_kernels else None
        library = torch.library.Library("aten", "IMPL")
        try:
            with warnings.catch_warnings():
                # PyTorch 2.9 tells, once, that kernels are replaced: that is the purpose.
                warnings.filterwarnings("ignore", "Warning only once for all operators")
                for name in self.kernels.keys() - set(native.names if native else ()):
                    library.impl(name, _raises_as_pytorch(self.kernels[name]), "CPU")
        except BaseException:
            library._destroy()
            raise
        self._library, self._native = library, native


_backward = _Replacement()
_forward = _Replacement()


def _raises_as_pytorch(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """RuntimeError for calls that are wrong, as PyTorch's own kernels raise."""

    @functools.wraps(kernel)
    def wrapped(*arguments: Any) -> Any:
        try:
            return kernel(*arguments)
        except (TypeError, ValueError) as error:
            raise RuntimeError(str(error)) from None

    return wrapped


def _grid_sampler_backward(
    axes: int, grad_output: torch.Tensor, input: torch.Tensor, grid: torch.Tensor, *rest: Any
) -> tuple[Optional[torch.Tensor], torch.Tensor]:
    kernel = _kernels.GRID_SAMPLERS_BACKWARD[axes]
    input_grad, grid_grad = kernel(grad_output, input, grid, *rest)
    if grid_grad is None:  # compilers count on a tensor here; untouched zero pages cost nothing
        grid_grad = torch.zeros(grid.shape, dtype=grid.dtype, device="cpu")
    return input_grad, grid_grad


def _factors(axes: int, scales: Sequence[Optional[float]]) -> list[float]:
    """One for each axis, 0 where the sizes decide; PyTorch drops trailing arguments of None."""
    return [scale or 0.0 for scale in (*scales, *[None] * axes)[:axes]]


def _resize_backward(
    axes: int,
    grad_output: torch.Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    *scales: Optional[float],
) -> torch.Tensor:
    if tuple(grad_output.shape) != (*input_size[:2], *output_size):
        raise RuntimeError(
            f"grad_output has shape {list(grad_output.shape)}, but input_size {list(input_size)} "
            f"and output_size {list(output_size)} ask for {[*input_size[:2], *output_size]}"
        )
    # PyTorch makes the gradients of images like grad_output, those of volumes row-major.
    memory_format = torch.contiguous_format if axes == 3 else None
    return _kernels.upsample_nearest_exact_backward(
        grad_output, input_size, _factors(axes, scales), memory_format
    )


def _resize(
    axes: int, input: torch.Tensor, output_size: Sequence[int], *scales: Optional[float]
) -> torch.Tensor:
    if not (input.is_floating_point() and _forward.in_place):
        # Pictures in uint8, or the kernel stands aside: PyTorch's own is still behind the
        # operator's out= variant.
        stock = getattr(torch.ops.aten, f"_upsample_nearest_exact{axes}d").out
        return stock(input, output_size, *scales, out=input.new_empty(0))
    return _kernels.upsample_nearest_exact(input, output_size, _factors(axes, scales))


_backward.kernels = {
    **{
        f"grid_sampler_{axes}d_backward": functools.partial(_grid_sampler_backward, axes)
        for axes in (2, 3)
    },
    **{
        f"_upsample_nearest_exact{axes}d_backward": functools.partial(_resize_backward, axes)
        for axes in (1, 2, 3)
    },
}
_forward.kernels = {
    **{f"grid_sampler_{axes}d": _kernels.GRID_SAMPLERS[axes] for axes in (2, 3)},
    **{f"_upsample_nearest_exact{axes}d": functools.partial(_resize, axes) for axes in (1, 2, 3)},
}


class Replaced(NamedTuple):
    """An operator of PyTorch's that ``enable()`` replaces on the CPU."""

    operator: str
    backward: bool
    """Whether ``enable()`` does, and not only ``enable(forward=True)``."""
    way: str
    """Who calls portacl's kernel."""


def replaced_names() -> list[tuple[str, bool]]:
    """Each operator's name, and whether it is a forward one."""
    return [(name, False) for name in _backward.kernels] + [
        (name, True) for name in _forward.kernels
    ]


def replaced() -> list[Replaced]:
    """All of them, with the way in which this PyTorch calls portacl."""
    put_in_dispatcher()
    natives = [r._native for r in (_backward, _forward) if r._native is not None]
    through = {name for native in natives for name in native.names}
    return [
        Replaced(f"aten::{name}", not is_forward, "C++" if name in through else "Python")
        for name, is_forward in replaced_names()
    ]


def put_in_dispatcher() -> None:
    """Register all kernels, which stand aside where they are not enabled."""
    with _lock:
        for replacement in (_backward, _forward):
            if _stands_aside and replacement._library is None:
                replacement._register()
            replacement.apply()


def enable(forward: bool = False) -> None:
    """Compute these gradients with portacl in this process, until ``disable()``.

    Replaces the CPU kernels of ``aten::grid_sampler_2d_backward``, ``..3d_backward`` and
    ``aten::_upsample_nearest_exact1d_backward``, ``..2d_..``, ``..3d_..``, which are behind
    ``torch.nn.functional.grid_sample`` and ``interpolate(mode="nearest-exact")``. Results have the
    same shapes, dtypes and memory formats; those of nearest-exact have the same bits. They run on
    PyTorch's threads (``threads()``). Forked children (DataLoader workers) inherit it and compute
    with one thread once the parent has used more, with the same bits. The last call counts.

    Args:
        forward: replace ``aten::grid_sampler_2d``, ``..3d`` and
            ``aten::_upsample_nearest_exact1d``, ``..2d``, ``..3d`` as well. The last bits of
            ``grid_sample`` then differ from PyTorch's (in 16-bit types, for which PyTorch
            rounds coordinates, whole elements do), and a few size pairs of nearest-exact take
            another element (the one that the backward takes).

    """
    with _lock:
        before = _backward.enabled, _forward.enabled
        _backward.enabled, _forward.enabled = True, forward
        try:
            _backward.apply()
            _forward.apply()
        except BaseException:
            _backward.enabled, _forward.enabled = before
            _backward.apply()
            raise


def disable() -> None:
    """Compute with PyTorch's own kernels; ``with accelerated()`` blocks that run keep portacl's.

    portacl's stay in PyTorch's dispatcher and call PyTorch's, which takes 0.6 us a call.
    """
    with _lock:
        for replacement in (_backward, _forward):
            replacement.enabled = False
            replacement.apply()


def is_enabled(forward: bool = False) -> bool:
    """Whether portacl's backward kernels are in place now; ``forward``: the forward ones."""
    return _forward.in_place if forward else _backward.in_place


@contextlib.contextmanager
def accelerated(forward: bool = False) -> Iterator[None]:
    """Compute with portacl's kernels inside a ``with`` block: in the whole process, all threads.

    Blocks may begin and end while other threads compute, from PyTorch 2.13 on; before, PyTorch
    takes kernels out from under those who are calling them.

    Args:
        forward: as for ``enable()``.

    """
    replaced = (_backward, _forward) if forward else (_backward,)
    with _lock:
        for replacement in replaced:
            replacement.blocks += 1
    try:
        with _lock:
            for replacement in replaced:
                replacement.apply()
        yield
    finally:
        with _lock:
            for replacement in replaced:
                replacement.blocks -= 1
                replacement.apply()
