"""Adaptive average pooling and area resizing inside PyTorch, with and without portacl.

    python bench/pooling.py [--repeat N]

One thread, the two in turn; the least CPU time of each. Above 1 portacl is faster. In brackets: the
time of a plain copy of as many bytes, as a share of portacl's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

import portacl.torch

aten = torch.ops.aten
FUNCTIONS = {
    2: (aten._adaptive_avg_pool2d, aten._adaptive_avg_pool2d_backward, torch.channels_last),
    3: (aten._adaptive_avg_pool3d, aten._adaptive_avg_pool3d_backward, torch.channels_last_3d),
}
ROWS = (
    ((8, 64, 224, 224), (7, 7)),
    ((1, 3, 1080, 1920), (224, 224)),
    ((1, 3, 1080, 1920), (540, 960)),
    ((8, 3, 256, 256), (64, 64)),
    ((2, 512, 60, 60), (6, 6)),
    ((2, 2048, 30, 30), (2, 2)),
    ((32, 256, 13, 13), (6, 6)),
    ((32, 512, 7, 7), (7, 7)),
    ((16, 512, 14, 14), (7, 7)),
    ((2, 64, 64, 64), (48, 48)),
    ((2, 64, 32, 32), (64, 64)),
    ((4, 128, 56, 56), (28, 28)),
    ((2, 32, 100, 136), (50, 68)),
    ((1, 19, 128, 256), (100, 200)),
    ((1, 1, 512, 512), (100, 100)),
    ((2, 16, 32, 32, 32), (16, 16, 16)),
    ((2, 64, 16, 28, 28), (8, 7, 7)),
    ((1, 3, 64, 96, 96), (20, 30, 30)),
    ((1, 8, 16, 16, 16), (32, 32, 32)),
)


def seconds(call: Callable[[], object], count: int) -> float:
    """CPU time of one call."""
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def cell(call: Callable[[], object], bytes: int, repeat: int) -> str:
    """Ratio, and share of a copy."""
    source = torch.ones(max(1, bytes // 8))
    target = torch.empty_like(source)
    copy = lambda: target.copy_(source)
    call()
    count = max(1, int(0.001 / max(seconds(call, 1), 1e-6)))
    own, stock, moved = [], [], []
    for _ in range(repeat):
        with portacl.torch.accelerated(forward=True):
            call()
            own.append(seconds(call, count))
        call()
        stock.append(seconds(call, count))
        copy()
        moved.append(seconds(copy, count))
    return f"{min(stock) / min(own):.1f} ({100 * min(moved) / min(own):.0f} %)"


def main() -> None:
    """Print a line for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print("| from | to | function | gradient | function, channels_last | gradient, channels_last |")
    print("| --- | --- | --: | --: | --: | --: |")
    for shape, size in ROWS:
        pool, gradient, last = FUNCTIONS[len(size)]
        cells = []
        for memory_format in (torch.contiguous_format, last):
            x = torch.randn(shape).contiguous(memory_format=memory_format)
            g = torch.randn_like(pool(x, size))
            bytes = 4 * (x.numel() + g.numel())
            cells.append(cell(lambda: pool(x, size), bytes, options.repeat))
            cells.append(cell(lambda: gradient(g, x), bytes, options.repeat))
        names = ("x".join(map(str, extents)) for extents in (shape, size))
        print("| " + " | ".join((*names, *cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
