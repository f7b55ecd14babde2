"""The measuring programs run, and their plots are there."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from child import output_of, run_python

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
        "compare.py", "--filter", "^(only_grid_grad|pyramid_25x42) ", "--repeat", 2,
        "--threads", 1, "--clock", "cpu", "--plots", tmp_path, "--peers", "portacl", "torch",
    )  # fmt: skip
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn >= {"perf-ratio-grid.png", "perf-ratio-nearest.png"}


def test_the_package_is_found(monkeypatch, tmp_path):
    """bench/compare.py --suite torch without PYTHONPATH, and without a build."""
    monkeypatch.syspath_prepend(ROOT / "bench")
    import compare

    find = importlib.util.find_spec
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    compare._find_own_package()
    assert os.environ["PYTHONPATH"] == "/elsewhere"  # this process has it
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "portacl" else find(name)
    )
    monkeypatch.setattr(compare, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="portacl is missing: run script/test"):
        compare._find_own_package()
    package = tmp_path / "build" / "python" / "portacl"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    compare._find_own_package()
    assert os.environ["PYTHONPATH"] == f"{package.parent}{os.pathsep}/elsewhere"


@pytest.mark.skipif(not (ROOT / "build" / "python").is_dir(), reason="no build/python")
def test_beside_busy_processes(tmp_path):
    """They are there while it measures, and gone afterwards."""
    file = tmp_path / "busy.json"
    text = run(
        "compare.py", "--suite", "busy", "--filter", "^map_c1 ", "--threads", 2,
        "--max-seconds", 0.1, "--json", file,
    )  # fmt: skip
    records = json.loads(file.read_text())["busy"]
    assert [r["neighbours"] for r in records] == ["none", "one", "one at nice 19", "one per CPU"]
    for record in records:
        assert record["peers"]["portacl"]["mean"] > 0
        assert f"beside {record['neighbours']}, T2: geometric mean" in text
    burning = subprocess.run(["pgrep", "-f", "x \\* 1.0000001"], check=False, capture_output=True)
    assert burning.stdout == b""


@pytest.mark.skipif(not (ROOT / "build" / "python").is_dir(), reason="no build/python")
def test_inside_pytorch(tmp_path):
    """Images and volumes, with no path to the package from outside."""
    file = tmp_path / "inside.json"
    done = run_python(
        ROOT / "bench" / "compare.py", "--suite", "torch", "--clock", "cpu",
        "--filter", "^only_grid_grad |^brain_half_grid .* volumes ",
        "--threads", 1, "--repeat", 1, "--max-seconds", 0.1, "--json", file,
        without=("PYTHONPATH",),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    records = json.loads(file.read_text())["torch"]
    names = [r["case"]["name"] for r in records]
    assert names == ["only_grid_grad backward", "brain_half_grid backward"]
    assert all(set(r["peers"]) == {"torch", "portacl"} for r in records)
    assert "CPU time instead of elapsed time" in done.stdout


def sleeping_step():
    """Make a step that waits for longer than it computes."""
    return lambda: time.sleep(0.05)


@pytest.mark.skipif(not (ROOT / "build" / "python").is_dir(), reason="no build/python")
@pytest.mark.parametrize(
    ("suite", "filter_"), [("in_torch", "^only_grid_grad "), ("resize", "^small "), ("steps", "")]
)
def test_waiting_takes_no_cpu_time(monkeypatch, suite, filter_):
    """Suites that measure inside PyTorch, with --clock cpu."""
    import torch

    monkeypatch.syspath_prepend(ROOT / "bench")
    module = importlib.import_module(f"portacl_bench.{suite}")
    if suite == "steps":
        monkeypatch.setattr(module, "STEPS", [sleeping_step])
    else:
        monkeypatch.setattr(module, "calls", lambda case: {"waiting": sleeping_step()})
    options = SimpleNamespace(filter=filter_, quick=False, repeat=1, max_seconds=1e-6, clock="cpu")
    (record,) = module.run(options, torch.get_num_threads())
    assert {"torch", "portacl"} <= set(record["peers"])
    for name, times in record["peers"].items():
        assert times["best"] < 0.025, name


@pytest.mark.parametrize("filter_", ["^decoder_x2_channels_last ", "^bev_points_channels_last "])
def test_new_outputs_are_only_allocated(monkeypatch, filter_):
    """Of channels_last results too: PyTorch's own calls copy none either."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    monkeypatch.syspath_prepend(ROOT / "bench")
    from portacl_bench import cases, data

    class Record(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            called.append(operator.name())
            return operator(*args, **(kwargs or {}))

    called = []
    (case,) = cases.load(filter_)
    with Record():
        first, *_ = data.Problem(case, torch.empty(0)).empty_outputs()
    assert set(called) <= {"aten::empty.memory_format"}
    assert first.is_contiguous(memory_format=torch.channels_last)


def test_guide_links_the_plot():
    guide = (ROOT / "docs" / "python.md").read_text()
    assert "](images/torch-calls.png)" in guide
    assert (ROOT / "docs" / "images" / "torch-calls.png").stat().st_size > 10_000


@pytest.mark.skipif(not LIBRARY.exists(), reason="no build in build/release")
def test_ablation(tmp_path):
    """A path is compared with the best of the others, and parts of a table are put together."""
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for threads, file in enumerate(files, start=1):
        text = run(
            "ablation.py", "--quick", "--filter", "^pyramid_25x42 ", "--impl", "avx2",
            "--threads", threads, "--json", file, "--rows",
        )  # fmt: skip
        assert f"| x2 | {threads} | 1 |" in text
    rows = json.loads(files[0].read_text())
    (row,) = (row for row in rows if row["name"] == "x2")
    assert (row["row"], row["path"]) == ("pyramid_25x42 backward", "x2")
    assert row["other"] != "x2" and all(seconds > 0 for seconds in row["seconds"])
    assert {row["path"] for row in rows} >= {"x2", "permute"}  # gradient and function
    text = run("ablation.py", "--from", *files)
    assert "| x2 | 1 | 1 |" in text and "| x2 | 2 | 1 |" in text
