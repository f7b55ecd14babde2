"""portacl.jax on four devices of the host: values and gradients are jax.numpy's.

The devices are there only if XLA hears of them before JAX starts: the cases run in a child process,
once for all tests.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path

import pytest

from child import output_of

jax = pytest.importorskip("jax")
if not hasattr(jax, "shard_map"):
    pytest.skip("this JAX has no jax.shard_map", allow_module_level=True)

import jax_device_cases


@lru_cache(maxsize=1)
def outcomes():
    flags = os.environ.get("XLA_FLAGS", "")
    printed = output_of(
        Path(jax_device_cases.__file__),
        XLA_FLAGS=f"{flags} --xla_force_host_platform_device_count={jax_device_cases.DEVICES}",
        JAX_PLATFORMS="cpu",
    )
    return json.loads(printed.splitlines()[-1])


@pytest.mark.parametrize("name", jax_device_cases.BRIEF)
def test_on_four_devices(name):
    assert outcomes()[name] == "", outcomes()[name]
