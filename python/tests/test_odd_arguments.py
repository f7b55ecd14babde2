"""Odd arguments at every entry: arrays, JAX, PyTorch. Each gets the library's words, or works."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

import portacl

X = np.ones((1, 2, 4, 4), np.float32)
GRID = np.zeros((1, 2, 3, 2), np.float32)
VOLUME = np.ones((1, 2, 3, 4, 4), np.float32)
POINTS = np.zeros((1, 2, 2, 3, 3), np.float32)
SAMPLED = np.ones((1, 2, 2, 3), np.float32)
SAMPLED_VOLUME = np.ones((1, 2, 2, 2, 3), np.float32)

ARRAYS = {
    "upsample_nearest_exact": {"input": X, "output_size": (3, 3)},
    "upsample_nearest_exact_backward": {"grad_output": X, "input_size": (1, 2, 3, 3)},
    "grid_sampler_2d": {"input": X, "grid": GRID},
    "grid_sampler_2d_backward": {"grad_output": SAMPLED, "input": X, "grid": GRID},
    "grid_sampler_3d": {"input": VOLUME, "grid": POINTS},
    "grid_sampler_3d_backward": {"grad_output": SAMPLED_VOLUME, "input": VOLUME, "grid": POINTS},
}
MODULES = {"portacl": ARRAYS, "portacl.jax": ARRAYS}
TORCH = {
    "grid_sample": {"input": X, "grid": GRID},
    "interpolate_nearest_exact": {"input": X, "size": (3, 3)},
}
NEEDS = {"portacl.jax": "jax", "portacl.torch": "torch"}

RESIZERS = ("upsample_nearest_exact", "interpolate_nearest_exact")


def entries(*names):
    """(module, function, its good arguments): those named, or all."""
    return [
        pytest.param(module, name, arguments, id=f"{module}.{name}")
        for module, functions in {**MODULES, "portacl.torch": TORCH}.items()
        for name, arguments in functions.items()
        if not names or name in names
    ]


def call(module, name, arguments):
    if module in NEEDS:
        pytest.importorskip(NEEDS[module])
    if module == "portacl.torch":
        import torch

        arguments = {
            key: torch.from_numpy(value) if type(value) is np.ndarray else value
            for key, value in arguments.items()
        }
    return getattr(importlib.import_module(module), name)(**arguments)


def refused(module, name, arguments, errors, words):
    """The call raises one of `errors`, with `words` in its one line, and no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors) as caught:
            call(module, name, arguments)
    text = str(caught.value)
    assert words in text, text
    for foreign in ("incompatible function arguments", "Expected a value of type", "basic_string"):
        assert foreign not in text
    assert "Exception raised from" not in text  # PyTorch's C++ backtrace
    assert len(text) < 500, text


# ---- arrays


class Unexportable:
    """An exporter with its own BufferError."""

    dtype = np.dtype(np.float32)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        raise BufferError("my pages are on tape")


def float8():
    return pytest.importorskip("ml_dtypes").float8_e4m3fn


def int4():
    return pytest.importorskip("ml_dtypes").int4


ODD_ARRAYS = {
    "none": (lambda good: None, "must be a"),
    "text": (lambda good: "image", "is of type str"),
    "number": (lambda good: 3.0, ""),
    "integers": (lambda good: good.astype(np.int32), "has dtype int32"),
    "complex": (lambda good: good.astype(np.complex64), "has dtype complex64"),
    "bool": (lambda good: good.astype(bool), "has dtype bool"),
    "datetime": (lambda good: good.astype("datetime64[s]"), "datetime64"),
    "float8": (lambda good: good.astype(float8()), "float8_e4m3fn"),
    "int4": (lambda good: good.astype(int4()), "int4"),
    "structured": (lambda good: np.zeros(good.shape, [("re", "f4"), ("im", "f4")]), "re"),
    "strings": (lambda good: np.full(good.shape, "a"), "U1"),
    "objects": (lambda good: good.astype(object), ""),
    "masked": (lambda good: np.ma.masked_array(good, good > 0), "mask would be ignored"),
    "no_axes": (lambda good: np.float32(1), ""),
    "six_axes": (lambda good: good.reshape(1, 1, *good.shape[:1], *good.shape[1:]), ""),
}


@pytest.mark.parametrize("kind", ODD_ARRAYS)
@pytest.mark.parametrize(("module", "name", "arguments"), entries())
def test_odd_arrays(module, name, arguments, kind):
    make, words = ODD_ARRAYS[kind]
    for parameter, good in arguments.items():
        if isinstance(good, np.ndarray):
            odd = make(good)
            if module == "portacl.torch" and isinstance(odd, np.ndarray):
                torch = pytest.importorskip("torch")

                try:
                    odd = torch.from_numpy(odd) if type(odd) is np.ndarray else odd
                except TypeError:
                    continue  # PyTorch's own refusal
                words = words if type(odd) is torch.Tensor else "is of type MaskedArray"
            refused(module, name, {**arguments, parameter: odd}, (TypeError, ValueError), words)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "complex64", "int32"])
@pytest.mark.parametrize(("module", "name", "arguments"), entries())
def test_odd_tensors(module, name, arguments, dtype):
    torch = pytest.importorskip("torch")
    if module == "portacl.jax":
        return
    for parameter, good in arguments.items():
        if isinstance(good, np.ndarray):
            odd = torch.from_numpy(good).to(getattr(torch, dtype))
            errors = (TypeError, ValueError, RuntimeError)
            refused(module, name, {**arguments, parameter: odd}, errors, dtype)


@pytest.mark.parametrize(("module", "name", "arguments"), entries(*ARRAYS)[: len(ARRAYS)])
def test_exporters_keep_their_own_words(module, name, arguments):
    for parameter, good in arguments.items():
        if isinstance(good, np.ndarray):
            odd = {**arguments, parameter: Unexportable()}
            refused(module, name, odd, ValueError, "my pages are on tape")


def odd_exporters():
    torch = pytest.importorskip("torch")
    yield torch.quantize_per_tensor(torch.zeros(1, 1, 4), 0.1, 0, torch.quint8), "QUInt"
    yield torch.zeros((1, 1, 4), dtype=torch.bool), "has dtype bool, but"
    yield torch.nested.nested_tensor([torch.zeros(1, 4), torch.zeros(1, 3)]), "cannot be read"
    jnp = pytest.importorskip("jax.numpy")
    yield jnp.zeros((1, 1, 4), jnp.int4), "has dtype int4"


def test_exporters_that_refuse_are_told_in_one_line():
    for odd, words in odd_exporters():
        with warnings.catch_warnings():  # prototypes warn of themselves
            warnings.simplefilter("ignore")
            with pytest.raises((TypeError, ValueError), match=words) as caught:
                portacl.upsample_nearest_exact(odd, 8)
        assert "\n" not in str(caught.value) and "traced" not in str(caught.value)


# ---- sizes and factors

ODD_SIZES = {
    "none_in_it": ((3, None), TypeError),
    "fraction": (2.5, TypeError),
    "text": ("34", TypeError),
    "infinite": (float("inf"), TypeError),
    "negative": ((3, -1), ValueError),
    "too_many": ((3, 3, 3, 3, 3, 3), ValueError),
    "64_bits": ((3, 2**63), ValueError),
    "400_digits": ((3, 10**400), ValueError),
    "5000_digits": ((3, 10**5000), ValueError),
    "without_order": ({8, 9}, TypeError),
    "mapping": ({8: 1, 9: 2}, TypeError),
    "no_address_space": ((2**40, 2**40), ValueError),
}


@pytest.mark.parametrize("kind", ODD_SIZES)
@pytest.mark.parametrize(("module", "name", "arguments"), entries(*RESIZERS))
def test_odd_sizes(module, name, arguments, kind):
    odd, error = ODD_SIZES[kind]
    parameter = "size" if "size" in arguments else "output_size"
    if module == "portacl.torch" and kind == "no_address_space":
        error = (ValueError, RuntimeError)
    refused(module, name, {**arguments, parameter: odd}, error, "")


ODD_INPUT_SIZES = {
    "a_number": (3, TypeError),
    "none": (None, TypeError),
    "fraction": ((1, 2, 3, 2.5), TypeError),
    "negative": ((1, 2, 3, -1), ValueError),
    "64_bits": ((1, 2, 3, 2**63), ValueError),
    "no_address_space": ((1, 2, 2**40, 2**40), ValueError),
    "another_rank": ((1, 2, 3), ValueError),
}


@pytest.mark.parametrize("kind", ODD_INPUT_SIZES)
@pytest.mark.parametrize(
    ("module", "name", "arguments"), entries("upsample_nearest_exact_backward")
)
def test_odd_input_sizes(module, name, arguments, kind):
    odd, error = ODD_INPUT_SIZES[kind]
    refused(module, name, {**arguments, "input_size": odd}, error, "")


ODD_FACTORS = {
    "infinite": (float("inf"), ValueError),
    "nan": (float("nan"), ValueError),
    "1e30": (1e30, ValueError),
    "400_digits": (10**400, ValueError),
    "without_order": ({2, 3}, TypeError),
    "text": ("2", TypeError),
    "text_in_it": ((2, "2"), TypeError),
    "nested": ([[2, 2]], (TypeError, ValueError)),
    "too_many": ((2, 2, 2), ValueError),
    "complex": (2j, TypeError),
}


@pytest.mark.parametrize("kind", ODD_FACTORS)
@pytest.mark.parametrize(("module", "name", "arguments"), entries(*RESIZERS))
def test_odd_factors(module, name, arguments, kind):
    odd, error = ODD_FACTORS[kind]
    size, scales = ("size", "scale_factor") if "size" in arguments else ("output_size", "scales")
    refused(module, name, {**arguments, size: None, scales: odd}, error, "scale")


NUMBERS = {
    "numpy_integer": (np.int64(8), np.float32(2)),
    "numpy_small": (np.uint8(8), np.float16(2)),
    "array_without_axes": (np.array(8), np.array(2.0)),
    "numpy_sequence": (np.array([8, 8]), np.array([2.0, 2.0])),
    "list_of_numpy": ([np.int32(8)] * 2, [np.float64(2)] * 2),
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize(("module", "name", "arguments"), entries(*RESIZERS))
def test_numbers_of_numpy_are_numbers(module, name, arguments, kind):
    extents, factors = NUMBERS[kind]
    size, scales = ("size", "scale_factor") if "size" in arguments else ("output_size", "scales")
    for sizing in ({size: extents}, {size: None, scales: factors}):
        assert tuple(call(module, name, {**arguments, **sizing}).shape) == (1, 2, 8, 8)


# ---- modes, masks, results


@pytest.mark.parametrize("odd", ["mirror", None, 1.5, ["zeros"], b"zeros"])
@pytest.mark.parametrize(
    ("module", "name", "arguments"), entries(*[n for n in ARRAYS if "grid" in n], "grid_sample")
)
def test_odd_modes(module, name, arguments, odd):
    own = ("mode", "padding_mode") if name == "grid_sample" else ("interpolation", "padding")
    for parameter in own:
        refused(module, name, {**arguments, parameter: odd}, ValueError, f"{parameter} is {odd!r}")


@pytest.mark.parametrize("odd", ["no", "False", b"0", [False], {}])
@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    entries(*[n for n in ARRAYS if "grid" in n], "grid_sample"),
)
def test_what_is_no_bool_is_not_taken_for_true(module, name, arguments, odd):
    odd_call = {**arguments, "align_corners": odd}
    refused(module, name, odd_call, TypeError, f"align_corners is {odd!r}, but must be True or")


def test_numbers_that_jax_traces_are_refused():
    jax = pytest.importorskip("jax")
    import portacl.jax as pj

    for parameter in ("output_size", "scales"):
        resize = lambda value, name=parameter: pj.upsample_nearest_exact(X, **{name: value})  # noqa: E731
        with pytest.raises(TypeError, match=f"^{parameter} (is|has) "):
            jax.jit(resize)(2)


@pytest.mark.parametrize("odd", [True, None, (True,), (True, False, True)])
@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    entries("grid_sampler_2d_backward", "grid_sampler_3d_backward"),
)
def test_odd_masks(module, name, arguments, odd):
    errors = (TypeError, ValueError)
    refused(module, name, {**arguments, "output_mask": odd}, errors, "output_mask")


@pytest.mark.parametrize(("module", "name", "arguments"), entries(*ARRAYS)[: len(ARRAYS)])
def test_odd_results(module, name, arguments):
    for odd in (3, "out", np.ma.masked_array(np.ones(3, np.float32)), np.ones(3, np.int32)):
        out = (odd, odd) if name.startswith("grid") and name.endswith("backward") else odd
        refused(module, name, {**arguments, "out": out}, (TypeError, ValueError), "out")
    if name.startswith("grid") and name.endswith("backward"):
        refused(module, name, {**arguments, "out": 3}, TypeError, "out is of type int")


# ---- PyTorch's default device


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("way", ["block", "default"])
def test_a_default_device_elsewhere(way, large):
    torch = pytest.importorskip("torch")
    import portacl.torch as pt

    n = 600 if large else 1
    x, grid = (torch.ones(n, *a.shape[1:]) for a in (X, GRID))
    layouts = [x, x.contiguous(memory_format=torch.channels_last)]
    before = torch.get_default_device()
    block = torch.device("meta")
    try:
        if way == "default":
            torch.set_default_device("meta")
        else:
            block.__enter__()
        for source in layouts:
            results = [
                portacl.upsample_nearest_exact(source, (80, 40)),
                portacl.grid_sampler_2d(source, grid),
                *portacl.grid_sampler_2d_backward(pt.grid_sample(source, grid), source, grid),
                pt.interpolate_nearest_exact(source, size=(80, 40)),
            ]
            with pt.accelerated(forward=True):
                leaf = source.clone().requires_grad_()
                torch.nn.functional.grid_sample(leaf, grid, align_corners=False).sum().backward()
                results.append(leaf.grad)
    finally:
        if way == "default":
            torch.set_default_device(before)
        else:
            block.__exit__(None, None, None)
    assert all(result.device.type == "cpu" for result in results)
