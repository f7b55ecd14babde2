"""Functions of operators without a module here, made from the library's list."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from . import _core, _deform_conv, _ms_deform_attn, _operators, _roi_align, _upsample
from ._arrays import check_out, describe, kind_of
from ._numbers import choose, extents, factors, is_number, number

Shape = tuple[int, ...]


class Parameter(NamedTuple):
    """A parameter of an operator's function in ``_core``."""

    name: str
    """In this package's spelling."""
    kind: str
    """A kind of ``src/ops/operator_list.h``."""
    parts: tuple[str, ...]
    """Extents by symbol, where ``*`` is any number of axes and O stands before extents of the
    resized side; the words of a mode."""

    @property
    def default(self) -> Any:
        """The value if a caller does not name it; a number has none."""
        if self.kind in ("Mode", "Word"):
            return self.parts[0]
        return {"Flag": False, "Scales": None}.get(self.kind, inspect.Parameter.empty)


class Operator(NamedTuple):
    """An operator of the list."""

    name: str
    parameters: tuple[Parameter, ...]

    def of(self, *kinds: str) -> tuple[Parameter, ...]:
        """The parameters of these kinds, in order."""
        return tuple(p for p in self.parameters if p.kind in kinds)

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """The arrays that are read."""
        return self.of("Input", "Grid")

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        """The arrays that are written."""
        return self.of("Output")

    @property
    def options(self) -> tuple[Parameter, ...]:
        """The parameters that are no arrays."""
        return tuple(p for p in self.parameters if p not in (*self.inputs, *self.outputs))

    def bind(self, shapes: Sequence[Shape], size: Sequence[int] = ()) -> dict[str, Shape]:
        """The value of each symbol, from the inputs' extents and then from ``size``.

        Raises:
            ValueError: an input's rank or the number of values in ``size`` does not fit.

        """
        known: dict[str, Shape] = {}
        for parameter, shape in zip(self.inputs, shapes):
            several = len(shape) - len(parameter.parts) + 1
            if several < 1 or (several > 1 and not parameter.parts[-1].endswith("*")):
                raise ValueError(
                    f"{parameter.name} has shape {list(shape)}, but must be "
                    f"({', '.join(parameter.parts)})"
                )
            for i, symbol in enumerate(parameter.parts):
                known.setdefault(symbol, shape[i:] if symbol.endswith("*") else shape[i : i + 1])
        axes = next((len(known[s]) for s in ("*", "O*") if s in known), 1)
        wanted = self._size_words(axes)
        if len(size) != len(wanted):
            raise ValueError(f"size is {list(size)}, but must be ({', '.join(wanted)})")
        rest = tuple(size)
        for symbol in self.open_symbols:
            count = axes if symbol.endswith("*") else 1
            known[symbol], rest = rest[:count], rest[count:]
        return known

    def _size_words(self, axes: int) -> list[str]:
        """The values of ``size`` for tensors of so many spatial axes: OH, OW."""
        letters = {1: "L", 2: "HW", 3: "DHW"}.get(axes, "?" * axes)
        words: list[str] = []
        for s in self.open_symbols:
            words += [s[:-1] + letter for letter in letters] if s.endswith("*") else [s]
        return words

    def sizes(self, rank: int) -> int:
        """How many values ``size`` has for an input of this rank."""
        return len(self._size_words(max(rank - len(self.inputs[0].parts) + 1, 1)))

    def size(self, shape: Sequence[int], given: Any) -> Shape:
        """The caller's ``size`` for an input of this shape; a single number counts for every axis.

        Raises:
            TypeError: neither a whole number nor a sequence of them.
            ValueError: a value is negative or has more than 63 bits.

        """
        if is_number(given):
            given = [given] * self.sizes(len(shape))
        return extents(
            "size", () if given is None else given, "a whole number, or one for each axis"
        )

    @property
    def open_symbols(self) -> tuple[str, ...]:
        """The symbols of the results' extents that no input has."""
        told = {part for parameter in self.inputs for part in parameter.parts}
        parts = [part for parameter in self.outputs for part in parameter.parts]
        return tuple(dict.fromkeys(p for p in parts if p not in told and not p.isdigit()))

    def shapes(self, known: dict[str, Shape]) -> list[Shape]:
        """The shapes of the results."""
        return [
            tuple(e for p in output.parts for e in ((int(p),) if p.isdigit() else known[p]))
            for output in self.outputs
        ]

    def size_of(self, shape: Sequence[int]) -> Shape:
        """The ``size`` for which the first result has this shape."""
        (output, *_) = self.outputs
        found: Shape = ()
        for i, part in enumerate(output.parts):
            if part in self.open_symbols:
                found += tuple(shape[i:] if part.endswith("*") else shape[i : i + 1])
        return found

    def signature(self, *more: str) -> inspect.Signature:
        """The signature of a function of these arrays; options and ``more`` are keywords."""
        kinds = inspect.Parameter
        names = [*(["size"] if self.open_symbols else []), *more]
        return inspect.Signature(
            [kinds(p.name, kinds.POSITIONAL_OR_KEYWORD) for p in self.inputs]
            + [kinds(p.name, kinds.KEYWORD_ONLY, default=p.default) for p in self.options]
            + [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in names]
        )

    def chosen(self, given: dict[str, Any], axes: int) -> dict[str, Any]:
        """The options as ``_core`` takes them."""
        values: dict[str, Any] = {}
        for option in self.options:
            value = given[option.name]
            if option.kind in ("Mode", "Word"):
                words = {word: i for i, word in enumerate(option.parts)}
                values[option.name] = choose(words, option.name, value)
            elif option.kind == "Flag":
                values[option.name] = bool(value)
            elif option.kind != "Scales":
                values[option.name] = number(option.name, value, option.kind.startswith("Int"))
            else:
                values[option.name] = (*factors(option.name, value, axes), 0.0, 0.0)[:3]
        return values


@lru_cache(maxsize=None)
def operators() -> dict[str, Operator]:
    """Every operator of the list, by its name."""
    return {
        name: Operator(
            name,
            tuple(
                Parameter(
                    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", parameter).lower(),
                    kind,
                    tuple(part for part in re.split(r"[,|]", symbols) if part),
                )
                for parameter, kind, symbols in row
            ),
        )
        for name, row in _core.native_signatures().items()
    }


def without_functions() -> list[Operator]:
    """The operators that no module here describes."""
    modules = (_operators, _upsample, _ms_deform_attn, _roi_align, _deform_conv)
    written = _operators.PADDED.union(*map(vars, modules))
    return [operator for name, operator in operators().items() if name not in written]


def partner(operator: Operator) -> Operator | None:
    """The transpose of an operator that is linear in its one array: ``x_backward`` for ``x``.

    If an operator of one array is not linear, its gradient reads more than one array.
    """
    name = operator.name
    other = operators().get(
        name.removesuffix("_backward") if name.endswith("_backward") else f"{name}_backward"
    )
    pair = [operator] if other is None else [operator, other]
    arrays_of_one = all(len(o.inputs) == len(o.outputs) == 1 and not o.of("Mode") for o in pair)
    return other if arrays_of_one else None


def function_of(operator: Operator) -> Callable[..., Any]:
    """Make the operator's function of arrays of any kind."""
    signature = operator.signature("out")

    def function(*arguments: Any, **options: Any) -> Any:
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        arrays = [given.arguments[p.name] for p in operator.inputs]
        pictures = operator.name == "adaptive_avg_pool"
        described = [describe(array, p.name, pictures) for array, p in zip(arrays, operator.inputs)]
        size = operator.size(described[0][0], given.arguments.get("size"))
        known = operator.bind([shape for shape, _ in described], size)
        wanted = operator.shapes(known)
        kind, out = kind_of(arrays[0]), given.arguments["out"]
        results = [kind.empty(shape, described[0][1]) for shape in wanted] if out is None else out
        if out is not None and len(wanted) == 1:
            results = [out]
        if out is not None:
            for result, shape in zip(results, wanted):
                check_out(result, shape, described[0][1])
        axes = len(known.get("*", known.get("O*", ())))
        chosen = operator.chosen(given.arguments, axes)
        tensors = iter((*arrays, *results))
        getattr(_core, operator.name)(
            *(chosen[p.name] if p.name in chosen else next(tensors) for p in operator.parameters)
        )
        if out is not None:
            return out
        finished = tuple(kind.finish(result) for result in results)
        return finished[0] if len(finished) == 1 else finished

    return named(function, operator, signature, "portacl")


def named(
    function: Callable[..., Any], operator: Operator, signature: inspect.Signature, module: str
) -> Callable[..., Any]:
    """Give the function a name, a signature and a docstring."""
    function.__name__ = function.__qualname__ = operator.name
    function.__module__ = module
    function.__signature__ = signature  # type: ignore[attr-defined]
    arrays = "\n".join(
        f"        {p.name}: ({', '.join(p.parts)}); float16, bfloat16, float32, float64."
        for p in operator.inputs
    )
    function.__doc__ = (
        f"Run the operator ``{operator.name}``. See docs/ops.\n\n    Args:\n{arrays}\n"
    )
    return function


FUNCTIONS = {operator.name: function_of(operator) for operator in without_functions()}
