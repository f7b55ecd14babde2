"""The cases of suite `resize`: `resizing` in shapes.json, and affine grids."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import torch

from .cases import SHAPES_FILE

Record = dict[str, Any]


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
    """The cases with a match of the regular expression in name, mode, group or dtype."""
    text = "{0.name} resize {0.mode} {0.group} {0.dtype}".format
    return [case for case in CASES if re.search(pattern or "", text(case))]
