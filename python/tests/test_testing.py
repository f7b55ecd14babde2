"""portacl.testing: the generator's bits, golden arrays, verdicts on every kind of array."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import portacl
from child import run_python
from portacl.testing import assert_matches_golden, cases, compare, golden, sample_inputs
from portacl.testing._program import run

SAMPLER = "grid_sampler_2d_backward input=2x3x6x5 grid=2x4x7x2 seed=5"


def deform_conv2d(i, a):
    """By the planes of offsets that the vendor's function has."""
    lists = [list(a[name]) for name in ("kernelSize", "stride", "padding", "dilation")]
    lists[1::2] = lists[1][2:], lists[3][2:]
    rest = (*lists, a["groups"], a["deformableGroups"], 0)
    image, weight = i["input" if "input" in i else "x"], i["weight"]
    if "gradOutput" in i:
        shapes = image.shape, weight.shape, i["offset"].shape, weight.shape[:1]
        results = [np.empty(shape, image.dtype) for shape in shapes]
        read = image, i["gradOutput"], i["offsetOut"], weight, i["offset"], None
        portacl._core.deform_conv2d_backward(*read, *rest, *results, None)
        return tuple(results)
    n, c, oh, ow = *image.shape[:2], *i["offset"].shape[2:]
    kh, kw = weight.shape[2:]
    shapes = (n, weight.shape[0], oh, ow), (n, c, oh * kh, ow * kw)
    results = [np.empty(shape, image.dtype) for shape in shapes]
    read = image, weight, i["offset"], i["biasOptional"], None
    portacl._core.deform_conv2d(*read, *rest, *results)
    return tuple(results)


def own_results(case):
    """The case through the package's functions."""
    sample = sample_inputs(case)
    i, a = sample.inputs, sample.arguments
    scales = [
        a[key] for key in ("scales", "scaleL", "scalesD", "scalesH", "scalesW") if key in a
    ] or None
    words = {"interpolation": "interpolationMode", "padding": "paddingMode"}
    modes = {key: a[name] for key, name in words.items() if name in a}
    if "alignCorners" in a:
        modes["align_corners"] = a["alignCorners"]
    if case.operator in ("grid_sampler_2d", "grid_sampler_3d"):
        return getattr(portacl, case.operator)(i["input"], i["grid"], **modes)
    if case.operator in ("grid_sampler_2d_backward", "grid_sampler_3d_backward"):
        return getattr(portacl, case.operator)(
            i["gradOutput"], i["input"], i["grid"], **modes, output_mask=a["outputMask"]
        )
    if case.operator == "affine_grid":
        return portacl.affine_grid(i["theta"], a["size"], **modes)
    if case.operator == "ms_deform_attn":  # heads and channels are one axis of its result
        joined = portacl.ms_deform_attn(*i.values())
        return joined.reshape(*i["location"].shape[:3], i["value"].shape[3])
    if case.operator.startswith("deformable_offsets"):
        names = ("kernelSize", "stride", "padding", "dilation", "offsetGroups")
        return getattr(portacl, case.operator)(*i.values(), *(a[name] for name in names))
    if case.operator.startswith("deform_conv2d"):
        return deform_conv2d(i, a)
    if case.operator.startswith("roi_align"):
        size = a["inputShape"] if "inputShape" in a else (a["pooledHeight"], a["pooledWidth"])
        numbers = (a["spatialScale"], a["samplingRatio"], a["aligned"])
        return getattr(portacl, case.operator)(*i.values(), size, *numbers)
    if case.operator.startswith("adaptive_avg_pool"):
        size = a["outputSize"] if "outputSize" in a else i.pop("self").shape[2:]
        return getattr(portacl, re.sub("[23]d", "", case.operator))(*i.values(), size=size)
    if not case.operator.startswith("upsample_"):  # a function that is made from the list
        options = {re.sub("(?=[A-Z])", "_", name).lower(): value for name, value in a.items()}
        return getattr(portacl, re.sub("[123]d", "", case.operator))(*i.values(), **options)
    names = ["nearest_exact", "nearest", "cubic", "lanczos"]
    name = "upsample_" + next((made for made in names if made in case.operator), "linear")
    if name == "upsample_lanczos":
        del modes["align_corners"]
    if "_aa" in case.operator:
        modes["antialias"] = True
    (image,) = i.values()
    if "backward" in case.operator:
        return getattr(portacl, name + "_backward")(image, a["inputSize"], scales, **modes)
    return getattr(portacl, name)(image, a["outputSize"], scales, **modes)


CALLS = """
import numpy as np
import portacl

image = np.ones((2, 3, 6, 5), np.float32)
volume = np.ones((1, 2, 4, 6, 5), np.float16)
portacl.grid_sampler_2d_backward(
    np.ones((2, 3, 4, 7), np.float32), image, np.zeros((2, 4, 7, 2), np.float32),
    padding="border", output_mask=(True, False),
)
for _ in range(3):
    portacl.upsample_nearest_exact(image.transpose(0, 1, 3, 2), (10, 9), (2.0, 0))
portacl.grid_sampler_3d(volume, np.zeros((1, 2, 3, 4, 3), np.float16), interpolation="bicubic")
"""


def test_what_a_program_calls_becomes_its_cases(tmp_path):
    path = tmp_path / "calls.log"
    with path.open("w") as log:
        subprocess.run(
            [sys.executable, "-c", CALLS],
            env={**os.environ, "PORTACL_LOG": "calls"},
            stderr=log,
            check=True,
        )
    assert [str(case) for case in cases(path)] == [
        "grid_sampler_2d_backward dtype=float32 input=2x3x6x5 grid=2x4x7x2 paddingMode=border "
        "outputMask=1,0",
        "upsample_nearest_exact2d dtype=float32 self=2x3x5x6 self.strides=90,30,1,5 "
        "outputSize=10,9 scalesH=2",
        "grid_sampler_3d dtype=float16 input=1x2x4x6x5 grid=1x2x3x4x3 interpolationMode=bicubic",
    ]
    for case in cases(path):
        assert_matches_golden(case, own_results(case))


@pytest.mark.parametrize("kind", ["smoke", "boundary"])
def test_inputs_have_the_bits_that_golden_writes(tmp_path, kind):
    chosen = cases(kind, count=300) if kind == "smoke" else cases(kind)[::4]
    (tmp_path / "cases.txt").write_text("".join(f"{case}\n" for case in chosen))
    run("golden", str(tmp_path / "cases.txt"), "-o", str(tmp_path / "want"))
    for case in chosen:
        for name, array in sample_inputs(case).inputs.items():
            want = (tmp_path / "want" / case.name / f"{name}.bin").read_bytes()
            size = array.dtype.itemsize
            got = np.frombuffer(array.tobytes(), f"u{size}")
            wanted = np.frombuffer(want, f"u{size}")
            nan = np.isnan(array.astype(np.float64)).ravel() if array.dtype != np.uint16 else False
            assert np.array_equal(got[~nan], wanted[~nan]), f"{case}: {name}"


def test_own_results_pass_every_standard():
    pytest.importorskip("ml_dtypes")
    for case in cases("smoke", count=66):
        if "exact" not in case.operator and "scale" in str(case):
            continue  # which scales count differs from page to page
        results = own_results(case)
        assert_matches_golden(case, results)
        assert compare(case, results, binary=True)
        assert compare(case, results, ulp=0)
        assert compare(case, results, rtol=0, atol=0)


def test_bytes_have_the_bits_that_golden_writes():
    case = "upsample_nearest2d_v2 dtype=uint8 self=2x3x5x4 out=2x3x10x8 seed=9"
    picture = sample_inputs(case).inputs["self"]
    assert picture.dtype == np.uint8
    assert picture.min() < 20 and picture.max() > 235
    want = golden(case).outputs["out"]
    assert want.golden.dtype == np.uint8
    assert np.array_equal(want.golden, picture.repeat(2, 2).repeat(2, 3))
    assert_matches_golden(case, want.golden)
    wrong = want.golden.copy()
    wrong[1, 2, 3, 4] ^= 1
    assert not compare(case, wrong)
    odd = sample_inputs(f"{case} self.values=uniform:-300:600").inputs["self"]
    assert {0, 255} <= set(odd.ravel().tolist())
    with pytest.raises(ValueError, match="has no dtype uint8; only these have it: upsample_near"):
        sample_inputs("upsample_bilinear2d dtype=uint8 self=2x3x5x4 out=2x3x10x8")


def test_a_wrong_element_is_named():
    want = golden(SAMPLER).outputs
    wrong = {name: output.golden.copy() for name, output in want.items()}
    wrong["gridGrad"][1, 2, 3, 1] += 0.5
    verdict = compare(SAMPLER, wrong)
    assert not verdict
    failed = [output for output in verdict.outputs if not output["passed"]]
    assert [output["parameter"] for output in failed] == ["gridGrad"]
    assert failed[0]["worst"][0]["index"] == [1, 2, 3, 1]
    assert " ULP, allowed 0.0\n" in str(compare(SAMPLER, wrong, ulp=0))
    with pytest.raises(AssertionError, match=r"gridGrad\[1, 2, 3, 1\] is"):
        assert_matches_golden(SAMPLER, wrong)


def test_golden_is_within_its_bound():
    for output in golden(SAMPLER).outputs.values():
        assert np.all(np.abs(output.golden - output.exact) <= output.bound)


def test_float64_arithmetic_passes():
    case = "upsample_nearest_exact2d_backward gradOutput=2x3x12x10 out=2x3x4x5 seed=3"
    g = sample_inputs(case).inputs["gradOutput"].astype(np.float64)
    assert_matches_golden(case, g.reshape(2, 3, 4, 3, 5, 2).sum((3, 5)).astype(np.float32))


@pytest.mark.parametrize("operator", ["grid_sampler_2d_backward", "grid_sampler_3d_backward"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pytorchs_gradients_pass(dtype, operator):
    torch = pytest.importorskip("torch")
    chosen = cases("smoke", count=240, operator=operator, dtype=dtype)
    for case in chosen[:12]:
        sample = sample_inputs(case, kind="torch")
        if "3d" in operator and sample.arguments["interpolationMode"] == "bicubic":
            continue  # PyTorch has none of volumes
        image = sample.inputs["input"].requires_grad_()
        grid = sample.inputs["grid"].requires_grad_()
        out = torch.nn.functional.grid_sample(
            image,
            grid,
            sample.arguments["interpolationMode"],
            sample.arguments["paddingMode"],
            sample.arguments["alignCorners"],
        )
        out.backward(sample.inputs["gradOutput"])
        both = (image.grad, grid.grad)
        wanted = [g if w else None for g, w in zip(both, sample.arguments["outputMask"])]
        assert_matches_golden(case, tuple(wanted))


def test_bfloat16_of_every_library():
    case = "upsample_nearest_exact1d self=1x2x5 out=1x2x10 dtype=bfloat16"
    want = golden(case).outputs["out"].golden
    bits = want.view(np.uint16)
    assert_matches_golden(case, bits)
    for library in ("torch", "jax"):
        pytest.importorskip(library)
        assert_matches_golden(case, golden(case, kind=library).outputs["out"].golden)


def test_strings_may_be_written_in_every_way():
    """As the command line takes them: aclnn names, short dtypes, numbers for modes."""
    case = (
        "aclnnGridSampler2DBackward input=1x2x4x5 grid=1x3x3x2 dtype=bf16 interpolationMode=1 "
        "paddingMode=1 seed=3"
    )
    sample = sample_inputs(case)
    assert sample.case.operator == "grid_sampler_2d_backward"
    assert sample.arguments["interpolationMode"] == "nearest"
    assert sample.arguments["paddingMode"] == "border"
    assert sample.inputs["grid"].shape == (1, 3, 3, 2)
    assert sample.inputs["grid"].dtype.name == "bfloat16"
    outputs = golden(case).outputs
    assert_matches_golden(case, {name: output.golden for name, output in outputs.items()})


def test_what_is_not_right_is_named():
    with pytest.raises(ValueError, match="field colour: grid_sampler_2d_backward has no parameter"):
        golden(f"{SAMPLER} colour=red")
    with pytest.raises(ValueError, match="1 results, but the case has inputGrad, gridGrad"):
        compare(SAMPLER, np.zeros(3))
    with pytest.raises(ValueError, match="out is no output of the case"):
        compare(SAMPLER, {"out": np.zeros(3)})
    with pytest.raises(ValueError, match="gridGrad is missing; the case has inputGrad, gridGrad"):
        compare(SAMPLER, {"inputGrad": np.zeros((2, 3, 6, 5), np.float32)})
    shaped = {"inputGrad": np.zeros((2, 3, 6, 4), np.float32), "gridGrad": np.zeros(2, np.float32)}
    with pytest.raises(ValueError, match=r"^gridGrad has shape \[2\], but"):
        compare(SAMPLER, shaped)
    with pytest.raises(ValueError, match="unknown operator .nothing. .portacl info lists all"):
        sample_inputs("nothing")
    with pytest.raises(ValueError, match="field input is not known: its H follows from inputGrad"):
        sample_inputs("grid_sampler_2d_backward gradOutput=1x1x2x2")
    with pytest.raises(ValueError, match="kind: 'cupy' is not one of numpy, torch, jax"):
        sample_inputs(SAMPLER, kind="cupy")
    with pytest.raises(TypeError, match="not int"):
        golden(3)
    with pytest.raises(ValueError, match="'smok' is neither one of smoke, random, "):
        cases("smok")
    with pytest.raises(ValueError, match=r"nowhere\.json"):
        cases("nowhere.json")


def test_the_example_of_the_guide_is_a_test(tmp_path):
    guide = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "golden.md"
    if not guide.is_file():
        pytest.skip("away from the source tree")
    text = guide.read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    (example,) = [block for block in blocks if "def test_" in block]
    (tmp_path / "test_example.py").write_text(example)
    done = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path)
    assert done.returncode == 0, done.stdout
    assert len(example.strip().splitlines()) <= 12


@pytest.mark.parametrize("kind", ["smoke", "boundary"])
def test_lanczos_passes_on_every_rank(kind):
    ranks = set()
    for backward in ("", "_backward"):
        for case in cases(kind, operator=f"upsample_lanczos{backward}", dtype="float32")[::4]:
            result = own_results(case)
            ranks.add(np.ndim(result))
            assert_matches_golden(case, result)
    assert ranks == {3, 4, 5}
