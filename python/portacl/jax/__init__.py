"""The operators inside JAX programs, on the CPU: under ``jit``, ``grad``, ``vmap``, ``shard_map``.

    import portacl.jax
    y = portacl.jax.grid_sampler_2d(image, grid, padding="border")

Each is a primitive of JAX that runs as a custom call of XLA. It has derivatives of every order in
both modes, on one device or many. RoiAlign, deformable attention and deformable convolution have
only first gradients. Bits never depend on the number of threads or devices, on ``jit`` or on
``vmap``.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

try:
    import jax as _jax  # noqa: F401
except ModuleNotFoundError as _missing:
    raise ImportError("portacl.jax needs JAX 0.5 or newer (pip install jax)") from _missing

from .._names import missing as _missing_name
from ._deform_conv import deform_conv2d, deform_conv2d_backward
from ._detection import (
    ms_deform_attn,
    ms_deform_attn_backward,
    roi_align,
    roi_align_backward,
    roi_align_rotated,
    roi_align_rotated_backward,
)
from ._functional import (
    grid_sampler_2d,
    grid_sampler_2d_backward,
    grid_sampler_3d,
    grid_sampler_3d_backward,
)
from ._listed import LISTED as _LISTED
from ._resize import (
    affine_grid,
    affine_grid_backward,
    upsample_cubic,
    upsample_cubic_backward,
    upsample_lanczos,
    upsample_lanczos_backward,
    upsample_linear,
    upsample_linear_backward,
    upsample_nearest,
    upsample_nearest_backward,
    upsample_nearest_exact,
    upsample_nearest_exact_backward,
)

__all__ = [
    "affine_grid",
    "affine_grid_backward",
    "deform_conv2d",
    "deform_conv2d_backward",
    "grid_sampler_2d",
    "grid_sampler_2d_backward",
    "grid_sampler_3d",
    "grid_sampler_3d_backward",
    "ms_deform_attn",
    "ms_deform_attn_backward",
    "roi_align",
    "roi_align_backward",
    "roi_align_rotated",
    "roi_align_rotated_backward",
    "upsample_cubic",
    "upsample_cubic_backward",
    "upsample_lanczos",
    "upsample_lanczos_backward",
    "upsample_linear",
    "upsample_linear_backward",
    "upsample_nearest",
    "upsample_nearest_backward",
    "upsample_nearest_exact",
    "upsample_nearest_exact_backward",
    *_LISTED,
]

globals().update(_LISTED)

if not _TYPE_CHECKING:  # type checkers would take any name for one of this module

    def __getattr__(name: str) -> object:
        raise _missing_name(__name__, name, __all__)
