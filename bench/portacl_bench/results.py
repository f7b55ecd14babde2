"""Reading results: pairs of thread counts, ratios, bandwidth. Used by report and plots."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]
SUITES = ("shapes", "sizes", "copy", "tiny", "torch", "steps", "busy", "resize", "detection")
# Best and median apart by more than this: the measurement was disturbed.
NOISY = 1.25


def merge(parts: list[Record]) -> Record:
    """One result of the results per thread count."""
    merged = {key: value for key, value in parts[0].items() if key not in SUITES}
    merged["load_before"] = max(p["load_before"] for p in parts)
    merged["load_after"] = max(p["load_after"] for p in parts)
    for suite in SUITES:
        records = [record for part in parts for record in part.get(suite, [])]
        if records:
            merged[suite] = records
    return merged


def seconds(record: Record, peer: str, key: str = "median") -> float | None:
    value: float | None = record["peers"].get(peer, {}).get(key)
    return value


def ratio(record: Record, peer: str, key: str = "median", own: str = "portacl") -> float | None:
    """How many times faster than `peer` portacl is."""
    theirs, ours = seconds(record, peer, key), seconds(record, own, key)
    return theirs / ours if theirs and ours else None


def fastest_copy(record: Record, modes: Iterable[str] = ("memcpy", "nt-copy")) -> float | None:
    """Seconds of the faster copy of the same number of bytes."""
    times = [t for m in modes if (t := seconds(record, m))]
    return min(times, default=None)


def of_copy(record: Record) -> float | None:
    """Bandwidth as a share of a copy of the same bytes."""
    copy, ours = fastest_copy(record), seconds(record, "portacl")
    return copy / ours if copy and ours else None


def of_mix(record: Record) -> float | None:
    """Bandwidth as a share of a loop that only reads and writes the same bytes."""
    mix, ours = fastest_copy(record, ("mix", "nt-mix")), seconds(record, "portacl")
    return mix / ours if mix and ours else None


def mix_of_copy(record: Record) -> float | None:
    """That loop's bandwidth as a share of a copy of the same bytes."""
    mix, copy = fastest_copy(record, ("mix", "nt-mix")), fastest_copy(record)
    return copy / mix if mix and copy else None


def of_fill(record: Record) -> float | None:
    """Share of the time that zeroing as many bytes as are written takes."""
    fill, ours = fastest_copy(record, ("memset", "nt-fill")), seconds(record, "portacl")
    return fill / ours if fill and ours else None


def bandwidth(record: Record, peer: str = "portacl") -> float | None:
    """GB/s of the tensors' bytes."""
    time = seconds(record, peer)
    return record["bytes"] / time * 1e-9 if time else None


def noisy(record: Record, peer: str = "portacl") -> bool:
    best, median = seconds(record, peer, "best"), seconds(record, peer)
    return bool(best and median and median > NOISY * best)


def geometric_mean(values: Iterable[float | None]) -> float | None:
    present = [v for v in values if v]
    return statistics.geometric_mean(present) if present else None


@dataclasses.dataclass
class Row:
    """One case with its record per thread count."""

    case: Record
    by_threads: dict[int, Record]

    @property
    def name(self) -> str:
        return str(self.case["name"])

    @property
    def any(self) -> Record:
        return next(iter(self.by_threads.values()))


def rows(result: Record, operator: str) -> list[Row]:
    found: dict[str, Row] = {}
    for record in result.get("shapes", []):
        case = record["case"]
        if case["operator"] == operator:
            row = found.setdefault(case["name"], Row(case, {}))
            row.by_threads[record["threads"]] = record
    return list(found.values())


def thread_counts(records: Iterable[Record]) -> list[int]:
    return sorted({r["threads"] for r in records})


def label(case: Record) -> str:
    """A case in few words, without its operator: '2x32x128x128 to 64x64, border, random'."""
    text = "x".join(map(str, case["input"]))
    if list(case["output"]) != list(case["input"][2:]):
        sign = " \N{RIGHTWARDS ARROW} " if "grid" in case["operator"] else " \N{LEFTWARDS ARROW} "
        text += sign + "x".join(map(str, case["output"]))
    words = [] if case["dtype"] == "float32" else [case["dtype"]]
    if case["memory_format"] != "contiguous":
        words.append("channels_last")
    if "grid" in case["operator"]:
        words += _grid_words(case)
    return ", ".join([text, *words])


def _grid_words(case: Record) -> list[str]:
    words = []
    if case["interpolation"] != "bilinear":
        words.append(case["interpolation"])
    if case["padding"] != "zeros":
        words.append(case["padding"])
    if case.get("column_step", 1) != 1:
        words.append("every second column")
    if case["grid"] != "smooth":
        words.append({"onecell": "one cell"}.get(case["grid"], case["grid"]))
    if list(case["mask"]) != [True, True]:
        words.append("inputGrad only" if case["mask"][0] else "gridGrad only")
    return words
