"""torch_npu's operators on boxes: the numbers of its documentation, and plain formulas."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from compare import close


def _boxes(count):
    low = torch.rand(2, count) * 10
    return torch.cat((low, low + 1 + torch.rand(2, count) * 5))


def _overlap(a, b):
    width = (torch.min(a[2], b[2]) - torch.max(a[0], b[0])).clamp(0)
    height = (torch.min(a[3], b[3]) - torch.max(a[1], b[1])).clamp(0)
    common = width * height
    areas = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)]
    return common, areas[0] + areas[1] - common


def test_overlaps_of_each_with_each():
    boxes, truth = _boxes(5), _boxes(3)
    found = torch_npu.npu_iou(boxes.t().npu(), truth.t().npu())
    common, union = _overlap(boxes.unsqueeze(1), truth.unsqueeze(2))
    close(found, common / union)
    close(torch_npu.npu_ptiou(boxes.t().npu(), truth.t().npu(), 1),
          common / ((truth[2] - truth[0]) * (truth[3] - truth[1])).unsqueeze(1))


def test_overlaps_with_a_penalty():
    a, b = _boxes(7), _boxes(7)
    common, union = _overlap(a, b)
    hull = [torch.max(a[i + 2], b[i + 2]) - torch.min(a[i], b[i]) for i in (0, 1)]
    giou = common / union - (hull[0] * hull[1] - union) / (hull[0] * hull[1])
    close(torch_npu.npu_giou(a.npu(), b.npu()), giou.unsqueeze(1))
    apart = sum((a[i] + a[i + 2] - b[i] - b[i + 2]) ** 2 / 4 for i in (0, 1))
    diou = common / union - apart / (hull[0] ** 2 + hull[1] ** 2)
    close(torch_npu.npu_diou(a.npu(), b.npu()), diou.unsqueeze(0))
    ratios = [((x[2] - x[0]) / (x[3] - x[1])).atan() for x in (a, b)]
    shape = 4 / torch.pi**2 * (ratios[0] - ratios[1]) ** 2
    ciou = diou - shape * shape / (1 - common / union + shape)
    close(torch_npu.npu_ciou(a.npu(), b.npu(), is_cross=False), ciou.unsqueeze(0))


def test_boxes_by_their_centres_and_gradients():
    a, b = _boxes(4), _boxes(4)

    def centred(x):
        return torch.stack(((x[0] + x[2]) / 2, (x[1] + x[3]) / 2, x[2] - x[0], x[3] - x[1]))

    for function in (torch_npu.npu_giou, torch_npu.npu_diou, torch_npu.npu_ciou):
        there = centred(a).npu().requires_grad_()
        found = function(there, centred(b).npu(), trans=True, is_cross=False)
        close(found.detach(), function(a.npu(), b.npu(), is_cross=False).cpu(), 1e-4)
        found.sum().backward()
        assert there.grad.isfinite().all() and there.grad.abs().sum() > 0


def test_changes_of_boxes():
    anchors = torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]]).npu()
    truth = torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]]).npu()
    found = torch_npu.npu_bounding_box_encode(anchors, truth, 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2)
    close(found, torch.tensor([[13.3281, 13.3281, 0, 0], [13.3281, 6.6641, 0, -5.4922]]), 1e-3)
    found = torch_npu.npu_bounding_box_decode(anchors, truth, 0, 0, 0, 0, 1, 1, 1, 1, (10, 10), 0.1)
    close(found, torch.tensor([[2.5, 6.5, 9, 9], [9, 9, 9, 9]]), 1e-3)
    deltas = torch_npu.npu_bounding_box_encode(anchors, truth + 1, *[0] * 4, *[1] * 4)
    back = torch_npu.npu_bounding_box_decode(
        anchors[:1], deltas[:1], *[0] * 4, *[1] * 4, (100, 100), 0.01)
    close(back, (truth + 1)[:1].cpu(), 1e-3)


@pytest.mark.parametrize("pad", [False, True])
def test_best_boxes_that_do_not_overlap(pad):
    boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 9], [20, 20, 30, 30], [50, 50, 60, 60]])
    scores = torch.tensor([0.8, 0.9, 0.7, 0.1])
    places, count = torch_npu.npu_nms_v4(
        boxes.npu(), scores.npu(), 5, torch.tensor(0.5).npu(), torch.tensor(0.3).npu(), pad)
    assert places.tolist() == ([1, 2, 0, 0, 0] if pad else [1, 2])
    assert count.item() == 2 and places.dtype == count.dtype == torch.int32


def test_a_mask_of_boxes_that_no_earlier_one_overlaps():
    boxes = torch.tensor([[0.0, 0, 10, 10, 0.6], [0, 0, 10, 9, 0.9], [0, 8, 10, 18, 0.5],
                          [0, 9, 10, 18, 0.4]])
    found, places, mask = torch_npu.npu_nms_with_mask(boxes.npu(), 0.5)
    close(found, boxes)
    assert places.tolist() == [0, 1, 2, 3] and places.dtype == torch.int32
    assert mask.tolist() == [1, 0, 1, 0] and mask.dtype == torch.uint8
    wide = torch.cat((boxes, torch.rand(4, 3)), 1)  # 8 columns, as its page has them
    close(torch_npu.npu_nms_with_mask(wide.npu(), 0.5)[0], boxes)


def test_roi_align_of_a_ramp_is_the_ramp_in_the_middle_of_its_bins():
    y, x = torch.meshgrid(torch.arange(40.0), torch.arange(48.0), indexing="ij")
    image = torch.stack([x + 10 * y, y - x])[None]
    boxes = torch.tensor([[0, 8, 16, 36.0, 44], [0, 40, 24, 96.0, 80]])
    pooled = torch_npu.npu_roi_align(image.npu(), boxes.npu(), 0.5, 4, 4, 2, 2).cpu()  # aligned
    for box, got in zip(boxes[:, 1:] * 0.5 - 0.5, pooled):
        at = [box[i] + (box[i + 2] - box[i]) * (torch.arange(4) + 0.5) / 4 for i in (0, 1)]
        rows, columns = torch.meshgrid(at[1], at[0], indexing="ij")
        want = torch.stack([columns + 10 * rows, rows - columns])
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-4)


def test_roi_align_gives_all_of_a_gradient_to_the_image():
    boxes = torch.tensor([[0, 8, 16, 36.0, 44], [1, 40, 24, 80.0, 60]])
    gradient = torch.rand(2, 3, 4, 4)
    size = [2, 3, 40, 48]
    image = torch_npu.npu_roi_alignbk(gradient.npu(), boxes.npu(), size, 4, 4, 0.5, 2, 2).cpu()
    torch.testing.assert_close(image.sum((2, 3)), gradient.sum((2, 3)), rtol=1e-5, atol=1e-4)


def test_deformable_convolution_without_offsets_is_the_plain_one():
    generator = torch.Generator().manual_seed(5)
    image, weight = (
        torch.randn(shape, generator=generator) for shape in ((2, 4, 7, 6), (6, 2, 3, 3))
    )
    bias = torch.randn(6, generator=generator)
    planes = torch.zeros(2, 27, 4, 3)
    planes[:, 18:] = 1  # masks
    given = [t.npu().requires_grad_() for t in (image, weight, planes, bias)]
    steps = {"kernel_size": [3, 3], "stride": [1, 1, 2, 2], "padding": [1, 1, 1, 1], "groups": 2}
    out, samples = torch_npu.npu_deformable_conv2d(*given, **steps)
    want = [t.clone().requires_grad_() for t in (image, weight, bias)]
    plain = torch.nn.functional.conv2d(*want, stride=2, padding=1, groups=2)
    close(out.detach(), plain.detach(), 1e-5)
    assert samples.shape == (2, 4, 12, 9)
    again = torch_npu.npu_conv2d(samples, *given[1::2], [3, 3], [0] * 4, [1, 1], 2)
    close(again.detach(), plain.detach(), 1e-5)
    gradient = torch.randn(out.shape, generator=generator)
    out.backward(gradient.npu())
    plain.backward(gradient)
    for got, wanted in zip((given[0], given[1], given[3]), want):
        close(got.grad, wanted.grad, 1e-4)
    assert given[2].grad.cpu().isfinite().all()
    with pytest.raises(RuntimeError, match="offset has shape"):
        torch_npu.npu_deformable_conv2d(given[0], given[1], given[2][:, :9], None, **steps)


def test_gradients_of_offsets_are_as_near_float64_as_promised():
    """On the data of op-plugin's test_deformable_conv2d, which compares two orders of summation.

    That test lets 23 of 76,800 elements differ by more than 3e-4; 30 to 40 do, where sums cancel.
    """
    random = torch.Generator().manual_seed(1)
    x, weight, planes = (
        10 * torch.rand(shape, generator=random)
        for shape in ((1, 32, 32, 32), (32, 32, 5, 5), (1, 75, 32, 32))
    )
    steps = {"kernel_size": [5, 5], "stride": [1] * 4, "padding": [2] * 4}
    given = x.npu(), weight.npu(), planes.npu()
    out, samples = torch_npu.npu_deformable_conv2d(*given, None, **steps)
    ones = torch.ones_like(out)
    found = torch_npu.npu_deformable_conv2dbk(given[0], ones, samples, *given[1:], **steps)[2].cpu()
    # Coordinates as float32 has them; all else in float64.
    taps = torch.arange(25).view(25, 1, 1)
    rows, columns = torch.arange(32).view(32, 1), torch.arange(32).view(1, 32)
    at_x = ((columns - 2 + taps % 5) + planes[0, :25]).double()
    at_y = ((rows - 2 + taps // 5) + planes[0, 25:50]).double()
    left, top = at_x.floor(), at_y.floor()
    tx, ty = at_x - left, at_y - top
    gradient = weight.double().sum(0).flatten(1)  # of a sample: (channels, taps), everywhere
    dots, sizes = [], []
    for dy, dx in ((0, 0), (0, 1), (1, 0), (1, 1)):
        row, column = (top + dy).long(), (left + dx).long()
        inside = (row >= 0) & (row < 32) & (column >= 0) & (column < 32)
        pixels = x[0].double().flatten(1)[:, (row.clamp(0, 31) * 32 + column.clamp(0, 31))]
        terms = pixels * inside * gradient[:, :, None, None]
        dots.append(terms.sum(0))
        sizes.append(terms.abs().sum(0))
    nw, ne, sw, se = dots
    mask = planes[0, 50:].double()
    exact = (
        mask * ((ne - nw) * (1 - ty) + (se - sw) * ty),
        mask * ((sw - nw) * (1 - tx) + (se - ne) * tx),
        (nw * (1 - tx) + ne * tx) * (1 - ty) + (sw * (1 - tx) + se * tx) * ty,
    )
    size = sum(sizes)
    for got, want, factor in zip(found[0].double().split(25), exact, (mask, mask, 1)):
        bound = (32 + 8 + 2 + 8) * 2.0**-24 * factor * size + 1e-30
        assert ((got - want).abs() <= bound).all()
