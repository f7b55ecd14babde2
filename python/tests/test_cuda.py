"""GPUs: the kernels' bits, by emulation where there is no GPU, and PyTorch's CUDA tensors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from child import output_of, run_python
from portacl import _core

torch = pytest.importorskip("torch")
F = torch.nn.functional

import portacl.torch as pt  # noqa: E402

HERE = Path(__file__).resolve().parent
EMULATION = HERE.parents[1] / "build/release/lib/libportacl_cuda_emulation.so"
GPUS = json.loads(_core.info_json())["cuda"]
LANCZOS = ["lanczos aa"] if hasattr(torch.ops.aten, "_upsample_lanczos2d_aa") else []
needs_gpu = pytest.mark.skipif(
    not (GPUS["devices"] and torch.cuda.is_available()), reason=f"no GPU: {GPUS['why_none']}"
)


@pytest.mark.skipif(not EMULATION.exists(), reason="the emulation of the tests is not built")
def test_emulated_kernels_have_the_bits_of_the_cpu():
    printed = output_of(HERE / "cuda_cases.py", "--cases", "12", PORTACL_CUDA_LIBRARY=EMULATION)
    assert printed.endswith(" 12 cases each: 0 differ from the CPU\n")


def test_a_library_that_is_none_is_named(tmp_path):
    library = tmp_path / "libnothing.so"
    done = run_python(
        "-c",
        "import portacl.torch as pt; pt.enable(device='cuda')",
        PORTACL_CUDA_LIBRARY=library,
    )
    assert done.returncode == 1
    assert "RuntimeError: device is 'cuda', but no GPU can be used" in done.stderr
    assert str(library) in done.stderr


def test_unknown_devices_are_refused():
    with pytest.raises(ValueError, match=r"device is 'tpu', but must be 'cpu' or 'cuda'"):
        pt.enable(device="tpu")
    with pytest.raises(ValueError, match=r"device is 'tpu', but must be 'cpu' or 'cuda'"):
        pt.is_enabled(device="tpu")
    assert not pt.is_enabled(device="cuda") or GPUS["devices"]


# ---- with a GPU --------------------------------------------------------------------------------


@pytest.fixture
def on_gpu():
    """portacl's kernels, of both directions, on both devices."""
    pt.enable(forward=True)
    pt.enable(forward=True, device="cuda")
    yield torch.device("cuda")
    pt.disable()


@needs_gpu
def test_kernels_have_the_bits_of_the_cpu():
    printed = output_of(HERE / "cuda_cases.py", "--cases", "40")
    assert printed.endswith(" 40 cases each: 0 differ from the CPU\n")
    printed = output_of(HERE / "cuda_cases.py", "--large", "--cases", "4")
    assert printed.endswith(" 4 cases each: 0 differ from the CPU\n")


def same(gpu, cpu):
    return gpu.is_cuda and torch.equal(gpu.cpu(), cpu)


@needs_gpu
@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("corners", [False, True])  # True: PyTorch's way is cuDNN's
def test_grid_sample(on_gpu, axes, corners):
    x = torch.randn(2, 5, *(9, 11, 7)[:axes])
    grid = torch.rand(2, *(6, 8, 5)[:axes], axes) * 2.4 - 1.2
    g = torch.randn(2, 5, *(6, 8, 5)[:axes])
    results = []
    for device in ("cpu", on_gpu):
        a, b = x.to(device).requires_grad_(), grid.to(device).requires_grad_()
        y = F.grid_sample(a, b, align_corners=corners)
        results.append((y.detach(), *torch.autograd.grad(y, (a, b), g.to(device))))
    assert all(same(gpu, cpu) for cpu, gpu in zip(*results))


@needs_gpu
@pytest.mark.parametrize(
    "mode",
    ["nearest", "nearest-exact", "bilinear", "bicubic", "bilinear aa", "bicubic aa", *LANCZOS],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("last", [False, True])
def test_interpolate(on_gpu, mode, dtype, last):
    mode, _, antialias = mode.partition(" ")
    x, g = torch.randn(2, 8, 12, 10).to(dtype), torch.randn(2, 8, 17, 20).to(dtype)
    results = []
    for device in ("cpu", on_gpu):
        a = x.to(device)
        a = (a.contiguous(memory_format=torch.channels_last) if last else a).requires_grad_()
        y = F.interpolate(a, (17, 20), mode=mode, antialias=bool(antialias))
        results.append((y.detach(), *torch.autograd.grad(y, a, g.to(device))))
    assert all(same(gpu, cpu) for cpu, gpu in zip(*results))
    assert results[0][0].stride() == results[1][0].stride()


@needs_gpu
def test_own_functions(on_gpu):
    pt.disable()
    x, theta = torch.randn(2, 3, 9, 8), torch.randn(2, 2, 3)
    grid = pt.affine_grid(theta, (2, 3, 7, 6))
    assert same(pt.affine_grid(theta.to(on_gpu), (2, 3, 7, 6)), grid)
    assert same(pt.grid_sample(x.to(on_gpu), grid.to(on_gpu)), pt.grid_sample(x, grid))
    resized = pt.interpolate(x, (5, 17), mode="bilinear")
    assert same(pt.interpolate(x.to(on_gpu), (5, 17), mode="bilinear"), resized)


@needs_gpu
def test_deterministic_algorithms_may_be_asked_for(on_gpu):
    x = torch.randn(1, 4, 16, 16)
    grid = torch.rand(1, 20, 20, 2) * 2 - 1
    # F.interpolate itself goes round aten's kernels for modes without antialias.
    functions = (
        lambda x: F.grid_sample(x, grid.to(x.device), align_corners=False),
        lambda x: F.interpolate(x, (9, 7), mode="bilinear", antialias=True),
        lambda x: pt.interpolate(x, (33, 35), mode="bilinear"),
    )
    torch.use_deterministic_algorithms(True)
    try:
        for function in functions:
            gradients = []
            for device in ("cpu", on_gpu, on_gpu):
                a = x.to(device).requires_grad_()
                y = function(a)
                gradients.append(torch.autograd.grad(y, a, torch.ones_like(y))[0])
            assert all(same(gradient, gradients[0]) for gradient in gradients[1:])
    finally:
        torch.use_deterministic_algorithms(False)


@needs_gpu
def test_nothing_waits_and_graphs_capture(on_gpu):
    x = torch.randn(2, 4, 16, 16, device=on_gpu, requires_grad=True)
    grid = torch.rand(2, 20, 20, 2, device=on_gpu) * 2 - 1
    g = torch.randn(2, 4, 20, 20, device=on_gpu)

    def step():
        y = F.grid_sample(x, grid, align_corners=False)
        y = y + F.interpolate(x, (20, 20), mode="bicubic")
        return torch.autograd.grad(y, x, g)[0]

    wanted = step()
    torch.cuda.synchronize()
    torch.cuda._sleep(1 << 28)  # a tenth of a second
    assert step() is not None
    assert not torch.cuda.current_stream().query(), "the call has waited"
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = step()
    for _ in range(2):
        got.zero_()
        graph.replay()
        assert torch.equal(got, wanted)
    for extent in range(100_000, 100_008):  # more bytes of plans than are kept: the graph's stay
        F.interpolate(x[:1, :1], (extent, 5), mode="bicubic")
    got.zero_()
    graph.replay()
    assert torch.equal(got, wanted)


@needs_gpu
@pytest.mark.filterwarnings("ignore")
def test_compiled_graphs_call_the_gradients(on_gpu):
    pytest.importorskip("triton")
    pt.disable()
    pt.enable(device="cuda")
    x = torch.randn(2, 4, 16, 16, device=on_gpu, requires_grad=True)
    grid = torch.rand(2, 20, 20, 2, device=on_gpu) * 2 - 1
    g = torch.randn(2, 4, 20, 20, device=on_gpu)

    def gradient(function):
        return torch.autograd.grad(function(x), x, g)[0]

    def sample(x):
        return F.grid_sample(x, grid, align_corners=False)

    assert torch.equal(gradient(torch.compile(sample)), gradient(sample))


@needs_gpu
def test_autocast_samples_in_float32(on_gpu):
    x = torch.randn(1, 4, 16, 16, device=on_gpu, dtype=torch.float16)
    grid = torch.rand(1, 20, 20, 2, device=on_gpu) * 2 - 1
    with torch.autocast("cuda"):
        assert F.grid_sample(x, grid, align_corners=False).dtype == torch.float32
        assert pt.grid_sample(x, grid).dtype == torch.float32


@needs_gpu
def test_pictures_of_integers_stay_pytorchs(on_gpu):
    x = torch.randint(0, 255, (1, 3, 8, 8), dtype=torch.uint8, device=on_gpu)
    assert F.interpolate(x, (16, 16), mode="nearest").dtype == torch.uint8


@needs_gpu
def test_tensors_of_two_devices_are_refused(on_gpu):
    with pytest.raises((ValueError, RuntimeError), match=r"grid .*(GPU|device)"):
        pt.grid_sample(torch.randn(1, 1, 4, 4, device=on_gpu), torch.zeros(1, 2, 2, 2))
    with pytest.raises((ValueError, RuntimeError), match=r"grid is on a device"):
        pt.grid_sample(torch.randn(1, 1, 4, 4), torch.zeros(1, 2, 2, 2, device=on_gpu))


@needs_gpu
def test_second_derivatives(on_gpu):
    x = torch.randn(1, 2, 5, 6, device=on_gpu, dtype=torch.float64, requires_grad=True)
    resize = lambda x: F.interpolate(x, (7, 9), mode="bilinear")  # noqa: E731
    assert torch.autograd.gradcheck(resize, x)
    assert torch.autograd.gradgradcheck(resize, x)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))
