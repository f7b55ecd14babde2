"""The plugin's graph compilers make code for NPUs: they say at once that nothing here runs it."""

from __future__ import annotations

import dataclasses
from typing import Any

_WORDS = (
    "portacl runs no code that is compiled for an NPU: on tensors of npu, torch.compile works with "
    'backend="eager" and backend="aot_eager"'
)


def _refuse(*_: Any, **__: Any) -> Any:
    raise NotImplementedError(_WORDS)


def refuse() -> None:
    """Refuse torchair, and inductor for the device; inductor for the CPU stays as it is."""
    from torch_npu import dynamo
    from torch_npu.utils import _dynamo

    if hasattr(dynamo, "_get_global_npu_backend"):
        dynamo._get_global_npu_backend = _refuse
    stock = getattr(_dynamo, "register_inductor_npu", None)
    if stock is None:
        return

    def register() -> None:
        stock()
        from torch._inductor.codegen.common import device_codegens

        if "npu" in device_codegens:
            device_codegens["npu"] = dataclasses.replace(device_codegens["npu"], scheduling=_refuse)

    _dynamo.register_inductor_npu = register
