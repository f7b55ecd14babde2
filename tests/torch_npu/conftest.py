"""The helpers of python/tests, for these tests as well."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "python" / "tests"))
