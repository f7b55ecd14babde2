"""libportacl.so through ctypes: the two-phase aclnn API and portacl's own plans."""

from __future__ import annotations

import ctypes
import json
import math
import pathlib
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p
from typing import Any

import torch

from .cases import Case
from .data import Problem

ACL_DTYPE = {torch.float32: 0, torch.float16: 1, torch.float64: 11, torch.bfloat16: 27, torch.int64: 9}
INTERPOLATION = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDING = {"zeros": 0, "border": 1, "reflection": 2}
FORMAT_ND, FORMAT_NCL = 2, 47
HUGE_FIRST = 0


class PortaclError(RuntimeError):
    """A call was refused or failed; the text is the library's own message."""


class _Tensor(ctypes.Structure):
    """portaclTensor of portacl/portacl.h."""

    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("shape", c_int64 * 5),
        ("strides", c_int64 * 5),
    ]


def _prototypes(lib: ctypes.CDLL) -> None:
    pointer, size, flag = c_void_p, c_uint64, c_int32
    integers = POINTER(c_int64)
    table: dict[str, tuple[Any, list[Any]]] = {
        "aclrtSetDevice": (flag, [c_int32]),
        "aclrtCreateStream": (flag, [POINTER(pointer)]),
        "aclrtSynchronizeStream": (flag, [pointer]),
        "aclrtMalloc": (flag, [POINTER(pointer), size, c_int32]),
        "aclrtFree": (flag, [pointer]),
        "aclGetRecentErrMsg": (c_char_p, []),
        "aclCreateTensor": (
            pointer,
            [integers, size, c_int32, integers, c_int64, c_int32, integers, size, pointer],
        ),
        "aclDestroyTensor": (flag, [pointer]),
        "aclSetRawTensorAddr": (flag, [pointer, pointer]),
        "aclCreateIntArray": (pointer, [integers, size]),
        "aclDestroyIntArray": (flag, [pointer]),
        "aclCreateBoolArray": (pointer, [POINTER(c_bool), size]),
        "aclDestroyBoolArray": (flag, [pointer]),
        "aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize": (
            flag,
            [pointer] * 3 + [c_double, pointer, POINTER(size), POINTER(pointer)],
        ),
        "aclnnUpsampleNearestExact1dBackward": (flag, [pointer, size, pointer, pointer]),
        "aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize": (
            flag,
            [pointer] * 3 + [c_double, c_double, pointer, POINTER(size), POINTER(pointer)],
        ),
        "aclnnUpsampleNearestExact2dBackward": (flag, [pointer, size, pointer, pointer]),
        "aclnnGridSampler2DBackwardGetWorkspaceSize": (
            flag,
            [pointer] * 3
            + [c_int64, c_int64, c_bool]
            + [pointer] * 3
            + [POINTER(size), POINTER(pointer)],
        ),
        "aclnnGridSampler2DBackward": (flag, [pointer, size, pointer, pointer]),
        "portaclGetErrorMessage": (c_char_p, []),
        "portaclGetVersion": (c_char_p, []),
        "portaclGetInfo": (c_char_p, []),
        "portaclSetProfile": (flag, [c_char_p]),
        "portaclSetNumThreads": (flag, [c_int32]),
        "portaclSetImpl": (flag, [c_char_p]),
        "portaclPlanGetWorkspaceSize": (size, [pointer]),
        "portaclPlanGetKernel": (c_char_p, [pointer]),
        "portaclPlanRun": (flag, [pointer, POINTER(pointer), pointer, size]),
        "portaclPlanDestroy": (None, [pointer]),
    }
    for name, (result, arguments) in table.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments


class Library:
    """The loaded library with one stream, in profile `open`."""

    def __init__(self, path: pathlib.Path, threads: int, impl: str | None = None) -> None:
        self.c = ctypes.CDLL(str(path))
        _prototypes(self.c)
        self.check(self.c.portaclSetProfile(b"open"))
        self.check(self.c.portaclSetNumThreads(threads))
        if impl:
            self.check(self.c.portaclSetImpl(impl.encode()))
        self.check(self.c.aclrtSetDevice(0))
        stream = c_void_p()
        self.check(self.c.aclrtCreateStream(byref(stream)))
        self.stream = stream

    def check(self, status: int) -> None:
        if status != 0:
            text = self.c.aclGetRecentErrMsg() or self.c.portaclGetErrorMessage() or b"no message"
            raise PortaclError(f"{status}: {text.decode()}")

    def info(self) -> dict[str, Any]:
        info: dict[str, Any] = json.loads(self.c.portaclGetInfo())
        return info

    def version(self) -> str:
        return str(self.c.portaclGetVersion().decode())


def _int64s(values: Sequence[int]) -> ctypes.Array[c_int64]:
    return (c_int64 * len(values))(*values)


class TwoPhaseCall:
    """One aclnn call on fixed tensors: phase 1, phase 2 and synchronise, each time it is called.

    Descriptors are made once and the workspace is booked once, as programs do.
    """

    def __init__(
        self, lib: Library, problem: Problem, outputs: Sequence[torch.Tensor | None]
    ) -> None:
        self._lib = lib
        self._size, self._executor = c_uint64(), c_void_p()
        self._workspace: c_void_p | None = None
        self._handles: list[tuple[Callable[[Any], int], Any]] = []
        self._keep = [problem.grad_output, problem.input, problem.grid, *outputs]
        self.outputs = [self._tensor(o, problem.case, i) for i, o in enumerate(outputs)]
        plan, run = self._entry(problem)
        self._plan: Callable[[], int] = plan
        self._run = run
        lib.check(plan())
        self.workspace_size = self._size.value
        if self.workspace_size > 0:
            self._workspace = c_void_p()
            lib.check(lib.c.aclrtMalloc(byref(self._workspace), self.workspace_size, HUGE_FIRST))
        self._execute()

    def __call__(self) -> None:
        status = self._plan()
        if status != 0:
            self._lib.check(status)
        self._execute()

    def close(self) -> None:
        if self._workspace is not None:
            self._lib.check(self._lib.c.aclrtFree(self._workspace))
        for destroy, handle in self._handles:
            destroy(handle)
        self._handles, self._workspace = [], None

    def _execute(self) -> None:
        lib = self._lib
        status = self._run(self._workspace, self._size.value, self._executor, lib.stream)
        status = status or lib.c.aclrtSynchronizeStream(lib.stream)
        if status != 0:
            lib.check(status)

    def _tensor(self, tensor: torch.Tensor | None, case: Case, index: int) -> Any:
        """A descriptor; an output that is not wanted has a shape and no address."""
        c = self._lib.c
        if tensor is None:
            shape: tuple[int, ...] = case.input if index == 0 else case.grid_shape
            strides, address = None, None
            dtype = ACL_DTYPE[self._keep[0].dtype]
        else:
            shape, strides = tuple(tensor.shape), _int64s(tensor.stride())
            address, dtype = tensor.data_ptr(), ACL_DTYPE[tensor.dtype]
        reach = sum((n - 1) * s for n, s in zip(shape, strides or []))
        storage = _int64s([max(reach + 1, math.prod(shape))])
        format_ = FORMAT_NCL if len(shape) == 3 else FORMAT_ND
        handle = c.aclCreateTensor(
            _int64s(shape), len(shape), dtype, strides, 0, format_, storage, 1, address
        )
        self._handles.append((c.aclDestroyTensor, handle))
        return handle

    def _entry(self, problem: Problem) -> tuple[Callable[[], int], Callable[..., int]]:
        c, case = self._lib.c, problem.case
        grad_output = self._tensor(problem.grad_output, case, 0)
        tail = (byref(self._size), byref(self._executor))
        if case.is_grid:
            mask = c.aclCreateBoolArray((c_bool * 2)(*case.mask), 2)
            self._handles.append((c.aclDestroyBoolArray, mask))
            arguments = (
                grad_output,
                self._tensor(problem.input, case, 0),
                self._tensor(problem.grid, case, 0),
                INTERPOLATION[case.interpolation],
                PADDING[case.padding],
                case.align_corners,
                mask,
                *self.outputs,
                *tail,
            )
            plan = c.aclnnGridSampler2DBackwardGetWorkspaceSize
            return (lambda: plan(*arguments)), c.aclnnGridSampler2DBackward
        axes = len(case.output)
        sizes = [c.aclCreateIntArray(_int64s(s), len(s)) for s in (case.output, case.input)]
        self._handles += [(c.aclDestroyIntArray, s) for s in sizes]
        scales = (0.0,) * axes
        name = f"aclnnUpsampleNearestExact{axes}dBackward"
        plan = getattr(c, name + "GetWorkspaceSize")
        nearest_arguments = (grad_output, *sizes, *scales, self.outputs[0], *tail)
        return (lambda: plan(*nearest_arguments)), getattr(c, name)

    def redirect(self, outputs: Sequence[torch.Tensor | None]) -> None:
        """Points the outputs at other memory of the same shape and strides."""
        for handle, tensor in zip(self.outputs, outputs):
            if tensor is not None:
                self._lib.c.aclSetRawTensorAddr(handle, tensor.data_ptr())


class Planned:
    """A plan of portaclPlan<name>; calling it runs it on the planned addresses."""

    def __init__(self, lib: Library, name: str, *arguments: Any) -> None:
        self._lib = lib
        self._keep = arguments
        self._plan = c_void_p()
        plan = getattr(lib.c, f"portaclPlan{name}")
        lib.check(plan(*(self._passed(a) for a in arguments), byref(self._plan)))
        self.kernel = lib.c.portaclPlanGetKernel(self._plan).decode()
        self.workspace_size = lib.c.portaclPlanGetWorkspaceSize(self._plan)

    def __call__(self) -> None:
        status = self._lib.c.portaclPlanRun(self._plan, None, None, 0)
        if status != 0:
            self._lib.check(status)

    def close(self) -> None:
        self._lib.c.portaclPlanDestroy(self._plan)

    @staticmethod
    def _passed(argument: Any) -> Any:
        if not isinstance(argument, torch.Tensor):
            return argument
        tensor = argument
        view = _Tensor(tensor.data_ptr(), ACL_DTYPE[tensor.dtype], tensor.dim())
        view.shape[: tensor.dim()] = list(tensor.shape)
        view.strides[: tensor.dim()] = list(tensor.stride())
        return byref(view)


class PlannedCall(Planned):
    """The plan of a case."""

    def __init__(
        self, lib: Library, problem: Problem, outputs: Sequence[torch.Tensor | None]
    ) -> None:
        case = problem.case
        if not case.is_grid:
            name = "UpsampleNearestExactBackward"
            super().__init__(lib, name, problem.grad_output, outputs[0], None)
            return
        modes = (INTERPOLATION[case.interpolation], PADDING[case.padding], int(case.align_corners))
        tensors = (problem.grad_output, problem.input, problem.grid, *outputs)
        super().__init__(lib, f"GridSampler{len(case.output)}DBackward", *tensors, *modes)
