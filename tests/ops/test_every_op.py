"""Every op of the table, with every type that it takes, through everything that can run it.

First the definition: `evaluate` gives what the op's NumPy `reference` gives, within the op's
tolerance (exact for what moves or orders data, and for arithmetic that IEEE 754 rounds). Then the
executors: each gives the interpreter's bits, or, for contractions, a value within their bound.

Adding a device is one line in `EXECUTORS`. An op that no case covers fails here.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pyc import config
from pyc.backends.oracle import PlanFailure, run_plan
from pyc.compile import compile_graph
from pyc.errors import (
    ArgumentError,
    IndexOutOfRangeError,
    IntegerRangeError,
    LinearAlgebraError,
    NumericsError,
    PycError,
    UnboundVariableError,
)
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder, Graph
from pyc.ir.op import OPS, Kind, Op
from pyc.ir.target import X86_64_V3
from pyc.passes.memory import plan
from tests.ops.cases import Case, awkward, cases, pairs, plain
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]


def planned(graph: Graph, arguments: Sequence[Array]) -> Sequence[Array]:
    """Results of the Plan, by the kernel interpreter, with freed bytes poisoned."""
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    return run_plan(plan(graph, X86_64_V3).plan, arguments, shapes)


def compiled(graph: Graph, arguments: Sequence[Array]) -> Sequence[Array]:
    """Results of the native code for this machine."""
    with config.using(cache="off"):
        return compile_graph(graph)(*arguments)


EXECUTORS: dict[str, Callable[[Graph, Sequence[Array]], Sequence[Array]]] = {
    "plan": planned,
    "cpu": compiled,
}
"""What must agree with the interpreter, by name."""

DEFAULT_TYPES = (dt.b1, dt.i32, dt.u8, dt.bf16, dt.f32, dt.c64)
"""Types that the default run takes through the executors; the slow suite takes all."""

PAIRS = pairs()
IDS = [f"{name}-{dtype}" for name, dtype in PAIRS]


def graph_of(op: Op, found: Sequence[Case]) -> tuple[Graph, list[Array]]:
    """One Graph with an equation for each case, and its arguments."""
    builder = Builder()
    arguments: list[Array] = []
    results = []
    for case in found:
        args = [builder.param(t) for t in case.types]
        arguments += [np.array(a, order="C") for a in case.arrays]
        results += builder.bind(op, *args, **case.params)
    return builder.build(results), arguments


# --- the definitions against NumPy ----------------------------------------------------------------

ROUNDED = frozenset(
    (
        *("add", "sub", "mul", "div", "neg", "abs", "square", "reciprocal", "fma", "sqrt"),
        *("minimum", "maximum", "fmin", "fmax", "floor", "ceil", "trunc", "rint", "copysign"),
        *("nextafter", "sign", "floor_divide", "remainder", "fmod", "real", "imag", "conj"),
        *("complex", "fast_div", "fast_sqrt", "fast_minimum", "fast_maximum"),
    )
)
"""Float ops whose results are NumPy's bits (of real numbers)."""

ZERO_SIGN_OPEN = frozenset(
    ("minimum", "maximum", "fmin", "fmax", "reduce_max", "reduce_min", "nextafter")
)
"""Ops where NumPy's sign of a zero result depends on its loop (nextafter: on the type)."""

ULPS = {"power": 4, "erfc": 4, "expit": 4, "entr": 4, "logit": 4, "erfinv": 4, "digamma": 64}
ULPS["lgamma"] = 1 << 13  # Python's own is off near 1 and its zeros below 0
ULPS |= dict.fromkeys(("ndtr", "erfcinv", "ndtri", "i0", "i0e", "i1", "i1e", "xlogy"), 8)
ULPS |= dict.fromkeys(("gamma", "xlog1py", "exp1", "expi", "log_ndtr", "spence", "erfcx"), 16)
ULPS |= dict.fromkeys(("j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e", "lgamma1p"), 8)
ULPS |= dict.fromkeys(("sine_integral", "cosine_integral", "gamma_tail", "zeta"), 16)
ULPS |= dict.fromkeys(("beta_positive", "betaln_positive", "poisson_mass", "binomial_mass"), 16)
"""Tolerance in units in the last place where it is not 2 (NumPy's own error included)."""


def _wave(x: Array) -> Array:
    return np.sqrt(2 / (np.pi * np.maximum(np.abs(x), 1)))


SIZES: dict[str, Callable[..., Array]] = dict.fromkeys(("j0", "j1", "y0", "y1"), _wave)
SIZES["cosine_integral"] = lambda x: 1 / np.maximum(np.abs(x), 1)
SIZES["betaln_positive"] = lambda a, b: np.ones_like(a)
"""What the error is measured by where the value is smaller, near zeros that are no numbers of the
type: what oscillates, or cancels there (`docs/numerics.md`)."""


def reference(op: Op, case: Case) -> list[Array]:
    """NumPy's results: half types computed in float32, functions of float32 in float64."""
    assert op.reference is not None
    (first, *_) = [dt.of(a.dtype) for a in case.arrays] or [None]
    arrays: list[Array] = list(case.arrays)
    outs = op.types(case.types, **case.params)
    if op.kind is Kind.POINTWISE and first is not None and op.widen:
        wide = None
        if first.is_half:
            wide = np.float32
        if first in (dt.f32, *HALVES) and op.name not in ROUNDED:
            wide = np.float64
        if wide is not None:
            arrays = [a.astype(wide) for a in arrays]
    with np.errstate(all="ignore"):
        found = op.reference(*arrays, **case.params)
    found = found if isinstance(found, tuple) else (found,)
    with np.errstate(all="ignore"):
        return [np.asarray(f).astype(o.dtype.numpy) for f, o in zip(found, outs)]


HALVES = tuple(t for t in dt.ALL if t.is_half)


def distance(a: Array, b: Array) -> Array:
    """Units in the last place between floats of one type; 0 for two NaN."""
    a, b = (np.ascontiguousarray(x).reshape(-1) for x in (a, b))
    signed, unsigned = np.dtype(f"i{a.dtype.itemsize}"), np.dtype(f"u{a.dtype.itemsize}")
    steps = []
    for x in (a, b):
        bits = x.view(signed).astype(object)
        top = 1 << (8 * unsigned.itemsize - 1)
        steps.append(np.where(bits < 0, -(bits + top), bits))
    both_nan = np.isnan(a) & np.isnan(b)
    one_nan = np.isnan(a) ^ np.isnan(b)
    gap = np.abs(steps[0] - steps[1])
    return np.where(both_nan, 0, np.where(one_nan, 1 << 62, gap)).astype(np.float64)


def distance_by(a: Array, b: Array, size: Array) -> Array:
    """The difference in units in the last place of a size; infinite if one is not finite."""
    unit = size * (spacing(dt.of(a.dtype)) / 2)
    with np.errstate(all="ignore"):
        gap = np.abs(a.reshape(-1).astype(np.float64) - b.reshape(-1).astype(np.float64)) / unit
    return np.where(np.isfinite(gap), gap, np.inf)


def check_value(op: Op, case: Case, found: Array, expected: Array) -> None:
    """The interpreter's result is NumPy's, within the op's tolerance."""
    assert found.dtype == expected.dtype and found.shape == expected.shape
    dtype = dt.of(found.dtype)
    assert dtype is not None
    moves = op.kind in (Kind.INDEX, Kind.KERNEL) or op.name in ("cast", "bitcast", "select")
    exact = moves or not (dtype.is_float or dtype.is_complex)
    if op.name in ZERO_SIGN_OPEN:
        np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))
    elif exact or (op.name in ROUNDED and dtype.is_float and not case.types[0].dtype.is_complex):
        assert same_bits(found, expected), first_difference(case, expected, found)
    elif dtype.is_complex or (case.arrays and case.types[0].dtype.is_complex):
        if case.plain:
            eps = 8 * float(np.finfo(dtype.real.numpy).eps)
            np.testing.assert_allclose(found, expected, rtol=eps, atol=eps)
    elif op.kind in (Kind.REDUCE, Kind.CONTRACT):
        check_sum(op, case, found, expected)
    elif found.size:
        worst = distance(found, expected)
        if op.name in SIZES:
            with np.errstate(all="ignore"):
                size = SIZES[op.name](*(a.astype(np.float64) for a in case.arrays)).reshape(-1)
            worst = np.minimum(worst, distance_by(found, expected, size))
        limit = ULPS.get(op.name, 2)
        k = int(np.argmax(worst))
        arguments = [a.reshape(-1)[k] for a in case.arrays]
        assert worst[k] <= limit, (
            f"{worst[k]} ULP at {arguments}: {found.reshape(-1)[k]}, not {expected.reshape(-1)[k]}"
        )


def first_difference(case: Case, expected: Array, found: Array) -> str:
    """Where two arrays differ, with the arguments there if they have the same shape."""
    for k, (a, b) in enumerate(zip(expected.reshape(-1), found.reshape(-1), strict=True)):
        if not same_bits(a, b):
            same_shape = all(x.shape == found.shape for x in case.arrays)
            at = [x.reshape(-1)[k] for x in case.arrays] if same_shape else case.params
            return f"element {k} of {found.shape}, of {at}: {b!r}, not {a!r}"
    return f"{found.dtype}{found.shape}, not {expected.dtype}{expected.shape}"


def check_sum(op: Op, case: Case, found: Array, expected: Array) -> None:
    """|found - expected| <= 2 n eps sum |terms|, eps of the accumulator, and one rounding."""
    wide, exact = found.astype(np.float64), expected.astype(np.float64)
    eps = float(np.finfo(np.float32 if found.dtype.itemsize < 8 else np.float64).eps)
    magnitudes = [np.abs(a.astype(np.float64)) for a in case.arrays]
    with np.errstate(all="ignore"):
        assert op.reference is not None
        if op.name == "reduce_prod":
            scale = np.abs(exact)
        else:
            scale = np.asarray(op.reference(*magnitudes, **case.params), np.float64)
        terms = max((a.size for a in case.arrays), default=1)
        bound = 2 * terms * eps * scale
        if found.dtype.itemsize <= 2:
            bound += spacing(dt.of(found.dtype)) * np.abs(exact)
        bad = np.abs(wide - exact) > bound
    assert np.array_equal(np.isfinite(wide), np.isfinite(exact))
    assert np.array_equal(np.isnan(wide), np.isnan(exact))
    assert not (bad & np.isfinite(exact)).any(), f"{found} is not {expected}"


def spacing(dtype: DType | None) -> float:
    """The relative distance of neighbours."""
    halves = {dt.f16: 2.0**-10, dt.bf16: 2.0**-7, dt.f8e4m3: 2.0**-3, dt.f8e5m2: 2.0**-2}
    return {**halves, dt.f32: 2.0**-23, dt.f64: 2.0**-52}[dtype]  # type: ignore[index]


@pytest.mark.parametrize(("name", "dtype"), PAIRS, ids=IDS)
def test_the_interpreter_gives_what_numpy_gives(name: str, dtype: DType) -> None:
    op = OPS[name]
    for case in cases(op, dtype):
        graph, arguments = graph_of(op, [case])
        for found, expected in zip(evaluate(graph, arguments), reference(op, case), strict=True):
            check_value(op, case, found, expected)


# --- the executors against the interpreter --------------------------------------------------------


def marked(name: str, dtype: DType) -> Any:
    slow = () if dtype in DEFAULT_TYPES else (pytest.mark.slow,)
    return pytest.param(name, dtype, marks=slow, id=f"{name}-{dtype}")


@pytest.mark.parametrize("name", sorted(n for n, op in OPS.items() if op.exact is not None))
def test_what_is_said_to_be_numpys_result_is_it(name: str) -> None:
    """And where it is not said, the program fails."""
    op = OPS[name]
    for case in (c for n, dtype in PAIRS if n == name for c in cases(op, dtype)):
        for shift in (0, 1 << 6):
            moved = replace(case, arrays=tuple(a + a.dtype.type(shift) for a in case.arrays))
            graph, arguments = graph_of(op, [moved])
            if op.is_exactly_numpys(*moved.arrays, **moved.params):
                (found,), (expected,) = evaluate(graph, arguments), reference(op, moved)
                assert same_bits(found, expected)
            else:
                with pytest.raises(PycError):
                    evaluate(graph, arguments)


@pytest.mark.parametrize(("name", "dtype"), [marked(n, d) for n, d in PAIRS])
def test_executors_give_the_interpreters_bits(name: str, dtype: DType) -> None:
    op = OPS[name]
    found = cases(op, dtype)
    graph, arguments = graph_of(op, found)
    expected = evaluate(graph, arguments)
    for executor, run in EXECUTORS.items():
        results = run(graph, arguments)
        for k, (a, b) in enumerate(zip(expected, results, strict=True)):
            if op.kind is Kind.CONTRACT and dtype.is_float:
                check_sum(op, found[k], np.asarray(b), a)
            else:
                case = found[k // len(op.types(found[0].types, **found[0].params))]
                difference = "" if same_bits(a, b) else first_difference(case, a, np.asarray(b))
                assert not difference, f"{executor}: {difference}"


# --- ops that can fail ----------------------------------------------------------------------------

FAILING = {
    "integer_power": (np.array([2, 3, 4]), np.array([1, -2, -3]), {}, NumericsError),
    "require": (
        np.array([5, 6]),
        np.array([True, False]),
        {"name": "x"},
        UnboundVariableError,
    ),
    "check": (
        np.array([True, False]),
        np.array([5, 6]),
        {"error": "ValueError: no"},
        RuntimeError,
    ),
    "factored": (
        np.array([0, 3, 0, 1], np.int32),
        None,
        {"error": "inv: Singular matrix"},
        LinearAlgebraError,
    ),
    "narrow": (np.array([0, -4, 3, 256, 255]), None, {"dtype": dt.u8}, IntegerRangeError),
    "index_check": (np.array([0, -4, 3, 9]), None, {"bound": 3, "axis": 0}, IndexOutOfRangeError),
    "number_check": (np.array([0, 3, -1]), None, {"bound": 3, "asked": "choose"}, ArgumentError),
}
"""Arguments, params, and the error."""


@pytest.mark.parametrize("name", sorted(n for n, op in OPS.items() if op.fails is not None))
def test_a_failing_element_is_the_same_error_everywhere(name: str) -> None:
    """The failing element of the least value, read as unsigned, in whatever order they run."""
    first, second, params, error = FAILING[name]
    arrays = [a for a in (first, second) if a is not None]
    graph, arguments = graph_of(OPS[name], [Case(tuple(arrays), params)])
    with pytest.raises(error) as interpreted:
        evaluate(graph, arguments)
    with pytest.raises(error) as native:
        compiled(graph, arguments)
    with pytest.raises(PlanFailure) as simulated:
        planned(graph, arguments)
    assert str(native.value) == str(interpreted.value)
    failing = {str(v) for v in np.concatenate([a.reshape(-1) for a in arrays])}
    assert simulated.value.site == 0 and str(simulated.value.value) in failing


# --- the tests themselves -------------------------------------------------------------------------


def test_every_op_is_covered() -> None:
    """An op that nobody draws, or for which every draw is refused, is a hole."""
    # Of libraries tests/test_host_calls.py and tests/ops/test_linalg.py have those there are.
    # `empty` has no elements to compare: tests/passes/test_initial_values.py has it.
    others = (Kind.CONTROL, Kind.LIBRARY)
    expected = {name for name, op in OPS.items() if op.kind not in others} - {"empty"}
    assert {name for name, _ in PAIRS} == expected
    assert all(OPS[name].reference is not None for name in expected)
    assert {n for n, op in OPS.items() if op.fails is not None} == set(FAILING)


def test_cases_hold_what_is_awkward() -> None:
    """Empty, rank 0, NaN, both zeros, infinities and subnormals are among the inputs of add."""
    found = cases(OPS["add"], dt.f32)
    values = np.concatenate([c.arrays[0].reshape(-1) for c in found])
    assert {c.arrays[0].shape for c in found} >= {(), (3, 0)}
    assert np.isnan(values).any() and np.isinf(values).any()
    assert np.signbit(values[values == 0]).any() and not np.signbit(values[values == 0]).all()
    assert (np.abs(values[values != 0]) < np.finfo(np.float32).tiny).any()
    assert awkward(dt.f32, (5,), 1).tobytes() == awkward(dt.f32, (5,), 1).tobytes()


def test_a_wrong_bit_is_found() -> None:
    """The comparisons can fail: one unit in the last place, the sign of a zero, a NaN."""
    one = plain(dt.f32, (7,), 1)
    moved = one.copy()
    moved[3] = np.nextafter(moved[3], np.float32(9))
    assert not same_bits(one, moved)
    assert distance(one, moved).tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert distance(np.array([0.0, np.nan]), np.array([-0.0, 1.0])).tolist() == [0.0, 2.0**62]
    case = Case((one, one), {})
    with pytest.raises(AssertionError, match="element 3"):
        check_value(OPS["add"], case, moved, one)
    far = one * np.float32(1.0001)
    with pytest.raises(AssertionError, match="ULP"):
        check_value(OPS["exp"], case, far, one)
    with pytest.raises(AssertionError):
        check_sum(OPS["reduce_sum"], Case((one,), {"axes": (0,)}), one.sum() + 1, one.sum())


def test_families_that_are_loaded_on_demand_have_the_ops_that_the_table_says() -> None:
    code = """
import importlib, pyc
from pyc.ir.op import ON_DEMAND, OPS
before = {*OPS.loaded}
for family, names in ON_DEMAND.items():
    assert not before & {*names}
    importlib.import_module(family)
    assert {*OPS.loaded} == before | {*names}, family
    before |= {*names}
assert before == {*OPS} and len(before) == len(OPS)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import pyc; from pyc.ir.op import OPS; print(*OPS); OPS['sort']; print(*OPS)"
    first, *others = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    assert others == [first], "in the same order, whatever is loaded"
