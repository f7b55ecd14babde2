"""Input tensors of a case, the same for every peer, and poisoned outputs."""

from __future__ import annotations

import dataclasses
import math
import zlib

import torch

from .cases import Case

DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float64": torch.float64,
}
# Coordinates keep this distance (pixels) from the places where a result jumps. So two correct
# implementations still agree if their coordinates differ in the last bit.
KINK_MARGIN = 4e-3


@dataclasses.dataclass
class Problem:
    """A case with its inputs. Outputs are made by each peer."""

    case: Case
    grad_output: torch.Tensor
    input: torch.Tensor | None = None
    grid: torch.Tensor | None = None

    def empty_outputs(self) -> list[torch.Tensor | None]:
        """[gradInput], or [inputGrad, gridGrad] with None if the mask leaves one out."""
        case = self.case
        layout = _memory_format(case)
        first = torch.empty(case.input, dtype=DTYPES[case.dtype], memory_format=layout)
        if not case.is_grid:
            return [first]
        second = torch.empty(case.grid_shape, dtype=DTYPES[case.dtype])
        return [first if case.mask[0] else None, second if case.mask[1] else None]


def make(case: Case) -> Problem:
    generator = torch.Generator().manual_seed(zlib.crc32(case.name.encode()))

    def uniform(shape: tuple[int, ...]) -> torch.Tensor:
        values = torch.empty(shape, dtype=torch.float32).uniform_(-1, 1, generator=generator)
        return values.to(DTYPES[case.dtype]).contiguous(memory_format=_memory_format(case))

    problem = Problem(case, uniform(case.grad_output_shape))
    if case.is_grid:
        *outer, columns = case.input
        problem.input = uniform((*outer, columns * case.column_step))[..., :: case.column_step]
        problem.grid = _grid(case, generator).to(DTYPES[case.dtype]).contiguous()
    return problem


def _memory_format(case: Case) -> torch.memory_format:
    if case.memory_format != "channels_last":
        return torch.contiguous_format
    return torch.channels_last_3d if len(case.input) == 5 else torch.channels_last


def _grid(case: Case, generator: torch.Generator) -> torch.Tensor:
    extents = torch.tensor(case.input[:1:-1], dtype=torch.float32)
    if case.grid == "smooth":
        grid = _smooth(*case.grid_shape[:-1])
    else:
        grid = torch.empty(case.grid_shape, dtype=torch.float32)
        grid.uniform_(-1, 1, generator=generator)
        if case.grid == "onecell":
            pixel = (extents / 2).floor() + 0.5 + 0.4 * grid
            grid = (2 * pixel + 1) / extents - 1
    return _away_from_kinks(grid, extents, case.align_corners)


def _smooth(n: int, *points: int) -> torch.Tensor:
    """Turned about the z axis of volumes; the planes are then shifted a little."""
    *planes, oh, ow = points
    y = ((2 * torch.arange(oh) + 1) / oh - 1).view(1, oh, 1)
    x = ((2 * torch.arange(ow) + 1) / ow - 1).view(1, 1, ow)
    phase = torch.arange(n).view(n, 1, 1) * 0.7
    cos, sin = 1.02 * math.cos(0.05), 1.02 * math.sin(0.05)
    grid_x = cos * x - sin * y + 0.01 * torch.sin(5 * y + phase)
    grid_y = sin * x + cos * y + 0.01 * torch.sin(5 * x + phase)
    plane = torch.stack([grid_x, grid_y], dim=-1)
    if not planes:
        return plane
    z = ((2 * torch.arange(planes[0]) + 1) / planes[0] - 1).view(1, -1, 1, 1)
    grid_z = z + 0.01 * torch.sin(5 * x + phase).unsqueeze(1)
    shape = (n, *points)
    axes = [plane.unsqueeze(1)[..., 0], plane.unsqueeze(1)[..., 1], grid_z]
    return torch.stack([axis.expand(shape) for axis in axes], dim=-1)


def _away_from_kinks(
    grid: torch.Tensor, extents: torch.Tensor, align_corners: bool
) -> torch.Tensor:
    """Moves coordinates off multiples of half a pixel."""
    per_pixel = 2 / (extents - 1 if align_corners else extents)
    origin = 0.0 if align_corners else 0.5
    pixel = (grid + 1) / per_pixel - origin
    distance = 2 * pixel - torch.round(2 * pixel)
    near = distance.abs() < 2 * KINK_MARGIN
    return torch.where(near, grid + 2 * KINK_MARGIN * per_pixel, grid)
