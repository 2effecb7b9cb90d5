"""What a kernel does, counted from the kernel that runs: bytes read and written, and flops.

Takes a kernel of a Plan and counts its statements, without running it: how often each is executed
follows from the loops around it. *Loads* and *stores* are accesses to the elements of parameters;
the *bytes* of a parameter are those of the elements that they touch, each once (`footprint.py`).
*Flops* are additions, subtractions, multiplications, divisions, square roots, minima and maxima of
floats, `fma` being two, in every lane of every iteration: the padding of a tile counts, the rare
side of a `rare_select` does not. What a `While` repeats is counted for one iteration, by itself.

Loop variables that extents and conditions depend on are followed value by value, the *points*, up
to `MOST_POINTS`; all others multiply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from pyc.explanation.footprint import (
    Runs,
    Somewhere,
    address,
    bent,
    elements,
    size_of,
    touched,
)
from pyc.frozen import frozen, replace
from pyc.ir import order
from pyc.ir.defined import CALLED
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Apply, Const, Expr, Load, Shuffle, Var, postorder, substitute
from pyc.ir.loops import (
    TILE,
    Accumulate,
    Alloc,
    Body,
    Buffer,
    Copy,
    Cumulate,
    Extent,
    Fail,
    For,
    If,
    Kernel,
    Let,
    PairsMultiply,
    Reduce,
    Stmt,
    Store,
    TileMultiply,
    While,
    expressions,
    spine,
    walk,
)

Array = np.ndarray[Any, Any]
MOST_POINTS = 1 << 20
"""Points beyond which conditions are taken as true and extents at their greatest."""
FLOPS = dict.fromkeys(("add", "sub", "mul", "div", "sqrt", "minimum", "maximum"), 1) | {
    "narrow_sqrt": 1,
    "fma": 2,
    "fma_pairs": 4,
}


@frozen()
class Access:
    """What a kernel does to one of its parameters. loads, stores: elements, each time; read,
    written: bytes of different elements."""

    loads: int
    stores: int
    read: int
    written: int


@frozen()
class Counts:
    """What a kernel does. accesses: by parameter; flops: by element type; repeated: the flops of
    one iteration of its `While` loops; exact: whether no condition and no address depends on data;
    tiles: whether it multiplies tiles with tensor cores, whose flops are not in these."""

    accesses: tuple[Access, ...]
    flops: dict[str, int]
    repeated: dict[str, int]
    exact: bool
    tiles: bool

    @property
    def read(self) -> int:
        """Bytes read."""
        return sum(a.read for a in self.accesses)

    @property
    def written(self) -> int:
        """Bytes written."""
        return sum(a.written for a in self.accesses)


@frozen(eq=False)
class _Frame:
    """Where a statement stands. points: values of variables, point by point; extents: of the loops
    around whose variables are no points, at each point; weight: how often each point is executed;
    lets: the definitions of named indices; repeated: within a `While`."""

    points: dict[Var, Array]
    extents: dict[Var, Array]
    weight: Array
    lets: dict[Var, Expr]
    repeated: bool = False

    def picked(self, which: Array) -> _Frame:
        """The frame of some of its points, some of them several times."""
        return replace(
            self,
            points={v: x[which] for v, x in self.points.items()},
            extents={v: x[which] for v, x in self.extents.items()},
            weight=self.weight[which],
        )


class _Counter:
    def __init__(self, kernel: Kernel) -> None:
        self.number = {b: k for k, b in enumerate(kernel.buffers)}
        self.loads = [0] * len(kernel.buffers)
        self.stores = [0] * len(kernel.buffers)
        self.read: list[list[Runs | Somewhere]] = [[] for _ in kernel.buffers]
        self.written: list[list[Runs | Somewhere]] = [[] for _ in kernel.buffers]
        self.flops: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()
        self.exact = True
        self.tiles = False
        self.deciding = _deciding(kernel)

    # --- statements -------------------------------------------------------------------------------

    def body(self, body: Body, frame: _Frame) -> _Frame:
        """Counts statements; the frame with the names that they have bound."""
        heads, innermost = spine(body)
        for before, _ in heads:
            frame = self.body(before, frame)
        for s in innermost:
            if isinstance(s, Let):
                frame = self.let(s, frame)
            else:
                self.statement(s, frame)
        return frame

    def statement(self, s: Stmt, frame: _Frame) -> None:
        if isinstance(s, For):
            self.loop(s, frame)
        elif isinstance(s, While):
            self.values([c.initial for c in s.carried], frame)
            inner = replace(frame, repeated=True)
            self.values([s.condition], inner)
            self.values([c.next for c in s.carried], self.body(s.body, inner))
        elif isinstance(s, If):
            self.branch(s, frame)
        elif isinstance(s, Alloc):
            self.body(s.body, frame)
        elif isinstance(s, Reduce):
            self.reduction(s, frame)
        elif isinstance(s, Cumulate):
            self.cumulation(s, frame)
        elif isinstance(s, (Store, Accumulate)):
            self.values([*s.index, s.value], frame)
            self.access(s.buffer, s.index, frame, store=True)
            if isinstance(s, Accumulate):
                self.access(s.buffer, s.index, frame)
                self.combine(s.monoid, [s.value], frame)
        elif isinstance(s, Copy):
            self.copy(s, frame)
        elif isinstance(s, Fail):
            self.values([s.condition, s.value], frame)
        elif isinstance(s, TileMultiply):
            self.tiles = True
        elif isinstance(s, PairsMultiply):
            self.values(expressions(s), frame)
            into = self.repeated if frame.repeated else self.flops
            products = prod(s.tiles) * TILE * TILE * 2 * TILE
            into[s.sums.dtype.short] += 2 * products * int(frame.weight.sum())
        else:
            self.values(expressions(s), frame)

    def let(self, s: Let, frame: _Frame) -> _Frame:
        self.values([s.value], frame)
        if s.value.dtype.is_float:
            return frame
        (value,) = substitute([s.value], frame.lets)
        if any(isinstance(n, (Load, Shuffle)) for n in postorder([value])):
            return frame
        return replace(frame, lets={**frame.lets, s.var: value})

    def loop(self, s: For, frame: _Frame) -> None:
        self.values([c.initial for c in s.carried], frame)
        extent = self.extent(s.extent, frame)
        most = int(extent.sum())
        if s.var in self.deciding and most <= MOST_POINTS:
            which = np.repeat(np.arange(len(extent)), extent)
            first = np.repeat(np.cumsum(extent) - extent, extent)
            inner = frame.picked(which)
            inner.points[s.var] = np.arange(most) - first
        else:
            self.exact &= s.var not in self.deciding
            inner = replace(
                frame,
                extents={**frame.extents, s.var: extent},
                weight=frame.weight * extent,
            )
        self.values([c.next for c in s.carried], self.body(s.body, inner))

    def extent(self, extent: Extent, frame: _Frame) -> Array:
        """The iterations of a loop at each point."""
        if isinstance(extent, int):
            return np.full(len(frame.weight), max(extent, 0), np.int64)
        found = self.at_points(extent, frame)
        if found is None:
            self.exact = False
            return np.ones(len(frame.weight), np.int64)
        return np.maximum(found, 0)

    def at_points(self, e: Expr, frame: _Frame) -> Array | None:
        """The values of an expression at each point; None if it depends on something else."""
        (e,) = substitute([e], frame.lets)
        for n in postorder([e]):
            if isinstance(n, (Load, Shuffle)) or (isinstance(n, Var) and n not in frame.points):
                return None
        (found,) = evaluate([e], frame.points)
        return np.broadcast_to(found.reshape(-1), (len(frame.weight),))

    def branch(self, s: If, frame: _Frame) -> None:
        if s.condition is None:  # a role: some warps run one side, the others the other
            self.body(s.then, frame)
            self.body(s.orelse, frame)
            return
        self.values([s.condition], frame)
        found = self.at_points(s.condition, frame)
        if found is None:
            self.exact = False
            self.body(s.then, frame)
            self.body(s.orelse, frame)
            return
        for body, where in ((s.then, found), (s.orelse, ~found)):
            if body and where.any():
                self.body(body, frame.picked(np.flatnonzero(where)))

    def reduction(self, s: Reduce, frame: _Frame) -> None:
        """A sequence that is not expanded yet: as a loop over its domain."""
        inner = frame
        for var, extent in s.domain:
            count = self.extent(extent, inner)
            extents = {**inner.extents, var: count}
            inner = replace(inner, extents=extents, weight=inner.weight * count)
        self.values(s.values, inner)
        self.combine(s.monoid, s.values, inner)

    def cumulation(self, s: Cumulate, frame: _Frame) -> None:
        """Running combinations that are not expanded yet: as a loop."""
        count = self.extent(s.extent, frame)
        extents = {**frame.extents, s.var: count}
        inner = replace(frame, extents=extents, weight=frame.weight * count)
        self.values(s.values, inner)
        self.combine(s.monoid, s.values, inner)
        self.body(s.body, inner)

    def combine(self, monoid: str, values: Sequence[Expr], frame: _Frame) -> None:
        types = tuple(v.dtype for v in values)
        left = tuple(Var(f"a{k}", t) for k, t in enumerate(types))
        right = tuple(Var(f"b{k}", t) for k, t in enumerate(types))
        self.values(order.MONOIDS[monoid].combine(left, right), frame)

    def copy(self, s: Copy, frame: _Frame) -> None:
        box = [Var("box", e.dtype) for e in s.source_index[-len(s.extents) :]]
        count = len(frame.weight)
        extents = {v: np.full(count, n) for v, n in zip(box, s.extents, strict=True)}
        inner = replace(
            frame,
            extents={**frame.extents, **extents},
            weight=frame.weight * int(np.prod(s.extents)),
        )
        for buffer, index, store in (
            (s.source, s.source_index, False),
            (s.destination, s.destination_index, True),
        ):
            singles = len(index) - len(box)
            at = (*index[:singles], *(e + v for e, v in zip(index[singles:], box, strict=True)))
            self.access(buffer, at, inner, store=store)

    # --- what is counted --------------------------------------------------------------------------

    def values(self, roots: Sequence[Expr], frame: _Frame) -> None:
        """Counts the instructions and the loads of some expressions, shared ones once."""
        times = int(frame.weight.sum())
        into = self.repeated if frame.repeated else self.flops
        for n in _usual(roots):
            if isinstance(n, Load):
                self.access(n.buffer, n.index, frame)
            elif isinstance(n, Apply) and n.name in CALLED:
                for dtype, flops in _flops_of(n.name).items():
                    into[dtype] += flops * times
            elif isinstance(n, Apply) and n.dtype.is_float and n.name in FLOPS:
                into[n.dtype.short] += FLOPS[n.name] * times

    def access(
        self, buffer: Buffer, index: Sequence[Expr], frame: _Frame, *, store: bool = False
    ) -> None:
        if buffer not in self.number:
            return
        times = int(frame.weight.sum())
        k = self.number[buffer]
        (self.stores if store else self.loads)[k] += times
        if times:
            (place,) = substitute([address(buffer, index)], frame.lets)
            most = size_of(buffer) if frame.repeated else times
            found = touched(place, frame.points, frame.extents, most)
            self.exact &= isinstance(found, Runs)
            (self.written if store else self.read)[k].append(found)


@cache
def _flops_of(definition: str) -> Counter[str]:
    """Of a definition that a kernel calls, by type."""
    found: Counter[str] = Counter()
    for n in _usual([CALLED[definition].body]):
        if isinstance(n, Apply) and n.name in CALLED:
            found += _flops_of(n.name)
        elif isinstance(n, Apply) and n.dtype.is_float and n.name in FLOPS:
            found[n.dtype.short] += FLOPS[n.name]
    return found


def _usual(roots: Sequence[Expr]) -> list[Expr]:
    """The nodes that are evaluated in all usual cases: not the rare sides of selections."""
    seen: dict[int, Expr] = {}
    stack = list(roots)
    while stack:
        n = stack.pop()
        if id(n) in seen:
            continue
        seen[id(n)] = n
        rare = isinstance(n, Apply) and n.name == "rare_select"
        stack += [c for k, c in enumerate(n.operands) if not (rare and k == 1)]
    return list(seen.values())


def _deciding(kernel: Kernel) -> set[Var]:
    """Variables that extents and conditions depend on, or over which an index is not linear."""
    lets: dict[Var, Expr] = {}
    found: set[Var] = set()

    def add(e: Expr | int | None) -> None:
        if isinstance(e, Expr):
            (e,) = substitute([e], lets)
            found.update(n for n in postorder([e]) if isinstance(n, Var))

    for s in walk(kernel.body):
        if isinstance(s, Let) and not s.value.dtype.is_float:
            (lets[s.var],) = substitute([s.value], lets)
        elif isinstance(s, For):
            add(s.extent)
        elif isinstance(s, If):
            add(s.condition)
        places = [n.index for n in postorder(expressions(s)) if isinstance(n, Load)]
        if isinstance(s, (Store, Accumulate)):
            places.append(s.index)
        for e in substitute([e for index in places for e in index], lets):
            if not isinstance(e, (Const, Var)):
                found |= bent(e)
    return found


def count(kernel: Kernel, sizes: Sequence[int] = ()) -> Counts:
    """What one launch of a kernel does. sizes: the values of its size parameters."""
    counter = _Counter(kernel)
    points = {v: np.full(1, n) for v, n in zip(kernel.sizes, sizes, strict=True)}
    counter.body(kernel.body, _Frame(points, {}, np.ones(1, np.int64), {}))
    accesses = []
    for k, b in enumerate(kernel.buffers):
        nbytes = b.dtype.itemsize
        read, written = (elements(s[k], size_of(b)) for s in (counter.read, counter.written))
        accesses.append(
            Access(counter.loads[k], counter.stores[k], read * nbytes, written * nbytes)
        )
    return Counts(
        tuple(accesses),
        dict(sorted(counter.flops.items())),
        dict(sorted(counter.repeated.items())),
        counter.exact,
        counter.tiles,
    )
