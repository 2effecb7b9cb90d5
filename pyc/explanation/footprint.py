"""Which elements of a buffer a kernel's accesses touch: sets of addresses, and their union.

An access is an index over loop variables. Some of these have a value at each *point* that the count
keeps (`counts.py`): those that decide how often something runs, or that stand in an index under a
division or a clamp. Over all other variables an address is linear, so that it reaches runs of
neighbours, which are found without looking at each element. What depends on data reaches any
element within the bounds of its expression, and at most one for each time that it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Apply, Const, Expr, Load, Shuffle, Var, const, postorder
from pyc.ir.integer_range import Range, full_range, range_of
from pyc.ir.loops import Buffer

Array = np.ndarray[Any, Any]
MOST_RUNS = 1 << 17
"""Runs of neighbours that are kept apart; of more, those of one repetition stand for all."""


@frozen(eq=False)
class Runs:
    """Elements [start, start + length) of a buffer; and the same again, so many elements further,
    for each (step, times) of repeats."""

    starts: Array
    lengths: Array
    repeats: tuple[tuple[int, int], ...] = ()


@frozen(eq=False)
class Somewhere:
    """At most `most` elements, it is not known which, within [low, high]."""

    low: int
    high: int
    most: int


def size_of(buffer: Buffer) -> int:
    """The elements of a buffer of constant extents."""
    return int(np.prod([d for d in buffer.shape if isinstance(d, int)], dtype=np.int64))


def address(buffer: Buffer, index: Sequence[Expr]) -> Expr:
    """The place of an element among all of its buffer."""
    total: Expr = const(0)
    steps = buffer.strides or _row_major(buffer)
    for e, step in zip(index, steps, strict=True):
        total = total + e * step
    return total


def _row_major(buffer: Buffer) -> tuple[int, ...]:
    steps, step = [], 1
    for extent in reversed(buffer.shape):
        steps.append(step)
        step *= extent if isinstance(extent, int) else 1
    return tuple(reversed(steps))


def linear(e: Expr) -> tuple[dict[Var, int], list[Expr]] | None:
    """The factors of variables in `e`, and what else is added; None if it is not of that form, as
    it holds a variable under something else than sums and constant factors."""
    factors: dict[Var, int] = {}
    rest: list[Expr] = []
    stack: list[tuple[Expr, int]] = [(e, 1)]
    while stack:
        node, factor = stack.pop()
        if isinstance(node, Var):
            factors[node] = factors.get(node, 0) + factor
        elif isinstance(node, Apply) and node.name in ("add", "sub"):
            sign = 1 if node.name == "add" else -1
            stack += [(node.args[0], factor), (node.args[1], sign * factor)]
        elif isinstance(node, Apply) and node.name == "neg":
            stack.append((node.args[0], -factor))
        elif isinstance(node, Apply) and node.name == "mul":
            left, right = node.args
            if isinstance(left, Const):
                left, right = right, left
            if isinstance(right, Const):
                stack.append((left, factor * int(right.value)))
            else:
                rest.append(node)
        elif not isinstance(node, Const):
            rest.append(node)
    return factors, rest


def bent(e: Expr) -> set[Var]:
    """The variables over which an index is not linear."""
    found = linear(e)
    assert found is not None
    return {n for n in postorder(found[1]) if isinstance(n, Var)}


def touched(
    place: Expr,
    points: Mapping[Var, Array],
    extents: Mapping[Var, Array],
    executions: int,
) -> Runs | Somewhere:
    """The addresses that `place` gives. points: the values of some variables, point by point;
    extents: those of the others, at each point; executions: how often it is evaluated at most."""
    found = linear(place)
    assert found is not None
    factors, rest = found
    known = all(
        not isinstance(n, (Load, Shuffle)) and (not isinstance(n, Var) or n in points)
        for n in postorder(rest)
    )
    free = [v for v in factors if v not in points]
    if not known or any(v not in extents for v in free):
        bounds = _bounds(place, points, extents)
        most = min(executions, bounds.high - bounds.low + 1)
        return Somewhere(bounds.low, bounds.high, most)
    zeros = {v: np.zeros(1, v.dtype.numpy) for v in free}
    (base,) = evaluate([place], {**points, **zeros})
    count = max((len(x) for x in (*points.values(), *extents.values())), default=1)
    starts = np.broadcast_to(base.reshape(-1), (count,)).astype(np.int64)
    lengths = np.ones(count, np.int64)
    alive = np.ones(count, bool)
    dims = []
    for v in free:
        extent = np.broadcast_to(extents[v], (count,))
        alive &= extent > 0
        dims.append((abs(factors[v]), factors[v], extent))
    starts, lengths = starts[alive], lengths[alive]
    repeats: list[tuple[int, int]] = []
    for step, factor, extent in sorted(dims, key=lambda dim: dim[0]):
        span = step * (extent[alive] - 1)
        if factor < 0:
            starts = starts - np.resize(span, starts.shape)
        if step == 0:
            continue
        # Each point may have become several runs: they come in whole rounds of the points.
        rounds = len(starts) // max(len(span), 1)
        spans = np.tile(span, rounds)
        most = int(extent[alive].max(initial=1))
        if np.all(step <= lengths):
            lengths = lengths + spans
            continue
        if len(starts) * most > MOST_RUNS:
            repeats.append((step, most))
            continue
        times = np.arange(most)[:, None]
        # Where points have different extents, an empty run stands for what is not there.
        there = np.tile(extent[alive], rounds) > times
        lengths = np.where(there, lengths, 0).reshape(-1)
        starts = (starts + step * times).reshape(-1)
    return Runs(starts, lengths, tuple(repeats))


def _bounds(place: Expr, points: Mapping[Var, Array], extents: Mapping[Var, Array]) -> Range:
    """The least and the greatest value of an index."""
    found: dict[int, Range] = {}
    for node in postorder([place]):
        if isinstance(node, Var) and node in points:
            values = points[node]
            low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
            found[id(node)] = Range(low, high)
        elif isinstance(node, Var) and node in extents:
            found[id(node)] = Range(0, max(int(extents[node].max(initial=1)) - 1, 0))
        elif isinstance(node, Load):
            found[id(node)] = full_range(node.dtype)
        else:
            found[id(node)] = range_of(node, [found[id(c)] for c in node.operands])
    return found[id(place)]


def elements(sets: Sequence[Runs | Somewhere], size: int) -> int:
    """How many of a buffer's `size` elements are in one of the sets; at most, where it is not known
    which they are."""
    total = 0
    alike: dict[tuple[tuple[int, int], ...], list[Runs]] = {}
    for s in sets:
        if isinstance(s, Runs):
            alike.setdefault(s.repeats, []).append(s)
    for repeats, runs in alike.items():
        total += prod(times for _, times in repeats) * _covered(runs, size)
    for s in sets:
        if isinstance(s, Somewhere):
            within = min(s.high, size - 1) - max(s.low, 0) + 1
            total += max(min(s.most, within), 0)
    return min(total, size)


def _covered(runs: Sequence[Runs], size: int) -> int:
    """The elements of a buffer that some runs cover, without their repetitions."""
    starts = np.concatenate([r.starts for r in runs])
    ends = np.minimum(starts + np.concatenate([r.lengths for r in runs]), size)
    starts = np.maximum(starts, 0)
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    # A run counts from where all that began before it has ended.
    reached = np.maximum.accumulate(np.concatenate([[0], ends[:-1]]))
    return int(np.maximum(ends - np.maximum(starts, reached), 0).sum())
