"""``torch.ops.portacl.roi_align``, and portacl behind ``torchvision::roi_align``."""

from __future__ import annotations

import importlib.machinery
import sys
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any, Optional

import torch

from .. import _core
from . import _kernels
from ._results import empty

_NUMBERS = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_END = "int sampling_ratio, bool aligned"
SCHEMAS = {
    "roi_align": f"(Tensor input, Tensor rois, {_NUMBERS}, {_END}) -> Tensor",
    "roi_align_backward": f"(Tensor grad, Tensor rois, {_NUMBERS}, {_SIZE}, {_END}) -> Tensor",
    "roi_align_rotated": f"(Tensor input, Tensor rois, {_NUMBERS}, {_END}, bool clockwise)"
    " -> Tensor",
    "roi_align_rotated_backward": f"(Tensor grad, Tensor rois, {_NUMBERS}, {_SIZE}, {_END}, "
    "bool clockwise) -> Tensor",
}
"""The schemas of torchvision's operators; rotated rois add a flag behind them."""

_AVERAGE = 0
Rest = Any


def _pool(
    rotated: bool,
    input: torch.Tensor,
    rois: torch.Tensor,
    scale: float,
    height: int,
    width: int,
    ratio: int,
    aligned: bool,
    *clockwise: bool,
) -> torch.Tensor:
    """(K, C, height, width), row-major."""
    output = empty((*rois.shape[:1], input.shape[1], height, width), input.dtype)
    numbers = (height, width, scale, max(ratio, 0), aligned)
    if rotated:
        _kernels.call(_core.roi_align_rotated, input, rois, *numbers, *clockwise, output)
    else:
        _kernels.call(_core.roi_align, input, rois, *numbers, _AVERAGE, output)
    return output


def _spread(
    rotated: bool,
    grad: torch.Tensor,
    rois: torch.Tensor,
    scale: float,
    height: int,
    width: int,
    images: int,
    channels: int,
    rows: int,
    columns: int,
    ratio: int,
    aligned: bool,
    *clockwise: bool,
) -> torch.Tensor:
    """(images, channels, rows, columns), row-major."""
    result = empty((images, channels, rows, columns), grad.dtype)
    numbers = (height, width, scale, max(ratio, 0), aligned)
    if rotated:
        _kernels.call(_core.roi_align_rotated_backward, grad, rois, *numbers, *clockwise, result)
    else:
        # Of an average the images do not count: the result stands for them.
        _kernels.call(_core.roi_align_backward, grad, rois, result, *numbers, _AVERAGE, result)
    return result


KERNELS: dict[str, Callable[..., torch.Tensor]] = {
    "roi_align": lambda *arguments: _pool(False, *arguments),
    "roi_align_backward": lambda *arguments: _spread(False, *arguments),
    "roi_align_rotated": lambda *arguments: _pool(True, *arguments),
    "roi_align_rotated_backward": lambda *arguments: _spread(True, *arguments),
}


def fake(
    input: torch.Tensor, rois: torch.Tensor, scale: float, height: Any, width: Any, *rest: Rest
) -> torch.Tensor:
    """The output's shape for compilers."""
    return input.new_empty((rois.shape[0], input.shape[1], height, width))


def fake_backward(
    grad: torch.Tensor, rois: torch.Tensor, scale: float, height: Any, width: Any, *rest: Rest
) -> torch.Tensor:
    """The gradient's shape for compilers."""
    return grad.new_empty(rest[:4])


def setup(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep rois, numbers and the images' shape."""
    input, rois, *ctx.numbers = inputs
    ctx.save_for_backward(rois)
    ctx.size = input.shape


def gradient(backward: Any, ctx: Any, grad: torch.Tensor) -> tuple[Optional[torch.Tensor], ...]:
    """Of the input; rois have none, as in torchvision."""
    (rois,) = ctx.saved_tensors
    found = backward(grad, rois, *ctx.numbers[:3], *ctx.size, *ctx.numbers[3:])
    return (found, *[None] * (len(ctx.numbers) + 1))


def second_order(forward: Any, ctx: Any, grad: torch.Tensor) -> tuple[Optional[torch.Tensor], ...]:
    """The gradient is linear in what it reads: its gradient is the function."""
    (rois,) = ctx.saved_tensors
    found = forward(grad, rois, *ctx.numbers[:3], *ctx.numbers[7:])
    return (found, *[None] * (len(ctx.numbers) + 1))


# ---- torchvision -------------------------------------------------------------------------------

_MODULE = "torchvision.ops.roi_align"
_REPLACED = {"roi_align": "roi_align", "_roi_align_backward": "roi_align_backward"}
_DTYPES = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
is_watched = False
"""Whether calls go by ``torch.ops.portacl``, where ``profile()`` counts them."""


def _kernel(name: str, stock: Any) -> Callable[..., torch.Tensor]:
    """portacl's, in the manner of torchvision's: other dtypes are its own, errors RuntimeError."""
    own = KERNELS[_REPLACED[name]]
    counted = getattr(torch.ops.portacl, _REPLACED[name])

    def kernel(source: torch.Tensor, rois: torch.Tensor, *rest: Any) -> torch.Tensor:
        if source.dtype not in _DTYPES or rois.dtype != source.dtype:
            result: torch.Tensor = stock.call_boxed(
                torch._C._dispatch_keys(source), source, rois, *rest
            )
            return result
        try:
            pooled: torch.Tensor = (counted if is_watched else own)(source, rois, *rest)
            return pooled
        except (TypeError, ValueError) as error:
            raise RuntimeError(str(error)) from None

    return kernel


class _Torchvision:
    """portacl's kernels in the place of torchvision's, while they are wanted and it is loaded."""

    def __init__(self) -> None:
        self.wanted = False
        self._lock = threading.RLock()
        self._library: Optional[torch.library.Library] = None

    def apply(self) -> None:
        """Bring PyTorch's dispatcher into the wanted state."""
        with self._lock:
            self._apply()

    def _apply(self) -> None:
        wanted = self.wanted and _MODULE in sys.modules
        if not wanted and self._library is not None:
            self._library._destroy()  # torchvision's own kernels come back
            self._library = None
        if not wanted or self._library is not None:
            return
        try:
            stock = {
                name: torch.library.get_kernel(f"torchvision::{name}", "CPU") for name in _REPLACED
            }
        except RuntimeError:
            return  # a torchvision whose compiled operators did not load
        library = torch.library.Library("torchvision", "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Warning only once for all operators")
            for name, kernel in stock.items():
                library.impl(name, _kernel(name, kernel), "CPU", allow_override=True)
        self._library = library

    # A finder: loads torchvision's module as everybody does, and replaces its kernels then.
    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name != _MODULE or not self.wanted:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: Any = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                self._apply_when_loaded(spec)
                return spec  # type: ignore[no-any-return]
        return None

    def _apply_when_loaded(self, spec: importlib.machinery.ModuleSpec) -> None:
        loader: Any = spec.loader
        load = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            load(module)
            self.apply()

        loader.exec_module = exec_module


_torchvision = _Torchvision()


def set_enabled(wanted: bool) -> None:
    """Whether torchvision's calls on CPU tensors are portacl's from now on."""
    if not hasattr(torch.library, "get_kernel"):
        return  # an older PyTorch does not hand out the kernel that would be replaced
    _torchvision.wanted = wanted
    if wanted and _torchvision not in sys.meta_path:
        sys.meta_path.insert(0, _torchvision)  # type: ignore[arg-type]
    _torchvision.apply()
