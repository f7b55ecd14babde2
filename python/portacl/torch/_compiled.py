"""Makes compiled graphs call the operators that ``enable()`` replaces.

While ``torch.compile`` traces, PyTorch takes most resizing functions and ``grid_sampler_2d`` apart
into small operators before any backend sees them. The rules here come first, for tensors on the
CPU. If portacl's forward kernels are in place, they put in portacl's own operator. Else the
function stays whole, so that its derivative is the operator with portacl's kernel. A rule looks at
the present kernels when it is asked. It is not asked for tensors of other devices and integers.
Graphs that leave the process (``torch.export``, ONNX, packages) hold only PyTorch's operators.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Optional

import torch
from torch._C import DispatchKey
from torch._C._functorch import peek_interpreter_stack
from torch._decomp.decompositions import upsample_compute_output_size
from torch._guards import TracingContext

from ._library import _like, ops

aten = torch.ops.aten

_KERNELS = {
    "upsample_nearest": "upsample_nearest",
    "_upsample_nearest_exact": "upsample_nearest_exact",
    "upsample_linear": "upsample_linear",
    "upsample_bilinear": "upsample_linear",
    "upsample_trilinear": "upsample_linear",
    "_upsample_bilinear": "upsample_linear",
    "upsample_bicubic": "upsample_cubic",
    "_upsample_bicubic": "upsample_cubic",
    "_upsample_lanczos": "upsample_lanczos",
}
"""portacl's operator behind the stem of PyTorch's name."""

_NAME = re.compile(r"(\w+?)([123])d(_aa)?")
Enabled = Callable[[], bool]
Rule = Callable[..., Any]

_TRACERS = tuple(
    getattr(torch._C._TorchDispatchModeKey, name) for name in ("PROXY", "FUNCTIONAL", "FAKE")
)


def _stays_here() -> bool:
    """Whether the graph that is traced now is compiled for this process."""
    return TracingContext.try_get() is not None and not torch.compiler.is_exporting()


def may_call_portacl() -> bool:
    """Whether a call that reached a kernel may call ``torch.ops.portacl``.

    It may not if a graph for other processes records the call.
    """
    traced = torch.jit.is_tracing() or any(map(torch._C._get_dispatch_mode, _TRACERS))
    return _stays_here() if traced else True


def _whole(overload: Any, input: torch.Tensor, *rest: Any, **named: Any) -> Any:
    """Call an operator as if it had no rule: PyTorch's autograd records it as it is."""
    keys = torch._C._dispatch_tls_local_include_set() | torch._C._dispatch_keys(input)
    keys = keys - torch._C._dispatch_tls_local_exclude_set()
    for passed_through in _PASSED_THROUGH:
        keys = keys.remove(passed_through)
    return overload.redispatch(keys, input, *rest, **named)


left_to_graphs: Counter[str] = Counter()
"""How often each function was traced so far that is then taken apart: nothing calls its kernel."""


def _inductor_takes_apart(overload: Any) -> bool:
    module = sys.modules.get("torch._inductor.decomposition")
    return module is not None and overload in module.decompositions


def _let_inductor_call(overload: Any) -> None:
    """Register a fallback call in Inductor for a function without a rule.

    Otherwise Inductor asks whether PyTorch has a formula. If the variable CI is set, as on GitHub's
    runners, it treats a formula as an error.
    """
    lowering = sys.modules.get("torch._inductor.lowering")
    if lowering is None or overload in lowering.lowerings or _inductor_takes_apart(overload):
        return
    lowering.make_fallback(overload, warn=False)


_PASSED_THROUGH = (
    DispatchKey.PythonDispatcher,  # where the rules are
    DispatchKey.PythonTLSSnapshot,
    DispatchKey.ADInplaceOrView,  # has nothing for functions that make new tensors
    DispatchKey.BackendSelect,
)


def _add_rule(
    overload: Any, key: DispatchKey, rule: Rule, is_wanted: Enabled, forward: Enabled
) -> None:
    """Ask `rule` first, in tracing, if it is wanted and the tensor is ours.

    `forward()`: whether the rule then puts in portacl's operator.
    """
    before = overload.py_kernels.pop(key, None)
    if before is None and key == DispatchKey.AutogradCPU:
        before = overload.py_kernels.get(DispatchKey.Autograd, partial(_whole, overload))
    if before is None:
        return  # nothing takes the function apart there
    packet = overload.overloadpacket
    is_formula = not isinstance(before, partial)

    def kernel(input: torch.Tensor, *rest: Any, **named: Any) -> Any:
        if not _stays_here():
            return before(input, *rest, **named)
        ours = input.device.type == "cpu" and input.is_floating_point()
        chosen = rule if ours and is_wanted() else before
        if key == DispatchKey.AutogradCPU and not (ours and forward()):
            apart = (chosen is before and is_formula) or _inductor_takes_apart(packet.default)
            left_to_graphs[packet.__name__] += apart
            if not apart:
                _let_inductor_call(overload)
        return chosen(input, *rest, **named)

    overload.py_impl(key)(kernel)


def _add_shapes(packet: Any, gradient: Any, row_major: bool) -> None:
    """Shape functions that take symbolic sizes, if PyTorch's own take none."""

    def resized(input: torch.Tensor, sizes: Sequence[Any], *rest: Any) -> torch.Tensor:
        return _like(input, (*input.shape[:2], *sizes))

    def gradient_of(
        grad_output: torch.Tensor, sizes: Sequence[Any], input_size: Sequence[Any], *rest: Any
    ) -> torch.Tensor:
        return grad_output.new_empty(input_size) if row_major else _like(grad_output, input_size)

    for overload, shapes in ((packet.default, resized), (gradient.default, gradient_of)):
        if DispatchKey.Meta not in overload.py_kernels:
            overload.py_impl(DispatchKey.Meta)(shapes)


class _NearestOfImages(torch.autograd.Function):
    """PyTorch's function with portacl's gradient.

    PyTorch's own operator for the gradient never reaches a kernel: Inductor has code for it.
    """

    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, sizes: Sequence[Any], scales: Sequence[Any]) -> Any:
        ctx.size, ctx.scales = input.shape, _factors(scales)
        with torch._C._AutoDispatchBelowAutograd():
            return _whole(aten.upsample_nearest2d.default, input, sizes, *scales)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return ops.upsample_nearest_backward(grad_output, ctx.size, ctx.scales), None, None


def _factors(scales: Sequence[Any]) -> Optional[list[float]]:
    return [scale or 0.0 for scale in scales] if any(scales) else None


def _add_resize(name: str, backward: Enabled, forward: Enabled) -> None:
    stem, axes, antialias = _NAME.fullmatch(name).groups()  # type: ignore[union-attr]
    operator = getattr(ops, _KERNELS[stem])
    packet = getattr(aten, name)
    has_modes = "nearest" not in stem

    def resize(
        input: torch.Tensor, sizes: Sequence[Any], modes: Sequence[bool], scales: Sequence[Any]
    ) -> torch.Tensor:
        if forward():
            own = (bool(modes[0]), antialias is not None) if has_modes else ()
            result: torch.Tensor = operator(input, sizes, _factors(scales), *own)
        elif (
            name == "upsample_nearest2d"
            and torch.is_grad_enabled()
            and input.requires_grad
            and peek_interpreter_stack() is None  # its levels take no plain Function
        ):
            result = _NearestOfImages.apply(input, sizes, scales)
        else:
            result = _whole(packet.default, input, sizes, *modes, *scales)
        return result

    def from_vector(
        input: torch.Tensor,
        output_size: Optional[Sequence[Any]],
        *rest: Any,
        align_corners: Any = None,
        scale_factors: Any = None,
    ) -> torch.Tensor:
        modes = list(rest[:1] if rest and has_modes else [align_corners] if has_modes else [])
        scale_factors = rest[-1] if len(rest) > len(modes) else scale_factors
        sizes = upsample_compute_output_size(input.size(), output_size, scale_factors)
        return resize(input, sizes, modes, scale_factors or [None] * int(axes))

    def from_scalars(input: torch.Tensor, output_size: Sequence[Any], *rest: Any) -> torch.Tensor:
        modes, scales = (rest[:1], rest[1:]) if has_modes else ((), rest)
        return resize(input, output_size, modes, (*scales, *[None] * int(axes))[: int(axes)])

    row_major = axes != "2" or "bicubic" in stem or "lanczos" in stem
    _add_shapes(packet, getattr(aten, f"{name}_backward"), row_major)
    for overload, rule in ((packet.vec, from_vector), (packet.default, from_scalars)):
        either = lambda: backward() or forward()  # noqa: E731
        _add_rule(overload, DispatchKey.AutogradCPU, rule, either, forward)
        # Below autograd PyTorch may decompose the forward function if that is PyTorch's own.
        _add_rule(overload, DispatchKey.CompositeImplicitAutograd, rule, forward, forward)


rules: list[str] = []
"""The functions that have one."""


def add_rules(names: Sequence[str], backward: Enabled, forward: Enabled) -> None:
    """Rules for PyTorch's functions `names`, valid while `backward()` or `forward()` is true."""
    for name in names:
        own = name.removesuffix("_generator")
        if own.startswith(("grid_sampler", "affine_grid")):  # the sampler's gradients stay whole
            overload = getattr(aten, name).default
            _add_rule(overload, DispatchKey.AutogradCPU, getattr(ops, own), forward, forward)
        elif "upsample" in name:
            _add_resize(name, backward, forward)
        else:
            continue
        rules.append(name)


_TAG = re.compile(r"\+?portacl\[[^]]*\]")
_RULES_OF = f"{zlib.crc32(Path(__file__).read_bytes()):08x}"


def mark_caches(backward: bool, forward: bool) -> None:
    """Separate cached graphs that were compiled with different kernels or rules.

    PyTorch keeps them on disk, where they outlive this version of portacl.
    """
    config = getattr(torch.compiler, "config", None)
    if config is None or not hasattr(config, "cache_key_tag"):
        return
    tag = _TAG.sub("", config.cache_key_tag)
    if backward or forward:
        which = "+".join(n for n, is_in in (("backward", backward), ("forward", forward)) if is_in)
        tag += f"{'+' if tag else ''}portacl[{which}+{_RULES_OF}]"
    config.cache_key_tag = tag
