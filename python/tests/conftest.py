"""Shared by all tests: what is optional, and reference results."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rng():
    """Random numbers with a fixed seed."""
    return np.random.default_rng(20240711)


@pytest.fixture(autouse=True)
def _restore_threads():
    """Leave the number of threads as it was."""
    import portacl

    before = portacl.get_num_threads()
    yield
    portacl.set_num_threads(before)
