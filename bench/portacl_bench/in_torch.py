"""Suite `torch`: PyTorch's operators as training calls them, with and without portacl's kernels.

Results are new memory in each call, OpenMP has its default settings, and another operator of
PyTorch's runs between the calls, outside the measured time: its threads are awake, as in training.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch

import portacl.torch as pt

from . import cases, data, machine
from .cases import Case
from .native import INTERPOLATION, PADDING
from .timing import Protocol, Times

Record = dict[str, Any]
Call = Callable[[], Any]
aten = torch.ops.aten
KERNELS: dict[str, Call] = {
    "torch": pt.disable,
    "portacl": lambda: pt.enable(forward=True),
}
BETWEEN = 1 << 18  # elements of the operator between the calls: 1 MiB
WARM_UP = 2
MOST_CALLS = 50


@torch.no_grad()
def run(options: Any, threads: int) -> list[Record]:
    torch.set_num_threads(threads)
    chosen = cases.load(options.filter) + cases.load(options.filter, cases.VOLUMES_FILE)
    if options.quick and not options.filter:
        chosen = cases.quick(chosen)
    protocol = Protocol(repeat=options.repeat, limit=options.max_seconds, clock=options.clock)
    records = []
    for case in chosen:
        for direction, call in calls(case).items():
            records.append(record(case, direction, call, threads, protocol))
    return records


def record(
    case: Any, direction: str, call: Call | dict[str, Call], threads: int, protocol: Protocol
) -> Record:
    """The fields in a row of results for `call`, one direction of `case`."""
    return {
        "case": case.to_json() | {"name": f"{case.name} {direction}"},
        "direction": direction,
        "threads": threads,
        "load": machine.load(),
        "pool": pt.threads().pool,
        "peers": {name: times.to_json() for name, times in measure(call, protocol).items()},
    }


def calls(case: Case) -> dict[str, Call]:
    """The case's backward operator, and the forward one if the mask wants everything."""
    problem = data.make(case)
    grad = problem.grad_output
    if case.is_grid:
        x, grid = problem.input, problem.grid
        modes = (INTERPOLATION[case.interpolation], PADDING[case.padding], case.align_corners)
        name = f"grid_sampler_{len(case.output)}d"
        gradients, sample = getattr(aten, f"{name}_backward"), getattr(aten, name)
        chosen: dict[str, Call] = {"backward": lambda: gradients(grad, x, grid, *modes, case.mask)}
        if case.mask == (True, True):
            chosen["forward"] = lambda: sample(x, grid, *modes)
        return chosen
    name = f"_upsample_nearest_exact{len(case.output)}d"
    backward, forward = getattr(aten, f"{name}_backward"), getattr(aten, name)
    image = backward(grad, case.output, case.input)
    return {
        "backward": lambda: backward(grad, case.output, case.input),
        "forward": lambda: forward(image, case.output),
    }


def measure(call: Call | dict[str, Call], protocol: Protocol) -> dict[str, Times]:
    """Seconds per call of both kernels, which take turns. Every call is a sample of its own.

    The kernels have calls of their own if `call` says so.
    """
    calls = call if isinstance(call, dict) else dict.fromkeys(KERNELS, call)
    other = torch.ones(BETWEEN)
    times = {name: Times(1) for name in KERNELS}

    def sample(name: str) -> float:
        other.mul_(1.0)
        start = protocol.now()
        result = calls[name]()
        stop = protocol.now()
        del result
        return (stop - start) * 1e-9

    gc.collect()
    gc.disable()
    try:
        for i in range(protocol.repeat):
            for name in list(KERNELS) if i % 2 else list(KERNELS)[::-1]:
                KERNELS[name]()
                longest = max(sample(name) for _ in range(WARM_UP))
                share = protocol.limit / protocol.repeat
                count = max(1, min(MOST_CALLS, int(share / longest)))
                times[name].samples += [sample(name) for _ in range(count)]
    finally:
        gc.enable()
        pt.disable()
    return times
