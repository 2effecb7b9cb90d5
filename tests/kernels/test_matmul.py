"""Matrix products of a CPU: groups of rows of one size, and panels that are packed or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.dtype import DType
from pyc.ir.expr import Load, postorder
from pyc.ir.loops import Alloc, Body, For, If, Kind, Prefetch, Store, expressions, walk
from pyc.ir.target import X86_64_V3, X86_64_V4, X86_64_V4_FP16, Target
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels.few_columns import suits_few_columns
from pyc.kernels.matmul import matmul, refusal
from pyc.kernels.registry import choose
from pyc.kernels.tasks import lanes_of
from pyc.runtime.threads import set_num_threads
from pyc.verification import verify
from tests.passes.programs import planned

PLAIN = (((1,), (0,)), ((), ()))
ACROSS = (((1,), (1,)), ((), ()))
TURNED = (((0,), (0,)), ((), ()))
BATCHED = (((2,), (1,)), ((0,), (0,)))
RNG = np.random.default_rng(6)


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def panels(m: int, n: int, dimensions: Any, target: Target) -> bool:
    """Whether the kernel packs panels."""
    b = (40, n) if dimensions is PLAIN else (n, 40)
    types = ArrayType((m, 40), dt.f32), ArrayType(b, dt.f32)
    assert not refusal(types, dimensions, target)
    kernel = matmul(types, target, dimensions=dimensions)
    return any(isinstance(s, Alloc) and s.buffer.name == "panel" for s in walk(kernel.body))


def test_few_groups_of_rows_read_panels_where_they_lie() -> None:
    assert not panels(16 * 12, 64, PLAIN, X86_64_V4)
    assert panels(16 * 12 + 1, 64, PLAIN, X86_64_V4)
    assert not panels(24, 65, PLAIN, X86_64_V4), "ragged columns are masked"
    assert panels(24, 64, ACROSS, X86_64_V4), "columns that are far apart are packed"
    assert not panels(16 * 6, 64, PLAIN, X86_64_V3) and panels(16 * 6 + 1, 64, PLAIN, X86_64_V3)


def test_the_first_of_some_groups_fills_the_panel_that_the_others_read() -> None:
    """Where rows of a large matrix are in the middle of lines, and share sets of a cache. Vectors
    of the last panel that are not filled whole are zeros: what lies there may be subnormal."""
    fills = filled(64, 256, 768)
    assert len(fills) == 1 and len(loads_of(fills[0])) == 1
    assert not filled(24, 256, 768), "two groups"
    assert not filled(64, 40, 64), "what stays in the first-level cache"
    assert not filled(400, 256, 768), "packed for many groups"
    assert not loads_of(filled(64, 256, 770)[0]), "zeros first"


def filled(m: int, k: int, n: int) -> list[Store]:
    """The stores into the panel of a product of float32 that say what its sums read there."""
    types = ArrayType((m, k), dt.f32), ArrayType((k, n), dt.f32)
    kernel = matmul(types, X86_64_V4, dimensions=PLAIN)
    conditional = [s for s in walk(kernel.body) if isinstance(s, If)]
    return [
        s
        for c in conditional
        for s in walk(c.then)
        if isinstance(s, Store) and s.buffer.name == "panel"
    ]


def loads_of(store: Store) -> list[Load]:
    return [e for e in postorder([store.value]) if isinstance(e, Load)]


def accumulators(m: int, n: int, k: int, target: Target, dtype: DType = dt.f32) -> tuple[int, int]:
    """Rows of a group, and columns of a panel."""
    types = ArrayType((m, k), dtype), ArrayType((k, n), dtype)
    kernel = matmul(types, target, dimensions=PLAIN)
    loops = [s for s in walk(kernel.body) if isinstance(s, For)]
    (lanes,) = {s.extent for s in loops if s.kind is Kind.VECTOR}
    (rows,) = {len(s.carried) for s in loops if s.carried}
    assert isinstance(lanes, int)
    return rows, lanes


def test_rows_and_vectors_that_share_the_registers_follow_the_shape() -> None:
    assert accumulators(240, 256, 200, X86_64_V4) == (12, 32)
    assert accumulators(240, 256, 200, X86_64_V3) == (6, 16)
    assert accumulators(512, 512, 512, X86_64_V4) == (12, 32), "not eight vectors, in no cache"
    assert accumulators(40, 20, 200, X86_64_V4) == (8, 24), "three vectors of half the bytes"
    assert accumulators(40, 20, 200, X86_64_V3) == (4, 24)
    assert accumulators(40, 16, 200, X86_64_V4) == (20, 16), "no lane of 16 idles"
    assert accumulators(40, 48, 200, X86_64_V4) == (8, 48)
    assert accumulators(100, 100, 100, X86_64_V4, dt.f64) == (20, 8), "of 13 vectors none idles"
    assert accumulators(400, 400, 400, X86_64_V4, dt.f64) == (10, 16), "of 50 vectors none idles"
    assert accumulators(2, 256, 200, X86_64_V4)[1] > 64, "two rows need many columns"
    assert accumulators(64, 64, 64, X86_64_V4) == (8, 32), "11 rows in 6 groups would be 66"
    assert accumulators(250, 256, 200, X86_64_V4) == (12, 32), "two idle rows of 252 do not count"
    assert accumulators(1024, 1024, 1000, X86_64_V4) == (6, 64), "of many columns four vectors"


def test_rows_that_share_a_set_of_the_cache_are_few() -> None:
    """Of 12 rows 4,096 bytes apart each would drive another out of a set of eight lines."""
    assert accumulators(240, 256, 1000, X86_64_V4)[0] == 12
    assert accumulators(240, 256, 1024, X86_64_V4)[0] <= 6
    assert accumulators(240, 256, 512, X86_64_V4, dt.f64)[0] <= 6


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 12, 13, 25, 37, 200])
@pytest.mark.parametrize("n", [3, 20, 64, 72])
def test_products_of_some_rows_are_right(m: int, n: int) -> None:
    a, b, c = sample(m, 300), sample(300, n), sample(m, n)
    function = jit(lambda a, b, c: np.tanh(a @ b) + c * (a @ b))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(function(a, b, c), np.tanh(exact) + c * exact, rtol=1e-4, atol=1e-4)
    verify(jit(lambda a, b: a @ b), a[:, :40], b[:40])
    verify(jit(lambda a, b, c: a @ b + c), a[:, :40], b[:40], c)


def test_packed_or_not_the_bits_are_the_same() -> None:
    """Terms are added in order either way: 24 rows alone and among others, 4,096 bytes apart or
    not, and in any vectors."""
    a, b = sample(250, 300), sample(300, 70)
    product = jit(lambda a, b: a @ b)
    assert np.array_equal(product(a, b)[:24], product(a[:24], b))
    apart = np.zeros((250, 1024), np.float32)
    apart[:, :300] = a
    below = np.concatenate([b, np.zeros((724, 70), np.float32)])
    assert np.array_equal(product(apart, below), product(a, b))
    found = []
    for rows, target in ((30, X86_64_V4), (24, X86_64_V4), (24, X86_64_V3), (3, X86_64_V3)):
        types = ArrayType((rows, 300), dt.f32), ArrayType(b.shape, dt.f32)
        out = np.zeros((rows, 70), np.float32)
        simulate.run(matmul(types, target, dimensions=PLAIN), [a[:rows], b, out])
        found.append(out[:3].tobytes())
    assert len(set(found)) == 1


ROWS_LAST = (((0,), (0,)), ((), ()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(
    "shape", [(64, 64, 2), (300, 40, 3), (33, 50, 4), (600, 100, 5), (70, 33, 9), (20, 300, 15)]
)
def test_rows_that_are_neighbours_times_few_columns_are_in_vectors(
    shape: tuple[int, int, int], dtype: Any
) -> None:
    """`a.mT @ b` with the results stored the other way: right, and the bits of any vectors."""
    k, m, n = shape
    a, b, c = (sample(*s).astype(dtype) for s in ((k, m), (k, n), (m, n)))
    exact = a.astype(np.float64).T @ b.astype(np.float64)
    room = {2: 4e-3, 4: 1e-5, 8: 1e-14}[dtype().itemsize] * (np.abs(a).T @ np.abs(b)) + 1e-300
    found = jit(lambda a, b: a.mT @ b)(a, b)
    assert np.all(np.abs(found - exact) <= room)
    verify(jit(lambda a, b: a.mT @ b), a, b)
    verify(jit(lambda a, b, c: np.tanh(a.mT @ b + c) * c), a, b, c)
    stack = np.stack([a, a[::-1]])
    assert np.array_equal(jit(lambda a, b: a.mT @ b)(stack, np.stack([b, b[::-1]]))[0], found)
    kind = dt.of(np.dtype(dtype))
    assert kind is not None
    types = ArrayType(a.shape, kind), ArrayType(b.shape, kind)
    for target in (X86_64_V3, X86_64_V4):
        out = np.zeros((m, n), dtype)
        simulate.run(matmul(types, target, dimensions=ROWS_LAST), [a, b, out])
        assert np.array_equal(out, found)


def test_rows_in_vectors_of_parts_of_arrays_special_values_and_nothing() -> None:
    product = jit(lambda a, b: a[1:41].mT @ b[:, ::2])
    a, b = sample(50, 30), sample(40, 8)
    np.testing.assert_allclose(product(a, b), a[1:41].T @ b[:, ::2], rtol=1e-4, atol=1e-5)
    a[7, 3], a[8, 4] = np.nan, np.inf
    b[7] = 1
    found = jit(lambda a, b: a.mT @ b)(a[:40], b)
    assert np.isnan(found[3]).all() and not np.isfinite(found[4]).any()
    assert np.isfinite(np.delete(found, (3, 4), axis=0)).all()
    for k, m in ((0, 30), (40, 0)):
        empty = jit(lambda a, b: a.mT @ b)(sample(k, m), sample(k, 3))
        assert empty.shape == (m, 3) and np.all(empty == 0)


@pytest.mark.parametrize(("m", "n"), [(3, 3), (2, 2), (1, 5), (2, 7)])
def test_few_results_of_many_rows_are_products_of_matrices(m: int, n: int) -> None:
    """`x.mT @ y` of tall matrices; terms in order, as for more rows."""
    x, y = sample(3000, m), sample(3000, n)
    product = jit(lambda x, y: x.mT @ y)
    found = product(x, y)
    assert [k.name for k in planned(lambda x, y: x.mT @ y, x, y).plan.kernels] == ["matmul"]
    np.testing.assert_allclose(found, x.astype(np.float64).T @ y, rtol=1e-4, atol=1e-3)
    assert np.array_equal(found, product(np.concatenate([x, sample(3000, 9)], axis=1), y)[:m])
    verify(lambda x, y: x.mT @ y, x[:50], y[:50])


def test_few_terms_do_not_pay_for_storing_results_apart() -> None:
    for k, sums in ((3, "rows"), (64, "columns")):
        types = ArrayType((k, 100), dt.f32), ArrayType((k, 3), dt.f32)
        kernel = matmul(types, X86_64_V4, dimensions=ROWS_LAST)
        (count,) = {len(s.carried) for s in walk(kernel.body) if isinstance(s, For) and s.carried}
        assert (count == 3) is (sums == "columns")


@pytest.mark.parametrize(("m", "k", "n"), [(36, 100, 150), (33, 130, 128), (65, 300, 70)])
def test_filled_panels_have_the_bits_of_those_read_in_place(m: int, k: int, n: int) -> None:
    """Of ragged columns and rows too, in blocks of terms, and with what follows a product."""
    a, b = sample(m, k), sample(k, n)
    product, more = jit(lambda a, b: a @ b), jit(lambda a, b: np.tanh(a @ b) / (1 + (a @ b) ** 2))
    assert filled(m, k, n)
    for first in range(0, m, 12):
        some = slice(first, first + 12)
        assert np.array_equal(product(a, b)[some], product(a[some], b))
        assert np.array_equal(more(a, b)[some], more(a[some], b))
    types = ArrayType(a.shape, dt.f32), ArrayType(b.shape, dt.f32)
    for target in (X86_64_V3, X86_64_V4):
        out = np.zeros((m, n), np.float32)
        simulate.run(matmul(types, target, dimensions=PLAIN), [a, b, out])
        assert np.array_equal(out, product(a, b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(
    "shape",
    [(1, 16, 16), (4, 16, 4), (10, 10, 10), (8, 100, 2), (3, 64, 20), (100, 3, 3), (70, 2, 5)],
)
def test_batches_of_small_products_have_the_nest_and_the_bits_of_each(
    shape: tuple[int, int, int], dtype: Any
) -> None:
    m, k, n = shape
    a, b = sample(7, m, k).astype(dtype), sample(7, k, n).astype(dtype)
    types = tuple(ArrayType(x.shape, dt.of(x.dtype)) for x in (a, b))
    if not suits_few_columns(types, BATCHED, X86_64_V3):
        assert not refusal(types, BATCHED, X86_64_V3)
    product = jit(lambda a, b: a @ b)
    found = product(a, b)
    for one, x, y in zip(found, a, b, strict=True):
        assert np.array_equal(one, product(x, y))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    room = 4e-3 if dtype is np.float16 else 1e-5
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=room, atol=room * 8)


@pytest.mark.parametrize(("k", "n"), [(3, 3), (2, 5), (3, 16), (3, 8), (2, 2)])
@pytest.mark.parametrize("m", [1, 4, 233])
def test_few_terms_are_for_the_nest(m: int, k: int, n: int) -> None:
    a, b = sample(m, k), sample(k, n)
    types = ArrayType(a.shape, dt.f32), ArrayType(b.shape, dt.f32)
    assert not refusal(types, PLAIN, X86_64_V4)
    verify(jit(lambda a, b: a @ b), a, b)
    verify(jit(lambda a, b: np.tanh(a @ b) * b[0]), a, b)


@pytest.mark.parametrize(
    ("m", "k", "n", "why"),
    [
        (64, 1, 8, "of 1 terms are few"),
        (64, 8, 1, "1 columns"),
        (0, 8, 8, "0 rows"),
        (2, 20, 3, "2 x 3 results of 20 terms are few: it needs 8, or at most 16 terms"),
        (2, 200, 100, "2 rows are few for a matrix that is large"),
    ],
)
def test_fewer_rows_columns_and_terms_are_for_other_nests(m: int, k: int, n: int, why: str) -> None:
    types = ArrayType((m, k), dt.f32), ArrayType((k, n), dt.f32)
    assert why in refusal(types, PLAIN, X86_64_V4)


@pytest.mark.parametrize(
    ("n", "itemsize", "lanes"),
    [
        *((2, 4, 4), (4, 4, 4), (5, 4, 8), (9, 4, 16), (17, 4, 8), (30, 4, 16), (100, 4, 16)),
        *((2, 8, 4), (5, 8, 8), (9, 8, 4), (15, 8, 8)),
    ],
)
def test_vectors_of_columns_leave_few_lanes_idle(n: int, itemsize: int, lanes: int) -> None:
    """There are twice as many of half the bytes in a cycle."""
    assert lanes_of(n, itemsize, X86_64_V4) == lanes
    dtype = {4: np.float32, 8: np.float64}[itemsize]
    a, b = sample(2, 30, 18).astype(dtype), sample(2, 18, n).astype(dtype)
    types = ArrayType(a.shape, dt.of(a.dtype)), ArrayType(b.shape, dt.of(b.dtype))
    out = np.zeros((2, 30, n), dtype)
    simulate.run(matmul(types, X86_64_V4, dimensions=BATCHED), [a, b, out])
    ordered = np.zeros_like(out)
    for k in range(18):
        ordered += a[:, :, k, None] * b[:, k, None, :]
    np.testing.assert_allclose(out, ordered, rtol=1e-5, atol=1e-5)
    turned = np.ascontiguousarray(b.mT)
    found = jit(lambda a, b: np.tanh(a @ b.mT))(a, turned)
    assert np.allclose(found, np.tanh(ordered), atol=1e-5)
    verify(jit(lambda a, b: a @ b), a, b)
    verify(jit(lambda a, b: a.mT @ b), a, sample(2, 30, n).astype(dtype))


@pytest.mark.parametrize(("n", "lanes"), [(17, 16), (33, 16), (50, 16), (16, 16), (8, 8), (3, 4)])
def test_vectors_of_columns_are_whole_where_these_are_as_quick_as_halves(
    n: int, lanes: int
) -> None:
    """There are as many of either in a cycle; the bits are the same."""
    assert lanes_of(n, 4, X86_64_V4_FP16) == lanes
    a, b = sample(5, 30), sample(30, n)
    found = []
    for target in (X86_64_V4, X86_64_V4_FP16):
        out = np.zeros((5, n), np.float32)
        types = ArrayType(a.shape, dt.f32), ArrayType(b.shape, dt.f32)
        simulate.run(matmul(types, target, dimensions=PLAIN), [a, b, out])
        found.append(out.tobytes())
    assert found[0] == found[1]


def test_groups_of_few_terms_have_no_idle_rows_if_they_may() -> None:
    """Tests of rows would cost as much as the products."""
    types = ArrayType((1000, 3), dt.f32), ArrayType((3, 3), dt.f32)
    kernel = matmul(types, X86_64_V4, dimensions=PLAIN)
    stores = [s for s in walk(kernel.body) if isinstance(s, If)]
    rows = {len(s.carried) for s in walk(kernel.body) if isinstance(s, For) and s.carried}
    assert rows == {20}, "two tiles of 500 rows in 25 groups, and not 21 of 24"
    assert len(stores) <= 20 + 1, "of columns only"


@pytest.mark.parametrize(("m", "k", "n"), [(300, 1024, 260), (150_003, 3, 3), (40_000, 2, 20)])
def test_threads_do_not_change_bits(m: int, k: int, n: int) -> None:
    a, b = sample(m, k), sample(k, n)
    results = set()
    for count in (1, 2, 5):
        set_num_threads(count)
        results.add(jit(lambda a, b: a @ b)(a, b).tobytes())
    set_num_threads(None)
    assert len(results) == 1


def asked_for(m: int, k: int, n: int, dimensions: Any = PLAIN, batch: int = 0) -> set[str]:
    """The buffers that a product of float32 says it reaches soon."""
    first = (k, m) if dimensions is TURNED else (m, k)
    lead = (batch,) if batch else ()
    types = ArrayType((*lead, *first), dt.f32), ArrayType((*lead, k, n), dt.f32)
    assert not refusal(types, dimensions, X86_64_V4)
    kernel = matmul(types, X86_64_V4, dimensions=dimensions)
    return {s.buffer.name for s in walk(kernel.body) if isinstance(s, Prefetch)}


def test_what_comes_from_far_is_asked_for() -> None:
    """Rows of the next group and terms to come of a large a, the next panel of b, and lines of a
    result that no cache holds; nothing where all lies near."""
    assert asked_for(2000, 1000, 400) == {"a", "out"}
    assert asked_for(600, 1000, 400) == {"a"}
    assert asked_for(400, 1000, 400, TURNED) == {"a"}
    assert asked_for(2000, 20, 2000) == {"out"}
    assert asked_for(24, 200, 400) == {"b"}
    assert not asked_for(24, 20, 64) - {"b"}
    assert not asked_for(400, 20, 64)
    assert asked_for(64, 64, 32, BATCHED, batch=7) == {"b"}, "the next matrix"


def written_out(m: int, k: int, n: int, dimensions: Any = PLAIN) -> bool:
    """Whether some terms of a product of float32 are one behind the other."""
    a = (k, m) if dimensions is TURNED else (m, k)
    types = ArrayType(a, dt.f32), ArrayType((k, n), dt.f32)
    kernel = matmul(types, X86_64_V4_FP16, dimensions=dimensions)
    return any(isinstance(s, For) and s.kind is Kind.UNROLL for s in walk(kernel.body))


def test_terms_of_large_products_are_written_out() -> None:
    """Small ones take less to run than the code would to compile; b that is read where it lies has
    more to do at each term."""
    assert written_out(512, 512, 512) and written_out(512, 512, 512, TURNED)
    assert not written_out(256, 256, 256)
    assert not written_out(64, 2048, 2048), "not packed"


def test_long_panels_have_half_the_terms_where_vectors_are_whole() -> None:
    """They stay in the first-level cache; narrow ones, and those of other processors, did."""
    assert depth(2048, 2048, 2048, X86_64_V4_FP16) == 128
    assert depth(2048, 2048, 2048, X86_64_V4) == 256
    assert depth(512, 512, 512, X86_64_V4_FP16) == 256
    assert depth(2048, 256, 2048, X86_64_V4_FP16) == 256, "one block: no sums are stored"


def depth(m: int, k: int, n: int, target: Target) -> object:
    """Terms of a packed panel of a product of float32."""
    types = ArrayType((m, k), dt.f32), ArrayType((k, n), dt.f32)
    kernel = matmul(types, target, dimensions=PLAIN)
    (panel,) = (
        s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.name == "panel"
    )
    return panel.shape[0]


def test_rows_that_share_sets_of_the_caches_are_copied_before_for_many_tasks() -> None:
    """A line of each row of a group, one behind the other: the product reads nothing else of a."""
    assert lined(2048, 2048, 2048) == (True, {"lines", "b"})
    assert lined(2048, 2048, 1536)[0] is False, "fewer tasks"
    assert lined(2048, 2032, 2048) == (False, {"a", "b"}), "rows in all sets"
    assert lined(2048, 2049, 2048)[0] is False, "no whole blocks"
    assert lined(2048, 2048, 2048, X86_64_V4)[0] is False, "it has not been measured there"
    assert lined(2048, 2048, 2048, dimensions=TURNED)[0] is False, "rows are neighbours"


@pytest.mark.parametrize(("dtype", "per"), [(dt.f32, 3), (dt.f64, 6)])
def test_lines_of_copied_rows_are_asked_for_one_by_one(dtype: DType, per: int) -> None:
    """Among eight terms: those that are asked for together hold up the loads behind them."""
    types = ArrayType((2048, 2048), dtype), ArrayType((2048, 2048), dtype)
    kernel = matmul(types, X86_64_V4_FP16, dimensions=PLAIN)
    (body,) = (s.body for s in walk(kernel.body) if isinstance(s, For) and asks(s.body))
    assert sum(isinstance(s, Prefetch) for s in body) == per
    assert sum(isinstance(s, For) and s.kind is Kind.UNROLL for s in body) == 8
    asked = [k for k, s in enumerate(body) if isinstance(s, Prefetch)]
    assert all(k + 1 not in asked for k in asked)


def asks(body: Body) -> bool:
    """Whether lines of copied rows are asked for here."""
    return any(isinstance(s, Prefetch) and s.buffer.name == "lines" for s in body)


def lined(
    m: int, k: int, n: int, target: Target = X86_64_V4_FP16, dimensions: Any = PLAIN
) -> tuple[bool, set[str]]:
    """Whether rows of a product of float32 are copied before, and the operands that it reads."""
    a = (k, m) if dimensions is TURNED else (m, k)
    types = ArrayType(a, dt.f32), ArrayType((k, n), dt.f32)
    choice = choose("dot_general", types, {"dimensions": dimensions}, target)
    read = (e for s in walk(choice.kernel.body) for e in postorder(expressions(s)))
    loads = {e.buffer.name for e in read if isinstance(e, Load)}
    return bool(choice.copies), loads & {"a", "b", "lines"}


@pytest.mark.parametrize(
    ("m", "k", "n", "columns"),
    [
        (300, 519, 501, "along"),
        (300, 512, 501, "across"),
        (1030, 1041, 1034, "along"),
        (1030, 1024, 2050, "along"),
    ],
)
def test_large_products_have_the_bits_of_their_rows(m: int, k: int, n: int, columns: str) -> None:
    """Terms one behind the other, blocks of any length and results that leave registers at the end
    of the last one change no order; a few rows are a product without any of these."""
    b = sample(k, n) if columns == "along" else sample(n, k).T
    for a in (sample(m, k), sample(k, m).T):
        whole = jit(lambda x, y: np.maximum(x @ y + y[0], 0))(a, b)
        for first in (0, m // 2, m - 13):
            some = jit(lambda x, y: np.maximum(x @ y + y[0], 0))(a[first : first + 13], b)
            assert np.array_equal(whole[first : first + 13], some)
        assert np.allclose(whole, np.maximum(a @ b + b[0], 0), atol=1e-2)


def test_large_float64_products_have_the_bits_of_their_rows() -> None:
    """The same where a line has eight terms, all of a run one behind the other."""
    a, b = (RNG.standard_normal(shape) for shape in ((1030, 1024), (1024, 1056)))
    product = jit(lambda x, y: x @ y)
    whole = product(a, b)
    for first in (0, 515, 1017):
        assert np.array_equal(whole[first : first + 13], product(a[first : first + 13], b))
    assert np.allclose(whole, a @ b, atol=1e-10)
