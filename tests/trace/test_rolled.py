"""Loops and branches on traced values: NumPy's answer for every program, or an error that says what
to write; loops of the program where there can be."""

from __future__ import annotations

import functools
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import tree
from pyc.errors import PycError
from pyc.ir.op import Kind
from pyc.ir.plan import Copy, Loop, walk_steps
from pyc.reasons import Reason, collecting
from tests.trace import loop_programs as programs
from tests.trace import loop_refusals as refusals

ROOT = Path(__file__).parents[2]

RANDOM = np.random.default_rng(7)
X = RANDOM.standard_normal(40)
X[30] = 1.5
MATRIX = RANDOM.standard_normal((9, 9)) + 9 * np.eye(9)
SYMMETRIC = MATRIX + MATRIX.T
WIDE = RANDOM.standard_normal((20, 5))
BOARD = RANDOM.integers(0, 2, (12, 12))

CALLS: dict[str, list[tuple[Any, ...]]] = {
    "dot_product": [(X, 2 * X)],
    "exponential_average": [(X, 0.3)],
    "horner": [(X, 0.5)],
    "horner_of_an_array": [(X, X)],
    "fibonacci": [(0,), (1,), (50,)],
    "factorial_of_floats": [(0,), (20,)],
    "pi_by_series": [(0,), (1000,)],
    "harmonic_down": [(0,), (100,)],
    "heat": [(X, 0), (X, 1), (X, 50)],
    "heat_augmented": [(X, 0), (X, np.int32(33))],
    "two_buffers": [(X, 0), (X, 1), (X, 7), (X, 8)],
    "euler": [(1.0, 0.0, 0.01), (X, 2 * X, 0.01)],
    "runge_kutta": [(X, 0.01), (0.5, 0.01)],
    "time_by_addition": [(X, 0.01)],
    "leapfrog": [(X, 2 * X)],
    "game_of_life": [(BOARD,)],
    "state_in_a_named_tuple": [(X, 2 * X)],
    "state_in_an_object": [(X,), (0.5,)],
    "matrix_product": [(MATRIX, SYMMETRIC)],
    "gauss_seidel": [(X, 0), (X, 30)],
    "gauss_seidel_of_a_plane": [(MATRIX,)],
    "power_iteration": [(SYMMETRIC,)],
    "conjugate_gradient": [(SYMMETRIC @ SYMMETRIC, MATRIX[0])],
    "lu_by_slices": [(MATRIX,)],
    "lu_by_elements": [(np.pad(MATRIX, 5) + np.eye(19),)],
    "forward_substitution": [(np.tril(RANDOM.standard_normal((30, 30))) + 9 * np.eye(30), X[:30])],
    "tridiagonal": [(X, 9 + X, X, X)],
    "floyd_warshall": [(np.abs(RANDOM.standard_normal((25, 25))),)],
    "floyd_warshall_by_elements": [(np.abs(RANDOM.standard_normal((18, 18))),)],
    "rows_summed": [(WIDE,)],
    "rows_normalised": [(WIDE,)],
    "rows_of_two": [(WIDE, 2 * WIDE)],
    "newton": [(2.0,), (1e6,)],
    "newton_with_break": [(2.0,), (1.0,)],
    "newton_forever": [(2.0,), (9.0,)],
    "newton_with_else": [(2.0,), (1e300,)],
    "newton_with_return": [(2.0,)],
    "bisection": [(0.0, 2.0)],
    "bisection_by_tolerance": [(0.0, 2.0)],
    "secant": [(1.0, 2.0)],
    "first_above": [(X, 1.4), (X, 100.0), (X, -100.0)],
    "first_above_of_rows": [(WIDE, 1.4), (WIDE, 100.0)],
    "binary_search": [(np.sort(X), 0.1), (np.sort(X), 100.0), (np.sort(X), -100.0)],
    "scan_with_sentinel": [(X,)],
    "scan_to_the_end": [(X, X[33]), (X, 100.0)],
    "golden_section": [(0.0, 5.0)],
    "collatz": [(1,), (27,), (97,)],
    "greatest_common_divisor": [(1071, 462), (7, 0)],
    "integer_power": [(3, 13), (2, 0)],
    "sieve": [(np.ones(100, bool),)],
    "count_primes": [(100,)],
    "mandelbrot": [(0.1, 0.1), (0.5, 0.5)],
    "levenshtein": [(np.arange(20) % 3, np.arange(25) % 4)],
    "early_return": [(X,), (-X,), (np.abs(X),)],
    "guards": [(-1.0,), (0.5,), (1.5,), (9.0,)],
    "nested_branches": [(-1.0,), (5.0,), (20.0,)],
    "branch_changes_an_array": [(X,), (-X,)],
    "branch_binds_a_view": [(X,), (-X,)],
    "conditional": [(2.0,), (-2.0,)],
    "between": [(-1.0,), (3.0,), (7.0,)],
    "logic": [(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)],
    "short_circuit": [(np.abs(X), 3), (X, 40), (X, 100)],
    "with_default": [(0.0, 5.0), (2.0, 5.0)],
    "element_guard": [(X, 3), (X, 40)],
    "rows_written_through_views": [(WIDE,)],
    "swapped_and_kept": [(X, 2 * X, 0), (X, 2 * X, 1), (X, 2 * X, 2)],
    "set_in_some_iterations": [(X, 0), (X, 5)],
    "number_or_element": [(X, 0.5), (-X, 0.5)],
    "rows_in_a_list": [(X, 0), (X, 3)],
    "coefficients": [(X, 2), (X, 3)],
    "shorter_each_time": [(X, 0), (X, 3), (X, 20)],
    "list_by_while": [(X, 0), (X, 3)],
    "nothing_for_none": [(X, 0), (X, 3)],
    "scaled_for_many": [(X, 1), (X, 3)],
    "every_so_many": [(X, 3), (X, 1)],
    "numbers_of_a_list": [(X, 0), (X, 2), (X, 5)],
    "outer_by_indices": [(X, 0), (X, 2), (X, 20)],
    "swapped_in_two_loops": [(X, 0), (X, 3)],
    "swapped_on_a_condition": [(X, 0), (X, 3), (X, 5)],
    "list_of_an_array_that_is_replaced": [(X, 0), (X, 3), (X, 5)],
    "returned_before_it_changes": [(X, 0), (X, 2), (X, 9)],
    "returned_in_a_short_loop": [(X, -9), (X, 0), (X, 9)],
    "recursion_that_an_integer_ends": [(X, 0), (X, 9)],
    "history_up_to_an_argument": [(X, 3), (X, 0), (X, 30)],
}


def functions_of(module: ModuleType) -> list[str]:
    return [
        name
        for name, f in vars(module).items()
        if callable(f) and f.__module__.startswith(module.__name__) and not isinstance(f, type)
    ]


PROGRAMS = functions_of(programs)


def copied(args: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


@pytest.fixture(autouse=True)
def without_a_cache():
    with pyc.config.using(cache="off"):
        yield


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_numpy_gives(name: str) -> None:
    function = getattr(programs, name)
    jitted = pyc.jit(function)
    for args in CALLS.get(name, [(X,)]):
        expected = tree.leaves(function(*copied(args)))
        found = tree.leaves(jitted(*copied(args)))
        assert len(found) == len(expected)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)
            if isinstance(a, (np.ndarray, np.generic)):
                assert np.asarray(b).dtype == a.dtype


def test_there_are_many_programs() -> None:
    assert len(PROGRAMS) > 100


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreters_agree(name: str) -> None:
    """The Graph and the Plan of each program do what its compiled code does."""
    args = CALLS.get(name, [(X,)])[-1]
    if name in ("count_primes", "lu_by_elements", "floyd_warshall_by_elements", "bubble_sort"):
        pytest.skip("too many steps for an interpreter")
    pyc.verify(getattr(programs, name), *copied(args))


# --- refusals -------------------------------------------------------------------------------------

# Numbers are at hand, arrays are not: what depends on numbers only is decided by their values.
REFUSED: dict[str, tuple[Any, ...]] = {
    "dtype_changes": (refusals.SINGLE, np.array(3)),
    "element_changes_its_dtype": (refusals.SINGLE, np.array(3)),
    "bound_is_a_float": (refusals.X, 3.0),
    "unbound_when_it_runs": (refusals.X, 0),
    "unbound_after_a_branch": (refusals.X,),
    "index_out_of_range": (refusals.X, 6),
    "index_out_of_range_after_a_break": (refusals.X, 6),
}


@pytest.mark.parametrize("name", functions_of(refusals))
def test_refused(name: str, golden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    function = getattr(refusals, name)
    given = function.__code__.co_argcount
    args = REFUSED.get(name, (refusals.X, np.array(3))[:given])
    with pytest.raises(PycError) as found:
        pyc.jit(function)(*copied(args))
    golden(f"{type(found.value).__name__}: {found.value}")


def used_for_no_elements(x: Any, c: Any) -> Any:
    if c[0] > 0:
        v = x * 2
    return v[0:0]


def used_for_what_is_overwritten(x: Any, c: Any) -> Any:
    for k in range(30):
        if c[0] > k:
            v = x * k
    y = x.copy()
    y[:] = v
    y[:] = 0
    return y


def used_for_what_is_not_chosen(x: Any, c: Any) -> Any:
    while c[0] > 0:
        v = x * 2
        c = c - 1
    return np.where(True, x, v)


def used_for_nothing(x: Any, c: Any) -> Any:
    if c[0] > 0:
        v = x * 2
    w = v + 1  # noqa: F841
    return x


USES_OF_NOTHING = (
    *(used_for_no_elements, used_for_what_is_overwritten, used_for_what_is_not_chosen),
    used_for_nothing,
)


@pytest.mark.parametrize("program", USES_OF_NOTHING, ids=lambda p: p.__name__)
def test_a_variable_without_a_value_fails_whatever_becomes_of_it(program: Any) -> None:
    """Python asks for it where it comes to the name, whether an element of it is needed or not."""
    jitted = pyc.jit(program)
    ones, zeros = np.array([1]), np.array([0])
    np.testing.assert_array_equal(jitted(refusals.X, ones), program(refusals.X, ones))
    with pytest.raises(UnboundLocalError):
        program(refusals.X, zeros)
    with pytest.raises(UnboundLocalError, match="has no value: what gives it one was not executed"):
        jitted(refusals.X, zeros)


def test_a_variable_without_a_value_is_an_unbound_local_error() -> None:
    jitted = pyc.jit(refusals.unbound_when_it_runs)
    assert np.array_equal(jitted(refusals.X, 2), refusals.X + 1)
    with pytest.raises(UnboundLocalError):
        jitted(refusals.X, 0)


def test_a_traceback_shows_the_lines_of_the_user_only() -> None:
    with pytest.raises(PycError) as found:
        pyc.jit(refusals.array_of_a_traced_length)(refusals.X, np.array(3))
    frames = traceback.extract_tb(found.value.__traceback__)[1:]
    assert [f.name for f in frames if "pyc/" not in f.filename] == [f.name for f in frames]
    assert frames[-1].line == "y = y + np.ones(i).sum()"
    assert frames[-1].name == "array_of_a_traced_length"


def test_what_cannot_be_an_op_is_decided_by_numbers_that_are_at_hand() -> None:
    """The program is then for their values; else one program is for all."""
    one = ("scaled_for_many", "fibonacci", "heat", "shorter_each_time")
    each = ("rows_in_a_list", "coefficients", "list_by_while")
    for name in (*one, *each):
        jitted = pyc.jit(getattr(programs, name))
        for n in (2, 3, 2):
            jitted(*([X, n] if getattr(programs, name).__code__.co_argcount == 2 else [n]))
        assert jitted.cache_info().misses == (1 if name in one else 2), name


# --- what a loop becomes --------------------------------------------------------------------------


def ops_of(function: Any, *args: Any) -> list[str]:
    return [e.op.name for e in pyc.jit(function).trace(*args).graph.eqns]


def loops_of(steps: Any) -> list[Loop]:
    return [s for s in steps if isinstance(s, Loop)]


def copies_in_loops(plan: Any) -> list[int]:
    """Bytes of each copy of more than a number in loops."""
    inside = [s for loop in walk_steps(plan.steps) if isinstance(loop, Loop) for s in loop.body]
    copies = [s for s in walk_steps(inside) if isinstance(s, Copy)]
    return [n for n in (plan.buffers[c.source].nbytes for c in copies) if n > 16]


@pytest.mark.parametrize("name", ["heat_of_a_thousand_steps", "heat_augmented", "two_buffers"])
def test_a_time_loop_is_one_native_loop_without_copies(name: str) -> None:
    """A thousand steps are no more to compile than one; arrays change in place or swap."""
    args = (np.linspace(0, 1, 10_000), 1000)[: getattr(programs, name).__code__.co_argcount]
    lowered = pyc.jit(getattr(programs, name)).lower(*args)
    assert len(lowered.as_text("graph").splitlines()) < 60
    assert len(lowered.plan.kernels) < 10
    assert len(loops_of(lowered.plan.steps)) == 1
    assert copies_in_loops(lowered.plan) == []


def test_a_loop_over_scalars_is_one_kernel() -> None:
    for name, args in (("collatz", (27,)), ("newton_with_break", (2.0,)), ("state_machine", (X,))):
        plan = pyc.jit(getattr(programs, name)).lower(*args).plan
        assert not loops_of(plan.steps)


def test_sweeps_by_elements_copy_no_array_in_the_loop() -> None:
    for name in ("gauss_seidel_of_a_plane", "floyd_warshall_by_elements", "lu_by_elements"):
        args = CALLS[name][0]
        plan = pyc.jit(getattr(programs, name)).lower(*args).plan
        assert loops_of(plan.steps)
        assert copies_in_loops(plan) == []


def test_short_loops_are_straight_code() -> None:
    def short(x):
        for i in range(16):
            x = x * i
        return x

    def long(x):
        for i in range(17):
            x = x * i
        return x

    def nested(x):
        for i in range(10):
            for j in range(10):
                x = x * i + j
        return x

    assert not {"scan", "while"} & set(ops_of(short, X))
    assert "scan" in ops_of(long, X)
    assert "scan" in ops_of(nested, X)


def test_unroll_traces_the_function_as_it_is() -> None:
    jitted = pyc.jit(programs.sum_of_elements, loops="unroll")
    assert "scan" not in [e.op.name for e in jitted.trace(X).graph.eqns]
    np.testing.assert_allclose(jitted(X), X.sum())
    with pytest.raises(ValueError, match="neither"):
        pyc.jit(programs.sum_of_elements, loops="unrolled")


def helper(x, n):
    for _ in range(n):
        x = x * 0.5 if x.sum() > 1 else x + 1
    return x


class Base:
    def __init__(self, factor):
        self.__factor = factor

    def step(self, x):
        return x * self.__factor if x[0] > 0 else x


class Derived(Base):
    def step(self, x):
        if x[0] < 5:
            x = super().step(x)
        return x

    def run(self, x, n):
        for _ in range(n):
            x = self.step(x)
        return x


def test_loops_of_helpers_methods_and_partials() -> None:
    def program(x, n):
        return helper(x, n) + helper(2 * x, 3)

    expected = program(X, 30)
    np.testing.assert_allclose(pyc.jit(program)(X, 30), expected)
    np.testing.assert_allclose(pyc.jit(functools.partial(helper, n=20))(X), helper(X, 20))
    model = Derived(1.5)

    def method(x, n):
        return model.run(x, n)

    np.testing.assert_allclose(pyc.jit(method)(X + 3, 4), method(X + 3, 4))


def test_a_jitted_function_in_a_loop_of_another_is_part_of_it() -> None:
    inner = pyc.jit(helper)

    def program(x):
        for _ in range(20):
            x = inner(x, 2)
        return x

    np.testing.assert_allclose(
        pyc.jit(program)(X), functools.reduce(lambda x, _: helper(x, 2), range(20), X)
    )


# --- reasons --------------------------------------------------------------------------------------


def reasons_of(function: Any, *args: Any) -> list[tuple[Reason, str]]:
    with collecting() as events:
        pyc.jit(function).trace(*args)
    names = ("LOOP_UNROLLED", "LOOP_NO_SOURCE", "LOOP_NOT_REWRITTEN")
    return [(e.reason, e.details["detail"]) for e in events if e.reason.name in names]


def test_a_loop_that_is_unrolled_says_why() -> None:
    ((reason, detail),) = reasons_of(programs.shapes_of_the_counter, X)
    assert reason is Reason.LOOP_UNROLLED
    assert "a shape" in detail
    assert reasons_of(programs.slices_of_the_counter, X) == []
    ((reason, detail),) = reasons_of(programs.list_that_is_read_anywhere, X)
    assert reason is Reason.LOOP_UNROLLED
    assert "`out`" in detail
    assert reasons_of(programs.list_that_is_read, X) == []
    assert reasons_of(programs.list_of_results, X) == []
    assert reasons_of(programs.heat_of_a_thousand_steps, X) == []


def three_kinds_of_straight_code(x):
    for _ in range(3):
        x = x + 1
    for factor in (1.5, 2.5):
        x = x * factor
    k = 0
    while k < 4:
        x = x - k
        k += 1
    for k in range(1000):
        k = k + 1
    return x


def test_loops_that_are_straight_code_are_told() -> None:
    """What does nothing with traced values is no part of the program, and is not."""
    with collecting() as events:
        pyc.jit(three_kinds_of_straight_code).trace(X)
    first = three_kinds_of_straight_code.__code__.co_firstlineno
    told = [
        (e.reason, e.details["line"] - first, e.details.get("iterations"))
        for e in events
        if e.reason.name.startswith("LOOP_")
    ]
    assert told == [
        (Reason.LOOP_SHORT, 1, 3),
        (Reason.LOOP_IN_PYTHON, 3, 2),
        (Reason.LOOP_SHORT, 6, None),
    ]
    assert {e.details["file"] for e in events if "file" in e.details} == {__file__}


def newton(x, e):
    for _ in range(8):
        e = e - (e - 0.3 * np.sin(e) - x) / (1 - 0.3 * np.cos(e))
    return e


def horner(x, y):
    for k in range(8):
        y = y * x + k
    return y


def slices_of_large_code(x, y):
    for k in range(1, 6):
        y = np.sin(y[: 9 - k]) * np.cos(y[1 : 10 - k])
    return y


def left_early(x, y):
    for k in range(8):
        if k == 2:
            break
        y = np.sin(np.cos(np.exp(np.sin(y)))) * x
    return y


def left_at_once(x, y):
    for _ in range(8):
        y = np.sin(np.cos(np.exp(np.sin(y)))) * x
        break
    return y


def while_of_a_known_end(x, y):
    h, n = 1.0, 0
    while h > 0.01:
        y = np.sin(np.cos(np.exp(np.sin(y)))) * x + h
        h, n = h / 2, n + 1
    return y, h, n


def while_of_little_code(x, y):
    h = 1.0
    while h > 0.01:
        y, h = y * x + h, h / 2
    return y


def while_of_slices(x, y):
    n = 1
    while n < 6:
        y = np.sin(np.exp(y[: 9 - n])) * np.cos(np.exp(y[1 : 10 - n]))
        n += 1
    return y


@pytest.mark.parametrize(
    ("function", "ops"),
    [
        (newton, ["scan"]),
        (horner, []),
        (slices_of_large_code, []),
        (left_early, ["while"]),
        (left_at_once, []),
        (while_of_a_known_end, ["while"]),
        (while_of_little_code, []),
        (while_of_slices, []),
    ],
)
def test_a_short_loop_is_one_of_the_program_if_straight_code_would_be_large(
    function: Any, ops: list[str]
) -> None:
    """LLVM took a second for eight Newton iterations in a row."""
    x = np.linspace(0.1, 1.9, 10)
    with collecting() as events:
        traced = pyc.jit(function).trace(x, x)
    found = [e for e in events if e.reason is Reason.LOOP_ROLLED_FOR_SIZE]
    assert [e.op.name for e in traced.graph.eqns if e.op.kind is Kind.CONTROL] == ops
    assert len(found) == len(ops)
    assert all(e.details["cost"] > 256 for e in found)
    expected = function(x, x)
    for a, b in zip(tree.leaves(pyc.jit(function)(x, x)), tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_function_without_source_is_unrolled_and_says_so() -> None:
    names: dict[str, Any] = {}
    exec("def f(x):\n    for i in range(20):\n        x = x * i\n    return x", names)
    ((reason, _),) = reasons_of(names["f"], X)
    assert reason is Reason.LOOP_NO_SOURCE


def test_a_function_whose_file_has_changed_is_left_alone(tmp_path: Path) -> None:
    """The text would be another program than the one that Python runs."""
    text = "def f(x):\n    for i in range(20):\n        x = x {} i\n    return x\n"
    file = tmp_path / "changed.py"
    file.write_text(text.format("-"))
    names: dict[str, Any] = {}
    exec(compile(text.format("+"), str(file), "exec"), names)
    ((reason, detail),) = reasons_of(names["f"], X)
    assert reason is Reason.LOOP_NOT_REWRITTEN
    assert "changed" in detail
    np.testing.assert_allclose(pyc.jit(names["f"])(X), X + sum(range(20)))
