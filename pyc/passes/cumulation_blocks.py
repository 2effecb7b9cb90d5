"""Running combinations for blocks of threads, in the documented order (`ir/order.py`).

Takes a `Cumulate` in parallel loops, in flat form, and returns its launches:

* rows that memory walks along: a warp takes a few runs of a row, 4 neighbouring elements of a run a
  thread, and the warps of a block the runs of a span; what they fold meets in shared memory. Rows
  of several spans take three launches: the totals of the spans, their folds, and the row again;
* short rows, and many or short columns: a thread each walks a row by itself;
* few long columns: a thread for each run and column, in launches like those of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from pyc.ir.expr import Expr, Load, Shuffle, Var, apply, const, minimum, select
from pyc.ir.loops import (
    Barrier,
    Body,
    Buffer,
    Cumulate,
    For,
    If,
    Kind,
    Let,
    Space,
    Stmt,
    Store,
)
from pyc.ir.order import RUN, SPAN
from pyc.passes.cumulation import RUNS, Running, WithinLane, walks_columns
from pyc.passes.elements import Components
from pyc.passes.nest import Loop, Nest, Stage
from pyc.passes.reduction_blocks import power_above
from pyc.passes.row_chunks import WARP, WARPS, surrounded

PER_THREAD = RUN // WARP
"""Neighbouring elements of a run that a thread holds."""
PER_WARP = 4
"""Runs of a warp: as many as the warps of a block need for a span."""
SHORT_ROW = 32
"""Longest row that one thread walks where rows are contiguous."""
ENOUGH_ROWS = 256
"""Short rows from which a thread takes each."""
COLUMNS = 1 << 16
"""Columns from which a thread each keeps the device busy."""
SHORT_ROWS = 8
"""Rows of a block where one warp takes a row."""
WORD_BYTES = 4
"""Bytes of an element up to which a thread keeps the trees of its runs while others are folded."""
AT_ONCE = 8
"""Totals that a thread reads at once to fold them."""
FOLD_WARPS = 8
"""Warps of a block that folds the totals of spans."""

Grid = Callable[[Var, int, Sequence[Stmt]], list[Stmt]]
"""(place, places, statements) -> a thread for each place."""
Positions = Callable[[Sequence[Loop], Expr], list[Stmt]]
"""Binds the variables of a nest to a row-major position."""


class CumulationBlocks:
    """The launches of one `Cumulate` within `loops`."""

    def __init__(
        self,
        nest: Nest,
        loops: Sequence[Loop],
        s: Cumulate,
        suffix: str,
        grid: Grid,
        positions: Positions,
    ) -> None:
        assert isinstance(s.extent, int)
        self.nest, self.loops, self.s, self.suffix = nest, list(loops), s, suffix
        self.n = s.extent
        self.kept = prod(x.extent for x in loops)
        self.spans = -(-self.n // SPAN)
        self.runs = -(-self.n // RUN)
        self._grid, self._positions = grid, positions

    def stages(self) -> tuple[Stage, ...]:
        """The launches."""
        if not self.n:
            return ()
        beside = walks_columns(self.nest, self.loops, self.s)
        if beside and (self.n <= RUN or self.kept >= COLUMNS):
            return (self._in_threads(),)
        if beside:
            return self._columns()
        if self.n <= SHORT_ROW and self.kept >= ENOUGH_ROWS:
            return (self._in_threads(),)
        return self._rows()

    def _stage(self, name: str, body: Sequence[Stmt], scratch: Sequence[Buffer] = ()) -> Stage:
        return self.nest.stage(f"{self.suffix}{name}", body, scratch)

    def _scratch(self, running: Running, name: str, size: int) -> list[Buffer]:
        types = enumerate(running.types)
        return [Buffer(f"{name}{k}", t, (size,), role="inout") for k, t in types]

    def _in_threads(self) -> Stage:
        """A thread for each row."""
        place = self.nest.simplify.variable("place", self.kept)
        body = [*self._positions(self.loops, place), *WithinLane(self.s).whole()]
        return self._stage("", self._grid(place, self.kept, body))

    # --- few long columns -------------------------------------------------------------------------

    def _columns(self) -> tuple[Stage, ...]:
        """A thread for each run of each column, twice; in between the folds over runs and spans."""
        within, kept = WithinLane(self.s, RUN), self.kept
        runs = self._scratch(within, "run", self.runs * kept)
        spans = self._scratch(within, "span", self.spans * kept)
        several = self.spans > 1

        def over_runs(store: bool) -> list[Stmt]:
            place = self.nest.simplify.variable("place", self.runs * kept)
            run, position = Var("run"), Var("position")
            body: list[Stmt] = [
                Let(run, apply("quotient", place, const(kept))),
                Let(position, apply("remainder", place, const(kept))),
                *self._positions(self.loops, position),
            ]
            carries: list[Components] = []
            if store:
                carries.append(within.bind(body, _loads(runs, place), "fold"))
                at = apply("quotient", run, const(RUNS)) * kept + position
                if several:
                    carries.append(within.bind(body, _loads(spans, at), "before"))
            inside, total = within.run(run * RUN, carries, store=store)
            body += inside
            if not store:
                body += _stores(runs, place, total)
            return self._grid(place, self.runs * kept, body)

        found = [self._stage("_totals", over_runs(False), runs)]
        place = self.nest.simplify.variable("place", self.spans * kept)
        span, position = Var("span"), Var("position")
        count: int | Expr = min(self.runs, RUNS)
        if several and self.runs % RUNS:
            count = minimum(const(RUNS), const(self.runs) - span * RUNS)
        body: list[Stmt] = [
            Let(span, apply("quotient", place, const(kept))),
            Let(position, apply("remainder", place, const(kept))),
        ]
        fold, total = _folded(within, runs, span * (RUNS * kept) + position, kept, count)
        body += [*fold, *(_stores(spans, place, total) if several else ())]
        fold_runs = self._grid(place, self.spans * kept, body)
        found.append(self._stage("_runs", fold_runs, [*runs, *spans]))
        if several:
            place = self.nest.simplify.variable("place", kept)
            body, _ = _folded(within, spans, place, kept, self.spans)
            found.append(self._stage("_spans", self._grid(place, kept, body), spans))
        found.append(self._stage("_values", over_runs(True), [*runs, *spans]))
        return tuple(found)

    # --- rows -------------------------------------------------------------------------------------

    def _rows(self) -> tuple[Stage, ...]:
        """One launch, or three where a row has several spans."""
        running = Running(self.s)
        if self.spans == 1:
            return (self._stage("", _Block(self, running, []).body(store=True)),)
        spans = self._scratch(running, "span", self.kept * self.spans)
        totals = _Block(self, running, spans).body(store=False)
        values = _Block(self, running, spans).body(store=True)
        return (
            self._stage("_totals", totals, spans),
            self._stage("_spans", self._fold(running, spans), spans),
            self._stage("_values", values, spans),
        )

    def _fold(self, running: Running, spans: Sequence[Buffer]) -> list[Stmt]:
        """A block for each row, whose threads bring the totals of spans into shared memory; one of
        them folds, since the order is that of a left fold."""
        warps = min(FOLD_WARPS, -(-self.spans // WARP))
        size = warps * WARP
        block, warp, thread, tile = Var("row"), Var("warp"), Var("thread"), Var("tile")
        shared = [
            Buffer(f"shared{k}", t, (size,), Space.SHARED) for k, t in enumerate(running.types)
        ]
        state = [Buffer(f"state{k}", t, (1,), Space.REGISTER) for k, t in enumerate(running.types)]
        at, number = Var("at"), Var("number")
        inside = number < self.spans
        place = block * self.spans + number
        fold, total = _folded(running, shared, const(0), 1, size, _loads(state, const(0)))
        first = warp.equal(0) & thread.equal(0)
        inner: Body = (
            Let(at, warp * WARP + thread),
            Let(number, tile * size + at),
            If(
                inside,
                tuple(_stores(shared, at, _loads(spans, place))),
                tuple(_stores(shared, at, running.neutral)),
            ),
            Barrier("block"),
            If(first, (*fold, *_stores(state, const(0), total))),
            Barrier("block"),
            If(inside, tuple(_stores(spans, place, _loads(shared, at)))),
        )
        body: Body = tuple(_stores(state, const(0), running.neutral))
        body = (*body, For(tile, -(-self.spans // size), Kind.SERIAL, inner))
        return launched(block, self.kept, warp, warps, thread, surrounded(state, body), shared)


def launched(
    block: Var,
    blocks: int,
    warp: Var,
    warps: int,
    thread: Var,
    body: Body,
    shared: Sequence[Buffer],
) -> list[Stmt]:
    """`body` in the threads of blocks."""
    inner: Body = (For(warp, warps, Kind.WARP, (For(thread, WARP, Kind.THREAD, body),)),)
    return [For(block, blocks, Kind.GRID, surrounded(shared, inner))]


def _loads(buffers: Sequence[Buffer], at: Expr) -> Components:
    return tuple(Load(b, (at,)) for b in buffers)


def _stores(buffers: Sequence[Buffer], at: Expr, values: Components) -> list[Stmt]:
    return [Store(b, (at,), v) for b, v in zip(buffers, values, strict=True)]


def _folded(
    running: Running,
    buffers: Sequence[Buffer],
    first: Expr,
    stride: int,
    count: int | Expr,
    initial: Components | None = None,
) -> tuple[list[Stmt], Components]:
    """Replaces each of `count` values in memory by the fold of those before it; the fold of all.
    AT_ONCE of them are read before the first is replaced, so that none waits for memory."""
    size = len(running.types)

    def some(start: Expr, number: int, fold: Components) -> tuple[list[Stmt], Components]:
        body: list[Stmt] = []
        places = [first + (start + k) * stride for k in range(number)]
        values = [running.bind(body, _loads(buffers, place), "value") for place in places]
        folds = [fold]
        for value in values:
            folds.append(running.bind(body, running.before(folds[-1], value), "fold"))
        for place, before in zip(places, folds, strict=False):
            body += _stores(buffers, place, before)
        return body, folds[-1]

    fold = running.neutral if initial is None else initial
    j, k = Var("j"), Var("k")
    if isinstance(count, int):
        several: int | Expr = count // AT_ONCE
        rest: int | Expr = count % AT_ONCE
    else:
        several = apply("quotient", count, const(AT_ONCE))
        rest = apply("remainder", count, const(AT_ONCE))
    body: list[Stmt] = []
    if several != 0:
        loop, fold = running.loop(j, several, fold, lambda f: some(j * AT_ONCE, AT_ONCE, f))
        body.append(loop)
    if not (isinstance(rest, int) and rest == 0):
        start: Expr = const(several) if isinstance(several, int) else several
        loop, fold = running.loop(k, rest, fold, lambda f: some(start * AT_ONCE + k, 1, f))
        body.append(loop)
    assert len(fold) == size
    return body, fold


class _Block:
    """The kernel whose blocks take a span of a row each. spans: scratch memory of what the spans
    give, where a row has several."""

    def __init__(self, owner: CumulationBlocks, running: Running, spans: Sequence[Buffer]) -> None:
        self.owner, self.running, self.spans = owner, running, spans
        self.n = owner.n
        runs = min(owner.runs, RUNS)
        self.each = min(runs, PER_WARP)
        self.warps = -(-runs // self.each)
        assert self.warps <= WARPS
        self.covered = self.each * self.warps
        self.rows = min(SHORT_ROWS, power_above(owner.kept)) if self.warps == 1 else 1
        # Registers of a thread hold four runs once, not also what the tree makes of them.
        self.again = self.warps > 1 and sum(t.itemsize for t in running.types) > WORD_BYTES
        types = list(enumerate(running.types))
        size = self.each * PER_THREAD
        self.held = [Buffer(f"held{k}", t, (size,), Space.REGISTER) for k, t in types]
        self.shared = [Buffer(f"shared{k}", t, (self.covered,), Space.SHARED) for k, t in types]
        self.thread, self.warp, self.start = Var("thread"), Var("warp"), Var("start")

    def body(self, *, store: bool) -> list[Stmt]:
        """store: the values of the row, for which the folds of spans are known; else the totals of
        the spans."""
        owner, running = self.owner, self.running
        block, row, span = Var("block"), Var("row"), Var("span")
        spans, number = owner.spans, Var("number")
        place: Expr = block
        if store and spans > 1:
            # What the launch before has read last is still in the cache, and is read first.
            place = const(owner.kept * spans - 1) - block
        elif self.rows > 1:
            place = block * self.rows + self.warp
        first_run: Expr = const(0)
        if self.warps > 1:
            first_run = span * RUNS + self.warp * self.each
        inner: list[Stmt] = [
            Let(row, apply("quotient", number, const(spans)) if spans > 1 else number),
            Let(span, apply("remainder", number, const(spans)) if spans > 1 else const(0)),
            *owner._positions(owner.loops, row),
            Let(self.start, first_run * RUN + self.thread * PER_THREAD),
        ]
        for r in range(self.each):
            inner += self._load(r)
        trees = store and not self.again
        runs = [self._run(inner, r, store=trees) for r in range(self.each)]
        totals = [total for _, total in runs]
        if store:
            folds = self._folds(inner, totals, None)
            before = None
            if self.spans:
                before = running.bind(inner, _loads(self.spans, number), "before")
            for r, (values, _) in enumerate(runs):
                found = self._run(inner, r, store=True)[0] if self.again else values
                inner += self._store(r, found, folds[r], before)
        else:
            self._folds(inner, totals, lambda total: _stores(self.spans, number, total))
        shared = self.shared if self.warps > 1 else []
        whole = surrounded(self.held, tuple(inner))
        if owner.kept % self.rows:
            whole = (If(number < owner.kept, whole),)
        whole = (Let(number, place), *whole)
        blocks, warps = -(-owner.kept // self.rows) * spans, self.warps * self.rows
        return launched(block, blocks, self.warp, warps, self.thread, whole, shared)

    # --- memory -----------------------------------------------------------------------------------

    def _first(self, r: int) -> Expr:
        return self.start + r * RUN

    def _four(self, r: int, whole: Body, element: Callable[[int], Body]) -> list[Stmt]:
        """The elements of a thread in a run: `whole` if it has all of them."""
        if self.n == self.covered * RUN * self.owner.spans:
            return list(whole)
        each = tuple(s for v in range(PER_THREAD) for s in element(v))
        return [If(self._first(r) + PER_THREAD <= self.n, whole, each)]

    def _load(self, r: int) -> list[Stmt]:
        running, first = self.running, self._first(r)
        v = Var("v")

        def held(at: Expr, values: Components) -> Body:
            return tuple(_stores(self.held, at + r * PER_THREAD, values))

        def element(k: int) -> Body:
            position = first + k
            return held(const(k), running.value_up_to(position, position < self.n))

        whole = For(v, PER_THREAD, Kind.VECTOR, held(v, running.value(first + v)))
        return self._four(r, (whole,), element)

    def _store(
        self, r: int, values: Sequence[Components], fold: Components, before: Components | None
    ) -> list[Stmt]:
        running, first = self.running, self._first(r)
        body: list[Stmt] = []
        fold = running.bind(body, fold, "fold")
        for k, value in enumerate(values):
            found = running.before(fold, value)
            if before is not None:
                found = running.before(before, found)
            body += _stores(self.held, const(r * PER_THREAD + k), found)
        v = Var("v")

        def stored(at: Expr) -> Body:
            found = _loads(self.held, at + r * PER_THREAD)
            return tuple(running.stores(first + at, found))

        def element(k: int) -> Body:
            return (If(first + k < self.n, stored(const(k))),)

        whole = For(v, PER_THREAD, Kind.VECTOR, stored(v))
        return [*body, *self._four(r, (whole,), element)]

    # --- the order --------------------------------------------------------------------------------

    def _run(self, body: list[Stmt], r: int, *, store: bool) -> tuple[list[Components], Components]:
        """The elements of a thread after step 1 of the order, and the total of run `r`."""
        running = self.running
        at = [const(r * PER_THREAD + k) for k in range(PER_THREAD)]
        values = [running.bind(body, _loads(self.held, k), "x") for k in at]
        distance = 1
        while distance < PER_THREAD:
            for k in range(PER_THREAD):
                if k & distance:
                    lower = values[(k & -2 * distance) + distance - 1]
                    values[k] = running.bind(body, running.before(lower, values[k]), "p")
            distance *= 2
        total = values[-1]
        distance = 1
        while distance < WARP:
            others = tuple(Shuffle(t, self.thread, distance) for t in total)
            other = running.bind(body, others, "other")
            upper = (self.thread & distance).differs(0)
            if store:
                for k, value in enumerate(values):
                    pairs = zip(running.before(other, value), value, strict=True)
                    chosen = tuple(select(upper, a, b) for a, b in pairs)
                    values[k] = running.bind(body, chosen, "p")
            total = running.bind(body, running.before(total, other), "t")
            distance *= 2
        return values, total

    def _folds(
        self,
        body: list[Stmt],
        totals: Sequence[Components],
        finish: Callable[[Components], Sequence[Stmt]] | None,
    ) -> list[Components]:
        """What comes before each run of a warp within its span. finish: what the first thread of
        the block does with the fold of the span."""
        running = self.running
        if self.warps == 1:
            assert finish is None
            folds = [running.neutral]
            for total in totals[:-1]:
                folds.append(running.bind(body, running.before(folds[-1], total), "fold"))
            return folds
        places = [self.warp * self.each + r for r in range(self.each)]
        stores = [
            s
            for place, total in zip(places, totals, strict=True)
            for s in _stores(self.shared, place, total)
        ]
        body += [If(self.thread.equal(0), tuple(stores)), Barrier("block")]
        fold, total = _folded(running, self.shared, const(0), 1, self.covered)
        alone = self.thread.equal(0) & self.warp.equal(0)
        body.append(If(alone, (*fold, *(finish(total) if finish is not None else ()))))
        if finish is not None:
            return []
        body.append(Barrier("block"))
        return [_loads(self.shared, place) for place in places]
