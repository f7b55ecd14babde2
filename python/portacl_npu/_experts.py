"""torch_npu's own operators of large language models, as its public documentation describes them.

Routing to experts, grouped matrix products, whole numbers for weights, losses and sampling.
"""

from __future__ import annotations

from typing import Any

from ._layers import _fast_gelu, _unsupported


def _refuse(name: str, **given: Any) -> None:
    """Name an argument that changes the result and is not supported."""
    for argument, value in given.items():
        if value is not None and value is not False and value != []:
            raise _unsupported(name, argument)


def _places_of(order: Any) -> Any:
    """Invert an order: where each element went."""
    import torch

    places = torch.empty_like(order)
    places[order] = torch.arange(order.numel(), dtype=order.dtype, device=order.device)
    return places


def _permute(tokens: Any, indices: Any, num_out_tokens: Any = None, padded_mode: bool = False):
    _refuse("npu_moe_token_permute", padded_mode=padded_mode or None)
    width = indices.size(1) if indices.dim() == 2 else 1
    order = indices.reshape(-1).argsort(stable=True)
    count = num_out_tokens if num_out_tokens else order.numel()
    return tokens[(order // width)[:count]], _places_of(order).int()


def _unpermute(
    permuted_tokens: Any,
    sorted_indices: Any,
    probs: Any = None,
    padded_mode: bool = False,
    restore_shape: Any = None,
) -> Any:
    import torch

    _refuse("npu_moe_token_unpermute", padded_mode=padded_mode or None)
    width = 1 if probs is None else probs.size(1)
    there = sorted_indices.long()
    missing = there.numel() - permuted_tokens.size(0)
    if missing > 0:  # those that permuting dropped count nothing
        rows = permuted_tokens.new_zeros(missing, permuted_tokens.size(1))
        permuted_tokens = torch.cat((permuted_tokens, rows))
    tokens = permuted_tokens[there].view(-1, width, permuted_tokens.size(1))
    if probs is not None:
        tokens = tokens * probs.to(tokens.dtype).unsqueeze(-1)
    return tokens.sum(1)


def _init_routing(x: Any, row_idx: Any, expert_idx: Any, active_num: int) -> Any:
    width = expert_idx.size(1)
    experts, order = expert_idx.reshape(-1).sort(stable=True)
    rows = row_idx.reshape(-1)[order].long()
    count = min(x.size(0), active_num) * width
    return x[rows % x.size(0)][:count], _places_of(rows).int(), experts


def _finalize_routing(
    expanded_permuted_rows: Any,
    skip1: Any,
    skip2: Any,
    bias: Any,
    scales: Any,
    expanded_src_to_dst_row: Any,
    export_for_source_row: Any,
    drop_pad_mode: Any = 0,
    k: Any = 1,
) -> Any:
    _refuse("npu_moe_finalize_routing", drop_pad_mode=drop_pad_mode or None)
    width = k if scales is None else scales.size(1)
    places = expanded_src_to_dst_row.long().view(width, -1).t()
    rows = expanded_permuted_rows[places]
    if bias is not None:
        rows = rows + bias[export_for_source_row.long()]
    if scales is not None:
        rows = rows * scales.unsqueeze(-1)
    out = rows.sum(1)
    for skip in (skip1, skip2):
        out = out if skip is None else out + skip
    return out


def _compute_expert_tokens(sorted_experts: Any, num_expert: int) -> Any:
    import torch

    experts = torch.arange(num_expert, dtype=sorted_experts.dtype, device=sorted_experts.device)
    return torch.searchsorted(sorted_experts, experts, right=True).to(sorted_experts.dtype)


def _gating_top_k(
    x: Any,
    k: int,
    *,
    bias: Any = None,
    input_ids: Any = None,
    tid2eid: Any = None,
    k_group: int = 1,
    group_count: int = 1,
    group_select_mode: int = 0,
    renorm: int = 0,
    norm_type: int = 0,
    out_flag: bool = False,
    routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> Any:
    _refuse("npu_moe_gating_top_k", input_ids=input_ids, tid2eid=tid2eid, renorm=renorm or None)
    wide = x.float()
    norm = wide.sigmoid() if norm_type == 1 else wide.softmax(-1)
    scores = norm if bias is None else norm + bias.float()
    if group_count > 1:
        groups = scores.unflatten(-1, (group_count, -1))
        best = groups.amax(-1) if group_select_mode == 0 else groups.topk(2, -1)[0].sum(-1)
        out = best.new_ones(best.shape).bool()
        out.scatter_(-1, best.topk(k_group, -1)[1], False)
        scores = groups.masked_fill(out.unsqueeze(-1), float("-inf")).flatten(-2)
    experts = scores.topk(k, -1)[1]
    chosen = norm.gather(-1, experts)
    if norm_type == 1:
        chosen = chosen / (chosen.sum(-1, keepdim=True) + eps)
    return (chosen * routed_scaling_factor).to(x.dtype), experts.int(), norm


def _lengths(group_list: Any, group_list_type: int) -> list[int]:
    """Return the lengths of the groups."""
    numbers = [int(n) for n in group_list]
    if group_list_type == 1:
        return numbers
    return [end - begin for begin, end in zip([0, *numbers], numbers)]


_DTYPES = {0: "uint8", 1: "int8", 3: "int32", 5: "float16", 6: "float32", 12: "int8", 13: "uint8",
           14: "int32", 15: "bfloat16"}  # fmt: skip


def _dtype(name: str, number: Any, default: Any) -> Any:
    """Return the type that a number stands for: PyTorch's types; the hardware's are refused."""
    import torch

    if number is None or isinstance(number, torch.dtype):
        return default if number is None else number
    if number not in _DTYPES:
        raise _unsupported(name, f"the type {number}")
    return getattr(torch, _DTYPES[number])


def _product(x: Any, weight: Any) -> Any:
    """Multiply matrices, whole numbers exactly."""
    if x.dtype.is_floating_point:
        return x @ weight
    return x.int() @ weight.int()


def _grouped_matmul(
    x: Any,
    weight: Any,
    *,
    bias: Any = None,
    scale: Any = None,
    per_token_scale: Any = None,
    group_list: Any = None,
    split_item: Any = 0,
    group_type: Any = None,
    group_list_type: Any = 0,
    act_type: Any = 0,
    tuning_config: Any = None,
    output_dtype: Any = None,
    **others: Any,
) -> Any:
    import torch

    name = "npu_grouped_matmul"
    _refuse(name, act_type=act_type or None, **others)
    if group_list_type not in (None, 0, 1):
        raise _unsupported(name, f"group_list_type {group_list_type}")
    parts, weights = list(x), list(weight)
    joined = (split_item or 0) >= 2
    if len(weights) == 1 and weights[0].dim() == 3 and group_type != 2:
        weights = list(weights[0].unbind(0))
    lengths = None
    if group_list is not None and len(parts) == 1:
        lengths = _lengths(group_list, group_list_type or 0)
        axis = 1 if group_type == 2 else 0
        if joined and axis == 0 and sum(lengths) != parts[0].size(0):
            raise _unsupported(name, f"a group_list of {sum(lengths)} of {parts[0].size(0)} rows "
                               f"and split_item {split_item}")  # fmt: skip
        parts = list(parts[0].narrow(axis, 0, sum(lengths)).split_with_sizes(lengths, axis))
        if group_type == 2:
            weights = list(weights[0].narrow(0, 0, sum(lengths)).split_with_sizes(lengths))
    if len(parts) != len(weights):
        raise ValueError(f"npu::{name}: {len(parts)} groups of x, but {len(weights)} of weight")

    def each(given: Any, count: int) -> list[Any]:
        if not given:
            return [None] * count
        given = list(given)
        return list(given[0].unbind(0)) if len(given) == 1 and count > 1 else given

    tokens = each(None, len(parts))
    if per_token_scale:
        tokens = list(per_token_scale)
        if lengths is not None:
            tokens = list(tokens[0][: sum(lengths)].split_with_sizes(lengths))
    whole = not parts[0].dtype.is_floating_point
    out_type = _dtype(name, output_dtype, parts[0].dtype)
    if any(not factor.dtype.is_floating_point for factor in scale or ()):
        raise _unsupported(name, "a scale of whole numbers")
    if whole and out_type not in (torch.float16, torch.bfloat16, torch.float32, torch.int32):
        raise _unsupported(name, f"results of {out_type} from whole numbers: give output_dtype")
    if whole and out_type == torch.int32:
        floats = [t for t in bias or () if t.dtype.is_floating_point]
        if floats or scale or per_token_scale:
            raise _unsupported(name, "a scale or a bias of floating point for results of int32")
    results = []
    for part, matrix, add, factor, token in zip(
        parts, weights, each(bias, len(parts)), each(scale, len(parts)), tokens
    ):
        out = _product(part, matrix)
        last = None
        if add is not None and whole and add.dtype.is_floating_point:
            last = add.float()  # behind the scales, as in npu_quant_matmul
        elif add is not None:
            out = out + add.to(out.dtype)
        if factor is not None:
            out = out.float() * factor.float()
        if token is not None:
            out = out.float() * token.float().unsqueeze(-1)
        if last is not None:
            out = out.float() + last
        results.append(out.to(out_type))
    if group_type == 2:
        return [torch.stack(results)]
    return [torch.cat(results)] if joined else results


def _ffn(
    x: Any,
    weight1: Any,
    weight2: Any,
    activation: str,
    *,
    expert_tokens: Any = None,
    expert_tokens_index: Any = None,
    bias1: Any = None,
    bias2: Any = None,
    inner_precise: Any = None,
    output_dtype: Any = None,
    **quantised: Any,
) -> Any:
    import torch
    import torch.nn.functional as F

    _refuse("npu_ffn", **quantised)
    simple = {"fastgelu": _fast_gelu, "gelu": F.gelu, "relu": F.relu, "silu": F.silu}
    gates = {"geglu": F.gelu, "swiglu": F.silu, "reglu": F.relu}

    def activated(y: Any) -> Any:
        if activation in simple:
            return simple[activation](y)
        if activation not in gates:
            raise _unsupported("npu_ffn", f"activation {activation!r}")
        first, second = y.chunk(2, -1)
        return gates[activation](first) * second

    def run(part: Any, first: Any, second: Any, add: Any, add2: Any) -> Any:
        y = part @ first
        y = activated(y if add is None else y + add.to(y.dtype)) @ second
        return y if add2 is None else y + add2.to(y.dtype)

    if expert_tokens is None and expert_tokens_index is None:
        return run(x, weight1, weight2, bias1, bias2)
    lengths = _lengths(expert_tokens, 1) if expert_tokens else _lengths(expert_tokens_index, 0)
    flat = x.reshape(-1, x.size(-1))
    parts = [
        run(part, *(None if w is None else w[i] for w in (weight1, weight2, bias1, bias2)))
        for i, part in enumerate(flat.split_with_sizes(lengths))
    ]
    return torch.cat(parts).view(*x.shape[:-1], -1)


def _rounded(x: Any, dtype: Any) -> Any:
    import torch

    limits = torch.iinfo(dtype)
    return x.round().clamp(limits.min, limits.max).to(dtype)


def _dynamic_quant(
    x: Any,
    *,
    smooth_scales: Any = None,
    group_index: Any = None,
    dst_type: Any = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> Any:
    import torch

    name = "npu_dynamic_quant"
    _refuse(name, quant_mode=None if quant_mode == "pertoken" else quant_mode)
    dtype = _dtype(name, dst_type, torch.int8)
    if dtype != torch.int8:
        raise _unsupported(name, f"dst_type {dtype}")
    wide = x.float()
    if smooth_scales is not None:
        factors = smooth_scales.float()
        if group_index is not None:
            lengths = torch.tensor(_lengths(group_index, 0), device=x.device)
            factors = factors.repeat_interleave(lengths, 0).view_as(x)
        wide = wide * factors
    scale = wide.abs().amax(-1) / 127
    steps = wide / scale.masked_fill(scale == 0, 1.0).unsqueeze(-1)
    return _rounded(steps, dtype), scale


def _along(values: Any, x: Any, axis: int) -> Any:
    """Return numbers of one axis so that they meet that axis of ``x``."""
    if values.dim() != 1 or values.numel() == 1:
        return values.float()
    return values.float().view([-1 if i == axis % x.dim() else 1 for i in range(x.dim())])


def _quantize(
    x: Any, scales: Any, zero_points: Any, dtype: int, axis: int = 1, div_mode: bool = True
) -> Any:
    import torch

    factors = _along(scales, x, axis)
    out = x.float() / factors if div_mode else x.float() * factors
    if zero_points is not None:
        out = out + _along(zero_points, x, axis)
    return _rounded(out, _dtype("npu_quantize", dtype, torch.int8))


def _anti_quant(
    x: Any, scale: Any, *, offset: Any = None, dst_dtype: Any = None, src_dtype: Any = None
) -> Any:
    import torch

    name = "npu_anti_quant"
    if x.dtype != torch.int8 or _dtype(name, src_dtype, torch.int8) != torch.int8:
        raise _unsupported(name, "types other than int8")
    wide = x.float() if offset is None else x.float() + offset.float()
    return (wide * scale.float()).to(_dtype(name, dst_dtype, torch.float16))


def _quant_matmul(
    x1: Any,
    x2: Any,
    scale: Any,
    *,
    offset: Any = None,
    pertoken_scale: Any = None,
    bias: Any = None,
    output_dtype: Any = None,
    **others: Any,
) -> Any:
    import torch

    name = "npu_quant_matmul"
    _refuse(name, **others)
    if x1.dtype != torch.int8 or x2.dtype != torch.int8 or not scale.dtype.is_floating_point:
        raise _unsupported(name, "x1 and x2 of int8 and a scale of floating point alone")
    out = _product(x1, x2)
    if bias is not None and not bias.dtype.is_floating_point:
        out, bias = out + bias, None
    dtype = _dtype(name, output_dtype, torch.int8)
    if dtype == torch.int32:
        if bias is not None:
            raise _unsupported(name, "a bias of floating point for a result of int32")
        _refuse(f"{name} with a result of int32", pertoken_scale=pertoken_scale, offset=offset)
        return out
    wide = out.float() * scale.float()
    if pertoken_scale is not None:
        wide = wide * pertoken_scale.float().unsqueeze(-1)
    if bias is not None:
        wide = wide + bias.float()
    if offset is not None:
        wide = wide + offset.float()
    return _rounded(wide, dtype) if dtype == torch.int8 else wide.to(dtype)


def _weight_quant_batchmatmul(
    x: Any,
    weight: Any,
    antiquant_scale: Any,
    antiquant_offset: Any = None,
    quant_scale: Any = None,
    quant_offset: Any = None,
    bias: Any = None,
    antiquant_group_size: int = 0,
    inner_precise: int = 0,
    weight_dtype: Any = None,
) -> Any:
    import torch

    name = "npu_weight_quant_batchmatmul"
    _refuse(name, quant_scale=quant_scale, quant_offset=quant_offset, weight_dtype=weight_dtype)
    if weight.dtype != torch.int8:
        raise _unsupported(name, f"a weight of {weight.dtype}")
    scale, offset = antiquant_scale.float(), antiquant_offset
    if antiquant_group_size:
        rows = weight.size(-2)
        scale, offset = (
            None if t is None else t.float().repeat_interleave(antiquant_group_size, 0)[:rows]
            for t in (scale, offset)
        )
    wide = weight.float() if offset is None else weight.float() + offset.float()
    out = x.float() @ (wide * scale)
    return (out if bias is None else out + bias.float()).to(x.dtype)


def _cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
    return_zloss: bool = False,
) -> Any:
    import torch.nn.functional as F

    _refuse("npu_cross_entropy_loss", return_zloss=return_zloss or None,
            lse_square_scale_for_zloss=lse_square_scale_for_zloss or None)  # fmt: skip
    loss = F.cross_entropy(
        x, target, weight, reduction=reduction, ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )  # fmt: skip
    nothing = x.new_empty(0)
    return loss.reshape(-1), x.log_softmax(-1).detach(), nothing, nothing.clone()


def _top_k_top_p(logits: Any, p: Any = None, k: Any = None) -> Any:
    values, order = logits.sort(dim=-1, stable=True)
    low = float("-inf")
    if k is not None:
        least = values.gather(-1, (values.size(-1) - k.long()).unsqueeze(-1))
        values = values.masked_fill(values < least, low)
    if p is not None:
        small = values.float().softmax(-1).cumsum(-1) <= 1 - p.float().unsqueeze(-1)
        small[..., -1] = False
        values = values.masked_fill(small, low)
    return values.new_empty(values.shape).scatter_(-1, order, values)


def _clipped_swiglu(
    x: Any,
    *,
    group_index: Any = None,
    dim: int = -1,
    alpha: float = 1.702,
    limit: float = 7.0,
    bias: float = 1.0,
    interleaved: bool = True,
) -> Any:
    dim = dim % x.dim()
    flat = x.reshape(-1, x[(0,) * dim].numel())
    if group_index is not None:
        flat = flat[: int(group_index.sum())]
    wide = flat.float()
    first, second = (wide[:, ::2], wide[:, 1::2]) if interleaved else wide.chunk(2, 1)
    first, second = first.clamp(max=limit), second.clamp(-limit, limit)
    out = (first * (alpha * first).sigmoid() * (second + bias)).to(x.dtype)
    shape = list(x.shape)
    shape[dim] //= 2
    if group_index is None:
        return out.view(shape)
    whole = out.new_zeros(x.numel() // max(1, flat.size(1)), out.size(1))
    whole[: out.size(0)] = out
    return whole.view(shape)


OPERATORS = {
    "npu_moe_token_permute": _permute,
    "npu_moe_token_unpermute": _unpermute,
    "npu_moe_init_routing": _init_routing,
    "npu_moe_finalize_routing": _finalize_routing,
    "npu_moe_compute_expert_tokens": _compute_expert_tokens,
    "npu_moe_gating_top_k": _gating_top_k,
    "npu_grouped_matmul": _grouped_matmul,
    "npu_grouped_matmul.List": _grouped_matmul,
    "npu_ffn": _ffn,
    "npu_dynamic_quant": _dynamic_quant,
    "npu_quantize": _quantize,
    "npu_anti_quant": _anti_quant,
    "npu_quant_matmul": _quant_matmul,
    "npu_weight_quant_batchmatmul": _weight_quant_batchmatmul,
    "npu_cross_entropy_loss": _cross_entropy,
    "npu_top_k_top_p": _top_k_top_p,
    "npu_clipped_swiglu": _clipped_swiglu,
}
