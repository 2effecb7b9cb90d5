"""What a function reads from outside is looked at before each call: nothing is ever stale."""

from __future__ import annotations

import builtins
import functools
import gc
import logging
import math
import operator
import os
import string
import sys
import textwrap
import threading
import types
import warnings
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import programs, reasons
from pyc.errors import PurityError, PycError, TraceError
from pyc.jit import Jitted, jit
from pyc.reasons import Reason
from pyc.runtime import dispatch
from tests.trace import changes
from tests.trace.changes import everyday

X = np.array([1.5, 2.25, 3.0])


def native_calls(function: Jitted) -> int:
    return sum(dispatch.native_calls(function, s) for s in dispatch.specialisations(function))


def agree(function: Jitted, *args: Any) -> None:
    """Twice what plain Python gives: through Python where something is new, then natively."""
    for _ in range(2):
        got, expected = function(*args), function.__wrapped__(*args)
        np.testing.assert_array_equal(got, expected)
        assert np.asarray(got).dtype == np.asarray(expected).dtype


# --- one thing after the other --------------------------------------------------------------------


def module(source: str, header: str = everyday.HEADER) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__", "pyc": pyc, "X1": np.array([1.0, 2.0, 4.0])}
    exec(header + textwrap.dedent(source), names)
    names["F"] = names["f"]
    names["f"] = None
    return names


@pytest.mark.parametrize("what", everyday.CHANGES)
def test_a_change_gives_the_new_answer(what: str) -> None:
    source, change = everyday.CHANGES[what]
    names = module(source)
    function = jit(names["F"])
    agree(function, X)
    before = names["F"](X)
    exec(change, names)
    agree(function, X)
    after = names["F"](X)
    same = np.shape(before) == np.shape(after) and np.array_equal(before, after)
    same = same and np.asarray(before).dtype == np.asarray(after).dtype
    assert not same or "class of the object" in what, "the change changes nothing"


@pytest.mark.parametrize("what", everyday.CHANGES)
def test_what_does_not_change_is_compiled_once(what: str) -> None:
    names = module(everyday.CHANGES[what][0])
    function = jit(names["F"])
    for _ in range(3):
        function(X)
    assert function.cache_info() == (1, 1)


@pytest.fixture
def process_as_before():
    """The tables of the process, and a module `pwreload`, are as before at the end."""
    lists = [sys.path, warnings.filters]
    before = [list(x) for x in lists]
    argv, modules = sys.argv, sys.modules.copy()
    changed = (builtins, string, os, sys, np, np.linalg, math, operator, functools)
    spaces = [(where, vars(where).copy()) for where in changed]
    level = logging.root.level
    sys.modules["pwreload"] = types.ModuleType("pwreload")
    sys.modules["pwreload"].k = 1.0
    yield
    for rows, old in zip(lists, before, strict=True):
        rows[:] = old
    sys.argv = argv
    for name in sys.modules.keys() - modules.keys():
        if name.startswith("pw"):
            del sys.modules[name]
    for where, names in spaces:
        for name in vars(where).keys() - names:
            if name[:2] in ("kk", "pw"):
                delattr(where, name)
        for name, value in names.items():
            if vars(where).get(name) is not value and name not in ("argv", "_"):
                setattr(where, name, value)
    logging.root.setLevel(level)


@pytest.mark.parametrize("what", changes.CHANGES)
def test_a_change_that_is_hard_to_see_gives_the_new_answer(what: str, process_as_before) -> None:
    source, change = changes.CHANGES[what]
    names = module(source, changes.HEADER)
    function = jit(names["F"])
    agree(function, X)
    before = names["F"](X)
    exec(change, names)
    agree(function, X)
    after = names["F"](X)
    same = np.shape(before) == np.shape(after) and np.array_equal(before, after)
    same = same and np.asarray(before).dtype == np.asarray(after).dtype
    assert not same, "the change changes nothing"


@pytest.mark.parametrize("what", changes.REFUSED)
def test_what_cannot_be_watched_is_refused(what: str, process_as_before) -> None:
    names = module(changes.REFUSED[what], changes.HEADER)
    with pytest.raises(PycError):
        jit(names["F"])(X)


# --- what is native -------------------------------------------------------------------------------

THROUGH_PYTHON = {
    *("a text array", "a long list", "a long tuple", "a set", "a frozen set", "a deque"),
    *("an ordered dict", "a default dict", "a subclass of dict", "a subclass of list"),
    *("an array that Python needs", "an array that decides", "an attribute that is answered"),
}
"""What native calls do not look at, for a reason that is recorded."""


@pytest.mark.parametrize("what", sorted(everyday.CHANGES.keys() - THROUGH_PYTHON))
def test_calls_are_native(what: str) -> None:
    names = module(everyday.CHANGES[what][0])
    function = jit(names["F"])
    for _ in range(3):
        function(X)
    assert native_calls(function) == 2


@pytest.mark.parametrize("what", sorted(THROUGH_PYTHON))
def test_calls_that_are_not_native_have_a_reason(what: str) -> None:
    function = jit(module(everyday.CHANGES[what][0])["F"])
    with reasons.collecting() as events:
        for _ in range(3):
            function(X)
    assert [e.reason for e in events].count(Reason.DISPATCH_SLOW_CAPTURE) == 1
    assert native_calls(function) == 0


def test_equal_objects_in_place_of_the_same_ones_stay_native() -> None:
    names = module("k, s = 0.5, ('a' + 'b', 3)\ndef f(x): return x * k * s[1]")
    function = jit(names["F"])
    function(X)
    names["s"] = ("".join(["a", "b"]), int("3"))
    for _ in range(4):
        names["k"] = float("0.5")
        agree(function, X)
    assert function.cache_info().misses == 1
    assert native_calls(function) >= 6


def test_calls_that_stop_being_native_have_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    names = module("s = 'ab'\ndef f(x): return x if s == 'ab' else -x")
    function = jit(names["F"])
    with reasons.collecting() as events:
        for _ in range(12):
            names["s"] = "".join(["a", "b"])
            agree(function, X)
    seen = [e for e in events if e.reason is Reason.DISPATCH_SLOW_FORM]
    assert len(seen) == 1 and "again and again" in seen[0].details["detail"]
    assert function.cache_info().misses == 1

    monkeypatch.setattr(sys.modules["pyc.jit"], "MAXIMUM", 2)
    function = jit(lambda x: x + 1)
    with reasons.collecting() as events:
        for n in (1, 2, 3, 3):
            function(np.ones(n))
    seen = [e for e in events if e.reason is Reason.DISPATCH_SLOW_FORM]
    assert [e.details["detail"] for e in seen] == ["more than 2 forms of calls"]


def test_a_class_that_changes_elsewhere_is_looked_at_anew() -> None:
    names = module("class C: other = 0\nc = C(); c.k = 2.0\ndef f(x): return x * c.k")
    function = jit(names["F"])
    function(X)
    names["C"].other = 1
    agree(function, X)
    before = native_calls(function)
    agree(function, X)
    assert native_calls(function) == before + 2 and function.cache_info().misses == 1


# --- numbers that change, and integers that are needed --------------------------------------------


def test_a_number_that_changes_becomes_a_hidden_argument() -> None:
    names = module("k = 1.0\ndef f(x): return x * k")
    function = jit(names["F"])
    with reasons.collecting() as events:
        for k in (1.0, 2.0, 3.0, -0.0, math.nan, 5.0):
            names["k"] = k
            agree(function, X)
    assert function.cache_info() == (2, 2)
    assert function.trace(X).captures == () and Reason.GUARD_CAPTURE_TRACED in {
        e.reason for e in events
    }
    changed = [e for e in events if e.reason is Reason.GUARD_CAPTURE_CHANGED]
    assert [e.details["path"] for e in changed] == ["k"]


def test_an_attribute_that_is_stepped_is_compiled_twice_only() -> None:
    @dataclass
    class Clock:
        t: float = 0.0

    clock = Clock()
    function = jit(lambda x: x * np.sin(clock.t))
    for _ in range(10):
        clock.t += 0.1
        np.testing.assert_allclose(function(X), X * np.sin(clock.t), rtol=1e-15)
    assert function.cache_info().misses == 2


def test_a_number_that_is_needed_is_compiled_for_each_value() -> None:
    names = module("n = 1\ndef f(x): return np.zeros(n) + x.sum()")
    function = jit(names["F"])
    for n in (1, 2, 3, 2, 1):
        names["n"] = n
        agree(function, X)
    assert function.cache_info().misses == 3


def test_a_number_that_cannot_be_hidden_stays_a_guard() -> None:
    names = module(
        "import decimal\nk = 0.5\ndef f(x): return x * k if decimal.Decimal(k) > 0.3 else -x"
    )
    function = jit(names["F"])
    with reasons.collecting() as events:
        for k in (0.5, 0.75, 0.25):
            names["k"] = k
            agree(function, X)
    assert function.cache_info().misses == 3
    assert Reason.GUARD_CAPTURE_KEPT in {e.reason for e in events}


def test_integer_arguments_are_traced_until_they_are_needed() -> None:
    scaled = jit(lambda x, n: x * n)
    for n in range(5):
        np.testing.assert_array_equal(scaled(X, n), X * n)
    assert scaled.cache_info().misses == 1

    def powers(x, n):
        return sum((x**k for k in range(n)), np.zeros(n)[:1])

    function = jit(powers)
    with reasons.collecting() as events:
        for n in (3, 2, 3, 2):
            np.testing.assert_allclose(function(X, n), powers(X, n), rtol=1e-12)
            np.testing.assert_allclose(function(X, n=n), powers(X, n), rtol=1e-12)
    assert function.cache_info().misses == 2 and native_calls(function) >= 3
    seen = [e.reason for e in events]
    assert Reason.GUARD_ARGUMENT_VALUE in seen and Reason.COMPILE_NEW_VALUE in seen


def test_numpy_integers_are_needed_too() -> None:
    function = jit(lambda x, n: np.zeros(n) + x[0])
    for n in (np.int32(2), np.int64(3), 2):
        np.testing.assert_array_equal(function(X, n), np.zeros(n) + X[0])


def test_floats_are_needed_too() -> None:
    """`int(t / dt)` steps: one program for each pair of values, none for other numbers."""

    def decay(y, t, dt):
        n = int(t / dt)
        path = np.zeros(n + 1)
        path[0] = y
        for k in range(n):
            path[k + 1] = path[k] - dt * path[k]
        return path

    function = jit(decay)
    for args in ((1.0, 1.0, 0.25), (2.0, 1.0, 0.25), (1.0, np.float64(2.0), 0.5), (1.0, 0.3, 0.1)):
        np.testing.assert_allclose(function(*args), decay(*args), rtol=1e-14)
    assert function.cache_info().misses == 3


def test_a_value_that_is_needed_is_compared_by_its_bits() -> None:
    """0.0 and -0.0 are two values; NaN is one."""

    def inverse(x, s):
        return 1 / (x[:1] * s) + np.zeros(int(s == s))

    function = jit(inverse)
    with np.errstate(divide="ignore"):
        for s in (0.0, -0.0, 0.0, np.float64(-0.0)):
            np.testing.assert_array_equal(function(np.ones(3), s), inverse(np.ones(3), s))
        assert function.cache_info().misses == 3
        for _ in range(3):
            assert function(np.ones(3), np.nan).shape == (0,)
        assert function.cache_info().misses == 4


def test_too_many_values_drop_the_oldest_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PROGRAMS", 3)
    function = jit(lambda x, n: np.zeros(n) + x[0])
    with reasons.collecting() as events:
        for n in (1, 2, 3, 4, 5, 1):
            assert function(X, n).shape == (n,)
    assert function.cache_info() == (6, 3)
    assert [e.reason for e in events].count(Reason.GUARD_PROGRAM_DROPPED) == 3


# --- objects as arguments -------------------------------------------------------------------------


class Layer:
    scale = 1.0

    def __init__(self, w, rate=0.5):
        self.w = w
        self.rate = rate
        self.steps = [1.0, 2.0]

    def half(self, x):
        return x * self.rate

    @jit
    def step(self, x):
        return self.half(x) @ self.w * self.scale + self.steps[0]


def plain(layer: Layer, x: Any) -> Any:
    return Layer.step.__wrapped__(layer, x)


def test_methods_of_plain_classes() -> None:
    first, second = Layer(np.ones((3, 3))), Layer(np.eye(3))
    Layer.step.clear_cache()
    for layer in (first, second, first):
        np.testing.assert_array_equal(layer.step(X), plain(layer, X))
    assert Layer.step.cache_info().entries == 1
    first.rate = 0.25
    np.testing.assert_array_equal(first.step(X), plain(first, X))
    np.testing.assert_array_equal(second.step(X), plain(second, X))
    second.steps[0] = 9.0
    np.testing.assert_array_equal(second.step(X), plain(second, X))
    first.w[0] = 7
    np.testing.assert_array_equal(first.step(X), plain(first, X))


def test_calls_of_methods_are_native_for_every_object() -> None:
    Layer.step.clear_cache()
    layers = [Layer(np.full((3, 3), float(k))) for k in range(4)]
    layers[0].step(X)
    before = native_calls(Layer.step)
    for layer in layers:
        np.testing.assert_array_equal(layer.step(X), plain(layer, X))
    assert native_calls(Layer.step) == before + 4
    assert Layer.step.cache_info().entries == 1


@dataclass
class State:
    mass: Any
    rate: float
    parts: dict[str, Any]
    inner: Any = None
    mode: str = field(default="up", metadata={"static": True})
    order: int = field(default=2, metadata={"static": True})


@pytest.fixture
def registered():
    pyc.tree.register_dataclass(State)
    yield
    pyc.tree.unregister(State)


def test_calls_with_registered_dataclasses_are_native(registered) -> None:
    def advance(state, x, *, other):
        y = x * state.mass * state.rate + state.parts["a"][0] * state.parts["b"]
        if state.inner is not None:
            y = y - state.inner.mass * state.inner.rate
        return (y if state.mode == "up" else -y) ** state.order + other.rate

    inner = State(X, 0.25, {})
    state = State(X, 0.5, {"a": [X, (1, None)], "b": 3}, inner)
    function = jit(advance)

    def agree() -> None:
        for _ in range(2):
            expected = advance(state, X, other=inner)
            np.testing.assert_allclose(function(state, X, other=inner), expected, rtol=1e-13)

    agree()
    assert native_calls(function) == 1
    for change in (
        lambda: setattr(state, "mass", X * 2),
        lambda: setattr(state, "rate", 7.5),
        lambda: state.parts["a"].__setitem__(0, -X),
        lambda: state.parts.__setitem__("b", 4),
        lambda: setattr(inner, "rate", -1.0),
    ):
        before = native_calls(function)
        change()
        agree()
        assert native_calls(function) == before + 2 and function.cache_info().misses == 1
    for change in (
        lambda: setattr(state, "mode", "down"),
        lambda: setattr(state, "order", 3),
        lambda: setattr(state, "mass", np.float32(2)),
        lambda: setattr(state, "inner", None),
        lambda: state.parts.__setitem__("c", 1.0),
        lambda: setattr(state, "mass", X.astype(np.float32)),
    ):
        misses = function.cache_info().misses
        change()
        agree()
        assert function.cache_info().misses == misses + 1


class Marked:
    """Compares as dataclasses do from Python 3.13 on, and holds another way to compare."""

    def __init__(self, w: Any) -> None:
        self.w = w

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if other.__class__ is self.__class__:
            return self.w.sum() == other.w.sum()
        return NotImplemented

    def has(self, w: Any) -> bool:
        return self.w is w


FIRST, SECOND = Marked(X), Marked(X)


def test_a_method_that_compares_objects_costs_nothing_until_it_is_used() -> None:
    function = jit(lambda x: x * FIRST.w + SECOND.w)
    for _ in range(2):
        np.testing.assert_array_equal(function(X), X * X + X)
    assert native_calls(function) == 1


def test_a_method_that_compares_objects_is_asked_again_when_others_are_there() -> None:
    pair = {"a": Marked(X * np.nan), "b": None}
    pair["b"] = pair["a"]

    def compared(x):
        first, second = pair["a"], pair["b"]
        return x * 2 if first == second else x * 3

    function = jit(compared)
    np.testing.assert_array_equal(function(X), X * 2)
    pair["b"] = object()
    np.testing.assert_array_equal(function(X), X * 3)
    pair["b"] = pair["a"]
    np.testing.assert_array_equal(function(X), X * 2)


def test_arrays_that_were_read_before_code_compares_objects_are_told_apart(monkeypatch) -> None:
    def held(x):
        first, second = FIRST.w, SECOND.w
        return x * 2 if SECOND.has(first) and FIRST.has(second) else x * 3

    def read_later(x):
        first = FIRST.w
        return x * 2 if SECOND.has(first) else x * 3

    def raises_if_they_differ(x):
        first = FIRST.w
        if not SECOND.has(first):
            raise ValueError("two arrays")
        return x * 2

    for purity in ("strict", "off"):
        functions = [jit(f, purity=purity) for f in (held, read_later, raises_if_they_differ)]
        for _ in range(2):
            for function in functions:
                np.testing.assert_array_equal(function(X), X * 2)
        with monkeypatch.context() as patch:
            patch.setattr(SECOND, "w", X + 0)
            for function in functions[:2]:
                np.testing.assert_array_equal(function(X), X * 3)
            with pytest.raises(ValueError, match="two arrays"):
                functions[2](X)


def test_objects_inside_of_arguments() -> None:
    function = jit(lambda rows, *, model: rows["a"][1].half(rows["x"]) @ model.w)
    a, b = Layer(np.eye(3)), Layer(np.ones((3, 3)), 3.0)
    for first, second in ((a, b), (b, a), (a, a)):
        rows = {"x": X, "a": [1.0, first]}
        expected = first.half(X) @ second.w
        np.testing.assert_array_equal(function(rows, model=second), expected)
    a.rate = 8.0
    np.testing.assert_array_equal(function({"x": X, "a": [1.0, a]}, model=b), a.half(X) @ b.w)


def test_programs_keep_no_object_and_no_array_alive() -> None:
    function = jit(lambda layer, x: layer.half(x) @ layer.w)
    names = module("W = np.ones((3, 3))\ndef f(x): return x @ W")
    captured = jit(names["F"])
    seen = []
    for k in range(3):
        layer = Layer(np.full((3, 3), float(k)))
        names["W"] = layer.w
        function(layer, X)
        captured(X)
        seen.append(weakref.ref(layer))
        seen.append(weakref.ref(layer.w))
    names["W"] = layer = None
    gc.collect()
    assert [r() for r in seen] == [None] * 6


def test_writing_to_what_is_outside_is_refused() -> None:
    layer, rows, table, tags = Layer(np.eye(3)), [1.0], {"a": 1.0}, {1}

    def attribute(x):
        layer.rate = 2.0
        return x

    def item(x):
        layer.steps[0] = 2.0
        return x

    def append(x):
        rows.append(x)
        return x

    def update(x):
        table.update(a=2.0)
        return x

    def add(x):
        tags.add(2)
        return x

    def array(x):
        layer.w[0] = 1.0
        return x

    for function in (attribute, item, append, update, add, array):
        with pytest.raises(PurityError):
            jit(function)(X)
    assert (layer.rate, layer.steps, rows, table, tags) == (0.5, [1.0, 2.0], [1.0], {"a": 1.0}, {1})


def test_a_compiled_program_refuses_other_values() -> None:
    names = module("k = 2.0\ndef f(x): return x * k")
    program = jit(names["F"]).compile(X)
    np.testing.assert_array_equal(program(X), X * 2)
    names["k"] = 3.0
    with pytest.raises(TraceError, match="another value of `k`"):
        program(X)


def test_captures_are_named() -> None:
    names = module("W = {'a': [X1, X1]}\ndef f(x): return x * W['a'][1]")
    traced = jit(names["F"]).trace(X)
    assert traced.captures == ("W['a'][1]",)
    assert len(traced.graph.params) == 2


def test_threads_see_their_own_values() -> None:
    names = module("W = np.ones(3)\ndef f(x): return x * W[0]")
    function = jit(names["F"])
    failures = []

    def work(k):
        for n in range(50):
            got = function(X)
            ratio = got / X
            if not np.array_equal(ratio, np.full(3, ratio[0])):
                failures.append(got)
            if k == 0:
                names["W"] = np.full(3, float(n % 7 + 1))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures and function.cache_info().entries == 1
