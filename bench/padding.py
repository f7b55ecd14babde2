"""Paddings that PyTorch's grid_sample lacks, against the usual compositions of its functions.

    python bench/padding.py [--threads N] [--repeat N]

Inside PyTorch. Tensors stay in the caches in which a training step leaves them. The two take turns;
the output is the median of the ratios of their CPU times. Above 1 portacl is faster.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

import portacl.torch

Tensors = tuple[torch.Tensor, torch.Tensor]


def pixels(grid: torch.Tensor, size: torch.Size) -> torch.Tensor:
    """Pixel coordinates of points, x first, corners not aligned."""
    extents = grid.new_tensor([float(extent) for extent in reversed(size)])
    return ((grid + 1) * extents - 1) / 2


def circular(x: torch.Tensor, grid: torch.Tensor, mode: str) -> torch.Tensor:
    """Adds two pixels of the other end on each side; the image's period moves points into it."""
    frame = 2
    size = x.shape[2:]
    extents = grid.new_tensor([float(extent) for extent in reversed(size)])
    padded = F.pad(x, (frame, frame) * len(size), mode="circular")
    inside = torch.remainder(pixels(grid, size), extents) + frame
    points = (2 * inside + 1) / (extents + 2 * frame) - 1
    return F.grid_sample(padded, points, mode, "zeros", False)


def constant(x: torch.Tensor, grid: torch.Tensor, mode: str) -> torch.Tensor:
    """Zeros are what differs from 3."""
    return F.grid_sample(x - 3, grid, mode, "zeros", False) + 3


def outside(x: torch.Tensor, grid: torch.Tensor, mode: str) -> torch.Tensor:
    """Border padding for taps, 3 for points."""
    values = F.grid_sample(x, grid, mode, "border", False)
    return torch.where((grid.abs() > 1).any(-1).unsqueeze(1), 3.0, values)


RULES: dict[str, tuple[Callable[..., torch.Tensor], dict[str, object]]] = {
    "circular": (circular, {"padding_mode": "circular"}),
    "constant": (constant, {"padding_mode": "constant", "value": 3.0}),
    "outside": (outside, {"padding_mode": "border", "outside": 3.0}),
}
SHAPES = {
    "image 8x3x256x256": ((8, 3, 256, 256), (8, 256, 256, 2)),
    "image 4x64x64x64": ((4, 64, 64, 64), (4, 64, 64, 2)),
    "volume 1x2x48x48x48": ((1, 2, 48, 48, 48), (1, 48, 48, 48, 3)),
}


def seconds(call: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def ratio(theirs: Callable[[], object], ours: Callable[[], object], repeat: int) -> float:
    """How many times as long the first takes as the second."""
    theirs()
    ours()
    return statistics.median(seconds(theirs) / seconds(ours) for _ in range(repeat))


def main() -> None:
    """Print a row for each rule, shape, mode and dtype."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print("| rule | shape | mode | function | gradients |\n| --- | --- | --- | --: | --: |")
    for rule, (theirs, ours) in RULES.items():
        for shape, (image, points) in SHAPES.items():
            for mode in ("bilinear", "nearest", "bicubic"):
                if mode == "bicubic" and len(image) == 5:
                    continue  # older releases of PyTorch have none
                x = torch.rand(image, requires_grad=True)
                base = F.affine_grid(torch.eye(len(points) - 2, len(points) - 1)[None] * 1.2,
                                     [1, 1, *points[1:-1]], False)
                grid = (base + 0.05 * torch.randn(points)).requires_grad_()
                own = lambda: portacl.torch.grid_sample(x, grid, mode, align_corners=False, **ours)
                stock = lambda: theirs(x, grid, mode)
                with torch.no_grad():
                    # A coordinate that is rounded differently may have another nearest pixel.
                    assert ((own() - stock()).abs() > 1e-3).float().mean() < 1e-4
                    forward = ratio(stock, own, options.repeat)
                g = torch.rand_like(own())
                first, second = own(), stock()
                backward = ratio(
                    lambda: torch.autograd.grad(second, (x, grid), g, retain_graph=True),
                    lambda: torch.autograd.grad(first, (x, grid), g, retain_graph=True),
                    options.repeat,
                )
                print(f"| {rule} | {shape} | {mode} | {forward:.2f} | {backward:.2f} |", flush=True)


if __name__ == "__main__":
    main()
