"""Registers one person's brain to an average one by gradient descent through 3D grid_sample.

    python examples/register_volumes.py [PICTURE.png]

The average is MNI152 (ICBM 2009a, 152 people). Copyright 1993-2009 Louis Collins, McConnell Brain
Imaging Centre, who permit use, copies and changes with this notice. The Python package nilearn
(BSD-3) ships it. The person is Colin 27: 27 scans of one head, from the same centre, in Debian's
package mricron-data (BSD-3). Both are T1 images of 1 mm without skull, in one coordinate system:
`script/setup --volumes` installs them.

A stationary velocity field, found from coarse to fine, is integrated by scaling and squaring. The
field is composed with itself seven times, so that space is bent, never folded. Nearly all time goes
into samplings of volumes and their gradients, which portacl computes.
"""

import argparse
import gzip
import importlib.util
import struct
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

import portacl.torch

MNI = "datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz"  # in nilearn's folder
COLIN = Path("/usr/share/mricron/templates/ch2bet.nii.gz")
LEVELS = (8, 4, 2)  # mm per voxel
STEPS = (60, 60, 30)
SQUARINGS = 7
STIFFNESS = 0.02
RATE = 0.25  # voxels that a step moves a point by, about


def find_mni():
    package = importlib.util.find_spec("nilearn")
    if package is None:
        raise SystemExit("nilearn is not installed (pip install nilearn): it has the MNI152 volume")
    return Path(package.submodule_search_locations[0]) / MNI


def read(path):
    """A NIfTI-1 volume of bytes as (z, y, x), and where its first voxel is, (z, y, x) in mm."""
    data = gzip.decompress(Path(path).read_bytes())
    width, height, depth = struct.unpack("<3h", data[42:48])
    start = int(struct.unpack("<f", data[108:112])[0])
    origin = [struct.unpack("<f", data[292 + 16 * i : 296 + 16 * i])[0] for i in (2, 1, 0)]
    voxels = np.frombuffer(data, np.uint8, depth * height * width, start)
    return voxels.reshape(depth, height, width), np.array(origin, int)


def load(mni, colin):
    """Both volumes (1, 1, D, H, W) on the voxels of the second, with like histograms in 0..1."""
    (average, average_origin), (person, origin) = read(mni), read(colin)
    cut = [slice(o - a, o - a + n) for o, a, n in zip(origin, average_origin, person.shape)]
    average = average[tuple(cut)]
    levels = np.arange(256)
    shares = [
        np.cumsum(np.bincount(v[v > 0], minlength=256)) / (v > 0).sum() for v in (average, person)
    ]
    alike = np.interp(shares[1], shares[0], levels) * (levels > 0)  # by rank of brightness
    volumes = (average.astype(np.float32), alike.astype(np.float32)[person])
    return [torch.from_numpy(v)[None, None] / 255 for v in volumes]


def identity(shape):
    """The grid (1, D, H, W, 3) that samples a volume at its own voxels."""
    axes = [(torch.arange(extent) * 2 + 1) / extent - 1 for extent in shape]
    z, y, x = torch.meshgrid(*axes, indexing="ij")
    return torch.stack([x, y, z], 3)[None]


def sample(volume, grid):
    return F.grid_sample(volume, grid, padding_mode="border", align_corners=False)


def as_grid(field):
    return field.permute(0, 2, 3, 4, 1)


def integrate(velocity, points):
    """Where the flow along `velocity` takes each point in unit time, as a displacement."""
    moved = sample(velocity, points) / 2**SQUARINGS
    for _ in range(SQUARINGS):
        moved = moved + sample(moved, points + as_grid(moved))
    return moved


def bending(velocity):
    """Mean square slope of the velocity, in voxels per voxel."""
    extents = torch.tensor(velocity.shape[:1:-1]).view(1, 3, 1, 1, 1)
    voxels = velocity * (extents / 2)
    slopes = [voxels.diff(dim=axis) for axis in (2, 3, 4)]
    return sum((slope * slope).mean() for slope in slopes)


def objective(velocity, fixed, moving, points):
    warped = sample(moving, points + as_grid(integrate(velocity, points)))
    difference = warped - fixed
    return (difference * difference).mean(), STIFFNESS * bending(velocity)


class Descent:
    """Adam, one rounding an operation.

    PyTorch's own optimizers compute several at once, and round the last elements of each thread's
    share in another way than the others.
    """

    def __init__(self, shape):
        self.mean, self.square, self.steps = torch.zeros(shape), torch.zeros(shape), 0

    def step(self, gradient):
        """The step to take, about 1 in each element."""
        self.steps += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.99 * self.square + 0.01 * (gradient * gradient)
        mean = self.mean / (1 - 0.9**self.steps)
        return mean / ((self.square / (1 - 0.99**self.steps)).sqrt() + 1e-12)


class Level:
    """The problem with voxels of `size` mm."""

    def __init__(self, volumes, size):
        self.size = size
        self.fixed, self.moving = (F.avg_pool3d(v, size) if size > 1 else v for v in volumes)
        self.points = identity(self.fixed.shape[2:])
        # The field has half the resolution of the volumes: trilinear between, and smooth.
        self.lattice = [-(-extent // 2) for extent in self.fixed.shape[2:]]

    def gradient(self, velocity):
        velocity = velocity.detach().requires_grad_()
        error, stiffness = objective(velocity, self.fixed, self.moving, self.points)
        (gradient,) = torch.autograd.grad(error + stiffness, velocity)
        return gradient, error.item()

    def descend(self, velocity, steps):
        velocity = sample(velocity, identity(self.lattice))
        descent, errors = Descent(velocity.shape), []
        voxels = 2 / torch.tensor(self.lattice[::-1]).view(1, 3, 1, 1, 1)
        for step in range(steps):
            gradient, error = self.gradient(velocity)
            errors.append(error)
            rate = RATE * min(1, (step + 1) / 8) * (1 - 0.8 * step / steps)
            velocity = velocity - descent.step(gradient) * (rate * voxels)
        return velocity, errors


def register(volumes, levels, steps):
    """The velocity that takes the second volume to the first, and the error of every step."""
    velocity, errors = torch.zeros(1, 3, 1, 1, 1), []
    for size, count in zip(levels, steps):
        velocity, found = Level(volumes, size).descend(velocity, count)
        errors.append(found)
    return velocity, errors


def volume_change(moved):
    """Determinant of the map's derivative at every voxel but the last ones: below 0, it folds."""
    points = identity(moved.shape[2:]) + as_grid(moved)
    extents = torch.tensor(moved.shape[:1:-1])
    places = points[0] * (extents / 2)
    depth, height, width = (extent - 1 for extent in places.shape[:3])
    along_x, along_y, along_z = (
        places.diff(dim=axis)[:depth, :height, :width] for axis in (2, 1, 0)
    )
    return (torch.linalg.cross(along_x, along_y) * along_z).sum(-1)


def time_of_step(level, velocity, steps):
    """Median seconds of a whole step: forward, backward, update."""
    times = []
    for _ in range(steps + 1):
        begin = time.perf_counter()
        level.descend(velocity, 1)
        times.append(time.perf_counter() - begin)
    return float(np.median(times[1:]))


def same_bits(volumes):
    """Whether short registrations with 1, 2 and 3 threads end with the same bits."""
    threads, found = torch.get_num_threads(), set()
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        velocity, _ = register(volumes, LEVELS[:1], (5,))
        found.add(velocity.numpy().tobytes())
    torch.set_num_threads(threads)
    return len(found) == 1


def apply(level, velocity):
    """The second volume moved along the velocity, and by how much that changes volume."""
    moved = integrate(velocity, level.points)
    warped = sample(level.moving, level.points + as_grid(moved))
    return warped, volume_change(moved)


def slices(volume):
    """The axial, the coronal and the sagittal slice through the middle, head up."""
    depth, height, width = volume.shape
    return (
        volume[depth // 2, ::-1],
        volume[::-1, height // 2],
        volume[::-1, :, int(width * 0.46)],
    )


def draw_row(axes, volumes, change):
    fixed, moving, warped = volumes
    from matplotlib.colors import LinearSegmentedColormap

    around_black = ["#7fdbff", "#1f77d0", "#000000", "#d1531b", "#ffd36b"]
    colours = LinearSegmentedColormap.from_list("around black", around_black)
    gray, signed = dict(cmap="gray", vmin=0, vmax=1.05), dict(cmap=colours, vmin=-0.4, vmax=0.4)
    views = (
        ("MNI152: the average of 152", fixed, gray),
        ("Colin 27 before", moving, gray),
        ("Colin 27 after", warped, gray),
        ("difference before", moving - fixed, signed),
        ("difference after", warped - fixed, signed),
        ("log2 of the change of volume", change, dict(cmap=colours, vmin=-1.6, vmax=1.6)),
    )
    for column, (title, volume, how) in enumerate(views):
        for row, image in enumerate(slices(volume)):
            axes[row, column].imshow(image, interpolation="bicubic", **how)
            axes[row, column].axis("off")
        axes[0, column].set_title(title, fontsize=12, color="0.92", pad=8)


def draw_losses(axes, errors):
    begin = 0
    for size, found in zip(LEVELS, errors):
        steps = np.arange(begin, begin + len(found))
        axes.plot(steps, found, linewidth=2, label=f"{size} mm")
        begin += len(found)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_title("mean square difference", loc="left", fontsize=12)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def draw_times(axes, size, times):
    names, seconds = zip(*times.items())
    bars = axes.barh(names, seconds, color=["#3fa7d6", "#777777"][: len(names)], height=0.55)
    axes.bar_label(bars, [f" {value:.2f} s" for value in seconds], fontsize=12)
    axes.invert_yaxis()
    axes.margins(x=0.18)
    axes.set_xticks([])
    axes.tick_params(length=0, labelsize=12)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_title(f"a whole step at {size} mm", loc="left", fontsize=12)


def draw(path, level, found, errors, times):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.style.use("dark_background")
    warped, change = found
    volumes = [volume[0, 0].numpy() for volume in (level.fixed, level.moving, warped)]
    change = change.clamp_min(0.1).log2()
    change = F.pad(change, (0, 1, 0, 1, 0, 1)).numpy() * (volumes[0] > 0.05)
    figure = plt.figure(figsize=(16, 11.5), facecolor="#101214", layout="constrained")
    pictures, charts = figure.subfigures(2, 1, height_ratios=(4.1, 1))
    for part in (pictures, charts):
        part.set_facecolor("#101214")
    grid = pictures.subplots(3, 6, height_ratios=[image.shape[0] for image in slices(volumes[0])])
    draw_row(grid, volumes, change)
    left, right = charts.subplots(1, 2, width_ratios=(1.6, 1))
    for axes in (left, right):
        axes.set_facecolor("#101214")
    draw_losses(left, errors)
    right.axis("on" if times else "off")
    if times:
        draw_times(right, level.size, times)
    figure.savefig(path, dpi=90)


def main():
    parser = argparse.ArgumentParser(description="Registers two brains")
    parser.add_argument("picture", nargs="?", help="where to draw the result (PNG)")
    parser.add_argument("--steps", type=int, nargs=len(LEVELS), default=STEPS, metavar="N",
                        help="steps at each level, coarse to fine")  # fmt: skip
    parser.add_argument("--timed-steps", type=int, default=5, help="0: no comparison with PyTorch")
    parser.add_argument("--colin", default=COLIN, help="the volume ch2bet.nii.gz")
    options = parser.parse_args()

    if not Path(options.colin).exists():
        raise SystemExit(f"{options.colin} is not there (Debian's package mricron-data has it)")
    volumes = load(find_mni(), options.colin)
    portacl.torch.enable(forward=True)
    velocity, errors = register(volumes, LEVELS, options.steps)
    descended = [size for size, steps in zip(LEVELS, options.steps) if steps]
    level = Level(volumes, min(descended, default=LEVELS[0]))
    warped, change = apply(level, velocity)
    print(f"difference before {(level.moving - level.fixed).abs().mean():.4f}")
    print(f"difference after  {(warped - level.fixed).abs().mean():.4f}")
    print(
        f"voxels that fold {(change <= 0).float().mean():.4%}, smallest volume {change.min():.2f}"
    )
    print(f"1, 2 and 3 threads: {'same' if same_bits(volumes) else 'DIFFERENT'} bits")
    times = {}
    if options.timed_steps:
        times["with portacl"] = time_of_step(level, velocity, options.timed_steps)
        portacl.torch.disable()
        times["PyTorch alone"] = time_of_step(level, velocity, options.timed_steps)
        for name, seconds in times.items():
            print(f"a step at {level.size} mm {name}: {seconds:.2f} s")
    if options.picture:
        draw(options.picture, level, (warped, change), errors, times)
        print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
