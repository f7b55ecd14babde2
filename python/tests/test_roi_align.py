"""RoiAlign: arrays, autograd, and portacl behind torchvision's operator."""

import subprocess
import sys

import numpy as np
import pytest

import portacl

torch = pytest.importorskip("torch")
import portacl.torch  # noqa: E402

BOXES = [[0, 1.5, 2, 9.25, 13], [1, -3, -2, 30, 40], [1, 4, 4.5, 4, 4.5], [0, 8, 12.5, 2, 1.5]]


def _case(dtype=np.float32):
    random = np.random.default_rng(71)
    return random.standard_normal((2, 5, 12, 9)).astype(dtype), np.array(BOXES, dtype)


@pytest.mark.parametrize("ratio", [-1, 2])
@pytest.mark.parametrize("aligned", [False, True])
def test_gradients_are_transposes(ratio, aligned):
    images, boxes = _case(np.float64)
    pooled = portacl.roi_align(images, boxes, (3, 2), 0.5, ratio, aligned)
    gradient = portacl.roi_align_backward(pooled, boxes, images.shape, 0.5, ratio, aligned)
    assert pooled.shape == (4, 5, 3, 2)
    np.testing.assert_allclose((pooled * pooled).sum(), (gradient * images).sum(), rtol=1e-12)
    turned = np.concatenate([boxes, np.full((4, 1), 0.4)], 1)
    pooled = portacl.roi_align_rotated(images, turned, 3, 0.5, ratio, aligned)
    gradient = portacl.roi_align_rotated_backward(pooled, turned, images.shape, 0.5, ratio, aligned)
    np.testing.assert_allclose((pooled * pooled).sum(), (gradient * images).sum(), rtol=1e-12)


def test_a_maximum_and_its_gradient():
    images, boxes = _case(np.float64)
    options = {"sampling_ratio": 2, "mode": "max"}
    pooled = portacl.roi_align(images, boxes, 3, **options)
    gradient = portacl.roi_align_backward(pooled, boxes, images.shape, input=images, **options)
    assert (pooled >= portacl.roi_align(images, boxes, 3, sampling_ratio=2) - 1e-12).all()
    np.testing.assert_allclose((pooled * pooled).sum(), (gradient * images).sum(), rtol=1e-12)
    with pytest.raises(ValueError, match="input is None, but the gradient of mode 'max'"):
        portacl.roi_align_backward(pooled, boxes, images.shape, **options)


def test_a_size_is_a_number_of_any_library():
    images, boxes = _case()
    one, own = (portacl.roi_align(images, boxes, size) for size in (3, np.int64(3)))
    assert one.shape == own.shape and (one == own).all()


def test_refusals_name_what_is_wrong():
    images, boxes = _case()
    boxes[2, 0] = 2
    with pytest.raises(ValueError, match=r"boxes gives roi 2 image 2, wanted one in \[0, 2\)"):
        portacl.roi_align(images, boxes, 3)
    with pytest.raises(ValueError, match="output_size is .*, but must have 2 values"):
        portacl.roi_align(images, boxes, (3, 3, 3))
    with pytest.raises(ValueError, match="boxes has shape"):
        portacl.roi_align(images, boxes[:, :4], 3)


@pytest.mark.parametrize("name", ["roi_align", "roi_align_rotated"])
def test_derivatives_of_any_order(name):
    images, boxes = (torch.from_numpy(a) for a in _case(np.float64))
    rest = (0.5, 3, 2, 2, True)
    if name == "roi_align_rotated":
        boxes, rest = torch.cat([boxes, torch.full((4, 1), 0.4).double()], 1), (*rest, False)
    function = getattr(torch.ops.portacl, name)
    images.requires_grad_()
    torch.library.opcheck(function.default, (images, boxes, *rest))
    small = images.detach()[:, :1].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: function(x, boxes, *rest), small)
    assert torch.autograd.gradgradcheck(lambda x: function(x, boxes, *rest), small)


def test_autocast_computes_in_float32():
    images, boxes = (torch.from_numpy(a) for a in _case())
    with torch.autocast("cpu", torch.bfloat16):
        pooled = torch.ops.portacl.roi_align(images.bfloat16(), boxes, 1.0, 3, 3, 2, True)
    assert pooled.dtype == torch.float32


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="PyTorch keeps its kernels")
class TestTorchvision:
    @pytest.fixture(autouse=True)
    def _torchvision(self):
        self.ops = pytest.importorskip("torchvision").ops
        yield
        portacl.torch.disable()

    def _run(self, dtype, layout=torch.contiguous_format):
        images, boxes = (torch.from_numpy(a).to(dtype) for a in _case())
        images = images.to(memory_format=layout).requires_grad_()
        pooled = self.ops.roi_align(images, boxes, (3, 2), 0.5, 2, True)
        (gradient,) = torch.autograd.grad(pooled.square().sum(), images)
        return pooled.detach(), gradient

    @pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_gives_torchvisions_numbers(self, dtype, layout):
        wanted = self._run(dtype, layout)
        portacl.torch.enable()
        found = self._run(dtype, layout)
        for one, other in zip(wanted, found):
            assert one.shape == other.shape and one.dtype == other.dtype
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
        pooled = torch.ops.portacl.roi_align(*self._arguments(dtype, layout))
        assert torch.equal(pooled, found[0])  # portacl's bits

    def _arguments(self, dtype, layout=torch.contiguous_format):
        images, boxes = (torch.from_numpy(a).to(dtype) for a in _case())
        return images.to(memory_format=layout), boxes, 0.5, 3, 2, 2, True

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_sixteen_bits_are_rounded_once(self, dtype):
        portacl.torch.enable()
        pooled, gradient = self._run(dtype)
        images, boxes, *rest = self._arguments(dtype)
        wide = torch.ops.portacl.roi_align(images.float(), boxes.float(), *rest)
        assert torch.equal(pooled, wide.to(dtype))
        assert gradient.dtype == dtype and gradient.abs().sum() > 0

    def test_roi_align_false_leaves_torchvisions(self):
        stock, _ = self._run(torch.float32)
        portacl.torch.enable(roi_align=False)
        assert torch.equal(self._run(torch.float32)[0], stock)
        portacl.torch.enable()
        portacl.torch.disable()
        assert torch.equal(self._run(torch.float32)[0], stock)
        with pytest.raises(RuntimeError):
            self._run(torch.bfloat16)

    def test_blocks_switch_it_on(self):
        stock, _ = self._run(torch.float32)
        with portacl.torch.accelerated():
            with portacl.torch.accelerated(roi_align=False):
                inside = self._run(torch.bfloat16)[0]  # torchvision has none
            assert torch.equal(inside, self._run(torch.bfloat16)[0])
        assert torch.equal(self._run(torch.float32)[0], stock)
        with pytest.raises(RuntimeError):
            self._run(torch.bfloat16)
        with portacl.torch.accelerated(roi_align=False), pytest.raises(RuntimeError):
            self._run(torch.bfloat16)

    def test_profile_counts_calls(self):
        portacl.torch.enable()
        with portacl.torch.profile() as report:
            self._run(torch.float32)
        operators = sorted(row.operator for row in report.rows.values())
        assert operators == ["roi_align", "roi_align_backward"], report.table()

    def test_compiled_code_has_the_bits_of_eager(self):
        portacl.torch.enable()
        images, boxes, *_ = self._arguments(torch.float32)

        def pool(x):
            return self.ops.roi_align(x, boxes, (3, 2), 0.5, 2, True).square()

        results = []
        for function in (pool, torch.compile(pool, fullgraph=True, backend="aot_eager")):
            x = images.clone().requires_grad_()
            pooled = function(x)
            results.append((pooled, *torch.autograd.grad(pooled.sum(), x)))
        for eager, compiled in zip(*results):
            assert torch.equal(eager, compiled)

    def test_errors_are_runtime_errors(self):
        portacl.torch.enable()
        images, boxes, *rest = self._arguments(torch.float32)
        boxes[0, 0] = 7
        with pytest.raises(RuntimeError, match="gives roi 0 image 7, wanted"):
            torch.ops.torchvision.roi_align(images, boxes, *rest)


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="PyTorch keeps its kernels")
def test_torchvision_may_be_imported_later():
    pytest.importorskip("torchvision")
    program = (
        "import torch, portacl.torch; portacl.torch.enable(); import torchvision\n"
        "x, b = torch.rand(1, 3, 8, 8).bfloat16(), torch.tensor([[0, 1, 1, 5, 5]]).bfloat16()\n"
        "print(torchvision.ops.roi_align(x, b, 2).dtype)"  # torchvision alone has no bfloat16
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.split() == ["torch.bfloat16"], run.stderr
