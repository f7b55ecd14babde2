"""Every function of src/aten/functions.txt, called through the C interface, against PyTorch."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from aten_call import (  # noqa: E402
    FLOAT8,
    LIBRARIES,
    PLAIN,
    AclnnError,
    Caller,
    Destroyed,
    OfType,
    read_rows,
)

if not (LIBRARIES / "libportacl_aten.so").exists():
    pytest.skip(
        "ASCEND_HOME_PATH has no libportacl_aten.so (script/setup --aten)", allow_module_level=True
    )

import aten_compositions  # noqa: E402
import aten_samples  # noqa: E402

ROWS = read_rows()
BY_HAND = aten_compositions.calls()
OF_ONE_OPERATOR = [row for row in ROWS if row.operator and row.name not in BY_HAND]

# What companion operators refuse, where no sample is of COMPLEX64; their own tests compare these.
WITHOUT_CALLS = {"Adds", "Subs", "Divs", "InplaceAdds", "InplaceSubs", "InplaceDivs", "InplaceCopy"}
WITHOUT_CALLS |= {"Ceil", "NeScalar", "GtScalar", "LtScalar", "Cast", "Max", "Min", "MseLoss"}
WITHOUT_CALLS |= {
    f"AdaptiveAvgPool{axes}d{backward}" for axes in (2, 3) for backward in ("", "Backward")
}
# Random numbers: PyTorch's generator is seeded inside.
RANDOM = {
    "InplaceUniform",
    "InplaceNormal",
    "InplaceBernoulli",
    "InplaceBernoulliTensor",
    "InplaceRandom",
}
RANDOM |= {"Randperm", "Multinomial", "NormalFloatFloat", "NormalTensorTensor", "NormalTensorFloat"}
RANDOM |= {"NormalFloatTensor", "InplaceRandomWithoutFromTo", "DropoutGenMask", "DropoutGenMaskV2"}
RUN_FAILED = 507000  # what a stream says of a run that PyTorch refuses
# Outputs that PyTorch leaves partly unwritten.
UNDEFINED = {("CtcLoss", "logAlpha")}

# PyTorch 2.7 adds up products of a strided FLOAT16 vector in FLOAT16, 2.13 in FLOAT.
SUMS_IN_FLOAT16 = set()
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13):
    SUMS_IN_FLOAT16 = {"Matmul", "BatchMatMul", "Mv", "Addmv"}

by_name = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
by_operator = pytest.mark.parametrize("row", OF_ONE_OPERATOR, ids=lambda row: row.name)


@pytest.fixture(scope="module")
def caller():
    return Caller()


@pytest.fixture(scope="module")
def usable():
    """For each row the calls that it can make: values of its parameters, and the results."""
    calls = aten_samples.collect(OF_ONE_OPERATOR)
    return {row.name: list(_usable(row, calls[row.operator])) for row in OF_ONE_OPERATOR}


def _usable(row, calls):
    updated = [p.name for p in row.parameters if p.kind == "M"]
    outputs = [p for p in row.parameters if p.kind[0] in "OM"]
    for call in calls:
        values = aten_samples.values_of(row, call)
        if values is None or (row.fallback and call.dtypes != {torch.complex64}):
            continue
        changed = zip((values[name] for name in updated), call.results, strict=False)
        fits = all(t.shape == r.shape and torch.can_cast(r.dtype, t.dtype) for t, r in changed)
        written = all(
            r is not None or p.optional for p, r in zip(outputs, call.results, strict=False)
        )
        if fits and written:
            yield values, call.results


def _strided(value):
    """The same values, every second element of a larger storage."""
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return value
    return torch.stack((value, value), -1)[..., 0]


def _add_outputs(row, values, results):
    """Give the row's outputs values; returns pairs of an output and its result."""
    left, pairs = list(results), []
    for p in row.parameters:
        if p.kind == "OL" and left:
            values[p.name] = [torch.empty_like(r) for r in left]
            pairs += zip(values[p.name], left, strict=True)
            left = []
        elif p.kind[0] in "OM" and p.kind != "OL":
            result = left.pop(0) if left else None
            if p.kind == "M":
                values[p.name] = values[p.name].clone()
            elif result is not None:
                values[p.name] = torch.empty_like(result)
            if result is not None and (row.name, p.name) not in UNDEFINED:
                pairs.append((values[p.name], result))
    return pairs


def _compare(caller, row, values, results, rounded=False):
    pairs = _add_outputs(row, values, results)
    caller.call(row, values)
    for output, result in pairs:
        bounds = {"rtol": 0.02, "atol": 0.02} if rounded and output.dtype == torch.float16 else {}
        torch.testing.assert_close(
            output, result.to(output.dtype), equal_nan=True, check_stride=False, **bounds
        )


@by_operator
def test_row_is_a_call_of_the_operator(row):
    base, _, overload = row.operator.partition(".")
    schema = torch._C._get_schema(base, overload)
    given = aten_samples.arguments_of(row)
    arguments = {a.name: a for a in schema.arguments}
    assert set(given) <= set(arguments)
    assert {name for name, a in arguments.items() if not a.has_default_value()} <= set(given)
    assert not any(a.alias_info and a.alias_info.is_write for a in schema.arguments)


@by_operator
def test_equals_the_operator(row, usable, caller):
    if not usable[row.name]:
        assert row.name in WITHOUT_CALLS
        pytest.skip("no call of PyTorch's samples is one that the row can make")
    for values, results in usable[row.name]:
        strided = {name: _strided(value) for name, value in values.items()}
        _compare(caller, row, values.copy(), results)
        _compare(caller, row, strided, results, rounded=row.name in SUMS_IN_FLOAT16)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row not in OF_ONE_OPERATOR], ids=lambda row: row.name
)
def test_equals_the_composition(row, caller):
    if row.name in RANDOM:
        pytest.skip("random numbers")
    _compare(caller, row, *aten_compositions.calls()[row.name])


def test_masks_of_dropout_leave_their_part(caller):
    rows = {row.name: row for row in ROWS}
    ones, made = torch.ones(100, 100), []
    for name, seed in (("DropoutGenMask", 1), ("DropoutGenMaskV2", 1), ("DropoutGenMaskV2", 2)):
        mask, out = torch.zeros(1264, dtype=torch.uint8), torch.zeros(100, 100)
        given = {"shape": [100, 100], "prob": 0.3, "seed": seed, "probDataType": torch.float32}
        caller.call(rows[name], given | {"out": mask})
        caller.call(rows["DropoutDoMask"], {"self": ones, "mask": mask, "prob": 0.3, "out": out})
        torch.testing.assert_close(out[out != 0], torch.full_like(out[out != 0], 1 / 0.7))
        assert 0.27 < (out == 0).float().mean() < 0.33
        made.append(out)
    assert torch.equal(made[0], made[1]) and not torch.equal(made[1], made[2])


def test_normal_numbers_have_their_mean_and_deviation(caller):
    rows = {row.name: row for row in ROWS}
    mean, std = torch.tensor([[2.0], [-5.0]]), torch.tensor([[0.5], [3.0]])
    for name in ("NormalTensorTensor", "NormalTensorFloat", "NormalFloatTensor"):
        given = {"mean": 4.0 if "FloatT" in name else mean, "std": std, "seed": 5}
        if name.endswith("Float"):
            given["std"] = 2.0
        out = torch.zeros(2, 5000)
        caller.call(rows[name], given | {"out": out})
        wanted = torch.broadcast_tensors(*map(torch.as_tensor, (given["mean"], given["std"], std)))
        torch.testing.assert_close(out.mean(1), wanted[0][:, 0], rtol=0, atol=0.2)
        torch.testing.assert_close(out.std(1), wanted[1][:, 0], rtol=0.1, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_types_that_a_kernel_lacks_are_computed_in_float(caller, dtype):
    row = next(row for row in ROWS if row.name == "Cdist")
    x1, x2 = torch.rand(2, 5, 7).to(dtype).unbind()
    out = torch.zeros(5, 5, dtype=dtype)
    caller.call(row, {"x1": x1, "x2": x2, "p": 2.0, "out": out})
    torch.testing.assert_close(
        out.float(), torch.cdist(x1.float(), x2.float()), rtol=1e-2, atol=0.05
    )


def test_attention_drops_what_its_mask_says(caller):
    row = next(row for row in ROWS if row.name == "FlashAttentionScore")
    values, results = aten_compositions.calls()[row.name]
    kept = torch.zeros(2 * 5 * 5)
    bits = torch.tensor([0b01001101] * 16, dtype=torch.uint8)
    for i in range(50):
        kept[i] = (0b01001101 >> i % 8) & 1
    q, k, v = values["query"], values["key"], values["value"]
    weights = (q @ k.mT * 0.5).softmax(-1) * kept.view(1, 2, 5, 5) / 0.8
    _compare(
        caller,
        row,
        values | {"dropMask": bits, "keepProb": 0.8},
        [*results[:3], weights @ v],
    )


def _wrong(kind, value):
    """Wrong values of a parameter, each with the expression that must stand in the refusal."""
    yield Destroyed(value), "not a live handle"
    if kind in ("T", "M", "O", "OD"):
        yield OfType(torch.zeros(value.shape, dtype=torch.uint8), FLOAT8), "has data type"
    if kind == "O":
        yield torch.zeros((2,) * 8 + (3,)), "has shape|data type"
    if kind in ("TL", "ML", "OL"):
        yield [OfType(torch.zeros(t.shape, dtype=torch.uint8), FLOAT8) for t in value], "data type"
    if kind == "S":
        yield OfType(1.0, FLOAT8), "has data type"
    if kind == "SL":
        yield [OfType(1.0, FLOAT8) for _ in value], "has data type"


def _bytes(values) -> list[bytes]:
    """The bytes of all tensors among the values."""
    tensors = [t for v in values.values() for t in (v if isinstance(v, list) else [v])]
    tensors = [t.contiguous() for t in tensors if isinstance(t, torch.Tensor)]
    return [bytes(t.reshape(-1).view(torch.uint8).tolist()) for t in tensors]


@by_name
def test_wrong_arguments_are_refused_and_nothing_is_written(row, usable, caller):
    if row.name in WITHOUT_CALLS or row.name in RANDOM or row.fallback:
        pytest.skip("no call is known")
    values, results = aten_compositions.calls().get(row.name) or usable[row.name][0]
    values = values.copy()
    written = [id(output) for output, _ in _add_outputs(row, values, results)]
    before = _bytes(values)
    for p in row.parameters:
        given = values.get(p.name)
        if p.kind in PLAIN or given is None or (p.kind == "O" and id(given) not in written):
            continue
        for wrong, words in _wrong(p.kind, given):
            with pytest.raises(AclnnError, match=f"{p.name}.*({words})") as refused:
                caller.call(row, values | {p.name: wrong})
            # A run finds some shapes.
            assert refused.value.code in (161002, RUN_FAILED if "shape" in words else 161002)
    assert _bytes(values) == before


@by_name
def test_another_rank_is_refused_or_computed(row, usable, caller):
    if row.name in WITHOUT_CALLS or row.name in RANDOM or row.fallback:
        pytest.skip("no call is known")
    values, results = aten_compositions.calls().get(row.name) or usable[row.name][0]
    values = values.copy()
    _add_outputs(row, values, results)
    before = _bytes(values)
    for p in row.parameters:
        if p.kind != "T":
            continue
        for other in (torch.zeros((2,) * 9), torch.zeros(()), torch.zeros(1)):
            tried = copy.deepcopy(values)
            try:
                caller.call(row, tried | {p.name: other})
            except AclnnError as refused:
                assert refused.code in (161002, RUN_FAILED)
                assert len(str(refused)) > len("161002: aclnn: ") + len(row.name)
                assert refused.code == RUN_FAILED or _bytes(tried) == before


def _unexpected(kind, value):
    """Values of a parameter that few functions have a use for."""
    if kind in ("S", "SL"):
        for one in (1 + 2j, float("nan"), True, -(2**62)):
            yield [one for _ in value] if kind == "SL" else one
    if kind in ("I", "F", "B", "SL", "TL", "OL", "ML"):
        value = list(value)
        yield from ([], value[:-1], value + value[-1:], value * 9)
    if kind == "I":
        yield from ([-(2**62) for _ in value], [2**62 for _ in value])
    if kind in ("i", "i32"):
        yield from (0, -1)


@by_name
def test_unexpected_scalars_and_lengths_are_refused_or_computed(row, usable, caller):
    if row.name in WITHOUT_CALLS or row.name in RANDOM or row.fallback:
        pytest.skip("no call is known")
    values, results = aten_compositions.calls().get(row.name) or usable[row.name][0]
    values = values.copy()
    _add_outputs(row, values, results)
    before = _bytes(values)
    for p in row.parameters:
        if values.get(p.name) is None:
            continue
        for unexpected in _unexpected(p.kind, values[p.name]):
            tried = copy.deepcopy(values)
            try:
                caller.call(row, tried | {p.name: unexpected})
            except AclnnError as refused:
                assert refused.code in (161001, 161002, RUN_FAILED), f"{p.name}={unexpected}"
                assert len(str(refused)) > len("161002: aclnn: ") + len(row.name)
                assert refused.code == RUN_FAILED or _bytes(tried) == before


def test_most_rows_are_compared(usable):
    compared = [name for name, calls in usable.items() if calls]
    compared += aten_compositions.calls()
    print(f"{len(compared)} of {len(ROWS)} rows compared")
    assert {name for name, calls in usable.items() if not calls} == WITHOUT_CALLS
    assert len(compared) >= 500


@by_name
def test_null_is_refused(row, caller):
    handles = [p.name for p in row.parameters if p.kind not in PLAIN and not p.optional]
    given = {"T": torch.ones(2), "S": 1.0, "I": [1], "F": [1.0], "B": [True]}
    given |= dict.fromkeys("OM", given["T"]) | {"OD": given["T"], "SL": [1.0]}
    given |= {kind: [given["T"]] for kind in ("TL", "OL", "ML")}
    for missing in handles:
        values = {
            p.name: given[p.kind] for p in row.parameters if p.kind in given and p.name != missing
        }
        with pytest.raises(AclnnError, match=f"{missing}.* null") as refused:
            caller.call(row, values)
        assert refused.value.code == 161001
