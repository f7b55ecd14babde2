"""Greedy decoding of random models with llama.cpp: the tokens on CANN0 are those on its CPU backend.

run_llama.py FOLDER GRAPH_FOLDER

FOLDER has the program greedy with its libraries, GRAPH_FOLDER libraries of ggml for its graph mode.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

COUNT = 64
MODES = {"": {}, "guard mode": {"PORTACL_GUARD": "1"}, "lazy mode": {"PORTACL_LAZY": "1"}}


def decode(program: Path, model: Path, device: str, attention: str, environment=None) -> str:
    """The tokens, or what the program said where it failed."""
    process = subprocess.run(
        [program, model, device, str(COUNT), attention],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
    )
    if process.returncode == 0:
        return process.stdout
    return f"status {process.returncode}: {process.stderr[-600:]}"


def main() -> int:
    """The command line."""
    folder, graph_folder = (Path(name).resolve() for name in sys.argv[1:3])
    program = folder / "greedy"
    paths = f"{graph_folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    graphs = {"eager": {}, "graphs": {"LD_LIBRARY_PATH": paths}}
    same = total = 0
    for dtype, attention in itertools.product(("f32", "f16"), ("plain", "flash")):
        model = folder / f"random_{dtype}.gguf"
        script = Path(__file__).with_name("random_llama.py")
        subprocess.run([sys.executable, script, model, dtype], check=True)
        expected = decode(program, model, "CPU", attention)
        if len(expected.split()) != COUNT:
            sys.exit(f"llama.cpp on the CPU, {dtype}, {attention}: {expected}")
        for graph, mode in itertools.product(graphs, MODES):
            tokens = decode(program, model, "CANN0", attention, graphs[graph] | MODES[mode])
            total += 1
            same += tokens == expected
            words = "the same tokens" if tokens == expected else f"{tokens}wanted {expected}"
            print(f"{dtype}, {attention} attention, {graph} {mode}: {words}", flush=True)
    print(f"llama.cpp: {same} of {total} runs give the {COUNT} tokens of the CPU")
    return same != total


if __name__ == "__main__":
    sys.exit(main())
