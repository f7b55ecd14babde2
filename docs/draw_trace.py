#!/usr/bin/env python3
"""Draws a timeline of PORTACL_TRACE, here examples/runtime_pipeline's:

    PORTACL_TRACE=trace.json build/release/bin/example_runtime_pipeline
    docs/draw_trace.py trace.json docs/images/trace.png --row "stream 1=upload" ...

One bar per span, one row per host thread or stream; needs matplotlib.
"""

import argparse
import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Patch

COLORS = {
    "plan": "#E69F00",
    "kernel": "#0072B2",
    "copy": "#009E73",
    "memset": "#56B4E9",
    "callback": "#CC79A7",
    "event": "#D9D9D9",
}
LABELS = {"event": "wait for an event"}


def read(path):
    """Spans and the names of their rows, from a trace file."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {}
    for event in events:
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[event["pid"], event["tid"]] = event["args"]["name"]
    spans = [event for event in events if event["ph"] == "X" and event["cat"] != "host"]
    return spans, names


def draw(spans, names, renamed, output, width):
    rows = sorted({(span["pid"], span["tid"]) for span in spans})
    start = min(span["ts"] for span in spans)
    figure, axes = plt.subplots(figsize=(width, 0.62 * len(rows) + 1.3), layout="constrained")
    # Waits first: what follows one lies over its end.
    for span in sorted(spans, key=lambda span: span["cat"] != "event"):
        wait = span["cat"] == "event"
        axes.barh(
            rows.index((span["pid"], span["tid"])),
            span["dur"],
            left=span["ts"] - start,
            height=0.28 if wait else 0.7,
            color=COLORS[span["cat"]],
            edgecolor="none" if wait else "white",
            linewidth=0.6,
        )
    labels = [names[row] if row[0] else "host thread" for row in rows]
    axes.set_yticks(range(len(rows)), [renamed.get(label, label) for label in labels])
    axes.invert_yaxis()
    axes.set_xlabel("microseconds")
    axes.margins(x=0.01)
    axes.grid(axis="x", color="#E5E5E5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    used = [category for category in COLORS if any(span["cat"] == category for span in spans)]
    figure.legend(
        handles=[Patch(color=COLORS[name], label=LABELS.get(name, name)) for name in used],
        loc="outside upper right",
        ncols=len(used) if width > 6 else 2,
        frameon=False,
    )
    figure.savefig(output, dpi=160)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("output")
    parser.add_argument(
        "--row", action="append", default=[], metavar="OLD=NEW", help="a row's name"
    )
    parser.add_argument("--width", type=float, default=10, help="in inches; 4.6 for a telephone")
    arguments = parser.parse_args()
    spans, names = read(arguments.trace)
    renamed = dict(pair.split("=", 1) for pair in arguments.row)
    draw(spans, names, renamed, arguments.output, arguments.width)


if __name__ == "__main__":
    main()
