"""Calls of the functions that are compositions of several operators, and what they must give."""

from __future__ import annotations

import aten_experts
import torch
import torch.nn.functional as F

aten = torch.ops.aten


def _gradients(function, inputs, gradient):
    """Autograd's gradients of ``function(*inputs)``."""
    inputs = [t.detach().clone().requires_grad_() for t in inputs]
    return list(torch.autograd.grad(function(*inputs), inputs, gradient))


def _tensor_calls() -> dict[str, tuple[dict, list]]:
    x, y = torch.rand(2, 4, 6).unbind()
    index = torch.tensor([[3, 1, 0, 2, 1, 0]])
    at = torch.tensor([2, 0])
    source = {"dim": 0, "index": index, "src": y[:1].contiguous()}
    value = {"dim": 0, "index": index, "value": 2.5}
    added = torch.scatter_reduce(x, 0, index, y[:1], "amax", include_self=True)
    repeated = torch.tensor([3.0, 1, 1, 2, 2, 2, 1])
    q, r = torch.linalg.qr(x)
    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    values, inverse, counts = torch.unique(repeated, return_inverse=True, return_counts=True)
    runs = torch.unique_consecutive(repeated, return_inverse=True, return_counts=True)
    dims = {"dims": [1], "keepdim": True}
    square = torch.rand(4, 4)
    assigned = x.clone()
    assigned[1:4:2, 0:5:3] = y[:2, :2]
    folded = torch.stack((repeated, 2 * repeated))
    first_and_third = torch.arange(24).view(4, 6) % 8
    first_and_third = (first_and_third == 0) | (first_and_third == 2)  # of each byte's bits: 5
    return {
        "AddV3": ({"self": 2.0, "other": x, "alpha": 3.0}, [2 + 3 * x]),
        "All": ({"self": x > 0.2, **dims}, [(x > 0.2).all(1, True)]),
        "Any": ({"self": x > 0.9, **dims}, [(x > 0.9).any(1, True)]),
        "Aminmax": ({"self": x, **dims}, [x.amin(1, True), x.amax(1, True)]),
        "Bincount": ({"self": index[0], "minlength": 7}, [torch.bincount(index[0], minlength=7)]),
        "DropoutBackward": (
            {"gradOutput": x, "mask": torch.full((16,), 5, dtype=torch.uint8), "scale": 2.0},
            [x * first_and_third * 2],
        ),
        "SliceV2": (
            {"self": x, "starts": [1, 0], "ends": [4, 5], "axes": [0, 1], "steps": [2, 3]},
            [x[1:4:2, 0:5:3]],
        ),
        "StridedSliceAssignV2": (
            {
                "varRef": x,
                "inputValue": y[:2, :2],
                "begins": [1, 0],
                "ends": [4, 5],
                "strides": [2, 3],
                "axes": [0, 1],
            },
            [assigned],
        ),
        "DropoutDoMask": (
            {"self": x, "mask": torch.full((16,), 5, dtype=torch.uint8), "prob": 0.5},
            [x * first_and_third * 2],
        ),
        "ForeachZeroInplace": ({"x": [x, y[0]]}, [torch.zeros(4, 6), torch.zeros(6)]),
        "UniqueDim": (
            {"self": folded, "sorted": True, "returnInverse": True, "dim": 1},
            [t.contiguous() for t in torch.unique(folded, True, True, True, dim=1)],
        ),
        "DivMod": ({"self": x, "other": y, "mode": 2}, [x.div(y, rounding_mode="floor")]),
        "InplaceDivMod": ({"selfRef": x, "other": y, "mode": 1}, [x.div(y, rounding_mode="trunc")]),
        "DivMods": ({"self": x, "other": 0.3, "mode": 0}, [x / 0.3]),
        "InplaceDivMods": (
            {"selfRef": x, "other": 0.3, "mode": 2},
            [x.div(0.3, rounding_mode="floor")],
        ),
        "Equal": ({"self": x, "other": x.clone()}, [torch.tensor([True])]),
        "ForeachCopy": ({"x": [x, y[0]]}, [x, y[0]]),
        "GatherV2": ({"self": x, "dim": 1, "index": at}, [x[:, at]]),
        "GatherV3": ({"self": x, "dim": 1, "index": at}, [x[:, at]]),
        "Index": ({"self": x, "indices": [at, at + 1]}, [x[at, at + 1]]),
        "IndexFillTensor": (
            {"self": x, "dim": 0, "index": [2, 0], "value": 2.5},
            [x.index_fill(0, at, 2.5)],
        ),
        "InplaceIndexFillTensor": (
            {"selfRef": x, "dim": 0, "index": [2, 0], "value": 2.5},
            [x.index_fill(0, at, 2.5)],
        ),
        "IndexPutImpl": (
            {"selfRef": x, "indices": [at], "values": y[:2].contiguous(), "accumulate": True},
            [x.index_put((at,), y[:2], True)],
        ),
        "InplaceFillDiagonal": ({"selfRef": x, "value": 2.5}, [x.clone().fill_diagonal_(2.5)]),
        "Gemm": (
            {"A": x, "B": y, "C": square, "alpha": 2.0, "beta": 0.5, "transB": 1},
            [2 * x @ y.mT + 0.5 * square],
        ),
        "MeanV2": ({"self": x, "dims": [], "noopWithEmptyAxes": False}, [x.mean()]),
        "LinalgQr": ({"self": x}, [q, r]),
        "Nonzero": ({"self": repeated - 1}, [(repeated - 1).nonzero()]),
        "NonzeroV2": ({"self": repeated - 1}, [(repeated - 1).nonzero().t()]),
        "OneHot": (
            {"self": at, "depth": 3, "on": torch.ones(1), "off": torch.zeros(1), "axis": -1},
            [F.one_hot(at, 3).float()],
        ),
        "RepeatInterleaveGrad": (
            {"grad": y, "repeats": torch.tensor([2, 0, 3, 1]), "dim": 1},
            _gradients(lambda t: t.repeat_interleave(torch.tensor([2, 0, 3, 1]), 1), [x[:, :4]], y),
        ),
        "Scatter": ({"self": x, **source}, [x.scatter(0, index, y[:1])]),
        "InplaceScatter": ({"selfRef": x, **source, "reduce": 1}, [x.scatter_add(0, index, y[:1])]),
        "ScatterValue": ({"self": x, **value}, [x.scatter(0, index, 2.5)]),
        "InplaceScatterValue": (
            {"selfRef": x, **value, "reduce": 2},
            [x.scatter(0, index, 2.5, reduce="multiply")],
        ),
        "ScatterReduce": ({"self": x, **source, "reduce": 3, "includeSelf": True}, [added]),
        "InplaceScatterReduce": (
            {"selfRef": x, **source, "reduce": 3, "includeSelf": True},
            [added],
        ),
        "StridedSlice": (
            {"self": x, "begin": [1, 0], "end": [4, 5], "strides": [2, 3]},
            [x[1:4:2, 0:5:3]],
        ),
        "Sum": ({"tensors": [x, y, x]}, [x + y + x]),
        "Svd": ({"A": x, "computeUv": True}, [s, u, vh.mT]),
        "Unique": ({"self": repeated, "sorted": True, "returnInverse": True}, [values, inverse]),
        "Unique2": (
            {"self": repeated, "sorted": True, "returnInverse": True, "returnCounts": True},
            [values, inverse, counts],
        ),
        "UniqueConsecutive": (
            {"self": repeated, "returnInverse": True, "returnCounts": True, "dim": 1000},
            list(runs),
        ),
    }


def _network_calls() -> dict[str, tuple[dict, list]]:
    x, y = torch.rand(2, 4, 6).unbind()
    numbers = torch.tensor([4, 1, 4, 0])
    image, volume = torch.rand(2, 3, 6, 8), torch.rand(1, 2, 4, 6, 8)
    window = {"kernel": [2, 2], "stride": [2, 2], "padding": [0, 0], "count": True}
    block = {"kernel": [2, 2, 2], "stride": [2, 2, 2], "padding": [0, 0, 0], "count": True}
    pool = {"kernel": [2, 2], "stride": [2, 2], "padding": [0, 0], "dilation": [1, 1]}
    step = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1]}
    filters = torch.rand(3, 1, 3, 3)
    halved, shrunk = torch.rand(2, 3, 3, 4), torch.rand(1, 2, 2, 3, 4)
    mean, invstd = image.mean((0, 2, 3)), (image.var((0, 2, 3), False) + 1e-5).rsqrt()
    normed = F.batch_norm(image, None, None, training=True)
    statistics = {"runningMean": torch.zeros(3), "runningVar": torch.ones(3)}
    weight, one = torch.rand(6), torch.ones(())
    mask = {"mask": torch.zeros(8, dtype=torch.int8)}  # of the device's own layout: not read
    log, softmax = x.log_softmax(-1), x.softmax(-1)
    loss = {"grad": one, "self": x, "target": y, "reduction": 1}
    series, taps, shift, long = (
        torch.rand(5, 2, 3),
        torch.rand(3, 3, 4),
        torch.rand(4),
        torch.rand(5, 2, 4),
    )

    chances = {
        "logProbs": torch.rand(7, 2, 5).log_softmax(-1),
        "targets": torch.tensor([[1, 2, 1], [4, 3, 0]]),
        "inputLengths": [7, 6],
        "targetLengths": [3, 2],
    }
    likelihood, alpha = aten._ctc_loss(*chances.values())

    def fast_gelu(t):
        return t * (1.702 * t).sigmoid()

    return {
        "AvgPool2d": (
            {
                "self": image,
                "kernelSize": [2, 2],
                "strides": [2, 2],
                "paddings": [0, 0],
                "countIncludePad": True,
            },
            [F.avg_pool2d(image, 2)],
        ),
        "AvgPool2dBackward": (
            {"grad": halved, "self": image, **window},
            _gradients(lambda t: F.avg_pool2d(t, 2), [image], halved),
        ),
        "AvgPool3d": ({"self": volume, **block}, [F.avg_pool3d(volume, 2)]),
        "AvgPool3dBackward": (
            {"grad": shrunk, "self": volume, **block},
            _gradients(lambda t: F.avg_pool3d(t, 2), [volume], shrunk),
        ),
        "BatchNorm": (
            {"input": image, **statistics, "training": True, "momentum": 0.1, "eps": 1e-5},
            [mean * 0.1, 0.9 + 0.1 * image.var((0, 2, 3)), normed, mean, invstd],
        ),
        "BatchNormElemt": ({"input": image, "mean": mean, "invstd": invstd}, [normed]),
        "BatchNormStats": ({"input": image, "eps": 1e-5}, [mean, invstd]),
        "BinaryCrossEntropyWithLogitsBackward": (
            loss,
            _gradients(lambda t: F.binary_cross_entropy_with_logits(t, y), [x], one),
        ),
        "ConvDepthwise2d": (
            {"self": image, "weight": filters, "kernel": [3, 3], **step},
            [F.conv2d(image, filters, padding=1, groups=3)],
        ),
        "Dropout": ({"self": x, "p": 0.5, "mask": torch.zeros(8, dtype=torch.uint8)}, [x]),
        "EmbeddingDenseBackward": (
            {"grad": x, "indices": numbers, "num": 5, "padding": 1, "scale": True},
            [torch.stack((x[3], 0 * x[0], 0 * x[0], 0 * x[0], (x[0] + x[2]) / 2))],
        ),
        "EmbeddingRenorm": (
            {"selfRef": x, "indices": torch.tensor([1, 3]), "maxNorm": 0.5, "normType": 2.0},
            [aten.embedding_renorm(x, torch.tensor([1, 3]), 0.5, 2.0)],
        ),
        "GeluV2": ({"self": x, "approximate": 1}, [F.gelu(x, approximate="tanh")]),
        "KlDivBackward": (
            loss,
            _gradients(lambda t: F.kl_div(t, y, reduction="sum") / 24, [x], one),
        ),
        "L1LossBackward": (loss, _gradients(lambda t: F.l1_loss(t, y), [x], one)),
        "Logit": ({"self": x, "eps": 0.1}, [x.logit(0.1)]),
        "LogitGrad": ({"self": x, "grad": y, "eps": -1.0}, _gradients(torch.logit, [x], y)),
        "LogSoftmaxBackward": (
            {"grad": y, "output": log, "dim": 1},
            _gradients(lambda t: t.log_softmax(1), [x], y),
        ),
        "MaxPool": (
            {
                "self": image,
                "kernelShape": [2, 2],
                "strides": [2, 2],
                "pads": [0] * 4,
                "dilations": [1, 1],
            },
            [F.max_pool2d(image, 2)],
        ),
        "MaxPool2dWithMask": ({"self": image, **mask, **pool}, [F.max_pool2d(image, 2)]),
        "MaxPool2dWithMaskBackward": (
            {"grad": halved, "self": image, **mask, **pool},
            _gradients(lambda t: F.max_pool2d(t, 2), [image], halved),
        ),
        "Prelu": ({"self": x - 0.5, "weight": weight}, [aten._prelu_kernel(x - 0.5, weight)]),
        "PreluBackward": (
            {"grad": y, "self": x - 0.5, "weight": weight},
            _gradients(F.prelu, [x - 0.5, weight], y),
        ),
        "BatchNormReduce": (
            {"x": image},
            [image.sum((0, 2, 3)), image.square().sum((0, 2, 3))],
        ),
        "ConvTbcBackward": (
            {"self": long, "input": series, "weight": taps, "bias": shift, "pad": 1},
            _gradients(lambda *t: torch.conv_tbc(*t, 1), [series, taps, shift], long),
        ),
        "CtcLoss": (chances, [likelihood, F.pad(alpha, (0, 9), value=-torch.inf)]),
        "CtcLossBackward": (
            {
                "grad": torch.ones(2),
                "log_probs": chances["logProbs"],
                "targets": chances["targets"],
                "input_lengths": [7, 6],
                "target_lengths": [3, 2],
                "neg_log_likelihood": likelihood,
                "log_alpha": F.pad(alpha, (0, 9)),
            },
            [
                aten._ctc_loss_backward(
                    torch.ones(2), *list(chances.values())[:4], likelihood, alpha, 0, False
                )
            ],
        ),
        "KlDivTargetBackward": (
            {"grad": one, "self": log, "target": y, "reduction": 1},
            _gradients(lambda t: F.kl_div(log, t, reduction="mean"), [y], one),
        ),
        "FastGelu": ({"self": x}, [fast_gelu(x)]),
        "FastGeluBackward": ({"grad": y, "self": x}, _gradients(fast_gelu, [x], y)),
        "LogSigmoidForward": ({"self": x}, [F.logsigmoid(x), aten.log_sigmoid_forward(x)[1]]),
        "LogSigmoidBackward": (
            {"grad": y, "self": x - 0.5, "buffer": torch.empty(0)},
            _gradients(F.logsigmoid, [x - 0.5], y),
        ),
        "RReluWithNoise": (
            {"self": x - 0.5, "noise": torch.zeros(4, 6), "lower": 0.25, "upper": 0.5},
            [F.leaky_relu(x - 0.5, 0.375)],
        ),
        "SoftmaxBackward": (
            {"grad": y, "output": softmax, "dim": 1},
            _gradients(lambda t: t.softmax(1), [x], y),
        ),
        "SoftmaxCrossEntropyWithLogits": (
            {"features": x, "labels": y},
            [F.cross_entropy(x, y, reduction="none"), softmax - y],
        ),
    }


def _transformer_calls() -> dict[str, tuple[dict, list]]:
    x, y = torch.rand(2, 4, 6).unbind()
    gamma = torch.rand(6)
    cos, sin = torch.rand(2, 1, 6).unbind()
    rstd = (x.pow(2).mean(-1, True) + 1e-5).rsqrt()
    both_rstd = ((x + y).pow(2).mean(-1, True) + 1e-5).rsqrt()
    half = torch.rand(4, 3)
    q, k, v, dy = torch.rand(4, 1, 2, 5, 8).unbind()
    heads = {"scale": 0.5, "keepProb": 1.0, "heads": 2, "layout": "BNSD"}
    scores = q @ k.mT * 0.5
    most = scores.amax(-1, True)
    total = (scores - most).exp().sum(-1, True)
    weights = torch.randint(-8, 8, (6, 3), dtype=torch.int8)

    shift, turn = torch.rand(1, 2, 5, 5), torch.rand(1, 2, 1, 8)
    shifted = scores + shift

    def attention(q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, mask, scale=0.5)

    def halves(t):
        return t * turn + torch.cat((-t[..., 4:], t[..., :4]), -1) * (turn + 1)

    def norm(x, gamma):
        return F.rms_norm(x, (6,), gamma, 1e-5)

    def neighbours(x, cos, sin):
        return x * cos + torch.stack((-x[:, 1::2], x[:, ::2]), -1).flatten(-2) * sin

    def swiglu(t):
        return F.silu(t[:, :3]) * t[:, 3:]

    return {
        "AddRmsNorm": (
            {"x1": x, "x2": y, "gamma": gamma, "epsilon": 1e-5},
            [norm(x + y, gamma), both_rstd, x + y],
        ),
        "FlashAttentionScore": (
            {"query": q, "key": k, "value": v, **heads},
            [most.expand(1, 2, 5, 8), total.expand(1, 2, 5, 8), None, attention(q, k, v)],
        ),
        "FlashAttentionScoreGrad": (
            {"query": q, "key": k, "value": v, "dy": dy, **heads},
            _gradients(attention, [q, k, v], dy),
        ),
        "FlashAttentionScoreV2": (
            {"query": q, "key": k, "value": v, "pse": shift, "pseType": 0, **heads},
            [
                shifted.amax(-1, True).expand(1, 2, 5, 8),
                (shifted - shifted.amax(-1, True)).exp().sum(-1, True).expand(1, 2, 5, 8),
                None,
                attention(q, k, v, shift),
            ],
        ),
        "FlashAttentionScoreGradV2": (
            {
                "query": q,
                "key": k,
                "value": v,
                "dy": dy,
                "pse": shift,
                "pseType": 1,
                **heads,
            },
            _gradients(lambda *t: attention(*t, shift * 0.5), [q, k, v], dy),
        ),
        "ApplyRotaryPosEmb": (
            {"queryRef": q, "keyRef": k, "cos": turn, "sin": turn + 1, "layout": 1},
            [halves(q), halves(k)],
        ),
        "FusedInferAttentionScoreV2": (
            {
                "query": q,
                "key": [k],
                "value": [v],
                "numHeads": 2,
                "scaleValue": 0.5,
                "inputLayout": "BNSD",
            },
            [attention(q, k, v)],
        ),
        "GeGluV3": (
            {"self": x, "dim": 1, "activateLeft": True},
            [F.gelu(x[:, :3]) * x[:, 3:], F.gelu(x[:, :3])],
        ),
        "RmsNorm": ({"x": x, "gamma": gamma, "epsilon": 1e-5}, [norm(x, gamma), rstd]),
        "RmsNormGrad": (
            {"dy": y, "x": x, "rstd": rstd, "gamma": gamma},
            _gradients(norm, [x, gamma], y),
        ),
        "RotaryPositionEmbedding": (
            {"x": x, "cos": cos, "sin": sin, "mode": 0},
            [x * cos + torch.cat((-x[:, 3:], x[:, :3]), -1) * sin],
        ),
        "RotaryPositionEmbeddingGrad": (
            {"dy": y, "cos": cos, "sin": sin, "x": x, "mode": 1},
            _gradients(neighbours, [x, cos, sin], y),
        ),
        "ScaledMaskedSoftmax": (
            {"x": scores, "mask": scores[:, :1] > 1, "scale": 0.5},
            [(scores * 0.5).masked_fill(scores[:, :1] > 1, -10000).softmax(-1)],
        ),
        "SwiGlu": ({"x": x, "dim": 1}, [swiglu(x)]),
        "SwiGluGrad": ({"dy": half, "x": x, "dim": 1}, _gradients(swiglu, [x], half)),
        "WeightQuantBatchMatmulV2": (
            {"x": x, "weight": weights, "antiquantScale": gamma[:3].contiguous()},
            [x @ (weights * gamma[:3])],
        ),
    }


def calls() -> dict[str, tuple[dict, list]]:
    """By the function's name: values of its parameters but for outputs, and the outputs' values."""
    own = _tensor_calls() | _network_calls() | _transformer_calls()
    return own | aten_experts.calls()
