#!/usr/bin/env python3
"""What a call costs through PyTorch's dispatcher, and what the pool of result memory saves.

PyTorch's own kernels and portacl's (`portacl.torch.enable()`) take turns in one process, on the
same tensors, with one thread. The pool's size is read once at the start (`PORTACL_POOL_MB`), so the
part on memory has a process for each kind: the pool; malloc, which in such a loop often hands the
same warm block out again up to 32 MiB; malloc told to ask the system each time, as it happens where
other allocations come in between. Needs PyTorch and the Python package.

  bench/torch_calls.py                    both parts, as tables
  bench/torch_calls.py --clock cpu        on a busy machine: this process's CPU time
  bench/torch_calls.py --from f.json --plot docs/images/torch-calls.png
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

MIB = 1 << 20
POOL_SIZES_MIB = (1, 4, 16, 64)  # of the gradient that a call returns
KERNELS = ("PyTorch", "portacl")
# The bounds hold from a process's start, whatever the caller's environment says.
MEMORY = {
    "pool": {"PORTACL_POOL_MB": "1024"},
    "malloc": {"PORTACL_POOL_MB": "0"},
    "fresh": {"PORTACL_POOL_MB": "0", "MALLOC_MMAP_THRESHOLD_": str(MIB)},
}
NEAREST = "_upsample_nearest_exact2d_backward"
GRID = "grid_sampler_2d_backward"
BARS = (
    ("PyTorch", "#666666"),
    ("portacl, fresh memory", "#E69F00"),
    ("portacl, malloc", "#56B4E9"),
    ("portacl, pool", "#0072B2"),
)

Call = Callable[[], Any]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--clock", choices=("wall", "cpu"), default="wall")
    add("--repeat", type=int, help="samples of each, interleaved (9; 3 with --quick)")
    add("--quick", action="store_true", help="small results and few samples")
    add("--json", type=pathlib.Path, metavar="FILE", help="write the numbers")
    add("--from", type=pathlib.Path, dest="source", metavar="JSON", help="do not measure")
    add("--plot", type=pathlib.Path, metavar="PNG", help="draw the part on memory")
    add("--worker", choices=("calls", "memory"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.repeat = options.repeat or (3 if options.quick else 9)
    return options


def tiny_calls() -> dict[str, Call]:
    """The replaced operators on 1 x 1 images: all of the time is the call's cost."""
    import torch

    aten = torch.ops.aten
    line, image, grid = torch.ones(1, 1, 1), torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 2)
    return {
        "_upsample_nearest_exact1d_backward": lambda: aten._upsample_nearest_exact1d_backward(
            line, (1,), (1, 1, 1)
        ),
        NEAREST: lambda: aten._upsample_nearest_exact2d_backward(image, (1, 1), (1, 1, 1, 1)),
        GRID: lambda: aten.grid_sampler_2d_backward(image, image, grid, 0, 0, False, (True, True)),
    }


def memory_calls(quick: bool) -> dict[str, Call]:
    """Calls that return new memory each time, dead before the next call, as in training."""
    import torch

    aten = torch.ops.aten
    calls: dict[str, Call] = {}
    sizes = POOL_SIZES_MIB[:2] if quick else POOL_SIZES_MIB
    for mib in sizes:
        # x2 of 32 channels; the gradient has `mib` MiB of float32.
        h = 64
        w = mib * MIB // (4 * 32 * h)
        grad = torch.ones(1, 32, 2 * h, 2 * w)
        calls[f"{NEAREST} {mib}"] = lambda grad=grad, h=h, w=w: (
            aten._upsample_nearest_exact2d_backward(grad, (2 * h, 2 * w), (1, 32, h, w))
        )
    for mib in sizes[:3]:
        h = 64
        w = mib * MIB // (4 * 32 * h)
        x = torch.ones(1, 32, h, w)
        theta = torch.tensor([[[0.98, -0.03, 0.0], [0.03, 0.98, 0.0]]])
        grid = torch.nn.functional.affine_grid(theta, [1, 32, h, w], align_corners=False)
        calls[f"{GRID} {mib}"] = lambda x=x, grid=grid: aten.grid_sampler_2d_backward(
            x, x, grid, 0, 0, False, (True, True)
        )
    return calls


def measure(calls: dict[str, Call], repeat: int, clock: str) -> dict[str, dict[str, float]]:
    """Median seconds per call, by operator and kernel; the kernels take turns."""
    import portacl.torch as pt

    now = time.process_time if clock == "cpu" else time.perf_counter
    switch = {"PyTorch": pt.disable, "portacl": pt.enable}

    def sample(call: Call, count: int) -> float:
        start = now()
        for _ in range(count):
            call()
        return (now() - start) / count

    found: dict[str, dict[str, float]] = {}
    for name, call in calls.items():
        counts, samples = {}, {kernel: [] for kernel in KERNELS}
        for kernel in KERNELS:
            switch[kernel]()
            call()
            counts[kernel] = max(2, round(2e-2 / max(sample(call, 2), 1e-6)))
        for i in range(repeat):
            for kernel in KERNELS if i % 2 else KERNELS[::-1]:
                switch[kernel]()
                call()
                samples[kernel].append(sample(call, counts[kernel]))
        found[name] = {kernel: statistics.median(values) for kernel, values in samples.items()}
    return found


def work(options: argparse.Namespace) -> None:
    """In a process of its own: measures one part and prints it as JSON."""
    import torch

    import portacl

    torch.set_num_threads(1)
    portacl.set_num_threads(1)
    calls = tiny_calls() if options.worker == "calls" else memory_calls(options.quick)
    found = measure(calls, options.repeat, options.clock)
    print(json.dumps({"found": found, "torch": torch.__version__}))


def run_worker(part: str, options: argparse.Namespace, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [
            sys.executable, __file__, "--worker", part,
            "--clock", options.clock, "--repeat", str(options.repeat),
            *(["--quick"] if options.quick else []),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    from portacl_bench import machine

    workers = {name: run_worker("memory", options, **env) for name, env in MEMORY.items()}
    return {
        "machine": machine.describe(),
        "load": machine.load(),
        "torch": workers["pool"]["torch"],
        "clock": options.clock,
        "calls": run_worker("calls", options)["found"],
        "memory": {name: worker["found"] for name, worker in workers.items()},
    }


def tables(result: dict[str, Any]) -> str:
    machine, lines = result["machine"], []
    lines += [
        f"{machine['cpu']}, {machine['system']}, transparent huge pages "
        f"{machine['transparent_huge_pages']}, PyTorch {result['torch']}, one thread, "
        f"{result['clock']} time, load {result['load']}, commit {machine['commit']}",
        "",
        "| a call on a 1 x 1 image, us | PyTorch | portacl |",
        "| --- | --: | --: |",
    ]
    for name, row in result["calls"].items():
        lines.append(f"| `{name}` | {row['PyTorch'] * 1e6:.1f} | {row['portacl'] * 1e6:.1f} |")
    lines += [
        "",
        "| new gradient, ms | MiB | PyTorch | portacl, fresh memory | malloc | pool |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for name in result["memory"]["pool"]:
        operator, mib = name.split()
        times = " | ".join(f"{1e3 * t:.2f}" for t in memory_times(result, name))
        lines.append(f"| `{operator}` | {mib} | {times} |")
    return "\n".join(lines) + "\n"


def memory_times(result: dict[str, Any], name: str) -> list[float]:
    """Seconds: PyTorch as it is, then portacl on fresh memory, malloc's and the pool's."""
    memory = result["memory"]
    return [
        memory["malloc"][name]["PyTorch"],
        *(memory[kind][name]["portacl"] for kind in ("fresh", "malloc", "pool")),
    ]


def draw(result: dict[str, Any], path: pathlib.Path) -> None:
    """Time per MiB of gradient, by where its memory comes from."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10.5, 3.6), layout="constrained")
    titles = ((NEAREST, "nearest-exact 2D, gradient"), (GRID, "grid sampler 2D, gradients"))
    for axes, (operator, title) in zip(panels, titles):
        names = [name for name in result["memory"]["pool"] if name.split()[0] == operator]
        sizes = [int(name.split()[1]) for name in names]
        columns = zip(*(memory_times(result, name) for name in names))
        for i, ((label, colour), seconds) in enumerate(zip(BARS, columns)):
            places = [k + (i - 1.5) * 0.21 for k in range(len(sizes))]
            heights = [1e3 * s / mib for s, mib in zip(seconds, sizes)]
            drawn = axes.bar(places, heights, 0.19, label=label, color=colour)
            axes.bar_label(drawn, fmt="%.2f", fontsize=6.5)
        axes.set_xticks(range(len(sizes)), [f"{mib} MiB" for mib in sizes])
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("ms per MiB of gradient (lower is better)", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)


def main() -> int:
    options = parse_arguments()
    if options.worker:
        work(options)
        return 0
    result = json.loads(options.source.read_text()) if options.source else measure_all(options)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(tables(result), end="")
    if options.plot:
        draw(result, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
