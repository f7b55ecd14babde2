"""Operators as primitives of JAX: shapes, batches, devices and the custom call of each.

Every array of an operator begins with axes of independent elements. First come the axes that
``vmap`` adds, then the operator's own batch (`batch_axes` axes). The handlers join the axes of
``vmap`` with the first axis of the batch, so one call computes everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from .. import _core
from . import _devices

for _name, _capsule in _core.jax_handlers().items():
    jax.ffi.register_ffi_target(_name, _capsule, platform="cpu")
    if hasattr(jax.ffi, "register_ffi_target_as_batch_partitionable"):
        jax.ffi.register_ffi_target_as_batch_partitionable(_name)

Shape = tuple[int, ...]
Shapes = Callable[..., Sequence[Shape]]
Target = Callable[..., tuple[str, dict[str, Any]]]


@lru_cache(maxsize=512)
def _compiled(primitive: Primitive, parameters: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    return jax.jit(partial(primitive.bind, **dict(parameters)))


class Operator:
    """A primitive that runs as one custom call, or as a function of custom calls."""

    def __init__(
        self, name: str, *, rank: Callable[..., int], batch_axes: Callable[..., int], shapes: Shapes
    ):
        """`rank(**parameters)` is the first array's rank without the axes in front of the batch.

        `shapes(*shapes, **parameters)` are the results' shapes, all without these axes.
        """
        self.primitive = Primitive(f"portacl_{name}")
        self.primitive.multiple_results = True
        self._rank, self._batch_axes, self._shapes = rank, batch_axes, shapes
        self.primitive.def_abstract_eval(self._abstract)
        self.primitive.def_impl(self._run)
        batching.primitive_batchers[self.primitive] = self._batch

    def __call__(self, *arrays: Any, **parameters: Any) -> list[Any]:
        """Bind to arrays that agree on their devices."""
        front = self.front(arrays[0], parameters)
        agreed = _devices.agree(arrays, front + self._batch_axes(**parameters))
        results: list[Any] = self.primitive.bind(*agreed, **parameters)
        return results

    def front(self, array: Any, parameters: dict[str, Any]) -> int:
        """How many axes stand in front of the batch, given the first array."""
        return int(array.ndim - self._rank(**parameters))

    def lowers_to(self, target: Target) -> None:
        """Run as a custom call: `target(**parameters)` gives its name and attributes."""

        def rule(context: Any, *operands: Any, **parameters: Any) -> Any:
            name, attributes = target(**parameters)
            batch = self.front(context.avals_in[0], parameters) + self._batch_axes(**parameters)
            shapes = [[a.shape for a in kinds] for kinds in (context.avals_in, context.avals_out)]
            extra = {}
            if all(isinstance(extent, int) for shape in sum(shapes, []) for extent in shape):
                extra["extra_attributes"] = _devices.batch_rule(*shapes, batch)
            return jax.ffi.ffi_lowering(f"portacl_{name}", **extra)(
                context, *operands, **attributes
            )

        mlir.register_lowering(self.primitive, rule, platform="cpu")

    def lowers_by(self, function: Callable[..., Any]) -> None:
        """Run as a function of arrays that uses other operators."""
        rule = mlir.lower_fun(function, multiple_results=True)
        mlir.register_lowering(self.primitive, rule, platform="cpu")

    def _abstract(self, *kinds: Any, **parameters: Any) -> list[Any]:
        front = self.front(kinds[0], parameters)
        batch = front + self._batch_axes(**parameters)
        shapes = self._shapes(*(kind.shape[front:] for kind in kinds), **parameters)
        ahead = kinds[0].shape[:front]
        return [_devices.result_of(kinds[0], (*ahead, *shape), batch) for shape in shapes]

    def _run(self, *arrays: Any, **parameters: Any) -> list[Any]:
        results: list[Any] = _compiled(self.primitive, tuple(parameters.items()))(*arrays)
        return results

    def _batch(
        self, arrays: Sequence[Any], axes: Sequence[int | None], **parameters: Any
    ) -> tuple[list[Any], list[int]]:
        (size, *_) = (a.shape[axis] for a, axis in zip(arrays, axes) if axis is not None)
        mapped = [
            jnp.broadcast_to(array, (size, *array.shape))
            if axis is None
            else jnp.moveaxis(array, axis, 0)
            for array, axis in zip(arrays, axes)
        ]
        results = self(*mapped, **parameters)
        return results, [0] * len(results)
