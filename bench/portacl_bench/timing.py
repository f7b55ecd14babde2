"""Interleaved timing: A B C, B C A, ... so that a disturbance meets every peer alike."""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from .peers import Runner


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How a sample is taken. Times in seconds."""

    repeat: int = 7  # samples of each peer
    sample: float = 5e-3  # a sample is as many calls in a row as last this long
    limit: float = 20.0  # about what one peer may take in one case; at least two samples
    pause: float = 2e-3  # before a sample: lets the previous peer's threads fall asleep
    flush: bool = False  # empty the caches before every call (one call per sample then)
    # "wall", or "cpu": this process's CPU time, for one thread on a machine that others use too.
    clock: str = "wall"

    @property
    def now(self) -> Callable[[], int]:
        """The clock, in nanoseconds."""
        return time.process_time_ns if self.clock == "cpu" else time.perf_counter_ns


@dataclasses.dataclass
class Times:
    """Seconds per call of one peer."""

    calls: int  # per sample
    samples: list[float] = dataclasses.field(default_factory=list)

    @property
    def best(self) -> float:
        return min(self.samples)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    def to_json(self) -> dict[str, Any]:
        return {
            "best": self.best,
            "median": self.median,
            "calls": self.calls,
            "samples": self.samples,
        }


def measure(runners: list[Runner], protocol: Protocol) -> dict[str, Times]:
    """Times of every runner, by peer. Each has been called before (results were checked)."""
    gc.collect()
    gc.disable()
    try:
        flusher = _Flusher() if protocol.flush else None
        plan = [_calibrate(runner, protocol) for runner in runners]
        for i in range(protocol.repeat):
            for j in range(len(runners)):
                k = (i + j) % len(runners)
                times, rounds = plan[k]
                if i < rounds:
                    times.samples.append(_sample(runners[k], times.calls, protocol, flusher))
        return {runner.peer: times for runner, (times, _) in zip(runners, plan)}
    finally:
        gc.enable()


def _calibrate(runner: Runner, protocol: Protocol) -> tuple[Times, int]:
    """Calls per sample, and number of samples."""
    seconds = min(_time(runner, 1, protocol.now) for _ in range(2))
    if seconds < protocol.sample / 20:
        seconds = _time(runner, 20, protocol.now) / 20
    calls = 1 if protocol.flush else max(1, round(protocol.sample / max(seconds, 1e-7)))
    rounds = int(protocol.limit / max(seconds * calls, 1e-9))
    return Times(calls), max(2, min(protocol.repeat, rounds))


def _sample(runner: Runner, calls: int, protocol: Protocol, flusher: _Flusher | None) -> float:
    time.sleep(protocol.pause)
    if flusher is not None:
        flusher()
    elif calls > 1:
        runner.call()  # wakes the peer's own threads up
    return _time(runner, calls, protocol.now) / calls


def _time(runner: Runner, calls: int, now: Callable[[], int]) -> float:
    call = runner.call
    start = now()
    for _ in range(calls):
        call()
    return (now() - start) * 1e-9


class _Flusher:
    """Reads and writes far more than the last-level cache has."""

    BYTES = 256 << 20

    def __init__(self) -> None:
        self._memory = torch.zeros(self.BYTES // 4)

    def __call__(self) -> None:
        self._memory.add_(1)
