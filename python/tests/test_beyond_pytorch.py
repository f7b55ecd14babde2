"""Resizing and sampling beyond PyTorch, against the definitions written out in NumPy.

Pictures in uint8, Lanczos's filter, antialiased rows and volumes, averages over areas, and the
paddings of the grid sampler. The formulas are the pages' (``docs/ops``); nothing calls PyTorch.
"""

import math

import numpy as np
import pytest

import portacl

F32, F64 = np.float32, np.float64


# ---- tables --------------------------------------------------------------------------------------


def triangle(s):
    return max(1 - abs(s), 0.0)


def keys(a):
    def weight(s):
        s = abs(s)
        if s < 1:
            return ((a + 2) * s - (a + 3)) * s * s + 1
        return (((s - 5) * s + 8) * s - 4) * a if s < 2 else 0.0

    return weight


def lanczos(s):
    def sinc(t):
        return math.sin(math.pi * t) / (math.pi * t) if t else 1.0

    return sinc(s) * sinc(s / 3) if -3 <= s < 3 else 0.0


def table(extent, size, kernel, taps, antialias, align_corners):
    """Weights (size, extent) in double."""
    rows = np.zeros((size, extent))
    if align_corners:
        ratio = (extent - 1) / (size - 1) if size > 1 else 0.0
    else:
        ratio = extent / size
    for o in range(size):
        if antialias:
            support = taps / 2 * max(ratio, 1)
            centre = ratio * (o + 0.5)
            low = max(int(centre - support + 0.5), 0)
            high = min(int(centre + support + 0.5), extent)
            at = np.arange(low, high)
            weights = np.array([kernel((i - centre + 0.5) / max(ratio, 1)) for i in at])
            rows[o, low:high] = weights / weights.sum()
            continue
        x = ratio * o if align_corners else ratio * (o + 0.5) - 0.5
        if taps == 2 and not align_corners:
            x = max(x, 0.0)
        first = min(math.floor(F32(x)), extent - 1)
        t = min(max(x - first, 0.0), 1.0)
        for k in range(taps):
            source = min(max(first - taps // 2 + 1 + k, 0), extent - 1)
            rows[o, source] += kernel(k + 1 - taps // 2 - t)
    return rows


def along(x, axis, rows):
    return np.moveaxis(np.tensordot(x, rows, ((axis,), (1,))), -1, axis)


# ---- uint8 ---------------------------------------------------------------------------------------


def whole_weights(rows, most):
    """Weights as whole numbers of 2**-precision, and the precision."""
    precision = 22
    if not most:
        precision = 0
        while precision < 22 and int(0.5 + rows.max() * 2 ** (precision + 1)) < 2**15:
            precision += 1
    return np.trunc(rows * 2**precision + np.where(rows < 0, -0.5, 0.5)).astype(np.int64), precision


def resized_picture(x, sizes, kernel, taps, antialias, align_corners, pillow=None):
    axes = list(range(x.ndim - 1, 1, -1))
    fewer_rows = x.shape[2] - sizes[0]
    if pillow == 13 and fewer_rows > 0 and fewer_rows > 2 * (x.shape[3] - sizes[1]):
        axes = [2, 3]
    for axis in axes:
        size = sizes[axis - 2]
        if size == x.shape[axis]:
            continue
        rows = table(x.shape[axis], size, kernel, taps, antialias, align_corners)
        weights, precision = whole_weights(rows, pillow is not None)
        sums = along(x.astype(np.int64), axis, weights) + (1 << (precision - 1))
        x = np.clip(sums >> precision, 0, 255).astype(np.uint8)
    return x


SIZES = [
    ((7,), (3,)),
    ((9,), (20,)),
    ((37, 53), (20, 31)),
    ((8, 9), (16, 4)),
    ((5, 6, 7), (8, 3, 5)),
]


@pytest.mark.parametrize("extents, sizes", SIZES)
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("name", ["linear", "cubic"])
def test_pictures_in_uint8(name, extents, sizes, antialias, align_corners):
    x = np.random.default_rng(1).integers(0, 256, (2, 3, *extents), dtype=np.uint8)
    taps = 2 if name == "linear" else 4
    kernel = triangle if name == "linear" else keys(-0.5 if antialias else -0.75)
    resize = getattr(portacl, f"upsample_{name}")
    got = resize(x, sizes, align_corners=align_corners, antialias=antialias)
    want = resized_picture(x, sizes, kernel, taps, antialias, align_corners)
    np.testing.assert_array_equal(got, want)
    interleaved = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    last = resize(
        np.moveaxis(interleaved, -1, 1), sizes, align_corners=align_corners, antialias=antialias
    )
    np.testing.assert_array_equal(last, want)


@pytest.mark.parametrize("sizes", [(20, 31), (10, 50), (60, 20), (3, 2)])
@pytest.mark.parametrize("exact, release", [("pillow", 13), ("pillow<13", 12)])
def test_pillows_bits(sizes, exact, release):
    x = np.random.default_rng(2).integers(0, 256, (1, 3, 37, 53), dtype=np.uint8)
    got = portacl.upsample_cubic(x, sizes, exact=exact)
    want = resized_picture(x, sizes, keys(-0.5), 4, True, False, release)
    np.testing.assert_array_equal(got, want)


# ---- Lanczos, antialiased rows and volumes -------------------------------------------------------


@pytest.mark.parametrize("extents, sizes", SIZES)
def test_lanczos(extents, sizes):
    resize, back = portacl.upsample_lanczos, portacl.upsample_lanczos_backward
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 3, *extents))
    want = x
    for axis, size in reversed(list(enumerate(sizes, 2))):
        if size != x.shape[axis]:
            want = along(want, axis, table(x.shape[axis], size, lanczos, 6, True, False))
    np.testing.assert_allclose(resize(x, sizes), want, rtol=0, atol=1e-12)
    half = resize(x.astype(np.float16), sizes)
    assert half.dtype == np.float16 and np.abs(half - want).max() < 0.02
    g = rng.standard_normal(want.shape)
    np.testing.assert_allclose((back(g, x.shape) * x).sum(), (g * want).sum(), rtol=1e-10)
    picture = rng.integers(0, 256, x.shape, dtype=np.uint8)
    whole = resized_picture(picture, sizes, lanczos, 6, True, False)
    np.testing.assert_array_equal(resize(picture, sizes), whole)


@pytest.mark.parametrize("extents, sizes", SIZES)
@pytest.mark.parametrize("name", ["linear", "cubic"])
def test_antialiased_rows_images_and_volumes(name, extents, sizes):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 3, *extents))
    taps, kernel = (2, triangle) if name == "linear" else (4, keys(-0.5))
    want = x
    for axis, size in reversed(list(enumerate(sizes, 2))):
        if size != x.shape[axis]:
            want = along(want, axis, table(x.shape[axis], size, kernel, taps, True, False))
    got = getattr(portacl, f"upsample_{name}")(x, sizes, antialias=True)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
    g = rng.standard_normal(want.shape)
    back = getattr(portacl, f"upsample_{name}_backward")(g, x.shape, antialias=True)
    np.testing.assert_allclose((back * x).sum(), (g * want).sum(), rtol=1e-10)


# ---- area ----------------------------------------------------------------------------------------


def windows(extent, size):
    return [(o * extent // size, -(-(o + 1) * extent // size)) for o in range(size)]


@pytest.mark.parametrize("extents, sizes", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_area(extents, sizes, dtype):
    pool = portacl.adaptive_avg_pool
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 3, *extents)).astype(dtype)
    if dtype == np.uint8:
        x = rng.integers(0, 256, x.shape, dtype=np.uint8)
    want = np.zeros((2, 3, *sizes), dtype)
    for at in np.ndindex(*sizes):
        ranges = [windows(e, s)[o] for e, s, o in zip(extents, sizes, at)]
        places = np.ndindex(*(high - low for low, high in ranges))
        total = np.zeros((2, 3), np.int64 if dtype == np.uint8 else dtype)
        for place in places:
            total = total + x[(..., *(low + p for (low, _), p in zip(ranges, place)))]
        counts = [high - low for low, high in ranges]
        if dtype == np.uint8:  # halves are rounded up
            count = math.prod(counts)
            total = (2 * total + count) // (2 * count)
        else:
            for count in counts:
                total = total / dtype(count)
        want[(..., *at)] = total
    np.testing.assert_array_equal(pool(x, size=sizes), want)


# ---- the paddings of the grid sampler ------------------------------------------------------------


def pixel(x, extent, align_corners):
    return (x + 1) / 2 * (extent - 1) if align_corners else ((x + 1) * extent - 1) / 2


def taps_of(at, mode):
    """(index, weight) of an axis' taps before padding."""
    if mode == "nearest":
        return [(int(np.round(at)), 1.0)]
    first = math.floor(at)
    if mode == "bilinear":
        return [(first, first + 1 - at), (first + 1, at - first)]
    return [(first + i, keys(-0.75)(at - first - i)) for i in range(-1, 3)]


def sampled(x, grid, mode, align_corners, padding, value, outside):
    """One point after the other, in double."""
    axes = grid.shape[-1]
    extents = x.shape[2:]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, *place in np.ndindex(grid.shape[:-1]):
        at = [
            pixel(grid[(n, *place, axes - 1 - a)], extents[a], align_corners) for a in range(axes)
        ]
        edge = 0.0 if align_corners else 0.5
        if outside is not None and any(p < -edge or p > e - 1 + edge for p, e in zip(at, extents)):
            out[(n, slice(None), *place)] = outside
            continue
        if padding == "circular":
            at = [p if -1 <= p < e else p - math.floor(p / e) * e for p, e in zip(at, extents)]
        total = np.zeros(x.shape[1])
        taps = [taps_of(p, mode) for p in at]
        for chosen in np.ndindex(*map(len, taps)):
            index, weights = zip(*(axis[i] for axis, i in zip(taps, chosen)))
            if padding == "circular":
                index = tuple(i % e for i, e in zip(index, extents))
            inside = all(0 <= i < e for i, e in zip(index, extents))
            values = x[(n, slice(None), *index)] if inside else value
            total += math.prod(weights) * values
        out[(n, slice(None), *place)] = total
    return out


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize(
    "padding, value, outside",
    [
        ("circular", 0.0, None),
        ("constant", 3.25, None),
        ("zeros", 0.0, -2.0),
        ("circular", 0.0, 7.0),
    ],
)
def test_paddings(axes, mode, align_corners, padding, value, outside):
    rng = np.random.default_rng(6)
    x = rng.standard_normal((2, 3, *(4, 5, 6)[-axes:]))
    grid = rng.uniform(-1.8, 1.8, (2, *(2, 4, 5)[-axes:], axes))
    sample = getattr(portacl, f"grid_sampler_{axes}d")
    options = {
        "interpolation": mode,
        "padding": padding,
        "align_corners": align_corners,
        "outside": outside,
        **({"value": value} if padding == "constant" else {}),
    }
    want = sampled(x, grid, mode, align_corners, padding, value, outside)
    np.testing.assert_allclose(sample(x, grid, **options), want, rtol=0, atol=1e-12)

    g = rng.standard_normal(want.shape)
    back = getattr(portacl, f"grid_sampler_{axes}d_backward")
    input_grad, grid_grad = back(g, x, grid, **options)
    zero = sampled(0 * x, grid, mode, align_corners, padding, value, outside)
    np.testing.assert_allclose((input_grad * x).sum(), (g * (want - zero)).sum(), rtol=1e-10)
    if mode == "nearest":
        assert not grid_grad.any()
        return
    direction, step = rng.standard_normal(grid.shape), 1e-7
    high, low = (
        sampled(x, grid + sign * step * direction, mode, align_corners, padding, value, outside)
        for sign in (1, -1)
    )
    quotient = (g * (high - low)).sum() / (2 * step)
    np.testing.assert_allclose((grid_grad * direction).sum(), quotient, rtol=1e-6)
