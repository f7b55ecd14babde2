"""Put portacl's kernels into PyTorch's dispatcher, or make them hand calls back.

Dispatch() in src/torch_kernels.cc decides about each call that reaches them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

import torch
from torch._C._functorch import peek_interpreter_stack

from .. import _core
from .._numbers import flag
from . import _attention, _compiled, _deform_conv, _kernels, _roi_align, _volumes
from ._host_threads import LIBRARY
from ._kernels import DTYPES, uses_native_kernels

_lock = threading.Lock()

_stands_aside = uses_native_kernels and _core.find_stock_kernels(str(LIBRARY))
"""Whether kernels stay in the dispatcher once they are there, and call PyTorch's own while nobody
wants them: other threads may be on their way into a kernel that is taken out, and crash."""


stock_kernels: dict[str, Any] = {}
"""What stood under PyTorch's operators before portacl's kernels, where PyTorch hands it out."""


class _Replacement:
    """Kernels of one direction, in place while somebody wants them."""

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.enabled = False
        self.blocks = 0  # `with accelerated()` blocks that run now, in any thread
        self.in_place = False
        self.kernels: dict[str, Any] = {}
        self._library: Optional[torch.library.Library] = None
        self._native: Optional[_core.TorchKernels] = None  # kernels that need no Python

    def add_block(self, count: int) -> None:
        """A block begins (1), or ends (-1)."""
        with _lock:
            self.blocks += count
            self.apply()

    def apply(self) -> None:
        """Bring PyTorch's dispatcher into the wanted state; the lock is held."""
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
        if self.device != "cpu":
            return
        if wanted and not _compiled.rules:
            _compiled.add_rules(
                list(_forward.kernels), lambda: _backward.in_place, lambda: _forward.in_place
            )
        _compiled.mark_caches(_backward.in_place, _forward.in_place)

    def _register(self) -> None:
        key = self.device.upper()
        if hasattr(torch.library, "get_kernel") and self.device == "cpu":
            for name in self.kernels.keys() - stock_kernels.keys():
                with contextlib.suppress(RuntimeError):  # one that PyTorch does not have
                    stock_kernels[name] = torch.library.get_kernel(f"aten::{name}", "CPU")
        library, native = torch.library.Library("aten", "IMPL"), None
        try:
            with warnings.catch_warnings():
                # PyTorch warns once that kernels are replaced, which is intended here. For kernels
                # in C++ this is no Python warning that could be filtered, so a kernel in Python is
                # registered first.
                warnings.filterwarnings("ignore", "Warning only once for all operators")
                first = torch.library.Library("aten", "IMPL")
                name, kernel = next(iter(self.kernels.items()))
                first.impl(name, kernel, key)
                first._destroy()
                if uses_native_kernels and self.device == "cpu":
                    # Resizing hands integers other than uint8 to PyTorch's kernels, if these are
                    # known.
                    names = [n for n in self.kernels if _stands_aside or n not in OF_PICTURES]
                    native = _core.TorchKernels(names)
                for name in self.kernels.keys() - set(native.names if native else ()):
                    place = f"Autograd{key}" if name in TAKEN_APART else key
                    library.impl(name, _raises_as_pytorch(name, self.kernels[name]), place)
        except BaseException:
            library._destroy()
            raise
        self._library, self._native = library, native


_backward = _Replacement()
_forward = _Replacement()
_REPLACEMENTS = {
    "cpu": (_backward, _forward),
    "cuda": (_Replacement("cuda"), _Replacement("cuda")),
}
"""By device: the gradients, and the functions themselves."""


def _raises_as_pytorch(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Raise RuntimeError for wrong calls, as PyTorch's kernels do.

    Calls of other dtypes go to PyTorch's kernel, if PyTorch gives access to it.
    """
    stock = stock_kernels.get(name) if name not in _RESIZES and name not in TAKEN_APART else None

    @functools.wraps(kernel)
    def wrapped(*arguments: Any) -> Any:
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)] if stock else ()
        if any(tensor.dtype not in DTYPES and not tensor.is_cuda for tensor in tensors):
            return stock.call_boxed(torch._C._dispatch_keys(tensors[0]), *arguments)
        try:
            return kernel(*arguments)
        except (TypeError, ValueError) as error:
            raise RuntimeError(str(error)) from None

    return wrapped


def _grid_sampler_backward(
    axes: int, grad_output: torch.Tensor, input: torch.Tensor, grid: torch.Tensor, *rest: Any
) -> tuple[Optional[torch.Tensor], torch.Tensor]:
    kernel = _kernels.GRID_SAMPLERS_BACKWARD[f"grid_sampler_{axes}d"]
    input_grad, grid_grad = kernel(grad_output, input, grid, *rest)
    if grid_grad is None:  # compilers count on a tensor here; untouched zero pages cost nothing
        grid_grad = torch.zeros(grid.shape, dtype=grid.dtype, device=grid.device)
    return input_grad, grid_grad


@dataclasses.dataclass(frozen=True)
class _Resize:
    """How an operator of aten resizes; its backward's name ends in _backward."""

    kernel: str
    axes: int
    modes: tuple[bool, ...] = ()  # antialias, of operators that also take align_corners
    row_major: bool = False  # gradients, whatever the layout of the operand

    def split(self, rest: Sequence[Any]) -> tuple[list[float], list[bool]]:
        """Scales (0 if the sizes decide) and modes; PyTorch drops trailing arguments of None."""
        modes = [bool(rest[0]), *self.modes] if self.modes else []
        scales = (*rest[len(self.modes) :], *[None] * self.axes)[: self.axes]
        return [scale if scale and scale > 0 else 0.0 for scale in scales], modes


_RESIZES = {
    **{
        f"{prefix}{axes}d": _Resize(kernel, axes, row_major=axes == 3)
        for prefix, kernel in (
            ("upsample_nearest", "upsample_nearest"),
            ("_upsample_nearest_exact", "upsample_nearest_exact"),
        )
        for axes in (1, 2, 3)
    },
    "upsample_linear1d": _Resize("upsample_linear", 1, (False,)),
    "upsample_bilinear2d": _Resize("upsample_linear", 2, (False,)),
    "upsample_trilinear3d": _Resize("upsample_linear", 3, (False,)),
    "upsample_bicubic2d": _Resize("upsample_cubic", 2, (False,), row_major=True),
    "_upsample_bilinear2d_aa": _Resize("upsample_linear", 2, (True,)),
    "_upsample_bicubic2d_aa": _Resize("upsample_cubic", 2, (True,), row_major=True),
    "_upsample_lanczos2d_aa": _Resize("upsample_lanczos", 2, (True,), row_major=True),
}
_RESIZES = {name: how for name, how in _RESIZES.items() if hasattr(torch.ops.aten, name)}
"""The names that torch_resize.h has."""


def _resize_backward(
    how: _Resize,
    grad_output: torch.Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    *rest: Any,
) -> torch.Tensor:
    if tuple(grad_output.shape) != (*input_size[:2], *output_size):
        raise RuntimeError(
            f"grad_output has shape {list(grad_output.shape)}, but input_size {list(input_size)} "
            f"and output_size {list(output_size)} ask for {[*input_size[:2], *output_size]}"
        )
    scales, modes = how.split(rest)
    memory_format = torch.contiguous_format if how.row_major else None
    return _kernels.RESIZES_BACKWARD[how.kernel](
        grad_output, input_size, scales, *modes, memory_format=memory_format
    )


def _is_forward_in_place(tensor: torch.Tensor) -> bool:
    return _REPLACEMENTS[tensor.device.type][1].in_place


def _resize(name: str, input: torch.Tensor, output_size: Sequence[int], *rest: Any) -> torch.Tensor:
    taken = input.dtype in DTYPES or (input.dtype == torch.uint8 and not input.is_cuda)
    if not (taken and _is_forward_in_place(input)):
        # Pictures of other integers, or calls handed back: PyTorch's kernel is still reached by the
        # operator's out= variant.
        stock = getattr(torch.ops.aten, name).out
        return stock(input, output_size, *rest, out=input.new_empty(0))
    how = _RESIZES[name]
    scales, modes = how.split(rest)
    return _kernels.RESIZES[how.kernel](input, output_size, scales, *modes)


def _affine_grid(theta: torch.Tensor, size: Sequence[int], align_corners: bool) -> torch.Tensor:
    if not _is_forward_in_place(theta):
        grid = theta.new_empty((size[0], *size[2:], len(size) - 2))
        return torch.ops.aten.affine_grid_generator.out(theta, size, align_corners, out=grid)
    return _kernels.affine_grid(theta, size, align_corners)


def _pool(axes: int, input: torch.Tensor, output_size: Sequence[int]) -> torch.Tensor:
    sizes = (*input.shape, *output_size)
    taken = input.dtype in DTYPES or input.dtype == torch.uint8
    if not (taken and input.dim() == axes + 2 and min(sizes) > 0 and _is_forward_in_place(input)):
        stock = getattr(torch.ops.aten, f"adaptive_avg_pool{axes}d").out
        return stock(input, output_size, out=input.new_empty(0))
    return _kernels.adaptive_avg_pool(input, output_size)


def _pool_backward(axes: int, grad_output: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    if input.dim() == axes + 1:  # without a batch
        return _pool_backward(axes, grad_output.unsqueeze(0), input.unsqueeze(0)).squeeze(0)
    return _kernels.adaptive_avg_pool_backward(grad_output, input)


_POOLS = {f"_adaptive_avg_pool{axes}d": axes for axes in (2, 3)}

OF_PICTURES = {*_RESIZES, *_POOLS}
"""Operators that take uint8 as well."""

TAKEN_APART = {"affine_grid_generator_backward"}
"""Operators that PyTorch has no kernel of: it computes them by others, which autograd sees."""


def _affine_grid_backward(
    grad: torch.Tensor, size: Sequence[int], align_corners: bool
) -> torch.Tensor:
    transformed = peek_interpreter_stack() is not None  # torch.func takes derivatives of its own
    ours = _backward.in_place and grad.dtype in DTYPES and _compiled.may_call_portacl()
    if transformed or not ours:
        stock = torch.ops.aten.affine_grid_generator_backward.default
        return stock.decompose(grad, size, align_corners)
    # Only gradients that are as PyTorch makes grids have a fast kernel.
    return torch.ops.portacl.affine_grid_backward(grad.contiguous(), size, align_corners)


_backward.kernels = {
    **{
        f"grid_sampler_{axes}d_backward": functools.partial(_grid_sampler_backward, axes)
        for axes in (2, 3)
    },
    **{
        f"{name}_backward": functools.partial(_resize_backward, how)
        for name, how in _RESIZES.items()
    },
    **{
        f"{name}_backward": functools.partial(_pool_backward, axes) for name, axes in _POOLS.items()
    },
    "affine_grid_generator_backward": _affine_grid_backward,
}
_forward.kernels = {
    **{name: _kernels.GRID_SAMPLERS[name] for name in ("grid_sampler_2d", "grid_sampler_3d")},
    **{name: functools.partial(_resize, name) for name in _RESIZES},
    **{name: functools.partial(_pool, axes) for name, axes in _POOLS.items()},
    "affine_grid_generator": _affine_grid,
}


def _cudnn_backward(input: torch.Tensor, grid: torch.Tensor, grad_output: torch.Tensor) -> Any:
    """The gradients of the function by which PyTorch samples with cuDNN."""
    return _grid_sampler_backward(2, grad_output, input, grid, 0, 0, True, (True, True))


def _cudnn_forward(input: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
    return _kernels.GRID_SAMPLERS["grid_sampler_2d"](input, grid, 0, 0, True)


def _of_gpus(kernels: dict[str, Any]) -> dict[str, Any]:
    return {n: k for n, k in kernels.items() if n not in TAKEN_APART and "pool" not in n}


_REPLACEMENTS["cuda"][0].kernels = _of_gpus(_backward.kernels) | {
    "cudnn_grid_sampler_backward": _cudnn_backward
}
_REPLACEMENTS["cuda"][1].kernels = _of_gpus(_forward.kernels) | {
    "cudnn_grid_sampler": _cudnn_forward
}


class Replaced(NamedTuple):
    """An operator of PyTorch's that ``enable()`` replaces."""

    operator: str
    backward: bool
    """Whether ``enable()`` replaces it too, not only ``enable(forward=True)``."""
    way: str
    """Who calls portacl's kernel."""


def replaced_names() -> list[tuple[str, bool]]:
    """Each operator's name, and whether it is a forward one."""
    return [(name, False) for name in _backward.kernels] + [
        (name, True) for name in _forward.kernels
    ]


def replaced() -> list[Replaced]:
    """All replaced operators, and how this PyTorch calls portacl."""
    put_in_dispatcher()
    natives = [r._native for r in (_backward, _forward) if r._native is not None]
    through = {name for native in natives for name in native.names}
    return [
        Replaced(f"aten::{name}", not is_forward, "C++" if name in through else "Python")
        for name, is_forward in replaced_names()
    ]


def put_in_dispatcher() -> None:
    """Register all kernels, which stand aside if they are not enabled."""
    with _lock:
        for replacement in (_backward, _forward):
            if _stands_aside and replacement._library is None:
                replacement._register()
            replacement.apply()


def _replacements(device: str) -> tuple[_Replacement, _Replacement]:
    if device not in _REPLACEMENTS:
        choices = " or ".join(map(repr, _REPLACEMENTS))
        raise ValueError(f"device is {device!r}, but must be {choices}")
    return _REPLACEMENTS[device]


def _check_gpu(device: str) -> None:
    if device == "cuda":
        gpus = json.loads(_core.info_json())["cuda"]
        if not gpus["devices"]:
            raise RuntimeError(f"device is 'cuda', but no GPU can be used: {gpus['why_none']}")


def enable(
    forward: bool = False,
    device: str = "cpu",
    *,
    msda: bool = True,
    roi_align: bool = True,
    deform_conv: bool = True,
    volumes_aa: bool = False,
) -> None:
    """Compute these gradients with portacl in this process, until ``disable()``.

    Replaces the kernels behind the gradients of ``torch.nn.functional.grid_sample``,
    ``affine_grid``, ``adaptive_avg_pool1d`` to ``3d`` (on the CPU) and every mode of
    ``interpolate``. The modes are nearest, nearest-exact, linear, bilinear, trilinear and bicubic,
    with and without ``antialias``, Lanczos, and area (on the CPU). Results have the same shapes,
    dtypes and memory formats. Nearest and nearest-exact have the same bits, and so has pooling that
    is row-major in float32 or float64. Antialiased gradients also exist in float16 and bfloat16,
    unlike in PyTorch. On the CPU the kernels run on PyTorch's threads (``threads()``). Forked
    children (DataLoader workers) inherit ``enable()``; if the parent has used several threads, they
    compute with one, with the same bits. The last call counts.

    Args:
        forward: replace the functions themselves as well, and ``affine_grid``. The last
            bits of ``grid_sample`` and of weighted modes then differ from PyTorch's. In
            16-bit types whole elements do, because PyTorch rounds coordinates or weights.
            Nearest-exact takes another element in a few size pairs: the one that PyTorch's
            own gradient takes. So does nearest of 1D and 3D tensors, almost everywhere, if
            ``scale_factor`` leaves an extent unchanged. Pictures in uint8 keep PyTorch's bits;
            vectors and volumes in uint8, which PyTorch lacks, are there. Other integers stay
            PyTorch's.
        device: ``"cpu"``, or ``"cuda"``: for tensors on NVIDIA GPUs, with the bits of the CPU's
            kernels, on PyTorch's current stream. Each device is enabled by itself.
        msda: compute multi-scale deformable attention of transformers, mmcv and others on the CPU
            by ``torch.ops.portacl.ms_deform_attn``, in both directions. Offer a module
            ``MultiScaleDeformableAttention`` if the compiled one cannot be imported. Their own
            formulas have second derivatives; ``msda=False`` leaves them.
        roi_align: compute ``torchvision.ops.roi_align`` on the CPU, in both directions, with
            bfloat16 too; the last bits differ from torchvision's. ``roi_align=False`` leaves
            torchvision's kernels.
        deform_conv: the same of ``torchvision.ops.deform_conv2d``. A NaN among the offsets gives
            NaN at its position; torchvision 0.29 ends the process.
        volumes_aa: let ``torch.nn.functional.interpolate`` take ``antialias=True`` for (N, C, L)
            and (N, C, D, H, W), on both devices; PyTorch refuses them. Modes: linear, trilinear,
            bicubic (cubic along every axis) and lanczos. A function that was imported by its name
            before is PyTorch's still.

    Raises:
        ValueError: another device.
        RuntimeError: ``"cuda"``, but portacl finds no GPU, or was built without CUDA.

    """
    forward, msda = flag("forward", forward), flag("msda", msda)
    roi_align, volumes_aa = flag("roi_align", roi_align), flag("volumes_aa", volumes_aa)
    deform_conv = flag("deform_conv", deform_conv)
    gradients, functions = _replacements(device)
    _check_gpu(device)
    _volumes.set_enabled(volumes_aa)
    if device == "cpu":
        _attention.set_enabled(msda)
        _roi_align.set_enabled(roi_align)
        _deform_conv.set_enabled(deform_conv)
    with _lock:
        before = gradients.enabled, functions.enabled
        gradients.enabled, functions.enabled = True, forward
        try:
            gradients.apply()
            functions.apply()
        except BaseException:
            gradients.enabled, functions.enabled = before
            gradients.apply()
            raise


def disable() -> None:
    """Compute with PyTorch's own kernels, on every device.

    ``with accelerated()`` blocks that run keep portacl's.

    portacl's kernels stay in PyTorch's dispatcher. They call PyTorch's kernels, which costs 0.6 us
    a call, and torchvision's, which costs 3 us.
    """
    _attention.set_enabled(False)
    _roi_align.set_enabled(False)
    _deform_conv.set_enabled(False)
    _volumes.set_enabled(False)
    with _lock:
        for replacements in _REPLACEMENTS.values():
            for replacement in replacements:
                replacement.enabled = False
                replacement.apply()


def is_enabled(forward: bool = False, device: str = "cpu") -> bool:
    """Whether portacl's backward kernels (with ``forward``: forward kernels) are enabled now."""
    return _replacements(device)[1 if forward else 0].in_place


def _detection_of(device: str, **wanted: bool) -> list[Any]:
    """Switches that turn the wanted operators of detectors on: on the CPU."""
    switches = {
        "msda": _attention,
        "roi_align": _roi_align.replaced,
        "deform_conv": _deform_conv.replaced,
    }
    chosen = [switches[name] for name, value in wanted.items() if flag(name, value)]
    return chosen if device == "cpu" else []


@contextlib.contextmanager
def accelerated(
    forward: bool = False,
    device: str = "cpu",
    *,
    msda: bool = True,
    roi_align: bool = True,
    deform_conv: bool = True,
) -> Iterator[None]:
    """Compute with portacl's kernels inside a ``with`` block: in the whole process, all threads.

    From PyTorch 2.13 on, blocks may begin and end while other threads compute. Before 2.13, PyTorch
    removes a kernel even while another thread calls it.

    Args:
        forward, device: as for ``enable()``.
        msda, roi_align, deform_conv: as for ``enable()``, while the block runs. False leaves
            what ``enable()`` has set.

    """
    replaced = _replacements(device)[: 2 if flag("forward", forward) else 1]
    detection = _detection_of(device, msda=msda, roi_align=roi_align, deform_conv=deform_conv)
    _check_gpu(device)
    with contextlib.ExitStack() as ends:
        for part in (*detection, *replaced):
            ends.callback(part.add_block, -1)  # also if it fails to begin, when it is counted
            part.add_block(1)
        yield
