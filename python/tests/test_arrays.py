"""Strides, dtypes, kinds of arrays, results given by the caller, refusals."""

from __future__ import annotations

import gc
import importlib.resources
import sys
import threading
import time

import numpy as np
import pytest

import portacl
from child import output_of, run_python


class OnlyDlpack:
    """An array that has the DLPack methods and nothing else."""

    def __init__(self, array, old=False):
        self._array, self._old = array, old

    def __dlpack__(self, **keywords):
        if self._old and keywords:
            raise TypeError("unexpected keyword")
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class NeedsDetach:
    """Like a tensor of PyTorch before 2.10 that requires grad: DLPack only after detach()."""

    requires_grad = True

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **keywords):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def detach(self):
        return OnlyDlpack(self._array)


@pytest.fixture
def arrays(rng):
    """grad_output, input, grid."""
    return (
        rng.standard_normal((2, 3, 4, 5)).astype(np.float32),
        rng.standard_normal((2, 3, 6, 7)).astype(np.float32),
        rng.uniform(-1.1, 1.1, (2, 4, 5, 2)).astype(np.float32),
    )


def views(array):
    """The same values behind other strides."""
    flipped = np.ascontiguousarray(array[:, :, ::-1, ::-1])[:, :, ::-1, ::-1]
    wide = np.zeros((*array.shape[:-1], 3 * array.shape[-1]), array.dtype)[..., 1::3]
    wide[...] = array
    last = np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)
    fortran = np.asfortranarray(array)
    read_only = array.copy()
    read_only.flags.writeable = False
    return [flipped, wide, last, fortran, read_only]


def test_any_strides(arrays):
    wanted = portacl.grid_sampler_2d_backward(*arrays)
    for strided in zip(*map(views, arrays)):
        for got, want in zip(portacl.grid_sampler_2d_backward(*strided), wanted):
            assert got.tobytes() == want.tobytes()


def test_repeated_elements(arrays):
    grad, x, grid = arrays
    ones = np.broadcast_to(np.float32(1), grad.shape)
    got = portacl.grid_sampler_2d_backward(ones, x, grid)
    want = portacl.grid_sampler_2d_backward(np.ones_like(grad), x, grid)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(got, want))


NO_COPY_PROGRAM = """
import resource, sys
import numpy as np, portacl

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

last = np.ones((1, 1024, 1024, 16), np.float32)  # 64 MiB
views = {
    "row-major": last.reshape(1, 16, 1024, 1024),
    "transposed": np.moveaxis(last, -1, 1).swapaxes(2, 3),
    "flipped": last.reshape(1, 16, 1024, 1024)[:, ::-1, ::-1, ::-1],
    "stepped": last.reshape(1, 8, 1024, 2048)[..., ::2],
}
x = views[sys.argv[1]]
g = np.ones((1, x.shape[1], 8, 8), np.float32)
grid = np.zeros((1, 8, 8, 2), np.float32)
portacl.set_num_threads(1)
portacl.upsample_nearest_exact(g, (2, 2))  # what a first call sets up
portacl.grid_sampler_2d(g, grid)
before = peak()
portacl.upsample_nearest_exact(x, (8, 8))
portacl.upsample_nearest_exact_backward(x, (*x.shape[:2], 8, 8))
portacl.grid_sampler_2d_backward(g, x, grid, output_mask=(False, True))
between = peak()
portacl.grid_sampler_2d(x, grid)  # its kernel works on its own copy, row-major or not
print(between - before, peak() - between - (x.nbytes >> 20))
"""


@pytest.mark.parametrize("layout", ["row-major", "transposed", "flipped", "stepped"])
def test_strided_inputs_are_not_copied(layout):
    """An input of 64 MiB adds far less than itself to the process's peak."""
    added = output_of("-c", NO_COPY_PROGRAM, layout, PORTACL_POOL_MB="0").split()
    assert all(int(mebibytes) < 16 for mebibytes in added), added


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes_of_grid_sampler(arrays, dtype):
    """Rounded inputs, computed in float32 (float64) and rounded once."""
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    rounded = [a.astype(dtype) for a in arrays]
    wanted = portacl.grid_sampler_2d_backward(*(a.astype(np.float64) for a in rounded))
    got = portacl.grid_sampler_2d_backward(*rounded)
    epsilon = {2: 2.0**-8 if dtype != "float16" else 2.0**-11, 4: 2.0**-22, 8: 2.0**-50}
    for a, b in zip(got, wanted):
        assert a.dtype == rounded[0].dtype
        error = np.abs(a.astype(np.float64) - b)
        assert (error <= 2 * epsilon[a.dtype.itemsize] * (np.abs(b) + np.abs(b).max())).all()
    forward = portacl.grid_sampler_2d(*rounded[1:])
    assert forward.dtype == rounded[0].dtype


def test_bfloat16_of_ml_dtypes(rng):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    grad = rng.integers(-8, 8, (2, 3, 10, 8)).astype(ml_dtypes.bfloat16)
    got = portacl.upsample_nearest_exact_backward(grad, (2, 3, 5, 4))
    assert got.dtype == ml_dtypes.bfloat16
    want = portacl.upsample_nearest_exact_backward(grad.astype(np.float32), (2, 3, 5, 4))
    np.testing.assert_array_equal(got.astype(np.float32), want)
    out = np.empty((2, 3, 5, 4), ml_dtypes.bfloat16)
    assert portacl.upsample_nearest_exact_backward(grad, out.shape, out=out) is out
    np.testing.assert_array_equal(out, got)


@pytest.mark.parametrize("old", [False, True])
def test_dlpack_objects(arrays, old):
    wanted = portacl.grid_sampler_2d_backward(*arrays)
    got = portacl.grid_sampler_2d_backward(*(OnlyDlpack(a, old) for a in arrays))
    assert all(isinstance(a, np.ndarray) for a in got)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(got, wanted))


def test_objects_that_must_be_detached(arrays):
    wanted = portacl.grid_sampler_2d_backward(*arrays)
    got = portacl.grid_sampler_2d_backward(*map(NeedsDetach, arrays))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(got, wanted))


def test_torch_tensors(arrays):
    torch = pytest.importorskip("torch")
    wanted = portacl.grid_sampler_2d_backward(*arrays)
    tensors = [torch.from_numpy(a) for a in arrays]
    got = portacl.grid_sampler_2d_backward(*tensors)
    assert all(isinstance(a, torch.Tensor) for a in got)
    assert all(a.numpy().tobytes() == b.tobytes() for a, b in zip(got, wanted))
    last = tensors[0].bfloat16().contiguous(memory_format=torch.channels_last)
    resized = portacl.upsample_nearest_exact(last, (8, 10))
    assert resized.dtype == torch.bfloat16
    assert torch.equal(resized[:, :, ::2, ::2], last)
    out = torch.empty(2, 3, 6, 7)
    portacl.grid_sampler_2d_backward(*tensors, output_mask=(True, False), out=(out, None))
    assert torch.equal(out, got[0])


def test_types_that_die(arrays):
    """A subclass of a tensor dies, and a subclass of NumPy's array takes its address."""
    torch = pytest.importorskip("torch")
    wanted = portacl.upsample_nearest_exact(arrays[0], (8, 8))

    def address_of_dead_type():
        class Tensor(torch.Tensor):
            pass

        out = torch.empty(wanted.shape).as_subclass(Tensor)
        portacl.upsample_nearest_exact(torch.from_numpy(arrays[0]), (8, 8), out=out)
        return id(Tensor)

    for _ in range(20):
        address = address_of_dead_type()
        gc.collect()
        types = []
        while len(types) < 20 and address not in map(id, types):
            types.append(type("Array", (np.ndarray,), {}))
            got = portacl.upsample_nearest_exact(arrays[0].view(types[-1]), (8, 8))
            np.testing.assert_array_equal(got, wanted)


def test_torch_gradients_are_not_lost_silently(arrays):
    torch = pytest.importorskip("torch")
    grad, x, grid = (torch.from_numpy(a) for a in arrays)
    with pytest.raises(ValueError, match=r"input requires grad.*portacl\.torch"):
        portacl.grid_sampler_2d_backward(grad, x.requires_grad_(), grid)
    with torch.no_grad():
        portacl.grid_sampler_2d_backward(grad, x, grid)
    negated = torch.complex(grad, grad).conj().imag
    with pytest.raises(ValueError, match="negated view"):
        portacl.upsample_nearest_exact(negated, (8, 8))


def test_jax_arrays(arrays):
    jnp = pytest.importorskip("jax.numpy")
    wanted = portacl.grid_sampler_2d_backward(*arrays)
    mine = [jnp.asarray(a) for a in arrays]
    got = portacl.grid_sampler_2d_backward(*mine)
    assert all(isinstance(a, jnp.ndarray) for a in got)
    assert all(np.asarray(a).tobytes() == b.tobytes() for a, b in zip(got, wanted))
    half = jnp.ones((1, 1, 4, 4), jnp.bfloat16)
    assert portacl.upsample_nearest_exact_backward(half, (1, 1, 2, 2)).dtype == jnp.bfloat16
    with pytest.raises(ValueError, match="cannot be written"):
        portacl.upsample_nearest_exact(half, (4, 4), out=jnp.zeros((1, 1, 4, 4), jnp.bfloat16))


def test_out_with_strides(arrays):
    grad, x, grid = arrays
    wanted = portacl.grid_sampler_2d_backward(*arrays)
    input_grad = np.zeros((2, 6, 7, 9), np.float32)
    grid_grad = np.zeros((2, 5, 4, 2), np.float32)
    out = (np.moveaxis(input_grad, -1, 1)[:, ::3], np.swapaxes(grid_grad, 1, 2))
    assert portacl.grid_sampler_2d_backward(*arrays, out=out)[0] is out[0]
    for got, want in zip(out, wanted):
        np.testing.assert_array_equal(got, want)
    assert not input_grad[..., 1::3].any()  # nothing outside the view is written
    resized = np.empty((2, 3, 6, 5), np.float32).transpose(0, 1, 3, 2)[:, :, ::-1]
    portacl.upsample_nearest_exact(grad, (5, 6), out=resized)
    np.testing.assert_array_equal(resized, portacl.upsample_nearest_exact(grad, (5, 6)))


def test_read_only_and_overlapping_results(arrays):
    grad, x, grid = arrays
    frozen = np.empty_like(x)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="input_grad is read-only"):
        portacl.grid_sampler_2d_backward(*arrays, out=(frozen, np.empty_like(grid)))
    with pytest.raises(ValueError, match="overlap"):
        portacl.grid_sampler_2d_backward(*arrays, out=(x, np.empty_like(grid)))
    with pytest.raises(ValueError, match="overlap"):
        repeated = np.lib.stride_tricks.as_strided(x.copy(), x.shape, (0, 0, 28, 4))
        portacl.grid_sampler_2d_backward(*arrays, out=(repeated, np.empty_like(grid)))


def test_read_only_and_overlapping_results_of_resizing():
    memory = np.zeros(128, np.float32)
    whole, half = memory.reshape(1, 2, 8, 8), memory[:32].reshape(1, 2, 4, 4)
    frozen = np.empty((1, 2, 4, 4), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="overlap"):
        portacl.upsample_nearest_exact_backward(whole, half.shape, out=half)
    with pytest.raises(ValueError, match="overlap"):
        portacl.upsample_nearest_exact(half, (8, 8), out=whole)
    with pytest.raises(ValueError, match="read-only"):
        portacl.upsample_nearest_exact_backward(whole, frozen.shape, out=frozen)
    with pytest.raises(ValueError, match="read-only"):
        portacl.upsample_nearest_exact(whole, (4, 4), out=frozen)
    assert not memory.any()


def test_refusals(arrays):
    grad, x, grid = arrays
    cases = [
        (TypeError, "input is of type list", (grad, [1, 2], grid), {}),
        (TypeError, "input has dtype int32", (grad, x.astype(np.int32), grid), {}),
        (TypeError, "input has dtype >f4", (grad, x.astype(">f4"), grid), {}),
        (ValueError, "grad_output has rank 6", (grad[None, None], x, grid), {}),
        (
            TypeError,
            "grad_output has dtype float32, but input has float64",
            (grad, x.astype(np.float64), grid),
            {},
        ),
        (ValueError, r"\[2, 3, 4, 4\]", (grad[..., :4], x, grid), {}),
        (ValueError, "interpolation is 'cubic'", arrays, {"interpolation": "cubic"}),
        (ValueError, "padding is None", arrays, {"padding": None}),
        (ValueError, "output_mask has 3", arrays, {"output_mask": (1, 1, 1)}),
        (ValueError, "out has 1", arrays, {"out": (x,)}),
    ]
    for error, message, arguments, keywords in cases:
        with pytest.raises(error, match=message):
            portacl.grid_sampler_2d_backward(*arguments, **keywords)
    with pytest.raises(ValueError, match="asks for C = 3"):
        portacl.upsample_nearest_exact_backward(grad, (2, 4, 6, 6))
    with pytest.raises(ValueError, match="input_size"):
        portacl.upsample_nearest_exact_backward(grad, (2, 3, 6))
    with pytest.raises(TypeError, match="input_size is 6; wanted the whole shape"):
        portacl.upsample_nearest_exact_backward(grad, 6)
    with pytest.raises(ValueError, match="scale"):
        portacl.upsample_nearest_exact_backward(grad, (2, 3, 6, 6), scales=-1.0)
    with pytest.raises(ValueError, match="scales has 1"):
        portacl.upsample_nearest_exact(grad, (3, 3), scales=[2.0])
    with pytest.raises(ValueError, match="both missing"):
        portacl.upsample_nearest_exact(grad)
    for scales in (0, (2, 0), -1):
        with pytest.raises(ValueError, match=r"scales is .*each must be positive"):
            portacl.upsample_linear(grad, scales=scales)
    with pytest.raises(ValueError, match="out has shape"):
        portacl.upsample_nearest_exact(grad, (3, 3), out=np.empty((2, 3, 3, 4), np.float32))
    with pytest.raises(ValueError, match="threads"):
        portacl.set_num_threads(-1)


def test_strides_between_elements():
    packed = np.zeros(64, np.dtype([("a", "i1"), ("b", "<f4")]))["b"].reshape(1, 1, 8, 8)
    with pytest.raises(ValueError, match=r"stride of|middle of an element"):
        portacl.upsample_nearest_exact(packed, (4, 4))


@pytest.mark.usefixtures("empty_pool")
def test_large_results_come_from_the_pool():
    limit = portacl.info()["result_pool"]["limit_bytes"]
    if limit < 8 << 20:
        pytest.skip("the pool is off (PORTACL_POOL_MB)")
    x = np.ones((1, 1, 512, 512), np.float32)
    result = portacl.upsample_nearest_exact(x, (1024, 1024))
    address = result.ctypes.data
    assert address % (2 << 20) == 0 and result.all() and result.flags.writeable
    view = result[0, 0, 5:]
    del result
    assert portacl.upsample_nearest_exact(x, (1024, 1024)).ctypes.data != address  # view lives
    del view
    assert portacl.info()["result_pool"]["kept_bytes"] >= 4 << 20
    again = [portacl.upsample_nearest_exact(x, (1024, 1024)) for _ in range(3)]
    assert address in [a.ctypes.data for a in again]


def test_pool_is_bounded():
    """Blocks above the bound go back to the system when their array dies, the oldest first."""
    program = """
import numpy as np, portacl
x = np.ones((1, 1, 512, 512), np.float32)
kept = lambda: portacl.info()["result_pool"]["kept_bytes"] >> 20
results = [portacl.upsample_nearest_exact(x, (1024, 1024)) for _ in range(4)]  # 4 MiB each
counts = [kept()]
while results:
    results.pop()
    counts.append(kept())
larger = portacl.upsample_nearest_exact(x, (2048, 2048))  # 16 MiB
assert larger.all()
del larger
print(*counts, kept(), portacl.info()["result_pool"]["limit_bytes"] >> 20)
"""
    printed = output_of("-c", program, PORTACL_POOL_MB="8")
    assert printed.split() == ["0", "4", "8", "8", "8", "8", "8"]


def test_pool_is_used_again_by_changing_sizes():
    """A program that changes its shapes keeps no more than the bound and stays right."""
    program = """
import numpy as np, portacl
for extent in list(range(600, 1500, 50)) * 2:
    y = portacl.upsample_nearest_exact(np.full((1, 1, 9, 9), extent, np.float32), (extent, extent))
    assert (y == extent).all()
    del y
    assert portacl.info()["result_pool"]["kept_bytes"] <= 12 << 20
"""
    output_of("-c", program, PORTACL_POOL_MB="12")


def mapping_of(address):
    """Lines of /proc/self/smaps about the mapping that holds an address."""
    lines, inside = [], False
    with open("/proc/self/smaps") as smaps:
        for line in smaps:
            head = line.split(" ", 1)[0]
            if "-" in head and ":" not in head:
                begin, end = (int(part, 16) for part in head.split("-"))
                inside = begin <= address < end
            if inside:
                lines.append(line)
    return lines


def test_pool_asks_for_huge_pages():
    if portacl.info()["result_pool"]["limit_bytes"] < 8 << 20:
        pytest.skip("the pool is off (PORTACL_POOL_MB)")
    result = portacl.upsample_nearest_exact(np.ones((1, 1, 4, 4), np.float32), (1024, 1024))
    flags = [line for line in mapping_of(result.ctypes.data) if line.startswith("VmFlags")]
    if not flags:
        pytest.skip("this kernel does not tell the flags of a mapping")
    assert "hg" in flags[0].split()


def test_gil_is_released():
    """Another Python thread runs while a call computes, though no bytecode is interrupted."""
    x = np.ones((1, 8, 512, 512), np.float32)
    grid = np.zeros((1, 1024, 1024, 2), np.float32)
    out = np.empty((1, 8, 1024, 1024), np.float32)
    portacl.set_num_threads(1)
    portacl.grid_sampler_2d(x, grid, interpolation="bicubic", out=out)
    ticks, seen, done = [0], [0], threading.Event()

    def work():
        for _ in range(1000):  # on a busy machine the other thread may miss many calls
            before = ticks[0]
            portacl.grid_sampler_2d(x, grid, interpolation="bicubic", out=out)
            seen[0] = ticks[0] - before
            if seen[0] > 0:
                break
        done.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # only who gives the GIL away lets others run
    try:
        thread = threading.Thread(target=work)
        thread.start()
        while not done.is_set():
            time.sleep(1e-3)
            ticks[0] += 1
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert seen[0] > 0


DAEMONS_PROGRAM = """
import os, sys, threading, time
import numpy as np, portacl

class Slow:  # an array whose export is Python code, long enough to be interrupted
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        end = time.perf_counter() + 0.1
        while time.perf_counter() < end:
            pass
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

class Last:  # dies late, while the interpreter ends
    def __del__(self, sleep=time.sleep, write=os.write):
        sleep(0.1)
        write(1, b"ended")

x, grid = np.ones((1, 1, 64, 64), np.float32), np.zeros((1, 64, 64, 2), np.float32)
if sys.argv[1] == "slow":
    x = Slow(x)
portacl.set_num_threads(1)

def work():
    while True:
        portacl.grid_sampler_2d(x, grid)

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
sys.last_to_die = Last()
"""


@pytest.mark.parametrize("export", ["fast", "slow"])
def test_daemon_threads_at_exit(export):
    """They are in calls when the interpreter ends: in C++, and in an array's Python code."""
    for _ in range(3):
        assert output_of("-c", DAEMONS_PROGRAM, export) == "ended"


def test_threads_of_python(arrays):
    """Calls from several threads run and agree."""
    wanted = portacl.grid_sampler_2d_backward(*arrays)
    bad = []

    def work():
        for _ in range(50):
            got = portacl.grid_sampler_2d_backward(*arrays)
            if any(a.tobytes() != b.tobytes() for a, b in zip(got, wanted)):
                bad.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not bad


def test_info():
    facts = portacl.info()
    assert facts["version"] == portacl.__version__
    operators = set(facts["operators"])
    assert {"grid_sampler_2d", "upsample_linear_backward", "affine_grid"} <= operators
    # grid_sampler_2d and 3d have every padding.
    assert {name.replace("_padded", "") for name in operators} <= set(portacl.__all__)
    assert facts["threads"] == portacl.get_num_threads()
    assert set(facts["result_pool"]) == {"kept_bytes", "limit_bytes"}


def test_forward_has_the_kernels_of_backward():
    """Vectorised for the same instruction sets."""
    kernels = {
        name: [kernel["name"] for kernel in rows]
        for name, rows in portacl.info()["operators"].items()
    }
    for name in ("grid_sampler_2d", "upsample_nearest_exact"):
        assert kernels[name] == kernels[f"{name}_backward"]


def test_package_is_typed():
    files = importlib.resources.files("portacl")
    assert (files / "py.typed").is_file()
    assert "def grid_sampler_2d_backward(" in (files / "_core.pyi").read_text()


def test_torch_module_says_what_it_needs():
    program = "import sys; sys.modules['torch'] = None; import portacl.torch"
    result = run_python("-c", program)
    assert result.returncode == 1
    assert "ImportError: portacl.torch needs PyTorch 2.7 or newer" in result.stderr
