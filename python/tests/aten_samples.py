"""Calls of PyTorch's operators, from OpInfo's samples, as rows of functions.txt take them."""

from __future__ import annotations

import collections
import functools
import itertools
import re
import warnings
from dataclasses import dataclass
from unittest import mock

import torch
from aten_call import DTYPES, PLAIN, Row
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

_MOST = 3  # samples of an OpInfo, and calls that are kept of an operator, for each data type
_DTYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.int64,
    torch.complex64,
)
_NO_ROWS = ("fft.", "masked.", "signal.")  # OpInfos of operators without rows
_MAKING = ("device", "layout", "pin_memory")  # arguments that say where a tensor is made


@dataclass
class Call:
    """What was given for every argument of the operator's schema, and its results."""

    arguments: list
    results: list[torch.Tensor | None]

    @property
    def dtypes(self) -> set[torch.dtype]:
        return {t.dtype for t in _tensors(self.arguments)}


def _tensors(value) -> list[torch.Tensor]:
    if isinstance(value, (list, tuple)):
        return [t for part in value for t in _tensors(part)]
    return [value] if isinstance(value, torch.Tensor) else []


def _copied(value):
    if isinstance(value, (list, tuple)):
        return [_copied(part) for part in value]
    if isinstance(value, torch.Tensor):
        return value.detach().clone(memory_format=torch.preserve_format)
    return value


def _results(result) -> list:
    if not isinstance(result, (list, tuple)):
        return [result]
    return [one for part in result for one in _results(part)]


class _Recorder(TorchDispatchMode):
    """Keeps the calls of the wanted operators."""

    def __init__(self, wanted: set[str]):
        super().__init__()
        self._wanted = wanted
        self._count = collections.Counter()
        self.calls = collections.defaultdict(list)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.keep(func, args, kwargs or {})

    def keep(self, func, args, kwargs):
        """Call the overload, and keep the call if its operator is wanted."""
        name = (
            func._schema.name + "." * bool(func._schema.overload_name) + func._schema.overload_name
        )
        tensors = _tensors([args, kwargs])
        empty = any(t.numel() == 0 for t in tensors)
        key = name, empty, *{t.dtype for t in tensors}
        if name not in self._wanted or self._count[key] >= _MOST:
            return func(*args, **kwargs)
        given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | kwargs
        before = [_copied(given.get(a.name, a.default_value)) for a in func._schema.arguments]
        result = func(*args, **kwargs)
        self._count[key] += 1
        self.calls[name].append(Call(before, _copied(_results(result))))
        return result


def collect(rows: list[Row]) -> dict[str, list[Call]]:
    """Calls of the rows' operators, by the operator's name."""
    recorder = _Recorder({row.operator for row in rows})
    fallback = {re.split("[:.]+", row.operator)[1] for row in rows if row.fallback}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the samples are tiny
    # For each operator and type PyTorch searches the whole stack of calls for a unittest, twice.
    internal = "torch.testing._internal."
    no_search = [
        mock.patch(f"{internal}{module}.extract_test_fn", lambda: None, create=True)
        for module in ("opinfo.core", "common_utils")
    ]
    with warnings.catch_warnings(), no_search[0], no_search[1]:
        warnings.simplefilter("ignore")
        for op in op_db:
            if op.name.startswith(_NO_ROWS):
                continue
            for dtype in _DTYPES:
                wanted = dtype != torch.complex64 or op.aten_name in fallback
                if wanted and dtype in op.supported_dtypes("cpu"):
                    _record(recorder, op, dtype)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for name, arguments in _by_hand():
            base, _, overload = name.partition(".")
            func = getattr(getattr(torch.ops.aten, base), overload or "default")
            names = [argument.name for argument in func._schema.arguments]
            recorder.keep(func, (), dict(zip(names, arguments, strict=False)))
        _record_lists(recorder, rows)
    torch.set_num_threads(threads)
    return recorder.calls


def _record(recorder: _Recorder, op, dtype: torch.dtype) -> None:
    """The operators below an OpInfo's, gradients too, and the overloads of its operator itself."""
    gradient = op.supports_autograd and dtype == torch.float32
    packet = getattr(torch.ops.aten, op.aten_name, None)
    samples = iter(op.sample_inputs("cpu", dtype, requires_grad=gradient))
    first = list(itertools.islice(samples, _MOST))
    if dtype == torch.float32:  # an empty one of those that follow
        empty = (s for s in samples if any(t.numel() == 0 for t in _tensors([s.input, s.args])))
        first += itertools.islice(empty, 1)
    for sample in first:
        arguments = (sample.input, *sample.args)
        try:
            with recorder:
                results = _tensors(_results(op(*arguments, **sample.kwargs)))
                results = [t for t in results if t.requires_grad]
                torch.autograd.backward(results, [torch.ones_like(t) for t in results])
        except Exception:  # this build of PyTorch lacks what the sample needs
            continue
        for overload in packet.overloads() if packet else ():
            try:
                with torch.no_grad():
                    recorder.keep(getattr(packet, overload), arguments, sample.kwargs)
            except Exception:  # the sample is another overload's
                continue


def _by_hand() -> list[tuple[str, tuple]]:
    """Calls that no OpInfo makes."""
    x, y, w = torch.rand(3, 3, 4)[..., :3].contiguous().unbind()
    ints = torch.arange(6).reshape(2, 3)
    image, volume = torch.rand(1, 2, 4, 5), torch.rand(1, 2, 3, 4, 5)
    odd = torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])
    calls = {
        "adaptive_avg_pool2d": (image, [2, 3]),
        "_add_relu.Tensor": (x - 1, y, 2),
        "_aminmax": (x,),
        "_aminmax.dim": (x, 1, True),
        "arange.start_step": (1, 9, 3),
        "_cdist_forward": (x, y, 2.0, None),
        "clamp_max": (x, 0.5),
        "conv_tbc": (torch.rand(5, 2, 3), torch.rand(3, 3, 4), torch.rand(4), 1),
        "fill.Tensor": (x, torch.tensor(2.0)),
        "floor_divide.Scalar": (x, 0.3),
        "fmod.Scalar": (x, 0.3),
        "ger": (x[0], y[1]),
        "inverse": (x + 2 * torch.eye(3),),
        "isin.Scalar_Tensor": (2, ints),
        "kl_div": (x, y, 1),
        "l1_loss": (x, y, 1),
        "lerp.Tensor": (x, y, w),
        "nan_to_num": (odd, 1.0, 2.0, -2.0),
        "reflection_pad2d": (image, [1, 2, 1, 0]),
        "reflection_pad2d_backward": (torch.rand(1, 2, 5, 8), image, [1, 2, 1, 0]),
        "reflection_pad3d": (volume, [1, 2, 1, 0, 0, 1]),
        "reflection_pad3d_backward": (torch.rand(1, 2, 4, 5, 8), volume, [1, 2, 1, 0, 0, 1]),
        "pdist": (x, 2.0),
        "remainder.Scalar": (x, 0.3),  # PyTorch 2.7's samples call remainder.Tensor alone
        "remainder.Scalar_Tensor": (2.5, x),
        "repeat_interleave.Tensor": (torch.tensor([1, 0, 2]), 3),
        "repeat_interleave.self_Tensor": (x, torch.tensor([1, 0, 2]), 1, 3),
        "replication_pad3d": (volume, [1, 2, 1, 0, 0, 1]),
        "replication_pad3d_backward": (torch.rand(1, 2, 4, 5, 8), volume, [1, 2, 1, 0, 0, 1]),
        "slogdet": (x,),
        "var.dim": (x, [1], True, False),
        "xlogy.Scalar_Other": (x, 2.0),
        "xlogy.Scalar_Self": (2.0, x),
    }
    calls |= {f"bitwise_{name}.Scalar": (ints, 5) for name in ("and", "or", "xor")}
    return [*calls.items(), ("repeat_interleave.self_Tensor", (x, torch.arange(9), None, 36))]


def _record_lists(recorder: _Recorder, rows: list[Row]) -> None:
    """Operators on lists of tensors take the same values, whatever they compute."""
    made = {
        "List[Tensor]": lambda: [torch.rand(2, 3) / 2 + 0.25, torch.rand(4) / 2 + 0.25],
        "List[number]": lambda: [0.5, 2.0],
        "number": lambda: 2.0,
    }
    for name in sorted({row.operator for row in rows if row.operator.startswith("aten::_foreach")}):
        base, _, overload = name.removeprefix("aten::").partition(".")
        func = getattr(getattr(torch.ops.aten, base), overload or "default")
        needed = [a for a in func._schema.arguments if not a.has_default_value()]
        recorder.keep(func, tuple(made[str(a.type)]() for a in needed), {})


@functools.cache
def _arguments(operator: str) -> list:
    """The arguments of the operator's schema."""
    base, _, overload = operator.partition(".")
    return torch._C._get_schema(base, overload).arguments


@functools.cache
def arguments_of(row: Row) -> dict[str, str]:
    """What the row gives for arguments of the schema, by their names."""
    names = [a.name for a in _arguments(row.operator)]
    texts = re.findall(r"(?:\[[^\]]*\]|'[^']*'|[^,\[])+", row.right[row.right.index("(") + 1 : -1])
    given = {}
    for position, text in enumerate(texts):
        keyword, _, value = text.strip().rpartition("=")
        given[keyword or names[position]] = value.strip()
    return given


def _literal(text: str):
    if text[0] in "'[":
        return (
            text[1:-1] if text[0] == "'" else [int(part) for part in text[1:-1].split(",") if part]
        )
    constants = {"none": None, "true": True, "false": False}
    return constants[text] if text in constants else float(text)


def values_of(row: Row, call: Call) -> dict | None:
    """Values for the row's parameters but for outputs; None where the row cannot make the call."""
    kinds = {p.name: p for p in row.parameters}
    mapped, values = arguments_of(row), {}
    for argument, given in zip(_arguments(row.operator), call.arguments, strict=True):
        text = mapped.get(argument.name)
        parameter = kinds.get(re.split(r"[.\[]", text)[0]) if text else None
        if parameter is None:
            wanted = _literal(text) if text else argument.default_value
            if argument.name not in _MAKING and (
                isinstance(given, torch.Tensor) or given != wanted
            ):
                return None
        elif not text.endswith(".type"):
            values[parameter.name] = given
            if not _fits(parameter, given):
                return None
    return values


def _fits(parameter, value) -> bool:
    if value is None:
        return parameter.optional or parameter.kind == "D"
    tensors = _tensors(value)
    if parameter.kind in ("T", "M", "TL", "ML"):
        of_kind = len(tensors) == (1 if parameter.kind in "TM" else len(value))
        return of_kind and all(
            t.dtype in DTYPES and t.layout == torch.strided and not t.is_conj() and not t.is_neg()
            for t in tensors
        )
    is_list = isinstance(value, (list, tuple))
    return not tensors and is_list == (parameter.kind not in PLAIN and parameter.kind != "S")
