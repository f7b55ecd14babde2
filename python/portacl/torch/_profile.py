"""profile(): which calls portacl's kernels take, their time, and the time of PyTorch's kernels."""

from __future__ import annotations

import contextlib
import json
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Optional

import torch

from . import _compiled, _override, _torchvision
from ._kernels import DTYPES
from ._library import operators as _own_operators

_DEVICES = {"CUDA": torch.cuda.is_available, "MPS": torch.backends.mps.is_available}
_lock = threading.Lock()


@dataclass
class Row:
    """Calls of one operator with one set of shapes, taken or not for one reason."""

    operator: str
    shapes: str
    dtype: str
    reason: str = ""
    """Why portacl did not take them; "" where it did."""
    calls: int = 0
    seconds: float = 0.0
    compared: int = 0
    """How many of the calls PyTorch's kernel computed as well."""
    compared_seconds: float = 0.0
    pytorch_seconds: float = 0.0

    @property
    def milliseconds(self) -> float:
        """The mean time of a call; of the compared calls if there are any, as PyTorch's mean."""
        if self.compared:
            return 1e3 * self.compared_seconds / self.compared
        return 1e3 * self.seconds / self.calls

    @property
    def saved(self) -> Optional[float]:
        """Seconds that portacl saved in all calls, by PyTorch's mean time, or None."""
        if not self.compared:
            return None
        return (self.pytorch_seconds - self.compared_seconds) / self.compared * self.calls


@dataclass
class Report:
    """The calls that a ``profile()`` block saw."""

    sample: int = 0
    rows: dict[tuple[str, ...], Row] = field(default_factory=dict)
    graphs: list[str] = field(default_factory=list)
    """Functions that graphs which were compiled meanwhile compute by PyTorch's formulas."""
    began: float = field(default_factory=perf_counter)
    ended: Optional[float] = None

    @property
    def seconds(self) -> float:
        """How long the block has run."""
        return (perf_counter() if self.ended is None else self.ended) - self.began

    @property
    def calls(self) -> int:
        """The number of calls that were seen."""
        return sum(row.calls for row in self.rows.values())

    @property
    def taken(self) -> int:
        """The number of calls that portacl's kernels computed."""
        return sum(row.calls for row in self.rows.values() if not row.reason)

    @property
    def saved(self) -> Optional[float]:
        """About how many seconds portacl saved; None if nothing was compared."""
        known = [row.saved for row in self.rows.values() if row.saved is not None]
        return sum(known) if known else None

    def _ordered(self) -> list[Row]:
        return sorted(self.rows.values(), key=lambda row: (bool(row.reason), -row.seconds))

    def closing_line(self) -> str:
        """One sentence: the number of calls, and the time saved."""
        line = f"portacl took {self.taken} of {self.calls} calls"
        if self.saved is not None:
            word = "saved" if self.saved >= 0 else "lost"
            ours = self.seconds - sum(row.pytorch_seconds for row in self.rows.values())
            change = f"{ours:.3g} s instead of about {ours + self.saved:.3g} s"
            return f"{line}; about {abs(self.saved):.2g} s {word}: {change}"
        spent = sum(row.seconds for row in self.rows.values() if not row.reason)
        line += f"; they ran {spent:.2g} s of {self.seconds:.3g} s"
        return (
            line
            if self.sample
            else f"{line} (--profile=10, sample=10: times PyTorch's kernels too)"
        )

    def table(self) -> str:
        """All rows, the slowest first, and the closing line."""
        lines = [("operator", "shapes", "dtype", "calls", "ms a call", "PyTorch's", "")]
        for row in self._ordered():
            theirs = f"{1e3 * row.pytorch_seconds / row.compared:.3f}" if row.compared else "-"
            ours = f"{row.milliseconds:.3f}" if row.seconds else "-"
            why = f"not taken: {row.reason}" if row.reason else ""
            calls = str(row.calls)
            lines.append((row.operator, row.shapes, row.dtype, calls, ours, theirs, why))
        widths = [max(len(line[i]) for line in lines) for i in range(6)]
        text = []
        for line in lines:
            left = [cell.ljust(width) for cell, width in zip(line[:3], widths)]
            right = [cell.rjust(width) for cell, width in zip(line[3:6], widths[3:])]
            text.append("  ".join([*left, *right, line[6]]).rstrip())
        if self.graphs:
            why = "" if _override.is_enabled(forward=True) else " (forward=True is not set)"
            names = ", ".join(self.graphs)
            text.append(f"not taken in compiled graphs, where calls are not seen: {names}{why}")
        return "\n".join([*text, self.closing_line()])

    def json(self) -> str:
        """The rows and the closing line as JSON."""
        rows = [
            {
                "operator": row.operator,
                "shapes": row.shapes,
                "dtype": row.dtype,
                "taken": not row.reason,
                "reason": row.reason or None,
                "calls": row.calls,
                "seconds": row.seconds,
                "compared_calls": row.compared,
                "pytorch_seconds_per_call": (
                    row.pytorch_seconds / row.compared if row.compared else None
                ),
                "saved_seconds": row.saved,
            }
            for row in self._ordered()
        ]
        facts = {
            "calls": self.calls,
            "taken": self.taken,
            "seconds": self.seconds,
            "saved_seconds": self.saved,
            "left_to_graphs": self.graphs,
            "rows": rows,
        }
        return json.dumps(facts, indent=1)


_report: Optional[Report] = None
_watched: list[torch.library.Library] = []


def _shapes(arguments: Sequence[Any], result: Any) -> str:
    def text(tensor: torch.Tensor) -> str:
        return "x".join(map(str, tensor.shape))

    results = [r for r in (result if isinstance(result, tuple) else (result,)) if r is not None]
    given = ", ".join(text(a) for a in arguments if isinstance(a, torch.Tensor))
    return f"{given} -> {', '.join(text(r) for r in results)}"


def _why_not(device: str, is_forward: bool, is_resize: bool, tensor: torch.Tensor) -> str:
    """Why portacl's kernel does not compute a call of PyTorch's operator; "" if it does."""
    if device == "CUDA" and _override.is_enabled(is_forward, "cuda"):
        return "" if tensor.dtype in DTYPES else "dtype " + str(tensor.dtype).removeprefix("torch.")
    if device != "CPU":
        return f"device {device.lower()}"
    is_picture = is_resize and is_forward and tensor.dtype == torch.uint8
    if tensor.dtype not in DTYPES and not is_picture:
        return f"dtype {str(tensor.dtype).removeprefix('torch.')}"
    if _override.is_enabled(forward=is_forward):
        return ""
    return "forward=True is not set" if is_forward else "not enabled"


def _can_compare(name: str, arguments: Sequence[Any]) -> bool:
    """Whether PyTorch's kernel is safe: with NaN or 16 bits it can end the process."""
    if not name.startswith("grid_sampler"):
        return True
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    return tensors[0].dtype.itemsize > 2 and bool(torch.isfinite(tensors[-1]).all())


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = perf_counter()
    result = call()
    return result, perf_counter() - began


def _watching(name: str, device: str, kernel: Any, reason: Callable[..., str]) -> Any:
    """A kernel that calls the previous kernel, and records calls while a profile runs."""

    def watched(keys: Any, *arguments: Any) -> Any:
        report = _report
        if report is None:
            return kernel.call_boxed(keys, *arguments)
        why_not = reason(arguments[0])
        with torch.profiler.record_function(name if why_not else f"portacl::{name}"):
            result, seconds = _timed(lambda: kernel.call_boxed(keys, *arguments))
        dtype = str(arguments[0].dtype).removeprefix("torch.")
        shapes = _shapes(arguments, result)
        with _lock:
            key = (name, shapes, dtype, why_not)
            row = report.rows.setdefault(key, Row(*key))
            row.calls += 1
            row.seconds += seconds if device == "CPU" else 0.0  # other devices compute later
            compare = bool(report.sample) and row.calls % report.sample == 0
        stock = _override.stock_kernels.get(name) if device == "CPU" else None
        if compare and stock is not None and not why_not and _can_compare(name, arguments):
            _, theirs = _timed(lambda: stock.call_boxed(keys, *arguments))
            with _lock:
                row.compared += 1
                row.compared_seconds += seconds
                row.pytorch_seconds += theirs
        return result

    return watched


def _watch() -> None:
    """Register watching kernels once; they stay, and cost a few us a call."""
    with _lock:
        if _watched:
            return
        aten, own = (torch.library.Library(space, "IMPL") for space in ("aten", "portacl"))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Warning only once for all operators")
            for name, is_forward in _override.replaced_names():
                if name in _override.TAKEN_APART:  # portacl's own operator is watched below
                    continue
                for device in ("CPU", *(key for key, is_there in _DEVICES.items() if is_there())):
                    try:
                        kernel = torch.library.get_kernel(f"aten::{name}", device)
                    except RuntimeError:  # PyTorch has none for this device
                        continue

                    def reason(
                        tensor: Any,
                        device: str = device,
                        is_forward: bool = is_forward,
                        is_resize: bool = name in _override.OF_PICTURES,
                    ) -> str:
                        return _why_not(device, is_forward, is_resize, tensor)

                    watched = _watching(name, device, kernel, reason)
                    aten.impl(name, watched, device, with_keyset=True)
            for name in _own_operators():
                kernel = torch.library.get_kernel(f"portacl::{name}", "CPU")
                watched = _watching(name, "CPU", kernel, lambda tensor: "")
                own.impl(name, watched, "CPU", with_keyset=True, allow_override=True)
        _watched.extend([aten, own])


@contextlib.contextmanager
def profile(sample: int = 0) -> Iterator[Report]:
    """Record the calls that portacl takes in a ``with`` block, in all threads.

    The table of ``Report.table()`` has the calls of every operator that ``enable()`` can replace
    and of ``torch.ops.portacl``. It says how long calls ran, and which calls were not taken and
    why. ``Report.json()`` has the same. ``torch.profiler`` shows the calls as ``portacl::...``.

    Calls of a process that has profiled once cost a few microseconds more until it ends.

    Args:
        sample: let PyTorch's kernel compute every ``sample``-th call of a row as well, to tell what
            portacl saves; 0: none.

    Raises:
        RuntimeError: another profile runs, or this PyTorch is older than 2.9.
        ValueError: ``sample`` is negative.

    """
    global _report
    if sample < 0:
        raise ValueError(f"sample is {sample}, but must be 0 (no comparison) or more")
    if not hasattr(torch.library, "get_kernel"):
        raise RuntimeError(
            f"portacl.torch.profile needs torch.library.get_kernel (PyTorch 2.9), but this is "
            f"{torch.__version__}"
        )
    _override.put_in_dispatcher()
    _watch()
    report = Report(sample)
    left = _compiled.left_to_graphs.copy()
    with _lock:
        if _report is not None:
            raise RuntimeError("a profile runs already: they do not nest")
        _report = report
    try:
        _torchvision.watch(True)
        yield report
    finally:
        try:
            _torchvision.watch(False)
            report.ended = perf_counter()
            report.graphs = sorted(_compiled.left_to_graphs - left)
        finally:
            _report = None
