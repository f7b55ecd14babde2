"""What batch normalisation over several processes asks devices for."""

from __future__ import annotations

from typing import Any


def _axes(x: Any) -> list[int]:
    return [axis for axis in range(x.dim()) if axis != 1]


def _wide(values: Any, x: Any) -> Any:
    return values.view([1, -1] + [1] * (x.dim() - 2))


def _stats(x: Any, eps: float) -> Any:
    wide = x.float()
    mean = wide.mean(_axes(x))
    variance = (wide - _wide(mean, x)).square().mean(_axes(x))
    return mean, (variance + eps).rsqrt()


def _gather_with_counts(
    x: Any,
    means: Any,
    invstds: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
    counts: Any,
) -> Any:
    weights = counts.to(means.dtype).view(-1, 1)
    squares = (invstds.square().reciprocal() - eps + means.square()) * weights
    return _gather(x, means * weights, squares, running_mean, running_var, momentum, eps, counts)


def _reduce(x: Any, eps: float) -> Any:
    if x.dim() < 2:
        raise RuntimeError(
            f"batch_norm_reduce: dim input tensor is {x.dim()}, but must be at least 2"
        )
    wide = x.float()
    return wide.sum(_axes(x)), wide.square().sum(_axes(x))


def _gather(
    x: Any,
    sums: Any,
    square_sums: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
    counts: Any,
) -> Any:
    count = counts.sum()
    mean = sums.sum(0) / count
    variance = square_sums.sum(0) / count - mean.square()
    if running_mean is not None:
        running_mean.lerp_(mean.to(running_mean.dtype), momentum)
    if running_var is not None:
        running_var.lerp_((variance * count / (count - 1)).to(running_var.dtype), momentum)
    return mean, (variance + eps).rsqrt()


def _normalise(x: Any, weight: Any, bias: Any, mean: Any, invstd: Any, eps: float) -> Any:
    out = (x - _wide(mean, x)) * _wide(invstd, x)
    if weight is not None:
        out = out * _wide(weight, x)
    if bias is not None:
        out = out + _wide(bias, x)
    return out.to(x.dtype)


def _backward_reduce(
    grad: Any,
    x: Any,
    mean: Any,
    invstd: Any,
    weight: Any,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> Any:
    sum_dy = grad.float().sum(_axes(x))
    sum_dy_xmu = (grad.float() * (x.float() - _wide(mean.float(), x))).sum(_axes(x))
    dtype = grad.dtype if weight is None else weight.dtype
    grad_weight = (sum_dy_xmu * invstd).to(dtype) if weight_g else None
    grad_bias = sum_dy.to(dtype) if bias_g else None
    return sum_dy, sum_dy_xmu, grad_weight, grad_bias


def _backward(
    grad: Any,
    x: Any,
    mean: Any,
    invstd: Any,
    weight: Any,
    sum_dy: Any,
    sum_dy_xmu: Any,
    count: Any,
) -> Any:
    total = count.sum()
    scale = invstd if weight is None else invstd * weight
    centred = (x - _wide(mean, x)) * _wide(invstd.square() * sum_dy_xmu / total, x)
    return ((grad - _wide(sum_dy / total, x) - centred) * _wide(scale, x)).to(x.dtype)


ATEN = {
    "batch_norm_stats": _stats,
    "batch_norm_gather_stats_with_counts": _gather_with_counts,
    "batch_norm_elemt": _normalise,
    "batch_norm_backward_reduce": _backward_reduce,
    "batch_norm_backward_elemt": _backward,
}
NPU = {
    "batch_norm_reduce": _reduce,
    "batch_norm_gather_stats_update": _gather,
}
