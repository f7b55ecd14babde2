"""Routed calls in portacl's timeline and logs; guard mode; errors."""

from __future__ import annotations

import json

import pytest
import torch
from child import output_of, run_python

PROGRAM = """
import torch, torch_npu
x = torch.ones(2, 3).npu()
y = torch.sigmoid(x)
torch.npu.synchronize()
print(y.sum().item())
"""


def test_the_timeline_has_routed_calls(tmp_path):
    file = tmp_path / "trace.json"
    output_of("-c", PROGRAM, PORTACL_TRACE=str(file))
    events = [e for e in json.loads(file.read_text())["traceEvents"] if e.get("cat") == "routed"]
    (sigmoid,) = [e for e in events if e["name"] == "aten::sigmoid"]
    assert sigmoid["args"]["detail"] == "Float[2x3]" and sigmoid["dur"] > 0


def test_the_logs_have_routed_calls():
    done = run_python("-c", PROGRAM, PORTACL_LOG="debug,calls")
    assert done.returncode == 0, done.stderr
    assert "routed aten::sigmoid Float[2x3]" in done.stderr
    assert "portacl_routed,v1,aten::sigmoid,Float[2x3]," in done.stderr


def test_guard_mode_lets_routed_operators_read_and_not_the_program():
    program = PROGRAM + """
import torch.nn.functional as F
layer = torch.nn.Conv2d(1, 2, 3).npu()
optimizer = torch.optim.Adam(layer.parameters())
layer(torch.rand(1, 1, 8, 8).npu()).square().mean().backward()
optimizer.step()
grown = torch.empty(0, device="npu")
torch.exp(x, out=grown)
parts = torch.unsafe_split(x.exp(), 1)
assert [round(t.sum().item(), 3) for t in (grown, *parts)] == [16.31, 8.155, 8.155]
print("alive", flush=True)
import ctypes
ctypes.c_float.from_address(y.data_ptr()).value
print("not reached")
"""
    done = run_python("-c", program, PORTACL_GUARD="1")
    assert "alive" in done.stdout and "not reached" not in done.stdout, done.stderr
    assert "portacl guard: host read of device memory" in done.stderr


def test_a_program_that_waits_leaves_the_cpu_alone():
    """The plugin's release thread sleeps a microsecond at a time: it took a sixth of a CPU."""
    program = """
import ctypes, time
import torch, torch_npu
own = ctypes.CDLL(None).prctl(30)  # PR_GET_TIMERSLACK
for device in "npu:0", "npu:1":
    x = torch.ones(2, device=device)
    torch.npu.synchronize(device)
begin, cpu = time.monotonic(), time.process_time()
while time.monotonic() < begin + 2:
    time.sleep(0.5)
print(time.process_time() - cpu, ctypes.CDLL(None).prctl(30) == own)
"""
    cpu, same = output_of("-c", program, PORTACL_DEVICES="2").split()[-2:]
    assert float(cpu) < 0.2  # two devices
    assert same == "True"  # the program's own timers are as they were


def test_a_device_whose_start_is_stopped_leaves_the_programs_timers_as_they_were():
    program = """
import ctypes
import torch, torch_npu
own = ctypes.CDLL(None).prctl(30)  # PR_GET_TIMERSLACK
torch_npu.npu._lazy_call(lambda: 1 / 0)
try:
    torch.ones(2, device="npu")
except Exception:
    print("stopped", ctypes.CDLL(None).prctl(30) == own)
"""
    assert output_of("-c", program).split()[-2:] == ["stopped", "True"]


def test_an_operator_that_cannot_run_is_named_in_its_line_and_the_program_goes_on():
    x = torch.ones(4, 4).npu()
    with pytest.raises(NotImplementedError, match="npu::npu_mhc_sinkhorn"):
        import torch_npu

        torch_npu.npu_mhc_sinkhorn(x)
    assert x.sigmoid().sum().item() == pytest.approx(16 * 0.7310586)


def test_a_wrong_call_is_refused_in_its_line_with_pytorchs_words():
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.ones(2, 3).npu() @ torch.ones(2, 3).npu()
    with pytest.raises(IndexError, match="out of range"):
        torch.embedding(torch.ones(3, 2).npu(), torch.tensor([7]).npu())
    assert torch.ones(2).npu().exp().sum().item() == pytest.approx(5.436564)


def test_portacls_own_operators_are_still_portacls():
    program = """
import torch, torch_npu
import torch.nn.functional as F
image, grid = torch.rand(1, 1, 8, 8).npu(), torch.rand(1, 4, 4, 2).npu()
F.grid_sample(image, grid, align_corners=False)
F.interpolate(image, (16, 16), mode="nearest-exact")
torch.npu.synchronize()
"""
    done = run_python("-c", program, PORTACL_LOG="calls")
    assert done.returncode == 0, done.stderr
    calls = [line.split(",")[2] for line in done.stderr.splitlines() if "portacl_call," in line]
    assert "aclnnGridSampler2D" in calls and "aclnnUpsampleNearestExact2d" in calls


def test_graphs_are_refused_in_plain_words():
    graph = torch.npu.NPUGraph()
    x = torch.ones(4, device="npu")
    with pytest.raises(RuntimeError), torch.npu.graph(graph):
        x.sigmoid()
    assert x.sigmoid().cpu()[0].item() == pytest.approx(0.7310586)
