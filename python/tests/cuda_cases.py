"""Random calls of every operator on a GPU, bit by bit against the same calls on the CPU.

    python cuda_cases.py [--seed S] [--cases N] [--only OPERATOR]

runs N cases of each operator with PyTorch's tensors, prints each case that differs, and a line of
figures at the end. No GPU is needed if ``PORTACL_CUDA_LIBRARY`` names the emulation of the tests:
its kernels are plain loops over this machine's memory.
"""

from __future__ import annotations

import argparse
import os
import random
import sys

import torch

from portacl import _core

DTYPES = (torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16)
BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
EMULATED = "emulation" in os.environ.get("PORTACL_CUDA_LIBRARY", "")
DEVICE = "cpu" if EMULATED else "cuda"


def spread(rng, shape, dtype):
    """Values in a random layout: row-major, channels last, every second element, repeats."""
    kind = rng.choice(("dense", "dense", "last", "steps", "repeat")) if len(shape) > 3 else "dense"
    generator = torch.Generator().manual_seed(rng.getrandbits(32))
    draw = lambda *extents: torch.randn(*extents, generator=generator, dtype=torch.float64)  # noqa: E731
    if kind == "last":
        order = (0, *range(2, len(shape)), 1)
        values = draw(*[shape[i] for i in order])
        back = sorted(range(len(shape)), key=lambda i: order[i])
        return values.to(dtype).permute(back)
    if kind == "steps":
        return draw(*[2 * extent for extent in shape]).to(dtype)[
            tuple([slice(1, None, 2)] * len(shape))
        ]
    if kind == "repeat":
        return draw(shape[0], 1, *shape[2:]).to(dtype).expand(shape)
    return draw(*shape).to(dtype)


def odd_values(rng, tensor, values):
    """The same with some of ``values`` in it, in up to a tenth of the elements."""
    tensor = tensor.clone()
    flat = tensor.view(-1) if tensor.is_contiguous() else tensor.reshape(-1)
    for _ in range(rng.randrange(1 + max(1, flat.numel() // 10))):
        if flat.numel():
            flat[rng.randrange(flat.numel())] = rng.choice(values)
    return flat.view(tensor.shape)


def result(rng, shape, dtype):
    """Where a result goes, filled with numbers that must not stay."""
    kind = rng.choice(("dense", "dense", "last", "part")) if len(shape) > 3 else "dense"
    if kind == "last":
        order = (0, *range(2, len(shape)), 1)
        back = sorted(range(len(shape)), key=lambda i: order[i])
        return torch.full([shape[i] for i in order], 77.0, dtype=dtype).permute(back)
    if kind == "part":
        return torch.full([*shape[:-1], shape[-1] + 3], 77.0, dtype=dtype)[..., 1:-2]
    return torch.full(shape, 77.0, dtype=dtype)


def make_grid(rng, shape, dtype):
    """Points around the image: smooth, random, on one pixel, far away, and some that are none."""
    kind = rng.choice(("random", "smooth", "one", "far"))
    grid = torch.randn(
        shape, dtype=torch.float64, generator=torch.Generator().manual_seed(rng.getrandbits(32))
    )
    if kind == "smooth":
        grid = 0.02 * grid
        for axis in range(shape[-1]):
            ramp = torch.linspace(-1.1, 1.1, shape[-2 - axis], dtype=torch.float64)
            grid[..., axis] += ramp.view(
                [-1 if i == len(shape) - 2 - axis else 1 for i in range(len(shape) - 1)]
            )
    elif kind == "one":
        grid = grid * 1e-3 + 0.3
    elif kind == "far":
        grid = grid * 4
    inf, nan = float("inf"), float("nan")
    if rng.random() < 0.5:
        grid = odd_values(rng, grid, (inf, -inf, nan, 1.0, -1.0, 0.0, 1e30, -3.0, 4e6, -7e7))
    grid = grid.to(dtype)
    # Coordinates that lie apart: in planes of x, of y.
    return grid.movedim(-1, 1).contiguous().movedim(1, -1) if rng.random() < 0.3 else grid


def small(rng, most):
    return rng.choice((1, 2, 3, rng.randrange(1, most), rng.randrange(1, most)))


def grid_case(rng, name, axes):
    dtype = rng.choice(DTYPES)
    most = 14 if axes == 2 else 7
    n, c = rng.randrange(1, 4), rng.choice((1, 2, 3, 5, 8, 16, 17, 40))
    if rng.random() < 0.05:  # nothing to do
        n, c = rng.choice(((0, 2), (2, 0)))
    extents = [small(rng, most) for _ in range(axes)]
    points = [small(rng, most) for _ in range(axes)]
    modes = rng.randrange(3), rng.randrange(3), rng.random() < 0.5
    grid = make_grid(rng, (n, *points, axes), dtype)
    if not name.endswith("backward"):
        return (
            [spread(rng, (n, c, *extents), dtype), grid],
            [result(rng, (n, c, *points), dtype)],
            modes,
        )
    inputs = [spread(rng, (n, c, *points), dtype), spread(rng, (n, c, *extents), dtype), grid]
    if rng.random() < 0.1:  # a tap of weight 0 makes NaN of them
        inputs[0] = odd_values(rng, inputs[0], (float("inf"), -float("inf")))
    wanted = rng.choice(((True, True), (True, True), (True, False), (False, True)))
    outputs = [
        result(rng, shape, dtype) if want else None
        for want, shape in zip(wanted, ((n, c, *extents), (n, *points, axes)))
    ]
    return inputs, outputs, modes


def resize_case(rng, name):
    dtype = rng.choice(DTYPES)
    axes = rng.randrange(1, 4)
    most = (60, 24, 9)[axes - 1]
    n, c = rng.randrange(1, 4), rng.choice((1, 2, 3, 4, 5, 8, 16, 17))
    if rng.random() < 0.05:
        n, c = rng.choice(((0, 2), (2, 0)))
    few, many = ([small(rng, most) for _ in range(axes)] for _ in range(2))
    if rng.random() < 0.3:
        many = [min(3 * most, extent * rng.choice((1, 2, 3, 4))) for extent in few]
    sizes = (many, few) if name.endswith("backward") else (few, many)
    scales = [rng.choice((0.0, 0.0, big / little, 1.3)) for big, little in zip(many, few)]
    flags = () if "nearest" in name else (rng.random() < 0.5, rng.random() < 0.4)
    flags = (False, True) if "lanczos" in name else flags  # which has no corners
    read, written = ((n, c, *extents) for extents in sizes)
    return (
        [spread(rng, read, dtype)],
        [result(rng, written, dtype)],
        (*flags, (*scales, 0.0, 0.0)[:3]),
    )


def affine_case(rng, name):
    dtype = rng.choice(DTYPES)
    axes = rng.randrange(2, 4)
    n = rng.randrange(1, 4)
    theta = (n, axes, axes + 1)
    grid = (n, *[small(rng, 40 if axes == 2 else 12) for _ in range(axes)], axes)
    shapes = (grid, theta) if name.endswith("backward") else (theta, grid)
    return [spread(rng, shapes[0], dtype)], [result(rng, shapes[1], dtype)], (rng.random() < 0.5,)


def large_case(rng, name, number):
    """Sizes at which a GPU's kernels share work out in other ways."""
    axes = int(name[len("grid_sampler_")])
    dtype = DTYPES[number % len(DTYPES)]
    sizes = ((1, 20, 520, 540), (1, 3, 700, 720), (5, 2, 1500, 1900), (9, 3, 240, 400))
    if axes == 3:
        sizes = ((1, 17, 64, 66), (1, 3, 80, 82), (3, 2, 100, 170), (2, 1, 40, 90))
    n, c, extent, points = sizes[number % 4]
    shape, at = (n, c, *[extent] * axes), (n, *[points] * axes, axes)
    inputs = [torch.randn(shape).to(dtype), make_grid(rng, at, dtype)]
    interpolation = rng.randrange(3) if number % 4 == 3 else number % 2
    modes = (interpolation, rng.randrange(3), rng.random() < 0.5)
    result_shape = (n, c, *[points] * axes)
    if not name.endswith("backward"):
        return inputs, [torch.empty(result_shape, dtype=dtype)], modes
    outputs = [torch.empty(shape, dtype=dtype), torch.empty(at, dtype=dtype)]
    return [torch.randn(result_shape).to(dtype), *inputs], outputs, modes


def draw(rng, name):
    if name.startswith("grid_sampler"):
        return grid_case(rng, name, int(name[len("grid_sampler_")]))
    return affine_case(rng, name) if name.startswith("affine") else resize_case(rng, name)


def whole(tensor):
    """All memory that a tensor lies in, as a row of elements."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return torch.as_strided(tensor, (count,), (1,), 0)


def moved(rng, tensor):
    """A tensor of the same strides, and with the same memory around it, on the GPU."""
    if tensor is None:
        return None
    ahead = rng.choice((0, 0, 1, 2, 3, 4))  # elements: kernels must not count on an address
    memory = torch.cat([torch.zeros(ahead, dtype=tensor.dtype), whole(tensor)]).to(DEVICE)
    return torch.as_strided(memory, tensor.shape, tensor.stride(), tensor.storage_offset() + ahead)


def same(a, b):
    """The same bits in a result on the GPU and one on the CPU, and in the memory around both."""
    a, b = whole(a).cpu(), whole(b)
    a = a[a.numel() - b.numel() :]
    nan = torch.isnan(a)
    if not torch.equal(nan, torch.isnan(b)):
        return False
    bits = BITS[a.element_size()]
    return torch.equal(a.masked_fill(nan, 0).view(bits), b.masked_fill(nan, 0).view(bits))


def run(name, inputs, outputs, options, on_gpu):
    stream = 0 if EMULATED else torch.cuda.current_stream().cuda_stream
    if on_gpu:
        _core.set_cuda_stream(0, stream)
    try:
        getattr(_core, name)(*inputs, *outputs, *options)
    finally:
        _core.set_cuda_stream(-1, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--only", default="", help="operators in whose name this is found")
    parser.add_argument("--large", action="store_true", help="large calls of the grid samplers")
    options = parser.parse_args()
    # Deformable attention has no kernels for GPUs: it is refused there.
    names = sorted(
        name
        for name in _core.native_signatures()
        if not name.startswith(("ms_deform_attn", "roi_align", "deform", "adaptive_avg_pool"))
        and "_padded" not in name
    )
    if options.large:
        names = [name for name in names if name.startswith("grid_sampler")]
    different = 0
    for name in names:
        for number in range(options.cases if options.only in name else 0):
            rng = random.Random(f"{options.seed} {name} {number}")
            made = large_case(rng, name, number) if options.large else draw(rng, name)
            inputs, outputs, rest = made
            theirs = [moved(rng, tensor) for tensor in (*inputs, *outputs)]
            run(name, inputs, outputs, rest, on_gpu=False)
            run(name, theirs[: len(inputs)], theirs[len(inputs) :], rest, on_gpu=True)
            pairs = zip(outputs, theirs[len(inputs) :])
            if all(a is None or same(b, a) for a, b in pairs):
                continue
            different += 1
            shapes = [
                None if t is None else (tuple(t.shape), t.stride()) for t in (*inputs, *outputs)
            ]
            print(f"seed {options.seed}: {name} {number}: {inputs[0].dtype} {shapes} {rest}")
    print(f"{len(names)} operators, {options.cases} cases each: {different} differ from the CPU")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
