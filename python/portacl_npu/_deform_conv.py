"""torch_npu's deformable convolution, by portacl's functions of the aclnn API.

The plugin itself composes it of graph operators that portacl lacks, Transpose and Conv2D.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

_DTYPES = {"torch.float32": 0, "torch.float16": 1, "torch.bfloat16": 27}
_ND = 2
_HANDLES = ("aclCreateTensor", "aclCreateIntArray")


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL("libascendcl.so")  # portacl has all names in one library
    for name in _HANDLES:
        getattr(library, name).restype = ctypes.c_void_p
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return library


def _list(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


class _Call:
    """One call: the handles of its arguments, which end with it."""

    def __init__(self, function: str) -> None:
        self._function, self._acl = function, _library()
        self._tensors: list[ctypes.c_void_p] = []
        self._lists: list[ctypes.c_void_p] = []

    def __enter__(self) -> _Call:
        return self

    def __exit__(self, *error: object) -> None:
        for tensor in self._tensors:
            self._acl.aclDestroyTensor(tensor)
        for numbers in self._lists:
            self._acl.aclDestroyIntArray(numbers)

    def tensor(self, tensor: Any) -> ctypes.c_void_p:
        if tensor is None:
            return ctypes.c_void_p()
        if str(tensor.dtype) not in _DTYPES:
            raise RuntimeError(f"{self._function}: portacl_npu has no {tensor.dtype} of it")
        storage = tensor.untyped_storage()
        rank, dtype = ctypes.c_uint64(tensor.dim()), _DTYPES[str(tensor.dtype)]
        elements = _list([storage.nbytes() // tensor.element_size()])
        made = ctypes.c_void_p(
            self._acl.aclCreateTensor(
                *(_list(tensor.shape), rank, dtype, _list(tensor.stride())),
                *(ctypes.c_int64(tensor.storage_offset()), _ND, elements, ctypes.c_uint64(1)),
                ctypes.c_void_p(storage.data_ptr()),
            )
        )
        self._tensors.append(made)
        return made

    def numbers(self, values: Sequence[int]) -> ctypes.c_void_p:
        made = ctypes.c_void_p(
            self._acl.aclCreateIntArray(_list(values), ctypes.c_uint64(len(values)))
        )
        self._lists.append(made)
        return made

    def _check(self, status: int) -> None:
        if status != 0:
            raise RuntimeError((self._acl.aclGetRecentErrMsg() or b"").decode())

    def run(self, *arguments: Any) -> None:
        """Both phases, on the current stream, behind what the plugin has enqueued."""
        import torch

        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        plan = getattr(self._acl, f"{self._function}GetWorkspaceSize")
        self._check(plan(*arguments, ctypes.byref(size), ctypes.byref(executor)))
        workspace = torch.empty(max(size.value, 1), dtype=torch.uint8, device="npu")
        stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)  # type: ignore[attr-defined]
        address = ctypes.c_void_p(workspace.data_ptr())
        self._check(getattr(self._acl, self._function)(address, size, executor, stream))


def _steps(call: _Call, kernel: Any, stride: Any, padding: Any, dilation: Any) -> list[Any]:
    return [call.numbers(list(values)) for values in (kernel, stride, padding, dilation)]


def _groups(groups: int, deformable_groups: int, modulated: bool) -> list[Any]:
    numbers = [ctypes.c_int64(groups), ctypes.c_int64(deformable_groups)]
    return [*numbers, ctypes.c_bool(modulated)]


def _convolve(
    input: Any,
    weight: Any,
    offset: Any,
    bias: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> Any:
    rows, columns = (n * k for n, k in zip(offset.shape[2:], kernel_size))
    out = input.new_empty((input.shape[0], weight.shape[0], *offset.shape[2:]))
    samples = input.new_empty((*input.shape[:2], rows, columns))
    with _Call("aclnnDeformableConv2d") as call:
        call.run(
            *(call.tensor(tensor) for tensor in (input, weight, offset, bias)),
            *_steps(call, kernel_size, stride, padding, dilation),
            *_groups(groups, deformable_groups, modulated),
            *(call.tensor(tensor) for tensor in (out, samples)),
        )
    return out, samples


def _gradients(
    input: Any,
    grad_output: Any,
    offset_out: Any,
    weight: Any,
    offset: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> Any:
    shapes = (input.shape, weight.shape, offset.shape, weight.shape[:1])
    grads = [grad_output.new_empty(shape) for shape in shapes]
    with _Call("aclnnDeformableConv2dBackward") as call:
        given = (input, grad_output, offset_out, weight, offset)
        call.run(
            *(call.tensor(tensor) for tensor in given),
            *_steps(call, kernel_size, stride, padding, dilation),
            *_groups(groups, deformable_groups, modulated),
            *(call.tensor(tensor) for tensor in grads),
        )
    return tuple(grads)


OPERATORS = {"npu_deformable_conv2d": _convolve, "npu_deformable_conv2dbk": _gradients}
