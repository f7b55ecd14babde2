"""Who is measured: portacl, PyTorch, oneDNN, JAX, and this machine's copy and fill.

A peer turns a problem into a `Runner`, or raises `UnsupportedError` with the reason.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from . import native
from .cases import Case
from .data import Problem

Outputs = Sequence[torch.Tensor | None]


class UnsupportedError(Exception):
    """This peer cannot do this case; the text says why."""


@dataclasses.dataclass
class Runner:
    """One call, ready to be timed."""

    peer: str
    call: Callable[[], Any]
    # Results of one call; None for peers that compute nothing (copies).
    outputs: Callable[[], Outputs] | None = None
    details: dict[str, Any] = dataclasses.field(default_factory=dict)
    close: Callable[[], None] = lambda: None


class Peer(Protocol):
    name: str

    def prepare(self, problem: Problem) -> Runner: ...


# ---- portacl -------------------------------------------------------------------------------------


class Portacl:
    """The two-phase aclnn call, outputs preallocated in ordinary memory."""

    name = "portacl"

    def __init__(self, lib: native.Library) -> None:
        self._lib = lib

    def prepare(self, problem: Problem) -> Runner:
        results = problem.empty_outputs()
        call = native.TwoPhaseCall(self._lib, problem, results)
        plan = native.PlannedCall(self._lib, problem, results)
        details = {"kernel": plan.kernel, "workspace": call.workspace_size}
        plan.close()
        return Runner(self.name, call, _poisoned(call, results), details, call.close)


class PortaclFresh:
    """The same with newly allocated outputs in each call, as in PyTorch's functional form."""

    name = "portacl-fresh"

    def __init__(self, lib: native.Library) -> None:
        self._lib = lib

    def prepare(self, problem: Problem) -> Runner:
        two_phase = native.TwoPhaseCall(self._lib, problem, problem.empty_outputs())

        def call() -> Outputs:
            results = problem.empty_outputs()
            two_phase.redirect(results)
            two_phase()
            return results

        return Runner(self.name, call, call, {}, two_phase.close)


class PortaclPlan:
    """portaclPlanRun of a plan that is made once."""

    name = "portacl-plan"

    def __init__(self, lib: native.Library) -> None:
        self._lib = lib

    def prepare(self, problem: Problem) -> Runner:
        results = problem.empty_outputs()
        call = native.PlannedCall(self._lib, problem, results)
        details = {"kernel": call.kernel, "workspace": call.workspace_size}
        return Runner(self.name, call, _poisoned(call, results), details, call.close)


def _poisoned(call: Callable[[], Any], results: Outputs) -> Callable[[], Outputs]:
    """Fills the results with NaN first: unwritten elements are noticed."""

    def outputs() -> Outputs:
        for result in results:
            if result is not None:
                result.fill_(float("nan"))
        call()
        return results

    return outputs


# ---- PyTorch -------------------------------------------------------------------------------------


class Torch:
    """The functional form: allocates its outputs, as autograd calls it."""

    name = "torch"

    def prepare(self, problem: Problem) -> Runner:
        case = problem.case
        if not case.is_grid:
            nearest = _torch_nearest(problem, None)
            return Runner(self.name, nearest, lambda: [nearest()])
        grid = _torch_grid(problem)
        wanted = lambda: [r if w else None for r, w in zip(grid(), case.mask)]  # noqa: E731
        return Runner(self.name, grid, wanted)


class TorchOut:
    """The out= variant (grad_input=), output preallocated; only nearest-exact has one."""

    name = "torch-out"

    def prepare(self, problem: Problem) -> Runner:
        if problem.case.is_grid:
            raise UnsupportedError("grid_sampler_2d_backward has no out= variant of its own")
        results = problem.empty_outputs()
        call = _torch_nearest(problem, results[0])
        return Runner(self.name, call, _poisoned(call, results))


def _torch_nearest(problem: Problem, out: torch.Tensor | None) -> Callable[[], torch.Tensor]:
    case = problem.case
    axes = len(case.output)
    packet = getattr(torch.ops.aten, f"_upsample_nearest_exact{axes}d_backward")
    arguments = (problem.grad_output, list(case.output), list(case.input), *(None,) * axes)
    if out is None:
        return functools.partial(packet.default, *arguments)
    return functools.partial(packet.grad_input, *arguments, grad_input=out)


def _torch_grid(problem: Problem) -> Callable[[], tuple[torch.Tensor, torch.Tensor]]:
    case = problem.case
    return functools.partial(
        torch.ops.aten.grid_sampler_2d_backward.default,
        problem.grad_output,
        problem.input,
        problem.grid,
        native.INTERPOLATION[case.interpolation],
        native.PADDING[case.padding],
        case.align_corners,
        list(case.mask),
    )


# ---- oneDNN --------------------------------------------------------------------------------------


class OneDnn:
    """Resampling backward with algorithm nearest, on the plain layouts, output preallocated."""

    name = "onednn"

    def __init__(self, path: pathlib.Path) -> None:
        c = ctypes.CDLL(str(path))
        integers, pointer = ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p
        c.portacl_onednn_create.restype = pointer
        c.portacl_onednn_create.argtypes = [
            ctypes.c_int32,
            integers,
            integers,
            ctypes.c_int32,
            ctypes.c_int32,
        ]
        c.portacl_onednn_run.argtypes = [pointer, pointer, pointer]
        c.portacl_onednn_destroy.argtypes = [pointer]
        c.portacl_onednn_destroy.restype = None
        self._c = c

    def version(self) -> str:
        number = self._c.portacl_onednn_version()
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    def prepare(self, problem: Problem) -> Runner:
        case, c = problem.case, self._c
        if case.is_grid:
            raise UnsupportedError("oneDNN has no grid sampler")
        shapes = [(ctypes.c_int64 * len(s))(*s) for s in (case.grad_output_shape, case.input)]
        dtype = native.ACL_DTYPE[problem.grad_output.dtype]
        channels_last = case.memory_format == "channels_last"
        handle = c.portacl_onednn_create(len(case.input), *shapes, dtype, channels_last)
        if not handle:
            raise UnsupportedError(f"oneDNN does not do {case.dtype} here")
        results = problem.empty_outputs()
        assert results[0] is not None
        arguments = (handle, problem.grad_output.data_ptr(), results[0].data_ptr())

        def call() -> None:
            if c.portacl_onednn_run(*arguments) != 0:
                raise RuntimeError("oneDNN failed")

        close = lambda: c.portacl_onednn_destroy(handle)  # noqa: E731
        return Runner(self.name, call, _poisoned(call, results), {}, close)


# ---- JAX -----------------------------------------------------------------------------------------


_JAX_MODE = {"zeros": "constant", "border": "nearest", "reflection": "reflect"}


class Jax:
    """Compiled vjp of jax.image.resize, and of map_coordinates for the grid sampler."""

    name = "jax"

    def __init__(self) -> None:
        import jax  # noqa: PLC0415 (optional)

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        self._jax = jax

    def prepare(self, problem: Problem) -> Runner:
        case = problem.case
        function, arguments = self._grid(problem) if case.is_grid else self._nearest(problem)
        compiled = self._jax.jit(function)
        inputs = [self._array(a) for a in arguments]

        def call() -> Any:
            return self._jax.block_until_ready(compiled(*inputs))

        return Runner(self.name, call, lambda: self._results(call(), case))

    def _array(self, tensor: torch.Tensor) -> Any:
        if tensor.dtype == torch.bfloat16:
            return self._jax.numpy.asarray(tensor.float().numpy()).astype("bfloat16")
        return self._jax.numpy.asarray(tensor.numpy())

    def _results(self, arrays: Any, case: Case) -> Outputs:
        results = [torch.from_numpy(_numpy(a)) for a in arrays]
        if case.memory_format == "channels_last":
            results[0] = results[0].permute(0, 3, 1, 2)
        if not case.is_grid:
            return results
        remaining = iter(results)
        return [next(remaining) if wanted else None for wanted in case.mask]

    def _nearest(self, problem: Problem) -> tuple[Callable[..., Any], list[torch.Tensor]]:
        case, jax = problem.case, self._jax
        last = case.memory_format == "channels_last"
        grad_output = problem.grad_output.permute(0, 2, 3, 1) if last else problem.grad_output
        shape = (case.input[0], *case.input[2:], case.input[1]) if last else case.input

        def gradient(g: Any) -> Any:
            zeros = jax.numpy.zeros(shape, g.dtype)
            return jax.vjp(lambda x: jax.image.resize(x, g.shape, "nearest"), zeros)[1](g)

        return gradient, [grad_output]

    def _grid(self, problem: Problem) -> tuple[Callable[..., Any], list[torch.Tensor]]:
        case = problem.case
        if case.interpolation == "bicubic":
            raise UnsupportedError("map_coordinates has no cubic order")
        if case.padding == "reflection" and case.align_corners:
            raise UnsupportedError("map_coordinates reflects at -0.5 only")
        assert problem.input is not None and problem.grid is not None
        if case.memory_format == "channels_last":
            raise UnsupportedError("same program as for NCHW")
        sample = self._sampler(case)
        jax, mask = self._jax, case.mask

        def gradient(g: Any, image: Any, grid: Any) -> Any:
            pull = jax.vjp(sample, image, grid)[1]
            return tuple(r for r, wanted in zip(pull(g), mask) if wanted)

        return gradient, [problem.grad_output, problem.input, problem.grid]

    def _sampler(self, case: Case) -> Callable[[Any, Any], Any]:
        jax = self._jax
        order = 1 if case.interpolation == "bilinear" else 0
        mode = _JAX_MODE[case.padding]
        height, width = case.input[2:]

        def plane(image: Any, y: Any, x: Any) -> Any:
            return jax.scipy.ndimage.map_coordinates(image, [y, x], order=order, mode=mode)

        def pixel(x: Any, extent: int) -> Any:
            return (x + 1) / 2 * (extent - 1) if case.align_corners else ((x + 1) * extent - 1) / 2

        def sample(images: Any, grid: Any) -> Any:
            x, y = pixel(grid[..., 0], width), pixel(grid[..., 1], height)
            channels = jax.vmap(plane, in_axes=(0, None, None))
            return jax.vmap(channels)(images, y, x).astype(images.dtype)

        return sample


def _numpy(array: Any) -> Any:
    import numpy  # noqa: PLC0415

    if array.dtype.name == "bfloat16":
        return numpy.array(array.astype("float32"))
    return numpy.array(array)


# ---- the machine ---------------------------------------------------------------------------------


COPY_MODES = {"memcpy": 0, "nt-copy": 1, "memset": 2, "nt-fill": 3}
MIX_MODES = {"mix": 4, "nt-mix": 5}


class Copier:
    """The library of copy_bandwidth.cc with a team of threads."""

    def __init__(self, path: pathlib.Path, threads: int) -> None:
        c = ctypes.CDLL(str(path))
        c.portacl_copy_create.restype = ctypes.c_void_p
        c.portacl_copy_create.argtypes = [ctypes.c_int32]
        c.portacl_copy_run.restype = None
        c.portacl_copy_run.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int32,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
        ]
        c.portacl_copy_mix.restype = None
        c.portacl_copy_mix.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int32,
            *(ctypes.c_void_p, ctypes.c_size_t) * 2,
        ]
        self._c = c
        self._team = c.portacl_copy_create(threads)

    def runner(self, mode: str, moved: int) -> Runner:
        """Moves `moved` bytes in all: half is read and half written, or all is written."""
        count = max(1, moved // 2 if "copy" in mode or mode == "memcpy" else moved)
        target = torch.zeros(count, dtype=torch.uint8)
        source = torch.ones(count, dtype=torch.uint8) if count != moved else target
        number, run, team = COPY_MODES[mode], self._c.portacl_copy_run, self._team
        addresses = (target.data_ptr(), source.data_ptr())
        keep = (target, source)

        def call() -> Any:
            run(team, number, *addresses, count)
            return keep

        return Runner(mode, call, None, {"bytes": moved})

    def mix(self, mode: str, source: torch.Tensor, target: torch.Tensor) -> Runner:
        """Reads all of `source` and writes all of `target`, evenly mixed."""
        arguments = [x for t in (target, source) for x in (t.data_ptr(), t.nbytes)]
        number, run, team = MIX_MODES[mode], self._c.portacl_copy_mix, self._team
        keep = (source, target)

        def call() -> Any:
            run(team, number, *arguments)
            return keep

        return Runner(mode, call, None, {"bytes": source.nbytes + target.nbytes})


class Copy:
    """A copy that moves as many bytes as the tensors of the case have."""

    def __init__(self, copier: Copier, mode: str) -> None:
        self.name, self._copier = mode, copier

    def prepare(self, problem: Problem) -> Runner:
        return self._copier.runner(self.name, problem.case.bytes)


class Mix:
    """Only reads gradOutput and writes as many bytes as gradInput has: the memory's limit for this
    share of reads, on the same pages."""

    def __init__(self, copier: Copier, mode: str) -> None:
        self.name, self._copier = mode, copier

    def prepare(self, problem: Problem) -> Runner:
        if problem.case.is_grid:
            raise UnsupportedError("the grid sampler does not read its tensors in order")
        target = problem.empty_outputs()[0]
        assert target is not None
        return self._copier.mix(self.name, problem.grad_output, target.zero_())


class Fill:
    """Zeroing of as many bytes as inputGrad has: the floor for sparse grids."""

    def __init__(self, copier: Copier, mode: str) -> None:
        self.name, self._copier = mode, copier

    def prepare(self, problem: Problem) -> Runner:
        if not problem.case.is_grid:
            raise UnsupportedError("only the grid sampler zeroes more than it adds to")
        if not problem.case.mask[0]:
            raise UnsupportedError("inputGrad is not wanted")
        return self._copier.runner(self.name, problem.case.written_bytes)
