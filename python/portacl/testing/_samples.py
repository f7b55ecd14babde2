"""The inputs and arguments of a case, in the manner of PyTorch's OpInfo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ._cases import AnyCase, Case, as_case
from ._values import GridFrame, draw, make_values, round_to_bfloat16

ArrayKind = Literal["numpy", "torch", "jax"]

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")

# As in tools/testing/operators.cc: parameters in the signature's order, tensors by the symbols of
# their extents; "*" marks an output.
_OPERATORS: dict[str, tuple[tuple[str, str], ...]] = {
    "upsample_nearest_exact1d": (
        ("self", "N,C,L"),
        ("outputSize", "[OL]"),
        ("scales", "real"),
        ("out", "*N,C,OL"),
    ),
    "upsample_nearest_exact2d": (
        ("self", "N,C,H,W"),
        ("outputSize", "[OH,OW]"),
        ("scalesH", "real"),
        ("scalesW", "real"),
        ("out", "*N,C,OH,OW"),
    ),
    "upsample_nearest_exact3d": (
        ("self", "N,C,D,H,W"),
        ("outputSize", "[OD,OH,OW]"),
        ("scalesD", "real"),
        ("scalesH", "real"),
        ("scalesW", "real"),
        ("out", "*N,C,OD,OH,OW"),
    ),
    "upsample_nearest_exact1d_backward": (
        ("gradOutput", "N,C,OL"),
        ("outputSize", "[OL]"),
        ("inputSize", "[N,C,L]"),
        ("scales", "real"),
        ("out", "*N,C,L"),
    ),
    "upsample_nearest_exact2d_backward": (
        ("gradOutput", "N,C,OH,OW"),
        ("outputSize", "[OH,OW]"),
        ("inputSize", "[N,C,H,W]"),
        ("scalesH", "real"),
        ("scalesW", "real"),
        ("out", "*N,C,H,W"),
    ),
    "upsample_nearest_exact3d_backward": (
        ("gradOutput", "N,C,OD,OH,OW"),
        ("outputSize", "[OD,OH,OW]"),
        ("inputSize", "[N,C,D,H,W]"),
        ("scalesD", "real"),
        ("scalesH", "real"),
        ("scalesW", "real"),
        ("out", "*N,C,D,H,W"),
    ),
    "grid_sampler_2d": (
        ("input", "N,C,H,W"),
        ("grid", "N,OH,OW,2"),
        ("interpolationMode", "mode"),
        ("paddingMode", "padding"),
        ("alignCorners", "flag"),
        ("out", "*N,C,OH,OW"),
    ),
    "grid_sampler_2d_backward": (
        ("gradOutput", "N,C,OH,OW"),
        ("input", "N,C,H,W"),
        ("grid", "N,OH,OW,2"),
        ("interpolationMode", "mode"),
        ("paddingMode", "padding"),
        ("alignCorners", "flag"),
        ("outputMask", "mask"),
        ("inputGrad", "*N,C,H,W"),
        ("gridGrad", "*N,OH,OW,2"),
    ),
    "grid_sampler_3d": (
        ("input", "N,C,D,H,W"),
        ("grid", "N,OD,OH,OW,3"),
        ("interpolationMode", "mode"),
        ("paddingMode", "padding"),
        ("alignCorners", "flag"),
        ("out", "*N,C,OD,OH,OW"),
    ),
    "grid_sampler_3d_backward": (
        ("gradOutput", "N,C,OD,OH,OW"),
        ("input", "N,C,D,H,W"),
        ("grid", "N,OD,OH,OW,3"),
        ("interpolationMode", "mode"),
        ("paddingMode", "padding"),
        ("alignCorners", "flag"),
        ("outputMask", "mask"),
        ("inputGrad", "*N,C,D,H,W"),
        ("gridGrad", "*N,OD,OH,OW,3"),
    ),
}


@dataclass(frozen=True)
class Sample:
    """One call: arrays by the names of the aclnn signature, and the other arguments."""

    case: Case
    inputs: dict[str, Any]
    arguments: dict[str, Any]


def _is_tensor(pattern: str) -> bool:
    return pattern[0] in "*N"


def _integers(text: str) -> tuple[int, ...]:
    if text == "none":
        return ()
    return tuple(int(word) for word in text.replace("x", ",").split(","))


def outputs_of(case: Case) -> list[str]:
    """The names of the outputs that the mask wants, in order."""
    row = _OPERATORS[case.operator]
    names = [name for name, pattern in row if pattern.startswith("*")]
    mask = _integers(case.fields.get("outputMask", ",".join("1" for _ in names)))
    return [name for name, wanted in zip(names, mask) if wanted]


def _shapes(case: Case) -> dict[str, tuple[int, ...]]:
    row = [(name, p.strip("*[]")) for name, p in _OPERATORS[case.operator] if p[0] in "*N["]
    tensors = {name for name, p in _OPERATORS[case.operator] if _is_tensor(p)}
    known: dict[str, int] = {}
    for name, pattern in sorted(row, key=lambda entry: entry[0] not in tensors):
        if name in case.fields:
            for symbol, extent in zip(pattern.split(","), _integers(case.fields[name])):
                known.setdefault(symbol, extent)
    shapes = {}
    for name, pattern in row:
        if name in case.fields:
            shapes[name] = _integers(case.fields[name])
            continue
        try:
            shapes[name] = tuple(int(s) if s.isdigit() else known[s] for s in pattern.split(","))
        except KeyError as symbol:
            raise ValueError(f"case '{case}': the {symbol} of {name} is not known") from None
    return shapes


def _expanded(values: Any, case: Case, name: str) -> Any:
    """Elements that share an address hold the last one's value."""
    strides = case.fields.get(f"{name}.strides")
    axes = [1] if case.fields.get(f"{name}.layout") == "expanded" else []
    if strides is not None:
        axes = [axis for axis, stride in enumerate(strides.split(",")) if int(stride) == 0]
    for axis in axes:
        if values.shape[axis] > 0:
            values = np.broadcast_to(np.take(values, [-1], axis), values.shape)
    return np.ascontiguousarray(values)


def _rounded(values: Any, dtype: str) -> Any:
    if dtype != "bfloat16":
        with np.errstate(over="ignore"):
            return values.astype(dtype)
    bits = round_to_bfloat16(values)
    try:
        import ml_dtypes
    except ImportError:
        return bits
    return bits.view(ml_dtypes.bfloat16)


def as_kind(array: Any, kind: ArrayKind) -> Any:
    """A NumPy array as another library's."""
    if kind not in get_args(ArrayKind):
        raise ValueError(f"kind: '{kind}' is not one of {', '.join(get_args(ArrayKind))}")
    if kind == "torch":
        import torch

        if array.dtype.itemsize == 2 and array.dtype.name in ("bfloat16", "uint16"):
            return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
        return torch.from_numpy(array.copy())
    if kind == "jax":
        import jax.numpy as jnp

        return jnp.asarray(array)
    return array


def sample_inputs(case: AnyCase, *, kind: ArrayKind = "numpy") -> Sample:
    """Make the inputs of a case: the bits that ``portacl golden`` writes.

    Args:
        case: a case or its string.
        kind: whose arrays: ``numpy`` (bfloat16 with ml_dtypes, else its bits as uint16),
            ``torch`` or ``jax``.

    Returns:
        Arrays by the names of the aclnn signature, dense whatever layout the case asks for, and the
        arguments that are no tensors (modes as words, scales as numbers, sizes as tuples).

    Raises:
        ValueError: a case that is not right, or a shape that does not follow from the others.

    """
    case = as_case(case)
    shapes = _shapes(case)
    fields, arguments = case.fields, {}
    for name, pattern in _OPERATORS[case.operator]:
        if pattern == "real":
            arguments[name] = float(fields.get(name, 0))
        elif pattern == "mode":
            arguments[name] = fields.get(name, _MODES[0])
        elif pattern == "padding":
            arguments[name] = fields.get(name, _PADDINGS[0])
        elif pattern == "flag":
            arguments[name] = fields.get(name, "0") in ("1", "true")
        elif pattern == "mask":
            arguments[name] = tuple(v != 0 for v in _integers(fields.get(name, "1,1")))
        elif pattern[0] == "[":
            arguments[name] = shapes[name]
    inputs = {}
    for number, (name, pattern) in enumerate(_OPERATORS[case.operator]):
        if not _is_tensor(pattern) or pattern[0] == "*":
            continue
        frame = None
        if name == "grid":
            frame = GridFrame(
                tuple(max(e, 1) for e in shapes["grid"][1:-1]),
                tuple(max(e, 1) for e in shapes["input"][2:]),
                arguments["alignCorners"],
            )
        seed = int(draw(int(fields.get("seed", 0)), number))
        count = int(np.prod(shapes[name], dtype=np.int64))
        made = make_values(fields.get(f"{name}.values", "uniform"), seed, count, frame)
        array = _rounded(_expanded(made.reshape(shapes[name]), case, name), case.dtype)
        inputs[name] = as_kind(array, kind)
    return Sample(case, inputs, arguments)
