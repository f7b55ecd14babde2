"""Sampling of detectors by the documented arithmetic: float32 bits of every kernel, layout, thread.

The oracles do each operation of docs/ops by itself. (Attention's is in test_ms_deform_attn.py.)
"""

from __future__ import annotations

import ctypes
import itertools
import math
import re

import numpy as np
import pytest
from test_ms_deform_attn import _case as attention_case
from test_ms_deform_attn import _oracle as attention_oracle

import portacl
from kernels import kernels
from portacl import _core

F = np.float32
SEED = 57

_libm = ctypes.CDLL("libm.so.6")
_libm.fmaf.restype = ctypes.c_float
_libm.fmaf.argtypes = [ctypes.c_float] * 3
_fma = np.frompyfunc(_libm.fmaf, 3, 1)


def fma(a, b, c):
    return np.asarray(_fma(a, b, c), F)[()]


def dot(a, b):
    """16 lanes, joined by a tree."""
    lanes = np.zeros(16, F)
    for c, (x, y) in enumerate(zip(a, b)):
        lanes[c % 16] = fma(x, y, lanes[c % 16])
    for half in (8, 4, 2, 1):
        lanes = lanes[:half] + lanes[half : 2 * half]
    return lanes[0]


# ---- RoiAlign -----------------------------------------------------------------------------------


def axis_sample(at, extent):
    """(low, high, weight of low, weight of high), or None for a sample that does not count."""
    if not -1 <= at <= extent:
        return None
    at = max(at, F(0))
    low = int(at)
    if low >= extent - 1:
        return extent - 1, extent - 1, F(1), F(0)
    rest = at - F(low)
    return low, low + 1, F(1) - rest, rest


def axis_samples(low, high, bins, extent, how):
    """For each bin of a roi along one axis, its samples; and how many a bin has."""
    scale, ratio, aligned = how
    start, end = (F(edge) * F(scale) - F(0.5 if aligned else 0) for edge in (low, high))
    size = end - start
    if not aligned and size < 1:
        size = F(1)
    length = size / F(bins)
    count = ratio if ratio > 0 else math.ceil(length) if length > 0 else 0
    steps = [(F(i) + F(0.5)) * length / F(count) for i in range(count)]
    begins = [start + F(p) * length for p in range(bins)]
    return [[axis_sample(begin + step, extent) for step in steps] for begin in begins], count


def table(samples):
    """Pixels ascending, with the sums of their weights."""
    weights: dict[int, np.float32] = {}
    for low, high, of_low, of_high in filter(None, samples):
        weights[low] = weights.get(low, F(0)) + of_low
        if high != low:
            weights[high] = weights.get(high, F(0)) + of_high
    return sorted(weights.items())


def pool(images, boxes, size, how, mode="avg"):
    pooled = np.zeros((len(boxes), images.shape[1], *size), F)
    for n, (index, x1, y1, x2, y2) in enumerate(boxes):
        image = images[int(index)]
        rows, high = axis_samples(y1, y2, size[0], image.shape[1], how)
        columns, wide = axis_samples(x1, x2, size[1], image.shape[2], how)
        for ph, pw in np.ndindex(size):
            if mode != "avg":
                pooled[n, :, ph, pw] = largest(image, rows[ph], columns[pw], mode)
                continue
            total = np.zeros(len(image), F)
            for i, (x, of_x) in enumerate(table(columns[pw])):
                column = np.zeros(len(image), F)
                for j, (y, of_y) in enumerate(table(rows[ph])):
                    value = image[:, y, x]
                    column = fma(of_y, value, column) if j else of_y * value
                total = fma(of_x, column, total) if i else of_x * column
            pooled[n, :, ph, pw] = total / F(max(high * wide, 1))
    return pooled


def largest(image, rows, columns, mode):
    found = []
    for y, x in itertools.product(rows, columns):
        if y is None or x is None:
            found.append(np.zeros(len(image), F))
            continue
        corners = [(a, b) for a in (0, 1) for b in (0, 1)]
        terms = [(y[2 + a] * x[2 + b], image[:, y[a], x[b]]) for a, b in corners]
        if mode == "max_corners":
            found.append(np.max([weight * value for weight, value in terms], 0))
            continue
        total = terms[0][0] * terms[0][1]
        for weight, value in terms[1:]:
            total = fma(weight, value, total)
        found.append(total)
    return np.max(found, 0) if found else np.zeros(len(image), F)


def spread(grad, boxes, shape, how):
    images = np.zeros(shape, F)
    for n, (index, x1, y1, x2, y2) in enumerate(boxes):
        rows, high = axis_samples(y1, y2, grad.shape[2], shape[2], how)
        columns, wide = axis_samples(x1, x2, grad.shape[3], shape[3], how)
        for ph, samples in enumerate(rows):
            row = {}
            for pw, others in enumerate(columns):
                share = grad[n, :, ph, pw] / F(max(high * wide, 1))
                for x, weight in table(others):
                    row[x] = fma(weight, share, row.get(x, np.zeros(shape[1], F)))
            for (y, weight), (x, value) in itertools.product(table(samples), row.items()):
                images[int(index), :, y, x] = fma(weight, value, images[int(index), :, y, x])
    return images


def regions():
    random = np.random.default_rng(SEED)
    images = random.standard_normal((2, 3, 9, 8)).astype(F)
    boxes = [[0, 1.5, 2, 12.25, 17], [1, -3, -2, 30, 40], [0, 4, 4.5, 4, 4.5], [1, 9, 3, 2.5, 14]]
    return images, np.array(boxes, F), random.standard_normal((4, 3, 3, 2)).astype(F)


WAYS = [(0.5, 2, False), (0.5, 3, True), (0.3, 0, False), (1.0, 0, True)]


@pytest.mark.parametrize("how", WAYS)
def test_regions_have_the_documented_bits(how):
    images, boxes, grad = regions()
    for mode in ("avg", "max", "max_corners"):
        got = portacl.roi_align(images, boxes, (3, 2), *how, mode=mode)
        np.testing.assert_array_equal(got, pool(images, boxes, (3, 2), how, mode), mode)
    got = portacl.roi_align_backward(grad, boxes, images.shape, *how)
    np.testing.assert_array_equal(got, spread(grad, boxes, images.shape, how))


# ---- rotated rois -------------------------------------------------------------------------------


def turned_samples(roi, size, extents, how, clockwise):
    """For each bin the samples of both axes that count; and by how many a bin is divided."""
    scale, ratio, aligned = how
    shift = F(0.5 if aligned else 0)
    cx, cy = (F(c) * F(scale) - shift for c in roi[1:3])
    sides = [F(side) * F(scale) for side in (roi[4], roi[3])]
    if not aligned:
        sides = [max(side, F(1)) for side in sides]
    angle = float(-roi[5] if clockwise else roi[5])
    cos, sin = F(math.cos(angle)), F(math.sin(angle))
    along = []
    for side, bins in zip(sides, size):
        length = side / F(bins)
        count = ratio if ratio > 0 else math.ceil(length) if length > 0 else 0
        begins = [-side / F(2) + F(p) * length for p in range(bins)]
        along.append(
            [[b + (F(i) + F(0.5)) * length / F(count) for i in range(count)] for b in begins]
        )
    found = {}
    for ph, pw in np.ndindex(size):
        points = [
            (axis_sample((y * cos - x * sin) + cy, extents[0]),
             axis_sample((y * sin + x * cos) + cx, extents[1]))
            for y, x in itertools.product(along[0][ph], along[1][pw])
        ]  # fmt: skip
        found[ph, pw] = [pair for pair in points if None not in pair]
    return found, F(max(len(along[0][0]) * len(along[1][0]), 1))


def terms_of(points):
    for y, x in points:
        for a, b in itertools.product((0, 1), (0, 1)):
            yield y[2 + a] * x[2 + b], (slice(None), y[a], x[b])


@pytest.mark.parametrize("clockwise", [False, True])
@pytest.mark.parametrize("how", WAYS)
def test_rotated_regions_have_the_documented_bits(how, clockwise):
    images, boxes, grad = regions()
    boxes = np.concatenate([boxes, np.array([[0.3], [-1.2], [2.9], [0]], F)], 1)
    boxes[:, 3:5] = abs(boxes[:, 3:5])
    pooled, spread_out = np.zeros_like(grad), np.zeros_like(images)
    for n, roi in enumerate(boxes):
        bins, count = turned_samples(roi, (3, 2), images.shape[2:], how, clockwise)
        for (ph, pw), points in bins.items():
            total, share = np.zeros(3, F), grad[n, :, ph, pw] / count
            for weight, at in terms_of(points):
                total = fma(weight, images[int(roi[0])][at], total)
                old = spread_out[int(roi[0])][at]
                spread_out[int(roi[0])][at] = fma(weight, share, old)
            pooled[n, :, ph, pw] = total / count
    rest = (*how, clockwise)
    np.testing.assert_array_equal(portacl.roi_align_rotated(images, boxes, (3, 2), *rest), pooled)
    got = portacl.roi_align_rotated_backward(grad, boxes, images.shape, *rest)
    np.testing.assert_array_equal(got, spread_out)


# ---- deformable convolution ---------------------------------------------------------------------

STEPS = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}


def convolution():
    """2 x 4 x 7 x 6, a kernel of 3 x 2, 2 groups of each kind; some offsets are half pixels."""
    random = np.random.default_rng(SEED)
    offset = random.uniform(-2.5, 2.5, (2, 24, 4, 4))
    offset[1] = np.round(2 * offset[1]) / 2
    made = (
        random.standard_normal((2, 4, 7, 6)),
        offset,
        random.standard_normal((6, 2, 3, 2)),
        random.standard_normal(6),
        random.uniform(0, 1, (2, 12, 4, 4)),
        random.standard_normal((2, 6, 4, 4)),
    )
    return tuple(array.astype(F) for array in made)


def pixels(y, x, height, width):
    """Weights and places of four pixels (None outside), ty, tx, uy, ux; or None if it touches
    none."""
    if not (-1 <= x < width and -1 <= y < height):
        return None
    top, left = np.floor(y), np.floor(x)
    ty, tx, uy, ux = y - top, x - left, (top + F(1)) - y, (left + F(1)) - x
    found = []
    for dy, dx, weight in ((0, 0, ux * uy), (0, 1, tx * uy), (1, 0, ux * ty), (1, 1, tx * ty)):
        at = int(top) + dy, int(left) + dx
        found.append((weight, at if 0 <= at[0] < height and 0 <= at[1] < width else None))
    return found, ty, tx, uy, ux


def convolve(image, offset, weight, bias, mask, grad):
    """Output and the gradients of image, weight, offset, mask and bias."""
    output, grads = np.zeros_like(grad), [np.zeros_like(a) for a in (image, weight, offset, mask)]
    of_image, of_weight, of_offset, of_mask = grads
    of_bias = np.zeros_like(bias)
    for n in range(len(image)):
        block = np.zeros_like(weight)  # fewer than 256 positions
        lanes = np.zeros((6, 16), F)
        for number, (i, j) in enumerate(np.ndindex(4, 4)):
            columns = np.zeros((3, 2, 4), F)
            lanes[:, number] = grad[n, :, i, j]
            for kh, kw, group in np.ndindex(3, 2, 2):
                plane = group * 6 + kh * 2 + kw
                y = F(2 * i - 1 + kh) + offset[n, 2 * plane, i, j]
                x = F(j + 2 * kw) + offset[n, 2 * plane + 1, i, j]
                found = pixels(y, x, 7, 6)
                if found is None:
                    continue
                taps, ty, tx, uy, ux = found
                channels, m = slice(2 * group, 2 * group + 2), mask[n, plane, i, j]
                of_column = np.zeros(2, F)  # both kinds of groups have these channels
                for o in range(3 * group, 3 * group + 3):
                    of_column = fma(weight[o, :, kh, kw], grad[n, o, i, j], of_column)
                dots = []
                for share, at in taps:
                    if at is None:
                        dots.append(F(0))
                        continue
                    value = image[(n, channels, *at)]
                    column = columns[kh, kw, channels]
                    columns[kh, kw, channels] = fma(m * share, value, column)
                    old = of_image[(n, channels, *at)]
                    of_image[(n, channels, *at)] = fma(m * share, of_column, old)
                    dots.append(dot(of_column, value))
                nw, ne, sw, se = dots
                total = taps[0][0] * nw
                for (share, _), product in zip(taps[1:], dots[1:]):
                    total = fma(share, product, total)
                of_mask[n, plane, i, j] = total
                of_offset[n, 2 * plane, i, j] = m * fma(se - ne, tx, (sw - nw) * ux)
                of_offset[n, 2 * plane + 1, i, j] = m * fma(se - sw, ty, (ne - nw) * uy)
            for o in range(6):
                own, total = slice(o // 3 * 2, o // 3 * 2 + 2), F(0)
                for kh, kw in np.ndindex(3, 2):
                    for c, sample in enumerate(columns[kh, kw, own]):
                        total = fma(weight[o, c, kh, kw], sample, total)
                    block[o, :, kh, kw] = fma(
                        grad[n, o, i, j], columns[kh, kw, own], block[o, :, kh, kw]
                    )
                output[n, o, i, j] = total + bias[o]
        of_weight += block
        for half in (8, 4, 2, 1):
            lanes = lanes[:, :half] + lanes[:, half : 2 * half]
        of_bias += lanes[:, 0]
    return output, *grads, of_bias


# ---- every kernel, layout and number of threads -------------------------------------------------


def laid(array, layout):
    """A copy with the same elements that lies otherwise."""
    if array is None or array.dtype.kind == "i":
        return array
    if layout == "row-major":
        return np.ascontiguousarray(array)
    if layout == "column-major":
        return np.asfortranarray(array)
    if layout == "backwards":
        turned = (slice(None, None, -1),) * array.ndim
        return np.ascontiguousarray(array[turned])[turned]
    wide = np.zeros((*array.shape[:-1], 3 * array.shape[-1] + 1), array.dtype)
    wide[..., 1::3] = array
    return wide[..., 1::3]


LAYOUTS = ("row-major", "column-major", "backwards", "step")


def attention_results(case, layout):
    arrays = [laid(a, layout) for a in case]
    return portacl.ms_deform_attn(*arrays[:5]), *portacl.ms_deform_attn_backward(*arrays)


def region_results(case, layout):
    images, boxes, grad = (laid(a, layout) for a in case)
    results = []
    for how in WAYS:
        results.append(portacl.roi_align(images, boxes, (3, 2), *how))
        results.append(portacl.roi_align_backward(grad, boxes, images.shape, *how))
    return results


def convolution_results(case, layout):
    image, offset, weight, bias, mask, grad = (laid(a, layout) for a in case)
    output = portacl.deform_conv2d(image, offset, weight, bias, mask=mask, **STEPS)
    grads = portacl.deform_conv2d_backward(grad, image, offset, weight, mask=mask, **STEPS)
    return output, *grads


def expected_regions(images, boxes, grad):
    for how in WAYS:
        yield pool(images, boxes, (3, 2), how)
        yield spread(grad, boxes, images.shape, how)


OPERATORS = {
    "attention": (attention_case(SEED, queries=4, dtype=F), attention_oracle, attention_results),
    "regions": (regions(), expected_regions, region_results),
    "convolution": (convolution(), convolve, convolution_results),
}


@pytest.fixture(autouse=True)
def _settings():
    yield
    _core.set_impl("")
    portacl.set_num_threads(0)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_kernel_layout_and_number_of_threads_has_these_bits(name):
    case, oracle, results = OPERATORS[name]
    want = list(oracle(*case))
    for kernel in ("", *kernels()):
        _core.set_impl(kernel)
        for threads in range(1, 41):
            portacl.set_num_threads(threads)
            layout = LAYOUTS[threads % len(LAYOUTS)]
            for number, (one, other) in enumerate(zip(results(case, layout), want)):
                what = f"result {number} of {kernel or 'any'}, {layout}, {threads} threads"
                np.testing.assert_array_equal(one, other, what)


# ---- numbers that are not finite ----------------------------------------------------------------

ODD = (np.nan, np.inf, -np.inf, 3e38, -3e38, 1e30, -1e9, 2.0**31, -(2.0**63), 1e-40)
GUARD = F(-77)


class Guarded:
    """Results with guards around them."""

    def __init__(self):
        self.whole = []

    def __call__(self, shape):
        whole = np.full((math.prod(shape) + 128,), GUARD)
        self.whole.append(whole)
        return whole[64:-64].reshape(shape)

    def check(self):
        for whole in self.whole:
            assert (whole[:64] == GUARD).all() and (whole[-64:] == GUARD).all()


@pytest.mark.parametrize("kernel", ["", "ref"])
def test_odd_coordinates_write_nothing_beside_the_results(kernel):
    _core.set_impl(kernel)
    random = np.random.default_rng(SEED)
    made = Guarded()

    def spoiled(array, columns=slice(None)):
        chosen = array.copy()
        part = chosen[..., columns]
        part[random.random(part.shape) < 0.4] = 0
        odd = random.choice(np.array(ODD), part.shape).astype(F)
        part[...] = np.where(random.random(part.shape) < 0.4, odd, part)
        return chosen

    value, shapes, starts, locations, weights, grad = OPERATORS["attention"][0]
    images, boxes, pooled = regions()
    image, offset, weight, bias, mask, of_output = convolution()
    for _ in range(20):
        tables = (shapes, starts)
        points = [spoiled(locations), spoiled(weights)]
        joined = [p.reshape(*p.shape[:3], -1, *p.shape[5:]) for p in points]
        results = [made(a.shape) for a in (value, *joined)]
        output = made((*grad.shape[:2], math.prod(grad.shape[2:])))
        _core.ms_deform_attn(value, *tables, *joined, output)
        _core.ms_deform_attn_backward(value, *tables, *joined, grad, *results)
        rois = spoiled(boxes, slice(1, None))
        _core.roi_align(images, rois, 3, 2, 0.5, 2, False, 0, made(pooled.shape))
        _core.roi_align_backward(pooled, rois, images, 3, 2, 0.5, 2, True, 0, made(images.shape))
        moved, masks = spoiled(offset), spoiled(mask)
        steps = ([3, 2], [2, 1], [1, 1, 0, 0], [1, 2], 2, 2, 1)
        _core.deform_conv2d(image, weight, moved, bias, masks, *steps, made(of_output.shape), None)
        shapes_of = (image, weight, moved, bias, masks)
        _core.deform_conv2d_backward(
            *(image, of_output, None, weight, moved, masks, *steps),
            *(made(a.shape) for a in shapes_of),
        )
        made.check()
    portacl.roi_align(images, spoiled(boxes, slice(1, None)), 2, aligned=True, sampling_ratio=1)


@pytest.mark.parametrize("bad", [-1, 2, -0.5, np.nan, 1e20])
def test_bad_images_and_levels_are_refused_before_anything_is_written(bad):
    images, boxes, _ = regions()
    boxes[2, 0] = bad
    out = np.full((4, 3, 3, 2), GUARD)
    image = re.escape(f"{boxes[2, 0]:.10g}")
    with pytest.raises(ValueError, match=rf"gives roi 2 image {image}, wanted one in \[0, 2\)"):
        portacl.roi_align(images, boxes, (3, 2), out=out)
    assert (out == GUARD).all()
    value, shapes, starts, locations, weights, grad = OPERATORS["attention"][0]
    out = np.full((*grad.shape[:2], math.prod(grad.shape[2:])), GUARD)
    levels = [
        ((0, 4), 0),
        ((6, -1), 0),
        ((6, 4), -1),
        ((9, 4), 0),
        ((2**31, 2**31), 0),
        ((6, 4), 2**62),
    ]
    for (height, width), start in levels:
        spoiled, starting = shapes.copy(), starts.copy()
        spoiled[1], starting[1] = (height, width), start
        with pytest.raises(ValueError, match="gives level 1"):
            portacl.ms_deform_attn(value, spoiled, starting, locations, weights, out=out)
        assert (out == GUARD).all()
