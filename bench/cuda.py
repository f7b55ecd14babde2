#!/usr/bin/env python3
"""Measures portacl on a GPU side by side with PyTorch's CUDA kernels, and with a copy.

    bench/cuda.py [--filter REGEX] [--calls N] [--json FILE]

Every call is timed by itself between two of CUDA's events, the peers in turn, with the L2 cache
overwritten before each call; a row is the median. `copy` is the time of a copy on the device that
reads and writes as many bytes as the operator must. PyTorch's gradients of grid sampling and of
weighted resizing add atomically; portacl's are the same bits in every run.
Needs a GPU, PyTorch, and the package with libportacl_cuda.so.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import re
import statistics
import sys
from typing import Any, Callable

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from portacl_bench import cases, data, resize, resize_cases  # noqa: E402

from portacl import _core  # noqa: E402

aten = torch.ops.aten
Call = Callable[[], Any]


class Timer:
    """Medians of interleaved calls in microseconds."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.flush = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")

    def __call__(self, *peers: Call) -> list[float]:
        times: list[list[tuple[torch.cuda.Event, torch.cuda.Event]]] = [[] for _ in peers]
        for number in range(self.calls + 2):
            for peer, taken in zip(peers, times):
                self.flush.zero_()
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                peer()
                end.record()
                if number >= 2:
                    taken.append((begin, end))
        torch.cuda.synchronize()
        return [statistics.median(1e3 * b.elapsed_time(e) for b, e in taken) for taken in times]


def bytes_of(*tensors: torch.Tensor | None) -> int:
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)


def copy_of(count: int) -> Call:
    """A copy that reads and writes `count` bytes in all."""
    source = torch.empty(max(count // 2, 1), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def ours(name: str, *arguments: Any) -> Call:
    function = getattr(_core, name)

    def call() -> None:
        _core.set_cuda_stream(0, torch.cuda.current_stream().cuda_stream)
        try:
            function(*arguments)
        finally:
            _core.set_cuda_stream(-1, 0)

    return call


def grid_row(case: cases.Case) -> tuple[Call, Call, int]:
    problem = data.make(case)
    on_gpu = [t.cuda() for t in (problem.grad_output, problem.input, problem.grid)]
    outputs = [None if t is None else t.cuda() for t in problem.empty_outputs()]
    modes = (
        {"bilinear": 0, "nearest": 1, "bicubic": 2}[case.interpolation],
        {"zeros": 0, "border": 1, "reflection": 2}[case.padding],
        case.align_corners,
    )
    read = on_gpu if case.mask[1] else [on_gpu[0], on_gpu[2]]
    theirs = lambda: aten.grid_sampler_2d_backward(*on_gpu, *modes, list(case.mask))  # noqa: E731
    return (
        ours("grid_sampler_2d_backward", *on_gpu, *outputs, *modes),
        theirs,
        bytes_of(*read, *outputs),
    )


def resize_rows(case: resize_cases.Case) -> list[tuple[str, Call, Call | None, int]]:
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(len(case.input))
    layout = last if case.channels_last else torch.contiguous_format
    make = lambda shape: (
        torch.randn(shape, device="cuda").to(case.dtype).contiguous(memory_format=layout)
    )  # noqa: E731
    size = [*case.input[:2], *case.output]
    x, y, gx, gy = make(case.input), make(size), make(case.input), make(size)
    axes = len(case.output)
    name = {
        "linear": "upsample_linear",
        "cubic": "upsample_cubic",
        "nearest": "upsample_nearest",
        "nearest-exact": "upsample_nearest_exact",
    }[case.mode]
    weighted = case.mode in ("linear", "cubic")
    flags = (case.align_corners, case.antialias) if weighted else ()
    stock = {
        "linear": ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")[axes - 1],
        "cubic": "upsample_bicubic2d",
        "nearest": f"upsample_nearest{axes}d",
        "nearest-exact": f"_upsample_nearest_exact{axes}d",
    }[case.mode]
    if case.antialias:
        stock = f"_{stock}_aa"
    corners = (case.align_corners,) if weighted else ()
    scales = [None] * axes
    forward = lambda: getattr(aten, stock)(x, case.output, *corners, *scales)  # noqa: E731
    backward = lambda: getattr(aten, f"{stock}_backward")(
        gy, case.output, case.input, *corners, *scales
    )  # noqa: E731
    moved = bytes_of(x, y)
    zeros = (0.0, 0.0, 0.0)
    return [
        ("forward", ours(name, x, y, *flags, zeros), forward, moved),
        ("backward", ours(f"{name}_backward", gy, gx, *flags, zeros), backward, moved),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="rows with a match of the expression in their name")
    parser.add_argument("--calls", type=int, default=15)
    parser.add_argument("--json", help="also write the rows to this file")
    options = parser.parse_args()
    timer = Timer(options.calls)
    records = []

    def measure(group: str, name: str, mine: Call, theirs: Call, moved: int) -> None:
        try:
            theirs()
        except RuntimeError:
            theirs = None
        peers = [mine, copy_of(moved), *([theirs] if theirs else [])]
        own, copy, *peer = timer(*peers)
        ratio = peer[0] / own if peer else math.nan
        records.append(
            {
                "group": group,
                "name": name,
                "us": own,
                "copy_us": copy,
                "torch_us": peer[0] if peer else None,
            }
        )
        print(
            f"{group:24} {name:36} {own:9.1f} us  PyTorch {ratio:6.2f} x  copy {copy / own:5.2f}",
            flush=True,
        )

    print(
        f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {options.calls} calls a row"
    )
    for case in cases.load(None):
        if case.is_grid and re.search(options.filter, f"grid {case.name}"):
            mine, theirs, moved = grid_row(case)
            measure("grid_sampler_2d_backward", case.name, mine, theirs, moved)
            del mine, theirs
    for case in resize_cases.CASES:
        for direction, mine, theirs, moved in (
            resize_rows(case) if re.search(options.filter, f"resize {case.name}") else ()
        ):
            measure(f"{case.group} {direction}", case.name, mine, theirs, moved)
    groups: dict[str, list[float]] = {}
    for record in records:
        if record["torch_us"]:
            groups.setdefault(record["group"], []).append(record["torch_us"] / record["us"])
    for group, ratios in groups.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(
            f"{group:30} {len(ratios):3} rows: PyTorch / portacl {mean:6.2f} x, least {min(ratios):.2f}"
        )
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
