#!/usr/bin/env python3
"""Random calls of resizing and sampling inside PyTorch: which ones are slower with portacl?

Every call is drawn from a seed: operator, direction, type, memory layout (also views of each
permutation of the axes), sizes, strong reductions (a tenth to a thousandth) among them. PyTorch's
kernels and portacl's take turns in one process. The figure is the median of the turns: of the
process's CPU time for one thread, of elapsed time for more. With --fresh no two calls of a turn
have the same shape, so each is planned anew.

  bench/random_calls.py                         1,820 of resizing and 780 of sampling, one thread
  bench/random_calls.py --threads 2 --calls 300 --seed 7
  bench/random_calls.py --fresh --small         new shapes in each call, small images
  bench/random_calls.py --only 1234             one of them again

Prints each call that takes over 20 us more than PyTorch's and over a tenth more. Needs PyTorch and
the Python package.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

import portacl.torch as pt

MODES = {1: ("nearest", "nearest-exact", "linear"), 3: ("nearest", "nearest-exact", "trilinear")}
IMAGE_MODES = ("nearest", "nearest-exact", "bilinear", "bicubic")
SLOWER_S, SLOWER = 20e-6, 1.1
FRESH = 16  # calls of a turn if each has a shape of its own

Call = Callable[[], Any]


class Drawn(NamedTuple):
    """A call in words, and what makes it for a number that changes its extents a little."""

    words: str
    make: Callable[[int], Call]


def size(draw: random.Random, low: int, high: int) -> int:
    """Sizes of every magnitude are equally likely."""
    return round(math.exp(draw.uniform(math.log(low), math.log(high))))


def laid_out(shape: list[int], order: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Random values, the axes in memory in this order."""
    values = torch.rand([shape[axis] for axis in order]).to(dtype)
    return values.permute([order.index(axis) for axis in range(len(shape))])


def channels(draw: random.Random) -> int:
    return draw.choice((1, 1, 2, 3, 3, 4, size(draw, 5, 64), size(draw, 16, 512)))


def layout(draw: random.Random, axes: int) -> tuple[int, ...]:
    """Contiguous or channels_last as a rule, else any."""
    straight = tuple(range(axes + 2))
    last = (0, *range(2, axes + 2), 1)
    return draw.choice((straight, straight, last, draw.choice([*itertools.permutations(straight)])))


def gradient_of(result: Callable[..., torch.Tensor], inputs: list[torch.Tensor]) -> Call:
    """The backward of a graph that is kept."""
    for tensor in inputs:
        tensor.requires_grad_()
    out = result(*inputs)
    ones = torch.ones_like(out)
    return lambda: torch.autograd.grad(out, inputs, ones, retain_graph=True)


def resizing(draw: random.Random, most: int) -> Drawn:
    axes = draw.choice((1, 2, 2, 2, 2, 3))
    mode = draw.choice(MODES.get(axes, IMAGE_MODES))
    antialias = mode in ("bilinear", "bicubic") and draw.random() < 0.3
    dtype = draw.choice([torch.float32] * 4 + [torch.bfloat16, torch.float64])
    if antialias and dtype == torch.bfloat16:
        dtype = torch.float32
    backward = draw.random() < 0.5
    images, depth = draw.choice((1, 1, 2, size(draw, 2, 32))), channels(draw)
    largest = max(4, round((most / images / depth) ** (1 / axes)))
    inner = [size(draw, 3, max(4, min(largest, 1000))) for _ in range(axes)]
    if draw.random() < 0.2:  # a strong reduction
        outer = [max(1, extent // size(draw, 10, 1000)) for extent in inner]
    else:
        outer = [size(draw, 3, max(4, min(largest, 1000))) for _ in range(axes)]
    order = layout(draw, axes)
    corners = {"align_corners": draw.random() < 0.3} if "linear" in mode or "cubic" in mode else {}

    def make(change: int) -> Call:
        shape = [images, depth, *inner[:-1], inner[-1] + change]
        x = laid_out(shape, order, dtype)
        sizes = outer[0] if axes == 1 else tuple(outer)

        def run(values: torch.Tensor) -> torch.Tensor:
            return F.interpolate(values, sizes, mode=mode, antialias=antialias, **corners)

        return gradient_of(run, [x]) if backward else lambda: run(x)

    words = f"{mode}{' antialias' if antialias else ''}{' backward' if backward else ''} "
    words += f"{images}x{depth}x{'x'.join(map(str, inner))} to {'x'.join(map(str, outer))} "
    return Drawn(words + f"{str(dtype)[6:]} axes {order}", make)


def sampling(draw: random.Random, most: int) -> Drawn:
    axes = draw.choice((2, 2, 2, 3))
    mode = draw.choice(("bilinear", "bilinear", "nearest", "bicubic") if axes == 2 else ("bilinear",))
    padding = draw.choice(("zeros", "border", "reflection"))
    dtype = draw.choice([torch.float32] * 4 + [torch.float64])
    backward = draw.random() < 0.6
    images, depth = draw.choice((1, 1, 2, size(draw, 2, 64))), channels(draw)
    largest = max(4, round((most / images / depth) ** (1 / axes)))
    inner = [size(draw, 3, max(4, min(largest, 800))) for _ in range(axes)]
    outer = [size(draw, 1, max(4, min(largest, 800))) for _ in range(axes)]
    order = layout(draw, axes)
    smooth = draw.random() < 0.5

    def make(change: int) -> Call:
        x = laid_out([images, depth, *inner[:-1], inner[-1] + change], order, dtype)
        if smooth:
            theta = torch.eye(axes, axes + 1, dtype=dtype).repeat(images, 1, 1) * 0.97
            grid = F.affine_grid(theta, [images, depth, *outer], align_corners=False)
        else:
            grid = torch.rand([images, *outer, axes]).to(dtype) * 2.1 - 1.05

        def run(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
            return F.grid_sample(values, places, mode, padding, align_corners=False)

        return gradient_of(run, [x, grid.clone()]) if backward else lambda: run(x, grid)

    words = f"grid_sample {mode} {padding}{' backward' if backward else ''} "
    words += f"{images}x{depth}x{'x'.join(map(str, inner))} at {'x'.join(map(str, outer))} "
    return Drawn(words + f"{'smooth' if smooth else 'random'} {str(dtype)[6:]} axes {order}", make)


def compare(make: Callable[[int], Call], options: argparse.Namespace) -> tuple[float, float]:
    """Seconds a call, PyTorch's and portacl's."""
    now = time.process_time if options.threads == 1 else time.perf_counter
    changes = itertools.count()

    def turn(calls: list[Call], rounds: int) -> float:
        start = now()
        for _ in range(rounds):
            for call in calls:
                call()
        return (now() - start) / rounds / len(calls)

    def new_calls() -> list[Call]:
        pt.disable()
        return [make(next(changes)) for _ in range(FRESH if options.fresh else 1)]

    switches = (pt.disable, lambda: pt.enable(forward=True))
    samples: tuple[list[float], list[float]] = ([], [])
    calls, rounds = new_calls(), [1, 1]
    warm = new_calls() if options.fresh else calls
    for index in range(options.turns + 1):  # the first turn does not count
        for kernel, switch in enumerate(switches):
            switch()
            turn(warm, 1)
            samples[kernel].append(turn(calls, rounds[kernel]))
        if options.fresh:
            calls = new_calls()
        elif index == 0:
            rounds = [max(1, min(200, round(1e-3 / turns[0]))) for turns in samples]
    pt.disable()
    return statistics.median(samples[0][1:]), statistics.median(samples[1][1:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--calls", type=int, default=2600, help="how many; three of ten sample (2600)")
    add("--seed", type=int, default=1)
    add("--threads", type=int, default=1)
    add("--turns", type=int, default=5)
    add("--fresh", action="store_true", help="no shape comes twice")
    add("--small", action="store_true", help="images of at most 64 x 64")
    add("--only", type=int, metavar="INDEX", help="one call")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    most = 64 * 64 if options.small else 1 << 21
    ratios, slower = [], 0
    for index in [options.only] if options.only is not None else range(options.calls):
        draw = random.Random(f"{options.seed} {index}")
        torch.manual_seed(index)
        drawn = (sampling if index % 10 < 3 else resizing)(draw, most)
        theirs, ours = compare(drawn.make, options)
        ratios.append(theirs / ours)
        if options.only is not None or (ours - theirs > SLOWER_S and ours > SLOWER * theirs):
            slower += 1
            print(f"{index:5} {theirs * 1e6:9.1f} {ours * 1e6:9.1f} us  {drawn.words}", flush=True)
    mean = statistics.geometric_mean(ratios)
    print(f"{len(ratios)} calls, seed {options.seed}: {mean:.1f} times as fast in the mean, "
          f"{sum(r < 1 for r in ratios)} slower at all, {slower} printed")


if __name__ == "__main__":
    main()
