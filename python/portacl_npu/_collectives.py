"""The backend "hccl": Gloo on the memory of the device, by PyTorch's own engine."""

from __future__ import annotations

import ast
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
    group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)
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


def use_gloo() -> None:
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
    for group, (name, store) in dist.distributed_c10d._world.pg_map.items():
        if name == _NAME:
            _give_gloo(group, store)
