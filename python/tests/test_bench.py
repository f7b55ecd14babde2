"""The measuring programs run, and their plots are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from child import output_of

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "release" / "lib" / "libportacl.so"


def run(name, *arguments):
    threads = {"OMP_NUM_THREADS": "1", "PORTACL_NUM_THREADS": "1"}
    return output_of(ROOT / "bench" / name, *arguments, **threads)


def test_torch_calls(tmp_path):
    file, plot = tmp_path / "calls.json", tmp_path / "calls.png"
    text = run("torch_calls.py", "--clock", "cpu", "--quick", "--json", file, "--plot", plot)
    assert "| pool |" in text and plot.stat().st_size > 10_000
    result = json.loads(file.read_text())
    assert len(result["calls"]) == 3
    for name, row in result["calls"].items():
        assert row["portacl"] > 0, name
    assert set(result["memory"]) == {"pool", "malloc", "fresh"}


@pytest.mark.skipif(not LIBRARY.exists(), reason="no build in build/release")
def test_speed_plot(tmp_path):
    """bench/compare.py --plots."""
    run(
        *("compare.py", "--filter", "^(only_grid_grad|pyramid_25x42) ", "--repeat", 2),
        *("--threads", 1, "--clock", "cpu", "--plots", tmp_path, "--peers", "portacl", "torch"),
    )
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn >= {"perf-ratio-grid.png", "perf-ratio-nearest.png"}


def test_guide_links_the_plot():
    guide = (ROOT / "docs" / "python.md").read_text()
    assert "](images/torch-calls.png)" in guide
    assert (ROOT / "docs" / "images" / "torch-calls.png").stat().st_size > 10_000
