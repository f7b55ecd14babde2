"""Parts of training loops: optimizers, layers, autograd, autocast, random numbers, profiling."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from compare import close, same
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ALL = "SGD Adam AdamW RMSprop Adagrad Adadelta Adamax NAdam RAdam ASGD Rprop".split()
FUSED = "SGD Adam AdamW Adagrad".split()


def _optimized(device, name, **settings):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(device)
    x = torch.randn(8, 4).to(device)
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.01, **settings)
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    return loss


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("foreach", [False, True])
def test_optimizers(name, foreach):
    close(_optimized("npu", name, foreach=foreach), _optimized("cpu", name, foreach=foreach))


@pytest.mark.parametrize("name", FUSED)
def test_fused_optimizers(name):
    close(_optimized("npu", name, fused=True), _optimized("cpu", name, fused=True))


def test_lbfgs():
    def run(device):
        torch.manual_seed(0)
        weights = torch.randn(5).to(device).requires_grad_()
        optimizer = torch.optim.LBFGS([weights], lr=0.5)

        def closure():
            optimizer.zero_grad()
            loss = ((weights - 1) ** 4).sum() + weights.square().sum()
            loss.backward()
            return loss

        return [optimizer.step(closure) for _ in range(3)][-1]

    close(run("npu"), run("cpu"))


LAYERS = {
    "conv1d": (lambda: nn.Conv1d(4, 6, 3), (2, 4, 9)),
    "grouped": (lambda: nn.Conv2d(4, 8, 3, groups=4), (2, 4, 9, 9)),
    "transposed": (lambda: nn.ConvTranspose2d(4, 6, 3, 2), (2, 4, 5, 5)),
    "dilated 3d": (lambda: nn.Conv3d(2, 3, 3, dilation=2), (1, 2, 7, 7, 7)),
    "reflect": (lambda: nn.Conv2d(4, 4, 3, padding="same", padding_mode="reflect"), (2, 4, 9, 9)),
    "batch norm": (lambda: nn.BatchNorm2d(4), (2, 4, 5, 5)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 5, 5)),
    "layer norm": (lambda: nn.LayerNorm(9), (2, 4, 9)),
    "rms norm": (lambda: nn.RMSNorm(9), (2, 4, 9)),
    "instance norm": (lambda: nn.InstanceNorm2d(4, affine=True), (2, 4, 5, 5)),
    "adaptive pool": (lambda: nn.AdaptiveAvgPool2d(3), (2, 4, 7, 7)),
    "attention": (lambda: nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True), (2, 5, 16)),
    "pixel shuffle": (lambda: nn.PixelShuffle(2), (2, 8, 3, 3)),
    "bilinear": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 5, 4)),
    "bicubic": (lambda: nn.Upsample(size=(7, 9), mode="bicubic"), (2, 3, 5, 4)),
    "nearest": (lambda: nn.Upsample(scale_factor=2), (2, 3, 5, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("train", [True, False])
def test_layers(name, train):
    make, shape = LAYERS[name]

    def use(x):
        torch.manual_seed(0)
        layer = make().to(x.device).train(train)
        return layer(x), [p for p in layer.parameters()]

    same(lambda x: use(x)[0], torch.randn(*shape, requires_grad=True), tolerance=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("biased", [True, False])
def test_convolutions_of_every_type(dtype, biased):
    x, weight = torch.randn(2, 4, 9, 9, dtype=dtype), torch.randn(6, 4, 3, 3, dtype=dtype)
    bias = torch.randn(6, dtype=dtype) if biased else None
    tolerance = 0.1 if dtype == torch.bfloat16 else 1e-4
    if dtype.is_complex:
        same(F.conv2d, x, weight, bias, tolerance=tolerance)
        return
    leaves = [t if t is None else t.requires_grad_() for t in (x, weight, bias)]
    same(F.conv2d, *leaves, (2, 1), tolerance=tolerance)


def test_a_convolution_names_what_does_not_fit():
    x, weight = torch.randn(1, 1, 5, 5).npu(), torch.randn(1, 1, 3, 3)
    with pytest.raises(RuntimeError, match=r"same device.*npu:0 and cpu! \(aten::convolution\)"):
        F.conv2d(x, weight)
    with pytest.raises(RuntimeError, match="expected input"):
        F.conv2d(x, torch.randn(1, 2, 3, 3).npu())


@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_cells(cell):
    def use(x):
        torch.manual_seed(0)
        result = cell(4, 5).to(x.device)(x)
        return result[0] if isinstance(result, tuple) else result

    same(use, torch.randn(3, 4, requires_grad=True))


def test_embeddings():
    def use(weights):
        places = torch.tensor([[1, 2], [3, 3]], device=weights.device)
        return F.embedding(places, weights), F.embedding_bag(places, weights, mode="mean")

    same(use, torch.randn(10, 4, requires_grad=True))


@pytest.mark.parametrize(
    "loss", [F.cross_entropy, F.nll_loss, F.mse_loss, F.smooth_l1_loss, F.kl_div, F.huber_loss]
)
def test_losses(loss):
    def use(x):
        target = x.detach().argmax(1) if loss in (F.cross_entropy, F.nll_loss) else x.detach() + 1
        return loss(x.log_softmax(1), target)

    same(use, torch.randn(5, 4, requires_grad=True))


def test_autocast_chooses_the_types_of_a_device():
    x = torch.randn(4, 4, device="npu")
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
        assert F.softmax(x @ x, -1).dtype == torch.float32
    with torch.npu.amp.autocast():
        assert (x @ x).dtype == torch.float16


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_models_also_where_the_cpu_has_no_kernel(dtype):
    def run(device, dtype):
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.AdaptiveAvgPool2d(2),
            nn.Flatten(), nn.Linear(16, 3),
        ).to(device, dtype)  # fmt: skip
        x = torch.randn(2, 1, 8, 8).to(device, dtype)
        loss = F.cross_entropy(model(x), torch.tensor([0, 1], device=device))
        loss.backward()
        return loss.float()

    close(run("npu", dtype), run("cpu", torch.float32), 3e-2)
    square = torch.eye(3, dtype=dtype).npu() * 2
    assert torch.linalg.det(square).dtype == dtype  # LAPACK has float and double alone
    assert torch.linalg.det(square).item() == 8
    with torch.inference_mode():
        assert torch.linalg.det(square).item() == 8  # whose tensors count no versions


def test_checkpointing():
    from torch.utils.checkpoint import checkpoint

    def run(recompute):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1)).npu()
        x = torch.randn(3, 4).npu().requires_grad_()
        torch.manual_seed(1)
        y = checkpoint(model, x, use_reentrant=False) if recompute else model(x)
        y.sum().backward()
        return x.grad.cpu()

    assert torch.equal(run(True), run(False))


def test_functorch():
    def loss(w, x):
        return (x @ w).tanh().sum()

    same(
        lambda w, x: torch.func.vmap(torch.func.grad(loss), (None, 0))(w, x),
        torch.randn(4, 3), torch.randn(5, 4),
    )  # fmt: skip
    same(lambda w: torch.func.jacrev(torch.sin)(w), torch.randn(3))
    same(lambda w: torch.func.hessian(lambda a: (a**3).sum())(w), torch.randn(3))


def test_double_backward_hooks_and_anomalies():
    with torch.autograd.detect_anomaly(check_nan=True):
        x = torch.randn(3, 3).npu().requires_grad_()
        seen = []
        x.register_hook(lambda grad: seen.append(grad.device.type))
        (first,) = torch.autograd.grad(x.sigmoid().pow(3).sum(), x, create_graph=True)
        first.square().sum().backward()
    assert set(seen) == {"npu"}
    assert x.grad is not None


@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader_with_pinned_memory(workers):
    data = TensorDataset(torch.arange(32.0).reshape(32, 1))
    loader = DataLoader(data, 8, num_workers=workers, pin_memory=True)
    assert sum(x.to("npu", non_blocking=True).sum().item() for (x,) in loader) == 496


def test_seeds_and_states_of_the_device():
    torch.npu.manual_seed(7)
    first = torch.rand(3, device="npu").cpu()
    second = torch.rand(3, device="npu").cpu()
    assert not torch.equal(first, second)
    torch.npu.manual_seed(7)
    assert torch.equal(torch.rand(3, device="npu").cpu(), first)
    state = torch.npu.get_rng_state()
    later = torch.randn(3, device="npu").cpu()
    torch.npu.set_rng_state(state)
    assert torch.equal(torch.randn(3, device="npu").cpu(), later)


def test_random_numbers_leave_the_cpus_alone():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    torch.rand(100, device="npu")
    F.dropout(torch.ones(100, device="npu"))
    assert torch.equal(torch.rand(4), expected)


def test_a_generator_of_the_device():
    generator = torch.Generator(device="npu")
    generator.manual_seed(3)
    first = torch.rand(4, device="npu", generator=generator).cpu()
    assert not torch.equal(torch.rand(4, device="npu", generator=generator).cpu(), first)
    generator.manual_seed(3)
    assert torch.equal(torch.rand(4, device="npu", generator=generator).cpu(), first)
    assert torch.randperm(5, device="npu", generator=generator).sort()[0].tolist() == [*range(5)]


def test_distributions():
    torch.manual_seed(0)
    x = torch.randn(20_000, device="npu")
    assert abs(x.mean().item()) < 0.05 and abs(x.std().item() - 1) < 0.05
    y = F.dropout(torch.ones(20_000, device="npu"), 0.3)
    assert abs((y != 0).float().mean().item() - 0.7) < 0.02
    assert y.max().item() == pytest.approx(1 / 0.7)
    chosen = torch.multinomial(torch.tensor([0.0, 1, 3]).npu(), 4000, replacement=True)
    assert chosen.min().item() == 1 and abs((chosen == 2).float().mean().item() - 0.75) < 0.05
    assert torch.bernoulli(torch.full((20_000,), 0.2, device="npu")).mean().item() < 0.22


def test_the_profiler_names_routed_operators():
    with torch.profiler.profile() as profile:
        torch.randn(4, 4, device="npu") @ torch.randn(4, 4, device="npu")
    assert any("aten::mm" in event.key for event in profile.key_averages())


def test_linear_algebra_and_transforms():
    def decomposed(a):
        square = a @ a.mT + torch.eye(4, device=a.device)
        return torch.linalg.inv(square), torch.linalg.cholesky(square), torch.linalg.svdvals(a)

    same(decomposed, torch.randn(4, 5), tolerance=1e-3)
    same(lambda a: torch.fft.ifft2(torch.fft.fft2(a)).real, torch.randn(4, 8))
    same(lambda a: torch.stft(a, 16, return_complex=True, window=torch.hann_window(16).to(a.device)),
         torch.randn(64))
    same(lambda a: torch.einsum("bij,bjk->bik", a, a), torch.randn(2, 3, 3, requires_grad=True))


def test_scripted_and_traced_modules():
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).npu(), torch.randn(2, 4, device="npu")
    close(torch.jit.trace(model, x)(x), model(x).cpu())
    close(torch.jit.script(model)(x), model(x).cpu())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compile_without_a_code_generator(backend):
    def run(device, compiled):
        torch.manual_seed(0)
        torch._dynamo.reset()
        model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)).to(device)
        x = torch.randn(3, 4).to(device)
        out = (torch.compile(model, backend=backend) if compiled else model)(x)
        out.sum().backward()
        return out, model[0].weight.grad

    close(run("npu", True), run("cpu", False))


@pytest.mark.parametrize("backend", ["inductor", "npu"])
def test_compilers_for_the_device_are_refused_in_plain_words(backend):
    torch._dynamo.reset()
    x = torch.ones(3, device="npu")
    with pytest.raises(Exception, match="portacl runs no code that is compiled for an NPU"):
        torch.compile(torch.sin, backend=backend)(x)
    torch._dynamo.reset()
    assert x.sin().cpu()[0].item() == pytest.approx(0.841471)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_convolutions_and_losses_in_half_precision_round_once(dtype):
    x, weight = torch.randn(2, 3, 9, 9).to(dtype), torch.randn(4, 3, 3, 3).to(dtype)
    exact = F.conv2d(x.double(), weight.double()).to(dtype)
    assert (F.conv2d(x.npu(), weight.npu()).cpu() == exact).float().mean() > 0.99
    target, scale = torch.rand(64).to(dtype), torch.rand(64).to(dtype)
    logits = torch.randn(64).to(dtype)
    wide = [t.double() for t in (logits, target)]
    loss = F.binary_cross_entropy_with_logits(
        logits.npu(), target.npu(), pos_weight=scale.npu(), reduction="none"
    )
    expected = F.binary_cross_entropy_with_logits(
        *wide, pos_weight=scale.double(), reduction="none"
    )
    assert (loss.cpu() == expected.to(dtype)).float().mean() > 0.95


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_in_half_precision_round_once(dtype):
    x = (torch.rand(15, 400) + 1).to(dtype)
    exact = torch.prod(x.double(), 0).to(dtype)
    out = torch.empty(0, dtype=dtype).npu()  # becomes as large as the result
    torch.prod(x.npu(), 0, dtype=dtype, out=out)
    assert out.shape == (400,)
    for product in (torch.prod(x.npu(), 0), torch.prod(x.npu(), 0, dtype=dtype), out):
        assert product.dtype == dtype
        assert (product.cpu() == exact).float().mean() > 0.98
    wide = torch.prod(x.npu(), 0, dtype=torch.float32)
    torch.testing.assert_close(wide.cpu(), torch.prod(x.float(), 0))


ROUNDED_ONCE = {
    "adaptive_avg_pool3d": lambda x, y: F.adaptive_avg_pool3d(x.view(1, 1, 24, 6, 8), (2, 1, 2)),
    "addbmm": lambda x, y: torch.addbmm(x, x[None], y[None]),
    "addr": lambda x, y: torch.addr(x, y[0], y[1]),
    "cross": lambda x, y: torch.linalg.cross(x[:3], y[:3], dim=0),
    "logit": lambda x, y: torch.logit(x.sigmoid()),
    "slow_conv_transpose2d": lambda x, y: torch._C._nn.slow_conv_transpose2d(
        x.view(1, 4, 17, 17), y.flatten()[:144].view(4, 4, 3, 3), 3),
    "ndtr": lambda x, y: torch.special.ndtr(x),
    "_add_relu": lambda x, y: torch._VF._add_relu(x, y, alpha=2),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ROUNDED_ONCE)
def test_half_precision_rounds_no_intermediate_result(name, dtype):
    if name in ("adaptive_avg_pool3d", "ndtr"):
        x, y = ((torch.rand(24, 48) + 1).to(dtype) for _ in range(2))
    else:
        x, y = (torch.randint(-8, 9, (34, 34)).to(dtype) / 8 for _ in range(2))
    run = ROUNDED_ONCE[name]
    found, wide = run(x.npu(), y.npu()), run(x.float(), y.float())
    assert found.dtype == dtype
    if name == "logit":  # its own argument is rounded
        wide = torch.logit(x.sigmoid().float())
    step = torch.finfo(dtype).eps
    torch.testing.assert_close(found.cpu().float(), wide, rtol=step / 1.9, atol=1e-3 * step)


@pytest.mark.parametrize("name", ["_foreach_addcmul", "_foreach_addcdiv"])
def test_numbers_for_each_tensor_of_a_list_stay_on_the_cpu(name):
    lists = [[torch.rand(3, 2) + 1 for _ in range(4)] for _ in range(3)]
    numbers = torch.rand(4)
    there = [[x.npu() for x in each] for each in lists]
    expected = getattr(torch, name)(*lists, numbers)
    close(getattr(torch, name)(*there, numbers), expected)
    getattr(torch, name + "_")(*there, numbers)
    close(there[0], expected)


def test_lists_are_copied_from_device_to_device():
    def pair(fill):
        return [torch.full((2, 2), fill).npu(), torch.full((2,), fill), torch.full((3,), fill)]

    to, source = pair(0.0), pair(7.0)
    source[2] = source[2].npu()
    torch._foreach_copy_(to, source)
    assert [x.device.type for x in to] == ["npu", "cpu", "cpu"]
    assert all((x == 7).all() for x in to)


def test_every_in_place_comparison():
    x = torch.tensor([1.0, 2, 3]).npu()
    assert x.clone().eq_(2).tolist() == [0, 1, 0]
    assert x.clone().eq_(x).tolist() == [1, 1, 1]


def test_products_of_a_type_of_their_own():
    a, b = torch.randn(2, 3, 4).half(), torch.randn(2, 4, 5).half()
    close(torch.mm(a[0].npu(), b[0].npu(), out_dtype=torch.float32), a[0].float() @ b[0].float())
    close(torch.bmm(a.npu(), b.npu(), out_dtype=torch.float32), a.float() @ b.float())
    add = torch.randn(3, 5)
    out = torch.addmm(add.npu(), a[0].npu(), b[0].npu(), out_dtype=torch.float32, beta=2)
    close(out, 2 * add + a[0].float() @ b[0].float())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_largest_differences_have_gradients_in_half_precision(dtype):
    def gradient(device, function, *tensors):
        leaves = [x.to(device).requires_grad_() for x in tensors]
        return torch.autograd.grad(function(*leaves).sum(), leaves)

    x, y = torch.randn(5, 7).to(dtype), torch.randn(4, 7).to(dtype)
    for function, tensors in ((lambda a, b: torch.cdist(a, b, torch.inf), (x, y)),
                              (lambda a: torch.pdist(a, torch.inf), (x,))):
        found = gradient("npu", function, *tensors)
        expected = gradient("cpu", function, *(t.float() for t in tensors))
        close(found, [t.to(dtype) for t in expected], 0)


def test_inverses_in_half_precision():
    x = (torch.randn(3, 3) + 4 * torch.eye(3)).half()
    close(torch.inverse(x.npu()), torch.inverse(x.float()).half(), 1e-3)


@pytest.mark.parametrize("name", ["cross_entropy", "multi_margin_loss", "multilabel_margin_loss"])
def test_classes_of_a_loss_may_be_int32(name):
    x = torch.randn(3, 4)
    classes = torch.tensor([[1, 3, -1, 0]] * 3) if "label" in name else torch.tensor([1, 3, 0])

    def run(device, dtype):
        leaf = x.to(device).requires_grad_()
        loss = getattr(F, name)(leaf, classes.to(device).to(dtype))
        return loss, *torch.autograd.grad(loss, leaf)

    close(run("npu", torch.int32), run("cpu", torch.int64))


def test_indices_may_be_int32():
    where = torch.tensor([2, 0, 1])
    close(F.one_hot(where.npu(), 4), F.one_hot(where, 4))
    close(F.one_hot(where.int().npu(), 4), F.one_hot(where, 4).int())
    for x in (torch.randn(4, 3), torch.arange(12, dtype=torch.int32).view(4, 3)):
        source = torch.tensor([7, 8, 9], dtype=x.dtype)
        expected = x.put(where, source)
        close(x.npu().put(where.int().npu(), source.npu()), expected)
        there = x.npu()
        assert there.put_(where.int().npu(), source.npu()) is there
        close(there, expected)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_softmax_of_half_precision_in_float(name, dtype):
    x, weights = torch.randn(3, 4).to(dtype), torch.randn(3, 4)

    def run(x):
        leaf = x.requires_grad_()
        out = getattr(F, name)(leaf, -1, dtype=torch.float32)
        return out, *torch.autograd.grad((out * weights.to(x.device)).sum(), leaf)

    expected = run(x)
    close(run(x.npu()), expected)
    out = getattr(torch, "_" + name)(x.detach().npu(), -1, True)
    assert out.dtype == torch.float32
    close(out, expected[0])


def test_operators_of_lists_count_versions():
    def run(device):
        found = []
        for work in (lambda x, y: torch._foreach_add_(x, 1.0), torch._foreach_mul_,
                     lambda x, y: torch._foreach_addcmul_(x, y, y), torch._foreach_copy_,
                     torch._foreach_add):
            x, y = ([torch.ones(3, device=device) for _ in range(2)] for _ in range(2))
            before = [t._version for t in (*x, *y)]
            work(x, y)
            found.append([t._version > b for t, b in zip((*x, *y), before, strict=True)])
        return found

    assert run("npu") == run("cpu")
    leaf = torch.ones(3, device="npu", requires_grad=True)
    out = leaf.exp()
    torch._foreach_add_([out], 1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    with torch.inference_mode():
        torch._foreach_add_([torch.ones(3, device="npu")], 1.0)


@pytest.mark.parametrize("layer", [nn.BatchNorm2d, nn.InstanceNorm2d])
@pytest.mark.parametrize("affine", [False, True])
def test_statistics_of_half_precision_are_of_float(layer, affine):
    x, weights = torch.randint(1, 10, (2, 4, 3, 5)).half(), torch.randn(2, 4, 3, 5)

    def run(device, dtype):
        module = layer(4, affine=affine, track_running_stats=True).to(device, dtype)
        leaf = x.to(device, dtype).requires_grad_()
        out = module(leaf)
        out.backward(weights.to(device, dtype)[..., :1].expand(out.shape))  # no memory of its own
        return (out, leaf.grad, module.running_var, *(p.grad for p in module.parameters()))

    found = run("npu", torch.float16)
    assert all(t.dtype == torch.float16 for t in found)
    close(found, [t.half() for t in run("cpu", torch.float32)], 4e-3)


def test_attention_is_one_operator_in_training_too():
    def attended(device):
        torch.manual_seed(0)
        query, key, value = (torch.randn(2, 4, 17, 8).to(device).requires_grad_() for _ in range(3))
        out = F.scaled_dot_product_attention(query, key, value)
        out.square().sum().backward()
        return out.grad_fn.name(), [out, query.grad, key.grad, value.grad]

    (name, ours), (expected_name, expected) = attended("npu"), attended("cpu")
    assert name == expected_name
    close(ours, expected)
