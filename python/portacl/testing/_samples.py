"""The inputs and arguments of a case, in the manner of PyTorch's OpInfo."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from portacl import _core

from ._cases import AnyCase, Case, as_case
from ._values import GridFrame, draw, make_values, round_to_bfloat16

ArrayKind = Literal["numpy", "torch", "jax"]

_Row = tuple[tuple[str, str, str], ...]  # name, kind, and symbols of each parameter
_SIGNATURES = {name: tuple(row) for name, row in _core.case_signatures().items()}
_INDICES = ("spatialShape", "levelStartIndex")  # their dtype is not the case's
_TENSORS = ("Input", "Grid", "Output")
_EXTENTS = ("Ints", "Int", "Int32")
_UNSET = {"spatialScale": 1, "samplingRatio": 2}  # not 0 if a case leaves them out
# An affine grid's rank is open in the list: by its spatial axes. C is used nowhere.
_AFFINE = {
    "theta": ("N,2,3", "N,3,4"),
    "thetaGrad": ("N,2,3", "N,3,4"),
    "size": ("N,1,H,W", "N,1,D,H,W"),
    "out": ("N,H,W,2", "N,D,H,W,3"),
    "gridGrad": ("N,H,W,2", "N,D,H,W,3"),
}


@dataclass(frozen=True)
class Sample:
    """One call: arrays by the names of the aclnn signature, and the other arguments."""

    case: Case
    inputs: dict[str, Any]
    arguments: dict[str, Any]


def _integers(text: str) -> tuple[int, ...]:
    if text == "none":
        return ()
    return tuple(int(word) for word in text.replace("x", ",").split(","))


def _is_volume(case: Case) -> bool:
    for name in _AFFINE.keys() & case.fields.keys():
        extents = _integers(case.fields[name])
        return extents[-1] == 4 if name.startswith("theta") else len(extents) == 5
    return False


_AXES = {1: ("L",), 2: ("H", "W"), 3: ("D", "H", "W")}


def _settled(row: _Row, case: Case) -> _Row:
    """The row of a case; resizing of portacl alone gets the symbols of the vendor's functions."""
    given = (case.fields[name] for name, kind, _ in row if kind in _TENSORS and name in case.fields)
    axes = _AXES[max(len(_integers(shape)) for shape in given) - 2]
    large, small = ",".join(f"O{axis}" for axis in axes), ",".join(axes)
    backward = case.operator.endswith("_backward")
    size = ("inputSize", "Ints", f"N,C,{small}") if backward else ("outputSize", "Ints", large)
    settled: list[tuple[str, str, str]] = []
    for name, kind, symbols in row:
        if kind == "Scales":
            names = [f"{name}{axis}" for axis in axes] if len(axes) > 1 else [name]
            settled.extend((n, "Double", "") for n in names)
        elif name != "antialias":
            settled.append((name, kind, symbols.replace("O*", large).replace("*", small)))
    return (*settled, size)


def _row_of(case: Case) -> _Row:
    row = _SIGNATURES[case.operator]
    if case.operator.startswith("upsample_lanczos"):
        return _settled(row, case)
    if not case.operator.startswith("affine_grid"):
        return row
    volume = _is_volume(case)
    return tuple((name, kind, _AFFINE.get(name, ("", ""))[volume]) for name, kind, _ in row)


def outputs_of(case: Case) -> list[str]:
    """The names of the outputs that the mask wants, in order."""
    names = [name for name, kind, _ in _row_of(case) if kind == "Output"]
    mask = _integers(case.fields.get("outputMask", ",".join("1" for _ in names)))
    return [name for name, wanted in zip(names, mask) if wanted]


def _symbols(case: Case, name: str, symbols: str) -> list[str]:
    """The symbols in the order of the tensor's format."""
    order = symbols.split(",")
    if case.fields.get(f"{name}.format") in ("NHWC", "NDHWC"):
        order.append(order.pop(1))
    return order


def _shapes(case: Case) -> dict[str, tuple[int, ...]]:
    row = [entry for entry in _row_of(case) if entry[2] and entry[1] in (*_TENSORS, *_EXTENTS)]
    known: dict[str, int] = {}
    for name, _, symbols in sorted(row, key=lambda entry: entry[1] in _EXTENTS):
        if name in case.fields:
            extents = _integers(case.fields[name])
            for symbol, extent in zip(_symbols(case, name, symbols), extents):
                known.setdefault(symbol, extent)
    shapes = {}
    for name, _, symbols in row:
        if name in case.fields:
            shapes[name] = _integers(case.fields[name])
            continue
        try:
            shapes[name] = tuple(
                int(s) if s.isdigit() else known[s] for s in _symbols(case, name, symbols)
            )
        except KeyError as symbol:
            raise ValueError(f"case '{case}': the {symbol} of {name} is not known") from None
    return shapes


def _expanded(values: Any, case: Case, name: str) -> Any:
    """Elements that share an address hold the last one's value."""
    strides = case.fields.get(f"{name}.strides")
    expanded = case.fields.get(f"{name}.layout") == "expanded" and values.ndim > 1
    axes = [1] if expanded else []
    if strides is not None:
        axes = [axis for axis, stride in enumerate(strides.split(",")) if int(stride) == 0]
    for axis in axes:
        if values.shape[axis] > 0:
            values = np.broadcast_to(np.take(values, [-1], axis), values.shape)
    return np.ascontiguousarray(values)


def _levels(name: str, shapes: dict[str, tuple[int, ...]]) -> Any:
    """A table of levels that fit among the keys; if the keys are few, levels have one pixel."""
    keys, levels = max(shapes["value"][1], 1), max(shapes["levelStartIndex"][0], 1)
    pixels = max(keys // levels, 1)
    if name == "levelStartIndex":
        return np.arange(shapes[name][0]) * pixels % keys
    width = math.isqrt(pixels)
    return np.broadcast_to(np.array([pixels // width, width]), shapes[name])


def _rois(values: Any, shapes: dict[str, tuple[int, ...]], row: _Row, scale: float) -> Any:
    """Images in turn; corners that, scaled, lie in the image or up to a quarter outside; angles."""
    units = 1 / scale if scale > 0 else 1.0
    images, _, height, width = next(shapes[name] for name, _, what in row if what == "N,C,H,W")
    made = values.copy()
    made[:, 0] = np.arange(len(made)) % max(images, 1)
    made[:, 1:5] = (values[:, 1:5] * 0.75 + 0.5) * units * np.array([width, height, width, height])
    return made


def _rounded(values: Any, dtype: str) -> Any:
    if dtype == "uint8":
        return np.clip(np.rint(np.nan_to_num(values)), 0, 255).astype(np.uint8)
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
        kind: the arrays' library: ``numpy`` (bfloat16 with ml_dtypes, else its bits as uint16),
            ``torch`` or ``jax``.

    Returns:
        The tensors as arrays by the names of the aclnn signature, dense even if the case asks for
        another layout. And the other arguments: modes as words, scales as numbers, sizes as tuples.

    Raises:
        ValueError: a case that is not right, or a shape that does not follow from the others.

    """
    case = as_case(case)
    shapes = _shapes(case)
    fields, arguments = case.fields, {}
    row = _row_of(case)
    for name, role, symbols in row:
        if role in ("Double", "Float"):
            arguments[name] = float(fields.get(name, _UNSET.get(name, 0)))
        elif role in ("Int", "Int32"):
            arguments[name] = (
                shapes[name][0] if symbols else int(fields.get(name, _UNSET.get(name, 0)))
            )
        elif role in ("Mode", "Word"):
            arguments[name] = fields.get(name, symbols.split("|")[0])
        elif role == "Flag":
            arguments[name] = fields.get(name, "0") in ("1", "true")
        elif role == "Bools":
            arguments[name] = tuple(v != 0 for v in _integers(fields.get(name, "1,1")))
        elif role == "Ints":
            arguments[name] = shapes[name]
    inputs = {}
    for number, (name, role, symbols) in enumerate(row):
        if role not in ("Input", "Grid"):
            continue
        if name in _INDICES and f"{name}.values" not in fields:
            made = _expanded(_levels(name, shapes), case, name)
            inputs[name] = as_kind(made.astype(fields.get(f"{name}.dtype", "int32")), kind)
            continue
        frame = None
        if role == "Grid":
            frame = GridFrame(
                tuple(max(e, 1) for e in shapes["grid"][1:-1]),
                tuple(max(e, 1) for e in shapes["input"][2:]),
                arguments["alignCorners"],
            )
        seed = int(draw(int(fields.get("seed", 0)), number))
        count = int(np.prod(shapes[name], dtype=np.int64))
        usual = "integers:0:255" if case.dtype == "uint8" else "uniform"
        made = make_values(fields.get(f"{name}.values", usual), seed, count, frame)
        made = made.reshape(shapes[name])
        if symbols in ("K,5", "K,6") and f"{name}.values" not in fields:
            made = _rois(made, shapes, row, arguments["spatialScale"])
        array = _rounded(_expanded(made, case, name), case.dtype)
        inputs[name] = as_kind(array, kind)
    return Sample(case, inputs, arguments)
