"""torch.compile under enable(): which operators a traced graph calls, and what they give."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812
from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch._inductor.decomposition import decompositions  # noqa: E402

import portacl.torch as pt  # noqa: E402
from portacl.torch import _compiled  # noqa: E402


@pytest.fixture(autouse=True)
def _disabled():
    torch._dynamo.reset()
    pt.disable()
    yield
    pt.disable()
    torch._dynamo.reset()


def compiled(function, dynamic=False):
    """The function compiled up to where Inductor would begin, and the operators it then calls."""
    called = []

    def collect(graph, _):
        called.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph

    backend = aot_autograd(fw_compiler=collect, bw_compiler=collect, decompositions=decompositions)
    return torch.compile(function, backend=backend, dynamic=dynamic), called


FUNCTIONS = {
    "nearest-exact-1d": ((2, 3, 7), lambda x: F.interpolate(x, 11, mode="nearest-exact")),
    "nearest-exact-2d": ((2, 3, 7, 5), lambda x: F.interpolate(x, (4, 9), mode="nearest-exact")),
    "nearest-exact-scale": (
        (2, 3, 7, 5),
        lambda x: F.interpolate(x, scale_factor=2.5, mode="nearest-exact"),
    ),
    "nearest-exact-3d": (
        (1, 2, 3, 5, 4),
        lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"),
    ),
    "linear": ((2, 3, 7), lambda x: F.interpolate(x, 11, mode="linear")),
    "bilinear": ((2, 3, 7, 5), lambda x: F.interpolate(x, (4, 9), mode="bilinear")),
    "bilinear-corners": (
        (2, 3, 7, 5),
        lambda x: F.interpolate(x, (4, 9), mode="bilinear", align_corners=True),
    ),
    "bilinear-scale": (
        (2, 3, 7, 5),
        lambda x: F.interpolate(x, scale_factor=2.5, mode="bilinear"),
    ),
    "bilinear-antialias": (
        (2, 3, 7, 5),
        lambda x: F.interpolate(x, (4, 3), mode="bilinear", antialias=True),
    ),
    "bicubic": ((2, 3, 7, 5), lambda x: F.interpolate(x, (4, 9), mode="bicubic")),
    "bicubic-antialias": (
        (2, 3, 7, 5),
        lambda x: F.interpolate(x, (4, 3), mode="bicubic", antialias=True),
    ),
    "lanczos": (
        (2, 3, 7, 5),
        lambda x: F.interpolate(x, (4, 3), mode="lanczos", antialias=True),
    ),
    "trilinear": (
        (1, 2, 3, 5, 4),
        lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"),
    ),
    "nearest": ((2, 3, 7, 5), lambda x: F.interpolate(x, (4, 9), mode="nearest")),
    "upsample-module": (
        (2, 3, 7, 5),
        torch.nn.Upsample(scale_factor=2, mode="nearest-exact"),
    ),
    "affine_grid": (
        (2, 2, 7),
        lambda x: F.affine_grid(x[..., :3], [2, 1, 5, x.shape[-1]], align_corners=False),
    ),
    "grid_sample-2d": (
        (2, 3, 7, 5),
        lambda x: F.grid_sample(x, torch.tanh(x[:, :2].permute(0, 2, 3, 1)), align_corners=False),
    ),
    "grid_sample-3d": (
        (2, 3, 4, 7, 5),
        lambda x: F.grid_sample(x, torch.tanh(x.permute(0, 2, 3, 4, 1)), align_corners=False),
    ),
}

if not hasattr(torch.ops.aten, "_upsample_lanczos2d_aa"):
    del FUNCTIONS["lanczos"]

STEMS = {
    "nearest-exact": ("upsample_nearest_exact", "upsample_nearest_exact"),
    "upsample": ("upsample_nearest_exact", "upsample_nearest_exact"),
    "nearest": ("upsample_nearest", "upsample_nearest"),
    "linear": ("upsample_linear", "upsample_linear"),
    "bilinear": ("upsample_bilinear", "upsample_linear"),
    "trilinear": ("upsample_trilinear", "upsample_linear"),
    "bicubic": ("upsample_bicubic", "upsample_cubic"),
    "lanczos": ("upsample_lanczos", "upsample_lanczos"),
    "grid_sample": ("grid_sampler", "grid_sampler"),
    "affine_grid": ("affine_grid_generator", "affine_grid"),
}


def value_and_gradient(function, x):
    x = x.detach().requires_grad_()
    y = function(x * 1.5)
    return y.detach(), torch.autograd.grad((y * y).sum(), x)[0]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_graphs_call_the_operators_that_are_replaced(name, forward, dynamic):
    shape, function = FUNCTIONS[name]
    sampler = name.startswith("grid_sample")
    # The operator's name begins so in aten; portacl's own is the same for every rank.
    stem, own = STEMS[name.partition("-")[0] if "exact" not in name else "nearest-exact"]
    inner = (lambda x: function(x)) if not sampler else function
    ours, called = compiled(inner, dynamic)
    with pt.accelerated(forward=forward):
        for extra in (0, 3) if dynamic else (0,):
            x = torch.randn([n + extra * (i > 1) for i, n in enumerate(shape)])
            torch._dynamo.mark_dynamic(x, len(shape) - 1) if dynamic else None
            for got, want in zip(value_and_gradient(ours, x), value_and_gradient(function, x)):
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
    # Inductor has code of its own for aten's gradient of nearest on images.
    backward = (f"portacl.{own}",) if name == "nearest" else (f"portacl.{own}", stem)
    backward = backward if forward or name in ("nearest", "affine_grid") else (stem,)
    assert [t for t in called if "backward" in t and any(b in t for b in backward)], called
    if forward:
        assert [t for t in called if t.startswith(f"portacl.{own}") and "backward" not in t], called


@pytest.mark.parametrize("name", ["nearest-exact-2d", "grid_sample-2d"])
def test_graphs_are_pytorchs_own_while_nothing_is_replaced(name):
    shape, function = FUNCTIONS[name]
    with pt.accelerated(forward=True):
        pass
    ours, called = compiled(lambda x: function(x))
    value_and_gradient(ours, torch.randn(shape))
    assert not [target for target in called if "upsample" in target or "portacl" in target]


def test_integers_stay_with_pytorch():
    x = torch.randint(0, 255, (1, 3, 6, 6), dtype=torch.uint8)
    resize = lambda x: F.interpolate(x, (9, 4), mode="nearest-exact")  # noqa: E731
    ours, called = compiled(resize)
    with pt.accelerated(forward=True):
        assert torch.equal(ours(x), resize(x))
    assert not [target for target in called if "portacl" in target]


def test_caches_know_what_is_in_place_and_by_which_rules():
    rules = zlib.crc32(Path(_compiled.__file__).read_bytes())
    config = torch.compiler.config
    if not hasattr(config, "cache_key_tag"):
        pytest.skip("this PyTorch has no cache_key_tag")
    before = config.cache_key_tag
    try:
        config.cache_key_tag = "mine"
        pt.enable(forward=True)
        assert config.cache_key_tag == f"mine+portacl[backward+forward+{rules:08x}]"
        pt.enable()
        assert config.cache_key_tag == f"mine+portacl[backward+{rules:08x}]"
        pt.disable()
        assert config.cache_key_tag == "mine"
    finally:
        config.cache_key_tag = before


def kernels_of(call):
    """What the call gives, and the names that PyTorch's profiler saw."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        result = call()
    return result, {event.name for event in profile.events()}


def test_inductor_runs_the_kernels():
    resize = lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact").sin()  # noqa: E731
    x = torch.randn(1, 2, 8, 8)
    pt.enable(forward=True)
    got, names = kernels_of(lambda: value_and_gradient(torch.compile(resize), x))
    for g, w in zip(got, value_and_gradient(resize, x)):
        torch.testing.assert_close(g, w)
    assert {"portacl::upsample_nearest_exact", "portacl::upsample_nearest_exact_backward"} <= names


@pytest.mark.parametrize("options", [{"scale_factor": 2.0}, {"size": (5, 13)}])
def test_inductor_runs_the_gradient_of_nearest_and_fuses_the_function(options):
    resize = lambda x: F.interpolate(x, mode="nearest", **options).sin()  # noqa: E731
    x = torch.randn(1, 2, 8, 8)
    pt.enable()
    compiled_resize = torch.compile(resize)
    value_and_gradient(compiled_resize, x)  # the trace has names of its own
    got, names = kernels_of(lambda: value_and_gradient(compiled_resize, x))
    for g, w in zip(got, value_and_gradient(resize, x)):
        torch.testing.assert_close(g, w)
    assert "portacl::upsample_nearest_backward" in names
    assert not {"portacl::upsample_nearest", "aten::upsample_nearest2d"} & names


def test_nearest_under_transforms_in_graphs():
    """Where a graph takes torch.func's derivatives, the operator is PyTorch's own."""
    loss = lambda x: F.interpolate(x, scale_factor=2, mode="nearest").square().sum()  # noqa: E731
    x = torch.randn(1, 2, 8, 8)
    pt.enable()
    for transform in (torch.func.grad(loss), lambda x: torch.func.jvp(loss, (x,), (x,))[1]):
        torch.testing.assert_close(torch.compile(transform)(x), transform(x))


def test_profile_names_what_graphs_compute_by_formulas(monkeypatch, tmp_path):
    # Where CI is set, Inductor takes a call of a function that has a formula for an error.
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    both = lambda x: F.interpolate(F.interpolate(x, 9), 12, mode="bilinear")  # noqa: E731
    pictures = lambda x: F.interpolate(x, 9)  # noqa: E731
    x = torch.randn(1, 2, 8, 8)
    pt.enable()
    with pt.profile() as report:
        value_and_gradient(torch.compile(both), x)
    assert report.graphs == ["upsample_nearest2d"]
    assert {row.operator: row.reason for row in report.rows.values()} == {
        "upsample_nearest_backward": "",
        "upsample_bilinear2d_backward": "",
        "upsample_bilinear2d": "forward=True is not set",  # which Inductor leaves whole
    }
    assert "not seen: upsample_nearest2d (forward=True is not set)" in report.table()
    assert report.closing_line().startswith("portacl took 2 of 3 calls")
    pt.enable(forward=True)
    torch._dynamo.reset()
    with pt.profile() as report:
        torch.compile(lambda x: both(x))(x)
        torch.compile(pictures)((x * 9).byte())
    assert report.graphs == ["upsample_nearest2d"]
    assert report.taken == 2 and "forward=True" not in report.table()
