"""Calls functions of src/aten/functions.txt through the C interface, with PyTorch's tensors."""

from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass
from pathlib import Path

import torch

TABLE = Path(__file__).resolve().parents[2] / "src" / "aten" / "functions.txt"
LIBRARIES = Path(os.environ.get("ASCEND_HOME_PATH", "/nowhere")) / "lib64"

DTYPES = {
    torch.float32: 0,
    torch.float16: 1,
    torch.int8: 2,
    torch.int32: 3,
    torch.uint8: 4,
    torch.int64: 9,
    torch.float64: 11,
    torch.bool: 12,
    torch.complex64: 16,
    torch.complex128: 17,
    torch.bfloat16: 27,
    torch.complex32: 33,
}
PLAIN = {
    "i": ctypes.c_int64,
    "i8": ctypes.c_int8,
    "i32": ctypes.c_int,
    "b": ctypes.c_bool,
    "d": ctypes.c_double,
    "f": ctypes.c_float,
    "s": ctypes.c_char_p,
    "D": ctypes.c_int32,
}
_ARRAYS = {
    "I": ("IntArray", ctypes.c_int64),
    "F": ("FloatArray", ctypes.c_float),
    "B": ("BoolArray", ctypes.c_bool),
}


FLOAT8 = 36  # an aclDataType that PyTorch's operators do not have


@dataclass(frozen=True)
class Destroyed:
    """An argument: the handle of ``value``, destroyed before the call."""

    value: object


@dataclass(frozen=True)
class OfType:
    """An argument: the memory of a tensor or number under another number of an aclDataType."""

    value: torch.Tensor | complex
    dtype: int


class AclnnError(RuntimeError):
    """A status that is not 0, with the library's words."""

    def __init__(self, code: int, words: str):
        super().__init__(f"{code}: {words}")
        self.code = code


@dataclass(frozen=True)
class Parameter:
    """A parameter of a row. ``kind`` as the table's head says, without "?"."""

    name: str
    kind: str
    optional: bool


@dataclass(frozen=True)
class Row:
    """A row of the table. ``fallback``: it computes only what a companion operator refuses."""

    name: str
    parameters: tuple[Parameter, ...]
    right: str
    fallback: bool

    @property
    def operator(self) -> str | None:
        """As ``aten::add.Tensor``; None for a composition."""
        return None if self.right[0] == "@" else "aten::" + self.right.split("(")[0]


def read_rows() -> list[Row]:
    """Every row of the table."""
    found = []
    for line in TABLE.read_text().splitlines():
        if match := re.fullmatch(r"(~ )?([A-Z]\w*) \w+ ([^=]+) = (.+)", line):
            words = (word.split(":") for word in match[3].split())
            parameters = tuple(Parameter(n, k.rstrip("?"), k.endswith("?")) for n, k in words)
            found.append(Row(match[2], parameters, match[4], bool(match[1])))
    return found


class Caller:
    """Calls on one stream, with tensors in PyTorch's own memory."""

    def __init__(self):
        self._library = ctypes.CDLL(str(LIBRARIES / "libportacl.so"))
        self._library.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self._library.aclInit(None)
        self._check(self._library.aclrtSetDevice(0))
        self._stream = ctypes.c_void_p()
        self._check(self._library.aclrtCreateStream(ctypes.byref(self._stream)))

    def call(self, row: Row, values: dict) -> None:
        """Both phases, and wait. ``values`` by name; a missing one is null, 0 or false.

        Outputs are among the values and are written.
        """
        handles = []
        arguments = [self._argument(p.kind, values.get(p.name), handles) for p in row.parameters]
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        try:
            plan = getattr(self._library, f"aclnn{row.name}GetWorkspaceSize")
            self._check(plan(*arguments, ctypes.byref(size), ctypes.byref(executor)))
            workspace = ctypes.create_string_buffer(size.value + 64)
            run = getattr(self._library, f"aclnn{row.name}")
            self._check(run(workspace, size, executor, self._stream))
            self._check(self._library.aclrtSynchronizeStream(self._stream))
        finally:
            for kind, handle in handles:
                getattr(self._library, f"aclDestroy{kind}")(handle)

    def _check(self, code: int) -> None:
        if code != 0:
            raise AclnnError(code, (self._library.aclGetRecentErrMsg() or b"").decode())

    def _argument(self, kind: str, value, handles: list):
        """Make what the C function takes; a handle is added to ``handles``."""
        if kind in PLAIN:
            if isinstance(value, torch.dtype):
                value = DTYPES[value]
            if value is None:
                value = {"s": "", "D": -1}.get(kind, 0)
            return PLAIN[kind](value.encode() if kind == "s" else value)
        if value is None:
            return ctypes.c_void_p()
        destroyed = isinstance(value, Destroyed)
        made, handle = self._handle(kind, value.value if destroyed else value)
        if destroyed:
            getattr(self._library, f"aclDestroy{made}")(handle)
        else:
            handles.append((made, handle))
        return handle

    def _handle(self, kind: str, value) -> tuple[str, ctypes.c_void_p]:
        if kind in ("TL", "OL", "ML"):
            return self._array(
                "TensorList", ctypes.c_void_p, [self._tensor(t).value for t in value]
            )
        if kind == "SL":
            return self._array(
                "ScalarList", ctypes.c_void_p, [self._scalar(v).value for v in value]
            )
        if kind in _ARRAYS:
            return self._array(*_ARRAYS[kind], value)
        return ("Scalar", self._scalar(value)) if kind == "S" else ("Tensor", self._tensor(value))

    def _create(self, kind: str, *arguments) -> ctypes.c_void_p:
        create = getattr(self._library, f"aclCreate{kind}")
        create.restype = ctypes.c_void_p
        return ctypes.c_void_p(create(*arguments))

    def _array(self, kind: str, element, values) -> tuple[str, ctypes.c_void_p]:
        elements = (element * max(len(values), 1))(*values)
        return kind, self._create(kind, elements, ctypes.c_uint64(len(values)))

    def _tensor(self, t: torch.Tensor | OfType) -> ctypes.c_void_p:
        dtype = None
        if isinstance(t, OfType):
            t, dtype = t.value, t.dtype
        dims = ctypes.c_int64 * t.dim()
        storage = t.untyped_storage()
        elements = ctypes.c_int64(storage.nbytes() // t.element_size())
        return self._create(
            "Tensor",
            dims(*t.shape),
            ctypes.c_uint64(t.dim()),
            DTYPES[t.dtype] if dtype is None else dtype,
            dims(*t.stride()),
            ctypes.c_int64(t.storage_offset()),
            2,
            ctypes.byref(elements),
            ctypes.c_uint64(1),
            ctypes.c_void_p(storage.data_ptr()),
        )

    def _scalar(self, value) -> ctypes.c_void_p:
        dtype = None
        if isinstance(value, OfType):
            value, dtype = value.value, value.dtype
        wide = {bool: torch.bool, int: torch.int64, complex: torch.complex128}
        one = torch.tensor(value, dtype=wide.get(type(value), torch.float64))
        dtype = DTYPES[one.dtype] if dtype is None else dtype
        return self._create("Scalar", ctypes.c_void_p(one.data_ptr()), dtype)
