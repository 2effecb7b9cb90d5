"""Reductions whose order cannot show in the bits, for one CPU thread, along the vector.

Extrema and their places, truths and sums of integers are free of the documented order. A `Walk`
takes several of the same length and reads the elements once for all of them, in turns of some
vectors. It binds the bits that the documented order gives.

* The vectors of a turn meet before they join what is carried from turn to turn.
* Sums of small integers, counts above all, are kept in as few bits as their elements are computed
  in, and added to wider totals before these can be full.
* Truths are known as soon as one of them decides: `Settled` looks at groups of turns until then.
* A place is kept as the number of the turn that brought it, beside the value of its lane. NaN is
  told by a flag; only then the first place of one is looked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Load, Shuffle, Var, apply, const, minimum, select
from pyc.ir.loops import Body, Buffer, Carry, For, If, Kind, Let, Reduce, Stmt, Store, While
from pyc.ir.order import MONOIDS, neutral
from pyc.ir.visit import Rewriter
from pyc.passes.elements import Components, Elements, Found, positions
from pyc.passes.nest import Nest
from pyc.passes.reduction import Allocate, bind, loads, stores
from pyc.passes.simpler_reductions import magnitude

AT_ONCE = 8
"""Vectors of a turn."""
FEW_AT_ONCE = 4
"""The same of several reductions, and where places are kept, of which each vector has a pair."""
TURNS = 16
"""Turns whose sum fits the bits that it is kept in."""
GROUP = 1 << 15
"""Elements that are looked at before it is asked whether the result is known."""
BETTER = {"argmax": ("gt", "maximum"), "argmin": ("lt", "minimum")}
"""How values are compared where a place is sought, and what the value at the place is."""

Region = tuple[Body, Reduce]
"""A reduction, and what is bound and stored on its way."""


def is_free(s: Reduce) -> bool:
    """Whether the order of a reduction cannot show."""
    return MONOIDS[s.monoid].idempotent or not any(r.dtype.is_float for r in s.results)


@frozen(eq=False)
class _Span:
    """What is walked: `count` turns of `at_once` vectors of `width` lanes from position `base` on,
    then whole vectors at `others`, then `ragged` elements up to position `end`."""

    base: Expr
    count: int | Expr
    at_once: int
    width: int
    lane: Var
    others: tuple[int, ...] = ()
    ragged: int = 0
    end: int = 0

    def position(self, turn: Expr, k: int) -> Expr:
        """The positions of vector k of a turn, in the turn's type."""
        first = (self.base + (self.lane + k * self.width)).cast(turn.dtype)
        return turn * Const(self.at_once * self.width, turn.dtype) + first

    def rest(self) -> list[Expr]:
        """The positions of the vectors behind the turns; the last one ends with the elements, and
        may have some of those before again."""
        starts = [*self.others, *([self.end - self.width] if self.ragged else [])]
        return [self.lane + start for start in starts]


class Fold:
    """A reduction by a monoid, with one vector for each component."""

    def __init__(self, elements: Elements, nest: Nest, at_once: int) -> None:
        s = elements.reduce
        self.results, self.monoid = s.results, MONOIDS[s.monoid]
        self.types = tuple(r.dtype for r in s.results)
        self.kept, self.limit = self.types, 0
        small, most = _small(s)
        self.elements = Elements(small, elements.before) if most else elements
        self.lanes = nest.width((small,))
        if most:
            self._keep_narrow(nest, most * at_once)

    def _keep_narrow(self, nest: Nest, most: int) -> None:
        """Sums that grow by `most` in a turn, in few bits."""
        (whole,), (small,) = self.types, self.elements.types
        signed = small.kind == "int"
        bits = 8
        while (1 << (bits - signed)) <= TURNS * most:
            bits *= 2
        self.lanes = min(self.lanes, nest.target.lanes(bits // 8))
        bits = 8 * nest.target.vector_bytes // self.lanes
        if bits < whole.bits:
            self.kept = (dt.signed_of(bits) if signed else dt.unsigned_of(bits),)
            self.limit = ((1 << (bits - signed)) - 1) // most

    @property
    def initial(self) -> Components:
        """What is kept before the first turn."""
        return neutral(self.monoid, self.kept)

    @property
    def totals(self) -> Components:
        """What is carried beside it where `limit` turns may fill it."""
        return neutral(self.monoid, self.types)

    def following(self, kept: Components, turn: Expr, values: Sequence[Components]) -> Components:
        """What is kept after a turn. Truths are counted one after the other: one more under a mask
        is one instruction, where sums of two of them need both as integers."""
        numbers = [_cast(v, self.kept) for v in values]
        if self.monoid.name == "add" and self.elements.types == (dt.b1,):
            return reduce(self.monoid.combine, numbers, kept)
        return self.monoid.combine(kept, self._met(numbers))

    def emptied(self, totals: Components, kept: Components) -> Components:
        """The totals with what was kept."""
        return self.monoid.combine(totals, _cast(kept, self.types))

    def finish(
        self, kept: Components | None, span: _Span, allocate: Allocate
    ) -> tuple[list[Stmt], list[Stmt]]:
        """Statements in the vector behind the turns, and behind the vector: they bind the results.
        kept: what the turns left, if there were any."""
        body, values = self._rest(span)
        found = [_cast(v, self.types) for v in ([kept] if kept is not None else []) + values]
        total = _shuffled(self._met(found), self.monoid.name, span.lane, span.width)
        lanes = [allocate(f"lanes{k}", t, (span.width,)) for k, t in enumerate(self.types)]
        body += stores(lanes, span.lane, total)
        return body, bind(self.results, loads(lanes, const(0)))

    def _rest(self, span: _Span) -> tuple[list[Stmt], list[Components]]:
        """The vectors behind the turns."""
        places = span.rest()
        found = [self.elements.at(p) for p in places]
        if span.ragged and not self.monoid.idempotent:
            position = span.lane + (span.end - span.ragged)
            missing = neutral(self.monoid, self.elements.types)
            found[-1] = self.elements.up_to(position, span.lane < span.ragged, missing)
        return [s for inside, _ in found for s in inside], [v for _, v in found]

    def _met(self, values: Sequence[Components]) -> Components:
        return _met(values, self.monoid.name)


def _small(s: Reduce) -> tuple[Reduce, int]:
    """A sum of small integers before they are widened, and their greatest magnitude; any other
    reduction as it is, and 0."""
    value = s.values[0]
    if s.monoid != "add" or not isinstance(value, Apply) or value.name != "cast":
        return s, 0
    (small,) = value.args
    most = magnitude(small.dtype)
    return (replace(s, results=(Var("x", small.dtype),), values=(small,)), most) if most else (s, 0)


class Place:
    """The place of an extremum of numbers: for each vector of a turn the values of its lanes and
    the turns that brought them; then, of floats, whether a lane had a NaN."""

    limit = 0

    def __init__(self, elements: Elements, nest: Nest, at_once: int) -> None:
        self.nest, self.at_once = nest, at_once
        s = elements.reduce
        self.results, (value, self.place) = s.results, s.values
        self.better, self.monoid = BETTER[s.monoid]
        alone = replace(s, results=s.results[:1], values=(value,), monoid=self.monoid)
        self.elements = Elements(alone, elements.before)
        narrow = value.dtype.bits <= 32 and self.elements.n < 1 << 31
        self.type = dt.i32 if narrow else dt.i64
        width = nest.width((self.elements.reduce,))
        self.lanes = min(width, nest.target.lanes(self.type.itemsize))
        self.is_float = value.dtype.is_float

    @property
    def initial(self) -> Components:
        """The worst values there are, as if the first turn had brought them; no NaN."""
        (worst,) = neutral(MONOIDS[self.monoid], self.elements.types)
        flag = (Const(False, dt.b1),) if self.is_float else ()
        return (worst, Const(0, self.type)) * self.at_once + flag

    totals = initial

    def following(self, kept: Components, turn: Expr, values: Sequence[Components]) -> Components:
        """What is kept after a turn."""
        number = turn.cast(self.type)
        found: list[Expr] = []
        for (x,), best, when in zip(values, kept[::2], kept[1::2], strict=False):
            better = apply(self.better, x, best)
            found += [select(better, x, best), select(better, number, when)]
        return (*found, *([kept[-1] | _nan(values)] if self.is_float else []))

    def emptied(self, totals: Components, kept: Components) -> Components:
        """There is nothing to empty."""
        return kept

    def finish(
        self, kept: Components | None, span: _Span, allocate: Allocate
    ) -> tuple[list[Stmt], list[Stmt]]:
        """As `Fold.finish`."""
        places = span.rest()
        found = [self.elements.at(p) for p in places]
        body = [s for inside, _ in found for s in inside]
        seen = [(v[0], p.cast(self.type)) for (_, v), p in zip(found, places, strict=True)]
        flags = [_nan([v]) for _, v in found] if self.is_float else []
        if kept is not None:
            for k in range(self.at_once):
                best, turn = kept[2 * k : 2 * k + 2]
                seen.append((best, span.position(turn, k)))
            flags += kept[2 * self.at_once :]
        top = seen[0][0]
        for x, _ in seen[1:]:
            top = select(apply(self.better, x, top), x, top)
        if flags:
            (nan,) = _met([(f,) for f in flags], "or")
            top = select(nan, Const(float("nan"), top.dtype), top)
        (top,) = _shuffled((top,), self.monoid, span.lane, span.width)
        most, at = Var("extremum", top.dtype), Var("place", self.type)
        firsts = [(select(x.equal(most), p, _none(self.type)),) for x, p in seen]
        (first,) = _shuffled(_met(firsts, "minimum"), "minimum", span.lane, span.width)
        lanes = [allocate("extremum", top.dtype, (span.width,))]
        lanes.append(allocate("place", self.type, (span.width,)))
        body += [Let(most, top), Let(at, first), *stores(lanes, span.lane, (most, at))]
        value, place = loads(lanes, const(0))
        after: list[Stmt] = [Let(self.results[0], value)]
        if self.is_float:
            after.append(self._first_nan(lanes[1], span, allocate))
        there = positions(self.elements.domain, place.cast(dt.i64))
        return body, [
            *after,
            *bind(self.results[1:], Rewriter(variables=there).exprs((self.place,))),
        ]

    def _first_nan(self, place: Buffer, span: _Span, allocate: Allocate) -> Stmt:
        """Stores the first place of a NaN, if there is one."""
        first = Var("first", self.type)
        fold = Fold(_Nans(self.elements, first), self.nest, self.at_once)
        walk = Walk([fold], self.at_once, allocate)
        body = walk.over(replace(span, lane=Var("l")))
        extremum = self.results[0]
        return If(extremum.differs(extremum), (*body, Store(place, (const(0),), first)))


class _Nans(Elements):
    """The positions of NaN among some elements, in the type of what the first of them is."""

    def __init__(self, elements: Elements, first: Var) -> None:
        found = replace(elements.reduce, results=(first,), monoid="minimum")
        super().__init__(found, elements.before)
        self._numbers = elements

    def at(self, position: Expr, also: Mapping[Var, Expr] | None = None) -> Found:
        """The position where the element is NaN, else what is behind all positions."""
        inside, (x,) = self._numbers.at(position, also)
        (type_,) = self.types
        return inside, (select(x.differs(x), position.cast(type_), _none(type_)),)


def _none(dtype: DType) -> Const:
    """What is behind all positions."""
    return Const((1 << (dtype.bits - 1)) - 1, dtype)


def _nan(values: Sequence[Components]) -> Expr:
    """Whether one of some numbers is NaN."""
    (found,) = _met([(x.differs(x),) for (x,) in values], "or")
    return found


def _met(values: Sequence[Components], monoid: str) -> Components:
    """The combination of some vectors, by pairs."""
    found, combine = list(values), MONOIDS[monoid].combine
    while len(found) > 1:
        odd = found[-1:] if len(found) % 2 else []
        found = [*(combine(a, b) for a, b in zip(found[::2], found[1::2], strict=False)), *odd]
    return found[0]


def _shuffled(value: Components, monoid: str, lane: Var, width: int) -> Components:
    """The combination of all lanes, in each of them."""
    while width > 1:
        width //= 2
        moved = tuple(Shuffle(x, lane, width) for x in value)
        value = MONOIDS[monoid].combine(value, moved)
    return value


def _cast(values: Components, types: Sequence[DType]) -> Components:
    """Values in other types."""
    return tuple(v if v.dtype is t else v.cast(t) for v, t in zip(values, types, strict=True))


def is_settled_early(regions: Sequence[Region]) -> bool:
    """Whether it is one reduction of truths, or the first place of one, and nothing is stored on
    its way."""
    if len(regions) != 1:
        return False
    ((before, s),) = regions
    truths = s.monoid in ("and", "or") and s.results[0].dtype is dt.b1
    return (truths or _is_first(s)) and all(isinstance(b, Let) for b in before)


def _is_first(s: Reduce) -> bool:
    """Whether it is the first place in a line where something holds, the greatest number where it
    does so nowhere."""
    (value, *more), (var, *others) = s.values, [v for v, _ in s.domain]
    if s.monoid != "minimum" or more or others or not isinstance(value, Apply):
        return False
    if value.name != "select":
        return False
    _, place, none = value.args
    if not isinstance(none, Const) or none.value != _none(value.dtype).value:
        return False
    while isinstance(place, Apply) and place.name == "cast" and place.dtype.is_integer:
        (place,) = place.args
    return place is var


def is_known(s: Reduce, found: Expr) -> Expr:
    """Whether what was read so far decides the result."""
    if s.monoid == "minimum":
        return found.differs(_none(found.dtype))
    return found if s.monoid == "or" else ~found


class Settled:
    """One reduction whose elements are read, in order, until the result is known. Of the first
    place where something holds, what is asked of a group is whether it does so anywhere."""

    def __init__(self, region: Region, nest: Nest, allocate: Allocate) -> None:
        self.region, self._nest, self._allocate = region, nest, allocate
        s = region[1]
        self._asked = s
        self._is_place = s.monoid == "minimum"
        if self._is_place:
            (value,) = s.values
            assert isinstance(value, Apply)
            self._asked = replace(s, values=value.args[:1], results=(_truth(),), monoid="or")
        walk, _ = self._walk(s)
        asked, _ = self._walk(self._asked)
        self.n, self.turn = walk.n, max(walk.turn, asked.turn)

    def _walk(self, s: Reduce) -> tuple[Walk, Var]:
        """A walk for a reduction of the region's elements, and the result that it binds."""
        found = Var("found", s.results[0].dtype)
        fold = Fold(Elements(replace(s, results=(found,)), self.region[0]), self._nest, AT_ONCE)
        return Walk([fold], AT_ONCE, self._allocate), found

    def whole(self, start: int = 0) -> list[Stmt]:
        """As `Walk.whole`."""
        (_, s), body = self.region, list[Stmt]()
        monoid = MONOIDS[s.monoid]
        result: Expr = neutral(monoid, (s.results[0].dtype,))[0]
        turns = 0 if start else self.n // self.turn
        if turns:
            body, result = self._until(const(0), turns)
        if start + turns * self.turn < self.n:
            walk, rest = self._walk(s)
            body += walk.whole(start + turns * self.turn)
            (result,) = monoid.combine((result,), (rest,))
        return [*body, *bind(s.results, (result,))]

    def turns(self, first: Expr, count: int | Expr) -> list[Stmt]:
        """As `Walk.turns`."""
        body, result = self._until(first, count)
        return [*body, *bind(self.region[1].results, (result,))]

    def _until(self, first: Expr, count: int | Expr) -> tuple[list[Stmt], Expr]:
        """Groups of the turns from `first` on, until the result is known."""
        size = max(GROUP // self.turn, 1)
        all_ = count if isinstance(count, Expr) else const(count)
        group, done = Var("group"), Var("done")
        before, after = _truth(), _truth()

        def read(s: Reduce, number: Expr) -> tuple[list[Stmt], Var]:
            """A reduction of a group."""
            walk, found = self._walk(s)
            times = self.turn // walk.turn
            here = minimum(const(size), all_ - number * size)
            return walk.turns((first + number * size) * times, here * times), found

        body, found = read(self._asked, group)
        monoid = MONOIDS[self._asked.monoid]
        (following,) = monoid.combine((before,), (found,))
        (start,) = neutral(monoid, (dt.b1,))
        carries = (
            Carry(group, const(0), group + 1, done),
            Carry(before, start, following, after),
        )
        more = (group * size < all_) & ~is_known(self._asked, before)
        groups = While(carries, more, tuple(body))
        if not self._is_place:
            return [groups], after
        place, result = read(self.region[1], done - 1)
        kept = self._allocate("first", result.dtype, (1,))
        there = If(
            after,
            (*place, Store(kept, (const(0),), result)),
            (Store(kept, (const(0),), _none(result.dtype)),),
        )
        return [groups, there], Load(kept, (const(0),))


def _truth() -> Var:
    return Var("truth", dt.b1)


def walk_of(regions: Sequence[Region], nest: Nest, allocate: Allocate) -> Walk | Settled:
    """The walk that makes some free reductions of equal length."""
    if is_settled_early(regions):
        settled = Settled(regions[0], nest, allocate)
        if settled.n > GROUP:
            return settled
    places = [s.monoid in BETTER and s.values[0].dtype is not dt.b1 for _, s in regions]
    at_once = FEW_AT_ONCE if len(regions) > 1 or any(places) else AT_ONCE
    items: list[Fold | Place] = []
    for (before, s), place in zip(regions, places, strict=True):
        items.append((Place if place else Fold)(Elements(s, before), nest, at_once))
    return Walk(items, at_once, allocate)


class Walk:
    """Free reductions of equal length, in one walk over their elements."""

    def __init__(self, items: Sequence[Fold | Place], at_once: int, allocate: Allocate) -> None:
        self.items, self.at_once, self._allocate = items, at_once, allocate
        self.n = items[0].elements.n
        self.width = min(item.lanes for item in items)
        self.turn = at_once * self.width
        """Elements of a turn."""

    def whole(self, start: int = 0) -> list[Stmt]:
        """Statements that bind the results for all elements from `start` on; there are some."""
        n = self.n - start
        width = min(self.width, 1 << (n.bit_length() - 1))
        vectors, ragged = divmod(n, width)
        count = vectors // self.at_once
        others = tuple(start + v * width for v in range(count * self.at_once, vectors))
        lane = Var("l")
        shape = (const(start), count, self.at_once, width, lane, others, ragged, self.n)
        return self.over(_Span(*shape))

    def turns(self, first: Expr, count: int | Expr) -> list[Stmt]:
        """The same for the elements of `count` > 0 turns from turn `first` on."""
        return self.over(_Span(first * self.turn, count, self.at_once, self.width, Var("l")))

    def over(self, span: _Span) -> list[Stmt]:
        """The same for a span."""
        kept: list[Components | None] = [None] * len(self.items)
        body: list[Stmt] = []
        if not isinstance(span.count, int) or span.count:
            loop, kept = self._all_turns(span)
            body.append(loop)
        after: list[Stmt] = []
        for item, found in zip(self.items, kept, strict=True):
            inside, behind = item.finish(found, span, self._allocate)
            body += inside
            after += behind
        return [For(span.lane, span.width, Kind.VECTOR, tuple(body)), *after]

    def _all_turns(self, span: _Span) -> tuple[For, list[Components | None]]:
        """The loop over the turns, and what it leaves of each reduction."""
        limit = min((item.limit for item in self.items if item.limit), default=0)
        count = span.count
        if not limit or (isinstance(count, int) and count <= limit):
            return self._turns(span, None, count, [item.initial for item in self.items])
        some = Var("some")
        initial = [item.totals for item in self.items]
        totals = [tuple(Var("total", v.dtype) for v in values) for values in initial]
        starts: list[Components] = [
            item.initial if item.limit else values
            for item, values in zip(self.items, totals, strict=True)
        ]
        all_ = count if isinstance(count, Expr) else const(count)
        here = minimum(const(limit), all_ - some * limit)
        inner, kept = self._turns(span, some * limit, here, starts)
        following: list[Components] = []
        for item, before, found in zip(self.items, totals, kept, strict=True):
            assert found is not None
            following.append(item.emptied(before, found))
        several: int | Expr = apply("quotient", all_ + (limit - 1), const(limit))
        if isinstance(count, int):
            several = -(-count // limit)
        return _loop(some, several, (inner,), totals, initial, following)

    def _turns(
        self, span: _Span, before: Expr | None, count: int | Expr, initial: Sequence[Components]
    ) -> tuple[For, list[Components | None]]:
        """A loop over `count` turns, behind `before` others."""
        i = Var("i")
        turn = i if before is None else before + i
        places = [span.position(turn, k) for k in range(self.at_once)]
        body: list[Stmt] = []
        kept = [tuple(Var("kept", v.dtype) for v in values) for values in initial]
        following: list[Components] = []
        for item, names in zip(self.items, kept, strict=True):
            found = [item.elements.at(p) for p in places]
            body += [s for inside, _ in found for s in inside]
            following.append(item.following(names, turn, [v for _, v in found]))
        return _loop(i, count, body, kept, initial, following)


def _loop(
    var: Var,
    extent: int | Expr,
    body: Sequence[Stmt],
    kept: Sequence[tuple[Var, ...]],
    initial: Sequence[Components],
    following: Sequence[Components],
) -> tuple[For, list[Components | None]]:
    """A loop that carries what reductions keep, and what it leaves of each."""
    carries: list[Carry] = []
    results: list[Components | None] = []
    for names, start, after in zip(kept, initial, following, strict=True):
        left = tuple(Var("left", v.dtype) for v in names)
        columns = zip(names, start, after, left, strict=True)
        carries += [Carry(v, a, n, r) for v, a, n, r in columns]
        results.append(left)
    return For(var, extent, Kind.SERIAL, tuple(body), tuple(carries)), results
