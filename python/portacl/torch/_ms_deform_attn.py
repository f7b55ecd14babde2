"""``torch.ops.portacl.ms_deform_attn``: multi-scale deformable attention and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch

from .. import _core
from . import _kernels
from ._results import empty

NAMES = ("ms_deform_attn", "ms_deform_attn_backward")

_TENSORS = (
    "Tensor value, Tensor spatial_shapes, Tensor level_start_index, Tensor sampling_locations, "
    "Tensor attention_weights"
)
SCHEMAS = {
    "ms_deform_attn": f"({_TENSORS}) -> Tensor",
    "ms_deform_attn_backward": f"({_TENSORS}, Tensor grad_output, bool[3] output_mask)"
    " -> (Tensor, Tensor, Tensor)",
}


def _points_dtype(value: torch.Tensor, *points: torch.Tensor) -> torch.dtype:
    """The dtype in which locations and weights are read, never narrower than their own.

    Beside 16-bit values they may be float32, as autocast makes them.
    """
    if all(p.dtype == value.dtype for p in points):
        return value.dtype
    return torch.float32 if value.dtype.itemsize == 2 else value.dtype


def _with_channels(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with channels side by side, as the fast kernels need it."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _arguments(
    value: torch.Tensor,
    spatial_shapes: torch.Tensor,
    level_start_index: torch.Tensor,
    locations: torch.Tensor,
    weights: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """The tensors for ``_core``: the points of all levels on one axis."""
    if locations.dim() != 6 or weights.dim() != 5:
        raise ValueError(
            f"sampling_locations has shape {list(locations.shape)} and attention_weights "
            f"{list(weights.shape)}, but they must be (B, Q, M, L, P, 2) and (B, Q, M, L, P)"
        )
    dtype = _points_dtype(value, locations, weights)
    return (
        _with_channels(value),
        spatial_shapes,
        level_start_index,
        locations.to(dtype).flatten(3, 4),
        weights.to(dtype).flatten(3, 4),
    )


def _output_shape(value: torch.Tensor, locations: torch.Tensor) -> tuple[int, ...]:
    return value.shape[0], locations.shape[1], value.shape[2] * value.shape[3]


def kernel(
    value: torch.Tensor,
    spatial_shapes: torch.Tensor,
    level_start_index: torch.Tensor,
    locations: torch.Tensor,
    weights: torch.Tensor,
) -> torch.Tensor:
    """(B, Q, M * C)."""
    arguments = _arguments(value, spatial_shapes, level_start_index, locations, weights)
    output = empty(_output_shape(value, locations), value.dtype, device=value.device)
    _kernels.call(_core.ms_deform_attn, *arguments, output)
    return output


def backward_kernel(
    value: torch.Tensor,
    spatial_shapes: torch.Tensor,
    level_start_index: torch.Tensor,
    locations: torch.Tensor,
    weights: torch.Tensor,
    grad_output: torch.Tensor,
    output_mask: Sequence[bool],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Each gradient in its tensor's dtype; an empty tensor for a gradient that is left out."""
    arguments = _arguments(value, spatial_shapes, level_start_index, locations, weights)
    sources = (value, locations, weights)
    points = arguments[3].dtype
    results = [
        empty(source.shape, dtype, device=value.device) if wanted else None
        for source, dtype, wanted in zip(sources, (value.dtype, points, points), output_mask)
    ]
    if any(output_mask):
        joined = [r if r is None or i == 0 else r.flatten(3, 4) for i, r in enumerate(results)]
        _kernels.call(
            _core.ms_deform_attn_backward, *arguments, _with_channels(grad_output), *joined
        )
    value_grad, locations_grad, weights_grad = (
        source.new_empty(0) if result is None else result.to(source.dtype)
        for source, result in zip(sources, results)
    )
    return value_grad, locations_grad, weights_grad


def fake(value: torch.Tensor, *tensors: torch.Tensor) -> torch.Tensor:
    """The output's shape for compilers."""
    return value.new_empty(_output_shape(value, tensors[2]))


def fake_backward(
    value: torch.Tensor,
    spatial_shapes: torch.Tensor,
    level_start_index: torch.Tensor,
    locations: torch.Tensor,
    weights: torch.Tensor,
    grad_output: torch.Tensor,
    output_mask: Sequence[bool],
) -> tuple[torch.Tensor, ...]:
    """The gradients' shapes for compilers."""
    sources = (value, locations, weights)
    return tuple(
        source.new_empty(source.shape if wanted else 0)
        for source, wanted in zip(sources, output_mask)
    )


def setup(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep the tensors that the gradients read."""
    ctx.save_for_backward(*inputs[:5])


def gradients(ctx: Any, grad_output: torch.Tensor) -> tuple[Optional[torch.Tensor], ...]:
    """The gradients of all five arguments."""
    wanted = [ctx.needs_input_grad[i] for i in (0, 3, 4)]
    found = torch.ops.portacl.ms_deform_attn_backward(*ctx.saved_tensors, grad_output, wanted)
    value, locations, weights = (g if is_wanted else None for g, is_wanted in zip(found, wanted))
    return value, None, None, locations, weights


def refuse_second_order(ctx: Any, *grads: torch.Tensor) -> Any:
    """The operator has first derivatives alone."""
    raise NotImplementedError(
        "portacl::ms_deform_attn has no second derivatives: portacl.torch.enable(msda=False) "
        "leaves the formula of PyTorch's operators in place, which has them"
    )


def refused_tangent(primals: Sequence[Any], tangents: Sequence[Any]) -> torch.Tensor:
    """The operator has no forward mode."""
    raise NotImplementedError(
        "portacl::ms_deform_attn has no forward mode: portacl.torch.enable(msda=False) leaves the "
        "formula of PyTorch's operators in place, which has it"
    )
