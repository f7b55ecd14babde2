"""Shows that portacl's gradients have the same bits for every number of threads.

    python examples/reproducible_gradients.py

A photograph is resampled by a swirl; the gradients are computed with 1, 2 and 3 threads by portacl
and by PyTorch, in float32 and bfloat16, and compared with float64.
"""

import hashlib

import numpy as np
import skimage.data
import torch
import torch.nn.functional as F  # noqa: N812

import portacl
import portacl.torch


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
    return hashlib.sha256(data).hexdigest()[:12]


def main():
    photograph = torch.from_numpy(skimage.data.astronaut()).permute(2, 0, 1)[None].double() / 255
    # Small: in half precision PyTorch 2.15 writes outside its memory for images above 2^15 pixels.
    photograph = F.interpolate(photograph, (160, 160), mode="area")
    for dtype in (torch.float32, torch.bfloat16):
        grid = swirl(256).to(dtype).double()  # float64 starts from the same numbers
        image = photograph.to(dtype).double()
        exact = gradients(image, grid, torch.float64)
        for name, enabled in (("PyTorch", False), ("portacl", True)):
            (portacl.torch.enable if enabled else portacl.torch.disable)()
            digests = []
            for threads in (1, 2, 3):
                torch.set_num_threads(threads)
                portacl.set_num_threads(threads)
                found = gradients(image, grid, dtype)
                digests.append(digest(found))
            errors = [((a - b).norm() / b.norm()).item() for a, b in zip(found, exact)]
            same = "same bits" if len(set(digests)) == 1 else "bits differ"
            print(f"{name} {str(dtype)[6:]:9s} {' '.join(digests)}  {same}; ", end="")
            print(f"error of input's gradient {errors[0]:.1e}, of grid's {errors[1]:.1e}")


if __name__ == "__main__":
    main()
