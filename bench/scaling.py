#!/usr/bin/env python3
"""Predicts how calls scale on machines with more threads than this one has.

The real kernels run, planned for each number of threads. The runtime hands out their loops' ranges
to threads that do not exist, in the order of their time. It times each range by itself (CPU time,
so that other processes do not count). Needs a build that can do this:

  cmake --preset release -B build/simulation -DPORTACL_SIMULATION=ON -DPORTACL_TESTS=OFF
  cmake --build build/simulation --target portacl
  bench/scaling.py                          every row of bench/shapes.json
  bench/scaling.py --filter features_c3     some
  bench/scaling.py --suite resize           the shapes of the suite of that name, both directions
                                            (this and volumes with PYTHONPATH=build/python)
  bench/scaling.py --suite detection        RoiAlign, deformable convolution and attention (needs
                                            torchvision too); maxima and rotated rois have no peer
  bench/scaling.py --check                  beside the predictions, real threads (as many as there
                                            are CPUs), portacl's and PyTorch's

What it leaves out: caches that threads share or pass data between, and a second NUMA node. Memory
is a cap: a call with tensors beyond the caches is never faster than their bytes at the bandwidth of
so many threads (--machine).
PyTorch's model beside it: it shares out images (resizing: channels of images) in one region, so
that one thread's time shrinks by their number at most; memory is its cap too.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import math
import os
import pathlib
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from portacl_bench import cases, data, native, peers, results

ROOT = pathlib.Path(__file__).resolve().parent.parent
THREADS = (1, 2, 4, 8, 16, 32, 64)
# GB/s of reads and writes: what one thread gets, and what all together get.
MACHINES = {
    "desktop": (25.0, 50.0),  # two channels of DDR5
    "server": (14.0, 300.0),  # eight or twelve channels
}
LONG = 1e-3  # seconds on one thread, from which on an efficiency is asked for
WANTED = {8: 0.7, 32: 0.5}
SHORT_NAME = {"linear": "Linear", "cubic": "Cubic", "nearest": "Nearest"}


@dataclasses.dataclass(frozen=True)
class Row:
    """One call: how it is planned, PyTorch's, its pieces for PyTorch's threads, its bytes."""

    name: str
    shape: str
    plan: Callable[[native.Library], native.Planned]
    torch_call: Callable[[], Any] | None  # None: PyTorch has none
    pieces: int
    bytes: int


def rows_of_lists(options: argparse.Namespace) -> Iterator[Row]:
    file = cases.VOLUMES_FILE if options.suite == "volumes" else cases.SHAPES_FILE
    for case in cases.load(options.filter, file):
        problem = data.make(case)
        outputs = problem.empty_outputs()
        yield Row(
            case.name,
            results.label(case.to_json()),
            lambda lib, p=problem, o=outputs: native.PlannedCall(lib, p, o),  # type: ignore[misc]
            torch_call(case, problem),
            case.input[0] * (1 if case.is_grid else case.input[1]),
            case.bytes,
        )


def torch_call(case: cases.Case, problem: data.Problem) -> Callable[[], Any]:
    if len(case.output) < 3:
        return peers.Torch().prepare(problem).call
    from portacl_bench import in_torch  # which needs the package

    return in_torch.calls(case)["backward"]


def rows_of_resize(options: argparse.Namespace) -> Iterator[Row]:
    from portacl_bench import resize  # which needs the package

    for case in resize.load(options.filter):
        layout = torch.channels_last if case.channels_last else torch.contiguous_format
        shapes = {"forward": (case.input, case.output), "backward": (case.output, case.input)}
        for direction, call in resize.calls(case).items():
            tensors = [
                torch.rand(*case.input[:2], *extents[-len(case.output) :])
                .to(case.dtype)
                .contiguous(memory_format=layout)
                for extents in shapes[direction]
            ]
            name = "Upsample" + SHORT_NAME.get(case.mode, "NearestExact")
            name += "Backward" if direction == "backward" else ""
            modes = () if "nearest" in case.mode else (case.align_corners, case.antialias)
            arguments = (*tensors, *map(int, modes), None)
            yield Row(
                f"{case.name} {direction}",
                f"{'x'.join(map(str, case.input))} -> {'x'.join(map(str, case.output))}",
                lambda lib, n=name, a=arguments: native.Planned(lib, n, *a),  # type: ignore[misc]
                call,
                case.input[0] * (1 if case.channels_last else case.input[1]),
                sum(t.nbytes for t in tensors),
            )


def rows_of_detection(options: argparse.Namespace) -> Iterator[Row]:
    from portacl_bench import detection  # which needs the package

    for case in detection.CASES:
        calls = case.calls()
        for direction, (function, *arguments) in case.native().items():
            name = f"{case.name} {direction}"
            if not re.search(options.filter or "", name):
                continue
            peer = calls.get(direction)
            yield Row(
                name,
                case.label,
                lambda lib, n=function, a=arguments: native.Planned(lib, n, *a),  # type: ignore[misc]
                peer["torch"] if peer else None,
                case.pieces,
                sum(a.nbytes for a in arguments if isinstance(a, torch.Tensor)),
            )


class Simulator:
    """The library, which switches to threads that do not exist and back."""

    def __init__(self, path: pathlib.Path, costs: list[float] | None) -> None:
        os.environ["PORTACL_ADAPT_THREADS"] = "0"
        self.lib = native.Library(path, 2)
        try:
            self._switch, self._asked = self.lib.c.portaclSimulate, self.lib.c.portaclSimulated
        except AttributeError:
            sys.exit(f"{path} cannot simulate threads: build it with -DPORTACL_SIMULATION=ON")
        self._switch.argtypes = [ctypes.c_int, ctypes.c_double, ctypes.c_double]
        self._switch.restype = self._asked.restype = None
        if costs is None:
            measured = ctypes.c_double(), ctypes.c_double()
            self.lib.c.portaclMeasureThreads(*map(ctypes.byref, measured))
            costs = [value.value / 1e3 for value in measured]
        self.costs = costs

    def seconds(self, row: Row, threads: int, repeat: int) -> tuple[float, int, str]:
        """Best time of a call with so many threads, its shared loops, and its kernel."""
        self._switch(1, *(1e3 * cost for cost in self.costs))
        self.lib.check(self.lib.c.portaclSetNumThreads(threads))
        call = row.plan(self.lib)
        faster, loops = ctypes.c_double(), ctypes.c_int()
        best = float("inf")
        for _ in range(repeat + 1):  # the first finds out how many loops there are
            self._asked(ctypes.byref(faster), ctypes.byref(loops))
            spent = cpu_seconds(call)
            self._asked(ctypes.byref(faster), ctypes.byref(loops))
            best = min(best, spent - faster.value * 1e-9)
        call.close()
        return best, loops.value, call.kernel

    def real_seconds(self, row: Row, threads: int, repeat: int) -> float:
        """The same with threads of this machine: best time, by the clock on the wall."""
        self._switch(0, 0, 0)
        self.lib.check(self.lib.c.portaclSetNumThreads(threads))
        call = row.plan(self.lib)
        best = wall_seconds(call, 3 * repeat)
        call.close()
        return best


def wall_seconds(call: Callable[[], Any], repeat: int) -> float:
    """Best of so many calls, or of those that half a second has room for."""
    call()
    best = float("inf")
    begin = time.perf_counter()
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        end = time.perf_counter()
        best = min(best, end - start)
        if end - begin > 0.5:
            break
    time.sleep(0.005)  # OpenMP's threads spin for a while
    return best


def torch_seconds(row: Row, threads: int, repeat: int) -> float:
    """PyTorch's with threads of this machine."""
    if row.torch_call is None:
        return math.inf
    torch.set_num_threads(threads)
    best = wall_seconds(row.torch_call, 3 * repeat)
    torch.set_num_threads(1)
    return best


def cpu_seconds(call: Callable[[], Any]) -> float:
    start = time.thread_time_ns()
    call()
    return (time.thread_time_ns() - start) * 1e-9


def memory_seconds(row: Row, threads: int, options: argparse.Namespace) -> float:
    """At least so long; tensors that the caches hold know no such limit."""
    if row.bytes < options.cached * 1e6:
        return 0
    each, most = MACHINES[options.machine]
    return row.bytes / (min(each * threads, most) * 1e9)


def measure(simulator: Simulator, row: Row, options: argparse.Namespace) -> dict[str, Any]:
    torch_1 = math.inf
    if row.torch_call is not None:
        row.torch_call()
        torch_1 = min(cpu_seconds(row.torch_call) for _ in range(options.repeat))
    record: dict[str, Any] = {"name": row.name, "shape": row.shape, "threads": {}}
    for threads in options.threads:
        seconds, loops, kernel = simulator.seconds(row, threads, options.repeat)
        memory = memory_seconds(row, threads, options)
        share = torch_1 * -(-row.pieces // threads) / row.pieces
        region = sum(simulator.costs) * 1e-6 if min(threads, row.pieces) > 1 else 0
        record["threads"][threads] = {
            "seconds": max(seconds, memory),
            "torch": max(share + region, memory),
            "loops": loops,
            "kernel": kernel,
        }
        if options.check and threads <= len(os.sched_getaffinity(0)):
            record["threads"][threads] |= {
                "real": simulator.real_seconds(row, threads, options.repeat),
                "real_torch": torch_seconds(row, threads, options.repeat),
                "simulated": seconds,
            }
    return record


def efficiency(record: dict[str, Any], count: int, key: str = "seconds") -> float:
    rows = record["threads"]
    first = min(rows)
    return float(rows[first][key] * first / count / rows[count][key])


def is_long(record: dict[str, Any]) -> bool:
    rows = record["threads"]
    return bool(rows[min(rows)]["seconds"] > LONG)


def table(records: list[dict[str, Any]], threads: list[int]) -> str:
    head = ["name", "shape", "1, ms", *(f"{t}" for t in threads[1:]), "slowest / PyTorch's model"]
    lines = [head, ["---"] * len(head)]
    for record in records:
        rows = record["threads"]
        path = {t: rows[t]["kernel"].split(":")[-1] for t in threads}
        ratio, count = min((rows[t]["torch"] / rows[t]["seconds"], t) for t in threads)
        first = rows[threads[0]]
        lines.append(
            [
                record["name"],
                record["shape"],
                f"{first['seconds'] * 1e3:.3f} {path[threads[0]]}",
                *(f"{efficiency(record, t):.2f} {path[t]}/{rows[t]['loops']}" for t in threads[1:]),
                f"{ratio:.2f} at {count}",
            ]
        )
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def summary(records: list[dict[str, Any]], threads: list[int]) -> Iterator[str]:
    long = [r for r in records if is_long(r)]
    for count in threads[1:] if long else ():
        values = [efficiency(r, count) for r in long]
        text = f"- {count} threads, {len(long)} calls of more than a millisecond: efficiency "
        text += f"{statistics.median(values):.2f} (median), lowest {min(values):.2f}"
        if wanted := WANTED.get(count):
            below = [r["name"] for r, v in zip(long, values) if v < wanted]
            text += f"; below {wanted}: {', '.join(below) or 'none'}"
        yield text
    slower = [
        f"{r['name']} at {count}"
        for r in records
        for count in threads
        if r["threads"][count]["seconds"] > r["threads"][count]["torch"]
    ]
    yield f"- slower than PyTorch's model: {', '.join(slower) or 'none'}"
    for count in threads:
        yield from reality(records, count)


def reality(records: list[dict[str, Any]], count: int) -> Iterator[str]:
    """What real threads say."""
    known = [r for r in records if "real" in r["threads"].get(count, {})]
    if not known:
        return
    rows = {r["name"]: r["threads"][count] for r in known}
    ratios = sorted(row["simulated"] / row["real"] for row in rows.values())
    mean = statistics.geometric_mean(ratios)
    yield (
        f"- predicted / real on {count} threads: geometric mean {mean:.2f}, nine tenths "
        f"from {ratios[len(ratios) // 20]:.2f} to {ratios[-1 - len(ratios) // 20]:.2f}"
    )
    speeds = {name: row["real_torch"] / row["real"] for name, row in rows.items()}
    mean = statistics.geometric_mean(speeds.values())
    slower = [f"{name} {speed:.2f}" for name, speed in speeds.items() if speed < 1]
    yield f"  PyTorch / real: geometric mean {mean:.2f}; slower: {', '.join(slower) or 'none'}"
    if long := [r for r in known if is_long(r)]:
        values = {r["name"]: efficiency(r, count, "real") for r in long}
        wanted = WANTED.get(count, 0)
        below = [f"{name} {value:.2f}" for name, value in values.items() if value < wanted]
        yield (
            f"  real efficiency of {len(long)} calls of more than a millisecond: "
            f"{statistics.median(values.values()):.2f} (median)"
            + (f"; below {wanted}: {', '.join(below) or 'none'}" if wanted else "")
        )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    library = ROOT / "build" / "simulation" / "lib" / "libportacl.so"
    add("--lib", type=pathlib.Path, default=library, help="build/simulation/lib/libportacl.so")
    add("--suite", choices=("shapes", "volumes", "resize", "detection"), default="shapes")
    add("--filter", metavar="REGEX", help="only rows that match, as bench/compare.py's")
    add("--threads", type=int, nargs="+", default=list(THREADS), help="the first is the measure")
    add("--repeat", type=int, default=5, help="calls; the fastest counts (5)")
    add("--machine", choices=MACHINES, default="server", help="the machine that sets the memory's cap (server)")
    add("--cached", type=float, default=32, help="MB of tensors that the caches hold (32)")
    costs = "of entering a pool, and of a loop's end, in microseconds (8 1)"
    add("--costs", type=float, nargs=2, metavar="US", default=[8.0, 1.0], help=costs)
    measured = "measure them between two threads of this machine, which must be idle"
    add("--measure-costs", dest="costs", action="store_const", const=None, help=measured)
    add("--check", action="store_true", help="real threads too, on an idle machine")
    add("--json", type=pathlib.Path, metavar="FILE", help="write all numbers")
    return parser.parse_args()


@torch.no_grad()
def main() -> None:
    options = parse_arguments()
    torch.set_num_threads(1)
    simulator = Simulator(options.lib.absolute(), options.costs)
    costs = "{:.1f} us a region, {:.2f} us a loop".format(*simulator.costs)
    others = {"resize": rows_of_resize, "detection": rows_of_detection}
    rows = others.get(options.suite, rows_of_lists)(options)
    records = []
    try:
        for row in rows:
            records.append(measure(simulator, row, options))
            print(f"  {row.name}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted: the rows until then", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1) + "\n")
    print(table(records, options.threads))
    print("\n" + "\n".join([*summary(records, options.threads), f"- threads cost {costs}"]))


if __name__ == "__main__":
    main()
