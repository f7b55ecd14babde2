#!/usr/bin/env python3
"""Measures what each path and variant of the kernels gains: every call with it and without it.

A path (`packed`) or a variant (`gathered`, a way to do a part of a path's work) is left out by
PORTACL_IMPL's `:-name`. Both plans of a call take turns on the same tensors in one process. The
figure is the process's CPU time, the median of the turns. Rows are the shapes of the benchmarks
(bench/shapes.json, volumes.json), in both directions if they have two, and random calls. A row is
measured for a path if the plan takes this path, for a variant if the plan takes a path that has it.

  bench/ablation.py                                   all names, all rows; takes hours
  bench/ablation.py --names packed gathered --threads 2
  bench/ablation.py --filter 'flow|depth' --quick     few turns, no random calls
  bench/ablation.py --names owned --rows              a line for each row, too
  bench/ablation.py --json part1.json                 and again: --from part1.json part2.json

A name wins a row if leaving it out costs 10 % or more, and loses it if that saves 5 % or more.
Needs a build (script/build release) and PyTorch for the tensors (script/setup --torch).
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from portacl_bench import cases, data
from portacl_bench import resize_cases as resize
from portacl_bench.native import INTERPOLATION, PADDING, Library, Planned, PortaclError

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The paths that have a variant.
PATHS_OF_VARIANT = {
    "gathered": ("slab",),
    "joined": ("joined", "direct"),
    "borders": ("expand",),
    "pairs": ("channels_last",),
    "quads": ("columns",),
    "fetch": ("rows", "channels_last", "columns", "lookup", "phases", "expand", "planes"),
}
WON, LOST = 1.10, 0.95  # time without the name / time with it

Record = dict[str, Any]
Make = Callable[[Library], Planned]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--names", nargs="+", metavar="NAME", help="paths and variants (all that there are)")
    add("--filter", metavar="REGEX", help="rows with this in their name, operator or class")
    add("--threads", type=int, nargs="+", default=[1, 2])
    add("--impl", help="the kernel of these paths (the machine's best)")
    add("--random", type=int, default=500, metavar="N", help="random calls (500)")
    add("--seed", type=int, default=1)
    add("--turns", type=int, default=15, help="of each plan (15)")
    add("--turn-ms", type=float, default=4, help="CPU time of a turn at least (4)")
    add("--quick", action="store_true", help="5 turns of 2 ms, no random calls")
    add("--rows", action="store_true", help="print every row that was measured")
    add("--json", type=pathlib.Path, metavar="FILE", help="write what was measured")
    add("--from", type=pathlib.Path, nargs="+", dest="sources", metavar="JSON", help="do not measure")
    add("--library", type=pathlib.Path, default=ROOT / "build/release/lib/libportacl.so")
    options = parser.parse_args()
    if options.quick:
        options.turns, options.turn_ms, options.random = 5, 2, 0
    return options


# ---- rows ---------------------------------------------------------------------------------------


def grid_rows(case: cases.Case) -> Iterator[tuple[str, Make]]:
    """Both gradients, or the mask's, and the function."""
    axes = len(case.output)
    modes = (INTERPOLATION[case.interpolation], PADDING[case.padding], int(case.align_corners))
    problem = data.make(case)
    outputs = problem.empty_outputs()
    result = torch.empty_like(problem.grad_output)
    tensors = (problem.grad_output, problem.input, problem.grid, *outputs)
    yield "backward", lambda lib: Planned(lib, f"GridSampler{axes}DBackward", *tensors, *modes)
    sampled = (problem.input, problem.grid, result)
    yield "forward", lambda lib: Planned(lib, f"GridSampler{axes}D", *sampled, *modes)


def resize_rows(case: resize.Case) -> Iterator[tuple[str, Make]]:
    """The function and its gradient."""
    name = {
        "nearest": "UpsampleNearest",
        "nearest-exact": "UpsampleNearestExact",
        "linear": "UpsampleLinear",
        "cubic": "UpsampleCubic",
        "lanczos": "UpsampleLanczos",
        "affine_grid": "AffineGrid",
    }[case.mode]
    if case.mode == "affine_grid":
        maps, axes = case.input[:2]
        first = torch.rand(case.input).to(case.dtype)
        second = torch.empty((maps, *case.output, axes), dtype=case.dtype)
        modes: tuple[int | None, ...] = (int(case.align_corners),)
    else:
        last = torch.channels_last_3d if len(case.input) == 5 else torch.channels_last
        layout = last if case.channels_last else torch.contiguous_format
        sizes = ((*case.input[:2], *extents) for extents in (case.input[2:], case.output))
        first, second = (
            torch.rand(size).to(case.dtype).contiguous(memory_format=layout) for size in sizes
        )
        modes = (int(case.align_corners), int(case.antialias), None)
        modes = (None,) if "nearest" in case.mode else modes
    yield "forward", lambda lib: Planned(lib, name, first, second, *modes)
    yield "backward", lambda lib: Planned(lib, f"{name}Backward", second, first, *modes)


def random_case(index: int, seed: int) -> cases.Case | resize.Case:
    """Two of three calls sample, most of them images; up to some millions of elements."""
    draw = random.Random(f"{seed} {index}")
    dtype = draw.choice(["float32"] * 4 + ["bfloat16", "float16", "float64"])

    def size(low: int, high: int) -> int:
        return round(math.exp(draw.uniform(math.log(low), math.log(high))))

    axes = draw.choice((2, 2, 2, 3))
    channels = draw.choice((1, 1, 2, 3, 4, size(5, 64), size(16, 512)))
    images = draw.choice((1, 1, 2, size(2, 16), size(16, 2000)))
    most = 1 << 22
    largest = max(4, round((most / images / channels) ** (1 / axes)))
    inner = tuple(size(3, max(4, min(largest, 800))) for _ in range(axes))
    outer = tuple(size(3, max(4, min(largest, 800))) for _ in range(axes))
    if index % 3 < 2:
        return cases.Case(
            name=f"random_{index}",
            operator=cases.GRID if axes == 2 else cases.GRID_3D,
            group="random",
            dtype=dtype,
            input=(images, channels, *inner),
            output=outer,
            memory_format=draw.choice(("contiguous", "contiguous", "channels_last")),
            interpolation=draw.choice(("bilinear", "bilinear", "bilinear", "nearest", "bicubic")),
            padding=draw.choice(("zeros", "border", "reflection")),
            align_corners=draw.random() < 0.3,
            grid=draw.choice(("smooth", "smooth", "random")),
            mask=draw.choice(((True, True), (True, True), (True, False), (False, True))),
        )
    mode = draw.choice(("nearest", "nearest-exact", "linear", "linear", "cubic"))
    if mode == "cubic" or axes == 2:
        inner, outer = inner[:2], outer[:2]
    exact = draw.choice((None, 2, 4, 1 / 2, 1 / 4))
    if exact is not None:
        outer = tuple(max(1, round(extent * exact)) for extent in inner)
    return resize.Case(
        f"random_{index}",
        mode,
        (images, channels, *inner),
        outer,
        getattr(torch, dtype),
        antialias=mode in ("linear", "cubic") and len(inner) == 2 and draw.random() < 0.3,
        channels_last=len(inner) == 2 and draw.random() < 0.3,
        align_corners=mode in ("linear", "cubic") and draw.random() < 0.2,
    )


def all_rows(options: argparse.Namespace) -> Iterator[tuple[str, str, Make]]:
    """Name, group and plan of each row that passes the filter. A row's tensors live with its plan."""
    listed: list[cases.Case | resize.Case] = [
        *cases.load(options.filter),
        *cases.load(options.filter, cases.VOLUMES_FILE),
        *resize.load(options.filter),
    ]
    drawn = (random_case(index, options.seed) for index in range(options.random))
    listed += (case for case in drawn if re.search(options.filter or "", f"{case.name} {case.group}"))
    for case in listed:
        if isinstance(case, resize.Case):
            rows = resize_rows(case)
        elif case.is_grid:
            rows = grid_rows(case)
        else:
            rows = resize_rows(as_resize(case))
        for direction, make in rows:
            yield f"{case.name} {direction}", case.group, make


def as_resize(case: cases.Case) -> resize.Case:
    """A row of nearest-exact gradients; the function is measured as well."""
    dtype = data.DTYPES[case.dtype]
    last = case.memory_format == "channels_last"
    return resize.Case(
        case.name, "nearest-exact", case.input, case.output, dtype, channels_last=last
    )


# ---- measuring ----------------------------------------------------------------------------------


def cpu_seconds(call: Callable[[], None], times: int) -> float:
    begin = time.process_time_ns()
    for _ in range(times):
        call()
    return (time.process_time_ns() - begin) / times * 1e-9


def compare(with_it: Planned, without: Planned, options: argparse.Namespace) -> tuple[float, float]:
    """Median seconds of a call by each plan. Which one goes first changes from turn to turn."""
    plans = (with_it, without)
    for plan in plans:
        plan()
    once = max(min(cpu_seconds(plan, 1) for plan in plans), 1e-7)
    times = max(1, math.ceil(options.turn_ms * 1e-3 / once))
    samples: tuple[list[float], list[float]] = ([], [])
    for turn in range(options.turns):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            samples[which].append(cpu_seconds(plans[which], times))
    return statistics.median(samples[0]), statistics.median(samples[1])


def every_name(lib: Library, impl: str, make: Make) -> list[str]:
    """All paths and variants: the library lists them when it refuses an unknown name."""
    try:
        planned(lib, f"{impl}:-?", make)
    except PortaclError as error:
        return str(error).split("there are: ")[1].rstrip(".").split(", ")
    raise SystemExit("the library leaves out a path that it does not have")


def planned(lib: Library, impl: str, make: Make) -> Planned:
    lib.check(lib.c.portaclSetImpl(impl.encode()))
    return make(lib)


def concerns(name: str, path: str) -> bool:
    return path in PATHS_OF_VARIANT.get(name, (name,))


def measure(options: argparse.Namespace) -> list[Record]:
    lib = Library(options.library, 1)
    kernels = lib.info()["operators"]["grid_sampler_2d"]
    impl = options.impl or next(kernel["name"] for kernel in kernels if kernel["available"])
    names: list[str] = []
    records: list[Record] = []
    for count, (row, group, make) in enumerate(all_rows(options)):
        try:
            usual = planned(lib, impl, make)
        except PortaclError as error:
            print(f"{row}: {error}", file=sys.stderr)
            continue
        names = names or options.names or every_name(lib, impl, make)
        for threads in options.threads:
            lib.check(lib.c.portaclSetNumThreads(threads))
            usual = planned(lib, impl, make)
            path = usual.kernel.partition(":")[2]
            for name in names:
                if not concerns(name, path):
                    continue
                try:
                    without = planned(lib, f"{impl}:-{name}", make)
                except PortaclError:
                    continue  # no other path serves the call
                seconds = compare(usual, without, options)
                records.append(
                    {
                        "name": name,
                        "row": row,
                        "group": group,
                        "threads": threads,
                        "path": path,
                        "other": without.kernel.partition(":")[2],
                        "seconds": seconds,
                        "ratio": seconds[1] / seconds[0],
                    }
                )
                without.close()
            usual.close()
        if sys.stderr.isatty():
            print(f"\r{count + 1} rows, {len(records)} pairs ", end="", file=sys.stderr)
    return records


# ---- table --------------------------------------------------------------------------------------


def percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f} %"


def line(name: str, threads: int, records: list[Record]) -> str:
    ratios = {record["row"]: record["ratio"] for record in records}
    won = {row: ratio for row, ratio in ratios.items() if ratio >= WON}
    lost = {row: ratio for row, ratio in ratios.items() if ratio <= LOST}
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
    real = sum(not row.startswith("random_") for row in won)

    def extreme(rows: dict[str, float], pick: Callable[..., str]) -> str:
        if not rows:
            return "-"
        row = pick(rows, key=lambda r: rows[r])
        return f"{percent(rows[row])} {row}"

    cells = [name, threads, len(ratios), len(won), real, extreme(won, max), len(lost)]
    cells += [extreme(lost, min), percent(mean)]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(records: list[Record], each_row: bool) -> str:
    """For each name and number of threads: time without it against time with it."""
    head = "name | threads | rows | won | of these real | most | lost | most | mean"
    lines = [f"| {head} |", "| --- " * 9 + "|"]
    keys = sorted({(record["name"], record["threads"]) for record in records})
    for name, threads in keys:
        of_name = [r for r in records if (r["name"], r["threads"]) == (name, threads)]
        lines.append(line(name, threads, of_name))
    if each_row:
        for record in sorted(records, key=lambda r: (r["name"], r["threads"], -r["ratio"])):
            lines.append(
                "{name} {threads}: {row} ({group}): {path} {0:.3f} ms, {other} {1:.3f} ms, {2}".format(
                    *(1e3 * seconds for seconds in record["seconds"]),
                    percent(record["ratio"]),
                    **record,
                )
            )
    return "\n".join(lines)


def main() -> None:
    options = parse_arguments()
    if options.sources:
        records = [r for file in options.sources for r in json.loads(file.read_text())]
    else:
        records = measure(options)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1))
    print(table(records, options.rows))


if __name__ == "__main__":
    main()
