"""Resizing in uint8: the bits of PyTorch's and of Pillow's own kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import portacl
from kernels import kernel, kernels

torch = pytest.importorskip("torch")
pt = pytest.importorskip("portacl.torch")
F = torch.nn.functional

PHOTOGRAPHS = Path(__file__).parents[2] / "tools/data"
FILTERS = [
    ("bilinear", True, False),
    ("bicubic", True, False),
    ("bilinear", False, False),
    ("bicubic", False, False),
    ("bilinear", False, True),
    ("bicubic", False, True),
    ("bicubic", True, True),
    ("lanczos", True, False),
]
"""Mode, antialias, align_corners."""

needs_bits = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 15),
    reason="older releases of PyTorch have other bits",
)


def noise(rng, *shape):
    """A picture of every value."""
    return torch.from_numpy(rng.integers(0, 256, shape, dtype=np.uint8))


def torchs(picture, size, mode, antialias, align_corners):
    """PyTorch's result, by single channels where its kernel for three fails an assertion."""
    resize = lambda x: F.interpolate(  # noqa: E731
        x, size, mode=mode, antialias=antialias, align_corners=align_corners
    )
    if picture.shape[1] != 3 or tuple(size) != (1, 1):
        return resize(picture)
    return torch.cat([resize(picture[:, c : c + 1].contiguous()) for c in range(3)], 1)


def both_layouts(picture):
    """Row-major, then channels_last."""
    return picture, picture.contiguous(memory_format=torch.channels_last)


@needs_bits
@pytest.mark.parametrize(("mode", "antialias", "align_corners"), FILTERS)
def test_bits_are_pytorchs(rng, mode, antialias, align_corners):
    sizes = [(int(a), int(b)) for a, b in rng.integers(1, 65, (24, 2))]
    sizes += [(1, 1), (64, 64), (1, 64), (16, 17), (33, 1)]
    for i, ((h, w), size) in enumerate(zip(sizes, sizes[::-1] + sizes[:1])):
        for picture in both_layouts(noise(rng, 1 + i % 2, 1 + i % 5, h, w)):
            want = torchs(picture, size, mode, antialias, align_corners)
            for name in kernels():
                with kernel(name):
                    got = pt.interpolate(
                        picture, size, mode=mode, antialias=antialias, align_corners=align_corners
                    )
                assert torch.equal(got, want), (name, picture.shape, size)


@needs_bits
@pytest.mark.parametrize("scale", [1.3, 0.37, (2.0, 0.5)])
@pytest.mark.parametrize(("mode", "antialias", "align_corners"), [*FILTERS[:4], FILTERS[-1]])
def test_scale_factors_count_as_in_pytorch(rng, mode, antialias, align_corners, scale):
    for picture in both_layouts(noise(rng, 1, 3, 37, 53)):
        options = {"scale_factor": scale, "mode": mode, "antialias": antialias}
        want = F.interpolate(picture, **options)
        assert torch.equal(pt.interpolate(picture, **options), want)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_copies(rng, mode):
    for shape, size in [((3, 40, 50), (13, 90)), ((5, 64, 9), (64, 9)), ((4, 7, 130), (19, 33))]:
        for picture in both_layouts(noise(rng, 2, *shape)):
            want = F.interpolate(picture.float(), size, mode=mode)
            for name in kernels():
                with kernel(name):
                    got = pt.interpolate(picture, size, mode=mode)
                assert torch.equal(got.float(), want)
                assert got.stride() == want.stride() or got.shape[1] == 1


@needs_bits
@pytest.mark.parametrize(("mode", "antialias", "align_corners"), FILTERS)
def test_rows_and_volumes_are_pictures_axis_by_axis(rng, mode, antialias, align_corners):
    options = {"antialias": antialias, "align_corners": align_corners}
    x = noise(rng, 2, 3, 9, 20, 31)
    planes = torchs(x.reshape(2, 27, 20, 31), (11, 17), mode, **options).reshape(2, 3, 9, 11, 17)
    slabs = planes.reshape(2, 3, 9, 11 * 17)
    want = torchs(slabs, (14, 11 * 17), mode, **options).reshape(2, 3, 14, 11, 17)
    volumes = "trilinear" if mode == "bilinear" else mode
    assert torch.equal(pt.interpolate(x, (14, 11, 17), mode=volumes, **options), want)
    line = x[:, :, 0, 0]
    want = torchs(line[:, :, None], (1, 50), mode, **options)[:, :, 0]
    vectors = "linear" if mode == "bilinear" else mode
    assert torch.equal(pt.interpolate(line, 50, mode=vectors, **options), want)


@needs_bits
def test_enable_takes_pictures(rng):
    for picture in both_layouts(noise(rng, 1, 3, 60, 80)):
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "lanczos"):
            options = {"mode": mode, "antialias": mode == "lanczos"}
            want = F.interpolate(picture, (23, 41), **options)
            with pt.accelerated(forward=True):
                with pt.profile() as report:
                    got = F.interpolate(picture, (23, 41), **options)
                assert (report.calls, report.taken) == (1, 1)
            assert torch.equal(got, want) and got.stride() == want.stride()
    with pt.accelerated(forward=True):  # PyTorch fails an assertion of its own
        assert F.interpolate(picture.contiguous(), (1, 1), mode="bilinear").shape == (1, 3, 1, 1)
        assert F.interpolate(picture[:, :, 0], 30, mode="linear").dtype == torch.uint8


@needs_bits
def test_torchvision_resizes_with_it(rng):
    transforms = pytest.importorskip("torchvision.transforms.v2")
    for picture in both_layouts(noise(rng, 1, 3, 120, 90)):
        for antialias in (True, False):
            resize = transforms.Resize((37, 41), antialias=antialias)
            want = resize(picture)
            with pt.accelerated(forward=True):
                assert torch.equal(resize(picture), want)


class Pictures(torch.utils.data.Dataset):
    """Pictures that a worker resizes."""

    def __len__(self):
        """How many."""
        return 4

    def __getitem__(self, index):
        """One of them, small."""
        picture = torch.arange(3 * 40 * 50, dtype=torch.int64).add(index).remainder(251)
        picture = picture.to(torch.uint8).reshape(1, 3, 40, 50)
        return F.interpolate(picture, (17, 19), mode="bilinear", antialias=True)[0]


@needs_bits
def test_workers_of_a_loader_resize_with_it():
    pictures = Pictures()
    want = [pictures[i] for i in range(len(pictures))]
    try:
        pt.enable(forward=True)
        F.interpolate(torch.zeros(1, 3, 9, 9, dtype=torch.uint8), (4, 4), mode="bilinear")
        loader = torch.utils.data.DataLoader(
            pictures, num_workers=1, multiprocessing_context="fork"
        )
        for got, one in zip(loader, want):
            assert torch.equal(got[0], one)
    finally:
        pt.disable()


# ---- Pillow --------------------------------------------------------------------------------------


FUNCTIONS = {
    "bilinear": portacl.upsample_linear,
    "bicubic": portacl.upsample_cubic,
    "lanczos": portacl.upsample_lanczos,
}


def pillow():
    """The module, its release and its filters by our names."""
    image = pytest.importorskip("PIL.Image")
    release = int(pytest.importorskip("PIL").__version__.split(".")[0])
    exact = "pillow" if release >= 13 else "pillow<13"
    filters = {name: image.Resampling[name.upper()] for name in FUNCTIONS}
    return image, exact, filters


def pictures_of(rng):
    """Photographs, and noise of sizes that decide the order of the axes."""
    image, _, _ = pillow()
    for name in ("astronaut", "chelsea", "coffee"):
        yield np.asarray(image.open(PHOTOGRAPHS / f"{name}.png").convert("RGB")), (224, 224)
        yield np.asarray(image.open(PHOTOGRAPHS / f"{name}.png").convert("L")), (97, 401)
    for _ in range(60):
        h, w, oh, ow = (int(v) for v in rng.integers(1, 70, 4))
        yield rng.integers(0, 256, (h, w), dtype=np.uint8), (oh, ow)


@pytest.mark.parametrize("mode", FUNCTIONS)
def test_bits_are_pillows(rng, mode):
    image, exact, filters = pillow()
    function = FUNCTIONS[mode]
    for pixels, (h, w) in pictures_of(rng):
        want = np.asarray(image.fromarray(pixels).resize((w, h), filters[mode]))
        planes = np.atleast_3d(pixels).transpose(2, 0, 1)[None]  # a view: channels last
        planes_want = np.atleast_3d(want).transpose(2, 0, 1)[None]
        for name in kernels():
            with kernel(name):
                got = function(planes, (h, w), exact=exact)
                assert np.array_equal(got, planes_want), (name, pixels.shape, (h, w))
        tensor = torch.from_numpy(np.array(planes, order="C"))
        got = pt.interpolate(tensor, (h, w), mode=mode, exact=exact)
        assert np.array_equal(got.numpy(), planes_want)


@pytest.mark.parametrize("mode", ["bicubic", "lanczos"])
def test_releases_of_pillow_differ_in_the_order_of_axes(rng, mode):
    picture = rng.integers(0, 256, (1, 1, 60, 20), dtype=np.uint8)
    old, new = (FUNCTIONS[mode](picture, (20, 19), exact=e) for e in ("pillow<13", "pillow"))
    assert not np.array_equal(old, new)  # H has more to leave out
    turned = picture.swapaxes(2, 3)
    old, new = (FUNCTIONS[mode](turned, (19, 20), exact=e) for e in ("pillow<13", "pillow"))
    assert np.array_equal(old, new)


@pytest.mark.parametrize("mode", FUNCTIONS)
def test_older_releases_of_pillow_take_w_first(rng, mode):
    image, exact, filters = pillow()
    picture = rng.integers(0, 256, (1, 1, 60, 20), dtype=np.uint8)
    # One axis at a time has one order in every release.
    rows = image.fromarray(picture[0, 0]).resize((19, 60), filters[mode])
    want = np.asarray(rows.resize((19, 20), filters[mode]))
    assert np.array_equal(FUNCTIONS[mode](picture, (20, 19), exact="pillow<13")[0, 0], want)


def test_what_pillow_has_not_is_refused(rng):
    picture = rng.integers(0, 256, (1, 1, 6, 6), dtype=np.uint8)
    for wrong, text in [
        (
            {"input": picture.astype(np.float32)},
            "for pictures .* of uint8, but input has .*float32",
        ),
        ({"input": picture[:, :, 0]}, r"of uint8, but input has shape \[1, 1, 6\]"),
        ({"input": picture, "align_corners": True}, "align_corners is True, but must be False"),
    ]:
        with pytest.raises(ValueError, match=text):
            portacl.upsample_linear(output_size=4, exact="pillow", **wrong)
    with pytest.raises(ValueError, match="exact is 'pillow<13', which is for pictures"):
        portacl.upsample_lanczos(picture[:, :, 0], 4, exact="pillow<13")
    with pytest.raises(ValueError, match="exact is 'opencv', but must be one of 'pytorch', "):
        portacl.upsample_linear(picture, 4, exact="opencv")
    with pytest.raises(ValueError, match="goes with size, not with scale_factor"):
        pt.interpolate(torch.from_numpy(picture), scale_factor=2, mode="bilinear", exact="pillow")
    with pytest.raises(TypeError, match="must be float16, bfloat16, float32 or float64"):
        portacl.upsample_linear_backward(picture, (1, 1, 4, 4))
