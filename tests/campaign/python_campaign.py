"""The Python part of script/campaign: random NumPy calls against float64 and PyTorch.

Every case is drawn from a seed and a number. Nearest-exact has to have the elements of the rule in
NumPy; the grid sampler has to be near PyTorch's result in double, where PyTorch is installed; and
with 1, 2, 3 and 7 threads every result has to have the same bits.
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
    axes = int(rng.integers(1, 3))
    head = (int(rng.integers(0, 3)), int(rng.integers(0, 9)))
    small = (*head, *(int(i) for i in rng.integers(1, 13, axes)))
    large = (*head, *(int(i) for i in rng.integers(1, 34, axes)))
    words = f"nearest {np.dtype(dtype)} {small} {large}"
    x = strided(rng, rng.uniform(-1, 1, small).astype(dtype))
    up = portacl.upsample_nearest_exact(x, large[2:])
    if not np.array_equal(up, reference.upsample_nearest_exact(x, large[2:], (0.0, 0.0))):
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


def try_grid(rng: np.random.Generator, dtype) -> tuple[str, str]:
    n, c, h, w, oh, ow = (int(i) for i in rng.integers(1, (3, 20, 20, 20, 16, 16)))
    mode, padding = MODES[rng.integers(0, 3)], PADDINGS[rng.integers(0, 3)]
    align = bool(rng.integers(0, 2))
    words = f"grid {np.dtype(dtype)} {(n, c, h, w)} {(oh, ow)} {mode} {padding} {align}"
    x = strided(rng, rng.uniform(-1, 1, (n, c, h, w)).astype(dtype))
    grid = strided(rng, rng.uniform(-1.6, 1.6, (n, oh, ow, 2)).astype(dtype))
    grad = strided(rng, rng.uniform(-1, 1, (n, c, oh, ow)).astype(dtype))
    options = {"interpolation": mode, "padding": padding, "align_corners": align}

    def call():
        return (
            portacl.grid_sampler_2d(x, grid, **options),
            *portacl.grid_sampler_2d_backward(grad, x, grid, **options),
        )

    results = call()
    # In float32 a coordinate may be rounded to the other side of a pixel's edge: another slope.
    if torch is not None and dtype == np.float64:
        wants = torch_grid(grad, x, grid, mode, padding, align)
        names = ("output", "input_grad", "grid_grad")
        for name, got, want in zip(names, results, wants, strict=True):
            bound = TOLERANCE * max(1.0, float(np.max(np.abs(want), initial=0)))
            if np.max(np.abs(got - want), initial=0) > bound:
                return words, f"{name}: too far from PyTorch's"
    return words, same_bits(call, results)


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
