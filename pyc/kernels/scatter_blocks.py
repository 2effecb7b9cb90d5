"""Scatter on targets with blocks of threads: updates meet in index order, as on a CPU.

The rows of the update go to targets, a row each: several rows may have one target.

* Where the order does not show (integers, and minima and maxima), a thread for each element of the
  update, and atomic accumulation; where many meet in few places, first in memory of each block.
* A few rows: a thread for each element of a row does all rows in order.
* Otherwise the numbers of the rows are sorted by target (`sort_blocks`), which keeps the order of
  rows with one target; a thread for each element of a target then combines them, or takes the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, apply, const, maximum, minimum, select
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Barrier,
    Body,
    Buffer,
    Carry,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Space,
    Stmt,
    Store,
    While,
)
from pyc.ir.ops.indexing import SCATTER_MODES
from pyc.ir.order import MONOIDS, neutral
from pyc.ir.types import ArrayType
from pyc.kernels.merging import Tile, greatest
from pyc.kernels.sequence import Call, LaunchSequence
from pyc.kernels.sort_blocks import MOST_ELEMENTS, Line, Sorter, tile_of, within

THREADS = 256
WARP = 32
TOGETHER = (16, 4)
"""Updates of one target that are read before the first of them is combined, in a long run and in a
shorter one."""
PIECE = 2048
"""Updates of one target that a block reads at once."""
LONG = 512
"""Updates behind a block's stretch from which on it does so."""
OWN_BYTES = 32 << 10
"""Bytes of an operand of which each block has its own in shared memory, where many meet in it."""
OWN_BLOCKS = 264
OWN_UPDATES = 1 << 16
FEW_ROWS = {"set": 512}
FEW = 32
"""Rows up to which they are done in order, by mode: as long as the launches of sorting take."""

Axis = tuple[int, int]
"""Extent and stride."""


@frozen()
class _Where:
    """Places in a flat buffer by row-major numbers: the axes, outermost first."""

    axes: tuple[Axis, ...]

    def at(self, number: Expr) -> Expr:
        """The place of a number."""
        place: Expr | None = None
        axes = _joined(self.axes)
        for k, (extent, stride) in enumerate(reversed(axes)):
            last = k == len(axes) - 1
            index = number if last else apply("remainder", number, const(extent))
            number = number if last else apply("quotient", number, const(extent))
            step = index if stride == 1 else index * stride
            place = step if place is None else place + step
        return const(0) if place is None else place


def _joined(axes: Sequence[Axis]) -> list[Axis]:
    """The axes without those of one element, neighbours in memory as one."""
    found: list[Axis] = []
    for extent, stride in axes:
        if extent == 1:
            continue
        if found and found[-1][1] == stride * extent:
            found[-1] = (found[-1][0] * extent, stride)
        else:
            found.append((extent, stride))
    return found


class Scatter:
    """The launches of one scatter into its operand, over flat buffers; a complex number is two
    neighbours."""

    def __init__(
        self, types: tuple[ArrayType, ...], axes: tuple[int, ...], position: int, mode: str
    ) -> None:
        x, update, first, *_ = types
        self.mode = mode
        self.monoid = SCATTER_MODES[mode]
        self.dtype = x.dtype.real
        parts = ((2, 1),) if x.dtype.is_complex else ()
        unit = 2 if x.dtype.is_complex else 1
        strides = [prod(x.shape[a + 1 :]) * unit for a in range(x.rank)]
        others = [a for a in range(x.rank) if a not in axes]
        self.extents = tuple(x.shape[a] for a in axes)
        self.targets = prod(self.extents)
        self.rows = first.size
        self.kept = prod(x.shape[a] for a in others) * unit
        # Where a target and an element of it lie in x, a row and its element in the update.
        self.target_place = _Where(tuple((x.shape[a], strides[a]) for a in axes))
        self.kept_place = _Where((*((x.shape[a], strides[a]) for a in others), *parts))
        behind = prod(x.shape[a] for a in others[position:]) * unit
        self.row_place = _Where(((self.rows, behind),))
        spread: list[Axis] = []
        for k, a in enumerate(others):
            inner = prod(x.shape[b] for b in others[k + 1 :]) * unit
            spread.append((x.shape[a], inner * self.rows if k < position else inner))
        self.update_place = _Where((*spread, *parts))
        self.x = Buffer("x", self.dtype, (x.size * unit,), role="inout")
        self.update = Buffer("update", self.dtype, (update.size * unit,), role="in")
        self.indices = tuple(
            Buffer(f"index{k}", dt.i64, (self.rows,), role="in") for k in range(len(axes))
        )

    @property
    def name(self) -> str:
        """That of the kernel that updates the operand."""
        return f"scatter_{self.mode}"

    @property
    def crowded(self) -> bool:
        """Whether many updates meet in a few places."""
        nbytes = self.targets * self.kept * self.dtype.itemsize
        return nbytes <= OWN_BYTES and self.rows * self.kept >= OWN_UPDATES

    @property
    def order_free(self) -> bool:
        """Whether the order of updates does not show."""
        if self.monoid is None or self.dtype.is_half:
            return False
        return not self.dtype.is_float or self.mode in ("min", "max")

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The operand that is updated, then the other arguments."""
        return (self.x, self.update, *self.indices)

    def new(self, row: Expr, element: Expr) -> Expr:
        """An element of a row of the update."""
        return Load(self.update, (self.row_place.at(row) + self.update_place.at(element),))

    def place(self, target: Expr, element: Expr) -> tuple[Expr]:
        """Where an element of a target lies in x."""
        return (self.target_place.at(target) + self.kept_place.at(element),)

    def combined(self, old: Expr, new: Expr) -> Expr:
        """Both in the type of `wide`, the result rounded to the elements' type."""
        assert self.monoid is not None
        (found,) = MONOIDS[self.monoid].combine((old,), (new,))
        return found.cast(self.dtype).cast(old.dtype) if self.dtype.is_half else found

    def all_combined(self, old: Expr, news: Sequence[Expr]) -> Expr:
        """`old` and then the others, one after the other."""
        for new in news:
            old = self.combined(old, new)
        return old

    def wide(self, value: Expr) -> Expr:
        """An element in the type that it is combined in."""
        return value.cast(dt.f32) if self.dtype.is_half else value

    def target(self, row: Expr) -> tuple[Body, Expr, Expr]:
        """Statements that read the indices of a row; its target, and whether it has one."""
        found = [Var(f"at{k}") for k in range(len(self.indices))]
        lets = tuple(Let(v, Load(b, (row,))) for v, b in zip(found, self.indices, strict=True))
        number: Expr = const(0)
        inside: Expr | None = None
        for var, extent in zip(found, self.extents, strict=True):
            number = number * extent + var
            here = (var >= 0) & (var < extent)
            inside = here if inside is None else inside & here
        assert inside is not None
        return lets, number, inside

    # --- without order

    def at_once(self) -> LaunchSequence:
        """A thread for each element of the update."""
        place = Var("place")
        return self._one(place, self.rows * self.kept, self._meeting(self.x, place))

    def _meeting(self, into: Buffer, place: Var) -> Body:
        """Accumulates an element of the update, by its number, into the operand or its like."""
        assert self.monoid is not None
        row, element = Var("row"), Var("element")
        lets, target, inside = self.target(row)
        value = Accumulate(into, self.place(target, element), self.new(row, element), self.monoid)
        return (*_pair(place, self.kept, row, element), *lets, If(inside, (value,)))

    def in_shares(self, blocks: int = OWN_BLOCKS) -> LaunchSequence:
        """Each block meets its share of the update in memory of its own, and then in the operand:
        few places that many meet in are not waited for by all."""
        assert self.monoid is not None
        (size,) = self.x.shape
        assert isinstance(size, int)
        total = self.rows * self.kept
        block, thread, turn = Var("block"), Var("thread"), Var("turn")
        own = Buffer("own", self.dtype, (size,), Space.SHARED)
        (nothing,) = neutral(MONOIDS[self.monoid], (self.dtype,))

        def each(statement: Callable[[Expr], Stmt]) -> Stmt:
            k = Var("k")
            at = k * THREADS + thread
            body = within([at < size], (statement(at),))
            return For(k, -(-size // THREADS), Kind.SERIAL, body)

        def pass_on(at: Expr) -> Stmt:
            found, monoid = Load(own, (at,)), self.monoid
            assert monoid is not None
            return If(found.differs(nothing), (Accumulate(self.x, (at,), found, monoid),))

        place = Var("place")
        share = (
            Let(place, (turn * blocks + block) * THREADS + thread),
            *within([place < total], self._meeting(own, place)),
        )
        inner = (
            each(lambda at: Store(own, (at,), nothing)),
            Barrier("block"),
            For(turn, -(-total // (blocks * THREADS)), Kind.SERIAL, share),
            Barrier("block"),
            each(pass_on),
        )
        body: Body = (Alloc(own, (For(thread, THREADS, Kind.THREAD, inner),)),)
        kernel = Kernel(self.name, self.buffers, (For(block, blocks, Kind.GRID, body),))
        return LaunchSequence(self.buffers, (Call(kernel, self.buffers),))

    # --- a few rows

    def in_turn(self) -> LaunchSequence:
        """A thread for each element of a row, which does them all."""
        element, row = Var("element"), Var("row")
        lets, target, inside = self.target(row)
        where = self.place(target, element)
        value = self.new(row, element)
        if self.monoid is not None:
            old = self.wide(Load(self.x, where))
            value = self.combined(old, self.wide(value)).cast(self.dtype)
        body = (*lets, If(inside, (Store(self.x, where, value),)))
        loop = For(row, self.rows, Kind.SERIAL, body)
        return self._one(element, self.kept, (loop,))

    # --- sorted

    def sorted(self, tile: Tile | None = None) -> LaunchSequence:
        """The rows by target, then a thread for each place in that order and each element. tile:
        instead of the one that is best."""
        keys = dt.u32 if self.targets < (1 << 32) - 1 else dt.u64
        shape = (1, self.rows)
        target = Buffer("targets", keys, shape, role="inout")
        sorted_targets = Buffer("sorted", keys, shape, role="inout")
        sorted_rows = Buffer("rows", dt.i32, shape, role="inout")
        row = Var("row")
        lets, number, inside = self.target(row)
        key = select(inside, number.cast(keys), greatest(keys))
        own = Buffer("targets", keys, shape, role="out")
        body = (*lets, Store(own, (const(0), row), key))
        find = elementwise("scatter_targets", (*self.indices, own), row, self.rows, body)
        sorter = Sorter(1, keys, tile or tile_of(1, self.rows, keys), lambda key: key, places=True)
        calls = sorter.first(
            Line(target, None), Line(sorted_targets, sorted_rows), self.rows, self.rows
        )
        meet = self._meet(keys)
        return LaunchSequence(
            self.buffers,
            (
                Call(find, (*self.indices, target)),
                *calls,
                Call(meet, (self.x, self.update, sorted_targets, sorted_rows)),
            ),
        )

    def _meet(self, keys: DType) -> Kernel:
        """Combines the rows of each target, which are neighbours; or takes the last."""
        runs = _Runs(self, keys)
        place, number, element = Var("place"), Var("number"), Var("element")
        target = Var("target", keys)
        if self.monoid is not None and self.kept == 1:
            return runs.of_blocks()
        if self.monoid is None:
            following = runs.target(minimum(number + 1, runs.last))
            here = number.equal(runs.last) | following.differs(target)
            where = self.place(target.cast(dt.i64), element)
            inner: Body = (Store(self.x, where, runs.new(number, element)),)
        else:
            here = runs.begins(number, target)
            inner = runs.of_thread(target, number, element)
        body = (
            *_pair(place, self.kept, number, element),
            Let(target, runs.target(number)),
            *within([here & runs.known(target)], inner),
        )
        return elementwise(self.name, runs.buffers, place, self.rows * self.kept, body)

    def _one(self, place: Var, count: int, body: Body) -> LaunchSequence:
        kernel = elementwise(self.name, self.buffers, place, count, body)
        return LaunchSequence(self.buffers, (Call(kernel, self.buffers),))


class _Runs:
    """Rows in the order of their targets: those of one target are a run."""

    def __init__(self, scatter: Scatter, keys: DType) -> None:
        self.scatter = scatter
        self.keys = keys
        self.last = scatter.rows - 1
        self.targets = Buffer("targets", keys, (1, scatter.rows), role="in")
        self.rows = Buffer("rows", dt.i32, (1, scatter.rows), role="in")

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Those of a kernel that combines them."""
        return (self.scatter.x, self.scatter.update, self.targets, self.rows)

    def target(self, number: Expr) -> Expr:
        """The target of a row, by its number in this order."""
        return Load(self.targets, (const(0), number))

    def new(self, number: Expr, element: Expr) -> Expr:
        """An element of its update."""
        return self.scatter.new(Load(self.rows, (const(0), number)).cast(dt.i64), element)

    def known(self, target: Expr) -> Expr:
        """Whether it is a target at all: rows without one come last."""
        return target.differs(greatest(self.keys))

    def begins(self, number: Expr, target: Expr) -> Expr:
        """Whether the row is the first of its run."""
        return number.equal(0) | self.target(maximum(number - 1, 0)).differs(target)

    def holds(self, number: Expr, target: Expr) -> Expr:
        """Whether there is such a row, and it has this target."""
        return (number <= self.last) & self.target(minimum(number, self.last)).equal(target)

    def of_thread(self, target: Expr, number: Expr, element: Expr) -> Body:
        """One thread combines an element of `target` with the rows from `number` on, one after the
        other; those of a long run are read several at a time."""
        scatter = self.scatter
        where = scatter.place(target.cast(dt.i64), element)
        total = scatter.wide(Load(scatter.x, where))
        body: list[Stmt] = []
        for count in (*TOGETHER, 1):
            start, after = Var("start"), Var("after")
            before, combined = Var("before", total.dtype), Var("combined", total.dtype)
            news = [Var("new", total.dtype) for _ in range(count)]
            lets = [Let(v, scatter.wide(self.new(start + k, element))) for k, v in enumerate(news)]
            carries = (
                Carry(start, number, start + count, after),
                Carry(before, total, scatter.all_combined(before, news), combined),
            )
            body.append(While(carries, self.holds(start + (count - 1), target), tuple(lets)))
            number, total = after, combined
        return (*body, Store(scatter.x, where, total.cast(scatter.dtype)))

    def of_blocks(self) -> Kernel:
        """A thread for each run that begins in a block's stretch of the rows; but for the last one,
        where it is long: all threads read it, piece by piece."""
        scatter = self.scatter
        block, thread, number = Var("block"), Var("thread"), Var("number")
        first, end = Var("first"), Var("end")
        final, long = Var("final", self.keys), Var("long", dt.b1)
        target, start, here = Var("target", self.keys), Var("start"), Var("here", dt.b1)
        zero = const(0)
        inside = minimum(number, self.last)
        alone = self.begins(inside, target) & self.known(target)
        own = alone & (number <= self.last) & ~(long & target.equal(final))
        low, high, found, rest = Var("low"), Var("high"), Var("found"), Var("rest")
        middle, earlier = Var("middle"), Var("earlier", dt.b1)
        bisect = While(
            (
                Carry(low, first, select(earlier, middle + 1, low), found),
                Carry(high, end, select(earlier, high, middle), rest),
            ),
            long & (low < high),
            (Let(middle, (low + high) >> 1), Let(earlier, self.target(middle) < final)),
        )
        where = scatter.place(final.cast(dt.i64), zero)
        old = scatter.wide(Load(scatter.x, where))
        piece = Buffer("piece", old.dtype, (PIECE,), Space.SHARED)
        assert scatter.monoid is not None
        (nothing,) = neutral(MONOIDS[scatter.monoid], (old.dtype,))
        position, beyond = Var("position"), Var("beyond")
        before, after = Var("before", old.dtype), Var("after", old.dtype)
        now, combined = Var("now", old.dtype), Var("combined", old.dtype)
        k, part = Var("k"), Var("part")
        at = k * THREADS + thread
        new = scatter.wide(self.new(minimum(position + at, self.last), zero))
        fetch = Store(piece, (at,), select(self.holds(position + at, final), new, nothing))
        several = TOGETHER[-1]
        news = [Var("new", old.dtype) for _ in range(several)]
        lets = tuple(Let(v, Load(piece, (part * several + n,))) for n, v in enumerate(news))
        carry = Carry(now, before, scatter.all_combined(now, news), combined)
        whole = While(
            (
                Carry(position, start, position + PIECE, beyond),
                Carry(before, old, combined, after),
            ),
            self.holds(position, final),
            (
                For(k, PIECE // THREADS, Kind.UNROLL, (fetch,)),
                Barrier("block"),
                For(part, PIECE // several, Kind.SERIAL, lets, (carry,)),
                Barrier("block"),
            ),
        )
        done = Store(scatter.x, where, after.cast(scatter.dtype))
        inner: Body = (
            Let(first, block * THREADS),
            Let(end, minimum(first + (THREADS - 1), self.last)),
            Let(final, self.target(end)),
            Let(long, self.known(final) & self.holds(end + LONG, final)),
            Let(number, first + thread),
            Let(target, self.target(inside)),
            If(own, self.of_thread(target, number, zero)),
            bisect,
            Let(start, found),
            Let(here, long & self.begins(start, final)),
            If(here, (whole, If(thread.equal(0), (done,)))),
        )
        blocks = -(-scatter.rows // THREADS)
        body: Body = (Alloc(piece, (For(thread, THREADS, Kind.THREAD, inner),)),)
        return Kernel(scatter.name, self.buffers, (For(block, blocks, Kind.GRID, body),))


def elementwise(
    name: str, buffers: tuple[Buffer, ...], place: Var, count: int, body: Body
) -> Kernel:
    """A thread for each 0 <= place < count."""
    threads = min(THREADS, max(1 << (count - 1).bit_length(), WARP))
    block, thread = Var("block"), Var("thread")
    inner: Body = (Let(place, block * threads + thread), *within([place < count], body))
    if count % threads == 0:
        inner = (inner[0], *body)
    loop = For(thread, threads, Kind.THREAD, inner)
    return Kernel(name, buffers, (For(block, -(-count // threads), Kind.GRID, (loop,)),))


def _pair(place: Var, inner: int, outer_var: Var, inner_var: Var) -> Body:
    """Binds the two parts of a number."""
    if inner == 1:
        return (Let(outer_var, place), Let(inner_var, const(0)))
    return (
        Let(outer_var, apply("quotient", place, const(inner))),
        Let(inner_var, apply("remainder", place, const(inner))),
    )


def scatter_blocks(
    types: tuple[ArrayType, ...],
    *,
    axes: tuple[int, ...],
    position: int,
    mode: str,
    in_place: bool = False,
) -> LaunchSequence | None:
    """The launches of a scatter into its operand; None for one that is not in place, or of more
    rows than can be sorted."""
    scatter = Scatter(types, axes, position, mode)
    if not in_place or scatter.rows >= MOST_ELEMENTS:
        return None
    if scatter.order_free and scatter.rows > 1:
        return scatter.in_shares() if scatter.crowded else scatter.at_once()
    if scatter.rows <= FEW_ROWS.get(mode, FEW):
        return scatter.in_turn()
    return scatter.sorted()
