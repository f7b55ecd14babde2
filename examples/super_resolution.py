"""Rebuilds a sharp photograph from coarse shots of it: gradients through nearest-exact resizing.

    python examples/super_resolution.py [PICTURE.png]

A camera sees every third pixel of a blurred image and moves a little between shots: each shot is
interpolate(mode="nearest-exact") of the moved scene. Gradient descent finds a scene that would give
the same shots. The gradient of the sampling is portacl's nearest-exact backward.
"""

import argparse

import numpy as np
import skimage.data
import torch
import torch.nn.functional as F  # noqa: N812

import portacl.torch

FACTOR = 3
MOVES = ((0, 0), (1, 2), (2, 1), (2, 2), (0, 1), (1, 0))  # pixels down and right


def blur(image):
    """The lens: a 5 x 5 bell, one axis after the other."""
    for axis in (2, 3):
        a, b, c, d, e = (torch.roll(image, shift, axis) for shift in (-2, -1, 0, 1, 2))
        image = (a + 4 * b + 6 * c + 4 * d + e) / 16
    return image


def shoot(scene):
    """The shots: every third pixel of the blurred scene, moved by each of MOVES."""
    seen = blur(scene)
    moved = (torch.roll(seen, (-down, -right), (2, 3)) for down, right in MOVES)
    return [portacl.torch.interpolate_nearest_exact(m, scale_factor=1 / FACTOR) for m in moved]


def psnr(image, truth):
    return 10 * torch.log10(1 / ((image - truth).clamp(-1, 1)[..., 6:-6, 6:-6] ** 2).mean()).item()


def rebuild(shots, shape, steps):
    """The scene that explains all shots, smooth where they do not tell; each step's loss."""
    scene = F.interpolate(shots[0], shape, mode="bicubic", align_corners=False).requires_grad_()
    optimizer = torch.optim.Adam([scene], lr=0.02)
    losses = []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.02 * (1 - 0.95 * step / steps)
        optimizer.zero_grad()
        error = sum(((mine - shot) ** 2).mean() for mine, shot in zip(shoot(scene), shots))
        slopes = scene.diff(dim=2).abs().mean() + scene.diff(dim=3).abs().mean()
        (error + 3e-4 * slopes).backward()
        optimizer.step()
        losses.append(error.item())
        if step % 20 == 0:
            print(f"step {step:3d} of {steps}: error of the shots {losses[-1]:.2e}", flush=True)
    return scene.detach().clamp(0, 1), losses


def draw(path, pictures):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(pictures), figsize=(2.6 * len(pictures), 3.0),
                                layout="constrained")  # fmt: skip
    for axis, (title, image) in zip(axes, pictures.items()):
        axis.imshow(image[0].permute(1, 2, 0).clamp(0, 1).numpy(), interpolation="nearest")
        axis.set_title(title, fontsize=12, loc="left")
        axis.axis("off")
    figure.savefig(path, dpi=145)


def main():
    parser = argparse.ArgumentParser(description="Sharp photograph from coarse shots")
    parser.add_argument("picture", nargs="?", help="where to draw the result (PNG)")
    parser.add_argument("--steps", type=int, default=120)
    options = parser.parse_args()

    portacl.torch.enable()
    photograph = skimage.data.astronaut()[20:200, 130:310]
    truth = torch.from_numpy(np.ascontiguousarray(photograph)).permute(2, 0, 1)[None].float() / 255
    shots = shoot(truth)
    size = truth.shape[2:]
    blocks = F.interpolate(shots[0], size, mode="nearest-exact")
    bicubic = F.interpolate(shots[0], size, mode="bicubic", align_corners=False)
    scene, losses = rebuild(shots, size, options.steps)

    print(f"error of the shots {losses[0]:.2e} -> {losses[-1]:.2e}")
    print(f"one shot, bicubic  {psnr(bicubic, truth):.2f} dB")
    print(f"rebuilt            {psnr(scene, truth):.2f} dB")
    if options.picture:
        draw(options.picture, {
            f"one of {len(MOVES)} shots: {psnr(blocks, truth):.1f} dB": blocks,
            f"the same, bicubic: {psnr(bicubic, truth):.1f} dB": bicubic,
            f"rebuilt from all: {psnr(scene, truth):.1f} dB": scene,
            "the photograph": truth,
        })  # fmt: skip
        print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
