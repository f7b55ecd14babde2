"""Resizing and affine grids inside PyTorch: enable(), and the functions of portacl.torch."""

from __future__ import annotations

import contextlib

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812

import portacl.torch as pt  # noqa: E402
from portacl.torch import _override  # noqa: E402

aten = torch.ops.aten

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
# Modes of F.interpolate, with the shapes and sizes that they are tried on.
CASES = [
    (dict(mode="nearest"), (2, 3, 9), (13,)),
    (dict(mode="nearest"), (2, 5, 6, 7), (11, 9)),
    (dict(mode="nearest"), (2, 5, 3, 4, 5), (5, 3, 9)),
    (dict(mode="nearest-exact"), (2, 5, 6, 7), (11, 9)),
    (dict(mode="linear"), (2, 3, 9), (13,)),
    (dict(mode="linear", align_corners=True), (2, 3, 9), (4,)),
    (dict(mode="bilinear"), (2, 5, 6, 7), (12, 14)),
    (dict(mode="bilinear"), (2, 5, 60, 7), (150, 14)),
    (dict(mode="bilinear", align_corners=True), (2, 5, 6, 7), (11, 3)),
    (dict(mode="trilinear"), (2, 5, 3, 4, 5), (5, 3, 9)),
    (dict(mode="bicubic"), (2, 5, 6, 7), (11, 9)),
    (dict(mode="bicubic", align_corners=True), (2, 5, 6, 7), (3, 14)),
    (dict(mode="bilinear", antialias=True), (2, 5, 12, 17), (5, 20)),
    (dict(mode="bicubic", antialias=True), (2, 5, 12, 17), (5, 20)),
]
if hasattr(aten, "_upsample_lanczos2d_aa"):  # PyTorch 2.15
    CASES.append((dict(mode="lanczos", antialias=True), (2, 5, 12, 17), (5, 20)))
IDS = ["-".join(map(str, (*m.values(), len(s) - 2, o[0]))) for m, s, o in CASES]


@pytest.fixture(autouse=True)
def _disabled():
    pt.disable()
    yield
    pt.disable()


@pytest.fixture(params=["native", "python"])
def way(request, python_kernels):
    """Kernels in PyTorch's dispatcher without Python, and as before PyTorch 2.13."""
    if request.param == "native" and not _override.uses_native_kernels:
        pytest.skip("this PyTorch takes no kernels without Python")
    with python_kernels() if request.param == "python" else contextlib.nullcontext():
        yield
        pt.disable()


def layouts(shape):
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(len(shape))
    return [torch.contiguous_format] + ([last] if last else [])


def resized(modes, size, x, grad):
    """The result and the gradient, with their strides."""
    leaf = x.detach().requires_grad_()
    y = F.interpolate(leaf, size=size, **modes)
    y.backward(grad.to(y.dtype))
    return y.detach(), leaf.grad


def near(got, want, exact, dtype):
    """Both are as near to the exact values as the type allows.

    A coordinate in float32 is off by up to 1.5 eps of itself, which moves a weight as much. PyTorch
    rounds the weights of 16-bit types as well.
    """
    assert got.dtype == want.dtype and got.shape == want.shape
    compute = torch.float64 if dtype == torch.float64 else torch.float32
    extent = max(*got.shape[2:], 150)
    scale = max(1.0, exact.abs().max().item())
    allowed = scale * (2 * torch.finfo(dtype).eps + 4 * extent * torch.finfo(compute).eps)
    assert (got.double() - exact).abs().max() <= allowed
    assert (got.double() - want.double()).abs().max() <= 4 * allowed


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("modes", "shape", "size"), CASES, ids=IDS)
def test_enabled_interpolate(way, modes, shape, size, dtype):
    half = dtype in (torch.float16, torch.bfloat16)
    x, grad = torch.randn(shape).to(dtype), torch.randn(*shape[:2], *size).to(dtype)
    exact = resized(modes, size, x.double(), grad.double())
    for memory_format in layouts(shape):
        x, grad = (t.contiguous(memory_format=memory_format) for t in (x, grad))
        if half and modes.get("antialias"):  # PyTorch has none
            stock = resized(modes, size, x.float(), grad.float())
            stock = [t.to(dtype) for t in stock]
        else:
            stock = resized(modes, size, x, grad)
        with pt.accelerated(forward=True):
            ours = resized(modes, size, x, grad)
        for got, want, wanted in zip(ours, stock, exact):
            assert got.stride() == want.stride()
            if modes["mode"].startswith("nearest"):
                assert torch.equal(got, want)
            else:
                near(got, want, wanted, dtype)


@pytest.mark.parametrize(("modes", "shape", "size"), CASES, ids=IDS)
def test_stock_kernels_come_back(modes, shape, size):
    x, grad = torch.randn(shape), torch.randn(*shape[:2], *size)
    before = resized(modes, size, x, grad)
    with pt.accelerated(forward=True):
        resized(modes, size, x, grad)
    assert all(torch.equal(a, b) for a, b in zip(before, resized(modes, size, x, grad)))


@pytest.mark.parametrize(("modes", "shape", "size"), CASES, ids=IDS)
def test_enabled_derivatives(modes, shape, size):
    x = torch.randn(1, 2, *shape[2:], dtype=torch.float64, requires_grad=True)
    with pt.accelerated(forward=True):
        resize = lambda t: F.interpolate(t, size=size, **modes)  # noqa: E731
        assert torch.autograd.gradcheck(resize, x, fast_mode=True, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(resize, x, fast_mode=True)


def test_kernels_are_used(way):
    """A NaN beside a weight of 0 tells the kernels apart from nothing; the layout does."""
    x = torch.randn(1, 8, 40, 40).contiguous(memory_format=torch.channels_last)
    with pt.accelerated(forward=True):
        a, b = (F.interpolate(t, scale_factor=2.3, mode="bicubic") for t in (x, x.contiguous()))
    assert torch.equal(a, b)  # PyTorch's bits depend on the layout


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_pictures_keep_pytorchs_bits(way, mode):
    if mode != "nearest" and tuple(map(int, torch.__version__.split(".")[:2])) < (2, 15):
        pytest.skip("older releases of PyTorch have other bits")
    picture = torch.randint(0, 256, (1, 3, 9, 8), dtype=torch.uint8)
    want = F.interpolate(picture, size=(20, 5), mode=mode)
    with pt.accelerated(forward=True):
        assert torch.equal(F.interpolate(picture, size=(20, 5), mode=mode), want)


@pytest.mark.parametrize("scale", [1.3, 0.37, 2.0])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_scale_factors_count(mode, scale):
    x = torch.randn(1, 2, 11, 13, dtype=torch.float64)
    want = F.interpolate(x, scale_factor=scale, mode=mode)
    with pt.accelerated(forward=True):
        torch.testing.assert_close(F.interpolate(x, scale_factor=scale, mode=mode), want)
    torch.testing.assert_close(pt.interpolate(x, scale_factor=scale, mode=mode), want)
    torch.testing.assert_close(
        pt.interpolate(x, scale_factor=scale, mode=mode, recompute_scale_factor=True),
        F.interpolate(x, scale_factor=scale, mode=mode, recompute_scale_factor=True),
    )


def test_negative_scales_count_as_none():
    x = torch.randn(1, 1, 4, 4)
    want = aten.upsample_bilinear2d(x, [7, 7], False, -1.0, None)
    with pt.accelerated(forward=True):
        got = aten.upsample_bilinear2d(x, [7, 7], False, -1.0, None)
    torch.testing.assert_close(got, want)


def test_errors_are_runtime_errors(way):
    pt.enable(forward=True)
    x = torch.randn(1, 2, 4, 4)
    with pytest.raises(RuntimeError, match="asks? for"):
        aten.upsample_bilinear2d_backward(x, [5, 5], [1, 2, 8, 8], False)
    with pytest.raises(RuntimeError, match="output"):
        aten.upsample_bilinear2d(x, [0, 5], False)
    with pytest.raises(RuntimeError, match="rank|spatial"):
        aten.upsample_bilinear2d(torch.randn(1, 2, 4), [5, 5], False)


def test_bits_do_not_depend_on_threads_or_layout():
    x = torch.randn(2, 7, 33, 40)
    grad = torch.randn(2, 7, 70, 21)
    with pt.accelerated(forward=True):
        for modes, _, _ in CASES:
            if modes["mode"] in ("linear", "trilinear") or len(modes) > 9:
                continue
            results = []
            for threads in (1, 2, 3):
                torch.set_num_threads(threads)
                for memory_format in (torch.contiguous_format, torch.channels_last):
                    args = (t.contiguous(memory_format=memory_format) for t in (x, grad))
                    results.append(resized(modes, (70, 21), *args))
            for got in results[1:]:
                assert all(torch.equal(a, b) for a, b in zip(got, results[0]))


@pytest.mark.parametrize(("modes", "shape", "size"), CASES, ids=IDS)
def test_interpolate_equals_torch(modes, shape, size):
    for memory_format in layouts(shape):
        x = torch.randn(shape).contiguous(memory_format=memory_format)
        want = F.interpolate(x, size=size, **modes)
        got = pt.interpolate(x, size=size, **modes)
        assert got.stride() == want.stride()
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize(("modes", "shape", "size"), CASES, ids=IDS)
def test_derivatives_of_interpolate(modes, shape, size):
    x = torch.randn(1, 2, *shape[2:], dtype=torch.float64, requires_grad=True)
    resize = lambda t: pt.interpolate(t, size=size, **modes)  # noqa: E731
    assert torch.autograd.gradcheck(resize, x, fast_mode=True, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(resize, x, fast_mode=True)


def test_interpolate_refusals():
    x = torch.ones(1, 1, 4, 4)
    for arguments, message in (
        (dict(size=5, mode="bicubical"), "must be one of"),
        (dict(size=5, mode="trilinear"), "is for 3 axes"),
        (dict(size=5, mode="nearest", antialias=True), "neither align_corners nor antialias"),
        (dict(mode="bilinear"), "exactly one of size and scale_factor"),
        (dict(size=5, scale_factor=2.0, mode="bilinear"), "exactly one of"),
        (dict(scale_factor=-1.0, mode="bilinear"), "finite number above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            pt.interpolate(x, **arguments)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 5, 7), (1, 1, 1, 1), (2, 3, 3, 4, 5)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_affine_grid(way, size, align, dtype):
    theta = torch.randn(size[0], len(size) - 2, len(size) - 1).to(dtype)
    exact = F.affine_grid(theta.double(), size, align_corners=align)
    eps = torch.finfo(dtype).eps
    with pt.accelerated(forward=True):
        enabled = F.affine_grid(theta, size, align_corners=align)
    for got in (enabled, pt.affine_grid(theta, size, align)):
        assert got.dtype == dtype and got.shape == exact.shape and got.is_contiguous()
        assert (got.double() - exact).abs().max() <= 4 * eps * max(1, exact.abs().max().item())


@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT", reason="PyTorch has no fused steps here"
)
@pytest.mark.parametrize("align", [False, True])
def test_affine_grid_and_nearest_sampling_break_ties_as_pytorch(align):
    for axes, extents in ((2, range(1, 100)), (3, (2, 7, 40, 48, 64))):
        for n in extents:
            step = 1 / max(1, n - align)  # half a pixel
            maps = [(1, 0), (-1, 0), (0.5, 0), (2, 0), (0.75, 0), (1, step), (1, -step), (-1, step)]
            theta = torch.zeros(len(maps), axes, axes + 1)
            theta[:, range(axes), range(axes)] = torch.tensor([[m[0]] * axes for m in maps]).float()
            theta[:, 0, axes] = torch.tensor([shift for _, shift in maps])
            size = (len(maps), 1, *[3] * (axes - 1), n)
            stock = F.affine_grid(theta, size, align_corners=align)
            assert torch.equal(pt.affine_grid(theta, size, align), stock), n


def test_derivatives_of_affine_grid():
    for size in ((2, 3, 5, 7), (1, 2, 3, 4, 5)):
        axes = len(size) - 2
        theta = torch.randn(size[0], axes, axes + 1, dtype=torch.float64, requires_grad=True)
        make = lambda t, s=size: pt.affine_grid(t, s)  # noqa: E731
        assert torch.autograd.gradcheck(make, theta, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(make, theta)
        (ours,) = torch.autograd.grad(make(theta).sin().sum(), theta)
        (torchs,) = torch.autograd.grad(
            F.affine_grid(theta, size, align_corners=False).sin().sum(), theta
        )
        torch.testing.assert_close(ours, torchs)
        with pt.accelerated(forward=True):
            stock = lambda t, s=size: F.affine_grid(t, s, align_corners=True)  # noqa: E731
            assert torch.autograd.gradcheck(stock, theta)
            assert torch.autograd.gradgradcheck(stock, theta)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 5, 37), (2, 3, 3, 4, 19)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradient_of_affine_grid_is_portacls(way, dtype, size, forward):
    axes = len(size) - 2
    theta = torch.randn(size[0], axes, axes + 1).to(dtype).requires_grad_()
    weights = torch.randn(size[0], *size[2:], axes).to(dtype)

    def gradient(make):
        return torch.autograd.grad(make(theta, size, align_corners=False), theta, weights)[0]

    want = gradient(pt.affine_grid)
    stock = gradient(F.affine_grid)
    assert dtype == torch.float64 or not torch.equal(stock, want)  # else nothing is seen below
    with pt.accelerated(forward=forward):
        assert torch.equal(gradient(F.affine_grid), want)
        weights = weights.mT.contiguous().mT  # in memory as sampling never leaves it
        assert torch.equal(gradient(F.affine_grid), want)
    assert torch.equal(gradient(F.affine_grid), stock)


def test_higher_derivatives_of_affine_grid_with_its_gradient_replaced(way):
    size = (2, 3, 5, 7)
    theta = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    loss = lambda t: F.affine_grid(t, size, align_corners=False).sin().sum()  # noqa: E731
    want = (
        torch.func.grad(loss)(theta),
        torch.func.hessian(loss)(theta),
        torch.func.vmap(torch.func.grad(loss))(torch.stack([theta, 2 * theta])),
    )
    with pt.accelerated():
        assert torch.autograd.gradgradcheck(loss, theta)
        got = (
            torch.func.grad(loss)(theta),
            torch.func.hessian(loss)(theta),
            torch.func.vmap(torch.func.grad(loss))(torch.stack([theta, 2 * theta])),
        )
        with torch.inference_mode():  # autograd, before which it is replaced, is not there
            aten.affine_grid_generator_backward(torch.ones(2, 5, 7, 2), size, False)
    torch.testing.assert_close(got, want)


def test_affine_grid_refusals():
    with pytest.raises(ValueError, match="must be"):
        pt.affine_grid(torch.ones(1, 2, 4), (1, 1, 4, 4))
    with pytest.raises(ValueError, match="theta of shape .* asks for N = 1"):
        pt.affine_grid(torch.ones(1, 2, 3), (2, 1, 4, 4))


OPERATORS = [
    ("upsample_linear", ((4, 9), None, False, False)),
    ("upsample_linear_backward", ((1, 2, 3, 9), None, True, False)),
    ("upsample_cubic", ((4, 9), [0.9, 1.9], False, True)),
    ("upsample_cubic_backward", ((1, 2, 3, 9), None, False, True)),
    ("upsample_lanczos", ((4, 9), [0.9, 1.9], False, True)),
    ("upsample_lanczos_backward", ((1, 2, 3, 9), None, False, True)),
    ("upsample_nearest", ((4, 9), None)),
    ("upsample_nearest_backward", ((1, 2, 3, 9), None)),
]


@pytest.mark.parametrize(("name", "arguments"), OPERATORS)
def test_opcheck(name, arguments):
    x = torch.randn(1, 2, 5, 5, dtype=torch.float64, requires_grad=True)
    torch.library.opcheck(getattr(torch.ops.portacl, name), (x, *arguments))


def test_opcheck_of_affine_grid():
    theta = torch.randn(1, 2, 3, dtype=torch.float64, requires_grad=True)
    grad = torch.randn(1, 3, 4, 2, dtype=torch.float64, requires_grad=True)
    torch.library.opcheck(torch.ops.portacl.affine_grid, (theta, (1, 1, 3, 4), False))
    torch.library.opcheck(torch.ops.portacl.affine_grid_backward, (grad, (1, 1, 3, 4), False))


def test_compile_autocast_and_vmap():
    x = torch.randn(2, 3, 8, 8)
    compiled = torch.compile(
        lambda t: pt.interpolate(t, size=(5, 11), mode="bicubic", antialias=True), backend="eager"
    )
    want = pt.interpolate(x, size=(5, 11), mode="bicubic", antialias=True)
    assert torch.equal(compiled(x), want)
    batch = torch.stack([x, x + 1])
    mapped = torch.func.vmap(lambda t: pt.interpolate(t, size=(5, 11), mode="bicubic"))(batch)
    assert torch.equal(mapped[1], pt.interpolate(x + 1, size=(5, 11), mode="bicubic"))
    with torch.autocast("cpu", torch.bfloat16), pt.accelerated(forward=True):
        want = F.interpolate(x.bfloat16(), scale_factor=2, mode="bilinear").dtype
        assert pt.interpolate(x.bfloat16(), scale_factor=2, mode="bilinear").dtype == want


# ---- what stays PyTorch's ------------------------------------------------------------------------


def test_out_variants_stay_pytorchs():
    """They are the way to PyTorch's own kernels where the functions are portacl's."""
    x = torch.randn(2, 3, 7, 9)

    def into():
        return aten.upsample_bilinear2d.out(x, [40, 50], False, out=torch.empty(0))

    want = into()
    pt.enable(forward=True)
    assert torch.equal(into(), want)
    assert pt.interpolate(x, size=(40, 50), mode="bilinear").equal(
        aten.upsample_bilinear2d(x, [40, 50], False)
    )
