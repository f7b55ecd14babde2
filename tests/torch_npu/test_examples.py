"""The examples of examples/torch_npu as a user runs them: losses that equal the CPU's, pictures."""

from __future__ import annotations

import pathlib
import re

import pytest
from child import output_of

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/torch_npu"


def run(name: str, picture: pathlib.Path) -> str:
    output = output_of(EXAMPLES / name, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    return output


@pytest.mark.parametrize(
    ("name", "result", "good"),
    [
        ("register_photographs.py", r"median error of the disparity ([\d.]+)", lambda e: e < 2.5),
        ("super_resolution.py", r"rebuilt +([\d.]+) dB", lambda psnr: psnr > 33),
    ],
)
def test_an_example_trains_as_on_the_cpu(name, result, good, tmp_path):
    output = run(name, tmp_path / "picture.png")
    apart = float(re.search(r"npu against cpu: (\S+) apart", output)[1])
    assert apart <= 1e-6, output
    assert good(float(re.search(result, output)[1])), output


def test_the_whole_program_learns_where_to_look(tmp_path):
    output = run("spatial_transformer.py", tmp_path / "picture.png")
    # Roundings of two samplers, through max pooling and Adam: later steps are as far apart as any two machines'.
    assert float(re.search(r"npu against cpu: (\S+) apart", output)[1]) <= 1e-2, output
    assert float(re.search(r"right in the test ([\d.]+)", output)[1]) > 95, output
