"""enable(): PyTorch's own functions on portacl's kernels."""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

import pytest

from child import output_of, run_python

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812

import portacl  # noqa: E402
import portacl.torch as pt  # noqa: E402
from portacl.torch import _attention, _deform_conv, _override, _roi_align  # noqa: E402

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def _disabled():
    pt.disable()
    yield
    pt.disable()


def gradients(x, grid, mode="bilinear", padding="zeros", weights=None):
    leaves = [x.detach().requires_grad_(), grid.detach().requires_grad_()]
    y = F.grid_sample(*leaves, mode=mode, padding_mode=padding, align_corners=False)
    return torch.autograd.grad((y * (1 if weights is None else weights)).sum(), leaves)


def make(dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn((2, 3, 16, 12), generator=generator, dtype=dtype)
    grid = torch.rand((2, 9, 14, 2), generator=generator, dtype=dtype) * 2.4 - 1.2
    return x, grid


@pytest.mark.parametrize("value", ["no", "forward", [False]])
def test_forward_is_a_bool(value):
    with pytest.raises(TypeError, match="forward is .*, but must be True or False"):
        pt.enable(value)
    with pytest.raises(TypeError, match="forward is"), pt.accelerated(value):
        pass
    assert not pt.is_enabled()


def test_switching():
    assert not pt.is_enabled()
    pt.enable()
    pt.enable()
    assert pt.is_enabled()
    with pt.accelerated():
        pt.disable()
        assert pt.is_enabled()
        with pt.accelerated():
            pass
        assert pt.is_enabled()
    assert not pt.is_enabled()
    with pytest.raises(ZeroDivisionError), pt.accelerated():
        raise ZeroDivisionError
    assert not pt.is_enabled()


def parts_of_blocks():
    detection = (_attention, _roi_align.replaced, _deform_conv.replaced)
    return [*detection, *_override._REPLACEMENTS["cpu"]]


@pytest.mark.parametrize("at", [1, -1])
@pytest.mark.parametrize("number", range(len(parts_of_blocks())))
def test_a_block_that_fails_is_not_counted(number, at, monkeypatch):
    part = parts_of_blocks()[number]
    add_block = part.add_block

    def failing(count):
        add_block(count)
        if count == at:
            raise OSError("planted")

    monkeypatch.setattr(part, "add_block", failing)
    with pytest.raises(OSError, match="planted"), pt.accelerated(forward=True):
        assert at == -1
    assert [other.blocks for other in parts_of_blocks()] == [0] * 5
    assert not pt.is_enabled() and not pt.is_enabled(forward=True)


def test_only_the_first_and_the_last_block_look_at_modules(monkeypatch):
    calls = []
    monkeypatch.setattr(_attention, "_apply", lambda: calls.append(_attention.blocks))
    with pt.accelerated(), pt.accelerated():
        assert calls == [1]
    assert calls == [1, 0]


def test_blocks_of_threads_import_the_compiled_module():
    errors = []

    def work():
        try:
            for _ in range(1000):
                _attention.add_block(1)
                __import__("MultiScaleDeformableAttention")
                _attention.add_block(-1)
        except Exception as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors and _attention.blocks == 0
    assert "MultiScaleDeformableAttention" not in sys.modules


def test_no_warning():
    """PyTorch 2.9 would warn of the replaced kernels, which is what was asked for."""
    program = (
        "import warnings, torch, portacl.torch as pt; warnings.simplefilter('error');"
        "pt.enable(); pt.disable(); pt.enable()"
    )
    done = run_python("-c", program)
    assert (done.returncode, done.stderr) == (0, "")


def test_stock_kernels_come_back():
    """Results after a block are those from before it."""
    x, grid = make()
    before = gradients(x, grid)
    with pt.accelerated():
        gradients(x, grid)
    after = gradients(x, grid)
    assert all(torch.equal(a, b) for a, b in zip(before, after))


# Threads that compute with PyTorch's own kernels and with portacl's, while blocks begin and end.
BUSY = """
import threading, time
import torch, portacl.torch as pt
aten, stop, wrong = torch.ops.aten, False, []
x, points, grad = torch.rand(1, 3, 8, 8), torch.rand(1, 8, 8, 2) * 2 - 1, torch.rand(1, 3, 8, 8)
call = (grad, x, points, 0, 0, False, (True, True))
wanted = [g.clone() for g in aten.grid_sampler_2d_backward(*call)]

def work(block):
    while not (stop or wrong):
        try:
            block()
        except Exception as error:
            wrong.append(repr(error))

def compute():
    got = aten.grid_sampler_2d_backward(*call)
    aten._upsample_nearest_exact2d_backward(grad, (8, 8), (1, 3, 5, 5))
    aten.grid_sampler_2d(x, points, 0, 0, False)
    if not all(torch.allclose(a, b, atol=1e-4) for a, b in zip(got, wanted)):
        wrong.append("values")

def switch(forward):
    with pt.accelerated(forward=forward):
        compute()

blocks = (compute, compute, lambda: switch(True), lambda: switch(False))
threads = [threading.Thread(target=work, args=(block,)) for block in blocks]
[t.start() for t in threads]
time.sleep(1.5)
stop = True
[t.join() for t in threads]
print(wrong)
"""


@pytest.mark.skipif(
    not _override._stands_aside, reason="this PyTorch's own kernels are out of reach"
)
def test_switching_while_other_threads_compute():
    assert output_of("-c", BUSY) == "[]\n"


def test_kernels_that_cannot_be_registered_leave_nothing(monkeypatch, python_kernels):
    """A block that does not begin counts for nothing, nor does a failed enable()."""

    def fail(*_):
        raise RuntimeError("no room")

    with python_kernels():
        with monkeypatch.context() as patch:
            patch.setattr(torch.library.Library, "impl", fail)
            for begin in (lambda: pt.enable(forward=True), pt.accelerated(forward=True).__enter__):
                with pytest.raises(RuntimeError, match="no room"):
                    begin()
                assert not pt.is_enabled() and not pt.is_enabled(forward=True)
        with pt.accelerated(forward=True):
            assert pt.is_enabled(forward=True)
        assert not pt.is_enabled() and not pt.is_enabled(forward=True)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_grid_sample_same_results(mode, padding, dtype):
    x, grid = make(dtype)
    weights = torch.randn((2, 3, 9, 14), generator=torch.Generator().manual_seed(1), dtype=dtype)
    wanted = gradients(x, grid, mode, padding, weights)
    with pt.accelerated():
        got = gradients(x, grid, mode, padding, weights)
    # The terms of a grid's gradient sum up to some 100. Two orders of summation in float32 differ
    # by a few units in the last place of that sum.
    bounds = {"rtol": 1.3e-6, "atol": 5e-5} if dtype == torch.float32 else {}
    for a, b in zip(got, wanted):
        torch.testing.assert_close(a, b, **bounds)


def layouts(t):
    yield t
    yield t.contiguous(memory_format=torch.channels_last)
    yield t.transpose(2, 3)
    yield t[:, 1:2]
    yield t[:, :, ::2, 1:]
    yield t[:1].expand(2, -1, -1, -1)
    yield torch.ones(()).to(t.dtype).expand(2, 3, 9, 14)
    yield t.contiguous(memory_format=torch.channels_last)[:, :2, 1:]
    yield t[:1, :1]
    yield t[:, :, :1, :1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_nearest_same_bits_and_memory_format(dtype):
    generator = torch.Generator().manual_seed(2)
    for grad in layouts(torch.randn((2, 3, 9, 14), generator=generator).to(dtype)):
        n, c, oh, ow = grad.shape
        for size in ((5, 7), (oh, ow), (4, 9), (1, 1), (20, 3)):
            for scales in ((None, None), (1.75, 2.0)):
                arguments = (grad, (oh, ow), (n, c, *size), *scales)
                wanted = aten._upsample_nearest_exact2d_backward(*arguments)
                with pt.accelerated():
                    got = aten._upsample_nearest_exact2d_backward(*arguments)
                assert torch.equal(got, wanted)
                assert got.stride() == wanted.stride()
        line = grad[:, :, 0]
        arguments = (line, (ow,), (n, c, 5), None)
        wanted = aten._upsample_nearest_exact1d_backward(*arguments)
        with pt.accelerated():
            got = aten._upsample_nearest_exact1d_backward(*arguments)
        assert torch.equal(got, wanted) and got.stride() == wanted.stride()


def test_grid_sampler_memory_format():
    x, grid = make()
    for input in (x, x.contiguous(memory_format=torch.channels_last)):
        for points in (grid, grid.permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1)):
            grad = torch.randn(2, 3, 9, 14).contiguous(memory_format=torch.channels_last)
            for mask in ((True, True), (False, True), (True, False)):
                arguments = (grad, input, points, 0, 0, False, mask)
                wanted = aten.grid_sampler_2d_backward(*arguments)
                with pt.accelerated():
                    got = aten.grid_sampler_2d_backward(*arguments)
                for a, b in zip(got, wanted):
                    assert (a is None) == (b is None)
                    assert a is None or (a.shape, a.stride()) == (b.shape, b.stride())


def test_sizes_are_checked():
    with pt.accelerated(), pytest.raises(RuntimeError, match="grad_output has shape"):
        aten._upsample_nearest_exact2d_backward(torch.ones(1, 1, 4, 4), (4, 5), (1, 1, 2, 2))


def test_double_backward_of_torch_still_works(second_order):
    if not second_order:
        pytest.skip(f"PyTorch {torch.__version__} has no second order of grid_sample")
    x, grid = (t[:1, :2, :3, :3].double() for t in make())
    grid = grid[..., :2].clone()

    def function(x, grid):
        return F.grid_sample(x, grid, align_corners=False)

    with pt.accelerated():
        assert torch.autograd.gradgradcheck(
            function, (x.requires_grad_(), grid.requires_grad_()), atol=1e-6
        )


def test_compiled_code_uses_the_kernels():
    x, grid = make()

    def step(x, grid):
        return F.grid_sample(x, grid, align_corners=False).square().sum()

    with pt.accelerated():
        leaves = [x.requires_grad_(), grid.requires_grad_()]
        wanted = torch.autograd.grad(step(*leaves), leaves)
        compiled = torch.compile(step, backend="aot_eager")
        got = torch.autograd.grad(compiled(*leaves), leaves)
    assert all(torch.equal(a, b) for a, b in zip(got, wanted))


@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler")
def test_inductor_uses_the_kernels():
    """torch.compile as most call it."""
    x, grid = make()
    weights = torch.randn(2, 3, 20, 21)

    def step(x, grid):  # linear in y: Inductor rounds the forward direction in its own way
        y = F.grid_sample(x, grid, align_corners=False)
        return (F.interpolate(y, (20, 21), mode="nearest-exact") * weights).sum()

    with pt.accelerated():
        leaves = [x.requires_grad_(), grid.requires_grad_()]
        wanted = torch.autograd.grad(step(*leaves), leaves)
        with torch.profiler.profile() as profile:
            got = torch.autograd.grad(torch.compile(step, fullgraph=True)(*leaves), leaves)
    assert any("grid_sampler_2d_backward" in event.key for event in profile.key_averages())
    assert all(torch.equal(a, b) for a, b in zip(got, wanted))


def test_autocast_and_deterministic_algorithms():
    x, grid = make()
    leaves = [x.bfloat16().requires_grad_(), grid.requires_grad_()]

    def step():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = F.grid_sample(*leaves, align_corners=False)
            z = F.interpolate(y, scale_factor=2, mode="nearest-exact")
        return torch.autograd.grad(z.float().square().sum(), leaves)

    wanted = step()
    torch.use_deterministic_algorithms(True)
    try:
        with pt.accelerated():
            got, again = step(), step()
    finally:
        torch.use_deterministic_algorithms(False)
    for a, b, c in zip(got, wanted, again):
        assert a.dtype == b.dtype and torch.equal(a, c)
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_is_nearer_to_float64_than_stock(dtype):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn((2, 8, 32, 32), generator=generator).to(dtype)
    grid = (torch.rand((2, 32, 32, 2), generator=generator) * 2.4 - 1.2).to(dtype)
    grad = torch.randn((2, 8, 32, 32), generator=generator).to(dtype)

    def backward(*tensors):
        return aten.grid_sampler_2d_backward(*tensors, 0, 0, False, (True, True))

    exact, stock = backward(grad.double(), x.double(), grid.double()), backward(grad, x, grid)
    with pt.accelerated():
        mine = backward(grad, x, grid)
    for best, own, other in zip(exact, mine, stock):
        assert (own.double() - best).abs().mean() < 0.7 * (other.double() - best).abs().mean()


def test_bits_do_not_depend_on_threads():
    x, grid = make()
    results = []
    with pt.accelerated():
        for threads in (1, 2, 3):
            portacl.set_num_threads(threads)
            results.append([t.numpy().tobytes() for t in gradients(x, grid)])
    assert results[0] == results[1] == results[2]


def test_threads_of_autograd():
    x, grid = make()
    with pt.accelerated():
        wanted = gradients(x, grid)
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(gradients(x, grid))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 4
    assert all(torch.equal(a, b) for got in found for a, b in zip(got, wanted))


@pytest.mark.parametrize("program", [("loader", "fork"), ("loader", "spawn"), ("busy",)])
def test_processes_that_fork(program):
    printed = output_of(Path(__file__).with_name("forking.py"), *program, CUDA_VISIBLE_DEVICES="")
    assert printed.endswith("done\n")


# Both programs below begin with this. From "begun" on, any unclean end is the operator's doing:
# memory that is written elsewhere can crash a process, raise in it, or hang it.
PRELUDE = """
import signal, sys, torch
if sys.argv[1] == "portacl":
    import portacl.torch
    portacl.torch.enable()
else:
    signal.alarm(30)
print("begun", flush=True)
"""

NAN_PROGRAM = """
x = torch.ones(1, 1, 8, 8)
grid = torch.zeros(1, 2, 2, 2)
grid[0, 0, 0, 0] = float("nan")
grad = torch.ones(1, 1, 2, 2)
modes = (0, {"zeros": 0, "border": 1, "reflection": 2}[sys.argv[2]], False, (True, True))
x_grad, grid_grad = torch.ops.aten.grid_sampler_2d_backward(grad, x, grid, *modes)
print(x_grad.sum().item(), grid_grad.flatten().tolist())
"""

HALF_PROGRAM = """
x = torch.rand(1, 3, 300, 300).bfloat16()
grid = (torch.rand(1, 96, 96, 2) * 2 - 1).bfloat16()
grad = torch.rand(1, 3, 96, 96).bfloat16()
for i in range(30):
    torch.ops.aten.grid_sampler_2d_backward(grad, x, grid, 0, 0, False, (True, True))
    other = [bytearray(1000 + 17 * i + 1000 * j) for j in range(30)]
"""


def run_program(program, *arguments):
    """Status of a process of its own and what it printed; it got as far as the operator."""
    done = run_python("-c", PRELUDE + program, *arguments)
    begun, _, printed = done.stdout.partition("\n")
    assert begun == "begun", done.stderr
    return done.returncode, printed, done.stderr


def skip_where_stock_survives(program, *arguments):
    status, printed, _ = run_program(program, "stock", *arguments)
    if status == 0:
        pytest.skip(f"PyTorch {torch.__version__} survives: {printed.strip()}")


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_nan_follows_the_rule(padding):
    status, printed, errors = run_program(NAN_PROGRAM, "portacl", padding)
    assert status == 0, errors
    total, points = printed.split(" ", 1)
    assert float(total) == 3.0  # the NaN point adds nothing
    assert points.strip() == "[nan, nan, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]"


def test_nan_crashes_stock_pytorch():
    """Why the rule matters. Where a later PyTorch survives, this test says so and skips."""
    skip_where_stock_survives(NAN_PROGRAM, "border")


def test_half_precision_of_large_images():
    """PyTorch 2.15 writes outside its memory in half precision for images above 2^15 pixels."""
    status, _, errors = run_program(HALF_PROGRAM, "portacl")
    assert status == 0, errors


def test_half_precision_of_large_images_crashes_stock_pytorch():
    skip_where_stock_survives(HALF_PROGRAM)


@pytest.mark.parametrize("extent", [181, 182, 300])
def test_half_precision_gradient_is_in_place(extent):
    """From 2^15 pixels on PyTorch 2.15 writes it elsewhere: its input_grad stays 0 here."""
    x = torch.zeros(1, 1, extent, extent, dtype=torch.bfloat16)
    grid = torch.full((1, 1, 1, 2), 0.984375, dtype=torch.bfloat16)
    grad = torch.ones(1, 1, 1, 1, dtype=torch.bfloat16)
    with pt.accelerated():
        got, _ = aten.grid_sampler_2d_backward(grad, x, grid, 0, 0, False, (True, True))
    assert got.double().sum() == pytest.approx(1, rel=0.02)


def test_transforms_of_torch_func():
    x, grid = make()

    def loss(x):
        return F.grid_sample(x, grid, align_corners=False).square().sum()

    with pt.accelerated():
        wanted = torch.autograd.grad(loss(x.requires_grad_()), x)[0]
        assert torch.equal(torch.func.grad(loss)(x.detach()), wanted)


def test_large_results_are_pooled():
    limit = portacl.info()["result_pool"]["limit_bytes"]
    if limit < 32 << 20:
        pytest.skip("the pool is off (PORTACL_POOL_MB)")
    x, grid = torch.randn(1, 3, 400, 400), torch.rand(1, 400, 400, 2) * 2 - 1
    with pt.accelerated():
        first = gradients(x, grid)
        address = first[0].data_ptr()
        assert address % (2 << 20) == 0
        kept = portacl.info()["result_pool"]["kept_bytes"]
        del first
        assert portacl.info()["result_pool"]["kept_bytes"] > kept
        parameter = torch.nn.Parameter(x.clone())
        F.grid_sample(parameter, grid, align_corners=False).sum().backward()
        assert parameter.grad.is_contiguous()
        torch.optim.SGD([parameter], 0.1).step()
        shared = parameter.grad.share_memory_()  # to another process
        assert shared.is_shared()
        grad = torch.randn(1, 3, 800, 800).contiguous(memory_format=torch.channels_last)
        resized = aten._upsample_nearest_exact2d_backward(grad, (800, 800), (1, 3, 400, 400))
        assert resized.is_contiguous(memory_format=torch.channels_last)


def test_pool_off():
    program = (
        "import torch, portacl, portacl.torch as pt; pt.enable();"
        "g = torch.randn(1, 3, 800, 800);"
        "r = torch.ops.aten._upsample_nearest_exact2d_backward(g, (800, 800), (1, 3, 400, 400));"
        "r.resize_(2000); del r; print(portacl.info()['result_pool'])"
    )
    printed = output_of("-c", program, PORTACL_POOL_MB="0")
    assert printed.strip() == "{'kept_bytes': 0, 'limit_bytes': 0}"
