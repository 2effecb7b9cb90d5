"""The documented order of running combinations (`ir/order.py`) as loops.

Takes a `Cumulate` in flat form and returns statements that store what it stores, bit for bit:

* `AcrossLanes`: the sequence runs along the vector. A run is one vector loop, whose lanes meet by
  `Shuffle`s: with its running value each lane has the total of its group, which the group beside it
  puts before its own. Folds over runs and spans are carried by loops.
* `WithinLane`: every lane walks a sequence of its own, BLOCK elements at a time in straight code;
  the totals that wait for their place in the tree of a run are carried by the loop.

The neutral element changes nothing, so where nothing comes before, it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Shuffle, Var, const, minimum, select
from pyc.ir.loops import Buffer, Carry, Cumulate, For, If, Kind, Let, Stmt, Store
from pyc.ir.order import MONOIDS, RUN, SPAN, Monoid, neutral
from pyc.ir.visit import Rewriter, renamed
from pyc.passes.elements import Components
from pyc.passes.nest import Loop, Nest, accesses

RUNS = SPAN // RUN
"""Runs of a span."""
BLOCK = 16
"""Elements that a lane takes in straight code."""

Allocate = Callable[[str, DType, tuple[int, ...]], Buffer]
"""(name, dtype, shape) -> a buffer private to the thread that runs the statements."""


class Running:
    """What both ways share: the elements of a `Cumulate` by position, and its monoid."""

    def __init__(self, s: Cumulate) -> None:
        assert isinstance(s.extent, int)
        self.s = s
        self.n = s.extent
        self.types = tuple(r.dtype for r in s.results)
        self.monoid: Monoid = MONOIDS[s.monoid]
        self.neutral: Components = neutral(self.monoid, self.types)

    def names(self, prefix: str) -> tuple[Var, ...]:
        """A fresh variable per component."""
        return tuple(Var(f"{prefix}{k}", t) for k, t in enumerate(self.types))

    def bind(self, body: list[Stmt], values: Components, name: str) -> Components:
        """Values as variables, which `body` binds."""
        names = self.names(name)
        body += [Let(v, e) for v, e in zip(names, values, strict=True)]
        return names

    def value(self, position: Expr) -> Components:
        """The components at a position."""
        return Rewriter(variables={self.s.var: position}).exprs(self.s.values)

    def value_up_to(self, position: Expr, inside: Expr) -> Components:
        """The components at a position where `inside`, else anything."""
        found = self.value(minimum(position, self.n - 1))
        return tuple(select(inside, x, o) for x, o in zip(found, self.neutral, strict=True))

    def stores(self, position: Expr, running: Components) -> list[Stmt]:
        """The statements of the body at a position."""
        binding = dict(zip(self.s.results, running, strict=True))
        return list(renamed(self.s.body, {self.s.var: position, **binding}))

    def guarded(self, position: Expr, inside: Expr | None, running: Components) -> list[Stmt]:
        """The statements of the body at a position, where `inside` if that is a question."""
        body = self.stores(position, running)
        return body if inside is None else [If(inside, tuple(body))]

    def before(self, left: Components, right: Components) -> Components:
        """What combines `left` and `right`, which come in this order."""
        return self.monoid.combine(left, right)

    def loop(
        self,
        var: Var,
        extent: int | Expr,
        initial: Components,
        body: Callable[[Components], tuple[list[Stmt], Components]],
    ) -> tuple[Stmt, Components]:
        """A serial loop that carries any number of values; the loop and their last ones."""
        carried = tuple(Var("carried", e.dtype) for e in initial)
        results = tuple(Var("last", e.dtype) for e in initial)
        inside, following = body(carried)
        columns = zip(carried, initial, following, results, strict=True)
        carries = tuple(Carry(v, i, n, r) for v, i, n, r in columns)
        return For(var, extent, Kind.SERIAL, tuple(inside), carries), results


class AcrossLanes(Running):
    """Walks one sequence along the vector."""

    def __init__(self, s: Cumulate, allocate: Allocate) -> None:
        super().__init__(s)
        self._allocate = allocate
        self._totals: list[Buffer] = []

    def row(self) -> list[Stmt]:
        """Statements for the whole sequence."""
        if self.spans == 1:
            body, g = self.span(const(0), None)
            return [*body, *self.rest(g, None)]
        span, size = Var("span"), len(self.types)

        def one(carried: Components) -> tuple[list[Stmt], Components]:
            inside: list[Stmt] = []
            c = self.bind(inside, self.before(carried[:size], carried[size:]), "c")
            body, g = self.span(span, c)
            return [*inside, *body], (*c, *g)

        loop, last = self.loop(span, self.spans, (*self.neutral, *self.neutral), one)
        return [loop, *self.rest(last[size:], last[:size])]

    @property
    def spans(self) -> int:
        """Spans of the sequence."""
        return -(-self.n // SPAN)

    def span(self, span: Expr, c: Components | None) -> tuple[list[Stmt], Components]:
        """Statements for the whole runs of a span, and the fold of their totals. c: what comes
        before the span."""
        run, runs = Var("run"), self.n // RUN
        count: int | Expr = min(runs, RUNS)
        if self.spans > 1 and runs != self.spans * RUNS:
            count = minimum(const(RUNS), const(runs) - span * RUNS)

        def one(g: Components) -> tuple[list[Stmt], Components]:
            body, total = self._run(span * SPAN + run * RUN, RUN, RUN, g, c)
            return body, self.before(g, total)

        if count == 0:
            return [], self.neutral
        loop, g = self.loop(run, count, self.neutral, one)
        return [loop], g

    def rest(self, g: Components, c: Components | None) -> list[Stmt]:
        """Statements for the elements behind the last whole run. g, c: what comes before the run
        in the last span, and before that."""
        runs, rest = divmod(self.n, RUN)
        if not rest:
            return []
        width = 1 << (rest - 1).bit_length()
        before = g if runs % RUNS else None
        return self._run(const(runs * RUN), width, rest, before, c, last=True)[0]

    def totals(self, span: Expr) -> tuple[list[Stmt], Components]:
        """The total of a whole span; nothing is stored."""
        run = Var("run")
        if not shows_order(self.monoid, self.types):
            lane = Var("lane")
            inside: list[Stmt] = []
            position = span * SPAN + run * RUN + lane

            def lanes(a: Components) -> tuple[list[Stmt], Components]:
                return [], self.before(a, self.value(position))

            loop, total = self.loop(run, RUNS, self.neutral, lanes)
            inside.append(loop)
            distance = 1
            while distance < RUN:
                others = tuple(Shuffle(t, lane, distance) for t in total)
                total = self.bind(inside, self.before(total, others), "t")
                distance *= 2
            return self._vector(lane, RUN, inside, total)

        def one(g: Components) -> tuple[list[Stmt], Components]:
            body, total = self._run(span * SPAN + run * RUN, RUN, RUN, None, None, store=False)
            return body, self.before(g, total)

        loop, g = self.loop(run, RUNS, self.neutral, one)
        return [loop], g

    def _run(
        self,
        first: Expr,
        width: int,
        count: int,
        g: Components | None,
        c: Components | None,
        *,
        last: bool = False,
        store: bool = True,
    ) -> tuple[list[Stmt], Components]:
        """A run of `count` elements in a vector of `width` lanes, and its total, unless it is the
        `last` one; store: else only the total is wanted."""
        lane = Var("lane")
        body: list[Stmt] = []
        position = first + lane
        inside = lane < count
        value = self.value(position) if count == width else self.value_up_to(position, inside)
        running = total = self.bind(body, value, "x")
        distance = 1
        while distance < width:
            other = self.bind(body, tuple(Shuffle(t, lane, distance) for t in total), "other")
            upper = (lane & distance).differs(0)
            if store:
                pairs = zip(self.before(other, running), running, strict=True)
                running = self.bind(body, tuple(select(upper, a, b) for a, b in pairs), "p")
            if not last or 2 * distance < width:
                total = self.bind(body, self.before(total, other), "t")
            distance *= 2
        if g is not None:
            running = self.bind(body, self.before(g, running), "q")
        if c is not None:
            running = self.bind(body, self.before(c, running), "r")
        if store:
            body += self.guarded(position, None if count == width else inside, running)
        if last:
            return [For(lane, width, Kind.VECTOR, tuple(body))], ()
        return self._vector(lane, width, body, total)

    def _vector(
        self, lane: Var, width: int, body: list[Stmt], total: Components
    ) -> tuple[list[Stmt], Components]:
        """A vector loop, and what all its lanes have as `total`."""
        if not self._totals:
            self._totals = [self._allocate("total", t, (1,)) for t in self.types]
        body += [Store(b, (const(0),), t) for b, t in zip(self._totals, total, strict=True)]
        after: list[Stmt] = [For(lane, width, Kind.VECTOR, tuple(body))]
        return after, self.bind(after, tuple(Load(b, (const(0),)) for b in self._totals), "total")


class WithinLane(Running):
    """Walks a sequence in one lane or thread, a block after the other.

    A state is what the elements so far leave for those that follow, as flat components: where order
    shows, the totals of 16, 32 and 64 elements that wait for their place in the tree of the run
    (neutral where none waits), the fold over the runs of the span, and the fold over the spans;
    else the running value alone. `levels` of them are needed.
    """

    def __init__(self, s: Cumulate, length: int | None = None) -> None:
        """length: elements that a lane walks, if not all."""
        super().__init__(s)
        length = self.n if length is None else length
        self.ordered = shows_order(self.monoid, self.types)
        self.levels = 1
        if self.ordered:
            self.levels = next((k for k, most in _LEVELS if length <= most), WAITING + 2)

    @property
    def initial(self) -> Components:
        """The state before the first element."""
        return self.neutral * self.levels

    def whole(self) -> list[Stmt]:
        """Statements for the whole sequence."""
        blocks, rest = divmod(self.n, BLOCK)
        body: list[Stmt] = []
        state = self.initial
        if blocks:
            b = Var("b")

            def one(state: Components) -> tuple[list[Stmt], Components]:
                return self.block(b, b * BLOCK, state)

            loop, state = self.loop(b, blocks, state, one)
            body.append(loop)
        if rest:
            body += self.block(const(blocks), const(blocks * BLOCK), state, rest)[0]
        return body

    def run(
        self, first: Expr, carries: Sequence[Components], *, store: bool
    ) -> tuple[list[Stmt], Components]:
        """The run from the position `first` on, and its total; carries: folds over what comes
        before, those that reach less far first; store: else only the total is wanted."""
        b = Var("b")
        ragged = self.n % RUN != 0

        def one(state: Components) -> tuple[list[Stmt], Components]:
            last: list[Components] = []
            body, after = self.block(
                b, first + b * BLOCK, state, ragged=ragged, store=store, carries=carries, last=last
            )
            return body, (*after, *last[0])

        count = len(self.types)

        def carried(state: Components) -> tuple[list[Stmt], Components]:
            return one(state[:-count])

        loop, state = self.loop(b, RUN // BLOCK, (*self.initial, *self.neutral), carried)
        return [loop], state[-count:]

    def block(
        self,
        number: Expr,
        first: Expr,
        state: Components,
        count: int = BLOCK,
        *,
        ragged: bool = False,
        store: bool = True,
        carries: Sequence[Components] = (),
        last: list[Components] | None = None,
    ) -> tuple[list[Stmt], Components]:
        """`count` elements from the position `first` on, block `number` of what the state is of;
        and the state after them, which is of use if the block is whole. ragged: elements may be
        beyond the end; carries: see `run`; last: takes the running value of the last element, the
        carries left out."""
        body: list[Stmt] = []
        size = len(self.types)
        parts = [state[k : k + size] for k in range(0, len(state), size)]
        values: list[Components] = []
        for k in range(count):
            inside = first + k < self.n
            value = self.value_up_to(first + k, inside) if ragged else self.value(first + k)
            values.append(self.bind(body, value, f"x{k}_"))
        running = self._tree(body, values) if self.ordered else self._fold(body, values, parts[0])
        levels: list[Components] = []
        for k, value in enumerate(running):
            levels = [value]
            for before in (*(parts if self.ordered else ()), *carries):
                levels.append(self.bind(body, self.before(before, levels[-1]), f"r{k}_"))
            if store:
                inside = first + k < self.n
                body += self.guarded(first + k, inside if ragged else None, levels[-1])
        if last is not None:
            last.append(levels[len(parts)] if self.ordered else levels[0])
        if not self.ordered:
            return body, levels[0]
        after = self._after(number, parts, levels)
        return body, tuple(x for part in after for x in self.bind(body, part, "s"))

    def _fold(
        self, body: list[Stmt], values: list[Components], before: Components
    ) -> list[Components]:
        running: list[Components] = []
        for k, value in enumerate(values):
            before = self.bind(body, self.before(before, value), f"p{k}_")
            running.append(before)
        return running

    def _tree(self, body: list[Stmt], values: list[Components]) -> list[Components]:
        """Step 1 of the order, as far as it lies within a block."""
        running = list(values)
        distance = 1
        while distance < len(running):
            for k in range(len(running)):
                if k & distance:
                    lower = running[(k & -2 * distance) + distance - 1]
                    running[k] = self.bind(body, self.before(lower, running[k]), f"p{k}_")
            distance *= 2
        return running

    def _after(
        self, number: Expr, parts: list[Components], levels: list[Components]
    ) -> list[Components]:
        """The state after block `number`. levels: its last element, and the same with one more
        part of the state before it each."""
        if not parts:
            return []
        low = number & (RUN // BLOCK - 1)
        even, odd_pair, four = (low & 1).equal(0), (low & 3).equal(1), (low & 3).equal(3)
        end = low.equal(RUN // BLOCK - 1)
        none = self.neutral
        after = [
            _choice(even, levels[0], none),
            _choice(even, parts[1], _choice(odd_pair, levels[1], none)),
            _choice(four, _choice(end, none, levels[2]), parts[2]),
        ]
        if len(parts) > WAITING:
            after.append(_choice(end, levels[WAITING + 1], parts[WAITING]))
        if len(parts) > WAITING + 1:
            span_ends = (number & (SPAN // BLOCK - 1)).equal(SPAN // BLOCK - 1)
            # `levels` has the fold over the spans before the last element: that is the fold now.
            after.append(_choice(span_ends, levels[WAITING + 2], parts[WAITING + 1]))
            after[WAITING] = _choice(span_ends, none, after[WAITING])
        return after


WAITING = 3
"""Totals that may wait for their place in the tree of a run: of 16, 32 and 64 elements."""
_LEVELS = ((0, BLOCK), (WAITING, RUN), (WAITING + 1, SPAN))
"""(parts of a state, elements up to which they are enough)"""


def _choice(condition: Expr, a: Components, b: Components) -> Components:
    return tuple(select(condition, x, y) for x, y in zip(a, b, strict=True))


def shows_order(monoid: Monoid, types: Sequence[DType]) -> bool:
    """Whether the value of a running combination depends on the order."""
    return not monoid.idempotent and any(t.is_float for t in types)


def walks_columns(nest: Nest, loops: Sequence[Loop], s: Cumulate) -> bool:
    """Whether neighbours of the innermost loop lie closer together than those of the sequence."""
    if not loops:
        return False
    pairs = [(nest.factor(loops[-1].var, a), nest.factor(s.var, a)) for _, a in accesses((s,))]
    return all(f is not None and g is not None and abs(f) < abs(g) for f, g in pairs)
