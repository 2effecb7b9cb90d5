"""Axes of few elements spelled out where a sum would store what all of them share.

A sum over some axes that keeps an axis of two to four elements (the coordinates of points), and
whose terms multiply or add a costly value that is the same for all of them (a distance, a weight),
becomes one sum for each element of that axis. All of them read the costly value at the same index:
it is computed once, for the row programs that `fuse` makes of it, and not stored for a kernel of
its own. Sums of such few elements that it is made of are spelled out too.

The terms of each sum, and so its order and its bits, are as before.
"""

from __future__ import annotations

from math import prod

from pyc.ir import dtype as dt
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value
from pyc.ir.op import Kind
from pyc.passes.stored import REPEAT_LIMIT
from pyc.passes.work import cost

MOST = 4
"""Elements of an axis that is spelled out."""
SHORTEST, LONGEST = 16, 1 << 14
"""Terms of the sums: fewer are straight code, of more the costly values leave the caches."""
LARGEST = 128
"""Equations of the terms, at most."""

Values = tuple[Value, ...]


class _Terms:
    """Values with an axis less: what they are at one place of it."""

    def __init__(self, builder: Builder, eqn: Eqn) -> None:
        self.builder = builder
        self.loc = eqn.loc
        self.known: dict[tuple[Value, int, int], Value] = {}

    def at(self, value: Value, axis: int, place: int) -> Value:
        """`value` at a place of an axis, which it then lacks."""
        key = (value, axis, place)
        if key not in self.known:
            self.known[key] = self._made(value, axis, place)
        return self.known[key]

    def _made(self, value: Value, axis: int, place: int) -> Value:
        eqn = self.builder.producer[value]
        shape = _without(value.shape, axis)
        if eqn is not None and eqn.op.kind is Kind.POINTWISE:
            args = tuple(self.at(a, axis, place) for a in eqn.args)
            return self.builder.bind1(eqn.op, *args, loc=eqn.loc, **eqn.params)
        if eqn is not None and eqn.op.name == "broadcast":
            return self._spread(self._operand(eqn.args[0], value, axis, place), shape)
        if eqn is not None and eqn.op.name == "reshape":
            own = _same_axis(eqn.args[0].shape, value.shape, axis)
            if own is not None:
                return self._shaped(self.at(eqn.args[0], own, place), shape)
        ends = [(place, 1) if k == axis else (0, n) for k, n in enumerate(value.shape)]
        start, size = zip(*ends, strict=True)
        part = self.builder.bind1(
            "slice", value, loc=self.loc, start=start, size=size, step=(1,) * len(start)
        )
        return self._shaped(part, shape)

    def _operand(self, operand: Value, spread: Value, axis: int, place: int) -> Value:
        """What a broadcast spreads, at a place of an axis of its result."""
        own = axis - (len(spread.shape) - len(operand.shape))
        if own < 0:
            return operand
        if operand.shape[own] == 1 != spread.shape[axis]:
            return self._shaped(operand, _without(operand.shape, own))
        return self.at(operand, own, place)

    def whole(self, value: Value) -> Value:
        """`value` with the sums of few elements among its equations spelled out."""
        key = (value, -1, -1)
        if key not in self.known:
            self.known[key] = self._whole(value)
        return self.known[key]

    def _whole(self, value: Value) -> Value:
        eqn = self.builder.producer[value]
        if eqn is None:
            return value
        if _is_short_sum(eqn):
            (operand,) = eqn.args
            (axis,) = eqn.params["axes"]
            terms = [self.at(operand, axis, k) for k in range(operand.shape[axis])]
            return self._sum(terms, eqn)
        if eqn.op.kind is not Kind.POINTWISE and eqn.op.name not in ("broadcast", "reshape"):
            return value
        args = tuple(self.whole(a) for a in eqn.args)
        if all(a is b for a, b in zip(args, eqn.args, strict=True)):
            return value
        return self.builder.bind1(eqn.op, *args, loc=eqn.loc, **eqn.params)

    def _sum(self, terms: list[Value], eqn: Eqn) -> Value:
        """The terms in the documented order: what is half of them apart meets first."""
        width = 1 << (len(terms) - 1).bit_length()
        while width > 1:
            width //= 2
            for k in range(max(len(terms) - width, 0)):
                terms[k] = self.builder.bind1("add", terms[k], terms[k + width], loc=eqn.loc)
            terms = terms[:width]
        return terms[0]

    def _shaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        if value.shape == shape:
            return value
        eqn = self.builder.producer[value]
        if eqn is not None and eqn.op.name == "reshape":
            return self._shaped(eqn.args[0], shape)
        return self.builder.bind1("reshape", value, loc=self.loc, shape=shape)

    def _spread(self, value: Value, shape: tuple[int, ...]) -> Value:
        if value.shape == shape:
            return value
        if prod(value.shape) == prod(shape):
            return self._shaped(value, shape)
        return self.builder.bind1("broadcast", value, loc=self.loc, shape=shape)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _same_axis(source: tuple[int, ...], target: tuple[int, ...], axis: int) -> int | None:
    """The axis of a reshape's operand that is an axis of its result, of which others than those of
    one element are none."""
    if target[axis] == 1 or [n for n in source if n != 1] != [n for n in target if n != 1]:
        return None
    number = sum(n != 1 for n in target[:axis])
    return [k for k, n in enumerate(source) if n != 1][number]


def _is_short_sum(eqn: Eqn) -> bool:
    if not _is_sum(eqn) or len(eqn.params["axes"]) != 1:
        return False
    (axis,) = eqn.params["axes"]
    return bool(1 < eqn.args[0].shape[axis] <= MOST)


def _is_sum(eqn: Eqn) -> bool:
    """Whether an equation is a sum whose accumulators are of the type of its terms."""
    return eqn.op.name == "reduce_sum" and eqn.out.dtype in (dt.f32, dt.f64)


def _spell(builder: Builder, eqn: Eqn, args: Values) -> Values | None:
    if not _is_sum(eqn):
        return None
    (operand,) = args
    axes = eqn.params["axes"]
    if not SHORTEST <= prod(operand.shape[a] for a in axes) <= LONGEST:
        return None
    kept = [a for a in range(len(operand.shape)) if a not in axes]
    spelled = [a for a in kept if 1 < operand.shape[a] <= MOST and _shares(builder, operand, a)]
    if not spelled:
        return None
    axis, terms = spelled[0], _Terms(builder, eqn)
    inner = tuple(a - (a > axis) for a in axes)
    place = kept.index(axis)
    shape = (*eqn.out.shape[:place], 1, *eqn.out.shape[place + 1 :])
    parts = []
    for k in range(operand.shape[axis]):
        one = terms.whole(terms.at(operand, axis, k))
        (total,) = builder.bind(eqn.op, one, loc=eqn.loc, axes=inner)
        (part,) = builder.bind("reshape", total, loc=eqn.loc, shape=shape)
        parts.append(part)
    return builder.bind("concatenate", *parts, loc=eqn.loc, axis=place)


def _shares(builder: Builder, operand: Value, axis: int) -> bool:
    """Whether the terms of a sum have a costly value in common along an axis, which varies along
    all others."""
    extent = operand.shape[axis]
    stack, seen = [(operand, axis)], {operand}
    while stack and len(seen) <= LARGEST:
        value, own = stack.pop()
        eqn = builder.producer[value]
        if eqn is None:
            continue
        if eqn.op.kind is Kind.POINTWISE:
            reads = [(a, own) for a in eqn.args]
        elif eqn.op.name == "broadcast":
            (source,) = eqn.args
            place = own - (len(value.shape) - len(source.shape))
            if place < 0 or source.shape[place] == 1:
                full = prod(source.shape) * extent == prod(operand.shape)
                if full and _work(builder, source) * (extent - 1) > REPEAT_LIMIT:
                    return True
                continue
            reads = [(source, place)]
        else:
            continue
        stack += [r for r in reads if r[0] not in seen]
        seen.update(a for a, _ in reads)
    return False


def _work(builder: Builder, value: Value) -> int:
    """Instructions of an element of a value from what is no pointwise or index equation, or a sum
    of few elements; 0 where it takes more equations than are worth looking at."""
    stack, seen, found = [value], {value}, 0
    while stack:
        eqn = builder.producer[stack.pop()]
        if eqn is None:
            continue
        times = 1
        if _is_short_sum(eqn):
            times = eqn.args[0].shape[eqn.params["axes"][0]]
        elif eqn.op.kind not in (Kind.POINTWISE, Kind.INDEX):
            continue
        found += cost(eqn) * times
        stack += [a for a in dict.fromkeys(eqn.args) if a not in seen]
        seen.update(eqn.args)
        if len(seen) > LARGEST:
            return 0
    return found


def spell_axes(graph: Graph) -> Graph:
    """The Graph with such sums spelled out."""
    if not any(_is_sum(e) for e in graph.eqns):
        return graph
    return Rewriter(_spell)(graph)
