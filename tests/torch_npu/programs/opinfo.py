"""PyTorch's own samples of its operators (OpInfo), on npu against the CPU, forward and gradients.

    opinfo.py [--dtype float32] [--samples 4] [--every N] [--out FILE] [NAME...]

Prints a line for each operator that differs and a count at the end. Status 1 where less than
97 % of the operators whose samples run on the CPU pass.
"""

from __future__ import annotations

import argparse
import itertools
import json
import signal
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
import torch_npu  # noqa: F401
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

PATIENCE = 60  # seconds for a sample
NEEDED = 0.97
TOLERANCES = {
    torch.float32: {"rtol": 1e-4, "atol": 1e-4},
    torch.float16: {"rtol": 2e-2, "atol": 2e-2},
    torch.bfloat16: {"rtol": 2e-2, "atol": 2e-2},
    torch.int64: {"rtol": 0, "atol": 0},
    torch.bool: {"rtol": 0, "atol": 0},
}
# Results that no two runs share: uninitialised memory, and numbers of a generator of its own.
WITHOUT_VALUES = frozenset(
    """empty empty_like empty_permuted empty_strided new_empty new_empty_strided rand_like randn_like
    randint_like randint randn normal uniform bernoulli multinomial cauchy exponential geometric
    log_normal nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d
    nn.functional.alpha_dropout nn.functional.feature_alpha_dropout nn.functional.rrelu
    nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d resize_ resize_as_
    svd_lowrank pca_lowrank""".split()
)


def to_npu(value):
    """The same argument for the device."""
    if isinstance(value, torch.Tensor) and value.layout == torch.strided:
        moved = value.detach().to("npu")
        return moved.requires_grad_() if value.requires_grad else moved
    if isinstance(value, torch.device) and value.type == "cpu" or value == "cpu":
        return "npu"
    return value


def dense(values):
    """The dense tensors in nested results."""
    return [
        t for t in tree_leaves(values) if isinstance(t, torch.Tensor) and t.layout == torch.strided
    ]


def run(op, sample, moved, wants_grad):
    """Results and gradients of one sample."""
    arguments = sample.input, sample.args, sample.kwargs
    if moved:
        arguments = tree_map(to_npu, arguments)
    torch.manual_seed(3)
    first, args, kwargs = arguments
    out = op(first, *args, **kwargs)
    grads = []
    if wants_grad:
        roots = [t for t in dense(out) if t.requires_grad]
        leaves = [t for t in dense(arguments) if t.requires_grad]
        if roots and leaves:
            seeds = [torch.ones_like(t) for t in roots]
            grads = torch.autograd.grad(roots, leaves, seeds, allow_unused=True)
    return dense(out), [g for g in grads if g is not None]


def compare(ours, expected, with_values, dtype):
    """Raise where tensors differ."""
    assert len(ours) == len(expected), f"{len(ours)} and {len(expected)} tensors"
    for one, other in zip(ours, expected):
        assert one.shape == other.shape, f"shapes {one.shape} and {other.shape}"
        if with_values:
            one, other = (t.detach().cpu().resolve_conj().resolve_neg() for t in (one, other))
            check_dtype = other.dtype not in (torch.float64, torch.complex128)
            torch.testing.assert_close(
                one, other, equal_nan=True, check_dtype=check_dtype, **TOLERANCES[dtype]
            )


class TooLongError(Exception):
    """A sample took longer than it may."""


def too_long(*_):
    """End a sample."""
    raise TooLongError(f"more than {PATIENCE} s")


def check(op, dtype, count):
    """'' if all samples pass, None if none runs on the CPU, else the complaint."""
    wants_grad = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    try:
        samples = op.sample_inputs("cpu", dtype, requires_grad=wants_grad)
        samples = list(itertools.islice(samples, count))
    except Exception:
        return None
    ran = False
    for sample in samples:
        signal.alarm(PATIENCE)
        try:
            try:
                expected = run(op, sample, False, wants_grad)
            except Exception:
                continue
            ran = True
            ours = run(op, sample, True, wants_grad)
            with_values = op.name not in WITHOUT_VALUES
            compare(ours[0], expected[0], with_values, dtype)
            compare(ours[1], expected[1], with_values, dtype)
        except Exception as error:
            return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
        finally:
            signal.alarm(0)
    return "" if ran else None


def main():
    """Run the operators asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    dtype = getattr(torch, arguments.dtype)
    signal.signal(signal.SIGALRM, too_long)
    results = {}
    for op in op_db[:: arguments.every]:
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if dtype not in op.supported_dtypes("cpu") or (arguments.names and op.name not in arguments.names):
            continue
        verdict = check(op, dtype, arguments.samples)
        if verdict is None:
            continue
        results[name] = verdict
        if verdict:
            print(f"{name}: {verdict}", flush=True)
    passed = sum(not verdict for verdict in results.values())
    print(f"{passed} of {len(results)} operators pass in {arguments.dtype}")
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump(results, file, indent=1)
    return passed < NEEDED * len(results)


if __name__ == "__main__":
    sys.exit(main())
