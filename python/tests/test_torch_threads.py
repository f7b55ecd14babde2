"""Which threads compute in a process that has PyTorch, and how many."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from child import output_of

torch = pytest.importorskip("torch")

import portacl  # noqa: E402
import portacl.torch as pt  # noqa: E402

_SETTINGS = ("PORTACL_NUM_THREADS", "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "LD_PRELOAD")

_PRELUDE = """
import os, torch, portacl, portacl.torch as pt
import torch.nn.functional as F
pt.enable()

def gradients(extent=256):
    torch.manual_seed(0)
    x = torch.rand(2, 8, extent, extent, requires_grad=True)
    grid = (torch.rand(2, extent, extent, 2) * 2 - 1).requires_grad_()
    y = F.grid_sample(x, grid, align_corners=False)
    return torch.autograd.grad(y, (x, grid), torch.rand(y.shape))

def os_threads():
    return len(os.listdir("/proc/self/task"))

def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b))
"""


def run(program, *arguments, **environment):
    """Output of a program in a process of its own, with the given settings alone."""
    printed = output_of(*arguments, "-c", _PRELUDE + program, without=_SETTINGS, **environment)
    return printed.strip()


needs_libgomp = pytest.mark.skipif(
    "libgomp" not in pt.threads().pool, reason=f"threads here: {pt.threads().pool}"
)


@needs_libgomp
def test_kernels_run_on_the_threads_that_pytorch_has():
    """No thread is made beside PyTorch's own team of three, and one thread gives the same bits."""
    printed = run("""
torch.set_num_threads(1)
reference = gradients()
torch.set_num_threads(3)
torch.ones(10**7).add_(1)
before = os_threads()
results = gradients()
y = pt.grid_sample(torch.rand(1, 3, 400, 400), torch.rand(1, 400, 400, 2))
portacl.grid_sampler_2d(torch.rand(1, 3, 400, 400), torch.rand(1, 400, 400, 2))
print(os_threads() - before, same(results, reference), pt.threads().count)
""")
    assert printed == "0 True 3"


def test_number_is_pytorchs_at_the_call():
    counts = run("""
for n in (1, 3, 2):
    torch.set_num_threads(n)
    print(pt.threads().count, end=" ")
portacl.set_num_threads(5)
print(pt.threads().count, end=" ")
portacl.set_num_threads(0)
print(pt.threads().count)
""")
    assert counts == "1 3 2 5 2"


def test_number_in_other_threads_is_pytorchs_too():
    """OpenMP's own number in a new thread is not the one that torch.set_num_threads gave."""
    counts = run("""
import threading
torch.set_num_threads(3)
seen = []
thread = threading.Thread(target=lambda: seen.append(pt.threads().count))
thread.start()
thread.join()
print(seen[0] == torch.get_num_threads() == 3)
""")
    assert counts == "True"


def test_environment_and_affinity_count():
    count = "print(pt.threads().count)"
    assert run(count, OMP_NUM_THREADS="1") == "1"
    assert run(count, OMP_NUM_THREADS="1", PORTACL_NUM_THREADS="3") == "3"
    first = min(os.sched_getaffinity(0))
    pinning = f"import os; os.sched_setaffinity(0, [{first}])\n"
    assert output_of("-c", pinning + _PRELUDE + count, without=_SETTINGS).strip() == "1"


def test_passive_waiting_keeps_onetbb():
    """Its threads wake up faster than OpenMP's that sleep; as many as PyTorch has, though."""
    printed = run(
        """
print(pt.threads().pool)
torch.set_num_threads(1)
reference = gradients()
torch.set_num_threads(2)
torch.ones(10**7).add_(1)
before = os_threads()
print(same(gradients(), reference), pt.threads().count, os_threads() > before)
""",
        OMP_WAIT_POLICY="passive",
    )
    assert printed == "oneTBB, because OMP_WAIT_POLICY is passive\nTrue 2 True"


_OTHER_OPENMP = """
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
    body(data);
}
int omp_get_max_threads(void) { return 1; }
int omp_get_thread_num(void) { return 0; }
int omp_get_num_threads(void) { return 1; }
"""


@needs_libgomp
def test_another_openmp_keeps_onetbb(tmp_path):
    """Intel's, for example, which people preload."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path / "libiomp5.so"
    source = tmp_path / "openmp.c"
    source.write_text(_OTHER_OPENMP)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    printed = run("print(pt.threads().pool)", LD_PRELOAD=str(library))
    assert printed == "oneTBB, because its OpenMP is libiomp5.so, not libgomp"


def test_ranks_of_torchrun_do_not_share_cpus_out_twice(tmp_path):
    program = tmp_path / "rank.py"
    # One write each: the ranks share the pipe.
    program.write_text(
        _PRELUDE + "gradients(); os.write(1, f'count {pt.threads().count}\\n'.encode())\n"
    )
    launcher = ["-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone"]
    assert output_of(*launcher, program, without=_SETTINGS).count("count 1") == 2


def test_info_names_the_pool():
    assert portacl.info()["thread_pool"] == pt.threads().pool
    alone = output_of("-c", "import portacl; print(portacl.info()['thread_pool'])")
    assert alone.strip() == "oneTBB"


@needs_libgomp
def test_a_forked_child_leaves_openmp_alone():
    """PyTorch's team does not survive a fork: the first loop on it would never end."""
    printed = run("""
torch.ones(10**7).add_(1)  # the team is there, portacl has not computed yet
x, grid = torch.rand(1, 3, 300, 300), torch.rand(1, 300, 300, 2) * 2 - 1
child = os.fork()
if child == 0:
    portacl.grid_sampler_2d(x, grid)
    os._exit(0 if pt.threads().pool == "oneTBB, in a forked child" else 1)
y = portacl.grid_sampler_2d(x, grid)
second = os.fork()
if second == 0:
    # With NumPy: an operator of PyTorch's would wait for its team for ever.
    got = portacl.grid_sampler_2d(x.numpy(), grid.numpy())
    os._exit(0 if (got == y.numpy()).all() else 1)
print(os.waitpid(child, 0)[1], os.waitpid(second, 0)[1])
""")
    assert printed == "0 0"
