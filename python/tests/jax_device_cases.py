"""Cases of test_jax_devices.py: each transformation of each operator, against jax.numpy.

As a program it runs the cases with one of its arguments in their names ("-": nearly all), or a
brief selection. It writes a line for each case to the error output, then prints the failures as
JSON. XLA must have been told of four devices (``XLA_FLAGS``). The program turns on double precision
itself.
"""

from __future__ import annotations

import json
import re
import sys
import traceback
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.ndimage import map_coordinates
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import portacl.jax as pj

DEVICES = 4
N = 2 * DEVICES


# ---- operators: name -> (portacl's, jax.numpy's, the shapes of two arguments)


def sample_by_coordinates(padding, image, grid):
    """Bilinear or trilinear, corners not aligned, by jax.scipy."""
    extents = image.shape[2:]
    at = [((grid[..., -1 - i] + 1) * extent - 1) / 2 for i, extent in enumerate(extents)]
    mode = {"zeros": "constant", "border": "nearest"}[padding]
    one = lambda plane, *at: map_coordinates(plane, at, order=1, mode=mode)  # noqa: E731
    planes = jax.vmap(one, (0, *[None] * len(at)))
    return jax.vmap(planes)(image, *at)


def nearest_by_indices(sizes, image):
    for axis, size in enumerate(sizes, 2):
        source = np.floor((np.arange(size) + 0.5) * image.shape[axis] / size).astype(int)
        image = jnp.moveaxis(jnp.moveaxis(image, axis, 0)[source], 0, axis)
    return image


def nearest_back_by_indices(shape, gradient):
    for axis, size in enumerate(shape[2:], 2):
        source = np.floor((np.arange(gradient.shape[axis]) + 0.5) * size / gradient.shape[axis])
        chosen = source[:, None] == np.arange(size)
        gradient = jnp.moveaxis(jnp.tensordot(gradient, chosen * 1.0, (axis, 0)), -1, axis)
    return gradient


def gradients_by_coordinates(gradient, image, grid):
    nothing = 0 * (image.sum() + grid.sum())  # varies over all the devices that either varies over
    sample = partial(sample_by_coordinates, "zeros")
    gradients = jax.vjp(sample, image + nothing, grid + nothing)[1](gradient + nothing)
    return sum(each.sum((1, 2, 3)) for each in gradients)


def our_gradients(gradient, image, grid):
    gradients = pj.grid_sampler_2d_backward(gradient, image, grid)
    return sum(each.sum((1, 2, 3)) for each in gradients)


def affine_grid_by_product(theta, size):
    y, x = jnp.meshgrid(*((2 * jnp.arange(n) + 1.0) / n - 1 for n in size), indexing="ij")
    points = jnp.stack([x, y, jnp.ones_like(x)], -1)
    return jnp.einsum("hwk,nck->nhwc", points, theta)


OPERATORS = {
    "grid_sampler_2d": (
        partial(pj.grid_sampler_2d, padding="border"),
        partial(sample_by_coordinates, "border"),
        ((N, 2, 6, 7), (N, 4, 5, 2)),
    ),
    "grid_sampler_3d": (
        pj.grid_sampler_3d,
        partial(sample_by_coordinates, "zeros"),
        ((N, 2, 3, 4, 5), (N, 2, 3, 2, 3)),
    ),
    "upsample_nearest_exact": (
        lambda x, weights: pj.upsample_nearest_exact(x, (4, 9)) * weights,
        lambda x, weights: nearest_by_indices((4, 9), x) * weights,
        ((N, 2, 6, 7), (N, 2, 4, 9)),
    ),
    "upsample_nearest_exact_backward": (
        lambda g, weights: pj.upsample_nearest_exact_backward(g, (g.shape[0], 2, 6, 7)) * weights,
        lambda g, weights: nearest_back_by_indices((N, 2, 6, 7), g) * weights,
        ((N, 2, 4, 9), (N, 2, 6, 7)),
    ),
    "upsample_linear": (
        lambda x, weights: pj.upsample_linear(x, (4, 9)) * weights,
        lambda x, weights: (
            jax.image.resize(x, (*x.shape[:2], 4, 9), "linear", antialias=False) * weights
        ),
        ((N, 2, 6, 7), (N, 2, 4, 9)),
    ),
    "affine_grid": (
        lambda theta, weights: pj.affine_grid(theta, (theta.shape[0], 1, 4, 5)) * weights,
        lambda theta, weights: affine_grid_by_product(theta, (4, 5)) * weights,
        ((N, 2, 3), (N, 4, 5, 2)),
    ),
    "grid_sampler_2d_backward": (
        lambda image, grid: our_gradients(jnp.cos(image[..., :4, :5]), image, grid),
        lambda image, grid: gradients_by_coordinates(jnp.cos(image[..., :4, :5]), image, grid),
        ((N, 2, 6, 7), (N, 4, 5, 2)),
    ),
}


def arrays_of(shapes):
    """Values that lie between pixels as coordinates of a grid: derivatives are one-valued."""
    rng = np.random.default_rng(11)
    return [rng.uniform(-0.93, 0.93, shape) for shape in shapes]


# ---- transformations: of a function of two arrays to arrays that are compared

TRANSFORMATIONS = {}


def transformation(function=None, **variants):
    """Register one, or with variants one for each, by the keyword's name."""
    if function is not None:
        TRANSFORMATIONS[function.__name__] = function
        return function

    def register(function):
        for name, values in variants.items():
            TRANSFORMATIONS[f"{function.__name__}-{name}"] = partial(function, *values)
        return function

    return register


def manual_mesh():
    return jax.make_mesh((DEVICES,), ("d",), axis_types=(AxisType.Auto,))


SPECS = {
    "first_replicated": (P(), P("d")),
    "second_replicated": (P("d"), P()),
    "both_split": (P("d"), P("d")),
}
SPLITS = {
    f"{name}{'' if check else '_unchecked'}{'' if compiled else '_eager'}": (specs, check, compiled)
    for name, specs in SPECS.items()
    for check in (True, False)
    for compiled in (True, False)
}


def cut(specs, a, b):
    """Where an argument is on every device it has the batch of one of them."""
    return (a[:2] if specs[0] == P() else a), (b[:2] if specs[1] == P() else b)


def summed(f):
    """A loss which differs from device to device, and the same on all of them."""
    return lambda a, b: jax.lax.psum((f(a, b) ** 2).sum() * jnp.sin(a.sum() + b.sum()), "d")


@transformation(**SPLITS)
def gradient_of_shard_map(specs, check, compiled, f, a, b):
    mapped = jax.shard_map(
        summed(f), mesh=manual_mesh(), in_specs=specs, out_specs=P(), check_vma=check
    )
    gradient = jax.grad(mapped, (0, 1))
    return (jax.jit(gradient) if compiled else gradient)(*cut(specs, a, b))


@transformation(**{name: (specs,) for name, specs in SPECS.items()})
def gradient_inside_shard_map(specs, f, a, b):
    loss = lambda a, b: (f(a, b) ** 2).sum() * jnp.sin(a.sum() + b.sum())  # noqa: E731
    mapped = jax.shard_map(
        jax.grad(loss, (0, 1)), mesh=manual_mesh(), in_specs=specs, out_specs=specs
    )
    return jax.jit(mapped)(*cut(specs, a, b))


@transformation(**{name: (specs,) for name, specs in SPECS.items()})
def tangent_of_shard_map(specs, f, a, b):
    mapped = jax.shard_map(f, mesh=manual_mesh(), in_specs=specs, out_specs=P("d"))
    a, b = cut(specs, a, b)
    return jax.jit(lambda a, b: jax.jvp(mapped, (a, b), (jnp.cos(a), jnp.sin(b))))(a, b)


@transformation(**{name: (specs,) for name, specs in SPECS.items()})
def second_derivative_of_shard_map(specs, f, a, b):
    mapped = jax.shard_map(summed(f), mesh=manual_mesh(), in_specs=specs, out_specs=P())
    a, b = cut(specs, a, b)
    slope = lambda a, b: sum((g**2).sum() for g in jax.grad(mapped, (0, 1))(a, b))  # noqa: E731
    return jax.jit(jax.grad(slope, (0, 1)))(a, b)


@transformation
def scan_inside_shard_map(f, a, b):
    def body(carry, scale):
        value = f(a_of[0] * carry, b_of[0] * scale).mean()
        return carry + 0.01 * value, value

    a_of, b_of = [None], [None]

    def loss(a, b):
        a_of[0], b_of[0] = a, b
        start = a.mean()
        last, values = jax.lax.scan(jax.checkpoint(body), start, jnp.array([0.5, 0.7, 0.9]))
        return jax.lax.psum(last + values.sum(), "d")

    mapped = jax.shard_map(loss, mesh=manual_mesh(), in_specs=(P("d"), P("d")), out_specs=P())
    return jax.jit(jax.value_and_grad(mapped, (0, 1)))(a, b)


@transformation
def vmap_of_shard_map(f, a, b):
    mapped = jax.shard_map(summed(f), mesh=manual_mesh(), in_specs=(P(), P("d")), out_specs=P())
    many = jnp.stack([a[:2], -a[:2], a[:2] / 2])
    return jax.jit(jax.vmap(jax.grad(mapped, (0, 1)), (0, None)))(many, b)


@transformation
def shard_map_of_vmap(f, a, b):
    def loss(a, b):
        return summed(jax.vmap(f, (0, None)))(jnp.stack([a, -a, a / 2]), b)

    mapped = jax.shard_map(loss, mesh=manual_mesh(), in_specs=(P(), P("d")), out_specs=P())
    return jax.jit(jax.grad(mapped, (0, 1)))(a[:2], b)


@transformation
def transpose_inside_shard_map(f, a, b):
    if f(a, b).shape != f(2 * a, b).shape or not np.allclose(f(2 * a, b), 2 * f(a, b)):
        return ()  # not linear in the first

    def transposed(a, b):
        return jax.linear_transpose(lambda a: f(a, b), a)(jnp.cos(f(a, b)))

    specs = {"in_specs": (P("d"), P("d")), "out_specs": P("d")}
    return jax.jit(jax.shard_map(transposed, mesh=manual_mesh(), **specs))(a, b)


@transformation(gradient=(True,), values=(False,))
def pmap(gradient, f, a, b):
    loss = lambda a, b: (f(a, b) ** 2).sum()  # noqa: E731
    a, b = (x.reshape(DEVICES, 2, *x.shape[1:]) for x in (a, b))
    return jax.pmap(jax.grad(loss, (0, 1)) if gradient else f, "d")(a, b)


@transformation(**{name: (specs,) for name, specs in SPECS.items()})
def jit_with_shardings(specs, f, a, b):
    mesh = manual_mesh()
    a, b = (jax.device_put(x, NamedSharding(mesh, spec)) for x, spec in zip((a, b), specs))
    gradient = jax.jit(jax.value_and_grad(lambda a, b: (f(a, b) ** 2).sum(), (0, 1)))
    return gradient(a, b), jax.jit(f)(a, b)


@transformation(channels=(P(None, "d"),), rows=(P(None, None, "d"),))
def jit_with_other_axes_split(spec, f, a, b):
    mesh = jax.make_mesh((2,), ("d",), axis_types=(AxisType.Auto,), devices=jax.devices()[:2])
    try:
        a = jax.device_put(a, NamedSharding(mesh, spec))
    except ValueError:  # the extent cannot be split
        return ()
    return jax.jit(jax.grad(lambda a, b: (f(a, b) ** 2).sum(), (0, 1)))(a, b)


@transformation(**{name: (specs,) for name, specs in SPECS.items()})
def explicit_mesh(specs, f, a, b):
    mesh = jax.make_mesh((DEVICES,), ("d",), axis_types=(AxisType.Explicit,))
    if specs != SPECS["both_split"] and f in ORACLES:
        return jax.grad(lambda a, b: (f(a, b) ** 2).sum(), (0, 1))(a, b)  # jnp refuses to guess
    with jax.set_mesh(mesh):
        a, b = (jax.device_put(x, NamedSharding(mesh, spec)) for x, spec in zip((a, b), specs))
        return jax.jit(jax.grad(lambda a, b: (f(a, b) ** 2).sum(), (0, 1)))(a, b)


ORACLES = {oracle for _, oracle, _ in OPERATORS.values()}


def compare(operator, transform):
    ours, theirs, shapes = OPERATORS[operator]
    a, b = arrays_of(shapes)
    got, want = transform(ours, a, b), transform(theirs, a, b)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-9, atol=1e-10)


CASES = {
    f"{name}-{operator}": partial(compare, operator, transform)
    for name, transform in TRANSFORMATIONS.items()
    for operator in OPERATORS
}


def is_brief(name):
    """Whether a case stands for others: all take minutes of compilation, these one."""
    if name.endswith("-grid_sampler_2d"):
        return "second_replicated" in name or not re.search("replicated|both_split", name)
    return name.startswith(
        ("gradient_of_shard_map-second_replicated-", "explicit_mesh-both_split-")
    )


# ---- single properties


def case(function):
    CASES[function.__name__] = function
    return function


@case
def values_that_differ_between_devices_are_not_taken_for_equal_ones():
    for ours, _, shapes in OPERATORS.values():
        a, b = arrays_of(shapes)
        mapped = jax.shard_map(
            ours, mesh=manual_mesh(), in_specs=(P("d"), P("d")), out_specs=P(), check_vma=True
        )
        try:
            jax.jit(mapped)(a, b)
        except ValueError as error:
            assert "out_specs" in str(error), error
        else:
            raise AssertionError("out_specs=P() was accepted")


@case
def a_split_batch_stays_where_it_is():
    """No device sends its images to another one, in either direction."""
    mesh = manual_mesh()
    for name, (ours, _, shapes) in OPERATORS.items():
        a, b = (jax.device_put(x, NamedSharding(mesh, P("d"))) for x in arrays_of(shapes))
        for f in (ours, jax.grad(lambda a, b: (ours(a, b) ** 2).sum(), (0, 1))):
            compiled = jax.jit(f).lower(a, b).compile()
            text = compiled.as_text()
            assert "portacl" in text
            assert "all-gather" not in text and "all-reduce" not in text, (name, text)
            for result in jax.tree.leaves(compiled(a, b)):
                assert result.sharding.spec[0] == "d", (name, result.sharding)


@case
def an_explicit_mesh_knows_how_results_are_split():
    mesh = jax.make_mesh((2, 2), ("d", "e"), axis_types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        image = jax.device_put(np.ones((4, 2, 6, 6)), NamedSharding(mesh, P("d", "e")))
        grid = jax.device_put(np.zeros((4, 3, 4, 2)), NamedSharding(mesh, P("d", None, "e")))
        up = pj.upsample_nearest_exact(image, (9, 9))
        assert jax.typeof(up).sharding.spec == P("d", "e", None, None)
        sampled = pj.grid_sampler_2d(image, grid)
        assert jax.typeof(sampled).sharding.spec == P("d", None, None, None)
        many = jax.vmap(pj.grid_sampler_2d, (None, 0))(image, jnp.stack([grid, grid]))
        assert jax.typeof(many).sharding.spec[1] == "d"


BRIEF = [name for name, run in CASES.items() if not isinstance(run, partial) or is_brief(name)]


def main(chosen):
    if jax.device_count() != DEVICES:
        flag = f"--xla_force_host_platform_device_count={DEVICES}"
        sys.exit(f"jax_device_cases: {jax.device_count()} devices; run it with XLA_FLAGS={flag}")
    jax.config.update("jax_enable_x64", True)
    outcomes = {}
    wanted = (lambda name: any(part in name for part in chosen)) if chosen else BRIEF.__contains__
    names = [name for name in CASES if wanted(name)]
    for number, name in enumerate(names, 1):
        try:
            CASES[name]()
            outcomes[name] = ""
        except Exception:
            outcomes[name] = traceback.format_exc(limit=-6)
        verdict = "FAILED" if outcomes[name] else "ok"
        print(f"{number} of {len(names)}: {name}: {verdict}", file=sys.stderr, flush=True)
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(sys.argv[1:])
