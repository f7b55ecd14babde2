"""Measures with one number of threads, in one process that holds all peers."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import torch

from . import cases, check, data, machine, native, peers, results, timing
from .peers import Runner

Record = dict[str, Any]
JSON_VERSION = 1


def build_peers(
    names: list[str], lib: native.Library, folder: pathlib.Path, threads: int
) -> tuple[list[peers.Peer], dict[str, str], dict[str, str]]:
    """The peers that are there, their versions, and why others are not."""
    found: list[peers.Peer] = []
    versions: dict[str, str] = {}
    missing: dict[str, str] = {}
    copier: peers.Copier | None = None
    for name in names:
        try:
            if name in peers.COPY_MODES or name in peers.MIX_MODES:
                copier = copier or peers.Copier(folder / "libportacl_bench_copy.so", threads)
                found.append(_MACHINE[name](copier, name))
            elif name == "onednn":
                onednn = peers.OneDnn(folder / "libportacl_bench_onednn.so")
                versions["oneDNN"] = onednn.version()
                found.append(onednn)
            elif name == "jax":
                found.append(peers.Jax())
                versions["JAX"] = __import__("jax").__version__
            else:
                found.append(_own_or_torch(name, lib))
        except (OSError, ImportError) as error:
            missing[name] = str(error)
    return found, versions, missing


_MACHINE: dict[str, Callable[[peers.Copier, str], peers.Peer]] = {
    **dict.fromkeys(("memcpy", "nt-copy"), peers.Copy),
    **dict.fromkeys(("memset", "nt-fill"), peers.Fill),
    **dict.fromkeys(("mix", "nt-mix"), peers.Mix),
}


def _own_or_torch(name: str, lib: native.Library) -> peers.Peer:
    own = {p.name: p for p in (peers.Portacl, peers.PortaclFresh, peers.PortaclPlan)}
    if name in own:
        return own[name](lib)
    return peers.Torch() if name == "torch" else peers.TorchOut()


@dataclasses.dataclass
class Session:
    """The peers with the protocol by which they are measured."""

    lib: native.Library
    threads: int
    peers: list[peers.Peer]
    protocol: timing.Protocol
    verify: bool

    def run(self, case: cases.Case) -> Record:
        problem = data.make(case)
        record: Record = {
            "case": case.to_json(),
            "threads": self.threads,
            "elements": case.elements,
            "bytes": case.bytes,
            "written_bytes": case.written_bytes,
            "load": machine.load(),
            "peers": {},
            "skipped": {},
        }
        runners = self._prepare(problem, record)
        expected = check.reference(problem) if self.verify else None
        good = [r for r in runners if self._verified(case, r, expected, record)]
        del expected
        for name, times in timing.measure(good, self.protocol).items():
            record["peers"][name].update(times.to_json())
        for runner in runners:
            runner.close()
        return record

    def _prepare(self, problem: data.Problem, record: Record) -> list[Runner]:
        runners = []
        for peer in self.peers:
            try:
                runner = peer.prepare(problem)
            except (peers.UnsupportedError, native.PortaclError) as reason:
                record["skipped"][peer.name] = str(reason)
                continue
            runners.append(runner)
        return runners

    def _verified(self, case: cases.Case, runner: Runner, expected: Any, record: Record) -> bool:
        """Calls the runner once and compares. A wrong result of portacl is not timed."""
        agrees = None
        if runner.outputs is None or expected is None:
            runner.call()
        else:
            own = runner.peer.startswith("portacl")
            agrees = check.compare(case, runner.outputs(), expected, exact=own)
        if agrees and agrees.startswith("differs") and runner.peer.startswith("portacl"):
            record["skipped"][runner.peer] = agrees
            print(f"WRONG RESULT {case.name} {runner.peer}: {agrees}", file=sys.stderr)
            return False
        record["peers"][runner.peer] = {**runner.details, "agrees": agrees}
        return True


def run(options: argparse.Namespace, threads: int) -> Record:
    """All suites that were asked for, with `threads` threads."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    lib = native.Library(options.lib, threads, options.impl)
    found, versions, missing = build_peers(options.peers, lib, options.lib.parent, threads)
    protocol = timing.Protocol(
        repeat=options.repeat,
        limit=options.max_seconds,
        flush=options.flush,
        clock=options.clock,
    )
    session = Session(lib, threads, found, protocol, not options.no_verify)
    result: Record = {
        "version": JSON_VERSION,
        "machine": machine.describe(),
        "versions": {"portacl": lib.version(), "PyTorch": torch.__version__, **versions},
        "portacl": lib.info(),
        "missing": missing,
        "protocol": dataclasses.asdict(protocol),
        "load_before": machine.load(),
    }
    suites = {"shapes": _shapes, "sizes": _sizes, "copy": _copy_curve, "tiny": _tiny}
    for suite in options.suite:
        result[suite] = suites[suite](session, options)
    result["load_after"] = machine.load()
    return result


def run_inside(options: argparse.Namespace, threads: int) -> Record:
    """The suites that measure PyTorch's own functions, with and without portacl's kernels."""
    import portacl  # noqa: PLC0415 (the Python package)

    from . import busy, detection, in_torch, resize, steps  # noqa: PLC0415

    result: Record = {
        "version": JSON_VERSION,
        "machine": machine.describe(),
        "versions": {"portacl": portacl.__version__, "PyTorch": torch.__version__},
        "portacl": portacl.info(),
        "protocol": dataclasses.asdict(timing.Protocol(repeat=options.repeat, clock=options.clock)),
        "load_before": machine.load(),
    }
    suites = {
        "torch": in_torch.run,
        "steps": steps.run,
        "busy": busy.run,
        "resize": resize.run,
        "detection": detection.run,
    }
    for suite in options.suite:
        result[suite] = suites[suite](options, threads)
    result["load_after"] = machine.load()
    return result


def _progress(text: str, record: Record) -> None:
    times = ", ".join(
        f"{name} {peer['median'] * 1e3:.3f}"
        for name, peer in record["peers"].items()
        if "median" in peer
    )
    print(f"  {text} T{record['threads']} [ms] {times}", file=sys.stderr, flush=True)


def _shapes(session: Session, options: argparse.Namespace) -> list[Record]:
    chosen = cases.load(options.filter)
    if options.quick and not options.filter:
        chosen = cases.quick(chosen)
    records = []
    for case in chosen:
        records.append(session.run(case))
        _progress(case.name, records[-1])
    return records


def _sizes(session: Session, options: argparse.Namespace) -> list[Record]:
    """Growing sizes, as far as the memory reaches (tensors, workspace and PyTorch's outputs).

    PyTorch is left out as soon as one call would take longer than --max-seconds.
    """
    records = []
    for series in cases.series():
        names = ["portacl", "torch"]
        for step in range(0, 9):
            elements = 10 ** (5 + step / 2)
            case = series.at(elements)
            if elements > options.max_elements or 3 * case.footprint > machine.available_memory():
                break
            chosen = [p for p in session.peers if p.name in names]
            small = dataclasses.replace(session, peers=chosen, verify=False)
            record = {"series": series.name, **small.run(case)}
            records.append(record)
            _progress(case.name, record)
            if (results.seconds(record, "torch") or 0) * 10**0.5 > options.max_seconds:
                names = ["portacl"]
    return records


def _copy_curve(session: Session, options: argparse.Namespace) -> list[Record]:
    """Copies and fills of 2 KiB to 1 GiB."""
    copier = peers.Copier(options.lib.parent / "libportacl_bench_copy.so", session.threads)
    records = []
    for step in range(11, 31):
        runners = [copier.runner(mode, 2**step) for mode in peers.COPY_MODES]
        for runner in runners:
            runner.call()
        times = timing.measure(runners, session.protocol)
        record = {
            "bytes": 2**step,
            "threads": session.threads,
            "peers": {mode: t.to_json() for mode, t in times.items()},
        }
        records.append(record)
    return records


def _tiny(session: Session, options: argparse.Namespace) -> list[Record]:
    from . import tiny  # noqa: PLC0415 (compiles a library)

    return tiny.run(options.lib, session.threads, session.protocol)
