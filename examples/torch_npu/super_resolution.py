"""Rebuilds a sharp photograph from coarse shots on the device "npu": nearest-exact trained by SGD.

    . build/install/set_env.sh
    python examples/torch_npu/super_resolution.py [PICTURE.png]

A camera sees every third pixel of a blurred image and moves a little between shots: each shot is
interpolate(mode="nearest-exact") of the moved scene. Descent finds a scene that would give the same
shots. Shots, losses, their gradients and the optimizer all run on the device. The same code then
runs on the CPU with PyTorch's own kernels, and the two loss curves are compared.
"""

import argparse

import numpy as np
import skimage.data
import torch
import torch.nn.functional as F  # noqa: N812
import torch_npu  # noqa: F401  registers the device

FACTOR = 3
EDGE = 2  # pixels around the scene that the blur needs
SMOOTHNESS = 1e-3
RATE = 0.3  # of the descent, times the values of a shot: the losses are means
MOVES = ((0, 0), (1, 2), (2, 1), (2, 2), (0, 1), (1, 0))  # pixels down and right


def load():
    """A photograph (1, 3, H, W) in 0..1."""
    photograph = np.ascontiguousarray(skimage.data.astronaut()[20:204, 130:314])
    return torch.from_numpy(photograph).permute(2, 0, 1)[None].float() / 255


def blur(image):
    """The lens: a 5 x 5 bell, one axis after the other; two pixels at each edge are lost."""
    for axis in (2, 3):
        length = image.shape[axis] - 4
        a, b, c, d, e = (image.narrow(axis, start, length) for start in range(5))
        image = (a + 4 * b + 6 * c + 4 * d + e) / 16
    return image


def shoot(scene):
    """The shots: every third pixel of the blurred scene, moved by each of MOVES."""
    seen = blur(scene)
    height, width = (extent // FACTOR - 1 for extent in seen.shape[2:])
    shots = []
    for down, right in MOVES:
        moved = seen[:, :, down : down + height * FACTOR, right : right + width * FACTOR]
        shots.append(F.interpolate(moved, (height, width), mode="nearest-exact"))
    return shots


def enlarge(shot, shape, mode):
    """A shot on the scene's pixels, for a start and for comparison; made by the host."""
    corners = None if mode == "nearest-exact" else False
    size = [extent * FACTOR for extent in shot.shape[2:]]
    # A shot's pixel is the middle one of its three in each direction, from EDGE on.
    image = F.interpolate(shot.cpu(), size, mode=mode, align_corners=corners)
    below, right = (whole - part - EDGE for whole, part in zip(shape, size))
    return F.pad(image, (EDGE, right, EDGE, below), mode="replicate")


def rebuild(shots, start, steps, device):
    """The scene that explains all shots, smooth where they do not tell; each step's loss."""
    shots = [shot.to(device) for shot in shots]
    scene = start.clone().to(device).requires_grad_()
    optimizer = torch.optim.SGD([scene], lr=1, momentum=0.9)
    losses = []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = RATE * (1 - 0.9 * step / steps) * shots[0].numel()
        optimizer.zero_grad()
        error = sum(F.mse_loss(mine, shot) for mine, shot in zip(shoot(scene), shots))
        slopes = F.mse_loss(scene[:, :, 1:], scene[:, :, :-1])
        slopes = slopes + F.mse_loss(scene[..., 1:], scene[..., :-1])
        (error + SMOOTHNESS * slopes).backward()
        optimizer.step()
        losses.append(error.item())
    return scene.detach().cpu().clamp(0, 1), losses


def crop(image):
    """Without the edges that not every shot sees."""
    return image[..., 8:-8, 8:-8]


def psnr(image, truth):
    return 10 * torch.log10(1 / (crop(image - truth).clamp(-1, 1) ** 2).mean()).item()


def draw(path, pictures, losses):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 13, "axes.titlesize": 13, "axes.titlelocation": "left"})
    figure, axes = plt.subplot_mosaic(
        "01\n23\nll", figsize=(7.2, 9.6), layout="constrained", height_ratios=(3, 3, 1.8)
    )
    for (title, image), name in zip(pictures.items(), "0123"):
        axes[name].imshow(image[0].permute(1, 2, 0).clamp(0, 1).numpy(), interpolation="nearest")
        axes[name].set_title(title)
        axes[name].axis("off")
    styles = {"npu": dict(linewidth=4, color="tab:orange"), "cpu": dict(linewidth=1, color="black")}
    for device, curve in losses.items():
        axes["l"].semilogy(curve, label=device, **styles[device])
    axes["l"].set(xlabel="step", title="mean square error of the shots")
    axes["l"].legend(frameon=False)
    axes["l"].spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description="Sharp photograph from coarse shots, on npu")
    parser.add_argument("picture", nargs="?", help="where to draw the result (PNG)")
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()

    truth = load()
    shots = shoot(truth.npu())
    start = enlarge(shots[0], truth.shape[2:], "bicubic")
    scene, curve = rebuild(shots, start, options.steps, "npu")
    losses = {"npu": curve, "cpu": rebuild(shots, start, options.steps, "cpu")[1]}
    apart = max(abs(a - b) / b for a, b in zip(*losses.values()))
    print(f"loss, npu against cpu: {apart:.1e} apart at most in {len(curve)} steps")
    print(f"mean square error of the shots {curve[0]:.2e} -> {curve[-1]:.2e}")
    print(f"one shot, bicubic  {psnr(start, truth):.2f} dB")
    print(f"rebuilt            {psnr(scene, truth):.2f} dB")
    if options.picture:
        blocks = enlarge(shots[0], truth.shape[2:], "nearest-exact")
        pictures = {
            f"one of {len(MOVES)} shots: {psnr(blocks, truth):.1f} dB": blocks,
            f"the same, bicubic: {psnr(start, truth):.1f} dB": start,
            f"rebuilt from all: {psnr(scene, truth):.1f} dB": scene,
            "the photograph": truth,
        }
        draw(options.picture, {name: crop(image) for name, image in pictures.items()}, losses)
        print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
