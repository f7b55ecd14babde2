"""Trains a spatial-transformer network on real faces, on one process or many.

    python examples/train_stn_ddp.py
    torchrun --nproc_per_node=2 examples/train_stn_ddp.py --check

The 200 photographs (25 x 25 pixels, half of them faces: scikit-image's lfw_subset) are turned,
shifted and scaled at random. The network learns to undo that (grid_sample) before it decides "face
or not". portacl.torch.enable() puts portacl's kernels under PyTorch's own functions; the rest is
plain PyTorch: DistributedDataParallel on the gloo backend. Two runs end with the same bits.

--check also compares the gradient of the first step with one process's on the whole batch. On many
hosts: torchrun --nnodes=N --node_rank=R --master_addr=HOST --nproc_per_node=P, on each.
"""

import argparse
import hashlib
import os

import numpy as np
import skimage.data
import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812
from torch import nn

import portacl.torch


class SpatialTransformer(nn.Module):
    """Looks at an image, straightens it, decides."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 5, stride=2), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * 4 * 4, 32), nn.ReLU(), nn.Linear(32, 6),
        )  # fmt: skip
        self.decide = nn.Sequential(
            nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(16 * 4 * 4, 2),
        )  # fmt: skip
        nn.init.zeros_(self.look[-1].weight)  # starts with the identity
        self.look[-1].bias.data = torch.tensor([1.0, 0, 0, 0, 1, 0])

    def straighten(self, images):
        grid = F.affine_grid(self.look(images).view(-1, 2, 3), images.shape, align_corners=False)
        return F.grid_sample(images, grid, padding_mode="border", align_corners=False)

    def forward(self, images):
        return self.decide(self.straighten(images))


def distorted_faces():
    """The photographs, each turned, scaled and shifted by its own random numbers, and labels."""
    photographs = torch.from_numpy(skimage.data.lfw_subset()).float()[:, None]
    labels = torch.cat([torch.ones(100), torch.zeros(100)]).long()
    random = np.random.default_rng(7)
    angle = torch.from_numpy(random.uniform(-0.7, 0.7, 200)).float()
    scale = torch.from_numpy(random.uniform(0.9, 1.3, 200)).float()
    shift = torch.from_numpy(random.uniform(-0.2, 0.2, (200, 2))).float()
    cos, sin = scale * angle.cos(), scale * angle.sin()
    theta = torch.stack([cos, -sin, shift[:, 0], sin, cos, shift[:, 1]], 1).view(-1, 2, 3)
    grid = F.affine_grid(theta, photographs.shape, align_corners=False)
    turned = F.grid_sample(photographs, grid, padding_mode="border", align_corners=False)
    return turned - turned.mean(), labels


def flat_gradient(model, images, labels):
    model.zero_grad()
    F.cross_entropy(model(images), labels).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def main():
    parser = argparse.ArgumentParser(description="Spatial transformer, distributed")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--check", action="store_true", help="compare with one process")
    options = parser.parse_args()

    portacl.torch.enable()
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    if "RANK" not in os.environ:  # without torchrun: a group of one
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="localhost", MASTER_PORT="0")
        store = dist.HashStore()
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    else:
        dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(0)  # the same start in every process
    alone = SpatialTransformer()
    model = nn.parallel.DistributedDataParallel(alone)
    images, labels = distorted_faces()
    mine = slice(rank, None, world)  # equal shares: the mean of means is the mean

    if options.check:
        shared = flat_gradient(model, images[mine], labels[mine])
        whole = flat_gradient(alone, images, labels)
        difference = ((shared - whole).norm() / whole.norm()).item()
        if rank == 0:
            print(f"gradient of {world} processes and of one differ by {difference:.1e} (relative)")
        if difference > 1e-5:
            raise SystemExit("the gradients differ by more than rounding")

    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(options.epochs):
        for batch in torch.arange(200).view(5, 40).T.reshape(5, 40):  # faces and others mixed
            own = batch[mine]
            optimizer.zero_grad()
            F.cross_entropy(model(images[own]), labels[own]).backward()
            optimizer.step()
        if epoch % 10 == 0 or epoch == options.epochs - 1:
            with torch.no_grad():
                scores = alone(images)
                loss = F.cross_entropy(scores, labels).item()
                right = (scores.argmax(1) == labels).float().mean().item()
            if rank == 0:
                print(f"epoch {epoch:3d}  loss {loss:.4f}  right {100 * right:.1f} %")

    parameters = torch.cat([p.detach().flatten() for p in alone.parameters()])
    if rank == 0:
        print("parameters", hashlib.sha256(parameters.numpy().tobytes()).hexdigest()[:16])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
