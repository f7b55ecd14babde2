#!/usr/bin/env python3
"""Resizing in compiled graphs: portacl's kernels (`portacl.torch.enable()`) and the code of Inductor.

The measured function resizes, with a product before and a sum of squares behind, as in training.
torch.compile compiles it twice: as it is, and with portacl enabled. Forward and backward of both
take turns in one process, on the same tensors. A row is the median of the ratios of neighbours, so
that a busy machine slows both. Needs PyTorch, a C++ compiler and the Python package.

  bench/compiled_calls.py                   the rows below, as a table
  bench/compiled_calls.py NAME...           these only
  bench/compiled_calls.py --forward         with portacl's forward kernels too
  bench/compiled_calls.py --repeat 21 --clock cpu
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import torch
import torch.nn.functional as F

import portacl.torch as pt


class Row(NamedTuple):
    """A call of interpolate."""

    mode: str
    shape: tuple[int, ...]
    size: tuple[int, ...]
    antialias: bool = False


ROWS = {
    "nearest_exact_x2": Row("nearest-exact", (1, 128, 128, 128), (256, 256)),
    "nearest_exact_odd": Row("nearest-exact", (8, 3, 112, 120), (250, 310)),
    "nearest_x2": Row("nearest", (1, 128, 128, 128), (256, 256)),
    "nearest_3d": Row("nearest", (1, 16, 32, 32, 32), (64, 64, 64)),
    "linear_audio": Row("linear", (32, 64, 4096), (8192,)),
    "bilinear_x2": Row("bilinear", (1, 128, 128, 128), (256, 256)),
    "bilinear_odd": Row("bilinear", (8, 3, 112, 120), (250, 310)),
    "bilinear_logits": Row("bilinear", (2, 21, 65, 65), (513, 513)),
    "bilinear_down": Row("bilinear", (4, 32, 250, 310), (101, 133)),
    "bilinear_aa": Row("bilinear", (4, 3, 512, 512), (224, 224), antialias=True),
    "bicubic_positions": Row("bicubic", (1, 384, 14, 14), (32, 32)),
    "bicubic_x2": Row("bicubic", (4, 3, 256, 256), (512, 512)),
    "trilinear_x2": Row("trilinear", (1, 16, 32, 32, 32), (64, 64, 64)),
}


def step_of(row: Row, name: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """A new function without a graph: torch.compile knows functions by their code."""
    options: dict[str, Any] = {"mode": row.mode, "size": row.size}
    if row.antialias:
        options["antialias"] = True

    def step(x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(x * 1.5, **options).square().sum()

    step.__code__ = step.__code__.replace(co_name=name)
    return step


def calls_backward(compiled: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> bool:
    """Whether the graph has an operator for the gradient: portacl replaces its kernel."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        run(compiled, x)
    return any("upsample" in e.name and "backward" in e.name for e in profile.events())


def run(compiled: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(compiled(x), x)[0]


def measure(
    row: Row, repeat: int, forward: bool, clock: Callable[[], float]
) -> Optional[tuple[float, ...]]:
    """Milliseconds of Inductor's and portacl's graphs, and the median ratio; None: the same code."""
    torch._dynamo.reset()
    x = torch.randn(row.shape, requires_grad=True)
    graphs = {}
    for name in ("inductor", "portacl"):
        pt.enable(forward=forward) if name == "portacl" else pt.disable()
        graphs[name] = torch.compile(step_of(row, name), dynamic=False)
        result = run(graphs[name], x)
        if name == "inductor":
            wanted = result
        elif not calls_backward(graphs[name], x):
            return None  # Inductor has code of its own for the gradient, and takes it
    torch.testing.assert_close(result, wanted, rtol=1e-3, atol=1e-3)
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for turn in range(repeat):
        for name in sorted(graphs, reverse=bool(turn % 2)):
            pt.enable(forward=forward) if name == "portacl" else pt.disable()
            run(graphs[name], x)  # warm
            began = clock()
            run(graphs[name], x)
            times[name].append((clock() - began) * 1e3)
    pt.disable()
    ratio = statistics.median(i / p for i, p in zip(times["inductor"], times["portacl"]))
    return min(times["inductor"]), min(times["portacl"]), ratio


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[*ROWS, []], metavar="NAME")
    parser.add_argument("--forward", action="store_true")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    arguments = parser.parse_args()
    clock = time.perf_counter if arguments.clock == "wall" else time.process_time
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {arguments.clock} time,")
    print(f"portacl's {'both directions' if arguments.forward else 'backward kernels'}\n")
    print("| row | call | Inductor, ms | portacl, ms | ratio |\n| --- | --- | ---: | ---: | ---: |")
    for name in arguments.names or ROWS:
        row = ROWS[name]
        times = measure(row, arguments.repeat, arguments.forward, clock)
        shape, size = (" x ".join(map(str, numbers)) for numbers in (row.shape, row.size))
        mode = row.mode + (", antialias" if row.antialias else "")
        numbers = " | ".join(f"{time:.2f}" for time in times) if times else "| the same code |"
        print(f"| {name} | {mode}: {shape} to {size} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
