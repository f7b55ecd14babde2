"""The native program of the package, which makes cases, golden results and verdicts."""

from __future__ import annotations

import subprocess
from pathlib import Path


def run(*arguments: str, failing: tuple[int, ...] = ()) -> tuple[int, str]:
    """Run ``portacl ARGUMENTS...``; return its exit code and standard output.

    Args:
        arguments: the words behind the program's name.
        failing: exit codes beside 0 that are answers.

    Raises:
        ValueError: exit code 2, an error that the user can put right; the message is the program's.
        RuntimeError: any other failure.

    """
    program = Path(__file__).resolve().parent.parent / "sdk" / "bin" / "portacl"
    if not program.exists():
        raise RuntimeError(f"{program} is missing: this build has no native program")
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    if done.returncode == 0 or done.returncode in failing:
        return done.returncode, done.stdout
    message = done.stderr.strip().removeprefix("portacl: ")
    if done.returncode == 2:
        raise ValueError(message)
    raise RuntimeError(message or f"portacl ended with status {done.returncode}")
