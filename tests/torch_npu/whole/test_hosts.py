"""hccl between hosts: two launchers, each with an address of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from child import PATIENCE, output_of, run_python

PROGRAM = Path(__file__).parents[1] / "programs" / "distributed.py"
ADDRESSES = "127.0.0.1", "127.0.0.2"


def free_port() -> int:
    with socket.socket() as free:
        free.bind((ADDRESSES[0], 0))
        return free.getsockname()[1]


def told(output: str) -> dict[str, list]:
    lines = [line.split(" ", 2)[1:] for line in output.splitlines() if line.startswith("NUMBERS ")]
    return {name: json.loads(values) for name, values in lines}


@pytest.fixture(scope="module")
def hosts() -> list[str]:
    """What the launcher of each host printed."""
    port = free_port()
    launchers = [
        subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={host}",
             "--nproc_per_node=1", f"--master-addr={ADDRESSES[0]}", f"--master-port={port}",
             PROGRAM, "npu", "collectives,ddp,addresses"],
            env={**os.environ, "HCCL_IF_IP": address, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for host, address in enumerate(ADDRESSES)
    ]  # fmt: skip
    try:
        ended = [each.communicate(timeout=PATIENCE) for each in launchers]
    finally:
        for each in launchers:
            each.kill()
    assert [each.returncode for each in launchers] == [0, 0], ended
    return [output for output, _ in ended]


def test_collectives_and_a_step_between_hosts_are_those_of_one(hosts):
    one = run_python(
        "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", PROGRAM, "cpu",
        "collectives,ddp", OMP_NUM_THREADS="1", TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )  # fmt: skip
    numbers, expected = told(hosts[0]), told(one.stdout)
    assert set(expected) == {"collectives", "ddp"}, one.stderr
    for name, values in expected.items():
        assert numbers[name] == pytest.approx(values, rel=1e-5), name


def test_each_host_has_the_address_that_hccls_variable_names(hosts):
    assert told(hosts[0])["addresses"] == [[each] for each in ADDRESSES]


def test_a_group_from_before_the_device_waits_as_long_as_its_program_says():
    program = """
import datetime
import torch, torch_npu
import torch.distributed as dist
dist.init_process_group("hccl", timeout=datetime.timedelta(seconds=77))
torch.ones(1, device="npu")
backend = dist.distributed_c10d._get_default_group()._get_backend(torch.device("npu"))
print(backend.options._timeout)
"""
    world = {"MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": str(free_port()), "RANK": "0", "WORLD_SIZE": "1"}
    assert output_of("-c", program, **world).splitlines()[-1] == "0:01:17"


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("eth", ["eth0", "eth1"]),
        ("enp,eth1", ["enp3s0", "eth1"]),
        ("=eth1,lo", ["eth1", "lo"]),
        ("=eth", []),
        ("^eth", ["docker0", "enp3s0", "lo"]),
        ("^=eth0,docker0", ["enp3s0", "eth1", "lo"]),
    ],
)
def test_names_of_interfaces_mean_what_they_mean_to_hccl(monkeypatch, value, meant):
    from portacl_npu import _collectives

    names = "lo", "eth1", "eth0", "enp3s0", "docker0"
    monkeypatch.setattr(socket, "if_nameindex", lambda: list(enumerate(names, 1)))
    assert _collectives._interfaces(value) == meant
