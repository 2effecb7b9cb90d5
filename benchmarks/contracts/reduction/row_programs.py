"""Kernels of softmax and layer norm over rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.contracts.reduction.arithmetic import FAST, Arithmetic
from benchmarks.contracts.reduction.lanes import finish, lane_sums, plain
from benchmarks.contracts.reduction.order import Array, Order, model
from benchmarks.contracts.reduction.writer import Writer


def each(w: Writer, n: int, unroll: int, write: Callable[[str | int, int], None]) -> None:
    """`write(offset, present)` for each vector of a row."""
    step = unroll * w.width
    whole = n // step * step
    with w.loop(0, whole, step) as i:
        for u in range(unroll):
            write(w.sum(i, u * w.width), w.width)
    for start in range(whole, n, w.width):
        write(start, n - start)


def softmax(
    w: Writer, n: int, order: Order | None, group: int, arithmetic: Arithmetic = FAST
) -> str:
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
            e = arithmetic.exp(w, w.binary("fsub", w.load(w.at(x, offset), present), best))
            w.store(e, w.at(out, offset), present)
            return masked(w, e, present)

        total = finish(w, *lane_sums(w, n, order, element, group=group))
        divisor = w.broadcast(arithmetic.divisor(w, total))

        def quotient(offset: str | int, present: int) -> None:
            place = w.at(out, offset)
            w.store(arithmetic.divided(w, w.load(place, present), divisor), place, present)

        each(w, n, 4, quotient)
    return w.text()


def masked(w: Writer, v: str, present: int) -> str:
    """v with the lanes from `present` on set to -0.0."""
    if present >= w.width:
        return v
    return w.let(f"select {w.mask(present)}, {w.vector} {v}, {w.vector} {w.splat(-0.0)}")


def layer_norm(
    w: Writer, n: int, order: Order | None, group: int, arithmetic: Arithmetic = FAST
) -> str:
    """Text of (x - mean) / sqrt(var + 1e-5) over `count` rows of n, two-pass variance."""
    with w.loop(0, "%count") as r:
        x, out = w.at("%x", w.mul(r, n)), w.at("%out", w.mul(r, n))
        total = finish(w, *lane_sums(w, n, order, plain(x), group=group))
        mean = w.broadcast(w.binary("fdiv", total, w.splat(n)))

        def element(w: Writer, offset: str | int, present: int) -> str:
            d = w.binary("fsub", w.load(w.at(x, offset), present), mean)
            return masked(w, w.binary("fmul", d, d), present)

        total = finish(w, *lane_sums(w, n, order, element, group=group))
        var = w.binary("fadd", w.binary("fdiv", total, w.splat(n)), w.splat(1e-5))
        divisor = w.broadcast(arithmetic.divisor(w, w.call("sqrt", var)))

        def quotient(offset: str | int, present: int) -> None:
            away = w.binary("fsub", w.load(w.at(x, offset), present), mean)
            w.store(arithmetic.divided(w, away, divisor), w.at(out, offset), present)

        each(w, n, 4, quotient)
    return w.text()


def layer_norm_model(x: Array, order: Order) -> Array:
    """What the documented `layer_norm` kernel must give, bit for bit."""
    n = x.dtype.type(x.shape[1])
    one = x.dtype.type(1)
    d = x - (model(x, order) / n)[:, None]
    var = model(d * d, order) / n + x.dtype.type(1e-5)
    return d * (one / np.sqrt(var))[:, None]
