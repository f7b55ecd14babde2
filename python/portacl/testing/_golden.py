"""Golden results as arrays, and verdicts on arrays of any kind."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _program
from ._cases import AnyCase, Case, as_case
from ._samples import ArrayKind, as_kind, outputs_of


@dataclass(frozen=True)
class Output:
    """One output: portacl's result, the exact values, and the largest right distance to these."""

    golden: Any
    exact: Any
    bound: Any


@dataclass(frozen=True)
class Golden:
    """The golden results of a case, by the names of the aclnn signature."""

    case: Case
    outputs: dict[str, Output]


@dataclass(frozen=True)
class Verdict:
    """The result of ``portacl verify``: ``outputs`` is its JSON, with the worst elements."""

    case: Case
    passed: bool
    outputs: list[dict[str, Any]]

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        if self.passed:
            return f"ok: {self.case}"
        lines = []
        for output in self.outputs:
            if output["passed"]:
                continue
            lines.append(f"{output['parameter']}: {output['reason']}")
            unit = " ULP" if output["worst_unit"] == "ulp" else ""
            for worst in output["worst"][:3]:
                lines.append(
                    f"  {output['parameter']}{worst['index']} is {worst['actual']}, golden "
                    f"{worst['golden']}, error {worst['error']}{unit}, allowed {worst['allowed']}"
                )
        return "\n".join([*lines, f"  --case '{self.case}'"])


def _named(case: Case) -> str:
    """The string with a name that the folder's is known by."""
    return case.text if "name" in case.fields else f"{case.text} name=case"


def golden(case: AnyCase, *, kind: ArrayKind = "numpy") -> Golden:
    """Compute a case's golden results.

    Args:
        case: a case or its string.
        kind: the library of the arrays ``golden``; ``exact`` and ``bound`` are NumPy's float64.

    Raises:
        ValueError: a case that is not right, or that portacl refuses.

    """
    case = as_case(case)
    outputs = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "golden"
        _program.run("golden", "--case", _named(case), "-o", str(folder))
        for name in outputs_of(case) if not case.refused else []:
            stem = folder / case.name / name
            array = np.load(f"{stem}.npy")
            if case.dtype == "bfloat16":
                array = _as_bfloat16(array)
            outputs[name] = Output(
                as_kind(array, kind), np.load(f"{stem}.float64.npy"), np.load(f"{stem}.bound.npy")
            )
    return Golden(case, outputs)


def _as_bfloat16(bits: Any) -> Any:
    try:
        import ml_dtypes
    except ImportError:
        return bits
    return bits.view(ml_dtypes.bfloat16)


def _as_numpy(array: Any) -> Any:
    """A NumPy array of the same elements; bfloat16 as its bits in uint16."""
    if hasattr(array, "detach"):  # a PyTorch tensor
        tensor = array.detach().cpu().contiguous()
        if str(tensor.dtype) == "torch.bfloat16":
            import torch

            return tensor.view(torch.int16).numpy().view(np.uint16)
        return tensor.numpy()
    plain = np.asarray(array)
    return plain.view(np.uint16) if plain.dtype.name == "bfloat16" else plain


def _by_name(case: Case, actual: Any) -> dict[str, Any]:
    names = outputs_of(case)
    if isinstance(actual, Mapping):
        unknown = sorted(set(actual) - set(names))
        if unknown:
            raise ValueError(f"{unknown[0]} is no output of the case; it has {', '.join(names)}")
        missing = [name for name in names if actual.get(name) is None]
        if missing:
            raise ValueError(f"{missing[0]} is missing; the case has {', '.join(names)}")
        return dict(actual)
    given = list(actual) if isinstance(actual, (tuple, list)) else [actual]
    given = [array for array in given if array is not None]
    if len(given) != len(names):
        raise ValueError(f"{len(given)} results, but the case has {', '.join(names)}")
    return dict(zip(names, given))


def compare(
    case: AnyCase,
    actual: Any,
    *,
    binary: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    ulp: int | None = None,
    standard: str | None = None,
) -> Verdict:
    """Judge a kernel's results for a case.

    Args:
        case: a case or its string.
        actual: arrays (NumPy with ml_dtypes, PyTorch, JAX) by the names of the outputs. Or one
            array, or a tuple in their order (None for an output that the mask leaves out).
        binary: the bits of golden.
        rtol: with ``atol``: ``|a - g| <= atol + rtol |g|``.
        atol: the same.
        ulp: at most so many representable numbers from golden.
        standard: ``bound`` (the default), ``binary`` or ``stat``.

    Raises:
        ValueError: a case that is not right, a missing output, another shape or dtype.

    """
    case = as_case(case)
    options = {"--rtol": rtol, "--atol": atol, "--ulp": ulp, "--standard": standard}
    given = [
        word for key, value in options.items() if value is not None for word in (key, str(value))
    ]
    if binary:
        given.append("--binary")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / case.name
        folder.mkdir()
        for name, array in _by_name(case, actual).items():
            np.save(folder / f"{name}.npy", _as_numpy(array))
        try:
            _, text = _program.run(
                "verify",
                "--case",
                _named(case),
                "--outputs",
                temporary,
                "--json",
                *given,
                failing=(1,),
            )
        except ValueError as error:
            raise ValueError(str(error).replace(f"{folder}/", "").replace(".npy: ", " ")) from None
    report = json.loads(text)
    return Verdict(case, report["passed"], report["cases"][0]["outputs"])


def assert_matches_golden(case: AnyCase, actual: Any, **standard: Any) -> None:
    """Raise AssertionError if ``compare(case, actual, **standard)`` does not pass."""
    __tracebackhide__ = True
    verdict = compare(case, actual, **standard)
    if not verdict:
        raise AssertionError(f"not what {verdict.case.operator} must give\n{verdict}")
