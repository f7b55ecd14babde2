"""Operators on images: portacl's own in the types that it takes, the CPU's kernels in all others."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F
from child import run_python
from compare import same

HALVES = {torch.float16: 5e-3, torch.bfloat16: 3e-2}
# Mode, extents of the input, options.
RESIZES = [
    ("nearest", (7,), {}),
    ("nearest", (7, 9), {}),
    ("nearest", (3, 7, 5), {}),
    ("nearest-exact", (7,), {}),
    ("nearest-exact", (7, 9), {}),
    ("nearest-exact", (3, 7, 5), {}),
    ("linear", (7,), {"align_corners": True}),
    ("bilinear", (7, 9), {}),
    ("bilinear", (7, 9), {"align_corners": True}),
    ("trilinear", (3, 7, 5), {}),
    ("bicubic", (7, 9), {}),
    ("bilinear", (7, 9), {"antialias": True}),
    ("bicubic", (7, 9), {"antialias": True}),
]
FUNCTIONS = """
UpsampleNearest1dV2 UpsampleNearest2dV2 UpsampleNearest3d UpsampleNearestExact1d
UpsampleNearestExact2d UpsampleNearestExact3d UpsampleLinear1d UpsampleBilinear2d UpsampleTrilinear3d
UpsampleBicubic2d UpsampleBilinear2dAA UpsampleBicubic2dAA
UpsampleNearest1dBackward UpsampleNearest2dBackward UpsampleNearest3dBackward
UpsampleNearestExact1dBackward UpsampleNearestExact2dBackward UpsampleNearestExact3dBackward
UpsampleLinear1dBackward UpsampleBilinear2dBackwardV2 UpsampleTrilinear3dBackward
UpsampleBicubic2dBackward UpsampleBilinear2dAABackward UpsampleBicubic2dAAGrad
AffineGrid GridSampler2D GridSampler3D GridSampler2DBackward GridSampler3DBackward
""".split()

EVERYTHING = f"""
import torch, torch_npu
import torch.nn.functional as F
for mode, extents, options in {RESIZES!r}:
    leaf = torch.rand(1, 2, *extents).npu().requires_grad_()
    F.interpolate(leaf, scale_factor=1.5, mode=mode, **options).sum().backward()
for axes in (2, 3):
    image = torch.rand(1, 2, *[5] * axes).npu().requires_grad_()
    theta = torch.rand(1, axes, axes + 1).npu().requires_grad_()
    F.grid_sample(image, F.affine_grid(theta, image.shape, align_corners=False),
                  align_corners=False).sum().backward()
torch.npu.synchronize()
"""


def test_every_function_of_the_family_is_called():
    done = run_python("-c", EVERYTHING, PORTACL_LOG="calls")
    assert done.returncode == 0, done.stderr
    called = set(re.findall(r"portacl_call,[^,]*,aclnn(\w+)", done.stderr))
    assert called >= set(FUNCTIONS), set(FUNCTIONS) - called
    routed = set(re.findall(r"portacl_routed,[^,]*,aten::(\w+)", done.stderr))
    assert not {name for name in routed if "upsample" in name or "grid_sampler" in name}


# As on the training products, where the plugin sends operators by name, each with its attributes.
BY_NAME = f"""
import sys
import torch, torch_npu
import torch.nn.functional as F
torch.npu.set_compile_mode(jit_compile=True)
half = torch.bfloat16 if sys.argv[1] == "bfloat16" else torch.float32
tolerance = 3e-2 if half == torch.bfloat16 else 1e-5
def compare(function, *leaves):
    results = []
    for device in ("npu", "cpu"):
        moved = [leaf.to(device).requires_grad_() for leaf in leaves]
        out = function(*moved)
        grads = torch.autograd.grad(out.square().sum(), moved)
        results.append([each.detach().cpu() for each in (out, *grads)])
    for one, other in zip(*results):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)
for mode, extents, options in {RESIZES!r}:
    if half == torch.bfloat16 and options.get("antialias"):
        continue  # PyTorch's CPU kernels refuse it
    if mode == "nearest-exact" and sys.argv[2] == "atlas-training":
        continue  # the product has no such operator
    # The plugin sends no scale for these.
    for scale in (2,) if mode in ("nearest", "bilinear", "trilinear") else (1.7, 2):
        x = torch.rand(2, 3, *extents, dtype=half)
        compare(lambda x: F.interpolate(x, scale_factor=scale, mode=mode, **options), x)
    if half == torch.float32:
        size = [2 * extent + 1 for extent in extents]
        compare(lambda x: F.interpolate(x, size=size, mode=mode, **options), x)
if half == torch.float32:
    for axes in (2, 3):
        size = (2, 3, *[5, 6, 7][-axes:])
        compare(lambda t: F.affine_grid(t, size, align_corners=False), torch.rand(2, axes, axes + 1))
"""


@pytest.mark.parametrize(
    ("profile", "dtype"),
    [("atlas-a2", "float32"), ("atlas-a2", "bfloat16"), ("atlas-training", "float32")],
)
def test_resizing_by_name_equals_the_cpus(profile, dtype):
    done = run_python("-c", BY_NAME, dtype, profile, PORTACL_LOG="calls", PORTACL_PROFILE=profile)
    assert done.returncode == 0, done.stderr[-3000:]
    names = set(re.findall(r"portacl_call,[^,]*,(\w+),", done.stderr))
    wanted = {"ResizeD", "ResizeGradD", "UpsampleTrilinear3dGrad", "UpsampleNearest3dGrad"}
    wanted |= {"Resize", "ResizeGrad"} if dtype == "bfloat16" else {"AffineGrid"}
    assert names >= wanted, wanted - names


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, *HALVES])
@pytest.mark.parametrize(("mode", "extents", "options"), RESIZES)
def test_resizing_equals_the_cpus(mode, extents, options, dtype):
    if dtype in HALVES and options.get("antialias"):
        pytest.skip("PyTorch's CPU kernels refuse it")
    if dtype == torch.bfloat16 and mode == "linear":
        pytest.skip("refused, as the page of aclnnUpsampleLinear1dBackward has it")
    values = torch.rand(2, 3, *extents, dtype=dtype, requires_grad=True)
    same(
        lambda x: F.interpolate(x, scale_factor=1.7, mode=mode, **options),
        values,
        tolerance=HALVES.get(dtype, 1e-5),
    )


def test_a_refused_call_names_the_parameter_and_the_program_goes_on():
    row = torch.rand(1, 1, 8, dtype=torch.bfloat16).npu().requires_grad_()
    out = F.interpolate(row, 5, mode="linear")
    with pytest.raises(RuntimeError, match="gradOut has dtype BF16, but L is 5 and becomes 8"):
        out.sum().backward()
    assert torch.ones(2).npu().exp().sum().item() == pytest.approx(5.436564)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_pictures_of_bytes_are_resized(mode, antialias):
    if antialias and mode.startswith("nearest"):
        pytest.skip("there is no such mode")
    picture = torch.randint(0, 256, (1, 3, 10, 12), dtype=torch.uint8)
    expected = F.interpolate(picture, (7, 31), mode=mode, antialias=antialias)
    with torch.inference_mode():
        first = F.interpolate(picture.npu(), (7, 31), mode=mode, antialias=antialias)
    ours = F.interpolate(picture.npu(), (7, 31), mode=mode, antialias=antialias)
    assert torch.equal(ours.cpu(), expected) and torch.equal(first.cpu(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, *HALVES])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 4, 5, 3)])
def test_affine_grids_equal_the_cpus(size, dtype):
    axes = len(size) - 2
    theta = torch.rand(2, axes, axes + 1, dtype=dtype, requires_grad=True)
    same(
        lambda x: F.affine_grid(x, size, align_corners=False),
        theta,
        tolerance=HALVES.get(dtype, 1e-5),
    )


def test_the_list_says_whose_they_are():
    import portacl_npu

    ours = set(portacl_npu.operators()["portacl"])
    assert {"upsample_bilinear2d", "upsample_bicubic2d_backward", "affine_grid_generator"} <= ours
