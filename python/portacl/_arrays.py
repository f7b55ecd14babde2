"""Results of the same kind as the caller's arrays: NumPy, PyTorch, JAX, any array namespace."""

from __future__ import annotations

import sys
from typing import Any, Callable, NamedTuple

import numpy as np

from . import _core
from ._pool import empty_tensor, no_memory, pooled_block

_ITEM_BYTES = {"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


class Kind(NamedTuple):
    """How to make results of one kind of array."""

    empty: Callable[[tuple[int, ...], str], Any]
    """Memory for a result of a shape and dtype name, row-major, contents undefined."""
    finish: Callable[[Any], Any]
    """Turns that memory, once it is filled, into the caller's kind of array."""
    writable: bool
    """Whether the caller's arrays can be results (``out``) at all."""


def _numpy_dtype(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return np.dtype(name)


def _empty_numpy(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    block = pooled_block(shape, _ITEM_BYTES[dtype])
    if block is None:
        try:
            return np.empty(shape, _numpy_dtype(dtype))
        except MemoryError:
            raise no_memory(shape, _ITEM_BYTES[dtype]) from None
    return np.ndarray(shape, _numpy_dtype(dtype), buffer=block)  # type: ignore[arg-type]


def _same(array: Any) -> Any:
    return array


_NUMPY = Kind(_empty_numpy, _same, writable=True)


def _torch_kind(torch: Any) -> Kind:
    def empty(shape: tuple[int, ...], dtype: str) -> Any:
        return empty_tensor(torch, shape, getattr(torch, dtype))

    return Kind(empty, _same, writable=True)


def _namespace_kind(namespace: Any) -> Kind:
    return Kind(_empty_numpy, namespace.asarray, writable=False)


def kind_of(array: Any) -> Kind:
    """Kind of the caller's array. Objects that only have ``__dlpack__`` get NumPy results."""
    if isinstance(array, np.ndarray):
        return _NUMPY
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _torch_kind(torch)
    get_namespace = getattr(array, "__array_namespace__", None)
    if get_namespace is not None:
        return _namespace_kind(get_namespace())
    return _NUMPY


def check_tensor(torch: Any, tensor: Any, name: str) -> None:
    """Refuse tensors that are no strided arrays.

    Raises:
        TypeError: no tensor, or sparse and other layouts.

    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} is of type {type(tensor).__name__}, but must be a tensor")
    if tensor.layout != torch.strided:
        raise TypeError(
            f"{name} has the layout {tensor.layout}, but must be torch.strided (a dense tensor)"
        )


def check_array(array: Any, name: str) -> None:
    """Refuse objects that NumPy or the binding would misread.

    Raises:
        TypeError: None, or an array with a mask that would be ignored.

    """
    if array is None:
        raise TypeError(
            f"{name} is None, but must be an array (NumPy, PyTorch, JAX or any with __dlpack__)"
        )
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, whose mask would be ignored: pass {name}.filled(value), or "
            f"{name}.data"
        )


def describe(array: Any, name: str, pictures: bool = False) -> tuple[tuple[int, ...], str]:
    """Shape and dtype name of an input.

    Raises:
        TypeError: no array, a masked one, or a dtype that is none of float16, bfloat16, float32,
            float64 (and uint8, of pictures).
        ValueError: not in this machine's memory, rank 0 or above 5, or a PyTorch tensor that
            would silently lose its gradient.

    """
    check_array(array, name)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        check_tensor(torch, array, name)
        if array.device.type == "meta":
            raise ValueError(f"{name} is on meta, but must be in this machine's memory")
        if array.requires_grad and torch.is_grad_enabled():
            raise ValueError(
                f"{name} requires grad, which this function would not pass on: use portacl.torch, "
                f"or {name}.detach()"
            )
        if array.is_neg():
            raise ValueError(f"{name} is a negated view: pass {name}.resolve_neg()")
    return _core.describe(array, name, pictures)


def check_out(out: Any, shape: tuple[int, ...] | None, dtype: str) -> None:
    """Refuse arrays that cannot be the result of this shape and dtype.

    None is for operators with inputs that may not fit: they say which array is wrong.

    Raises:
        TypeError: another dtype.
        ValueError: a JAX array or another immutable kind, or another shape.

    """
    kind = kind_of(out)
    if not kind.writable:
        raise ValueError(f"out is of type {type(out).__name__}, which cannot be written")
    got = describe(out, "out", pictures=True)
    if shape is not None and got[0] != shape:
        raise ValueError(f"out has shape {list(got[0])}, but must have {list(shape)}")
    if got[1] != dtype:
        raise TypeError(f"out has dtype {got[1]}, but must have {dtype}")
