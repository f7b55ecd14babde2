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
@pytest.mark.parametrize(
    "sizes", [((4, 6, 10), (2, 3, 5)), ((5, 7, 2), (9, 3, 4)), ((4, 4, 4), (1, 1, 1))]
)
def test_nearest_exact_3d_equals_pytorch(dtype, sizes):
    output, source = sizes
    values = torch.randn(2, 3, *source, generator=generator(9)).to(dtype)
    arguments = (list(output), None, None, None)
    result = aten._upsample_nearest_exact3d(values.npu(), *arguments)
    assert torch.equal(result.cpu(), aten._upsample_nearest_exact3d(values, *arguments))
    grad = torch.randn(2, 3, *output, generator=generator(1)).to(dtype)
    arguments = (list(output), [2, 3, *source], None, None, None)
    result = aten._upsample_nearest_exact3d_backward(grad.npu(), *arguments)
    assert torch.equal(result.cpu(), aten._upsample_nearest_exact3d_backward(grad, *arguments))


def check_near_float64(operator, tensors, rest):
    """On the device, against PyTorch in float64 on the CPU."""
    dtype = tensors[0].dtype
    results = operator(*(t.npu() for t in tensors), *rest)
    # The coordinates' rounding to halves decides cells: compare where the operator computes.
    wide = tensors if dtype == torch.float32 else [t.float() for t in tensors]
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    expected = operator(*(t.double() for t in wide), *rest)
    if isinstance(results, torch.Tensor):
        results, expected = [results], [expected]
    for result, reference in zip(results, expected, strict=True):
        assert result.dtype == dtype and result.device.type == "npu"
        scale = max(1.0, reference.abs().max().item())
        assert (result.cpu().double() - reference).abs().max().item() <= tolerance * scale


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("padding", [0, 1])
def test_grid_sampler_is_near_float64(dtype, align, mode, padding):
    source = torch.randn(2, 3, 6, 7, generator=generator(3)).to(dtype)
    grid = (torch.rand(2, 8, 10, 2, generator=generator(4)) * 2.4 - 1.2).to(dtype)
    grad = torch.randn(2, 3, 8, 10, generator=generator(5)).to(dtype)
    rest = (mode, padding, align, [True, True])
    check_near_float64(aten.grid_sampler_2d_backward, (grad, source, grid), rest)


# The vendor's operators on volumes have no BF16; portacl's have it under profile "open" only.
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("padding", [0, 1, 2])
def test_grid_sampler_3d_is_near_float64(dtype, align, mode, padding):
    source = torch.randn(2, 3, 4, 6, 7, generator=generator(3)).to(dtype)
    grid = (torch.rand(2, 5, 8, 3, 3, generator=generator(4)) * 2.4 - 1.2).to(dtype)
    grad = torch.randn(2, 3, 5, 8, 3, generator=generator(5)).to(dtype)
    modes = (mode, padding, align)
    check_near_float64(aten.grid_sampler_3d, (source, grid), modes)
    check_near_float64(
        aten.grid_sampler_3d_backward, (grad, source, grid), (*modes, [True, True])
    )


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
