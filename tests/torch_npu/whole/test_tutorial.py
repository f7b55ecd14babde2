"""The programs of docs/tutorials/torch_npu.md, as the page has them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from child import run_python

PAGE = Path(__file__).resolve().parents[3] / "docs/tutorials/torch_npu.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
PYTHON = [text for kind, text in BLOCKS if kind == "python"]
START = "import torch, torch_npu\nimport torch.nn.functional as F\n"


def block(word):
    (text,) = [each for each in PYTHON if word in each]
    return text


def test_train_py_runs_to_its_end(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(block("class SpatialTransformer"), encoding="utf-8")
    done = run_python("-c", f"import os; os.chdir({str(tmp_path)!r}); exec(open('train.py').read())")
    assert done.returncode == 0, done.stderr
    epochs = [line.split() for line in done.stdout.splitlines()]
    assert [epoch for epoch, _ in epochs] == ["0", "1", "2"]
    assert all(0 < float(loss) < 5 for _, loss in epochs)
    assert (tmp_path / "model.pt").stat().st_size > 10_000


@pytest.mark.parametrize("word", ["padding_mode=\"reflection\"", "npu_mhc_sinkhorn"])
def test_refused_calls_read_as_the_page_says(word):
    done = run_python("-c", START + block(word))
    assert done.returncode != 0
    said = BLOCKS[[text for _, text in BLOCKS].index(block(word)) + 1][1]
    assert said.splitlines()[-1] in done.stderr


def test_the_actions_file_is_one():
    yaml = pytest.importorskip("yaml")
    (text,) = [text for kind, text in BLOCKS if kind == "yaml"]
    (job,) = yaml.safe_load(text)["jobs"].values()
    script = "\n".join(step.get("run", "") for step in job["steps"])
    install, run = script.split(". \"$(portacl sdk-path)/set_env.sh\"")
    versions = Path(__file__).resolve().parents[3] / "script/requirements/torch_npu-plugin.txt"
    assert re.search(r"^torch_npu==\S+$", versions.read_text(), re.M)[0] in install
    assert "python train.py" in run
    shell = shutil.which("bash")
    assert shell is None or run_python(
        "-c", f"import subprocess; subprocess.run([{shell!r}, '-n', '-c', {script!r}], check=True)"
    ).returncode == 0
