"""The headers, libraries and names with which aclnn programs are compiled and run.

The package holds the library once, under the name that programs load, because wheels hold no
symbolic links. Programs link other names, such as ``libascendcl.so``. These are symbolic links to
that one file, in a folder of the user's cache, so a process never gets a second copy.
``sdk/vendor_tree.txt`` is the list of all links, which the build wrote: ``PATH=TARGET`` lines.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_LIBRARY = "libportacl.so.0"


def _cache_root() -> Path:
    base = os.environ.get("PORTACL_CACHE")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "portacl"


def _link(target: Path, name: Path) -> None:
    """Make or correct one symbolic link; other processes may do the same at the same time."""
    if name.is_symlink() and Path(os.readlink(name)) == target:
        return
    with tempfile.TemporaryDirectory(dir=name.parent) as scratch:
        fresh = Path(scratch) / "link"
        fresh.symlink_to(target)
        fresh.replace(name)


def sdk_path() -> Path:
    """Make the folder that programs use as ``ASCEND_HOME_PATH``, and return it.

    It holds links to this package's ``include``, ``lib64``, ``bin`` and ``set_env.sh``, and the
    folders and files of the vendor's toolkit that programs look for. CMake's
    ``find_package(portacl)`` and pkg-config find the package there.
    It lies in ``PORTACL_CACHE``, else in ``$XDG_CACHE_HOME/portacl``, else in
    ``~/.cache/portacl``; deleting it does no harm.

    Raises:
        OSError: the folder cannot be written.
        FileNotFoundError: this copy of the package has no libraries of its own.

    """
    files = _PACKAGE / "sdk"
    if not (files / "lib64" / _LIBRARY).exists():
        raise FileNotFoundError(f"{files / 'lib64' / _LIBRARY}: this copy of portacl holds no SDK")
    # The same relative places as in site-packages: the library finds other libraries
    # (../../../portacl.libs and torch) relative to the path by which it was loaded.
    key = hashlib.sha256(str(_PACKAGE).encode()).hexdigest()[:10]
    root = _cache_root() / "sdk" / key
    home = root / "portacl" / "sdk"
    libraries = home / "lib64"
    libraries.mkdir(parents=True, exist_ok=True)
    for name in (_LIBRARY, "libportacl.so"):
        _link(files / "lib64" / _LIBRARY, libraries / name)
    for folder in ("opp", "toolkit"):
        (home / folder).mkdir(exist_ok=True)
    for line in (files / "vendor_tree.txt").read_text("utf-8").splitlines():
        path, _, target = line.partition("=")
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        _link(Path(target), home / path)
    for info in (files / "version.cfg", *files.rglob("*.info")):
        (home / info.relative_to(files)).parent.mkdir(exist_ok=True)
        _link(info, home / info.relative_to(files))
    for entry in ("include", "bin", "share"):
        _link(files / entry, home / entry)
    # A folder, not a link to one: the .pc file finds the libraries by its own place.
    (libraries / "pkgconfig").mkdir(exist_ok=True)
    _link(files / "lib64" / "pkgconfig" / "portacl.pc", libraries / "pkgconfig" / "portacl.pc")
    _link(files / "set_env.sh", home / "set_env.sh")
    _link(files / "lib64" / "portacl_aten", libraries / "portacl_aten")
    for beside in ("portacl.libs", "torch"):  # PyTorch: for functions of docs/aten.md
        _link(_PACKAGE.parent / beside, root / beside)
    return home
