"""Every Python example runs and does what it says, and the package runs them by name."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from child import output_of, run_python

pytest.importorskip("torch")
pytest.importorskip("skimage")

COLIN = Path("/usr/share/mricron/templates/ch2bet.nii.gz")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name, *arguments, launcher=(), **environment):
    # One thread each: the pictures are small, and the tests share the machine.
    threads = {"OMP_NUM_THREADS": "1", "PORTACL_NUM_THREADS": "1"}
    text = output_of(*launcher, EXAMPLES / name, *arguments, **{**threads, **environment})
    # Older releases of PyTorch report their connections here, in any order.
    return "".join(line for line in text.splitlines(True) if not line.startswith("[Gloo]"))


def number(text, pattern):
    return float(re.search(pattern, text).group(1))


def by_name(*arguments):
    return run_python("-m", "portacl.examples", *arguments)


def test_by_name():
    listed = by_name("--help")
    assert listed.returncode == 0 and by_name().returncode == 2
    for program in EXAMPLES.glob("*.py"):
        assert re.search(rf"^  {program.stem} +\w.*\.$", listed.stdout, re.MULTILINE), program
    unknown = by_name("nothing")
    assert unknown.returncode == 2 and "reproducible_gradients" in unknown.stderr
    done = by_name("super_resolution", "--help")
    assert done.returncode == 0 and "--steps" in done.stdout


def test_needs():
    """What each example imports, and what the extras bring."""
    from portacl.examples.__main__ import _MODULES, _NEEDS

    optional = {"torch", "skimage", "matplotlib", "nilearn"}
    assert sorted(_NEEDS) == sorted(program.stem for program in EXAMPLES.glob("*.py"))
    for name, packages in _NEEDS.items():
        program = (EXAMPLES / f"{name}.py").read_text("utf-8")
        nodes = list(ast.walk(ast.parse(program)))
        imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        for node in nodes:
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
        imported |= set(re.findall(r'find_spec\("(\w+)"\)', program))
        modules = {module.partition(".")[0] for module in imported} & optional
        assert modules == {_MODULES.get(package, package) for package in packages}, name
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {
        extra: {wanted.partition(">")[0] for wanted in requirements}
        for extra, requirements in project["optional-dependencies"].items()
    }
    assert extras["volumes"] == set(_NEEDS["register_volumes"])
    others = [packages for name, packages in _NEEDS.items() if name != "register_volumes"]
    assert extras["examples"] == set().union(*others)


WITHOUT = """
import importlib.util, runpy, sys
hidden, find = sys.argv.pop(1), importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == hidden else find(name, *more)
runpy.run_module("portacl.examples", run_name="__main__", alter_sys=True)
"""


def test_what_is_missing_is_named():
    absent = run_python("-c", WITHOUT, "nilearn", "register_volumes", "--help")
    assert absent.returncode == 1
    assert "register_volumes needs torch, matplotlib, nilearn, Debian's mricron" in absent.stderr
    assert absent.stderr.endswith("missing: pip install nilearn\n")
    other = run_python("-c", WITHOUT, "skimage", "super_resolution", "--help")
    assert other.returncode == 1 and "pip install scikit-image\n" in other.stderr
    enough = run_python("-c", WITHOUT, "nilearn", "super_resolution", "--help")
    assert enough.returncode == 0, enough.stderr
    assert "nilearn" in by_name("--help").stdout


TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")


def test_train_stn_ddp():
    first = run("train_stn_ddp.py", "--check", "--epochs", 11, launcher=TORCHRUN)
    second = run("train_stn_ddp.py", "--check", "--epochs", 11, launcher=TORCHRUN)
    assert first == second  # the same losses and the same bits of all parameters
    assert number(first, r"one differ by (\S+)") < 1e-5
    assert number(first, r"epoch  10  loss (\S+)") < number(first, r"epoch   0  loss (\S+)") / 2


def test_train_stn_alone():
    assert "parameters" in run("train_stn_ddp.py", "--epochs", 1)


def test_register_photographs(tmp_path):
    picture = tmp_path / "registered.png"
    text = run("register_photographs.py", picture)
    assert number(text, r"after\s+(\S+)") < number(text, r"before (\S+)") / 4
    assert number(text, r"disparity (\S+) of") < 2
    assert picture.stat().st_size > 100_000


def test_register_volumes(tmp_path):
    if importlib.util.find_spec("nilearn") is None or not COLIN.exists():
        pytest.skip("the two volumes are not installed (script/setup --volumes)")
    picture = tmp_path / "registered.png"
    # It compares numbers of threads itself.
    arguments = (picture, "--steps", 20, 0, 0, "--timed-steps", 0)
    text = run("register_volumes.py", *arguments, PORTACL_NUM_THREADS="")
    assert number(text, r"after\s+(\S+)") < number(text, r"before (\S+)") * 0.75
    assert number(text, r"fold (\S+)%") == 0
    assert "1, 2 and 3 threads: same bits" in text
    assert picture.stat().st_size > 200_000


def test_sampling_points(tmp_path):
    picture = tmp_path / "points.png"
    text = run("sampling_points.py", picture)
    found = re.findall(r"^query \d: (\d+) pixels .*, (\d+) in the end$", text, re.MULTILINE)
    assert len(found) == 3
    for before, after in found:
        assert int(after) < int(before) / 2, text
    assert picture.stat().st_size > 100_000


def test_super_resolution(tmp_path):
    picture = tmp_path / "rebuilt.png"
    text = run("super_resolution.py", picture, "--steps", 60)
    assert number(text, r"rebuilt\s+(\S+) dB") > number(text, r"bicubic\s+(\S+) dB") + 4
    assert picture.stat().st_size > 50_000


def test_reproducible_gradients():
    text = run("reproducible_gradients.py")
    same = re.findall(r"^(\w+) +portacl (?:[0-9a-f]{8} +){4}the same bits$", text, re.MULTILINE)
    assert same == ["float32", "bfloat16"]
