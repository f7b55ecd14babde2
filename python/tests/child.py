"""Python in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

PATIENCE = 600
"""Seconds for a child on the busiest machine; only one that hangs needs them."""


def run_python(*arguments, without=(), **environment):
    """Run Python with these arguments; ``without`` names variables that it must not inherit."""
    inherited = {name: value for name, value in os.environ.items() if name not in without}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def output_of(*arguments, **settings):
    """Do as :func:`run_python` does, where success is expected: what it printed."""
    done = run_python(*arguments, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout
