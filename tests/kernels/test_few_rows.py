"""Vectors and up to three rows times a matrix: right, in every executor, whatever stands around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.expr import Expr, Var, const, select, substitute
from pyc.ir.loops import Buffer, For, If, Prefetch, walk
from pyc.ir.target import X86_64_V3, X86_64_V4
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels.few_rows import TERMS, VECTORS, few_rows, refusal_of_few_rows
from pyc.kernels.registry import choose
from pyc.kernels.wanted import Wanted, wanted_columns
from pyc.runtime.threads import set_num_threads
from pyc.verification import verify
from tests.passes.programs import planned

RNG = np.random.default_rng(4)


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def product(a: Any, b: Any) -> Any:
    return a @ b


def with_bias(a: Any, b: Any, c: Any) -> Any:
    return np.tanh(a @ b + c) * c


def transposed(a: Any, b: Any) -> Any:
    return np.einsum("ki,kj->ij", a, b)


def scores(weight: Any, values: Any) -> Any:
    return np.einsum("hs,shd->hd", weight, values)


def turned(a: Any, b: Any) -> Any:
    return a.T @ b


def stepped(a: Any, b: Any, w: Any) -> Any:
    return w - np.float32(0.25) * (a.T @ b)


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "vector": (product, (sample(64), sample(64, 96))),
    "a row": (product, (sample(1, 64), sample(64, 96))),
    "two rows, ragged": (product, (sample(2, 61), sample(61, 75))),
    "three rows, more than a task": (product, (sample(3, 20), sample(20, 16 * VECTORS + 40))),
    "matrices": (product, (sample(5, 1, 72), sample(5, 72, 64))),
    "rows of two axes": (product, (sample(1, 3, 90), sample(90, 48))),
    "columns of two axes": (lambda a, b: np.tensordot(a, b, 1), (sample(90), sample(90, 6, 8))),
    "epilogue": (with_bias, (sample(64), sample(64, 96), sample(96))),
    "epilogue of rows": (with_bias, (sample(3, 64), sample(64, 90), sample(3, 90))),
    "terms first": (transposed, (sample(64, 2), sample(64, 96))),
    "a vector behind": (turned, (sample(200, 40), sample(200))),
    "a vector behind few columns, ragged": (turned, (sample(77, 9), sample(77))),
    "a vector behind, with an epilogue": (stepped, (sample(90, 33), sample(90), sample(33))),
    "a column behind": (lambda a, b: a.mT @ b, (sample(77, 40), sample(77, 1))),
    "columns behind, ragged": (lambda a, b: a.mT @ b, (sample(4, 33, 13), sample(4, 33, 1))),
    "a column behind, with an epilogue": (
        lambda a, b, c: np.tanh(a.mT @ b + c),
        (sample(3, 90, 33), sample(3, 90, 1), sample(33, 1)),
    ),
    "a column behind, of which few rows are taken": (
        lambda a, b: np.where(np.arange(133)[:, None] < 40, a.mT @ b, 0),
        (sample(90, 133), sample(90, 1)),
    ),
    "vectors behind matrices": (
        lambda a, b: np.einsum("nki,nk->ni", a, b),
        (sample(3, 70, 24), sample(3, 70)),
    ),
    "a large matrix, asked for ahead": (
        turned,
        (sample(515, 520), sample(515)),
    ),
    "two rows of a large matrix": (product, (sample(2, 27), sample(27, 10082))),
    "matrices whose terms come first": (scores, (sample(4, 140), sample(140, 4, 32))),
}


@pytest.mark.parametrize("name", CASES)
def test_a_few_rows_are_right_everywhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, arguments = CASES[name]
    if "large" in name:  # for less memory, and for less rounding, than a large one has
        monkeypatch.setattr("pyc.kernels.few_rows.LARGE", 1 << 20)
    assert [k.name for k in planned(function, *arguments).plan.kernels] == ["few_rows"]
    exact = function(*(x.astype(np.float64) for x in arguments))
    jitted = jit(function)
    found = jitted(*arguments)
    assert found.shape == exact.shape
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=2e-5)
    verify(jitted, *arguments)


@pytest.mark.parametrize(
    ("dtype", "room"),
    [(np.float64, 1e-13), (np.float16, 4e-3), (ml_dtypes.bfloat16, 3e-2)],
)
def test_other_floats_are_rounded_once(dtype: Any, room: float) -> None:
    a, b = sample(2, 64).astype(dtype), sample(64, 80).astype(dtype)
    found = jit(product)(a, b)
    assert found.dtype == dtype
    exact = a.astype(np.float64) @ b.astype(np.float64)
    terms = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    assert np.all(np.abs(found.astype(np.float64) - exact) <= room * terms)
    verify(product, a, b)


@pytest.mark.parametrize("rows", [1, 2])
def test_threads_and_vector_widths_give_the_same_bits(rows: int) -> None:
    """Terms are added in order by fma, however columns are cut into tasks and vectors."""
    a, b = sample(rows, 600), sample(600, 1800)
    results = set()
    for count in (1, 2):
        set_num_threads(count)
        results.add(jit(product)(a, b).tobytes())
    set_num_threads(None)
    assert len(results) == 1
    a, b = sample(rows, 61), sample(61, 75)
    types = ArrayType(a.shape, dt.f32), ArrayType(b.shape, dt.f32)
    results = {jit(product)(a, b).tobytes()}
    for target in (X86_64_V3, X86_64_V4):
        out = np.zeros((rows, 75), np.float32)
        simulate.run(few_rows(types, target, dimensions=(((1,), (0,)), ((), ()))), [a, b, out])
        results.add(out.tobytes())
    assert len(results) == 1


def test_a_batch_of_small_products_has_the_bits_of_each() -> None:
    """One of 13 x 13 is the generic nest's, which adds in another order; of 16 x 16 it is not."""
    (alone,) = planned(first_axes, sample(13, 13), sample(13, 1)).plan.kernels
    assert alone.name != "few_rows"
    for terms, rows in ((13, 13), (8, 9), (16, 16)):
        a, b = sample(5, terms, rows), sample(5, terms, 1)
        assert [k.name for k in planned(first_axes, a, b).plan.kernels] == ["few_rows"]
        found = jit(first_axes)(a, b)
        np.testing.assert_allclose(found, first_axes(a, b), rtol=1e-5, atol=1e-5)
        verify(first_axes, a, b)
        a[2, 3, 4] = np.nan
        again = jit(first_axes)(a, b)
        assert np.isnan(again[2, 4]) and np.isnan(again).sum() == 1
        again[2, 4] = found[2, 4]
        assert np.array_equal(again, found)


def first_axes(a: Any, b: Any) -> Any:
    return a.mT @ b


@pytest.mark.parametrize(
    ("a", "b", "dimensions", "why"),
    [
        ((4, 64), (64, 64), (((1,), (0,)), ((), ())), "4 rows are more than 3"),
        ((64,), (64, 64), (((0,), (1,)), ((), ())), "no neighbours in memory"),
        ((64,), (64,), (((0,), (0,)), ((), ())), "one axis of columns"),
        ((4,), (4, 512), (((0,), (0,)), ((), ())), "are few"),
        ((512,), (512, 4), (((0,), (0,)), ((), ())), "are few"),
        ((0, 64), (64, 64), (((1,), (0,)), ((), ())), "are few"),
    ],
)
def test_others_are_refused(a: Any, b: Any, dimensions: Any, why: str) -> None:
    types = ArrayType(a, dt.f32), ArrayType(b, dt.f32)
    assert why in refusal_of_few_rows(types, dimensions, X86_64_V3)
    name = choose("dot_general", types, {"dimensions": dimensions}, X86_64_V3).name
    assert name != "few_rows"


def test_a_matrix_beyond_the_caches_is_asked_for_ahead() -> None:
    for columns, asked in ((5000, False), (9000, True)):
        types = ArrayType((1000,), dt.f32), ArrayType((1000, columns), dt.f32)
        kernel = few_rows(types, X86_64_V4, dimensions=(((0,), (0,)), ((), ())))
        assert any(isinstance(s, Prefetch) for s in walk(kernel.body)) is asked


def from_column(a: Any, b: Any, c: Any, at: Any) -> Any:
    c, i = c.copy(), at[0]
    c[i:] = a @ b[:, i:]
    return c


def before_column(a: Any, b: Any, c: Any, at: Any) -> Any:
    c, i = c.copy(), at[0]
    c[:i] = (a @ b[:, :i]) / 3
    return c


def between_columns(a: Any, b: Any, c: Any, at: Any) -> Any:
    c, i = c.copy(), at[0]
    c[i : i + 40] = a @ b[:, i : i + 40] + 1
    return c


def rows_from_column(a: Any, b: Any, c: Any, at: Any) -> Any:
    c, i = c.copy(), at[0]
    c[:, i:] = a @ b[:, i:]
    return c


PARTS: dict[str, tuple[Any, int]] = {
    "from": (from_column, 0),
    "before": (before_column, 0),
    "between": (between_columns, 0),
    "from, two rows": (rows_from_column, 2),
}


@pytest.mark.parametrize("name", PARTS)
def test_columns_that_a_traced_slice_takes_are_numpys(name: str) -> None:
    """Panels without any are left out: what stood there before stays, whatever the matrix holds."""
    function, rows = PARTS[name]
    shape = (rows,) if rows else ()
    a, b, c = sample(*shape, 61), sample(61, 300), sample(*shape, 300)
    jitted, whole = jit(function), jit(product)(a, b)
    for i in (0, 1, 31, 32, 33, 250, 299, 300, -1, -300, -500, 700):
        found = jitted(a, b, c, np.array([i]))
        np.testing.assert_allclose(found, function(a, b, c, np.array([i])), rtol=1e-5, atol=2e-5)
        if function is from_column:
            assert found[i:].tobytes() == whole[i:].tobytes()
    verify(jitted, a, b, c, np.array([100]))


def test_a_product_from_a_column_on_leaves_out_the_panels_before() -> None:
    """Each multiplication of the rest would read the matrix for nobody."""
    a, b, c = sample(64), sample(64, 640), sample(640)
    lowered = jit(from_column).lower(a, b, c, np.array([3]))
    (kernel,) = [k for k in lowered.kernels if k.name == "few_rows"]
    loops = [s for s in walk(kernel.body) if isinstance(s, For) and s.extent == 64 // TERMS]
    (panels,) = loops[0].body
    assert isinstance(panels, For)
    (test,) = panels.body
    assert isinstance(test, If)
    assert not test.orelse


def test_what_an_epilogue_wants_is_found_through_what_it_computes() -> None:
    column, other = Var("column"), Var("first")
    product, old = Var("product", dt.f32), Var("old", dt.f32)

    @frozen()
    class Chosen:
        value: Expr
        buffers: tuple[Buffer, ...] = ()

        def at(self, index: Sequence[Expr], given: Expr) -> Expr:
            return substitute([self.value], {column: index[-1], product: given})[0]

    def wanted(value: Expr) -> Wanted:
        return wanted_columns(Chosen(value), (), 1, const(0, dt.f32))

    from_other = select(column >= other, product * 2, old)
    assert wanted(from_other) == Wanted(other, None)
    assert wanted(from_other + 1) == Wanted(other, None)
    assert wanted(select(other > column, product, old)) == Wanted(None, other)
    both = (column >= other) & (column < const(7))
    assert wanted(select(both, product, old)).first is other
    assert wanted(select(both, product, old)).stop is not None
    for all_of_it in (
        product,
        from_other + product,
        select(column >= other, old, product),
        select(column >= column * 2, product, old),
        select((column >= other) | (column < const(7)), product, old),
        select(product > 0, product, old),
    ):
        assert wanted(all_of_it) == Wanted(None, None)
