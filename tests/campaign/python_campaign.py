"""The Python part of script/campaign: random NumPy calls against float64 and PyTorch.

Every case is drawn from a seed and a number: rows, images and volumes. Nearest-exact must have the
elements of the rule in NumPy. In double the grid sampler's gradient must be its adjoint, and the
results must be near PyTorch's, if PyTorch is installed and has the mode. With 1, 2, 3 and 7 threads
every result must have the same bits.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python/tests"))

import portacl  # noqa: E402
import reference  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

THREADS = (1, 2, 3, 7)
MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
# Of the largest element: coordinates differ by a few units in the last place between the two.
TOLERANCE = 1e-9


def strided(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """The same values in another layout: as it is, transposed in memory, backwards or with gaps."""
    kind = rng.integers(0, 4)
    if kind == 1:
        axes = rng.permutation(array.ndim)
        return np.transpose(np.ascontiguousarray(np.transpose(array, axes)), np.argsort(axes))
    if kind == 2:
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    if kind == 3:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
        view = wide[..., 1::2]
        view[...] = array
        return view
    return array


def same_bits(call, results) -> str:
    """What differs where the call runs with other numbers of threads."""
    for threads in THREADS:
        portacl.set_num_threads(threads)
        for again, first in zip(call(), results, strict=True):
            if again.tobytes() != first.tobytes():
                return f"other bits with {threads} threads"
    return ""


def try_nearest(rng: np.random.Generator, dtype) -> tuple[str, str]:
    axes = int(rng.integers(1, 4))
    head = (int(rng.integers(0, 3)), int(rng.integers(0, 9)))
    most = (13, 34) if axes < 3 else (7, 14)
    small = (*head, *(int(i) for i in rng.integers(1, most[0], axes)))
    large = (*head, *(int(i) for i in rng.integers(1, most[1], axes)))
    words = f"nearest {np.dtype(dtype)} {small} {large}"
    x = strided(rng, rng.uniform(-1, 1, small).astype(dtype))
    up = portacl.upsample_nearest_exact(x, large[2:])
    if not np.array_equal(up, reference.upsample_nearest_exact(x, large[2:])):
        return words, "forward: not the rule's elements"
    grad = strided(rng, rng.uniform(-1, 1, large).astype(dtype))
    down = portacl.upsample_nearest_exact_backward(grad, small)
    exact = reference.upsample_nearest_exact_backward(grad, small[2:])
    terms = float(np.prod(large[2:]))
    if np.max(np.abs(down - exact), initial=0) > terms * terms * np.finfo(dtype).eps:
        return words, "backward: too far from the exact sums"
    return words, same_bits(
        lambda: (
            portacl.upsample_nearest_exact(x, large[2:]),
            portacl.upsample_nearest_exact_backward(grad, small),
        ),
        (up, down),
    )


def torch_grid(grad, x, grid, mode, padding, align):
    """Forward and both gradients from PyTorch in double."""
    image = torch.from_numpy(x.astype(np.float64)).requires_grad_()
    points = torch.from_numpy(grid.astype(np.float64)).requires_grad_()
    out = torch.nn.functional.grid_sample(
        image, points, mode=mode, padding_mode=padding, align_corners=align
    )
    out.backward(torch.from_numpy(grad.astype(np.float64)))
    return out.detach().numpy(), image.grad.numpy(), points.grad.numpy()


def draw_grid_arrays(rng: np.random.Generator, dtype) -> list[np.ndarray]:
    """gradOutput, input and grid of an image or a volume."""
    axes = int(rng.integers(2, 4))
    side, points = ((20, 16), (11, 8))[axes - 2]
    n, c = (int(i) for i in rng.integers(1, (3, 20)))
    spatial = tuple(int(i) for i in rng.integers(1, side, axes))
    out = tuple(int(i) for i in rng.integers(1, points, axes))
    ranges = (((n, c, *out), 1.0), ((n, c, *spatial), 1.0), ((n, *out, axes), 1.6))
    return [strided(rng, rng.uniform(-top, top, shape).astype(dtype)) for shape, top in ranges]


def grid_functions(axes: int):
    """Forward and backward of images (2) and volumes (3)."""
    if axes == 2:
        return portacl.grid_sampler_2d, portacl.grid_sampler_2d_backward
    return portacl.grid_sampler_3d, portacl.grid_sampler_3d_backward


def wrong_in_double(grad, x, grid, results, options) -> str:
    """Results too far from the adjoint's equation or from PyTorch (it has no tricubic mode)."""
    out, input_grad, _ = results
    terms = out * grad
    distance = abs(float(np.sum(terms)) - float(np.sum(x * input_grad)))
    if distance > TOLERANCE * max(1.0, float(np.sum(np.abs(terms)))):
        return "input_grad: not the adjoint of the forward function"
    if torch is None or (x.ndim == 5 and options["interpolation"] == "bicubic"):
        return ""
    wants = torch_grid(
        grad, x, grid, options["interpolation"], options["padding"], options["align_corners"]
    )
    for name, got, want in zip(("output", "input_grad", "grid_grad"), results, wants, strict=True):
        bound = TOLERANCE * max(1.0, float(np.max(np.abs(want), initial=0)))
        if np.max(np.abs(got - want), initial=0) > bound:
            return f"{name}: too far from PyTorch's"
    return ""


def try_grid(rng: np.random.Generator, dtype) -> tuple[str, str]:
    grad, x, grid = draw_grid_arrays(rng, dtype)
    forward, backward = grid_functions(x.ndim - 2)
    options = {
        "interpolation": MODES[rng.integers(0, 3)],
        "padding": PADDINGS[rng.integers(0, 3)],
        "align_corners": bool(rng.integers(0, 2)),
    }
    words = f"grid {np.dtype(dtype)} {x.shape} {grid.shape[1:-1]} {options}"

    def call():
        return forward(x, grid, **options), *backward(grad, x, grid, **options)

    results = call()
    # In float32 a coordinate may be rounded to the other side of a pixel's edge: another slope.
    wrong = wrong_in_double(grad, x, grid, results, options) if dtype == np.float64 else ""
    return words, wrong or same_bits(call, results)


def try_case(seed: int, number: int) -> tuple[str, str]:
    rng = np.random.default_rng((seed, number))
    dtype = (np.float32, np.float64)[rng.integers(0, 2)]
    portacl.set_num_threads(0)
    return (try_nearest if rng.integers(0, 2) else try_grid)(rng, dtype)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--case", type=int)
    options = parser.parse_args()
    numbers = range(options.cases) if options.case is None else [options.case]
    failures = 0
    begin = time.monotonic()
    for number in numbers:
        words, wrong = try_case(options.seed, number)
        if options.case is not None:
            print(words)
        if wrong:
            failures += 1
            print(f"FAILED: script/campaign --python --seed {options.seed} --case {number}")
            print(f"  {words}\n  {wrong}")
    against = f"PyTorch {torch.__version__}" if torch is not None else "no PyTorch"
    print(
        f"python campaign: seed {options.seed}, {len(numbers)} cases, {against}, "
        f"{failures} failures, {time.monotonic() - begin:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
