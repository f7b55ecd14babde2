"""Deformable convolution: a custom call with first derivatives in reverse mode."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import jax

from .. import _deform_conv
from .._numbers import flags
from ._detection import _call
from ._functional import _array, _check_same_dtype


class _How(NamedTuple):
    """The arguments that are no arrays."""

    lists: tuple[int, ...]
    """Kernel, stride, padding and dilation, one behind the other."""
    groups: tuple[int, int]

    def numbers(self) -> dict[str, Any]:
        return {"integers": self.groups, "choices": (_deform_conv._PAIRS,), "lists": self.lists}


class _Arrays(NamedTuple):
    """The arrays in the order of the gradients; mask and bias may be None."""

    input: Any
    weight: Any
    offset: Any
    mask: Any
    bias: Any


def _run(
    name: str, arrays: Sequence[Optional[jax.Array]], results: Sequence[Any], how: _How
) -> list[Optional[jax.Array]]:
    """Run an operator of tensors and wanted results; None: not given, not wanted."""
    there = [array for array in arrays if array is not None]
    kinds = [kind for kind in results if kind is not None]
    if not kinds:
        return [None] * len(results)
    count = iter(range(len(there) + len(kinds)))
    tensors = [-1 if one is None else next(count) for one in (*arrays, *results)]
    found = iter(_call(name, there, kinds, tensors, **how.numbers()))
    return [None if kind is None else next(found) for kind in results]


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _convolve(arrays: _Arrays, how: _How) -> jax.Array:
    image, weight, offset, mask, bias = arrays
    shape = (image.shape[0], weight.shape[0], *offset.shape[2:])
    kinds = [(shape, image.dtype), None]
    (output, _) = _run("deform_conv2d", (image, weight, offset, bias, mask), kinds, how)
    assert output is not None
    return output


def _gradients(
    arrays: _Arrays, how: _How, grad: jax.Array, wanted: Sequence[bool]
) -> list[Optional[jax.Array]]:
    """The gradients of the arrays that there are."""
    image, weight, offset, mask, _ = arrays
    kinds = [
        (array.shape, array.dtype) if want and array is not None else None
        for array, want in zip(arrays, wanted)
    ]
    *of_tensors, of_mask, of_bias = kinds
    if of_bias is not None:
        of_bias = (of_bias[0], image.dtype)  # rounded, where the bias is float32 beside 16 bits
    given = (image, grad, None, weight, offset, mask)
    name, kinds = "deform_conv2d_backward", [*of_tensors, of_bias, of_mask]
    *found, bias_grad, mask_grad = _run(name, given, kinds, how)
    if bias_grad is not None:
        bias_grad = bias_grad.astype(arrays.bias.dtype)
    return [*found, mask_grad, bias_grad]


_convolve.defvjp(
    lambda arrays, how: (_convolve(arrays, how), arrays),
    lambda how, kept, grad: (_Arrays(*_gradients(kept, how, grad, [True] * 5)),),
)


def _checked(
    input: Any, offset: Any, weight: Any, bias: Any, steps: Sequence[Any], mask: Any
) -> tuple[_Arrays, _How]:
    given = {"input": input, "weight": weight, "offset": offset, "mask": mask, "bias": bias}
    arrays = {name: None if a is None else _array(a, name) for name, a in given.items()}
    alike = {name: array for name, array in arrays.items() if array is not None}
    if alike["input"].dtype.itemsize == 2 and bias is not None and alike["bias"].dtype == "float32":
        del alike["bias"]
    _check_same_dtype(**alike)
    for name in ("input", "weight", "offset"):
        shape = arrays[name].shape  # type: ignore[union-attr]
        if len(shape) != 4:
            raise ValueError(f"{name} has shape {list(shape)}, but must have 4 axes")
    made = _Arrays(**arrays)
    groups = _deform_conv._groups_of(made.input.shape, made.weight.shape, made.offset.shape)
    kernel = made.weight.shape[2:]
    lists = tuple(n for part in _deform_conv._steps(kernel, *steps) for n in part)
    return made, _How(lists, groups)


def deform_conv2d(
    input: Any,
    offset: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    mask: Any = None,
) -> jax.Array:
    """Convolve samples at moved positions, as ``portacl.deform_conv2d``; all arrays have gradients.

    Args, errors: as ``portacl.deform_conv2d``; a shape that does not fit may stop the computation
    only when it runs. Numbers are static. No second derivatives, no forward mode. The gradient of
    a float32 bias beside 16 bits is rounded to 16 bits.
    """
    arrays, how = _checked(input, offset, weight, bias, (stride, padding, dilation), mask)
    return _convolve(arrays, how)


def deform_conv2d_backward(
    grad_output: Any,
    input: Any,
    offset: Any,
    weight: Any,
    stride: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    mask: Any = None,
    *,
    output_mask: Sequence[bool] = (True, True, True, True, True),
) -> tuple[Optional[jax.Array], ...]:
    """Gradients of ``deform_conv2d`` with respect to input, weight, offset, mask and bias.

    Args, errors: as ``portacl.deform_conv2d_backward``.
    """
    wanted = flags("output_mask", output_mask, 5)
    grad = _array(grad_output, "grad_output")
    arrays, how = _checked(input, offset, weight, None, (stride, padding, dilation), mask)
    _check_same_dtype(grad_output=grad, input=arrays.input)
    bias = jax.ShapeDtypeStruct(arrays.weight.shape[:1], grad.dtype)
    return tuple(_gradients(arrays._replace(bias=bias), how, grad, wanted))
