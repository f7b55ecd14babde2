"""What leaves the process under enable() is PyTorch's: exported, traced and packaged programs."""

from __future__ import annotations

import io
import textwrap

import pytest

from child import output_of

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812
from functorch.compile import aot_function  # noqa: E402
from test_torch_compiled import FUNCTIONS  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

import portacl.torch as pt  # noqa: E402


@pytest.fixture(autouse=True)
def _disabled():
    torch._dynamo.reset()
    with pt.accelerated(forward=True):  # the rules are in place from here on
        pass
    pt.disable()
    yield
    pt.disable()
    torch._dynamo.reset()


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x * 1.5)


def operators(graph_module):
    """What the graph and those inside it call, in order."""
    return [
        str(node.target)
        for part in graph_module.modules()
        if isinstance(part, torch.fx.GraphModule)
        for node in part.graph.nodes
        if node.op == "call_function"
    ]


def exported(function, x, strict=False):
    program = torch.export.export(Module(function), (x,), strict=strict)
    return operators(program.graph_module) + operators(program.run_decompositions().graph_module)


def gradient_of(function):
    def gradient(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(function(x * 1.5).square().sum(), x)[0]

    return gradient


def recorded_gradient(function, x):
    return operators(make_fx(gradient_of(function))(x))


def joint_graphs(function, x):
    """By functorch.compile: anybody may keep its graphs."""
    found = []

    def collect(graph, _):
        found.extend(operators(graph))
        return graph

    result = aot_function(function, collect, collect)(x.requires_grad_())
    result.square().sum().backward()
    return found


def traced(function, x):
    graph = torch.jit.trace(function, x, check_trace=False).inlined_graph
    return [node.kind() for node in graph.nodes()]


def traced_gradient(function, x):
    return traced(gradient_of(function), x)


ALIKE = {"bilinear-corners", "bilinear-scale", "nearest-exact-scale", "upsample-module"}
WAYS = {
    "export": exported,
    "strict-export": lambda function, x: exported(function, x, strict=True),
    "gradient": recorded_gradient,
    "joint": joint_graphs,
    "jit": traced,
    "jit-gradient": traced_gradient,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - ALIKE))
def test_graphs_that_leave_are_those_of_pytorch(name, way):
    if way == "jit-gradient" and name.startswith("grid_sample"):
        pytest.skip("PyTorch's tracer takes no gradient of grid_sample")
    shape, function = FUNCTIONS[name]
    x = torch.randn(shape)
    want = WAYS[way](function, x.clone())
    assert want and not any("portacl" in target for target in want)
    for forward in (False, True):
        with pt.accelerated(forward=forward):
            assert WAYS[way](function, x.clone()) == want


def test_graphs_that_stay_call_portacl_after_an_export():
    shape, function = FUNCTIONS["bilinear"]
    x = torch.randn(shape)
    with pt.accelerated(forward=True):
        exported(function, x)
        with torch.profiler.profile() as profile:
            torch.compile(function)(x)
    assert "portacl::upsample_linear" in {event.name for event in profile.events()}


@pytest.mark.parametrize("dynamo", [False, True])
def test_onnx_knows_every_operator(dynamo):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    names = ["bilinear", "bicubic", "nearest", "grid_sample-2d", *["affine_grid"] * dynamo]
    for name in names:
        shape, function = FUNCTIONS[name]
        x = torch.randn(shape)
        with pt.accelerated(forward=True):
            file = io.BytesIO()
            torch.onnx.export(Module(function), (x,), file, dynamo=dynamo, opset_version=20)
        model = onnx.load_from_string(file.getvalue())
        assert {node.domain for node in model.graph.node} <= {"", "pkg.onnxscript.torch_lib"}


def resample(x):
    """Every family of functions."""
    grid = F.affine_grid(x[:, 0, :2, :3], [x.shape[0], 1, 6, 5], align_corners=False)
    y = F.grid_sample(x, torch.tanh(grid), align_corners=False)
    y = F.interpolate(y, scale_factor=2.0, mode="bilinear")
    y = F.interpolate(y, (9, 7), mode="bicubic", antialias=True)
    return F.interpolate(F.interpolate(y, (5, 8), mode="nearest-exact"), (11, 4))


def test_packages_run_in_processes_without_portacl(tmp_path):
    x = torch.randn(2, 3, 7, 5)
    torch.save((x, resample(x * 1.5)), tmp_path / "values.pt")
    with pt.accelerated(forward=True):
        program = torch.export.export(Module(resample), (x,))
        torch.export.save(program.run_decompositions(), tmp_path / "program.pt2")
        package = str(tmp_path / "package.pt2")
        torch._inductor.aoti_compile_and_package(program, package_path=package)
    child = """
        import sys, torch
        folder = sys.argv[1]
        x, want = torch.load(f"{folder}/values.pt")
        exported = torch.export.load(f"{folder}/program.pt2").module()
        for run in (exported, torch._inductor.aoti_load_package(f"{folder}/package.pt2")):
            torch.testing.assert_close(run(x), want, rtol=1e-4, atol=1e-4)
        assert "portacl" not in sys.modules
    """
    output_of("-c", textwrap.dedent(child), tmp_path, without=("PORTACL_TORCH", "PYTHONPATH"))
