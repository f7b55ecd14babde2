"""Runs ggml's test-backend-ops on its backend for CANN, a process an operator, and counts the cases that pass.

run_ggml.py PROGRAM [OPERATOR...] [--sample] [--jobs N]

Status 1 in three cases: a case fails that ggml_faults.txt does not list; all cases of a listed
fault pass; or a case that the backend claims to support did not run, without a reason. There are
two reasons: ggml's CPU backend, the reference, lacks the operator for these types, or the backend
lacks an operator that makes the inputs.
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
CASE = re.compile(r"(\w+)\(([^()]*)\): (OK|FAIL|not supported)(?: \[([^]]*)\])?")
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
    """For each operator the parameters of the cases that the backend claims to support."""
    command = [program, "support", "-b", DEVICE, "--output", "csv"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cases: dict[str, Counter] = {}
    for row in csv.DictReader(io.StringIO(text[text.index('"backend_name"') :])):
        if row["supported"] == "1":
            cases.setdefault(row["op_name"], Counter())[row["op_params"]] += 1
    return cases


@dataclass
class Result:
    """The cases of an operator by their outcome; the last words of a process that stopped."""

    passed: Counter
    failed: Counter
    not_run: dict[str, Counter]  # by the backend that lacks a part of the case
    stopped: str


def run(program: str, operator: str, supported: Counter, faults: list[Fault]) -> Result:
    """Run the cases of an operator."""
    apart = [f for f in faults if f.operator == operator and f.effect != "wrong"]
    alone = [["-p", f.parameters.pattern] for f in apart if f.effect == "alone"]
    others = ["-p", f"^(?!.*(?:{'|'.join(f.parameters.pattern for f in apart)}))"] if apart else []
    result = Result(Counter(), Counter(), {"CPU": Counter(), DEVICE: Counter()}, "")
    for options in (*alone, others):
        command = [program, "test", "-b", DEVICE, "-o", operator, *options]
        process = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        text = COLOURS.sub("", process.stdout)
        for name, parameters, verdict, backends in CASE.findall(text):
            if name != operator:
                continue
            if verdict == "not supported":
                lacking = "CPU" if "CPU" in backends.split(", ") else DEVICE
                result.not_run[lacking][parameters] += parameters in supported
            else:
                (result.passed if verdict == "OK" else result.failed)[parameters] += 1
        if "tests passed" not in text:
            result.stopped += "\n".join(text.splitlines()[-6:])
    return result


def judge(operator, supported: Counter, result: Result, faults: list[Fault]) -> tuple[int, list[str]]:
    """The number of cases, without those that no test can run, and complaints."""
    complaints = [f"{operator} stopped: {result.stopped}"] if result.stopped else []
    known = [f for f in faults if f.operator == operator]
    for parameters in result.failed:
        if not any(f.parameters.search(parameters) for f in known):
            complaints.append(f"{operator}({parameters}) fails")
    cases = result.passed + result.failed
    for fault in known:
        if fault.effect == "stops":
            cases += Counter({case: n for case, n in supported.items() if fault.parameters.search(case)})
        elif fault.effect == "wrong" and not any(map(fault.parameters.search, result.failed)):
            complaints.append(f"{operator}: no case fails of a fault that is listed: {fault.words}")
    for parameters in supported - cases - result.not_run["CPU"] - result.not_run[DEVICE]:
        complaints.append(f"{operator}({parameters}) did not run, and nobody said why")
    return cases.total(), complaints


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("operators", nargs="*", help="these instead of all")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    faults = read_faults()
    supported = supported_cases(arguments.program)
    largest = sorted(supported, key=lambda operator: -supported[operator].total())
    operators = arguments.operators or (SAMPLE if arguments.sample else largest)
    passed, total, whole, not_run, complaints = 0, 0, 0, {"CPU": 0, DEVICE: 0}, []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda name: run(arguments.program, name, supported[name], faults), operators)
        for operator, result in zip(operators, results):
            cases, words = judge(operator, supported[operator], result, faults)
            right = result.passed.total()
            print(f"{operator}: {right} of {cases}", end="", flush=True)
            for name, lacking in result.not_run.items():
                not_run[name] += lacking.total()
                if lacking.total():
                    print(f", {lacking.total()} more that {name} lacks", end="")
            print(flush=True)
            passed += right
            total += cases
            whole += right == cases
            complaints += words
    print(f"{passed} of {total} cases pass; {whole} of {len(operators)} operators whole")
    said = sum(supported[operator].total() for operator in operators)
    print(
        f"of {said} that {DEVICE} says it supports, {not_run['CPU']} lack a reference "
        f"and {not_run[DEVICE]} an operator before theirs"
    )
    print("\n".join(complaints))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
