"""Multi-scale deformable attention: NumPy's and PyTorch's functions, and programs that call it."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import portacl

SHAPES = [(6, 4), (3, 2), (1, 1)]


def _case(seed: int, channels: int = 20, queries: int = 11, points: int = 3, dtype=np.float64):
    random = np.random.default_rng(seed)
    keys = sum(h * w for h, w in SHAPES)
    starts = np.cumsum([0, *(h * w for h, w in SHAPES[:-1])])
    value = random.standard_normal((2, keys, 3, channels))
    locations = random.uniform(-0.3, 1.3, (2, queries, 3, len(SHAPES), points, 2))
    weights = random.uniform(0, 1, locations.shape[:-1])
    grad = random.standard_normal((2, queries, 3, channels))
    arrays = (value, np.array(SHAPES), starts, locations, weights, grad)
    return tuple(a if a.dtype.kind == "i" else a.astype(dtype) for a in arrays)


# ---- the documented order, in float32 bit for bit and in float64 ------------------------------


def _fma(a, b, c):
    """One rounding in float32: the product of two is exact in double, the sum rounded to odd."""
    if np.result_type(a, b, c) == np.float64:
        return a * b + c
    product = np.float64(a) * np.float64(b)
    total = np.atleast_1d(product + np.float64(c)).copy()
    part = total - product
    error = np.atleast_1d((product - (total - part)) + (np.float64(c) - part))
    bits = total.view(np.int64)
    odd = (error != 0) & (bits & 1 == 0)
    bits += np.where(odd, np.where((error > 0) == (total > 0), 1, -1), 0)
    return total.reshape(np.shape(product + c)).astype(np.float32)


def _dot(a, b):
    lanes = np.zeros(16, a.dtype)
    for first in range(0, len(a), 16):
        n = min(16, len(a) - first)
        lanes[:n] = _fma(a[first : first + n], b[first : first + n], lanes[:n])
    for half in (8, 4, 2, 1):
        lanes = lanes[:half] + lanes[half : 2 * half]
    return lanes[0]


def _taps(location, height, width, start):
    """tx, ty, ux, uy, and (key or None, weight) of the four pixels; None where it touches none."""
    real = location.dtype.type
    x = location[0] * real(width) - real(0.5)
    y = location[1] * real(height) - real(0.5)
    if not (-1 <= x < width and -1 <= y < height):
        return None
    left, top = np.floor(x), np.floor(y)
    tx, ty, ux, uy = x - left, y - top, (left + real(1)) - x, (top + real(1)) - y
    taps = []
    for dy, dx, weight in ((0, 0, ux * uy), (0, 1, tx * uy), (1, 0, ux * ty), (1, 1, tx * ty)):
        row, column = int(top) + dy, int(left) + dx
        inside = 0 <= row < height and 0 <= column < width
        taps.append((start + row * width + column if inside else None, weight))
    return tx, ty, ux, uy, taps


def _oracle(value, shapes, starts, locations, weights, grad):
    """Output and the three gradients."""
    real = value.dtype.type
    output = np.zeros(grad.shape, value.dtype)
    grads = [np.zeros_like(a) for a in (value, locations, weights)]
    batch, queries, heads, levels, points = weights.shape
    for level, b, q, h, p in np.ndindex(levels, batch, queries, heads, points):
        height, width = (int(e) for e in shapes[level])
        at = (b, q, h, level, p)
        found = _taps(locations[at], height, width, int(starts[level]))
        if found is None:
            continue
        tx, ty, ux, uy, taps = found
        g, weight = grad[b, q, h], weights[at]
        dots = []
        for key, share in taps:
            if key is None:
                dots.append(real(0))
                continue
            v = value[b, key, h]
            output[b, q, h] = _fma(weight * share, v, output[b, q, h])
            grads[0][b, key, h] = _fma(weight * share, g, grads[0][b, key, h])
            dots.append(_dot(g, v))
        nw, ne, sw, se = dots
        total = taps[0][1] * nw
        for (_, share), dot in zip(taps[1:], dots[1:]):
            total = _fma(share, dot, total)
        grads[2][at] = total
        slope_x = _fma(se - sw, ty, (ne - nw) * uy)
        slope_y = _fma(se - ne, tx, (sw - nw) * ux)
        grads[1][at] = (weight * real(width)) * slope_x, (weight * real(height)) * slope_y
    return output.reshape(*grad.shape[:2], -1), *grads


@pytest.mark.parametrize("channels", [1, 7, 16, 33])
def test_float32_has_the_documented_bits(channels):
    case = _case(channels, channels, queries=4, dtype=np.float32)
    output, *grads = _oracle(*case)
    np.testing.assert_array_equal(portacl.ms_deform_attn(*case[:5]), output)
    for got, want in zip(portacl.ms_deform_attn_backward(*case), grads):
        np.testing.assert_array_equal(got, want)


def test_float64_is_the_formula():
    case = _case(1)
    output, *grads = _oracle(*case)
    np.testing.assert_allclose(portacl.ms_deform_attn(*case[:5]), output, rtol=0, atol=1e-12)
    for got, want in zip(portacl.ms_deform_attn_backward(*case), grads):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-11)


def test_any_layout_and_index_dtype_has_the_same_bits():
    value, shapes, starts, locations, weights, _ = _case(2, dtype=np.float32)
    want = portacl.ms_deform_attn(value, shapes, starts, locations, weights)
    got = portacl.ms_deform_attn(
        np.asfortranarray(value),
        shapes.astype(np.int32),
        None,
        locations[..., ::-1][..., ::-1],
        np.asfortranarray(weights),
    )
    np.testing.assert_array_equal(got, want)
    out = np.empty((*want.shape[:2], 2 * want.shape[2]), np.float32)[..., ::2]
    assert portacl.ms_deform_attn(value, SHAPES, starts, locations, weights, out=out) is out
    np.testing.assert_array_equal(out, want)


def test_masked_gradients_are_none():
    case = _case(3)
    want = portacl.ms_deform_attn_backward(*case)
    for i in range(3):
        mask = [i != j for j in range(3)]
        got = portacl.ms_deform_attn_backward(*case, output_mask=mask)
        assert got[i] is None
        for j in {0, 1, 2} - {i}:
            np.testing.assert_array_equal(got[j], want[j])


@pytest.mark.parametrize(
    ("position", "change", "message"),
    [
        (1, lambda s: s[:2], "spatial_shapes has shape"),
        (1, lambda s: s * [[1, 1], [0, 1], [1, 1]], "gives level 1 0 x 2 pixels"),
        (2, lambda s: s + 1, "25 has 31 keys|has 31 keys"),
        (3, lambda a: a[..., :1], "locations has shape"),
        (4, lambda a: a[:, 1:], "weights has shape"),
        (4, lambda a: a[0], "weights has shape"),
        (0, lambda a: a[0], "value has shape"),
    ],
)
def test_wrong_arguments_are_refused(position, change, message):
    case = list(_case(4)[:5])
    case[position] = change(case[position])
    with pytest.raises(ValueError, match=message):
        portacl.ms_deform_attn(*case)


def test_wrong_dtypes_are_refused():
    value, shapes, starts, locations, weights, _ = _case(4)
    with pytest.raises(TypeError, match="spatial_shapes has dtype float64, but must be int32"):
        portacl.ms_deform_attn(value, shapes.astype(float), starts, locations, weights)
    with pytest.raises(TypeError, match="they must be equal"):
        portacl.ms_deform_attn(value, shapes, starts, locations.astype(np.float32), weights)


def test_odd_locations_are_defined():
    case = _case(5, dtype=np.float32)
    locations = case[3]
    locations[0, 0, 0, 0, 0, 0] = np.nan
    locations[0, 1, 0, 0, 0, 0] = np.inf
    locations[0, 2, 1, 1, 1, 1] = -1e30
    output = portacl.ms_deform_attn(*case[:5]).reshape(case[5].shape)
    assert np.isnan(output[0, 0, 0]).all()
    assert np.isfinite(output[0, 1:]).all() and np.isfinite(output[0, 0, 1:]).all()
    value_grad, locations_grad, weights_grad = portacl.ms_deform_attn_backward(*case)
    assert np.isfinite(value_grad).all()
    assert np.isnan(locations_grad[0, 0, 0, 0, 0]).all() and np.isnan(weights_grad[0, 0, 0, 0, 0])
    assert (locations_grad[0, 1, 0, 0, 0] == 0).all() and weights_grad[0, 1, 0, 0, 0] == 0
    assert (locations_grad[0, 2, 1, 1, 1] == 0).all() and weights_grad[0, 2, 1, 1, 1] == 0


# ---- PyTorch ------------------------------------------------------------------------------------

torch = pytest.importorskip("torch")
portacl_torch = pytest.importorskip("portacl.torch")


def _formula(value, shapes, locations, weights):
    """What programs compute: a grid_sample for each level."""
    batch, _, heads, channels = value.shape
    queries, levels, points = locations.shape[1], locations.shape[3], locations.shape[4]
    sampled = []
    for level, part in enumerate(value.split([h * w for h, w in shapes], 1)):
        image = part.flatten(2).transpose(1, 2).reshape(batch * heads, channels, *shapes[level])
        grid = (2 * locations - 1)[:, :, :, level].transpose(1, 2).flatten(0, 1)
        sampled.append(
            torch.nn.functional.grid_sample(image, grid, align_corners=False, padding_mode="zeros")
        )
    shares = weights.transpose(1, 2).reshape(batch * heads, 1, queries, levels * points)
    total = (torch.stack(sampled, -2).flatten(-2) * shares).sum(-1)
    return total.view(batch, heads * channels, queries).transpose(1, 2)


def _tensors(seed: int, dtype=torch.float64, **options):
    case = [torch.from_numpy(a) for a in _case(seed, **options)]
    return [t if not t.is_floating_point() else t.to(dtype) for t in case]


def _leaves(*tensors):
    return [t.detach().clone().requires_grad_() for t in tensors]


def test_autograd_is_the_formulas():
    value, shapes, starts, locations, weights, grad = _tensors(6)
    ours, theirs = _leaves(value, locations, weights), _leaves(value, locations, weights)
    output = torch.ops.portacl.ms_deform_attn(ours[0], shapes, starts, *ours[1:])
    want = _formula(theirs[0], SHAPES, *theirs[1:])
    torch.testing.assert_close(output, want, rtol=0, atol=1e-12)
    for tensors, result in ((ours, output), (theirs, want)):
        result.backward(grad.flatten(2))
        assert all(t.grad is not None for t in tensors)
    for mine, other in zip(ours, theirs):
        torch.testing.assert_close(mine.grad, other.grad, rtol=0, atol=1e-11)


def test_operators_pass_pytorchs_own_checks():
    value, shapes, starts, locations, weights, grad = _tensors(7, channels=3, queries=2)
    leaves = _leaves(value, locations, weights)
    torch.library.opcheck(
        torch.ops.portacl.ms_deform_attn.default, (leaves[0], shapes, starts, *leaves[1:])
    )
    torch.library.opcheck(
        torch.ops.portacl.ms_deform_attn_backward.default,
        (value, shapes, starts, locations, weights, grad.flatten(2), [True, False, True]),
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_points_in_float32_beside_16_bits_are_not_rounded(dtype):
    value, shapes, starts, locations, weights, grad = _tensors(8, torch.float32)
    ours = _leaves(value.to(dtype), locations, weights)
    output = torch.ops.portacl.ms_deform_attn(ours[0], shapes, starts, *ours[1:])
    exact = torch.ops.portacl.ms_deform_attn(ours[0].float(), shapes, starts, *ours[1:])
    assert torch.equal(output, exact.to(dtype))
    output.backward(grad.flatten(2).to(dtype))
    assert [t.grad.dtype for t in ours] == [dtype, torch.float32, torch.float32]


def test_autocast_takes_what_layers_give():
    value, shapes, starts, locations, weights, _ = _tensors(9, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        projected = torch.nn.functional.linear(value, torch.eye(value.shape[-1]))
        output = torch.ops.portacl.ms_deform_attn(projected, shapes, starts, locations, weights)
    assert projected.dtype == output.dtype == torch.bfloat16


def test_second_derivatives_and_forward_mode_are_refused():
    value, shapes, starts, locations, weights, grad = _tensors(10)
    leaves = _leaves(value, locations, weights)
    output = torch.ops.portacl.ms_deform_attn(leaves[0], shapes, starts, *leaves[1:])
    (first,) = torch.autograd.grad(output, leaves[1], grad.flatten(2), create_graph=True)
    with pytest.raises(NotImplementedError, match="no second derivatives"):
        first.sum().backward()
    with torch.autograd.forward_ad.dual_level(), pytest.raises(NotImplementedError):
        dual = torch.autograd.forward_ad.make_dual(value, value)
        torch.ops.portacl.ms_deform_attn(dual, shapes, starts, locations, weights)


@pytest.fixture
def _programs(monkeypatch):
    """A program as transformers has them, imported while portacl is enabled or not."""

    def make(name: str) -> types.ModuleType:
        module = types.ModuleType(f"transformers.models.{name}")

        def multi_scale_deformable_attention(
            value, value_spatial_shapes, sampling_locations, attention_weights
        ):
            module.calls += 1
            return _formula(value, value_spatial_shapes, sampling_locations, attention_weights)

        def multi_scale_deformable_attention_v2(
            value,
            value_spatial_shapes,
            sampling_locations,
            attention_weights,
            num_points_list,
            method="default",
        ):
            module.calls += 1
            return value

        class MultiScaleDeformableAttention(torch.nn.Module):
            def forward(self, value, shapes, shapes_list, starts, locations, weights, step):
                module.calls += 1
                return _formula(value, shapes_list, locations, weights)

        module.calls = 0
        for item in (
            multi_scale_deformable_attention,
            multi_scale_deformable_attention_v2,
            MultiScaleDeformableAttention,
        ):
            item.__module__ = module.__name__
            setattr(module, item.__name__, item)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return module

    yield make
    portacl_torch.disable()


def test_enable_serves_programs_and_disable_leaves_them(_programs):
    program = _programs("one")
    value, shapes, starts, locations, weights, _ = _tensors(11)
    want = torch.ops.portacl.ms_deform_attn(value, shapes, starts, locations, weights)
    layer = program.MultiScaleDeformableAttention()

    def results():
        return [
            program.multi_scale_deformable_attention(value, SHAPES, locations, weights),
            layer(value, shapes, SHAPES, starts, locations, weights, 64),
        ]

    portacl_torch.enable()
    assert all(torch.equal(r, want) for r in results())
    assert program.calls == 0
    portacl_torch.enable(msda=False)
    for result in results():
        torch.testing.assert_close(result, want)
    assert program.calls == 2
    portacl_torch.enable()
    portacl_torch.disable()
    results()
    assert program.calls == 4


@pytest.mark.parametrize(
    "name", ["mmcv.ops.multi_scale_deform_attn", "detrex.layers.multi_scale_deform_attn"]
)
def test_layers_of_the_same_name_with_other_arguments_stay(name, monkeypatch):
    """The class of mmcv, detrex and Grounding DINO projects and calls the function."""
    module = types.ModuleType(name)

    class MultiScaleDeformableAttention(torch.nn.Module):
        def forward(self, query, value=None, reference_points=None):
            return query + value

    def multi_scale_deformable_attn_pytorch(value, shapes, locations, weights):
        raise AssertionError("the formula is replaced")

    for item in (MultiScaleDeformableAttention, multi_scale_deformable_attn_pytorch):
        item.__module__ = name
        setattr(module, item.__name__, item)
    monkeypatch.setitem(sys.modules, name, module)
    portacl_torch.enable()
    one = torch.ones(3)
    assert torch.equal(module.MultiScaleDeformableAttention()(query=one, value=one), 2 * one)
    value, shapes, starts, locations, weights, _ = _tensors(11)
    found = module.multi_scale_deformable_attn_pytorch(value, SHAPES, locations, weights)
    want = torch.ops.portacl.ms_deform_attn(value, shapes, starts, locations, weights)
    assert torch.equal(found, want)
    portacl_torch.disable()


def test_blocks_serve_programs(_programs):
    program = _programs("blocks")
    value, _, _, locations, weights, _ = _tensors(11)

    def calls():
        before = program.calls
        program.multi_scale_deformable_attention(value, SHAPES, locations, weights)
        return program.calls - before

    with portacl_torch.accelerated():
        with portacl_torch.accelerated(msda=False):
            assert calls() == 0
        assert calls() == 0
        import MultiScaleDeformableAttention  # noqa: F401
    assert calls() == 1
    with portacl_torch.accelerated(msda=False):
        assert calls() == 1
    with pytest.raises(ImportError):
        __import__("MultiScaleDeformableAttention")


def test_levels_may_have_different_numbers_of_points(_programs):
    program = _programs("two")
    value, shapes, starts, locations, weights, grad = _tensors(12, points=4)
    counts = [2, 4, 3]
    kept = [torch.arange(n) + 4 * level for level, n in enumerate(counts)]
    flat = torch.cat(kept)
    leaves = _leaves(value, locations.flatten(3, 4)[:, :, :, flat], weights.flatten(3)[..., flat])
    portacl_torch.enable()
    output = program.multi_scale_deformable_attention_v2(
        leaves[0], SHAPES, *leaves[1:], counts, "default"
    )
    mask = torch.zeros(12, dtype=weights.dtype)
    mask[flat] = 1
    masked = weights * mask.unflatten(0, (3, 4))
    want = torch.ops.portacl.ms_deform_attn(value, shapes, starts, locations, masked)
    torch.testing.assert_close(output, want, rtol=0, atol=1e-12)
    output.backward(grad.flatten(2))
    assert leaves[1].grad.shape == leaves[1].shape and leaves[1].grad.abs().sum() > 0
    assert program.calls == 0
    assert (
        program.multi_scale_deformable_attention_v2(*leaves, SHAPES, counts, "discrete") is not None
    )
    assert program.calls == 1


def test_the_compiled_module_can_be_imported_where_it_is_missing(_programs):
    value, shapes, starts, locations, weights, grad = _tensors(13, torch.float32)
    portacl_torch.enable()
    import MultiScaleDeformableAttention as compiled  # noqa: N813

    output = compiled.ms_deform_attn_forward(value, shapes, starts, locations, weights, 64)
    want = torch.ops.portacl.ms_deform_attn(value, shapes, starts, locations, weights)
    assert torch.equal(output, want)
    grads = compiled.ms_deform_attn_backward(
        value, shapes, starts, locations, weights, grad.flatten(2), 64
    )
    assert [g.shape for g in grads] == [value.shape, locations.shape, weights.shape]
    portacl_torch.disable()
    with pytest.raises(ImportError):
        __import__("MultiScaleDeformableAttention")


def test_profile_counts_calls():
    if not hasattr(torch.library, "get_kernel"):
        pytest.skip("profile() needs torch.library.get_kernel")
    value, shapes, starts, locations, weights, _ = _tensors(14)
    with portacl_torch.profile() as report:
        torch.ops.portacl.ms_deform_attn(value, shapes, starts, locations, weights)
    assert [row.operator for row in report.rows.values()] == ["ms_deform_attn"]
    assert report.taken == 1


def test_compiled_code_calls_the_operator():
    value, shapes, starts, locations, weights, grad = _tensors(15, torch.float32)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def function(*tensors):
        return torch.ops.portacl.ms_deform_attn(tensors[0], shapes, starts, *tensors[1:]) * 2

    leaves, eager = _leaves(value, locations, weights), _leaves(value, locations, weights)
    function(*leaves).backward(grad.flatten(2))
    (torch.ops.portacl.ms_deform_attn(eager[0], shapes, starts, *eager[1:]) * 2).backward(
        grad.flatten(2)
    )
    for mine, other in zip(leaves, eager):
        assert torch.equal(mine.grad, other.grad)
