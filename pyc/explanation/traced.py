"""What the trace of a function tells: its loops and branches, and values that became wider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyc.explanation.fusion import Owners
from pyc.explanation.places import line_at, line_of, note_of
from pyc.ir.dtype import DType
from pyc.ir.graph import Eqn, Graph, Value, subgraphs
from pyc.ir.op import Kind
from pyc.passes.loop_forms import counted
from pyc.reasons import Event, Reason
from pyc.report.sections import LoopRow, Promotion
from pyc.report.words import plural

LOOPS = (
    *(Reason.LOOP_SHORT, Reason.LOOP_IN_PYTHON, Reason.LOOP_UNROLLED),
    *(Reason.LOOP_NO_SOURCE, Reason.LOOP_NOT_REWRITTEN),
)
"""Reasons for which loops are straight code."""

# --- loops ----------------------------------------------------------------------------------------


def loop_rows(graph: Graph, events: Sequence[Event], owners: Owners | None) -> tuple[LoopRow, ...]:
    """The loops and branches of a traced Graph, and those that became straight code, in the order
    of the user's lines. owners: of the optimised program, None if there is none."""
    found: dict[tuple[Any, ...], LoopRow] = {}
    rolled = {
        (e.details.get("file"), e.details["line"]): e
        for e in events
        if e.reason is Reason.LOOP_ROLLED_FOR_SIZE
    }
    for eqn, known in _controls(graph, {}):
        line = line_of(eqn.loc)
        place = (eqn.loc.file, eqn.loc.line) if eqn.loc is not None else ("", 0)
        event = rolled.get(place)
        note = None if event is None else note_of(event.reason)
        words = _became(eqn, known, owners)
        found.setdefault((*place, words), LoopRow(line, words, note))
    straight: dict[tuple[Any, ...], list[Event]] = {}
    for e in events:
        if e.reason in LOOPS:
            key = (e.details.get("file", ""), e.details.get("line", 0), e.reason, _name(e))
            straight.setdefault(key, []).append(e)
    for (file, number, reason, name), same in straight.items():
        details = str(same[0].details.get("detail", ""))
        line = line_at(file, number)
        if not number:
            line = line_of(None)
            details = f"`{name}`: {details}"
        words = f"straight code{_times(same)}"
        found[file, number, reason, name] = LoopRow(line, words, note_of(reason, details))
    return tuple(row for _, row in sorted(found.items(), key=lambda item: item[0][:2]))


def _name(event: Event) -> str:
    return str(event.details.get("function", ""))


def _times(events: Sequence[Event]) -> str:
    counts = sorted({e.details["iterations"] for e in events if "iterations" in e.details})
    if not counts:
        return ""
    often = f", {len(events)} times" if len(events) > 1 else ""
    span = (
        plural(counts[0], "iteration")
        if len(counts) == 1
        else (f"{counts[0]} to {counts[-1]} iterations")
    )
    return f", {span}{often}"


def _controls(graph: Graph, known: Mapping[Value, Any]) -> Iterator[tuple[Eqn, dict[Value, Any]]]:
    """Control operations, those inside of others too, with the constants around."""
    constants = dict(known)
    for e in graph.eqns:
        if e.op.name == "constant" and e.params["value"].size == 1:
            constants[e.out] = e.params["value"].reshape(-1)[0]
        if e.op.kind is Kind.CONTROL:
            yield e, constants
        for inner in subgraphs(e):
            yield from _controls(inner, {})


def iterations_of(eqn: Eqn, known: Mapping[Value, Any]) -> int | None:
    """How often a loop goes round; None if that depends on data."""
    if eqn.op.name == "scan":
        return int(eqn.params["length"])
    found = counted(eqn, known) if eqn.op.name == "while" else None
    return None if found is None else found.times


def _became(eqn: Eqn, known: Mapping[Value, Any], owners: Owners | None) -> str:
    """What a control operation became, in words."""
    if eqn.op.name == "cond":
        return "a branch: one side is computed"
    count = iterations_of(eqn, known)
    length = "as often as data say" if count is None else plural(count, "iteration")
    number = None if owners is None else owners.of_equation(eqn)
    if owners is None or number is None:
        return f"a loop of the program, {length}"
    if owners.is_plan_loop(number):
        return f"a loop of the program over whole arrays, {length}"
    return f"a loop within {' + '.join(owners.kernels(number)) or 'a kernel'}, {length}"


# --- promotions -----------------------------------------------------------------------------------


def promotions(graph: Graph) -> tuple[Promotion, ...]:
    """Values that an operation made wider to meet its other operands, or to compute in: casts that
    stand where what reads them stands. What the user converts has a place of its own."""
    found: dict[Promotion, None] = {}
    for eqns in _bodies(graph):
        readers: dict[Value, list[Eqn]] = {}
        for e in eqns:
            for a in e.args:
                readers.setdefault(a, []).append(e)
        for e in eqns:
            if e.op.name != "cast" or e.loc is None or not _is_wider(e.args[0].dtype, e.out.dtype):
                continue
            reader = _reader(e.out, e, readers)
            if reader is not None:
                before, after = str(e.args[0].type), str(e.out.type)
                found[Promotion(line_of(e.loc), before, after, reader.op.name)] = None
    return tuple(found)


def _bodies(graph: Graph) -> Iterator[Sequence[Eqn]]:
    yield graph.eqns
    for e in graph.eqns:
        for inner in subgraphs(e):
            yield from _bodies(inner)


def _reader(value: Value, cast: Eqn, readers: Mapping[Value, list[Eqn]]) -> Eqn | None:
    """What computes with a cast value at the same place in the user's code."""
    for e in readers.get(value, ()):
        if e.loc != cast.loc:
            continue
        if e.op.kind is not Kind.INDEX:
            return e
        found = _reader(e.out, cast, readers)
        if found is not None:
            return found
    return None


def _is_wider(before: DType, after: DType) -> bool:
    """Whether elements take more bytes, and computing with them more time."""
    return before.itemsize < after.itemsize and before.kind != "bool"
