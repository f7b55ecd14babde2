"""torch_npu's own operators on boxes, as its public documentation describes them."""

from __future__ import annotations

import math
from typing import Any


def _corners(boxes: Any, centred: bool) -> Any:
    """Return left, top, right, bottom of boxes (4, n)."""
    first, second, third, fourth = boxes.float().unbind(0)
    if not centred:
        return first, second, third, fourth
    return first - third / 2, second - fourth / 2, first + third / 2, second + fourth / 2


class _Pairs:
    """Boxes (4, n) against boxes (4, m): each against its partner, or each against each."""

    def __init__(self, boxes: Any, others: Any, centred: bool, crossed: bool, eps: float) -> None:
        import torch

        one, other = _corners(boxes, centred), _corners(others, centred)
        if crossed:
            one, other = [x.unsqueeze(1) for x in one], [x.unsqueeze(0) for x in other]
        self.one, self.other, self.eps = one, other, eps
        self.size = one[2] - one[0], one[3] - one[1] + eps
        self.other_size = other[2] - other[0], other[3] - other[1] + eps
        width, height = (
            (torch.min(one[i + 2], other[i + 2]) - torch.max(one[i], other[i])).clamp(0)
            for i in (0, 1)
        )
        self.common = width * height
        self.hull = [
            torch.max(one[i + 2], other[i + 2]) - torch.min(one[i], other[i]) for i in (0, 1)
        ]
        area, other_area = (w * h for w, h in (self.size, self.other_size))
        self.union = area + other_area - self.common + eps
        self.area = area

    def overlap(self, mode: int) -> Any:
        """Intersection over union, or (mode 1) over the first box."""
        return self.common / (self.union if mode == 0 else self.area)

    def distance(self) -> Any:
        """Squared distance of the centres, as a share of the hull's diagonal."""
        apart = sum(
            (self.other[i] + self.other[i + 2] - self.one[i] - self.one[i + 2]) ** 2 for i in (0, 1)
        )
        return apart / 4 / (self.hull[0] ** 2 + self.hull[1] ** 2 + self.eps)


def _iou(bboxes: Any, gtboxes: Any, mode: int = 0) -> Any:
    import torch

    boxes, truth = bboxes.float().unsqueeze(0), gtboxes.float().unsqueeze(1)
    low = torch.max(boxes[..., :2], truth[..., :2])
    high = torch.min(boxes[..., 2:], truth[..., 2:])
    common = (high - low).clamp(0).prod(-1)
    area, truth_area = ((x[..., 2:] - x[..., :2]).prod(-1) for x in (boxes, truth))
    whole = truth_area if mode == 1 else area + truth_area - common
    return torch.where(common > 0, common / whole, 0.0).to(bboxes.dtype)


def _giou(x: Any, gtboxes: Any, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Any:
    pairs = _Pairs(x, gtboxes, trans, is_cross, 1e-16)
    hull = pairs.hull[0] * pairs.hull[1]
    out = (pairs.overlap(mode) - (hull - pairs.union) / hull).to(x.dtype)
    return out if is_cross else out.unsqueeze(1)


def _diou(x: Any, gtboxes: Any, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Any:
    pairs = _Pairs(x, gtboxes, trans, is_cross, 1e-9)
    out = (pairs.overlap(mode) - pairs.distance()).to(x.dtype)
    return out.t() if is_cross else out.unsqueeze(0)


def _ciou(
    x: Any,
    gtboxes: Any,
    trans: bool = False,
    is_cross: bool = True,
    mode: int = 0,
    atan_sub_flag: bool = False,
) -> Any:
    pairs = _Pairs(x, gtboxes, trans, is_cross, 1e-9)
    (width, height), (other_width, other_height) = pairs.size, pairs.other_size
    angle = (other_width / other_height).atan() - (width / height).atan()
    shape = 4 / math.pi**2 * angle**2
    overlap = pairs.overlap(mode)
    share = (shape / (1 + pairs.eps - overlap + shape)).detach()
    out = (overlap - pairs.distance() - shape * share).to(x.dtype)
    return out.t() if is_cross else out.unsqueeze(0)


def _centres(boxes: Any) -> Any:
    left, top, right, bottom = boxes.float().unbind(-1)
    return (left + right) / 2, (top + bottom) / 2, right - left + 1, bottom - top + 1


def _encode(anchor_box: Any, ground_truth_box: Any, *numbers: float) -> Any:
    import torch

    x, y, width, height = _centres(anchor_box)
    true_x, true_y, true_width, true_height = _centres(ground_truth_box)
    deltas = (
        (true_x - x) / width,
        (true_y - y) / height,
        (true_width / width).abs().log(),
        (true_height / height).abs().log(),
    )
    scaled = [(d - mean) / std for d, mean, std in zip(deltas, numbers[:4], numbers[4:])]
    return torch.stack(scaled, -1).to(anchor_box.dtype)


def _decode(rois: Any, deltas: Any, *numbers: Any) -> Any:
    import torch

    means, stds, (limits, ratio) = numbers[:4], numbers[4:8], numbers[8:]
    limits = list(limits) * (2 // len(limits))
    x, y, width, height = _centres(rois)
    most = abs(math.log(ratio))
    dx, dy, dw, dh = (d * s + m for d, s, m in zip(deltas.float().unbind(-1), stds, means))
    middle = x + dx * width, y + dy * height
    half = [
        size * change.clamp(-most, most).exp() / 2 for size, change in ((width, dw), (height, dh))
    ]
    sides = [
        (m + sign * (h - 0.5)).clamp(0, limit - 1)
        for sign in (-1, 1)
        for m, h, limit in zip(middle, half, (limits[1], limits[0]))
    ]
    return torch.stack(sides, -1).to(rois.dtype)


def _suppress(boxes: Any, left: list[int], threshold: float) -> list[int]:
    """Keep the places of boxes that overlap no better kept box by more than ``threshold``."""
    overlaps = _iou(boxes.float(), boxes.float())
    left, kept = list(left), []
    while left:
        best = left.pop(0)
        kept.append(best)
        near = overlaps[best].tolist()
        left = [place for place in left if near[place] <= threshold]
    return kept


def _nms_v4(
    boxes: Any,
    scores: Any,
    max_output_size: int,
    iou_threshold: Any,
    scores_threshold: Any,
    pad_to_max_output_size: bool = False,
) -> Any:
    import torch

    good = (scores > scores_threshold).nonzero().squeeze(1)
    places = good.tolist()
    best_first = scores[good].argsort(descending=True, stable=True).tolist()
    kept = _suppress(boxes[good], best_first, float(iou_threshold))
    chosen = [places[i] for i in kept][: int(max_output_size)]
    count = len(chosen)
    if pad_to_max_output_size:
        chosen += [0] * (int(max_output_size) - count)
    make = {"dtype": torch.int32, "device": boxes.device}
    return torch.tensor(chosen, **make), torch.tensor(count, **make)


def _nms_with_mask(boxes: Any, iou_threshold: Any) -> Any:
    # The boxes stay as they are: whoever calls it has sorted them.
    import torch

    places = torch.arange(boxes.size(0), dtype=torch.int32, device=boxes.device)
    kept = _suppress(boxes[:, :4], places.tolist(), float(iou_threshold))
    mask = torch.zeros_like(places, dtype=torch.uint8)
    mask[kept] = 1
    return boxes[:, :5].clone(), places, mask


OPERATORS = {
    "npu_iou": _iou,
    "npu_ptiou": _iou,
    "npu_giou": _giou,
    "npu_diou": _diou,
    "npu_ciou": _ciou,
    "npu_bounding_box_encode": _encode,
    "npu_bounding_box_decode": _decode,
    "npu_nms_v4": _nms_v4,
    "npu_nms_with_mask": _nms_with_mask,
}
