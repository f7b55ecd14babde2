"""Run InfiniCore's own tests of its operators on Ascend, case by case, in torch_npu.

run.py TESTS OPERATOR...: TESTS is the folder test/infiniop of a checkout, INFINI_ROOT has lib/libinfiniop.so. Each test
compares with PyTorch. Its file is taken as it is. The operators run on the default stream and PyTorch on one of its own.
So each comparison waits for the device first, which the tests do not. A failing case does not end
the run here. A case that ends well and prints nothing has left itself out. The status is 1 if a
case or a file fails, or if an operator has no case.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def without_others(register: type) -> None:
    """Let the library lack operators: those that are not built."""
    declare = list(register.registry)

    def register_lib(lib: object) -> None:
        for operator in declare:
            try:
                operator(lib)
            except AttributeError:
                continue

    register.register_lib = register_lib


def waiting(compare: Callable) -> Callable:
    """Compare when all streams of the device are done."""
    import torch

    def wait_and_compare(*args: object, **options: object) -> bool:
        torch.npu.synchronize()
        return compare(*args, **options)

    return wait_and_compare


def main(folder: str, operators: list[str]) -> int:
    """The command line."""
    import torch
    import torch_npu  # noqa: F401

    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    package = Path(folder) / "libinfiniop"
    sys.modules.setdefault("libinfiniop", type(sys)("libinfiniop"))
    sys.modules["libinfiniop"].__path__ = [str(package)]
    without_others(importlib.import_module("libinfiniop.op_register").OpRegister)
    del sys.modules["libinfiniop"]
    library = importlib.import_module("libinfiniop")
    counts: dict[str, list[int]] = {}
    words: list[str] = []  # of failures

    def each(device: int, test: object, cases: list, dtypes: list) -> None:
        utils = library.utils
        library.LIBINFINIOP.infinirtSetDevice(device, 0)
        handle = utils.create_handle()
        for case in cases:
            for dtype in utils.filter_tensor_dtypes_by_device(device, dtypes):
                text = io.StringIO()
                right = True
                try:
                    with contextlib.redirect_stdout(text):
                        test(handle, device, *case, dtype, utils.get_sync_func(device))
                except Exception as error:  # what a case says, whatever it is
                    right = False
                    said = str(error).strip().splitlines() or [type(error).__name__]
                    words.append(f"{name} {case} {library.InfiniDtypeNames[dtype]}: {said[0]}")
                if text.getvalue() or not right:
                    counts[name][0] += right
                    counts[name][1] += 1
        utils.destroy_handle(handle)

    library.test_operator = each
    torch.allclose, torch.equal = waiting(torch.allclose), waiting(torch.equal)
    for name in operators:
        counts[name] = [0, 0]
        sys.argv = [name, "--ascend"]
        try:
            runpy.run_path(str(Path(folder) / f"{name}.py"), run_name="__main__")
        except (Exception, SystemExit) as error:
            words.append(f"{name}: {error}")
        if counts[name][1] == 0:
            words.append(f"{name}: no case has run")
        print(f"{name}: {counts[name][0]} of {counts[name][1]}", flush=True)
    passed, total = (sum(count[i] for count in counts.values()) for i in (0, 1))
    print("\n".join(words))
    print(f"== InfiniCore: {passed} of {total} cases of {len(operators)} operators equal PyTorch's ({torch.__version__})")
    return bool(words) or total == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
