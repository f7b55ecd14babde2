"""Registers two photographs of one scene on the device "npu": grid_sample trained by SGD.

    . build/install/set_env.sh
    python examples/torch_npu/register_photographs.py [PICTURE.png]

The two are a stereo pair (scikit-image's motorcycle, Middlebury 2014). Near things shift more than
far ones, so every pixel has a shift of its own, to the side. The shifts are found from coarse to
fine. Every step of the descent runs on the device: the sampling, the losses, their gradients and
the optimizer; the host prepares the pyramid of photographs. The same code then runs on the CPU with
PyTorch's own kernels, and the two loss curves are compared.
"""

import argparse

import numpy as np
import skimage.data
import torch
import torch.nn.functional as F  # noqa: N812
import torch_npu  # noqa: F401  registers the device

LEVELS = (32, 16, 8, 4, 2)  # pixels of the photographs per pixel of a level
STEPS = (80, 80, 80, 60, 40)
SMOOTHNESS = 0.03
RATE = 3  # of the descent, times the number of shifts: the losses are means


def load():
    """Left and right photograph (1, 3, H, W) in 0..1, and the left one's true disparity (H, W)."""
    left, right, disparity = skimage.data.stereo_motorcycle()
    tensors = [torch.from_numpy(p).permute(2, 0, 1)[None].float() / 255 for p in (left, right)]
    return (*tensors, np.asarray(disparity, np.float32))


def shrink(image, factor):
    height, width = (extent // factor for extent in image.shape[2:])
    return F.interpolate(image, (height, width), mode="area")


class Level:
    """The photographs at one size on a device, and what every step needs of them."""

    def __init__(self, left, right, factor, device):
        left, right = shrink(left, factor), shrink(right, factor)
        size = [1, 1, *left.shape[2:]]
        self.shape = left.shape[2:]
        self.left, self.right = left.to(device), right.to(device)
        self.places = F.affine_grid(torch.eye(2, 3)[None], size, align_corners=False).to(device)
        self.sideways = torch.tensor([2 / self.shape[1], 0.0]).to(device)  # a pixel to the right
        # Neighbours must agree, but where the photograph itself has an edge.
        self.ties = [
            torch.exp(-10 * left.diff(dim=axis).abs().mean(1)[..., None]).to(device)
            for axis in (2, 3)
        ]
        # Pixels per unit of the descent's variable. They are many where the photograph is flat: one
        # rate then suits all pixels. The descent stays calm, so that both devices stay together.
        edges = F.pad(left.diff(dim=3), (0, 1)).square().mean(1, keepdim=True)
        edges = F.avg_pool2d(edges, 5, 1, 2).permute(0, 2, 3, 1)
        self.reach = (0.1 / (edges + 0.01).sqrt()).to(device)

    def warp(self, shift):
        """The right photograph sampled at every pixel's place plus its shift (1, H, W, 1)."""
        places = self.places + shift * self.sideways
        return F.grid_sample(self.right, places, padding_mode="border", align_corners=False)

    def losses(self, shift):
        mismatch = F.mse_loss(self.warp(shift), self.left)
        rows, columns = self.ties
        roughness = F.mse_loss(rows * shift[:, 1:], rows * shift[:, :-1])
        roughness = roughness + F.mse_loss(columns * shift[:, :, 1:], columns * shift[:, :, :-1])
        return mismatch, roughness


def best_constant(level, device):
    """The one shift for the whole image that fits best: where the descent starts."""
    shifts = [torch.full((1, *level.shape, 1), -pixels / LEVELS[0]) for pixels in range(0, 64, 4)]
    return min(shifts, key=lambda shift: level.losses(shift.to(device))[0].item())


def finer(shift, shape):
    """The shifts of a level for the next one, in its pixels: made by the host."""
    planes = F.interpolate(shift.permute(0, 3, 1, 2), shape, mode="bilinear", align_corners=False)
    return planes.permute(0, 2, 3, 1) * (shape[1] / shift.shape[2])


def register(left, right, device):
    """The shifts in pixels of the finest level, and the mismatch of every step."""
    shift, losses = None, []
    for factor, steps in zip(LEVELS, STEPS):
        level = Level(left, right, factor, device)
        start = best_constant(level, device) if shift is None else finer(shift, level.shape)
        moving = (start / level.reach.cpu()).to(device).requires_grad_()
        optimizer = torch.optim.SGD([moving], lr=1, momentum=0.9)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = RATE * (1 - 0.9 * step / steps) * moving.numel()
            optimizer.zero_grad()
            mismatch, roughness = level.losses(moving * level.reach)
            (mismatch + SMOOTHNESS * roughness).backward()
            optimizer.step()
            losses.append(mismatch.item())
        shift = (moving * level.reach).detach().cpu()
    return shift, losses


def draw(path, pictures, truth, found, losses):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def show(axes, image, title, **how):
        axes.imshow(image, **how)
        axes.set_title(title, fontsize=11, loc="left")
        axes.axis("off")

    figure, axes = plt.subplots(2, 4, figsize=(17, 6.6), layout="constrained")
    left, right, result = (p[0].permute(1, 2, 0).clamp(0, 1).numpy() for p in pictures)
    show(axes[0, 0], left, "left photograph")
    show(axes[0, 1], right, "right photograph")
    show(axes[0, 2], result, "right one, registered to the left one")
    gray = dict(cmap="gray_r", vmin=0, vmax=0.35)
    for row, (when, other) in enumerate({"before": right, "after": result}.items()):
        difference = np.abs(left - other).mean(2)
        show(axes[row, 3], difference, f"difference {when}: mean {difference.mean():.3f}", **gray)
    colours = dict(cmap="viridis", vmin=0, vmax=float(np.nanpercentile(truth, 99)))
    show(axes[1, 1], truth, "true disparity (white: unknown), pixels", **colours)
    show(axes[1, 2], found, "disparity found, pixels", **colours)
    figure.colorbar(axes[1, 2].images[0], ax=axes[1, 2], shrink=0.8)
    styles = {"npu": dict(linewidth=4, color="tab:orange"), "cpu": dict(linewidth=1, color="black")}
    for device, curve in losses.items():
        axes[1, 0].plot(curve, label=device, **styles[device])
    for end in np.cumsum(STEPS)[:-1]:
        axes[1, 0].axvline(end, color="0.8", linewidth=0.8)
    axes[1, 0].set(xlabel="step (lines: next finer level)", xlim=(-5, sum(STEPS)), ylim=(0, None))
    axes[1, 0].set_title("mean square difference of the level", fontsize=11, loc="left")
    axes[1, 0].legend(frameon=False)
    axes[1, 0].spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=90)


def main():
    parser = argparse.ArgumentParser(description="Registers two photographs on the device npu")
    parser.add_argument("picture", nargs="?", help="where to draw the result (PNG)")
    options = parser.parse_args()

    left, right, truth = load()
    shift, curve = register(left, right, "npu")
    losses = {"npu": curve, "cpu": register(left, right, "cpu")[1]}
    level = Level(left, right, LEVELS[-1], "npu")
    result = level.warp(shift.npu()).cpu()
    found = -finer(shift, truth.shape)[0, :, :, 0].numpy()
    known = np.isfinite(truth) & (truth > 0)
    apart = max(abs(a - b) / b for a, b in zip(*losses.values()))
    before, after = (F.mse_loss(p.cpu(), level.left.cpu()).item() for p in (level.right, result))
    print(f"loss, npu against cpu: {apart:.1e} apart at most in {len(curve)} steps")
    print(f"mean square difference {before:.4f} -> {after:.4f}")
    error = np.median(np.abs(found - truth)[known])
    print(f"median error of the disparity {error:.2f} of up to {truth[known].max():.0f} pixels")
    if options.picture:
        pictures = (level.left.cpu(), level.right.cpu(), result)
        draw(options.picture, pictures, np.where(known, truth, np.nan), found, losses)
        print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
