"""Small models of torchvision, transformers and accelerate: npu's losses are the CPU's."""

from __future__ import annotations

import importlib.util
import json
import pathlib

import pytest
from child import run_python

for package in ("torchvision", "transformers", "accelerate"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"no {package} in this environment", allow_module_level=True)

PROGRAM = pathlib.Path(__file__).with_name("libraries.py")
NAMES = ["resnet18", "mobilenet_v3_small", "gpt2", "llama", "bert"]
NAMES += ["accelerate, float32", "accelerate, bfloat16"]


@pytest.fixture(scope="module")
def both():
    found = []
    for device in ("npu", "cpu"):
        # Dropout by the CPU's generator, and nothing of the plugin in the CPU's run.
        off = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"} if device == "cpu" else {}
        done = run_python(PROGRAM, device, "all", PORTACL_NPU_RANDOM="cpu", **off)
        lines = [line[8:] for line in done.stdout.splitlines() if line.startswith("NUMBERS ")]
        assert lines, done.stderr
        found.append(dict(map(json.loads, lines)))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_numbers_equal_the_cpus(both, name):
    ours, expected = both[0][name], both[1][name]
    assert isinstance(ours, list) and isinstance(expected, list), (ours, expected)
    assert ours == pytest.approx(expected, rel=2e-2 if "bfloat16" in name else 2e-4)
