"""What a program sees of tensors whose operators are routed: views, out=, in-place, devices."""

from __future__ import annotations

import copy
import io
import pickle
import threading

import pytest
import torch
import torch.nn.functional as F
from child import run_python
from compare import close, same
from torch import nn


def test_views_share_storage():
    x = torch.arange(12.0).reshape(3, 4).npu()
    turned, diagonal, windows = x.t()[1:], torch.diagonal(x), x.unfold(1, 2, 1)
    address = x.untyped_storage().data_ptr()
    for view in (turned, diagonal, windows):
        assert view.untyped_storage().data_ptr() == address
    diagonal.zero_()
    assert x[1, 1].item() == 0 and windows[1, 1, 0].item() == 0
    turned.add_(1)
    assert x[0, 1].item() == 2
    x.chunk(2, 1)[1].mul_(0)
    assert x[2, 3].item() == 0


def test_results_that_share_a_storage_share_it_on_the_device():
    parts = torch.unsafe_split(torch.arange(6.0).npu().exp(), 2)
    assert parts[0].untyped_storage().data_ptr() == parts[1].untyped_storage().data_ptr()
    real = torch.view_as_real(torch.ones(3, dtype=torch.cfloat).npu())
    real.fill_(2)
    assert real.shape == (3, 2)


def test_in_place_keeps_the_object_and_counts_versions():
    x = torch.randn(4, 4).npu()
    address, version = x.data_ptr(), x._version
    assert x.sigmoid_() is x and x.data_ptr() == address
    assert x._version == version + 1
    x.t_()
    assert x.stride() == (1, 4)


def test_small_results_lie_in_device_memory():
    kept = []
    for elements in (1, 2047, 2048, 2049, 4096) * 20:  # more than there are small blocks
        x = torch.full((elements,), 2.0).npu()
        before = torch.npu.memory_allocated()
        y = x.exp()
        assert torch.npu.memory_allocated() - before >= 4 * elements
        parts = torch.frexp(x)
        kept.append((x, y, *parts))
    for x, y, mantissa, exponent in kept:
        close((y, mantissa), (x.cpu().exp(), torch.frexp(x.cpu())[0]))
        assert (exponent.cpu() == 2).all()


def test_out_variants_fill_and_resize():
    x = torch.randn(4, 4).npu()
    grown = torch.empty(0, device="npu")
    assert torch.exp(x, out=grown) is grown
    close(grown, x.cpu().exp())
    full = torch.empty(4, 4, device="npu")
    address = full.data_ptr()
    torch.mm(x, x, out=full)
    assert full.data_ptr() == address
    close(full, x.cpu() @ x.cpu())
    strided = torch.zeros(8, 4, device="npu")
    torch.mul(x, 2, out=strided[::2])
    close(strided[::2], x.cpu() * 2)
    assert strided[1::2].abs().sum().item() == 0
    values, places = torch.empty(0, device="npu"), torch.empty(0, device="npu", dtype=torch.long)
    torch.sort(x, out=(values, places))
    close(values, x.cpu().sort()[0])


def test_results_are_not_copies_and_memory_is_counted():
    torch.npu.empty_cache()
    before = torch.npu.memory_allocated()
    x = torch.rand(1024, 1024, device="npu").sigmoid()
    assert 4 << 20 <= torch.npu.memory_allocated() - before <= (4 << 20) + 1024
    y = torch.matmul(x, x)
    assert 8 << 20 <= torch.npu.memory_allocated() - before <= (8 << 20) + 2048
    del x, y
    assert torch.npu.memory_allocated() == before


def test_no_memory_is_an_error_of_pytorch():
    torch.npu.empty_cache()
    x = torch.ones(1, device="npu")
    with pytest.raises(RuntimeError, match="(?i)memory|invalid"):
        x.expand(1 << 45).contiguous()
    assert x.sigmoid().cpu().item() == pytest.approx(0.7310586)


def test_swapped_memory_has_room():
    """The plugin rounds addresses of host memory up to a page, and expects memory there."""
    done = run_python("-c", SWAPPED)
    assert done.returncode == 0, done.stderr[-2000:]


SWAPPED = """
import gc
import torch, torch_npu
for _ in range(3):
    tensors = [torch_npu.empty_with_swapped_memory([256 * (i + 1)], dtype=torch.float32,
                                                   device="npu:0") for i in range(8)]
    for value, tensor in enumerate(tensors):
        tensor.fill_(float(value))
    assert [tensor.sum().item() for tensor in tensors] == [
        value * tensor.numel() for value, tensor in enumerate(tensors)]
    del tensors, tensor
    gc.collect()
"""


def test_mixed_devices_are_refused_by_name():
    with pytest.raises(RuntimeError, match=r"same device.*mul"):
        torch.randn(3).npu() * torch.randn(3)
    close(torch.ones(3).npu() + torch.tensor(1.0), torch.full((3,), 2.0))
    close(torch.arange(3.0).npu()[torch.tensor([0, 2])], torch.tensor([0.0, 2]))


@pytest.mark.parametrize("flag", ["conj", "neg"])
def test_lazy_conjugates_and_negatives(flag):
    values = torch.randn(3, 2, dtype=torch.cfloat)

    def use(x):
        lazy = x.conj() if flag == "conj" else x.conj().imag
        return torch.view_as_real(x * x.conj()), (lazy * 1).abs(), lazy.abs().sum()

    same(use, values)


def test_wrapped_numbers_do_not_promote():
    half = torch.ones(2, dtype=torch.float16).npu()
    assert (half * 2.5).dtype == torch.float16
    assert (half + torch.tensor(1.0)).dtype == torch.float16
    assert (torch.arange(3).npu() * 2.0).dtype == torch.float32


def test_expanded_and_strided_arguments():
    same(lambda a, b: (a.expand(4, 3) @ b[:, ::2].t()).tanh(), torch.randn(1, 3), torch.randn(5, 6))
    same(lambda a: torch.cumsum(a.flip(0)[:, 1:], 1), torch.randn(3, 4, requires_grad=True))


def test_names_of_axes_stay():
    x = torch.randn(2, 3, names=("N", "C"))
    ours = x.npu().cummax("C")
    assert ours.values.names == ("N", "C")
    assert torch.equal(ours.values.cpu().rename(None), x.cummax("C").values.rename(None))
    assert x.npu().sigmoid().sum("N").names == ("C",)


def test_indices_and_masks():
    def use(x):
        x = x.clone()
        mask, rows = x > 0, torch.tensor([0, 3], device=x.device)
        positive = x[mask]
        x[mask] = 0
        x[rows] = 1.0
        x.index_add_(0, rows, torch.ones(2, 5, device=x.device))
        x.scatter_(1, torch.zeros(6, 1, dtype=torch.long, device=x.device), 9.0)
        return positive, x, torch.nonzero(mask), torch.topk(x, 2), torch.where(mask, x, -x)

    same(use, torch.randn(6, 5))


def test_printing_reading_and_lists():
    x = torch.randn(3, 3).npu()
    assert "npu" in repr(x)
    for other in (x > 0, x.half(), x.to(torch.cfloat), torch.arange(3, device="npu")):
        assert "npu" in repr(other)
    assert x.tolist() == x.cpu().tolist()
    assert f"{x[0, 0]:.2f}" == f"{x.cpu()[0, 0]:.2f}"


def test_saving_loading_copying():
    model = nn.Linear(4, 4).npu()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(2, 4, device="npu")).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save([model.state_dict(), optimizer.state_dict()], file)
    file.seek(0)
    assert torch.load(file)[0]["weight"].device.type == "npu"
    file.seek(0)
    close(model.weight, torch.load(file, map_location="cpu")[0]["weight"])
    close(copy.deepcopy(model).weight, model.weight.cpu())
    x = torch.randn(3).npu()
    close(pickle.loads(pickle.dumps(x)), x.cpu())


def test_channels_last():
    x = torch.randn(2, 3, 8, 8)
    moved = x.npu().to(memory_format=torch.channels_last)
    assert moved.is_contiguous(memory_format=torch.channels_last)
    close(moved, x)

    def use(x):
        layer = nn.Conv2d(3, 4, 3).to(x.device).to(memory_format=torch.channels_last)
        return F.max_pool2d(layer(x.contiguous(memory_format=torch.channels_last)).relu(), 2)

    result = same(use, x)
    assert result.is_contiguous(memory_format=torch.channels_last)
    empty = torch.empty(2, 3, 4, 4, device="npu", memory_format=torch.channels_last)
    assert empty.stride() == (48, 1, 12, 3)
    assert torch.empty_like(moved).stride() == moved.stride()


def test_formats_of_the_device():
    import torch_npu

    x = torch.randn(16, 32).npu()
    assert torch_npu.get_npu_format(x) == 2  # ND
    cast = torch_npu.npu_format_cast(x, 29)  # a private one: values and order stay
    close(cast, x.cpu())
    close(cast @ x.t(), x.cpu() @ x.cpu().t(), 1e-4)


def test_float64_becomes_float32_as_on_the_hardware():
    x = torch.randn(3)
    assert x.npu().double().dtype == torch.float32
    assert x.npu().to(torch.float64).dtype == torch.float32
    assert x.double().npu().dtype == torch.float64  # moved as it is
    assert x.npu().double().cpu().double().dtype == torch.float64


def test_float64_where_it_is_wanted():
    done = run_python("-c", FLOAT64, PORTACL_NPU_FLOAT64="1")
    assert done.returncode == 0, done.stderr[-2000:]


FLOAT64 = """
import torch, torch_npu
model = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 2), torch.nn.ELU()).npu().double()
x = torch.randn(1, 2, 4, dtype=torch.float64, device="npu", requires_grad=True)
assert model(x).dtype == torch.float64 and torch.autograd.gradcheck(model, x)
"""


def test_inference_mode():
    with torch.inference_mode():
        x = torch.ones(3, device="npu").sigmoid()
        assert x.is_inference()
        x.add_(1)
    y = torch.ones(3, device="npu").sigmoid()
    assert not y.is_inference()
    y.requires_grad_().sum().backward()


def test_streams_and_events_order_routed_calls():
    stream, event = torch.npu.Stream(), torch.npu.Event()
    x = torch.randn(64, 64, device="npu")
    with torch.npu.stream(stream):
        y = (x @ x).clone()
        event.record()
    event.wait()
    torch.npu.current_stream().wait_stream(stream)
    close(y + 0, x.cpu() @ x.cpu(), 1e-4)


def test_threads():
    results: list[float] = []

    def work():
        for _ in range(50):
            ones = torch.ones(16, 16, device="npu")
            results.append((ones @ ones).sum().item())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [4096.0] * 200


def _random_program(device: str, seed: int) -> torch.Tensor:
    """Operators of portacl, which run behind the call, and routed ones, on two streams."""
    import random

    choice = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    image = torch.rand(1, 2, 40, 40, generator=generator).to(device)
    grid = (torch.rand(1, 40, 40, 2, generator=generator) * 2 - 1).to(device)
    side = torch.npu.Stream() if device == "npu" else None

    def resized(x):
        for size in (80, 40):
            x = F.interpolate(x, (size, size), mode="nearest-exact")
        return x

    def aside(x):
        if side is None:
            return F.grid_sample(x, grid, align_corners=False) * 0.7
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            y = F.grid_sample(x, grid, align_corners=False) * 0.7
        torch.npu.current_stream().wait_stream(side)
        y.record_stream(torch.npu.current_stream())
        x.record_stream(side)
        return y

    steps = (
        lambda x: F.grid_sample(x, grid, align_corners=False),
        resized,
        torch.sigmoid,
        lambda x: torch.zeros(1, 2, 40, 40, device=device) + x * 0.5,
        lambda x: torch.empty(1, 2, 40, 40, device=device).copy_(x).mul_(0.9),
        lambda x: x.clone().index_fill_(1, torch.zeros(1, dtype=torch.long, device=device), 0.25),
        lambda x: (x.transpose(2, 3) @ x).tanh(),
        aside,
    )
    pool = [image]
    for _ in range(40):
        pool.append(choice.choice(steps)(choice.choice(pool)))
        del pool[:-4]
    return torch.cat([x.flatten() for x in pool]).cpu()


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_of_portacls_and_routed_operators(seed):
    expected = _random_program("cpu", seed)
    torch.testing.assert_close(_random_program("npu", seed), expected, rtol=1e-4, atol=1e-4)
