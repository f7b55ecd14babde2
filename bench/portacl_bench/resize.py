"""Suite `resize`: F.interpolate's and F.affine_grid's operators, with and without portacl's kernels.

Shapes of networks that resize, `resizing` in shapes.json: decoders, segmentation heads, feature
pyramids, position tables of vision transformers, super-resolution, diffusion, brains, audio; odd
sizes beside powers of two. Affine grids: spatial transformers, augmentation, warps of pictures,
registration.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from . import in_torch
from .in_torch import Call
from .resize_cases import Case, load
from .timing import Protocol

Record = dict[str, Any]
aten = torch.ops.aten
LINEAR = ("linear1d", "bilinear2d", "trilinear3d")  # by the number of extents


def calls(case: Case) -> dict[str, Call]:
    """PyTorch's operators of both directions, as F.interpolate and autograd call them."""
    generator = torch.Generator().manual_seed(0)
    if case.mode == "affine_grid":
        maps, axes = case.input[0], case.input[1]
        theta = torch.rand(case.input, generator=generator).to(case.dtype)
        grid_grad = torch.rand((maps, *case.output, axes), generator=generator).to(case.dtype)
        of_grid = ((maps, 1, *case.output), case.align_corners)
        return {
            "forward": lambda: aten.affine_grid_generator(theta, *of_grid),
            "backward": lambda: aten.affine_grid_generator_backward(grid_grad, *of_grid),
        }

    def tensor(extents: tuple[int, ...]) -> torch.Tensor:
        made = torch.rand((*case.input[:2], *extents), generator=generator).to(case.dtype)
        return made.contiguous(memory_format=torch.channels_last) if case.channels_last else made

    image, grad = tensor(case.input[2:]), tensor(case.output)
    axes = len(case.output)
    name = {
        "linear": "_upsample_bilinear2d_aa" if case.antialias else f"upsample_{LINEAR[axes - 1]}",
        "cubic": "_upsample_bicubic2d_aa" if case.antialias else "upsample_bicubic2d",
        "lanczos": "_upsample_lanczos2d_aa",
        "nearest": f"upsample_nearest{axes}d",
        "nearest-exact": f"_upsample_nearest_exact{axes}d",
    }[case.mode]
    forward, backward = getattr(aten, name), getattr(aten, f"{name}_backward")
    corners = () if "nearest" in case.mode else (case.align_corners,)
    return {
        "forward": lambda: forward(image, case.output, *corners, *[None] * axes),
        "backward": lambda: backward(grad, case.output, case.input, *corners, *[None] * axes),
    }


@torch.no_grad()
def run(options: Any, threads: int) -> list[Record]:
    torch.set_num_threads(threads)
    protocol = Protocol(repeat=options.repeat, limit=options.max_seconds, clock=options.clock)
    records = []
    for case in load(options.filter):
        pixels = math.prod(case.input[2:]) + math.prod(case.output)
        bytes_ = case.dtype.itemsize * math.prod(case.input[:2]) * pixels
        source, target = torch.ones(2, bytes_ // 2, dtype=torch.uint8)
        copy = in_torch.measure(lambda t=target, s=source: t.copy_(s), protocol)["torch"]
        for direction, call in calls(case).items():
            row = in_torch.record(case, direction, call, threads, protocol)
            row["peers"] = {"copy": copy.to_json()} | row["peers"]
            records.append(row)
    return records
