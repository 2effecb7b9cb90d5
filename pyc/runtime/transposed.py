"""Copies in C order of arrays in another one: what a program takes in place of such arrays.

    copied(x)    the copy; None where NumPy's own is as quick

NumPy walks along the last axis of what it writes. Where another axis is the dense one of what it
reads, each element is in another line of the caches, and in another page if the array is large.
Here squares are copied one by one, whose lines stay in the first cache.
"""

from __future__ import annotations

import ctypes
from functools import cache
from itertools import product
from math import gcd
from typing import Any

import numpy as np

from pyc.ir.strides import merged
from pyc.runtime import pool
from pyc.runtime.native import Part

Array = np.ndarray[Any, Any]

SQUARES = {1: 32, 2: 32, 4: 32, 8: 16, 16: 16}
"""Elements along a side of a square, by the bytes of one."""
SMALLEST = 1 << 14
"""Elements of a matrix from which a call for it is worth it."""
SMALLEST_OF_MANY = 3 << 16
"""Bytes of each matrix where they are several."""
LINE, WAYS, WAY = 64, 12, 4096
"""Bytes of a line of the first cache, how many of one place within `WAY` bytes it holds."""
FEW = 256
"""Lines up to which NumPy's copy is as quick for elements of less than 8 bytes if they are held;
for larger ones it is for any that are."""

_REGISTER = 16
"""Bytes of a vector of the oldest processor."""

_LOOPS = """
; rows x columns elements, multiples of STEP: of the source neighbours along a column follow each
; other, of the destination neighbours along a row; the other steps are in bytes
define hidden void @NAME(
    ptr %out, ptr %in, i64 %rows, i64 %columns, i64 %out.row, i64 %in.column) nounwind {
entry:
  %no.rows = icmp eq i64 %rows, 0
  %no.columns = icmp eq i64 %columns, 0
  %nothing = or i1 %no.rows, %no.columns
  %in.step = mul i64 %in.column, STEP
  br i1 %nothing, label %end, label %strip
strip:
  %row.first = phi i64 [0, %entry], [%row.end, %strip.done]
  %row.far = add i64 %row.first, SIDE
  %row.in = icmp ult i64 %row.far, %rows
  %row.end = select i1 %row.in, i64 %row.far, i64 %rows
  br label %square
square:
  %column.first = phi i64 [0, %strip], [%column.end, %square.done]
  %column.far = add i64 %column.first, SIDE
  %column.in = icmp ult i64 %column.far, %columns
  %column.end = select i1 %column.in, i64 %column.far, i64 %columns
  %in.offset = mul i64 %column.first, %in.column
  %in.square = getelementptr i8, ptr %in, i64 %in.offset
  %out.offset = mul i64 %column.first, ITEM
  %out.square = getelementptr i8, ptr %out, i64 %out.offset
  br label %row
row:
  %r = phi i64 [%row.first, %square], [%r.next, %row.done]
  %in.along = mul i64 %r, ITEM
  %in.start = getelementptr i8, ptr %in.square, i64 %in.along
  %out.along = mul i64 %r, %out.row
  %out.start = getelementptr i8, ptr %out.square, i64 %out.along
  br label %block
block:
  %c = phi i64 [%column.first, %row], [%c.next, %block]
  %from = phi ptr [%in.start, %row], [%from.next, %block]
  %to = phi ptr [%out.start, %row], [%to.next, %block]
BLOCK
  %from.next = getelementptr i8, ptr %from, i64 %in.step
  %to.next = getelementptr i8, ptr %to, i64 WIDTH
  %c.next = add i64 %c, STEP
  %c.more = icmp ult i64 %c.next, %column.end
  br i1 %c.more, label %block, label %row.done
row.done:
  %r.next = add i64 %r, STEP
  %r.more = icmp ult i64 %r.next, %row.end
  br i1 %r.more, label %row, label %square.done
square.done:
  %column.more = icmp ult i64 %column.end, %columns
  br i1 %column.more, label %square, label %strip.done
strip.done:
  %row.more = icmp ult i64 %row.end, %rows
  br i1 %row.more, label %strip, label %end
end:
  ret void
}
"""

_WHOLE = """
; any numbers of rows and columns: blocks, the columns behind them, and the rows below
define hidden void @transposed_ITEM(
    ptr %out, ptr %in, i64 %rows, i64 %columns, i64 %out.row, i64 %in.column) nounwind {
  %rows.rest = urem i64 %rows, STEP
  %rows.whole = sub i64 %rows, %rows.rest
  %columns.rest = urem i64 %columns, STEP
  %columns.whole = sub i64 %columns, %columns.rest
  call void @blocks_ITEM(ptr %out, ptr %in, i64 %rows.whole, i64 %columns.whole,
      i64 %out.row, i64 %in.column)
  %behind.in = mul i64 %columns.whole, %in.column
  %behind.from = getelementptr i8, ptr %in, i64 %behind.in
  %behind.out = mul i64 %columns.whole, ITEM
  %behind.to = getelementptr i8, ptr %out, i64 %behind.out
  call void @elements_ITEM(ptr %behind.to, ptr %behind.from, i64 %rows.whole, i64 %columns.rest,
      i64 %out.row, i64 %in.column)
  %below.in = mul i64 %rows.whole, ITEM
  %below.from = getelementptr i8, ptr %in, i64 %below.in
  %below.out = mul i64 %rows.whole, %out.row
  %below.to = getelementptr i8, ptr %out, i64 %below.out
  call void @elements_ITEM(ptr %below.to, ptr %below.from, i64 %rows.rest, i64 %columns,
      i64 %out.row, i64 %in.column)
  ret void
}
"""


def _block(item: int, count: int) -> str:
    """A block of `count` x `count` elements: a vector of each column, halves of two of them
    interleaved until they are rows."""
    kind = "<2 x i64>" if item == 16 else f"<{count} x i{8 * item}>"
    lines = []
    for k in range(count):
        lines += [
            f"%in.{k} = mul i64 %in.column, {k}",
            f"%from.{k} = getelementptr i8, ptr %from, i64 %in.{k}",
            f"%column.{k} = load {kind}, ptr %from.{k}, align {min(item, 8)}",
        ]
    now = [f"%column.{k}" for k in range(count)]
    for stage in range(count.bit_length() - 1):
        then = []
        for k in range(count):
            # Halves of vectors that are half of all apart, `k` odd the upper ones.
            one, other, first = now[k // 2], now[(k + count) // 2], k % 2 * count // 2
            lanes = [n for m in range(first, first + count // 2) for n in (m, m + count)]
            mask = ", ".join(f"i32 {n}" for n in lanes)
            then.append(f"%mixed.{stage}.{k}")
            lines.append(
                f"{then[-1]} = shufflevector {kind} {one}, {kind} {other}, <{count} x i32> <{mask}>"
            )
        now = then
    for k in range(count):
        lines += [
            f"%out.{k} = mul i64 %out.row, {k}",
            f"%to.{k} = getelementptr i8, ptr %to, i64 %out.{k}",
            f"store {kind} {now[k]}, ptr %to.{k}, align {min(item, 8)}",
        ]
    return "\n".join(f"  {line}" for line in lines)


def _loops(name: str, item: int, count: int) -> str:
    numbers = {"STEP": count, "SIDE": SQUARES[item], "ITEM": item, "WIDTH": item * count}
    text = _LOOPS.replace("NAME", name).replace("BLOCK", _block(item, count))
    for word, number in numbers.items():
        text = text.replace(word, str(number))
    return text


def _text(item: int) -> str:
    count = _REGISTER // item
    whole = _WHOLE.replace("ITEM", str(item)).replace("STEP", str(count))
    return _loops(f"elements_{item}", item, 1) + _loops(f"blocks_{item}", item, count) + whole


CODE = Part("transposed", (), tuple(map(_text, SQUARES)), lambda found: None)


@cache
def _native(item: int) -> Any:
    numbers = [ctypes.c_int64] * 4
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *numbers)
    return kind(CODE.image().address(f"transposed_{item}"))


def copied(array: Array) -> Array | None:
    """A copy in C order of an aligned array of numbers, on memory of its own; None where NumPy's
    copy is as quick: the array is small, or its rows lie along or are few.

    raises MemoryError
    """
    item = array.itemsize
    if array.size < SMALLEST or item not in SQUARES:
        return None
    dense = _dense(array.shape, item)
    sizes, read, written = array.shape, array.strides, dense
    if len(sizes) != 2:
        sizes, (read, written) = merged(sizes, read, dense)
    last = len(sizes) - 1
    along = read.index(item) if item in read else last
    rows, columns = sizes[along], sizes[last]
    if along == last or not _is_quicker(item, rows, columns, read[last], last > 1):
        return None
    out = _empty(array)
    source, destination = array.ctypes.data, out.ctypes.data
    copy = _native(item)
    if last == 1:
        copy(destination, source, rows, columns, written[along], read[last])
        return out
    others = [k for k in range(last) if k != along]
    for place in product(*(range(sizes[k]) for k in others)):
        at = sum(i * written[k] for i, k in zip(place, others, strict=True))
        of = sum(i * read[k] for i, k in zip(place, others, strict=True))
        copy(destination + at, source + of, rows, columns, written[along], read[last])
    return out


def _is_quicker(item: int, rows: int, columns: int, step: int, is_one_of_many: bool) -> bool:
    """Whether squares are quicker than NumPy, which reads a line of each column for each row: those
    that the first cache holds are there again for the next row."""
    if rows * item < _REGISTER or rows * columns < SMALLEST:
        return False
    if is_one_of_many and rows * columns * item < SMALLEST_OF_MANY:
        return False
    held = WAYS * (WAY // max(LINE, gcd(step, WAY)))
    return columns > (min(held, FEW) if item < 8 else held)


def _dense(shape: tuple[int, ...], item: int) -> tuple[int, ...]:
    """The strides of an array in C order."""
    found, step = [], item
    for n in reversed(shape):
        found.append(step)
        step *= n
    return tuple(reversed(found))


def _empty(array: Array) -> Array:
    """An array of that shape and type, on memory that is used again if it is large."""
    if array.nbytes < pool.RECYCLED_BYTES:
        return np.empty(array.shape, array.dtype)
    return pool.recycled_array(array.shape, array.dtype)
