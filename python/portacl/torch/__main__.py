"""Run a PyTorch program, unchanged, on portacl's kernels.

    python -m portacl.torch [--forward] [--profile] train.py arguments...
    python -m portacl.torch [--forward] [--profile] -m package.module arguments...
    python -m portacl.torch --check

Processes that the program starts (spawned, by a fork server, by torchrun) use portacl's kernels
too, because PORTACL_TORCH is set for them.
"""

from __future__ import annotations

import argparse
import io
import os
import runpy
import sys
import types
from collections.abc import Sequence
from pathlib import Path

import torch

import portacl

from . import enable, profile, threads
from ._override import replaced


def _check(forward: bool) -> int:
    """Print the kernels that `enable()` replaces in this PyTorch."""
    pool = threads()
    rows = replaced()
    width = max(len(row.operator) for row in rows)
    lines = [
        f"portacl {portacl.__version__} under PyTorch {torch.__version__}",
        f"threads: {pool.count}, {pool.pool}",
        f"PORTACL_TORCH: {os.environ.get('PORTACL_TORCH') or 'not set'}",
        "",
        f"{'operator':{width}}  replaced by    called through",
    ]
    for row in rows:
        by = "enable()" if row.backward else "forward=True"
        lines.append(f"{row.operator:{width}}  {by:13}  {row.way}")
    if not forward:
        lines += [
            "",
            "Without --forward the functions stay PyTorch's; their gradients are portacl's.",
        ]
    try:
        print("\n".join(lines), flush=True)
    except BrokenPipeError:  # `| head` has read enough; Python's last flush goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _run_program(path: str, arguments: Sequence[str]) -> None:
    """Run like `python path arguments...`; the module `__main__` stays, for threads and pickles."""
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec")
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __cached__=None, __spec__=None, __builtins__=__builtins__)
    sys.argv[:] = [path, *arguments]
    sys.path[0] = str(Path(path).resolve().parent)
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _run_module(name: str, arguments: Sequence[str]) -> None:
    sys.argv[:] = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _own_arguments(arguments: Sequence[str]) -> int:
    """The number of arguments before the program's: up to its file, or to its module's name."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        name, following = arguments[at], arguments[at + 1 : at + 2]
        if name.startswith("-m"):
            return at + (2 if name == "-m" else 1)
        number = name == "--profile" and following and following[0].isdigit()
        at += 2 if number or name == "--profile-json" else 1
    return at


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m portacl.torch",
        usage="%(prog)s [options] (train.py | -m MODULE) [arguments of the program ...]",
        description="Run a PyTorch program, unchanged, on portacl's kernels.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--forward", action="store_true", help="replace the functions too, not only their gradients"
    )
    parser.add_argument(
        "--check", action="store_true", help="say what would be replaced in this PyTorch, and end"
    )
    parser.add_argument(
        "--profile",
        nargs="?",
        type=int,
        const=0,
        metavar="N",
        help="print a table of the calls at the end; with N, PyTorch's kernels compute every N-th "
        "call as well, to compare",
    )
    parser.add_argument("--profile-json", metavar="FILE", help="write the table as JSON as well")
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module, not a file")
    end = _own_arguments(arguments)
    chosen = parser.parse_args(arguments[:end])
    chosen.program = arguments[end:]
    if not (chosen.check or chosen.program or chosen.module):
        parser.error("a program is needed: train.py arguments..., or -m module arguments...")
    if chosen.program and not chosen.module and not Path(chosen.program[0]).is_file():
        parser.error(f"there is no file {chosen.program[0]!r}")
    if chosen.profile_json and not Path(chosen.profile_json).absolute().parent.is_dir():
        parser.error(f"there is no folder for --profile-json {chosen.profile_json!r}")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line's request."""
    chosen = _parse(sys.argv[1:] if arguments is None else arguments)
    if chosen.check:
        return _check(chosen.forward)
    os.environ["PORTACL_TORCH"] = "forward" if chosen.forward else "1"
    enable(forward=chosen.forward)

    def run() -> None:
        if chosen.module:
            _run_module(chosen.module, chosen.program)
        else:
            _run_program(chosen.program[0], chosen.program[1:])

    if chosen.profile is None and chosen.profile_json is None:
        run()
        return 0
    with profile(sample=chosen.profile or 0) as report:
        try:
            run()
        finally:
            print(f"\n{report.table()}", file=sys.stderr)
            if chosen.profile_json:
                Path(chosen.profile_json).write_text(report.json() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
