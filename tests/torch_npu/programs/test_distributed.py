"""Several processes under torchrun: hccl on npu against gloo on the CPU."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import pytest
import torch
import torch.nn.functional as F
from child import run_python

PROGRAM = pathlib.Path(__file__).with_name("distributed.py")
ALIKE = ["collectives", "ddp", "fsdp1", "fsdp2", "mesh"]


def torchrun(device, what):
    off = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"} if device == "cpu" else {}
    return run_python(
        "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", PROGRAM,
        device, what,
        PORTACL_DEVICES="2",
        OMP_NUM_THREADS="1",
        **off,
    )  # fmt: skip


def numbers(device):
    done = torchrun(device, "all")
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("NUMBERS "):
            _, name, values = line.split(" ", 2)
            found[name] = json.loads(values) if values.startswith("[") else values
    assert found, done.stderr
    return found


@pytest.fixture(scope="module")
def both():
    return numbers("npu"), numbers("cpu")


@pytest.mark.parametrize("what", ALIKE)
def test_hccl_gives_what_gloo_gives(both, what):
    # PyTorch has the older FSDP for devices alone: the newer one does the same steps.
    ours, expected = both[0][what], both[1]["fsdp2" if what == "fsdp1" else what]
    assert isinstance(ours, list), ours
    assert ours == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_a_group_without_a_name_of_a_backend(both):
    done = torchrun("npu", "mesh")
    assert done.returncode == 0, done.stderr
    (line,) = [each for each in done.stdout.splitlines() if each.startswith("NUMBERS mesh ")]
    assert json.loads(line.split(" ", 2)[2]) == pytest.approx(both[1]["mesh"], rel=1e-5)


def test_what_gloo_alone_refuses(both):
    own = [0.0, 1, 2, 3], [10.0, 11, 12, 13]
    both_ = [a + b for a, b in zip(*own)]
    expected = [0, 1, 1]  # all_to_all: one row, one column
    expected += [0, 0, 1, 1, 1, 1]  # all_gather of one row and two
    expected += [*both_, *(2 * each for each in both_), *own[0], *own[1], *own[0], *own[1]]
    expected += [1, 2, 2]  # messages
    expected += [4, 4]  # asynchronous sums of sums
    expected += [0, 10, 11, 12]  # rank 0 gets one of its own and three of rank 1's
    expected += [0, 10, 11, 10]  # gathered, and the one element summed
    assert both[0]["beyond_gloo"] == expected


def test_the_plugins_attention_of_sharded_heads_is_that_of_the_whole(both):
    assert both[0]["sharded_attention"] == pytest.approx([0] * 4, abs=1e-6)


def test_batch_norm_over_processes_is_that_of_the_whole_batch(both):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.BatchNorm1d(16),
                                torch.nn.GELU(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    parts = [torch.randn(8, 1, 8, 8, generator=torch.Generator().manual_seed(r)) for r in (0, 1)]
    x, y = torch.cat(parts).flatten(1), torch.arange(8).remainder(4).repeat(2)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        out = model(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        losses.append(F.cross_entropy(out[:8], y[:8]).item())
    ours = both[0]["syncbn"]
    assert isinstance(ours, list), ours
    assert ours == pytest.approx(losses, rel=1e-4)


def test_torchrun_ends_where_a_rank_dies():
    begin = time.monotonic()
    done = torchrun("npu", "death")
    assert done.returncode != 0 and "not reached" not in done.stdout
    assert time.monotonic() - begin < 300


def test_a_rank_that_dies_is_an_error_in_the_others():
    """Without torchrun, which would end them itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2",
             "PORTACL_DEVICES": "2", "OMP_NUM_THREADS": "1"}  # fmt: skip
    ranks = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), "npu", "death"], text=True, stderr=subprocess.PIPE,
            stdout=subprocess.PIPE, env={**os.environ, **world, "RANK": rank, "LOCAL_RANK": rank},
        )
        for rank in "01"
    ]  # fmt: skip
    try:
        told = [rank.communicate(timeout=300) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert ranks[1].returncode == 7
    assert ranks[0].returncode == 1 and "not reached" not in told[0][0]
    assert "RuntimeError" in told[0][1] and "all_reduce" in told[0][1], told[0][1]
