"""portacl's kernels in the place of torchvision's."""

from __future__ import annotations

import importlib.machinery
import sys
import threading
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Optional

import torch

Kernel = Callable[..., Any]

is_watched = False
"""Whether calls go by ``torch.ops.portacl``, where ``profile()`` counts them."""


class Replaced:
    """portacl's kernels for some of torchvision's operators, while wanted and if it is loaded.

    Args:
        module: the module of torchvision whose import makes the operators known.
        kernels: portacl's kernels by torchvision's names.
        fits: whether portacl takes a call; torchvision's own kernel has the others.
        own_errors: let torchvision refuse what portacl refuses, in its own words.

    """

    def __init__(
        self,
        module: str,
        kernels: Mapping[str, Kernel],
        fits: Callable[..., bool],
        own_errors: bool = False,
    ) -> None:
        self.wanted = False
        self.blocks = 0  # `with accelerated()` blocks that run now, in any thread
        self._module, self._kernels, self._fits = module, kernels, fits
        self._own_errors = own_errors
        self._lock = threading.RLock()
        self._library: Optional[torch.library.Library] = None

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
            if not (self.in_place and self._fits(source, *rest)):
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
        wanted = self.in_place and self._module in sys.modules
        if not wanted and self._library is not None:
            self._library._destroy()  # torchvision's own kernels come back
            self._library = None
        if not wanted or self._library is not None:
            return
        try:
            stock = {
                name: torch.library.get_kernel(f"torchvision::{name}", "CPU")
                for name in self._kernels
            }
        except RuntimeError:
            return  # a torchvision whose compiled operators did not load
        library = torch.library.Library("torchvision", "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Warning only once for all operators")
            for name, kernel in stock.items():
                library.impl(name, self._kernel(name, kernel), "CPU", allow_override=True)
        self._library = library

    # A finder: loads torchvision's module as everybody does, and replaces its kernels then.
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
        """A block begins (1), or ends (-1): then the kernels stand aside until ``disable()``.

        Other threads may be on their way into them.
        """
        if not hasattr(torch.library, "get_kernel"):
            return
        with self._lock:
            self.blocks += count
            if self.in_place:
                self._find_imports()
                self._apply()
