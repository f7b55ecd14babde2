"""The C++ part: the one that comes with the package, or one built for the PyTorch of this process.

Kernels over all operators need PyTorch's C++ interface, which changes with each release. A build
lies in the user's cache (``PORTACL_CACHE``, else ``$XDG_CACHE_HOME/portacl``, else
``~/.cache/portacl``); deleting it does no harm.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_OLDEST = (2, 7)
_COMPILERS = ("c++", "g++", "clang++")


class BuildError(RuntimeError):
    """The C++ part cannot be had; the message says what would help."""


def _sources() -> list[Path]:
    return sorted((_HERE / "cpp").glob("*.cc"))


def _version() -> str:
    import torch

    return str(torch.__version__).split("+")[0]


def file_name() -> str:
    """Name of the build for this PyTorch: its version, and a digest of the sources."""
    import torch

    digest = hashlib.sha256()
    for path in sorted((_HERE / "cpp").iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    abi = "" if torch.compiled_with_cxx11_abi() else "-oldabi"
    return f"portacl_npu-torch{_version()}{abi}-{digest.hexdigest()[:12]}.so"


def _cache() -> Path:
    base = os.environ.get("PORTACL_CACHE")
    if base:
        return Path(base) / "npu"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "portacl" / "npu"


def library() -> Path:
    """Return the file, built if need be. Several processes may ask at the same time."""
    name = file_name()
    for folder in (_HERE / "prebuilt", _cache()):
        if (folder / name).exists():
            return folder / name
    folder = _cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lock").touch()
    except OSError as error:
        raise BuildError(f"cannot write {folder}: {error}; PORTACL_CACHE names another") from None
    with open(folder / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / name).exists():
            build(folder / name)
    return folder / name


def _compiler() -> list[str]:
    wanted = os.environ.get("CXX")
    if wanted:
        return shlex.split(wanted)
    for each in _COMPILERS:
        if shutil.which(each):
            return [each]
    raise BuildError(
        f"no C++ compiler (Debian: g++; CXX names another), which builds the part for PyTorch "
        f"{_version()} once"
    )


def command(output: Path, source: Path) -> list[str]:
    """Return the command that compiles ``source`` into ``output`` for this process's PyTorch."""
    import torch

    root = Path(torch.__file__).resolve().parent
    return [
        *_compiler(),
        "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-w",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        f"-I{_HERE / 'cpp'}",
        "-isystem", str(root / "include"),
        str(source),
        "-o", str(output), f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10",
    ]  # fmt: skip


def build(target: Path) -> None:
    """Build the part, all files as one: PyTorch's headers take most of the time."""
    if tuple(map(int, _version().split(".")[:2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise BuildError(f"PyTorch {_version()} is too old: {oldest} and newer will do")
    print(
        f"portacl_npu: building for PyTorch {_version()}, once (half a minute): {target}",
        file=sys.stderr,
        flush=True,
    )
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        whole, output = Path(scratch) / "all.cc", Path(scratch) / "all.so"
        whole.write_text("".join(f'#include "{path.name}"\n' for path in _sources()))
        done = subprocess.run(command(output, whole), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            (target.parent / "build.log").write_text(done.stdout + done.stderr)
            raise BuildError(
                f"the part does not compile against PyTorch {_version()} "
                f"({target.parent / 'build.log'}); known to do: 2.7 to 2.9"
            )
        output.chmod(0o755)
        output.replace(target)
