"""The C++ part, as Python calls it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable


def declare(library: ctypes.CDLL) -> None:
    """Tell ctypes the functions of the C++ part (cpp/entry.cc)."""
    library.portacl_npu_take.argtypes = [ctypes.c_char_p] * 3
    library.portacl_npu_take.restype = ctypes.c_char_p
    library.portacl_npu_set_generator.argtypes = [ctypes.c_int, ctypes.c_void_p]
    library.portacl_npu_set_generator.restype = None
    library.portacl_npu_coalesce.argtypes = [ctypes.c_int]
    library.portacl_npu_coalesce.restype = None
    library.portacl_npu_install.argtypes = []
    library.portacl_npu_install.restype = None
    library.portacl_npu_wait_for_collectives.argtypes = []
    library.portacl_npu_wait_for_collectives.restype = ctypes.c_char_p


def take(library: ctypes.CDLL, space: str, names: Iterable[str], kind: str) -> None:
    """Register kernels of one kind for operators of one namespace."""
    text = "".join(f"{name}\n" for name in sorted(names))
    if not text:
        return
    error = library.portacl_npu_take(space.encode(), text.encode(), kind.encode())
    if error is not None:
        raise RuntimeError(error.decode(errors="replace"))


def follow_generators(library: ctypes.CDLL) -> None:
    """Hand the device's default generators over, as soon as the plugin has made them."""
    import torch
    import torch_npu

    def hand_over() -> None:
        for device, generator in enumerate(torch.npu.default_generators):
            library.portacl_npu_set_generator(device, generator._cdata)

    torch_npu.npu._lazy_call(hand_over)
