"""Stable sorting of rows: along the last axis, the other axes being independent rows.

* sort(x; descending) -> the type of x.
* argsort(x; descending) -> i64: the places of the sorted elements.
* top_k(x; k, descending) -> (values, i64 places) of the k first elements in that order.
* order_statistics(x; places, descending) -> the type of x: the elements at some places of it.

Equal elements keep their order, also in descending order; -0.0 and 0.0 are equal; NaN comes last in
either order, so top_k gives one only where fewer than k numbers are left.

The order of two elements is that of an unsigned key of their bits (`sort_key`).

* In a short row (`RANKED`) the rank of each element is counted: quadratic work, but in vectors.
* The first few (`INSERTION`) of a row are inserted into a short sorted list (`selection`).
* Other places, and more of the first where the row is much longer, are found by narrowing the range
  of the keys (`narrowing`).
* Otherwise a radix sort distributes the elements by one byte of the key after the other, lowest
  first: a pass reads one buffer and writes another, and a pair of passes that would move nothing is
  left out, as for integers of a small range. The second buffer is on the stack for rows of up to
  `STACK_ROW` elements, else a scratch buffer that the kernel asks for.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.forks import load
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Const, Expr, Load, Var, const, select
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Body,
    Buffer,
    Carry,
    For,
    If,
    Kernel,
    Let,
    Space,
    Stmt,
    Store,
)
from pyc.ir.loops import Kind as LoopKind
from pyc.ir.op import Kind, Op, Types, batch_rows, define
from pyc.ir.types import ArrayType

Array = np.ndarray[Any, Any]

RANKED = {1: 32, 2: 64, 4: 96, 8: 160}
"""Elements up to which a row is sorted by ranks, by their size in bytes (measured: where the radix
sort, which takes wider elements more passes, is as fast)."""
INSERTION = 32
"""Elements up to which the best are kept by insertion."""
STACK_ROW = 4096
"""Elements up to which a row's second buffers are on the stack: they stay in a core's cache."""
TASK_ELEMENTS = 4096
"""Elements of one task; short rows share one."""
MAX_TASKS = 64
"""Tasks with scratch buffers of their own."""
NARROWED = 4
"""Of a row of so many times the elements that are wanted these are found first, and sorted."""
BUCKETS = 256
"""Values of a digit: one byte of the key."""


# --- keys -----------------------------------------------------------------------------------------


def sort_key(x: Expr, descending: bool) -> Expr:
    """An unsigned integer of the width of `x`; its order is the order of sorting."""
    if x.dtype is dt.b1:
        key = x.cast(dt.u8)
        return ~key if descending else key
    unsigned = dt.unsigned_of(x.dtype.bits)
    bits = x.bitcast(unsigned)
    sign = 1 << (x.dtype.bits - 1)
    if x.dtype.kind == "uint":
        return ~bits if descending else bits
    if x.dtype.kind == "int":
        key = bits ^ sign
        return ~key if descending else key
    # The magnitude of a negative number is inverted, by a mask rather than a choice: a sign is not
    # predictable. NaN is beyond every number: the flipped key of a number is never all ones.
    size = bits & (sign - 1)
    bits = select(size.equal(0), Const(0, unsigned), bits)
    signed = dt.signed_of(x.dtype.bits)
    mask = (bits.bitcast(signed) >> (x.dtype.bits - 1)).bitcast(unsigned) | sign
    key = bits ^ mask
    last = Const(2 * sign - 1, unsigned)
    return select(size > _largest(x.dtype), last, ~key if descending else key)


def element_of(key: Expr, dtype: DType, descending: bool) -> Expr:
    """The element of a sort key. Zeros have one key, and so have all NaN: of these it is 0 and one
    of the NaN."""
    bits = ~key if descending else key
    if dtype is dt.b1:
        return bits.differs(0)
    sign = 1 << (dtype.bits - 1)
    if dtype.kind == "int":
        bits = bits ^ sign
    elif dtype.is_float:
        signed = dt.signed_of(dtype.bits)
        below = (~bits).bitcast(signed) >> (dtype.bits - 1)
        bits = bits ^ (below.bitcast(dt.unsigned_of(dtype.bits)) | sign)
    return bits.bitcast(dtype)


def _largest(dtype: DType) -> int:
    """The bits of the greatest value of a float type: infinity, where there is one."""
    if dtype is dt.f8e4m3:
        return 0x7E
    infinity = np.array([np.inf]).astype(dtype.numpy)
    return int(infinity.view(dt.unsigned_of(dtype.bits).numpy)[0])


# --- sorting a row --------------------------------------------------------------------------------


@frozen()
class Line:
    """The elements of one row, and their places in x unless None. row: the index of the row in
    both buffers; none where they are on the stack."""

    values: Buffer
    places: Buffer | None
    row: tuple[Expr, ...]
    places_row: tuple[Expr, ...] = ()

    def value(self, at: Expr) -> Expr:
        """The element at `at`."""
        return Load(self.values, (*self.row, at))

    def place(self, at: Expr) -> Expr | None:
        """The place in x of the element at `at`, where places are kept."""
        return None if self.places is None else Load(self.places, (*self.places_row, at))

    def store(self, at: Expr, value: Expr, place: Expr | None) -> Body:
        """Stores an element and its place at `at`."""
        body: list[Stmt] = [Store(self.values, (*self.row, at), value)]
        if self.places is not None:
            assert place is not None
            body.append(Store(self.places, (*self.places_row, at), place))
        return tuple(body)


@frozen()
class _Row:
    """How one row is sorted. source: the row, whose places are the positions themselves where it
    has none; length: its elements; count: how many of the first are wanted."""

    source: Line
    length: int
    count: int
    descending: bool

    def key(self, x: Expr) -> Expr:
        return sort_key(x, self.descending)

    # --- by distribution

    def distributed(self, first: Line, second: Line) -> Body:
        """Sorts all elements into `first`, byte by byte; `second` is its partner."""
        digits = self.source.values.dtype.itemsize
        counts = Buffer("counts", dt.i64, (digits, BUCKETS), Space.STACK, alignment=64)
        body = self._count(counts, digits)
        if digits == 1:
            zero = const(0)
            body += (*self._starts(counts, zero), self._pass(counts, zero, self.source, first))
        else:
            body += self._pair(counts, const(0), self.source, second, first)
        if digits > 2:
            pair = Var("pair")
            digit = (pair + 1) * 2
            initial = self.key(self.source.value(const(0)))
            alike = [
                Load(counts, (d, self._digit(initial, d))).equal(self.length)
                for d in (digit, digit + 1)
            ]
            moves = If(~(alike[0] & alike[1]), self._pair(counts, digit, first, second, first))
            body += (For(pair, digits // 2 - 1, LoopKind.SERIAL, (moves,)),)
        return (Alloc(counts, body),)

    def _digit(self, key: Expr, digit: Expr) -> Expr:
        """Byte `digit` of a key as i64."""
        if key.dtype.bits == 8:
            return key.cast(dt.i64)
        shifted = key >> (digit * 8).cast(key.dtype)
        return (shifted & (BUCKETS - 1)).cast(dt.i64)

    def _count(self, counts: Buffer, digits: int) -> Body:
        """How often each byte occurs in each digit."""
        d, bucket, i = Var("d"), Var("bucket"), Var("i")
        key = Var("key", dt.unsigned_of(self.source.values.dtype.bits))
        clear = Store(counts, (d, bucket), const(0))
        count = tuple(
            Accumulate(counts, (const(n), self._digit(key, const(n))), const(1), "add")
            for n in range(digits)
        )
        return (
            For(d, digits, LoopKind.SERIAL, (For(bucket, BUCKETS, LoopKind.SERIAL, (clear,)),)),
            For(
                i,
                self.length,
                LoopKind.SERIAL,
                (Let(key, self.key(self.source.value(i))), *count),
            ),
        )

    def _pair(self, counts: Buffer, digit: Expr, source: Line, middle: Line, target: Line) -> Body:
        """Distributes by two digits: from source to middle to target, which may be the source."""
        return (
            *self._starts(counts, digit),
            self._pass(counts, digit, source, middle),
            *self._starts(counts, digit + 1),
            self._pass(counts, digit + 1, middle, target),
        )

    def _starts(self, counts: Buffer, digit: Expr) -> Body:
        """Turns the counts of a digit into the first place of each bucket."""
        bucket, before, count, total = Var("bucket"), Var("before"), Var("count"), Var("total")
        body = (
            Let(count, Load(counts, (digit, bucket))),
            Store(counts, (digit, bucket), before),
        )
        carry = Carry(before, const(0), before + count, total)
        return (For(bucket, BUCKETS, LoopKind.SERIAL, body, (carry,)),)

    def _pass(self, counts: Buffer, digit: Expr, source: Line, target: Line) -> Stmt:
        """Moves every element behind those of its bucket that came before."""
        i, bucket, at = Var("i"), Var("bucket"), Var("at")
        value = Var("value", source.values.dtype)
        place = i if source.places is None else source.place(i)
        body = (
            Let(value, source.value(i)),
            Let(bucket, self._digit(self.key(value), digit)),
            Let(at, Load(counts, (digit, bucket))),
            Store(counts, (digit, bucket), at + 1),
            *target.store(at, value, place),
        )
        return For(i, self.length, LoopKind.SERIAL, body)


# --- kernels --------------------------------------------------------------------------------------


def _ranked(name: str, x: ArrayType, descending: bool, *, places: bool) -> Kernel:
    """Counts for each element those that come before it, and stores it, or its place, there."""
    length, rows = x.shape[-1], prod(x.shape[:-1])
    source = Buffer("x", x.dtype, (rows, length), role="in")
    result = Buffer("out", dt.i64 if places else x.dtype, (rows, length), role="inout")
    # Counted in elements of the key's size, so that a vector holds as many of each.
    narrow = dt.signed_of(x.dtype.bits)
    row, i, j = Var("row"), Var("i"), Var("j")
    value, key = Var("value", x.dtype), Var("key", dt.unsigned_of(x.dtype.bits))
    before, rank = Var("before", narrow), Var("rank", narrow)
    other = sort_key(Load(source, (row, j)), descending)
    earlier = (other < key) | (other.equal(key) & (j.cast(narrow) < i.cast(narrow)))
    count = Carry(before, Const(0, narrow), before + earlier.cast(narrow), rank)
    body = (
        Let(value, Load(source, (row, i))),
        Let(key, sort_key(value, descending)),
        For(j, length, LoopKind.SERIAL, (), (count,)),
        Store(result, (row, rank.cast(dt.i64)), i if places else value),
    )
    elements = For(i, length, LoopKind.PARALLEL, body)
    return Kernel(name, (source, result), (For(row, rows, LoopKind.PARALLEL, (elements,)),))


class Tasks:
    """The loops over the rows of x, and the memory that a row takes beside the results."""

    def __init__(self, x: ArrayType, *, on_stack: bool) -> None:
        self.rows, self.length = prod(x.shape[:-1]), x.shape[-1]
        self.on_stack = on_stack
        per_task = min(max(TASK_ELEMENTS // self.length, 1), self.rows)
        if not on_stack:
            per_task = max(per_task, -(-self.rows // MAX_TASKS))
        self.per_task = per_task
        self.tasks = -(-self.rows // per_task)
        self.task, self.inner = Var("task"), Var("inner")
        self.row = self.task if per_task == 1 else self.task * per_task + self.inner
        self.at_row: tuple[Expr, ...] = (self.row,)
        self.source = Buffer("x", x.dtype, (self.rows, self.length), role="in")
        self.local: list[Buffer] = []
        self.scratch: list[Buffer] = []

    def extra(self, kind: str, dtype: DType, size: int) -> tuple[Buffer, tuple[Expr, ...]]:
        """Memory for `size` elements of a row, and where in it they are."""
        if self.on_stack:
            self.local.append(Buffer(kind, dtype, (size,), Space.STACK, alignment=64))
            return self.local[-1], ()
        self.scratch.append(Buffer(kind, dtype, (self.tasks, size), role="inout"))
        return self.scratch[-1], (self.task,)

    def line(self, name: str, size: int, *, places: bool) -> Line:
        """Memory for elements of a row, and their places."""
        values, row = self.extra(f"{name}_values", self.source.dtype, size)
        if not places:
            return Line(values, None, row)
        found, places_row = self.extra(f"{name}_places", dt.i64, size)
        return Line(values, found, row, places_row)

    def kernel(self, name: str, outs: list[Buffer], body: Body) -> Kernel:
        """The kernel that does `body` for each row."""
        for buffer in self.local:
            body = (Alloc(buffer, body),)
        if self.per_task > 1:
            # Rows with memory of their own may run apart; those that share it follow each other.
            if self.rows % self.per_task:
                body = (If(self.row < self.rows, body),)
            kind = LoopKind.SERIAL if self.scratch else LoopKind.PARALLEL
            body = (For(self.inner, self.per_task, kind, body),)
        body = (For(self.task, self.tasks, LoopKind.PARALLEL, body),)
        return Kernel(name, (self.source, *outs, *self.scratch), body)


def _kernel(
    name: str, x: ArrayType, count: int, descending: bool, *, values: bool, places: bool
) -> Kernel:
    """Sorts the rows of x; stores the `count` first values, their places, or both."""
    length = x.shape[-1]
    short = count <= INSERTION
    tasks = Tasks(x, on_stack=short or length <= STACK_ROW)
    values_out = Buffer("values", x.dtype, (tasks.rows, count), role="inout")
    places_out = Buffer("places", dt.i64, (tasks.rows, count), role="inout")
    outs = [b for b, wanted in ((values_out, values), (places_out, places)) if wanted]

    def result() -> Line:
        """The row of the results, with memory for values where these are not wanted."""
        found, row = values_out, tasks.at_row
        if not values:
            found, row = tasks.extra("first_values", x.dtype, count)
        return Line(found, places_out if places else None, row, (tasks.row,))

    few = (length, count, descending)
    source = Line(tasks.source, None, (tasks.row,))
    if short:
        first = load("pyc.ir.ops.selection").First(source, result(), *few)
        return tasks.kernel(name, outs, first.kept())
    if length >= NARROWED * count:
        # The first ones as they stand, then those in order.
        apart = tasks.line("kept", count + 1, places=True)
        held = tasks.line("held", length + 1, places=False)
        search = load("pyc.ir.ops.narrowing").Narrowing(source, held, length, descending=descending)
        body = search.in_memory(search.first(count, apart))
        sorter = _Row(apart, count, count, descending)
        body += sorter.distributed(result(), tasks.line("second", count, places=places))
        return tasks.kernel(name, outs, body)
    sorter = _Row(source, *few)
    whole = count == length
    first = result() if whole else tasks.line("first", length, places=places)
    body = sorter.distributed(first, tasks.line("second", length, places=places))
    if not whole:
        i = Var("i")
        copied = result().store(i, first.value(i), first.place(i))
        body += (For(i, count, LoopKind.SERIAL, copied),)
    return tasks.kernel(name, outs, body)


def _statistics(x: ArrayType, places: tuple[int, ...], descending: bool) -> Kernel:
    """Stores the elements at some places of the order of each row."""
    length = x.shape[-1]
    tasks = Tasks(x, on_stack=length <= STACK_ROW)
    row, count = tasks.row, len(places)
    result = Buffer("out", x.dtype, (tasks.rows, count), role="inout")
    source = Line(tasks.source, None, (row,))
    wanted = Buffer("wanted", dt.i64, (count,), Space.STACK, alignment=64)
    held = tasks.line("held", length + 1, places=False)
    search = load("pyc.ir.ops.narrowing").Narrowing(source, held, length, descending=descending)

    def use(number: Expr, place: Expr) -> Body:
        found: Body = search.found(place, lambda x: (Store(result, (row, number), x),))
        return found

    body: Body = tuple(Store(wanted, (const(n),), const(p)) for n, p in enumerate(places))
    body += search.places(count, lambda number: Load(wanted, (number,)), use)
    return tasks.kernel("order_statistics", [result], (Alloc(wanted, search.in_memory(body)),))


# --- ops ------------------------------------------------------------------------------------------


def _line_types(name: str, args: Types) -> ArrayType:
    """The argument, which must be real and have an axis."""
    (x,) = args
    if x.rank == 0:
        raise ShapeError(f"{name}: needs at least one axis, got {x}")
    if x.dtype.is_complex:
        raise DTypeError(f"{name}: complex numbers have no order, got {x}")
    return x


def _order(x: Array, descending: bool) -> Array:
    """NumPy's stable argsort, of the reversed values where the order is descending: `~` reverses
    integers, negation floats, and leaves NaN last."""
    if x.dtype.kind in "fV":
        dtype = dt.of(x.dtype)
        assert dtype is not None
        wide = x.astype(widened(dtype).numpy)
        wide = -wide if descending else wide
    else:
        wide = ~x if descending else x
    return np.argsort(wide, axis=-1, kind="stable").astype(np.int64)


def _sort_types(args: Types, *, descending: bool) -> Types:
    return (_line_types("sort", args),)


def _sort_build(types: Types, *, descending: bool) -> Kernel:
    (x,) = types
    if x.shape[-1] <= RANKED[x.dtype.itemsize]:
        return _ranked("sort", x, descending, places=False)
    return _kernel("sort", x, x.shape[-1], descending, values=True, places=False)


def _sort_reference(x: Array, *, descending: bool) -> Array:
    return np.take_along_axis(x, _order(x, descending), axis=-1)


def _argsort_types(args: Types, *, descending: bool) -> Types:
    return (ArrayType(_line_types("argsort", args).shape, dt.i64),)


def _argsort_build(types: Types, *, descending: bool) -> Kernel:
    (x,) = types
    if x.shape[-1] <= RANKED[x.dtype.itemsize]:
        return _ranked("argsort", x, descending, places=True)
    return _kernel("argsort", x, x.shape[-1], descending, values=False, places=True)


def _top_types(args: Types, *, k: int, descending: bool) -> Types:
    x = _line_types("top_k", args)
    if not 0 <= k <= x.shape[-1]:
        raise ShapeError(f"top_k: k = {k} is not in 0 ... {x.shape[-1]}, the length of the axis")
    shape = (*x.shape[:-1], k)
    return ArrayType(shape, x.dtype), ArrayType(shape, dt.i64)


def _top_build(types: Types, *, k: int, descending: bool) -> Kernel:
    (x,) = types
    return _kernel("top_k", x, k, descending, values=True, places=True)


def _top_reference(x: Array, *, k: int, descending: bool) -> tuple[Array, Array]:
    order = _order(x, descending)[..., :k].copy()
    return np.take_along_axis(x, order, axis=-1), order


def _statistics_types(args: Types, *, places: tuple[int, ...], descending: bool) -> Types:
    x = _line_types("order_statistics", args)
    for place in places:
        if not 0 <= place < x.shape[-1]:
            raise ShapeError(
                f"order_statistics: place {place} is not in 0 ... {x.shape[-1] - 1}, the places "
                "of the axis"
            )
    return (ArrayType((*x.shape[:-1], len(places)), x.dtype),)


def _statistics_build(types: Types, *, places: tuple[int, ...], descending: bool) -> Kernel:
    (x,) = types
    return _statistics(x, places, descending)


def _statistics_reference(x: Array, *, places: tuple[int, ...], descending: bool) -> Array:
    order = _order(x, descending)[..., np.array(places, np.int64)]
    return np.take_along_axis(x, order, axis=-1)


REALS = "bool int uint float"

define(
    Op(
        "sort",
        Kind.KERNEL,
        _sort_types,
        build=_sort_build,
        reference=_sort_reference,
        batch=batch_rows,
        kinds=REALS,
    )
)
define(
    Op(
        "argsort",
        Kind.KERNEL,
        _argsort_types,
        build=_argsort_build,
        reference=_order,
        batch=batch_rows,
        kinds=REALS,
    )
)
define(
    Op(
        "top_k",
        Kind.KERNEL,
        _top_types,
        build=_top_build,
        reference=_top_reference,
        batch=batch_rows,
        kinds=REALS,
    )
)
define(
    Op(
        "order_statistics",
        Kind.KERNEL,
        _statistics_types,
        build=_statistics_build,
        reference=_statistics_reference,
        batch=batch_rows,
        kinds=REALS,
    )
)
