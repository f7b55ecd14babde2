"""Cases as strings with their fields, and lists of them."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Union

from . import _program

KINDS = ("smoke", "random", "boundary", "models", "refusals")


@dataclass(frozen=True)
class Case:
    """One call of an operator; ``--case`` takes ``str(case)``."""

    text: str
    operator: str = field(init=False, compare=False)
    fields: dict[str, str] = field(init=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        operator, *words = self.text.split() or [""]
        object.__setattr__(self, "operator", operator)
        object.__setattr__(self, "fields", dict(w.split("=", 1) for w in words if "=" in w))

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """The name of its folder in a golden set."""
        return self.fields.get("name", "case")

    @property
    def dtype(self) -> str:
        """``float32``, ``float16``, ``bfloat16``, ``float64`` or ``uint8``."""
        return self.fields.get("dtype", "float32")

    @property
    def refused(self) -> bool:
        """Whether the operator must refuse it: there is no result to compare."""
        return self.fields.get("expect", "0") != "0"


AnyCase = Union[Case, str]


def as_case(case: AnyCase) -> Case:
    """A case from its string; operator, dtype and modes may have any accepted spelling."""
    if isinstance(case, Case):
        return case
    if not isinstance(case, str):
        raise TypeError(f"a case is a Case or its string, not {type(case).__name__}")
    given = Case(" ".join(case.split()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.txt"
        path.write_text(given.text + "\n", encoding="utf-8")
        try:
            _, text = _program.run("cases", "convert", str(path))
        except ValueError as error:
            raise ValueError(str(error).replace(f"{path}:1: ", "")) from None
    words = text.split()
    if "name" not in given.fields:
        words = [word for word in words if not word.startswith("name=")]
    return Case(" ".join(words))


def cases(
    source: str | os.PathLike[str] = "smoke",
    *,
    count: int | None = None,
    seed: int | None = None,
    operator: str | None = None,
    dtype: str | None = None,
    profile: str | None = None,
    small: bool = True,
) -> list[Case]:
    """Make a list of cases by rule, or read one from a file.

    Args:
        source: ``smoke``, ``random``, ``boundary``, ``models`` or ``refusals``; a .json, .csv or
            .txt file; or a .log file that a program wrote with ``PORTACL_LOG=calls``.
        count: how many, of ``smoke`` and ``random``.
        seed: of ``random``.
        operator: only this one.
        dtype: only this one (of those that ``count`` made).
        profile: only cases that it accepts.
        small: ``models`` in their small form.

    Raises:
        ValueError: an unknown kind, or a file that is not right; the message names file, line and
            field.

    """
    name = os.fspath(source)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.json"
        if name in KINDS:
            options = {"--count": count, "--seed": seed, "--operator": operator}
            options["--profile"] = profile
            given = [w for k, v in options.items() if v is not None for w in (k, str(v))]
            if name == "models" and small:
                given.append("--small")
            _program.run("cases", "generate", name, "-o", str(path), *given)
        elif not Path(name).suffix:
            raise ValueError(f"'{name}' is neither one of {', '.join(KINDS)} nor a file of cases")
        else:
            reader = "from-log" if name.endswith(".log") else "convert"
            _program.run("cases", reader, name, "-o", str(path))
        rows = json.loads(path.read_text())["cases"]
    found = []
    for row in rows:
        words = [row.pop("operator"), *(f"{key}={value}" for key, value in row.items())]
        found.append(Case(" ".join(words)))
    wanted = (operator is None, dtype is None)
    return [
        c
        for c in found
        if (wanted[0] or name in KINDS or c.operator == operator)
        and (wanted[1] or c.dtype == dtype)
    ]
