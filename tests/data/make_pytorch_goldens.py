#!/usr/bin/env python3
"""Makes pytorch_nearest.npz and pytorch_grid.npz: what PyTorch's CPU kernels give.

Run with a Python that has PyTorch (script/setup --torch; script/setup --print-torch-venv):

    "$(script/setup --print-torch-venv)/bin/python" tests/data/make_pytorch_goldens.py

Origin: computed by this script with PyTorch (BSD-3-Clause); the inputs are SplitMix64 numbers that
the tests make again from the seed, and the results are numbers, covered by this project's licence.
The member `meta` of each file is UTF-8 JSON: versions, and the cases with their parameters. Members
are stored without compression, so that the tests' reader stays small.
"""

import argparse
import json
import pathlib
import platform
import zlib

import numpy as np
import torch

DTYPES = {"FLOAT": torch.float32, "FLOAT16": torch.float16, "BF16": torch.bfloat16, "DOUBLE": torch.float64}
MASK = (1 << 64) - 1


def uniform(seed: int, count: int, low: float, high: float) -> np.ndarray:
    """`count` numbers of tests/support/api/random.h: Random(seed).Uniform(low, high)."""
    with np.errstate(over="ignore"):
        step = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = np.uint64(seed & MASK) + step
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return low + (high - low) * ((z >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def tensor(seed: int, shape, low=-1.0, high=1.0, dtype=torch.float64) -> torch.Tensor:
    values = uniform(seed, int(np.prod(shape)), low, high).reshape(shape)
    # 20 fraction bits: exact in float, so that it does not matter whether 16 bits are made from it.
    values = np.rint(values * 2.0**20) * 2.0**-20
    return torch.from_numpy(values).to(dtype)


def bits(t: torch.Tensor) -> np.ndarray:
    """The elements' bits, row-major."""
    t = t.contiguous()
    if t.element_size() == 2:
        return t.view(torch.int16).numpy().view(np.uint16)
    return t.numpy().view(np.uint32 if t.element_size() == 4 else np.uint64)


def nearest_backward(grad_output, in_shape, scales=None):
    """gradInput for (N, C, L) or (N, C, H, W)."""
    scales = scales or [None] * (len(in_shape) - 2)
    operators = torch.ops.aten
    if len(in_shape) == 3:
        return operators._upsample_nearest_exact1d_backward(
            grad_output, list(grad_output.shape[2:]), list(in_shape), *scales)
    return operators._upsample_nearest_exact2d_backward(
        grad_output, list(grad_output.shape[2:]), list(in_shape), *scales)


def pair_digests(largest: int) -> np.ndarray:
    """CRC-32 of the results of all (I, O) up to `largest`: [dtype, sizes or scales, I - 1]."""
    digests = np.zeros((3, 2, largest), dtype=np.uint32)
    for d, dtype in enumerate((torch.float32, torch.float16, torch.bfloat16)):
        for given in range(2):
            for i in range(1, largest + 1):
                crc = 0
                for o in range(1, largest + 1):
                    grad = tensor(1000 * i + o, (1, 1, o), dtype=dtype)
                    scales = [o / i] if given else None
                    crc = zlib.crc32(bits(nearest_backward(grad, (1, 1, i), scales)).tobytes(), crc)
                digests[d, given, i - 1] = crc
    return digests


NEAREST_CASES = [  # gradInput shape, gradOutput extents, scales, channels_last
    ((2, 3, 5, 7), (10, 14), None, False),
    ((2, 3, 5, 7), (15, 21), None, True),
    ((1, 5, 13, 21), (25, 42), None, False),
    ((1, 4, 16, 16), (6, 6), None, False),
    ((2, 3, 9, 4), (31, 7), [3.5, 1.75], False),
    ((1, 17, 6, 5), (11, 13), [1.9, 2.5], True),
    ((1, 1, 8, 4), (4, 2), [2.0, 2.0], False),  # the example of the published page
    ((3, 2, 1, 1), (9, 8), None, False),
    ((2, 2, 37), (150,), None, False),
    ((1, 3, 50), (1,), None, False),
    ((2, 1, 11), (35,), [3.2], False),
]


def make_nearest() -> dict:
    members = {"pairs": pair_digests(96)}
    cases = []
    for shape, extents, scales, channels_last in NEAREST_CASES:
        for name in ("FLOAT", "FLOAT16", "BF16", "DOUBLE"):
            seed = 7000 + len(cases)
            grad = tensor(seed, shape[:2] + extents, dtype=DTYPES[name])
            if channels_last:
                grad = grad.contiguous(memory_format=torch.channels_last)
            members[f"case{len(cases)}"] = bits(nearest_backward(grad, shape, scales))
            cases.append(dict(dtype=name, grad_input=shape, grad_output=shape[:2] + extents,
                              scales=scales or [], channels_last=channels_last, seed=seed))
    return dict(members, meta=dict(cases=cases))


def grid_results(grad_output, input, grid, interpolation, padding, align_corners):
    """inputGrad, gridGrad and the forward result, calculated in double."""
    grad_output, input, grid = (t.double() for t in (grad_output, input, grid))
    input_grad, grid_grad = torch.ops.aten.grid_sampler_2d_backward(
        grad_output, input, grid, interpolation, padding, align_corners, [True, True])
    output = torch.ops.aten.grid_sampler_2d(input, grid, interpolation, padding, align_corners)
    return [t.contiguous().numpy() for t in (input_grad, grid_grad, output)]


def kink_values(extent: int, align_corners: bool) -> np.ndarray:
    """Exact grid values for every half pixel from far outside one edge to far outside the other."""
    at = np.arange(-2 * extent - 2, 3 * extent + 2) / 2
    return at / (extent - 1) * 2 - 1 if align_corners else (2 * at + 1) / extent - 1


def make_grid() -> dict:
    members, cases = {}, []

    def add(seed, name, interpolation, padding, align_corners, shape, points, grid, kinks):
        dtype = DTYPES[name]
        n, c = shape[:2]
        grad_output = tensor(seed, (n, c, *points), dtype=dtype)
        input = tensor(seed + 1, shape, dtype=dtype)
        results = grid_results(grad_output, input, grid.to(dtype), interpolation, padding, align_corners)
        for kind, values in zip(("input_grad", "grid_grad", "output"), results):
            members[f"case{len(cases)}_{kind}"] = values
        cases.append(dict(dtype=name, interpolation=interpolation, padding=padding,
                          align_corners=align_corners, input=shape, points=points, seed=seed, kinks=kinks))

    for interpolation in range(3):
        for padding in range(3):
            for align_corners in (False, True):
                for name in DTYPES:
                    seed = 20000 + 10 * len(cases)
                    shape, points = (1, 3, 5, 7), (4, 6)
                    grid = tensor(seed + 2, (1, *points, 2), -1.6, 1.6)
                    add(seed, name, interpolation, padding, align_corners, shape, points, grid, False)
                # Powers of two: the coordinates of kinks are exact in any formula.
                w, h = (5, 3) if align_corners else (4, 2)
                x, y = kink_values(w, align_corners), kink_values(h, align_corners)
                points = (len(y), len(x))
                grid = torch.from_numpy(np.stack(np.broadcast_arrays(x[None, :], y[:, None]), -1))[None]
                members["kinks_aligned" if align_corners else "kinks"] = grid.numpy()
                add(20000 + 10 * len(cases), "DOUBLE", interpolation, padding, align_corners, (1, 2, h, w),
                    points, grid, True)
    return dict(members, meta=dict(cases=cases))


def save(path: pathlib.Path, members: dict) -> None:
    meta = dict(members.pop("meta"), pytorch=torch.__version__, numpy=np.__version__,
                python=platform.python_version(), machine=platform.machine(), made_by=pathlib.Path(__file__).name)
    text = json.dumps(meta, separators=(",", ":")).encode()
    np.savez(path, meta=np.frombuffer(text, dtype=np.uint8), **members)
    print(f"{path}: {len(members)} arrays, {path.stat().st_size} bytes, PyTorch {torch.__version__}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    folder = parser.parse_args().folder
    torch.set_num_threads(1)
    save(folder / "pytorch_nearest.npz", make_nearest())
    save(folder / "pytorch_grid.npz", make_grid())


if __name__ == "__main__":
    main()
