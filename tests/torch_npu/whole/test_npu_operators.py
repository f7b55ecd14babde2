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
           *(_leaf(2, 3, 5, 8), torch.randn(1, 1, 5, 8), torch.randn(1, 1, 5, 8)))


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
        *(_leaf(2, 4, 5, 8), _leaf(2, heads, 6, 8), _leaf(2, heads, 6, 8)),
    )


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
    with pytest.raises(NotImplementedError, match="npu::npu_dynamic_quant"):
        torch_npu.npu_dynamic_quant(x)


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
