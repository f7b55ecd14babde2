"""Registers two photographs of one scene by gradient descent through grid_sample.

    python examples/register_photographs.py [PICTURE.png]

The two are a stereo pair (scikit-image's motorcycle, Middlebury 2014). Near things shift more than
far ones, so every pixel has its own shift, to the side only. Adam finds the shifts from coarse to
fine; their gradient is gridGrad, computed by portacl. The pair comes with the true disparity; the
result is compared with it.
"""

import argparse

import numpy as np
import skimage.data
import torch
import torch.nn.functional as F  # noqa: N812

import portacl.torch

LEVELS = (32, 16, 8, 4, 2)  # pixels of the photographs per pixel of a level
STEPS = (60, 60, 60, 40, 20)
SMOOTHNESS = 0.1


def load():
    """Left and right photograph (1, 3, H, W) in 0..1, and the left one's true disparity (H, W)."""
    left, right, disparity = skimage.data.stereo_motorcycle()
    tensors = [torch.from_numpy(p).permute(2, 0, 1)[None].float() / 255 for p in (left, right)]
    return (*tensors, np.asarray(disparity, np.float32))


def shrink(image, factor):
    height, width = (extent // factor for extent in image.shape[2:])
    return F.interpolate(image, (height, width), mode="area")


def warp(image, shift):
    """Image sampled at every pixel's place plus its shift to the right (the image is 2 wide)."""
    size = [1, 1, *image.shape[2:]]
    identity = F.affine_grid(torch.eye(2, 3)[None], size, align_corners=False)
    places = identity + torch.stack([shift[:, 0], torch.zeros_like(shift[:, 0])], 3)
    return F.grid_sample(image, places, padding_mode="border", align_corners=False)


def mismatch(a, b):
    return ((a - b) ** 2 + 1e-4).sqrt().mean()


def roughness(shift, image):
    """Slope of the shifts in pixels, forgiven where the photograph itself has an edge."""
    total = 0
    for axis in (2, 3):
        edge = image.diff(dim=axis).abs().mean(1, keepdim=True)
        slope = shift.diff(dim=axis) * shift.shape[3] / 2
        total = total + ((slope**2 + 1e-4).sqrt() * torch.exp(-8 * edge)).mean()
    return total


def best_constant(target, source):
    """The one shift for the whole image that fits best: where descent starts."""
    shifts = [torch.full((1, 1, *target.shape[2:]), -pixels / 370) for pixels in range(0, 64, 4)]
    return min(shifts, key=lambda shift: mismatch(warp(source, shift), target).item())


def register(left, right):
    """The shifts that put `right` onto `left`, and the mismatch of every step."""
    shift = best_constant(shrink(left, LEVELS[0]), shrink(right, LEVELS[0]))
    losses = []
    for factor, steps in zip(LEVELS, STEPS):
        target, source = shrink(left, factor), shrink(right, factor)
        shift = F.interpolate(shift, target.shape[2:], mode="bilinear", align_corners=False)
        shift = shift.detach().requires_grad_()
        optimizer = torch.optim.Adam([shift])
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 0.4 * (1 - 0.9 * step / steps) / target.shape[3]
            optimizer.zero_grad()
            error = mismatch(warp(source, shift), target)
            (error + SMOOTHNESS * roughness(shift, target)).backward()
            optimizer.step()
            losses.append(error.item())
    return shift.detach(), losses


def draw(path, left, right, result, losses, found, truth):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def show(axes, image, title, **how):
        axes.imshow(image, **how)
        axes.set_title(title, fontsize=11, loc="left")
        axes.axis("off")

    def picture(tensor):
        return tensor[0].permute(1, 2, 0).clamp(0, 1).numpy()

    def difference(a, b):
        return (a - b).abs().mean(1)[0].numpy()

    figure, axes = plt.subplots(2, 4, figsize=(17, 6.3), layout="constrained")
    gray = dict(cmap="gray_r", vmin=0, vmax=0.35)
    colours = dict(cmap="viridis", vmin=0, vmax=float(np.nanpercentile(truth, 99)))
    before, after = difference(left, right), difference(left, result)
    show(axes[0, 0], picture(left), "left photograph")
    show(axes[0, 1], picture(right), "right photograph")
    show(axes[0, 2], picture(result), "right one, registered to the left one")
    show(axes[0, 3], before, f"difference before: mean {before.mean():.3f}", **gray)
    show(axes[1, 3], after, f"difference after: mean {after.mean():.3f}", **gray)
    show(axes[1, 1], truth, "true disparity (white: unknown), pixels", **colours)
    show(axes[1, 2], found, "disparity found, pixels", **colours)
    bar = axes[1, 2].inset_axes([1.02, 0, 0.03, 1])  # beside the picture, which keeps its size
    figure.colorbar(axes[1, 2].images[0], cax=bar)
    curve = axes[1, 0]
    ends = np.cumsum(STEPS)
    for factor, start, end in zip(LEVELS, ends - STEPS, ends):
        curve.plot(range(start, end), losses[start:end], color="tab:blue", linewidth=1.2)
        curve.text((start + end) / 2, 0.002, f"1/{factor}", ha="center", color="0.4")
    curve.set(xlabel="step (1/32 to 1/2: size of the level)", ylim=(0, None), xlim=(0, ends[-1]))
    curve.set_title("mean difference of the level", fontsize=11, loc="left")
    curve.set_box_aspect(truth.shape[0] / truth.shape[1])
    curve.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=90)


def main():
    parser = argparse.ArgumentParser(description="Registers two photographs")
    parser.add_argument("picture", nargs="?", help="where to draw the result (PNG)")
    options = parser.parse_args()

    portacl.torch.enable()
    left, right, truth = load()
    shift, losses = register(left, right)
    left, right = shrink(left, LEVELS[-1]), shrink(right, LEVELS[-1])
    result = warp(right, shift)

    width = truth.shape[1]
    found = F.interpolate(shift, truth.shape, mode="bilinear")[0, 0].numpy() * -width / 2
    known = np.isfinite(truth) & (truth > 0)
    error = np.median(np.abs(found - truth)[known])
    print(f"difference before {(left - right).abs().mean():.4f}")
    print(f"difference after  {(left - result).abs().mean():.4f}")
    print(f"median error of the disparity {error:.2f} of up to {truth[known].max():.0f} pixels")
    if options.picture:
        draw(options.picture, left, right, result, losses, found, np.where(known, truth, np.nan))
        print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
