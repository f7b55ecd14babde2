"""Sizes, factors and names from callers: numbers of any library; refusals in our words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, isfinite
from operator import index
from typing import Any

_LARGEST = 2**63 - 1
# They can be iterated over, but not as one value for each axis.
_NO_SEQUENCES = (str, bytes, dict, set, frozenset)


def shown(value: Any) -> str:
    """A caller's value as text, cut if it is long: numbers can have thousands of digits."""
    try:
        text = repr(value)
    except ValueError:  # CPython writes no integer of more than 4300
        return "a number of thousands of digits"
    return text if len(text) <= 200 else f"{text[:60]}...{text[-20:]}"


def choose(choices: dict[str, int], name: str, value: Any) -> int:
    """The number behind a mode's name.

    Raises:
        ValueError: it is none of them.

    """
    try:
        return choices[value]
    except (KeyError, TypeError):
        names = ", ".join(map(repr, choices))
        raise ValueError(f"{name} is {shown(value)}, but must be one of {names}") from None


def is_number(value: Any) -> bool:
    """Whether a value is one number: of Python or NumPy, or an array or tensor without axes."""
    if isinstance(value, (str, bytes)):
        return False
    if getattr(value, "ndim", None) == 0:
        return True
    return hasattr(value, "__float__") and not hasattr(value, "__len__")


def number(name: str, value: Any, whole: bool) -> float:
    """One number of any library, a whole one if ``whole`` says so.

    Raises:
        TypeError: anything else.

    """
    try:
        if is_number(value):
            return index(value) if whole else float(value)
    except TypeError:
        pass
    raise TypeError(f"{name} is {shown(value)}, but must be a {'whole ' if whole else ''}number")


def flag(name: str, value: Any) -> bool:
    """A bool of any library, or a number for one; None is False.

    Raises:
        TypeError: anything else, which Python would take for true if it is not empty.

    """
    if value is not None and not is_number(value):
        raise TypeError(f"{name} is {shown(value)}, but must be True or False")
    return bool(value)


EXACT = {"pytorch": 0, "pillow": 13, "pillow<13": 12}
"""Whose bits a resized picture has, and the value of antialias that asks for them."""


def resize_flags(align_corners: Any, antialias: Any, exact: str = "pytorch") -> tuple[bool, int]:
    """Both flags of weighted resizing, in the operators' order.

    Raises:
        ValueError: ``exact`` is unknown.

    """
    pillow = choose(EXACT, "exact", exact)
    return flag("align_corners", align_corners), pillow or flag("antialias", antialias)


def check_exact(
    exact: str, shape: Sequence[int], dtype: str, align_corners: Any, name: str = "input"
) -> None:
    """Refuse calls for which Pillow has no bits.

    Raises:
        ValueError: Pillow's bits of anything but a picture in uint8, or with aligned corners.

    """
    if exact == "pytorch":
        return
    if dtype != "uint8" or len(shape) != 4:
        raise ValueError(
            f"exact is {exact!r}, which is for pictures (N, C, H, W) of uint8, but {name} has "
            f"shape {list(shape)} and dtype {dtype}"
        )
    if align_corners:
        raise ValueError(f"align_corners is True, but must be False with exact={exact!r}")


def per_axis(value: Any, axes: int) -> list[Any]:
    """One value for each axis; a single number counts for all.

    Raises:
        TypeError: it is neither a number nor a sequence.

    """
    if is_number(value):
        return [value] * axes
    if isinstance(value, _NO_SEQUENCES):
        raise TypeError(value)
    return list(value)


def extents(name: str, values: Iterable[Any], wanted: str) -> tuple[int, ...]:
    """Integers of any library, of at most 63 bits.

    Raises:
        TypeError: no sequence, or a value in it is no integer.
        ValueError: a value is negative or has more than 63 bits.

    """
    try:
        if isinstance(values, _NO_SEQUENCES):
            raise TypeError(values)
        found = tuple(index(value) for value in values)
    except TypeError:
        raise TypeError(f"{name} is {shown(values)}; wanted {wanted}") from None
    for value in found:
        if not 0 <= value <= _LARGEST:
            raise ValueError(f"{name} is {shown(list(found))}, but extents must be 0 to 2**63 - 1")
    return found


def factor(name: str, value: Any) -> float:
    """A finite float64.

    Raises:
        TypeError: it is no number.
        ValueError: it is infinite, NaN or out of float64's range.

    """
    wanted = "must be finite numbers"
    if not is_number(value):
        raise TypeError(f"{name} has {shown(value)}, but its values {wanted}")
    try:
        number = float(value)
    except TypeError:  # traced by JAX: it has no value yet
        raise TypeError(f"{name} has {shown(value)}, but its values {wanted}") from None
    except OverflowError:
        raise ValueError(f"{name} has a value that is no float64, but they {wanted}") from None
    if not isfinite(number):
        raise ValueError(f"{name} has {number}, but its values {wanted}")
    return number


def factors(name: str, values: Any, axes: int) -> tuple[float, ...]:
    """One factor for each spatial axis; None, alone or as an element, is 0: the sizes decide.

    Raises:
        TypeError: not a number, None, or a sequence of such.
        ValueError: too few or too many, or not finite.

    """
    if values is None:
        return (0.0,) * axes
    try:
        found = per_axis(values, axes)
    except TypeError:
        raise TypeError(
            f"{name} is {shown(values)}; wanted a number, or one (or None) for each spatial axis"
        ) from None
    if len(found) != axes:
        raise ValueError(f"{name} has {len(found)} values, but there are {axes} spatial axes")
    return tuple(0.0 if value is None else factor(name, value) for value in found)


def scaled(shape: Sequence[int], by: Sequence[float], name: str) -> tuple[int, ...]:
    """``floor(extent * factor)`` for each axis.

    Raises:
        ValueError: an extent that 63 bits cannot hold.

    """
    return extents(
        f"what {name} make of {list(shape)}",
        [floor(extent * f) for extent, f in zip(shape, by)],
        "integers",
    )


def flags(name: str, values: Any, count: int) -> tuple[bool, ...]:
    """Bools for each result.

    Raises:
        TypeError: no sequence.
        ValueError: another number of values.

    """
    try:
        found = tuple(bool(value) for value in values)
    except TypeError:
        raise TypeError(f"{name} is {shown(values)}; wanted {count} bools") from None
    if len(found) != count:
        raise ValueError(f"{name} has {len(found)} values, but must have {count}")
    return found
