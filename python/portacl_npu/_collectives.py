"""The backend "hccl": Gloo on the memory of the device, by PyTorch's own engine."""

from __future__ import annotations

from typing import Any

_NAME = "hccl"


def _make_gloo(options: Any, *_: Any) -> Any:
    import torch.distributed as dist

    return dist.ProcessGroupGloo(
        options.store, options.group_rank, options.group_size, options.timeout
    )


def use_gloo() -> None:
    """Let ``init_process_group("hccl")`` make Gloo's groups."""
    import torch.distributed as dist

    if not dist.is_available():
        return
    backend = dist.Backend
    backend._plugins.pop(_NAME.upper(), None)
    backend.backend_list[:] = [name for name in backend.backend_list if name != _NAME]
    backend.register_backend(_NAME, _make_gloo, extended_api=True, devices=["cpu", "npu"])
