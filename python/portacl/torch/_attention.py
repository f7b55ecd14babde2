"""Gives programs portacl's multi-scale deformable attention, for ``enable()``.

There is no common operator: each program has its own formula of PyTorch's operators. The formula is
replaced when the program's module is imported.
"""

from __future__ import annotations

import functools
import importlib.machinery
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, Optional

import torch

enabled = False
blocks = 0
"""`with accelerated()` blocks that run now, in any thread."""

_FUNCTION = "multi_scale_deformable_attention"
_MMCV_FUNCTION = "multi_scale_deformable_attn_pytorch"
_COMPILED = "MultiScaleDeformableAttention"
"""The class of transformers, and the module of compiled functions that Deformable DETR and its
descendants import."""

_PREFIXES = ("transformers.models.", "mmcv.ops.", "detrex.layers.", "groundingdino.models.")


def _serves(*tensors: Any) -> bool:
    return (enabled or blocks > 0) and all(
        isinstance(t, torch.Tensor) and t.device.type == "cpu" and t.is_floating_point()
        for t in tensors
    )


def _starts(shapes: torch.Tensor) -> torch.Tensor:
    sizes = shapes.prod(1)
    return sizes.cumsum(0) - sizes


def _shapes_of(shapes: Any) -> torch.Tensor:
    return shapes if isinstance(shapes, torch.Tensor) else torch.tensor(shapes, dtype=torch.int64)


def attention(
    value: torch.Tensor, shapes: Any, locations: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """portacl's, of levels that stand one behind the other."""
    spatial = _shapes_of(shapes)
    starts = _starts(spatial)
    result: torch.Tensor = torch.ops.portacl.ms_deform_attn(
        value, spatial, starts, locations, weights
    )
    return result


def _forward(stock: Callable[..., Any]) -> Callable[..., Any]:
    """The forward of transformers' module: its first argument is the module."""

    @functools.wraps(stock)
    def forward(
        self: Any,
        value: torch.Tensor,
        value_spatial_shapes: torch.Tensor,
        value_spatial_shapes_list: Any,
        level_start_index: torch.Tensor,
        sampling_locations: torch.Tensor,
        attention_weights: torch.Tensor,
        im2col_step: int,
    ) -> Any:
        if not _serves(value, sampling_locations, attention_weights):
            return stock(
                self,
                value,
                value_spatial_shapes,
                value_spatial_shapes_list,
                level_start_index,
                sampling_locations,
                attention_weights,
                im2col_step,
            )
        return torch.ops.portacl.ms_deform_attn(
            value, value_spatial_shapes, level_start_index, sampling_locations, attention_weights
        )

    return forward


def _function(stock: Callable[..., Any]) -> Callable[..., Any]:
    """The function of mmcv, detrex and transformers: (value, shapes, locations, weights)."""

    @functools.wraps(stock)
    def function(
        value: torch.Tensor,
        value_spatial_shapes: Any,
        sampling_locations: torch.Tensor,
        attention_weights: torch.Tensor,
    ) -> Any:
        if not _serves(value, sampling_locations, attention_weights):
            return stock(value, value_spatial_shapes, sampling_locations, attention_weights)
        return attention(value, value_spatial_shapes, sampling_locations, attention_weights)

    return function


def _by_levels(points: torch.Tensor, counts: Sequence[int], axis: int, fill: float) -> torch.Tensor:
    """Points of levels with different numbers of points, as (.., L, P, ..)."""
    most = max(counts)
    if all(count == most for count in counts):
        return points.unflatten(axis, (len(counts), most))
    parts = []
    for part in points.split(list(counts), axis):
        missing = list(part.shape)
        missing[axis] = most - part.shape[axis]
        parts.append(torch.cat((part, part.new_full(missing, fill)), axis))
    return torch.stack(parts, axis)


_FAR_AWAY = -2.0  # a location that touches no pixel: a point there contributes nothing


def _second_version(stock: Callable[..., Any]) -> Callable[..., Any]:
    """The function of RT-DETRv2 and D-FINE: the points of all levels stand on one axis.

    Value is (B, K, M, C), or a list of a (B * M, C, K) for each level, which is left alone.
    """

    @functools.wraps(stock)
    def function(
        value: Any,
        value_spatial_shapes: Any,
        sampling_locations: torch.Tensor,
        attention_weights: torch.Tensor,
        num_points_list: Sequence[int],
        method: str = "default",
    ) -> Any:
        if method != "default" or not _serves(value, sampling_locations, attention_weights):
            return stock(
                value,
                value_spatial_shapes,
                sampling_locations,
                attention_weights,
                num_points_list,
                method,
            )
        locations = _by_levels(sampling_locations, num_points_list, 3, _FAR_AWAY)
        weights = _by_levels(attention_weights, num_points_list, 3, 0.0)
        return attention(value, value_spatial_shapes, locations, weights)

    return function


def _mmcv_function(stock: Any) -> Any:
    """The autograd function of mmcv, for tensors on the CPU; others go to mmcv as before."""

    class Function(stock):  # type: ignore[misc]
        @classmethod
        def apply(cls, value: Any, shapes: Any, starts: Any, *rest: Any) -> Any:
            locations, weights, *_ = rest
            if not _serves(value, locations, weights):
                return stock.apply(value, shapes, starts, *rest)
            return torch.ops.portacl.ms_deform_attn(value, shapes, starts, locations, weights)

    Function.__name__ = Function.__qualname__ = stock.__name__
    return Function


def _patch(module: types.ModuleType) -> None:
    """Put portacl behind the functions that the module itself defines, once."""
    if module.__dict__.get("__portacl__"):
        return
    wrappers = {
        _FUNCTION: _function,
        f"{_FUNCTION}_v2": _second_version,
        _MMCV_FUNCTION: _function,
    }
    for name, wrap in wrappers.items():
        stock = module.__dict__.get(name)
        if isinstance(stock, types.FunctionType) and stock.__module__ == module.__name__:
            setattr(module, name, wrap(stock))
            module.__dict__["__portacl__"] = True
    # Others have a layer of this name as well, which projects first: it calls the function.
    layer = module.__dict__.get(_COMPILED) if module.__name__.startswith(_PREFIXES[0]) else None
    if isinstance(layer, type) and layer.__module__ == module.__name__ and "forward" in vars(layer):
        layer.forward = _forward(layer.forward)  # type: ignore[attr-defined]
        module.__dict__["__portacl__"] = True
    function = module.__dict__.get("MultiScaleDeformableAttnFunction")
    if isinstance(function, type) and module.__name__.startswith("mmcv.ops."):
        module.MultiScaleDeformableAttnFunction = _mmcv_function(function)  # type: ignore[attr-defined]
        module.__dict__["__portacl__"] = True


def _compiled_module() -> types.ModuleType:
    """For tensors on the CPU: replaces the functions that Deformable DETR compiles for GPUs."""
    module = types.ModuleType(_COMPILED, "portacl's, where the compiled module is not installed.")

    def ms_deform_attn_forward(
        value: Any, shapes: Any, starts: Any, locations: Any, weights: Any, im2col_step: int
    ) -> torch.Tensor:
        result: torch.Tensor = torch.ops.portacl.ms_deform_attn(
            value, shapes, starts, locations, weights
        )
        return result

    def ms_deform_attn_backward(
        value: Any,
        shapes: Any,
        starts: Any,
        locations: Any,
        weights: Any,
        grad_output: Any,
        im2col_step: int,
    ) -> tuple[torch.Tensor, ...]:
        found: tuple[torch.Tensor, ...] = torch.ops.portacl.ms_deform_attn_backward(
            value, shapes, starts, locations, weights, grad_output, [True] * 3
        )
        return found

    module.ms_deform_attn_forward = ms_deform_attn_forward  # type: ignore[attr-defined]
    module.ms_deform_attn_backward = ms_deform_attn_backward  # type: ignore[attr-defined]
    return module


class _CompiledLoader:
    """Loads the module of compiled functions that nobody else has."""

    def create_module(self, spec: Any) -> types.ModuleType:
        return _compiled_module()

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is left to do."""


class _Finder:
    """Patches modules after they are loaded, whoever finds and loads them."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name != _COMPILED and not name.startswith(_PREFIXES):
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: Optional[importlib.machinery.ModuleSpec] = find(name, path, target)
            if spec is not None:
                _patch_when_loaded(spec)
                return spec
        if name == _COMPILED and (enabled or blocks > 0):
            return importlib.machinery.ModuleSpec(name, _CompiledLoader())  # type: ignore[arg-type]
        return None


def _patch_when_loaded(spec: importlib.machinery.ModuleSpec) -> None:
    loader: Any = spec.loader
    load = getattr(loader, "exec_module", None)
    if load is None:
        return

    def exec_module(module: types.ModuleType) -> None:
        load(module)
        if module.__name__ != _COMPILED:
            _patch(module)

    loader.exec_module = exec_module


_finder = _Finder()
_lock = threading.RLock()


def set_enabled(wanted: bool) -> None:
    """Whether the programs' calls on CPU tensors are portacl's from now on."""
    global enabled
    with _lock:
        enabled = wanted
        _apply()


def add_block(count: int) -> None:
    """A block begins (1), or ends (-1)."""
    global blocks
    with _lock:
        before = blocks > 0
        blocks += count
        if before != (blocks > 0):
            _apply()


def _apply() -> None:
    """Bring modules into the wanted state; the lock is held."""
    if not (enabled or blocks > 0):
        if isinstance(getattr(sys.modules.get(_COMPILED), "__loader__", None), _CompiledLoader):
            sys.modules.pop(_COMPILED, None)
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]
    for name, module in list(sys.modules.items()):
        if name.startswith(_PREFIXES) and isinstance(module, types.ModuleType):
            _patch(module)
