"""Tiny calls: the cost of a call beside the computing, for portacl and for PyTorch.

Loops in C++ (tiny_peer.cc), and PyTorch's call from Python as well, as most programs make it.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch

from . import data, timing
from .cases import GRID, NEAREST, Case
from .peers import Runner, Torch

BENCH = pathlib.Path(__file__).resolve().parent.parent
# Order as in tiny_peer.cc.
CALLS = [
    (NEAREST, "portacl two-phase + synchronise"),
    (NEAREST, "portacl plan + run"),
    (NEAREST, "portacl run of a plan"),
    (NEAREST, "torch"),
    (NEAREST, "torch out="),
    (GRID, "portacl two-phase + synchronise"),
    (GRID, "portacl plan + run"),
    (GRID, "portacl run of a plan"),
    (GRID, "torch"),
]
# The same tensors as in tiny_calls.h.
TINY = [
    Case("tiny nearest", NEAREST, "", "float32", (1, 2, 4, 4), (8, 8)),
    Case("tiny grid", GRID, "", "float32", (1, 2, 4, 4), (4, 4)),
]
BATCH = 2000


def run(lib: pathlib.Path, threads: int, protocol: timing.Protocol) -> list[dict[str, Any]]:
    """One record per operator; all calls interleaved."""
    function = _load(lib)

    def batch(index: int) -> None:
        if function(index, BATCH) != 0:
            raise RuntimeError(f"{CALLS[index]} failed")

    calls: list[tuple[str, str, Callable[[], None]]]
    calls = [(*call, functools.partial(batch, i)) for i, call in enumerate(CALLS)]
    calls += [(case.operator, "torch from Python", _python_batch(case)) for case in TINY]
    runners = [Runner(str(i), call[-1]) for i, call in enumerate(calls)]
    for runner in runners:
        runner.call()
    records: dict[str, dict[str, Any]] = {}
    for index, times in timing.measure(runners, protocol).items():
        operator, name, _ = calls[int(index)]
        record = records.setdefault(
            operator, {"operator": operator, "threads": threads, "peers": {}}
        )
        record["peers"][name] = {"best": times.best / BATCH, "median": times.median / BATCH}
    return list(records.values())


def _python_batch(case: Case) -> Callable[[], None]:
    call = Torch().prepare(data.make(case)).call

    def batch() -> None:
        for _ in range(BATCH):
            call()

    return batch


def _load(lib: pathlib.Path) -> Any:
    """Compiles tiny_peer.cc against this PyTorch and this libportacl, unless that is done."""
    sources = [BENCH / "tiny_peer.cc", BENCH / "tiny_calls.h"]
    key = hashlib.sha256(b"".join(s.read_bytes() for s in sources))
    key.update(f"{torch.__version__} {lib}".encode())
    cache = os.environ.get("PORTACL_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "portacl"
    )
    target = pathlib.Path(cache) / f"bench-tiny-{key.hexdigest()[:12]}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        print("compiling tiny_peer.cc against PyTorch (a minute)", file=sys.stderr)
        part = target.with_suffix(f".{os.getpid()}")
        subprocess.run(_command(sources[0], part, lib), check=True)
        part.rename(target)
    function = ctypes.CDLL(str(target)).portacl_tiny_run
    function.argtypes = [ctypes.c_int32, ctypes.c_int64]
    return function


def _command(source: pathlib.Path, target: pathlib.Path, lib: pathlib.Path) -> list[str]:
    root = pathlib.Path(torch.__file__).parent
    generated = lib.parent.parent / "generated" / "include"
    includes = [BENCH.parent / "include", generated, lib.parent.parent / "include", BENCH.parent]
    return [
        os.environ.get("CXX", "c++"),
        "-std=c++20", "-O2", "-shared", "-fPIC", "-fvisibility=hidden",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        *(f"-I{path}" for path in includes),
        "-isystem", str(root / "include"),
        str(source),
        "-o", str(target), f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10",
        str(lib), f"-Wl,-rpath,{root / 'lib'}:{lib.parent}",
    ]  # fmt: skip
