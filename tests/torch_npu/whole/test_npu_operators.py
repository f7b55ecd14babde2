"""torch_npu's own operators, against PyTorch's of the same meaning on the CPU."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from compare import close
from torch import nn


def _leaf(*shape):
    return torch.randn(*shape).requires_grad_()


def _check(ours, stock, *inputs, tolerance=1e-5):
    """Results and gradients of the operator on npu equal those of the other function on the CPU."""
    moved = [x.detach().npu().requires_grad_(x.requires_grad) for x in inputs]
    result, expected = ours(*moved), stock(*inputs)
    close(result, expected, tolerance)
    grad = torch.randn(expected.shape)
    wanted = [(a, b) for a, b in zip(moved, inputs, strict=True) if b.requires_grad]
    close(
        torch.autograd.grad(result, [a for a, _ in wanted], grad.npu()),
        torch.autograd.grad(expected, [b for _, b in wanted], grad),
        tolerance,
    )


def test_norms():
    x, gamma = _leaf(2, 3, 8), _leaf(8)
    _check(lambda a, g: torch_npu.npu_rms_norm(a, g, 1e-5)[0],
           lambda a, g: F.rms_norm(a, (8,), g, 1e-5), x, gamma)
    _check(lambda a, b, g: torch_npu.npu_add_rms_norm(a, b, g, 1e-5)[0],
           lambda a, b, g: F.rms_norm(a + b, (8,), g, 1e-5), x, _leaf(2, 3, 8), gamma)
    _check(lambda a, w, b: torch_npu.npu_layer_norm_eval(a, [8], w, b, 1e-5),
           lambda a, w, b: F.layer_norm(a, (8,), w, b, 1e-5), x, gamma, _leaf(8))
    _check(lambda a, b, w, c: torch_npu.npu_add_layer_norm(a, b, w, c)[0],
           lambda a, b, w, c: F.layer_norm(a + b, (8,), w, c), x, _leaf(2, 3, 8), gamma, _leaf(8))
    rstd = torch_npu.npu_rms_norm(x.npu(), gamma.npu())[1]
    close(rstd, (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt())


def test_activations():
    x = _leaf(4, 8)
    _check(torch_npu.npu_swiglu, lambda a: F.silu(a[:, :4]) * a[:, 4:], x)
    _check(lambda a: torch_npu.npu_geglu(a)[0],
           lambda a: a[:, :4] * F.gelu(a[:, 4:], approximate="tanh"), x)
    _check(torch_npu.npu_gelu, F.gelu, x)
    _check(torch_npu.npu_silu, F.silu, x)
    _check(torch_npu.npu_mish, F.mish, x)
    _check(torch_npu.npu_fast_gelu, lambda a: a * torch.sigmoid(1.702 * a), x)


@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotary_positions(mode):
    def stock(x, cos, sin):
        pairs = x.unflatten(-1, (2, 4) if mode == "half" else (4, 2))
        axis = -2 if mode == "half" else -1
        first, second = pairs.unbind(axis)
        return x * cos + torch.stack((-second, first), axis).flatten(-2) * sin

    _check(lambda x, c, s: torch_npu.npu_rotary_mul(x, c, s, mode), stock,
           _leaf(2, 3, 5, 8), torch.randn(1, 1, 5, 8), torch.randn(1, 1, 5, 8))  # fmt: skip


def _attention(query, key, value, **more):
    return F.scaled_dot_product_attention(query, key, value, **more)


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
@pytest.mark.parametrize("heads", [4, 2])
def test_attention_in_each_layout(layout, heads):
    def arranged(x):
        if layout == "BNSD":
            return x
        x = x.transpose(1, 2)
        if layout == "BSND":
            return x
        return x.flatten(2) if layout == "BSH" else x.flatten(2).transpose(0, 1)

    scale = 1 / math.sqrt(8)
    _check(
        lambda q, k, v: torch_npu.npu_fusion_attention(
            *map(arranged, (q, k, v)), 4, layout, scale=scale)[0],
        lambda q, k, v: arranged(_attention(q, k, v, enable_gqa=True)),
        _leaf(2, 4, 5, 8), _leaf(2, heads, 6, 8), _leaf(2, heads, 6, 8),
    )  # fmt: skip


def test_attention_with_masks():
    inputs = _leaf(2, 4, 5, 8), _leaf(2, 4, 5, 8), _leaf(2, 4, 5, 8)
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
    scale = 1 / math.sqrt(8)
    for mode, mask in ((0, causal), (1, causal), (2, causal), (3, causal)):
        _check(
            lambda q, k, v, m=mode, a=mask: torch_npu.npu_fusion_attention(
                q, k, v, 4, "BNSD", atten_mask=a.npu(), scale=scale, sparse_mode=m)[0],
            lambda q, k, v: _attention(q, k, v, is_causal=True),
            *inputs,
        )
    band = torch.ones(5, 5).tril().triu(-2).bool()
    _check(
        lambda q, k, v: torch_npu.npu_fusion_attention(
            q, k, v, 4, "BNSD", atten_mask=causal.npu(), scale=scale, sparse_mode=4,
            pre_tockens=2, next_tockens=0)[0],
        lambda q, k, v: _attention(q, k, v, attn_mask=band), *inputs)


def test_attention_of_packed_sequences():
    lengths, packed = [2, 5], [_leaf(7, 4, 8) for _ in range(3)]

    def stock(*tensors):
        parts = []
        for begin, end in ((0, 2), (2, 7)):
            q, k, v = (x[begin:end].transpose(0, 1)[None] for x in tensors)
            parts.append(_attention(q, k, v, is_causal=True)[0].transpose(0, 1))
        return torch.cat(parts)

    ends = torch.tensor(lengths).cumsum(0).tolist()
    _check(lambda q, k, v: torch_npu.npu_fusion_attention(
               q, k, v, 4, "TND", scale=1 / math.sqrt(8), sparse_mode=3,
               atten_mask=torch.ones(9, 9).triu(1).bool().npu(),
               actual_seq_qlen=ends, actual_seq_kvlen=ends)[0], stock, *packed)


def test_what_is_not_supported_is_named():
    x = torch.randn(1, 2, 3, 8).npu()
    with pytest.raises(NotImplementedError, match="npu_fusion_attention.*prefix"):
        torch_npu.npu_fusion_attention(x, x, x, 2, "BNSD", prefix=[1])
    with pytest.raises(NotImplementedError, match="npu::npu_mhc_sinkhorn"):
        torch_npu.npu_mhc_sinkhorn(x)


def test_shapes_and_order():
    x = torch.randn(4, 6)
    close(torch_npu.npu_transpose(x.npu(), [1, 0]), x.t())
    close(torch_npu.npu_confusion_transpose(x.npu(), [0, 2, 1], [4, 2, 3], False),
          x.view(4, 2, 3).permute(0, 2, 1))
    close(torch_npu.npu_slice(x.npu(), [1, 2], [2, 3]), x[1:3, 2:5])
    close(torch_npu.npu_pad(x.npu(), [1, 0, 0, 2]), F.pad(x, [0, 2, 1, 0]))
    values, places = torch_npu.npu_max(x.npu(), 1)
    close(values, x.max(1)[0])
    assert places.dtype == torch.int32 and places.cpu().tolist() == x.argmax(1).tolist()
    close(torch_npu.npu_linear(x.npu(), torch.ones(2, 6).npu()), x @ torch.ones(6, 2))
    close(torch_npu.npu_dtype_cast(x.npu(), torch.float16), x.half())


def test_fused_optimizers_of_the_plugin():
    def train(device, make):
        torch.manual_seed(0)
        model = nn.Linear(4, 4).to(device)
        optimizer = make(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(2, 4, device=device)).square().sum().backward()
            optimizer.step()
        return model.weight

    close(train("npu", lambda p: torch_npu.optim.NpuFusedAdamW(p, lr=1e-2)),
          train("cpu", lambda p: torch.optim.AdamW(p, lr=1e-2)))
    close(train("npu", lambda p: torch_npu.optim.NpuFusedSGD(p, lr=1e-2, momentum=0.9)),
          train("cpu", lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9)))


def test_results_into_a_tensor_of_the_program():
    x, out = torch.randn(4, 6), torch.empty(0).npu()
    assert torch_npu.npu_transpose(x.npu(), [1, 0], out=out) is out
    close(out, x.t())
    close(torch_npu.npu_slice(x.npu(), [1, 2], [2, 3], out=out), x[1:3, 2:5])
    close(torch_npu.npu_sort_v2(x.npu(), out=out), x.sort(-1)[0])
    close(torch_npu.npu_conv2d(x.view(1, 1, 4, 6).npu(), torch.ones(1, 1, 2, 2).npu(), None, [1, 1],
                               [0, 0], [1, 1], 1, out=out),
          F.conv2d(x.view(1, 1, 4, 6), torch.ones(1, 1, 2, 2)))


def test_parts_of_tensors():
    x = torch.arange(24.0).view(2, 3, 4)
    close(torch_npu.npu_indexing(x.npu(), [0, 1, 0], [2, 3, 4], [1, 1, 2]), x[:, 1:3, ::2])
    close(torch_npu.npu_indexing(x.npu(), [1, 1, 0], [2, 3, 4], [1, 1, 1], 0, 4, 0, 0, 1),
          x[1, 1:3])
    close(torch_npu.npu_stride_copy(x.npu(), [2, 2], [4, 1], 1), x.flatten().as_strided((2, 2), (4, 1), 1))
    close(torch_npu.npu_one_hot(torch.tensor([5, 3, 1]).int().npu(), depth=5, on_value=2, off_value=-1),
          torch.tensor([[-1.0] * 5, [-1, -1, -1, 2, -1], [-1, 2, -1, -1, -1]]))
    values = torch.tensor([[1.6279, 0.1226], [0.9041, 1.0980]])
    close(torch_npu.npu_scatter(values.npu(), torch.tensor([0, 1]).int().npu(),
                                torch.tensor([-1.1993, -1.5247]).npu(), 0),
          torch.tensor([[-1.1993, 0.1226], [0.9041, -1.5247]]))
    filled = torch_npu.npu_masked_fill_range(
        torch.zeros(3, 4).npu(), torch.tensor([[0, 1, 2]]).int().npu(),
        torch.tensor([[1, 2, 4]]).int().npu(), torch.tensor([7.0]).npu(), 1)
    close(filled, torch.tensor([[7.0, 0, 0, 0], [0, 7, 0, 0], [0, 0, 7, 7]]))
    bits = torch_npu.npu_sign_bits_pack(
        torch.tensor([5.0, 4, 3, 2, 0, -1, -2, 4, 3, 2, 1, 0, -1, -2]).npu(), 2)
    assert bits.tolist() == [[159], [15]]
    close(torch_npu.npu_sign_bits_unpack(bits.flatten(), 1, torch.float32)[:, :8],
          torch.tensor([[1.0, 1, 1, 1, 1, -1, -1, 1]]))


def test_dropout_that_hands_its_mask_out():
    x = torch.rand(40, 50) + 1
    out, mask = torch_npu._npu_dropout(x.npu(), 0.25)
    assert mask.dtype == torch.uint8 and mask.numel() == 2048 // 8
    kept = out.cpu() != 0
    assert 0.65 < kept.float().mean() < 0.85
    close(out, torch.where(kept, x / 0.75, 0.0))
    close(torch_npu.npu_dropout_do_mask(x.npu(), mask, 0.25)[0], out.cpu())
    _, softmax, out = torch_npu.npu_dropout_with_add_softmax(x.npu(), x.npu(), 0.5, 0.0, -1)
    close((softmax, out), ((1.5 * x).softmax(-1),) * 2)


def test_steps_of_adam():
    weights, grad = torch.randn(5), torch.randn(5)
    there = [weights.npu(), torch.zeros(5).npu(), torch.zeros(5).npu()]
    parameter = nn.Parameter(weights.clone())
    optimizer = torch.optim.AdamW([parameter], lr=0.1, weight_decay=0.02)
    for step in range(3):
        parameter.grad = grad * (step + 1)
        optimizer.step()
        torch_npu.npu_apply_adam_w(0.9**step, 0.999**step, 0.1, 0.02, 0.9, 0.999, 1e-8,
                                   parameter.grad.npu(), None, False, False, out=there)
    close(there[0], parameter)
    there = [weights.npu(), torch.zeros(5).npu(), torch.zeros(5).npu()]
    torch_npu.npu_apply_adam(0.9, 0.999, 0.1, 0.9, 0.999, 1e-8, grad.npu(), False, False, out=there)
    close(there[0], weights - 0.1 * grad.sign(), 1e-4)


def test_gradients_by_name():
    x, other, grad = torch.randn(3, 8), torch.randn(3, 8), torch.randn(3, 4)
    leaf = x.clone().requires_grad_()

    def wanted(out, given=None):
        return torch.autograd.grad(out, leaf, other if given is None else given)[0]

    close(torch.ops.npu.npu_swiglu_backward(grad.npu(), x.npu()),
          wanted(F.silu(leaf[:, :4]) * leaf[:, 4:], grad))
    close(torch.ops.npu.npu_gelu_backward(other.npu(), x.npu()), wanted(F.gelu(leaf)))
    close(torch.ops.npu.npu_silu_backward(other.npu(), x.npu(), F.silu(x).npu()),
          wanted(F.silu(leaf)))
    gamma = torch.rand(8).requires_grad_()
    rstd = (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    close(torch.ops.npu.npu_rms_norm_backward(other.npu(), x.npu(), gamma.detach().npu(), rstd.npu()),
          torch.autograd.grad(F.rms_norm(leaf, (8,), gamma, 1e-6), (leaf, gamma), other), 1e-4)
    close(torch.ops.npu.npu_renorm_backward(other.npu(), x.npu(), 2, 0, 1.0),
          wanted(torch.renorm(leaf, 2, 0, 1.0)))
    image = torch.randn(1, 2, 5, 5).requires_grad_()
    weight = torch.randn(3, 2, 3, 3).requires_grad_()
    out = F.conv2d(image, weight)
    found = torch.ops.npu.npu_conv2d_backward(
        image.npu(), torch.ones_like(out).npu(), weight.npu(), [1, 1], [0, 0], [1, 1], 1,
        [True, True, False])
    close(found[:2], torch.autograd.grad(out.sum(), (image, weight)), 1e-4)
    expected = wanted(F.mish(leaf))
    with torch.inference_mode():
        close(torch.ops.npu.npu_mish_backward(other.npu(), x.npu()), expected)


@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotary_positions_of_several_axes(mode):
    query, key = torch.randn(5, 2 * 8), torch.randn(5, 8)
    cache, places = torch.randn(9, 8), torch.randint(0, 9, (3, 5))
    found = torch_npu.npu_mrope(places.npu(), query.npu(), key.npu(), cache.npu(), 8,
                                mrope_section=[1, 2, 1], rotary_mode=mode)
    cos, sin = (torch.stack([part[places[axis], i] for i, axis in enumerate((0, 1, 1, 2))], -1)
                for part in cache.chunk(2, -1))

    def turned(x):
        x = x.view(5, -1, 8)
        pairs = (x[..., :4], x[..., 4:]) if mode == "half" else (x[..., ::2], x[..., 1::2])
        c, s = cos.unsqueeze(1), sin.unsqueeze(1)
        one, two = pairs[0] * c - pairs[1] * s, pairs[1] * c + pairs[0] * s
        both = torch.cat((one, two), -1) if mode == "half" else torch.stack((one, two), -1)
        return both.reshape(5, -1)

    close(found, (turned(query), turned(key)))


def test_attention_for_inference():
    query, key, value = (torch.randn(2, n, 4, 8) for n in (6, 7, 7))
    expected = torch.cat([
        _attention(*(x[i:i + 1, :n].transpose(1, 2) for x, n in
                     ((query, 6), (key, ends), (value, ends)))).transpose(1, 2)
        for i, ends in enumerate((4, 7))])
    more = {"num_heads": 4, "scale": 1 / math.sqrt(8)}
    out, sums = torch_npu.npu_fused_infer_attention_score(
        query.npu(), key.npu(), value.npu(), actual_seq_lengths_kv=[4, 7], input_layout="BSND",
        softmax_lse_flag=True, **more)
    close(out, expected)
    scores = (query[1].transpose(0, 1) @ key[1].permute(1, 2, 0)) / math.sqrt(8)
    close(sums[1, ..., 0], scores.logsumexp(-1))
    one = torch_npu.npu_incre_flash_attention(
        query[:, :1].npu(), key.npu(), value.npu(), actual_seq_lengths=[4, 7], num_heads=4,
        scale_value=1 / math.sqrt(8), input_layout="BSND")
    close(one, expected[:, :1])
    masked = torch_npu.npu_fused_infer_attention_score_v2(
        query.flatten(2).npu(), key.flatten(2).npu(), value.flatten(2).npu(), num_query_heads=4,
        softmax_scale=1 / math.sqrt(8), atten_mask=torch.ones(9, 9).triu(1).bool().npu(),
        sparse_mode=3)[0]
    rule = torch.ones(6, 7).tril(1).bool()
    close(masked, _attention(*(x.transpose(1, 2) for x in (query, key, value)),
                             attn_mask=rule).transpose(1, 2).flatten(2))


def test_masks_of_batches_are_not_those_of_heads():
    query, key, value = (torch.randn(2, 2, n, 8) for n in (3, 5, 5))
    masks = torch.rand(2, 3, 5) < 0.4
    masks[..., 0] = False
    out, _ = torch_npu.npu_fused_infer_attention_score(
        query.npu(), key.npu(), value.npu(), num_heads=2, input_layout="BNSD", scale=0.3,
        atten_mask=masks.npu())
    close(out, _attention(query, key, value, attn_mask=~masks.unsqueeze(1), scale=0.3))
    one = torch_npu.npu_incre_flash_attention(
        query[:, :, :1].npu(), key.npu(), value.npu(), num_heads=2, input_layout="BNSD",
        scale_value=0.3, atten_mask=masks[:, 0].npu())
    rule = ~masks[:, :1].unsqueeze(1)
    close(one, _attention(query[:, :, :1], key, value, attn_mask=rule, scale=0.3))


def _hidden(*shape):
    return (torch.rand(shape) < 0.4).index_fill(-1, torch.tensor([0]), False)  # a column is seen


def test_masks_are_of_batches_and_not_of_heads():
    query, key, value = (torch.randn(2, 2, n, 8) for n in (4, 6, 6))  # as many heads as batches
    more = {"num_heads": 2, "input_layout": "BNSD"}
    three = _hidden(2, 4, 6)
    expected = _attention(query, key, value, attn_mask=~three.unsqueeze(1), scale=1.0)
    tensors = query.npu(), key.npu(), value.npu()
    for mask in (three, three.unsqueeze(1)):
        out, _ = torch_npu.npu_fused_infer_attention_score(*tensors, atten_mask=mask.npu(), **more)
        close(out, expected)
        out = torch_npu.npu_prompt_flash_attention(
            *tensors, atten_mask=mask.npu(), next_tokens=6, **more)
        close(out, expected)
    out, _ = torch_npu.npu_fused_infer_attention_score(*tensors, atten_mask=three[1].npu(), **more)
    close(out, _attention(query, key, value, attn_mask=~three[1], scale=1.0))
    one, tensors = query[:, :, :1], (query[:, :, :1].npu(), *tensors[1:])
    for mask in (three[:, 0], three[:, :1], three[:, :1].unsqueeze(1)):
        expected = _attention(one, key, value, attn_mask=~mask.reshape(2, 1, 1, 6), scale=1.0)
        close(torch_npu.npu_incre_flash_attention(*tensors, atten_mask=mask.npu(), **more),
              expected)
        out, _ = torch_npu.npu_fused_infer_attention_score_v2(
            *tensors, atten_mask=mask.npu(), num_query_heads=2, input_layout="BNSD")
        close(out, expected)


def test_a_band_beside_a_mask_is_refused_if_it_hides_more():
    query = torch.randn(1, 2, 4, 8).npu()
    causal, more = torch.ones(4, 4).triu(1).bool().npu(), {"num_heads": 2, "input_layout": "BNSD"}
    for name in ("npu_fused_infer_attention_score", "npu_prompt_flash_attention"):
        run = getattr(torch_npu, name)
        plain = run(query, query, query, atten_mask=causal, **more)
        same = run(query, query, query, atten_mask=causal, pre_tokens=4, next_tokens=0, **more)
        if name == "npu_prompt_flash_attention":
            plain, same = (plain,), (same,)
        close(same[0], plain[0].cpu())
        run(query, query, query, pre_tokens=1, next_tokens=1, **more)  # without a mask: not used
        with pytest.raises(NotImplementedError, match=f"{name}.*pre_tokens 1"):
            run(query, query, query, atten_mask=causal, pre_tokens=1, next_tokens=0, **more)
    with pytest.raises(NotImplementedError, match="next_tokens 0"):  # which is its default
        torch_npu.npu_prompt_flash_attention(
            query, query, query, atten_mask=torch.zeros_like(causal), **more)


def test_attention_on_pages_of_a_cache():
    lengths, table = [3, 6], torch.tensor([[2, 0], [3, 1]]).int()
    pages = torch.randn(4, 4, 16)  # 4 pages of 4 rows, 2 heads of 8
    queries = torch.randn(5, 4, 8)  # of 2 and of 3 rows
    out, _ = torch_npu.npu_fused_infer_attention_score(
        queries.npu(), pages.npu(), pages.npu(), block_table=table.npu(), block_size=4,
        actual_seq_lengths=[2, 5], actual_seq_lengths_kv=lengths, num_heads=4,
        num_key_value_heads=2, scale=0.5, input_layout="TND", sparse_mode=3,
        atten_mask=torch.ones(8, 8).triu(1).bool().npu())
    parts = []
    for i, (begin, end) in enumerate(((0, 2), (2, 5))):
        rows = pages[table[i].long()].flatten(0, 1)[: lengths[i]].view(-1, 2, 8).transpose(0, 1)
        rule = torch.ones(end - begin, lengths[i]).tril(lengths[i] - (end - begin)).bool()
        parts.append(_attention(queries[begin:end].transpose(0, 1)[None], rows[None], rows[None],
                                attn_mask=rule, scale=0.5, enable_gqa=True)[0].transpose(0, 1))
    close(out, torch.cat(parts))


def test_attention_in_parts_is_joined():
    query, key, value = (torch.randn(1, 2, n, 8) for n in (3, 6, 6))
    parts = [
        torch_npu.npu_fused_infer_attention_score(
            query.npu(), k.npu(), v.npu(), num_heads=2, input_layout="BNSD", softmax_lse_flag=True)
        for k, v in zip(key.split(3, 2), value.split(3, 2), strict=True)]
    out, _ = torch_npu.npu_attention_update(
        [sums.flatten() for _, sums in parts], [each.reshape(-1, 8) for each, _ in parts], 0)
    close(out, _attention(query, key, value, scale=1.0).reshape(-1, 8))
