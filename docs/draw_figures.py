"""Draws the figures of docs/ops and docs/architecture.md into docs/images.

    python docs/draw_figures.py [DIR]

Each as NAME for a column of text and as NAME-narrow, its panels below each other, for a telephone.
Needs NumPy, matplotlib and Pillow (script/requirements/base.txt). The curves are computed by the
formulas of the pages, not sketched.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle, FancyArrowPatch, Polygon, Rectangle
from PIL import Image

DOCS = Path(__file__).parent
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#777777",
)  # fmt: skip
TINTS = ("#cfe4f3", "#fbe5bd", "#c9ebde", "#f3d9e6")

plt.rcParams.update({
    "font.size": 13, "axes.titlesize": 14, "axes.titlelocation": "left", "lines.linewidth": 1.8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#555555",
    "svg.hashsalt": "portacl", "figure.facecolor": "white",
})  # fmt: skip


def panels(narrow, count, wide_size, narrow_size, **how):
    """`count` panels in a row, or below each other."""
    size = narrow_size if narrow else wide_size
    figure, axes = plt.subplots(*((count, 1) if narrow else (1, count)), figsize=size, **how)
    return figure, axes


def stacks(count, size, gap, **how):
    """`count` groups of panels below each other, nearer to their own group than to the next one."""
    figure = plt.figure(figsize=size)
    outer = figure.add_gridspec(count, 1, hspace=gap)
    return figure, np.array([group.subgridspec(**how).subplots() for group in outer])


def save(figure, folder, name, narrow):
    if narrow:
        name = name.replace(".", "-narrow.")
    how = {"metadata": {"Date": None}} if name.endswith("svg") else {"dpi": 100}
    figure.savefig(folder / name, bbox_inches="tight", pad_inches=0.12, **how)
    plt.close(figure)
    print(folder / name)


def cell(axes, x, y, width, text, color, height=1.0):
    axes.add_patch(Rectangle((x, y), width, height, facecolor=color, edgecolor="#555555"))
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center")


# ---- resampling ----------------------------------------------------------------------------------


def triangle(s):
    return max(0.0, 1 - abs(s))


def keys(s, a):
    s = abs(s)
    if s <= 1:
        return ((a + 2) * s - (a + 3)) * s * s + 1
    return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a if s < 2 else 0.0


def draw_taps(axes, ratio, o, half_width, weight, title):
    """A row of inputs, the output's middle, and a bar of each tap's weight."""
    centre = ratio * (o + 0.5)
    weights = {i: weight((i + 0.5 - centre) / max(ratio if half_width > 2 else 1, 1))
               for i in range(10) if abs(i + 0.5 - centre) < half_width}  # fmt: skip
    total = sum(weights.values())
    for i in range(10):
        cell(axes, i, -0.55, 1, str(i), TINTS[0] if i in weights else "white", 0.5)
    for i, w in weights.items():
        axes.add_patch(Rectangle((i + 0.2, 0), 0.6, 1.6 * w / total, facecolor=BLUE))
    axes.axhline(0, color="#555555", linewidth=0.8)
    axes.axvline(centre, ymin=0.22, ymax=0.84, color=ORANGE)
    axes.text(centre, 1.75, f"output {o}", ha="center", color=ORANGE)
    axes.set(xlim=(-0.1, 10.1), ylim=(-0.65, 2.1))
    axes.set_title(title)
    axes.axis("off")


def resample_taps(folder, narrow):
    figure, axes = panels(narrow, 4, (13.5, 2.9), (4.4, 9.6))
    draw_taps(axes[0], 0.7, 5, 1, triangle, "linear: two taps")
    draw_taps(axes[1], 0.7, 5, 2, lambda s: keys(s, -0.75), "cubic: four")
    draw_taps(axes[2], 2.4, 1, 2.4, triangle, "antialiased: a window")
    draw_taps(axes[3], 2.4, 1, 4.8, lambda s: keys(s, -0.5), "antialiased cubic")
    save(figure, folder, "resample-taps.svg", narrow)


def resample_order(folder, narrow):
    """Which axis is summed when, from the input to the output."""
    figure, axes = panels(narrow, 2, (12.5, 2.4), (4.4, 4.8))
    for panel, title, steps in zip(
        axes,
        ("forward", "gradient"),
        (("input", "W", "H", "D", "output"), ("gradOutput", "D", "H", "W", "gradInput")),
    ):
        x = 0.0
        for number, step in enumerate(steps):
            ends = number in (0, len(steps) - 1)
            width = 3.0 if ends else 1.0
            cell(panel, x, 0, width, step, TINTS[0] if ends else TINTS[1])
            if not ends:
                panel.text(x + 0.5, -0.45, f"sum {number}", ha="center", color=GREY)
            x += width + 0.7
            if number + 1 < len(steps):
                panel.add_patch(FancyArrowPatch((x - 0.68, 0.5), (x - 0.02, 0.5), color=BLUE,
                                                arrowstyle="-|>", mutation_scale=11))  # fmt: skip
        panel.text(x - 2.2, -0.45, "rounded once", ha="center", color=GREY)
        panel.set_title(title)
        panel.set(xlim=(-0.1, x), ylim=(-0.8, 1.3))
        panel.axis("off")
    save(figure, folder, "resample-order.svg", narrow)


# ---- nearest-exact -------------------------------------------------------------------------------


def source(o, size_in, size_out):
    """The index rule of nearest-exact where the sizes decide."""
    ratio = np.float32(size_in) / np.float32(size_out)
    return min(int(np.floor(np.float32((o + 0.5) * float(ratio)))), size_in - 1)


def draw_sources(axes, size_in, size_out):
    """GradOutput above, gradInput below, an arrow from every position to its source."""
    length = 8.0
    wide, narrow = length / size_in, length / size_out
    sources = [source(o, size_in, size_out) for o in range(size_out)]
    for i in range(size_in):
        hit = i in sources
        text, color = (str(i), TINTS[i % 4]) if hit else (f"{i}: 0", "white")
        cell(axes, i * wide, 0, wide, text, color)
    for o, src in enumerate(sources):
        middle = (o + 0.5) * narrow
        cell(axes, o * narrow, 2.6, narrow, str(o), TINTS[src % 4])
        axes.add_patch(FancyArrowPatch((middle, 2.55), (middle, 1.05), arrowstyle="-|>",
                                       mutation_scale=11, color=BLUE, linewidth=1.3))  # fmt: skip
    axes.text(0, 3.75, "gradOutput", color=GREY)
    axes.text(0, -0.55, "gradInput", color=GREY)
    axes.set(xlim=(-0.1, length + 0.1), ylim=(-0.7, 4.2))
    axes.axis("off")


def nearest_exact_sources(folder, narrow):
    figure, axes = panels(narrow, 3, (12.5, 3.1), (4.4, 8.2))
    cases = ((4, 8, "scale 2: blocks of two"), (4, 6, "scale 1.5: blocks of 1 and 2"),
             (6, 4, "scale 2/3: two without a source"))  # fmt: skip
    for panel, (size_in, size_out, title) in zip(axes, cases):
        draw_sources(panel, size_in, size_out)
        panel.set_title(title)
    figure.subplots_adjust(wspace=0.08)
    save(figure, folder, "nearest-exact-sources.svg", narrow)


def nearest_exact_order(folder, narrow):
    """A 4 x 5 gradInput over its 6 x 9 gradOutput; the block of one element, numbered."""
    height, width, out_height, out_width = 4, 5, 6, 9
    rows = [source(o, height, out_height) for o in range(out_height)]
    columns = [source(o, width, out_width) for o in range(out_width)]
    chosen = (1, 1)
    ratios = {"height_ratios": (6, 4)} if narrow else {"width_ratios": (9, 5)}
    figure, (left, right) = panels(narrow, 2, (10.5, 4.0), (4.4, 6.6), **ratios)
    count = 0
    for oh, row in enumerate(rows):
        for ow, column in enumerate(columns):
            inside = (row, column) == chosen
            count += inside
            color = ORANGE if inside else TINTS[2 * (row % 2) + column % 2]
            cell(left, ow, out_height - 1 - oh, 1, str(count) if inside else "", color)
    for row in range(height):
        for column in range(width):
            inside = (row, column) == chosen
            color = ORANGE if inside else TINTS[2 * (row % 2) + column % 2]
            total = rows.count(row) * columns.count(column)
            cell(right, column, height - 1 - row, 1, "sum" if inside else str(total), color)
    left.set_title(
        "gradOutput: the order of a sum"
        if narrow
        else "gradOutput, 6 x 9: the order of one block's sum"
    )
    right.set_title("gradInput, 4 x 5: terms per element")
    for panel in (left, right):
        panel.autoscale_view()
        panel.set_aspect("equal")
        panel.axis("off")
    save(figure, folder, "nearest-exact-order.svg", narrow)


# ---- grid sampler --------------------------------------------------------------------------------


def cubic(t):
    """Weights of the four taps, and their derivatives, at fraction t (Keys, A = -0.75)."""
    a = -0.75
    near = lambda s: ((a + 2) * s - (a + 3)) * s * s + 1  # noqa: E731
    far = lambda s: ((a * s - 5 * a) * s + 8 * a) * s - 4 * a  # noqa: E731
    near_slope = lambda s: (3 * (a + 2) * s - 2 * (a + 3)) * s  # noqa: E731
    far_slope = lambda s: (3 * a * s - 10 * a) * s + 8 * a  # noqa: E731
    return (
        np.array([far(t + 1), near(t), near(1 - t), far(2 - t)]),
        np.array([far_slope(t + 1), near_slope(t), -near_slope(1 - t), -far_slope(2 - t)]),
    )


def pad(at, extent, padding):
    """The padded coordinate and the factor m of the derivative (alignCorners = false)."""
    last = extent - 1
    if padding == "zeros":
        return at, 1.0
    if padding == "border":
        return min(max(at, 0.0), last), float(0 < at < last)
    distance = abs(at + 0.5)
    folds, rest = divmod(distance, extent)
    odd = folds % 2 == 1
    reflected = (extent - rest if odd else rest) - 0.5
    sign = 1.0 if (at < -0.5) == odd else -1.0
    return min(max(reflected, 0.0), last), sign * (0 < reflected < last)


def bilinear_1d(row, at):
    """Value and derivative along one axis; taps outside count as 0."""
    values = np.concatenate([[0.0], row, [0.0]])
    first = int(np.clip(np.floor(at), -1, len(row) - 1)) if -1 <= at < len(row) else None
    if first is None:
        return 0.0, 0.0
    low, high = values[first + 1], values[first + 2]
    return low * (first + 1 - at) + high * (at - first), high - low


def grid_sampler_coordinates(folder, narrow):
    figure, axes = panels(narrow, 2, (11.5, 2.7), (4.4, 5.0), sharex=True)
    for panel, align in zip(axes, (False, True)):
        for i in range(4):
            panel.add_patch(Rectangle((i - 0.5, -0.5), 1, 1, facecolor=TINTS[0], edgecolor=GREY))
            panel.plot(i, 0, "o", color=BLUE)
            panel.text(i + 0.09, 0.17, str(i), color=BLUE)
        low, high = (0, 3) if align else (-0.5, 3.5)
        panel.annotate(
            "",
            (high, -0.95),
            (low, -0.95),
            arrowprops={"arrowstyle": "<->", "color": RED, "shrinkA": 0, "shrinkB": 0},
        )
        for x, at in ((-1, low), (0, 1.5), (1, high)):
            panel.plot([at, at], [-1.06, 0.62], color=RED, linewidth=0.9, linestyle=":")
            panel.text(at, -1.45, f"x = {x}", ha="center", color=RED)
        panel.set_title(f"alignCorners = {str(align).lower()}")
        panel.set(xlim=(-1, 4), ylim=(-1.6, 0.75))
        panel.set_aspect("equal")
        panel.axis("off")
    figure.subplots_adjust(wspace=0.02)
    save(figure, folder, "grid-sampler-coordinates.svg", narrow)


def pixels(axes, low, high):
    for y in range(low, high):
        for x in range(low, high):
            axes.plot(x, y, "o", color="#bbbbbb", markersize=5, zorder=1)
    axes.set(xlim=(low - 0.6, high - 0.4), ylim=(high - 0.4, low - 0.6), xticks=[], yticks=[])
    axes.set_aspect("equal")
    axes.axis("off")


def grid_sampler_taps(folder, narrow):
    ix, iy = 1.3, 1.65
    tx, ty = ix - 1, iy - 1
    figure, (left, middle, right) = panels(narrow, 3, (12.5, 4.6), (4.4, 14.2))

    pixels(left, 1, 3)
    # Each tap's weight is the area of the rectangle opposite to it.
    areas = (((1, 1), tx, ty, 3), ((ix, 1), 1 - tx, ty, 2),
             ((1, iy), tx, 1 - ty, 1), ((ix, iy), 1 - tx, 1 - ty, 0))  # fmt: skip
    for corner, width, height, tint in areas:
        left.add_patch(Rectangle(corner, width, height, facecolor=TINTS[tint], edgecolor=GREY))
        left.text(corner[0] + width / 2, corner[1] + height / 2, f"{width * height:.2f}",
                  ha="center", va="center", fontsize=12)  # fmt: skip
    for name, x, y in (("nw", 1, 1), ("ne", 2, 1), ("sw", 1, 2), ("se", 2, 2)):
        tint = ("nw", "ne", "sw", "se").index(name)
        left.plot(x, y, "o", color=TINTS[tint], markeredgecolor="#333333", markersize=13, zorder=3)
        left.text(x + (0.1 if x == 2 else -0.1), y + (0.14 if y == 2 else -0.1), name,
                  ha="left" if x == 2 else "right")  # fmt: skip
    left.set_title("bilinear: 4 taps\nweight = area of the tap's colour")

    pixels(middle, 0, 4)
    middle.add_patch(Rectangle((0.5, 1.5), 1, 1, facecolor=TINTS[2], edgecolor=GREY))
    middle.plot(1, 2, "o", color=GREEN, markeredgecolor="#333333", markersize=13, zorder=3)
    middle.text(1.25, 2.3, "1", ha="center", va="center", fontsize=12)
    middle.set_title("nearest: 1 tap\nhalves go to the even pixel")

    pixels(right, 0, 4)
    weights = np.outer(cubic(ty)[0], cubic(tx)[0])
    for y in range(4):
        for x in range(4):
            weight = weights[y, x]
            color = BLUE if weight >= 0 else RED
            right.add_patch(Circle((x, y), 0.05 + 0.36 * np.sqrt(abs(weight)), color=color,
                                   alpha=0.55, zorder=2, linewidth=0))  # fmt: skip
            right.text(x, y + 0.47, f"{weight:+.3f}", ha="center", fontsize=11)
    right.set_title("bicubic: 4 x 4 taps\narea = weight, red = negative")
    for panel in (left, middle, right):
        panel.plot(ix, iy, "*", color="black", markersize=13, zorder=4)
    figure.subplots_adjust(wspace=0.12)
    save(figure, folder, "grid-sampler-taps.svg", narrow)


# Of volumes: the order of the taps, and where each is in its plane.
TAPS = [(plane, name, place) for plane in "tb" for name, place in
        (("nw", (0, 0)), ("ne", (1, 0)), ("sw", (0, 1)), ("se", (1, 1)))]  # fmt: skip


def oblique(x, y, z):
    """A point of the unit cube on paper: x to the right, y down, z to the back."""
    return x + 0.52 * z, y - 0.36 * z


def draw_cube(axes, tx, ty, tz):
    """Eight taps, numbered in the order of the sum, around the point."""
    for start in ((0, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1)):
        for axis in range(3):
            end = list(start)
            end[axis] = 1 - end[axis]
            (x0, y0), (x1, y1) = oblique(*start), oblique(*end)
            axes.plot((x0, x1), (y0, y1), color="#bbbbbb", linewidth=1.2, zorder=1)
    for z, tint in ((1, 1), (0, 0)):
        corners = [oblique(x, y, z) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
        axes.add_patch(Polygon(corners, facecolor=TINTS[tint], alpha=0.45, zorder=0.5 - z / 4))
    center = oblique(tx, ty, tz)
    for number, (plane, name, (x, y)) in enumerate(TAPS, 1):
        z = int(plane == "b")
        at = oblique(x, y, z)
        weight = (tx if x else 1 - tx) * (ty if y else 1 - ty) * (tz if z else 1 - tz)
        axes.plot((at[0], center[0]), (at[1], center[1]), color=GREY, linewidth=0.8, linestyle=":")
        axes.plot(*at, "o", color=TINTS[z], markeredgecolor="#333333", markersize=23, zorder=3)
        axes.text(*at, str(number), ha="center", va="center", zorder=4)
        side = 1 if x else -1
        axes.text(at[0] + 0.15 * side, at[1], f"{plane}{name}\n{weight:.3f}", fontsize=12,
                  ha="left" if x else "right", va="center", zorder=4)  # fmt: skip
    axes.plot(*center, "*", color="black", markersize=14, zorder=5)
    axes.set_title(
        "trilinear: 8 taps in the order of the sum\nunder the name: weight = w_x w_y w_z"
    )


def draw_tap_planes(axes):
    """The same order seen from the front: first the plane z0, then the one behind it."""
    for plane in range(2):
        left = 2.1 * plane
        axes.add_patch(Rectangle((left, 0), 1, 1, facecolor=TINTS[plane], alpha=0.45,
                                 edgecolor="#bbbbbb"))  # fmt: skip
        path = [(left + x, y) for name, (x, y) in ((n, p) for q, n, p in TAPS if q == "tb"[plane])]
        for start, end in zip(path, path[1:]):
            axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=14,
                                           shrinkA=13, shrinkB=13, color=GREY))  # fmt: skip
        for number, (x, y) in enumerate(path, 1 + 4 * plane):
            axes.plot(x, y, "o", color=TINTS[plane], markeredgecolor="#333333", markersize=23,
                      zorder=3)  # fmt: skip
            axes.text(x, y, str(number), ha="center", va="center", zorder=4)
        text = ("t: z0 = floor(iz)", "b: z0 + 1")[plane]
        axes.text(left + 0.5, 1.38, text, ha="center", va="center")
    axes.add_patch(FancyArrowPatch((1, 1), (2.1, 0), arrowstyle="-|>", mutation_scale=14,
                                   shrinkA=13, shrinkB=13, color=GREY, linestyle="--"))  # fmt: skip
    axes.set_title("the planes one after the other:\none fused multiply-add a tap")


def grid_sampler_3d_taps(folder, narrow):
    figure, (cube, planes) = panels(narrow, 2, (11.5, 4.9), (5.2, 9.0))
    draw_cube(cube, 0.62, 0.45, 0.4)
    draw_tap_planes(planes)
    cube.set(xlim=(-0.5, 2.0), ylim=(1.3, -0.65))
    planes.set(xlim=(-0.35, 3.45), ylim=(1.6, -0.4))
    for axes in (cube, planes):
        axes.set_aspect("equal")
        axes.axis("off")
    save(figure, folder, "grid-sampler-3d-taps.svg", narrow)


def grid_sampler_kinks(folder, narrow):
    row = np.array([0.2, 0.9, 0.5, 0.7, 0.1])
    cells = np.arange(1, 3)
    if narrow:
        figure, pairs = stacks(3, (4.4, 13.5), 0.32, nrows=2, ncols=1, hspace=0.12)
        for top, _ in pairs:
            top.tick_params(labelbottom=False)
    else:
        figure, axes = plt.subplots(2, 3, figsize=(12.5, 5.2), sharex=True, sharey="row")
        pairs = axes.T
    for (top, bottom), mode in zip(pairs, ("bilinear", "nearest", "bicubic")):
        top.plot(range(1, 4), row[1:4], "o", color=GREY, zorder=3)
        # Piece by piece, from pixel centre to pixel centre (nearest: from half to half).
        for first in cells:
            t = np.linspace(0, 1, 60)
            if mode == "bilinear":
                value = row[first] * (1 - t) + row[first + 1] * t
                slope = np.full_like(t, row[first + 1] - row[first])
            elif mode == "bicubic":
                weights, slopes = cubic(t)
                value, slope = (row[first - 1 : first + 3] @ w for w in (weights, slopes))
            else:
                value, slope = np.where(t < 0.5, row[first], row[first + 1]), 0 * t
                value[np.argmin(abs(t - 0.5))] = np.nan
            top.plot(first + t, value, color=BLUE)
            bottom.plot(first + t, slope, color=ORANGE)
            if mode == "bilinear":
                ends = {"marker": "o", "linestyle": "", "color": ORANGE}
                bottom.plot(first, slope[0], zorder=3, **ends)
                bottom.plot(first + 1, slope[0], markerfacecolor="white", zorder=2, **ends)
        if mode == "nearest":
            for at, tap in ((1.5, 2), (2.5, 2)):
                other = 1 if at == 1.5 else 3
                top.plot(at, row[tap], "o", color=BLUE, markersize=6)
                top.plot(at, row[other], "o", color=BLUE, markerfacecolor="white", markersize=6)
        top.set_title(mode)
        top.set(ylim=(0.35, 1.05), xlim=(0.85, 3.15))
        top.set(xticks=(1, 2, 3))
        bottom.set(xlabel="ix", xticks=(1, 2, 3), xlim=(0.85, 3.15), ylim=(-1, 1))
        bottom.axhline(0, color="#cccccc", linewidth=0.8, zorder=0)
    for top, bottom in pairs if narrow else pairs[:1]:
        top.set_ylabel("sampled value")
        bottom.set_ylabel("derivative by ix")
    figure.align_ylabels()
    if not narrow:
        figure.subplots_adjust(wspace=0.08, hspace=0.14)
    save(figure, folder, "grid-sampler-kinks.svg", narrow)


def photograph_with_padding(image, padding, low, high, size):
    """The photograph sampled over [low, high] in pixels of its own, bilinear."""
    extent = image.shape[0]
    ticks = np.linspace(low, high, size)
    at = np.array([pad(t, extent, padding)[0] for t in ticks])
    first = np.floor(at).astype(int)

    def tap(index):  # 0 outside
        inside = (index >= 0) & (index < extent)
        return np.clip(index, 0, extent - 1), inside

    result = 0
    for dy in (0, 1):
        for dx in (0, 1):
            (y, y_in), (x, x_in) = tap(first + dy), tap(first + dx)
            wy, wx = (np.abs(1 - d - (at - first)) for d in (dy, dx))
            weight = np.outer(wy * y_in, wx * x_in)[..., None]
            result = result + weight * image[np.ix_(y, x)]
    return result


def grid_sampler_padding(folder, narrow):
    photograph = Image.open(DOCS.parent / "tools/data/chelsea.png").convert("RGB")
    image = np.asarray(photograph.resize((96, 96), Image.LANCZOS), float) / 255
    row = np.array([0.3, 0.9, 0.5, 0.7])
    extent = len(row)
    ticks = np.arange(-5, 8.001, 0.01) + 1e-4
    colors = (BLUE, ORANGE, GREEN)
    heights = (3.2, 1.9, 1.5)
    if narrow:
        how = {"nrows": 3, "ncols": 1, "height_ratios": heights, "hspace": 0.14}
        figure, axes = stacks(3, (4.2, 25), 0.18, **how)
        axes = axes.T
    else:
        figure, axes = plt.subplots(3, 3, figsize=(9.6, 7.2), height_ratios=heights)
    for column, (padding, color) in enumerate(zip(("zeros", "border", "reflection"), colors)):
        picture, coordinate, slope = axes[:, column]
        scene = photograph_with_padding(image, padding, -0.9 * 96, 1.9 * 96, 270)
        picture.imshow(scene, extent=(-0.9, 1.9, 1.9, -0.9), interpolation="nearest")
        picture.add_patch(Rectangle((0, 0), 1, 1, fill=False, edgecolor="white", linewidth=1.6,
                                    linestyle="--"))  # fmt: skip
        picture.set_title(f"{column} {padding}")
        picture.axis("off")

        padded = [pad(t, extent, padding) for t in ticks]
        values = [bilinear_1d(row, at) for at, _ in padded]
        found = np.array([v for v, _ in values])
        gradient = np.array([m * d for (_, m), (_, d) in zip(padded, values)])
        gradient[np.r_[False, np.abs(np.diff(gradient)) > 0.05]] = np.nan  # jumps stay open
        for panel in (coordinate, slope):
            panel.axvspan(-0.5, extent - 0.5, color="#eeeeee", zorder=0)
            panel.set(xlim=(ticks[0], ticks[-1]), xticks=range(-4, 8, 2))
        coordinate.plot(ticks, found, color=color)
        coordinate.plot(range(extent), row, "o", color="#444444", markersize=5)
        coordinate.set(ylim=(-0.06, 1.05), xticklabels=[])
        slope.axhline(0, color="#cccccc", linewidth=0.8, zorder=0)
        slope.plot(ticks, gradient, color=color)
        slope.set(ylim=(-1.05, 1.05), xlabel="ix")
        if narrow or not column:
            coordinate.set_ylabel("value")
            slope.set_ylabel("derivative")
        else:
            coordinate.set_yticklabels([])
            slope.set_yticklabels([])
    figure.align_ylabels(axes[1:, 0])
    if not narrow:
        figure.subplots_adjust(wspace=0.08, hspace=0.12)
    save(figure, folder, "grid-sampler-padding.png", narrow)


# ---- the way of a call through the layers --------------------------------------------------------

LANES = (("caller", "white"), ("src/api", TINTS[0]), ("src/ops", TINTS[1]),
         ("src/runtime", TINTS[2]), ("src/cpu\nsrc/ref", TINTS[3]))  # fmt: skip
LANE_HEIGHT, BOX_WIDTH, BOX_HEIGHT, PAGE = 1.5, 5.2, 0.94, 14.6

# Of each phase: lane, what stands there, what it does, what it hands down.
PHASES = (
    (1.75, "phase 1: says no, or plans", "left", (
        (0, "aclnnXxxGetWorkspaceSize", "the shapes, once", "aclTensor*"),
        (1, "aclnn_xxx.cc: handles looked up",
         "aclTensor* becomes dtype, shape, strides, address", "TensorDesc"),
        (2, "xxx.cc: check, then plan",
         "all rules in one function; index tables;\n"
         "kernels.cc names the first kernel that serves", "Params"),
        (4, "Kernel::plan", "path, tiles, workspace; reads no element", ""),
    )),
    (9.25, "phase 2: runs", "right", (
        (0, "aclnnXxx(workspace, executor, stream)",
         "once, or as often as wanted if repeatable", "aclOpExecutor*"),
        (1, "aclnn_call.cc: executor looked up", "null, foreign or used up: an error", "Executor"),
        (2, "executor.cc: addresses",
         "checked against the allocations;\nstorage becomes element (0, 0, ...)", "Work"),
        (3, "stream.cc, parallel.cc",
         "this thread if work is small and the stream idle,\n"
         "or the stream's own; tiles on the arena's threads", "Params, KernelPlan"),
        (4, "Kernel::run",
         "gradOutput, tables, workspace are read;\n"
         "each element of gradInput is written by one task", ""),
    )),
)  # fmt: skip


def lane_middle(lane):
    return -LANE_HEIGHT * (lane + 0.5)


def draw_flow(axes, start, end, text, color, align, offset):
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=13, color=color,
                                   linewidth=1.5, shrinkA=0, shrinkB=0, zorder=3))  # fmt: skip
    x, y = (start[0] + end[0]) / 2 + offset[0], (start[1] + end[1]) / 2 + offset[1]
    axes.text(x, y, text, ha=align, va="center", fontsize=12, color=color, family="monospace")


def draw_phase(axes, size, left, title, side, steps):
    """Its boxes from the caller down to the kernel, with what goes from one to the next."""
    middle = left + BOX_WIDTH / 2
    axes.text(middle, 0.3, title, ha="center", fontsize=14)
    align, shift = ("right", -0.08) if side == "left" else ("left", 0.08)
    for (lane, what, does, hands), following in zip(steps, (*steps[1:], None)):
        y = lane_middle(lane)
        axes.add_patch(Rectangle((left, y - BOX_HEIGHT / 2), BOX_WIDTH, BOX_HEIGHT,
                                 facecolor="white", edgecolor="#555555", zorder=2))  # fmt: skip
        axes.text(middle, y + 0.26, what, ha="center", va="center", weight="bold")
        axes.text(middle, y - 0.16, does, ha="center", va="center", fontsize=size,
                  linespacing=1.15)  # fmt: skip
        if following:
            end = lane_middle(following[0]) + BOX_HEIGHT / 2
            draw_flow(axes, (middle, y - BOX_HEIGHT / 2), (middle, end), hands, BLUE, align,
                      (shift, 0))  # fmt: skip


def draw_lanes(axes, left, right):
    for lane, (name, color) in enumerate(LANES):
        axes.add_patch(
            Rectangle(
                (left, -LANE_HEIGHT * (lane + 1)),
                right - left,
                LANE_HEIGHT,
                alpha=0.75,
                facecolor=color,
                edgecolor="white",
                linewidth=2,
            )
        )
        axes.text(left + 0.08, lane_middle(lane), name, va="center", family="monospace")
    axes.set(xlim=(left, right), ylim=(-LANE_HEIGHT * len(LANES), 0.6))
    axes.axis("off")


def data_path(folder, narrow):
    if narrow:
        figure, axes = plt.subplots(2, 1, figsize=(5.6, 13.6))
        for panel, phase in zip(axes, PHASES):
            draw_lanes(panel, phase[0] - 1.75, phase[0] + BOX_WIDTH + 0.05)
            draw_phase(panel, 11, *phase)
        figure.subplots_adjust(left=0, right=1, hspace=0.06)
        save(figure, folder, "data-path.svg", narrow)
        return
    figure, axes = plt.subplots(figsize=(12.6, 8.0))
    draw_lanes(axes, 0, PAGE)
    for phase in PHASES:
        draw_phase(axes, 12.5, *phase)
    for lane, text, above in ((0, "workspaceSize,\nexecutor", 0.33), (2, "Plan", 0.2)):
        ends = (PHASES[0][0] + BOX_WIDTH, lane_middle(lane)), (PHASES[1][0], lane_middle(lane))
        draw_flow(axes, *ends, text, GREEN, "center", (0, above))
    figure.subplots_adjust(left=0, right=1)
    save(figure, folder, "data-path.svg", narrow)


# ---- deformable attention ------------------------------------------------------------------------


def ms_deform_attn(folder, narrow):
    """The points of one query on the levels of a pyramid; each a weighted bilinear sample."""
    figure, axes = panels(narrow, 3, (12.5, 4.2), (4.4, 11.5))
    random = np.random.default_rng(3)
    for axis, size, start in zip(axes, (8, 4, 2), (0, 64, 80)):
        for y in range(size):
            for x in range(size):
                axis.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=TINTS[0],
                                         edgecolor="#555555", linewidth=0.7))  # fmt: skip
                axis.text(x, y, str(start + y * size + x), ha="center", va="center",
                          fontsize=9, color=GREY)  # fmt: skip
        places = np.clip(0.55 + 0.14 * random.standard_normal((4, 2)), 0.05, 0.95)
        shares = random.uniform(0.2, 1, 4)
        for (x, y), share in zip(places * size - 0.5, shares):
            axis.add_patch(Circle((x, y), 0.035 * size * share + 0.012 * size, color=ORANGE))
        axis.plot(0.55 * size - 0.5, 0.55 * size - 0.5, "+", color=BLUE, markersize=14,
                  markeredgewidth=2)  # fmt: skip
        axis.set(xlim=(-0.6, size - 0.4), ylim=(size - 0.4, -0.6), aspect="equal")
        axis.set_title(f"{size} x {size}, start {start}")
        axis.axis("off")
    save(figure, folder, "ms-deform-attn.svg", narrow)


# ---- deformable convolution ----------------------------------------------------------------------


def kernel_offsets():
    """(y, x) of the taps of a kernel of 3 x 3 at one position, and where offsets move them."""
    regular = np.stack(np.meshgrid((2, 3, 4), (2, 3, 4), indexing="ij"), -1).reshape(9, 2)
    return regular, regular + np.random.default_rng(1602).uniform(-0.95, 0.95, (9, 2))


def draw_moved_taps(axes, regular, moved):
    pixels(axes, 0, 7)
    for (y, x), (to_y, to_x) in zip(regular, moved):
        axes.plot(x, y, "o", color=BLUE, markersize=8, markerfacecolor="white", zorder=2)
        axes.add_patch(FancyArrowPatch((x, y), (to_x, to_y), arrowstyle="-|>", mutation_scale=12,
                                       color=GREY, shrinkA=4, shrinkB=0, zorder=3))  # fmt: skip
        axes.plot(to_x, to_y, "*", color=ORANGE, markersize=12, zorder=4)
    axes.set_title("9 taps of one position,\nmoved by their offsets")


def draw_sample(axes, y, x):
    """The four pixels of a sample; each weight is the area opposite to its pixel."""
    y0, x0 = int(np.floor(y)), int(np.floor(x))
    ty, tx = y - y0, x - x0
    pixels(axes, 0, 2)
    areas = (((0, 0), tx, ty, 3), ((tx, 0), 1 - tx, ty, 2),
             ((0, ty), tx, 1 - ty, 1), ((tx, ty), 1 - tx, 1 - ty, 0))  # fmt: skip
    for corner, width, height, tint in areas:
        axes.add_patch(Rectangle(corner, width, height, facecolor=TINTS[tint], edgecolor=GREY))
        axes.text(corner[0] + width / 2, corner[1] + height / 2, f"{width * height:.2f}",
                  ha="center", va="center", fontsize=12)  # fmt: skip
    for tint, (name, dx, dy) in enumerate((("nw", 0, 0), ("ne", 1, 0), ("sw", 0, 1), ("se", 1, 1))):
        axes.plot(dx, dy, "o", color=TINTS[tint], markeredgecolor="#333333", markersize=13,
                  zorder=3)  # fmt: skip
        axes.text(dx + (0.1 if dx else -0.1), dy + (0.14 if dy else -0.1), name,
                  ha="left" if dx else "right")  # fmt: skip
    axes.plot(tx, ty, "*", color=ORANGE, markersize=15, zorder=4)
    axes.set_title("a sample: mask times\nfour weighted pixels")


def draw_product(axes):
    """A column of samples, taps first, then channels, against the rows of the weight."""
    taps, channels = 9, 2
    for tap in range(taps):
        for c in range(channels):
            row = tap * channels + c
            axes.add_patch(Rectangle((4.2, row), 1, 1, facecolor=TINTS[tap % 4],
                                     edgecolor="#555555", linewidth=0.6))  # fmt: skip
        axes.text(5.5, tap * channels + 1, f"tap {tap // 3}, {tap % 3}", va="center", fontsize=10)
    for output in range(3):
        axes.add_patch(Rectangle((output, 0), 1, taps * channels, facecolor=TINTS[0],
                                 edgecolor="#555555"))  # fmt: skip
        axes.text(output + 0.5, -0.5, f"o{output}", ha="center", va="center")
    axes.text(4.7, -0.5, "samples", ha="center", va="center")
    axes.add_patch(FancyArrowPatch((3.6, 0.3), (3.6, taps * channels - 0.3), arrowstyle="-|>",
                                   mutation_scale=14, color=RED))  # fmt: skip
    axes.set(xlim=(-0.2, 7.6), ylim=(taps * channels + 0.2, -1.2))
    axes.axis("off")
    axes.set_title("an output: weights times samples,\nsummed along the arrow")


def deform_conv2d(folder, narrow):
    figure, (left, middle, right) = panels(narrow, 3, (12.5, 4.6), (4.4, 14.2))
    regular, moved = kernel_offsets()
    draw_moved_taps(left, regular, moved)
    draw_sample(middle, *moved[4])
    draw_product(right)
    figure.subplots_adjust(wspace=0.12)
    save(figure, folder, "deform-conv2d.svg", narrow)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "images"
    for narrow in (False, True):
        nearest_exact_sources(folder, narrow)
        nearest_exact_order(folder, narrow)
        resample_taps(folder, narrow)
        resample_order(folder, narrow)
        grid_sampler_coordinates(folder, narrow)
        grid_sampler_taps(folder, narrow)
        grid_sampler_3d_taps(folder, narrow)
        grid_sampler_kinks(folder, narrow)
        grid_sampler_padding(folder, narrow)
        ms_deform_attn(folder, narrow)
        deform_conv2d(folder, narrow)
        data_path(folder, narrow)


if __name__ == "__main__":
    main()
