"""Moves a detector's sampling points by their own gradients: deformable attention on a photograph.

    python examples/sampling_points.py [PICTURE.png]

Three queries look at a cat: one for each eye, one for its nose. As in Deformable DETR, a query has
a reference point and samples four levels of a pyramid of features around it. The features tell how
much a pixel's colour is like the query's own. Each step follows the gradients of multi-scale
deformable attention with respect to its sampling locations and its attention weights. Nothing else
moves.
"""

import argparse

import numpy as np
import skimage.color
import skimage.data
import torch
import torch.nn.functional as F  # noqa: N812

import portacl.torch  # noqa: F401 (its operators)

LEVELS, POINTS = 4, 16  # of each query
# Where a query begins, the middle of a small box of its colour, and its colour in the picture.
QUERIES = (
    ((0.29, 0.49), (0.350, 0.410), "#7CFC5A"),
    ((0.77, 0.37), (0.676, 0.483), "#35D0FF"),
    ((0.50, 0.92), (0.603, 0.815), "#FF5FA2"),
)


def pyramid(photograph):
    """A score for each query and pixel of each level: (1, keys, queries, 1), and the shapes."""
    lab = torch.from_numpy(skimage.color.rgb2lab(photograph)).float().permute(2, 0, 1)[None]
    lab = lab * torch.tensor([0.3, 1.0, 1.0])[None, :, None, None]  # shadows matter less
    height, width = lab.shape[2:]
    scores = []
    for _, (x, y), _ in QUERIES:
        column, row = round(x * width), round(y * height)
        own = lab[..., row - 2 : row + 3, column - 2 : column + 3].mean((2, 3), keepdim=True)
        near = torch.exp(-((lab - own) ** 2).sum(1, keepdim=True) / 40)
        scores.append(near)
    level = torch.cat(scores, 1)
    maps, shapes = [], []
    for i in range(LEVELS):
        level = F.avg_pool2d(F.avg_pool2d(level, 3, 1, 1), 4 if i == 0 else 2)
        level = level / level.amax((2, 3), keepdim=True)
        maps.append(level.flatten(2).transpose(1, 2)[..., None])
        shapes.append(level.shape[2:])
    return torch.cat(maps, 1).contiguous(), torch.tensor(shapes)


def start():
    """Locations (1, 1, heads, levels, points, 2): rings around the reference points."""
    angle = torch.arange(POINTS) * (2 * np.pi / POINTS)
    ring = torch.stack([angle.cos(), 1.5 * angle.sin()], -1)
    radius = torch.tensor([0.03, 0.06, 0.09, 0.12])[:, None, None]
    middles = torch.tensor([q[0] for q in QUERIES])[:, None, None]
    return (middles + radius * ring)[None, None].contiguous()


def descend(value, shapes, steps):
    """The locations after each step, and the attention weights at the end."""
    starts = torch.cat([shapes.new_zeros(1), shapes.prod(1).cumsum(0)[:-1]])
    locations = start().requires_grad_()
    logits = torch.zeros(locations.shape[:-1]).requires_grad_()
    optimizer = torch.optim.Adam([{"params": [locations], "lr": 0.006},
                                  {"params": [logits], "lr": 0.05}])  # fmt: skip
    path = [locations.detach().clone()]
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.006 * (1 - 0.9 * step / steps)
        optimizer.zero_grad()
        weights = logits.flatten(3).softmax(-1).view_as(logits)
        found = torch.ops.portacl.ms_deform_attn(value, shapes, starts, locations, weights)
        (-found.clamp(min=1e-6).log().sum()).backward()
        optimizer.step()
        path.append(locations.detach().clone())
    return torch.stack(path), weights.detach()


def draw(path, photograph, locations, weights):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    height, width = photograph.shape[:2]
    size = torch.tensor([width, height])
    shown = skimage.color.rgb2gray(photograph)[..., None] * 0.25 + photograph / 255 * 0.65
    figure = plt.figure(figsize=(width / 50, height / 50))
    axis = figure.add_axes((0, 0, 1, 1))
    axis.imshow(shown, interpolation="lanczos", extent=(0, width, height, 0))
    axis.set_axis_off()
    axis.set_xlim(0, width)
    axis.set_ylim(height, 0)
    for query, (_, _, colour) in enumerate(QUERIES):
        for level in range(LEVELS):
            for point in range(POINTS):
                x, y = (locations[:, 0, 0, query, level, point] * size).T.numpy()
                axis.plot(x, y, color=colour, linewidth=1.0, alpha=0.6, solid_capstyle="round")
                axis.plot(x[0], y[0], "o", markersize=2.6, markeredgewidth=0.7, alpha=0.9,
                          markeredgecolor=colour, markerfacecolor="none")  # fmt: skip
                share = weights[0, 0, query, level, point].item() * LEVELS * POINTS
                radius = 3 + 3.4 * min(share, 3) ** 0.5
                axis.plot(x[-1], y[-1], "o", color=colour, markeredgecolor="#102030",
                          markeredgewidth=0.5, markersize=radius)  # fmt: skip
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description="A detector's sampling points follow gradients")
    parser.add_argument("picture", nargs="?", help="where to draw the result (PNG)")
    parser.add_argument("--steps", type=int, default=80)
    options = parser.parse_args()

    photograph = skimage.data.chelsea()
    value, shapes = pyramid(photograph)
    path, weights = descend(value, shapes, options.steps)
    size = torch.tensor([photograph.shape[1], photograph.shape[0]])
    even = torch.full_like(weights, 1 / (LEVELS * POINTS))
    for query, (_, own, _) in enumerate(QUERIES):
        away = [
            ((locations * shares[..., None])[0, 0, query].sum((0, 1)) - torch.tensor(own)) * size
            for locations, shares in ((path[0], even), (path[-1], weights))
        ]
        before, after = (distance.norm().item() for distance in away)
        print(f"query {query}: {before:.0f} pixels from what it looks for, {after:.0f} in the end")
    print(f"points moved {((path[-1] - path[0]) * size).norm(dim=-1).mean().item():.0f} pixels")
    if options.picture:
        draw(options.picture, photograph, path, weights)


if __name__ == "__main__":
    main()
