"""Lines of Fourier transforms on a core: vectors of butterflies, or of neighbouring lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyc.frozen import replace
from pyc.ir.expr import Expr, Load, Var, apply, const
from pyc.ir.fourier import COLUMNS
from pyc.ir.loops import Alloc, Body, Buffer, For, If, Kind, Let, Space, Stmt, Store
from pyc.ir.target import Target
from pyc.kernels.fourier_lines import (
    Group,
    Layout,
    Pass,
    Place,
    behind,
    butterfly_of,
    number_of,
    once,
    product_of,
    steps,
    sum_of,
)
from pyc.kernels.sequence import Call

TASK_WORK = 1 << 15
"""Elements times stages of a parallel task: some 20 us on one core."""
WORK_BYTES = 1 << 19
"""Of the work buffers of a core at most, where fewer lines at once do."""
SHORT_LINE = 256
"""Elements of a line up to which several lines may lie side by side in vectors."""


def _power(n: int) -> int:
    """The least power of two from n on."""
    return 1 << (n - 1).bit_length()


def _vectors(extent: int, width: int, body: Callable[[Expr], Body]) -> Body:
    """`body` for each number below `extent`, in vectors."""
    if extent == 1:
        return body(const(0))
    width = min(width, _power(extent))
    whole, rest = divmod(extent, width)
    found: list[Stmt] = []
    lane, v = Var("lane"), Var("v")
    if whole == 1:
        found.append(For(lane, width, Kind.VECTOR, body(lane)))
    elif whole:
        inner = For(lane, width, Kind.VECTOR, body(v * width + lane))
        found.append(For(v, whole, Kind.SERIAL, (inner,)))
    if rest:
        last = Var("lane")
        inside = If(last < rest, body(last + whole * width))
        found.append(For(last, _power(rest), Kind.VECTOR, (inside,)))
    return tuple(found)


def _serial(extent: int, body: Callable[[Expr], Body]) -> Body:
    if extent == 1:
        return body(const(0))
    var = Var("p")
    return (For(var, extent, Kind.SERIAL, body(var)),)


class _Core(Group):
    """A group that a core does, `count` neighbouring lines in the lanes of a vector, or one."""

    def launch(self, width: int) -> Call:
        """The launch of all groups. width: lanes of a vector."""
        work, groups = self.work, max((self.work.columns - self.first) // self.count, 1)
        total = work.outer * groups
        group, outer, first = Var("group"), Var("outer"), Var("first")
        body: Body = (
            Let(outer, apply("quotient", group, const(groups)) if groups > 1 else group),
            Let(first, (group - outer * groups) * self.count + self.first),
            *self._stages(outer, first, width),
        )
        size = work.n * self.count * len(self.stages)
        each = max(TASK_WORK // size, 1)
        if total * size < 2 * TASK_WORK:
            return self.call("fft_lines", (For(group, total, Kind.SERIAL, body),))
        if each == 1:
            return self.call("fft_lines", (For(group, total, Kind.PARALLEL, body),))
        task, number = Var("task"), Var("number")
        body = (Let(group, task * each + number), *body)
        if total % each:
            body = (Let(group, task * each + number), If(group < total, body[1:]))
        inner = For(number, each, Kind.SERIAL, body)
        return self.call("fft_lines", (For(task, -(-total // each), Kind.PARALLEL, (inner,)),))

    def _stages(self, outer: Expr, first: Expr, width: int) -> Body:
        work, last = self.work, len(self.stages)
        loads = range(work.loaded is Layout.COLUMNS, last + (work.stored is Layout.LINES))
        buffers = self.buffers(Space.STACK, len(loads))
        held = {k: buffers[n % 2] for n, k in enumerate(loads)}
        body: Body = ()
        if work.loaded is Layout.LINES:
            body += self._pieces(lambda at, n: self._taken(held[0], outer, first, at, n, width))
        for number in range(last):
            body += self._stage(number, held, outer, first, width)
        if work.stored is Layout.LINES:
            shape = (2, self.count * _below(self.count))
            tile = Buffer("tile", self.dtype, shape, Space.STACK, alignment=64)
            body += self._pieces(
                lambda at, n: self._given(held[last], tile, outer, first, at, n, width)
            )
            buffers.append(tile)
        for buffer in buffers:
            body = (Alloc(buffer, body),)
        return body

    def _stage(
        self, number: int, held: Mapping[int, Buffer], outer: Expr, first: Expr, width: int
    ) -> Body:
        """A stage. held: the work buffers before the stages of these numbers."""
        stage, table = self.stages[number], self.tables[number]

        def done(p: Expr, q: Expr, lane: Expr) -> Body:
            start = once(lambda at: sum_of(product_of(at, self.count), lane))

            def place(at: Expr, distance: int) -> Expr:
                return behind(start(at), distance * self.count)

            memory = self.memory(Place(outer, first, lane))
            source, target = (
                self._held(held[k], place) if k in held else memory for k in (number, number + 1)
            )
            if number + 1 == len(self.stages):
                target = replace(target, leaving=memory.leaving)
            return butterfly_of(stage, table, p, q, source, target)

        zero = const(0)
        if self.work.columns > 1:
            return _serial(
                stage.m,
                lambda p: _serial(
                    stage.s,
                    lambda q: _vectors(self.count, width, lambda lane: done(p, q, lane)),
                ),
            )
        if stage.s == 1:
            return _vectors(stage.m, width, lambda p: done(p, zero, zero))
        return _serial(stage.m, lambda p: _vectors(stage.s, width, lambda q: done(p, q, zero)))

    # Tiles of as many elements of each line as there are lines, or fewer at the end: what lies
    # side by side in memory comes to lie one below the other, and back.

    def _pieces(self, piece: Callable[[Expr, int], Body]) -> Body:
        """The tiles of a group: from an element on, so many."""
        size = _below(self.count)
        whole, rest = divmod(self.work.n, size)
        body = _serial(whole, lambda t: piece(product_of(t, size), size)) if whole else ()
        start = whole * size
        for n in (8, 4, 2, 1):
            if rest & n:
                body += piece(const(start), n)
                start += n
        return body

    def _taken(
        self, target: Buffer, outer: Expr, first: Expr, start: Expr, n: int, width: int
    ) -> Body:
        """Loads elements of all lines into a work buffer."""

        def body(k: Expr) -> Body:
            at = sum_of(start, k)
            found = [self.work.read(Place(outer, first, const(c)), at) for c in range(self.count)]
            return tuple(
                Store(target, (const(part), behind(product_of(at, self.count), c)), value)
                for part in range(2)
                for c, x in enumerate(found)
                for value in ((x.re, x.im)[part],)
            )

        return _vectors(n, width, body)

    def _given(
        self,
        source: Buffer,
        tile: Buffer,
        outer: Expr,
        first: Expr,
        start: Expr,
        n: int,
        width: int,
    ) -> Body:
        """Stores elements of all lines from a work buffer, through a tile."""
        column = Var("column")

        def turned(lane: Expr) -> Body:
            return tuple(
                Store(
                    tile,
                    (const(part), behind(product_of(lane, n), k)),
                    Load(
                        source,
                        (const(part), product_of(behind(start, k), self.count) + lane),
                    ),
                )
                for part in range(2)
                for k in range(n)
            )

        line = Place(outer, first, column)
        stored = _vectors(
            n,
            width,
            lambda k: self.work.write(line, sum_of(start, k), number_of(tile, column * n + k)),
        )
        return (
            *_vectors(self.count, width, turned),
            For(column, self.count, Kind.UNROLL, stored),
        )


def _below(count: int) -> int:
    """The greatest power of two up to `count` and `COLUMNS`."""
    return 1 << (min(count, COLUMNS).bit_length() - 1)


def _with_lines_as_columns(work: Pass) -> Pass:
    """The same, its lines side by side in vectors, where they are short and have a factor that is
    no power of two: vectors of one line would be half empty."""
    binary = work.n & (work.n - 1) == 0
    short = len(steps(work.n)) > 1 and work.n <= SHORT_LINE
    if work.columns > 1 or work.outer < 2 * COLUMNS or binary or not short:
        return work

    def line(place: Place) -> Place:
        return Place(place.column, const(0), const(0))

    return replace(
        work,
        outer=1,
        columns=work.outer,
        read=lambda place, at: work.read(line(place), at),
        leaving=lambda place, at, x: work.leaving(line(place), at, x),
        write=lambda place, at, x: work.write(line(place), at, x),
        loaded=Layout.LINES,
        stored=Layout.LINES,
    )


def on_cores(work: Pass, target: Target) -> list[Call]:
    """The launches of a pass, on a target without blocks."""
    work = _with_lines_as_columns(work)
    itemsize = work.dtype.itemsize
    width = target.lanes(itemsize)
    count = min(width, COLUMNS) if work.stored is Layout.LINES else width
    while count > 4 and 4 * work.n * count * itemsize > WORK_BYTES:
        count //= 2
    calls = []
    whole = work.columns // count * count
    if work.columns == 1:
        whole, count = 1, 1
    if whole:
        calls.append(_Core(work, 0, count).launch(width))
    if work.columns - whole:
        calls.append(_Core(work, whole, work.columns - whole).launch(width))
    return calls
