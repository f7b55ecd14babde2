"""``python -m portacl_npu``: builds the C++ part for the installed PyTorch, and lists operators."""

from __future__ import annotations

import argparse
import sys


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m portacl_npu", description=__doc__)
    parser.add_argument(
        "--operators", action="store_true", help="list which operators are routed, and which not"
    )
    parser.add_argument(
        "--build", metavar="FOLDER", nargs="?", const="", help="build the C++ part, into FOLDER"
    )
    arguments = parser.parse_args()
    if arguments.build is None and not arguments.operators:
        parser.error("one of --operators and --build is wanted")
    if arguments.build is not None:
        from pathlib import Path

        from . import _build

        if arguments.build:
            target = Path(arguments.build) / _build.file_name()
            target.parent.mkdir(parents=True, exist_ok=True)
            _build.build(target)
        else:
            target = _build.library()
        print(target)
    if arguments.operators:
        import portacl_npu

        portacl_npu.autoload()
        if not portacl_npu.enabled():
            print("portacl_npu is not active: torch_npu does not run on portacl", file=sys.stderr)
            return 1
        for kind, names in portacl_npu.operators().items():
            for name in names:
                print(f"{kind:9} {name if '::' in name else 'aten::' + name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
