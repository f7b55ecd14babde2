"""Shows which ways to compute a gradient give other bits, in PyTorch and in portacl.

    python examples/reproducible_gradients.py

A photograph is resampled by a swirl. The gradients of picture and points are computed in float32
and bfloat16: on 1 and on 3 threads, of a picture in another memory format, and with the
instructions that every CPU has. The program prints checksums of their bits, and their distances to
float64.
"""

import hashlib
import multiprocessing
import os

import numpy as np
import skimage.data
import torch
import torch.nn.functional as F  # noqa: N812

import portacl
import portacl.torch

LIBRARIES = ("PyTorch", "portacl")
DTYPES = ("float32", "bfloat16")
# Number of threads, memory format.
WAYS = {
    "1 thread": (1, torch.contiguous_format),
    "3 threads": (3, torch.contiguous_format),
    "channels_last": (1, torch.channels_last),
}
# Variables that keep both libraries from AVX, NEON and SVE, in a process of its own.
ANY_CPU = {"ATEN_CPU_CAPABILITY": "default", "PORTACL_IMPL": "ref"}


def swirl(size):
    """Grid (1, size, size, 2) that turns the middle of an image."""
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    angle = 2.5 * np.exp(-4 * (x**2 + y**2))
    turned = np.stack(
        [x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)]
    )
    return torch.from_numpy(turned.transpose(1, 2, 0)[None])


def gradients(photograph, grid, dtype):
    leaves = [photograph.to(dtype).requires_grad_(), grid.to(dtype).requires_grad_()]
    sampled = F.grid_sample(*leaves, padding_mode="border", align_corners=False)
    weights = torch.linspace(-1, 1, sampled.numel(), dtype=torch.float64).view(sampled.shape)
    return torch.autograd.grad((sampled * weights.to(dtype)).sum(), leaves)


def digest(tensors):
    data = b"".join(t.contiguous().view(torch.uint8).numpy().tobytes() for t in tensors)
    return hashlib.sha256(data).hexdigest()[:8]


def compute(ways):
    """For each library and type: the checksum of every way, and the distances of the first."""
    photograph = torch.from_numpy(skimage.data.astronaut()).permute(2, 0, 1)[None].double() / 255
    # Small: in half precision PyTorch 2.15 writes outside its memory for images above 2^15 pixels.
    photograph = F.interpolate(photograph, (160, 160), mode="area")
    results = {}
    for name in DTYPES:
        dtype = getattr(torch, name)
        grid = swirl(256).to(dtype).double()  # float64 starts from the same numbers
        image = photograph.to(dtype).double()
        portacl.torch.disable()
        exact = gradients(image, grid, torch.float64)
        for library in LIBRARIES:
            (portacl.torch.enable if library == "portacl" else portacl.torch.disable)()
            found = []
            for threads, memory_format in ways:
                torch.set_num_threads(threads)
                portacl.set_num_threads(threads)
                found.append(gradients(image.contiguous(memory_format=memory_format), grid, dtype))
            errors = [((a - b).norm() / b.norm()).item() for a, b in zip(found[0], exact)]
            results[name, library] = [digest(tensors) for tensors in found], errors
    return results


def compute_on_any_cpu():
    os.environ.update(ANY_CPU)  # a process that is spawned reads it before it loads the libraries
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(compute, ([WAYS["1 thread"]],))


def main():
    here = compute(WAYS.values())
    elsewhere = compute_on_any_cpu()
    print("checksums       ", *(f"{way:13s}" for way in WAYS), "no AVX, NEON")
    for key, (digests, _) in here.items():
        digests = digests + elsewhere[key][0]
        words = "the same bits" if len(set(digests)) == 1 else f"{len(set(digests))} results"
        print("{0:8s} {1}".format(*key), *(f"{text:13s}" for text in digests), words)
    print("\ndistance to float64   picture's gradient   points' gradient")
    for key, (_, errors) in here.items():
        print("{0:8s} {1}      {2:<20.1e} {3:.1e}".format(*key, *errors))


if __name__ == "__main__":
    main()
