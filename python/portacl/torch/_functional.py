"""Differentiable functions on tensors, with the signatures of ``torch.nn.functional``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, inf
from numbers import Number
from operator import index
from typing import Any, Optional, Union

import torch

from .._arrays import check_tensor
from .._numbers import EXACT, check_exact, flag, resize_flags, shown
from .._operators import INTERPOLATIONS, PADDINGS, _choose, outside_values
from .._upsample import Exact
from ._library import ops


def _per_axis(value: Any, axes: int) -> list[Any]:
    """One value for each axis; a value that is no sequence counts for all."""
    is_one = isinstance(
        value, (int, float, torch.SymInt, torch.SymFloat, set, frozenset, dict)
    ) or (
        isinstance(value, Number) or getattr(value, "ndim", None) == 0  # of NumPy, tensors
    )
    return [value] * axes if is_one else list(value)


def _extent(name: str, value: Any) -> Union[int, torch.SymInt]:
    if not isinstance(value, (int, torch.SymInt)):
        try:
            value = index(value)
        except TypeError:
            raise TypeError(
                f"{name}: size has {shown(value)}, but must be an integer or one for each axis"
            ) from None
    if isinstance(value, int) and not 0 <= value < 2**63:
        raise ValueError(f"{name}: size has {value}, but extents must be 0 to 2**63 - 1")
    return value


def _factor(name: str, value: Any) -> float:
    try:
        return float(value if not isinstance(value, str) else None)
    except OverflowError:
        return inf  # which the caller refuses
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}: scale_factor has {shown(value)}, but must be a number or one for each axis"
        ) from None


def _check_device(function: str, **tensors: torch.Tensor) -> None:
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"{function}: {name} is of type {type(tensor).__name__}, but must be a tensor"
            )
        if tensor.device.type not in ("cpu", "cuda", "meta"):
            raise ValueError(
                f"{function}: {name} is on {tensor.device}, but must be on the CPU or a GPU of CUDA"
            )
        check_tensor(torch, tensor, name)


def grid_sample(
    input: torch.Tensor,
    grid: torch.Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: Optional[bool] = None,
    *,
    value: float = 0.0,
    outside: Optional[float] = None,
) -> torch.Tensor:
    """Sample ``input`` at the points of ``grid``: ``torch.nn.functional.grid_sample``.

    Differentiable twice with every padding, if PyTorch has the second derivative (tricubic: from
    2.15 on), and once in forward mode (``docs/python.md``). Results and gradients have the same
    bits for every number of threads; a NaN in ``grid`` gives NaN in that point's gradient and
    nothing else.

    Args:
        input: (N, C, H, W) or (N, C, D, H, W) on the CPU or a GPU; float16, bfloat16, float32,
            float64; any strides.
        grid: (N, OH, OW, 2) or (N, OD, OH, OW, 3): x, y (, z) along W, H (, D), -1..1 across the
            image; dtype of ``input``.
        mode: "bilinear", "nearest" or "bicubic"; of volumes the first is trilinear, the last
            tricubic, with any PyTorch.
        padding_mode: "zeros", "border" or "reflection"; on the CPU also "circular" (or "wrap"):
            the image repeats itself, and "constant": pixels outside are ``value``.
        align_corners: None means False, without PyTorch's warning.
        value: of pixels outside, with the padding "constant" alone.
        outside: of points outside the image, whatever the padding; their gradients are 0. None: the
            padding decides.

    Returns:
        (N, C, OH, OW) or (N, C, OD, OH, OW), row-major. Under CPU autocast the result is
        float32, as PyTorch's is.

    Raises:
        TypeError: tensors of two dtypes.
        ValueError: a mode is unknown, shapes do not fit, or a tensor is on another device.

    """
    _check_device("grid_sample", input=input, grid=grid)
    if input.dim() != grid.dim() or input.dim() not in (4, 5):
        raise ValueError(
            f"grid_sample: input has shape {list(input.shape)} and grid {list(grid.shape)}, but "
            f"they must be (N, C, H, W) and (N, OH, OW, 2), or (N, C, D, H, W) and "
            f"(N, OD, OH, OW, 3)"
        )
    interpolation = _choose(INTERPOLATIONS, "mode", mode)
    padding = _choose(PADDINGS, "padding_mode", padding_mode)
    more = outside_values(padding, value, outside)
    stem = f"grid_sampler_{input.dim() - 2}d"
    sampler = getattr(ops, stem if more is None else f"{stem}_padded")
    result: torch.Tensor = sampler(
        input, grid, interpolation, padding, flag("align_corners", align_corners), *(more or ())
    )
    return result


def interpolate_nearest_exact(
    input: torch.Tensor,
    size: Union[int, Sequence[int], None] = None,
    scale_factor: Union[float, Sequence[float], None] = None,
) -> torch.Tensor:
    """Resize as ``torch.nn.functional.interpolate(..., mode="nearest-exact")`` does.

    Differentiable any number of times, in both modes: forward and backward are exact adjoints.
    In a few size pairs (6 of the 9,216 up to 96 in float32), PyTorch's CPU forward takes the
    neighbouring element, unlike PyTorch's own backward.

    Args:
        input: (N, C, L), (N, C, H, W) or (N, C, D, H, W) on the CPU or a GPU; float16, bfloat16,
            float32, float64.
        size: spatial extents of the result, or one for all axes; NumPy's numbers and tensors
            without axes are numbers, too.
        scale_factor: result extent / input extent per axis, or one for all; the result has
            ``floor(extent * scale_factor)``. Exactly one of the two must be given.

    Returns:
        The resized tensor in the memory format of ``input``.

    Raises:
        ValueError: not exactly one of the two, or another rank, or another device.
        TypeError: an extent is no integer.

    """
    return _interpolate("interpolate_nearest_exact", input, size, scale_factor, "nearest-exact")


_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
"""Modes by PyTorch's names, and the number of axes that they are for."""
_WEIGHTED = dict.fromkeys(_LINEAR, "upsample_linear") | {
    "bicubic": "upsample_cubic",
    "lanczos": "upsample_lanczos",
}
"""portacl's operators behind these and the others that weigh what they add up."""
_MODES = ("nearest", "nearest-exact", *_WEIGHTED, "area")


def interpolate(
    input: torch.Tensor,
    size: Union[int, Sequence[int], None] = None,
    scale_factor: Union[float, Sequence[float], None] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
    *,
    exact: Exact = "pytorch",
) -> torch.Tensor:
    """Resize as ``torch.nn.functional.interpolate`` does, with portacl's kernels both ways.

    Differentiable any number of times, in both modes: each backward is the exact transpose of its
    forward. Results have the same bits for every number of threads and layout. Some calls work that
    PyTorch refuses: ``antialias`` and "lanczos" in float16 and bfloat16 and on one or three axes,
    "bicubic" on one or three.

    Args:
        input: (N, C, L), (N, C, H, W) or (N, C, D, H, W) on the CPU or a GPU; float16, bfloat16,
            float32, float64; on the CPU also uint8, with the bits of PyTorch's kernels.
        size: spatial extents of the result, or one for all axes; NumPy's numbers and tensors
            without axes are numbers, too.
        scale_factor: result extent / input extent per axis, or one for all; the result has
            ``floor(extent * scale_factor)``. Exactly one of the two must be given.
        mode: "nearest", "nearest-exact", "linear", "bilinear" or "trilinear" (by the number of
            axes), "bicubic", "lanczos" (always antialiased), or "area".
        align_corners: true aligns the middles of the border elements, false their outer
            edges. None means False. Not for the nearest modes, "lanczos"
            and "area".
        recompute_scale_factor: compute coordinates from the sizes, not from ``scale_factor``.
        antialias: whether an axis that shrinks averages over all elements that one output covers.
            Not for the nearest modes and "area".
        exact: which library's bits a picture (N, C, H, W) in uint8 gets with "bilinear", "bicubic"
            or "lanczos": "pytorch"; "pillow", antialiased as Pillow 13 does; "pillow<13", as its
            older releases do.

    Returns:
        The resized tensor in the memory format of ``input``.

    Raises:
        ValueError: not exactly one of the two, another rank, a mode that does not go with it, or
            another device.
        TypeError: an extent is no integer.

    """
    modes = resize_flags(align_corners, antialias, exact)
    return _interpolate(
        "interpolate", input, size, scale_factor, mode, modes, bool(recompute_scale_factor)
    )


def _interpolate(
    name: str,
    input: torch.Tensor,
    size: Any,
    scale_factor: Any,
    mode: str,
    modes: tuple[bool, int] = (False, False),
    recompute: bool = False,
) -> torch.Tensor:
    _check_device(name, input=input)
    axes = input.dim() - 2
    if axes not in (1, 2, 3):
        raise ValueError(
            f"{name}: input has shape {list(input.shape)}, but must be (N, C, L), (N, C, H, W) or "
            f"(N, C, D, H, W)"
        )
    if mode not in _MODES:
        raise ValueError(f"{name}: mode is {mode!r}, but must be one of {', '.join(_MODES)}")
    if _LINEAR.get(mode, axes) != axes:
        raise ValueError(f"{name}: mode {mode!r} is for {_LINEAR[mode]} axes, but there are {axes}")
    nearest = mode.startswith("nearest")
    if (nearest or mode == "area") and any(modes):
        raise ValueError(f"{name}: mode {mode!r} has neither align_corners nor antialias")
    if mode == "lanczos" and modes[0]:
        raise ValueError(f"{name}: mode 'lanczos' has no align_corners")
    sizes, scales = _sizes_and_scales(name, input, size, scale_factor)
    if recompute:
        scales = None
    if mode == "area":
        pooled: torch.Tensor = ops.adaptive_avg_pool(input, sizes)
        return pooled
    if nearest:
        operator = ops.upsample_nearest if mode == "nearest" else ops.upsample_nearest_exact
        result: torch.Tensor = operator(input, sizes, scales)
        return result
    if modes[1] not in (0, 1):
        exact = next(word for word, value in EXACT.items() if value == modes[1])
        check_exact(exact, input.shape, str(input.dtype).removeprefix("torch."), modes[0])
        if scales is not None:
            raise ValueError(f"{name}: exact={exact!r} goes with size, not with scale_factor")
        picture: torch.Tensor = ops.resize_as_pillow(input, sizes, _WEIGHTED[mode], modes[1])
        return picture
    result = getattr(ops, _WEIGHTED[mode])(input, sizes, scales, *modes)
    return result


def _sizes_and_scales(
    name: str, input: torch.Tensor, size: Any, scale_factor: Any
) -> tuple[list[Any], Optional[list[float]]]:
    axes = input.dim() - 2
    if (size is None) == (scale_factor is None):
        raise ValueError(f"{name}: exactly one of size and scale_factor is needed")
    scales: Optional[list[float]] = None
    if size is not None:
        sizes = [_extent(name, s) for s in _per_axis(size, axes)]
    else:
        scales = [_factor(name, s) for s in _per_axis(scale_factor, axes)]
        if not all(0 < s < inf for s in scales):
            raise ValueError(
                f"{name}: scale_factor is {shown(scale_factor)}, but each factor must be a finite "
                f"number above 0"
            )
        sizes = [floor(extent * s) for extent, s in zip(input.shape[2:], scales)]
        if any(isinstance(extent, int) and extent >= 2**63 for extent in sizes):
            raise ValueError(
                f"{name}: scale_factor is {scale_factor}, which makes extents "
                f"above 2**63 - 1 of {list(input.shape[2:])}"
            )
    if len(sizes) != axes or (scales is not None and len(scales) != axes):
        which = "size" if scales is None else "scale_factor"
        given = shown(size if scales is None else scale_factor)
        raise ValueError(
            f"{name}: {which} is {given}, but must have a value for each of {axes} axes"
        )
    return sizes, scales


def affine_grid(
    theta: torch.Tensor, size: Sequence[int], align_corners: Optional[bool] = None
) -> torch.Tensor:
    """Make a grid for ``grid_sample`` from affine maps: ``torch.nn.functional.affine_grid``.

    Differentiable any number of times, in both modes. Results and gradients have the same bits for
    every number of threads; in 16-bit types they are rounded once.

    Args:
        theta: (N, 2, 3), or (N, 3, 4) for volumes, on the CPU or a GPU; float16, bfloat16, float32,
            float64.
        size: of the images to sample: (N, C, H, W) or (N, C, D, H, W).
        align_corners: true: -1 and 1 are the middles of the border elements; false: their outer
            edges. None means False, without PyTorch's warning.

    Returns:
        (N, H, W, 2) or (N, D, H, W, 3), x first, row-major.

    Raises:
        TypeError: size is no sequence.
        ValueError: shapes and size do not fit, an extent is below 1, or another device.

    """
    _check_device("affine_grid", theta=theta)
    if isinstance(size, str) or not isinstance(size, Iterable):
        raise TypeError(
            f"affine_grid: size is {shown(size)}; wanted the whole shape of the images, a sequence "
            f"of ints"
        )
    sizes = list(size)
    axes = len(sizes) - 2
    if axes not in (2, 3) or theta.dim() != 3 or tuple(theta.shape[1:]) != (axes, axes + 1):
        raise ValueError(
            f"affine_grid: size is {sizes} and theta has shape {list(theta.shape)}, but they must "
            f"be (N, C, H, W) and (N, 2, 3), or (N, C, D, H, W) and (N, 3, 4)"
        )
    if sizes[0] != theta.shape[0]:
        raise ValueError(
            f"affine_grid: size is {sizes}, but theta of shape {list(theta.shape)} asks for N = "
            f"{theta.shape[0]}"
        )
    result: torch.Tensor = ops.affine_grid(theta, sizes, flag("align_corners", align_corners))
    return result
