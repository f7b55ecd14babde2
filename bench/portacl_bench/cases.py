"""Cases of shapes.json and volumes.json, and the series of sizes of one case."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import re
from typing import Any

NEAREST = "upsample_nearest_exact_backward"
GRID = "grid_sampler_2d_backward"
GRID_3D = "grid_sampler_3d_backward"
ITEM_SIZE = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}
SHAPES_FILE = pathlib.Path(__file__).resolve().parent.parent / "shapes.json"
VOLUMES_FILE = SHAPES_FILE.with_name("volumes.json")


@dataclasses.dataclass(frozen=True)
class Case:
    """One problem: bench/README.md explains the fields.

    input is the shape of inputGrad (gradInput), output the spatial extents of gradOutput.
    """

    name: str
    operator: str
    group: str
    dtype: str
    input: tuple[int, ...]
    output: tuple[int, ...]
    memory_format: str = "contiguous"
    interpolation: str = "bilinear"
    padding: str = "zeros"
    align_corners: bool = False
    grid: str = "smooth"
    mask: tuple[bool, bool] = (True, True)
    column_step: int = 1  # of input

    @property
    def is_grid(self) -> bool:
        return self.operator in (GRID, GRID_3D)

    @property
    def item_size(self) -> int:
        return ITEM_SIZE[self.dtype]

    @property
    def grad_output_shape(self) -> tuple[int, ...]:
        return (*self.input[:2], *self.output)

    @property
    def grid_shape(self) -> tuple[int, ...]:
        return (self.input[0], *self.output, len(self.output))

    @property
    def elements(self) -> int:
        """Elements of the larger of gradOutput and inputGrad: the work grows with them."""
        return max(math.prod(self.input), math.prod(self.grad_output_shape))

    @property
    def written_bytes(self) -> int:
        if not self.is_grid:
            return math.prod(self.input) * self.item_size
        sizes = (math.prod(self.input), math.prod(self.grid_shape))
        return sum(s for s, wanted in zip(sizes, self.mask) if wanted) * self.item_size

    @property
    def read_bytes(self) -> int:
        read = math.prod(self.grad_output_shape)
        if self.is_grid:
            read += math.prod(self.grid_shape)
            read += math.prod(self.input) if self.mask[1] else 0
        return read * self.item_size

    @property
    def bytes(self) -> int:
        """Bytes of the tensors, each read or written once."""
        return self.read_bytes + self.written_bytes

    @property
    def footprint(self) -> int:
        """Bytes of all tensors of the call, for estimates of memory."""
        elements = math.prod(self.grad_output_shape) + math.prod(self.input)
        if self.is_grid:
            elements += math.prod(self.input) + 2 * math.prod(self.grid_shape)
        return elements * self.item_size

    def to_json(self) -> dict[str, Any]:
        fields = dataclasses.asdict(self)
        fields["class"] = fields.pop("group")
        return fields


def _from_row(row: dict[str, Any]) -> Case:
    """A row of a list; its field names follow the operator's parameters."""
    is_grid = row["operator"] in (GRID, GRID_3D)
    fields = {name: row[name] for name in _SAME if name in row}
    fields["mask"] = tuple(row.get("mask", (True, True)))
    fields["input"] = tuple(row["input" if is_grid else "grad_input"])
    fields["output"] = tuple(row["points" if is_grid else "grad_output"])
    fields["dtype"] = _DTYPE[row["dtype"]]
    case = Case(group="", **fields)
    return dataclasses.replace(case, group=_grid_group(case) if is_grid else _nearest_group(case))


_SAME = "name operator memory_format interpolation padding align_corners grid column_step".split()
_DTYPE = {"FLOAT": "float32", "FLOAT16": "float16", "BF16": "bfloat16", "DOUBLE": "float64"}


def _grid_group(case: Case) -> str:
    """The class of path and target that a case of the grid sampler belongs to."""
    if len(case.output) == 3:
        return "volumes"
    channels = case.input[1]
    if case.mask != (True, True):
        return "one gradient"
    if case.dtype != "float32":
        return case.dtype
    if case.interpolation != "bilinear":
        return case.interpolation
    if case.grid == "onecell":
        return "one cell"
    return f"C={channels}" if channels < 16 else f"{case.grid} C>=16"


def _nearest_group(case: Case) -> str:
    if len(case.output) == 3:
        return "volumes"
    ratios = {o / i for o, i in zip(case.output, case.input[2:])}
    if case.item_size == 2:
        return "16-bit"
    if case.memory_format != "contiguous":
        return case.memory_format
    if len(case.output) == 1:
        return "1D"
    if any(r < 1 for r in ratios):
        return "downscale"
    return "integer ratio" if all(r == int(r) for r in ratios) else "general ratio"


def load(pattern: str | None, path: pathlib.Path = SHAPES_FILE) -> list[Case]:
    """The cases with a match of the regular expression in name, operator, class or dtype."""
    cases = [_from_row(row) for row in json.loads(path.read_text())["shapes"]]
    if pattern is None:
        return cases
    return [c for c in cases if re.search(pattern, f"{c.name} {c.operator} {c.group} {c.dtype}")]


# Chosen so that --quick shows every class of path in about a minute.
QUICK = frozenset(
    """
    flow_warp_border depth_warp_border features_128_smooth features_128_random point_mask
    detr_decoder bicubic_features_zeros one_cell features_bf16 decoder_x2 decoder_x2_bf16
    decoder_x2_channels_last pyramid_25x42 ratio_700x900 down_to_6x6 waveform_x256
    """.split()
)


def quick(cases: list[Case]) -> list[Case]:
    return [c for c in cases if c.name in QUICK]


@dataclasses.dataclass(frozen=True)
class Series:
    """One case in growing sizes: images, or rows and columns, are multiplied."""

    name: str
    case: Case
    grow: str  # "N" or "HW"

    def at(self, elements: float) -> Case:
        """The case with about `elements` elements of its larger tensor."""
        factor = elements / self.case.elements
        n, c, h, w = self.case.input
        oh, ow = self.case.output
        if self.grow == "N":
            n = max(1, round(n * factor))
        else:
            side = math.sqrt(factor)
            up_h, up_w = oh // h, ow // w  # keeps the ratio of the two an integer
            h, w = max(2, round(h * side)), max(2, round(w * side))
            oh, ow = h * up_h, w * up_w
        name = f"{self.name}_{elements:.0e}"
        return dataclasses.replace(self.case, name=name, input=(n, c, h, w), output=(oh, ow))


def series() -> list[Series]:
    def grid(name: str, c: int, kind: str, grow: str) -> Series:
        case = Case(name, GRID, "size", "float32", (1, c, 40, 40), (40, 40), grid=kind)
        return Series(name, case, grow)

    def nearest(name: str, grow: str) -> Series:
        case = Case(name, NEAREST, "size", "float32", (1, 64, 20, 20), (40, 40))
        return Series(name, case, grow)

    return [
        nearest("nearest x2, larger images", "HW"),
        nearest("nearest x2, more images", "N"),
        grid("grid C=64 smooth, larger images", 64, "smooth", "HW"),
        grid("grid C=64 smooth, more images", 64, "smooth", "N"),
        grid("grid C=64 random, larger images", 64, "random", "HW"),
        grid("grid C=3 smooth, larger images", 3, "smooth", "HW"),
    ]
