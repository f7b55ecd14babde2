"""Linear operators: pairs of custom calls, each the other's transpose."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from jax.interpreters import ad

from ._primitive import Operator, Shape


class Map(NamedTuple):
    """A linear map from arrays of one shape to arrays of another, without axes of ``vmap``."""

    target: str
    """The handler's name, without the prefix."""
    transpose: str
    source: Shape
    shape: Shape
    batch_axes: int = 2
    """How many of the first axes of both shapes are treated one by one."""
    scales: tuple[float, float, float] = (0.0, 0.0, 0.0)
    align_corners: bool = False
    antialias: bool = False

    def transposed(self) -> Map:
        """The map that takes cotangents back."""
        return self._replace(
            target=self.transpose, transpose=self.target, source=self.shape, shape=self.source
        )


_apply = Operator(
    "linear",
    rank=lambda map: len(map.source),
    batch_axes=lambda map: map.batch_axes,
    shapes=lambda _, map: [map.shape],
)


def _call(map: Map) -> tuple[str, dict[str, Any]]:
    """All handlers of linear maps take the same attributes."""
    return map.target, {
        "rank": np.int32(len(map.source)),
        "result_rank": np.int32(len(map.shape)),
        "scales": np.array(map.scales, np.float64),
        "align_corners": map.align_corners,
        "antialias": map.antialias,
    }


_apply.lowers_to(_call)


def apply(map: Map, array: jax.Array) -> jax.Array:
    """The map's image of an array; differentiable any number of times, in both modes."""
    result: jax.Array = _apply(array, map=map)[0]
    return result


def _jvp(primals: Any, tangents: Any, *, map: Map) -> tuple[list[Any], list[Any]]:
    (tangent,) = tangents
    result = apply(map, primals[0])
    if isinstance(tangent, ad.Zero):
        return [result], [ad.Zero.from_primal_value(result)]
    return [result], [apply(map, tangent)]


def _transpose(cotangents: Any, array: Any, *, map: Map) -> list[Any]:
    (cotangent,) = cotangents
    if isinstance(cotangent, ad.Zero):
        return [None]
    return [apply(map.transposed(), cotangent)]


ad.primitive_jvps[_apply.primitive] = _jvp
ad.primitive_transposes[_apply.primitive] = _transpose
