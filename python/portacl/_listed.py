"""Functions of operators that no module here describes, made from the library's list."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from . import _core, _deform_conv, _ms_deform_attn, _operators, _roi_align, _upsample
from ._arrays import check_out, describe, kind_of
from ._numbers import choose, extents, factors, number

Shape = tuple[int, ...]


class Parameter(NamedTuple):
    """A parameter of an operator's function in ``_core``."""

    name: str
    """In this package's spelling."""
    kind: str
    """A kind of ``src/ops/kinds.h``."""
    parts: tuple[str, ...]
    """Extents by symbol, where ``*`` is any number of axes and O stands before extents of the
    resized side; the words of a mode."""

    @property
    def default(self) -> Any:
        """What a caller who does not name it gets; a number must be given."""
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
        """All others."""
        return tuple(p for p in self.parameters if p not in (*self.inputs, *self.outputs))

    def bind(self, shapes: Sequence[Shape], size: Sequence[int] = ()) -> dict[str, Shape]:
        """The extents behind each symbol, of the inputs and then of ``size``.

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
        rest = tuple(size)
        for symbol in self.open_symbols:
            count = axes if symbol.endswith("*") else 1
            known[symbol], rest = rest[:count], rest[count:]
            if len(known[symbol]) != count:
                wanted = ", ".join(self.open_symbols)
                raise ValueError(f"size is {list(size)}, but must give {wanted}")
        if rest:
            wanted = ", ".join(self.open_symbols) or "nothing"
            raise ValueError(f"size is {list(size)}, but must give {wanted}")
        return known

    @property
    def open_symbols(self) -> tuple[str, ...]:
        """What of the results' extents the inputs do not tell."""
        told = {part for parameter in self.inputs for part in parameter.parts}
        parts = [part for parameter in self.outputs for part in parameter.parts]
        return tuple(dict.fromkeys(p for p in parts if p not in told and not p.isdigit()))

    def shapes(self, known: dict[str, Shape]) -> list[Shape]:
        """Of the results."""
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
        """Of a function of the arrays; options, and ``more``, by name."""
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
    """Those that no module here describes."""
    modules = (_operators, _upsample, _ms_deform_attn, _roi_align, _deform_conv)
    written = _operators.PADDED.union(*map(vars, modules))
    return [operator for name, operator in operators().items() if name not in written]


def partner(operator: Operator) -> Operator | None:
    """The transpose of an operator that is linear in its one array: of ``x`` it is ``x_backward``.

    Operators of one array that are not linear have a gradient that reads more than one.
    """
    name = operator.name
    other = operators().get(
        name.removesuffix("_backward") if name.endswith("_backward") else f"{name}_backward"
    )
    pair = [operator] if other is None else [operator, other]
    arrays_of_one = all(len(o.inputs) == len(o.outputs) == 1 and not o.of("Mode") for o in pair)
    return other if arrays_of_one else None


def function_of(operator: Operator) -> Callable[..., Any]:
    """Of arrays of any kind."""
    signature = operator.signature("out")

    def function(*arguments: Any, **options: Any) -> Any:
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        arrays = [given.arguments[p.name] for p in operator.inputs]
        pictures = operator.name == "adaptive_avg_pool"
        described = [describe(array, p.name, pictures) for array, p in zip(arrays, operator.inputs)]
        size = extents("size", given.arguments.get("size") or (), "a sequence of ints")
        known = operator.bind([shape for shape, _ in described], size)
        wanted = operator.shapes(known)
        kind, out = kind_of(arrays[0]), given.arguments["out"]
        results = [kind.empty(shape, described[0][1]) for shape in wanted] if out is None else out
        if out is not None and len(wanted) == 1:
            results = [out]
        if out is not None:
            for result, shape in zip(results, wanted):
                check_out(result)
                if describe(result, "out", pictures)[0] != shape:
                    raise ValueError(f"out has another shape than {list(shape)}")
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
    """The function as if it had been written."""
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
