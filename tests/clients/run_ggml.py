"""Runs ggml's test-backend-ops on its backend for CANN, a process an operator, and counts the cases that pass.

run_ggml.py PROGRAM [--sample] [--jobs N]

Status 1 where a case fails that ggml_faults.txt does not list, or all pass of a fault that it lists. Where another number
of cases ran than the backend says it supports, both numbers are printed.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

DEVICE = "CANN0"
SAMPLE = (
    "SET_ROWS CPY SOFT_MAX RMS_NORM CONCAT GROUP_NORM L2_NORM POOL_2D ARGMAX CUMSUM SILU SWIGLU "
    "MEAN SUM_ROWS TRI PAD"
).split()
CASE = re.compile(r"(\w+)\(([^()]*)\): (OK|FAIL)")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Fault:
    """A line of ggml_faults.txt."""

    operator: str
    parameters: re.Pattern
    effect: str
    words: str


def read_faults() -> list[Fault]:
    """Every fault of the client that is known."""
    faults = []
    for line in Path(__file__).with_name("ggml_faults.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        operator, expression, effect, words = line.split(maxsplit=3)
        faults.append(Fault(operator, re.compile(expression), effect, words))
    return faults


def supported_cases(program: str) -> dict[str, Counter]:
    """For each operator the parameters of its cases that the backend supports, by its own word."""
    command = [program, "support", "-b", DEVICE, "--output", "csv"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cases: dict[str, Counter] = {}
    for row in csv.DictReader(io.StringIO(text[text.index('"backend_name"') :])):
        if row["supported"] == "1":
            cases.setdefault(row["op_name"], Counter())[row["op_params"]] += 1
    return cases


def run(program: str, operator: str, faults: list[Fault]) -> tuple[Counter, Counter, str]:
    """Cases of the operator that pass, those that fail, and the last words of a process that stopped."""
    apart = [f for f in faults if f.operator == operator and f.effect != "wrong"]
    alone = [["-p", f.parameters.pattern] for f in apart if f.effect == "alone"]
    others = ["-p", f"^(?!.*(?:{'|'.join(f.parameters.pattern for f in apart)}))"] if apart else []
    counts = {"OK": Counter(), "FAIL": Counter()}
    stopped = ""
    for options in (*alone, others):
        command = [program, "test", "-b", DEVICE, "-o", operator, *options]
        process = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        text = COLOURS.sub("", process.stdout)
        for name, parameters, verdict in CASE.findall(text):
            if name == operator:
                counts[verdict][parameters] += 1
        if "tests passed" not in text:
            stopped += "\n".join(text.splitlines()[-6:])
    return counts["OK"], counts["FAIL"], stopped


def judge(operator, supported: Counter, result, faults: list[Fault]) -> tuple[int, int, list[str]]:
    """How many cases pass, how many there are, and complaints."""
    passed, failed, stopped = result
    complaints = [f"{operator} stopped: {stopped}"] if stopped else []
    known = [f for f in faults if f.operator == operator]
    for parameters in failed:
        if not any(f.parameters.search(parameters) for f in known):
            complaints.append(f"{operator}({parameters}) fails")
    total = passed.total() + failed.total()
    for fault in known:
        if fault.effect == "stops":
            total += sum(n for case, n in supported.items() if fault.parameters.search(case))
        elif fault.effect == "wrong" and not any(map(fault.parameters.search, failed)):
            complaints.append(f"{operator}: no case fails of a fault that is listed: {fault.words}")
    return passed.total(), total, complaints


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    faults = read_faults()
    supported = supported_cases(arguments.program)
    largest = sorted(supported, key=lambda operator: -supported[operator].total())
    operators = SAMPLE if arguments.sample else largest
    passed, total, whole, complaints = 0, 0, 0, []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda operator: run(arguments.program, operator, faults), operators)
        for operator, result in zip(operators, results):
            right, cases, words = judge(operator, supported[operator], result, faults)
            said = supported[operator].total()
            print(f"{operator}: {right} of {cases}" + f", {said} supported" * (said != cases), flush=True)
            passed += right
            total += cases
            whole += right == cases
            complaints += words
    print(f"{passed} of {total} cases pass; {whole} of {len(operators)} operators whole")
    said = sum(supported[operator].total() for operator in operators)
    print(f"the backend says that it supports {said} cases of these operators")
    print("\n".join(complaints))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
