"""Shared by all tests: optional packages, and reference results."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import sysconfig
import tempfile

import numpy as np
import pytest

SEED = int(os.environ.get("PORTACL_TEST_SEED") or "20261123", 0)


# Inductor's linker looks into the folder of Python's library before it looks into PyTorch's. With
# Debian's libtorch-dev, another PyTorch lies there, and some graphs and all packages cannot be
# loaded, with or without portacl. No test needs Python's library from that folder.
sysconfig.get_config_vars()["LIBDIR"] = sysconfig.get_config_var("LIBPL")

# PyTorch's cache of compiled graphs does not know the instruction set that this variable chooses. A
# graph for AVX2 that an AVX-512 process takes from the cache writes beyond its tensors.
if capability := os.environ.get("ATEN_CPU_CAPABILITY"):
    cache = os.path.join(tempfile.gettempdir(), f"torchinductor_{os.getuid()}_{capability}")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", cache)


def pytest_report_header():
    """The seed of PyTorch's random numbers, to repeat a failure with."""
    return f"PORTACL_TEST_SEED={SEED}"


def pytest_collection_modifyitems(items):
    """Put files that start JAX's threads last: tests of other files start processes."""
    jax = ("arrays", "jax", "jax_devices", "listed", "odd_arguments", "testing")
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") in jax)


@pytest.fixture
def rng():
    """Random numbers with a fixed seed."""
    return np.random.default_rng(20240711)


def _seed():
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(SEED)


def pytest_collectstart(collector):
    """Let a file's own values depend on the seed alone, not on the files that came before it."""
    if isinstance(collector, pytest.Module):
        with contextlib.suppress(ImportError, OSError):
            import torch  # noqa: F401
        _seed()


@pytest.fixture(autouse=True)
def _seed_torch():
    """Let a test's values depend on the seed alone, not on the tests that ran before it."""
    _seed()


@pytest.fixture
def empty_pool():
    """No block that an earlier test gave back is in the way of this one's."""
    from portacl import _core

    gc.collect()
    _core.pool_trim()


@pytest.fixture
def python_kernels():
    """Blocks in which kernels are put in place and taken out as before PyTorch 2.13: in Python."""

    @contextlib.contextmanager
    def block():
        from portacl.torch import _override

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_override, "uses_native_kernels", False)
            for replacement in (_override._backward, _override._forward):
                # Those that are there stand aside, below.
                patch.setattr(replacement, "_library", None)
                patch.setattr(replacement, "_native", None)
            yield

    return block


@pytest.fixture(scope="session")
def second_order():
    """Whether this PyTorch can differentiate its aten::grid_sampler_2d_backward; 2.9 cannot."""
    import torch

    x, grid = torch.ones(1, 1, 2, 2, requires_grad=True), torch.zeros(1, 1, 1, 2)
    y = torch.nn.functional.grid_sample(x, grid, align_corners=False)
    (gradient,) = torch.autograd.grad(y, x, torch.ones_like(y).requires_grad_(), create_graph=True)
    try:
        torch.autograd.grad(gradient.sum(), x, allow_unused=True)
    except RuntimeError:
        return False
    return True


@pytest.fixture(autouse=True)
def _restore_threads():
    """Leave the number of threads to the environment and to PyTorch, and PyTorch's as it was."""
    import portacl

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 0
    yield
    portacl.set_num_threads(0)
    if torch is not None:
        torch.set_num_threads(before)
