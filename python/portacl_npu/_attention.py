"""torch_npu's attention operators, as its public documentation describes them."""

from __future__ import annotations

from typing import Any

_ALL = 2147483647
_LAYOUTS = {"BSH", "SBH", "BSND", "BNSD", "TND"}


def _refuse(name: str, **given: Any) -> None:
    """Name an argument that changes the result and is not supported."""
    for argument, value in given.items():
        if value is not None:
            raise NotImplementedError(f"npu::{name}: portacl_npu has it without {argument}")


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
    """Which scores do not count: of the mask's own, or by a rule that its mode names."""
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
    settings = {
        **{"scale": scale, "bias": pse, "mask": atten_mask, "mode": sparse_mode},
        **{"before": pre_tockens, "after": next_tockens, "keep": keep_prob},
    }
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
    settings = {
        **{"scale": scale, "bias": pse, "bias_first": pse_type == 1, "mask": atten_mask},
        **{"mode": sparse_mode, "before": pre_tokens, "after": next_tokens, "keep": keep_prob},
    }
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


OPERATORS = {
    "npu_fusion_attention": _fusion_attention,
    "npu_fusion_attention_v2": _fusion_attention_v2,
    "npu_prompt_flash_attention": _prompt_attention,
}
