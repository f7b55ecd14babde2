"""PyTorch's operators without a CPU kernel: products with their own result type, and two more."""

from __future__ import annotations

from typing import Any


def _wide(function: str) -> Any:
    """Return the operator that computes in ``out_dtype``, as other devices' operators do."""

    def run(*arguments: Any, **numbers: Any) -> Any:
        import torch

        *tensors, out_dtype = arguments
        wide = [x.to(out_dtype) for x in tensors]
        return getattr(torch.ops.aten, function).default(*wide, **numbers)

    return run


def _masked_scale(x: Any, mask: Any, scale: float) -> Any:
    return x * mask.to(x.dtype) * scale


def _depthwise(
    x: Any, weight: Any, kernel_size: Any, bias: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    import torch

    zeros = [0] * len(kernel_size)
    return torch.convolution(
        x, weight, bias, stride, padding, dilation, False, zeros, x.size(-1 - len(kernel_size))
    )


OPERATORS = {
    **{f"{name}.dtype": _wide(name) for name in ("mm", "bmm", "addmm", "baddbmm")},
    "_masked_scale": _masked_scale,
    "_conv_depthwise2d": _depthwise,
}
