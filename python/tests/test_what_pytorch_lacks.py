"""The examples of the page "What PyTorch lacks" run, and print what the page says."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

PAGE = Path(__file__).resolve().parents[2] / "docs/what_pytorch_lacks.md"
if not PAGE.is_file():
    pytest.skip("away from the source tree", allow_module_level=True)
if not hasattr(torch.ops.aten, "_upsample_lanczos2d_aa"):
    pytest.skip("the page speaks of PyTorch 2.15", allow_module_level=True)


def test_every_example_prints_what_the_page_says(capsys):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    said = re.findall(r"# prints (.*)$", "".join(blocks), re.MULTILINE)
    threads = torch.get_num_threads()
    names = {}
    try:
        for block in blocks:
            exec(block, names)
    finally:
        torch.set_num_threads(threads)
    assert len(said) >= 12 and capsys.readouterr().out.splitlines() == said
