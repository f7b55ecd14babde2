"""The operators inside JAX programs, on the CPU: under ``jit``, ``grad`` and ``vmap``.

    import portacl.jax
    y = portacl.jax.grid_sampler_2d(image, grid, padding="border")

Each is a custom call of XLA with its own rule for reverse-mode gradients. Bits never depend on the
number of threads, on ``jit`` or on ``vmap``.
"""

from ._functional import (
    grid_sampler_2d,
    grid_sampler_2d_backward,
    grid_sampler_3d,
    grid_sampler_3d_backward,
    upsample_nearest_exact,
    upsample_nearest_exact_backward,
)

__all__ = [
    "grid_sampler_2d",
    "grid_sampler_2d_backward",
    "grid_sampler_3d",
    "grid_sampler_3d_backward",
    "upsample_nearest_exact",
    "upsample_nearest_exact_backward",
]
