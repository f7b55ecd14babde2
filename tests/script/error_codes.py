"""Error codes have names: C, C++, shell and their comments hold no numbers (ctypes has no names)."""

import pathlib
import re
import sys

FOLDERS = ("src", "tools", "python", "examples", "bench", "tests")  # include/ defines them
SUFFIXES = {".c", ".cc", ".cpp", ".h", ".sh"}
CODE = re.compile(r"\b(1[04567]\d{4}|[25]0\d{4}|561\d{3})\b")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')  # a message's text has numbers
SHELL_STRING = re.compile(r"'[^']*'")

VALUES = {"tests/api/abi_test.cc", "tests/api/abi_runtime_test.cc"}  # what the names stand for
# Sizes and counts that read like codes.
SIZES = {
    "tests/api/aclnn_companion_reduce_test.cc": {"100003"},
    "tests/api/aclnn_companion_test.cc": {"200001"},
    "tests/api/runtime_callback_test.cc": {"100000"},
    "tests/api/runtime_init_test.cc": {"100000"},
    "tests/base/half_test.cc": {"200000"},
    "tests/campaign/main.cc": {"100000"},
    "tests/kernels/upsample_nearest_exact_backward_test.cc": {"100003", "200006"},
    "tests/kernels/upsample_nearest_exact_test.cc": {"100003", "200000", "200006"},
    "tests/runtime/block_pool_test.cc": {"100000"},
}


def numbers(file):
    """Line and number of all that reads like a code outside of strings."""
    for line, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        text = STRING.sub('""', text)
        if file.suffix == ".sh":
            text = SHELL_STRING.sub("''", text)
        for number in CODE.findall(text):
            yield line, number


def problems():
    files = [file for folder in FOLDERS for file in sorted(pathlib.Path(folder).rglob("*"))
             if file.suffix in SUFFIXES and file.as_posix() not in VALUES]
    unused = {(path, number) for path, sizes in SIZES.items() for number in sizes}
    for file in files:
        path = file.as_posix()
        for line, number in numbers(file):
            unused.discard((path, number))
            if number not in SIZES.get(path, ()):
                yield f"{path}:{line}: {number} has a name in include"
    for path, number in sorted(unused):
        yield f"{path}: {number} is not there any more, but tests/script/error_codes.py lists it"


found = list(problems())
print("\n".join(found or ["ok: error codes have names"]))
sys.exit(1 if found else 0)
