"""Lines of Fourier transforms: how their elements are read and stored, and their butterflies.

`fourier` makes passes over memory of them, `fourier_cores` and `fourier_blocks` the loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Load, Var, const, postorder, rebuild
from pyc.ir.fourier import Stage, butterfly, stages, times
from pyc.ir.loops import Body, Buffer, Kernel, Let, Space, Store
from pyc.ir.op import Complex
from pyc.kernels.sequence import Call


@frozen()
class Place:
    """A line: of the outer ones, and the column `first + lane`. first: of the group."""

    outer: Expr
    first: Expr
    lane: Expr

    @property
    def column(self) -> Expr:
        """Its column."""
        return self.first + self.lane


class Layout(Enum):
    """Whether neighbouring columns, or neighbouring elements of a line, are neighbours."""

    COLUMNS = "columns"
    LINES = "lines"


@frozen()
class Pass:
    """Lines of n elements, `outer` times `columns`. read: (line, element) -> number; leaving:
    (line, element, number) -> what is stored of it; write: (line, element, that) -> statements;
    buffers: (parameter, what it stands for); tables: of the factors of each stage, where it has
    any; loaded, stored: how columns lie in memory on the way in and out, as columns or as lines of
    neighbours. dtype: of real and imaginary parts."""

    dtype: DType
    n: int
    outer: int
    columns: int
    read: Callable[[Place, Expr], Complex]
    leaving: Callable[[Place, Expr, Complex], Complex]
    write: Callable[[Place, Expr, Complex], Body]
    buffers: tuple[tuple[Buffer, Buffer], ...]
    tables: tuple[Buffer | None, ...]
    loaded: Layout = Layout.COLUMNS
    stored: Layout = Layout.COLUMNS


def number_of(table: Buffer, *index: Expr) -> Complex:
    """A number of a table of both parts."""
    return Complex(Load(table, (const(0), *index)), Load(table, (const(1), *index)))


def steps(n: int) -> tuple[Stage, ...]:
    """The stages of a line, one that changes nothing for a single element."""
    return stages(n) or (Stage(1, 1, 1),)


Where = Callable[[Expr, int], Expr]


@frozen()
class Line:
    """What a butterfly reads and writes: the numbers so many elements behind a place of a line.
    together: whether the parts of the result are stored side by side; leaving: what is stored of a
    number, if not itself."""

    load: Callable[[Expr, int], Complex]
    store: Callable[[Expr, int, Complex], Body]
    together: bool
    leaving: Callable[[Expr, int, Complex], Complex] | None = None


def butterfly_of(
    stage: Stage, table: Buffer | None, p: Expr, q: Expr, source: Line, target: Line
) -> Body:
    """One butterfly of a stage."""
    r, m, s = stage.radix, stage.m, stage.s
    start, end = sum_of(product_of(p, s), q), sum_of(product_of(p, r * s), q)
    found = butterfly([source.load(start, i * m * s) for i in range(r)])
    parts: list[Expr] = []
    for k, value in enumerate(found):
        if k and table is not None:
            value = times(value, number_of(table, const(k - 1), p))
        if target.leaving is not None:
            value = target.leaving(end, k * s, value)
        parts += (value.re, value.im)
    lets, names = _bound(parts)
    stores = [target.store(end, k * s, Complex(*names[2 * k : 2 * k + 2])) for k in range(r)]
    if target.together:
        return (*lets, *(x for pair in stores for x in pair))
    return (*lets, *(pair[part] for part in range(2) for pair in stores))


def _bound(values: Sequence[Expr]) -> tuple[list[Let], list[Expr]]:
    """Statements that bind the values, and what they share, and the names of the values: each
    statement is a small tree, of which whoever reads them all sees each node once."""
    dtype = values[0].dtype
    nodes = postorder(values)
    uses = Counter(id(c) for e in nodes for c in e.operands)
    uses.update(2 * [id(v) for v in values])
    lets: list[Let] = []
    known: dict[int, Expr] = {}
    for e in nodes:
        if e.dtype is not dtype or not isinstance(e, (Apply, Load)):
            known[id(e)] = e
            continue
        operands = () if isinstance(e, Load) else tuple(known[id(c)] for c in e.operands)
        here = rebuild(e, operands) if operands else e
        if uses[id(e)] > 1:
            lets.append(Let(Var("t", dtype), here))
            here = lets[-1].var
        known[id(e)] = here
    names = [known[id(v)] for v in values]
    return lets, names


def _is_zero(x: Expr) -> bool:
    return isinstance(x, Const) and x.value == 0


def product_of(x: Expr, factor: int) -> Expr:
    """x factor, no more than is to be computed."""
    return x if factor == 1 or _is_zero(x) else x * factor


def sum_of(x: Expr, y: Expr) -> Expr:
    """x + y, no more than is to be computed."""
    return y if _is_zero(x) else x if _is_zero(y) else x + y


def once(function: Callable[[Expr], Expr]) -> Callable[[Expr], Expr]:
    """The function, of an expression once: what is shared is computed once."""
    known: dict[int, tuple[Expr, Expr]] = {}

    def found(x: Expr) -> Expr:
        if id(x) not in known:
            known[id(x)] = x, function(x)
        return known[id(x)][1]

    return found


def behind(x: Expr, distance: int) -> Expr:
    """The place so far behind another one."""
    return sum_of(x, const(distance))


class Group:
    """The stages of a group of lines of a pass. columns: of the pass, from `first` on, in groups of
    `count`."""

    def __init__(self, work: Pass, first: int, count: int) -> None:
        self.work = work
        self.first = first
        self.count = count
        self.stages = steps(work.n)
        self.tables = work.tables
        self.dtype = work.dtype

    def call(self, name: str, body: Body) -> Call:
        """The launch of a kernel."""
        buffers = [
            *self.work.buffers,
            *((t, t) for t in dict.fromkeys(self.tables) if t is not None),
        ]
        own, memory = zip(*buffers, strict=True)
        return Call(Kernel(name, own, body), memory)

    def buffers(self, space: Space, count: int, gap: int = 0) -> list[Buffer]:
        """So many work buffers, two at most: real parts, imaginary parts. gap: numbers after which
        one place is left free, if any."""
        size = self.work.n * self.count
        shape = (2, size + (size - 1) // gap if gap else size)
        return [Buffer(n, self.dtype, shape, space, alignment=64) for n in ["one", "two"][:count]]

    def lines(self, buffers: Sequence[Buffer], place: Where, memory: Line) -> list[Line]:
        """What the stages read and write, from memory to memory, and two work buffers in turn.
        place: of the element so many behind another one in a work buffer."""
        between = [self._held(buffers[k % 2], place) for k in range(len(self.stages) - 1)]
        return [memory, *between, memory]

    def memory(self, line: Place) -> Line:
        """A line as it lies in memory."""
        return Line(
            lambda at, distance: self.work.read(line, behind(at, distance)),
            lambda at, distance, x: self.work.write(line, behind(at, distance), x),
            together=True,
            leaving=lambda at, distance, x: self.work.leaving(line, behind(at, distance), x),
        )

    @staticmethod
    def _held(buffer: Buffer, place: Where) -> Line:
        def store(at: Expr, distance: int, x: Complex) -> Body:
            where = place(at, distance)
            parts = enumerate((x.re, x.im))
            return tuple(Store(buffer, (const(part), where), e) for part, e in parts)

        return Line(lambda at, distance: number_of(buffer, place(at, distance)), store, False)
