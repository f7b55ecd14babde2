"""A fixed part of script/campaign --python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "tests/campaign"
if not FOLDER.is_dir():
    pytest.skip("away from the repository (script/check wheel)", allow_module_level=True)
sys.path.insert(0, str(FOLDER))
import python_campaign  # noqa: E402


@pytest.mark.parametrize("number", range(120))
def test_case(number):
    words, wrong = python_campaign.try_case(1, number)
    assert not wrong, words
