"""Draws the machines' charts of performance.md; for telephones also the other charts.

    python docs/draw_charts.py [DIR]

From the tables of performance_rows.md, so the numbers are the published ones. The other pages' wide charts
are drawn by bench/compare.py and bench/torch_calls.py, from all samples. Here a bar has its shape
above it, not beside it, and panels stand below each other: NAME-narrow.png. Needs matplotlib and
Pillow (script/requirements/base.txt).
"""

import re
import statistics
import sys
import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from PIL import Image

DOCS = Path(__file__).parent
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#e69f00", "#009e73", "#777777"
THREADS = ((BLUE, "1 thread"), (ORANGE, "2 threads"))
WIDTH, DPI = 4.2, 200  # inches; a telephone shows it 370 pixels wide, two of the screen's for one
NEAREST, GRID = "upsample_nearest_exact_backward (T1 / T2)", "grid_sampler_2d_backward (T1 / T2)"
MACHINES = (
    ("perf-granite-rapids", "Intel, Granite Rapids class"),
    ("perf-emerald-rapids", "Intel, Emerald Rapids class"),
    ("perf-zen3", "AMD EPYC, Zen 3"),
    ("perf-zen4", "AMD EPYC, Zen 4"),
)
plt.rcParams.update({
    "font.size": 10.5, "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": "#555555", "figure.facecolor": "white",
})  # fmt: skip


def cells(page, after):
    """The first table below a line that has `after`: its head and its rows, as texts."""
    text = (DOCS / page).read_text("utf-8")
    start = text.index("\n| ", text.index(after))
    lines = text[start + 1 : text.index("\n\n", start)].split("\n")
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return head, rows


def table(page, after):
    """Its rows as dictionaries."""
    head, rows = cells(page, after)
    return [dict(zip(head, row)) for row in rows]


def number(text):
    """The number in `~1.2`, `94 %` or `12x`; None if nothing was measured."""
    found = re.search(r"[0-9.]+", text)
    return float(found[0]) if found else None


def pair(text):
    """The numbers with one and with two threads."""
    return [number(part) for part in text.split("/")]


def save(figure, folder, name, title, note="", suffix="-narrow"):
    lines = [*textwrap.wrap(title, 44)]
    inches = figure.get_figheight()
    figure.text(0.02, 1 - 0.1 / inches, "\n".join(lines), va="top", fontsize=12, fontweight="bold")
    top = 0.15 + 0.2 * len(lines)
    if note:
        wrapped = textwrap.wrap(note, 56)
        figure.text(0.02, 1 - top / inches, "\n".join(wrapped), va="top", color="#444444")
        top += 0.18 * len(wrapped)
    figure.legend(
        *legend_of(figure), loc="upper left", bbox_to_anchor=(0, 1 - top / inches), ncols=2,
        frameon=False, borderaxespad=0.2,
    )  # fmt: skip
    top += 0.22 * -(-len(legend_of(figure)[0]) // 2) + 0.1
    figure.tight_layout(rect=(0, 0, 1, 1 - top / inches))
    path = folder / f"{name}{suffix}.png"
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def legend_of(figure):
    return figure.axes[0].get_legend_handles_labels()


def name_row(axes, place, text):
    """A shape above its bars; lines that cross the chart stop at it."""
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    axes.text(
        0.01, place, text, fontsize=9.5, va="center", bbox=behind,
        transform=axes.get_yaxis_transform(),
    )  # fmt: skip


def bars(rows, values, text, threads=THREADS, **how):
    """Horizontal bars, the best row on top; `values` gives a row's numbers, one a thread count."""
    rows = [row for row in rows if all(values(row))]
    rows.sort(key=lambda row: max(values(row)))
    figure, axes = plt.subplots(figsize=(WIDTH, 1.5 + 0.47 * len(rows)))
    for index, (colour, label) in enumerate(threads):
        numbers = [values(row)[index] for row in rows]
        places = [place - 0.12 - 0.26 * index for place in range(len(rows))]
        drawn = axes.barh(places, numbers, 0.24, color=colour, label=label)
        axes.bar_label(drawn, [text.format(v) for v in numbers], padding=2, fontsize=9)
    for place, row in enumerate(rows):
        name_row(axes, place + 0.18, row["shape"])
    axes.set(yticks=[], ylim=(-0.65, len(rows) - 0.55), **how)
    axes.margins(x=0.16)
    axes.spines["left"].set_visible(False)
    return figure, axes


def ratios(folder, name, title, section):
    rows = table("performance_rows.md", f"### {section}")
    column = "**PyTorch / portacl**"
    how = {"xscale": "log", "xlabel": "times faster than PyTorch (medians)"}
    figure, axes = bars(rows, lambda r: pair(r[column]), "{:g}x", **how)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlim(left=0.8)
    axes.set_xticks([1, 2, 5, 10, 20, 50], ["1x", "2x", "5x", "10x", "20x", "50x"])
    axes.minorticks_off()
    means = [statistics.geometric_mean(t) for t in zip(*(pair(r[column]) for r in rows))]
    note = "geometric means: {:.1f}x with 1 thread, {:.1f}x with 2".format(*means)
    save(figure, folder, name, title, note)


def machine(folder, name, section):
    """The classes of a machine, with one and with the most threads measured."""
    head, rows = cells("performance_rows.md", f"### {section}\n")
    most = head[-1].split(", ")[1]
    shown = []
    for row in rows:
        for way in ("function", "gradient"):
            columns = [head.index(f"{way}, {count}") for count in ("1 thread", most)]
            numbers = [number(row[column]) for column in columns]
            shown.append({"shape": f"{row[0]}, {way}s", "numbers": numbers})
    how = {"xscale": "log", "xlabel": "times as fast as PyTorch (geometric means)"}
    threads = ((BLUE, "1 thread"), (ORANGE, most))
    figure, axes = bars(shown, lambda row: row["numbers"], "{:g}x", threads, **how)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlim(left=0.8)
    axes.set_xticks([1, 2, 5, 10, 20, 50], ["1x", "2x", "5x", "10x", "20x", "50x"])
    axes.minorticks_off()
    save(figure, folder, name, section, suffix="")


def copy_share(folder):
    rows = table("performance_rows.md", f"### {NEAREST}")
    how = {"xlabel": "bandwidth, % of a copy of as many bytes"}
    title = "nearest-exact backward: share of copy bandwidth"
    figure, axes = bars(rows, lambda r: pair(r["of copy"]), "{:.0f} %", **how)
    axes.axvline(100, color="black", linewidth=1, linestyle=":")
    save(figure, folder, "perf-copy", title, "dotted: a copy, of which half is reads")


def scaling(folder):
    rows = [row for part in (GRID, NEAREST) for row in table("performance_rows.md", f"### {part}")]
    peers = (("PyTorch", ORANGE, "s"), ("portacl", BLUE, "o"))

    def gain(row, peer):
        one, two = pair(row[f"{peer}, ms"])
        return one / two if one and two else None

    rows = sorted((r for r in rows if gain(r, "portacl")), key=lambda r: gain(r, "portacl"))
    figure, axes = plt.subplots(figsize=(WIDTH, 1.5 + 0.36 * len(rows)))
    for peer, colour, marker in peers:
        points = [(g, place - 0.2) for place, row in enumerate(rows) if (g := gain(row, peer))]
        axes.scatter(*zip(*points), color=colour, marker=marker, s=22, label=peer, zorder=3)
    for place, row in enumerate(rows):
        name_row(axes, place + 0.2, row["shape"])
    for value in (1, 2):
        axes.axvline(value, color="black", linewidth=1, linestyle=":")
    axes.set(yticks=[], ylim=(-0.8, len(rows) - 0.3))
    axes.set_xlabel("speed-up of 2 threads over 1 (medians)")
    axes.set_xlim(left=0)
    note = "dotted: no gain (1) and ideal (2); computed from the rounded times of the tables"
    save(figure, folder, "perf-threads", "Scaling from 1 to 2 threads", note)


def roofline(folder):
    """Points as in the wide chart; the copy of as many bytes where the tables tell it."""
    figure, panels = plt.subplots(2, 1, figsize=(WIDTH, 7.6), sharex=True)
    for index, axes in enumerate(panels):
        copies = []
        for section, colour, marker, label in (
            (NEAREST, BLUE, "o", "nearest-exact"), (GRID, ORANGE, "^", "grid sampler 2D"),
        ):  # fmt: skip
            points = []
            for row in table("performance_rows.md", f"### {section}"):
                speed, time = pair(row["GB/s"])[index], pair(row["portacl, ms"])[index]
                points.append((speed * time * 1e6, speed))
                if share := pair(row.get("of copy", "-/-"))[index]:
                    copies.append((points[-1][0], speed / share * 100))
            axes.scatter(*zip(*points), color=colour, marker=marker, s=22, label=label)
        axes.plot(*zip(*sorted(copies)), color=GREY, linewidth=1.2, zorder=0, label="copy")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        axes.set_xticks([2**16, 2**20, 2**24, 2**28], ["64 KiB", "1 MiB", "16 MiB", "256 MiB"])
        axes.set_title(THREADS[index][1], fontsize=10.5)
        axes.set_ylabel("GB/s")
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    panels[-1].set_xlabel("bytes read and written, each tensor once")
    save(figure, folder, "perf-roofline", "Bandwidth against size, beside a plain copy")


def sizes(folder):
    head, rows = cells("performance_rows.md", "## Size")
    columns = range(1, len(head), 2)  # portacl and, beside it, PyTorch
    figure, panels = plt.subplots(len(columns), 1, figsize=(WIDTH, 9.6), sharex=True)
    for axes, column in zip(panels, columns):
        peers = ((column, BLUE, "o-", "portacl"), (column + 1, ORANGE, "s--", "PyTorch"))
        for at, colour, style, label in peers:
            points = [(float(row[0]), float(row[at])) for row in rows if row[at]]
            axes.plot(*zip(*points), style, color=colour, markersize=4, label=label)
        axes.set(xscale="log", yscale="log", title=head[column], ylabel="ns per element")
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        axes.yaxis.set_minor_formatter(lambda y, _: "")
        axes.title.set_fontsize(10.5)
    panels[-1].set_xlabel("elements of the larger tensor")
    save(figure, folder, "perf-size", "Time per element against size")


def torch_calls(folder):
    rows = table("performance_rows.md", "## New memory inside PyTorch")
    columns = (("PyTorch", ORANGE), ("fresh memory", GREY), ("malloc", GREEN), ("pool", BLUE))
    for above, row in zip(rows, rows[1:]):  # an operator's name stands in its first row
        row["new gradient, ms"] = row["new gradient, ms"] or above["new gradient, ms"]
    operators = list(dict.fromkeys(row["new gradient, ms"] for row in rows))
    figure, panels = plt.subplots(len(operators), 1, figsize=(WIDTH, 6.8))
    for axes, operator in zip(panels, operators):
        mine = [row for row in rows if row["new gradient, ms"] == operator]
        for index, (column, colour) in enumerate(columns):
            heights = [number(row[column]) / number(row["MiB"]) for row in mine]
            places = [place + (index - 1.5) * 0.21 for place in range(len(mine))]
            drawn = axes.bar(places, heights, 0.2, label=column, color=colour)
            axes.bar_label(drawn, fmt="%.2f", fontsize=8.5, rotation=90, padding=3)
            axes.margins(y=0.24)
        axes.set_xticks(range(len(mine)), [f"{row['MiB']} MiB" for row in mine])
        axes.set_title(operator, fontsize=10.5)
        axes.set_ylabel("ms per MiB")
    save(figure, folder, "torch-calls", "Time per MiB of new gradient", "lower is better")


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "images"
    for name, section in MACHINES:
        machine(folder, name, section)
    ratios(folder, "perf-ratio-grid", "grid sampler 2D backward: portacl against PyTorch", GRID)
    ratios(folder, "perf-ratio-nearest", "nearest-exact backward: portacl against PyTorch", NEAREST)
    copy_share(folder)
    scaling(folder)
    roofline(folder)
    sizes(folder)
    torch_calls(folder)


if __name__ == "__main__":
    main()
