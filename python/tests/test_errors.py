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
