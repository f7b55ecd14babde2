"""Graphs of the device (torch.npu.NPUGraph) with routed operators: recorded once, replayed on the same memory."""

from __future__ import annotations

import gc

import pytest
import torch
import torch.nn.functional as F
from compare import close
from torch import nn


def _graph(function):
    """Record ``function()`` after a run outside; return the graph and what it returned."""
    for _ in range(2):
        function()
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        out = function()
    return graph, out


def test_a_replay_sees_new_values_in_the_same_memory():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)).npu()
    x, grid = torch.zeros(1, 2, 8, 8).npu(), (torch.rand(1, 8, 8, 2) * 2 - 1).npu()
    with torch.no_grad():
        def run():
            sampled = F.grid_sample(x, grid, align_corners=False)  # portacl's own
            y = model(sampled)
            parts = torch.unsafe_split(y.softmax(-1), 1, -1)
            return y, parts[0], y.argmax(-1), y.t()

        graph, out = _graph(run)
        gc.collect()
        for seed in range(3):
            torch.manual_seed(seed)
            x.copy_(torch.randn(1, 2, 8, 8))
            graph.replay()
            torch.npu.synchronize()
            close(out, [t.cpu() for t in run()])


def test_in_place_work_and_copies_from_the_host():
    total, step, host = torch.zeros(4).npu(), torch.ones(4).npu(), torch.arange(4.0)

    def run():
        total.add_(step)
        total[1:].mul_(2)
        total.add_(host.npu())

    graph, _ = _graph(run)
    total.zero_()
    expected = torch.zeros(4)
    for _ in range(2):
        graph.replay()
        expected += 1
        expected[1:] *= 2
        expected += host
    torch.npu.synchronize()
    close(total, expected)


def test_a_whole_training_step():
    def train(recorded):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)).npu()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        batches = [torch.randn(6, 4) for _ in range(5)]
        x = batches[0].npu()

        def step():
            optimizer.zero_grad(set_to_none=False)
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        for _ in range(3):
            step()
        torch.npu.synchronize()
        weights = [p.detach().clone() for p in model.parameters()]
        momenta = [optimizer.state[p]["momentum_buffer"].clone() for p in model.parameters()]
        if recorded:
            graph = torch.npu.NPUGraph()
            with torch.npu.graph(graph):
                loss = step()
            for p, w, m in zip(model.parameters(), weights, momenta, strict=True):
                p.data.copy_(w)
                optimizer.state[p]["momentum_buffer"].copy_(m)
        losses = []
        for batch in batches:
            x.copy_(batch)
            if recorded:
                graph.replay()
            else:
                loss = step()
            losses.append(loss.item())
        return torch.tensor(losses)

    torch.testing.assert_close(train(True), train(False))


def test_each_replay_draws_other_numbers():
    x = torch.ones(1000).npu()
    graph, out = _graph(lambda: (F.dropout(x, 0.5), torch.rand(5, device="npu")))
    seen = []
    for _ in range(2):
        graph.replay()
        torch.npu.synchronize()
        seen.append([t.cpu().clone() for t in out])
        assert 400 < (seen[-1][0] == 0).sum() < 600
    assert not torch.equal(seen[0][0], seen[1][0]) and not torch.equal(seen[0][1], seen[1][1])


@pytest.mark.parametrize("call", [lambda x: x.sum().item(), torch.nonzero, lambda x: x[x > 0]])
def test_what_depends_on_values_is_refused_while_a_graph_is_recorded(call):
    x = torch.ones(4, device="npu")
    with pytest.raises(RuntimeError, match="107027"), torch.npu.graph(torch.npu.NPUGraph()):
        call(x)
    assert x.sigmoid().cpu()[0].item() == pytest.approx(0.7310586)


def test_a_failure_in_a_replay_is_an_error():
    places = torch.zeros(3, dtype=torch.long).npu()
    table = torch.randn(4, 2).npu()
    graph, _ = _graph(lambda: F.embedding(places, table))
    places.fill_(9)
    graph.replay()
    with pytest.raises(RuntimeError, match="embedding in the replay of a graph: index out of range"):
        torch.npu.synchronize()
