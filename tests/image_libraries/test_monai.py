"""MONAI's resizing of volumes and images, with PyTorch's kernels and with portacl's."""

import monai.networks.blocks as blocks
import monai.networks.layers as layers
import monai.transforms as transforms
import pytest
import torch
from comparison import both, compare

VOLUME = (2, 24, 26, 28)  # of two channels
LINEAR, NEAREST = both("upsample_trilinear3d"), both("upsample_nearest3d")
SAMPLED = {"affine_grid_generator", *both("grid_sampler_3d")}
MODES = {
    "trilinear": LINEAR,
    "nearest": NEAREST,
    "nearest-exact": both("_upsample_nearest_exact3d"),
}


def resampled(function, shape=VOLUME):
    def call():
        x = torch.rand(shape, requires_grad=True)
        result = function(x)
        return torch.Tensor.as_subclass(result, torch.Tensor), [x]

    return call


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("size", [(30, 20, 40), (48, 52, 56), (12, 13, 14)])
def test_resize(size, mode):
    assert compare(resampled(transforms.Resize(size, mode=mode))) == MODES[mode]


@pytest.mark.parametrize(
    ("mode", "operators"),
    [("bilinear", both("upsample_bilinear2d")), ("bicubic", both("upsample_bicubic2d"))],
)
def test_resize_of_images(mode, operators):
    resize = transforms.Resize((50, 31), mode=mode)
    assert compare(resampled(resize, (3, 40, 44))) == operators


@pytest.mark.parametrize("mode", list(MODES))
def test_zoom(mode):
    for zoom in (1.3, 0.7, (1.2, 0.8, 1.0)):
        assert compare(resampled(transforms.Zoom(zoom, mode=mode))) == MODES[mode]


def random(name, *arguments, **options):
    """A transform that draws the same numbers in every call."""

    def call(x):
        made = getattr(transforms, name)(*arguments, **options)
        return made.set_random_state(7)(x)

    return call


def test_random_zoom():
    zoom = random("RandZoom", prob=1.0, min_zoom=0.6, max_zoom=0.8, mode="trilinear")
    assert compare(resampled(zoom)) == LINEAR


def test_low_resolution():
    lower = random(
        "RandSimulateLowResolution", 1.0, downsample_mode="nearest", upsample_mode="trilinear"
    )
    assert compare(resampled(lower)) == LINEAR | NEAREST


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_spacing(mode):
    spacing = transforms.Spacing((1.5, 0.7, 1.2), mode=mode, dtype=torch.float32)
    assert compare(resampled(spacing)) == SAMPLED


def test_rotation():
    assert compare(resampled(transforms.Rotate((0.1, 0.2, 0.3)))) == SAMPLED


def test_a_transform_by_a_matrix_that_is_learnt():
    def call():
        x = torch.rand(1, *VOLUME, requires_grad=True)
        matrix = (torch.eye(4)[None] * 0.9).requires_grad_()
        return layers.AffineTransform((20, 21, 22))(x, matrix), [x, matrix]

    assert compare(call) >= SAMPLED


@pytest.mark.parametrize(
    ("dimensions", "mode", "corners", "operators"),
    [
        (1, "linear", True, both("upsample_linear1d")),
        (2, "bilinear", True, both("upsample_bilinear2d")),
        (2, "bicubic", False, both("upsample_bicubic2d")),
        (3, "trilinear", True, LINEAR),
        (3, "nearest", None, NEAREST),
    ],
)
def test_upsampling_in_a_network(dimensions, mode, corners, operators):
    block = blocks.UpSample(
        dimensions, 4, 2, mode="nontrainable", interp_mode=mode, align_corners=corners
    )

    def call():
        x = torch.rand(2, 4, *(12, 13, 14)[:dimensions], requires_grad=True)
        return block(x), [x, *block.parameters()]

    assert compare(call) == operators
