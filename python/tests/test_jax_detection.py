"""RoiAlign and deformable attention in JAX: the array functions' bits, gradients, refusals."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp

import portacl
import portacl.jax as pj

RNG = np.random.default_rng(11)
BOXES = np.array([[0, 1.5, 2, 9.25, 13], [1, -3, -2, 30, 40], [1, 4, 4.5, 4, 4.5]], np.float32)
SHAPES = [(6, 4), (3, 2)]


def regions(rotated):
    images = RNG.standard_normal((2, 5, 12, 9)).astype(np.float32)
    boxes = np.concatenate([BOXES, np.full((3, 1), 0.4, np.float32)], 1) if rotated else BOXES
    return images, boxes


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("rotated", [False, True])
def test_regions_have_the_bits_of_the_array_functions(rotated, mode):
    if rotated and mode == "max":
        pytest.skip("rotated regions have an average alone")
    name = "roi_align_rotated" if rotated else "roi_align"
    images, boxes = regions(rotated)
    own, ours = getattr(portacl, name), getattr(pj, name)
    options = {} if rotated else {"mode": mode}
    rest = ((3, 2), 0.5, 2, True)
    pooled = jax.jit(lambda x, b: ours(x, b, *rest, **options))(images, boxes)
    np.testing.assert_array_equal(pooled, own(images, boxes, *rest, **options))
    grad = RNG.standard_normal(pooled.shape).astype(np.float32)
    got = jax.jit(jax.grad(lambda x: (ours(x, boxes, *rest, **options) * grad).sum()))(images)
    more = {**options, "input": images} if mode == "max" else options
    back = getattr(portacl, f"{name}_backward")
    want = back(grad, boxes, images.shape, *rest[1:], **more)
    np.testing.assert_array_equal(got, want)
    same = getattr(pj, f"{name}_backward")(grad, boxes, images.shape, *rest[1:], **more)
    np.testing.assert_array_equal(same, want)


def attention(dtype=np.float32):
    keys = sum(h * w for h, w in SHAPES)
    value = RNG.standard_normal((2, keys, 3, 5)).astype(dtype)
    locations = RNG.uniform(-0.3, 1.3, (2, 7, 3, 2, 4, 2)).astype(dtype)
    return value, locations, RNG.uniform(0, 1, locations.shape[:-1]).astype(dtype)


def test_attention_has_the_bits_of_the_array_functions():
    value, locations, weights = attention()
    function = jax.jit(lambda v, x, w: pj.ms_deform_attn(v, SHAPES, None, x, w))
    output = function(value, locations, weights)
    np.testing.assert_array_equal(
        output, portacl.ms_deform_attn(value, SHAPES, None, locations, weights)
    )
    grad = RNG.standard_normal(output.shape).astype(np.float32)
    got = jax.grad(lambda *a: (function(*a) * grad).sum(), (0, 1, 2))(value, locations, weights)
    want = portacl.ms_deform_attn_backward(value, SHAPES, None, locations, weights, grad)
    for mine, other in zip(got, want):
        np.testing.assert_array_equal(mine, other)
    masked = pj.ms_deform_attn_backward(
        value, SHAPES, None, locations, weights, grad, output_mask=(False, True, False)
    )
    assert masked[0] is masked[2] is None
    np.testing.assert_array_equal(masked[1], want[1])


def test_vmap_is_one_call_after_the_other():
    values = [attention() for _ in range(3)]
    mapped = jax.vmap(lambda v, x, w: pj.ms_deform_attn(v, SHAPES, None, x, w))
    together = mapped(*map(jnp.stack, zip(*values)))
    for one, (value, locations, weights) in zip(together, values):
        want = portacl.ms_deform_attn(value, SHAPES, None, locations, weights)
        np.testing.assert_array_equal(one, want)


def test_refusals_name_what_is_wrong():
    images, boxes = regions(False)
    with pytest.raises(ValueError, match=r"boxes has shape \[3, 4\], but must be \(K, 5\)"):
        pj.roi_align(images, boxes[:, :4], 3)
    with pytest.raises(TypeError, match="boxes has dtype float16, but input has float32"):
        pj.roi_align(images, boxes.astype(np.float16), 3)
    boxes = boxes.copy()
    boxes[2, 0] = 2
    with pytest.raises(Exception, match=r"gives roi 2 no image in \[0, 2\)"):
        jax.block_until_ready(pj.roi_align(images, boxes, 3))
    value, locations, weights = attention()
    with pytest.raises(ValueError, match="spatial_shapes has shape"):
        pj.ms_deform_attn(value, SHAPES[:1], None, locations, weights)
    with pytest.raises(Exception, match="cannot be differentiated"):
        jax.grad(lambda v: jax.grad(lambda w: _summed(v, locations, w))(weights).sum())(value)


def _summed(value, locations, weights):
    return pj.ms_deform_attn(value, SHAPES, None, locations, weights).sum()
