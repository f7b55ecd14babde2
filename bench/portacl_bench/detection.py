"""Suite `detection`: sampling of detectors, beside the fastest that PyTorch's users have for a CPU.

RoiAlign and deformable convolution are torchvision's operators with and without portacl's kernels.
Multi-scale deformable attention has no operator in PyTorch: its peer is the usual formula, a
`grid_sample` for each level, as transformers and mmcv have it. Gradients of attention are
autograd's of a graph that is kept.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from collections.abc import Iterable
from ctypes import c_double as double
from ctypes import c_int64 as int64
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from . import in_torch, results
from .in_torch import Call
from .timing import Protocol

Record = dict[str, Any]
Planning = tuple[Any, ...]
"""The end of the name of a function portaclPlan..., and its arguments."""


class _Case:
    name: str
    label: str

    def to_json(self) -> Record:
        return {"name": self.name, "label": self.label}


@dataclasses.dataclass(frozen=True)
class Attention(_Case):
    """(B, keys of all levels, heads, channels) sampled by (B, queries, heads, levels, points)."""

    name: str
    batch: int
    levels: tuple[tuple[int, int], ...]
    queries: int
    points: int
    heads: int = 8
    channels: int = 32

    @property
    def label(self) -> str:  # type: ignore[override]
        levels = ", ".join(f"{h}x{w}" for h, w in self.levels)
        return (
            f"{self.batch}x{self.queries} queries, {self.heads}x{self.channels} channels, "
            f"{self.points} points on {levels}"
        )

    def _tensors(self) -> list[torch.Tensor]:
        shapes = torch.tensor(self.levels)
        starts = shapes.prod(1).cumsum(0) - shapes.prod(1)
        keys = int(shapes.prod(1).sum())
        points = (self.batch, self.queries, self.heads, len(self.levels), self.points)
        generator = torch.Generator().manual_seed(0)
        value = torch.randn(self.batch, keys, self.heads, self.channels, generator=generator)
        locations = torch.rand(*points, 2, generator=generator)
        weights = torch.rand(points, generator=generator)
        grad = torch.randn(
            self.batch, self.queries, self.heads * self.channels, generator=generator
        )
        return [value, shapes, starts, locations, weights, grad]

    @property
    def pieces(self) -> int:
        """What the formula's threads share."""
        return self.batch * self.heads

    def native(self) -> dict[str, Planning]:
        """What plans both directions."""
        value, shapes, starts, locations, weights, grad = self._tensors()
        tensors = (value, shapes, starts, locations.flatten(3, 4), weights.flatten(3, 4))
        results = [torch.empty_like(tensors[i]) for i in (0, 3, 4)]
        return {
            "forward": ("MsDeformAttn", *tensors, torch.empty_like(grad)),
            "backward": ("MsDeformAttnBackward", *tensors, grad, *results),
        }

    def calls(self) -> dict[str, dict[str, Call]]:
        """Both directions, by kernel."""
        value, shapes, starts, locations, weights, grad = self._tensors()
        leaves = [t.requires_grad_() for t in (value, locations, weights)]
        constants = [t.detach() for t in leaves]
        functions = {
            "torch": lambda tensors: formula(self.levels, *tensors),
            "portacl": lambda tensors: torch.ops.portacl.ms_deform_attn(
                tensors[0], shapes, starts, *tensors[1:]
            ),
        }

        def backward(function: Any) -> Call:
            with torch.enable_grad():
                output = function(leaves)
            return lambda: torch.autograd.grad(output, leaves, grad, retain_graph=True)

        return {
            "forward": {name: lambda f=f: f(constants) for name, f in functions.items()},
            "backward": {name: backward(f) for name, f in functions.items()},
        }


def formula(
    levels: Iterable[tuple[int, int]],
    value: torch.Tensor,
    locations: torch.Tensor,
    weights: torch.Tensor,
) -> torch.Tensor:
    """Multi-scale deformable attention by PyTorch's operators, as transformers and mmcv write it."""
    batch, queries, heads, _, points, _ = locations.shape
    channels = value.shape[-1]
    grids = 2 * locations - 1
    samples = []
    for level, image in enumerate(value.split([h * w for h, w in levels], dim=1)):
        h, w = list(levels)[level]
        image = image.flatten(2).transpose(1, 2).reshape(batch * heads, channels, h, w)
        grid = grids[:, :, :, level].transpose(1, 2).flatten(0, 1)
        samples.append(F.grid_sample(image, grid, align_corners=False))
    flat = weights.transpose(1, 2).reshape(batch * heads, 1, queries, -1)
    output = (torch.stack(samples, dim=-2).flatten(-2) * flat).sum(-1)
    return output.view(batch, heads * channels, queries).transpose(1, 2).contiguous()


@dataclasses.dataclass(frozen=True)
class Regions(_Case):
    """Regions of (N, C, H, W), pooled to size x size; sampling_ratio 0 is adaptive."""

    name: str
    input: tuple[int, int, int, int]
    rois: int
    size: int
    sampling_ratio: int
    channels_last: bool = False

    @property
    def label(self) -> str:  # type: ignore[override]
        how = f"sampling_ratio {self.sampling_ratio}" if self.sampling_ratio else "adaptive"
        layout = ", channels_last" if self.channels_last else ""
        of = "x".join(map(str, self.input))
        return f"{self.rois} of {of}, {self.size}x{self.size}, {how}{layout}"

    def _tensors(self) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(0)
        layout = torch.channels_last if self.channels_last else torch.contiguous_format
        image = torch.randn(self.input, generator=generator).contiguous(memory_format=layout)
        rois = self._boxes(generator)
        pooled = torch.randn(
            self.rois, self.input[1], self.size, self.size, generator=generator
        ).contiguous(memory_format=layout)
        return [image, rois, pooled]

    pieces = 1

    def native(self) -> dict[str, Planning]:
        """Arguments of plans of both directions, also of maxima and rotated rois: these lack peers."""
        image, rois, pooled = self._tensors()
        to_pool, to_image = torch.empty_like(pooled), torch.empty_like(image)
        numbers = (int64(self.size), int64(self.size), double(1.0), int64(self.sampling_ratio), 0)
        found: dict[str, Planning] = {}
        for name, mode in (("", 0), (" max", 1)):
            rest = (*numbers, mode)
            found[f"forward{name}"] = ("RoiAlign", image, rois, *rest, to_pool)
            images = image if mode else None
            found[f"backward{name}"] = ("RoiAlignBackward", pooled, rois, images, *rest, to_image)
        corners = rois[:, 1:].view(-1, 2, 2)
        angles = torch.linspace(0, 3, self.rois)[:, None]
        turned = torch.cat([rois[:, :1], corners.mean(1), corners.diff(dim=1)[:, 0], angles], 1)
        found["forward rotated"] = ("RoiAlignRotated", image, turned, *numbers, 0, to_pool)
        arguments = (pooled, turned, *numbers, 0, to_image)
        found["backward rotated"] = ("RoiAlignRotatedBackward", *arguments)
        return found

    def calls(self) -> dict[str, dict[str, Call]]:
        """torchvision's operators, which portacl's kernels replace."""
        import torchvision.ops  # noqa: F401, PLC0415 (its operators)

        image, rois, pooled = self._tensors()
        numbers = (1.0, self.size, self.size)
        rest = (self.sampling_ratio, False)
        ops = torch.ops.torchvision
        calls: dict[str, Call] = {
            "forward": lambda: ops.roi_align(image, rois, *numbers, *rest),
            "backward": lambda: ops._roi_align_backward(pooled, rois, *numbers, *self.input, *rest),
        }
        return {key: dict.fromkeys(in_torch.KERNELS, call) for key, call in calls.items()}

    def _boxes(self, generator: torch.Generator) -> torch.Tensor:
        """Boxes with sides of 4 to 56 elements, at most half of the image, anywhere in it."""
        images, _, height, width = self.input
        extents = torch.tensor([width, height])
        index = torch.randint(images, (self.rois, 1), generator=generator)
        most = (extents / 2).clamp(max=56)
        sides = 4 + torch.rand(self.rois, 2, generator=generator) * (most - 4)
        corners = torch.rand(self.rois, 2, generator=generator) * (extents - sides)
        return torch.cat([index.float(), corners, corners + sides], 1)


@dataclasses.dataclass(frozen=True)
class Convolution(_Case):
    """A deformable convolution with masks that keeps the extents of (N, C, H, W)."""

    name: str
    input: tuple[int, int, int, int]
    outputs: int
    offset_groups: int = 1
    kernel: int = 3

    @property
    def label(self) -> str:  # type: ignore[override]
        of = "x".join(map(str, self.input))
        groups = f", {self.offset_groups} offset groups" if self.offset_groups > 1 else ""
        return f"{self.outputs} outputs of {of}, kernel {self.kernel}x{self.kernel}{groups}"

    def _tensors(self) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(0)
        made = functools.partial(torch.randn, generator=generator)
        images, channels, *size = self.input
        taps = self.offset_groups * self.kernel**2
        return [
            made(self.input),
            made(self.outputs, channels, self.kernel, self.kernel),
            2 * made(images, 2 * taps, *size),
            torch.rand(images, taps, *size, generator=generator),
            made(self.outputs),
            made(images, self.outputs, *size),
        ]

    pieces = 1

    def native(self) -> dict[str, Planning]:
        """What plans both directions."""
        image, weight, offset, mask, bias, grad = self._tensors()
        edge, pairs = self.kernel // 2, 1
        lists = [[self.kernel] * 2, [1, 1], [edge] * 4, [1, 1]]
        steps = [(int64 * len(values))(*values) for values in lists]
        rest = (*steps, int64(1), int64(self.offset_groups), pairs)
        sources = (image, weight, offset, bias, mask)
        results = [torch.empty_like(tensor) for tensor in sources]
        operands = (image, grad, None, weight, offset, mask)
        return {
            "forward": ("DeformConv2d", *sources, *rest, torch.empty_like(grad), None),
            "backward": ("DeformConv2dBackward", *operands, *rest, *results),
        }

    def calls(self) -> dict[str, dict[str, Call]]:
        """torchvision's operators, which portacl's kernels replace."""
        import torchvision.ops  # noqa: F401, PLC0415 (its operators)

        *tensors, grad = self._tensors()
        edge = self.kernel // 2
        numbers = (1, 1, edge, edge, 1, 1, 1, self.offset_groups, True)
        ops = torch.ops.torchvision
        calls: dict[str, Call] = {
            "forward": lambda: ops.deform_conv2d(*tensors, *numbers),
            "backward": lambda: ops._deform_conv2d_backward(grad, *tensors, *numbers),
        }
        return {key: dict.fromkeys(in_torch.KERNELS, call) for key, call in calls.items()}


_P2, _P3 = (1, 256, 200, 272), (2, 256, 100, 136)
_PYRAMID = ((100, 134), (50, 67), (25, 34), (13, 17))  # of 800 x 1066 pixels
_SQUARES = ((64, 64), (32, 32), (16, 16), (8, 8))  # of 512 x 512
CASES: tuple[Attention | Regions | Convolution, ...] = (
    Attention("decoder", 1, _PYRAMID, 300, 4),
    Attention("encoder", 1, _SQUARES, 5440, 4),
    Attention("six_cameras", 6, ((15, 25),), 600, 8),
    Attention("decoder_one_query", 1, _PYRAMID, 1, 4),
    Attention("few_keys_one_query", 1, ((8, 8), (4, 4)), 1, 4),
    Regions("fpn_p3", _P3, 512, 7, 2),
    Regions("fpn_p3_channels_last", _P3, 512, 7, 2, channels_last=True),
    Regions("fpn_p2", _P2, 1000, 7, 0),
    Regions("fpn_p2_channels_last", _P2, 1000, 7, 0, channels_last=True),
    Regions("mask_head", (1, 256, 100, 136), 100, 14, 2),
    Regions("c4", (1, 1024, 50, 68), 128, 14, 0),
    Regions("one_roi", _P2, 1, 7, 2),
    Regions("one_roi_p4", (1, 256, 50, 68), 1, 7, 2),
    Regions("one_roi_small", (1, 16, 20, 20), 1, 7, 2),
    Regions("one_roi_one_channel", (1, 1, 8, 8), 1, 1, 1),
    Convolution("conv_128", (1, 128, 100, 136), 128),
    Convolution("conv_512", (1, 512, 25, 34), 512),
    Convolution("conv_video", (4, 64, 64, 64), 64, offset_groups=8),
    Convolution("conv_small", (1, 8, 8, 8), 8),
    Convolution("conv_one_pixel", (1, 1, 3, 3), 1, kernel=1),
)


@torch.no_grad()
def run(options: Any, threads: int) -> list[Record]:
    torch.set_num_threads(threads)
    protocol = Protocol(repeat=options.repeat, limit=options.max_seconds, clock=options.clock)
    records = []
    for case in CASES:
        if not re.search(options.filter or "", f"{case.name} detection {case.label}"):
            continue
        for direction, calls in case.calls().items():
            records.append(in_torch.record(case, direction, calls, threads, protocol))
            _compare(records[-1], calls)
            _progress(records[-1])
    return records


def _compare(record: Record, calls: dict[str, Call]) -> None:
    """Stops if the peers' numbers differ by more than another order of sums explains."""
    found_by = []
    for name, switch in in_torch.KERNELS.items():
        switch()
        found = calls[name]()
        found_by.append([found] if isinstance(found, torch.Tensor) else list(found))
    in_torch.KERNELS["torch"]()
    for theirs, ours in zip(*found_by):
        worst = float((theirs - ours).abs().max() / theirs.abs().max().clamp_min(1e-30))
        assert worst < 1e-3, f"{record['case']['name']}: results differ by {worst:.1e}"


def _progress(record: Record) -> None:
    ratio = results.ratio(record, "torch")
    print(f"  {record['case']['name']}: {ratio:.2f}", file=sys.stderr, flush=True)
