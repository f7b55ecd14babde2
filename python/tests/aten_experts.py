"""Calls of functions for mixtures of experts and of optimizers, and plain formulations of each."""

from __future__ import annotations

import torch

Calls = dict[str, tuple[dict, list]]


def _int(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def _by_expert(experts: torch.Tensor) -> list[int]:
    """The places of a flat list, expert by expert."""
    flat = experts.flatten().tolist()
    return [i for expert in sorted(set(flat)) for i, one in enumerate(flat) if one == expert]


def _where(order: list[int]) -> torch.Tensor:
    return _int([order.index(i) for i in range(len(order))])


def _marks(routing: torch.Tensor) -> list[tuple[int, int]]:
    """Expert and token of each mark, expert by expert."""
    return [(e, t) for e in range(routing.size(1)) for t in range(routing.size(0)) if routing[t, e]]


def init_routing_v2(x, experts, number, capacity=None, flag=0) -> list:
    """Results of aclnnMoeInitRoutingV2; a capacity means dropPadMode 1."""
    order, k = _by_expert(experts), experts.size(1)
    counts = [int((experts == e).sum()) for e in range(number)]
    tokens = x[[i // k for i in order]]
    if capacity is None:
        sums = [sum(counts[: e + 1]) for e in range(number)]
        return [tokens, _where(order), {0: None, 1: _int(sums), 2: _int(counts)}[flag], None]
    padded, rows = x.new_zeros(number, capacity, x.size(1)), [-1] * len(order)
    for e in range(number):
        for slot, i in enumerate([i for i in order if experts.flatten()[i] == e][:capacity]):
            padded[e, slot], rows[i] = x[i // k], e * capacity + slot
    return [padded, _int(rows), None, _int(counts)]


def finalize(expanded, rows, x1, x2, bias, scales, experts, by_rows=False) -> torch.Tensor:
    """The result of aclnnMoeFinalizeRouting."""
    tokens, k = scales.shape
    flat, out = expanded.flatten(0, -2), x1 + x2
    for t in range(tokens):
        for j in range(k):
            row = int(rows[t * k + j] if by_rows else rows[j * tokens + t])
            out[t] += scales[t, j] * ((flat[row] if row >= 0 else 0) + bias[experts[t, j]])
    return out


def permute_by_map(tokens, routing, probs, capacity=None) -> list:
    """Results of aclnnMoeTokenPermuteWithRoutingMap; a capacity means dropAndPad."""
    marks = _marks(routing)
    if capacity is not None:
        marks = []
        for e in range(routing.size(1)):
            column = routing[:, e].tolist()
            first = [t for t in range(len(column)) if column[t]]
            first += [t for t in range(len(column)) if not column[t]]
            marks += [(e, t) for t in first[:capacity]]
    taken = [t for _, t in marks]
    order = taken if capacity is not None else _by_expert(torch.tensor(taken))
    return [tokens[taken], torch.stack([probs[t, e] for e, t in marks]), _int(order)]


def unpermute(rows, indices, probs) -> torch.Tensor:
    """The result of aclnnMoeTokenUnpermute."""
    k = probs.size(1)
    return torch.stack(
        [
            sum(probs[t, j] * rows[indices[t * k + j]] for j in range(k))
            for t in range(probs.size(0))
        ]
    )


def unpermute_by_map(rows, indices, routing, probs, padded=False) -> torch.Tensor:
    """The result of aclnnMoeTokenUnpermuteWithRoutingMap."""
    tokens, experts = routing.shape
    out = [torch.zeros_like(rows[0]) for _ in range(tokens)]
    marks = _marks(routing)
    if padded:
        marks = [(i // (len(indices) // experts), int(t)) for i, t in enumerate(indices)]
    for row, (e, t) in zip(rows, marks, strict=True):
        out[t] = out[t] + probs[t, e] * row
    return torch.stack(out)


def gradients(function, inputs, gradient) -> list[torch.Tensor]:
    """Autograd's gradients of ``function(*inputs)``."""
    inputs = [t.detach().clone().requires_grad_() for t in inputs]
    return list(torch.autograd.grad(function(*inputs), inputs, gradient))


def gating_softmax(x, k) -> list:
    """Results of aclnnMoeGatingTopKSoftmax."""
    values, experts = x.softmax(-1).topk(k, -1)
    rows = torch.arange(experts.numel()).view(k, -1).t().reshape(experts.shape)
    return [values, experts.int(), rows.int()]


def gating(x, bias, k, groups, kept, factor) -> list:
    """Results of aclnnMoeGatingTopK by sigmoid, groups by the sum of their two best."""
    norm, size = x.sigmoid(), x.size(1) // groups
    ys, chosen = [], []
    for row in norm:
        scores = (row + bias).tolist()
        best = sorted(range(groups), key=lambda g: -sum(sorted(scores[g * size :][:size])[-2:]))
        left = [e for g in best[:kept] for e in range(g * size, (g + 1) * size)]
        picked = sorted(left, key=lambda e: -scores[e])[:k]
        ys.append(row[picked] / (row[picked].sum() + 1e-20) * factor)
        chosen.append(picked)
    return [torch.stack(ys), _int(chosen), norm]


def _clear_gate() -> tuple[torch.Tensor, torch.Tensor]:
    """Scores [4, 8] of four groups and a bias [8]: rounding to 16 bits changes no choice."""
    gate = torch.stack([torch.randperm(8) for _ in range(4)]) / 8
    while True:
        bias = torch.rand(8)
        scores = gate.sigmoid() + bias
        sums = scores.view(4, 4, 2).sum(-1)
        if all((t.sort(-1).values.diff() > 0.03).all() for t in (scores, sums / 2)):
            return gate, bias


def adam_w(amsgrad: bool, maximize: bool, steps: int, values: dict) -> list:
    """Weights and moments that PyTorch's AdamW makes of the last of ``steps`` equal gradients."""
    weight = values["varRef"].clone().requires_grad_()
    adam = torch.optim.AdamW(
        [weight], 0.1, (0.9, 0.99), 1e-8, 0.3, amsgrad=amsgrad, maximize=maximize
    )
    state = {"step": torch.tensor(float(steps - 1)), "exp_avg": values["mRef"].clone()}
    state["exp_avg_sq"] = values["vRef"].clone()
    if amsgrad:
        state["max_exp_avg_sq"] = values["maxGradNorm"].clone()
    adam.state[weight].update(state)
    weight.grad = values["grad"].clone()
    adam.step()
    names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * amsgrad
    return [weight.detach(), *(adam.state[weight][name] for name in names)]


def _optimizer_calls() -> Calls:
    state = dict(zip(("varRef", "mRef", "vRef", "grad"), torch.rand(4, 3, 5).unbind()))

    def one(number):
        return torch.tensor([number])

    numbers = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weightDecay": 0.3, "eps": 1e-8}
    v1 = state | {name: one(number) for name, number in numbers.items()}
    most = {"maxGradNorm": state["vRef"] + 0.2}
    m, v = state["mRef"] * 0.9 + state["grad"] * 0.1, state["vRef"] * 0.99
    v = v + state["grad"].square() * 0.01
    moved = state["varRef"] - 0.1 * (1 - 0.99**3) ** 0.5 / (1 - 0.9**3) * m / (v.sqrt() + 1e-8)
    power = {"beta1Power": one(0.9**3), "beta2Power": one(0.99**3)}
    return {
        "ApplyAdam": (v1 | power | {"epsilon": one(1e-8)}, [moved, m, v]),
        "ApplyAdamW": (
            v1 | power | {"maximize": True},
            adam_w(False, True, 4, state),
        ),
        "ApplyAdamWV2": (
            state | numbers | most | {"step": one(3), "amsgrad": True},
            adam_w(True, False, 4, state | most),
        ),
    }


def _routing_calls() -> Calls:
    x, (gate, bias_of_gate) = torch.rand(4, 6), _clear_gate()
    experts = _int([[2, 0], [1, 2], [0, 1], [2, 1]])
    order = _by_expert(experts)
    rows_of = torch.arange(8).view(2, 4).t().contiguous().int()  # columns first
    by_rows = [int(rows_of.flatten()[i]) for i in order]
    expanded, x1, x2 = torch.rand(8, 6), torch.rand(4, 6), torch.rand(4, 6)
    scales, bias = torch.rand(4, 2), torch.rand(3, 6)
    last = {"x1": x1, "x2": x2, "bias": bias, "scales": scales, "expertIdx": experts}
    last |= {"expandedX": expanded, "expandedRowIdx": _where(by_rows)}
    finished = torch.tensor([False, True, False, True])
    y, chosen, rows = gating_softmax(gate, 3)
    top, chosen_v2 = gate.topk(3, -1)
    grouped = {"bias": bias_of_gate, "k": 3, "kGroup": 2, "groupCount": 4, "groupSelectMode": 1}
    numbers = {"normType": 1, "outFlag": True, "routedScalingFactor": 2.5, "eps": 1e-20}
    return {
        "MoeInitRouting": (
            {"x": x, "rowIdx": rows_of, "expertIdx": experts, "activeNum": 3},
            [x[[r % 4 for r in by_rows]][:6], _where(by_rows), experts.flatten().sort()[0]],
        ),
        "MoeInitRoutingV2": (
            {"x": x, "expertIdx": experts, "expertNum": 3, "expertTokensCountOrCumsumFlag": 1},
            init_routing_v2(x, experts, 3, flag=1),
        ),
        "MoeFinalizeRouting": (
            last,
            [
                finalize(
                    expanded,
                    last["expandedRowIdx"],
                    **{name: last[name] for name in ("x1", "x2", "bias", "scales")},
                    experts=experts,
                )
            ],
        ),
        "MoeFinalizeRoutingV2": (
            last | {"dropPadMode": 2},
            [finalize(expanded, last["expandedRowIdx"], x1, x2, bias, scales, experts, True)],
        ),
        "MoeGatingTopKSoftmax": (
            {"x": gate, "finished": finished, "k": 3},
            [y, torch.where(finished.unsqueeze(1), 8, chosen).int(), rows],
        ),
        "MoeGatingTopKSoftmaxV2": (
            {"x": gate, "k": 3, "renorm": 1},
            [top.softmax(-1), chosen_v2.int()],
        ),
        "MoeGatingTopK": (
            {"x": gate, **grouped, **numbers},
            gating(gate, bias_of_gate, 3, 4, 2, 2.5),
        ),
        "MoeComputeExpertTokens": (
            {"sortedExperts": _int([0, 0, 1, 3, 3]), "numExperts": 5},
            [_int([2, 3, 3, 5, 5])],
        ),
    }


def _token_calls() -> Calls:
    x, dy, probs = torch.rand(4, 6), torch.rand(4, 6), torch.rand(4, 2)
    experts = _int([[2, 0], [1, 2], [0, 1], [2, 1]])
    order = _by_expert(experts)
    indices, rows = _where(order), torch.rand(8, 6)
    routing = torch.tensor([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 1, 1]], dtype=torch.int8)
    chances = torch.rand(4, 3)
    permuted = permute_by_map(x, routing, chances)
    both = gradients(
        lambda *t: torch.cat([p.flatten() for p in permute_by_map(t[0], routing, t[1])[:2]]),
        [x, chances],
        torch.cat((rows.flatten(), rows[:, 0])),
    )
    by_map = {"sortedIndices": permuted[2], "routingMap": routing}
    ids = torch.arange(8).int() // 2
    mapped = [unpermute_by_map(rows, permuted[2], routing, chances), permuted[2], ids, permuted[1]]
    unmapped = gradients(
        lambda *t: unpermute_by_map(t[0], permuted[2], routing, t[1]), [rows, chances], dy
    )
    shape = {"restoreShape": [4, 6]}
    return {
        "MoeTokenPermute": (
            {"tokens": x, "indices": experts, "numOutTokens": 8},
            [x[[i // 2 for i in order]], indices],
        ),
        "MoeTokenPermuteGrad": (
            {"grad": rows, "sortedIndices": indices, "numTopk": 2},
            gradients(lambda t: t[[i // 2 for i in order]], [x], rows),
        ),
        "MoeTokenUnpermute": (
            {"permutedTokens": rows, "sortedIndices": indices, "probs": probs},
            [unpermute(rows, indices, probs)],
        ),
        "MoeTokenUnpermuteGrad": (
            {"permutedTokens": rows, "grad": dy, "sortedIndices": indices, "probs": probs},
            gradients(lambda *t: unpermute(t[0], indices, t[1]), [rows, probs], dy),
        ),
        "MoeTokenPermuteWithRoutingMap": (
            {"tokens": x, "routingMap": routing, "probs": chances, "numOutTokens": 8},
            permuted,
        ),
        "MoeTokenPermuteWithRoutingMapGrad": (
            {"grad": rows, "probsGrad": rows[:, 0], **by_map, "expertsNum": 3, "tokensNum": 4},
            both,
        ),
        "MoeTokenUnpermuteWithRoutingMap": (
            {"permutedTokens": rows, "probs": chances, **by_map, **shape},
            mapped,
        ),
        "MoeTokenUnpermuteWithRoutingMapGrad": (
            {"grad": dy, "outIndex": permuted[2], "permuteTokenId": ids, "routingMap": routing,
             "permutedTokens": rows, "probs": chances, **shape},
            unmapped,
        ),
    }  # fmt: skip


def _product_calls() -> Calls:
    x, experts, biases = torch.rand(4, 6), torch.rand(2, 6, 3), torch.rand(2, 3)
    parts = [x[:1] @ experts[0] + biases[0], x[1:] @ experts[1] + biases[1]]
    one = {"x": [x], "weight": [experts], "bias": [biases]}
    ends, lengths = torch.tensor([1, 4]), torch.tensor([1, 3])
    several = {"x": [x[:1], x[1:]], "weight": list(experts), "bias": list(biases)}
    columns = {"x": [x.mT], "weight": [torch.rand(4, 3)], "groupType": 2, "groupListType": 1}
    sums = [x[:1].mT @ columns["weight"][0][:1], x[1:].mT @ columns["weight"][0][1:]]
    return {
        "GroupedMatmul": (several, parts),
        "GroupedMatmulV2": (one | {"groupList": [1, 4], "splitItem": 1}, parts),
        "GroupedMatmulV3": (one | {"groupList": ends, "splitItem": 3}, [torch.cat(parts)]),
        "GroupedMatmulV4": (one | {"groupList": lengths, "groupListType": 1}, [torch.cat(parts)]),
        "GroupedMatmulV5": (columns | {"groupList": lengths}, [torch.stack(sums)]),
    }


def calls() -> Calls:
    """By the function's name: values of its parameters but for outputs, and the outputs' values."""
    return _optimizer_calls() | _routing_calls() | _token_calls() | _product_calls()
