"""Programs through torch_npu: training loops, what they print, and how refused calls read."""

from __future__ import annotations

import re

import pytest
from child import run_python

torch = pytest.importorskip("torch")
torch_npu = pytest.importorskip("torch_npu")

import torch.nn.functional as F  # noqa: E402, N812

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
# Two arithmetics apart by roundings in the tensors' type.
ROUNDING = {torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def on(device, tensor, layout):
    """A leaf on the device: dense, with the last axes swapped, or every other column of a wide one."""
    if layout == "transposed":
        return tensor.mT.contiguous().to(device, copy=True).mT.detach().requires_grad_()
    if layout == "sliced":
        wide = torch.repeat_interleave(tensor, 2, dim=3).to(device)
        return wide[..., ::2].detach().requires_grad_()
    return tensor.to(device, copy=True).requires_grad_()


LAYOUTS = ("dense", "transposed", "sliced")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_autograd_through_nearest_exact(dtype, layout):
    source = torch.randn(2, 3, 7, 9, generator=generator(1)).to(dtype)
    weight = torch.randn(2, 3, 5, 12, generator=generator(2)).to(dtype)
    grads, values = [], []
    for device in ("npu", "cpu"):
        leaf = on(device, source, layout)
        output = F.interpolate(leaf, (5, 12), mode="nearest-exact")
        output.backward(weight.to(device))
        values.append(output.detach().cpu())
        grads.append(leaf.grad.cpu())
    assert torch.equal(*values)
    assert torch.equal(*grads)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_autograd_through_grid_sample(dtype, layout):
    source = torch.randn(2, 3, 7, 9, generator=generator(3)).to(dtype)
    grid = (torch.rand(2, 5, 6, 2, generator=generator(4)) * 2.2 - 1.1).to(dtype)
    weight = torch.randn(2, 3, 5, 6, generator=generator(5)).to(dtype)
    results = []
    for device, wide in (("npu", dtype), ("cpu", torch.float64)):
        leaf = on(device, source.to(wide), layout)
        points = grid.to(device, wide, copy=True).requires_grad_()
        output = F.grid_sample(leaf, points, padding_mode="border", align_corners=False)
        output.backward(weight.to(device, wide))
        results.append([t.detach().cpu().double() for t in (output, leaf.grad, points.grad)])
    for got, expected in zip(*results, strict=True):
        bound = 4 * ROUNDING[dtype] * max(1.0, expected.abs().max().item())
        assert (got - expected).abs().max().item() <= bound


def train(device, dtype, how, steps=15, **options):
    """Losses of a few steps on what `how` samples."""
    source = torch.rand(1, 3, 12, 14, generator=generator(6)).to(dtype)
    target = torch.rand(1, 3, 18, 20, generator=generator(7)).to(dtype).to(device)
    scene = source.to(device, copy=True).requires_grad_()
    leaves = [scene]
    if how == "grid":
        grid = (torch.rand(1, 18, 20, 2, generator=generator(8)) * 1.8 - 0.9).to(dtype)
        leaves.append(grid.to(device, copy=True).requires_grad_())
    optimizer = torch.optim.SGD(leaves, lr=0.3, **options)
    losses = []
    for step in range(steps):
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        if how == "grid":
            output = F.grid_sample(scene, leaves[1], align_corners=False)
        else:
            output = F.interpolate(scene, (18, 20), mode="nearest-exact")
        loss = F.mse_loss(output, target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    return losses


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize("how", ["grid", "nearest"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sgd_follows_the_loss_curve_of_the_cpu(dtype, how, foreach, momentum):
    options = {"foreach": foreach, "momentum": momentum}
    device = train("npu", dtype, how, **options)
    host = train("cpu", torch.float32 if dtype != torch.float32 else dtype, how, **options)
    bound = 1e-6 if dtype == torch.float32 else 20 * ROUNDING[dtype]
    assert max(abs(a - b) / b for a, b in zip(device, host, strict=True)) <= bound


@pytest.mark.parametrize("foreach", [True, False])
def test_sgd_with_weight_decay_and_nesterov(foreach):
    options = {"foreach": foreach, "momentum": 0.8, "weight_decay": 0.01, "nesterov": True}
    device = train("npu", torch.float32, "grid", **options)
    host = train("cpu", torch.float32, "grid", **options)
    assert max(abs(a - b) / b for a, b in zip(device, host, strict=True)) <= 1e-6


def test_deterministic_algorithms_train_to_the_same_bits():
    free = train("npu", torch.float32, "grid", momentum=0.9)
    torch.use_deterministic_algorithms(True)
    try:
        deterministic = train("npu", torch.float32, "grid", momentum=0.9)
    finally:
        torch.use_deterministic_algorithms(False)
    assert free == deterministic


# ---- printing ----------------------------------------------------------------------------------

PRINTED = {
    "float": lambda: torch.randn(3, 4, generator=generator(9)),
    "half": lambda: torch.randn(3, 4, generator=generator(9)).half(),
    "bfloat16": lambda: torch.randn(3, 4, generator=generator(9)).bfloat16(),
    "whole": lambda: torch.tensor([1.0, 2.0, -30.0]),
    "wide": lambda: torch.tensor([1e10, 1e-9, 3.0]),
    "not finite": lambda: torch.tensor([float("nan"), float("inf"), 1.5]),
    "integers": lambda: torch.arange(-3, 9).reshape(3, 4),
    "bools": lambda: torch.tensor([True, False]),
    "summarized": lambda: torch.randn(2, 40, 50, generator=generator(9)),
    "nothing": lambda: torch.zeros(0, 3),
    "a number": lambda: torch.tensor(2.5),
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_printed_tensor_reads_as_on_the_cpu(name):
    tensor = PRINTED[name]()
    printed = repr(tensor.npu())
    assert "device='npu:0'" in printed
    without = printed.replace("device='npu:0'", "")
    assert re.findall(r"[\w.+-]+", without) == re.findall(r"[\w.+-]+", repr(tensor))


def test_a_loss_prints_with_its_origin():
    source = torch.rand(1, 1, 4, 4, generator=generator(10)).npu().requires_grad_()
    output = F.interpolate(source, (8, 8), mode="nearest-exact")
    text = f"{F.mse_loss(output, torch.zeros_like(output)):.4f} {output.mean()}"
    assert float(text.split()[0]) > 0
    assert "grad_fn=<MseLossBackward0>" in repr(F.mse_loss(output, torch.zeros_like(output)))


# ---- refused calls -----------------------------------------------------------------------------

REFLECT = """
import torch, torch_npu, torch.nn.functional as F
source = torch.rand(1, 1, 4, 4).npu().requires_grad_()
grid = torch.rand(1, 2, 2, 2).npu()
F.grid_sample(source, grid, padding_mode="reflection", align_corners=False).sum().backward()
torch.npu.synchronize()
"""
MISSING = """
import torch, torch_npu
torch_npu.npu_nms_rotated(torch.rand(3, 5).npu(), torch.rand(3).npu(), 0.5, 0.1)
torch.npu.synchronize()
"""
MEMORY = """
import torch, torch_npu
try:
    torch.empty(1 << 55, dtype=torch.uint8, device="npu")
except torch.OutOfMemoryError as error:
    raise SystemExit(f"OutOfMemoryError: {error}")
"""


def stderr_of(program: str, **environment: str) -> str:
    done = run_python("-c", program, **environment)
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (
            REFLECT,
            "aclnnGridSampler2DBackward: paddingMode is 2, but must be 0 (zeros) or 1 (border); "
            "profile open also has 2 (reflection)",
        ),
        (MISSING, "RotatedNMS: this operator is not part of portacl; docs/ops"),
        (MEMORY, "OutOfMemoryError"),
    ],
    ids=["refused", "unknown", "memory"],
)
def test_an_exception_says_what_is_wrong(program, words):
    text = stderr_of(program)
    assert words in text
    # Nothing of an earlier call stands in front of it.
    assert "The context is empty" not in text
    messages = [line for line in text.splitlines() if line.startswith(("acl", "The Inner"))]
    assert program is MEMORY or words in messages[-1]


def test_reflection_trains_under_the_open_profile():
    program = REFLECT + "raise SystemExit('done')"
    assert "done" in stderr_of(program, PORTACL_PROFILE="open").splitlines()
