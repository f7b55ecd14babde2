"""Programs that know nothing of portacl: python -m portacl.torch, PORTACL_TORCH, profile()."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from child import output_of, run_python

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812

import portacl.torch as pt  # noqa: E402
from portacl.torch import _override, _profile  # noqa: E402

needs_kernels = pytest.mark.skipif(
    not hasattr(torch.library, "get_kernel"), reason="this PyTorch hands no kernels out"
)

PROGRAM = """
import sys, torch, torch.nn.functional as F
import multiprocessing

def is_on(forward=False):
    module = sys.modules.get("portacl.torch")
    return module is not None and module.is_enabled(forward)

def child(queue):
    queue.put((is_on(), is_on(True)))

if __name__ == "__main__":
    x = torch.rand(1, 2, 8, 8, requires_grad=True)
    F.interpolate(x, scale_factor=2, mode="nearest-exact").sum().backward()
    print(sys.argv[1:], __file__.endswith("train.py"), is_on(), is_on(True))
    for method in sys.argv[1:]:
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        print(method, *queue.get())
        process.join()
"""


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The entry point, as an installed package has it: build/python alone does not."""
    folder = tmp_path / "site" / "portacl-0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: portacl\nVersion: 0\n")
    (folder / "entry_points.txt").write_text("[torch.backends]\nportacl = portacl_autoload:load\n")
    import os

    path = os.pathsep.join([str(folder.parent), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)


@pytest.mark.parametrize("forward", [False, True])
def test_a_program_and_the_processes_it_starts(train, installed, forward):
    options = ["--forward"] if forward else []
    printed = output_of("-m", "portacl.torch", *options, train, "spawn", "forkserver")
    assert printed.splitlines() == [
        f"['spawn', 'forkserver'] True True {forward}",
        f"spawn True {forward}",
        f"forkserver True {forward}",
    ]


@pytest.mark.parametrize(
    ("value", "state"),
    [(None, "False False"), ("0", "False False"), ("1", "True False"), ("forward", "True True")],
)
def test_the_variable_alone(train, installed, value, state):
    settings = {} if value is None else {"PORTACL_TORCH": value}
    done = run_python(train, **settings)
    assert done.stdout.strip() == f"[] True {state}", done.stderr
    assert "Warning" not in done.stderr, done.stderr


@pytest.mark.parametrize("first", ["import portacl.torch", "import torch", "import portacl"])
def test_the_variable_in_every_order_of_imports(installed, first):
    program = f"{first}; import portacl.torch as pt; print(pt.is_enabled(), pt.is_enabled(True))"
    done = run_python("-c", program, PORTACL_TORCH="forward")
    assert (done.stdout, done.stderr) == ("True True\n", "")
    done = run_python("-c", program, PORTACL_TORCH="yes")
    assert done.stdout == "False False\n" and done.stderr.count("PORTACL_TORCH") == 1


@pytest.mark.parametrize("forward", [False, True])
def test_workers_of_a_program_that_imports_portacl_first(train, installed, forward):
    train.write_text("import portacl.torch\n" + train.read_text())
    options = ["--forward"] if forward else []
    printed = output_of("-m", "portacl.torch", *options, train, "spawn", "forkserver")
    assert printed.splitlines()[1:] == [f"spawn True {forward}", f"forkserver True {forward}"]


def test_a_value_that_means_nothing_is_named(train, installed):
    done = run_python(train, PORTACL_TORCH="yes")
    assert done.returncode == 0 and done.stdout.strip() == "[] True False False"
    assert "PORTACL_TORCH is 'yes', but must be 1, forward or 0" in done.stderr


def test_who_does_not_ask_pays_for_no_import(installed):
    program = (
        "import sys, torch; print('portacl' in sys.modules, 'portacl_autoload' in sys.modules)"
    )
    assert output_of("-c", program).split() == ["False", "True"]


def test_modules_and_exit_codes(tmp_path, monkeypatch):
    (tmp_path / "steps.py").write_text(
        "import sys, portacl.torch; print(__name__, sys.argv[1:], portacl.torch.is_enabled());"
        "sys.exit(3)"
    )
    monkeypatch.chdir(tmp_path)
    done = run_python("-m", "portacl.torch", "-m", "steps", "a", "--b")
    assert (done.stdout.strip(), done.returncode) == ("__main__ ['a', '--b'] True", 3)
    done = run_python("-m", "portacl.torch", "missing.py")
    assert done.returncode == 2 and "there is no file 'missing.py'" in done.stderr
    assert run_python("-m", "portacl.torch").returncode == 2
    done = run_python("-m", "portacl.torch", "--profile-json", "none/facts.json", "steps.py")
    assert done.returncode == 2 and "--profile-json 'none/facts.json'" in done.stderr


@pytest.mark.parametrize(
    ("own", "theirs"),
    [
        (["--forward", "--profile"], ["--profile", "--forward"]),
        (["--profile", "2", "--forward"], ["3"]),
        (["--profile=2", "--forward", "--profile-json", "facts.json"], ["-m", "x", "--check"]),
    ],
)
@pytest.mark.parametrize("program", [["steps.py"], ["-m", "steps"], ["-msteps"]])
def test_options_behind_the_program_are_its_own(tmp_path, monkeypatch, own, program, theirs):
    (tmp_path / "steps.py").write_text(
        "import sys, portacl.torch; print(sys.argv[1:], portacl.torch.is_enabled(forward=True))"
    )
    monkeypatch.chdir(tmp_path)
    done = run_python("-m", "portacl.torch", *own, *program, *theirs)
    assert done.stdout.strip() == f"{theirs} True", done.stderr
    assert "portacl took 0 of 0 calls" in done.stderr
    assert (tmp_path / "facts.json").exists() == ("--profile-json" in own)


def test_check_names_every_operator():
    printed = output_of("-m", "portacl.torch", "--check")
    for name, _ in _override.replaced_names():
        assert f"aten::{name} " in printed


@needs_kernels
def test_a_profiled_program(train, tmp_path):
    facts = tmp_path / "facts.json"
    done = run_python("-m", "portacl.torch", "--profile=1", "--profile-json", facts, train)
    assert done.returncode == 0, done.stderr
    assert "portacl took 1 of 2 calls; about " in done.stderr
    assert " of 0 s" not in done.stderr
    found = json.loads(Path(facts).read_text())
    rows = {row["operator"]: row for row in found["rows"]}
    assert found["seconds"] > rows["_upsample_nearest_exact2d_backward"]["seconds"]
    backward = rows["_upsample_nearest_exact2d_backward"]
    assert backward["taken"] and backward["calls"] == backward["compared_calls"] == 1
    assert backward["shapes"] == "1x2x16x16 -> 1x2x8x8" and backward["pytorch_seconds_per_call"] > 0
    assert rows["_upsample_nearest_exact2d"]["reason"] == "forward=True is not set"


def test_means_that_stand_side_by_side_are_of_the_same_calls():
    cold = _profile.Row("op", "4 -> 8", "float32", calls=20, seconds=20.0)
    assert cold.milliseconds == 1000
    cold.compared, cold.compared_seconds, cold.pytorch_seconds = 2, 0.002, 0.004
    line = _profile.Report(sample=10, rows={("op",): cold}).table().splitlines()[1]
    assert line.split()[-2:] == ["1.000", "2.000"] and cold.saved == pytest.approx(0.02)


def test_what_was_saved_is_set_against_the_time_without_portacl():
    row = _profile.Row("op", "4 -> 8", "float32", calls=10, seconds=0.1)
    row.compared, row.compared_seconds, row.pytorch_seconds = 10, 0.1, 1.6
    report = _profile.Report(sample=1, rows={("op",): row}, began=0.0, ended=2.2)
    assert report.closing_line().endswith("about 1.5 s saved: 0.6 s instead of about 2.1 s")


def test_check_ends_well_where_nobody_reads_on():
    program = (
        "import portacl.torch.__main__ as m, sys; sys.stdout.flush(); sys.exit(m.main(['--check']))"
    )
    done = subprocess.run(
        [
            "bash",
            "-c",
            '"$0" -c "$1" | head -n 0; echo "${PIPESTATUS[0]}"',
            sys.executable,
            program,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.strip(), done.stderr) == ("0", "")


@needs_kernels
def test_a_profile_that_fails_does_not_stay(monkeypatch):
    def fail(watched):
        raise MemoryError(watched)

    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(_profile._torchvision, "watch", fail)
            with pytest.raises(MemoryError), pt.profile():
                pass
    with pt.profile() as report:
        pass
    assert report.calls == 0


@needs_kernels
def test_profile_books_what_is_taken_and_what_is_not():
    x = torch.rand(1, 2, 8, 8, requires_grad=True)
    pictures = torch.randint(0, 255, (1, 3, 8, 8), dtype=torch.uint8)
    bad = torch.full((1, 4, 4, 2), torch.nan)
    try:
        pt.enable(forward=True)
        with pt.profile(sample=2) as report:
            for _ in range(4):
                F.interpolate(x, size=(5, 5), mode="nearest-exact").sum().backward()
            pt.enable()
            F.interpolate(pictures, size=(5, 5), mode="nearest-exact")
            pt.enable(forward=True)
            for _ in range(2):  # PyTorch's own would end the process
                F.grid_sample(x.detach(), bad, padding_mode="border", align_corners=False)
            pt.interpolate_nearest_exact(x.detach(), size=3)
            with pytest.raises(RuntimeError, match="do not nest"), pt.profile():
                pass
            so_far = report.seconds
            assert so_far > 0  # also for who asks inside the block
        assert report.seconds == report.seconds > so_far
        rows = {(row.operator, row.dtype): row for row in report.rows.values()}
        backward = rows["_upsample_nearest_exact2d_backward", "float32"]
        assert (backward.calls, backward.compared, backward.reason) == (4, 2, "")
        assert rows["_upsample_nearest_exact2d", "uint8"].reason == "forward=True is not set"
        sampler = rows["grid_sampler_2d", "float32"]
        assert (sampler.calls, sampler.compared) == (2, 0)
        assert rows["upsample_nearest_exact", "float32"].calls == 1
        assert (report.calls, report.taken) == (12, 11)
        assert report.closing_line().startswith("portacl took 11 of 12 calls; about ")
        assert "not taken: forward=True is not set" in report.table()
        with pt.profile() as silent:
            pass
        assert silent.calls == 0 and silent.closing_line().startswith("portacl took 0 of 0 calls")
        before = report.calls
        F.interpolate(x.detach(), size=(5, 5), mode="nearest-exact")
        assert report.calls == before
    finally:
        pt.disable()


@needs_kernels
def test_profile_changes_no_bit_and_says_what_is_not_enabled():
    x = torch.rand(1, 2, 8, 8, requires_grad=True)

    def gradient():
        y = F.interpolate(x, size=(5, 5), mode="nearest-exact")
        return torch.autograd.grad((y * y).sum(), x)[0]

    want = gradient()
    with pt.profile() as report:
        got = gradient()
    assert torch.equal(got, want) and report.taken == 0
    reasons = {row.operator: row.reason for row in report.rows.values()}
    assert reasons["_upsample_nearest_exact2d_backward"] == "not enabled"
    with pytest.raises(ValueError, match="sample is -1"), pt.profile(sample=-1):
        pass


@needs_kernels
def test_the_profiler_of_pytorch_shows_the_calls():
    x = torch.rand(1, 2, 8, 8, requires_grad=True)
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with pt.accelerated(), pt.profile(), torch.profiler.profile(activities=cpu) as profiler:
        F.interpolate(x, size=(5, 5), mode="nearest-exact").sum().backward()
    names = {event.name for event in profiler.events()}
    assert "portacl::_upsample_nearest_exact2d_backward" in names


def test_the_snippets_of_the_tutorial_run():
    """Each by itself, as a reader would try it."""
    page = Path(__file__).resolve().parents[2] / "docs/tutorials/pytorch.md"
    if not page.is_file():
        pytest.skip("away from the source tree")
    import re

    for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        output_of("-c", block)
