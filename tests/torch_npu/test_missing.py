"""Operators that nothing runs if the package takes none: only portacl's own operators are there."""

from __future__ import annotations

import pytest
from child import output_of

torch = pytest.importorskip("torch")
pytest.importorskip("torch_npu")

# By the name of a graph operator, in the plugin; by an aclnn function that the library has not.
CALLS = {
    "EmbeddingBag": "F.embedding_bag(torch.tensor([0, 1, 2]).npu(), x, torch.tensor([0, 2]).npu())",
    "RotatedNMS": "torch_npu.npu_nms_rotated(torch.rand(3, 5).npu(), torch.rand(3).npu(), 0.5, 0.1)",
}


@pytest.mark.parametrize("name", CALLS)
def test_raises_in_its_line_and_leaves_the_process_right(name):
    program = f"""
import torch, torch_npu
import torch.nn.functional as F
x = torch.rand(4, 4).npu()
try:
    {CALLS[name]}
    print("no error")
except RuntimeError as error:
    print("raised", "{name}" in str(error))
host = torch.rand(1, 1, 8, 8)
for _ in range(3):
    doubled = F.interpolate(host.npu(), scale_factor=2, mode="nearest-exact")
    print(torch.equal(doubled.cpu(), F.interpolate(host, scale_factor=2, mode="nearest-exact")))
    print(torch.equal((x + x).cpu(), x.cpu() * 2))
"""
    lines = output_of("-c", program, PORTACL_NPU="0", without=("TASK_QUEUE_ENABLE",)).splitlines()
    assert lines[-7:] == ["raised True"] + ["True"] * 6
