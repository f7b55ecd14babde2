#!/usr/bin/env python3
"""Predicts how calls scale on machines with more threads than this one has.

The real kernels run, planned for each number of threads; the runtime hands out their loops' ranges
to threads that do not exist, in the order of their time, and times each range by itself (CPU time,
so that other processes do not count). Needs a build that can do this:

  cmake --preset release -B build/simulation -DPORTACL_SIMULATION=ON
  cmake --build build/simulation --target portacl
  bench/scaling.py                          every row of bench/shapes.json
  bench/scaling.py --filter features_c3     some

What it leaves out: caches that threads share, and a second NUMA node. Memory is a cap: a call is
never faster than its tensors' bytes at the bandwidth of so many threads (--machine).
PyTorch's model beside it: it shares out images (resizing: channels of images), so that
one thread's time shrinks by their number at most.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import pathlib
import sys
import time
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


class Simulator:
    """The library, switched to threads that do not exist."""

    def __init__(self, path: pathlib.Path, entry: float, wait: float) -> None:
        self.lib = native.Library(path, 1)
        try:
            switch, self._asked = self.lib.c.portaclSimulate, self.lib.c.portaclSimulated
        except AttributeError:
            sys.exit(f"{path} cannot simulate threads: build it with -DPORTACL_SIMULATION=ON")
        switch.argtypes = [ctypes.c_int, ctypes.c_double, ctypes.c_double]
        switch.restype = self._asked.restype = None
        switch(1, entry * 1e3, wait * 1e3)

    def seconds(self, problem: data.Problem, threads: int, repeat: int) -> tuple[float, int, str]:
        """Best time of a call with so many threads, its shared loops, and its kernel."""
        self.lib.check(self.lib.c.portaclSetNumThreads(threads))
        call = native.PlannedCall(self.lib, problem, problem.empty_outputs())
        faster, loops = ctypes.c_double(), ctypes.c_int()
        best = float("inf")
        for _ in range(repeat + 1):  # the first finds out how many loops there are
            self._asked(ctypes.byref(faster), ctypes.byref(loops))
            start = time.thread_time_ns()
            call()
            spent = time.thread_time_ns() - start
            self._asked(ctypes.byref(faster), ctypes.byref(loops))
            best = min(best, (spent - faster.value) * 1e-9)
        call.close()
        return best, loops.value, call.kernel


def torch_seconds(problem: data.Problem, repeat: int) -> float:
    torch.set_num_threads(1)
    call = peers.Torch().prepare(problem).call
    best = float("inf")
    for _ in range(repeat):
        start = time.thread_time_ns()
        call()
        best = min(best, (time.thread_time_ns() - start) * 1e-9)
    return best


def torch_model(case: cases.Case, one_thread: float, threads: int) -> float:
    """One thread's time, shared out by images, for resizing by channels of images."""
    pieces = case.input[0] * (1 if case.is_grid else case.input[1])
    return one_thread * -(-pieces // threads) / pieces


def memory_seconds(case: cases.Case, threads: int, machine: str) -> float:
    each, most = MACHINES[machine]
    return case.bytes / (min(each * threads, most) * 1e9)


def measure(simulator: Simulator, case: cases.Case, options: argparse.Namespace) -> dict[str, Any]:
    problem = data.make(case)
    record: dict[str, Any] = {"name": case.name, "shape": results.label(case.to_json())}
    record["torch_1"] = torch_seconds(problem, options.repeat)
    record["threads"] = {}
    # Small tensors stay in the caches: then memory is no cap.
    cached = case.footprint < options.cached * 1e6
    for threads in options.threads:
        seconds, loops, kernel = simulator.seconds(problem, threads, options.repeat)
        if not cached:
            seconds = max(seconds, memory_seconds(case, threads, options.machine))
        record["threads"][threads] = {
            "seconds": seconds,
            "torch": torch_model(case, record["torch_1"], threads),
            "loops": loops,
            "kernel": kernel,
        }
    return record


def table(records: list[dict[str, Any]], threads: list[int]) -> str:
    line = lambda cells: "| " + " | ".join(cells) + " |"  # noqa: E731
    head = ["name", "shape", "1, ms", *(f"{t}" for t in threads[1:]), "slowest / PyTorch's model"]
    lines = [line(head), line(["---"] * len(head))]
    for record in records:
        rows = record["threads"]
        one = rows[threads[0]]["seconds"] * threads[0]
        cells = []
        for count in threads[1:]:
            row = rows[count]
            efficiency = one / count / row["seconds"]
            path = row["kernel"].split(":")[-1]
            cells.append(f"{efficiency:.2f} {path}")
        ratio, count = min((rows[t]["torch"] / rows[t]["seconds"], t) for t in threads)
        first = rows[threads[0]]
        cells = [
            *(record["name"], record["shape"]),
            f"{first['seconds'] * 1e3:.3f} {first['kernel'].split(':')[-1]}",
            *cells,
            f"{ratio:.2f} at {count}",
        ]
        lines.append(line(cells))
    return "\n".join([*lines, "", *missed(records, threads)])


def missed(records: list[dict[str, Any]], threads: list[int]) -> list[str]:
    lines = []
    for count, wanted in WANTED.items():
        if count not in threads:
            continue
        long = [r for r in records if r["threads"][threads[0]]["seconds"] > LONG]
        below = [
            f"{r['name']} {value:.2f}"
            for r in long
            if (value := _efficiency(r, threads[0], count)) < wanted
        ]
        lines.append(
            f"- {count} threads, calls of more than a millisecond: {len(long) - len(below)} of "
            f"{len(long)} reach {wanted}; below: {', '.join(below) or 'none'}."
        )
    slower = [
        f"{r['name']} at {count}"
        for r in records
        for count in threads
        if r["threads"][count]["seconds"] > r["threads"][count]["torch"]
    ]
    lines.append(f"- slower than PyTorch's model: {', '.join(slower) or 'none'}.")
    return lines


def _efficiency(record: dict[str, Any], first: int, count: int) -> float:
    rows = record["threads"]
    return float(rows[first]["seconds"] * first / count / rows[count]["seconds"])


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    library = ROOT / "build" / "simulation" / "lib" / "libportacl.so"
    add("--lib", type=pathlib.Path, default=library, help="build/simulation/lib/libportacl.so")
    add("--filter", metavar="REGEX", help="only rows that match, as bench/compare.py's")
    add("--volumes", action="store_true", help="the rows of bench/volumes.json as well")
    add("--threads", type=int, nargs="+", default=list(THREADS), help="the first is the measure")
    add("--repeat", type=int, default=5, help="calls of which the fastest counts (5)")
    add("--machine", choices=MACHINES, default="server", help="whose memory is the cap (server)")
    add("--cached", type=float, default=32, help="MB of tensors that the caches hold (32)")
    add("--entry-us", type=float, default=5, help="until a pool's thread is in a region (5)")
    add("--wait-us", type=float, default=1, help="to know that a loop is done (1)")
    add("--json", type=pathlib.Path, metavar="FILE", help="write all numbers")
    return parser.parse_args()


@torch.no_grad()
def main() -> None:
    options = parse_arguments()
    simulator = Simulator(options.lib.absolute(), options.entry_us, options.wait_us)
    chosen = cases.load(options.filter)
    if options.volumes:
        chosen = cases.load(options.filter, cases.VOLUMES_FILE)
    records = []
    for case in chosen:
        records.append(measure(simulator, case, options))
        print(f"  {case.name}", file=sys.stderr, flush=True)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1) + "\n")
    print(table(records, options.threads))


if __name__ == "__main__":
    main()
