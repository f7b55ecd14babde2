"""Deformable convolution: arrays, autograd, and portacl behind torchvision's operator."""

import subprocess
import sys

import numpy as np
import pytest

import portacl

torch = pytest.importorskip("torch")
import portacl.torch  # noqa: E402

STEPS = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}
NUMBERS = (2, 1, 1, 0, 1, 2, 2, 2)


def _case(dtype=np.float32, spread=2.0):
    """Input, offset, weight, bias and mask: 2 x 4 x 7 x 6, kernel 3 x 2, 2 groups of each kind."""
    random = np.random.default_rng(83)
    positions = (4, 4)
    made = (
        random.standard_normal((2, 4, 7, 6)),
        random.uniform(-spread, spread, (2, 24, *positions)),
        random.standard_normal((6, 2, 3, 2)),
        random.standard_normal(6),
        random.uniform(0, 1, (2, 12, *positions)),
    )
    return tuple(array.astype(dtype) for array in made)


def _tensors(dtype=torch.float64, **options):
    made = (torch.from_numpy(array).to(dtype) for array in _case(np.float64, **options))
    return [tensor.requires_grad_() for tensor in made]


def test_gradients_are_transposes():
    image, offset, weight, bias, mask = _case(np.float64)
    out = portacl.deform_conv2d(image, offset, weight, None, mask=mask, **STEPS)
    grads = portacl.deform_conv2d_backward(out, image, offset, weight, mask=mask, **STEPS)
    total = (out * out).sum()
    for array, grad in zip((image, weight, mask), (grads[0], grads[1], grads[3])):
        np.testing.assert_allclose((array * grad).sum(), total, rtol=1e-12)
    np.testing.assert_allclose(grads[4], out.sum((0, 2, 3)), rtol=1e-12)
    with_bias = portacl.deform_conv2d(image, offset, weight, bias, mask=mask, **STEPS)
    np.testing.assert_allclose(with_bias, out + bias[:, None, None], rtol=1e-12)
    some = portacl.deform_conv2d_backward(
        out, image, offset, weight, output_mask=(False, True, False, True, False), **STEPS
    )
    assert [grad is not None for grad in some] == [False, True, False, False, False]


def test_samples_alone_are_columns():
    image, offset, weight, _, mask = _case(np.float64)
    planes = np.concatenate([offset[:, 1::2], offset[:, 0::2], mask], 1)
    columns = portacl.deformable_offsets(image, planes, (3, 2), offset_groups=2, **STEPS)
    assert columns.shape == (2, 4, 12, 8)
    out = portacl.deform_conv2d(image, offset, weight, mask=mask, **STEPS)
    halves = columns.reshape(2, 2, 2, 4, 3, 4, 2)  # n, group, channel, y, kh, x, kw
    own = np.einsum("ngcyhxw,gochw->ngoyx", halves, weight.reshape(2, 3, 2, 3, 2))
    np.testing.assert_allclose(own.reshape(out.shape), out, rtol=1e-10, atol=1e-10)
    of_image, of_planes = portacl.deformable_offsets_backward(
        columns, image, planes, (3, 2), offset_groups=2, **STEPS
    )
    np.testing.assert_allclose((image * of_image).sum(), (columns**2).sum(), rtol=1e-12)
    np.testing.assert_allclose((mask * of_planes[:, 24:]).sum(), (columns**2).sum(), rtol=1e-12)


def test_a_bias_may_be_float32_beside_sixteen_bits():
    image, offset, weight, bias, mask = (torch.from_numpy(a) for a in _case())
    halves = [t.bfloat16() for t in (image, offset, weight)]
    out = portacl.deform_conv2d(*halves, bias, mask=mask.bfloat16(), **STEPS)
    wide = [t.float() for t in (*halves, mask.bfloat16())]
    want = portacl.deform_conv2d(*wide[:3], bias, mask=wide[3], **STEPS)
    assert torch.equal(out, want.bfloat16())
    tensors = [t.requires_grad_() for t in (halves[0], halves[1], halves[2], bias, mask.bfloat16())]
    found = _operator(tensors)
    assert torch.equal(found, out)
    found.sum().backward()
    assert bias.grad.dtype == torch.float32
    rounded = portacl.deform_conv2d_backward(
        torch.ones_like(out), *[t.detach() for t in halves], mask=mask.bfloat16(), **STEPS
    )[4]
    assert torch.equal(bias.grad, rounded.float())
    with pytest.raises(TypeError, match="bias has dtype bfloat16"):
        portacl.deform_conv2d(image, offset, weight, bias.bfloat16(), mask=mask, **STEPS)


def test_refusals_name_what_is_wrong():
    image, offset, weight, _, mask = _case()
    with pytest.raises(ValueError, match="mask has shape"):
        portacl.deform_conv2d(image, offset, weight, mask=mask[:, :3], **STEPS)
    with pytest.raises(ValueError, match="offset has shape"):
        portacl.deform_conv2d(image, offset[:, :, :3], weight, **STEPS)
    with pytest.raises(ValueError, match="stride is .*, but must have 2 values"):
        portacl.deform_conv2d(image, offset, weight, stride=(1, 1, 1))


def _operator(tensors, use_mask=True):
    image, offset, weight, bias, mask = tensors
    return torch.ops.portacl.deform_conv2d(image, weight, offset, mask, bias, *NUMBERS, use_mask)


@pytest.mark.parametrize("use_mask", [True, False])
def test_derivatives(use_mask):
    tensors = _tensors()
    image, offset, weight, bias, mask = tensors
    arguments = (image, weight, offset, mask, bias, *NUMBERS, use_mask)
    torch.library.opcheck(torch.ops.portacl.deform_conv2d.default, arguments)
    assert torch.autograd.gradcheck(lambda *t: _operator(t, use_mask), tensors, fast_mode=True)
    (grad,) = torch.autograd.grad(_operator(tensors, use_mask).sum(), image, create_graph=True)
    with pytest.raises(RuntimeError, match="double backwards on deform_conv2d"):
        grad.sum().backward()


def test_compiled_and_autocast():
    tensors = [tensor.detach() for tensor in _tensors(torch.float32)]
    compiled = torch.compile(_operator, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(tensors), _operator(tensors))
    with torch.autocast("cpu", torch.bfloat16):
        out = _operator([tensor.bfloat16() for tensor in tensors])
    assert out.dtype == torch.float32


def test_offsets_that_are_not_finite():
    tensors = [tensor.detach() for tensor in _tensors(torch.float32)]
    tensors[1][0, 0, 1, 1] = float("nan")
    tensors[1][0, 3, 2, 2] = float("inf")
    tensors[1][1, 5, 0, 0] = 1e30
    for tensor in tensors:
        tensor.requires_grad_()
    out = _operator(tensors)
    assert out.isnan().sum() == 3  # the outputs of one group at one position
    out.nansum().backward()
    assert tensors[1].grad[0, 0, 1, 1].isnan() and tensors[0].grad.isfinite().all()
    assert tensors[1].grad[0, 3, 2, 2] == 0 and tensors[1].grad[1, 5, 0, 0] == 0


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="PyTorch keeps its kernels")
class TestTorchvision:
    @pytest.fixture(autouse=True)
    def _torchvision(self):
        self.ops = pytest.importorskip("torchvision").ops
        yield
        portacl.torch.disable()

    def _run(self, dtype, layout=torch.contiguous_format):
        tensors = [t.detach() for t in _tensors(dtype)]
        tensors[0] = tensors[0].to(memory_format=layout)
        for tensor in tensors:
            tensor.requires_grad_()
        image, offset, weight, bias, mask = tensors
        out = self.ops.deform_conv2d(image, offset, weight, bias, mask=mask, **STEPS)
        return (out.detach(), *torch.autograd.grad(out.square().sum(), tensors))

    @pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_gives_torchvisions_numbers(self, dtype, layout):
        wanted = self._run(dtype, layout)
        portacl.torch.enable()
        found = self._run(dtype, layout)
        for one, other in zip(wanted, found):
            assert one.shape == other.shape and one.dtype == other.dtype
            torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-5)
        assert torch.equal(_operator([t.detach() for t in _tensors(dtype)]), found[0])

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_sixteen_bits_are_rounded_once(self, dtype):
        portacl.torch.enable()
        out, *grads = self._run(dtype)
        wide = _operator([tensor.detach().to(dtype).float() for tensor in _tensors(dtype)])
        assert torch.equal(out, wide.to(dtype))
        assert all(grad.dtype == dtype and grad.abs().sum() > 0 for grad in grads)

    def test_deform_conv_false_leaves_torchvisions(self):
        stock = self._run(torch.float32)[0]
        portacl.torch.enable(deform_conv=False)
        assert torch.equal(self._run(torch.float32)[0], stock)
        portacl.torch.enable()
        portacl.torch.disable()
        assert torch.equal(self._run(torch.float32)[0], stock)
        with pytest.raises(RuntimeError):
            self._run(torch.bfloat16)

    def test_blocks_switch_it_on(self):
        stock = self._run(torch.float32)[0]
        with portacl.torch.accelerated():
            assert self._run(torch.bfloat16)[0].dtype == torch.bfloat16
        assert torch.equal(self._run(torch.float32)[0], stock)
        with portacl.torch.accelerated(deform_conv=False), pytest.raises(RuntimeError):
            self._run(torch.bfloat16)

    def test_profile_counts_calls(self):
        portacl.torch.enable()
        with portacl.torch.profile() as report:
            self._run(torch.float32)
        operators = sorted(row.operator for row in report.rows.values())
        assert operators == ["deform_conv2d", "deform_conv2d_backward"], report.table()

    def test_errors_are_torchvisions(self):
        portacl.torch.enable()
        image, offset, weight, *_ = (t.detach() for t in _tensors(torch.float32))
        with pytest.raises(RuntimeError, match="the shape of the offset"):
            self.ops.deform_conv2d(image, offset[:, :2], weight, **STEPS)

    def test_exported_programs_keep_torchvisions_node(self):
        portacl.torch.enable()
        image, offset, weight, *_ = (t.detach() for t in _tensors(torch.float32))

        ops = self.ops

        class Model(torch.nn.Module):
            def forward(self, image):
                return ops.deform_conv2d(image, offset, weight, **STEPS)

        graph = torch.export.export(Model(), (image,)).graph
        targets = [str(node.target) for node in graph.nodes]
        assert "torchvision.deform_conv2d.default" in targets


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="PyTorch keeps its kernels")
def test_a_nan_among_torchvisions_offsets_does_not_end_the_process():
    pytest.importorskip("torchvision")
    program = (
        "import torch, portacl.torch; portacl.torch.enable(); import torchvision\n"
        "x, w, o = torch.rand(1, 3, 8, 8), torch.rand(2, 3, 3, 3), torch.zeros(1, 18, 6, 6)\n"
        "o[0, 0, 1, 1] = float('nan')\n"
        "print(int(torchvision.ops.deform_conv2d(x, o, w).isnan().sum()))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.split() == ["2"], run.stderr
