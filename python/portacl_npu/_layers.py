"""torch_npu's own operators on layers, as its public documentation describes them."""

from __future__ import annotations

from typing import Any


def _unsupported(name: str, what: str) -> NotImplementedError:
    return NotImplementedError(f"npu::{name}: portacl_npu has it without {what}")


def _rms(x: Any, gamma: Any, epsilon: float, offset: float = 0.0) -> Any:
    axes = list(range(x.dim() - gamma.dim(), x.dim()))
    wide = x.float()
    rstd = (wide.square().mean(axes, keepdim=True) + epsilon).rsqrt()
    return (wide * rstd * (gamma.float() + offset)).to(x.dtype), rstd


def _rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    return _rms(x, gamma, epsilon)


def _gemma_rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    return _rms(x, gamma, epsilon, offset=1.0)


def _add_rms_norm(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    x = x1 + x2
    return (*_rms(x, gamma, epsilon), x)


def _moments(x: Any, axes: list[int], epsilon: float) -> Any:
    wide = x.float()
    mean = wide.mean(axes, keepdim=True)
    rstd = ((wide - mean).square().mean(axes, keepdim=True) + epsilon).rsqrt()
    return mean, rstd


def _layer_norm(x: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    mean, rstd = _moments(x, list(range(x.dim() - gamma.dim(), x.dim())), epsilon)
    return ((x.float() - mean) * rstd * gamma.float() + beta.float()).to(x.dtype), mean, rstd


def _add_layer_norm(
    x1: Any, x2: Any, gamma: Any, beta: Any, epsilon: float = 1e-5, additional_output: bool = False
) -> Any:
    x = x1 + x2
    return (*_layer_norm(x, gamma, beta, epsilon), x)


def _deep_norm(
    x: Any, gx: Any, beta: Any, gamma: Any, alpha: float = 0.3, epsilon: float = 1e-6
) -> Any:
    out, mean, rstd = _layer_norm(x * alpha + gx, gamma, beta, epsilon)
    return mean, rstd, out


def _layer_norm_eval(
    x: Any, normalized_shape: list[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    import torch.nn.functional as F

    return F.layer_norm(x, normalized_shape, weight, bias, eps)


def _group_norm_silu(x: Any, weight: Any, bias: Any, group: int, eps: float = 1e-5) -> Any:
    import torch
    import torch.nn.functional as F

    grouped = x.reshape(x.size(0), group, -1)
    mean, rstd = _moments(grouped, [2], eps)
    out = torch.group_norm(x, group, weight, bias, eps)
    return F.silu(out), mean.squeeze(2).to(x.dtype), rstd.squeeze(2).to(x.dtype)


def _group_norm_swish(
    x: Any, groups: int, weight: Any, bias: Any, eps: Any = 1e-5, swish_scale: Any = 1.0
) -> Any:
    import torch

    _, mean, rstd = _group_norm_silu(x, weight, bias, groups, eps)
    out = torch.group_norm(x, groups, weight, bias, eps)
    return out * (out * swish_scale).sigmoid(), mean, rstd


def _turned(x: Any, mode: str) -> Any:
    import torch

    if mode == "interleave":
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def _rotary_mul(x: Any, cos: Any, sin: Any, rotary_mode: str = "half", rotate: Any = None) -> Any:
    if rotate is not None:
        raise _unsupported("npu_rotary_mul", "rotate")
    return x * cos + _turned(x, rotary_mode) * sin


def _apply_rotary(
    query: Any, key: Any, cos: Any, sin: Any, layout: str = "BSND", rotary_mode: str = "half"
) -> Any:
    return _rotary_mul(query, cos, sin, rotary_mode), _rotary_mul(key, cos, sin, rotary_mode)


def _swiglu(x: Any, dim: int = -1) -> Any:
    import torch.nn.functional as F

    gate, value = x.chunk(2, dim)
    return F.silu(gate) * value


def _geglu(x: Any, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> Any:
    import torch.nn.functional as F

    left, right = x.chunk(2, dim)
    value, gate = (right, left) if activate_left else (left, right)
    gelu = F.gelu(gate, approximate="tanh" if approximate == 1 else "none")
    return value * gelu, gelu


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    import torch.nn.functional as F

    return F.gelu(x, approximate=approximate)


def _gelu_mul(x: Any, *, approximate: str = "none") -> Any:
    first, second = x.chunk(2, -1)
    return _gelu(first, approximate=approximate) * second


def _fast_gelu(x: Any) -> Any:
    return x * (1.702 * x).sigmoid()


def _silu(x: Any) -> Any:
    import torch.nn.functional as F

    return F.silu(x)


def _silu_in_place(x: Any) -> Any:
    import torch.nn.functional as F

    return F.silu(x, inplace=True)


def _mish(x: Any) -> Any:
    import torch.nn.functional as F

    return F.mish(x)


def _scaled_masked_softmax(
    x: Any, mask: Any, scale: float = 1, fixed_triu_mask: bool = False
) -> Any:
    import torch

    if fixed_triu_mask:
        rows, columns = x.shape[-2:]
        mask = torch.ones(rows, columns, dtype=torch.bool, device=x.device).triu(1)
    return (x.float() * scale).masked_fill(mask.bool(), -10000.0).softmax(-1).to(x.dtype)


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    import torch.nn.functional as F

    return F.linear(x, weight, bias)


def _bmm(x: Any, other: Any, output_sizes: list[int]) -> Any:
    out = x @ other
    return out.reshape(output_sizes) if output_sizes else out


def _convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    import torch

    zeros = [0] * (weight.dim() - 2)
    return torch.convolution(x, weight, bias, stride, padding, dilation, False, zeros, groups)


def _conv_transpose2d(
    x: Any,
    weight: Any,
    bias: Any,
    padding: Any,
    output_padding: Any,
    stride: Any,
    dilation: Any,
    groups: int,
) -> Any:
    import torch

    return torch.convolution(
        x, weight, bias, stride, padding, dilation, True, output_padding, groups
    )


def _transpose(x: Any, perm: list[int], require_contiguous: bool = True) -> Any:
    turned = x.permute(perm)
    return turned.contiguous() if require_contiguous else turned


def _confusion_transpose(x: Any, perm: list[int], shape: list[int], transpose_first: bool) -> Any:
    if transpose_first:
        return x.permute(perm).reshape(shape)
    return x.reshape(shape).permute(perm).contiguous()


def _reshape(x: Any, shape: list[int], can_refresh: bool = False) -> Any:
    return x.reshape(shape).clone()


def _broadcast(x: Any, size: list[int]) -> Any:
    return x.expand(size).clone()


def _slice(x: Any, offsets: list[int], size: list[int]) -> Any:
    return x[tuple(slice(start, start + count) for start, count in zip(offsets, size))].clone()


def _pad(x: Any, paddings: list[int]) -> Any:
    import torch.nn.functional as F

    pairs = [paddings[i : i + 2] for i in range(0, len(paddings), 2)]
    return F.pad(x, [value for pair in reversed(pairs) for value in pair])


def _max(x: Any, dim: int, keepdim: bool = False) -> Any:
    import torch

    values, places = torch.max(x, dim, keepdim)
    return values, places.int()


def _min(x: Any, dim: int, keepdim: bool = False) -> Any:
    import torch

    values, places = torch.min(x, dim, keepdim)
    return values, places.int()


def _sort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    return x.sort(dim, descending)[0]


def _softmax_cross_entropy(x: Any, labels: Any) -> Any:
    return -(labels * x.log_softmax(-1)).sum(-1)


def _scatter_nd_update_in_place(x: Any, indices: Any, updates: Any) -> Any:
    return x.index_put_(tuple(indices.long().unbind(-1)), updates)


def _scatter_nd_update(x: Any, indices: Any, updates: Any) -> Any:
    return _scatter_nd_update_in_place(x.clone(), indices, updates)


def _gating_top_k(x: Any, finished: Any = None, k: int = 1) -> Any:
    import torch

    if finished is not None:
        raise _unsupported("npu_moe_gating_top_k_softmax", "finished")
    values, experts = x.softmax(-1).topk(k, -1)
    rows = x.size(0)
    places = torch.arange(rows * k, dtype=torch.int32, device=x.device).view(k, rows).t()
    return values, experts.int(), places.contiguous()


OPERATORS = {
    "npu_rms_norm": _rms_norm,
    "npu_gemma_rms_norm": _gemma_rms_norm,
    "npu_add_rms_norm": _add_rms_norm,
    "npu_add_layer_norm": _add_layer_norm,
    "npu_deep_norm": _deep_norm,
    "npu_layer_norm_eval": _layer_norm_eval,
    "npu_group_norm_silu": _group_norm_silu,
    "npu_group_norm_swish": _group_norm_swish,
    "npu_rotary_mul": _rotary_mul,
    "npu_apply_rotary_pos_emb": _apply_rotary,
    "npu_swiglu": _swiglu,
    "npu_geglu": _geglu,
    "npu_gelu": _gelu,
    "npu_gelu_mul": _gelu_mul,
    "npu_fast_gelu": _fast_gelu,
    "fast_gelu": _fast_gelu,
    "npu_silu": _silu,
    "npu_silu_": _silu_in_place,
    "npu_mish": _mish,
    "npu_scaled_masked_softmax": _scaled_masked_softmax,
    "npu_linear": _linear,
    "npu_bmmV2": _bmm,
    "npu_conv2d": _convolution,
    "npu_conv3d": _convolution,
    "npu_convolution": _convolution,
    "npu_conv_transpose2d": _conv_transpose2d,
    "npu_transpose": _transpose,
    "npu_confusion_transpose": _confusion_transpose,
    "npu_reshape": _reshape,
    "npu_broadcast": _broadcast,
    "npu_slice": _slice,
    "npu_pad": _pad,
    "npu_max.dim": _max,
    "npu_min.dim": _min,
    "npu_sort_v2": _sort,
    "npu_softmax_cross_entropy_with_logits": _softmax_cross_entropy,
    "npu_scatter_nd_update": _scatter_nd_update,
    "npu_scatter_nd_update_": _scatter_nd_update_in_place,
    "npu_moe_gating_top_k_softmax": _gating_top_k,
}
