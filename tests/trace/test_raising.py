"""`raise` and `assert` on traced values: the program raises what Python does, when Python does."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import traceback
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends import interpreters
from pyc.backends.oracle import PlanFailure
from pyc.errors import PycError, TraceError
from pyc.ir.plan import Loop, walk_steps
from pyc.ir.target import SM_90
from pyc.lowered import failure_of, lower_graph
from tests.trace import raising_programs as programs
from tests.trace.test_rolled import functions_of

DATA = {
    "plain": np.array([1.5, 2.25, 3.0]),
    "negative": np.array([-1.0, -2.0, -3.0]),
    "first": np.array([-1.0, 2.0, 3.0]),
    "second": np.array([1.0, -2.0, 3.0]),
    "third": np.array([1.0, 60.0, -2.0]),
    "small": np.array([-10.0, -2.0, 60.0]),
    "zero": np.array([0.0, 2.0, 3.0]),
    "last zero": np.array([0.5, 0.25, 0.0]),
    "large": np.array([200.0, 50.5, 30.0]),
    "nan": np.array([1.0, np.nan, 3.0]),
    "long": 0.5 + np.arange(60) / 32,
    "long and large": np.arange(5.0, 65.0),
    "long with one": np.where(np.arange(60) == 37, -0.125, 1.75),
}

PROGRAMS = [name for name in functions_of(programs) if name != "_root"]


def outcome(function: Any, x: Any) -> Any:
    """What a call returns, or what it raises."""
    try:
        return function(x)
    except Exception as error:
        return error


def assert_same(found: Any, expected: Any) -> None:
    if not isinstance(expected, Exception):
        if isinstance(found, Exception):
            raise found
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        return
    assert isinstance(found, type(expected)), repr(found)
    if isinstance(found, PycError):
        assert found.message == str(expected)
        return
    assert type(found) is type(expected) and str(found) == str(expected)
    assert repr(found.args) == repr(expected.args)
    kept = {k: v for k, v in vars(found).items() if k != "__notes__"}
    assert kept == vars(expected)
    assert repr(found.__cause__) == repr(expected.__cause__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_raises_what_python_raises(name: str) -> None:
    function = getattr(programs, name)
    jitted = pyc.jit(function)
    raised = returned = 0
    with np.errstate(all="ignore"):
        for x in DATA.values():
            expected = outcome(function, x)
            for _ in range(2):  # the second is a native call
                assert_same(outcome(jitted, x), expected)
            raised += isinstance(expected, Exception)
            returned += not isinstance(expected, Exception)
    assert returned and (raised or name == "one_that_it_catches_itself")
    assert jitted.cache_info().misses == 2  # for three elements, and for sixty


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_interpreters_agree(name: str) -> None:
    for what in ("plain", "negative", "large"):
        pyc.verify(pyc.jit(getattr(programs, name)), DATA[what])


@pytest.mark.parametrize("name", PROGRAMS)
def test_plans_for_a_gpu_raise_the_same(name: str) -> None:
    """By the interpreter of Plans, whose kernels are cut as for the device."""
    jitted = pyc.jit(getattr(programs, name))
    for what in ("plain", "negative", "large"):
        x = DATA[what]
        expected = outcome(jitted, x)
        traced = jitted.lower(x).traced
        program = lower_graph(traced.graph, target=SM_90)
        shapes = [(v.shape, v.dtype.numpy) for v in traced.graph.results]
        try:
            found: Any = interpreters().run_plan(program.plan, [x], shapes)
        except PlanFailure as failed:
            site = program.plan.sites[failed.site]
            found = failure_of(program.graph, site, failed.value)
        if isinstance(expected, Exception):
            assert type(found) is type(expected) and found.args == expected.args
        else:
            assert not isinstance(found, Exception)


@pytest.mark.parametrize("name", ["in_a_loop", "two_in_a_loop", "without_convergence"])
def test_a_loop_that_raises_stays_within_one_kernel(name: str) -> None:
    lowered = pyc.jit(getattr(programs, name)).lower(DATA["long"])
    assert not any(isinstance(s, Loop) for s in walk_steps(lowered.plan.steps))


def test_the_traceback_ends_at_the_call_and_the_line_is_told() -> None:
    jitted = pyc.jit(programs.before_the_work)
    for _ in range(2):
        with pytest.raises(ValueError) as caught:
            jitted(DATA["negative"])
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert [f.filename for f in frames] == [__file__]
        (note,) = caught.value.__notes__
        assert "in `before_the_work`:  raise ValueError" in note


def test_each_exception_is_a_new_one() -> None:
    jitted = pyc.jit(programs.of_its_own_class)
    first, second = outcome(jitted, DATA["zero"]), outcome(jitted, DATA["zero"])
    assert first is not second
    assert (first.row, first.hint) == (second.row, second.hint) == (0, "scale it")


def test_a_program_for_all_integers() -> None:
    @pyc.jit
    def f(x, n):
        if n < 0:
            raise ValueError(f"n is {n}")
        return x + n

    x = DATA["plain"]
    for n in (3, 5, 0):
        assert np.array_equal(f(x, n), x + n)
    for n in (-1, -2):
        with pytest.raises(ValueError, match=f"^n is {n}"):
            f(x, n)
    assert f.cache_info().misses == 1


def test_numbers_at_hand_are_told_at_the_first_call() -> None:
    @pyc.jit
    def f(x, n):
        if n < 0:
            raise ValueError(f"n is {n}", n)
        return x + n

    with pytest.raises(ValueError) as error:
        f(DATA["plain"], -1)
    assert error.value.args == ("n is -1", -1)
    assert type(error.value.args[1]) is int


def test_what_is_always_raised_holds_no_traced_value() -> None:
    @pyc.jit
    def f(x):
        y = x if x[0] > 0 else -x
        raise ValueError("all", y)

    with pytest.raises(TraceError, match="whatever the data are"):
        f(DATA["plain"])


def test_what_is_raised_now_is_raised_before_what_needs_the_number() -> None:
    @pyc.jit
    def f(x, n):
        if n < 0:
            raise KeyError("n")
        return np.zeros(n) + x

    with pytest.raises(KeyError):
        f(1.0, -1)
    assert f(1.0, 2).shape == (2,)


def test_an_exception_from_the_cache(tmp_path: Any) -> None:
    program = (
        "import numpy as np, pyc\n"
        "from tests.trace import raising_programs as p\n"
        "try: pyc.jit(p.of_its_own_class)(np.array([1.0, 0.0, 2.0]))\n"
        "except p.SingularError as e: print(e, e.row, pyc.cache.stats().total.hits_disk > 0)\n"
    )
    settings = {"PYC_CACHE_DIR": str(tmp_path), "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    for found in (False, True):
        run = subprocess.run(
            [sys.executable, "-c", program], env=settings, capture_output=True, text=True
        )
        assert run.stdout == f"row 1 is zero 1 {found}\n", run.stderr


# --- what is refused ------------------------------------------------------------------------------


def caught(x):
    try:
        if x[0] > 1:
            raise ValueError
    except ValueError:
        return x
    return 2 * x


def caught_around_a_helper(x):
    try:
        with np.errstate(all="ignore"):
            y = programs._root(x[0])
    except (ArithmeticError, ValueError):
        y = 0.0
    return y


def caught_by_anything(x):
    try:
        assert x[0] > 1
    except:  # noqa: E722
        return x
    return 2 * x


def suppressed(x):
    with contextlib.suppress(ValueError):
        if x[0] > 1:
            raise ValueError
    return x


def two_numbers(x):
    if x[0] > 1:
        raise ValueError(f"{x[0]} and {x[1]}")
    return x


def an_array_in_the_text(x):
    if x[0] > 1:
        raise ValueError(f"not {x}")
    return x


def an_array_in_the_exception(x):
    if x[0] > 1:
        raise ValueError("not", [x])
    return x


def a_text_made_before(x):
    text = f"not {x[0]}"
    if x[0] > 1:
        raise ValueError(text)
    return x


def a_complex_number(x):
    z = x[0] * 1j
    if x[0] > 1:
        raise ValueError(f"not {z}")
    return x


REFUSED = {
    caught: "a `try` or `with` around it may catch it",
    caught_around_a_helper: "a `try` or `with` around it may catch it",
    caught_by_anything: "a `try` or `with` around it may catch it",
    suppressed: "a `try` or `with` around it may catch it",
    two_numbers: "several traced numbers",
    an_array_in_the_text: "not a number formatted there",
    an_array_in_the_exception: "arrays or containers",
    a_text_made_before: "not a number formatted there",
    a_complex_number: "a complex number",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused_by_name(function: Any) -> None:
    with pytest.raises(TraceError) as error:
        pyc.jit(function)(DATA["plain"])
    assert REFUSED[function] in str(error.value)
    assert error.value.place is not None and error.value.fix


def test_a_loop_whose_every_iteration_raises_is_refused() -> None:
    @pyc.jit
    def f(x):
        while x.sum() > 0:
            x = x - 1
            raise ValueError("always")
        return x

    with pytest.raises(TraceError, match="each iteration of a loop raises it"):
        f(DATA["plain"])
