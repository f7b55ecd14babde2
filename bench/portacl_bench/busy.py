"""Suite `busy`: PyTorch's operators with and without portacl's kernels, beside busy processes.

Single calls take turns, so that a neighbour meets both alike. Times on a busy machine have long
tails, and users wait for them: means count, medians stand beside them.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

import portacl.torch as pt

from . import cases, in_torch, machine, steps
from .cases import GRID, NEAREST, Case

Record = dict[str, Any]
KERNELS: dict[str, Callable[[], None]] = {"torch": pt.disable, "portacl": pt.enable}
WARM_UP = 0.5  # seconds: what the runtime learnt beside other neighbours ends in that time
CALLS = 200  # of each kernels' at most, by neighbours and case
BURN = "import os, sys; os.nice(int(sys.argv[1])); x = 1.0\nwhile True: x = x * 1.0000001 + 1e-9"
LEAST = 5
AWAKE = 0.3  # seconds until a neighbour is busy
BATCHES = 8  # of an epoch


def neighbours() -> dict[str, list[int]]:
    """Busy processes beside the measured one: the niceness of each."""
    cpus = len(os.sched_getaffinity(0))
    return {
        "none": [],
        "one": [0],
        "one at nice 19": [19],
        "one per CPU": [0] * cpus,
    }


def _grid(name: str, shape: tuple[int, ...], mask: tuple[bool, bool] = (True, True)) -> Case:
    return Case(name, GRID, "busy", "float32", shape, shape[2:], mask=mask)


# Sizes that nobody tuned for, one or more for each path with loops of its own.
CASES = (
    _grid("features_c48", (1, 48, 150, 140)),
    _grid("features_c64_batch", (4, 64, 42, 46)),
    _grid("picture_c3", (1, 3, 372, 500)),
    _grid("pictures_c3_grid_only", (24, 3, 92, 100), (False, True)),
    _grid("map_c1", (1, 1, 200, 300)),
    Case("volume_c16", cases.GRID_3D, "busy", "float32", (1, 16, 24, 44, 40), (24, 44, 40)),
    Case("resize_c96", NEAREST, "busy", "float32", (2, 96, 46, 50), (92, 100)),
)


@contextlib.contextmanager
def beside(niceness: list[int]) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", BURN, str(nice)]) for nice in niceness]
    try:
        time.sleep(AWAKE)
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def run(options: Any, threads: int) -> list[Record]:
    torch.set_num_threads(threads)
    chosen = [c for c in CASES if re.search(options.filter or "", f"{c.name} {c.operator}")]
    records = []
    for name, niceness in neighbours().items():
        with beside(niceness), torch.no_grad():
            for case in chosen:
                call = in_torch.calls(case)["backward"]
                peers = measure(call, options.max_seconds, CALLS)
                records.append(_record(name, case.name, threads, peers))
    if re.search(options.filter or "", "data_loader"):
        records.append(_record("two loaders", "data_loader", threads, _loading(options)))
    return records


def _record(beside_whom: str, name: str, threads: int, peers: dict[str, list[float]]) -> Record:
    return {
        "name": name,
        "neighbours": beside_whom,
        "threads": threads,
        "load": machine.load(),
        "pool": pt.threads().pool,
        "peers": {
            peer: {
                "best": min(samples),
                "median": statistics.median(samples),
                "mean": statistics.mean(samples),
                "samples": samples,
            }
            for peer, samples in peers.items()
        },
    }


def measure(call: Callable[[], Any], seconds: float, most: int) -> dict[str, list[float]]:
    """Seconds of single calls of both kernels, which take turns; at least five of each."""
    times: dict[str, list[float]] = {name: [] for name in KERNELS}
    gc.collect()
    gc.disable()
    try:
        begin = time.perf_counter()
        warm, end = begin + WARM_UP, begin + WARM_UP + len(KERNELS) * seconds
        while len(times["portacl"]) < most:
            timed = times["portacl"] or time.perf_counter() > warm
            for name, choose in KERNELS.items():
                choose()
                start = time.perf_counter_ns()
                call()
                if timed:
                    times[name].append((time.perf_counter_ns() - start) * 1e-9)
            if len(times["portacl"]) >= LEAST and time.perf_counter() > end:
                break
    finally:
        gc.enable()
        pt.disable()
    return times


class _Pictures(Dataset):  # type: ignore[type-arg]
    """Items that keep a loader as busy as decoding and augmenting do."""

    def __len__(self) -> int:
        return 4 * BATCHES

    def __getitem__(self, index: int) -> torch.Tensor:
        picture = torch.rand(3, 90, 106)
        for _ in range(8):
            picture = picture.flatten().sort().values.reshape(3, 90, 106) + torch.rand(3, 90, 106)
        return picture


def _loading(options: Any) -> dict[str, list[float]]:
    """Seconds of a training step for each batch that a DataLoader of two workers has made."""
    torch.manual_seed(0)
    step = steps.feature_warp()
    loader = DataLoader(_Pictures(), batch_size=4, num_workers=2, persistent_workers=True)

    def epoch() -> None:
        for _ in loader:
            step()

    times = measure(epoch, options.max_seconds, 5)
    return {name: [sample / BATCHES for sample in samples] for name, samples in times.items()}
