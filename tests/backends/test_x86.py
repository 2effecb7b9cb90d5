"""Kernels as x86 code, against the kernel interpreter, at both vector widths."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from pyc.backends.base import SiteFailed
from pyc.backends.cpu import Cpu
from pyc.backends.x86 import modules
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import (
    Const,
    Expr,
    Load,
    Shuffle,
    Var,
    apply,
    const,
    fma,
    maximum,
    minimum,
    rare_select,
    select,
    substitute,
)
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
    Prefetch,
    Space,
    Split,
    Stmt,
    Store,
    While,
    expressions,
)
from pyc.ir.target import X86_64_V4, Target
from tests.backends.native_kernels import check, each_target, native, one_kernel_plan
from tests.backends.small_kernels import NUMBERS, checked_gather, normal, serial, sum_rows, vector

# --- element-wise loops ---------------------------------------------------------------------------


@each_target
@pytest.mark.parametrize("n", [1, 15, 16, 64, 127, 1000])
@pytest.mark.parametrize("t", [dt.f32, dt.f64, dt.i8, dt.b1, dt.bf16], ids=repr)
def test_a_masked_tail_touches_only_its_elements(target: Target, n: int, t: DType) -> None:
    """The last vector hangs over the end of the array; what lies behind it must stay."""
    x = Buffer("x", t, (n,), role="in")
    out = Buffer("out", t, (n + 64,), role="inout")
    c, v = Var("c"), Var("v")
    i = c * 64 + v
    value = Load(x, (i,))
    result: Expr = ~value if t is dt.b1 else value if t.is_half else value * value + value
    body = (serial(c, -(-n // 64), vector(v, 64, If(i < n, (Store(out, (i,), result),)))),)
    before = (
        (NUMBERS.standard_normal(n + 64) > 0).astype(t.numpy)
        if t is dt.b1
        else normal(n + 64).astype(t.numpy)
    )
    data = (normal(n) * 5).astype(t.numpy)
    found = check(Kernel("k", (x, out), body), [data, before], target)
    assert (found[1][n:] == before[n:]).all()


@each_target
def test_prefetches_change_nothing_and_may_reach_out(target: Target) -> None:
    x = Buffer("x", dt.f32, (9, 64), role="in")
    out = Buffer("out", dt.f32, (9, 64), role="out")
    r, k, v = Var("r"), Var("k"), Var("v")
    ahead = Prefetch(x, (r + 1, k * 1_000_000 - 7))
    inner = vector(v, 64, serial(k, 3, ahead), Store(out, (r, v), Load(x, (r, v)) + 1.0))
    kernel = Kernel("k", (x, out), (serial(r, 9, inner),))
    arrays = [normal(9, 64), normal(9, 64)]
    check(kernel, arrays, target)
    text = modules(one_kernel_plan(kernel, arrays), target).text
    assert text.count("call void @llvm.prefetch.p0(") == 1


@pytest.mark.parametrize("dtype", [dt.u32, dt.i32, dt.f32, dt.u64, dt.i64, dt.f64], ids=repr)
def test_a_vector_is_parted_by_a_bound_that_varies(dtype: DType) -> None:
    """In place and into a second buffer, from places that are no multiple of anything."""
    lanes, vectors = 64 // dtype.itemsize, 9
    x = Buffer("x", dtype, (lanes * (vectors + 1),), role="inout")
    others = Buffer("others", dtype, (lanes * (vectors + 1),), role="inout")
    bounds = Buffer("bounds", dtype, (vectors,), role="in")
    found = Buffer("found", dt.i64, (2,), role="inout")
    v, count, below, over, low, high = (Var(n) for n in ("v", "count", "a", "b", "c", "d"))
    at = (v * lanes + 1,)
    split = Split(count, x, at, Load(bounds, (v,)), x, (below,), others, (over,), lanes)
    carries = (
        Carry(below, const(0), below + count, low),
        Carry(over, const(0), over + (lanes - count), high),
    )
    loop = For(v, vectors, Kind.SERIAL, (split,), carries)
    ends = (Store(found, (const(0),), low), Store(found, (const(1),), high))
    kernel = Kernel("parts", (x, others, bounds, found), (loop, *ends))
    draws = np.random.default_rng(0)
    data = draws.integers(0, 200, lanes * (vectors + 1)).astype(dtype.numpy)
    if dtype.is_float:
        data[::5], data[1::5] = np.nan, -data[1::5]
    where = draws.integers(0, 200, vectors).astype(dtype.numpy)
    check(kernel, [data, data[::-1].copy(), where, np.zeros(2, np.int64)], X86_64_V4)


@each_target
@pytest.mark.parametrize(
    "kind", ["transpose", "reverse", "stride2", "stride3", "row", "mixed", "gather"]
)
def test_every_access_pattern(target: Target, kind: str) -> None:
    n, m = 5, 64
    x = Buffer("x", dt.f32, (m, m), role="in")
    table = Buffer("table", dt.i64, (m,), role="in")
    out = Buffer("out", dt.f32, (n, m), role="out")
    r, v = Var("r"), Var("v")
    row = r
    index: tuple[Expr, Expr] = {
        "transpose": (v, row),
        "reverse": (row, (m - 1) - v),
        "stride2": (row * 2 + apply("quotient", v, const(32)), apply("remainder", v * 2, const(m))),
        "stride3": (row, apply("remainder", v * 3, const(m))),
        "row": (row, row),
        "mixed": (apply("quotient", v, const(7)), apply("remainder", v + row, const(m))),
        "gather": (row, Load(table, (v,))),
    }[kind]
    body = (serial(r, n, vector(v, m, Store(out, (r, v), Load(x, index) + 1.0))),)
    permutation = NUMBERS.permutation(m).astype(np.int64)
    check(Kernel("k", (x, table, out), body), [normal(m, m), permutation, normal(n, m)], target)


@each_target
@pytest.mark.parametrize("t", [dt.f32, dt.f64], ids=repr)
def test_complex_pairs_in_place_and_with_a_tail(target: Target, t: DType) -> None:
    """z = z * w + z over pairs: strided loads share vectors, the two stores are interleaved."""
    n = 77
    z = Buffer("z", t, (n, 2), role="inout")
    w = Buffer("w", t, (n, 2), role="in")
    c, v = Var("c"), Var("v")
    i = c * 16 + v
    a, b = Load(z, (i, const(0))), Load(z, (i, const(1)))
    x, y = Load(w, (i, const(0))), Load(w, (i, const(1)))
    re, im = Var("re", t), Var("im", t)
    inner = (
        Let(re, a * x - b * y + a),
        Let(im, a * y + b * x + b),
        Store(z, (i, const(0)), re),
        Store(z, (i, const(1)), im),
    )
    body = (
        serial(c, n // 16, vector(v, 16, *inner)),
        vector(w0 := Var("w0"), 16, If(w0 < n % 16, _moved(inner, v, w0, c, n // 16))),
    )
    data = normal(n, 2, dtype=t.numpy)
    check(Kernel("k", (z, w), body), [data, normal(n, 2, dtype=t.numpy)], target)


def _moved(body: Body, lane: Var, other: Var, chunk: Var, number: int) -> Body:
    """The statements with new variables: each is bound once."""
    names: dict[Var, Expr] = {lane: other, chunk: const(number)}
    out: list[Stmt] = []
    for s in body:
        roots = substitute(expressions(s), names)
        if isinstance(s, Let):
            names[s.var] = Var(s.var.name + "t", s.var.dtype)
            fresh = names[s.var]
            assert isinstance(fresh, Var)
            out.append(Let(fresh, roots[0]))
        else:
            assert isinstance(s, Store)
            out.append(Store(s.buffer, tuple(roots[:-1]), roots[-1]))
    return tuple(out)


@each_target
@pytest.mark.parametrize("stride", [2, 3, 4, 5])
@pytest.mark.parametrize("t", [dt.f32, dt.i8, dt.b1, dt.f64], ids=repr)
def test_strided_loads_read_no_further_than_their_last_element(
    target: Target, stride: int, t: DType
) -> None:
    """The array ends at the last element; every member of a group is asked for."""
    lanes = 32
    x = Buffer("x", t, (lanes * stride,), role="in")
    out = Buffer("out", t, (stride, lanes), role="out")
    v = Var("v")
    stores = [Store(out, (const(k), v), Load(x, (v * stride + k,))) for k in range(stride)]
    data = (normal(lanes * stride) * 50).astype(t.numpy)
    arrays = [data, np.zeros((stride, lanes), t.numpy)]
    check(Kernel("k", (x, out), (vector(v, lanes, *stores),)), arrays, target)


@each_target
@pytest.mark.parametrize("stride", [-2, -3, -5])
@pytest.mark.parametrize("lanes", [4, 16, 64])
def test_strided_loads_run_backwards(target: Target, stride: int, lanes: int) -> None:
    """The first and the last element of the array are among those that are read."""
    count = -stride
    x = Buffer("x", dt.f32, (lanes * count,), role="in")
    out = Buffer("out", dt.f32, (count, lanes), role="out")
    v = Var("v")
    place = v * stride + count * (lanes - 1)
    stores = [Store(out, (const(k), v), Load(x, (place + k,))) for k in range(count)]
    arrays = [normal(lanes * count), np.zeros((count, lanes), np.float32)]
    kernel = Kernel("k", (x, out), (vector(v, lanes, *stores),))
    check(kernel, arrays, target)
    assert "gather" not in modules(one_kernel_plan(kernel, arrays), target).text


@each_target
@pytest.mark.parametrize("count", [2, 3, 4, 7, 8])
@pytest.mark.parametrize("t", [dt.f32, dt.i8, dt.b1, dt.f64], ids=repr)
@pytest.mark.parametrize("lanes", [4, 32])
def test_stores_to_neighbours_are_whole_vectors(
    target: Target, count: int, t: DType, lanes: int
) -> None:
    """In every order of the statements, and beside stores that are not of the group."""
    x = Buffer("x", t, (count, lanes), role="in")
    out = Buffer("out", t, (count * lanes,), role="inout")
    other = Buffer("other", t, (lanes,), role="out")
    data = (normal(count, lanes) * 50).astype(t.numpy)
    for order in (range(count), reversed(range(count))):
        v = Var("v")
        stores = [Store(out, (v * count + k,), Load(x, (const(k), v))) for k in order]
        stores.insert(1, Store(other, (v,), Load(x, (const(0), v))))
        stores.append(Store(other, (v,), Load(x, (const(0), v))))
        kernel = Kernel("k", (x, out, other), (vector(v, lanes, *stores[2:], *stores[:2]),))
        check(kernel, [data, np.zeros(count * lanes, t.numpy), np.zeros(lanes, t.numpy)], target)
    v = Var("v")
    whole = [Store(out, (v * count + k,), Load(x, (const(k), v))) for k in range(count)]
    kernel = Kernel("k", (x, out), (vector(v, lanes, *whole),))
    arrays = [data, np.zeros(count * lanes, t.numpy)]
    check(kernel, arrays, target)
    scattered = "scatter" in modules(one_kernel_plan(kernel, arrays), target).text
    assert scattered == (count not in (2, 4, 8))


@each_target
@pytest.mark.parametrize("t", [dt.f32, dt.i8, dt.b1, dt.f64], ids=repr)
@pytest.mark.parametrize("last", [0, 1, 20, 31, 32, 39, 71, 72, 90])
def test_clamped_loads_repeat_the_last_element(target: Target, last: int, t: DType) -> None:
    """Lanes up to one read neighbours, the others that one: alone, and behind another row."""
    rows, lanes, start = 3, 64, 8
    x = Buffer("x", t, (rows * (last + 1),), role="in")
    out = Buffer("out", t, (rows, 2, lanes), role="out")
    r, v = Var("r"), Var("v")
    place = minimum(v + start, last)
    stores = [
        Store(out, (r, const(0), v), Load(x, (r * (last + 1) + place,))),
        Store(out, (r, const(1), v), Load(x, (place,))),
    ]
    data = (normal(rows * (last + 1)) * 50).astype(t.numpy)
    arrays = [data, np.zeros((rows, 2, lanes), t.numpy)]
    kernel = Kernel("k", (x, out), (serial(r, rows, vector(v, lanes, *stores)),))
    check(kernel, arrays, target)
    if last == 39:
        assert "gather" not in modules(one_kernel_plan(kernel, arrays), target).text


@each_target
def test_stores_that_may_meet_keep_their_order(target: Target) -> None:
    """out[i] = 1, then out[i + 1] = 2: the later statement wins for every lane."""
    out = Buffer("out", dt.f32, (65,), role="inout")
    v = Var("v")
    stores = (Store(out, (v,), Const(1, dt.f32)), Store(out, (v + 1,), Const(2, dt.f32)))
    check(Kernel("k", (out,), (vector(v, 64, *stores),)), [normal(65)], target)


@each_target
def test_scatter_and_strided_stores(target: Target) -> None:
    m = 64
    x = Buffer("x", dt.f32, (m,), role="in")
    table = Buffer("table", dt.i64, (m,), role="in")
    out = Buffer("out", dt.f32, (m,), role="inout")
    wide = Buffer("wide", dt.i8, (m, 3), role="inout")
    v, w = Var("v"), Var("w")
    body = (
        vector(v, m, If(Load(x, (v,)) > 0.0, (Store(out, (Load(table, (v,)),), Load(x, (v,))),))),
        vector(w, m, Store(wide, (w, const(1)), Load(x, (w,)).cast(dt.i8))),
    )
    permutation = NUMBERS.permutation(m).astype(np.int64)
    arrays = [normal(m) * 20, permutation, normal(m), np.zeros((m, 3), np.int8)]
    check(Kernel("k", (x, table, out, wide), body), arrays, target)


@each_target
def test_symbolic_sizes_and_empty_loops(target: Target) -> None:
    n, m = Var("n"), Var("m")
    x = Buffer("x", dt.f32, (n, m), role="in")
    out = Buffer("out", dt.f32, (m, n), role="out")
    last = Buffer("last", dt.f32, (), role="out")
    r, c, v = Var("r"), Var("c"), Var("v")
    total, after = Var("t", dt.f32), Var("a", dt.f32)
    i = c * 16 + v
    chunks = apply("quotient", m + 15, const(16))
    body = (
        serial(
            r,
            n,
            serial(c, chunks, vector(v, 16, If(i < m, (Store(out, (i, r), Load(x, (r, i))),)))),
        ),
        serial(Var("q"), n, carried=(Carry(total, Const(7, dt.f32), total * 2.0, after),)),
        Store(last, (), after),
    )
    kernel = Kernel("k", (x, out, last), body, (n, m))
    for shape in ((3, 5), (0, 4), (4, 0), (2, 33)):
        arrays = [normal(*shape), normal(*shape[::-1]), normal()]
        arrays[2] = np.asarray(arrays[2])
        check(kernel, arrays, target, shape)


@each_target
def test_conditions_mask_or_branch(target: Target) -> None:
    """Nested and uniform conditions, both arms, with values from before."""
    m = 64
    x = Buffer("x", dt.f32, (4, m), role="in")
    out = Buffer("out", dt.f32, (4, m), role="inout")
    r, v = Var("r"), Var("v")
    a = Var("a", dt.f32)
    inner = If(
        a > 0.0,
        (If(v < 37, (Store(out, (r, v), a * 2.0),), (Store(out, (r, v), a * 3.0),)),),
        (If(r > 1, (Store(out, (r, v), Load(x, (r - 2, v)) - a),)),),
    )
    body = (
        serial(
            r,
            4,
            If(
                (r & 1).equal(0),
                (vector(v, m, Let(a, Load(x, (r, v))), inner),),
                (Store(out, (r, const(3)), Const(9, dt.f32)),),
            ),
        ),
    )
    check(Kernel("k", (x, out), body), [normal(4, m), normal(4, m)], target)


# --- carried values, reductions -------------------------------------------------------------------


@each_target
@pytest.mark.parametrize("chunks", [1, 3])
def test_a_lane_reduction_with_a_shuffle_tree(target: Target, chunks: int) -> None:
    check(sum_rows(3, chunks), [normal(3, 1024 * chunks), normal(3)], target)


@each_target
def test_shuffles_of_wide_and_narrow_types_store_everywhere(target: Target) -> None:
    for t in (dt.i8, dt.f64, dt.i64, dt.b1):
        x = Buffer("x", t, (32,), role="in")
        out = Buffer("out", t, (5, 32), role="out")
        v = Var("v")
        stores = tuple(
            Store(out, (const(k), v), Shuffle(Load(x, (v,)), v, 1 << k)) for k in range(5)
        )
        data = (normal(32) > 0) if t is dt.b1 else (normal(32) * 9).astype(t.numpy)
        check(
            Kernel("k", (x, out), (vector(v, 32, *stores),)),
            [data, np.zeros((5, 32), t.numpy)],
            target,
        )


@each_target
def test_serial_loops_inside_a_vector_loop_carry_lanes_and_scalars(target: Target) -> None:
    """A column sum with a running index: one carried value differs by lane, the other does not."""
    n, m = 9, 64
    x = Buffer("x", dt.f64, (n, m), role="in")
    out = Buffer("out", dt.f64, (m,), role="out")
    v, j = Var("v"), Var("j")
    acc, row = Var("acc", dt.f64), Var("row")
    total, final = Var("total", dt.f64), Var("final")
    loop = serial(
        j,
        n,
        carried=(
            Carry(acc, Const(0, dt.f64), acc * 0.5 + Load(x, (row, v)), total),
            Carry(row, const(n - 1), row - 1, final),
        ),
    )
    body = (vector(v, m, loop, Store(out, (v,), total + final.cast(dt.f64))),)
    check(
        Kernel("k", (x, out), body),
        [normal(n, m, dtype=np.float64), normal(m, dtype=np.float64)],
        target,
    )


@each_target
def test_unrolled_loops_fold_their_index(target: Target) -> None:
    x = Buffer("x", dt.f32, (4, 32), role="in")
    out = Buffer("out", dt.f32, (4, 32), role="out")
    u, v = Var("u"), Var("v")
    acc, total = Var("acc", dt.f32), Var("total", dt.f32)
    loop = For(
        u,
        4,
        Kind.UNROLL,
        (Store(out, (u, v), acc * u.cast(dt.f32)),),
        (Carry(acc, Load(x, (const(0), v)), acc + Load(x, (u, v)), total),),
    )
    body = (vector(v, 32, loop, Store(out, (const(0), v), total)),)
    check(Kernel("k", (x, out), body), [normal(4, 32), normal(4, 32)], target)


@each_target
@pytest.mark.parametrize("lanes", [0, 64])
def test_while_stops_lane_by_lane(target: Target, lanes: int) -> None:
    """Collatz lengths: finished lanes keep their values, and a masked tail never starts."""
    n = 50
    x = Buffer("x", dt.i64, (n,), role="in")
    out = Buffer("out", dt.i64, (n,), role="out")
    trace = Buffer("trace", dt.i64, (n,), role="inout")
    v = Var("v")
    value, count, last, length = Var("value"), Var("count"), Var("last"), Var("length")
    even = (value & 1).equal(0)
    following = select(even, value >> const(1), value * 3 + 1)
    loop = While(
        (
            Carry(value, Load(x, (v,)), following, last),
            Carry(count, const(0), count + 1, length),
        ),
        value > 1,
        (Store(trace, (v,), maximum(Load(trace, (v,)), value)),),
    )
    inner = (loop, Store(out, (v,), length * 1000 + last))
    body: Body = (vector(v, lanes, If(v < n, inner)),) if lanes else (serial(v, n, *inner),)
    check(
        Kernel("k", (x, out, trace), body),
        [np.arange(1, n + 1), np.zeros(n, np.int64), np.zeros(n, np.int64)],
        target,
    )


@each_target
@pytest.mark.parametrize("lanes", [0, 32])
def test_rare_select_computes_its_operand_only_where_needed(target: Target, lanes: int) -> None:
    """The rare operand shares a node with the usual one and nests another rare one."""
    n = 96
    x = Buffer("x", dt.f32, (n,), role="in")
    out = Buffer("out", dt.f32, (n,), role="out")
    c, v = Var("c"), Var("v")
    i = c * lanes + v if lanes else c
    value = Load(x, (i,))
    shared = value * value
    deep = shared
    for k in range(6):
        deep = fma(deep, value, Const(k, dt.f32))
    nested = rare_select(value > 2.0, deep + 1.0, deep - shared)
    result = rare_select(value > 1.0, nested, shared + 2.0)
    chain = rare_select(result < 0.1, result - 5.0, result)
    store = Store(out, (i,), chain + shared)
    body = (serial(c, n // max(lanes, 1), vector(v, lanes, store) if lanes else store),)
    for data in (normal(n) * 2, np.zeros(n, np.float32), np.full(n, 3, np.float32)):
        check(Kernel("k", (x, out), body), [data, normal(n)], target)


# --- local memory, accumulation -------------------------------------------------------------------


@each_target
@pytest.mark.parametrize("space", [Space.STACK, Space.REGISTER])
def test_local_buffers_hold_a_row_or_belong_to_each_lane(target: Target, space: Space) -> None:
    n, m = 3, 64
    x = Buffer("x", dt.f32, (n, m), role="in")
    out = Buffer("out", dt.f32, (n, m), role="out")
    line = Buffer("line", dt.f32, (m,), space)
    mine = Buffer("mine", dt.f32, (4,), space)
    r, v, w, u, q = Var("r"), Var("v"), Var("w"), Var("u"), Var("q")
    fill = For(u, 4, Kind.UNROLL, (Store(mine, (u,), Load(line, (w,)) * u.cast(dt.f32)),))
    back = serial(
        q, 4, Store(mine, (const(3) - q,), Load(mine, (q,)) + Load(mine, (const(3) - q,)))
    )
    body = serial(
        r,
        n,
        Alloc(
            line,
            (
                vector(v, m, Store(line, (v,), Load(x, (r, v)) * 3.0)),
                vector(
                    w,
                    m,
                    Alloc(
                        mine,
                        (
                            fill,
                            back,
                            Store(
                                out, (r, w), Load(mine, (const(1),)) + Load(line, ((m - 1) - w,))
                            ),
                        ),
                    ),
                ),
            ),
        ),
    )
    check(Kernel("k", (x, out), (body,)), [normal(n, m), normal(n, m)], target)


@each_target
@pytest.mark.parametrize("lanes", [0, 64])
def test_colliding_accumulation_is_in_lane_order(target: Target, lanes: int) -> None:
    n = 64
    x = Buffer("x", dt.f32, (n,), role="in")
    bins = Buffer("bins", dt.i64, (n,), role="in")
    out = Buffer("out", dt.f32, (8,), role="inout")
    direct = Buffer("direct", dt.f32, (n,), role="inout")
    v = Var("v")
    inner = (
        Accumulate(out, (Load(bins, (v,)),), Load(x, (v,)), "add"),
        Accumulate(direct, (v,), Load(x, (v,)), "maximum"),
        If(Load(x, (v,)) > 0.0, (Accumulate(out, (const(5),), Load(x, (v,)), "add"),)),
    )
    body = (For(v, n, Kind.VECTOR if lanes else Kind.SERIAL, inner),)
    arrays = [normal(n) * 1e3, NUMBERS.integers(0, 8, n), normal(8), normal(n)]
    check(Kernel("k", (x, bins, out, direct), body), arrays, target)


@each_target
def test_stores_order_loads_of_the_same_buffer(target: Target) -> None:
    """A recurrence through memory, and a load that must not leave its loop."""
    n = 20
    x = Buffer("x", dt.f64, (n,), role="inout")
    s = Buffer("s", dt.f64, (), role="inout")
    i, j, v = Var("i"), Var("j"), Var("v")
    kept = Var("kept", dt.f64)
    body = (
        serial(
            i,
            n - 1,
            Let(kept, Load(x, (i,))),
            Store(x, (i + 1,), kept + Load(x, (i + 1,))),
            Store(s, (), Load(s, ()) + kept),
        ),
        serial(
            j,
            3,
            Store(s, (), Load(s, ()) * 2.0),
            vector(v, 8, Store(x, (v,), Load(x, (v,)) + Load(s, ()))),
        ),
    )
    check(
        Kernel("k", (x, s), body), [normal(n, dtype=np.float64), np.zeros((), np.float64)], target
    )


# --- failures, cancellation, tasks ----------------------------------------------------------------


@each_target
@pytest.mark.parametrize("lanes", [0, 16, 64])
def test_the_lowest_failed_site_is_reported(target: Target, lanes: int) -> None:
    n = 100
    kernel = checked_gather(n, lanes)
    index = np.full(n, 5)
    arrays = [normal(10), index, normal(n)]
    found = native(kernel, arrays, target)
    assert (found[2] == arrays[0][5]).all()
    index[40], index[70] = 12, 11
    with pytest.raises(SiteFailed) as failed:
        native(kernel, arrays, target)
    assert (failed.value.site, failed.value.value) == (4, 11)
    index[99] = 3
    with pytest.raises(SiteFailed) as failed:
        native(kernel, arrays, target)
    assert (failed.value.site, failed.value.value) == (2, 3)


@each_target
@pytest.mark.parametrize("lanes", [0, 32])
def test_a_raised_cancel_flag_ends_an_endless_while(target: Target, lanes: int) -> None:
    out = Buffer("out", dt.i64, (32,), role="inout")
    v, k, last = Var("v"), Var("k"), Var("last")
    loop = While((Carry(k, v, k + 1, last),), k > -1, ())
    body = (For(v, 32, Kind.VECTOR if lanes else Kind.SERIAL, (loop, Store(out, (v,), last))),)
    flag = ctypes.c_int32(1)
    with pytest.raises(KeyboardInterrupt):
        native(
            Kernel("k", (out,), body),
            [np.zeros(32, np.int64)],
            target,
            cpu=Cpu(cancel=ctypes.addressof(flag)),
        )


TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def test_parallel_loops_hand_their_range_to_the_pool() -> None:
    """Tasks come in any order and any split; the result is that of the serial loop."""
    ranges: list[tuple[int, int]] = []

    def parallel(pool: int, function: int, frame: int, tasks: int) -> None:
        middle = tasks // 3
        for begin, end in ((middle, tasks), (0, middle)):
            ranges.append((begin, end))
            TASK(function)(frame, begin, end)

    keep = PARALLEL(parallel)
    address = ctypes.cast(keep, ctypes.c_void_p).value
    assert address is not None
    kernel = sum_rows(7, 1)
    arrays = [normal(7, 1024), np.zeros(7, np.float32)]
    found = native(kernel, arrays, X86_64_V4, cpu=Cpu(pool=8, parallel=address))
    assert ranges == [(2, 7), (0, 2)]
    assert (found[1] == native(kernel, arrays, X86_64_V4)[1]).all()
