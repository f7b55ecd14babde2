"""PORTACL_TORCH: portacl under PyTorch without an import in the program.

PyTorch calls ``load`` at the end of ``import torch`` (entry point ``torch.backends``), in every
process that imports it. Without the variable nothing is imported here, portacl itself included.
"""

import os
import sys

waiting = False
"""``import torch`` was portacl.torch's own, which calls ``load`` again when it is whole."""


def load():
    """Follow PORTACL_TORCH: ``1`` enables the gradients, ``forward`` both directions."""
    global waiting
    asked = os.environ.get("PORTACL_TORCH", "").strip().lower()
    if asked in ("", "0"):
        return
    if asked not in ("1", "forward"):
        _say(f"is {asked!r}, but must be 1, forward or 0: PyTorch keeps its own kernels")
        return
    module = sys.modules.get("portacl.torch")
    if module is not None and not hasattr(module, "__all__"):
        waiting = True
        return
    try:
        from portacl.torch import enable

        enable(forward=asked == "forward")
    except Exception as error:  # a program must not fail for a variable that only makes it faster
        _say(f"is set, but PyTorch keeps its own kernels: {error}")


def _say(what):
    print(f"portacl: PORTACL_TORCH {what}", file=sys.stderr)
