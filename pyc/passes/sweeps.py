"""Sweeps: loops over the vectors of a tile of columns, one or a few rows at a time.

`Sweeps` knows the columns of a row program (the positions of its last kept loop, which are
neighbours in memory), cuts them into tiles, and makes the loops over a tile and the arrays that
columns keep values in between loops. `columns` and `column_reduction` say what the loops do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Var, const, minimum
from pyc.ir.loops import Body, Buffer, For, If, Kind, Space, Stmt
from pyc.ir.visit import Rewriter
from pyc.passes.elements import Components
from pyc.passes.nest import Loop, Nest, instructions
from pyc.passes.reduction import loads, stores

ROW_BYTES = 1 << 12
"""Bytes of one row of a tile from which streams are long enough."""
PAGE = 4096
"""Bytes after which addresses share a set of the first cache."""
STRAIGHT = 4
"""Vectors of a narrow tile that are written out: a loop over so few takes a tenth of the time of
twenty instructions."""
STRAIGHT_WORK = 64
"""Instructions per element of a program up to which they are."""
PAD = 512
"""Elements in front of an array on the stack, which begins a page: arrays that NumPy makes begin
near the start of one, and addresses that are equal within a page get in each other's way."""

Each = Callable[[Expr, Expr], list[Stmt]]
"""(place in the tile, column) -> the statements of one column."""


@frozen()
class Tile:
    """Tiles of `size` columns; `number` is the variable of the loop over them."""

    size: int
    number: Var
    tiles: int

    @property
    def loop(self) -> Loop:
        """The loop over the tiles."""
        return Loop(self.number, self.tiles)


@frozen()
class Held:
    """What columns keep between sweeps: a buffer per component, with one element per slot and
    column. index: (slot, place in the tile, column) -> element."""

    buffers: tuple[Buffer, ...]
    index: Callable[[Expr, Expr, Expr], Expr]

    def load(self, slot: Expr, at: Expr, column: Expr) -> Components:
        """The components of a slot."""
        return loads(self.buffers, self.index(slot, at, column))

    def store(self, slot: Expr, at: Expr, column: Expr, values: Components) -> list[Stmt]:
        """Statements that store the components of a slot."""
        return stores(self.buffers, self.index(slot, at, column), values)


@frozen()
class Step:
    """Statements for one tile, inside loops whose iterations are independent, with local arrays."""

    name: str
    tile: Tile
    loops: tuple[Loop, ...]
    body: tuple[Stmt, ...]
    arrays: tuple[Buffer, ...]


class Sweeps:
    """The columns of the last of some loops. width: lanes of a vector; itemsize: bytes of the
    widest element; staged: whether values between sweeps go from launch to launch; large: whether
    there is work for several tasks; once: whether no sweep may do a column again; again: whether
    the program goes over its rows several times."""

    def __init__(self, nest: Nest, loops: Sequence[Loop], core: Body) -> None:
        self.nest, self._core = nest, core
        self.outer, self.inner = list(loops[:-1]), loops[-1]
        self.columns = self.inner.extent
        self.kept = prod(x.extent for x in loops)
        self.width = min(nest.width(core), 1 << (self.columns.bit_length() - 1))
        self.itemsize = nest.target.vector_bytes // nest.width(core)
        self._straight = STRAIGHT if instructions(core) <= STRAIGHT_WORK else 1
        self.staged = self.large = self.once = self.again = False
        self.arrays: list[Buffer] = []
        self.scratch: list[Buffer] = []
        self._lasting: dict[Var, Held] = {}
        self._rows: dict[Buffer, Held] = {}

    def flattened(self, rows: int) -> Sweeps:
        """Sweeps whose columns are those of `rows` neighbouring rows, one row after the other."""
        loop = Loop(self.inner.var, rows * self.columns)
        made = Sweeps(self.nest, [*self.outer, loop], self._core)
        made.staged, made.large = self.staged, self.large
        made.once, made.again = self.once, self.again
        made.arrays, made.scratch = self.arrays, self.scratch
        return made

    def tiles(self, wanted: int) -> Tile:
        """About `wanted` tiles of whole vectors, none narrower than a vector."""
        while True:
            size = -(-self.columns // (wanted * self.width)) * self.width
            count = -(-self.columns // size)
            if count == 1 or self.columns - (count - 1) * size >= self.width:
                return Tile(size, self.nest.simplify.variable("tile", count), count)
            wanted = count - 1

    def sweep(
        self, tile: Tile, body: Each, *, once: bool = False, straight: bool = False
    ) -> list[Stmt]:
        """body(place in the tile, column) for all columns of a tile. The last vector of all columns
        overlaps the one before where they do not fill it, with places of its own; `once`: lanes are
        masked there instead, since the body may read what it stores. straight: few vectors are
        written out."""
        once = once or self.once
        width, per = self.width, tile.size // self.width
        ragged = self.columns % width
        whole, vectors = self.columns // width, -(-self.columns // width)
        if ragged and once:
            vectors = whole
        v, lane = Var("v"), Var("lane")
        count: int | Expr = per
        if vectors < tile.tiles * per:
            count = vectors
            if tile.tiles > 1:
                count = minimum(const(per), const(vectors) - tile.number * per)
        start = (tile.number * per + v) * width if tile.tiles > 1 else v * width
        if ragged and not once:
            start = minimum(start, self.columns - width)
        if count == 1:
            start = Rewriter(variables={v: const(0)}).expr(start)
            place: Expr = lane
        else:
            place = v * width + lane
        inner: Stmt = For(lane, width, Kind.VECTOR, tuple(body(place, start + lane)))
        result: list[Stmt] = [inner]
        if count != 1:
            short = straight and isinstance(count, int) and count <= self._straight
            result = [For(v, count, Kind.UNROLL if short else Kind.SERIAL, (inner,))]
        if not ragged or not once:
            return result
        lane = Var("lane")
        place = (const(whole) - tile.number * per) * width + (lane + (width - ragged))
        masked = If(lane < ragged, tuple(body(place, lane + whole * width)))
        rest: Stmt = For(lane, width, Kind.VECTOR, (masked,))
        if tile.tiles > 1:
            rest = If(tile.number.equal(tile.tiles - 1), (rest,))
        return [*result, rest]

    def local(
        self, name: str, types: Sequence[DType], slots: int, tile: Tile, arrays: list[Buffer]
    ) -> Held:
        """Arrays on the stack for a tile of columns, added to `arrays`."""
        size = slots * tile.size + PAD
        made = tuple(
            Buffer(f"{name}{k}", t, (size,), Space.STACK, alignment=PAGE)
            for k, t in enumerate(types)
        )
        arrays += made
        return Held(made, lambda slot, at, column: slot * tile.size + at + PAD)

    def between(
        self, name: str, types: Sequence[DType], slots: int, tile: Tile, arrays: list[Buffer]
    ) -> Held:
        """Arrays that other steps read: scratch buffers of all columns if these are launches of
        their own. No column may be stored twice with other values, since vectors overlap."""
        if not self.staged:
            return self.local(name, types, slots, tile, arrays)
        first = len(self.scratch)
        made = tuple(
            Buffer(f"{name}{first + k}", t, (slots * self.kept,), role="inout", alignment=64)
            for k, t in enumerate(types)
        )
        self.scratch += made
        return Held(made, lambda slot, at, column: slot * self.kept + self._number(column))

    def _number(self, column: Expr) -> Expr:
        """The number of a kept position."""
        if not self.outer:
            return column
        position: Expr = const(0)
        for loop in self.outer:
            position = position * loop.extent + loop.var
        return position * self.columns + column

    def hold(self, buffers: Sequence[Buffer], tile: Tile) -> None:
        """From now on, row buffers stand in arrays with an element per column."""
        for b in buffers:
            (rows,) = b.shape
            assert isinstance(rows, int)
            self._rows[b] = self.local(b.name, [b.dtype], rows, tile, self.arrays)

    def placed(self, at: Expr, column: Expr) -> Rewriter:
        """What puts accesses to row buffers that are held into their arrays."""

        def buffers(b: Buffer) -> Buffer:
            return self._rows[b].buffers[0] if b in self._rows else b

        def index(b: Buffer, old: tuple[Expr, ...]) -> tuple[Expr, ...]:
            return (self._rows[b].index(old[0], at, column),) if b in self._rows else old

        return Rewriter(buffers=buffers, index=index)

    def keep(self, lasting: dict[Var, Held]) -> None:
        """From now on, variables stand in arrays."""
        self._lasting |= lasting

    def binding(self, at: Expr, column: Expr) -> dict[Var, Expr]:
        """What the program's variables stand for in a column."""
        found: dict[Var, Expr] = {self.inner.var: column}
        for var, held in self._lasting.items():
            (found[var],) = held.load(const(0), at, column)
        return found
