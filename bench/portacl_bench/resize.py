"""Suite `resize`: F.interpolate's and F.affine_grid's operators, with and without portacl's kernels.

Shapes of networks that resize, `resizing` in shapes.json: decoders, segmentation heads, feature
pyramids, position tables of vision transformers, super-resolution, diffusion, brains, audio; odd
sizes beside powers of two. Affine grids: spatial transformers, augmentation, warps of pictures,
registration.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

import torch

from . import in_torch
from .cases import SHAPES_FILE
from .in_torch import Call
from .timing import Protocol

Record = dict[str, Any]
aten = torch.ops.aten
LINEAR = ("linear1d", "bilinear2d", "trilinear3d")  # by the number of extents


@dataclasses.dataclass(frozen=True)
class Case:
    """One shape: (N, C, extents...) -> extents."""

    name: str
    mode: str  # as F.interpolate's: linear stands for bilinear and trilinear too; or affine_grid
    input: tuple[int, ...]
    output: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    antialias: bool = False
    channels_last: bool = False
    align_corners: bool = False

    @property
    def group(self) -> str:
        """The line of the summary."""
        if self.mode == "affine_grid":
            return "affine grid"
        if self.channels_last:
            return "channels_last"
        if self.dtype != torch.float32:
            return "16-bit"
        if self.antialias:
            return "antialiased"
        return {"nearest-exact": "nearest"}.get(self.mode, self.mode)

    def to_json(self) -> Record:
        fields = dataclasses.asdict(self) | {"group": self.group}
        return fields | {"dtype": str(self.dtype).removeprefix("torch.")}


DTYPES = {"FLOAT": torch.float32, "FLOAT16": torch.float16, "BF16": torch.bfloat16}


# Affine maps (N, 2, 3) or (N, 3, 4) -> extents of their grids.
AFFINE = [
    Case("transformer_digits", "affine_grid", (1024, 2, 3), (28, 28)),
    Case("augmentation", "affine_grid", (64, 2, 3), (224, 224)),
    Case("augmentation_bf16", "affine_grid", (64, 2, 3), (224, 224), torch.bfloat16),
    Case("photograph", "affine_grid", (1, 2, 3), (1080, 1920), align_corners=True),
    Case("odd_affine", "affine_grid", (5, 2, 3), (97, 131)),
    Case("brain_affine", "affine_grid", (2, 3, 4), (96, 112, 96)),
]


def _cases() -> list[Case]:
    cases = list(AFFINE)
    for row in json.loads(SHAPES_FILE.read_text())["resizing"]:
        fields = row | {key: tuple(row[key]) for key in ("input", "output")}
        fields["dtype"] = DTYPES[row["dtype"]]
        fields["channels_last"] = fields.pop("memory_format") == "channels_last"
        cases.append(Case(**fields))
    assert len({case.name for case in cases}) == len(cases)
    return cases


CASES = _cases()


def load(pattern: str | None) -> list[Case]:
    """The cases in whose name, mode, group or dtype the regular expression is found."""
    text = "{0.name} resize {0.mode} {0.group} {0.dtype}".format
    return [case for case in CASES if re.search(pattern or "", text(case))]


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
