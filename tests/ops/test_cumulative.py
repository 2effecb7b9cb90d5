"""Running combinations: every executor gives the bits of the documented order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc import config
from pyc.backends.oracle import run_plan
from pyc.compile import compile_graph
from pyc.errors import DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.op import OPS
from pyc.ir.order import RUN, SPAN
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.ir.types import ArrayType
from pyc.numpy.core import bind1
from pyc.passes import cumulation_tasks
from pyc.passes.memory import plan
from tests.ops.test_sort import TYPES, Array, elements, graph_of
from tests.programs.differential import same_bits

TARGETS = (X86_64_V3, X86_64_V4, SM_90)
SUMS = ("cumsum", "cumprod")
EXTREMA = ("cummax", "cummin")
LENGTHS = st.integers(0, 40) | st.integers(0, 300)


def on_every_executor(
    op: str, x: Array, targets: Sequence[Target] = TARGETS, **params: Any
) -> Array:
    """What the Graph interpreter gives, and the kernel interpreter on kernels for each target, and
    the code for this processor."""
    graph = graph_of(op, x, **params)
    (expected,) = evaluate(graph, [x])
    for target in targets:
        (found,) = run_plan(plan(graph, target, check=True).plan, [x], [(x.shape, x.dtype)])
        assert same_bits(found, expected), f"{target.id}: expected {expected}, found {found}"
    (found,) = compiled(graph, x)
    assert same_bits(found, expected), f"compiled: expected {expected}, found {found}"
    return expected


def compiled(graph: Graph, x: Array) -> Sequence[Array]:
    with config.using(cache="off"):
        found: Sequence[Array] = compile_graph(graph)(x)
    return found


# --- the order, once more -------------------------------------------------------------------------


def tree(xs: list[Any], combine: Callable[[Any, Any], Any]) -> list[Any]:
    """The running values of a run: those of the lower half (a power of two), then its last one
    before each of the upper half's."""
    if len(xs) <= 1:
        return xs
    half = 1 << ((len(xs) - 1).bit_length() - 1)
    lower, upper = tree(xs[:half], combine), tree(xs[half:], combine)
    return [*lower, *(combine(lower[-1], x) for x in upper)]


def folded(parts: Iterator[list[Any]], combine: Callable[[Any, Any], Any]) -> list[Any]:
    """Each part behind the fold of the last values of those before it."""
    out: list[Any] = []
    before: Any = None
    for part in parts:
        found = part if before is None else [combine(before, x) for x in part]
        out += found
        before = found[-1]
    return out


def ordered(x: Array, combine: Callable[[Any, Any], Any]) -> Array:
    """One row in the documented order, by plain lists; half types in float32."""
    half = x.dtype.itemsize == 2 and x.dtype.kind in "fV"
    values = list(x.astype(np.float32) if half else x)

    def span(first: int) -> list[Any]:
        last = min(first + SPAN, len(values))
        runs = (tree(values[k : min(k + RUN, last)], combine) for k in range(first, last, RUN))
        return folded(runs, combine)

    with np.errstate(all="ignore"):
        found = folded((span(first) for first in range(0, len(values), SPAN)), combine)
        return np.array(found, np.float32 if half else x.dtype).astype(x.dtype)


COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum": lambda a, b: a + b,
    "cumprod": lambda a, b: a * b,
    "cummax": np.maximum,
    "cummin": np.minimum,
}


def rows_ordered(op: str, x: Array) -> Array:
    out = np.empty_like(x)
    for row in np.ndindex(x.shape[:-1]):
        out[row] = ordered(x[row], COMBINE[op])
    return out


@st.composite
def arrays(draw: Any, types: tuple[DType, ...]) -> Array:
    dtype = draw(st.sampled_from(types))
    shape = (*draw(st.lists(st.integers(0, 3), max_size=2)), draw(LENGTHS))
    seed, spread = draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, 2))
    if spread < 2 or not dtype.is_float:
        return elements(seed, dtype, shape, spread & 1)
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype.numpy)


@settings(max_examples=30, deadline=None)
@given(arrays(tuple(t for t in TYPES if t is not dt.b1)), st.sampled_from(SUMS))
def test_sums_and_products_take_the_documented_order(x: Array, op: str) -> None:
    assert same_bits(on_every_executor(op, x), rows_ordered(op, x))


@settings(max_examples=30, deadline=None)
@given(arrays(TYPES), st.sampled_from(EXTREMA))
def test_extrema_propagate_nan(x: Array, op: str) -> None:
    found = on_every_executor(op, x)
    expected = rows_ordered(op, x).astype(np.float64)
    assert np.array_equal(found.astype(np.float64), expected, equal_nan=True)


@st.composite
def placed(draw: Any) -> tuple[Array, int]:
    """An array and an axis of it."""
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)))
    axis = draw(st.integers(0, len(shape) - 1))
    shape = (*shape[:axis], draw(st.integers(0, 300)), *shape[axis + 1 :])
    dtype = draw(st.sampled_from((dt.i16, dt.i64, dt.bf16, dt.f32, dt.f64, dt.c64)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    real = rng.standard_normal(shape) * 3
    return (real * (1 + 0.5j) if dtype.is_complex else real).astype(dtype.numpy), axis


@settings(max_examples=30, deadline=None)
@given(placed(), st.booleans(), st.sampled_from(SUMS))
@example((np.ones((300, 2), np.complex64), 0), True, "cumprod")
def test_any_axis_and_either_direction_are_rows(
    given: tuple[Array, int], reverse: bool, op: str
) -> None:
    x, axis = given
    turn = slice(None, None, -1 if reverse else 1)
    rows = np.ascontiguousarray(np.moveaxis(x, axis, -1)[..., turn])
    (expected,) = evaluate(graph_of(op, rows), [rows])
    found = on_every_executor(op, x, axis=axis, reverse=reverse)
    assert same_bits(found, np.ascontiguousarray(np.moveaxis(expected[..., turn], -1, axis)))


# --- lengths where schedules change ---------------------------------------------------------------


@pytest.mark.parametrize("length", [RUN, SPAN - 1, SPAN, SPAN + 1, SPAN + RUN, 2 * SPAN + 130])
@pytest.mark.parametrize("op", SUMS)
def test_long_rows_take_the_documented_order(op: str, length: int) -> None:
    x = np.random.default_rng(length).uniform(0.99, 1.01, (2, length)).astype(np.float32)
    assert same_bits(on_every_executor(op, x), rows_ordered(op, x))


@pytest.mark.parametrize("op", ["cumsum", "cummax"])
@pytest.mark.parametrize("shape", [(RUN, 9), (300, 35), (2, SPAN + 40, 3)])
def test_long_columns_take_the_documented_order(op: str, shape: tuple[int, ...]) -> None:
    """Also where columns are neither few nor a whole number of vectors."""
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    targets = TARGETS if len(shape) == 2 else (SM_90,)  # the interpreter takes its time
    found = on_every_executor(op, x, targets, axis=len(shape) - 2)
    expected = rows_ordered(op, np.ascontiguousarray(np.swapaxes(x, -1, -2)))
    assert np.array_equal(found, np.swapaxes(expected, -1, -2))


@pytest.mark.parametrize("shape", [(1000, 20), (70_000, 3), (300, 40), (3, 70_000)])
@pytest.mark.parametrize("axis", [0, 1])
def test_many_short_rows_and_columns(shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(6).integers(-9, 9, shape).astype(np.float32)
    found = on_every_executor("cumsum", x, targets=(SM_90,), axis=axis)
    assert np.array_equal(found, np.cumsum(x, axis=axis)), "sums of small integers are exact"


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
@pytest.mark.parametrize("length", [3 * SPAN, 2 * SPAN + 1, 4 * SPAN - RUN + 5])
def test_tasks_that_share_a_row_change_no_bit(
    dtype: Any, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = np.random.default_rng(7).standard_normal((2, length)) * 50
    x = (real + 1j * real[::-1] if dtype is np.complex64 else real).astype(dtype)
    graph = graph_of("cumsum", x)
    (expected,) = compiled(graph, x)
    monkeypatch.setattr(cumulation_tasks, "LONG_ROW", 2 * SPAN)
    found = plan(graph, X86_64_V3, check=True)
    assert [k.name for k in found.plan.kernels] == [
        "cumsum_totals",
        "cumsum_spans",
        "cumsum_values",
    ]
    (simulated,) = run_plan(found.plan, [x], [(x.shape, x.dtype)])
    assert same_bits(simulated, expected)
    for threads in (1, 2):
        with config.using(num_threads=threads):
            (shared,) = compiled(graph, x)
        assert same_bits(shared, expected)


# --- what users may rely on -----------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 2000), st.integers(0, 2**32 - 1), st.sampled_from((np.float32, np.float64)))
def test_sums_are_as_exact_as_a_tree(length: int, seed: int, dtype: Any) -> None:
    """Far below the bound of a left fold, which is the length times the rounding unit."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(length) * 10.0 ** rng.integers(-3, 4, length)).astype(dtype)
    found = pyc.jit(lambda x: pnp.cumsum(x))(x)
    unit, exact, size = Fraction(float(np.finfo(dtype).eps)) / 2, Fraction(0), Fraction(0)
    steps = 8 + -(-min(length, SPAN) // RUN) + length // SPAN
    for value, element in zip(found.tolist(), x.tolist(), strict=True):
        exact, size = exact + Fraction(element), size + abs(Fraction(element))
        assert abs(Fraction(value) - exact) <= steps * unit * size * Fraction(101, 100)


def test_errors_of_long_sums_are_far_below_those_of_numpy() -> None:
    x = np.random.default_rng(3).random(1 << 20).astype(np.float32)
    exact = np.cumsum(x.astype(np.float64))
    ours = np.abs(pyc.jit(lambda x: pnp.cumsum(x))(x) - exact).max()
    assert ours * 20 < np.abs(np.cumsum(x) - exact).max()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sums_of_what_is_not_negative_never_decrease(dtype: Any) -> None:
    """Distributions are searched in such sums."""
    rng = np.random.default_rng(4)
    x = np.where(rng.random(3 * SPAN + 77) < 0.5, 0, rng.random(3 * SPAN + 77) ** 8).astype(dtype)
    for rows in (x, x.reshape(-1, 1) * np.ones(3, dtype)):
        sums = pyc.jit(lambda x: pnp.cumsum(x, axis=0))(rows)
        assert (np.diff(sums, axis=0) >= 0).all()


@pytest.mark.parametrize("op", [*SUMS, *EXTREMA])
def test_a_longer_sequence_begins_as_a_shorter_one(op: str) -> None:
    x = np.random.default_rng(8).uniform(0.9, 1.1, SPAN + 500).astype(np.float32)
    run = pyc.jit(lambda x: bind1(op, x))
    whole = run(x)
    for length in (1, 17, 128, 1000, SPAN, SPAN + 3):
        assert same_bits(run(x[:length]), np.ascontiguousarray(whole[:length]))


def test_complex_products_are_those_of_numpy_up_to_rounding() -> None:
    x = np.exp(1j * np.linspace(0, 3, 50)) * 1.01
    np.testing.assert_allclose(on_every_executor("cumprod", x), np.cumprod(x), rtol=1e-13)


def test_complex_sums_are_those_of_their_parts() -> None:
    real, imaginary = np.random.default_rng(9).standard_normal((2, 3, 700))
    found = on_every_executor("cumsum", real + 1j * imaginary)
    assert same_bits(found.real.copy(), rows_ordered("cumsum", real))
    assert same_bits(found.imag.copy(), rows_ordered("cumsum", imaginary))


def test_negative_zero_is_below_zero() -> None:
    x = np.array([-0.0, 0.0, -0.0, -1.0])
    most = on_every_executor("cummax", x)
    least = on_every_executor("cummin", x[:3][::-1].copy())
    assert np.signbit(most).tolist() == [True, False, False, False]
    assert np.signbit(least).tolist() == [True, True, True]


def test_half_types_round_the_running_value_only_when_stored() -> None:
    """In float16 itself the sum would stop growing at 2048."""
    assert on_every_executor("cumsum", np.ones(3000, np.float16))[-1] == 3000


def test_what_cannot_be_folded_is_refused() -> None:
    with pytest.raises(ShapeError, match="at least one axis"):
        OPS["cumsum"].types((ArrayType((), dt.f32),))
    with pytest.raises(ShapeError, match="has no axis 2"):
        OPS["cummin"].types((ArrayType((3, 4), dt.f32),), axis=2)
    with pytest.raises(DTypeError, match="cumprod: needs one of"):
        OPS["cumprod"].types((ArrayType((3,), dt.b1),))
    with pytest.raises(DTypeError, match="cummax: needs one of"):
        OPS["cummax"].types((ArrayType((3,), dt.c64),))
