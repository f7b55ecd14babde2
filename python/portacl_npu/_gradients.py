"""torch_npu's own backward operators: the gradients of the other operators' compositions."""

from __future__ import annotations

from typing import Any

from . import _attention, _layers


def _gradients(function: Any, grads: Any, *inputs: Any) -> Any:
    """Return the gradients of ``function(*inputs)``, for the gradients of its results."""
    import torch

    with torch.inference_mode(False), torch.enable_grad():
        leaves = [x.detach().clone().requires_grad_() for x in inputs]
        results = function(*leaves)
        grads = [g.detach().clone() for g in (grads if isinstance(grads, tuple) else (grads,))]
        found = torch.autograd.grad(results, leaves, grads)
    return found[0] if len(found) == 1 else found


def _rotary_mul(grad: Any, x: Any, r1: Any, r2: Any, rotary_mode: str = "half") -> Any:
    return _gradients(lambda *t: _layers._rotary_mul(*t, rotary_mode), grad, x, r1, r2)


def _swiglu(grad: Any, x: Any, dim: int = -1) -> Any:
    return _gradients(lambda t: _layers._swiglu(t, dim), grad, x)


def _rms_norm(dy: Any, x: Any, gamma: Any, rstd: Any) -> Any:
    def normal(x: Any, gamma: Any) -> Any:
        # 1 / rstd^2 is the mean square plus epsilon: epsilon does not depend on x.
        axes = list(range(x.dim() - gamma.dim(), x.dim()))
        square = x.float().square().mean(axes, keepdim=True)
        epsilon = (rstd.float().square().reciprocal() - square).detach()
        return (x.float() * (square + epsilon).rsqrt() * gamma.float()).to(x.dtype)

    return _gradients(normal, dy, x, gamma)


def _gelu(grad: Any, x: Any, *, approximate: str = "none") -> Any:
    return _gradients(lambda t: _layers._gelu(t, approximate=approximate), grad, x)


def _fast_gelu(grad: Any, x: Any) -> Any:
    return _gradients(_layers._fast_gelu, grad, x)


def _mish(grad: Any, x: Any) -> Any:
    return _gradients(_layers._mish, grad, x)


def _silu(grad: Any, x: Any, result: Any) -> Any:
    return _gradients(_layers._silu, grad, x)


def _scaled_masked_softmax(
    grad: Any, y: Any, mask: Any, scale: float, fixed_triu_mask: bool = False
) -> Any:
    import torch

    if fixed_triu_mask:
        mask = torch.ones(y.shape[-2:], dtype=torch.bool, device=y.device).triu(1)
    weighted = grad.float() * y.float()
    out = scale * (weighted - y.float() * weighted.sum(-1, keepdim=True))
    return out.masked_fill(mask.bool(), 0).to(y.dtype)


def _softmax_cross_entropy(grad: Any, x: Any, labels: Any) -> Any:
    return _gradients(lambda t: _layers._softmax_cross_entropy(t, labels), grad, x)


def _linear(grad: Any, x: Any, weight: Any) -> Any:
    return _gradients(_layers._linear, grad, x, weight)


def _conv_transpose(
    x: Any,
    grad: Any,
    weight: Any,
    padding: Any,
    output_padding: Any,
    stride: Any,
    dilation: Any,
    groups: int,
    mask: Any,
) -> Any:
    return _convolution(x, grad, weight, stride, padding, dilation, groups, mask, output_padding)


def _convolution(
    x: Any,
    grad: Any,
    weight: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    mask: Any,
    output_padding: Any = None,
) -> Any:
    import torch

    transposed = output_padding is not None
    biases = [weight.size(1) * groups if transposed else weight.size(0)]
    extra = output_padding or [0] * (weight.dim() - 2)
    padding = padding[: weight.dim() - 2]  # as the function reads it
    return torch.ops.aten.convolution_backward(
        grad, x, weight, biases, stride, padding, dilation, transposed, extra, groups, mask
    )


def _confusion_transpose(grad: Any, perm: Any, shape: Any, transpose_first: bool) -> Any:
    back = [perm.index(axis) for axis in range(len(perm))]
    if transpose_first:
        return grad.reshape([shape[axis] for axis in perm]).permute(back)
    return grad.permute(back).reshape(shape)


def _chosen(grad: Any, dim: int, indices: Any, sizes: Any, keepdim: bool) -> Any:
    if not keepdim and sizes:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(sizes).scatter(dim, indices.long(), grad)


def _renorm(grad: Any, x: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    import torch

    return _gradients(lambda t: torch.renorm(t, p, dim, maxnorm), grad, x)


def _geglu(
    grad: Any, x: Any, gelu: Any, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> Any:
    return _gradients(lambda t: _layers._geglu(t, dim, approximate, activate_left)[0], grad, x)


def _fusion_attention(
    query: Any, key: Any, value: Any, dy: Any, *layout: Any, **settings: Any
) -> Any:
    """Calculate the forward result anew: tensors that the forward operator left do not matter."""
    if settings.get("pse") is not None or settings.get("keep_prob", 1) != 1:
        raise NotImplementedError(
            "npu::npu_fusion_attention_grad: portacl_npu has it without pse and dropout"
        )
    left = ("softmax_max", "softmax_sum", "softmax_in", "attention_in", "seed", "offset", "numels")
    settings = {name: given for name, given in settings.items() if name not in left}
    settings["scale"] = settings.pop("scale_value", 1.0)

    def attend(*inputs: Any) -> Any:
        return _attention._fusion_attention(*inputs, *layout, **settings)[0]

    return *_gradients(attend, dy, query, key, value), None, query.new_empty(0)  # of pse and sink


OPERATORS = {
    "npu_fusion_attention_grad": _fusion_attention,
    "npu_fusion_attention_grad_v3": _fusion_attention,
    "npu_rotary_mul_backward": _rotary_mul,
    "npu_swiglu_backward": _swiglu,
    "npu_rms_norm_backward": _rms_norm,
    "npu_gelu_backward": _gelu,
    "npu_fast_gelu_backward": _fast_gelu,
    "npu_mish_backward": _mish,
    "npu_silu_backward": _silu,
    "npu_geglu_grad": _geglu,
    "npu_scaled_masked_softmax_backward": _scaled_masked_softmax,
    "npu_softmax_cross_entropy_with_logits_backward": _softmax_cross_entropy,
    "npu_linear_backward": _linear,
    "npu_conv2d_backward": _convolution,
    "npu_conv3d_backward": _convolution,
    "npu_convolution_backward": _convolution,
    "npu_conv_transpose2d_backward": _conv_transpose,
    "npu_conv_transpose3d_backward": _conv_transpose,
    "npu_convolution_transpose_backward": _conv_transpose,
    "npu_confusion_transpose_backward": _confusion_transpose,
    "npu_max_backward": _chosen,
    "npu_min_backward": _chosen,
    "npu_renorm_backward": _renorm,
}
