"""Suite `resize`: F.interpolate's operators and gradients, with and without portacl's kernels.

Shapes of networks that resize, `resizing` in shapes.json: decoders, segmentation heads, feature
pyramids, position tables of vision transformers, super-resolution, diffusion, brains, audio; odd
sizes beside powers of two.
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
    mode: str  # as F.interpolate's: linear stands for bilinear and trilinear too
    input: tuple[int, ...]
    output: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    antialias: bool = False
    channels_last: bool = False
    align_corners: bool = False

    @property
    def group(self) -> str:
        """The line of the summary."""
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


def _cases() -> list[Case]:
    cases = []
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
