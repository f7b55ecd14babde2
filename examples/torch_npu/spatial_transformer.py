"""Trains a spatial transformer on the device "npu": a whole program, on a machine without an NPU.

    . build/install/set_env.sh
    python examples/torch_npu/spatial_transformer.py [PICTURE.png]

Handwritten digits are turned, moved and shrunk at random. A network looks at each picture and finds
the transform that puts the digit upright into the middle. It samples the picture there (affine_grid
and grid_sample) and classifies the result. It learns the transform from the labels alone.
Convolutions, pooling, dropout, Adam and the batches of a DataLoader are PyTorch's, by portacl_npu;
the sampler and its gradient are portacl's. The same code then runs on the CPU with PyTorch's own
kernels, and the two loss curves are compared.
"""

import argparse
import os

# The CPU generator's numbers on npu too: the same dropout in both runs.
os.environ.setdefault("PORTACL_NPU_RANDOM", "cpu")

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
import torch_npu  # noqa: F401  registers the device
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SIZE = 28


def load(count, seed):
    """Digits of Matplotlib's font, distorted: pictures (count, 1, 28, 28) and labels."""
    from matplotlib import font_manager
    from PIL import Image, ImageDraw, ImageFont

    path = font_manager.findfont("DejaVu Sans")
    font = ImageFont.truetype(path, 26)
    digits = []
    for digit in range(10):
        image = Image.new("L", (SIZE, SIZE))
        ImageDraw.Draw(image).text((SIZE / 2, SIZE / 2), str(digit), 255, font, anchor="mm")
        digits.append(np.asarray(image, np.float32) / 255)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (count,), generator=generator)
    angle, zoom, right, down = torch.rand(4, count, generator=generator)
    angle, zoom = (angle - 0.5) * 1.6, 1.3 + 0.7 * zoom
    theta = torch.stack(
        [zoom * angle.cos(), -zoom * angle.sin(), (right - 0.5) * 0.9,
         zoom * angle.sin(), zoom * angle.cos(), (down - 0.5) * 0.9], 1
    ).view(-1, 2, 3)  # fmt: skip
    pictures = torch.from_numpy(np.stack(digits))[labels][:, None]
    grid = F.affine_grid(theta, list(pictures.shape), align_corners=False)
    pictures = F.grid_sample(pictures, grid, align_corners=False)
    return pictures + 0.05 * torch.randn(pictures.shape, generator=generator), labels


class SpatialTransformer(nn.Module):
    """Looks, moves, classifies."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(1, 8, 7), nn.MaxPool2d(2), nn.ReLU(),
            nn.Conv2d(8, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
            nn.Linear(90, 32), nn.ReLU(), nn.Linear(32, 6),
        )  # fmt: skip
        self.look[-1].weight.data.zero_()
        self.look[-1].bias.data.copy_(
            torch.tensor([1.0, 0, 0, 0, 1, 0])
        )  # changes nothing at first
        self.classify = nn.Sequential(
            nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(),
            nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2),
            nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10),
        )  # fmt: skip

    def straighten(self, x):
        theta = self.look(x).view(-1, 2, 3)
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        return self.classify(self.straighten(x))


def train(device, epochs, data):
    """Train the model; give its losses, the share of the test that it gets right, and itself."""
    torch.manual_seed(0)
    model = SpatialTransformer().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loader = DataLoader(
        TensorDataset(*data["train"]), batch_size=64, shuffle=True, pin_memory=device == "npu",
        generator=torch.Generator().manual_seed(1),
    )  # fmt: skip
    losses = []
    for _ in range(epochs):
        for pictures, labels in loader:
            pictures, labels = (t.to(device, non_blocking=True) for t in (pictures, labels))
            optimizer.zero_grad()
            loss = F.cross_entropy(model(pictures), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        pictures, labels = (t.to(device) for t in data["test"])
        right = (model(pictures).argmax(1) == labels).float().mean().item()
    return losses, right, model


def draw(path, seen, straight, losses):
    """Draw what the network got, what it made of it, and the losses."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 13, "axes.titlesize": 13, "axes.titlelocation": "left"})
    figure, axes = plt.subplot_mosaic(
        "a\nb\nl", figsize=(7.2, 6.4), layout="constrained", height_ratios=(1, 1, 1.8)
    )
    for name, title, pictures in (
        ("a", "what the network is given", seen),
        ("b", "where it looks, learnt from the labels alone", straight),
    ):
        axes[name].imshow(torch.cat(list(pictures[:, 0]), 1).clamp(0, 1).numpy(), cmap="gray")
        axes[name].set_title(title)
        axes[name].axis("off")
    styles = {"npu": dict(linewidth=4, color="tab:orange"), "cpu": dict(linewidth=1, color="black")}
    for device, curve in losses.items():
        axes["l"].semilogy(curve, label=device, **styles[device])
    axes["l"].set(xlabel="step", title="cross entropy")
    axes["l"].legend(frameon=False)
    axes["l"].spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description="A spatial transformer on npu")
    parser.add_argument("picture", nargs="?", help="where to draw the result (PNG)")
    parser.add_argument("--epochs", type=int, default=8)
    options = parser.parse_args()

    data = {"train": load(2048, 1), "test": load(1024, 2)}
    curve, right, model = train("npu", options.epochs, data)
    losses = {"npu": curve, "cpu": train("cpu", options.epochs, data)[0]}
    # The first steps: later, roundings have grown, as between any two machines.
    first = [abs(a - b) / b for a, b in zip(*losses.values())][:20]
    print(f"loss, npu against cpu: {max(first):.1e} apart at most in {len(first)} steps")
    print(f"loss {curve[0]:.3f} -> {np.mean(curve[-10:]):.3f} in {len(curve)} steps")
    print(f"right in the test {100 * right:.1f} %")
    if options.picture:
        seen = data["test"][0][:10]
        with torch.no_grad():
            straight = model.straighten(seen.npu()).cpu()
        draw(options.picture, seen, straight, losses)
        print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
