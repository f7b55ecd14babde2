"""torch_npu's own steps of optimizers: they write into the tensors of ``out``."""

from __future__ import annotations

import math
from typing import Any


def _moments(m: Any, v: Any, grad: Any, beta1: float, beta2: float) -> None:
    m.mul_(beta1).add_(grad, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)


def _adam(
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    use_locking: Any,
    use_nesterov: Any,
    *,
    out: Any,
) -> Any:
    weights, m, v = out
    _moments(m, v, grad, beta1, beta2)
    rest = 1 - beta1_power
    step = lr * (1 - beta2_power) ** 0.5 / rest if rest else math.nan
    move = m * beta1 + (1 - beta1) * grad if use_nesterov else m
    weights.addcdiv_(move, v.sqrt().add_(epsilon), value=-step)
    return weights, m, v


def _adam_w(
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    weight_decay: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    max_grad_norm: Any,
    amsgrad: Any,
    maximize: Any,
    *,
    out: Any,
) -> Any:
    import torch

    if amsgrad and max_grad_norm is None:
        raise ValueError("npu::npu_apply_adam_w: amsgrad needs max_grad_norm")
    weights, m, v = out
    _moments(m, v, -grad if maximize else grad, beta1, beta2)
    scale1, scale2 = 1 - beta1_power * beta1, 1 - beta2_power * beta2
    largest = torch.maximum(max_grad_norm, v) if amsgrad else v
    weights.mul_(1 - lr * weight_decay)
    weights.addcdiv_(m, (largest / scale2).sqrt_().add_(epsilon), value=-lr / scale1)
    return weights, m, v


OPERATORS = {
    "npu_apply_adam.out": _adam,
    "npu_apply_adam_w.out": _adam_w,
}
