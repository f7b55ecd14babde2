"""Programs of several processes, for torchrun; rank 0 prints numbers.

    distributed.py DEVICE all|death|NAME,...

``mesh`` alone leaves the choice of the backend to PyTorch.
"""

from __future__ import annotations

import json
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

device_type, what = sys.argv[1:3]
if device_type == "npu":
    import torch_npu  # noqa: F401


def start() -> torch.device:
    """Begin as torchrun's programs do: the group first, then the device."""
    torch.set_num_threads(1)
    if device_type == "cpu":
        dist.init_process_group("gloo")
        return torch.device("cpu")
    # Without a name each device gets its own.
    dist.init_process_group(None if what == "mesh" else "hccl")
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("npu", torch.npu.current_device())


def collectives(device: torch.device) -> list[float]:
    """Every collective that Gloo has, on tensors of the device."""
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.arange(4.0, device=device) + rank
    result = []

    summed = own.clone()
    dist.all_reduce(summed)
    result += summed.tolist()
    largest = own.clone()
    work = dist.all_reduce(largest, dist.ReduceOp.MAX, async_op=True)
    work.wait()
    result += largest.tolist()
    sent = own.clone()
    dist.broadcast(sent, 1)
    result += sent.tolist()
    reduced = own.clone()
    dist.reduce(reduced, 0)
    result += reduced.tolist() if rank == 0 else []
    parts = [torch.empty_like(own) for _ in range(world)]
    dist.all_gather(parts, own)
    result += torch.cat(parts).tolist()
    joined = torch.empty(4 * world, device=device)
    dist.all_gather_into_tensor(joined, own)
    result += joined.tolist()
    piece = torch.empty(4, device=device)
    dist.reduce_scatter_tensor(piece, joined)
    result += piece.tolist()
    gathered = [torch.empty_like(own) for _ in range(world)] if rank == 0 else None
    dist.gather(own, gathered, dst=0)
    result += torch.cat(gathered).tolist() if gathered else []
    received = torch.empty(4, device=device)
    dist.scatter(received, list(joined.split(4)) if rank == 0 else None, src=0)
    result += received.tolist()
    swapped = torch.empty_like(own)
    dist.all_to_all_single(swapped, own)
    result += swapped.tolist()
    if rank == 0:
        dist.send(own, 1)
    else:
        dist.recv(received, 0)
        assert received.tolist() == [0.0, 1.0, 2.0, 3.0]
    dist.barrier()
    objects = [None] * world
    dist.all_gather_object(objects, {"rank": rank})
    assert [each["rank"] for each in objects] == list(range(world))
    for t in (summed, largest, sent, *parts, joined, piece, swapped, received):
        assert t.device == device, t.device
    return result


def beyond_gloo(device: torch.device) -> list[float]:
    """What HCCL has and Gloo alone refuses, in two processes."""
    from torch_npu import distributed as plugins

    rank, other = dist.get_rank(), 1 - dist.get_rank()
    own = torch.arange(4.0, device=device) + 10 * rank
    result = []

    swapped = [torch.empty(rank + 1, i + 1, device=device) for i in range(2)]
    dist.all_to_all(swapped, [torch.full((i + 1, rank + 1), float(rank), device=device) for i in range(2)])
    result += torch.cat([each.flatten() for each in swapped]).tolist()
    parts = [torch.empty(i + 1, 2, device=device) for i in range(2)]
    dist.all_gather(parts, torch.full((rank + 1, 2), float(rank), device=device), async_op=True).wait()
    result += torch.cat(parts).flatten().tolist()

    # Coalesced: collectives, and messages, of which the last must have come as well.
    summed, joined = [own.clone(), own * 2], [torch.empty(8, device=device) for _ in range(2)]
    with dist._coalescing_manager(device=device):
        for each in summed:
            dist.all_reduce(each)
    with dist._coalescing_manager(device=device, async_ops=True) as coalesced:
        for each in joined:
            dist.all_gather_into_tensor(each, own)
    coalesced.wait()
    result += torch.cat(summed + joined).tolist()
    large = [torch.full((300_000,), float(rank + i), device=device) for i in range(2)]
    received = [torch.empty(300_000, device=device) for _ in range(2)]
    messages = [dist.P2POp(dist.isend, each, other) for each in large]
    messages += [dist.P2POp(dist.irecv, each, other) for each in received]
    for work in dist.batch_isend_irecv(messages):
        work.wait()
    result += [each.unique().item() for each in received]
    with dist._coalescing_manager(device=device, async_ops=True) as coalesced:
        dist.isend(large[1], other)
        dist.irecv(received[0], other)
    coalesced.wait()
    result.append(received[0].unique().item())

    # A group's calls are done in order, and a synchronised device has done all of them.
    twice, large = torch.ones(1 << 20, device=device), torch.ones(1 << 22, device=device)
    dist.all_reduce(large, async_op=True)
    dist.all_reduce(twice, async_op=True)
    dist.all_reduce(twice, async_op=True).wait()
    result += twice.unique().tolist()
    dist.all_reduce(twice, async_op=True)
    dist.all_reduce(large, async_op=True)
    torch.npu.synchronize()
    result += large.unique().tolist()

    counts = [[1, 2], [3, 1]]
    received = torch.empty(sum(row[rank] for row in counts), device=device)
    plugins.all_to_all_vc(received, own[: sum(counts[rank])], counts)
    result += received.tolist()
    joined = torch.empty(3, device=device)
    plugins.all_gather_into_tensor_uneven(joined, own[: rank + 1], [1, 2])
    result += joined.tolist()
    piece = torch.empty(rank + 1, device=device)
    plugins.reduce_scatter_tensor_uneven(piece, own[:3], [1, 2])
    return result + piece.tolist()


def addresses(device: torch.device) -> str:
    """Where each rank waits for the others."""
    import psutil

    dist.barrier()
    sockets = psutil.Process().net_connections("tcp")
    own = {each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN}
    every: list = [None] * dist.get_world_size()
    dist.all_gather_object(every, sorted(own))
    return json.dumps(every)


def model_of(kind: str, device: torch.device) -> nn.Module:
    """Wrap a small model as its name says."""
    torch.manual_seed(0)
    ids = [device.index] if device.type == "npu" else None
    if kind == "ddp":
        model = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 4),
        )  # fmt: skip
        return nn.parallel.DistributedDataParallel(model.to(device), device_ids=ids)
    model = nn.Sequential(nn.Linear(64, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Linear(16, 4))
    if kind == "syncbn":
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model).to(device)
        return nn.parallel.DistributedDataParallel(model, device_ids=ids)
    if kind == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel

        return FullyShardedDataParallel(
            model.to(device), device_id=device if device.type == "npu" else None
        )
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    model = model.to(device)
    fully_shard(model[0], mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def train(kind: str, device: torch.device) -> list[float]:
    """Four steps of SGD on data of each rank's own."""
    model = model_of(kind, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    generator = torch.Generator().manual_seed(dist.get_rank())
    x = torch.randn(8, 1, 8, 8, generator=generator)
    x = (x if kind == "ddp" else x.flatten(1)).to(device)
    y = torch.arange(8).remainder(4).to(device)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def mesh(device: torch.device) -> list[float]:
    """A product of sharded matrices."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    torch.manual_seed(0)
    rows = init_device_mesh(device.type, (dist.get_world_size(),))
    left = distribute_tensor(torch.randn(4, 6).to(device), rows, [Shard(0)])
    right = distribute_tensor(torch.randn(6, 3).to(device), rows, [Replicate()])
    return (left @ right).full_tensor().flatten().tolist()


def sharded_attention(device: torch.device) -> list[float]:
    """Return how far the plugin's attention of sharded heads, with gradients, is from the whole's."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    heads = init_device_mesh(device.type, (dist.get_world_size(),))
    torch.manual_seed(0)
    whole = [torch.randn(2, 4, 8, 8).to(device).requires_grad_() for _ in range(3)]
    parts = [distribute_tensor(each.detach(), heads, [Shard(1)]).requires_grad_() for each in whole]
    outs = [torch_npu.npu_fusion_attention(*each, 4, "BNSD", scale=0.3)[0] for each in (whole, parts)]
    for out in outs:
        out.square().sum().backward()
    pairs = [outs, *((one.grad, other.grad) for one, other in zip(whole, parts))]
    return [(one - other.full_tensor()).abs().max().item() for one, other in pairs]


if __name__ == "__main__":
    device = start()
    if what == "death":
        if dist.get_rank() == 1:
            os._exit(7)
        dist.all_reduce(torch.ones(4, device=device))
        print("not reached")
    else:  # one start for everything asked for
        everything = "collectives,ddp,fsdp1,fsdp2,mesh,syncbn,beyond_gloo,sharded_attention"
        for each in (everything if what == "all" else what).split(","):
            if each in ("syncbn", "beyond_gloo", "sharded_attention") and device.type == "cpu":
                continue  # for devices alone
            work = {
                "addresses": addresses, "beyond_gloo": beyond_gloo, "collectives": collectives,
                "mesh": mesh, "sharded_attention": sharded_attention,
            }.get(each)  # fmt: skip
            try:
                numbers = work(device) if work else train(each, device)
            except Exception as error:
                if what == each:
                    raise
                numbers = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
            if dist.get_rank() == 0:
                print("NUMBERS", each, numbers, flush=True)
    if what != "death":
        dist.destroy_process_group()
