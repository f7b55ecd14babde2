"""The program ``portacl`` of the Python package: ``sdk-path``, and the native one's commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ._sdk import sdk_path

_USAGE = """\
usage: portacl sdk-path      print a folder usable as ASCEND_HOME_PATH (headers, libraries)
       portacl COMMAND ...   run a command of the native program; portacl --help lists them
"""


def main() -> int:
    """Run the command line; the native program takes this process's place."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["sdk-path"]:
        if len(arguments) > 1:
            sys.stderr.write(_USAGE)
            return 2
        print(sdk_path())
        return 0
    program = Path(__file__).resolve().parent / "sdk" / "bin" / "portacl"
    if not program.exists():
        sys.stderr.write(f"portacl: {program} is missing: this build has no native program\n")
        return 1
    if arguments in ([], ["-h"], ["--help"]):
        sys.stdout.write(_USAGE + "\n")
        sys.stdout.flush()
    os.execv(program, [str(program), *arguments])


if __name__ == "__main__":
    sys.exit(main())
