"""Suite `steps`: whole training steps, and the replaced gradient's share of each step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

import portacl.torch as pt

from . import machine
from .timing import Protocol, Times

Record = dict[str, Any]
Step = Callable[[], None]
KERNELS: dict[str, Callable[[], None]] = {
    "torch": pt.disable,
    "portacl": pt.enable,
    "portacl-forward": lambda: pt.enable(forward=True),
}
GRADIENTS = (
    "aten::grid_sampler_2d_backward",
    "aten::_upsample_nearest_exact1d_backward",
    "aten::_upsample_nearest_exact2d_backward",
)
MOST_STEPS = 20


def _identity(n: int, h: int, w: int) -> torch.Tensor:
    theta = torch.eye(2, 3).repeat(n, 1, 1)
    return F.affine_grid(theta, [n, 1, h, w], align_corners=False)


def _convolutions(*channels: int, stride: int = 1) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(channels, channels[1:]):
        layers += [nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1), nn.ReLU()]
    return nn.Sequential(*layers)


def _training(parameters: Any, loss: Callable[[], torch.Tensor]) -> Step:
    optimiser = torch.optim.SGD(list(parameters), lr=1e-6)

    def step() -> None:
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()

    return step


def spatial_transformer() -> Step:
    """32 pictures of 3x96x100: images are data, the transform is learnt."""
    images, labels = torch.rand(32, 3, 96, 100), torch.randint(10, (32,))
    locate = nn.Sequential(
        _convolutions(3, 8, 16, stride=4), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 6)
    )
    classify = nn.Sequential(
        _convolutions(3, 16, 32, stride=2), nn.AdaptiveAvgPool2d(4),
        nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip
    identity = torch.eye(2, 3).flatten()

    def loss() -> torch.Tensor:
        theta = (0.1 * locate(images) + identity).view(-1, 2, 3)
        grid = F.affine_grid(theta, list(images.shape), align_corners=False)
        warped = F.grid_sample(images, grid, align_corners=False)
        return F.cross_entropy(classify(warped), labels)

    return _training([*locate.parameters(), *classify.parameters()], loss)


def registration() -> Step:
    """16 pairs of 3x124x132, one flow field each, found by gradient descent."""
    moving, fixed = torch.rand(16, 3, 124, 132), torch.rand(16, 3, 124, 132)
    identity = _identity(16, 124, 132)
    flow = nn.Parameter(0.01 * torch.randn(16, 124, 132, 2))

    def loss() -> torch.Tensor:
        warped = F.grid_sample(moving, identity + flow, padding_mode="border", align_corners=False)
        rough = (flow[:, 1:] - flow[:, :-1]).square().mean()
        rough = rough + (flow[:, :, 1:] - flow[:, :, :-1]).square().mean()
        return F.mse_loss(warped, fixed) + 0.1 * rough

    return _training([flow], loss)


def depth_warp() -> Step:
    """4 stereo pairs of 3x96x320: a small network's disparity warps one view to the other."""
    left, right = torch.rand(4, 3, 96, 320), torch.rand(4, 3, 96, 320)
    network = nn.Sequential(_convolutions(3, 16, 16), nn.Conv2d(16, 1, 3, padding=1))
    identity = _identity(4, 96, 320)

    def loss() -> torch.Tensor:
        shift = 0.1 * torch.sigmoid(network(left)).permute(0, 2, 3, 1)
        grid = identity - torch.cat([shift, torch.zeros_like(shift)], dim=-1)
        warped = F.grid_sample(right, grid, padding_mode="border", align_corners=False)
        return F.l1_loss(warped, left)

    return _training(network.parameters(), loss)


def feature_warp() -> Step:
    """2 pairs with 64 channels of 90x106: features and flow are both learnt."""
    first, second = torch.rand(2, 3, 90, 106), torch.rand(2, 3, 90, 106)
    encode = _convolutions(3, 32, 64)
    predict = nn.Conv2d(128, 2, 3, padding=1)
    identity = _identity(2, 90, 106)

    def loss() -> torch.Tensor:
        a, b = encode(first), encode(second)
        flow = 0.05 * torch.tanh(predict(torch.cat([a, b], dim=1))).permute(0, 2, 3, 1)
        return F.l1_loss(F.grid_sample(b, identity + flow, align_corners=False), a)

    return _training([*encode.parameters(), *predict.parameters()], loss)


def super_resolution() -> Step:
    """4 pictures of 3x90x106, enlarged twice by nearest-exact between convolutions."""
    coarse, fine = torch.rand(4, 3, 90, 106), torch.rand(4, 3, 180, 212)
    before, after = _convolutions(3, 32), nn.Conv2d(32, 3, 3, padding=1)

    def loss() -> torch.Tensor:
        large = F.interpolate(before(coarse), scale_factor=2, mode="nearest-exact")
        return F.mse_loss(after(large), fine)

    return _training([*before.parameters(), *after.parameters()], loss)


STEPS = (spatial_transformer, registration, depth_warp, feature_warp, super_resolution)


def run(options: Any, threads: int) -> list[Record]:
    torch.set_num_threads(threads)
    protocol = Protocol(repeat=options.repeat, limit=options.max_seconds, clock=options.clock)
    records = []
    for make in STEPS:
        torch.manual_seed(0)
        step = make()
        times = measure(step, protocol)
        pt.disable()
        record = {
            "name": make.__name__,
            "what": make.__doc__,
            "threads": threads,
            "load": machine.load(),
            "pool": pt.threads().pool,
            "gradient_share": gradient_share(step),
            "peers": {name: t.to_json() for name, t in times.items()},
        }
        records.append(record)
    return records


def measure(step: Step, protocol: Protocol) -> dict[str, Times]:
    """Seconds per step, by kernels; they take turns."""
    times = {name: Times(1) for name in KERNELS}

    def sample() -> float:
        start = protocol.now()
        step()
        return (protocol.now() - start) * 1e-9

    try:
        for i in range(protocol.repeat):
            for name in list(KERNELS) if i % 2 else list(KERNELS)[::-1]:
                KERNELS[name]()
                first = sample()
                count = max(1, min(MOST_STEPS, int(protocol.limit / protocol.repeat / first)))
                times[name].samples += [sample() for _ in range(count)]
    finally:
        pt.disable()
    return times


def gradient_share(step: Step) -> float:
    """The replaced operators' share of the stock step, 0 to 1."""
    steps = 5
    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        start = time.perf_counter()
        for _ in range(steps):
            step()
        total = time.perf_counter() - start
    gradients = [e for e in profile.key_averages() if e.key in GRADIENTS]
    return sum(e.cpu_time_total for e in gradients) * 1e-6 / total
