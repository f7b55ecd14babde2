"""Runs a test suite that others wrote, each file in a process of its own, and counts.

    suite.py [--every N] [--least SHARE] [--results FILE] [--deselect TEXT]... [--disabled FILE]
             [--longest SECONDS] [--quick-starts] [--logs FOLDER] FILE...

Prints each test that fails, with the line that says why, and the counts of files and of tests.
``--disabled`` names the suite's own list of tests that are not run on hardware, in the form of
PyTorch's ``.pytorch-disabled-tests.json``: the counts without these are printed as well.
``--results`` keeps each file's results: a stopped run goes on where it was, with the same library
and package. Each process is a copy of one that has imported torch_npu and not used the device. If a
test ends its process, another process goes on with the file.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gc
import hashlib
import importlib
import json
import multiprocessing
import os
import pathlib
import signal
import sys
import tempfile
import time

import pytest

FOR_A_TEST = 120  # seconds of CPU time
MOST_RESTARTS = 20  # of a file, behind tests that ended its process
MOST_PROCESSES = 12  # that a file may have at a time: some start themselves again and again
MOST_MEMORY = 10 << 30  # bytes, of all of them
STARTED = "the process ended"  # what is noted of a test before it runs


class Outcomes:
    """Collects outcomes; ends tests that take too long."""

    def __init__(self, notes: str, deselected: list[str], done: set[str]) -> None:
        self.deselected = deselected
        self.done = done
        self.notes = os.open(notes, os.O_WRONLY | os.O_APPEND)

    def pytest_collection_modifyitems(self, items):
        """Leave tests out by parts of their names, and those that an earlier process ran."""
        items[:] = [
            i
            for i in items
            if i.nodeid not in self.done and not any(text in i.nodeid for text in self.deselected)
        ]

    def pytest_runtest_logstart(self, nodeid):
        """Write down which test would be the one that ended the process."""
        self.note(nodeid, "failed", STARTED)

    def pytest_runtest_logreport(self, report):
        """Note a test's call, or what kept it from being called."""
        if report.when != "call" and report.outcome == "passed":
            return
        self.note(report.nodeid, report.outcome, reason(report))

    def pytest_collectreport(self, report):
        """Note a file that cannot be read."""
        if report.outcome != "passed":
            self.note(report.nodeid, report.outcome, reason(report))

    def note(self, name: str, outcome: str, why: str) -> None:
        """Write it down at once: the process may end."""
        os.write(self.notes, json.dumps([name, outcome, why]).encode() + b"\n")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        """Run a test, but not for ever."""

        def end(*_):
            raise TimeoutError(f"more than {FOR_A_TEST} s of CPU time")

        signal.signal(signal.SIGPROF, end)
        signal.setitimer(signal.ITIMER_PROF, FOR_A_TEST)
        yield
        signal.setitimer(signal.ITIMER_PROF, 0)


def reason(report) -> str:
    """Return the line with the reason: the last exception's, or why a test was skipped."""
    if report.passed:
        return ""
    if report.skipped and isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])[:300]
    lines = str(report.longrepr).strip().splitlines()
    found = [line[2:].strip() for line in lines if line.startswith("E  ")]
    return (found or lines[-1:] or ["?"])[0][:300]


def start_quickly() -> None:
    """Have processes that tests spawn come from a server that has imported torch_npu.

    They see the environment as it is when the first of a file starts.
    """
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["torch.testing._internal.common_distributed", "torch_npu", "pytest"])
    multiprocessing.context._concrete_contexts["spawn"] = server  # what get_context("spawn") gives


def run_here(file: str, notes: str, deselected: list[str], done: set[str]) -> int:
    """In the copy: run one file in this folder, where its suite expects to be.

    Return pytest's code.
    """
    path = pathlib.Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    return pytest.main(
        ["-q", "-s", "--no-header", "-p", "no:cacheprovider", "--tb=short", "--no-summary",
         "-p", "no:warnings", "-p", "no:faulthandler",
         "-p", "no:unraisableexception", f"--rootdir={path.parent}", str(path)],
        plugins=[Outcomes(notes, deselected, done)],
    )  # fmt: skip


def run_file(
    file: str, deselected: list[str], longest: int, log: str
) -> dict[str, tuple[str, str]]:
    """Return outcomes and reasons by test."""
    found: dict[str, tuple[str, str]] = {}
    for _ in range(MOST_RESTARTS):
        ended_for, in_test = run_process(file, deselected, longest, found, log)
        if not ended_for:
            return found
        if in_test is None:
            break
        found[in_test] = ("failed", f"{STARTED}: {ended_for}")
    found["the file"] = ("failed", ended_for)
    return found


def run_process(
    file: str, deselected: list[str], longest: int, found: dict[str, tuple[str, str]], log: str
) -> tuple[str, str | None]:
    """Run the tests that are not in ``found`` and add them.

    Return why the process had to end, if it had to, and in which test.
    """
    with tempfile.NamedTemporaryFile() as notes:
        child = os.fork()
        if child == 0:
            code = 70
            with contextlib.suppress(BaseException):
                os.setpgrp()
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
                for stream in (1, 2):
                    os.dup2(output, stream)
                code = run_here(file, notes.name, deselected, set(found))
            os._exit(code)
        ended_for = wait_for(child, notes.name, longest)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what its tests started as well
        lines = [json.loads(line) for line in notes.read().splitlines()]
    found |= {name: (outcome, why) for name, outcome, why in lines}
    return ended_for, lines[-1][0] if lines and lines[-1][2] == STARTED else None


def wait_for(child: int, notes: str, longest: int) -> str:
    """Wait until the process ends, or end it. Return the reason of a failure."""
    end = time.monotonic() + longest
    look, size = 0.0, 0
    while not (done := os.waitpid(child, os.WNOHANG))[0]:
        why = f"more than {longest} s" if time.monotonic() > end else ""
        if time.monotonic() > look:
            why = why or too_much(child)
            look = time.monotonic() + 0.5
            if os.path.getsize(notes) != size:
                size, end = os.path.getsize(notes), time.monotonic() + longest
        if why:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return why
        time.sleep(0.02)
    code = os.waitstatus_to_exitcode(done[1])
    codes = pytest.ExitCode
    ran = code in (codes.OK, codes.TESTS_FAILED, codes.NO_TESTS_COLLECTED)
    return "" if ran else f"ended with {code}"


def too_much(group: int) -> str:
    """Return what a group of processes has too much of, or nothing."""
    processes, resident = 0, 0
    page = os.sysconf("SC_PAGE_SIZE")
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # one that has just ended
            if os.getpgid(int(path.name)) == group:
                processes += 1
                resident += int((path / "statm").read_text().split()[1]) * page
    if processes > MOST_PROCESSES:
        return f"more than {MOST_PROCESSES} processes at a time"
    return f"more than {MOST_MEMORY >> 30} GiB of memory" if resident > MOST_MEMORY else ""


def key_of_build() -> str:
    """Return the key of results: the library and the package of this process's environment."""
    home = pathlib.Path(os.environ["ASCEND_HOME_PATH"])
    digest = hashlib.sha256()
    for path in [home / "lib64" / "libportacl.so", *sorted((home / "python").rglob("*.[pch]*"))]:
        if path.is_file() and path.suffix in (".py", ".cc", ".h", ".so"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def earlier(path: str | None, key: str) -> dict[str, dict]:
    """Return the results that a stopped run left, by file."""
    if not path or not os.path.exists(path):
        return {}
    with open(path) as lines:
        found = [json.loads(line) for line in lines]
    return {each["file"]: each for each in found if each["key"] == key}


def disabled_tests(path: str | None) -> set[str]:
    """Return the tests that a list disables, as "Class::test". Its keys: "test (__main__.Class)"."""
    if path is None:
        return set()
    keys = [key.rstrip(")").split(" (__main__.") for key in json.loads(pathlib.Path(path).read_text())]
    return {f"{key[1]}::{key[0]}" for key in keys if len(key) == 2}


def summary(results: list[dict], disabled: set[str]) -> tuple[int, int]:
    """Print the counts; return how many tests pass, of how many."""
    counts = collections.Counter(o for each in results for o, _ in each["tests"].values())
    whole = sum(all(o != "failed" for o, _ in each["tests"].values()) for each in results)
    tests = counts["passed"] + counts["failed"]
    skips = collections.Counter(
        why for each in results for o, why in each["tests"].values() if o == "skipped"
    )
    for why, count in skips.most_common(20):
        print(f"skipped {count}: {why}")
    print(f"\n{whole} of {len(results)} files without a failure; {counts['passed']} of {tests} tests "
          f"pass ({100 * counts['passed'] / max(1, tests):.1f} %), {counts['skipped']} skipped; "
          f"{sum(each['seconds'] for each in results) / 60:.0f} minutes")
    if disabled:
        kept = collections.Counter(
            o for each in results for name, (o, _) in each["tests"].items()
            if name.split("::", 1)[-1] not in disabled
        )  # fmt: skip
        print(f"without those that the suite does not run on hardware: {kept['passed']} of "
              f"{kept['passed'] + kept['failed']}")
    return counts["passed"], tests


def prepare() -> None:
    """Import once what every file would, and take the operators; the device is not used."""
    for name in ("torch_npu.testing.testcase", "torch_npu.testing.common_utils", "hypothesis"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.path.append(os.path.join(os.environ["ASCEND_HOME_PATH"], "python"))
    importlib.import_module("portacl_npu").autoload()
    gc.freeze()  # so that a copy does not look through what all of them have


def main() -> int:
    """Run the files and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--least", type=float, default=0, help="share of tests that must pass")
    parser.add_argument("--results", help="file that keeps results")
    parser.add_argument("--deselect", action="append", default=[], help="a part of tests' names")
    parser.add_argument("--longest", type=int, default=600,
                        help="seconds that a file's process may take for one test, waiting included")
    parser.add_argument("--quick-starts", action="store_true",
                        help="start processes of tests from one that has imported torch_npu")
    parser.add_argument("--logs", help="folder for what each file and its processes print")
    parser.add_argument("--disabled", help="the suite's list of tests that hardware does not run")
    arguments = parser.parse_args()
    prepare()
    key = key_of_build()
    known = earlier(arguments.results, key)
    if arguments.quick_starts:
        start_quickly()
    results = []
    for file in sorted(arguments.files)[:: arguments.every]:
        if file not in known:
            begin = time.monotonic()
            log = os.devnull
            if arguments.logs:
                os.makedirs(arguments.logs, exist_ok=True)
                log = os.path.join(os.path.abspath(arguments.logs), file.replace("/", ".") + ".txt")
            tests = run_file(file, arguments.deselect, arguments.longest, log)
            known[file] = {"key": key, "file": file, "tests": tests,
                           "seconds": round(time.monotonic() - begin, 1)}  # fmt: skip
            if arguments.results:
                with open(arguments.results, "a") as lines:
                    lines.write(json.dumps(known[file]) + "\n")
        results.append(known[file])
        for name, (outcome, why) in known[file]["tests"].items():
            if outcome == "failed":
                print(f"FAILED {file}: {name.split('::', 1)[-1]}: {why}", flush=True)
    passed, tests = summary(results, disabled_tests(arguments.disabled))
    return int(passed < arguments.least * tests)


if __name__ == "__main__":
    sys.exit(main())
