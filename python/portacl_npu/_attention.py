"""torch_npu's attention operators, as its public documentation describes them."""

from __future__ import annotations

from typing import Any

from ._layers import _unsupported

_ALL = 2147483647
_LAYOUTS = {"BSH", "SBH", "BSND", "BNSD", "TND"}


def _refuse(name: str, **given: Any) -> None:
    """Name an argument that changes the result and is not supported."""
    for argument, value in given.items():
        if value is not None:
            raise _unsupported(name, argument)


def _heads_first(x: Any, layout: str, heads: int) -> Any:
    """Return any layout but TND as (batch, heads, length, width)."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "SBH":
        x = x.transpose(0, 1)
    batch, length, width = x.shape
    return x.view(batch, length, heads, width // heads).transpose(1, 2)


def _as_layout(x: Any, layout: str) -> Any:
    if layout == "BNSD":
        return x
    x = x.transpose(1, 2)
    if layout == "BSND":
        return x.contiguous()
    x = x.flatten(2)
    return x.transpose(0, 1).contiguous() if layout == "SBH" else x


def _mask(scores: Any, given: Any, mode: int, before: int, after: int) -> Any:
    """Return which scores do not count: by the mask itself, or by the rule of its mode."""
    import torch

    if mode not in (0, 1, 2, 3, 4):
        raise NotImplementedError(f"portacl_npu has attention without sparse_mode {mode}")
    if mode == 1 or (mode == 0 and given is None):
        return None if given is None else given.bool()
    rows, columns = scores.shape[-2:]
    shift = columns - rows if mode in (3, 4) else 0
    if mode in (2, 3):
        before, after = _ALL, 0
    place = torch.arange(columns, device=scores.device) - torch.arange(
        rows, device=scores.device
    ).unsqueeze(1)
    outside = (place > shift + after) | (place < shift - before)
    return outside | given.bool() if mode == 0 else outside


def _refuse_band(name: str, mask: Any, before: int, after: int) -> None:
    """Refuse a band that hides more scores than the whole mask beside it (sparse_mode 0)."""
    if mask is not None and bool((_mask(mask, mask, 0, before, after) & ~mask.bool()).any()):
        what = f"pre_tokens {before} and next_tokens {after} that hide more than atten_mask does"
        raise _unsupported(name, what)


def _attend(
    query: Any,
    key: Any,
    value: Any,
    *,
    scale: float,
    bias: Any = None,
    bias_first: bool = True,
    mask: Any = None,
    mode: int = 0,
    before: int = _ALL,
    after: int = _ALL,
    keep: float = 1.0,
) -> Any:
    """Attend in (batch, heads, length, width): the result, and the softmax's maxima and sums."""
    import torch.nn.functional as F

    groups = query.size(1) // key.size(1)
    key, value = (x.repeat_interleave(groups, 1).float() for x in (key, value))
    scores = query.float() @ key.transpose(-2, -1)
    if bias is not None and bias_first:
        scores = scores + bias
    scores = scores * scale
    if bias is not None and not bias_first:
        scores = scores + bias
    hidden = _mask(scores, mask, mode, before, after)
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    top = scores.detach().amax(-1, keepdim=True)
    top = top.masked_fill(top == float("-inf"), 0.0)
    powers = (scores - top).exp()
    total = powers.sum(-1, keepdim=True)
    likely = powers / total.masked_fill(total == 0, 1.0)
    if keep < 1:
        likely = F.dropout(likely, 1 - keep)
    return (likely @ value).to(query.dtype), top, total


def _pieces(lengths: list[int]) -> list[tuple[int, int]]:
    return list(zip([0, *lengths[:-1]], lengths))


def _fusion(
    name: str,
    query: Any,
    key: Any,
    value: Any,
    head_num: int,
    layout: str,
    lengths: Any,
    settings: dict[str, Any],
) -> Any:
    import torch

    if layout not in _LAYOUTS:
        raise NotImplementedError(f"npu::{name}: input_layout {layout!r} is none of {_LAYOUTS}")
    if layout == "TND":
        ends_q, ends_k = ([int(end) for end in each] for each in lengths)
        parts = [
            _attend(
                query[q0:q1].transpose(0, 1).unsqueeze(0),
                key[k0:k1].transpose(0, 1).unsqueeze(0),
                value[k0:k1].transpose(0, 1).unsqueeze(0),
                **settings,
            )
            for (q0, q1), (k0, k1) in zip(_pieces(ends_q), _pieces(ends_k))
        ]
        joined = [torch.cat([x.squeeze(0).transpose(0, 1) for x in each]) for each in zip(*parts)]
        out, top, total = joined
    else:
        if layout in ("BSH", "SBH"):
            kv_heads = head_num * key.size(2) // query.size(2)
        else:
            kv_heads = head_num
        out, top, total = _attend(
            _heads_first(query, layout, head_num),
            _heads_first(key, layout, kv_heads),
            _heads_first(value, layout, kv_heads),
            **settings,
        )
        out = _as_layout(out, layout)
    shape = (*top.shape[:-1], 8)  # the hardware's blocks repeat each number
    nothing = torch.empty(0, dtype=query.dtype, device=query.device)
    maxima, sums = (x.detach().expand(shape).clone() for x in (top, total))
    return out, maxima, sums, nothing, 0, 0, 0


def _fusion_attention(
    query: Any,
    key: Any,
    value: Any,
    head_num: int,
    input_layout: str,
    pse: Any = None,
    padding_mask: Any = None,
    atten_mask: Any = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = _ALL,
    next_tockens: int = _ALL,
    inner_precise: int = 0,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Any = None,
    dropout_mask: Any = None,
    *_: Any,
) -> Any:
    name = "npu_fusion_attention"
    _refuse(name, padding_mask=padding_mask, prefix=prefix, sink=sink, dropout_mask=dropout_mask)
    settings = {"scale": scale, "bias": pse, "mask": atten_mask, "mode": sparse_mode,
                "before": pre_tockens, "after": next_tockens, "keep": keep_prob}  # fmt: skip
    lengths = (actual_seq_qlen, actual_seq_kvlen)
    return _fusion(name, query, key, value, head_num, input_layout, lengths, settings)


def _fusion_attention_v2(
    query: Any,
    key: Any,
    value: Any,
    head_num: int,
    input_layout: str,
    *,
    pse: Any = None,
    padding_mask: Any = None,
    atten_mask: Any = None,
    query_rope: Any = None,
    key_rope: Any = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = _ALL,
    next_tokens: int = _ALL,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    sparse_mode: int = 0,
    pse_type: int = 1,
    sink: Any = None,
    dropout_mask: Any = None,
    **_: Any,
) -> Any:
    name = "npu_fusion_attention_v2"
    _refuse(name, padding_mask=padding_mask, prefix=prefix, sink=sink, dropout_mask=dropout_mask,
            query_rope=query_rope, key_rope=key_rope)  # fmt: skip
    if pse_type not in (0, 1):
        raise NotImplementedError(f"npu::{name}: portacl_npu has it without pse_type {pse_type}")
    settings = {"scale": scale, "bias": pse, "bias_first": pse_type == 1, "mask": atten_mask,
                "mode": sparse_mode, "before": pre_tokens, "after": next_tokens,
                "keep": keep_prob}  # fmt: skip
    lengths = (actual_seq_qlen, actual_seq_kvlen)
    return _fusion(name, query, key, value, head_num, input_layout, lengths, settings)


def _prompt_attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    padding_mask: Any = None,
    atten_mask: Any = None,
    pse_shift: Any = None,
    actual_seq_lengths: Any = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    pre_tokens: int = _ALL,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths_kv: Any = None,
    sparse_mode: int = 0,
    **quantised: Any,
) -> Any:
    name = "npu_prompt_flash_attention"
    _refuse(name, padding_mask=padding_mask, actual_seq_lengths=actual_seq_lengths,
            actual_seq_lengths_kv=actual_seq_lengths_kv, **quantised)  # fmt: skip
    kv_heads = num_key_value_heads or num_heads
    if atten_mask is not None and atten_mask.dim() == 3:
        atten_mask = atten_mask.unsqueeze(1)  # of batches, not of heads
    if sparse_mode == 0:
        _refuse_band(name, atten_mask, pre_tokens, next_tokens)
    out, _, _ = _attend(
        _heads_first(query, input_layout, num_heads),
        _heads_first(key, input_layout, kv_heads),
        _heads_first(value, input_layout, kv_heads),
        scale=scale_value,
        bias=pse_shift,
        bias_first=False,
        mask=atten_mask,
        mode=1 if sparse_mode == 0 else sparse_mode,
        before=pre_tokens,
        after=next_tokens,
    )
    return _as_layout(out, input_layout)


def _fusion_attention_v3(*arguments: Any, **more: Any) -> Any:
    # Without the three numbers that repeat a dropout, with a tensor of none for them.
    out, maxima, sums, nothing, *_ = _fusion_attention(*arguments, **more)
    return out, maxima, sums, nothing, nothing.clone(), nothing.clone()


def _pages(cache: Any, table: Any, length: int, heads: int) -> Any:
    """Return the first ``length`` rows of a sequence in a cache of pages, heads first."""
    import torch

    block = cache.size(-2) if cache.dim() == 4 else cache.size(1)
    pages = cache[table[: -(-length // block)].long()]
    if pages.dim() == 3:  # (pages, rows, heads * width)
        pages = pages.unflatten(-1, (heads, -1)).transpose(1, 2)
    return torch.cat(list(pages.unbind(0)), 1)[:, :length]


def _infer(
    name: str,
    query: Any,
    key: Any,
    value: Any,
    heads: int,
    kv_heads: int,
    layout: str,
    *,
    lengths: Any,
    lengths_kv: Any,
    table: Any,
    mask: Any,
    bias: Any,
    **settings: Any,
) -> Any:
    """Attend sequence by sequence. Each may have its own length, and its own pages of a cache."""
    import torch

    kv_heads = kv_heads or heads
    inner = "BNSD" if layout == "BNSD_BSND" else layout
    if inner not in _LAYOUTS:
        raise NotImplementedError(f"npu::{name}: input_layout {layout!r} is none of {_LAYOUTS}")
    packed = inner == "TND"
    if packed:
        queries = [query[a:b].transpose(0, 1) for a, b in _pieces(list(map(int, lengths)))]
    else:
        queries = list(_heads_first(query, inner, heads).unbind(0))

    def sequences(x: Any) -> list[Any]:
        if table is not None:
            return [
                _pages(x, table[i], int(length), kv_heads) for i, length in enumerate(lengths_kv)
            ]
        if packed:
            return [x[a:b].transpose(0, 1) for a, b in _pieces(list(map(int, lengths_kv)))]
        return list(_heads_first(x, inner, kv_heads).unbind(0))

    def length_of(given: Any, place: int, whole: int) -> int:
        if given is None or packed or len(given) == 0:
            return whole
        return int(given[place if len(given) > 1 else 0])

    def part(x: Any, place: int, whole: int, rows: int, columns: int) -> Any:
        if x is None or settings["mode"] in (2, 3, 4):
            return x
        if x.dim() == 2:  # (rows, columns), or (batch, columns) where each has one row
            by_batch = whole == 1 and x.size(0) == len(queries) > 1
            if by_batch and packed:
                raise _unsupported(
                    name,
                    "an atten_mask of two dimensions with input_layout 'TND' and as many rows as "
                    "sequences",
                )
            x = x.unsqueeze(1 if by_batch else 0)
        if x.dim() == 3:
            x = x.unsqueeze(1)  # of batches, not of heads
        x = x[place if x.size(0) > 1 else 0][:, :rows, :columns].unsqueeze(0)
        if whole > 1:
            _refuse_band(name, x, settings.get("before", _ALL), settings.get("after", _ALL))
        return x

    outs, sums = [], []
    for i, (q, k, v) in enumerate(zip(queries, sequences(key), sequences(value))):
        rows, columns = length_of(lengths, i, q.size(1)), length_of(lengths_kv, i, k.size(1))
        out, top, total = _attend(
            *(x[:, :n].unsqueeze(0) for x, n in ((q, rows), (k, columns), (v, columns))),
            mask=part(mask, i, q.size(1), rows, columns),
            bias=None if bias is None else bias[i if bias.size(0) > 1 else 0][:, :rows, :columns],
            bias_first=False,
            **settings,
        )
        pad = (0, 0, 0, q.size(1) - rows)
        outs.append(torch.nn.functional.pad(out.squeeze(0), pad))
        sums.append(torch.nn.functional.pad((total.log() + top).squeeze(0), pad))
    if packed:
        return (torch.cat([x.transpose(0, 1) for x in each]) for each in (outs, sums))
    shape = "BSND" if layout == "BNSD_BSND" else inner
    return _as_layout(torch.stack(outs), shape), torch.stack(sums)


def _incre_attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    atten_mask: Any = None,
    pse_shift: Any = None,
    actual_seq_lengths: Any = None,
    block_table: Any = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    block_size: int = 0,
    inner_precise: int = 1,
    **others: Any,
) -> Any:
    name = "npu_incre_flash_attention"
    _refuse(name, **others)
    out, _ = _infer(
        name, query, key, value, num_heads, num_key_value_heads, input_layout,
        lengths=None, lengths_kv=actual_seq_lengths, table=block_table, mask=atten_mask,
        bias=pse_shift, scale=scale_value, mode=1,
    )  # fmt: skip
    return out


def _infer_attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    pse_shift: Any = None,
    atten_mask: Any = None,
    actual_seq_lengths: Any = None,
    actual_seq_lengths_kv: Any = None,
    block_table: Any = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = _ALL,
    next_tokens: int = _ALL,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    antiquant_mode: int = 0,
    key_antiquant_mode: int = 0,
    value_antiquant_mode: int = 0,
    softmax_lse_flag: bool = False,
    **others: Any,
) -> Any:
    import torch

    name = "npu_fused_infer_attention_score"
    _refuse(name, **others)
    if sparse_mode == 1 or (atten_mask is None and sparse_mode == 0):
        pre_tokens = next_tokens = _ALL  # not looked at
    out, sums = _infer(
        name, query, key, value, num_heads, num_key_value_heads, input_layout,
        lengths=actual_seq_lengths, lengths_kv=actual_seq_lengths_kv, table=block_table,
        mask=atten_mask, bias=pse_shift, scale=scale,
        mode=1 if sparse_mode == 0 else sparse_mode, before=pre_tokens, after=next_tokens,
    )  # fmt: skip
    return out, sums if softmax_lse_flag else torch.zeros(1, device=query.device)


def _infer_attention_v2(
    query: Any,
    key: Any,
    value: Any,
    *,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    num_query_heads: int = 1,
    softmax_scale: float = 1.0,
    return_softmax_lse: bool = False,
    query_quant_mode: int = 0,
    key_quant_mode: int = 0,
    value_quant_mode: int = 0,
    **others: Any,
) -> Any:
    return _infer_attention(
        query,
        key,
        value,
        actual_seq_lengths=actual_seq_qlen,
        actual_seq_lengths_kv=actual_seq_kvlen,
        num_heads=num_query_heads,
        scale=softmax_scale,
        softmax_lse_flag=return_softmax_lse,
        **others,
    )


def _attention_update(lse: Any, local_out: Any, update_type: int) -> Any:
    import torch

    sums = torch.stack(list(lse)).float()
    whole = sums.logsumexp(0)
    outs = torch.stack([x.float() for x in local_out])
    out = (outs * (sums - whole).exp().unsqueeze(-1)).sum(0).to(local_out[0].dtype)
    return out, whole if update_type == 1 else whole.new_empty(0)


OPERATORS = {
    "npu_fusion_attention": _fusion_attention,
    "npu_fusion_attention_v3": _fusion_attention_v3,
    "npu_incre_flash_attention": _incre_attention,
    "npu_fused_infer_attention_score": _infer_attention,
    "npu_fused_infer_attention_score_v2": _infer_attention_v2,
    "npu_attention_update": _attention_update,
    "npu_fusion_attention_v2": _fusion_attention_v2,
    "npu_prompt_flash_attention": _prompt_attention,
}
