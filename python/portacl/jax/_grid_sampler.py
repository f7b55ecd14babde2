"""Grid samplers as primitives: values, both gradients, and the tangent of the values.

The first order runs in portacl's kernels, in both modes: gradients and tangent are each other's
transpose. Second and higher orders come from the formulas in ``_formulas.py``: there are no kernels
for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad

from . import _formulas
from ._formulas import Modes
from ._primitive import Operator, Shape

Mask = tuple[bool, bool]
"""Which of (input, grid)."""


def _rank(*, modes: Modes, **_: Any) -> int:
    return modes.axes + 2


def _one(**_: Any) -> int:
    return 1


def _sampled(input: Shape, grid: Shape, *tangents: Shape, **_: Any) -> list[Shape]:
    return [(*input[:2], *grid[1:-1])]


def _wanted(gradient: Shape, input: Shape, grid: Shape, *, mask: Mask, modes: Modes) -> list[Shape]:
    return [shape for shape, is_wanted in zip((input, grid), mask) if is_wanted]


def _attributes(modes: Modes) -> dict[str, Any]:
    return {
        "rank": np.int32(modes.axes + 2),
        "interpolation": np.int32(modes.interpolation),
        "padding": np.int32(modes.padding),
        "align_corners": modes.align_corners,
        "fill_value": np.float64(modes.fill),
        "replace_outside": modes.outside is not None,
        "outside_value": np.float64(modes.outside or 0.0),
    }


_BACKWARD_TARGETS = {
    (True, True): "grid_sampler_backward",
    (True, False): "grid_sampler_input_grad",
    (False, True): "grid_sampler_grid_grad",
}

_sample = Operator("grid_sampler", rank=_rank, batch_axes=_one, shapes=_sampled)
_backward = Operator("grid_sampler_backward", rank=_rank, batch_axes=_one, shapes=_wanted)
_tangent = Operator("grid_sampler_tangent", rank=_rank, batch_axes=_one, shapes=_sampled)

_sample.lowers_to(lambda modes: ("grid_sampler", _attributes(modes)))
_backward.lowers_to(lambda modes, mask: (_BACKWARD_TARGETS[mask], _attributes(modes)))


def sample(input: Any, grid: Any, modes: Modes) -> Any:
    """The image's or volume's values at the points of the grid."""
    return _sample(input, grid, modes=modes)[0]


def backward(gradient: Any, input: Any, grid: Any, modes: Modes, mask: Mask) -> list[Any]:
    """The gradients that are wanted, None for another."""
    results = iter(_backward(gradient, input, grid, modes=modes, mask=mask) if any(mask) else ())
    return [next(results) if is_wanted else None for is_wanted in mask]


def tangent(input: Any, grid: Any, tangents: Sequence[Any], modes: Modes) -> Any:
    """The tangent of the values from the tangents of (input, grid); None: no tangent."""
    known = [t for t in tangents if t is not None]
    mask = (tangents[0] is not None, tangents[1] is not None)
    return _tangent(input, grid, *known, modes=modes, mask=mask)[0]


def _by_mask(mask: Mask, values: Sequence[Any]) -> list[Any]:
    left = iter(values)
    return [next(left) if is_there else None for is_there in mask]


def _tangent_by_calls(input: Any, grid: Any, *tangents: Any, modes: Modes, mask: Mask) -> list[Any]:
    """Linear in the input's tangent; for the grid's tangent by the slopes of each channel."""
    of_input, of_grid = _by_mask(mask, tangents)
    terms = []
    if of_input is not None:
        terms.append(sample(of_input, grid, modes.of_tangent()))
    if of_grid is not None:
        channels = input.ndim - modes.axes - 1
        ones = jnp.ones_like(jnp.expand_dims(grid[..., 0], channels))

        def slopes(plane: Any) -> Any:  # of one channel: the gradient of a grid is a sum over them
            plane = jnp.expand_dims(plane, channels)
            return backward(ones, plane, grid, modes, (False, True))[1]

        by_channel = jax.vmap(slopes, in_axes=channels, out_axes=channels)(input)
        terms.append((by_channel * jnp.expand_dims(of_grid, channels)).sum(-1))
    return [terms[0] if len(terms) == 1 else terms[0] + terms[1]]


_tangent.lowers_by(_tangent_by_calls)


# ---- derivatives


def _known(tangent: Any) -> Any:
    return None if isinstance(tangent, ad.Zero) else tangent


def _derivative(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], front: int
) -> Any:
    """The tangent of a formula, with respect to the primals that have one (not None)."""
    moving = [i for i, tangent in enumerate(tangents) if tangent is not None]

    def of_moving(*values: Any) -> Any:
        every = list(primals)
        for i, value in zip(moving, values):
            every[i] = value
        mapped = function
        for _ in range(front):
            mapped = jax.vmap(mapped)
        return mapped(*every)

    at = tuple(primals[i] for i in moving)
    return jax.jvp(of_moving, at, tuple(tangents[i] for i in moving))[1]


def _sample_jvp(primals: Any, tangents: Any, *, modes: Modes) -> tuple[list[Any], list[Any]]:
    values = sample(*primals, modes)
    known = [_known(t) for t in tangents]
    if all(k is None for k in known):
        return [values], [ad.Zero.from_primal_value(values)]
    return [values], [tangent(*primals, known, modes)]


def _sample_transpose(cotangents: Any, input: Any, grid: Any, *, modes: Modes) -> list[Any]:
    """Linear in the input."""
    (cotangent,) = cotangents
    if isinstance(cotangent, ad.Zero):
        return [None, None]
    anywhere = jnp.zeros(input.aval.shape, input.aval.dtype)  # only its shape counts
    return [*backward(cotangent, anywhere, grid, modes, (True, False))]


def _sum_of_terms(terms: Sequence[Sequence[Any]]) -> list[Any]:
    return [term[0] if len(term) == 1 else term[0] + term[1] for term in zip(*terms)]


def _backward_jvp(
    primals: Any, tangents: Any, *, modes: Modes, mask: Mask
) -> tuple[list[Any], list[Any]]:
    gradients = _backward(*primals, modes=modes, mask=mask)
    of_gradient, *others = (_known(t) for t in tangents)
    if mask == (True, False):
        others[0] = None  # the input's gradient does not depend on the input
    terms = []
    if of_gradient is not None:
        terms.append(_backward(of_gradient, *primals[1:], modes=modes, mask=mask))
    if any(t is not None for t in others):
        front = _backward.front(primals[0], {"modes": modes})
        formula = _formulas.backward(modes, mask)
        terms.append(_derivative(formula, primals, [None, *others], front))
    if not terms:
        return gradients, [ad.Zero.from_primal_value(gradient) for gradient in gradients]
    return gradients, _sum_of_terms(terms)


def _backward_transpose(
    cotangents: Any, gradient: Any, input: Any, grid: Any, *, modes: Modes, mask: Mask
) -> list[Any]:
    """Linear in the gradient; the grid's gradient is linear in the input as well."""
    known = _by_mask(mask, [_known(c) for c in cotangents])
    if all(k is None for k in known):
        return [None, None, None]
    if ad.is_undefined_primal(gradient):
        return [tangent(input, grid, known, modes), None, None]
    front = _backward.front(gradient, {"modes": modes})
    like = jax.ShapeDtypeStruct(input.aval.shape, input.aval.dtype)

    def of_input(input: Any) -> Any:
        formula = _formulas.backward(modes, mask)
        for _ in range(front):
            formula = jax.vmap(formula)
        return formula(gradient, input, grid)

    return [None, *jax.linear_transpose(of_input, like)([known[1]]), None]


def _tangent_jvp(
    primals: Any, tangents: Any, *, modes: Modes, mask: Mask
) -> tuple[list[Any], list[Any]]:
    input, grid, *directions = primals
    values = _tangent(*primals, modes=modes, mask=mask)
    of_input, of_grid, *of_directions = (_known(t) for t in tangents)
    if not mask[1]:
        of_input = None  # linear in the input's tangent, whatever the input
    terms = []
    if any(t is not None for t in of_directions):
        terms.append([tangent(input, grid, _by_mask(mask, of_directions), modes)])
    if of_input is not None or of_grid is not None:
        front = _tangent.front(input, {"modes": modes})
        moving = [of_input, of_grid, *[None] * len(directions)]
        terms.append(_derivative(_formulas.tangent(modes, mask), primals, moving, front))
    if not terms:
        return values, [ad.Zero.from_primal_value(value) for value in values]
    return values, _sum_of_terms(terms)


def _tangent_transpose(
    cotangents: Any, input: Any, grid: Any, *tangents: Any, modes: Modes, mask: Mask
) -> list[Any]:
    """Linear in all tangents together."""
    (cotangent,) = cotangents
    undefined = [ad.is_undefined_primal(t) for t in tangents]
    if isinstance(cotangent, ad.Zero):
        return [None] * (2 + len(tangents))
    there = [is_there and undefined.pop(0) for is_there in mask]
    found = backward(cotangent, input, grid, modes, (there[0], there[1]))
    return [None, None, *(f for f, is_there in zip(found, mask) if is_there)]


for _operator, _jvp, _transpose in (
    (_sample, _sample_jvp, _sample_transpose),
    (_backward, _backward_jvp, _backward_transpose),
    (_tangent, _tangent_jvp, _tangent_transpose),
):
    ad.primitive_jvps[_operator.primitive] = _jvp
    ad.primitive_transposes[_operator.primitive] = _transpose
