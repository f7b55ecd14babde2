"""Two devices in one process: tensors, copies between them, streams and gradients."""

from __future__ import annotations

import pytest
from child import output_of

torch = pytest.importorskip("torch")
torch_npu = pytest.importorskip("torch_npu")

PROGRAM = """
import torch, torch_npu
import torch.nn.functional as F

assert torch.npu.device_count() == 2
host = torch.arange(3 << 20, dtype=torch.float32)
there = host.to("npu:1")
here = there.to("npu:0")
back = torch.empty_like(there).copy_(here)
# torch_npu has one event and one queue of calls a device for such copies: the next copy's record
# may come before the wait for this copy.
for device in ("npu:0", "npu:1"):
    torch.npu.synchronize(device)
with torch.npu.stream(torch.npu.Stream("npu:0")):
    waiting = back.to("npu:0", non_blocking=True)
torch.npu.synchronize("npu:0")
for tensor, device in ((there, 1), (here, 0), (back, 1), (waiting, 0)):
    assert tensor.device.index == device and torch.equal(tensor.cpu(), host)

event = torch.npu.Event(interprocess=True)
event.record()
event.synchronize()
assert event.query()

results = []
for device in ("npu:0", "npu:1"):
    generator = torch.Generator().manual_seed(1)
    image = torch.rand(1, 3, 8, 8, generator=generator).to(device).requires_grad_()
    grid = (torch.rand(1, 5, 5, 2, generator=generator) * 2 - 1).to(device).requires_grad_()
    F.grid_sample(image, grid, align_corners=False).sum().backward()
    results.append((image.grad.cpu(), grid.grad.cpu()))
assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
"""


def test_two_devices_exchange_tensors():
    output_of("-c", PROGRAM, PORTACL_DEVICES="2")
