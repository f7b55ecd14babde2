"""Sampling of images (grids, resizing, detection) for NumPy, PyTorch, JAX and DLPack arrays.

The functions here take arrays of any kind in this machine's memory and return the same kind; they
know no automatic differentiation. For PyTorch's autograd import ``portacl.torch``: ``import
portacl.torch; portacl.torch.enable()``.

Results have the same bits for every number of threads.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._deform_conv import (
    deform_conv2d,
    deform_conv2d_backward,
    deformable_offsets,
    deformable_offsets_backward,
)
from ._listed import FUNCTIONS as _FUNCTIONS
from ._ms_deform_attn import ms_deform_attn, ms_deform_attn_backward
from ._names import missing as _missing
from ._operators import (
    grid_sampler_2d,
    grid_sampler_2d_backward,
    grid_sampler_3d,
    grid_sampler_3d_backward,
)
from ._roi_align import (
    roi_align,
    roi_align_backward,
    roi_align_rotated,
    roi_align_rotated_backward,
)
from ._sdk import sdk_path
from ._settings import __version__, get_num_threads, info, set_num_threads
from ._upsample import (
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
    "__version__",
    "affine_grid",
    "affine_grid_backward",
    "deform_conv2d",
    "deform_conv2d_backward",
    "deformable_offsets",
    "deformable_offsets_backward",
    "get_num_threads",
    "grid_sampler_2d",
    "grid_sampler_2d_backward",
    "grid_sampler_3d",
    "grid_sampler_3d_backward",
    "info",
    "ms_deform_attn",
    "ms_deform_attn_backward",
    "roi_align",
    "roi_align_backward",
    "roi_align_rotated",
    "roi_align_rotated_backward",
    "sdk_path",
    "set_num_threads",
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
    *_FUNCTIONS,
]

globals().update(_FUNCTIONS)

if not _TYPE_CHECKING:  # type checkers would take any name for one of this module

    def __getattr__(name: str) -> object:
        raise _missing(__name__, name, __all__)
