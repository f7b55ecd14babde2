"""Plots of a result as PNG: ratios, copy bandwidth, roofline, threads, sizes."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from . import cases, results
from .results import Record, Row

# Okabe-Ito: told apart with every kind of colour vision, and in grey.
BLUE, ORANGE, GREEN, RED, GREY, SKY = "#0072B2 #E69F00 #009E73 #D55E00 #666666 #56B4E9".split()
THREAD_COLOURS = (BLUE, ORANGE, GREEN, RED)
TITLES = {cases.NEAREST: "nearest-exact backward", cases.GRID: "grid sampler 2D backward"}
DPI = 110


def draw(result: Record, folder: pathlib.Path) -> list[pathlib.Path]:
    """Draws what the result has data for; returns the files."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    drawings: list[tuple[str, Callable[[], Figure | None]]] = [
        ("perf-ratio-grid", lambda: _ratios(result, cases.GRID)),
        ("perf-ratio-nearest", lambda: _ratios(result, cases.NEAREST)),
        ("perf-copy", lambda: _copy_share(result)),
        ("perf-roofline", lambda: _roofline(result)),
        ("perf-threads", lambda: _threads(result)),
        ("perf-size", lambda: _sizes(result)),
    ]
    written = []
    for name, make in drawings:
        figure = make()
        if figure is None:
            continue
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=DPI)
        plt.close(figure)
        written.append(path)
    return written


# ---- bars ----------------------------------------------------------------------------------------


def _ratios(result: Record, operator: str) -> Figure | None:
    """PyTorch's time over portacl's, per shape."""

    def value(record: Record) -> float | None:
        return results.ratio(record, "torch")

    rows = [r for r in results.rows(result, operator) if any(map(value, r.by_threads.values()))]
    if not rows:
        return None
    figure, axes = _bar_figure(result, rows, value, "{:.1f}x", log=True)
    axes.set_xlabel("times faster than PyTorch (medians, logarithmic)")
    axes.axvline(1, color="black", linewidth=1)
    _mark(axes, 1, "PyTorch")
    for index, count in enumerate(results.thread_counts(result.get("shapes", []))):
        mean = results.geometric_mean(
            value(row.by_threads[count]) for row in rows if count in row.by_threads
        )
        if mean:
            colour = THREAD_COLOURS[index]
            axes.axvline(mean, color=colour, linewidth=1.2, linestyle="--", zorder=0)
    peer = result["versions"].get("PyTorch", "").split("+")[0]
    means = _mean_text(result, rows, value)
    _titles(figure, f"{TITLES[operator]}: portacl against PyTorch {peer}", result, means)
    return figure


def _mean_text(result: Record, rows: Sequence[Row], value: Callable[[Record], float | None]) -> str:
    parts = []
    for count in results.thread_counts(result.get("shapes", [])):
        mean = results.geometric_mean(
            value(row.by_threads[count]) for row in rows if count in row.by_threads
        )
        if mean:
            parts.append(f"{mean:.1f}x with {_threads_text(count)}")
    return f"geometric mean (dashed): {', '.join(parts)}"


def _copy_share(result: Record) -> Figure | None:
    """nearest-exact: bandwidth as a share of a copy of the same bytes."""

    def percent(share: float | None) -> float | None:
        return share * 100 if share else None

    def value(record: Record) -> float | None:
        return percent(results.of_copy(record))

    def mix(record: Record) -> float | None:
        return percent(results.mix_of_copy(record))

    rows = results.rows(result, cases.NEAREST)
    rows = [r for r in rows if any(map(value, r.by_threads.values()))]
    if not rows:
        return None
    label = "a loop that reads and writes the same bytes, and does nothing else"
    figure, axes = _bar_figure(result, rows, value, "{:.0f} %", log=False, mark=(label, mix))
    axes.set_xlabel("bandwidth, % of the faster of memcpy and a non-temporal copy of as many bytes")
    axes.axvline(100, color="black", linewidth=1, linestyle=":")
    _mark(axes, 100, "copy", "black")
    note = "a copy is half reads; an upsampling gradient reads more than it writes"
    _titles(figure, "nearest-exact backward: share of copy bandwidth", result, note)
    return figure


def _bar_figure(
    result: Record,
    rows: list[Row],
    value: Callable[[Record], float | None],
    text: str,
    log: bool,
    mark: tuple[str, Callable[[Record], float | None]] | None = None,
) -> tuple[Figure, Axes]:
    """Horizontal bars, the best row on top, one bar per number of threads; `mark`: label and value
    of a tick on each bar."""
    counts = results.thread_counts(result.get("shapes", []))
    rows = sorted(rows, key=lambda r: max((value(x) or 0) for x in r.by_threads.values()))
    figure, axes = plt.subplots(figsize=(9.5, 1.6 + 0.13 * (len(counts) + 0.5) * len(rows)))
    height = 0.8 / len(counts)
    ticks = []
    for index, count in enumerate(counts):
        places, values = [], []
        for place, row in enumerate(rows):
            if count in row.by_threads and (number := value(row.by_threads[count])):
                places.append(place + 0.4 - height * (index + 0.5))
                values.append(number)
                if mark and (tick := mark[1](row.by_threads[count])):
                    ticks.append((tick, places[-1]))
        colour = THREAD_COLOURS[index % len(THREAD_COLOURS)]
        bars = axes.barh(places, values, height * 0.92, color=colour, label=_threads_text(count))
        if mark:  # room for the ticks: the numbers stand in the bars
            for place, number in zip(places, values):
                written = "white" if colour == BLUE else "black"
                axes.text(
                    1, place, text.format(number), fontsize=7, color=written, va="center_baseline"
                )
            continue
        labels = axes.bar_label(bars, [text.format(v) for v in values], padding=2, fontsize=7)
        for written in labels:  # readable across the lines
            written.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.4})
    if mark and ticks:
        axes.scatter(
            *zip(*ticks), marker="|", s=90, linewidths=1.6, color="black", label=mark[0], zorder=3
        )
    axes.set_yticks(range(len(rows)), [results.label(r.case) for r in rows], fontsize=8)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}x"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.08)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    _legend(figure, axes)
    return figure, axes


# ---- roofline ------------------------------------------------------------------------------------


def _roofline(result: Record) -> Figure | None:
    """GB/s of every shape against its bytes, under the curves of a plain copy."""
    counts = [
        n for n in results.thread_counts(result.get("shapes", [])) if _curve(result, n, "memcpy")[0]
    ]
    if not counts or not result.get("shapes"):
        return None
    figure, panels = plt.subplots(
        1, len(counts), figsize=(5.2 * len(counts), 4.8), sharey=True, squeeze=False
    )
    for axes, count in zip(panels[0], counts):
        for mode, style, text in (
            ("memcpy", "-", "copy, memcpy"),
            ("nt-copy", "--", "copy, non-temporal"),
        ):
            axes.plot(*_curve(result, count, mode), style, color=GREY, linewidth=1.2, label=text)
        for operator, colour, marker in ((cases.NEAREST, BLUE, "o"), (cases.GRID, ORANGE, "^")):
            points = [
                (r["bytes"], results.bandwidth(r))
                for r in result["shapes"]
                if r["threads"] == count
                and r["case"]["operator"] == operator
                and results.bandwidth(r)
            ]
            if points:
                axes.scatter(
                    *zip(*points), color=colour, marker=marker, s=26, label=TITLES[operator]
                )
        _bytes_axis(axes)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        axes.set_xlabel("bytes read and written, each tensor once")
        axes.set_title(_threads_text(count), fontsize=9)
        axes.grid(color="#dddddd", linewidth=0.6, which="major")
    panels[0][0].set_ylabel("GB/s")
    _legend(figure, panels[0][0], columns=2)
    _titles(figure, "Bandwidth of the tensors' bytes against a plain copy", result)
    return figure


def _curve(result: Record, threads: int, mode: str) -> tuple[list[float], list[float]]:
    records = [r for r in result.get("copy", []) if r["threads"] == threads]
    sizes = [r["bytes"] for r in records]
    return sizes, [r["bytes"] / r["peers"][mode]["median"] * 1e-9 for r in records]


def _bytes_axis(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    ticks = {2**12: "4 KiB", 2**16: "64 KiB", 2**20: "1 MiB", 2**24: "16 MiB", 2**28: "256 MiB"}
    axes.set_xticks(list(ticks), list(ticks.values()))


# ---- threads -------------------------------------------------------------------------------------


def _threads(result: Record) -> Figure | None:
    """How much faster the largest number of threads is than one, per shape."""
    counts = results.thread_counts(result.get("shapes", []))
    most = counts[-1] if counts else 1
    rows = [
        row
        for operator in (cases.GRID, cases.NEAREST)
        for row in results.rows(result, operator)
        if _speed_up(row, "portacl", most)
    ]
    if most == 1 or not rows:
        return None
    rows.sort(key=lambda row: _speed_up(row, "portacl", most) or 0)
    figure, axes = plt.subplots(figsize=(9.5, 1.6 + 0.2 * len(rows)))
    for peer, colour, marker, text in (
        ("torch", ORANGE, "s", "PyTorch"),
        ("portacl", BLUE, "o", "portacl"),
    ):
        points = [(s, i) for i, row in enumerate(rows) if (s := _speed_up(row, peer, most))]
        if points:
            axes.scatter(*zip(*points), color=colour, marker=marker, s=28, label=text, zorder=3)
    names = [results.label(r.case) + _operator_mark(r) for r in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.set_ylim(-0.8, len(rows) - 0.2)
    axes.set_xlim(left=0)
    for value, text in ((1, "no gain"), (most, "ideal")):
        axes.axvline(value, color="black", linewidth=1, linestyle=":")
        _mark(axes, value, text)
    axes.grid(axis="both", color="#e5e5e5", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(f"speed-up of {most} threads over one (medians)")
    _legend(figure, axes)
    _titles(figure, f"Scaling from 1 to {most} threads", result)
    return figure


def _operator_mark(row: Row) -> str:
    return "  [grid]" if row.case["operator"] == cases.GRID else "  [nearest]"


def _speed_up(row: Row, peer: str, most: int) -> float | None:
    if not {1, most} <= row.by_threads.keys():
        return None
    one, many = (results.seconds(row.by_threads[n], peer) for n in (1, most))
    return one / many if one and many else None


# ---- sizes ---------------------------------------------------------------------------------------


def _sizes(result: Record) -> Figure | None:
    """Time per element against the number of elements, one panel per series."""
    records = [r for r in result.get("sizes", []) if results.seconds(r, "portacl")]
    names = list(dict.fromkeys(r["series"] for r in records))
    if not names:
        return None
    height = (len(names) + 1) // 2
    figure, panels = plt.subplots(
        height, 2, figsize=(9.5, 2.6 * height + 0.8), sharex=True, squeeze=False
    )
    for axes, name in zip(panels.flat, names):
        _size_panel(axes, [r for r in records if r["series"] == name], name)
    for axes in panels.flat[len(names) :]:
        axes.set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel("elements, N*C*H*W of the larger tensor")
    _legend(figure, panels[0][0], columns=2)
    note = "grey band: a factor of 2 above the fastest size of portacl with one thread"
    _titles(figure, "Time per element against size", result, note)
    return figure


def _size_panel(axes: Axes, records: list[Record], name: str) -> None:
    counts = sorted({r["threads"] for r in records})
    for peer, style, text in (("portacl", "-", "portacl"), ("torch", "--", "PyTorch")):
        for index, count in enumerate(counts):
            points = [
                (r["elements"], t / r["elements"] * 1e9)
                for r in records
                if r["threads"] == count and (t := results.seconds(r, peer))
            ]
            if not points:
                continue
            colour = THREAD_COLOURS[index]
            label = f"{text}, {_threads_text(count)}"
            marker = "o" if peer == "portacl" else None
            axes.plot(*zip(*points), style, color=colour, marker=marker, markersize=3, label=label)
            if peer == "portacl" and count == 1:
                fastest = min(t for _, t in points)
                axes.axhspan(fastest, 2 * fastest, color="#eeeeee", zorder=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("ns per element")
    axes.set_title(name, fontsize=9)


# ---- text ----------------------------------------------------------------------------------------


def _threads_text(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _mark(axes: Axes, x: float, text: str, colour: str = "black") -> None:
    """A word above a vertical line."""
    axes.annotate(
        text,
        (x, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        fontsize=7,
        color=colour,
    )


def _legend(figure: Figure, axes: Axes, columns: int = 1) -> None:
    """In the upper right corner, beside the titles, where nothing is drawn."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="upper right",
        bbox_to_anchor=(0.99, 1 - 0.08 / figure.get_figheight()),
        ncols=columns,
        fontsize=8,
        frameon=False,
    )


def _titles(figure: Figure, title: str, result: Record, note: str = "") -> None:
    """The title, and below it the note and the machine, in a fixed space above the panels."""
    machine = result["machine"]
    kind = "virtual machine" if machine["hypervisor"] else "machine"
    where = f"{machine['cpu']}, {machine['cpus']} CPUs of a {kind}, {machine['date'][:10]}"
    if impl := result.get("impl"):
        where += f", implementation {impl}"
    inch = 1 / figure.get_figheight()
    top = 0.12
    for text, size, weight in ((title, 12, "bold"), (note, 8.5, "normal"), (where, 8.5, "normal")):
        if text:
            colour = "black" if weight == "bold" else "#444444"
            y = 1 - top * inch
            figure.text(0.015, y, text, fontsize=size, fontweight=weight, color=colour, va="top")
            top += 0.26 if weight == "bold" else 0.19
    figure.tight_layout(rect=(0, 0, 1, 1 - (top + 0.05) * inch))
