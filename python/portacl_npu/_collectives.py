"""The backend "hccl": Gloo on the memory of the device, by PyTorch's own engine."""

from __future__ import annotations

import ast
import ctypes
from pathlib import Path
from typing import Any

_NAME = "hccl"
# Functions for which the plugin has its own, in terms of what HCCL has.
_STOCK = ("gather", "gather_object", "batch_isend_irecv")


def _make_gloo(options: Any, *_: Any) -> Any:
    import torch.distributed as dist

    return dist.ProcessGroupGloo(
        options.store, options.group_rank, options.group_size, options.timeout
    )


def _give_gloo(group: Any, store: Any) -> None:
    """Let a group that the plugin made do its collectives by Gloo."""
    import torch
    import torch.distributed as dist

    name = group.group_name  # the group's is that of its first backend
    own = dist.PrefixStore("portacl_npu", store)
    timeout = dist.distributed_c10d.default_pg_timeout
    gloo = dist.ProcessGroupGloo(own, group.rank(), group.size(), timeout)
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
    """Let PyTorch's coalescing of several calls have one work for all of them."""
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


def _all_to_all_vc(
    output: Any, input: Any, send_count_matrix: Any, group: Any = None, async_op: bool = False
) -> Any:
    import torch.distributed as dist

    rank = dist.get_rank(group)
    received, sent = [int(row[rank]) for row in send_count_matrix], send_count_matrix[rank]
    if output.numel() != sum(received) or input.numel() != sum(sent):
        raise ValueError(
            f"all_to_all_vc: send_count_matrix has {sum(sent)} elements to send and {sum(received)} "
            f"to receive, but input has {input.numel()} and output {output.numel()}"
        )
    return dist.all_to_all(
        list(output.view(-1).split(received)), list(input.view(-1).split(sent)), group, async_op
    )


def _all_gather_into_tensor_uneven(
    output: Any, input: Any, output_split_sizes: Any = None, group: Any = None, async_op: bool = False
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
    """Give the plugin's functions that call HCCL alone a meaning in PyTorch's collectives."""
    from torch_npu import distributed

    for own in (_all_to_all_vc, _all_gather_into_tensor_uneven, _reduce_scatter_tensor_uneven):
        setattr(distributed, own.__name__[1:], own)
        setattr(distributed.distributed_c10d, own.__name__, own)


def use_gloo(library: ctypes.CDLL) -> None:
    """Let ``init_process_group("hccl")`` make Gloo's groups, and those that exist use it.

    Groups exist where a program makes them before it uses the device for the first time.
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
    _define_plugins_own()
    world = dist.distributed_c10d._world
    for group, (_, store) in world.pg_map.items():
        if _NAME in str(world.pg_backend_config.get(group)):
            _give_gloo(group, store)
