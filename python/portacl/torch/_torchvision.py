"""Replaces torchvision's kernels by portacl's.

From PyTorch 2.13 on, calls that portacl takes do not go through Python (src/torch_detection.cc).
"""

from __future__ import annotations

import importlib.machinery
import sys
import threading
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Optional

import torch

from .. import _core
from ._kernels import DTYPES, uses_native_kernels

Kernel = Callable[..., Any]

is_watched = False
"""Whether calls go by ``torch.ops.portacl``, where a ``profile()`` that runs counts them."""

_all: list[Replaced] = []
_in_python: dict[str, torch.library.Library] = {}
"""By torchvision's names: operators of a namespace of portacl's, with its kernels in Python."""


def watch(watched: bool) -> None:
    """Whether ``profile()`` sees calls from now on."""
    global is_watched
    is_watched = watched
    for replaced in _all:
        replaced.choose()


def _offer_in_python(name: str, kernel: Kernel) -> None:
    """Let kernels in C++ call a kernel in Python."""
    if name in _in_python:
        return
    library = torch.library.Library("portacl_torchvision", "FRAGMENT")
    schema = str(getattr(torch.ops.torchvision, name).default._schema)
    library.define(schema.removeprefix("torchvision::"))
    library.impl(name, kernel, "CPU")
    _in_python[name] = library


def _fits(source: torch.Tensor, *rest: Any) -> bool:
    """Whether portacl takes a call; torchvision's own kernel has the others."""
    tensors = (source, *(value for value in rest if isinstance(value, torch.Tensor)))
    return source.dtype in DTYPES and all(
        tensor.dtype == source.dtype and tensor.dim() > 0 for tensor in tensors
    )


class Replaced:
    """portacl's kernels for some of torchvision's operators, while wanted and loaded.

    Args:
        module: the module of torchvision that makes the operators known when it is imported.
        kernels: portacl's kernels by torchvision's names.
        own_errors: let torchvision refuse calls that portacl refuses, in its own words.

    """

    def __init__(
        self,
        module: str,
        kernels: Mapping[str, Kernel],
        own_errors: bool = False,
    ) -> None:
        self.wanted = False
        self.blocks = 0  # `with accelerated()` blocks that run now, in any thread
        self._module, self._kernels = module, kernels
        self._own_errors = own_errors
        self._lock = threading.RLock()
        self._library: Optional[torch.library.Library] = None
        # Kernels in C++ stay: other threads may be on their way into them.
        self._native: Optional[_core.TorchKernels] = None
        _all.append(self)

    @property
    def in_place(self) -> bool:
        """Whether calls are portacl's now."""
        return self.wanted or self.blocks > 0

    def _kernel(self, name: str, stock: Any) -> Kernel:
        own = self._kernels[name]
        operator = name.removeprefix("_")

        def of_torchvision(source: torch.Tensor, *rest: Any) -> Any:
            return stock.call_boxed(torch._C._dispatch_keys(source), source, *rest)

        def kernel(source: torch.Tensor, *rest: Any) -> Any:
            if not (self.in_place and _fits(source, *rest)):
                return of_torchvision(source, *rest)
            try:
                if is_watched:
                    return getattr(torch.ops.portacl, operator)(source, *rest)
                return own(source, *rest)
            except (TypeError, ValueError) as error:
                if self._own_errors:
                    return of_torchvision(source, *rest)
                raise RuntimeError(str(error)) from None

        return kernel

    def apply(self) -> None:
        """Bring PyTorch's dispatcher into the wanted state."""
        with self._lock:
            self._apply()

    def _apply(self) -> None:
        if self.in_place and self._library is None and self._module in sys.modules:
            self._register()
        if not self.in_place and self._library is not None and self._native is None:
            self._library._destroy()  # torchvision's own kernels come back
            self._library = None
        self.choose()

    def choose(self) -> None:
        """Choose whether calls go through Python; kernels there give torchvision its own calls."""
        with self._lock:
            if self._native is not None:
                self._native.stand_aside(is_watched or not self.in_place)

    def _register(self) -> None:
        try:
            stock = {
                name: torch.library.get_kernel(f"torchvision::{name}", "CPU")
                for name in self._kernels
            }
        except RuntimeError:
            return  # torchvision could not load its compiled operators
        library = torch.library.Library("torchvision", "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Warning only once for all operators")
            for name, kernel in stock.items():
                own = self._kernel(name, kernel)
                library.impl(name, own, "CPU", allow_override=True)
                if uses_native_kernels:
                    _offer_in_python(name, own)
        self._library = library
        if uses_native_kernels:
            self._native = _core.TorchKernels(list(stock), "torchvision")

    # A finder of modules: it loads torchvision's module as Python does, then replaces its kernels.
    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name != self._module or not self.in_place:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: Any = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                self._apply_when_loaded(spec)
                return spec  # type: ignore[no-any-return]
        return None

    def _apply_when_loaded(self, spec: importlib.machinery.ModuleSpec) -> None:
        loader: Any = spec.loader
        load = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            load(module)
            self.apply()

        loader.exec_module = exec_module

    def set_enabled(self, wanted: bool) -> None:
        """Whether torchvision's calls on CPU tensors are portacl's from now on."""
        if not hasattr(torch.library, "get_kernel"):
            return  # an older PyTorch does not hand out the kernel that would be replaced
        self.wanted = wanted
        self._find_imports()
        self.apply()

    def _find_imports(self) -> None:
        if self.in_place and self not in sys.meta_path:
            sys.meta_path.insert(0, self)  # type: ignore[arg-type]

    def add_block(self, count: int) -> None:
        """A block begins (1), or ends (-1)."""
        if not hasattr(torch.library, "get_kernel"):
            return
        with self._lock:
            self.blocks += count
            if self.in_place:
                self._find_imports()
                self._apply()
            self.choose()
