"""Products of tiles of bfloat16 by AMX (`loops.PairsMultiply`), as LLVM text.

    configure(builder)                       at the start of a function: all tiles are the same
    multiply(builder, statement, ...)        a step: accumulators stay in tiles 0 to 3
    release(builder)                         at its end: what the system then has to keep is less

A tile is 16 rows of 64 bytes: of sums 16 numbers, of a 32, of b 16 pairs. Tiles belong to a thread,
so each task configures its own; no function that a kernel calls uses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.backends.llvm_builder import Builder, Value
from pyc.ir.loops import TILE, Buffer, PairsMultiply

_TILE, _LOAD, _STORE = "llvm.x86.tilezero", "llvm.x86.tileloadd64", "llvm.x86.tilestored64"
_MULTIPLY = "llvm.x86.tdpbf16ps"
_CONFIGURE, _RELEASE = "llvm.x86.ldtilecfg", "llvm.x86.tilerelease"
INTRINSICS = (_TILE, _LOAD, _STORE, _MULTIPLY, _CONFIGURE, _RELEASE)
TILES = 8
ROW_BYTES = 64
TILE_BYTES = TILE * ROW_BYTES
_A, _B = 4, 6
"""The first tiles of a and of b; those of sums are 2 row + column."""


def configure(builder: Builder) -> None:
    """Makes all tiles 16 rows of 64 bytes."""
    address = builder.allocate("i8", 64, 64)
    bytes_ = bytearray(64)
    bytes_[0] = 1
    for tile in range(TILES):
        bytes_[16 + 2 * tile] = ROW_BYTES
        bytes_[48 + tile] = TILE
    for word in range(8):
        number = int.from_bytes(bytes_[8 * word : 8 * word + 8], "little")
        place = builder.emit(f"getelementptr i8, ptr {address}, i64 {8 * word}")
        builder.line(f"store i64 {number}, ptr {place}, align 8")
    builder.line(f"{builder.intrinsic(_CONFIGURE, 'void', ['ptr'])}(ptr {address})")


def release(builder: Builder) -> None:
    """Empties the tiles."""
    builder.line(f"{builder.intrinsic(_RELEASE, 'void', [])}()")


def multiply(
    builder: Builder, s: PairsMultiply, addresses: Sequence[str], first: Value | None
) -> None:
    """The step, with the addresses of the first elements of sums, a and b."""
    rows, columns, steps = s.tiles
    sums, a, b = addresses
    sums_row = _stride(s.sums, 4)
    places = [
        (2 * r + c, r * sums_row + c * TILE_BYTES) for r in range(rows) for c in range(columns)
    ]
    if first is None:
        _move(builder, _LOAD, sums, places)
    else:
        fresh, more, start = (builder.name(p) for p in ("fresh", "more", "start"))
        builder.line(f"br i1 {first.ref}, label %{fresh}, label %{more}")
        builder.label(fresh)
        for tile, _ in places:
            builder.line(f"{builder.intrinsic(_TILE, 'void', ['i8'])}(i8 {tile})")
        builder.line(f"br label %{start}")
        builder.label(more)
        _move(builder, _LOAD, sums, places)
        builder.line(f"br label %{start}")
        builder.label(start)
    before, loop, done = (builder.name(p) for p in ("before", "tiles", "done"))
    builder.jump(before)
    builder.line(f"br label %{loop}")
    builder.label(loop)
    step, following = f"%{builder.name('step')}", f"%{builder.name('step')}"
    builder.line(f"{step} = phi i64 [ 0, %{before} ], [ {following}, %{loop} ]")
    at = builder.emit(f"mul i64 {step}, {TILE_BYTES}")
    left, right = (builder.emit(f"getelementptr i8, ptr {x}, i64 {at}") for x in (a, b))
    head = builder.intrinsic(_MULTIPLY, "void", ["i8"] * 3)
    a_row, b_column = _stride(s.a, 4), _stride(s.b, 3)
    for c in range(columns):
        _move(builder, _LOAD, right, [(_B + c, c * b_column)])
    for r in range(rows):
        _move(builder, _LOAD, left, [(_A + r, r * a_row)])
        for c in range(columns):
            builder.line(f"{head}(i8 {2 * r + c}, i8 {_A + r}, i8 {_B + c})")
    builder.line(f"{following} = add nuw nsw i64 {step}, 1")
    again = builder.emit(f"icmp slt i64 {following}, {steps}")
    builder.line(f"br i1 {again}, label %{loop}, label %{done}")
    builder.label(done)
    _move(builder, _STORE, sums, places)


def _stride(buffer: Buffer, axes: int) -> int:
    """Bytes between neighbours along the first of the last `axes` axes."""
    inner = [extent for extent in buffer.shape[1 - axes :] if isinstance(extent, int)]
    return prod(inner) * buffer.dtype.itemsize


def _move(builder: Builder, name: str, address: str, places: Sequence[tuple[int, int]]) -> None:
    """Loads or stores tiles: (number, bytes from the address)."""
    head = builder.intrinsic(name, "void", ["i8", "ptr", "i64"])
    for tile, offset in places:
        place = address
        if offset:
            place = builder.emit(f"getelementptr i8, ptr {address}, i64 {offset}")
        builder.line(f"{head}(i8 {tile}, ptr {place}, i64 {ROW_BYTES})")
