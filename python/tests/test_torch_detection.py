"""torchvision's operators: kernels that need no Python do what those in Python do."""

import contextlib
import threading

import pytest

import portacl

torch = pytest.importorskip("torch")
ops = pytest.importorskip("torchvision").ops
import portacl.torch as pt  # noqa: E402
from portacl.torch import _deform_conv, _roi_align, _torchvision  # noqa: E402

pytestmark = pytest.mark.skipif(
    not _torchvision.uses_native_kernels, reason="this PyTorch's stable ABI lacks functions"
)
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
REPLACED = (_roi_align.replaced, _deform_conv.replaced)


@pytest.fixture(autouse=True)
def _enabled():
    pt.enable()
    yield
    pt.disable()


def rois(dtype=torch.float32, layout=torch.contiguous_format):
    generator = torch.Generator().manual_seed(3)
    image = torch.randn(2, 5, 12, 9, generator=generator).to(dtype).to(memory_format=layout)
    boxes = torch.tensor([[0, 1.5, 2, 9.25, 13], [1, -3, -2, 30, 40], [1, 4, 4.5, 4, 4.5]])
    pooled = torch.randn(3, 5, 3, 2, generator=generator).to(dtype).to(memory_format=layout)
    rest = (0.5, 3, 2, -1, True)
    return {
        "roi_align": [image, boxes.to(dtype), *rest],
        "_roi_align_backward": [pooled, boxes.to(dtype), *rest[:3], *image.shape, *rest[3:]],
    }


def convolutions(dtype=torch.float32, layout=torch.contiguous_format, use_mask=True):
    generator = torch.Generator().manual_seed(4)
    shapes = [(2, 4, 7, 6), (6, 2, 3, 3), (2, 36, 4, 3), (2, 18, 4, 3), (6,), (2, 6, 4, 3)]
    made = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    made[0] = made[0].to(memory_format=layout)
    if not use_mask:
        made[3] = made[3].new_zeros(2, 0)
    numbers = (2, 2, 1, 1, 1, 1, 2, 2, use_mask)
    return {
        "deform_conv2d": [*made[:5], *numbers],
        "_deform_conv2d_backward": [made[5], *made[:5], *numbers],
    }


def called(name, arguments):
    found = getattr(torch.ops.torchvision, name)(*arguments)
    return [found] if isinstance(found, torch.Tensor) else list(found)


def in_python(name, arguments):
    for replaced in REPLACED:
        replaced._native.stand_aside(True)
    try:
        return called(name, arguments)
    finally:
        for replaced in REPLACED:
            replaced.choose()


def without_python(monkeypatch, name, arguments):
    def fail(*arguments):
        raise AssertionError("a kernel in Python was called")

    with monkeypatch.context() as patch:
        patch.setattr(_torchvision, "_fits", fail)
        return called(name, arguments)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_the_same(monkeypatch, dtype, layout):
    calls = {**rois(dtype, layout), **convolutions(dtype, layout)}
    for name, arguments in [*calls.items(), *convolutions(dtype, layout, use_mask=False).items()]:
        wanted = in_python(name, arguments)
        found = without_python(monkeypatch, name, arguments)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            assert torch.equal(one, other) and one.dtype == other.dtype
            assert one.shape == other.shape and one.stride() == other.stride()


def test_large_results_come_from_the_pool(monkeypatch):
    image, boxes = torch.randn(1, 64, 40, 40), torch.tensor([[0, 1, 2, 30, 33.0]] * 200)
    arguments = [image, boxes, 1.0, 7, 7, 2, False]
    (wanted,) = in_python("roi_align", arguments)
    for _ in range(3):
        (found,) = without_python(monkeypatch, "roi_align", arguments)
        assert torch.equal(found, wanted)
    assert found.nbytes >= portacl._core.POOLED_BYTES


def test_no_rois(monkeypatch):
    for images in (2, 1):
        image = torch.randn(images, 3, 5, 6)
        arguments = [image, torch.zeros(0, 5), 1.0, 2, 2, 2, False]
        assert without_python(monkeypatch, "roi_align", arguments)[0].shape == (0, 3, 2, 2)
        arguments = [torch.zeros(0, 3, 2, 2), *arguments[1:4], 2, *image.shape, 2, False]
        (gradient,) = without_python(monkeypatch, "_roi_align_backward", arguments)
        assert gradient.shape == image.shape and not gradient.any()


def refusal(operator, arguments):
    with pytest.raises(RuntimeError) as error:
        operator(*arguments)
    return str(error.value)


def changed(arguments, at, value):
    return [*arguments[:at], value, *arguments[at + 1 :]]


def test_refusals_have_the_same_words():
    cases = []
    for name, arguments in rois().items():
        boxes = arguments[1].clone()
        boxes[1, 0] = 7
        cases += [(name, changed(arguments, 1, boxes))]
        cases += [(name, changed(arguments, 1, arguments[1][:, :4]))]
        cases += [(name, changed(arguments, 1, arguments[1].double()))]
        cases += [(name, changed(arguments, 1, arguments[1][0, 0]))]
        cases += [(name, changed(arguments, 0, arguments[0].int()))]
        cases += [(name, changed(arguments, 2, -1.0)), (name, changed(arguments, 3, 0))]
        cases += [(name, changed(arguments, 3, -2))]
    for name, arguments in convolutions().items():
        first = 0 if name == "deform_conv2d" else 1
        offset = arguments[first + 2]
        cases += [(name, changed(arguments, first + 2, offset[:, :2]))]
        cases += [(name, changed(arguments, first + 1, arguments[first + 1][0]))]
    for name, arguments in cases:
        wanted = refusal(getattr(torch.ops.portacl_torchvision, name), arguments)
        assert refusal(getattr(torch.ops.torchvision, name), arguments) == wanted


def test_arguments_are_freed_once(monkeypatch):
    for name, arguments in {**rois(), **convolutions()}.items():
        wanted = in_python(name, arguments)
        for _ in range(50):
            found = without_python(monkeypatch, name, arguments)
            with pytest.raises(RuntimeError):
                called(name, changed(arguments, 1, arguments[1][..., :1]))
        assert all(torch.equal(one, other) for one, other in zip(found, wanted))
        assert all(t._use_count() <= 2 for t in arguments if isinstance(t, torch.Tensor))


def test_profile_sees_calls_while_it_runs(monkeypatch):
    arguments = rois()["roi_align"]
    with pt.profile() as report:
        called("roi_align", arguments)
    assert [row.operator for row in report.rows.values()] == ["roi_align"]
    without_python(monkeypatch, "roi_align", arguments)
    assert report.calls == 1


@contextlib.contextmanager
def _enabled_block():
    pt.enable()
    yield
    pt.disable()


@pytest.mark.parametrize("block", [pt.accelerated, _enabled_block])
def test_kernels_come_and_go_while_threads_call(block):
    pt.disable()
    name, arguments = next(iter(rois().items()))
    (stock,) = called(name, arguments)
    with block():
        (own,) = called(name, arguments)
    ends, wrong = threading.Event(), []

    def call():
        while not ends.is_set():
            (found,) = called(name, arguments)
            if not (torch.equal(found, own) or torch.equal(found, stock)):
                wrong.append(found)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        with block():
            assert torch.equal(called(name, arguments)[0], own)
    ends.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert torch.equal(called(name, arguments)[0], stock)
