"""enable(forward=True): PyTorch's forward functions on portacl's kernels."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812

import portacl.torch as pt  # noqa: E402

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def _disabled():
    pt.disable()
    yield
    pt.disable()


def random(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=generator).to(dtype)


def test_switching():
    pt.enable()
    assert pt.is_enabled() and not pt.is_enabled(forward=True)
    pt.enable(forward=True)
    assert pt.is_enabled() and pt.is_enabled(forward=True)
    with pt.accelerated(forward=True):
        pt.enable()
        assert pt.is_enabled(forward=True)
    assert pt.is_enabled() and not pt.is_enabled(forward=True)
    with pt.accelerated(), pt.accelerated(forward=True):
        pt.disable()
        assert pt.is_enabled() and pt.is_enabled(forward=True)
    assert not pt.is_enabled() and not pt.is_enabled(forward=True)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_grid_sample(mode, padding, dtype):
    x = random(2, 3, 16, 12, dtype=dtype)
    grid = random(2, 9, 14, 2, dtype=dtype, seed=1) * 2.4 - 1.2
    for input in (x, x.contiguous(memory_format=torch.channels_last), x.transpose(2, 3)):
        wanted = F.grid_sample(input, grid, mode, padding, align_corners=False)
        own = pt.grid_sample(input, grid, mode, padding)
        with pt.accelerated(forward=True):
            got = F.grid_sample(input, grid, mode, padding, align_corners=False)
        torch.testing.assert_close(got, wanted)
        assert torch.equal(got, own)
        assert got.stride() == wanted.stride()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_nearest_exact(dtype):
    x = random(2, 3, 9, 14, dtype=dtype)
    for input in (x, x.contiguous(memory_format=torch.channels_last), x[:, 1:2], x[..., ::2]):
        for arguments in ({"size": (18, 28)}, {"size": (5, 7)}, {"scale_factor": (2, 1.5)}):
            wanted = F.interpolate(input, **arguments, mode="nearest-exact")
            with pt.accelerated(forward=True):
                got = F.interpolate(input, **arguments, mode="nearest-exact")
            assert torch.equal(got, wanted)
            assert got.stride() == wanted.stride()
    line = x[:, :, 0]
    wanted = F.interpolate(line, 31, mode="nearest-exact")
    with pt.accelerated(forward=True):
        got = F.interpolate(line, 31, mode="nearest-exact")
    assert torch.equal(got, wanted)


def out_calls():
    """Operators with ``out=`` forms by PyTorch's kernels, and how they are called."""
    for axes, sizes in ((1, (7,)), (2, (7, 5)), (3, (7, 5, 4))):
        for name in (f"upsample_nearest{axes}d", f"_upsample_nearest_exact{axes}d"):
            yield axes, name, (sizes,)
    yield 1, "upsample_linear1d", ((7,), False)
    yield 3, "upsample_trilinear3d", ((7, 5, 4), True)
    for name in ("bilinear2d", "bicubic2d", "bilinear2d_aa", "bicubic2d_aa", "lanczos2d_aa"):
        for align in (False, True)[: 1 if "lanczos" in name else 2]:
            yield 2, f"{'_' * name.endswith('_aa')}upsample_{name}", ((7, 5), align)
    for axes, sizes in ((2, (3, 4)), (3, (3, 4, 2))):
        yield axes, f"adaptive_avg_pool{axes}d", (sizes,)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.uint8])
def test_out_forms_are_pytorchs(dtype):
    """With and without portacl the same bits, strides and refusals."""
    count = 0
    for axes, name, arguments in out_calls():
        x = (random(2, 3, *(9, 8, 6)[:axes]) * 255).to(dtype)
        operator = getattr(getattr(aten, name, None), "out", None)
        if operator is None:
            continue

        def call(input, operator=operator, arguments=arguments):
            out = torch.full((1,), 7).to(dtype)[:0]
            try:
                assert operator(input, *arguments, out=out) is out
            except (NotImplementedError, RuntimeError):
                return None
            return out

        last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
        for input in (x, x.contiguous(memory_format=last) if last else x):
            wanted = call(input)
            with pt.accelerated(forward=True):
                got = call(input)
            assert (got is None) == (wanted is None), name
            if wanted is not None:
                assert torch.equal(got, wanted) and got.stride() == wanted.stride(), name
                count += 1
    assert count >= 12
    out = torch.empty(0)
    with pt.accelerated(forward=True):
        torch._C._nn.adaptive_avg_pool2d(random(1, 2, 6, 6), (2, 3), out=out)
        torch._C._nn.upsample_bilinear2d(random(1, 2, 6, 6), (2, 3), False, out=out)
    assert out.shape == (1, 2, 2, 3)


def test_pictures_in_uint8():
    picture = (random(1, 3, 8, 10) * 255).to(torch.uint8)
    for input in (picture, picture.contiguous(memory_format=torch.channels_last)):
        wanted = F.interpolate(input, (16, 20), mode="nearest-exact")
        with pt.accelerated(forward=True):
            got = F.interpolate(input, (16, 20), mode="nearest-exact")
        assert torch.equal(got, wanted) and got.stride() == wanted.stride()
    line = picture[:, :, 0]
    wanted = F.interpolate(line, 25, mode="nearest-exact")
    with pt.accelerated(forward=True):
        assert torch.equal(F.interpolate(line, 25, mode="nearest-exact"), wanted)


def test_kernels_are_used():
    """portacl's forward takes the element that the backward takes; PyTorch's may not."""
    differing = []
    for size in range(1, 97):
        for extent in range(1, 97):
            x = torch.arange(extent, dtype=torch.float32).view(1, 1, extent)
            if not torch.equal(
                aten._upsample_nearest_exact1d(x, (size,), None),
                pt.interpolate_nearest_exact(x, size),
            ):
                differing.append((x, size))
    if not differing:
        pytest.skip("PyTorch's kernel of this instruction set takes the same elements")
    for x, size in differing:
        own = pt.interpolate_nearest_exact(x, size)
        with pt.accelerated(forward=True):
            assert torch.equal(F.interpolate(x, size, mode="nearest-exact"), own)


def test_gradients_go_through():
    x = random(1, 2, 5, 6, dtype=torch.float64).requires_grad_()
    grid = (random(1, 4, 3, 2, dtype=torch.float64, seed=1) * 1.6 - 0.8).requires_grad_()
    with pt.accelerated(forward=True):
        assert torch.autograd.gradcheck(
            lambda a, b: F.grid_sample(a, b, align_corners=False), (x, grid), atol=1e-6
        )
        assert torch.autograd.gradcheck(
            lambda a: F.interpolate(a, (7, 9), mode="nearest-exact"), (x,), atol=1e-6
        )


def test_errors_are_runtime_errors():
    """As PyTorch's kernels raise them, with portacl's text."""
    x, grid = random(1, 2, 5, 6), random(2, 4, 3, 2)
    with pytest.raises(RuntimeError):
        aten.grid_sampler_2d(x, grid, 0, 0, False)
    with pt.accelerated(forward=True):
        with pytest.raises(RuntimeError, match="grid"):
            aten.grid_sampler_2d(x, grid, 0, 0, False)
        with pytest.raises(RuntimeError, match="input"):
            aten._upsample_nearest_exact2d(x[:, :, :0], (4, 4), None, None)


def test_autocast_and_compile():
    x, grid = random(2, 3, 16, 12), random(2, 9, 14, 2, seed=1) * 2 - 1
    with pt.accelerated(forward=True):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = F.grid_sample(x.bfloat16(), grid, align_corners=False)
        assert y.dtype == torch.float32
        own = pt.grid_sample(x, grid)
        compiled = torch.compile(
            lambda a, b: F.grid_sample(a, b, align_corners=False), backend="aot_eager"
        )
        assert torch.equal(compiled(x, grid), own)


def outcome(call):
    try:
        return call().dtype
    except Exception as error:  # noqa: BLE001 - whatever PyTorch raises
        return type(error), str(error)


@pytest.mark.parametrize(
    "dtype", ["complex64", "complex32", "int64", "uint8", "bool", "float8_e4m3fn"]
)
def test_other_dtypes_get_pytorchs_answers(dtype):
    made = lambda *shape: torch.ones(shape).to(getattr(torch, dtype))  # noqa: E731
    aten = torch.ops.aten
    calls = {
        "images": lambda: F.grid_sample(made(1, 2, 4, 4), made(1, 3, 3, 2), align_corners=False),
        "volumes": lambda: F.grid_sample(
            made(1, 2, 4, 4, 4), made(1, 3, 3, 3, 3), align_corners=False
        ),
        "grid": lambda: aten.grid_sampler_2d(torch.ones(1, 2, 4, 4), made(1, 3, 3, 2), 0, 0, False),
        "gradient": lambda: aten.grid_sampler_2d_backward(
            made(1, 2, 3, 3), made(1, 2, 4, 4), made(1, 3, 3, 2), 0, 0, False, (True, True)
        )[0],
        "affine_grid": lambda: aten.affine_grid_generator(made(1, 2, 3), (1, 1, 4, 4), False),
        "affine_grid's gradient": lambda: aten.affine_grid_generator_backward(
            made(1, 4, 4, 2), (1, 1, 4, 4), False
        ),
    }
    for name, call in calls.items():
        want = outcome(call)
        with pt.accelerated(forward=True):
            assert outcome(call) == want, name
