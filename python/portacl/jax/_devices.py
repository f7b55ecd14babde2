"""Several devices: makes the arrays of one call agree about the devices.

Inside ``jax.shard_map`` JAX knows for each array over which axes of the mesh its values vary. Under
an explicit mesh it knows how each array is split. All arrays of one call must agree in this, and
the functions here make them agree by inserting differentiable operations. The transpose of such an
operation is the sum over devices that the gradient of a shared array needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.interpreters import mlir

_Spec = tuple[Any, ...]
"""The mesh axes that each axis of an array is split over; None: over none."""


def _typeof(array: Any) -> Any:
    return jax.typeof(array) if hasattr(jax, "typeof") else jax.core.get_aval(array)


def _varying(array: Any) -> frozenset[str]:
    """Axes of the mesh over which the values of an array vary."""
    kind = _typeof(array)
    manual = getattr(kind, "manual_axis_type", None)  # from JAX 0.10 on
    if manual is not None:
        return frozenset(manual.varying)
    return frozenset(getattr(kind, "vma", ()) or ())  # from 0.7 on


def _vary_over(array: Any, axes: frozenset[str]) -> Any:
    missing = tuple(sorted(axes - _varying(array)))
    if not missing:
        return array
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(array, missing, to="varying")
    return jax.lax.pvary(array, missing)


def split_of(kind: Any) -> _Spec | None:
    """How an array of this abstract value is split, or None if no mesh says so."""
    sharding = getattr(kind, "sharding", None)
    if sharding is None or getattr(sharding.mesh, "empty", True):
        return None
    return (*sharding.spec, *[None] * kind.ndim)[: kind.ndim]


def _names(part: Any) -> tuple[Any, ...]:
    return part if isinstance(part, tuple) else (part,)


def _common_split(splits: Sequence[_Spec], batch: int) -> _Spec:
    """The split of the first `batch` axes: for each axis, the first split that an array has."""
    common: list[Any] = [None] * batch
    used: set[Any] = set()
    for split in splits:
        for axis, part in enumerate(split[:batch]):
            if part is not None and common[axis] is None and used.isdisjoint(_names(part)):
                common[axis] = part
                used.update(_names(part))
    return tuple(common)


def agree(arrays: Sequence[Any], batch: int) -> tuple[Any, ...]:
    """The same arrays with one set of varying axes and one split along the first `batch` axes.

    No other axis stays split.
    """
    varying = frozenset[str]().union(*map(_varying, arrays))
    arrays = [_vary_over(array, varying) for array in arrays]
    splits = [split_of(_typeof(array)) for array in arrays]
    known = [split for split in splits if split is not None]
    if not any(part is not None for split in known for part in split):
        return tuple(arrays)
    common = _common_split(known, batch)
    mesh = next(_typeof(a).sharding.mesh for a, split in zip(arrays, splits) if split is not None)
    agreed = []
    for array, split in zip(arrays, splits):
        wanted = (*common, *[None] * (array.ndim - batch))
        if split != wanted:
            spec = jax.sharding.PartitionSpec(*wanted)
            array = jax.sharding.reshard(array, jax.sharding.NamedSharding(mesh, spec))
        agreed.append(array)
    return tuple(agreed)


def result_of(kind: Any, shape: Sequence[int], batch: int) -> Any:
    """The abstract value of a result, from the value of an array that agrees with the others."""
    split = split_of(kind)
    if getattr(kind, "sharding", None) is None:
        return kind.update(shape=tuple(shape), weak_type=False)
    spec = (*(split or [None] * batch)[:batch], *[None] * (len(shape) - batch))
    sharding = jax.sharding.NamedSharding(kind.sharding.mesh, jax.sharding.PartitionSpec(*spec))
    return kind.update(shape=tuple(shape), weak_type=False, sharding=sharding)


def batch_rule(
    operands: Sequence[Sequence[int]], results: Sequence[Sequence[int]], batch: int
) -> dict[str, Any]:
    """Attributes with which XLA's partitioners run a call on a device's part of a batch.

    `operands` and `results` are shapes; their first `batch` axes are the batch.
    """
    sizes = list(operands[0][:batch])

    def axes(shape: Sequence[int]) -> str:
        own = range(len(sizes), len(sizes) + len(shape) - batch)
        sizes.extend(shape[batch:])
        return f"[{', '.join(_FACTORS[number] for number in (*range(batch), *own))}]"

    left, right = (", ".join(map(axes, shapes)) for shapes in (operands, results))
    factors = ", ".join(f"{factor}={size}" for factor, size in zip(_FACTORS, sizes))
    rule = f"#sdy.op_sharding_rule<({left})->({right}) {{{factors}}}, custom>"
    return {
        "mhlo.frontend_attributes": mlir.ir_attribute({"num_batch_dims": str(batch)}),
        "sdy.sharding_rule": mlir.ir.Attribute.parse(rule),
    }


_FACTORS = [*"ijklmnopqrstuvwxyz", *(f"z_{number}" for number in range(1, 100))]
"""The names that the rules of XLA's partitioner give to axes."""
