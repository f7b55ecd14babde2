"""The same work on npu and on the CPU."""

from __future__ import annotations

import torch
from torch.utils._pytree import tree_leaves, tree_map


def tensors(value):
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def close(actual, expected, tolerance=1e-5):
    """Each tensor of the one is on npu and near that of the other."""
    actual, expected = tensors(actual), tensors(expected)
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert one.device.type == "npu"
        torch.testing.assert_close(
            one.detach().cpu(), other.detach(), rtol=tolerance, atol=tolerance, equal_nan=True
        )


def same(function, *arguments, tolerance=1e-5):
    """``function`` of tensors: results and gradients on npu are near the CPU's."""

    def run(device):
        def move(value):
            if not isinstance(value, torch.Tensor):
                return value
            moved = value.detach().to(device)
            return moved.requires_grad_() if value.requires_grad else moved

        moved = tree_map(move, arguments)
        torch.manual_seed(1)
        out = function(*moved)
        wanted = [t for t in tensors(moved) if t.requires_grad]
        roots = [t for t in tensors(out) if t.requires_grad]
        grads = torch.autograd.grad(
            [t.square().sum() for t in roots], wanted, allow_unused=True
        ) if wanted and roots else ()
        return out, [g for g in grads if g is not None]

    result = run("npu")
    close(result, run("cpu"), tolerance)
    return result[0]
