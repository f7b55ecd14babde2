"""`portacl sdk-path` and the program of the package."""

from __future__ import annotations

from pathlib import Path

import pytest

import portacl
from child import output_of, run_python

HAS_SDK = (Path(portacl.__file__).parent / "sdk" / "lib64" / "libportacl.so.0").exists()
pytestmark = pytest.mark.skipif(not HAS_SDK, reason="this copy of the package holds no SDK")


LOAD_ALL = """
import ctypes, pathlib, sys
for name in ("ascendcl", "nnopbase", "opapi", "acl_op_compiler", "portacl", "hccl", "c_sec"):
    ctypes.CDLL(f"{sys.argv[1]}/lib64/lib{name}.so")
lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
print(*{line.split()[-1] for line in lines if "libportacl" in line})
"""


def run(*arguments, **environment):
    return run_python("-m", "portacl", *arguments, **environment)


def test_sdk_path(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTACL_CACHE", str(tmp_path))
    home = portacl.sdk_path()
    assert home == portacl.sdk_path()  # a second call changes nothing
    assert (home / "include" / "acl" / "acl.h").is_file()
    assert (home / "set_env.sh").is_file()
    assert (home / "include" / "aclnnop" / "level2").is_dir()
    assert (home / "opp").is_dir()
    for part in ("runtime", "compiler", "acllib"):
        assert (home / part / "lib64" / "stub" / "libascendcl.so").exists()
        assert (home / part / "include" / "acl" / "acl.h").exists()
    for file in ("version.cfg", "runtime/version.info", "bin/setenv.bash"):
        assert (home / file).is_file()
    loaded = output_of("-c", LOAD_ALL, home, PORTACL_CACHE=str(tmp_path)).split()
    assert len(loaded) == 1, "the libraries of the SDK are one"


def test_the_library_finds_the_pytorch_of_the_environment(tmp_path, monkeypatch):
    # By its own place, as src/aten/library.cc looks: sources, and torch three folders above.
    monkeypatch.setenv("PORTACL_CACHE", str(tmp_path))
    libraries = portacl.sdk_path() / "lib64"
    assert (libraries / "portacl_aten" / "build.sh").is_file()
    installed = Path(portacl.__file__).parents[1] / "torch"
    assert (libraries / "../../../torch").resolve() == installed.resolve()


def test_build_systems_find_the_sdk(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTACL_CACHE", str(tmp_path))
    home = portacl.sdk_path()
    # Both files name their libraries by their own place: no link on the way to them may lead out.
    assert (home / "share" / "cmake" / "portacl" / "portaclConfig.cmake").is_file()
    pkgconfig = home / "lib64" / "pkgconfig"
    assert not pkgconfig.is_symlink() and (pkgconfig / "portacl.pc").is_file()
    assert (pkgconfig / "../../lib64/libportacl.so").exists()


def test_links_are_repaired(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTACL_CACHE", str(tmp_path))
    library = portacl.sdk_path() / "lib64" / "libopapi.so"
    library.unlink()
    library.symlink_to("/nowhere")
    portacl.sdk_path()
    assert library.exists()


def test_program(tmp_path):
    done = run("sdk-path", PORTACL_CACHE=str(tmp_path))
    assert done.returncode == 0 and Path(done.stdout.strip()).is_dir()
    assert run("sdk-path", "more").returncode == 2
    assert portacl.__version__ in run("--version").stdout
    assert "sdk-path" in run("--help").stdout
    unwritable = run("sdk-path", PORTACL_CACHE="/proc/none")
    assert unwritable.returncode != 0
