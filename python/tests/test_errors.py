"""Refusals have the library's text, whoever noticed first: PyTorch, NumPy, the binding, malloc."""

from __future__ import annotations

import numpy as np
import pytest

import portacl

IMAGE = np.ones((1, 1, 4, 4), np.float32)
GRID = np.zeros((1, 2, 2, 2), np.float32)


@pytest.mark.parametrize("threads", [2**31, 2**63, 2**100, -(2**40), 1025, -1])
def test_threads_out_of_range(threads):
    with pytest.raises(ValueError, match=f"threads is {threads}, but must be 0 .* to 1024"):
        portacl.set_num_threads(threads)


@pytest.mark.parametrize("threads", [2.0, "2", None])
def test_threads_of_another_kind(threads):
    with pytest.raises(TypeError, match="threads is .*, but must be an integer"):
        portacl.set_num_threads(threads)


@pytest.mark.parametrize("extent", [2**62, 2**63, 2**64 - 1, 2**100])
def test_extents_out_of_range(extent):
    shape = (1, 1, extent, 4)
    words = "more bytes than 64 bits can count" if extent < 2**63 else "0 to 2..63 - 1"
    with pytest.raises(ValueError, match=words):
        portacl.upsample_nearest_exact_backward(IMAGE, shape)
    with pytest.raises(ValueError, match=words):
        portacl.upsample_nearest_exact(IMAGE, (extent, 4))


@pytest.mark.parametrize("extent", [None, "4", 2.5])
def test_extents_of_another_kind(extent):
    with pytest.raises(TypeError, match="input_size is .*; wanted .* ints"):
        portacl.upsample_nearest_exact_backward(IMAGE, (1, 1, extent, 4))


def test_scales_out_of_range():
    with pytest.raises(ValueError, match="scales"):
        portacl.upsample_nearest_exact(IMAGE, (4, 4), scales=10**400)


@pytest.mark.parametrize("side", [2**21, 2**24])
def test_no_memory_for_the_result(side):
    """17 TB and more: refused by the system whatever it overcommits."""
    with pytest.raises(MemoryError, match=f"no memory for a result of {4 * side * side} bytes"):
        portacl.upsample_nearest_exact(IMAGE, (side, side))


def test_no_memory_for_a_tensor():
    torch = pytest.importorskip("torch")
    with pytest.raises(MemoryError, match="no memory for a result of"):
        portacl.upsample_nearest_exact(torch.ones(1, 1, 4, 4), (2**24, 2**24))


def sparse(torch):
    return [
        torch.ones(1, 1, 4, 4).to_sparse(),
        torch.ones(4, 4).to_sparse_csr(),
    ]


def test_sparse_tensors():
    torch = pytest.importorskip("torch")
    for tensor in sparse(torch):
        with pytest.raises(TypeError, match="input .*sparse.*, but must be .*strided"):
            portacl.upsample_nearest_exact(tensor, (4, 4))
        with pytest.raises(TypeError, match="out .*sparse.*, but must be .*strided"):
            portacl.upsample_nearest_exact(torch.ones(1, 1, 4, 4), (4, 4), out=tensor)


def test_sparse_tensors_of_portacl_torch():
    torch = pytest.importorskip("torch")
    import portacl.torch as pt

    for tensor in sparse(torch):
        with pytest.raises(TypeError, match="input .*sparse.*, but must be .*strided"):
            pt.interpolate_nearest_exact(tensor, size=4)
        with pytest.raises(TypeError, match="input .*sparse.*, but must be .*strided"):
            pt.grid_sample(tensor, torch.zeros(1, 2, 2, 2))


def test_meta_tensors():
    torch = pytest.importorskip("torch")
    meta = torch.ones(1, 1, 4, 4, device="meta")
    with pytest.raises(ValueError, match="input is on meta, but must be in this machine's memory"):
        portacl.upsample_nearest_exact(meta, (4, 4))
    with pytest.raises(ValueError, match="grid is on meta, but must be in this machine's memory"):
        portacl.grid_sampler_2d(torch.ones(1, 1, 4, 4), torch.zeros(1, 2, 2, 2, device="meta"))


class Stubborn:
    """An array of another library that cannot be exported."""

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        raise RuntimeError("I am quantised")


def test_exporters_that_fail():
    with pytest.raises(ValueError, match="input cannot be read as an array: I am quantised") as e:
        portacl.grid_sampler_2d(Stubborn(), GRID)
    assert isinstance(e.value.__cause__, RuntimeError)


def test_names_that_a_module_lacks():
    for name, meant in [
        ("upsample_bilinear", "upsample_linear"),
        ("grid_sample", "grid_sampler_2d"),
    ]:
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean .*{meant}"):
            getattr(portacl, name)
    with pytest.raises(AttributeError, match="no attribute 'quux'$"):
        portacl.quux  # noqa: B018
    assert not hasattr(portacl, "__wrapped__")


def test_names_of_types_and_parameters_are_pythons():
    """The library's own messages speak of DOUBLE and gradOutput."""
    wrong = IMAGE.astype(np.float64)
    with pytest.raises(TypeError) as refused:
        portacl.grid_sampler_2d_backward(IMAGE[..., :2, :2], wrong, GRID)
    assert "grad_output has dtype float32, but input has float64" in str(refused.value)
    with pytest.raises(TypeError, match="out has dtype float64, but must have float32"):
        portacl.upsample_nearest(IMAGE, (2, 2), out=np.empty((1, 1, 2, 2)))
    with pytest.raises(ValueError, match="exact is 'pillow', which is for pictures .* of uint8"):
        portacl.upsample_linear(IMAGE, (2, 2), exact="pillow")


def test_every_function_looks_at_its_result_first():
    boxes, points = np.zeros((2, 5), np.float32), np.zeros((1, 18, 2, 2), np.float32)
    calls = [
        lambda out: portacl.upsample_linear(IMAGE, 2, out=out),
        lambda out: portacl.grid_sampler_2d(IMAGE, GRID, out=out),
        lambda out: portacl.roi_align(IMAGE, boxes[:1], 2, out=out),
        lambda out: portacl.adaptive_avg_pool(IMAGE, size=2, out=out),
        lambda out: portacl.deform_conv2d(IMAGE, points, np.ones((1, 1, 3, 3), "f4"), out=out),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="out has dtype float64, but must have float32"):
            call(np.empty((1, 1, 2, 2)))
        words = r"out(put)? has shape .*, but must (have|be) \[1, 1, 2, 2\]"  # by the library, too
        with pytest.raises(ValueError, match=words):
            call(np.empty((1, 1, 2, 3), np.float32))


def test_sizes_of_pools():
    assert portacl.adaptive_avg_pool(IMAGE, size=2).shape == (1, 1, 2, 2)
    for size in (None, (2,), (2, 2, 2)):
        with pytest.raises(ValueError, match=r"size is \[.*\], but must be \(OH, OW\)"):
            portacl.adaptive_avg_pool(IMAGE, size=size)
    with pytest.raises(TypeError, match="size is .*; wanted a whole number, or one for each axis"):
        portacl.adaptive_avg_pool(IMAGE, size="2")


def test_levels_that_are_no_whole_numbers():
    value, weights = np.zeros((1, 16, 1, 4), "f4"), np.zeros((1, 3, 1, 1, 2), "f4")
    locations = np.zeros((1, 3, 1, 1, 2, 2), "f4")
    for shapes in ([4, 4], [[4.5, 4]], "x", [["4", "4"]]):
        with pytest.raises(TypeError, match="spatial_shapes is .*; wanted height and width of"):
            portacl.ms_deform_attn(value, shapes, [0], locations, weights)
    with pytest.raises(ValueError, match=r"spatial_shapes has shape \[1, 3\], but must be \(L, 2"):
        portacl.ms_deform_attn(value, [[4, 4, 1]], [0], locations, weights)
    with pytest.raises(TypeError, match="level_start_index is .*; wanted whole numbers"):
        portacl.ms_deform_attn(value, [[4, 4]], [0.5], locations, weights)


def test_a_wrong_input_is_not_a_wrong_out():
    """`out` fits a call whose other array does not: the message names that one."""
    weight = np.ones((1, 1, 3, 3), np.float32)
    offset = np.zeros((1, 18, 3, 3), np.float32)  # for a result of 3 x 3, which is one of 2 x 2
    with pytest.raises(ValueError, match="offset has shape .1, 18, 3, 3."):
        portacl.deform_conv2d(IMAGE, offset, weight, out=np.zeros((1, 1, 2, 2), np.float32))
    with pytest.raises(ValueError, match="boxes has shape .5."):
        portacl.roi_align(IMAGE, np.zeros(5, np.float32), 2, out=np.zeros((1, 1, 2, 2), np.float32))
