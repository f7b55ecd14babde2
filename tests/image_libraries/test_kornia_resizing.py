"""kornia's resizing and pyramids, with PyTorch's kernels and with portacl's."""

import itertools

import kornia.augmentation
import kornia.geometry.transform as geometry
import pytest
import torch
from comparison import BOUND, both, compare

OPERATORS = {
    "nearest": "upsample_nearest2d",
    "nearest-exact": "_upsample_nearest_exact2d",
    "bilinear": "upsample_bilinear2d",
    "bicubic": "upsample_bicubic2d",
}
BILINEAR = both("upsample_bilinear2d")


def image(*shape, dtype=torch.float32, layout=torch.contiguous_format):
    x = torch.rand(*(shape or (2, 3, 61, 83))).to(dtype).contiguous(memory_format=layout)
    return x.requires_grad_()


def resized(size, mode, antialias, dtype, layout):
    x = image(dtype=dtype, layout=layout)
    return geometry.resize(x, size, mode, antialias=antialias), [x]


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize("dtype", list(BOUND), ids=str)
@pytest.mark.parametrize(
    ("size", "mode"),
    itertools.product(
        [(122, 166), (40, 30), (90, 83)], ["nearest", "nearest-exact", "bilinear", "bicubic"]
    ),
)
def test_resize(size, mode, dtype, layout):
    found = compare(resized, size, mode, False, dtype, layout, bound=BOUND[dtype])
    assert found == both(OPERATORS[mode])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_resize_that_smooths_first(mode):
    # By kornia's own Gaussian.
    found = compare(resized, (20, 30), mode, True, torch.float32, torch.contiguous_format)
    assert found == both(OPERATORS[mode])


def of_image(function, *shape):
    def call():
        x = image(*shape)
        return function(x), [x]

    return call


def flat(results):
    return torch.cat([result.flatten() for result in results])


@pytest.mark.parametrize(
    ("name", "function", "operators"),
    [
        ("resize by the long side", lambda x: geometry.resize(x, 50, side="long"), BILINEAR),
        ("align_corners", lambda x: geometry.resize(x, (90, 40), align_corners=True), BILINEAR),
        ("rescale", lambda x: geometry.rescale(x, (1.7, 0.6)), BILINEAR),
        (
            "rescale cubic",
            lambda x: geometry.rescale(x, 2.0, interpolation="bicubic"),
            both("upsample_bicubic2d"),
        ),
        ("pyrdown", geometry.pyrdown, BILINEAR),
        ("pyrdown by 3", lambda x: geometry.pyrdown(x, factor=3.0), BILINEAR),
        ("pyrup", geometry.pyrup, BILINEAR),
        ("pyramid", lambda x: flat(geometry.build_pyramid(x, 3)), BILINEAR),
        (
            "Laplacian pyramid",
            lambda x: flat(geometry.build_laplacian_pyramid(x, 3)),
            BILINEAR,
        ),
        ("divisible", lambda x: geometry.resize_to_be_divisible(x, 16), BILINEAR),
        ("Resize", kornia.augmentation.Resize((33, 44)), BILINEAR),
        (
            "RandomResizedCrop",
            kornia.augmentation.RandomResizedCrop((40, 50), cropping_mode="slice"),
            BILINEAR,
        ),
    ],
)
def test_functions(name, function, operators):
    assert compare(of_image(function)) == operators, name
