"""Functions for mixtures of experts: more forms than in test_aten.py, 16 bits, empty, bad input."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from aten_call import LIBRARIES, AclnnError, Caller, read_rows  # noqa: E402

if not (LIBRARIES / "libportacl_aten.so").exists():
    pytest.skip("ASCEND_HOME_PATH has no libportacl_aten.so", allow_module_level=True)

import aten_experts  # noqa: E402

ROWS = {row.name: row for row in read_rows()}
CALLS = aten_experts.calls()
EXPERTS = torch.tensor([[2, 0], [1, 2], [0, 1], [2, 1]], dtype=torch.int32)
ROUTING = torch.tensor([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 1, 1]], dtype=torch.int8)


@pytest.fixture(scope="module")
def caller():
    return Caller()


def _run(caller, name: str, values: dict, results: list) -> list:
    """Call a function with outputs like ``results``; return the outputs."""
    row = ROWS[name]
    outputs = [p for p in row.parameters if p.kind[0] in "OM"]
    if outputs[0].kind == "OL":
        made = [[torch.full_like(r, 9) for r in results]]
    else:
        made = [
            None
            if r is None or (p.kind == "M" and values.get(p.name) is None)
            else torch.full_like(r, 9) if p.kind == "O" else values[p.name].clone()
            for p, r in zip(outputs, results)
        ]  # fmt: skip
    caller.call(row, values | {p.name: m for p, m in zip(outputs, made)})
    return made[0] if outputs[0].kind == "OL" else made


def _check(caller, name: str, values: dict, results: list, **bounds) -> None:
    for made, result in zip(_run(caller, name, values, results), results, strict=True):
        if result is not None:
            torch.testing.assert_close(made, result, **bounds)


def _cast(value, dtype):
    if isinstance(value, list):
        return [_cast(one, dtype) for one in value]
    floats = isinstance(value, torch.Tensor) and value.dtype == torch.float32
    return value.to(dtype) if floats else value


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", CALLS)
def test_sixteen_bits(caller, name, dtype):
    values, results = CALLS[name]
    if name.startswith("ApplyAdam"):  # numbers of one step are exact in FLOAT alone
        scalars = {n: v for n, v in values.items() if torch.is_tensor(v) and v.numel() == 1}
        values = {n: _cast(v, dtype) for n, v in values.items()} | scalars
    else:
        values = {n: _cast(v, dtype) for n, v in values.items()}
    made = _run(caller, name, values, _cast(list(results), dtype))
    for one, result in zip(made, results, strict=False):
        if result is not None and result.is_floating_point():
            torch.testing.assert_close(one.float(), result, rtol=0.03, atol=0.06)


def test_init_routing_drops_and_pads(caller):
    x = torch.rand(4, 6)
    given = {"x": x, "expertIdx": EXPERTS, "expertNum": 4}
    padded = given | {"dropPadMode": 1, "expertCapacity": 2, "expertTokensBeforeCapacityFlag": True}
    wanted = aten_experts.init_routing_v2(x, EXPERTS, 4, 2)
    assert -1 in wanted[1] and not wanted[0][3].any()  # dropped, and an expert without tokens
    _check(caller, "MoeInitRoutingV2", padded, wanted)
    for flag in (0, 2):
        wanted = aten_experts.init_routing_v2(x, EXPERTS, 4, flag=flag)
        counts = {"expertTokensCountOrCumsumFlag": flag}
        _check(caller, "MoeInitRoutingV2", given | counts, wanted)
    wanted[0] = wanted[0][:5]
    _check(caller, "MoeInitRoutingV2", given | counts | {"activeNum": 5}, wanted)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_finalize_routing_by_columns_and_rows(caller, mode):
    x, x1, x2 = torch.rand(3, 3, 6), torch.rand(4, 6), torch.rand(4, 6)
    rows = torch.tensor([4, 0, -1, 7, 2, 3, -1, 8], dtype=torch.int32)
    if mode % 2 == 0:
        x, rows = x.flatten(0, 1)[:8].contiguous(), torch.randperm(8).int()
    given = {"expandedX": x, "expandedRowIdx": rows, "x1": x1, "x2": x2, "bias": torch.rand(3, 6)}
    given |= {"scales": torch.rand(4, 2), "expertIdx": EXPERTS, "dropPadMode": mode}
    parts = [given[n] for n in ("expandedX", "expandedRowIdx", "x1", "x2", "bias", "scales")]
    wanted = aten_experts.finalize(*parts, EXPERTS, by_rows=mode >= 2)
    _check(caller, "MoeFinalizeRoutingV2", given, [wanted])


def test_finalize_routing_without_options(caller):
    x, rows = torch.rand(4, 6), torch.randperm(4).int()
    given = {"expandedX": x, "expandedRowIdx": rows}
    _check(caller, "MoeFinalizeRoutingV2", given, [x[rows.long()]])


def test_gating_gives_softmax_and_takes_the_largest_groups(caller):
    x = torch.rand(2, 3, 8)
    y, experts = x.softmax(-1).topk(2, -1)
    given = {"x": x, "k": 2, "outputSoftmaxResultFlag": True}
    _check(caller, "MoeGatingTopKSoftmaxV2", given, [y, experts.int(), x.softmax(-1)])
    x = torch.tensor([[0.9, 0.0, 0.5, 0.6, 0.7, 0.8]])
    given = {"x": x, "k": 2, "kGroup": 1, "groupCount": 3, "routedScalingFactor": 2.0}
    wanted = 2 * x.softmax(-1)[:, :2]  # of the first group, because 0.9 is there
    _check(caller, "MoeGatingTopK", given, [wanted, torch.tensor([[0, 1]], dtype=torch.int32)])


def test_fewer_tokens_than_places(caller):
    x, probs, dy = torch.rand(4, 6), torch.rand(4, 2), torch.rand(4, 6)
    all_rows = aten_experts._by_expert(EXPERTS)
    places = aten_experts._where(all_rows)
    kept = x[[i // 2 for i in all_rows]][:5]
    given = {"tokens": x, "indices": EXPERTS, "numOutTokens": 5}
    _check(caller, "MoeTokenPermute", given, [kept, places])
    given = {"permutedTokens": kept, "sortedIndices": places, "probs": probs}

    def unpermute(rows, probs):
        return aten_experts.unpermute(torch.cat((rows, torch.zeros(3, 6))), places, probs)

    _check(caller, "MoeTokenUnpermute", given, [unpermute(kept, probs)])
    wanted = aten_experts.gradients(unpermute, [kept, probs], dy)
    _check(caller, "MoeTokenUnpermuteGrad", given | {"grad": dy}, wanted)
    flat = {"sortedIndices": torch.tensor([2, 0, 1], dtype=torch.int32)}
    _check(caller, "MoeTokenUnpermute", {"permutedTokens": x[:3], **flat}, [x[[2, 0, 1]]])
    _check(caller, "MoeTokenUnpermuteGrad", {"grad": dy[:3], **flat}, [dy[[1, 2, 0]]])


def test_padded_routing_maps_and_their_gradients(caller):
    x, chances, dy = torch.rand(4, 6), torch.rand(4, 3), torch.rand(4, 6)
    wanted = aten_experts.permute_by_map(x, ROUTING, chances, 2)
    given = {"tokens": x, "routingMap": ROUTING, "probs": chances, "numOutTokens": 7}
    _check(caller, "MoeTokenPermuteWithRoutingMap", given | {"dropAndPad": True}, wanted)
    rows, indices = torch.rand(6, 6), wanted[2]

    def permute(x, chances):
        made = aten_experts.permute_by_map(x, ROUTING, chances, 2)
        return torch.cat((made[0].flatten(), made[1]))

    grads = aten_experts.gradients(permute, [x, chances], torch.cat((rows.flatten(), rows[:, 1])))
    given = {"grad": rows, "probsGrad": rows[:, 1], "sortedIndices": indices, "dropAndPad": True}
    given |= {"routingMap": ROUTING, "expertsNum": 3, "tokensNum": 4}
    _check(caller, "MoeTokenPermuteWithRoutingMapGrad", given, grads)

    def unpermute(rows, chances):
        return aten_experts.unpermute_by_map(rows, indices, ROUTING, chances, True)

    ids, order = indices.sort(stable=True)
    given = {"permutedTokens": rows, "sortedIndices": indices, "routingMap": ROUTING}
    given |= {"probs": chances, "restoreShape": [4, 6]}
    results = [unpermute(rows, chances), order.int(), ids, wanted[1]]
    _check(caller, "MoeTokenUnpermuteWithRoutingMap", given | {"paddedMode": True}, results)
    given |= {"grad": dy, "outIndex": order.int(), "permuteTokenId": ids, "dropAndPad": True}
    grads = aten_experts.gradients(unpermute, [rows, chances], dy)
    _check(caller, "MoeTokenUnpermuteWithRoutingMapGrad", given, grads)


def test_grouped_products_in_all_forms(caller):
    x, weight = torch.rand(5, 6), torch.rand(2, 6, 3)
    one = {"x": [x], "weight": [weight], "groupType": 0}
    parts = [x[:2] @ weight[0], x[2:] @ weight[1]]
    _check(caller, "GroupedMatmul", {**one, "groupList": [2, 5]}, [torch.cat(parts)])
    ends = {"groupList": torch.tensor([2, 5])}
    _check(caller, "GroupedMatmulV4", {**one, **ends}, parts)
    several = {"x": [x[:2], x[2:]], "weight": list(weight), "groupType": -1}
    _check(caller, "GroupedMatmulV5", several, [torch.cat(parts)])
    empty = {"groupList": torch.tensor([0, 5]), "scale": [torch.empty(0)]}
    _check(caller, "GroupedMatmulV3", {**one, **empty}, [x @ weight[1]])


@pytest.mark.parametrize("form", ["ends", "lengths"])
def test_groups_of_columns(caller, form):
    x, weight = torch.rand(3, 6), torch.rand(6, 4)
    groups = torch.tensor([2, 6] if form == "ends" else [2, 4])
    given = {"x": [x], "groupType": 2, "groupListType": int(form == "lengths"), "groupList": groups}
    wanted = [torch.stack((x[:, :2] @ weight[:2], x[:, 2:] @ weight[2:]))]
    for one in ([weight], [weight[:2], weight[2:]]):
        _check(caller, "GroupedMatmulV4", given | {"weight": one}, wanted)
    for wrong in ([weight[:4], weight[4:]], [weight, weight]):  # of other lengths than the groups
        with pytest.raises(AclnnError, match="cannot be multiplied|same reduction dim"):
            _run(caller, "GroupedMatmulV4", given | {"weight": wrong}, wanted)
    with pytest.raises(AclnnError, match="weight has 3 members, but groupList 2") as refused:
        _run(caller, "GroupedMatmulV4", given | {"weight": list(weight.split(2))}, wanted)
    assert refused.value.code == 161002


def test_groups_that_leave_rows(caller):
    x, weight = torch.rand(5, 6), torch.rand(2, 6, 3)
    given = {"x": [x], "weight": [weight], "groupType": 0}
    parts = [x[:1] @ weight[0], x[1:4] @ weight[1]]
    words = "groupList divides 4 rows, but x has 5"
    for name, groups, code in (
        ("GroupedMatmulV2", [1, 4], 161002),
        ("GroupedMatmulV3", torch.tensor([1, 4]), 507000),
    ):
        _check(caller, name, given | {"groupList": groups}, parts)
        with pytest.raises(AclnnError, match=words) as refused:
            _run(caller, name, given | {"groupList": groups}, [torch.empty(5, 3)])
        assert refused.value.code == code


def test_adam_by_nesterov(caller):
    values, (_, m, v) = CALLS["ApplyAdam"]
    ahead = m * values["beta1"] + values["grad"] * (1 - values["beta1"])
    rate = 0.1 * (1 - 0.99**3) ** 0.5 / (1 - 0.9**3)
    moved = values["varRef"] - rate * ahead / (v.sqrt() + 1e-8)
    _check(caller, "ApplyAdam", values | {"useNesterov": True}, [moved, m, v])


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_adam_w_in_all_forms(caller, amsgrad, maximize):
    most = CALLS["ApplyAdamWV2"][0]["maxGradNorm"]
    for name in ("ApplyAdamW", "ApplyAdamWV2"):
        values = {**CALLS[name][0], "amsgrad": amsgrad, "maximize": maximize}
        values["maxGradNorm"] = most if amsgrad else None
        wanted = aten_experts.adam_w(amsgrad, maximize, 4, values)
        if name == "ApplyAdamW":
            wanted = wanted[:3]
        _check(caller, name, values, wanted)


@pytest.mark.parametrize("step", [1, 2, 5])
def test_adam_w_keeps_the_digits_of_small_corrections(caller, step):
    numbers = {"lr": 1.0, "beta1": 0.999, "beta2": 0.999, "weightDecay": 0.0, "eps": 0.0}
    beta = float(torch.tensor(0.999))
    state = {"varRef": torch.zeros(4), "mRef": torch.rand(4), "vRef": torch.rand(4)}
    grad = torch.rand(4)
    m, v = (
        state[n].double() * beta + g * (1 - beta) for n, g in (("mRef", grad), ("vRef", grad**2))
    )
    left = 1 - beta ** (step + 1)
    wanted = [-(m / left / (v / left).sqrt()).float(), m.float(), v.float()]
    values = state | numbers | {"grad": grad, "step": torch.tensor([step])}
    _check(caller, "ApplyAdamWV2", values, wanted, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("GroupedMatmulV4", {"scale": [torch.ones(3)]}, "scale is given, but quantised"),
        ("GroupedMatmulV3", {"antiquantScale": [torch.ones(3)]}, "antiquantScale is given"),
        ("GroupedMatmulV4", {"actType": 2}, "actType is not 0"),
        ("GroupedMatmulV4", {"groupListType": 2}, "groupListType is 2"),
        ("GroupedMatmulV3", {"groupList": torch.tensor([4, 1])}, "non-negative"),
        ("GroupedMatmulV4", {"groupList": torch.tensor([3, 3])}, "groupList has 3, but 1 rows"),
        (
            "GroupedMatmulV3",
            {"weight": [torch.rand(2, 5, 3)]},
            "same reduction dim|cannot be multiplied",
        ),
        ("GroupedMatmulV3", {"groupType": 1}, "groups of this kind"),
        ("GroupedMatmulV3", {"groupList": torch.tensor([1, 9])}, "groupList has 9, but 4 rows"),
        ("ApplyAdamWV2", {"maxGradNorm": None}, "maxGradNorm is null"),
        ("MoeInitRoutingV2", {"dropPadMode": 1, "expertCapacity": 2**62}, "expertCapacity is"),
        (
            "MoeInitRoutingV2",
            {"x": torch.zeros(1, 1).expand(2**62, 1), "dropPadMode": 1, "expertCapacity": 2**62},
            "expertCapacity is 4611686018427387904",
        ),
        ("MoeInitRoutingV2", {"expertNum": -1}, "expertNum is -1"),
        ("MoeInitRoutingV2", {"expertIdx": EXPERTS + 9}, "out of range|out of bounds"),
        ("MoeFinalizeRoutingV2", {"dropPadMode": 4}, "dropPadMode is 4"),
        ("MoeGatingTopK", {"renorm": 1}, "renorm is 1"),
        ("MoeGatingTopK", {"k": 9}, "k is 9"),
        ("MoeGatingTopKSoftmax", {"k": 0}, "k is 0"),
        ("MoeTokenPermute", {"numOutTokens": -9}, "numOutTokens is -9, but there are 8 rows"),
        ("MoeTokenPermuteWithRoutingMap", {"numOutTokens": -1}, "numOutTokens is -1"),
        ("MoeTokenPermute", {"paddedMode": True}, "paddedMode is true"),
        ("MoeTokenUnpermuteWithRoutingMap", {"routingMap": None}, "routingMap is null"),
        ("MoeTokenUnpermuteWithRoutingMap", {"restoreShape": [4]}, "restoreShape has 1"),
        ("MoeTokenPermuteWithRoutingMap", {"routingMap": 1 - ROUTING}, "routingMap marks 4"),
        ("MoeTokenUnpermute", {"sortedIndices": -EXPERTS.flatten() - 99}, "out of bounds"),
        ("MoeComputeExpertTokens", {"numExperts": 3}, "index|shape"),
    ],
)
def test_bad_input_is_refused(caller, name, changes, words):
    values, results = CALLS[name]
    with pytest.raises(AclnnError, match=words) as refused:
        _run(caller, name, values | changes, results)
    assert refused.value.code in (161002, 507000)


def test_nothing_to_route(caller):
    x, none = torch.zeros(0, 6), torch.zeros(0, 2, dtype=torch.int32)
    flat, chances = none.flatten(), torch.zeros(0, 2)
    counts = {"expertNum": 3, "expertTokensCountOrCumsumFlag": 2}
    three = torch.zeros(3, dtype=torch.int32)
    given = {"x": x, "expertIdx": none}
    _check(caller, "MoeInitRoutingV2", given | counts, [x, flat, three, None])
    _check(caller, "MoeInitRouting", given | {"rowIdx": none}, [x, flat, flat])
    given = {"expandedX": x, "expandedRowIdx": flat, "scales": chances}
    _check(caller, "MoeFinalizeRoutingV2", given, [x])
    _check(caller, "MoeGatingTopKSoftmax", {"x": torch.zeros(0, 8), "k": 2}, [chances, none, none])
    _check(caller, "MoeComputeExpertTokens", {"sortedExperts": flat, "numExperts": 3}, [three])
    _check(caller, "MoeTokenPermute", {"tokens": x, "indices": none}, [x, flat])
    given = {"permutedTokens": x, "sortedIndices": flat, "probs": chances}
    _check(caller, "MoeTokenUnpermute", given, [x])
    groups = {"x": [x], "weight": [torch.rand(2, 6, 3)], "groupList": torch.tensor([0, 0])}
    _check(caller, "GroupedMatmulV3", groups, [torch.zeros(0, 3)])
