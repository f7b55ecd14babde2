"""Warps, augmentations and registration of kornia, with PyTorch's kernels and with portacl's."""

import itertools

import kornia.augmentation
import kornia.geometry
import kornia.geometry.transform as geometry
import pytest
import torch
from comparison import BOUND, compare

import portacl.torch


def image(*shape):
    return torch.rand(*(shape or (2, 3, 61, 83)), requires_grad=True)


def near_identity(rows, columns, spread):
    return (torch.eye(rows, columns) + spread * torch.randn(2, rows, columns)).requires_grad_()


def affine(mode, padding, dtype):
    x, matrix = image(), near_identity(2, 3, 0.1)
    warped = geometry.warp_affine(
        x.to(dtype), matrix.to(dtype), (50, 70), mode=mode, padding_mode=padding
    )
    return warped, [x] if mode == "nearest" else [x, matrix]  # which has no gradient but 0


def perspective():
    x, matrix = image(), near_identity(3, 3, 1e-3)
    return geometry.warp_perspective(x, matrix, (40, 44)), [x, matrix]


def rotation():
    x, angle = image(), torch.tensor([10.0, -33.0], requires_grad=True)
    return geometry.rotate(x, angle), [x, angle]


def elastic():
    x, noise = image(), image(2, 2, 61, 83)
    return geometry.elastic_transform2d(x, noise), [x, noise]


def crop():
    x, boxes = image(), torch.tensor([[[1.0, 1], [50, 2], [52, 40], [3, 44]]] * 2)
    boxes.requires_grad_()
    return geometry.crop_and_resize(x, boxes, (20, 30)), [x, boxes]


def nearest_exact():
    x = image()
    return geometry.resize(x, (122, 40), interpolation="nearest-exact"), [x]


def remapped():
    x = image()
    column, row = (torch.rand(2, 61, 83) * 70).requires_grad_(), torch.rand(2, 61, 83) * 60
    return geometry.remap(x, column, row, align_corners=True), [x, column]


def volume():
    x = image(2, 2, 9, 20, 22)
    matrix = near_identity(3, 4, 0.05)
    return geometry.warp_affine3d(x, matrix, (8, 18, 20)), [x, matrix]


def thin_plate_spline():
    x, points = image(), torch.rand(2, 5, 2)
    kernel, linear = geometry.get_tps_transform(points, points + 0.1 * torch.rand(2, 5, 2))
    kernel = kernel.detach().requires_grad_()
    return geometry.warp_image_tps(x, points, kernel, linear), [x, kernel]


@pytest.mark.parametrize("dtype", list(BOUND), ids=str)
@pytest.mark.parametrize(
    ("mode", "padding"),
    itertools.product(["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"]),
)
def test_affine_warps(mode, padding, dtype):
    compare(affine, mode, padding, dtype, bound=BOUND[dtype])


@pytest.mark.parametrize(
    "function",
    [
        perspective,
        rotation,
        elastic,
        crop,
        nearest_exact,
        remapped,
        volume,
        thin_plate_spline,
    ],
)
def test_warps(function):
    compare(function)


@pytest.mark.parametrize(
    "name",
    ["RandomAffine", "RandomElasticTransform", "RandomPerspective", "RandomThinPlateSpline"],
)
def test_augmentations(name):
    options = {"degrees": 30.0} if name == "RandomAffine" else {}

    def augmented():
        x = image()
        return getattr(kornia.augmentation, name)(p=1.0, **options)(x), [x]

    compare(augmented)


def test_registration_finds_the_same_homography():
    torch.manual_seed(2)
    smooth = torch.nn.functional.interpolate(torch.rand(1, 1, 8, 8), (96, 96), mode="bicubic")
    angle = torch.tensor([5.0])
    turned = geometry.rotate(smooth, angle)

    def found():
        torch.manual_seed(3)
        registrator = kornia.geometry.ImageRegistrator(
            "similarity", lr=1e-2, num_iterations=40, pyramid_levels=2
        )
        return registrator.register(turned, smooth).detach()

    want = found()
    with portacl.torch.accelerated(forward=True):
        got = found()
        assert torch.equal(got, found()), "the same bits in each run"
    assert (want - torch.eye(3)).abs().max() > 0.01, "it has moved"
    assert (got - want).abs().max() < 1e-3


def test_a_nan_in_the_matrix_is_an_answer_not_a_crash():
    x = image()
    matrix = torch.eye(2, 3).repeat(2, 1, 1)
    matrix[1, 0, 0] = float("nan")
    matrix.requires_grad_()
    with portacl.torch.accelerated(forward=True):
        warped = geometry.warp_affine(x, matrix, (50, 70), padding_mode="border")
        warped.sum().backward()
    assert x.grad[0].isfinite().all()
    assert matrix.grad[0].isfinite().all()
    assert matrix.grad[1].isnan().any()
