"""Random loop nests as native code against the kernel interpreter.

The nests mix what the emitter must keep apart: values hoisted out of loops and branches, values
that a store changes, loops that are expanded, lanes that stop, masks in masks, rare operands.
"""

from __future__ import annotations

import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir.expr import Const, Expr, Load, Shuffle, Var, apply, const, rare_select, select
from pyc.ir.loops import (
    Accumulate,
    Alloc,
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
from tests.backends.native_kernels import TARGETS, check

ROWS, COLUMNS = 8, 32
KERNELS = 60


class Generator:
    """Grows one random kernel; `scope` holds the variables that may be used."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.read = Buffer("read", dt.f32, (ROWS, COLUMNS), role="in")
        self.table = Buffer("table", dt.i64, (COLUMNS,), role="in")
        self.wide = Buffer("wide", dt.f32, (COLUMNS * 4,), role="in")
        self.pairs = Buffer("pairs", dt.f32, (COLUMNS, 2), role="inout")
        self.out = Buffer("out", dt.f32, (ROWS, COLUMNS), role="inout")
        self.total = Buffer("total", dt.f32, (ROWS,), role="inout")
        self.locals: list[Buffer] = []
        self.count = 0
        self.lane: Var | None = None
        self.masked = False

    def number(self, bound: int) -> int:
        return int(self.random.integers(bound))

    def chance(self, percent: int) -> bool:
        return self.number(100) < percent

    def name(self, t: dt.DType = dt.i64) -> Var:
        self.count += 1
        return Var(f"v{self.count}", t)

    def pick(self, scope: list[Var], t: dt.DType) -> Var | None:
        found = [v for v in scope if v.dtype is t]
        return found[self.number(len(found))] if found else None

    # --- expressions ---

    def integer(self, scope: list[Var], depth: int) -> Expr:
        if depth == 0 or self.chance(30):
            var = self.pick(scope, dt.i64)
            return var if var is not None and self.chance(75) else const(self.number(7) - 2)
        kind = self.number(7)
        a = self.integer(scope, depth - 1)
        if kind == 0:
            return Load(self.table, (self.index(scope, COLUMNS, depth - 1),))
        if kind == 1:
            return apply("quotient", a, const(self.number(5) - 1))
        if kind == 2:
            return a * const(self.number(9) - 3)
        b = self.integer(scope, depth - 1)
        return (a + b, a - b, apply("minimum", a, b), a ^ b)[kind - 3]

    def index(self, scope: list[Var], extent: int, depth: int = 2) -> Expr:
        """Any integer brought into [0, extent)."""
        a = self.integer(scope, depth)
        if isinstance(a, Const) and 0 <= int(a.value) < extent:
            return a
        inside = apply("remainder", a, const(extent))
        return apply("abs", inside)

    def condition(self, scope: list[Var], depth: int = 1) -> Expr:
        if self.lane is not None and self.chance(30):
            return self.lane < self.number(COLUMNS)
        if self.chance(50):
            compare = ("lt", "le", "eq", "gt", "ge", "ne")[self.number(6)]
            return apply(compare, self.integer(scope, depth), self.integer(scope, depth))
        return self.real(scope, depth) > self.real(scope, 0)

    def load(self, scope: list[Var], depth: int) -> Expr:
        if self.locals and self.chance(30):
            buffer = self.locals[self.number(len(self.locals))]
            return Load(buffer, (self.index(scope, 4, 1),))
        if self.chance(30):
            last = self.lane if self.lane is not None else self.index(scope, COLUMNS, 1)
            return Load(self.out, (self.index(scope, ROWS, 1), last))
        if self.lane is not None and self.chance(20):
            stride = 1 + self.number(4)
            flat = self.lane * stride + self.number(COLUMNS * (4 - stride) + stride)
            return Load(self.wide, (flat,))
        if self.lane is not None and self.chance(50):
            return Load(self.read, (self.index(scope, ROWS, 1), self.lane))
        return Load(self.read, (self.index(scope, ROWS, 1), self.index(scope, COLUMNS, depth)))

    def real(self, scope: list[Var], depth: int) -> Expr:
        if depth == 0 or self.chance(20):
            var = self.pick(scope, dt.f32)
            if var is not None and self.chance(50):
                return var
            return self.load(scope, 1) if self.chance(60) else Const(self.number(5) - 1.5, dt.f32)
        kind = self.number(9)
        a, b = self.real(scope, depth - 1), self.real(scope, depth - 1)
        if kind == 0:
            return select(self.condition(scope), a, b)
        if kind == 1:
            return rare_select(self.condition(scope), a * b + 1.0, b)
        if kind == 2:
            return self.integer(scope, depth - 1).cast(dt.f32)
        if kind == 3 and self.lane is not None and not self.masked:
            return Shuffle(a, self.lane, 1 << self.number(4))
        if kind == 4:
            return a * a - b
        return (a + b, a - b, a * b, apply("maximum", a, b))[kind % 4]

    # --- statements ---

    def body(self, scope: list[Var], depth: int) -> Body:
        scope = list(scope)
        out: list[Stmt] = []
        for _ in range(1 + self.number(4)):
            out.extend(self.statement(scope, depth))
        return tuple(out)

    def statement(self, scope: list[Var], depth: int) -> list[Stmt]:
        kind = self.number(10)
        if self.lane is not None and self.chance(15):
            parts = [Load(self.pairs, (self.lane, const(k))) for k in range(2)]
            values = [self.real(scope, 1) * p for p in parts]
            return [Store(self.pairs, (self.lane, const(k)), values[k]) for k in range(2)]
        if depth == 0 or kind < 2:
            return [self.store(scope)]
        if kind < 4:
            t = dt.f32 if self.chance(70) else dt.i64
            value = self.real(scope, 2) if t is dt.f32 else self.integer(scope, 2)
            var = self.name(t)
            scope.append(var)
            return [Let(var, value)]
        if kind == 4:
            return [self.branch(scope, depth)]
        if kind == 5 and not self.locals:
            buffer = Buffer(
                f"l{self.count}", dt.f32, (4,), (Space.STACK, Space.REGISTER)[self.number(2)]
            )
            k = self.name()
            fill = For(k, 4, Kind.UNROLL, (Store(buffer, (k,), self.real(scope, 1)),))
            self.locals.append(buffer)
            inner = self.body(scope, depth - 1)
            self.locals.remove(buffer)
            return [Alloc(buffer, (fill, *inner))]
        if kind == 6:
            return [self.repeat(scope, depth)]
        if kind == 7 and self.lane is None:
            return [Accumulate(self.total, (self.index(scope, ROWS),), self.real(scope, 1), "add")]
        if kind == 8 and self.lane is None:
            return [self.vector(scope, depth)]
        return [self.loop(scope, depth)]

    def store(self, scope: list[Var]) -> Stmt:
        if self.locals and self.chance(30):
            return Store(self.locals[0], (self.index(scope, 4, 1),), self.real(scope, 2))
        last = self.lane if self.lane is not None else self.index(scope, COLUMNS)
        row = self.index(scope, ROWS, 1)
        return Store(self.out, (row, last), self.real(scope, 3))

    def branch(self, scope: list[Var], depth: int) -> Stmt:
        condition = self.condition(scope)
        before, self.masked = self.masked, True
        then = self.body(scope, depth - 1)
        orelse = self.body(scope, depth - 1) if self.chance(50) else ()
        self.masked = before
        return If(condition, then, orelse)

    def carries(self, scope: list[Var]) -> list[tuple[Var, Expr, Var]]:
        out = []
        for _ in range(self.number(3)):
            t = dt.f32 if self.chance(60) else dt.i64
            first = self.real(scope, 1) if t is dt.f32 else self.integer(scope, 1)
            out.append((self.name(t), first, self.name(t)))
        return out

    def close(self, started: list[tuple[Var, Expr, Var]], scope: list[Var]) -> tuple[Carry, ...]:
        return tuple(
            Carry(
                v,
                first,
                self.real(scope, 2) if v.dtype is dt.f32 else self.integer(scope, 1),
                result,
            )
            for v, first, result in started
        )

    def loop(self, scope: list[Var], depth: int) -> Stmt:
        var = self.name()
        started = self.carries(scope)
        inner = [*scope, var, *(v for v, _, _ in started)]
        statements = self.body(inner, depth - 1)
        carried = self.close(started, inner)
        scope.extend(result for _, _, result in started)
        kind = Kind.UNROLL if self.chance(35) else Kind.SERIAL
        return For(var, self.number(4), kind, statements, carried)

    def repeat(self, scope: list[Var], depth: int) -> Stmt:
        """A while that surely ends: a counter runs down from a value that may differ by lane."""
        counter, last = self.name(), self.name()
        started = self.carries(scope)
        inner = [*scope, counter, *(v for v, _, _ in started)]
        before, self.masked = self.masked, True
        statements = self.body(inner, depth - 1)
        carried = self.close(started, inner)
        self.masked = before
        start = self.index(scope, 5, 1)
        scope.extend([last, *(result for _, _, result in started)])
        return While((Carry(counter, start, counter - 1, last), *carried), counter > 0, statements)

    def vector(self, scope: list[Var], depth: int) -> Stmt:
        lane = self.name()
        self.lane = lane
        inner = self.body([*scope, lane], depth - 1)
        self.lane = None
        return For(lane, COLUMNS, Kind.VECTOR, inner)

    def kernel(self) -> Kernel:
        body = (*self.body([], 3), self.vector([], 3), self.loop([], 3))
        buffers = (self.read, self.table, self.out, self.total, self.wide, self.pairs)
        return Kernel("random", buffers, body)


def arrays(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [
        rng.standard_normal((ROWS, COLUMNS)).astype(np.float32),
        rng.integers(-40, 40, COLUMNS),
        rng.standard_normal((ROWS, COLUMNS)).astype(np.float32),
        rng.standard_normal(ROWS).astype(np.float32),
        rng.standard_normal(COLUMNS * 4).astype(np.float32),
        rng.standard_normal((COLUMNS, 2)).astype(np.float32),
    ]


@pytest.mark.parametrize("seed", range(KERNELS))
def test_random_kernels_give_the_interpreters_bits(seed: int) -> None:
    kernel = Generator(seed).kernel()
    check(kernel, arrays(seed), TARGETS[seed % len(TARGETS)])
