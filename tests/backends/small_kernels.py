"""Small kernels that several tests here run, and what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.expr import (
    Const,
    Expr,
    Load,
    Shuffle,
    Var,
    maximum,
    minimum,
)
from pyc.ir.loops import (
    Body,
    Buffer,
    Carry,
    Fail,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Stmt,
    Store,
)

Array = np.ndarray[Any, Any]
NUMBERS = np.random.default_rng(3)


def serial(var: Var, extent: Any, *body: Stmt, carried: tuple[Carry, ...] = ()) -> For:
    return For(var, extent, Kind.SERIAL, body, carried)


def vector(var: Var, extent: int, *body: Stmt) -> For:
    return For(var, extent, Kind.VECTOR, body)


def normal(*shape: int, dtype: Any = np.float32) -> Array:
    return NUMBERS.standard_normal(shape).astype(dtype)


def sum_rows(rows: int, chunks: int) -> Kernel:
    """Row sums over 1024-element chunks in 128 lanes, lanes by halves."""
    x = Buffer("x", dt.f32, (rows, chunks * 1024), role="in")
    out = Buffer("out", dt.f32, (rows,), role="out")
    r, c, j, lane = Var("r"), Var("c"), Var("j"), Var("l")
    acc, done, inner, part, total = (Var(s, dt.f32) for s in ("acc", "done", "in", "part", "total"))
    step = Carry(inner, Const(-0.0, dt.f32), inner + Load(x, (r, c * 1024 + j * 128 + lane)), part)
    outer = Carry(acc, Const(-0.0, dt.f32), acc + part, done)
    tree: Expr = done
    for distance in (64, 32, 16, 8, 4, 2, 1):
        tree = tree + Shuffle(tree, lane, distance)
    body = serial(
        r,
        rows,
        vector(
            lane,
            128,
            For(c, chunks, Kind.SERIAL, (serial(j, 8, carried=(step,)),), (outer,)),
            Let(total, tree),
            If(lane.equal(0), (Store(out, (r,), total),)),
        ),
    )
    return Kernel("sum", (x, out), (replace(body, kind=Kind.PARALLEL),))


def checked_gather(n: int, lanes: int) -> Kernel:
    table = Buffer("table", dt.f32, (10,), role="in")
    index = Buffer("index", dt.i64, (n,), role="in")
    out = Buffer("out", dt.f32, (n,), role="out")
    c, v = Var("c"), Var("v")
    i = c * lanes + v if lanes else c
    k = Load(index, (i,))
    safe = minimum(maximum(k, 0), 9)
    inner = (
        Fail(4, (k < 0) | (k > 9), k),
        Fail(2, k.equal(3), k),
        Store(out, (i,), Load(table, (safe,))),
    )
    body: Body = (vector(v, lanes, If(i < n, inner)),) if lanes else inner
    return Kernel("k", (table, index, out), (For(c, -(-n // max(lanes, 1)), Kind.PARALLEL, body),))
