"""A run as one HTML page without other files: the tables, and charts as SVG in it."""

from __future__ import annotations

import html
import io
import re
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

from benchmarks.suite.figures import OURS, ceilings, contests, share
from benchmarks.suite.measure import Record
from benchmarks.suite.tables import markdown
from benchmarks.workloads.entry import SIZES

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; display: block;
  overflow-x: auto; }
td, th { border-bottom: 1px solid #ccc; padding: 2px 8px; text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
svg { max-width: 100%; height: auto; }
"""
SLOWER, QUICKER = "#c0504d", "#3b7ea1"


def chart(records: list[Record], table: str = "strict") -> str:
    """SVG: the best peer's time over ours for each workload, a column a size; bars to the right of
    the line are quicker."""
    known = [r for r in contests(records) if table in r["ratio"]]
    names = list(dict.fromkeys(r["workload"] for r in known))[::-1]
    sizes = [s for s in SIZES if any(r["size"] == s for r in known)]
    rows = {(r["workload"], r["size"]): r["ratio"][table] for r in known}
    height = 1.2 + 0.17 * len(names)
    figure, axes = pyplot.subplots(
        1, max(1, len(sizes)), figsize=(11, height), sharey=True, squeeze=False
    )
    for axis, size in zip(axes[0], sizes):
        found = [(k, rows[n, size]) for k, n in enumerate(names) if (n, size) in rows]
        places = [k for k, _ in found]
        ratios = [r["ratio"] for _, r in found]
        low = [max(0.0, r["ratio"] - r["low"]) for _, r in found]
        high = [max(0.0, r["high"] - r["ratio"]) for _, r in found]
        colours = [SLOWER if r < 1 else QUICKER for r in ratios]
        axis.barh(places, [r - 1 for r in ratios], left=1, color=colours, height=0.7)
        axis.errorbar(ratios, places, xerr=[low, high], fmt="none", ecolor="#555", elinewidth=0.7)
        axis.set_xscale("log", base=2)
        axis.axvline(1, color="black", linewidth=0.8)
        axis.set_yticks(range(len(names)), names, fontsize=7)
        axis.set_ylim(-1, len(names))
        axis.set_title(size)
        axis.grid(axis="x", linewidth=0.3)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_xlabel("best peer's time / pyc's", fontsize=8)
    return _svg(figure)


def limit_chart(records: list[Record]) -> str:
    """SVG: ours and the best peer as shares of the machine's limit."""
    limits = ceilings(records)
    known = [r for r in contests(records) if r["size"] != "tiny" and "strict" in r["ratio"]]
    sizes = [s for s in SIZES if any(r["size"] == s for r in known)]
    names = list(dict.fromkeys(r["workload"] for r in known))[::-1]
    figure, axes = pyplot.subplots(
        1, max(1, len(sizes)), figsize=(11, 1.2 + 0.17 * len(names)), sharey=True, squeeze=False
    )
    for axis, size in zip(axes[0], sizes):
        for record in known:
            if record["size"] != size:
                continue
            place = names.index(record["workload"])
            for name, mark in ((record["best"]["strict"], "o"), (OURS["strict"], "|")):
                reached = share(record, name, limits)
                if reached is not None:
                    colour = QUICKER if mark == "|" else "#999"
                    axis.plot(
                        [reached], [place], mark, color=colour, markersize=9 if mark == "|" else 4
                    )
        axis.set_xscale("log")
        axis.axvline(1, color="black", linewidth=0.8)
        axis.set_yticks(range(len(names)), names, fontsize=7)
        axis.set_ylim(-1, len(names))
        axis.set_title(size)
        axis.grid(axis="x", linewidth=0.3)
        axis.set_xlabel("share of the limit: pyc | , best peer o", fontsize=8)
    return _svg(figure)


def _svg(figure: Any) -> str:
    """The figure as text that depends on the figures only."""
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "suite", "svg.fonttype": "none"}):
        figure.tight_layout()
        figure.savefig(out, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    text = out.getvalue()
    return text[text.index("<svg") :]


def page(run: dict[str, Any]) -> str:
    """The page of a run."""
    records: list[Record] = run["records"]["workloads"]
    body = [f"<style>{STYLE}</style>", to_html(markdown(run))]
    for table in OURS:
        if any(table in r["ratio"] for r in records):
            body += [f"<h2>Chart: {table}</h2>", chart(records, table)]
    if ceilings(records):
        body += ["<h2>Chart: limits</h2>", limit_chart(records)]
    text = "\n".join(body)
    head = '<meta charset="utf-8"><title>CPU suite</title>'
    return f"<!doctype html>\n<html><head>{head}</head>\n<body>\n{text}\n</body></html>\n"


def to_html(text: str) -> str:
    """The Markdown that `tables` writes: titles, paragraphs, lists, tables."""
    found: list[str] = []
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        if not lines:
            continue
        if lines[0].startswith("#"):
            level = len(lines[0]) - len(lines[0].lstrip("#"))
            found.append(f"<h{level}>{_inline(lines[0].lstrip('# '))}</h{level}>")
        elif lines[0].startswith("|"):
            rows = [line.strip("|").split("|") for line in lines]
            cells = [(k, "th" if k == 0 else "td", row) for k, row in enumerate(rows) if k != 1]
            found.append(
                "<table>"
                + "".join(
                    "<tr>" + "".join(f"<{t}>{_inline(c.strip())}</{t}>" for c in row) + "</tr>"
                    for _, t, row in cells
                )
                + "</table>"
            )
        elif lines[0].startswith("* "):
            found.append("<ul>" + "".join(f"<li>{_inline(x[2:])}</li>" for x in lines) + "</ul>")
        else:
            found.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "\n".join(found)


def _inline(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))
