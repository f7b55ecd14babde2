"""The unmodified torch_npu on the install tree: import, copies, and the gradients of our operators.

`script/check torch_npu` runs the tests of this folder once for each of torch_npu's modes. Those of
this file need neither forward nor companion operators: the device computes the gradients alone.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch_npu = pytest.importorskip("torch_npu")

aten = torch.ops.aten
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_device_is_there():
    assert torch.npu.is_available()
    assert torch.npu.device_count() >= 1
    assert torch.npu.get_device_name(0) == "Ascend910B1"
    free, total = torch.npu.mem_get_info()
    assert 0 < free <= total
    assert torch.npu.get_device_properties(0).L2_cache_size >= 0


@pytest.mark.parametrize("dtype", [*DTYPES, torch.int64, torch.int32, torch.uint8, torch.bool])
def test_copies_keep_every_bit(dtype):
    values = (torch.arange(100_003) % 251).to(dtype)
    assert torch.equal(values.npu().cpu(), values)
    pinned = values.pin_memory()
    device = pinned.to("npu", non_blocking=True)
    back = torch.empty_like(values).pin_memory()
    back.copy_(device, non_blocking=True)
    torch.npu.synchronize()
    assert torch.equal(back, values)


def test_pinned_memory_is_told_from_other_memory():
    assert torch.zeros(5).pin_memory().is_pinned()
    assert not torch.zeros(5).is_pinned()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [((8, 10), (4, 5)), ((5, 7), (9, 3)), ((16, 16), (1, 1))])
def test_nearest_exact_2d_equals_pytorch(dtype, sizes):
    output, source = sizes
    grad = torch.randn(2, 3, *output, generator=generator(1)).to(dtype)
    arguments = (list(output), [2, 3, *source], None, None)
    result = aten._upsample_nearest_exact2d_backward(grad.npu(), *arguments)
    expected = aten._upsample_nearest_exact2d_backward(grad, *arguments)
    assert torch.equal(result.cpu(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nearest_exact_1d_equals_pytorch(dtype):
    grad = torch.randn(2, 3, 12, generator=generator(2)).to(dtype)
    arguments = ([12], [2, 3, 5], None)
    result = aten._upsample_nearest_exact1d_backward(grad.npu(), *arguments)
    assert torch.equal(result.cpu(), aten._upsample_nearest_exact1d_backward(grad, *arguments))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("padding", [0, 1])
def test_grid_sampler_is_near_float64(dtype, align, mode, padding):
    source = torch.randn(2, 3, 6, 7, generator=generator(3)).to(dtype)
    grid = (torch.rand(2, 8, 10, 2, generator=generator(4)) * 2.4 - 1.2).to(dtype)
    grad = torch.randn(2, 3, 8, 10, generator=generator(5)).to(dtype)
    rest = (mode, padding, align, [True, True])
    results = aten.grid_sampler_2d_backward(grad.npu(), source.npu(), grid.npu(), *rest)
    if dtype == torch.float32:
        wide, tolerance = (grad, source, grid), 1e-5
    else:  # the coordinates' rounding decides cells: compare where the operator computes
        wide, tolerance = (grad.float(), source.float(), grid.float()), 3e-2
    expected = aten.grid_sampler_2d_backward(*(t.double() for t in wide), *rest)
    for result, reference in zip(results, expected, strict=True):
        assert result.dtype == dtype
        scale = max(1.0, reference.abs().max().item())
        assert (result.cpu().double() - reference).abs().max().item() <= tolerance * scale


def test_gradients_are_the_same_on_every_run():
    source = torch.randn(1, 4, 32, 32, generator=generator(6)).npu()
    grid = (torch.rand(1, 64, 64, 2, generator=generator(7)) * 2 - 1).npu()
    grad = torch.randn(1, 4, 64, 64, generator=generator(8)).npu()
    rest = (0, 0, False, [True, True])
    first = [t.cpu() for t in aten.grid_sampler_2d_backward(grad, source, grid, *rest)]
    torch.use_deterministic_algorithms(True)
    try:
        second = [t.cpu() for t in aten.grid_sampler_2d_backward(grad, source, grid, *rest)]
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_streams_and_events_order_copies():
    stream = torch.npu.Stream()
    source = torch.arange(1 << 20, dtype=torch.float32).pin_memory()
    done = torch.npu.Event(enable_timing=True)
    begin = torch.npu.Event(enable_timing=True)
    with torch.npu.stream(stream):
        begin.record()
        device = source.to("npu", non_blocking=True)
        done.record()
    torch.npu.current_stream().wait_event(done)
    back = device.cpu()
    assert torch.equal(back, source)
    done.synchronize()
    assert begin.elapsed_time(done) >= 0


def test_memory_comes_back_and_is_reported():
    torch.npu.empty_cache()
    before = torch.npu.memory_reserved()
    tensors = [torch.empty(3 << 20, dtype=torch.uint8, device="npu") for _ in range(20)]
    assert torch.npu.memory_reserved() >= before + 20 * (3 << 20)
    data = np.arange(3 << 20, dtype=np.uint64).astype(np.uint8)
    for tensor in tensors:
        tensor.copy_(torch.from_numpy(data))
    assert all(np.array_equal(tensor.cpu().numpy(), data) for tensor in tensors)
    del tensors, tensor
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() <= before


def test_big_tensors_span_pieces_of_expandable_segments():
    data = torch.arange(30 << 20, dtype=torch.int32)  # 120 MiB: several pieces of 20 MiB
    device = data.npu()
    assert torch.equal(device.cpu(), data)
    expandable = "expandable_segments:True" in os.environ.get("PYTORCH_NPU_ALLOC_CONF", "")
    segments = torch.npu.memory_snapshot()
    assert any(segment["is_expandable"] for segment in segments) == expandable
