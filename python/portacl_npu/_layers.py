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
    # The plugin reads as many as there are axes and ignores those behind.
    padding = padding[: len(zeros)]
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


def _named_max(x: Any, dim: str, keepdim: bool = False) -> Any:
    return _max(x, x.names.index(dim), keepdim)


def _named_min(x: Any, dim: str, keepdim: bool = False) -> Any:
    return _min(x, x.names.index(dim), keepdim)


def _one_hot(
    x: Any, num_classes: int = -1, depth: int = 1, on_value: Any = 1, off_value: Any = 0
) -> Any:
    import torch

    classes = torch.arange(depth, dtype=x.dtype, device=x.device)
    equal = (x.unsqueeze(-1) == classes).movedim(-1, num_classes)
    return torch.where(equal, float(on_value), float(off_value))


def _indexing(
    x: Any,
    begin: list[int],
    end: list[int],
    strides: list[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    places: list[Any] = []
    for axis, (first, last, step) in enumerate(zip(begin, end, strides)):
        bit = 1 << axis
        if ellipsis_mask & bit:
            places.append(Ellipsis)
        elif new_axis_mask & bit:
            places.append(None)
        elif shrink_axis_mask & bit:
            places.append(first)
        elif step < 1:
            raise _unsupported("npu_indexing", f"a stride of {step}")
        else:
            places.append(
                slice(None if begin_mask & bit else first, None if end_mask & bit else last, step)
            )
    return x[tuple(places)].clone()


def _stride_copy(x: Any, shape: list[int], stride: list[int], storage_offset: Any) -> Any:
    return x.as_strided(shape, stride, int(storage_offset)).clone()


def _scatter(x: Any, indices: Any, updates: Any, dim: int) -> Any:
    if indices.dim() < x.dim():
        indices, updates = indices.unsqueeze(dim), updates.unsqueeze(dim)
    return x.scatter(dim, indices.long(), updates)


def _masked_fill_range(x: Any, start: Any, end: Any, value: Any, axis: int = -1) -> Any:
    import torch

    out, axis = x.clone(), axis % x.dim()
    places = torch.arange(x.size(axis), device=x.device)
    for first, last, each in zip(start, end, value):
        inside = (places >= first.unsqueeze(-1)) & (places < last.unsqueeze(-1))
        if axis == x.dim() - 1 and inside.size(0) == x.size(0) and x.dim() > 1:
            mask = inside.view(inside.size(0), *[1] * (x.dim() - 2), -1)
        else:
            mask = inside.any(0).view([-1 if i == axis else 1 for i in range(x.dim())])
        out = torch.where(mask, each.to(out.dtype), out)
    return out


def _packed(bits: Any) -> Any:
    """Return eight bits a byte, the first one lowest."""
    import torch

    powers = torch.tensor([1 << i for i in range(8)], dtype=torch.int32, device=bits.device)
    return (bits.view(-1, 8).int() * powers).sum(1).to(torch.uint8)


def _unpacked(packed: Any) -> Any:
    import torch

    shifts = torch.arange(8, dtype=torch.int32, device=packed.device)
    return ((packed.reshape(-1, 1).int() >> shifts) & 1).flatten().bool()


def _sign_bits_pack(x: Any, size: int) -> Any:
    import torch.nn.functional as F

    return _packed(F.pad(x >= 0, (0, -x.numel() % 8))).view(size, -1)


def _sign_bits_unpack(x: Any, size: int, dtype: Any) -> Any:
    return (_unpacked(x).to(dtype) * 2 - 1).view(size, -1)


def _bits_to_keep(x: Any, p: float) -> Any:
    """Return a bit for each element, packed in blocks of 16 bytes, as the plugin's masks are."""
    import torch

    count = -(-x.numel() // 128) * 128
    return _packed(torch.rand(count, device=x.device) >= p)


def _kept(x: Any, mask: Any, p: float) -> Any:
    keep = _unpacked(mask)[: x.numel()].view(x.shape)
    return x * keep / (1 - p) if p < 1 else x * 0


def _dropout(x: Any, p: float) -> Any:
    mask = _bits_to_keep(x, p)
    return _kept(x, mask, p), mask


def _dropout_do_mask(x: Any, mask: Any, p: float) -> Any:
    return _kept(x, mask, p), mask


def _dropout_with_add_softmax(x: Any, x1: Any, alpha: Any, prob: float, dim: int) -> Any:
    import torch

    softmax = (x1 + x * alpha).softmax(dim)
    mask = (torch.rand(x.shape, device=x.device) >= prob).to(torch.uint8)
    return mask, softmax, softmax * mask / (1 - prob) if prob < 1 else softmax * 0


def _dropout_with_byte_mask(x: Any, p: float, train: bool) -> Any:
    import torch.nn.functional as F

    return F.dropout(x, p, train)


def _rms_norm_in_place(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    x2.copy_(x1 + x2)
    out, rstd = _rms(x2, gamma, epsilon)
    x1.copy_(out)
    return rstd


def _add_rms_norm_cast(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    out, rstd, x = _add_rms_norm(x1, x2, gamma, epsilon)
    return out.float(), out, rstd, x


def _mrope(
    positions: Any,
    query: Any,
    key: Any,
    cos_sin_cache: Any,
    head_size: int,
    *,
    mrope_section: Any = None,
    rotary_mode: Any = "half",
    cache_mode: Any = "default",
) -> Any:
    import torch

    if cache_mode not in (None, "default"):
        raise _unsupported("npu_mrope", f"cache_mode {cache_mode!r}")
    cos, sin = cos_sin_cache[positions.long()].chunk(2, -1)
    if positions.dim() == 2:
        cos, sin = (
            torch.cat([part[i] for i, part in enumerate(x.split(list(mrope_section), -1))], -1)
            for x in (cos, sin)
        )
    mode = rotary_mode or "half"
    wide = [
        x.repeat_interleave(2, -1) if mode == "interleave" else torch.cat((x, x), -1)
        for x in (cos, sin)
    ]
    turned = []
    for x in (query, key):
        heads = x.reshape(x.size(0), -1, head_size)
        width = wide[0].size(-1)
        part = _rotary_mul(heads[..., :width], *(w.unsqueeze(-2) for w in wide), mode)
        turned.append(torch.cat((part, heads[..., width:]), -1).view_as(x).to(x.dtype))
    return turned[0], turned[1]


def _transpose_batchmatmul(
    x: Any,
    weight: Any,
    *,
    bias: Any = None,
    scale: Any = None,
    perm_x1: Any = None,
    perm_x2: Any = None,
    perm_y: Any = None,
    batch_split_factor: Any = 1,
) -> Any:
    if scale is not None or batch_split_factor not in (None, 1):
        raise _unsupported("npu_transpose_batchmatmul", "scale and batch_split_factor")
    first, second = (t.permute(perm) if perm else t
                     for t, perm in ((x, perm_x1), (weight, perm_x2)))  # fmt: skip
    out = first @ second
    out = out if bias is None else out + bias
    return out.permute(perm_y).contiguous() if perm_y else out


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
    "npu_max.names_dim": _named_max,
    "npu_min.names_dim": _named_min,
    "npu_sort_v2": _sort,
    "npu_one_hot": _one_hot,
    "npu_indexing": _indexing,
    "npu_stride_copy": _stride_copy,
    "npu_scatter": _scatter,
    "npu_masked_fill_range": _masked_fill_range,
    "npu_sign_bits_pack": _sign_bits_pack,
    "npu_sign_bits_unpack": _sign_bits_unpack,
    "_npu_dropout": _dropout,
    "npu_dropout_do_mask": _dropout_do_mask,
    "npu_dropout_with_add_softmax": _dropout_with_add_softmax,
    "dropout_with_byte_mask": _dropout_with_byte_mask,
    "npu_add_rms_norm_v2": _rms_norm_in_place,
    "npu_add_rms_norm_v2_functional": _add_rms_norm,
    "npu_add_rms_norm_cast": _add_rms_norm_cast,
    "npu_mrope": _mrope,
    "npu_transpose_batchmatmul": _transpose_batchmatmul,
    "npu_convolution_transpose": _conv_transpose2d,
    "npu_softmax_cross_entropy_with_logits": _softmax_cross_entropy,
    "npu_scatter_nd_update": _scatter_nd_update,
    "npu_scatter_nd_update_": _scatter_nd_update_in_place,
    "npu_moe_gating_top_k_softmax": _gating_top_k,
}
