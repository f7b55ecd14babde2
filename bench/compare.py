#!/usr/bin/env python3
"""Measures portacl side by side with PyTorch, oneDNN, JAX and a plain copy.

All peers run in one process, interleaved, on the same inputs and number of threads; results are
compared before they are timed. Each number of threads has a process of its own, because the peers
read it at their start. Needs PyTorch (script/setup --torch) and a build (script/build release).

  bench/compare.py --quick                            a few shapes of every class
  bench/compare.py --filter grid.*random --threads 1
  bench/compare.py --suite shapes sizes copy tiny --json r.json --markdown r.md --plots docs/images
  bench/compare.py --suite torch resize steps busy    inside PyTorch; needs the Python package too:
                                                      build/python (script/test) or an installed one
  bench/compare.py --from r.json --plots docs/images  draws again without measuring
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = (
    "portacl",
    "portacl-fresh",
    "portacl-plan",
    "torch",
    "torch-out",
    "onednn",
    "jax",
    "memcpy",
    "nt-copy",
    "memset",
    "nt-fill",
    "mix",
    "nt-mix",
)
DEFAULT_PEERS = [p for p in PEERS if p != "portacl-plan"]
QUICK_PEERS = [p for p in DEFAULT_PEERS if p != "jax"]
SUITES = {
    "shapes": "the list of bench/shapes.json",
    "sizes": "time per element from 1e5 to --max-elements elements",
    "copy": "copy and fill bandwidth against size",
    "tiny": "cost of a call (compiles a small library against PyTorch)",
    "torch": "operators called through PyTorch with and without portacl.torch.enable()",
    "steps": "whole training steps, likewise",
    "busy": "operators and a step likewise, beside busy processes",
    "resize": "F.interpolate's operators through PyTorch, likewise",
    "detection": "RoiAlign, deformable convolution and attention, beside torchvision and a formula",
}
# In a process of their own: no other peers, no settings of OpenMP.
INSIDE_PYTORCH = ("torch", "steps", "busy", "resize", "detection")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    what = "; ".join(f"{name}: {text}" for name, text in SUITES.items())
    add("--suite", nargs="+", choices=SUITES, default=["shapes"], help=f"{what} (shapes)")
    add("--filter", metavar="REGEX", help="only shapes with a match in name, operator, class or dtype")
    add("--threads", type=int, nargs="+", help="numbers of threads (1 and the CPUs)")
    add("--peers", nargs="+", choices=PEERS, metavar="PEER", help=f"of {', '.join(PEERS)}")
    add("--repeat", type=int, help="samples of each peer (9; 3 with --quick)")
    add("--max-seconds", type=float, default=4.0, help="per peer and shape, about (4)")
    add("--max-elements", type=float, default=1e9, help="end of the suite sizes (1e9)")
    add(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu: on a busy machine, one thread",
    )
    add("--flush", action="store_true", help="empty the caches before every call")
    add("--no-verify", action="store_true", help="do not compare results before timing")
    add("--quick", action="store_true", help="few shapes, few samples, no JAX")
    add("--lib", type=pathlib.Path, help="libportacl.so (build/release/lib/libportacl.so)")
    add("--impl", help="force a kernel family, as PORTACL_IMPL does: ref, avx2, avx512, ...")
    add("--json", type=pathlib.Path, metavar="FILE", help="write all samples")
    add("--markdown", type=pathlib.Path, metavar="FILE", help="write the tables (also printed)")
    add("--plots", type=pathlib.Path, metavar="DIR", help="write perf-*.png")
    add(
        "--from",
        type=pathlib.Path,
        nargs="+",
        dest="sources",
        metavar="JSON",
        help="do not measure",
    )
    add("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    _fill_in(options)
    return options


def _fill_in(options: argparse.Namespace) -> None:
    """Defaults that depend on other options or on the machine."""
    cpus = len(os.sched_getaffinity(0))
    options.threads = options.threads or sorted({1, cpus})
    options.peers = options.peers or (QUICK_PEERS if options.quick else DEFAULT_PEERS)
    options.repeat = options.repeat or (3 if options.quick else 9)
    options.lib = (options.lib or ROOT / "build" / "release" / "lib" / "libportacl.so").absolute()


def main() -> int:
    options = parse_arguments()
    if options.worker is not None:
        _measure_here(options)
        return 0
    _ensure_packages(measuring=not options.sources)
    from portacl_bench import cases, report, results  # noqa: PLC0415 (needs the packages)

    listed = {"shapes", "torch"} & set(options.suite)
    matching = cases.load(options.filter)
    if "torch" in options.suite:
        matching += cases.load(options.filter, cases.VOLUMES_FILE)
    if not options.sources and listed and not matching:
        print(
            f"bench/compare.py: --filter {options.filter} matches no name, operator, class or dtype "
            "in bench/shapes.json or volumes.json",
            file=sys.stderr,
        )
        return 2

    if not options.sources and set(INSIDE_PYTORCH) & set(options.suite):
        _find_own_package()
    if options.sources:
        result = results.merge([json.loads(path.read_text()) for path in options.sources])
    else:
        if not options.lib.exists() and not set(options.suite) <= set(INSIDE_PYTORCH):
            sys.exit(f"{options.lib} is missing: run script/build release, or give --lib")
        result = results.merge([_measure(options, threads) for threads in options.threads])
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    text = report.markdown(result)
    if options.markdown:
        options.markdown.write_text(text)
    print(text)
    if options.plots:
        from portacl_bench import plots  # noqa: PLC0415

        options.plots.mkdir(parents=True, exist_ok=True)
        for path in plots.draw(result, options.plots):
            print(f"wrote {path}", file=sys.stderr)
    return 0


def _find_own_package() -> None:
    """Puts build/python on the workers' path if the Python package portacl is not found yet."""
    if importlib.util.find_spec("portacl") is not None:
        return
    folder = ROOT / "build" / "python"
    if not (folder / "portacl" / "__init__.py").exists():
        sys.exit("the Python package portacl is missing: run script/test, which builds build/python")
    path = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(path)


def _measure(options: argparse.Namespace, threads: int) -> dict[str, Any]:
    """Runs this program again as workers: every peer starts with `threads` threads."""
    from portacl_bench import results  # noqa: PLC0415

    count = str(threads)
    chosen = {
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "PORTACL_NUM_THREADS": count,
        "NPROC": count,  # XLA's thread pool
        "JAX_PLATFORMS": "cpu",
    }
    default = {k: v for k, v in os.environ.items() if k not in chosen}
    print(f"{threads} thread(s)", file=sys.stderr)
    inside = [suite for suite in options.suite if suite in INSIDE_PYTORCH]
    others = [suite for suite in options.suite if suite not in INSIDE_PYTORCH]
    parts = [
        _run_worker(suites, count, environment)
        for suites, environment in ((others, {**default, **chosen}), (inside, default))
        if suites
    ]
    return results.merge(parts)


def _run_worker(suites: list[str], count: str, environment: dict[str, str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result.json"
        command = [sys.executable, *sys.argv, "--suite", *suites]
        command += ["--worker", count, "--json", str(path)]
        subprocess.run(command, env=environment, check=True)
        result: dict[str, Any] = json.loads(path.read_text())
        return result


def _measure_here(options: argparse.Namespace) -> None:
    from portacl_bench import worker  # noqa: PLC0415

    inside = set(options.suite) <= set(INSIDE_PYTORCH)
    result = (worker.run_inside if inside else worker.run)(options, options.worker)
    if options.impl:
        result["impl"] = options.impl
    options.json.write_text(json.dumps(result))


def _ensure_packages(measuring: bool) -> None:
    """Starts again in the environment of script/setup if the packages are missing here."""
    try:
        import matplotlib  # noqa: F401, PLC0415

        if measuring:
            import torch  # noqa: F401, PLC0415
        return
    except ImportError as error:
        missing = error.name
    setup = [str(ROOT / "script" / "setup"), "--print-torch-venv"]
    found = subprocess.run(setup, capture_output=True, text=True, check=False).stdout.strip()
    python = pathlib.Path(found) / "bin" / "python"
    if not python.exists() or sys.prefix == str(python.parent.parent):
        sys.exit(f"the Python package {missing} is missing: run script/setup --torch")
    os.execv(python, [str(python), *sys.argv])


if __name__ == "__main__":
    sys.exit(main())
