"""Lanczos, and antialiased resizing of rows and volumes, whether PyTorch has it or not."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import portacl

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812

import portacl.torch as pt  # noqa: E402

has_lanczos = hasattr(torch.ops.aten, "_upsample_lanczos2d_aa")
needs_lanczos = pytest.mark.skipif(not has_lanczos, reason="PyTorch before 2.15 lacks Lanczos")
NAMES = {
    "bilinear": ("linear", "trilinear"),
    "bicubic": ("bicubic", "bicubic"),
    "lanczos": ("lanczos", "lanczos"),
}
"""Of images; of rows and volumes."""
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.fixture(autouse=True)
def _disabled():
    pt.disable()
    yield
    pt.disable()


def images(x, size, mode):
    """PyTorch's result; of types that it lacks, in float32."""
    wide = x if x.dtype in (torch.float32, torch.float64, torch.uint8) else x.float()
    return F.interpolate(wide, size, mode=mode, antialias=True).to(x.dtype)


def volumes(x, size, mode):
    """An image of each slice, then images with H and W as one axis."""
    n, c, d, h, w = x.shape
    planes = images(x.reshape(n, c * d, h, w), size[1:], mode)
    slabs = images(planes.reshape(n, c, d, size[1] * size[2]), (size[0], size[1] * size[2]), mode)
    return slabs.reshape(n, c, *size)


def modes_of_images():
    return [m for m in NAMES if m != "lanczos" or has_lanczos]


# ---- Lanczos ------------------------------------------------------------------------------------


@needs_lanczos
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tables_are_pytorchs(dtype):
    """PyTorch takes the sine of the C library; its last bits depend on the CPU."""
    equal = differing = 0
    for size, extent in itertools.product(range(1, 65, 3), range(1, 65, 2)):
        eye = torch.eye(size, dtype=dtype)[:, None, None, :]
        want = images(eye, (1, extent), "lanczos")
        got = pt.interpolate(eye, (1, extent), mode="lanczos")
        assert (got - want).abs().max() <= 2.5 * torch.finfo(dtype).eps, (size, extent)
        equal += (got == want).sum().item()
        differing += (got != want).sum().item()
        row = pt.interpolate(eye[:, :, 0], extent, mode="lanczos")
        assert torch.equal(row[:, :, None], got)
    if dtype == torch.float64:
        assert differing < 0.005 * equal, (differing, equal)


@needs_lanczos
@pytest.mark.parametrize("dtype", DTYPES)
def test_lanczos_is_pytorchs(rng, dtype):
    sizes = rng.integers(1, 65, (20, 4)).tolist()
    for i, (h, w, oh, ow) in enumerate(sizes):
        ow += ow == 1  # of one column PyTorch gives every row the first one's values
        x = torch.from_numpy(rng.standard_normal((2, 1 + i % 5, h, w))).to(dtype)
        grad = torch.from_numpy(rng.standard_normal((2, 1 + i % 5, oh, ow))).to(dtype)
        for memory_format in (torch.contiguous_format, torch.channels_last):
            leaf = x.contiguous(memory_format=memory_format).requires_grad_()
            exact = leaf.detach().double().requires_grad_()
            got = pt.interpolate(leaf, (oh, ow), mode="lanczos", antialias=True)
            want = F.interpolate(exact, (oh, ow), mode="lanczos", antialias=True)
            pull, wanted = (
                torch.autograd.grad(y, source, grad.to(y.dtype))[0]
                for y, source in ((got, leaf), (want, exact))
            )
            assert got.dtype == dtype and pull.dtype == dtype
            for ours, theirs in ((got, want), (pull, wanted)):
                allowed = 32 * max(1.0, theirs.abs().max().item())
                assert (ours.double() - theirs).abs().max() <= allowed * torch.finfo(dtype).eps


@pytest.mark.parametrize("shape", [(2, 1, 5), (1, 2, 4, 3), (1, 1, 3, 4, 2)])
def test_lanczos_has_derivatives_of_every_order(shape):
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    size = [3 + 2 * i for i in range(len(shape) - 2)]
    resize = lambda x: pt.interpolate(x, size, mode="lanczos")  # noqa: E731
    assert torch.autograd.gradcheck(resize, x)
    assert torch.autograd.gradcheck(resize, x, check_forward_ad=True, check_backward_ad=False)
    assert torch.autograd.gradgradcheck(resize, x)


def test_lanczos_of_arrays_is_the_tensors(rng):
    for axes in (1, 2, 3):
        shape, size = (2, 3, *(9, 6, 5)[:axes]), (4, 8, 7)[:axes]
        x = rng.standard_normal(shape).astype(np.float32)
        y = portacl.upsample_lanczos(x, size)
        leaf = torch.from_numpy(x).requires_grad_()
        result = pt.interpolate(leaf, size, mode="lanczos")
        result.backward(result.detach())
        assert np.array_equal(result.detach().numpy(), y)
        assert np.array_equal(portacl.upsample_lanczos_backward(y, shape), leaf.grad.numpy())


def test_lanczos_has_no_corners():
    x = torch.ones(1, 1, 4, 4)
    with pytest.raises(ValueError, match="mode 'lanczos' has no align_corners"):
        pt.interpolate(x, (2, 2), mode="lanczos", align_corners=True)
    with pytest.raises(
        ValueError, match="align_corners is true, but must be false: Lanczos has no"
    ):
        torch.ops.portacl.upsample_lanczos(x, (2, 2), None, True, True)


@needs_lanczos
def test_enable_has_lanczos_in_16_bits():
    x = torch.randn(1, 2, 9, 8)
    for dtype in (torch.float16, torch.bfloat16):
        half = x.to(dtype)
        with pytest.raises(NotImplementedError):
            F.interpolate(half, (4, 5), mode="lanczos", antialias=True)
        with pt.accelerated(forward=True):
            got = F.interpolate(half, (4, 5), mode="lanczos", antialias=True)
        assert torch.equal(got, pt.interpolate(half, (4, 5), mode="lanczos"))


# ---- rows and volumes ---------------------------------------------------------------------------


@pytest.mark.parametrize("mode", modes_of_images())
@pytest.mark.parametrize("dtype", [*DTYPES, torch.uint8])
def test_volumes_are_images_axis_by_axis(rng, mode, dtype):
    for size in ((4, 3, 5), (12, 7, 3), (9, 10, 8)):
        x = (
            torch.from_numpy(rng.standard_normal((2, 3, 9, 7, 8)) * 60 + 128)
            .clamp(0, 255)
            .to(dtype)
        )
        for memory_format in (torch.contiguous_format, torch.channels_last_3d):
            volume = x.contiguous(memory_format=memory_format)
            got = pt.interpolate(volume, size, mode=NAMES[mode][1], antialias=True)
            # Between the axes of 16-bit types portacl has float32.
            exact = dtype == torch.uint8
            want = volumes(x if exact else x.double(), size, mode).double()
            limit = 0 if exact else 20 * 255 * torch.finfo(dtype).eps
            assert (got.double() - want).abs().max() <= limit


@pytest.mark.parametrize("name", ["linear", "bicubic", "lanczos"])
def test_volumes_of_one_slice_are_images_and_rows(rng, name):
    x = torch.from_numpy(rng.standard_normal((2, 3, 1, 9, 7))).float()
    of_volumes, of_images = {"linear": ("trilinear", "bilinear")}.get(name, (name, name))
    volume = pt.interpolate(x, (1, 4, 13), mode=of_volumes, antialias=True)
    image = pt.interpolate(x[:, :, 0], (4, 13), mode=of_images, antialias=True)
    assert torch.equal(volume[:, :, 0], image)
    row = pt.interpolate(x[:, :, 0, 0], 13, mode=name, antialias=True)
    line = pt.interpolate(x[:, :, 0, :1], (1, 13), mode=of_images, antialias=True)
    assert torch.equal(row, line[:, :, 0])


@pytest.mark.parametrize("name", ["trilinear", "bicubic", "lanczos"])
def test_gradients_of_volumes(name):
    x = torch.randn(1, 2, 4, 3, 5, dtype=torch.float64, requires_grad=True)
    resize = lambda x: pt.interpolate(x, (2, 5, 3), mode=name, antialias=True)  # noqa: E731
    assert torch.autograd.gradcheck(resize, x)
    assert torch.autograd.gradgradcheck(resize, x)


@pytest.mark.parametrize("name", ["linear", "trilinear", "bicubic", "lanczos"])
def test_enable_takes_rows_and_volumes(name):
    stock = F.interpolate
    x = torch.randn(1, 2, 9) if name == "linear" else torch.randn(1, 2, 6, 5, 4)
    resize = torch.nn.Upsample(scale_factor=0.5, mode=name)
    call = lambda x: F.interpolate(x, scale_factor=0.5, mode=name, antialias=True)  # noqa: E731
    with pytest.raises((ValueError, NotImplementedError)):
        call(x)
    pt.enable()
    with pytest.raises((ValueError, NotImplementedError)):
        call(x)
    pt.enable(volumes_aa=True)
    leaf = x.clone().requires_grad_()
    got = call(leaf)
    got.sum().backward()
    assert torch.equal(got, pt.interpolate(x, scale_factor=0.5, mode=name, antialias=True))
    assert leaf.grad.shape == x.shape
    if name.endswith("linear"):
        assert torch.equal(resize(x), stock(x, scale_factor=0.5, mode=name))
    pt.enable(volumes_aa=True)
    pt.disable()
    assert F.interpolate is stock


def test_enabled_volumes_leave_the_rest_to_pytorch():
    stock = F.interpolate
    image = torch.randn(1, 2, 6, 5)
    want = F.interpolate(image, (3, 4), mode="bilinear", antialias=True)
    pt.enable(volumes_aa=True)
    taken = F.interpolate
    got = F.interpolate(image, (3, 4), mode="bilinear", antialias=True)
    torch.testing.assert_close(got, want)
    with pytest.raises(ValueError, match="restricted to bilinear"):
        F.interpolate(torch.randn(1, 1, 3, 3, 3), 2, mode="nearest", antialias=True)
    pt.enable()
    assert F.interpolate is stock
    with pytest.raises(ValueError, match="restricted to bilinear"):  # who kept the function
        taken(torch.randn(1, 1, 3, 3, 3), 2, mode="trilinear", antialias=True)


def test_a_wrapper_of_another_library_stays():
    stock = F.interpolate
    volume = torch.randn(1, 1, 4, 4, 4)
    calls = []
    resize = lambda: F.interpolate(volume, 2, mode="trilinear", antialias=True)  # noqa: E731
    try:
        pt.enable(volumes_aa=True)
        inner = F.interpolate

        @functools.wraps(inner)
        def other(*arguments, **named):
            calls.append(arguments)
            return inner(*arguments, **named)

        F.interpolate = other
        resize()
        pt.disable()
        assert F.interpolate is other
        with pytest.raises(ValueError, match="restricted to bilinear"):
            resize()
        pt.enable(volumes_aa=True)
        assert F.interpolate is other
        resize()
        assert len(calls) == 3
    finally:
        pt.disable()
        F.interpolate = stock
