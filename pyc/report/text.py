"""A report as text for a terminal: a heading for each section, tables, one line a fact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyc.report.sections import Line, Note
from pyc.report.words import by_schedule, flops, names, nbytes, percent, plural, seconds, table

if TYPE_CHECKING:
    from pyc.report import Report

MOST_LINES = 12
"""Lines of long tables that are shown."""


def text(report: Report) -> str:
    """The whole report, ending in a newline."""
    lines: list[str] = []
    for title, body in sections(report):
        lines += ["", title, *body] if lines else [title, *body]
    return "\n".join(lines) + "\n"


def sections(report: Report) -> Iterator[tuple[str, list[str]]]:
    """Headings and what stands under them."""
    s = report.signature
    where = "" if s is None else f" on {s.device} ({s.target})" if s.target else f" on {s.device}"
    yield f"explain {report.function if s is None else s.text}{where}", []
    if report.refusal is not None:
        r = report.refusal
        shown = [f"  {line}".rstrip() for line in f"{r.error}: {r.shown}".splitlines()]
        yield f"refused {r.stage}: a call raises", shown
    if s is not None:
        yield "signature", _signature(report)
    yield "purity", _purity(report)
    if report.fusion is None and report.refusal is not None and not report.loops:
        yield from _notes(report)
        return
    rows = [_where(row.line, row.became + _code(row.note)) for row in report.loops]
    details = [row.note.details for row in report.loops if row.note and row.note.details]
    yield "loops and branches", [*table(rows), *_indented(details)] or ["  none"]
    promoted = [
        _where(p.line, f"{p.before} -> {p.after} for {p.operation}") for p in report.promotions
    ]
    yield "promotions to wider types", table(promoted) or ["  none"]
    if report.fusion is not None:
        yield _fusion_title(report), _fusion(report)
    if report.kernels is not None:
        yield "kernels", _kernels(report)
    if report.memory is not None:
        yield "memory", _memory(report)
    if report.cache is not None:
        yield "cache", _cache(report)
    yield from _notes(report)


def _some(lines: list[str], indent: str, most: int = MOST_LINES) -> list[str]:
    """The first of many lines, and how many there are more."""
    if len(lines) <= most + 1:
        return lines
    return [*lines[:most], f"{indent}... and {len(lines) - most:,} more, all in `.html()`"]


def _where(line: Line, *rest: str) -> list[str]:
    return [line.place, line.text, *rest]


def _code(note: Note | None) -> str:
    return "" if note is None else f" [{note.code}]"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _signature(report: Report) -> list[str]:
    s = report.signature
    assert s is not None
    rows = [[a.name, a.type, f"{a.kind}: {a.note}" if a.note else a.kind] for a in s.arguments]
    rows += [[a.name, a.type, f"{a.kind}: {a.note}" if a.note else a.kind] for a in s.captured]
    rows += [[name, kind, "result"] for name, kind in s.results]
    lines = table(rows) or ["  no arguments"]
    if s.guards:
        lines += ["  looked at before each call:", *_indented(s.guards)]
    return lines


def _purity(report: Report) -> list[str]:
    p = report.purity
    if p.mode == "off":
        return ["  off: no effect is looked for"]
    if report.refusal is not None and report.refusal.stage == "while it is traced":
        return [f"  {p.mode}: the function could not be traced to its end"]
    if report.refusal is not None and report.signature is None:
        return [f"  {p.mode}: not looked at"]
    lines = [
        f"  {p.mode}: traced twice, the same program; "
        + (f"{plural(len(p.found), 'effect')} found" if p.found else "no effect found")
    ]
    for found in p.found:
        lines += _indented(found.splitlines())
    return lines


def _fusion_title(report: Report) -> str:
    assert report.fusion is not None
    operations = sum(j.count for j in report.fusion.joined)
    kernels = len(report.kernels.rows) if report.kernels is not None else 0
    return f"fusion: {plural(operations, 'operation')} in {plural(kernels, 'kernel')}"


def _fusion(report: Report) -> list[str]:
    f = report.fusion
    assert f is not None
    lines = []
    rows = [
        [line.place or "-", line.text, ", ".join(operations)]
        for j in f.joined
        for line, operations in j.rows
    ]
    laid = iter(table(rows, "    "))
    for j in f.joined:
        lines.append(f"  {names(j.kernels) or 'no kernel'}")
        lines += [next(laid) for _ in j.rows]
    if f.boundaries:
        lines.append("  not one kernel:")
        told = [
            f"    {b.maker} | {b.reader}: {b.note.details or b.note.meaning} [{b.note.code}]"
            for b in f.boundaries
        ]
        lines += _some(told, "    ")
    lines += _described(f.decisions, "  ")
    return lines


def _described(notes: Sequence[Note], indent: str) -> list[str]:
    lines = []
    for n in notes:
        place = f"{n.line.place}: " if n.line is not None else ""
        details = f": {n.details}" if n.details else ""
        lines.append(f"{indent}{place}{n.meaning} [{n.code}]{details}")
    return lines


def _kernels(report: Report) -> list[str]:
    k = report.kernels
    assert k is not None
    timed = any(row.measured is not None for row in k.rows)
    head = ["kernel", "runs", "read", "written", "flops", "bound", "by"]
    rows = [head + (["measured", "share"] if timed else [])]
    for row in k.rows:
        cells = [row.name, row.often, nbytes(row.read), nbytes(row.written)]
        cells += [flops(row.flops, row.repeated), seconds(row.bound), row.limit]
        if timed:
            cells += [seconds(row.measured), percent(row.share)]
        rows.append(cells)
    lines = _some(table(rows), "  ", 2 * MOST_LINES) if k.rows else ["  none"]
    for name, schedule, choice in by_schedule(k.rows):
        lines.append(f"  {name}: {schedule}")
        if choice:
            lines.append(f"    {choice}")
    if k.program is not None:
        lines.append(f"  a run of the whole program, started from Python: {seconds(k.program)}")
    if k.problem:
        lines.append(f"  not measured: {k.problem}")
    if k.machine:
        lines.append(f"  bounds: measured on this machine, {k.machine}")
    return lines


def _memory(report: Report) -> list[str]:
    m = report.memory
    assert m is not None
    reused = max(m.requested - m.peak, 0)
    lines = table(
        [
            ["arguments", nbytes(m.arguments)],
            ["results", nbytes(m.results)],
            ["constants", nbytes(m.constants)],
            [
                "arena",
                nbytes(m.peak),
                f"for {nbytes(m.requested)} of buffers: {nbytes(reused)} "
                f"reused, {nbytes(m.lower_bound)} alive at once",
            ],
            ["donated", nbytes(m.donated), "results that lie in arguments"],
        ][: 5 if m.donated else 4]
    )
    rows = [
        [b.name, nbytes(b.nbytes), f"{b.place} {b.offset}", f"steps {b.first}-{b.last}", b.use]
        for b in m.buffers
        if b.place == "arena"
    ]
    if rows:
        lines += ["  arena, byte by byte:", *_some(table(rows, "    "), "    ")]
    lines += [f"  in place: {words}" for words in m.in_place]
    if m.copies:
        lines += ["  copied:", *_described(m.copies, "    ")]
    else:
        lines.append("  no array is copied")
    return lines + _described(m.others, "  ")


def _cache(report: Report) -> list[str]:
    c = report.cache
    assert c is not None
    lines = []
    if c.process:
        lines.append("  compiled in this process: a call runs it")
    elif c.compiled is not None:
        why = c.compiled
        details = f": {why.details}" if why.details else ""
        lines.append(f"  a call would be {why.meaning} [{why.code}]{details}")
    if c.disk:
        lines.append(f"  on the disk; compiling it took {seconds(c.seconds)}")
    elif c.note is not None:
        details = f": {c.note.details}" if c.note.details else ""
        lines.append(f"  {c.note.meaning} [{c.note.code}]{details}")
        if c.nearest:
            lines.append(f"  the nearest entry took {seconds(c.seconds)}; it differs in")
            lines += table(
                [[f"{name}:", f"stored {a}, asked {b}"] for name, a, b in c.nearest], "    "
            )
    lines.append(f"  key {c.key[:16]}")
    return lines


def _notes(report: Report) -> Iterator[tuple[str, list[str]]]:
    lines = []
    for n in report.notes:
        lines += _described([n], "  ")
        if not n.remedy.startswith("Nothing"):
            lines.append(f"    {n.remedy}")
    if lines:
        yield "reasons", lines
