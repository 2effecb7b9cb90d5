"""Free kernels of softmax and layer norm along the first axis: a few sweeps over tiles of columns.

Running values of a tile lie in memory, L1 by intent; rows are read as forward streams, eight at a
time where nothing is stored. Softmax keeps its exponentials in the output.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.contracts.reduction.arithmetic import Arithmetic
from benchmarks.contracts.reduction.columns import each_tile
from benchmarks.contracts.reduction.writer import Writer

AT_ONCE = 8
Combine = Callable[[str, str], str]


class _Tile:
    """`vectors` vectors of columns from `base` on; `last` lanes of the last one."""

    def __init__(self, w: Writer, columns: int, base: str | int, vectors: int, last: int) -> None:
        self.w, self.columns, self.base, self.vectors, self.last = w, columns, base, vectors, last

    def held(self) -> str:
        """Memory for a value per column."""
        return self.w.alloca(self.w.vector, max(self.vectors, 2))

    def at(self, array: str, row: str | int, v: str | int) -> str:
        """The address of a vector of a row."""
        w = self.w
        return w.at(array, w.sum(w.sum(w.mul(row, self.columns), self.base), w.mul(v, w.width)))

    def across(self, each: Callable[[str | int, int], None]) -> None:
        """each(vector, lanes present) for the vectors of the tile."""
        clean = self.vectors if self.last == self.w.width else self.vectors - 1
        if clean:
            with self.w.loop(0, clean) as v:
                each(v, self.w.width)
        if clean < self.vectors:
            each(clean, self.last)

    def place(self, held: str, v: str | int) -> str:
        return self.w.at(held, v, self.w.vector)

    def folded(
        self,
        rows: int,
        held: str,
        first: str,
        element: Callable[[str, str | int], str],
        op: Combine,
    ) -> None:
        """held = op over all rows of element(x, vector)."""
        w = self.w

        def start(v: str | int, _: int) -> None:
            w.store(first, self.place(held, v))

        self.across(start)

        def more(row: str | int, count: int) -> None:
            def each(v: str | int, present: int) -> None:
                found = [
                    element(w.load(self.at("%x", w.sum(row, u), v), present), v)
                    for u in range(count)
                ]
                while len(found) > 1:
                    pairs = [op(a, b) for a, b in zip(found[::2], found[1::2], strict=False)]
                    found = pairs + found[len(pairs) * 2 :]
                place = self.place(held, v)
                w.store(op(w.load(place), found[0]), place)

            self.across(each)

        whole = rows // AT_ONCE * AT_ONCE
        with w.loop(0, whole, AT_ONCE) as row:
            more(row, AT_ONCE)
        if rows > whole:
            more(whole, rows - whole)


def softmax_first(w: Writer, rows: int, columns: int, tile: int, arithmetic: Arithmetic) -> str:
    """Text of softmax over the first axis of (rows, columns): top, exp and sum, quotients."""

    def one(base: str | int, vectors: int, last: int) -> None:
        t = _Tile(w, columns, base, vectors, last)
        top, total = t.held(), t.held()
        t.folded(
            rows, top, w.splat(float("-inf")), lambda x, _: x, lambda a, b: w.call("maximum", a, b)
        )
        t.across(lambda v, _: w.store(w.splat(-0.0), t.place(total, v)))
        with w.loop(0, rows) as row:

            def exponentials(v: str | int, present: int) -> None:
                x = w.load(t.at("%x", row, v), present)
                e = arithmetic.exp(w, w.binary("fsub", x, w.load(t.place(top, v))))
                w.store(e, t.at("%out", row, v), present)
                w.store(w.binary("fadd", w.load(t.place(total, v)), e), t.place(total, v))

            t.across(exponentials)
        _divide(
            t, rows, total, lambda place, _, present: w.load(place, present), "%out", arithmetic
        )

    each_tile(w, columns, tile, one)
    return w.text()


def layer_norm_first(w: Writer, rows: int, columns: int, tile: int, arithmetic: Arithmetic) -> str:
    """Text of (x - mean) / sqrt(var + 1e-5) over the first axis of (rows, columns)."""

    def add(a: str, b: str) -> str:
        return w.binary("fadd", a, b)

    def one(base: str | int, vectors: int, last: int) -> None:
        t = _Tile(w, columns, base, vectors, last)
        mean, spread = t.held(), t.held()
        t.folded(rows, mean, w.splat(-0.0), lambda x, _: x, add)

        def divided(held: str) -> None:
            def each(v: str | int, _: int) -> None:
                place = t.place(held, v)
                w.store(w.binary("fdiv", w.load(place), w.splat(rows)), place)

            t.across(each)

        divided(mean)

        def squared(x: str, v: str | int) -> str:
            away = w.binary("fsub", x, w.load(t.place(mean, v)))
            return w.binary("fmul", away, away)

        t.folded(rows, spread, w.splat(-0.0), squared, add)
        divided(spread)

        def root(v: str | int, _: int) -> None:
            place = t.place(spread, v)
            w.store(w.call("sqrt", w.binary("fadd", w.load(place), w.splat(1e-5))), place)

        t.across(root)

        def away(place: str, v: str | int, present: int) -> str:
            return w.binary("fsub", w.load(place, present), w.load(t.place(mean, v)))

        _divide(t, rows, spread, away, "%x", arithmetic)

    each_tile(w, columns, tile, one)
    return w.text()


def _divide(
    t: _Tile,
    rows: int,
    held: str,
    element: Callable[[str, str | int, int], str],
    source: str,
    arithmetic: Arithmetic,
) -> None:
    """out = element(address in source, vector) over the held divisors, row by row."""
    w = t.w

    def divisor(v: str | int, _: int) -> None:
        place = t.place(held, v)
        w.store(arithmetic.divisor(w, w.load(place)), place)

    t.across(divisor)
    with w.loop(0, rows) as row:

        def quotients(v: str | int, present: int) -> None:
            x = element(t.at(source, row, v), v, present)
            found = arithmetic.divided(w, x, w.load(t.place(held, v)))
            w.store(found, t.at("%out", row, v), present)

        t.across(quotients)
