"""Resizing a picture of bytes: portacl inside PyTorch, PyTorch, Pillow, libvips and OpenCV.

    python bench/pictures.py [--repeat N]

Needs Pillow, and takes pyvips[binary] and opencv-python-headless if they are there. One thread,
least CPU times in ms, all in turn. The first time is of a picture in memory, because other bytes
are written before each call. The second is of a picture in the caches. "rows" are row-major, "last"
is channels_last.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator

os.environ["VIPS_CONCURRENCY"] = "1"  # before libvips is loaded

import numpy as np
import PIL.Image
import torch
import torch.nn.functional as F  # noqa: N812

import portacl.torch

try:
    import pyvips
except ImportError:
    pyvips = None
try:
    import cv2
except ImportError:
    cv2 = None

HEIGHT, WIDTH = 1080, 1920
SIZES = ((224, 224), (540, 960))
# Mode, antialiased, Pillow's filter, libvips's kernel.
FILTERS = (
    ("bilinear", True, "BILINEAR", "linear"),
    ("bicubic", True, "BICUBIC", "cubic"),
    ("lanczos", True, "LANCZOS", "lanczos3"),
    ("area", False, None, None),
    ("bilinear", False, None, None),
    ("bicubic", False, None, None),
)
Call = Callable[[], object]


def in_torch(
    picture: torch.Tensor, size: tuple[int, int], mode: str, antialias: bool
) -> Iterator[tuple[str, Call]]:
    """portacl and PyTorch in both layouts, and Pillow's bits."""
    last = picture.contiguous(memory_format=torch.channels_last)
    for layout, x in (("rows", picture), ("last", last)):
        if mode == "area":
            yield f"portacl {layout}", lambda x=x: portacl.torch.interpolate(x, size, mode=mode)
            continue
        call = lambda x=x: F.interpolate(x, size, mode=mode, antialias=antialias)
        yield f"PyTorch {layout}", call
        yield f"portacl {layout}", call
    if antialias:
        yield "portacl, Pillow's bits", lambda: portacl.torch.interpolate(
            last, size, mode=mode, antialias=True, exact="pillow"
        )


def in_libraries(
    pixels: np.ndarray, size: tuple[int, int], mode: str, pillow: str | None, vips: str | None
) -> Iterator[tuple[str, Call]]:
    """The libraries that have the filter."""
    height, width = size
    if pillow:
        image, filter = PIL.Image.fromarray(pixels), getattr(PIL.Image.Resampling, pillow)
        yield "Pillow", lambda: image.resize((width, height), filter)
    if vips and pyvips:
        source = pyvips.Image.new_from_memory(pixels, WIDTH, HEIGHT, 3, "uchar")
        scales = {"vscale": height / HEIGHT, "kernel": vips, "gap": 0}
        yield "libvips", lambda: source.resize(width / WIDTH, **scales).write_to_memory()
    if mode == "area" and cv2:
        cv2.setNumThreads(1)
        yield "OpenCV", lambda: cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA)


def least(calls: dict[str, Call], repeat: int, other: torch.Tensor | None) -> dict[str, float]:
    """Milliseconds; before each call `other` is written."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(repeat):
        for name, call in calls.items():
            own = name.startswith("portacl")
            with portacl.torch.accelerated(forward=True) if own else contextlib.nullcontext():
                call() if other is None else other.add_(1)
                start = time.process_time()
                call()
                found[name] = min(found[name], 1e3 * (time.process_time() - start))
    return found


def main() -> None:
    """Print a line for each size, filter and program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (HEIGHT, WIDTH, 3), dtype=torch.uint8, generator=generator)
    picture = pixels.permute(2, 0, 1)[None].contiguous()
    other = torch.zeros(96 << 20, dtype=torch.uint8)
    read = least({"read": lambda: picture.view(torch.int64).sum()}, options.repeat, other)["read"]
    print(f"PyTorch sums the picture's words in {read:.2f} ms.\n")
    print("| to | filter | program | from memory | from the caches | PyTorch / portacl |")
    print("| --- | --- | --- | --: | --: | --: |")
    for size in SIZES:
        for mode, antialias, pillow, vips in FILTERS:
            calls = dict(in_torch(picture, size, mode, antialias))
            calls.update(in_libraries(pixels.numpy(), size, mode, pillow, vips))
            times = [least(calls, options.repeat, where) for where in (other, None)]
            label = f"{mode}, antialiased" if antialias else mode
            for name in calls:
                stock = name.replace("portacl", "PyTorch")
                known = [t for t in times if stock in t and stock != name]
                cells = [f"{size[0]} x {size[1]}", label, name, *(f"{t[name]:.2f}" for t in times)]
                cells.append("; ".join(f"{t[stock] / t[name]:.1f}" for t in known))
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
