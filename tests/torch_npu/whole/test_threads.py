"""Several host threads on one stream."""

from __future__ import annotations

import threading

import pytest
import torch
import torch.nn.functional as F

BUSY = torch.rand(1, 8, 512, 512)


def repeated_until(stop: threading.Event, call, expected: torch.Tensor, wrong: list) -> None:
    while not stop.is_set():
        if not torch.equal(call().cpu(), expected):
            wrong.append(call)


@pytest.mark.parametrize("kind", ["small, on the host", "large, allocated late"])
def test_a_routed_result_leaves_memory_alone_that_queued_work_still_uses(kind):
    """The other thread frees it while the routed operator computes, the next owner is the result."""
    if kind.startswith("small"):
        ones = torch.ones(1 << 20).npu()
        image, result, expected = (8, 8), ones.sum, torch.tensor(float(1 << 20))
    else:
        hits = torch.zeros(1 << 22, dtype=torch.bool)
        hits[::1024] = True  # 4096 of 8 bytes
        image, result, expected = (64, 128), hits.npu().nonzero, hits.nonzero()
    host = torch.rand(1, 1, *image)
    enlarged = F.interpolate(host, scale_factor=2, mode="nearest-exact")
    busy = BUSY.npu()
    stop, wrong = threading.Event(), []
    other = threading.Thread(target=repeated_until, args=(stop, result, expected, wrong))
    other.start()
    changed = 0
    try:
        for _ in range(100):
            own = host.npu()
            F.interpolate(busy, scale_factor=2, mode="bicubic")  # the stream has something to do
            later = F.interpolate(own, scale_factor=2, mode="nearest-exact")
            del own
            changed += not torch.equal(later.cpu(), enlarged)
    finally:
        stop.set()
        other.join()
    assert (changed, len(wrong)) == (0, 0)
