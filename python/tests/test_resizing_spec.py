"""What resizing has beyond PyTorch, by the formulas of its specification: NumPy alone.

Everything is equal, but for two classes, each a test of its own below: Lanczos tables in float64
differ by the last bit of the sine, and PyTorch repeats the first row in results of one column.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import portacl
from kernels import kernel as computing_with
from kernels import kernels

FILTERS = [
    ("linear", True, False),
    ("cubic", True, False),
    ("lanczos", True, False),
    ("linear", False, False),
    ("cubic", False, False),
    ("linear", False, True),
    ("cubic", True, True),
]
"""Mode, antialias, align_corners."""
SIZES = [(20, 31), (80, 90), (10, 200), (37, 20), (3, 2), (65, 53), (37, 53)]
HALF_TAPS = {"linear": 1, "cubic": 2, "lanczos": 3}
RESIZE = {mode: getattr(portacl, f"upsample_{mode}") for mode in HALF_TAPS}


@pytest.fixture(params=kernels())
def kernel(request):
    """Computes with the kernels of each instruction set."""
    with computing_with(request.param):
        yield request.param


# ---- tables -------------------------------------------------------------------------------------


def sinc(t):
    return math.sin(math.pi * t) / (math.pi * t) if t else 1.0


def weight(mode, antialias, at):
    s = abs(at)
    if mode == "linear":
        return max(1 - s, 0.0)
    if mode == "lanczos":
        return sinc(at) * sinc(at / 3) if -3 <= at < 3 else 0.0
    a = -0.5 if antialias else -0.75
    if s < 1:
        return ((a + 2) * s - (a + 3)) * s * s + 1
    return (((s - 5) * s + 8) * s - 4) * a if s < 2 else 0.0


def ratio_of(source, count, align_corners):
    if align_corners:
        return (source - 1) / (count - 1) if count > 1 else 0.0
    return source / count


def window(source, count, o, mode, align_corners):
    """First tap and weights of an antialiased output, in double."""
    ratio, half = ratio_of(source, count, align_corners), HALF_TAPS[mode]
    support, inverse = (half * ratio, 1 / ratio) if ratio >= 1 else (half, 1.0)
    centre = ratio * (o + 0.5)
    first, end = max(int(centre - support + 0.5), 0), min(int(centre + support + 0.5), source)
    taps = [weight(mode, True, (i - centre + 0.5) * inverse) for i in range(first, end)]
    total = sum(taps)
    return first, [v / total if total else v for v in taps]


def taps_of(source, count, o, mode, align_corners):
    """The same without antialiasing: weights of taps outside go to the last one inside."""
    ratio, half = ratio_of(source, count, align_corners), HALF_TAPS[mode]
    x = ratio * o if align_corners else ratio * (o + 0.5) - 0.5
    x = max(x, 0.0) if half == 1 else x
    i = min(math.floor(np.float32(x)), source - 1)
    t = min(max(x - i, 0.0), 1.0)
    first, end = max(i - half + 1, 0), min(i + half + 1, source)
    weights = [0.0] * (end - first)
    for j in range(1 - half, half + 1):
        weights[min(max(i + j, 0), source - 1) - first] += weight(mode, False, j - t)
    return first, weights


def table(source, count, mode, antialias=True, align_corners=False):
    """First tap and weights of each output."""
    row = window if antialias else taps_of
    return [row(source, count, o, mode, align_corners) for o in range(count)]


def matrix(source, count, mode):
    full = np.zeros((count, source))
    for o, (first, weights) in enumerate(table(source, count, mode)):
        full[o, first : first + len(weights)] = weights
    return full


# ---- bytes --------------------------------------------------------------------------------------


def fixed(rows, pillow):
    """Whole numbers, and the bits behind the point."""
    bits = 22 if pillow else 0
    largest = max(max(weights) for _, weights in rows)
    while not pillow and bits < 22 and int(0.5 + largest * 2 ** (bits + 1)) < 2**15:
        bits += 1
    whole = lambda v: int(v * 2**bits + (-0.5 if v < 0 else 0.5))  # noqa: E731
    return [(first, [whole(v) for v in weights]) for first, weights in rows], bits


def resize_last(x, rows, pillow):
    rows, bits = fixed(rows, pillow)
    out = np.empty((*x.shape[:-1], len(rows)), np.int64)
    for o, (first, weights) in enumerate(rows):
        out[..., o] = x[..., first : first + len(weights)] @ np.array(weights)
    return np.clip((out + 2 ** (bits - 1)) >> bits, 0, 255)


def resize_bytes(x, size, how, release=0):
    """`release`: Pillow's; 0 is PyTorch's arithmetic."""
    axes = [3, 2]
    leaves_out = [x.shape[axis] - size[axis - 2] for axis in (2, 3)]
    if release >= 13 and leaves_out[0] > 0 and leaves_out[0] > 2 * leaves_out[1]:
        axes.reverse()
    y = x.astype(np.int64)
    for axis in axes:
        if y.shape[axis] != size[axis - 2]:
            rows = table(y.shape[axis], size[axis - 2], *how)
            y = resize_last(y.swapaxes(axis, 3), rows, release > 0).swapaxes(axis, 3)
    return y.astype(np.uint8)


def pictures(rng, channels):
    """Row-major and channels_last."""
    for h, w in [(37, 53), (8, 9)]:
        x = rng.integers(0, 256, (2, channels, h, w), dtype=np.uint8)
        yield x, np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


@pytest.mark.parametrize("how", FILTERS)
def test_bytes(rng, kernel, how):
    mode, antialias, align_corners = how
    options = {} if mode == "lanczos" else {"align_corners": align_corners, "antialias": antialias}
    for channels in (1, 3, 4, 5):
        for layouts, size in itertools.product(pictures(rng, channels), SIZES):
            want = resize_bytes(layouts[0], size, how)
            for x in layouts:
                assert np.array_equal(RESIZE[mode](x, size, **options), want), (x.shape, size)


@pytest.mark.parametrize("mode", HALF_TAPS)
@pytest.mark.parametrize(("exact", "release"), [("pillow", 13), ("pillow<13", 12)])
def test_bytes_of_pillow(rng, kernel, mode, exact, release):
    for channels in (1, 3):
        for layouts, size in itertools.product(pictures(rng, channels), SIZES):
            want = resize_bytes(layouts[0], size, (mode,), release)
            for x in layouts:
                assert np.array_equal(RESIZE[mode](x, size, exact=exact), want), (x.shape, size)


# ---- Lanczos ------------------------------------------------------------------------------------


def lanczos(source, count, kind):
    """Each operation rounded to `kind`, but for the filter, which is rounded once."""
    ratio = kind(kind(source) / kind(count))
    half = kind(kind(3) * ratio) if ratio >= 1 else kind(3)
    inverse = kind(kind(1) / ratio) if ratio >= 1 else kind(1)
    full = np.zeros((count, source), kind)
    for o in range(count):
        centre = kind(float(ratio) * (o + 0.5))
        first = max(int(float(centre - half) + 0.5), 0)
        end = min(int(float(centre + half) + 0.5), source)
        at = [float(kind(i) - centre) + 0.5 for i in range(first, end)]
        weights = [kind(weight("lanczos", True, float(kind(v * float(inverse))))) for v in at]
        total = kind(0)
        for v in weights:
            total = kind(total + v)
        full[o, first:end] = [kind(v / total) for v in weights]
    return full


def lanczos_tables(kind):
    """The formulas' and the package's, of every pair of extents."""
    for source, count in itertools.permutations(range(1, 24), 2):
        eye = np.eye(source, dtype=kind)[:, None, None, :]
        got = portacl.upsample_lanczos(eye, (1, count))[:, 0, 0].T
        yield lanczos(source, count, kind), got


def test_lanczos_in_float32(kernel):
    for want, got in lanczos_tables(np.float32):
        assert np.array_equal(got, want), want.shape


def test_lanczos_in_float64_differs_by_the_last_bit_of_the_sine(kernel):
    """The library's own sine has an error below 2^-45 before weights are rounded to float32."""
    tables = list(lanczos_tables(np.float64))
    assert all(np.abs(got - want).max() <= np.finfo(float).eps for want, got in tables)
    equal = sum(np.array_equal(got, want) for want, got in tables)
    assert equal > 0.8 * len(tables), (equal, len(tables))


def test_pytorch_repeats_the_first_row_of_one_column(rng):
    torch = pytest.importorskip("torch")
    if not hasattr(torch.ops.aten, "_upsample_lanczos2d_aa"):
        pytest.skip("PyTorch before 2.15 lacks Lanczos")
    x = rng.standard_normal((2, 3, 9, 7))
    rows, columns = lanczos(9, 5, np.float64), lanczos(7, 1, np.float64)
    want = np.einsum("oh,nchw,pw->ncop", rows, x, columns)
    assert np.abs(portacl.upsample_lanczos(x, (5, 1)) - want).max() < 1e-14
    theirs = torch.nn.functional.interpolate(
        torch.from_numpy(x), (5, 1), mode="lanczos", antialias=True
    ).numpy()
    right = np.abs(theirs - want).max() < 1e-14
    assert right or (theirs == theirs[:, :, :1]).all()


# ---- area, volumes, padding ---------------------------------------------------------------------


def area(x, size):
    out = np.zeros((*x.shape[:2], *size), x.dtype)
    for o in np.ndindex(*size):
        spans = [
            range(i * extent // count, -(-(i + 1) * extent // count))
            for i, count, extent in zip(o, size, x.shape[2:])
        ]
        total = np.zeros(x.shape[:2], x.dtype)
        for at in itertools.product(*spans):
            total = total + x[(..., *at)]
        for span in spans:
            total = total / x.dtype.type(len(span))
        out[(..., *o)] = total
    return out


def test_area(rng, kernel):
    for extents, size in [
        ((7, 9), (3, 4)),
        ((20, 31), (7, 5)),
        ((5, 5), (10, 10)),
        ((13, 8), (5, 8)),
        ((32, 32), (8, 8)),
        ((29,), (6,)),
        ((4, 7, 9), (3, 2, 5)),
    ]:
        x = rng.standard_normal((2, 3, *extents)).astype(np.float32)
        assert np.array_equal(portacl.adaptive_avg_pool(x, size=size), area(x, size)), size


@pytest.mark.parametrize("mode", HALF_TAPS)
def test_antialiased_volumes(rng, kernel, mode):
    x = rng.standard_normal((1, 2, 9, 7, 8))
    for size in [(4, 3, 5), (12, 7, 3)]:
        want = x
        for axis, count in zip((4, 3, 2), size[::-1]):
            if want.shape[axis] != count:
                rows = matrix(want.shape[axis], count, mode)
                want = np.moveaxis(np.tensordot(want, rows, ((axis,), (1,))), -1, axis)
        options = {} if mode == "lanczos" else {"antialias": True}
        assert np.abs(RESIZE[mode](x, size, **options) - want).max() < 1e-12


def pixel(grid, extent, align_corners):
    return (grid + 1) / 2 * (extent - 1) if align_corners else ((grid + 1) * extent - 1) / 2


def sample(x, grid, align_corners, tap):
    """`tap(place, extent)`: where a tap is read, and whether it counts."""
    h, w = x.shape[2:]
    ix, iy = (pixel(grid[..., a], e, align_corners) for a, e in ((0, w), (1, h)))
    out = 0.0
    for dy, dx in itertools.product((0, 1), repeat=2):
        x0, y0 = np.floor(ix) + dx, np.floor(iy) + dy
        share = (1 - np.abs(ix - x0)) * (1 - np.abs(iy - y0))
        out = out + share[:, None] * tap(x, y0.astype(int), x0.astype(int))
    return out


@pytest.mark.parametrize("align_corners", [False, True])
def test_padding(rng, kernel, align_corners):
    x = rng.standard_normal((2, 3, 5, 6))
    grid = rng.uniform(-1.3, 1.3, (2, 4, 7, 2))
    n = np.arange(2)[:, None, None]

    def circular(x, y0, x0):
        return x[n, :, y0 % 5, x0 % 6].transpose(0, 3, 1, 2)

    def constant(x, y0, x0):
        inside = (y0 >= 0) & (y0 < 5) & (x0 >= 0) & (x0 < 6)
        return np.where(inside[:, None], circular(x, y0, x0), 3.25)

    options = {"align_corners": align_corners}
    got = portacl.grid_sampler_2d(x, grid, padding="circular", **options)
    assert np.abs(got - sample(x, grid, align_corners, circular)).max() < 1e-12
    if not align_corners:  # a thousand periods away
        far = portacl.grid_sampler_2d(x, grid + 2000, padding="circular", **options)
        assert np.abs(far - got).max() < 1e-9
    got = portacl.grid_sampler_2d(x, grid, padding="constant", value=3.25, **options)
    assert np.abs(got - sample(x, grid, align_corners, constant)).max() < 1e-12
