"""Made inputs: the generator of ``tools/testing/values.cc``, bit for bit.

SplitMix64 by its number in the stream, then + - * / on float64 and one rounding to the dtype.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_RESERVED = 16  # draws of the whole tensor


def draw(seed: int, numbers: Any) -> Any:
    """Numbers ``numbers`` of the stream of ``seed``, uint64."""
    i = np.asarray(numbers, np.uint64)
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def unit(numbers: Any) -> Any:
    """Numbers in [0, 1), with 53 random bits."""
    return (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class GridFrame:
    """The points of a grid, and the image that they point at."""

    points: tuple[int, ...]
    image: tuple[int, ...]
    align_corners: bool


def _coordinate(pixel: Any, extent: int, align_corners: bool) -> Any:
    if not align_corners:
        return (2.0 * pixel + 1.0) / float(extent) - 1.0
    if extent == 1:
        return np.zeros_like(np.asarray(pixel, np.float64))
    return 2.0 * pixel / (float(extent) - 1.0) - 1.0


def _grid(word: str, seed: int, count: int, frame: GridFrame) -> Any:
    axes = len(frame.image)
    index = np.arange(count, dtype=np.int64)
    point, axis = index // axes, index % axes
    draws = draw(seed, np.uint64(_RESERVED) + index.astype(np.uint64))

    def identity(which: int) -> Any:
        at = point
        for a in range(which):
            at = at // frame.points[axes - 1 - a]
        extent = frame.points[axes - 1 - which]
        return _coordinate((at % extent).astype(np.float64), extent, frame.align_corners)

    values = np.zeros(count)
    for which in range(axes):
        here = axis == which
        extent = frame.image[axes - 1 - which]
        if word == "kinks":
            halves = (draws % np.uint64(6 * extent + 1)).astype(np.float64)
            made = _coordinate(0.5 * halves - float(extent), extent, frame.align_corners)
        elif word == "onecell":
            cell = float(draw(seed, 2 + which) % np.uint64(extent))
            made = _coordinate(cell + unit(draws), extent, frame.align_corners)
        elif word == "smooth" and axes > 1 and which < 2:
            t = -0.15 + 0.3 * unit(draw(seed, 0))
            zoom = 0.9 + 0.2 * unit(draw(seed, 1))
            cosine = zoom * ((1.0 - t * t) / (1.0 + t * t))
            sine = zoom * (2.0 * t / (1.0 + t * t))
            x, y = identity(0), identity(1)
            made = x * cosine - y * sine if which == 0 else x * sine + y * cosine
        else:
            made = identity(which)
        values[here] = made[here]
    return values


def _not_finite(draws: Any) -> Any:
    values = -1.0 + 2.0 * unit(draws)
    low = draws & np.uint64(31)
    for number, value in enumerate((np.nan, np.inf, -np.inf, 1e30)):
        values[low == np.uint64(number)] = value
    return values


def make_values(spec: str, seed: int, count: int, grid: GridFrame | None) -> Any:
    """``count`` values in row-major order, float64, not yet rounded."""
    word, *numbers = spec.split(":")
    limits = [float(n) for n in numbers]
    draws = draw(seed, np.uint64(_RESERVED) + np.arange(count, dtype=np.uint64))
    if word in ("identity", "smooth", "onecell", "kinks"):
        if grid is None:
            raise ValueError(f"values '{word}' are for grids, but this tensor is none")
        return _grid(word, seed, count, grid)
    if word == "uniform":
        bound = 1.1 if grid is not None else 1.0
        low, high = limits or (-bound, bound)
        return low + (high - low) * unit(draws)
    if word == "integers":
        span = np.uint64(int(limits[1] - limits[0]) + 1)
        return limits[0] + (draws % span).astype(np.float64)
    if word == "ramp":
        return np.arange(count, dtype=np.float64)
    if word == "nonfinite":
        return _not_finite(draws)
    if word in ("ones", "constant"):
        return np.full(count, 1.0 if word == "ones" else limits[0])
    raise ValueError(f"values '{word}' are not known; docs/cases.md lists all")


def round_to_bfloat16(values: Any) -> Any:
    """The bits of float64 values rounded once to bfloat16, uint16."""
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64)
    sign = (bits >> np.uint64(48)).astype(np.uint16) & np.uint16(0x8000)
    magnitude = np.abs(values)
    with np.errstate(invalid="ignore", over="ignore"):
        _, exponent = np.frexp(magnitude)
        exponent = np.where(magnitude == 0, -126, np.clip(exponent - 1, -126, 127))
        steps = np.rint(np.ldexp(magnitude, 7 - exponent))  # half to even
        pattern = np.minimum((exponent + 126) * 128.0 + steps, 0x7F80)
    pattern = np.where(np.isinf(magnitude), 0x7F80, pattern)
    pattern = np.where(np.isnan(magnitude), 0x7FC0, pattern)
    result: Any = pattern.astype(np.uint16) | sign
    return result
