"""Suite `resize`: F.interpolate's operators and gradients, with and without portacl's kernels.

Shapes of networks that resize: decoders, segmentation heads, feature pyramids, position tables of
vision transformers, super-resolution, diffusion, brains, audio; odd sizes beside powers of two.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import torch

from . import in_torch
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


def _cases() -> list[Case]:
    bf16, f16 = torch.bfloat16, torch.float16
    unet, half = (1, 64, 128, 128), (256, 256)
    picture, photo = (4, 3, 256, 256), (4, 3, 1024, 1024)
    cases = [
        Case("unet", "linear", unet, half),
        Case("unet_corners", "linear", unet, half, align_corners=True),
        Case("unet_deep", "linear", (4, 512, 13, 15), (26, 30)),
        Case("unet_odd", "linear", (2, 48, 75, 67), (150, 134)),
        Case("segmentation_21_x4", "linear", (2, 21, 128, 128), (512, 512)),
        Case("segmentation_150_x4", "linear", (1, 150, 64, 64), (256, 256)),
        Case("segmentation_150_x8", "linear", (1, 150, 32, 32), half),
        Case("segmentation_21_x8_odd", "linear", (2, 21, 41, 55), (328, 440)),
        Case("pyramid", "linear", (4, 256, 25, 25), (50, 50)),
        Case("pyramid_general", "linear", (2, 256, 25, 34), (50, 67)),
        Case("odd", "linear", (2, 33, 37, 53), (101, 149)),
        Case("general", "linear", (1, 64, 100, 134), (223, 300)),
        Case("general_down", "linear", (1, 64, 300, 400), (111, 150)),
        Case("photo_quarter", "linear", photo, (256, 256)),
        Case("photo_down", "linear", (4, 3, 500, 375), (256, 192)),
        Case("small", "linear", (1, 16, 20, 20), (40, 40)),
        Case("diffusion_linear", "linear", (1, 320, 32, 32), (64, 64)),
        Case("brain", "linear", (1, 16, 48, 56, 48), (96, 112, 96)),
        Case("brain_odd", "linear", (1, 4, 45, 54, 45), (91, 109, 91)),
        Case("volume", "linear", (1, 3, 80, 96, 112), (160, 192, 224)),
        Case("audio", "linear", (8, 64, 8192), (16384,)),
        Case("audio_resampled", "linear", (1, 2, 160_000), (441_000,)),
        Case("unet_cubic", "cubic", unet, half),
        Case("positions_14_24", "cubic", (1, 768, 14, 14), (24, 24)),
        Case("positions_14_32", "cubic", (1, 768, 14, 14), (32, 32)),
        Case("positions_16_37", "cubic", (1, 1024, 16, 16), (37, 37)),
        Case("positions_24_64", "cubic", (1, 1280, 24, 24), (64, 64)),
        Case("positions_27_down", "cubic", (1, 1152, 27, 27), (16, 16)),
        Case("super_resolution", "cubic", picture, (512, 512)),
        Case("super_resolution_x4", "cubic", (8, 3, 48, 48), (192, 192)),
        Case("general_cubic", "cubic", (1, 64, 100, 134), (223, 300)),
        Case("down_cubic", "cubic", (4, 3, 500, 375), (256, 192)),
        Case("aa_quarter", "linear", photo, (256, 256), antialias=True),
        Case("aa_quarter_cubic", "cubic", photo, (256, 256), antialias=True),
        Case("aa_half_cubic", "cubic", (4, 3, 512, 512), (256, 256), antialias=True),
        Case("aa_general", "linear", (4, 3, 500, 375), (256, 192), antialias=True),
        Case("aa_general_cubic", "cubic", (4, 3, 500, 375), (256, 192), antialias=True),
        Case("aa_photo_224", "linear", (1, 3, 1080, 1920), (224, 398), antialias=True),
        Case("aa_positions", "cubic", (1, 768, 37, 37), (16, 16), antialias=True),
        Case("unet_nhwc", "linear", unet, half, channels_last=True),
        Case("unet_odd_nhwc", "linear", (2, 48, 75, 67), (150, 134), channels_last=True),
        Case("odd_nhwc", "linear", (2, 33, 37, 53), (101, 149), channels_last=True),
        Case("pyramid_nhwc", "linear", (4, 256, 25, 25), (50, 50), channels_last=True),
        Case("photo_nhwc", "linear", picture, (512, 512), channels_last=True),
        Case("cubic_nhwc", "cubic", (1, 64, 100, 134), (223, 300), channels_last=True),
        Case("nearest_nhwc", "nearest", unet, half, channels_last=True),
        Case("diffusion", "nearest", (1, 320, 32, 32), (64, 64)),
        Case("diffusion_decoder", "nearest", (1, 256, 128, 128), (256, 256)),
        Case("nearest_odd", "nearest", (2, 33, 37, 53), (101, 149)),
        Case("nearest_down", "nearest", (1, 64, 300, 400), (111, 150)),
        Case("nearest_labels", "nearest", (2, 1, 128, 128), (512, 512)),
        Case("nearest_brain", "nearest", (1, 16, 48, 56, 48), (96, 112, 96)),
        Case("nearest_audio", "nearest", (8, 64, 8192), (16384,)),
        Case("exact_unet", "nearest-exact", unet, half),
        Case("exact_odd", "nearest-exact", (2, 33, 37, 53), (101, 149)),
        Case("unet_bf16", "linear", unet, half, bf16),
        Case("unet_f16", "linear", unet, half, f16),
        Case("general_bf16", "linear", (1, 64, 100, 134), (223, 300), bf16),
        Case("cubic_bf16", "cubic", (1, 768, 14, 14), (32, 32), bf16),
        Case("nearest_bf16", "nearest", (1, 320, 32, 32), (64, 64), bf16),
    ]
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
