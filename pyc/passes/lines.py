"""Lines: what a loop needs at several neighbouring positions is computed once, in a buffer.

A value that is inlined where it is read may be read at several places of one line: a blur down and
then across computes five sums of a column for each element, four of which its neighbours compute
too. Takes a loop that walks memory and the statements under it; finds expressions that are the same
but for a shift along the loop, and returns a loop that stores one of them for a line of positions,
and the statements with loads of that line. Shifts are found in flat addresses, so that any chain of
operations may stand between. The line stays in the first cache.
"""

from __future__ import annotations

from math import prod
from typing import Any

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.expr import Apply, Const, Expr, Load, Var, postorder
from pyc.ir.loops import Body, Buffer, Let, Space, Store
from pyc.ir.visit import Rewriter
from pyc.passes.nest import Loop, Nest, reads_elsewhere, roots

GAIN = 8
"""Instructions and loads per element that a line must save: it costs a loop, and a store that is
loaded again soon."""
NEAR_GAIN = 6
"""The same where all arrays are NEAR and a loop is not short: there a loop waits for its loads,
most of which cross a line of the caches (sums of 3 by 3 elements: 6 loads for 9, up to 1.7 times as
fast; from memory, which brings less while a line is read again, 0.93)."""
NEAR = 1 << 24
"""Bytes of arrays that may lie in the caches."""
NOT_SHORT = 512
"""Bytes of a loop's elements from which the second loop costs little."""
WINDOW = 32
"""The largest distance between shifts: so many elements are computed beyond the loop's."""
LINE_BYTES = 2048
"""Bytes of a line: so few instructions that those which fill the next one begin beside those that
read this one."""
SHORTEST = 2 * WINDOW
"""Positions of a loop from which it may have lines."""
MOST_NODES = 1000
"""Expressions under a loop beyond which they are not compared."""


@frozen(eq=False)
class Line:
    """fill stores the elements of `buffer`, over the variable of `loop`; core: the statements that
    load them. extra: elements beyond those of the loop that reads the line."""

    buffer: Buffer
    extra: int
    loop: Loop
    fill: Body
    core: Body


@frozen(eq=False)
class _Place:
    """kind: the number of all expressions that are equal but for a shift; shift: None where the
    loop does not move it."""

    kind: int
    shift: int | None


def may_have_lines(loop: Loop, core: Body) -> bool:
    """Whether a loop is long, and statements only bind and store, and what they load from where
    they store is at the same place: a line, of several places, is not made of that."""
    if loop.extent < SHORTEST:
        return False
    plain = all(isinstance(s, (Let, Store)) for s in core)
    stored = [s.buffer for s in core if isinstance(s, Store)]
    return plain and not reads_elsewhere(core) and not any(b.may_alias for b in stored)


def shared_line(nest: Nest, loop: Loop, core: Body, name: str) -> Line | None:
    """The line that saves most; None where none is worth it. loop: over positions that all are
    taken."""
    nodes = postorder(roots(core))
    if len(nodes) > MOST_NODES:
        return None
    places = _places(nest, loop.var, core, nodes)
    kinds: dict[int, dict[int, list[Expr]]] = {}
    for e in nodes:
        place = places.get(id(e))
        if isinstance(e, Apply) and place is not None and place.shift is not None:
            kinds.setdefault(place.kind, {}).setdefault(place.shift, []).append(e)
    least = NEAR_GAIN if _is_near(nest, loop, core) else GAIN
    best: tuple[int, list[int], dict[int, list[Expr]]] | None = None
    for found in kinds.values():
        shifts = _neighbours(sorted(found), WINDOW)
        if len(shifts) < 2 or found[shifts[0]][0].dtype in (dt.b1, dt.i64):
            continue
        once = _computed([found[shifts[0]][0]], places)
        gain = _computed([found[s][0] for s in shifts], places) - once - len(shifts) - 1
        if gain >= least and (best is None or gain > best[0]):
            best = gain, shifts, found
    if best is None:
        return None
    _, shifts, found = best
    first = found[shifts[0]][0]
    extra = shifts[-1] - shifts[0]
    length = loop.extent + extra
    buffer = Buffer(name, first.dtype, (length,), Space.STACK, alignment=64)
    rewriter = Rewriter()
    for shift in shifts:
        load = Load(buffer, (nest.simplify(loop.var + (shift - shifts[0])),))
        rewriter._done.update((e, load) for e in found[shift])
    along = Loop(nest.simplify.variable("line", length), length)
    moved = Rewriter(
        variables={loop.var: along.var}, index=lambda _, at: tuple(map(nest.simplify, at))
    )
    fill = Store(buffer, (along.var,), moved.expr(first))
    return Line(buffer, extra, along, (fill,), rewriter.body(core))


def _is_near(nest: Nest, loop: Loop, core: Body) -> bool:
    """Whether arrays come from the caches, and the loop is not short."""
    arrays = {b for b, _ in nest.accesses(core) if b.space is Space.GLOBAL}
    known = [b for b in arrays if all(isinstance(n, int) for n in b.shape)]
    bytes_of_all = sum(
        prod(n for n in b.shape if isinstance(n, int)) * b.dtype.itemsize for b in known
    )
    row = loop.extent * min((b.dtype.itemsize for b in known), default=0)
    return len(known) == len(arrays) and bytes_of_all <= NEAR and row >= NOT_SHORT


def _places(nest: Nest, var: Var, core: Body, nodes: list[Expr]) -> dict[int, _Place]:
    """Where expressions stand along a loop, by identity; those that cannot move are not there."""
    bound = {s.var for s in core if isinstance(s, Let)} | {var}
    places: dict[int, _Place] = {}
    numbers: dict[tuple[Any, ...], int] = {}
    for e in nodes:
        key: tuple[Any, ...]
        shift: int | None = None
        if isinstance(e, Const):
            key = ("const", e.dtype, e.value.tobytes())
        elif isinstance(e, Var) and e not in bound:
            key = ("var", id(e))
        elif isinstance(e, Load) and len(e.index) == 1:
            form = nest.simplify.linear(e.index[0])
            factor = nest.factor(var, e.index[0])
            if factor not in (0, 1) or any(x in bound - {var} for x in postorder(e.index)):
                continue
            shift = form.constant if factor else None
            fixed = 0 if factor else form.constant
            key = ("load", e.buffer, fixed, *((id(atom), f) for atom, f in form.terms))
        elif isinstance(e, Apply) and all(id(a) in places for a in e.args):
            args = [places[id(a)] for a in e.args]
            shift = next((a.shift for a in args if a.shift is not None), None)
            apart = [(a.kind, None if a.shift is None else a.shift - (shift or 0)) for a in args]
            key = ("apply", e.name, e.dtype, *apart)
        else:
            continue
        places[id(e)] = _Place(numbers.setdefault(key, len(numbers)), shift)
    return places


def _neighbours(shifts: list[int], window: int) -> list[int]:
    """The most of some shifts, in order, that are no further apart than the window."""
    groups = [[s for s in shifts if a <= s <= a + window] for a in shifts]
    return max(groups, key=len)


def _computed(expressions: list[Expr], places: dict[int, _Place]) -> int:
    """Instructions and loads that expressions take for each position, each counted once."""
    seen: set[tuple[int, int | None]] = set()
    count = 0
    stack = list(expressions)
    while stack:
        e = stack.pop()
        place = places[id(e)]
        key = place.kind, place.shift
        if place.shift is None or key in seen:
            continue
        seen.add(key)
        count += 1
        if not isinstance(e, Load):
            stack.extend(e.operands)
    return count
