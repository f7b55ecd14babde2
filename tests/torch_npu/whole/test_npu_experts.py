"""torch_npu's operators of large language models: routing, grouped products, whole numbers."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from compare import close


def test_tokens_go_to_their_experts_and_back():
    tokens = torch.randn(4, 3).requires_grad_()
    experts = torch.tensor([[0, 4], [4, 3], [4, 2], [1, 1]])
    there = tokens.detach().npu().requires_grad_()
    permuted, places = torch_npu.npu_moe_token_permute(there, experts.npu())
    order = experts.flatten().argsort(stable=True)
    close(permuted, tokens[order // 2])
    assert places.dtype == torch.int32 and places.tolist() == [0, 5, 6, 4, 7, 3, 1, 2]
    probs = torch.rand(4, 2)
    back = torch_npu.npu_moe_token_unpermute(permuted, places, probs.npu())
    close(back, tokens * probs.sum(1, keepdim=True))
    back.sum().backward()
    close(there.grad, probs.sum(1, keepdim=True).expand(4, 3))


def test_dropped_tokens_count_nothing():
    tokens, experts = torch.randn(3, 2), torch.tensor([[0], [1], [2]])
    permuted, places = torch_npu.npu_moe_token_permute(tokens.npu(), experts.npu(), 2)
    assert permuted.shape == (2, 2)
    back = torch_npu.npu_moe_token_unpermute(permuted, places)
    close(back, torch.cat((tokens[:2], torch.zeros(1, 2))))


def test_routing_for_inference():
    x = torch.tensor([[0.1] * 4, [0.2] * 4, [0.3] * 4])
    rows = torch.tensor([[0, 3], [1, 4], [2, 5]], dtype=torch.int32)
    experts = torch.tensor([[1, 2], [0, 1], [0, 2]], dtype=torch.int32)
    expanded, places, sorted_experts = torch_npu.npu_moe_init_routing(
        x.npu(), rows.npu(), experts.npu(), 3)
    assert sorted_experts.tolist() == [0, 0, 1, 1, 2, 2]
    counts = torch_npu.npu_moe_compute_expert_tokens(sorted_experts, 3)
    assert counts.tolist() == [2, 4, 6] and counts.dtype == torch.int32
    scales, bias = torch.rand(3, 2), torch.randn(3, 4)
    out = torch_npu.npu_moe_finalize_routing(
        expanded, None, None, bias.npu(), scales.npu(), places, experts.npu())
    close(out, (scales.unsqueeze(-1) * (x.unsqueeze(1) + bias[experts.long()])).sum(1))


def test_routing_keeps_the_order_of_tokens():
    x = torch.tensor([[0.1], [0.2]])
    rows = torch.tensor([[0, 2], [1, 3]], dtype=torch.int32)
    experts = torch.tensor([[0, 1], [1, 0]], dtype=torch.int32)
    expanded, places, found = torch_npu.npu_moe_init_routing(x.npu(), rows.npu(), experts.npu(), 2)
    assert found.tolist() == [0, 0, 1, 1] and places.tolist() == [0, 3, 2, 1]
    close(expanded, x[[0, 1, 0, 1]])


def test_the_best_experts_of_the_best_groups():
    x, bias = torch.randn(5, 8), torch.rand(8)
    values, experts, _ = torch_npu.npu_moe_gating_top_k(
        x.npu(), 3, bias=bias.npu(), k_group=2, group_count=4, group_select_mode=1, norm_type=1,
        routed_scaling_factor=2.5)
    norm = x.sigmoid()
    groups = (norm + bias).view(5, 4, 2)
    allowed = torch.zeros(5, 4).scatter(1, groups.sum(-1).topk(2)[1], 1).bool()
    expected = groups.masked_fill(~allowed.unsqueeze(-1), -math.inf).flatten(1).topk(3)[1]
    assert torch.equal(experts.cpu().long(), expected)
    chosen = norm.gather(1, expected)
    close(values, chosen / chosen.sum(1, keepdim=True) * 2.5)


def test_grouped_products():
    x, weights, bias = torch.randn(7, 4), torch.randn(3, 4, 5), torch.randn(3, 5)
    expected = torch.cat([p @ w for p, w in zip(x.split([2, 0, 5]), weights, strict=True)])
    ends = torch.tensor([2, 2, 7]).npu()
    more = {"split_item": 3, "group_type": 0}
    (found,) = torch_npu.npu_grouped_matmul([x.npu()], [weights.npu()], group_list=ends, **more)
    close(found, expected)
    (found,) = torch_npu.npu_grouped_matmul(
        [x.npu()], list(weights.npu()), bias=list(bias.npu()),
        group_list=torch.tensor([2, 0, 5]).npu(), group_list_type=1, **more)
    close(found, expected + bias.repeat_interleave(torch.tensor([2, 0, 5]), 0))
    found = torch_npu.npu_grouped_matmul(
        list(x.npu().split([2, 0, 5])), list(weights.npu()), group_type=-1)
    close(found, [p @ w for p, w in zip(x.split([2, 0, 5]), weights, strict=True)])
    (grads,) = torch_npu.npu_grouped_matmul(  # of the weights
        [x.t().npu()], [expected.npu()], group_list=ends, split_item=3, group_type=2)
    close(grads, torch.stack([p.t() @ y for p, y in
                              zip(x.split([2, 0, 5]), expected.split([2, 0, 5]), strict=True)]))


def test_grouped_products_of_whole_numbers():
    x = torch.randint(-128, 128, (4, 64), dtype=torch.int8)
    weights = torch.randint(-128, 128, (2, 64, 3), dtype=torch.int8)
    scale, tokens = torch.rand(2, 3), torch.rand(4) / 100
    (found,) = torch_npu.npu_grouped_matmul(
        [x.npu()], [weights.npu()], scale=[scale.npu()], per_token_scale=[tokens.npu()],
        group_list=torch.tensor([1, 4]).npu(), split_item=3, group_type=0,
        output_dtype=torch.bfloat16)
    exact = torch.cat([p.double() @ w.double() * s
                       for p, w, s in zip(x.split([1, 3]), weights, scale, strict=True)])
    close(found, (exact * tokens.unsqueeze(1)).bfloat16(), 1e-2)
    bias = torch.full((2, 3), 0.7)  # of the result, if it is of floating point
    (found,) = torch_npu.npu_grouped_matmul(
        [x.npu()], [weights.npu()], bias=[bias.npu()], scale=[scale.npu()],
        per_token_scale=[tokens.npu()], group_list=torch.tensor([1, 4]).npu(), split_item=3,
        group_type=0, output_dtype=torch.float16)
    close(found, (exact * tokens.unsqueeze(1) + 0.7).half(), 1e-2)


@pytest.mark.parametrize("name", ["gelu", "relu", "silu", "fastgelu", "swiglu", "reglu"])
def test_feed_forward(name):
    gated = name in ("swiglu", "reglu")
    x, first, second = torch.randn(6, 4), torch.randn(4, 8), torch.randn(4 if gated else 8, 4)
    simple = {"gelu": F.gelu, "relu": F.relu, "silu": F.silu,
              "fastgelu": lambda y: y * (1.702 * y).sigmoid(),
              "swiglu": lambda y: F.silu(y[:, :4]) * y[:, 4:],
              "reglu": lambda y: F.relu(y[:, :4]) * y[:, 4:]}
    close(torch_npu.npu_ffn(x.npu(), first.npu(), second.npu(), name),
          simple[name](x @ first) @ second)
    firsts, seconds = torch.stack((first, -first)), torch.stack((second, second))
    found = torch_npu.npu_ffn(x.npu(), firsts.npu(), seconds.npu(), name, expert_tokens=[2, 4])
    signs = torch.tensor([1.0] * 2 + [-1.0] * 4).unsqueeze(1)
    close(found, simple[name](signs * (x @ first)) @ second)


def test_whole_numbers_for_activations_and_weights():
    x = torch.randn(3, 5, 8)
    numbers, scale = torch_npu.npu_dynamic_quant(x.npu())
    assert numbers.dtype == torch.int8 and scale.shape == (3, 5)
    close(scale, x.abs().amax(-1) / 127)
    assert torch.equal(numbers.cpu(), (x / scale.cpu().unsqueeze(-1)).round().to(torch.int8))
    assert torch_npu.npu_dynamic_quant(torch.zeros(2, 4).npu())[0].abs().sum() == 0
    weight = torch.randint(-128, 128, (8, 6), dtype=torch.int8)
    factors, bias = torch.rand(6), torch.randn(6)
    found = torch_npu.npu_quant_matmul(
        numbers[0], weight.npu(), factors.npu(), pertoken_scale=scale[0], bias=bias.npu(),
        output_dtype=torch.float16)
    exact = numbers[0].cpu().double() @ weight.double() * factors * scale[0].cpu().unsqueeze(1)
    close(found, (exact + bias).half(), 1e-2)
    close(torch_npu.npu_weight_quant_batchmatmul(x[0].npu(), weight.npu(), factors.npu()),
          x[0] @ (weight * factors), 1e-4)
    close(torch_npu.npu_anti_quant(weight.npu(), factors.npu()), (weight * factors).half())
    steps = torch_npu.npu_quantize(x[0].npu(), factors[:5].npu(), None, torch.qint8, 0)
    expected = (x[0] / factors[:5].unsqueeze(1)).round().clamp(-128, 127).to(torch.int8)
    assert torch.equal(steps.cpu(), expected)


def test_losses_and_sampling():
    x = torch.randn(6, 9).requires_grad_()
    target = torch.tensor([1, 2, -100, 4, 0, 8])
    there = x.detach().npu().requires_grad_()
    loss, likely, _, _ = torch_npu.npu_cross_entropy_loss(there, target.npu())
    expected = F.cross_entropy(x, target)
    close(loss, expected.reshape(1))
    close(likely, x.log_softmax(-1))
    loss.backward()
    expected.backward()
    close(there.grad, x.grad)
    logits = x.detach()
    kept = torch_npu.npu_top_k_top_p(logits.npu(), None, torch.tensor([2] * 6).int().npu())
    assert torch.equal(kept.cpu().isfinite(), logits >= logits.topk(2)[0][:, -1:])
    kept = torch_npu.npu_top_k_top_p(logits.npu(), torch.full((6,), 1e-6).npu(), None)
    assert torch.equal(kept.cpu().isfinite().sum(1), torch.ones(6).long())
    close(torch_npu.npu_clipped_swiglu(x.detach()[:, :8].npu(), interleaved=False),
          logits[:, :4].clamp(max=7) * (1.702 * logits[:, :4]).sigmoid() * (logits[:, 4:8] + 1))


def test_what_experts_cannot_is_named():
    x = torch.zeros(2, 4).npu()
    with pytest.raises(NotImplementedError, match="npu_grouped_matmul.*offset"):
        torch_npu.npu_grouped_matmul([x], [x.t()], offset=[x])
    with pytest.raises(NotImplementedError, match="npu_dynamic_quant.*291"):
        torch_npu.npu_dynamic_quant(x, dst_type=291)
    with pytest.raises(NotImplementedError, match="npu_quant_matmul.*int8"):
        torch_npu.npu_quant_matmul(x, x.t(), x[0, :2])


def test_a_bias_of_grouped_whole_numbers():
    x = torch.randint(-128, 128, (4, 64), dtype=torch.int8)
    weights = torch.randint(-128, 128, (2, 64, 3), dtype=torch.int8)
    scale, tokens, bias = torch.rand(2, 3), torch.rand(4) / 100, torch.rand(2, 3)
    product = torch.cat([p.double() @ w.double() for p, w in zip(x.split([1, 3]), weights,
                                                             strict=True)])

    def by_row(t):
        return t.repeat_interleave(torch.tensor([1, 3]), 0)

    def run(**more):
        (found,) = torch_npu.npu_grouped_matmul(
            [x.npu()], [weights.npu()], group_list=torch.tensor([1, 4]).npu(), split_item=3,
            group_type=0, **more)
        return found

    scales = {"scale": [scale.npu()], "per_token_scale": [tokens.npu()]}
    close(run(bias=[bias.npu()], output_dtype=torch.bfloat16, **scales),
          (product * by_row(scale) * tokens.unsqueeze(1) + by_row(bias)).bfloat16(), 1e-2)
    whole = torch.randint(-9000, 9000, (2, 3), dtype=torch.int32)
    close(run(bias=[whole.npu()], output_dtype=torch.bfloat16, **scales),
          ((product + by_row(whole)) * by_row(scale) * tokens.unsqueeze(1)).bfloat16(), 1e-2)
    found = run(bias=[whole.npu()], output_dtype=torch.int32)
    assert torch.equal(found.cpu(), (product + by_row(whole)).int())
    for words, more in {
        "int32": {"bias": [bias.npu()], "output_dtype": torch.int32},
        "int8": scales,
        "whole numbers": {"scale": [scale.long().npu()], "output_dtype": torch.float16},
    }.items():
        with pytest.raises(NotImplementedError, match=f"npu_grouped_matmul.*{words}"):
            run(**more)


def test_groups_that_cannot_be_are_named():
    x, weights = torch.randn(7, 4).npu(), torch.randn(2, 4, 5).npu()
    with pytest.raises(NotImplementedError, match="npu_grouped_matmul.*group_list_type 2"):
        torch_npu.npu_grouped_matmul([x], [weights], group_list=torch.ones(2, 2).long().npu(),
                                     group_list_type=2, split_item=3, group_type=0)
    with pytest.raises(NotImplementedError, match="npu_grouped_matmul.*5 of 7 rows"):
        torch_npu.npu_grouped_matmul([x], [weights], group_list=torch.tensor([2, 5]).npu(),
                                     split_item=3, group_type=0)


def test_a_result_of_int32_drops_nothing():
    x = torch.randint(-128, 128, (3, 8), dtype=torch.int8)
    weight, scale = torch.randint(-128, 128, (8, 6), dtype=torch.int8), torch.ones(6)
    more = {"output_dtype": torch.int32}
    bias = torch.arange(6, dtype=torch.int32)
    found = torch_npu.npu_quant_matmul(x.npu(), weight.npu(), scale.npu(), bias=bias.npu(), **more)
    assert torch.equal(found.cpu(), x.int() @ weight.int() + bias)
    for words, others in {"bias": {"bias": torch.rand(6).npu()},
                          "pertoken_scale": {"pertoken_scale": torch.rand(3).npu()}}.items():
        with pytest.raises(NotImplementedError, match=f"npu_quant_matmul.*{words}"):
            torch_npu.npu_quant_matmul(x.npu(), weight.npu(), scale.npu(), **others, **more)
