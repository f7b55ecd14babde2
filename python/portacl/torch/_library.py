"""The custom operators ``torch.ops.portacl.*``: schemas, shapes for compilers, derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Optional

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad

from .. import _core, _listed
from .._arrays import check_tensor
from .._numbers import is_number
from .._operators import INTERPOLATIONS, PADDINGS
from . import _deform_conv, _kernels, _ms_deform_attn, _roi_align
from ._results import empty, memory_format_like

_TAGS = (torch.Tag.pt2_compliant_tag,)
_MODES = "int interpolation_mode, int padding_mode, bool align_corners"

_DEVICES = ("cpu", "cuda")

_OUTSIDE = ", float fill_value, bool replace_outside, float outside_value"

for _stem in _kernels.GRID_SAMPLERS:
    _modes = _MODES + (_OUTSIDE if _stem.endswith("_padded") else "")
    torch.library.define(
        f"portacl::{_stem}", f"(Tensor input, Tensor grid, {_modes}) -> Tensor", tags=_TAGS
    )
    torch.library.define(
        f"portacl::{_stem}_backward",
        f"(Tensor grad_output, Tensor input, Tensor grid, {_modes}, bool[2] output_mask)"
        " -> (Tensor, Tensor)",
        tags=_TAGS,
    )
_RESIZE_MODES = {
    "upsample_nearest_exact": "",
    "upsample_nearest": "",
    "upsample_linear": ", bool align_corners, bool antialias",
    "upsample_cubic": ", bool align_corners, bool antialias",
    "upsample_lanczos": ", bool align_corners, bool antialias",
}
for _name, _modes in _RESIZE_MODES.items():
    torch.library.define(
        f"portacl::{_name}",
        f"(Tensor input, SymInt[] output_size, float[]? scales{_modes}) -> Tensor",
        tags=_TAGS,
    )
    torch.library.define(
        f"portacl::{_name}_backward",
        f"(Tensor grad_output, SymInt[] input_size, float[]? scales{_modes}) -> Tensor",
        tags=_TAGS,
    )
torch.library.define(
    "portacl::resize_as_pillow",
    "(Tensor input, SymInt[] output_size, str kernel, int release) -> Tensor",
    tags=_TAGS,
)
torch.library.define(
    "portacl::affine_grid",
    "(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
    tags=_TAGS,
)
torch.library.define(
    "portacl::affine_grid_backward",
    "(Tensor grid_grad, SymInt[] size, bool align_corners) -> Tensor",
    tags=_TAGS,
)

for _name, _schema in (_ms_deform_attn.SCHEMAS | _roi_align.SCHEMAS | _deform_conv.SCHEMAS).items():
    torch.library.define(f"portacl::{_name}", _schema, tags=_TAGS)

ops = torch.ops.portacl


def _grid_sampler_backward(
    kernel: Callable[..., _kernels.Results],
    grad_output: torch.Tensor,
    input: torch.Tensor,
    grid: torch.Tensor,
    *rest: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    input_grad, grid_grad = kernel(grad_output, input, grid, *rest)
    # The schema has no optional results: an empty tensor stands for one that is left out.
    return (
        input.new_empty(0) if input_grad is None else input_grad,
        grid.new_empty(0) if grid_grad is None else grid_grad,
    )


def _like(source: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """A result in the memory format of its source."""
    memory_format = memory_format_like(source)
    return torch.empty(shape, dtype=source.dtype, device=source.device, memory_format=memory_format)


def _fake_grid_sampler(input: torch.Tensor, grid: torch.Tensor, *modes: Any) -> torch.Tensor:
    return input.new_empty((*input.shape[:2], *grid.shape[1:-1]))


def _fake_grid_sampler_backward(
    grad_output: torch.Tensor,
    input: torch.Tensor,
    grid: torch.Tensor,
    *modes_and_mask: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    output_mask = modes_and_mask[-1]
    return (
        input.new_empty(input.shape if output_mask[0] else 0),
        grid.new_empty(grid.shape if output_mask[1] else 0),
    )


def _setup_grid(ctx: Any, inputs: Any, output: Any) -> None:
    input, grid, *ctx.modes = inputs
    ctx.save_for_backward(input, grid)


def _grid_gradients(
    backward: Callable[..., Any], ctx: Any, grad_output: torch.Tensor
) -> tuple[Optional[torch.Tensor], ...]:
    input, grid = ctx.saved_tensors
    mask = list(ctx.needs_input_grad[:2])
    gradients = backward(grad_output, input, grid, *ctx.modes, mask)
    found = [g if wanted else None for g, wanted in zip(gradients, mask)]
    return (*found, *[None] * len(ctx.modes))


def _setup_grid_backward(ctx: Any, inputs: Any, output: Any) -> None:
    *ctx.modes, ctx.mask = inputs[3:]
    ctx.save_for_backward(*inputs[:3])


def _grid_second_order(
    first_order: Callable[..., Any], ctx: Any, *grads: torch.Tensor
) -> tuple[Optional[torch.Tensor], ...]:
    """Second derivatives by PyTorch's formulas; ``first_order`` calls PyTorch's backward."""
    create_graph = torch.is_grad_enabled()
    wanted = ctx.needs_input_grad[:3]
    with torch.enable_grad():
        # Views, so that the graph goes on to the caller's tensors if a third order is asked for.
        tensors = [t.view_as(t) if t.requires_grad else t.detach() for t in ctx.saved_tensors]
        gradients = first_order(*tensors, *ctx.modes, ctx.mask)
        used = [i for i in range(2) if ctx.mask[i]]
        found = torch.autograd.grad(
            [gradients[i] for i in used],
            [t for t, is_wanted in zip(tensors, wanted) if is_wanted],
            [grads[i] for i in used],
            create_graph=create_graph,
            allow_unused=True,
        )
    results = iter(found)
    nothing = [None] * (len(ctx.modes) + 1)
    return (*(next(results) if is_wanted else None for is_wanted in wanted), *nothing)


_FRAME = 2  # the farthest tap of a point between two pixels of the image


def _framed(
    input: torch.Tensor, pixels: torch.Tensor, rounds: bool
) -> tuple[torch.Tensor, torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
    """A repeating image as an image with a frame of its own pixels, and the points in it.

    Returns the framed image, its points, and the function that takes a gradient of the framed image
    to the image.
    """
    extents = pixels.new_tensor(input.shape[:1:-1])
    turns = (pixels.detach() / extents).floor()
    near = (pixels >= -1) & (pixels < extents)
    pixels = pixels - (turns * extents).masked_fill(near, 0)
    if rounds:
        pixels = pixels.round()  # halves to even, which the way through the points might not keep
    framed_extents = extents + 2 * _FRAME
    # The way through the points rounds, but must not take a point to the other side of a pixel.
    fractions = (pixels - pixels.floor()).detach()
    margin = torch.finfo(pixels.dtype).eps * framed_extents
    pixels = pixels + (fractions.clamp(margin, 1 - margin) - fractions)
    points = (2 * (pixels + _FRAME) + 1) / framed_extents - 1
    indices = []
    for axis in range(2, input.dim()):
        extent = input.shape[axis]
        index = torch.arange(-_FRAME, extent + _FRAME, device=input.device) % extent
        indices.append((axis, extent, index))
        input = input.index_select(axis, index)

    def fold(gradient: torch.Tensor) -> torch.Tensor:
        for axis, extent, index in indices:
            zeros = torch.zeros_like(gradient.narrow(axis, 0, extent))
            gradient = zeros.index_add(axis, index, gradient)
        return gradient

    return input, points, fold


def _at_edge(pixels: torch.Tensor, extents: torch.Tensor, mode: int) -> torch.Tensor:
    """Whether points have taps inside the image and outside."""
    reach = 1 if mode == INTERPOLATIONS["bicubic"] else 0
    first = pixels.floor() - reach
    last = first + 2 * reach + 1
    inside = ((first >= 0) & (last < extents)).all(-1)
    return ((last >= 0) & (first < extents)).all(-1) & ~inside


def _padded_gradients(
    torchs_backward: Callable[..., Any],
    grad_output: torch.Tensor,
    input: torch.Tensor,
    grid: torch.Tensor,
    *modes_and_mask: Any,
) -> Sequence[Optional[torch.Tensor]]:
    """Gradients for every padding by PyTorch's operator, which has a derivative."""
    mode, padding, align_corners, fill, replaces_outside, _, mask = modes_and_mask
    dtype = input.dtype
    wide = torch.promote_types(dtype, torch.float32)
    grad_output, input, grid = (t.to(wide) for t in (grad_output, input, grid))
    extents = grid.new_tensor(input.shape[:1:-1])
    pixels = (grid + 1) / 2 * (extents - 1) if align_corners else ((grid + 1) * extents - 1) / 2
    pixels = torch.where(grid.isinf(), grid, pixels)
    edge = (0 if align_corners else 0.5) if replaces_outside else math.inf
    outside = ((pixels < -edge) | (pixels > extents - 1 + edge)).any(-1)
    grad_output = grad_output.masked_fill(outside.unsqueeze(1), 0)
    nearest = mode == INTERPOLATIONS["nearest"]
    if padding == PADDINGS["circular"]:
        framed, points, fold = _framed(input, pixels, nearest)
        slopes = (extents - 1 if align_corners else extents) / (extents + 2 * _FRAME)
        of_frame, of_points = torchs_backward(grad_output, framed, points, mode, 0, False, mask)
        found: list[Any] = [
            fold(of_frame) if mask[0] else None,
            of_points * slopes if mask[1] else None,
        ]
    elif padding == PADDINGS["constant"]:
        modes = mode, PADDINGS["zeros"], align_corners
        found = [*torchs_backward(grad_output, input, grid, *modes, mask)]
        if mask[1] and not nearest:
            # Adds the fill times (1 - the weights inside). Points that are all inside ignore the
            # fill, even NaN.
            sums = grad_output.sum(1, keepdim=True)
            ones = torch.ones_like(input[:, :1])
            of_weights = torchs_backward(sums, ones, grid, *modes, [False, True])[1]
            counts = _at_edge(pixels, extents, mode) & ~outside
            fills = torch.where(counts, grid.new_tensor(fill), 0)
            found[1] = found[1] - fills.unsqueeze(-1) * of_weights
    else:
        found = [*torchs_backward(grad_output, input, grid, mode, padding, align_corners, mask)]
    return [g.to(dtype) if wanted else None for g, wanted in zip(found, mask)]


class _Library(torch.library.Library):
    """Adds forward mode, which ``register_autograd`` does not support."""

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
        if dispatch_key == "Autograd":
            fn = partial(_with_tangents, op_name, fn)
        return super().impl(op_name, fn, dispatch_key, **options)


_library = _Library("portacl", "FRAGMENT")

Tangents = list[Optional[torch.Tensor]]
"""A tangent for each argument; None: the argument has no tangent."""

_TANGENT_RULES: dict[str, Callable[[Sequence[Any], Tangents], torch.Tensor]] = {}
"""The tangent of an operator's result, from its arguments and theirs."""


def _with_tangents(name: str, kernel: Callable[..., Any], keyset: Any, *arguments: Any) -> Any:
    """The autograd kernel: tangents are passed on or refused, never dropped silently."""
    # Outside forward mode. If compiled code runs jvp, only the second of the two knows.
    if forward_ad._current_level < 0 and peek_interpreter_stack() is None:
        return kernel(keyset, *arguments)
    primals = list(arguments)
    tangents: Tangents = [None] * len(arguments)
    for i, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor):
            dual = forward_ad.unpack_dual(argument, level=0)  # no other level can be entered
            if dual.tangent is not None:
                primals[i], tangents[i] = dual
    if all(tangent is None for tangent in tangents):
        return kernel(keyset, *arguments)
    tangent = _TANGENT_RULES[name](primals, tangents)
    return forward_ad.make_dual(kernel(keyset, *primals), tangent, level=0)


def _linear_tangent(operator: Any, primals: Sequence[Any], tangents: Tangents) -> torch.Tensor:
    """The tangent of an operator that is linear in its first argument."""
    result: torch.Tensor = operator(tangents[0], *primals[1:])
    return result


def _grid_tangent(stem: str, primals: Sequence[Any], tangents: Tangents) -> torch.Tensor:
    """Linear in the input, except values outside; for the grid by the slopes of each channel."""
    input, grid, *modes = primals
    sampler, backward = (getattr(ops, f"{stem}{end}") for end in ("", "_backward"))
    if torch.is_grad_enabled() and any(t.requires_grad for t in (input, grid)):
        # The tensors that backward would save have no tangents: its tangent would be wrong.
        raise NotImplementedError(
            f"portacl::{stem} has no forward mode where an argument requires grad: "
            f"detach it, or use torch.nn.functional.grid_sample under portacl.torch.enable(), for "
            f"which newer releases of PyTorch have it"
        )
    terms: list[torch.Tensor] = []
    if tangents[0] is not None:
        values = modes[3:] and [0.0, modes[4], 0.0]
        terms.append(sampler(tangents[0], grid, *modes[:3], *values))
    if tangents[1] is not None:
        # The gradient of a grid is a sum over channels: each becomes an image of its own.
        images = input.flatten(0, 1).unsqueeze(1)
        grids = grid.repeat_interleave(input.shape[1], 0)
        ones = input.new_ones((images.shape[0], 1, *grid.shape[1:-1]))
        _, slopes = backward(ones, images, grids, *modes, [False, True])
        slopes = slopes.unflatten(0, input.shape[:2])
        terms.append((slopes * tangents[1].unsqueeze(1)).sum(-1))
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


def _refused_tangent(stem: str, primals: Sequence[Any], tangents: Tangents) -> torch.Tensor:
    raise NotImplementedError(
        f"portacl::{stem}_backward has no forward mode, as PyTorch's own has none: "
        f"take second derivatives in reverse mode alone, with torch.nn.functional.grid_sample "
        f"under portacl.torch.enable() where torch.func takes them"
    )


def _register_grid_sampler(stem: str) -> None:
    """Kernels, shapes for compilers and derivatives of both directions."""
    forward, backward = f"portacl::{stem}", f"portacl::{stem}_backward"
    torch.library.impl(forward, _DEVICES, _kernels.GRID_SAMPLERS[stem])
    torch.library.impl(
        backward, _DEVICES, partial(_grid_sampler_backward, _kernels.GRID_SAMPLERS_BACKWARD[stem])
    )
    torch.library.register_fake(forward, _fake_grid_sampler)
    torch.library.register_fake(backward, _fake_grid_sampler_backward)
    # Like PyTorch's grid_sampler: coordinates need float32 even if autocast asks for less.
    for device in _DEVICES:
        torch.library.register_autocast(forward, device, torch.float32)
    torch.library.register_autograd(
        forward,
        partial(_grid_gradients, getattr(ops, f"{stem}_backward")),
        setup_context=_setup_grid,
        lib=_library,
    )
    plain = stem.removesuffix("_padded")
    first_order: Callable[..., Any] = getattr(torch.ops.aten, f"{plain}_backward")
    if plain != stem:
        first_order = partial(_padded_gradients, first_order)
    torch.library.register_autograd(
        backward,
        partial(_grid_second_order, first_order),
        setup_context=_setup_grid_backward,
        lib=_library,
    )
    _TANGENT_RULES[stem] = partial(_grid_tangent, stem)
    _TANGENT_RULES[f"{stem}_backward"] = partial(_refused_tangent, stem)


for _stem in _kernels.GRID_SAMPLERS:
    _register_grid_sampler(_stem)


def _fake_resize(input: torch.Tensor, output_size: Sequence[int], *rest: Any) -> torch.Tensor:
    return _like(input, (*input.shape[:2], *output_size))


def _fake_resize_backward(
    grad_output: torch.Tensor, input_size: Sequence[int], *rest: Any
) -> torch.Tensor:
    return _like(grad_output, input_size)


def _setup_resize(ctx: Any, inputs: Any, output: Any) -> None:
    source, _, *ctx.rest = inputs
    ctx.source_size = source.shape


def _nothing(rest: Sequence[Any]) -> list[None]:
    return [None] * (len(rest) + 1)


def _resize_gradient(
    backward: Any, ctx: Any, grad_output: torch.Tensor
) -> tuple[Optional[torch.Tensor], ...]:
    return backward(grad_output, ctx.source_size, *ctx.rest), *_nothing(ctx.rest)


def _resize_second_order(
    forward: Any, ctx: Any, grad: torch.Tensor
) -> tuple[Optional[torch.Tensor], ...]:
    return forward(grad, ctx.source_size[2:], *ctx.rest), *_nothing(ctx.rest)


def _fake_affine_grid(theta: torch.Tensor, size: Sequence[int], *rest: Any) -> torch.Tensor:
    return theta.new_empty((size[0], *size[2:], len(size) - 2))


def _fake_affine_grid_backward(
    grid_grad: torch.Tensor, size: Sequence[int], *rest: Any
) -> torch.Tensor:
    axes = len(size) - 2
    return grid_grad.new_empty((size[0], axes, axes + 1))


def _setup_affine_grid(ctx: Any, inputs: Any, output: Any) -> None:
    _, *ctx.rest = inputs


def _affine_gradient(
    adjoint: Any, ctx: Any, grad: torch.Tensor
) -> tuple[Optional[torch.Tensor], ...]:
    return adjoint(grad, *ctx.rest), None, None


def _register_linear(
    name: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    setup: Any,
    gradient: Any,
    devices: Sequence[str] = _DEVICES,
) -> None:
    """Kernel, shapes for compilers and derivatives of an operator that is linear."""
    torch.library.impl(f"portacl::{name}", devices, kernel)
    torch.library.register_fake(f"portacl::{name}", fake)
    torch.library.register_autograd(f"portacl::{name}", gradient, setup_context=setup, lib=_library)
    _TANGENT_RULES[name] = partial(_linear_tangent, getattr(ops, name))


for _name in _RESIZE_MODES:
    _backward = f"{_name}_backward"
    _register_linear(
        _name,
        _kernels.RESIZES[_name],
        _fake_resize,
        _setup_resize,
        partial(_resize_gradient, getattr(ops, _backward)),
    )
    _register_linear(
        _backward,
        _kernels.RESIZES_BACKWARD[_name],
        _fake_resize_backward,
        _setup_resize,
        partial(_resize_second_order, getattr(ops, _name)),
    )


def _resize_as_pillow(
    input: torch.Tensor, output_size: Sequence[int], kernel: str, release: int
) -> torch.Tensor:
    return _kernels.RESIZES[kernel](input, output_size, None, False, release)


torch.library.impl("portacl::resize_as_pillow", "cpu", _resize_as_pillow)
torch.library.register_fake("portacl::resize_as_pillow", _fake_resize)
_register_linear(
    "affine_grid",
    _kernels.affine_grid,
    _fake_affine_grid,
    _setup_affine_grid,
    partial(_affine_gradient, ops.affine_grid_backward),
)
_register_linear(
    "affine_grid_backward",
    _kernels.affine_grid_backward,
    _fake_affine_grid_backward,
    _setup_affine_grid,
    partial(_affine_gradient, ops.affine_grid),
)


def _register_once(module: Any) -> None:
    """Kernels, shapes for compilers and derivatives of a function and its gradients.

    The gradients have no derivatives.
    """
    name = module.NAMES[0]
    torch.library.impl(f"portacl::{name}", "cpu", module.kernel)
    torch.library.impl(f"portacl::{name}_backward", "cpu", module.backward_kernel)
    torch.library.register_fake(f"portacl::{name}", module.fake)
    torch.library.register_fake(f"portacl::{name}_backward", module.fake_backward)
    torch.library.register_autograd(
        f"portacl::{name}", module.gradients, setup_context=module.setup, lib=_library
    )
    torch.library.register_autograd(
        f"portacl::{name}_backward",
        module.refuse_second_order,
        setup_context=module.setup,
        lib=_library,
    )


_register_once(_ms_deform_attn)
for _listed_name in _ms_deform_attn.NAMES:
    _TANGENT_RULES[_listed_name] = _ms_deform_attn.refused_tangent
_register_once(_deform_conv)
for _listed_name in _deform_conv.NAMES:
    _TANGENT_RULES[_listed_name] = _deform_conv.refused_tangent
# Like torchvision's: in float32, whatever autocast asks for.
torch.library.register_autocast("portacl::deform_conv2d", "cpu", torch.float32)


def _register_roi_align(name: str) -> None:
    """The function and its gradient, each the other's derivative."""
    backward = f"{name}_backward"
    rules = (
        (name, backward, _roi_align.fake, _roi_align.gradient),
        (backward, name, _roi_align.fake_backward, _roi_align.second_order),
    )
    for one, other, fake, gradient in rules:
        kernel, derivative = _roi_align.KERNELS[one], partial(gradient, getattr(ops, other))
        _register_linear(one, kernel, fake, _roi_align.setup, derivative, devices=("cpu",))
    # Like torchvision's: coordinates need float32 even if autocast asks for less.
    torch.library.register_autocast(f"portacl::{name}", "cpu", torch.float32)


for _name in ("roi_align", "roi_align_rotated"):
    _register_roi_align(_name)


def _listed_kernel(
    operator: _listed.Operator, source: torch.Tensor, size: Sequence[int], *options: Any
) -> torch.Tensor:
    known = operator.bind([tuple(source.shape)], size)
    shape = operator.shapes(known)[0]
    memory_format = _listed_format(source, shape)
    result = empty(shape, source.dtype, memory_format, source.device)
    chosen = [
        (*(option or ()), 0.0, 0.0, 0.0)[:3] if p.kind == "Scales" else option
        for p, option in zip(operator.options, options)
    ]
    _kernels.call(getattr(_core, operator.name), source, result, *chosen)
    return result


def _listed_format(source: torch.Tensor, shape: Sequence[int]) -> torch.memory_format:
    """The format of a result: its source's, if both are images or volumes."""
    same = len(shape) == source.dim() and shape[:2] == tuple(source.shape[:2])
    return memory_format_like(source) if same else torch.contiguous_format


def _listed_fake(
    operator: _listed.Operator, source: torch.Tensor, size: Sequence[int], *options: Any
) -> torch.Tensor:
    known = operator.bind([tuple(source.shape)], size)
    shape = operator.shapes(known)[0]
    memory_format = _listed_format(source, shape)
    return torch.empty(shape, dtype=source.dtype, device=source.device, memory_format=memory_format)


def _listed_gradient(
    transpose: _listed.Operator, function: Any, ctx: Any, grad: torch.Tensor
) -> tuple[Optional[torch.Tensor], ...]:
    return function(grad, transpose.size_of(ctx.source_size), *ctx.rest), *_nothing(ctx.rest)


def define_listed(pair: Sequence[_listed.Operator], names: Sequence[str]) -> None:
    """Define operators of this library for two linear operators that are transposes.

    ``size`` has the extents of the result that the first argument does not give.
    """
    types = {"Flag": "bool", "Scales": "float[]?"}
    for operator, name in zip(pair, names):
        options = "".join(f", {types[p.kind]} {p.name}" for p in operator.options)
        source = operator.inputs[0].name
        torch.library.define(
            f"portacl::{name}", f"(Tensor {source}, SymInt[] size{options}) -> Tensor", tags=_TAGS
        )
    for operator, name, transpose, other in zip(pair, names, pair[::-1], names[::-1]):
        _register_linear(
            name,
            partial(_listed_kernel, operator),
            partial(_listed_fake, operator),
            _setup_resize,
            partial(_listed_gradient, transpose, getattr(ops, other)),
        )


def listed_function(operator: _listed.Operator, name: str) -> Callable[..., torch.Tensor]:
    """Make the differentiable function of an operator."""
    signature = operator.signature()

    def function(*arguments: Any, **options: Any) -> torch.Tensor:
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        source, *rest = (given.arguments[p.name] for p in (*operator.inputs, *operator.options))
        size = given.arguments.get("size")
        check_tensor(torch, source, operator.inputs[0].name)
        if isinstance(size, (int, torch.SymInt)):  # the same for each axis
            size = (size,) * operator.sizes(source.dim())
        elif is_number(size):
            size = operator.size(source.shape, size)
        result: torch.Tensor = getattr(ops, name)(source, () if size is None else size, *rest)
        return result

    return _listed.named(function, operator, signature, "portacl.torch")


LISTED: dict[str, Callable[..., torch.Tensor]] = {}
"""Functions of operators that no module here describes."""

for _operator in _listed.without_functions():
    _transpose = _listed.partner(_operator)
    if _transpose is not None and not _operator.name.endswith("_backward"):
        define_listed((_operator, _transpose), (_operator.name, _transpose.name))
        for _one in (_operator, _transpose):
            LISTED[_one.name] = listed_function(_one, _one.name)


def operators() -> list[str]:
    """Names of all operators, without the namespace."""
    prefix = "portacl::"
    names = torch._C._dispatch_get_all_op_names()
    return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))
