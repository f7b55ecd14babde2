"""Runs a test suite that others wrote in one process and counts: suite.py [--every N] FILE...

Prints each test that fails, with the line that says why, and the counts of files and of tests.
"""

from __future__ import annotations

import argparse
import collections
import signal
import sys

import pytest

PATIENCE = 120  # seconds for a test


class Counts:
    """Collects outcomes; ends tests that take too long."""

    def __init__(self) -> None:
        self.files: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)

    def pytest_runtest_logreport(self, report):
        """Count a test's call, or what kept it from being called."""
        if report.when == "call" or report.outcome != "passed":
            file = report.nodeid.split("::")[0]
            if report.outcome == "passed" and report.when != "call":
                return
            self.files[file][report.outcome] += 1
            if report.failed:
                reason = str(report.longrepr).strip().splitlines()[-1:]
                found = [x for x in str(report.longrepr).splitlines() if x.startswith("E  ")]
                print(f"\nFAILED {report.nodeid}: {(found or reason or ['?'])[0][:200]}", flush=True)

    def pytest_collectreport(self, report):
        """Count a file that cannot be read."""
        if report.failed:
            self.files[report.nodeid]["failed"] += 1
            print(f"\nFAILED {report.nodeid}: {str(report.longrepr)[-300:]}", flush=True)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        """Run a test, but not for ever."""

        def end(*_):
            raise TimeoutError(f"more than {PATIENCE} s")

        signal.signal(signal.SIGALRM, end)
        signal.alarm(PATIENCE)
        yield
        signal.alarm(0)


def main() -> int:
    """Run the files and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--least", type=float, default=0, help="share of tests that must pass")
    arguments = parser.parse_args()
    counts = Counts()
    pytest.main(
        ["-q", "--no-header", "-p", "no:cacheprovider", "--tb=short", "--no-summary",
         "-p", "no:warnings", *sorted(arguments.files)[:: arguments.every]],
        plugins=[counts],
    )  # fmt: skip
    passed = sum(c["passed"] for c in counts.files.values())
    failed = sum(c["failed"] for c in counts.files.values())
    skipped = sum(c["skipped"] for c in counts.files.values())
    whole = sum(not c["failed"] for c in counts.files.values())
    print(f"\n{whole} of {len(counts.files)} files without a failure; "
          f"{passed} of {passed + failed} tests pass, {skipped} skipped")
    return int(passed < arguments.least * (passed + failed))


if __name__ == "__main__":
    sys.exit(main())
