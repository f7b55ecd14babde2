"""The grid sampler in jax.numpy, for derivatives of second and higher order.

The rules are the rules of the kernels: coordinates and sums in float32 at least. At a border a
derivative has two values; the formulas take the kernels' value.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION, CIRCULAR, CONSTANT = range(5)
_CUBIC = -0.75


class Modes(NamedTuple):
    """The arguments of a sampler beside its arrays."""

    axes: int
    """2 of images, 3 of volumes."""
    interpolation: int
    padding: int
    align_corners: bool
    fill: float = 0.0
    """The value of elements outside, with constant padding."""
    outside: float | None = None
    """The value of points outside, if they are replaced."""

    def of_tangent(self) -> Modes:
        """The same for the tangent of an input: values outside do not change."""
        return self._replace(fill=0.0, outside=None if self.outside is None else 0.0)


def _pixels(x: Any, extent: int, align_corners: bool) -> Any:
    return (x + 1) / 2 * (extent - 1) if align_corners else ((x + 1) * extent - 1) / 2


def _clip(x: Any, extent: int) -> Any:
    """Into the image; no slope on the border and outside."""
    last = extent - 1
    return jnp.where(x <= 0, 0, jnp.where(x >= last, last, x)).astype(x.dtype)


def _reflect(x: Any, extent: int, align_corners: bool) -> Any:
    low, span = (0.0, extent - 1) if align_corners else (-0.5, extent)
    if span == 0:
        return jnp.zeros_like(x)
    away = jnp.where(x < low, low - x, x - low)
    flips = jax.lax.stop_gradient(jnp.floor(away / span))
    rest = away - flips * span
    return jnp.where(flips % 2 == 0, rest + low, span - rest + low)


def _pad(x: Any, extent: int, modes: Modes) -> Any:
    if modes.padding in (ZEROS, CONSTANT, CIRCULAR):
        return x
    if modes.padding == REFLECTION:
        x = _reflect(x, extent, modes.align_corners)
    return _clip(x, extent)


def _cubic_weights(t: Any) -> list[Any]:
    a = _CUBIC

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _taps(x: Any, extent: int, modes: Modes) -> list[tuple[Any, Any]]:
    """(index, weight) along one axis; an index outside means 0."""
    x = _pixels(x, extent, modes.align_corners)
    if modes.padding == CIRCULAR:
        whole = jnp.where((x >= -1) & (x < extent), 0, jnp.floor(x / extent))
        x = x - jax.lax.stop_gradient(whole) * extent
    if modes.interpolation == BICUBIC:
        first = jax.lax.stop_gradient(jnp.floor(x))
        weights = _cubic_weights(x - first)
        return [(_pad(first + i - 1, extent, modes), weight) for i, weight in enumerate(weights)]
    x = _pad(x, extent, modes)
    if modes.interpolation == NEAREST:
        return [(jnp.round(x), 1 + 0 * x)]
    first = jax.lax.stop_gradient(jnp.floor(x))
    return [(first, first + 1 - x), (first + 1, x - first)]


def _are_outside(points: Any, extents: Any, modes: Modes) -> Any:
    """Whether points are outside on any axis."""
    edge = 0.0 if modes.align_corners else 0.5
    found = False
    for i, extent in enumerate(reversed(extents)):
        x = _pixels(points[..., i], extent, modes.align_corners)
        found = found | (x < -edge) | (x > extent - 1 + edge)
    return found


def _sample(input: Any, grid: Any, modes: Modes) -> Any:
    kind = jnp.promote_types(input.dtype, jnp.float32)
    extents = input.shape[2:]
    points = grid.astype(kind)
    by_axis = [_taps(points[..., -1 - i], extent, modes) for i, extent in enumerate(extents)]
    flat = input.astype(kind).reshape(*input.shape[:2], prod(extents))
    index, weight = jnp.zeros((1, 1), jnp.int32), jnp.ones((1, 1), kind)
    index, weight = (x.reshape(1, *[1] * (points.ndim - 1)) for x in (index, weight))
    for taps, extent in zip(by_axis, extents):  # all taps in one axis: one gather, quick to compile
        at, of_axis = (jnp.stack(values) for values in zip(*taps))
        if modes.padding == CIRCULAR:
            at = jnp.where(jnp.isfinite(at), at % extent, -1)
        inside = (at >= 0) & (at < extent)
        at, of_axis = jnp.where(inside, at, 0).astype(jnp.int32), jnp.where(inside, of_axis, 0)
        index = (index[:, None] * extent + at[None]).reshape(-1, *at.shape[1:])
        weight = (weight[:, None] * of_axis[None]).reshape(-1, *at.shape[1:])
    values = jax.vmap(lambda planes, i: planes[:, i], (0, 1))(flat, index)  # (N, C, taps, points)
    weights = jnp.moveaxis(weight, 0, 1)[:, None]
    result = (values * weights).sum(2)
    if modes.padding == CONSTANT:  # the weights of all taps have the sum 1
        result = result + modes.fill * (1 - weights.sum(2))
    if modes.outside is not None:
        result = jnp.where(_are_outside(points, extents, modes)[:, None], modes.outside, result)
    return result.astype(input.dtype)


def backward(modes: Modes, mask: tuple[bool, bool]) -> Callable[[Any, Any, Any], list[Any]]:
    """The wanted gradients of (gradient, input, grid)."""

    def gradients(gradient: Any, input: Any, grid: Any) -> list[Any]:
        def values(*moving: Any) -> Any:
            left = iter(moving)
            arrays = [next(left) if is_in else a for a, is_in in zip((input, grid), mask)]
            return _sample(*arrays, modes)

        moving = [array for array, is_in in zip((input, grid), mask) if is_in]
        return list(jax.vjp(values, *moving)[1](gradient))

    return gradients


def tangent(modes: Modes, mask: tuple[bool, bool]) -> Callable[..., list[Any]]:
    """The tangent of the values of (input, grid, *tangents), in a list."""

    def of_values(input: Any, grid: Any, *tangents: Any) -> list[Any]:
        left = iter(tangents)
        arrays = (input, grid)
        every = tuple(next(left) if is_in else jnp.zeros_like(a) for a, is_in in zip(arrays, mask))
        return [jax.jvp(lambda i, g: _sample(i, g, modes), arrays, every)[1]]

    return of_values
