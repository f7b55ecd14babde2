"""portacl_npu where there is no torch_npu: light, harmless, whole, and compilable."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from child import output_of

ROOT = Path(__file__).resolve().parents[2]
portacl_npu = pytest.importorskip("portacl_npu")


def test_import_torch_may_call_it_in_every_program():
    program = """
import sys
import portacl_npu
assert not {"torch", "numpy", "portacl"} & set(sys.modules), "not light"
sys.modules["torch_npu"] = None  # as where it is not installed
portacl_npu.autoload()
assert not portacl_npu.enabled() and not portacl_npu.runs_on_portacl() and not portacl_npu.enable()
print("harmless", portacl_npu.operators())
"""
    assert output_of("-c", program).strip() == "harmless {}"


def test_it_is_installed_whole():
    installed = Path(portacl_npu.__file__).parent
    source = ROOT / "python/portacl_npu"
    if not source.is_dir():
        pytest.skip("no source tree")

    def files(folder):
        kinds = (".py", ".cc", ".h")
        return {path.relative_to(folder) for path in folder.rglob("*") if path.suffix in kinds}

    assert files(installed) == files(source)
    assert any(path.suffix == ".cc" for path in files(installed))


def test_the_wheel_has_it_and_its_entry_point():
    project = ROOT / "pyproject.toml"
    if not project.exists():
        pytest.skip("no source tree")
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    described = tomllib.loads(project.read_text())
    assert "python/portacl_npu" in described["tool"]["scikit-build"]["wheel"]["packages"]
    points = described["project"]["entry-points"]["torch.backends"]
    assert points["portacl_npu"] == "portacl_npu:autoload"


def test_the_part_compiles_against_this_pytorch(tmp_path):
    """Also one for which PyPI has no torch_npu that runs."""
    pytest.importorskip("torch")
    from portacl_npu import _build

    source = tmp_path / "all.cc"
    source.write_text("".join(f'#include "{path.name}"\n' for path in _build._sources()))
    done = subprocess.run(
        [*_build.command(tmp_path / "none.so", source), "-fsyntax-only"],
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_an_old_pytorch_and_no_compiler_are_named(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from portacl_npu import _build

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PORTACL_CACHE", str(tmp_path))
    with pytest.raises(_build.BuildError, match="no C\\+\\+ compiler"):
        _build.library()
    monkeypatch.setattr(_build, "_version", lambda: "2.6.1")
    with pytest.raises(_build.BuildError, match="2.6.1 is too old: 2.7"):
        _build.library()
