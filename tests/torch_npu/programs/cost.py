"""The cost of routing: a call's time on npu beside the CPU's, and a whole step's, interleaved.

    cost.py [--rounds N]

Each round measures both devices in turn, each call for less time than a scheduler's slice. The
least of all rounds counts: so a busy machine hardly shows. A step's time is that of all its
threads.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("PORTACL_NPU_RANDOM", "cpu")

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401
from programs import SpatialTransformer, UNet, VisionTransformer

DEVICES = ("cpu", "npu")


def seconds(work, count, clock):
    """The time of one call of ``work``."""
    begin = clock()
    for _ in range(count):
        work()
    return (clock() - begin) / count


def least(make, count, rounds, clock=time.perf_counter):
    """The least time on each device, in microseconds."""
    works = {device: make(device) for device in DEVICES}
    best = dict.fromkeys(DEVICES, float("inf"))
    for work in works.values():
        seconds(work, count, clock)
    for _ in range(rounds):
        for device, work in works.items():
            best[device] = min(best[device], seconds(work, count, clock) * 1e6)
    return best


def calls():
    """Small calls, by name."""
    def tensors(device):
        torch.manual_seed(0)
        return torch.rand(8, 8).to(device), torch.rand(8, 8).to(device)

    def two(function):
        def make(device):
            a, b = tensors(device)
            return lambda: function(a, b)

        return make

    def many(device):
        left, right = ([torch.rand(8, 8).to(device) for _ in range(20)] for _ in range(2))
        return lambda: torch._foreach_add_(left, right)

    def convolution(device):
        x, w = torch.rand(4, 8, 8, 8).to(device), torch.rand(8, 8, 3, 3).to(device)
        return lambda: F.conv2d(x, w)

    return {
        "add_": two(lambda a, b: a.add_(b)),
        "add": two(torch.add),
        "mm": two(torch.mm),
        "sum": two(lambda a, _: a.sum()),
        "sigmoid": two(lambda a, _: a.sigmoid()),
        "zeros_like": two(lambda a, _: torch.zeros_like(a)),
        "conv2d": convolution,
        "foreach_add_ of 20": many,
    }


def step_of(model, shape, target):
    """Make a training step."""
    def make(device):
        torch.manual_seed(0)
        net = model().to(device)
        optimizer = torch.optim.Adam(net.parameters())
        x, y = torch.rand(*shape).to(device), target(shape).to(device)

        def step():
            optimizer.zero_grad()
            out = net(x)
            loss = F.mse_loss(out, y) if y.is_floating_point() else F.cross_entropy(out, y)
            loss.backward()
            optimizer.step()
            return loss.item()

        return step

    return make


STEPS = {
    "spatial transformer": step_of(SpatialTransformer, (64, 1, 28, 28), lambda s: torch.arange(s[0]) % 10),
    "U-Net": step_of(UNet, (4, 3, 36, 34), lambda s: torch.rand(s[0], 1, *s[2:])),
    "vision transformer": step_of(VisionTransformer, (16, 3, 16, 16), lambda s: torch.arange(s[0]) % 10),
}


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print("| us, 8x8 | CPU | npu | more |\n| --- | --- | --- | --- |")
    for name, make in calls().items():
        best = least(make, 100, 20 * rounds)
        print(f"| {name} | {best['cpu']:.2f} | {best['npu']:.2f} | {best['npu'] - best['cpu']:.2f} |")
    print("\n| ms, a step | CPU | npu | ratio |\n| --- | --- | --- | --- |")
    for name, make in STEPS.items():
        best = least(make, 3, 2 * rounds, time.process_time)
        print(f"| {name} | {best['cpu'] / 1e3:.1f} | {best['npu'] / 1e3:.1f} | "
              f"{best['npu'] / best['cpu']:.2f} |")


if __name__ == "__main__":
    main()
