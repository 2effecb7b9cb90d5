"""A report as one page of HTML: tables, bars and a drawing of the arena; no scripts, nothing
fetched, light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from pyc.report.sections import BufferRow, KernelRow, Line, Memory, Note
from pyc.report.words import flops, names, nbytes, percent, plural, seconds

if TYPE_CHECKING:
    from pyc.report import Report

STYLE = """
.pyc-report { --ink: #1c2230; --dim: #5c6675; --line: #d9dee6; --paper: #ffffff; --soft: #f4f6f9;
  --accent: #2463c4; --bar: #7aa7e8; --bad: #b3261e;
  color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif;
  max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
@media (prefers-color-scheme: dark) { .pyc-report { --ink: #e4e8ef; --dim: #9aa5b5; --line: #333c4a;
  --paper: #14181f; --soft: #1c222c; --accent: #82b1ff; --bar: #3f6fb5; --bad: #ff8a80; } }
.pyc-report h1 { font-size: 1.35rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
.pyc-report h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line);
  padding-bottom: .2rem; }
.pyc-report p { margin: .3rem 0; }
.pyc-report .dim { color: var(--dim); }
.pyc-report .cards { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; }
.pyc-report .card { background: var(--soft); border-radius: .5rem; padding: .5rem .9rem; }
.pyc-report .card b { display: block; font-size: 1.15rem; }
.pyc-report .scroll { overflow-x: auto; }
.pyc-report table { border-collapse: collapse; width: 100%; font-size: .92rem; }
.pyc-report th { text-align: left; color: var(--dim); font-weight: 500; white-space: nowrap; }
.pyc-report th, .pyc-report td { padding: .25rem .7rem .25rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); }
.pyc-report td.number, .pyc-report th.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.pyc-report code, .pyc-report pre { font: .92em/1.45 ui-monospace, Consolas, monospace; }
.pyc-report pre { background: var(--soft); border-left: 3px solid var(--bad); padding: .7rem 1rem;
  overflow-x: auto; margin: .5rem 0; }
.pyc-report .place { color: var(--dim); white-space: nowrap; }
.pyc-report .kernel { color: var(--accent); white-space: nowrap; }
.pyc-report .bar { background: var(--soft); border: 1px solid var(--line); height: .8rem;
  width: 7rem; display: inline-block; vertical-align: middle; border-radius: .2rem; }
.pyc-report .bar i { background: var(--bar); display: block; height: 100%;
  border-radius: .15rem; }
.pyc-report svg { width: 100%; height: auto; background: var(--soft); border-radius: .4rem; }
.pyc-report svg rect { fill: var(--bar); stroke: var(--paper); }
.pyc-report svg text { fill: var(--ink); font: 11px ui-monospace, monospace; }
"""
ACROSS, DOWN = 900, 260
"""Size of the drawing of the arena, in its own units."""
MOST_DRAWN = 400
"""Buffers of the arena that are drawn."""


def page(report: Report, *, fragment: bool = False) -> str:
    """The page, or what stands between the tags of its body."""
    body = "\n".join(_parts(report))
    inner = f'<style>{STYLE}</style>\n<div class="pyc-report">\n{body}\n</div>\n'
    if fragment:
        return inner
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>pyc: {escape(report.function)}</title>\n"
        "<style>:root { color-scheme: light dark; } body { margin: 0; }</style>\n"
        f"</head>\n<body>\n{inner}</body>\n</html>\n"
    )


def _parts(report: Report) -> Iterable[str]:
    s = report.signature
    yield f"<h1><code>{escape(report.function if s is None else s.text)}</code></h1>"
    if s is not None:
        on = f"{s.device}, {s.target}" if s.target else s.device
        yield f'<p class="dim">on {escape(on)}</p>'
    if report.refusal is not None:
        r = report.refusal
        yield f"<h2>Refused {escape(r.stage)}: a call raises</h2>"
        yield f"<pre>{escape(f'{r.error}: {r.shown}')}</pre>"
    if report.kernels is not None and report.memory is not None:
        yield _cards(report)
    if s is not None:
        yield "<h2>Signature</h2>"
        rows = [(a.name, a.type, a.kind, a.note) for a in (*s.arguments, *s.captured)]
        rows += [(name, kind, "result", "") for name, kind in s.results]
        yield _table(
            ("name", "type", "kind", ""),
            [
                [_code(a), _code(b), c, d]
                for a, b, c, d in ((a, b, escape(c), escape(d)) for a, b, c, d in rows)
            ],
        )
        if s.guards:
            guards = ", ".join(map(_code, s.guards))
            yield f'<p class="dim">looked at before each call: {guards}</p>'
    yield "<h2>Purity</h2>"
    yield _purity(report)
    if report.loops:
        yield "<h2>Loops and branches</h2>"
        yield _table(
            ("line", "", "became"),
            [[*_line(row.line), escape(row.became) + _reason(row.note)] for row in report.loops],
        )
    if report.promotions:
        yield "<h2>Promotions to wider types</h2>"
        yield _table(
            ("line", "", "from", "to", "for"),
            [
                [*_line(p.line), _code(p.before), _code(p.after), _code(p.operation)]
                for p in report.promotions
            ],
        )
    yield from _fusion(report)
    yield from _kernels(report)
    if report.memory is not None:
        yield "<h2>Memory</h2>"
        yield from _memory(report.memory)
    yield from _cache(report)
    if report.notes:
        yield "<h2>Reasons</h2>"
        rows2 = []
        for n in report.notes:
            place = _code(n.line.place) if n.line is not None else ""
            told = escape(n.meaning) + (f": {escape(n.details)}" if n.details else "")
            rows2.append([_code(n.code), place, told, escape(n.remedy)])
        yield _table(("code", "line", "what", "what to do"), rows2)


def _cards(report: Report) -> str:
    assert report.kernels is not None and report.memory is not None
    rows = report.kernels.rows
    cards = [
        (plural(len(rows), "kernel"), "launched"),
        (nbytes(sum(r.read + r.written for r in rows)), "moved by one launch of each"),
        (nbytes(report.memory.peak), "arena"),
        (plural(len(report.memory.copies), "copy").replace("copys", "copies"), "of whole arrays"),
    ]
    if report.kernels.program is not None:
        cards.append((seconds(report.kernels.program), "measured"))
    items = "".join(f'<div class="card"><b>{escape(a)}</b>{escape(b)}</div>' for a, b in cards)
    return f'<div class="cards">{items}</div>'


def _purity(report: Report) -> str:
    p = report.purity
    if p.mode == "off":
        return "<p>off: no effect is looked for</p>"
    if report.refusal is not None and not report.loops and report.fusion is None:
        return f"<p>{escape(p.mode)}</p>"
    found = "".join(f"<pre>{escape(text)}</pre>" for text in p.found)
    effects = plural(len(p.found), "effect") if p.found else "no effect"
    return f"<p>{escape(p.mode)}: traced twice, the same program; {effects} found</p>{found}"


def _fusion(report: Report) -> Iterable[str]:
    f = report.fusion
    if f is None:
        return
    count = sum(j.count for j in f.joined)
    yield f"<h2>Fusion: {plural(count, 'operation')}</h2>"
    rows = []
    for j in f.joined:
        name = f'<span class="kernel">{escape(names(j.kernels) or "no kernel")}</span>'
        for line, operations in j.rows:
            rows.append([name, *_line(line), escape(", ".join(operations))])
            name = ""
    yield _table(("kernel", "line", "", "operations"), rows)
    if f.boundaries:
        yield "<h3>Why kernels are not one</h3>"
        yield _table(
            ("made by", "read by", "why"),
            [
                [
                    _code(b.maker),
                    _code(b.reader),
                    escape(b.note.details or b.note.meaning) + _reason(b.note),
                ]
                for b in f.boundaries
            ],
        )
    yield from _notes(f.decisions)


def _notes(notes: Sequence[Note]) -> Iterable[str]:
    for n in notes:
        place = f"{_code(n.line.place)}: " if n.line is not None else ""
        details = f": {escape(n.details)}" if n.details else ""
        yield f"<p>{place}{escape(n.meaning)}{details}{_reason(n)}</p>"


def _kernels(report: Report) -> Iterable[str]:
    k = report.kernels
    if k is None:
        return
    yield "<h2>Kernels</h2>"
    timed = any(row.measured is not None for row in k.rows)
    head = ["kernel", "runs", "#read", "#written", "#flops", "#bound", "by"]
    rows = [_kernel(row, timed) for row in k.rows]
    yield _table((*head, *(("#measured", "share of the bound") if timed else ())), rows)
    if k.program is not None:
        time = escape(seconds(k.program))
        yield f"<p>a run of the whole program, started from Python: {time}</p>"
    if k.problem:
        yield f"<p>not measured: {escape(k.problem)}</p>"
    if k.machine:
        machine = escape(k.machine)
        yield f'<p class="dim">bounds: measured on this machine, {machine}</p>'


def _kernel(row: KernelRow, timed: bool) -> list[str]:
    more = "" if row.exact else "; what depends on data is counted in full"
    told = f'<span class="dim">{escape(row.schedule + more)}</span>'
    if row.choice:
        told += f'<br><span class="dim">{escape(row.choice)}</span>'
    cells = [f'<span class="kernel">{escape(row.name)}</span><br>{told}', escape(row.often)]
    cells += [nbytes(row.read), nbytes(row.written), escape(flops(row.flops, row.repeated))]
    cells += [escape(seconds(row.bound)), escape(row.limit)]
    if timed:
        width = min(row.share or 0.0, 1.0)
        bar = f'<span class="bar"><i style="width: {width:.0%}"></i></span> '
        cells += [escape(seconds(row.measured)), (bar if row.share else "") + percent(row.share)]
    return cells


def _memory(m: Memory) -> Iterable[str]:
    rows = [["arguments", nbytes(m.arguments), ""], ["results", nbytes(m.results), ""]]
    rows.append(["constants", nbytes(m.constants), ""])
    reused = max(m.requested - m.peak, 0)
    told = f"for {nbytes(m.requested)} of buffers: {nbytes(reused)} reused"
    rows.append(["arena", nbytes(m.peak), f"{told}, {nbytes(m.lower_bound)} alive at once"])
    if m.donated:
        rows.append(["donated", nbytes(m.donated), "results that lie in arguments"])
    yield _table(("", "#bytes", ""), rows)
    drawn = [b for b in m.buffers if b.place == "arena"]
    if drawn and m.peak:
        yield _arena(drawn[:MOST_DRAWN], m.peak)
        rows = [
            [_code(b.name), nbytes(b.nbytes), str(b.offset), f"{b.first}-{b.last}", escape(b.use)]
            for b in drawn
        ]
        yield _table(("buffer", "#bytes", "#offset", "steps", ""), rows)
    for words in m.in_place:
        yield f"<p>in place: {escape(words)}</p>"
    if not m.copies:
        yield "<p>no array is copied</p>"
    yield from _notes((*m.copies, *m.others))


def _arena(buffers: Sequence[BufferRow], peak: int) -> str:
    """The arena drawn: steps across, bytes down."""
    last = max(b.last for b in buffers)
    first = min(b.first for b in buffers)
    step, scale = ACROSS / (last - first + 1), DOWN / peak
    shapes = []
    for b in buffers:
        x, y = (b.first - first) * step, b.offset * scale
        width, height = (b.last - b.first + 1) * step, max(b.nbytes * scale, 1.0)
        title = f"{b.name}: {nbytes(b.nbytes)}, steps {b.first}-{b.last}, {b.use}"
        shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}">'
            f"<title>{escape(title)}</title></rect>"
        )
        if height > 14 and width > 40:
            shapes.append(f'<text x="{x + 5:.1f}" y="{y + 13:.1f}">{escape(b.name)}</text>')
    return (
        f'<svg viewBox="0 0 {ACROSS} {DOWN}" role="img" '
        f'aria-label="the arena: steps across, bytes down">{"".join(shapes)}</svg>'
        f'<p class="dim">the arena: steps {first} to {last} across, {nbytes(peak)} down</p>'
    )


def _cache(report: Report) -> Iterable[str]:
    c = report.cache
    if c is None:
        return
    yield "<h2>Cache</h2>"
    if c.process:
        yield "<p>compiled in this process: a call runs it</p>"
    elif c.compiled is not None:
        details = f": {escape(c.compiled.details)}" if c.compiled.details else ""
        why = escape(c.compiled.meaning)
        yield f"<p>a call would be {why}{details}{_reason(c.compiled)}</p>"
    if c.disk:
        yield f"<p>on the disk; compiling it took {escape(seconds(c.seconds))}</p>"
    elif c.note is not None:
        details = f": {escape(c.note.details)}" if c.note.details else ""
        yield f"<p>{escape(c.note.meaning)}{details}{_reason(c.note)}</p>"
    if c.nearest:
        rows = [[escape(name), _code(stored), _code(asked)] for name, stored, asked in c.nearest]
        yield _table(("differs from the nearest entry in", "stored", "asked"), rows)
    yield f'<p class="dim">key {_code(c.key[:16])}</p>'


# --- pieces ---------------------------------------------------------------------------------------


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML; a heading that begins with `#` is one of numbers."""
    kinds = [' class="number"' if name.startswith("#") else "" for name in head]
    top = "".join(
        f"<th{kind}>{escape(name.lstrip('#'))}</th>" for name, kind in zip(head, kinds, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table>\n<tr>{top}</tr>\n{body}\n</table></div>'


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>" if text else ""


def _line(line: Line) -> list[str]:
    return [f'<span class="place">{escape(line.place)}</span>', _code(line.text)]


def _reason(note: Note | None) -> str:
    if note is None:
        return ""
    return f' <span class="dim" title="{escape(note.remedy)}">[{note.code}]</span>'
