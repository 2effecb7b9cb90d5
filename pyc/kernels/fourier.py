"""Discrete Fourier transforms in loops: the launches that do what `ir/fourier.py` defines.

    each group of lines: its stages, from memory to work buffers and back to memory     (one launch)
    a transform longer than a line: the lines of its first factor, then those of its second

Work buffers hold real and imaginary parts apart, so that all but the first and the last stage move
whole vectors. On a CPU a group is one line along the last axis, whose neighbouring butterflies lie
in the lanes of a vector, or a vector of neighbouring lines; on a GPU it is a block of threads with
a butterfly each, and the buffers lie in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, apply, const
from pyc.ir.fourier import (
    COLUMNS,
    LINE,
    Array,
    middle,
    scaled,
    split,
    stage_factors,
    swapped,
    times,
)
from pyc.ir.loops import Body, Buffer, Store
from pyc.ir.op import Complex
from pyc.ir.ops.fourier import transform_types
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.fourier_blocks import on_blocks
from pyc.kernels.fourier_cores import on_cores
from pyc.kernels.fourier_lines import Layout, Pass, Place, number_of, steps
from pyc.kernels.sequence import Call, LaunchSequence

_Tables = list[tuple[Buffer, Array]]


@frozen()
class _Numbers:
    """Complex numbers in memory. own: as a parameter of a kernel; memory: what it stands for;
    parted: the axis of real and imaginary parts is the last but one."""

    own: Buffer
    memory: Buffer
    parted: bool = False

    def _places(self, index: Sequence[Expr]) -> list[tuple[Expr, ...]]:
        if self.parted:
            return [(*index[:-1], const(part), index[-1]) for part in range(2)]
        return [(*index, const(part)) for part in range(2)]

    def load(self, *index: Expr) -> Complex:
        """The number at an index."""
        re, im = (Load(self.own, place) for place in self._places(index))
        return Complex(re, im)

    def store(self, x: Complex, *index: Expr) -> Body:
        """Stores one."""
        parts = zip(self._places(index), (x.re, x.im), strict=True)
        return tuple(Store(self.own, place, part) for place, part in parts)


class _Transform:
    """The passes of transforms of n elements of (outer, n, inner). dtype: of the parts."""

    def __init__(
        self, dtype: DType, outer: int, n: int, inner: int, scale: float, inverse: bool, real: str
    ) -> None:
        self.dtype = dtype
        self.scale = scale
        self.inverse = inverse
        self.tables: _Tables = []
        self.passes: list[Pass] = []
        # Pairs of neighbours along the last axis are complex numbers as they are.
        parted = [real == side and inner > 1 for side in ("in", "out")]
        shapes = [(outer, n, 2, inner) if p else (outer, n, inner, 2) for p in parted]
        self.source = Buffer("x", dtype, shapes[0], role="in")
        # Several launches may store it, a part each.
        self.result = Buffer("y", dtype, shapes[1], role="inout")
        x = _Numbers(self.source, self.source, parted[0])
        y = _Numbers(self.result, self.result, parted[1])
        self._add(x, y, outer, n, inner, first=True)

    def _add(
        self, x: _Numbers, y: _Numbers, outer: int, n: int, inner: int, *, first: bool
    ) -> None:
        """Adds the passes from x to y. first: of all."""
        if n > LINE:
            a, b = split(n)
            z = self._scratch(outer, n, inner)
            self._split(x.memory, z, outer, (a, b), inner, first=first)
            shape = (outer, b, a * inner)
            self._add(
                self._seen(z, "in", *shape),
                self._seen(y.memory, "inout", *shape),
                *shape,
                first=False,
            )
            return

        def read(line: Place, at: Expr) -> Complex:
            return self._entering(x.load(line.outer, at, line.column), first=first)

        def leaving(line: Place, at: Expr, value: Complex) -> Complex:
            return scaled(swapped(value) if self.inverse else value, self.scale)

        def write(line: Place, at: Expr, value: Complex) -> Body:
            return y.store(value, line.outer, at, line.column)

        buffers = ((x.own, x.memory), (y.own, y.memory))
        tables, lines = self._stage_tables(n), (outer, inner)
        self.passes.append(Pass(self.dtype, n, *lines, read, leaving, write, buffers, tables))

    def _split(
        self,
        x: Buffer,
        z: Buffer,
        outer: int,
        lengths: tuple[int, int],
        inner: int,
        *,
        first: bool,
    ) -> None:
        """Adds the lines of the first factor: from (outer, a, b, inner) to (outer, b, a, inner)."""
        a, b = lengths
        source = self._seen(x, "in", outer, a, b, inner)
        target = self._seen(z, "inout", outer, b, a, inner)
        tables = middle(a, b, self.dtype)
        near, far, close = (
            self._table(f"{name}{len(self.tables)}", getattr(tables, name))
            for name in ("near", "far", "close")
        )

        def place(line: Place) -> tuple[Expr, Expr, Expr]:
            """Of a line: outer, number among b, inner."""
            if inner == 1:
                return line.outer, line.column, const(0)
            outermost = apply("quotient", line.outer, const(b))
            return outermost, apply("remainder", line.outer, const(b)), line.column

        def leaving(line: Place, k: Expr, value: Complex) -> Complex:
            if inner == 1:
                start, rest = line.first, line.lane
            else:
                start, rest = place(line)[1], const(0)
            t = k * (start >> COLUMNS.bit_length() - 1)
            high, low = t >> tables.shift, t & ((1 << tables.shift) - 1)
            distant = times(number_of(far, high), number_of(close, low))
            factor = times(number_of(near, k, (start & (COLUMNS - 1)) + rest), distant)
            return times(value, factor)

        def read(line: Place, at: Expr) -> Complex:
            o, j, c = place(line)
            return self._entering(source.load(o, at, j, c), first=first)

        def write(line: Place, at: Expr, value: Complex) -> Body:
            o, j, c = place(line)
            return target.store(value, o, j, at, c)

        lines = (outer, b) if inner == 1 else (outer * b, inner)
        stored = Layout.LINES if inner == 1 else Layout.COLUMNS
        buffers = ((source.own, x), (target.own, z), *((t, t) for t in (near, far, close)))
        known = self._stage_tables(a)
        found = Pass(self.dtype, a, *lines, read, leaving, write, buffers, known, stored=stored)
        self.passes.append(found)

    def _entering(self, x: Complex, *, first: bool) -> Complex:
        return swapped(x) if first and self.inverse else x

    def _scratch(self, outer: int, n: int, inner: int) -> Buffer:
        return Buffer(f"z{len(self.passes)}", self.dtype, (outer, n, inner, 2), role="inout")

    def _seen(self, memory: Buffer, role: str, *shape: int) -> _Numbers:
        return _Numbers(Buffer(memory.name, self.dtype, (*shape, 2), role=role), memory)

    def _table(self, name: str, numbers: Array) -> Buffer:
        self.tables.append((Buffer(name, self.dtype, numbers.shape, role="in"), numbers))
        return self.tables[-1][0]

    def _stage_tables(self, n: int) -> tuple[Buffer | None, ...]:
        """The factors of each stage of a line, if it has any."""
        found: list[Buffer | None] = []
        for stage in steps(n):
            name = f"factors_{stage.radix}_{stage.m}"
            known = next((b for b, _ in self.tables if b.name == name), None)
            if stage.m > 1 and known is None:
                known = self._table(name, stage_factors(stage, self.dtype))
            found.append(known if stage.m > 1 else None)
        return tuple(found)


def fourier(
    types: tuple[ArrayType, ...],
    target: Target,
    *,
    axis: int,
    inverse: bool,
    scale: float,
    real: str,
) -> LaunchSequence:
    """The launches of the op `fft`."""
    found, _ = transform_types(types, axis=axis, inverse=inverse, scale=scale, real=real)
    outer, inner = prod(found.shape[:axis]), prod(found.shape[axis + 1 :])
    transform = _Transform(found.dtype.real, outer, found.shape[axis], inner, scale, inverse, real)
    calls: list[Call] = []
    for work in transform.passes:
        calls += on_blocks(work, target) if target.has_blocks else on_cores(work, target)
    return LaunchSequence(
        (transform.source, transform.result), tuple(calls), tuple(transform.tables)
    )
