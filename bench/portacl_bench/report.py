"""The result as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import cases, results
from .results import Record, Row

Cell = Callable[[Record], str]
_CLOCK = {"wall": "", "cpu": "; CPU time instead of elapsed time"}


def markdown(result: Record) -> str:
    parts = [_header(result)]
    if result.get("shapes"):
        parts += [_operator(result, cases.NEAREST), _operator(result, cases.GRID)]
    if result.get("torch"):
        parts.append(_inside(result["torch"]))
    if result.get("resize"):
        parts.append(_resize(result["resize"]))
    if result.get("detection"):
        parts.append(_detection(result["detection"]))
    if result.get("steps"):
        parts.append(_steps(result["steps"]))
    if result.get("busy"):
        parts.append(_busy(result["busy"]))
    if result.get("tiny"):
        parts.append(_tiny(result))
    if result.get("sizes"):
        parts.append(_sizes(result))
    return "\n\n".join(p for p in parts if p) + "\n"


def _header(result: Record) -> str:
    machine = result["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in result["versions"].items())
    kind = "virtual machine" if machine["hypervisor"] else "machine"
    load = f"{result['load_before']} before, {result['load_after']} after"
    lines = [
        f"Machine: {machine['cpu']}, {machine['cpus']} CPUs of a {kind}, "
        f"{', '.join(machine['caches'])}; {machine['memory_gib']} GiB; {machine['system']}; "
        f"transparent huge pages: {machine['transparent_huge_pages']}.",
        f"Versions: {versions}, Python {machine['python']}; commit {machine['commit']}; "
        f"{machine['date']}.",
        f"Medians of {result['protocol']['repeat']} interleaved samples; load average {load}"
        f"{_CLOCK[result['protocol'].get('clock', 'wall')]}. "
        "`~`: best and median differ by more than 25 %.",
    ]
    if impl := result.get("impl"):
        lines.append(f"Implementation forced: {impl}.")
    lines += [f"Without {k}: {v}" for k, v in result.get("missing", {}).items()]
    return "  \n".join(lines)


def _operator(result: Record, operator: str) -> str:
    rows = results.rows(result, operator)
    if not rows:
        return ""
    counts = results.thread_counts(result["shapes"])
    threads = " / ".join(f"T{count}" for count in counts)
    columns = _columns(operator, rows)
    head = ["name", "shape", *(name for name, _ in columns), "workspace", "kernel"]
    lines = [f"### {operator} ({threads})", "", _line(head), _line(["---"] * len(head))]
    for row in rows:
        cells = [" / ".join(_of(row, count, cell) for count in counts) for _, cell in columns]
        lines.append(
            _line([row.name, results.label(row.case), *cells, _workspace(row), _kernel(row)])
        )
    return "\n".join([*lines, "", *_summary(rows, counts)])


def _columns(operator: str, rows: list[Row]) -> list[tuple[str, Cell]]:
    """Title and cell of each column that has a value in at least one row."""

    def time(peer: str) -> Cell:
        return lambda r: _milliseconds(r, peer)

    def times_faster(peer: str) -> Cell:
        return lambda r: _number(results.ratio(r, peer))

    columns: list[tuple[str, Cell]] = [
        ("portacl, ms", time("portacl")),
        ("PyTorch, ms", time("torch")),
        ("**PyTorch / portacl**", times_faster("torch")),
        ("of minima", lambda r: _number(results.ratio(r, "torch", "best"))),
        ("PyTorch out= / portacl", times_faster("torch-out")),
        ("PyTorch / fresh outputs", lambda r: _number(_fresh(r))),
        ("oneDNN / portacl", times_faster("onednn")),
        ("JAX / portacl", times_faster("jax")),
        ("GB/s", lambda r: _number(results.bandwidth(r))),
    ]
    if operator == cases.NEAREST:
        columns.append(("of copy", lambda r: _percent(results.of_copy(r))))
        columns.append(("of mix", lambda r: _percent(results.of_mix(r))))
    else:
        columns.append(("of fill", lambda r: _percent(results.of_fill(r))))
    every = [record for row in rows for record in row.by_threads.values()]
    return [(name, cell) for name, cell in columns if any(cell(r) != "-" for r in every)]


def _fresh(record: Record) -> float | None:
    return results.ratio(record, "torch", own="portacl-fresh")


def _summary(rows: list[Row], counts: list[int]) -> list[str]:
    def means(peer: str, key: str = "median") -> str:
        values = (
            results.geometric_mean(
                results.ratio(row.by_threads[count], peer, key)
                for row in rows
                if count in row.by_threads
            )
            for count in counts
        )
        return " / ".join(_number(value) for value in values)

    lines = [
        f"Geometric mean of PyTorch / portacl: {means('torch')}"
        f" (of minima {means('torch', 'best')})"
    ]
    if (out := means("torch-out")).strip("-/ "):
        lines[0] += f"; against out= {out}"
    lines[0] += "."
    wrong = {
        f"{row.name} {peer}: {text}"
        for row in rows
        for record in row.by_threads.values()
        for peer, text in _disagreements(record)
    }
    if wrong:
        lines += ["", "Results outside the tolerance:", "", *(f"- {w}" for w in sorted(wrong))]
    return lines


def _disagreements(record: Record) -> list[tuple[str, str]]:
    found = [(p, t["agrees"]) for p, t in record["peers"].items() if t.get("agrees")]
    found += list(record["skipped"].items())
    return [(peer, text) for peer, text in found if text.startswith("differs")]


def _groups(records: list[Record], key: Callable[[Record], str]) -> dict[str, dict[int, Record]]:
    """Records by name and number of threads."""
    found: dict[str, dict[int, Record]] = {}
    for record in records:
        found.setdefault(key(record), {})[record["threads"]] = record
    return found


def _joined(by_threads: dict[int, Record], counts: list[int], cell: Cell) -> str:
    return " / ".join(cell(by_threads[c]) if c in by_threads else "-" for c in counts)


def _inside(records: list[Record]) -> str:
    """Operators called through PyTorch."""
    counts = results.thread_counts(records)
    threads = " / ".join(f"T{count}" for count in counts)
    pools = ", ".join(dict.fromkeys(record["pool"] for record in records))
    lines = [
        f"### Inside PyTorch ({threads}; threads: {pools})",
        "",
        _line(["name", "shape", "PyTorch, ms", "portacl, ms", "**PyTorch / portacl**"]),
        _line(["---"] * 5),
    ]
    for name, row in _groups(records, lambda r: r["case"]["name"]).items():
        shape = results.label(next(iter(row.values()))["case"])
        cells = [
            _joined(row, counts, lambda r: _milliseconds(r, "torch")),
            _joined(row, counts, lambda r: _milliseconds(r, "portacl")),
            _joined(row, counts, lambda r: _number(results.ratio(r, "torch"))),
        ]
        lines.append(_line([name, shape, *cells]))
    lines.append("")
    for direction in ("backward", "forward"):
        for count in counts:
            chosen = [
                (ratio, r["case"]["name"])
                for r in records
                if r["threads"] == count and r["case"]["name"].endswith(direction)
                if (ratio := results.ratio(r, "torch"))
            ]
            if chosen:
                mean, (worst, name) = results.geometric_mean(r for r, _ in chosen), min(chosen)
                slower = sum(ratio < 1 for ratio, _ in chosen)
                lines.append(
                    f"- {direction}, T{count}: geometric mean {_number(mean)}; slowest row "
                    f"{_number(worst)} ({name}); slower than PyTorch: {slower} of {len(chosen)}."
                )
    return "\n".join(lines)


def _resize(records: list[Record]) -> str:
    """F.interpolate's operators: every row, and a line for each group and direction."""
    counts = results.thread_counts(records)
    threads = " / ".join(f"T{count}" for count in counts)
    head = ["name", "shape", "PyTorch, ms", "portacl, ms", "of a copy", "**PyTorch / portacl**"]
    lines = [f"### Resizing inside PyTorch ({threads})", ""]
    lines += [_line(head), _line(["---"] * len(head))]
    for name, row in _groups(records, lambda r: r["case"]["name"]).items():
        case = next(iter(row.values()))["case"]
        sizes = ("x".join(map(str, case[side])) for side in ("input", "output"))
        shape = " \N{RIGHTWARDS ARROW} ".join(sizes)
        cells = [
            _joined(row, counts, lambda r: _milliseconds(r, "torch")),
            _joined(row, counts, lambda r: _milliseconds(r, "portacl")),
            _joined(row, counts, lambda r: _percent(results.ratio(r, "copy"))),
            _joined(row, counts, lambda r: _number(results.ratio(r, "torch"))),
        ]
        lines.append(_line([name, f"{shape}, {case['group']}", *cells]))
    lines += ["", _line(["mean (slowest row)", "forward", "backward"]), _line(["---"] * 3)]
    for group in dict.fromkeys(r["case"]["group"] for r in records):
        cells = []
        for direction in ("forward", "backward"):
            chosen = [
                r for r in records if r["case"]["group"] == group and r["direction"] == direction
            ]
            ratios = [
                [results.ratio(r, "torch") for r in chosen if r["threads"] == n] for n in counts
            ]
            cells.append(
                " / ".join(
                    f"{_number(results.geometric_mean(r))} ({_number(min(filter(None, r)))})"
                    for r in ratios
                )
            )
        lines.append(_line([group, *cells]))
    return "\n".join(lines)


def _detection(records: list[Record]) -> str:
    """Sampling of detectors: a row for each case, the function's cells and the gradient's."""
    counts = results.thread_counts(records)
    threads = " / ".join(f"T{count}" for count in counts)
    lines = [f"### Detection inside PyTorch ({threads})", ""]
    for direction in ("forward", "backward"):
        head = [direction, "shape", "PyTorch, ms", "portacl, ms", "**PyTorch / portacl**"]
        lines += [_line(head), _line(["---", "---", "--:", "--:", "--:"])]
        chosen = [r for r in records if r["direction"] == direction]
        for name, row in _groups(chosen, lambda r: r["case"]["name"]).items():
            cells = [
                _joined(row, counts, lambda r: _milliseconds(r, "torch")),
                _joined(row, counts, lambda r: _milliseconds(r, "portacl")),
                _joined(row, counts, lambda r: _number(results.ratio(r, "torch"))),
            ]
            label = next(iter(row.values()))["case"]["label"]
            lines.append(_line([name.removesuffix(f" {direction}"), label, *cells]))
        lines.append("")
    return "\n".join(lines).rstrip()


def _steps(records: list[Record]) -> str:
    """Whole training steps."""
    counts = results.thread_counts(records)
    threads = " / ".join(f"T{count}" for count in counts)
    head = ["step", "PyTorch, ms", "gradient's share", "PyTorch / portacl", "forward replaced too"]
    lines = [f"### Training steps ({threads})", "", _line(head), _line(["---"] * len(head))]
    for name, row in _groups(records, lambda r: str(r["name"])).items():
        cells = [
            _joined(row, counts, lambda r: _milliseconds(r, "torch")),
            _joined(row, counts, lambda r: _percent(r["gradient_share"])),
            _joined(row, counts, lambda r: _number(results.ratio(r, "torch"))),
            _joined(
                row, counts, lambda r: _number(results.ratio(r, "torch", own="portacl-forward"))
            ),
        ]
        what = next(iter(row.values()))["what"].rstrip(".")
        lines.append(_line([f"{name.replace('_', ' ')}: {what}", *cells]))
    return "\n".join(lines)


def _busy(records: list[Record]) -> str:
    """Beside busy processes: medians, and in brackets the means that count."""
    head = ["beside", "threads", "name", "PyTorch, ms", "portacl, ms", "**PyTorch / portacl**"]
    lines = [f"### Beside busy processes (threads: {records[0]['pool']})", ""]
    lines += [_line(head), _line(["---"] * len(head))]
    for r in records:
        times = [
            f"{_milliseconds(r, peer)} ({_number(r['peers'][peer]['mean'] * 1e3)})"
            for peer in ("torch", "portacl")
        ]
        ratio = _number(results.ratio(r, "torch", "mean"))
        lines.append(_line([r["neighbours"], str(r["threads"]), r["name"], *times, ratio]))
    lines.append("")
    for (beside, threads), rows in _by_neighbours(records).items():
        ratios = {r["name"]: results.ratio(r, "torch", "mean") or 0 for r in rows}
        worst = min(ratios, key=lambda name: ratios[name])
        mean = _number(results.geometric_mean(ratios.values()))
        lines.append(
            f"- beside {beside}, T{threads}: geometric mean {mean}; slowest row "
            f"{_number(ratios[worst])} ({worst})."
        )
    return "\n".join(lines)


def _by_neighbours(records: list[Record]) -> dict[tuple[str, int], list[Record]]:
    found: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        found.setdefault((record["neighbours"], record["threads"]), []).append(record)
    return found


def _tiny(result: Record) -> str:
    counts = results.thread_counts(result["tiny"])
    threads = " / ".join(f"T{count}" for count in counts)
    names = sorted({name for record in result["tiny"] for name in record["peers"]})
    lines = [
        f"### Tiny calls, microseconds ({threads})",
        "",
        _line(["operator", "call", "median", "best"]),
        _line(["---"] * 4),
    ]
    for operator in dict.fromkeys(record["operator"] for record in result["tiny"]):
        records = [r for r in result["tiny"] if r["operator"] == operator]
        for name in names:
            if name in records[0]["peers"]:
                cells = [
                    " / ".join(f"{r['peers'][name][key] * 1e6:.2f}" for r in records)
                    for key in ("median", "best")
                ]
                lines.append(_line([operator, name, *cells]))
    return "\n".join(lines)


def _sizes(result: Record) -> str:
    lines = [
        "### Time per element against size, ns",
        "",
        _line(["series", "threads", "elements", "smallest", "largest", "largest / smallest"]),
        _line(["---"] * 6),
    ]
    groups: dict[tuple[str, int], list[Record]] = {}
    for record in result["sizes"]:
        groups.setdefault((record["series"], record["threads"]), []).append(record)
    for (name, threads), records in groups.items():
        times = [t / r["elements"] * 1e9 for r in records if (t := results.seconds(r, "portacl"))]
        if times:
            span = f"{records[0]['elements']:.0e} to {records[-1]['elements']:.0e}"
            cells = [f"{min(times):.3f}", f"{max(times):.3f}", f"{max(times) / min(times):.2f}"]
            lines.append(_line([name, str(threads), span, *cells]))
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _of(row: Row, count: int, cell: Cell) -> str:
    return cell(row.by_threads[count]) if count in row.by_threads else "-"


def _milliseconds(record: Record, peer: str) -> str:
    time = results.seconds(record, peer)
    if time is None:
        return "-"
    return ("~" if results.noisy(record, peer) else "") + _number(time * 1e3)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.0f} %"


def _workspace(row: Row) -> str:
    size = max(r["peers"].get("portacl", {}).get("workspace", 0) for r in row.by_threads.values())
    if size == 0:
        return "0"
    share = size / row.any["bytes"]
    text = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
    return f"{text} ({share:.2f}x)"


def _kernel(row: Row) -> str:
    kernels: dict[str, Any] = dict.fromkeys(
        r["peers"].get("portacl", {}).get("kernel", "-") for r in row.by_threads.values()
    )
    return " / ".join(kernels)
