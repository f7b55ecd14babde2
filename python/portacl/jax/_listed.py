"""Functions of linear operators without a module here, with their transposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from .. import _listed
from ._functional import _apply, _array


def function_of(operator: _listed.Operator) -> Callable[..., jax.Array]:
    """Make the operator's function of JAX's arrays, with derivatives of every order."""
    signature = operator.signature()
    (source,), (result,) = operator.inputs, operator.outputs
    # The first axes of both are treated one by one.
    same = [o == t and o in ("N", "C") for o, t in zip(source.parts, result.parts)]
    shared = [*same, False].index(False)
    back = operator.name.endswith("_backward")

    def function(*arguments: Any, **options: Any) -> jax.Array:
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        array = _array(given.arguments[source.name], source.name)
        size = operator.size(array.shape, given.arguments.get("size"))
        known = operator.bind([array.shape], size)
        axes = len(known.get("*", known.get("O*", ())))
        chosen = operator.chosen(given.arguments, axes)
        flags = [chosen[p.name] for p in operator.of("Flag")]
        how = {"align_corners": flags[0]} if flags else {}
        if len(flags) > 1:
            how["antialias"] = flags[1]
        for scales in operator.of("Scales"):
            how["scales"] = chosen[scales.name]
        name = operator.name.removesuffix("_backward")
        shape = operator.shapes(known)[0]
        return _apply(name, array, shape, back=back, batch_axes=shared, **how)

    return _listed.named(function, operator, signature, "portacl.jax")


LISTED = {
    operator.name: function_of(operator)
    for operator in _listed.without_functions()
    if _listed.partner(operator) is not None
}
