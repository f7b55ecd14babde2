"""Detectors' operators in JAX: the array functions' bits, gradients, refusals."""

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
    with pytest.raises(Exception, match=r"gives roi 2 image 2, wanted one in \[0, 2\)"):
        jax.block_until_ready(pj.roi_align(images, boxes, 3))
    value, locations, weights = attention()
    with pytest.raises(ValueError, match="spatial_shapes has shape"):
        pj.ms_deform_attn(value, SHAPES[:1], None, locations, weights)
    with pytest.raises(Exception, match="cannot be differentiated"):
        jax.grad(lambda v: jax.grad(lambda w: _summed(v, locations, w))(weights).sum())(value)


def _summed(value, locations, weights):
    return pj.ms_deform_attn(value, SHAPES, None, locations, weights).sum()


CONVOLUTION = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}


def convolution(dtype=np.float32, mask=True, bias=True):
    """Input, weight, offset, mask and bias: 2 x 4 x 7 x 6, kernel 3 x 2, 2 groups of each kind."""
    made = (
        RNG.standard_normal((2, 4, 7, 6)),
        RNG.standard_normal((6, 2, 3, 2)),
        RNG.uniform(-2, 2, (2, 24, 4, 4)),
        RNG.uniform(0, 1, (2, 12, 4, 4)) if mask else None,
        RNG.standard_normal(6) if bias else None,
    )
    return [None if array is None else array.astype(dtype) for array in made]


def convolve(function, arrays):
    image, weight, offset, mask, bias = arrays
    return function(image, offset, weight, bias, mask=mask, **CONVOLUTION)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("mask", [False, True])
def test_convolution_has_the_bits_of_the_array_functions(mask, bias, dtype):
    arrays = convolution(dtype, mask, bias)
    function = jax.jit(lambda a: convolve(pj.deform_conv2d, a))
    output = function(arrays)
    np.testing.assert_array_equal(output, convolve(portacl.deform_conv2d, arrays))
    grad = RNG.standard_normal(output.shape).astype(dtype)
    _, transpose = jax.vjp(function, arrays)
    (got,) = transpose(jnp.asarray(grad))
    image, weight, offset, masks, _ = arrays
    want = portacl.deform_conv2d_backward(grad, image, offset, weight, mask=masks, **CONVOLUTION)
    for mine, other, array in zip(got, want, arrays):
        assert (mine is None) == (array is None)
        if array is not None:
            np.testing.assert_array_equal(mine, other)
    chosen = {"mask": masks, "output_mask": (False, True, False, True, True)}
    some = pj.deform_conv2d_backward(grad, image, offset, weight, **chosen, **CONVOLUTION)
    assert [g is not None for g in some] == [False, True, False, mask, True]
    for mine, other in zip(some, want):
        if mine is not None:
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_a_bias_may_be_float32_beside_sixteen_bits(dtype):
    *made, bias = convolution()
    arrays = [*(jnp.asarray(array, dtype) for array in made), jnp.asarray(bias)]
    function = jax.jit(lambda a: convolve(pj.deform_conv2d, a))
    output, transpose = jax.vjp(function, arrays)
    wide = [np.asarray(array, np.float32) for array in arrays]
    want = jnp.asarray(convolve(portacl.deform_conv2d, wide))
    np.testing.assert_array_equal(output, want.astype(dtype))
    (grads,) = transpose(output)
    assert [grad.dtype for grad in grads] == [array.dtype for array in arrays]
    rest = [output, arrays[0], arrays[2], arrays[1]]
    of_bias = pj.deform_conv2d_backward(*rest, mask=arrays[3], **CONVOLUTION)[4]
    assert of_bias.dtype == dtype
    np.testing.assert_array_equal(grads[4], of_bias.astype(np.float32))
    with pytest.raises(TypeError, match="bias has dtype float16, but input has float32"):
        convolve(pj.deform_conv2d, [*wide[:4], wide[4].astype(np.float16)])


def test_convolution_under_vmap_and_its_refusals():
    cases = [convolution() for _ in range(2)]
    stacked = [jnp.stack(same) for same in zip(*cases)]
    together = jax.vmap(lambda a: convolve(pj.deform_conv2d, a))(stacked)
    for one, arrays in zip(together, cases):
        np.testing.assert_array_equal(one, convolve(portacl.deform_conv2d, arrays))
    image, weight, offset, mask, bias = cases[0]
    with pytest.raises(ValueError, match=r"input has shape \[4, 7, 6\], but must have 4 axes"):
        pj.deform_conv2d(image[0], offset, weight)
    with pytest.raises(TypeError, match="mask has dtype float16, but input has float32"):
        pj.deform_conv2d(image, offset, weight, mask=mask.astype(np.float16), **CONVOLUTION)
    with pytest.raises(Exception, match="offset has shape"):
        jax.block_until_ready(pj.deform_conv2d(image, offset[:, :, :3], weight, **CONVOLUTION))
    slope = jax.grad(lambda x: pj.deform_conv2d(x, offset, weight, **CONVOLUTION).sum())
    with pytest.raises(Exception, match="cannot be differentiated"):
        jax.grad(lambda x: slope(x).sum())(image)
