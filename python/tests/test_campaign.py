"""A fixed part of script/campaign --python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import portacl

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/campaign"))

# Where the tests run without the repository (script/check wheel) it is not there.
python_campaign = pytest.importorskip("python_campaign")


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = portacl.get_num_threads()
    yield
    portacl.set_num_threads(before)


@pytest.mark.parametrize("number", range(120))
def test_case(number):
    words, wrong = python_campaign.try_case(1, number)
    assert not wrong, words
