"""The backend "hccl": Gloo on the memory of the device, by PyTorch's own engine."""

from __future__ import annotations

import ast
import contextlib
import ctypes
import os
import re
import socket
from pathlib import Path
from typing import Any

_NAME = "hccl"
# Functions for which the plugin has its own, in terms of what HCCL has.
_STOCK = ("gather", "gather_object", "batch_isend_irecv")


def _interfaces(wanted: str) -> list[str]:
    """Return the interfaces of this host that a value of HCCL_SOCKET_IFNAME names.

    ``eth,enp``: those that begin so; ``=eth0,enp3``: these; ``^eth`` and ``^=eth0``: all others.
    """
    others, whole, names = re.fullmatch(r"(\^?)(=?)(.*)", wanted).groups()  # type: ignore[union-attr]
    meant = tuple(names.split(","))
    return [
        name
        for name in sorted(name for _, name in socket.if_nameindex())
        if (name in meant if whole else name.startswith(meant)) != bool(others)
    ]


def _address_towards(host: str) -> str | None:
    """Return this host's address in the network towards another host; sends nothing."""
    with contextlib.suppress(OSError):
        family, kind, _, _, address = socket.getaddrinfo(host, 1, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)
            return probe.getsockname()[0]
    return None


def _network() -> list[Any]:
    """Return the networks that HCCL would use, as Gloo has them.

    Gloo's own choice is the address of the host's name. Other hosts may not reach that address.
    """
    import torch.distributed as dist

    make = dist.ProcessGroupGloo.create_device
    names = os.environ.get("GLOO_SOCKET_IFNAME")
    if names:
        return [make(interface=name) for name in names.split(",")]
    address = os.environ.get("HCCL_IF_IP")
    wanted = os.environ.get("HCCL_SOCKET_IFNAME")
    if wanted and not address:
        for name in _interfaces(wanted):
            with contextlib.suppress(RuntimeError):  # one without an address
                return [make(interface=name)]
        raise RuntimeError(f"HCCL_SOCKET_IFNAME={wanted} means no interface with an address here")
    address = address or _address_towards(os.environ.get("MASTER_ADDR", ""))
    return [make(hostname=address) if address else dist.ProcessGroupGloo.create_default_device()]


def _gloo(store: Any, rank: int, size: int, timeout: Any) -> Any:
    import torch.distributed as dist

    options = dist.ProcessGroupGloo._Options()
    options._devices, options._timeout = _network(), timeout
    options._threads = 1  # so that a group's calls are done in order, as HCCL's are
    return dist.ProcessGroupGloo(store, rank, size, options)


def _make_gloo(options: Any, *_: Any) -> Any:
    return _gloo(options.store, options.group_rank, options.group_size, options.timeout)


def _give_gloo(group: Any, store: Any) -> None:
    """Let a group that the plugin made do its collectives by Gloo."""
    import torch
    import torch.distributed as dist

    name = group.group_name  # the group has its first backend's name
    own = dist.PrefixStore("portacl_npu", store)
    timeout = group._get_backend(torch.device("npu")).options._timeout
    gloo = _gloo(own, group.rank(), group.size(), timeout)
    for device in ("cpu", "npu"):
        group._register_backend(torch.device(device), dist.ProcessGroup.BackendType.GLOO, gloo)
    group._set_group_name(name)


def _restore_stock() -> None:
    """Define PyTorch's own functions again, from their source: the plugin kept no reference."""
    import torch.distributed as dist

    module = dist.distributed_c10d
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    wanted = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in _STOCK]
    exec(compile(ast.Module(wanted, []), module.__file__, "exec"), module.__dict__)
    for name in _STOCK:
        setattr(dist, name, getattr(module, name))


def _coalesce(library: ctypes.CDLL) -> None:
    """Let PyTorch's coalescing return one work for all calls that it joins."""
    import torch.distributed as dist

    def start(group: Any, device: Any) -> None:
        if device.type != "npu":
            return stock_start(group, device)
        return library.portacl_npu_coalesce(1)

    def end(group: Any, device: Any) -> Any:
        if device.type != "npu":
            return stock_end(group, device)
        library.portacl_npu_coalesce(0)
        options = dist.BarrierOptions()
        options.device = device
        return group.barrier(options)  # which makes the work alone

    kind = dist.ProcessGroup
    stock_start, stock_end = kind._start_coalescing, kind._end_coalescing
    kind._start_coalescing, kind._end_coalescing = start, end


def _wait_with_the_device(library: ctypes.CDLL) -> None:
    """Make a program that synchronises the device also wait for its collectives."""
    import torch_npu

    stock = torch_npu._C._npu_synchronize

    def synchronize() -> None:
        error = library.portacl_npu_wait_for_collectives()
        if error is not None:
            raise RuntimeError(error.decode(errors="replace"))
        stock()

    torch_npu._C._npu_synchronize = synchronize


def _all_to_all_vc(
    output: Any, input: Any, send_count_matrix: Any, group: Any = None, async_op: bool = False
) -> Any:
    import torch.distributed as dist

    rank = dist.get_rank(group)
    received, sent = [int(row[rank]) for row in send_count_matrix], send_count_matrix[rank]
    if output.numel() != sum(received) or input.numel() != sum(sent):
        raise ValueError(
            f"all_to_all_vc: send_count_matrix has {sum(sent)} elements to send and "
            f"{sum(received)} "
            f"to receive, but input has {input.numel()} and output {output.numel()}"
        )
    return dist.all_to_all(
        list(output.view(-1).split(received)), list(input.view(-1).split(sent)), group, async_op
    )


def _all_gather_into_tensor_uneven(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    import torch.distributed as dist

    parts = _parts(output, output_split_sizes, dist.get_world_size(group))
    return dist.all_gather(parts, input, group, async_op)


def _reduce_scatter_tensor_uneven(
    output: Any,
    input: Any,
    input_split_sizes: Any = None,
    op: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    import torch.distributed as dist

    parts = _parts(input, input_split_sizes, dist.get_world_size(group))
    op = dist.ReduceOp.SUM if op is None else op
    return dist.reduce_scatter(output, parts, op, group, async_op)


def _parts(tensor: Any, sizes: Any, count: int) -> list[Any]:
    return list(tensor.split(sizes) if sizes else tensor.chunk(count))


def _define_plugins_own() -> None:
    """Define the plugin's functions that only call HCCL by PyTorch's collectives."""
    from torch_npu import distributed

    for own in (_all_to_all_vc, _all_gather_into_tensor_uneven, _reduce_scatter_tensor_uneven):
        setattr(distributed, own.__name__[1:], own)
        setattr(distributed.distributed_c10d, own.__name__, own)


def use_gloo(library: ctypes.CDLL) -> None:
    """Let ``init_process_group("hccl")`` make Gloo's groups, and let existing groups use Gloo.

    Groups exist already if a program makes them before its first use of the device.
    """
    import torch.distributed as dist

    if not dist.is_available():
        return
    backend = dist.Backend
    backend._plugins.pop(_NAME.upper(), None)
    backend.backend_list[:] = [name for name in backend.backend_list if name != _NAME]
    backend.register_backend(_NAME, _make_gloo, extended_api=True, devices=["cpu", "npu"])
    _restore_stock()
    _coalesce(library)
    _wait_with_the_device(library)
    _define_plugins_own()
    world = dist.distributed_c10d._world
    for group, (_, store) in world.pg_map.items():
        if _NAME in str(world.pg_backend_config.get(group)):
            _give_gloo(group, store)
