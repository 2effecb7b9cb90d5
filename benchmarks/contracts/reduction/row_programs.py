"""Kernels of softmax and layer norm over rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.contracts.reduction.lanes import finish, lane_sums, plain
from benchmarks.contracts.reduction.order import Array, Order, model
from benchmarks.contracts.reduction.writer import Writer

EXP = (1.0, 1.0, 0.5, 0.16666657, 0.041665796, 0.008333336, 0.0013981999)


def exp(w: Writer, x: str) -> str:
    """exp(x) for float32 x in [-87, 0]: 8 fused steps and a shift of the exponent."""
    x = w.call("maximum", x, w.splat(-87.0))
    k = w.call("roundeven", w.binary("fmul", x, w.splat(1.44269504)))
    r = w.call("fma", k, w.splat(-0.693359375), x)
    r = w.call("fma", k, w.splat(2.12194440e-4), r)
    p = w.splat(EXP[-1])
    for c in reversed(EXP[:-1]):
        p = w.call("fma", p, r, w.splat(c))
    whole = f"<{w.width} x i32>"
    shift = w.let(f"shl {whole} {w.let(f'fptosi {w.vector} {k} to {whole}')}, splat (i32 23)")
    raised = w.let(f"add {whole} {w.let(f'bitcast {w.vector} {p} to {whole}')}, {shift}")
    return w.let(f"bitcast {whole} {raised} to {w.vector}")


def each(w: Writer, n: int, unroll: int, write: Callable[[str | int, int], None]) -> None:
    """`write(offset, present)` for each vector of a row."""
    step = unroll * w.width
    whole = n // step * step
    with w.loop(0, whole, step) as i:
        for u in range(unroll):
            write(w.sum(i, u * w.width), w.width)
    for start in range(whole, n, w.width):
        write(start, n - start)


def softmax(w: Writer, n: int, order: Order | None, group: int) -> str:
    """Text of softmax over `count` rows of n: max, exp and sum, scale."""
    with w.loop(0, "%count") as r:
        x, out = w.at("%x", w.mul(r, n)), w.at("%out", w.mul(r, n))
        tops = [w.alloca(w.vector) for _ in range(4)]
        first = w.broadcast(w.load(x, 1))
        for top in tops:
            w.store(first, top)
        step = 4 * w.width
        with w.loop(0, n // step * step, step) as i:
            for u, top in enumerate(tops):
                v = w.load(w.at(x, w.sum(i, u * w.width)))
                w.store(w.call("maximum", w.load(top), v), top)
        best = w.load(tops[0])
        for top in tops[1:]:
            best = w.call("maximum", best, w.load(top))
        for start in range(n // step * step, n, w.width):
            # the last vector is read back over elements already seen: max has no order
            best = w.call("maximum", best, w.load(w.at(x, min(start, n - w.width))))
        lanes = w.width
        while lanes > 1:
            lanes //= 2
            moved = [(i + lanes) % w.width for i in range(w.width)]
            best = w.call("maximum", best, w.shuffle(best, "poison", moved))

        def element(w: Writer, offset: str | int, present: int) -> str:
            e = exp(w, w.binary("fsub", w.load(w.at(x, offset), present), best))
            w.store(e, w.at(out, offset), present)
            return masked(w, e, present)

        total = finish(w, *lane_sums(w, n, order, element, group=group))
        scale = w.broadcast(w.binary("fdiv", w.splat(1.0), total))
        each(
            w,
            n,
            4,
            lambda offset, present: w.store(
                w.binary("fmul", w.load(w.at(out, offset), present), scale),
                w.at(out, offset),
                present,
            ),
        )
    return w.text()


def masked(w: Writer, v: str, present: int) -> str:
    """v with the lanes from `present` on set to -0.0."""
    if present >= w.width:
        return v
    return w.let(f"select {w.mask(present)}, {w.vector} {v}, {w.vector} {w.splat(-0.0)}")


def layer_norm(w: Writer, n: int, order: Order | None, group: int) -> str:
    """Text of (x - mean) * (1 / sqrt(var + 1e-5)) over `count` rows of n, two-pass variance."""
    with w.loop(0, "%count") as r:
        x, out = w.at("%x", w.mul(r, n)), w.at("%out", w.mul(r, n))
        total = finish(w, *lane_sums(w, n, order, plain(x), group=group))
        mean = w.broadcast(w.binary("fdiv", total, w.splat(n)))

        def element(w: Writer, offset: str | int, present: int) -> str:
            d = w.binary("fsub", w.load(w.at(x, offset), present), mean)
            return masked(w, w.binary("fmul", d, d), present)

        total = finish(w, *lane_sums(w, n, order, element, group=group))
        var = w.binary("fadd", w.binary("fdiv", total, w.splat(n)), w.splat(1e-5))
        scale = w.broadcast(w.binary("fdiv", w.splat(1.0), w.call("sqrt", var)))
        each(
            w,
            n,
            4,
            lambda offset, present: w.store(
                w.binary("fmul", w.binary("fsub", w.load(w.at(x, offset), present), mean), scale),
                w.at(out, offset),
                present,
            ),
        )
    return w.text()


def layer_norm_model(x: Array, order: Order) -> Array:
    """What the documented `layer_norm` kernel must give, bit for bit."""
    n = x.dtype.type(x.shape[1])
    one = x.dtype.type(1)
    d = x - (model(x, order) / n)[:, None]
    var = model(d * d, order) / n + x.dtype.type(1e-5)
    return d * (one / np.sqrt(var))[:, None]
