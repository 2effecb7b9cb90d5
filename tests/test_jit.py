"""`jit`: arguments, signatures, results, stages, methods, threads."""

from __future__ import annotations

import enum
import math
import os
import re
import threading
from array import array
from collections import UserDict, UserList, namedtuple
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial, wraps

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyc import reasons, tree
from pyc.errors import DTypeError, PycError
from pyc.jit import Jitted, jit, programs_of
from pyc.reasons import Reason
from pyc.runtime import dispatch

X = np.arange(6.0).reshape(2, 3)
Pair = namedtuple("Pair", "left right")


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


# --- arguments ------------------------------------------------------------------------------------


def test_positions_keywords_and_defaults_are_one_signature() -> None:
    function = jit(lambda x, scale, *, shift: x * scale + shift)
    expected = X * 2.0 + 1.0
    for got in (
        function(X, 2.0, shift=1.0),
        function(X, scale=2.0, shift=1.0),
        function(shift=1.0, scale=2.0, x=X),
    ):
        np.testing.assert_array_equal(got, expected)
    assert function.cache_info() == (1, 1)


def test_wrong_arguments_are_pythons_own_error() -> None:
    function = jit(lambda x, *, n=1: x)
    with pytest.raises(TypeError, match="missing"):
        function()
    with pytest.raises(TypeError, match="unexpected keyword argument 'm'"):
        function(X, m=1)
    assert function.cache_info() == (0, 0)


def test_open_argument_lists() -> None:
    function = jit(lambda x, *rest, **named: x + sum(rest) + named.get("y", 0))
    assert function(1.0, 2.0, 3.0, y=4.0) == 10.0
    with pytest.raises(DTypeError) as found:
        function(1.0, 2.0, object())
    assert found.value.message.endswith("`rest[1]` is of type object")
    with pytest.raises(DTypeError) as found:
        function(1.0, y={"z": object()})
    assert found.value.message.endswith("`y['z']` is of type object")


def _scaled(function):
    """A decorator with a keyword of its own."""

    @wraps(function)
    def wrapper(*args, scale=1, **options):
        return function(*args, **options) * scale

    return wrapper


def _of_keywords(function):
    """A decorator whose parameters differ in kind from those of the function."""

    @wraps(function)
    def wrapper(x, *, k):
        return function(x, k)

    return wrapper


def _doubling(function):
    """A decorator that treats keywords in its own way."""

    @wraps(function)
    def wrapper(*args, **options):
        return function(*args, **{name: 2 * value for name, value in options.items()})

    return wrapper


@pytest.mark.parametrize("decorator", [_scaled, _of_keywords, _doubling])
def test_a_decorated_function_is_called_as_it_was_called(decorator) -> None:
    """By the parameters of the decorator, not by those of what it wraps."""

    @decorator
    def function(x, k=1):
        return x * k

    np.testing.assert_array_equal(jit(function)(X, k=3), function(X, k=3))
    if decorator is _scaled:
        np.testing.assert_array_equal(jit(function)(X, scale=3), function(X, scale=3))
    if decorator is not _of_keywords:
        np.testing.assert_array_equal(jit(function)(X, 3), function(X, 3))


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((X,), {"m": 1}),
        ((X, 1), {"m": 1}),
        ((X, 1, 2), {}),
        ((X, 1, 2), {"c": 1}),
        ((X, 1), {"x": X}),
        ((X,), {"x": X, "b": 1}),
        ((), {"x": X}),
    ],
)
def test_calls_with_wrong_arguments_raise_what_python_raises(args, kwargs) -> None:
    def function(x, /, b, *, c=1):
        return x * b * c

    class Model:
        def step(self, x, b):
            return x * b

    with pytest.raises(TypeError) as expected:
        function(*args, **kwargs)
    with pytest.raises(TypeError, match=re.escape(str(expected.value))):
        jit(function)(*args, **kwargs)
    with pytest.raises(TypeError) as expected:
        Model().step(*args, **kwargs)
    Model.step = jit(Model.step)
    with pytest.raises(TypeError, match=re.escape(str(expected.value))):
        Model().step(*args, **kwargs)


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        (np.array(["a", "b"]), lambda x: x.tolist()),
        (np.array([1, 2.5], object), lambda x: x.astype(np.float64)),
        (np.array([1, 2], "m8[s]"), lambda x: x.astype(np.int64)),
        (np.zeros(2, [("a", float)]), lambda x: x["a"]),
        ({1, 2}, tuple),
        ({1, 2}, frozenset),
        (iter([1, 2]), list),
        (UserDict(a=1), dict),
        (UserList([1]), list),
        (array("d", [1.0]), np.asarray),
    ],
)
def test_what_is_no_argument_can_be_passed_as_the_error_says(given, instead) -> None:
    function = jit(lambda x: len(x) * X)
    with pytest.raises(DTypeError):
        function(given)
    passed = instead(given)
    np.testing.assert_array_equal(function(passed), len(passed) * X)


def test_ranges_slices_and_their_kin_are_static() -> None:
    def function(x, places):
        y = x.ravel()
        if isinstance(places, (range, frozenset)):
            return sum(y[k] for k in places)
        return y[places] * 2.0

    jitted = jit(function)
    given = [
        *(slice(1, 3), slice(None, None, -1), slice(1, 3), slice(np.int64(2)), slice(1.0 > 0, 3)),
        *(range(3), range(1, 5, 2), ..., (slice(0, 2),), frozenset([1, 2]), frozenset([1, 3])),
    ]
    for places in given:
        for _ in range(2):
            np.testing.assert_array_equal(jitted(X, places), function(X, places))
    assert len(jitted.signatures()) == len(given) - 1, "a slice twice"


def test_python_numbers_are_traced_and_new_values_do_not_compile_again() -> None:
    function = jit(lambda x, n, s: x * s + n)
    for n, s in ((1, 0.5), (7, -2.5), (-3, 1e300)):
        np.testing.assert_array_equal(function(X, n, s), X * s + n)
    assert function.signatures() == (f"{function.__name__}(x: f64[2,3], n: int, s: float)",)
    assert function(X, 1.0, 0.5).dtype == np.float64
    assert len(function.signatures()) == 2, "an int and a float are two types"


def test_bools_strings_none_enums_types_and_functions_are_static() -> None:
    def function(x, options, op):
        y = op(x) if options["negate"] else x
        if options["name"] == "twice":
            y = y * 2
        if options["mode"] is Mode.FAST:
            y = y + 1
        return y.astype(options["dtype"]) if options["dtype"] is not None else y

    jitted = jit(function)
    for negate in (False, True):
        for name in ("once", "twice"):
            for mode in Mode:
                for dtype in (None, np.float32):
                    options = {"negate": negate, "name": name, "mode": mode, "dtype": dtype}
                    got, expected = (
                        jitted(X, options, np.negative),
                        function(X, options, np.negative),
                    )
                    assert got.dtype == expected.dtype
                    np.testing.assert_array_equal(got, expected)
    assert len(jitted.signatures()) == 16


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1},
        {"static_argnames": "n"},
        {"static_argnums": (-1,)},
        {"static_argnames": ["n"]},
    ],
)
def test_static_arguments_shape_the_program(options) -> None:
    function = jit(lambda x, n: sum(x * k for k in range(n)), **options)
    np.testing.assert_array_equal(function(X, 4), X * 6)
    np.testing.assert_array_equal(function(X, n=4), X * 6)
    np.testing.assert_array_equal(function(n=3, x=X), X * 3)
    assert len(function.signatures()) == 2
    assert function.signatures()[0].endswith("(x: f64[2,3], n=4)")


def test_static_values_are_told_apart_by_type_and_bits() -> None:
    """1 == 1.0 == True in Python, but they give other dtypes."""
    noon = datetime(2020, 1, 1, 12, tzinfo=UTC)
    pairs = [
        (np.float64(0.0), np.float64(-0.0), lambda s: math.copysign(1.0, s)),
        (Decimal("1.0"), Decimal("1.00"), lambda s: len(str(s))),
        (noon, noon.astimezone(timezone(timedelta(hours=1))), lambda s: s.hour),
        (range(0), range(2, 2), lambda s: s.start),
        (frozenset([1]), frozenset([1.0]), lambda s: min(s) / 2),
        (slice(0, 1), slice(False, True), lambda s: len(repr(s))),
    ]
    for first, second, asks in pairs:
        static = jit(lambda x, s, asks=asks: x * asks(s), static_argnames="s")
        for value in (first, second):
            np.testing.assert_array_equal(static(X, value), X * asks(value))
    function = jit(lambda x, s: x * s, static_argnames="s")
    bytes_ = np.ones(2, np.int8)
    assert [function(bytes_, s).dtype for s in (1, 1.0, True, np.float32(1), np.int16(1))] == [
        *(np.int8, np.float64, np.int8, np.float32, np.int16)
    ]
    assert np.signbit(function(np.ones(1), -0.0)) and not np.signbit(function(np.ones(1), 0.0))


def test_a_lambda_made_again_hits() -> None:
    function = jit(lambda x, f: f(x))
    for _ in range(3):
        function(X, lambda v: v * 2)
    assert len(function.signatures()) == 1
    scale = 3
    np.testing.assert_array_equal(function(X, lambda v: v * scale), X * 3)
    scale = 4
    np.testing.assert_array_equal(function(X, lambda v: v * scale), X * 4)


def test_pytrees_in_and_out() -> None:
    @tree.register_dataclass
    @dataclass
    class State:
        h: object
        parts: object

    def function(state, pair, rest):
        assert isinstance(pair, Pair) and rest[1] is None
        parts = {name: value * 2 for name, value in state.parts.items()}
        return State(state.h + pair.left, parts), [rest[0], None, ()], {"z": pair, "a": 3}

    args = State(X, {"b": X + 1, "a": 2.0}), Pair(1.0, X), [X, None]
    state, rest, named = jit(function)(*args)
    np.testing.assert_array_equal(state.h, X + 1.0)
    assert list(state.parts) == ["b", "a"] and state.parts["a"] == 4.0
    assert rest[1:] == [None, ()] and list(named) == ["z", "a"]
    assert type(named["z"]) is Pair and (named["a"], named["a"].dtype) == (3, np.int64)
    assert type(jit(lambda: (1, 2.0, True))()[2]) is np.bool_


def test_the_order_of_a_dict_is_kept_and_is_part_of_the_signature() -> None:
    function = jit(lambda d: list(d.values()))
    assert function({"b": 1, "a": 2}) == [1, 2]
    assert function({"a": 2, "b": 1}) == [2, 1]


# --- layouts --------------------------------------------------------------------------------------

layouts = st.sampled_from(
    [
        (lambda a: a, None),
        (lambda a: np.asfortranarray(a), Reason.ARGUMENT_COPIED_NOT_CONTIGUOUS),
        (lambda a: np.repeat(a, 2, axis=0)[::2], Reason.ARGUMENT_COPIED_NOT_CONTIGUOUS),
        (lambda a: a[::-1][::1], Reason.ARGUMENT_COPIED_NOT_CONTIGUOUS),
        (lambda a: a.astype(a.dtype.newbyteorder(">")), Reason.ARGUMENT_COPIED_BYTE_SWAPPED),
        (lambda a: misaligned(a), Reason.ARGUMENT_COPIED_MISALIGNED),
    ]
)


def misaligned(a):
    room = np.zeros(a.nbytes + 1, np.uint8)
    out = room[1:].view(a.dtype).reshape(a.shape)
    out[...] = a
    return out


twice = jit(lambda x: x + x)


@pytest.mark.parametrize("view", [np.asfortranarray, lambda a: a[:, ::2], lambda a: a[::-1]])
def test_calls_with_arrays_that_are_copied_are_native(view, monkeypatch) -> None:
    x = view(np.arange(24.0).reshape(4, 6))
    function = jit(lambda x, y: (x + y, x[0] * 2))
    function(x, x)
    monkeypatch.setattr(programs_of(function), "entry", None)
    with reasons.collecting() as events:
        both, row = function(x, x)
    assert [e.reason for e in events] == [Reason.ARGUMENT_COPIED_NOT_CONTIGUOUS]
    assert events[0].details["argument"] == "x" and events[0].details["nbytes"] == x.nbytes
    assert np.array_equal(both, x + x) and np.array_equal(row, x[0] * 2)


@settings(max_examples=40, deadline=None)
@given(layout=layouts, dtype=st.sampled_from(["i4", "f8", "f4", "i8", "u2"]))
def test_any_layout_gives_the_same_result(layout, dtype) -> None:
    change, reason = layout
    x = change(np.arange(12).reshape(3, 4).astype(dtype))
    before = x.copy()
    with reasons.collecting() as events:
        got = twice(x)
    np.testing.assert_array_equal(got, before + before)
    assert got.dtype == np.dtype(dtype) and got.flags.c_contiguous and got.flags.writeable
    np.testing.assert_array_equal(x, before)
    copied = [e for e in events if e.reason.name.startswith("ARGUMENT_COPIED")]
    assert [e.reason for e in copied] == ([reason] if reason else [])
    assert not copied or copied[0].details == {"argument": "x", "nbytes": x.nbytes}


def test_layouts_do_not_compile_again() -> None:
    function = jit(lambda x: x + 1)
    x = np.arange(12.0).reshape(3, 4)
    for y in (x, np.asfortranarray(x), x.astype(">f8"), misaligned(x), x[::-1]):
        np.testing.assert_array_equal(function(y), y + 1)
    assert len(function.signatures()) <= 2


def test_special_arrays() -> None:
    function = jit(lambda x: (x, x.sum()))
    for x in (np.zeros((0, 3)), np.float32(2), np.array(3), np.zeros((2, 0), bool), np.int8(-1)):
        same, total = function(x)
        assert np.asarray(same).shape == np.shape(x) and same.dtype == np.asarray(x).dtype
        assert total == np.sum(x)
        assert isinstance(same, np.generic) == (np.ndim(x) == 0)


# --- results --------------------------------------------------------------------------------------


def test_results_never_share_memory() -> None:
    x = X.copy()
    results = jit(lambda x: (x, x, x.reshape(3, 2), x.T, x + 0.0, x[0]))(x)
    arrays = [x, *results]
    for i, a in enumerate(arrays):
        assert a.flags.writeable and a.flags.c_contiguous
        for b in arrays[i + 1 :]:
            assert not np.shares_memory(a, b)


def test_unused_arguments_are_allowed() -> None:
    np.testing.assert_array_equal(jit(lambda x, y, n: x)(X, X[::-1], 3), X)


# --- signatures -----------------------------------------------------------------------------------


def test_each_compilation_has_a_reason() -> None:
    function = jit(lambda x, how="a": tree.leaves(x)[0] * 2)
    calls = [
        ((X,), Reason.COMPILE_FIRST_CALL),
        ((X[:1],), Reason.COMPILE_NEW_SHAPE),
        ((X.astype(np.float32),), Reason.COMPILE_NEW_DTYPE),
        ((X, "b"), Reason.COMPILE_NEW_STRUCTURE),
        ((X, "c"), Reason.COMPILE_NEW_STATIC),
        (([X],), Reason.COMPILE_NEW_STRUCTURE),
        ((2,), Reason.COMPILE_NEW_DTYPE),
    ]
    for args, reason in calls:
        for expected in ([reason], []):
            with reasons.collecting() as events:
                function(*args)
            assert [e.reason for e in events if "COMPILE" in e.reason.name] == expected
    assert function.cache_info() == (7, 7)
    function.clear_cache()
    assert function.cache_info() == (7, 0)
    function(X)
    assert function.cache_info() == (8, 1)


def test_decorator_forms() -> None:
    @jit
    def plain(x):
        """Doc."""
        return x + 1

    @jit(static_argnames=("n",), name="renamed")
    def with_options(x, n):
        return x + n

    assert (plain.__name__, plain.__doc__, plain.__wrapped__(1)) == ("plain", "Doc.", 2)
    assert repr(with_options) == "<jitted renamed>"
    assert isinstance(plain, Jitted) and plain(1) == 2 and with_options(1, 2) == 3
    assert jit(partial(lambda a, b: a - b, 5))(3) == 2
    assert jit(plain)(1) == 2
    assert jit(lambda f, x: f(x))(plain, 1) == 2


def test_methods() -> None:
    @tree.register_dataclass
    @dataclass
    class Model:
        w: object

        @jit
        def apply(self, x):
            return x * self.w

    model = Model(X)
    np.testing.assert_array_equal(model.apply(2.0), X * 2)
    model.w = X + 1
    np.testing.assert_array_equal(model.apply(x=2.0), (X + 1) * 2)
    np.testing.assert_array_equal(model.apply.compile(2.0)(model, 3.0), (X + 1) * 3)
    assert len(model.apply.trace(2.0).graph.params) == 2
    assert isinstance(Model.apply, Jitted)
    assert jit(lambda self, x: self * x)(self=2.0, x=3.0) == 6.0


def test_a_method_of_a_hashable_instance_is_a_static_value() -> None:
    @dataclass(frozen=True)
    class Scale:
        by: float

        @partial(jit, static_argnums=0)
        def apply(self, x):
            return x * self.by

    function = jit(lambda x, f: f(x))
    for by in (2.0, 3.0, 2.0):
        assert function(1.5, Scale(by).apply) == 1.5 * by
    assert len(function.signatures()) == 2


# --- stages ---------------------------------------------------------------------------------------


def test_stages() -> None:
    function = jit(lambda x, y: {"z": x * 2 + y})
    traced = function.trace(X, 1.0)
    assert traced.as_text().startswith("graph(%0: f64[2,3], %1: f64[]) {\n")
    assert "test_jit.py" in traced.as_text()
    lowered = function.lower(X, 1.0)
    assert lowered.as_text("graph").startswith("graph(")
    assert len(lowered.kernels) == 1 and lowered.key_document["graph"] == lowered.as_text("traced")
    assert lowered.memory_analysis().arguments == X.nbytes + 8
    assert lowered.cost_analysis().kernels == 1
    assert function.cache_info().entries == 0
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(X, 1.0)["z"], X * 2 + 1.0)
    assert "define" in compiled.as_text("llvm") and compiled.key == function.compile(X, 2.0).key
    assert compiled.memory_analysis() == lowered.memory_analysis()
    assert function.cache_info() == (1, 1)


def test_tracing_the_same_function_twice_gives_the_same_text() -> None:
    def make():
        def function(d, n):
            return {k: v * n + len(d) for k, v in d.items()}, sorted(d)[0] == "a" and n

        return jit(function).trace({"b": X, "a": X + 1}, 2.5).as_text()

    assert make() == make()


# --- native calls ---------------------------------------------------------------------------------


def native_calls(function) -> int:
    return sum(dispatch.native_calls(function, s) for s in dispatch.specialisations(function))


def test_the_second_call_is_native() -> None:
    function = jit(lambda a, x, y: a * x + y)
    for k in range(4):
        np.testing.assert_array_equal(function(2.0, X, X), 2.0 * X + X)
        assert native_calls(function) == k
    assert function(3, X, X).sum() == 60.0, "another signature: a Python int"
    assert native_calls(function) == 3


def test_native_calls_take_containers_keywords_and_static_values() -> None:
    def function(state, pair=(1.0, 2.0), how="a", *, flag=False):
        x = -state["h"] if flag else state["h"]
        return {"x": x * pair[0], "y": [pair[1] + x, None], "z": x if how == "a" else x + 1}

    jitted = jit(function)
    forms = [
        (({"h": X},), {}),
        (({"h": X}, (3.0, 4.0)), {"flag": True}),
        (({"h": X},), {"pair": (3.0, 4.0), "how": "b"}),
        (({"h": X}, (3.0, 4.0), "b"), {"flag": True}),
    ]
    for args, kwargs in forms:
        before = native_calls(jitted)
        for _ in range(3):
            got, expected = jitted(*args, **kwargs), function(*args, **kwargs)
            assert got["y"][1] is None and list(got) == ["x", "y", "z"]
            for a, b in zip(tree.leaves(got), tree.leaves(expected), strict=True):
                np.testing.assert_array_equal(a, b)
        assert native_calls(jitted) == before + 2


def test_keywords_in_another_order_do_not_mix_up_arguments() -> None:
    function = jit(lambda x, y: x - y)
    for _ in range(2):
        assert function(x=5.0, y=3.0) == 2.0
        assert function(y=3.0, x=5.0) == 2.0
    for _ in range(2):
        assert function(y=5.0, x=5.0) == 0.0
        assert function(y=1.0, x=5.0) == 4.0


def test_what_may_change_unnoticed_is_looked_at_each_time() -> None:
    """The same object need not be the same value: native calls compare objects only."""

    @dataclass
    class Options:
        scale: float

    options, factor = Options(2.0), 2.0
    by_options = jit(lambda x, o: x * o.scale, static_argnames="o")
    by_function = jit(lambda x, f: f(x))

    def scaled(x):
        return x * factor

    for value in (2.0, 2.0, 5.0, 5.0):
        options.scale = factor = value
        np.testing.assert_array_equal(by_options(X, options), X * value)
        np.testing.assert_array_equal(by_function(X, scaled), X * value)


def test_a_jitted_function_is_inlined_even_if_it_could_run_natively() -> None:
    """Else the program of the outer function would depend on what was called before."""
    inner = jit(lambda a: a * 2.0 + 1.0)
    outer = jit(lambda x: x * inner(3.0))
    before = outer.trace(X).as_text()
    for _ in range(3):
        assert inner(3.0) == 7.0
    assert native_calls(inner) == 2
    assert outer.trace(X).as_text() == before
    assert inner(3.0) == 7.0 and native_calls(inner) == 3


def test_the_reason_of_slow_calls_is_recorded_once() -> None:
    @dataclass
    class Box:
        x: object

    tree.register_node(Box, lambda box: ((box.x,), None), lambda _, children: Box(*children))
    function = jit(lambda box: box.x + 1)
    with reasons.collecting() as events:
        for _ in range(3):
            function(Box(X))
    slow = [e for e in events if e.reason is Reason.DISPATCH_SLOW_ARGUMENT]
    assert [e.details["detail"] for e in slow] == ["an argument of type Box"]


def test_keywords_in_another_order_go_through_python_with_a_reason() -> None:
    function = jit(lambda x, y: x - y)
    with reasons.collecting() as events:
        for _ in range(3):
            np.testing.assert_array_equal(function(y=X, x=2 * X), X)
    assert [e.reason for e in events].count(Reason.DISPATCH_SLOW_KEYWORDS) == 1
    assert native_calls(function) == 0


def test_a_captured_value_that_python_needs_has_a_reason() -> None:
    counts = np.array([3])
    function = jit(lambda x: np.zeros(counts[0]) + x)
    with reasons.collecting() as events:
        assert function(1.0).shape == (3,)
    (event,) = (e for e in events if e.reason is Reason.GUARD_CAPTURE_VALUE)
    assert event.details["name"] == "counts"
    counts[0] = 4
    assert function(1.0).shape == (4,)


# --- threads and processes ------------------------------------------------------------------------


def test_many_threads_compile_once_and_agree() -> None:
    function = jit(lambda x, s: (x * s).sum())
    results, errors = [], []

    def work(k):
        try:
            results.append((k, float(function(X, float(k)))))
        except Exception as error:  # reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == [] and sorted(results) == [(k, 15.0 * k) for k in range(16)]
    assert function.cache_info() == (1, 1)


def test_a_forked_child_can_compile_while_a_thread_of_the_parent_did() -> None:
    function = jit(lambda x: x + 1)
    held, release = threading.Event(), threading.Event()

    def hold():
        with programs_of(function).lock:
            held.set()
            release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if programs_of(function).lock.acquire(timeout=5) else 1)
    _, status = os.waitpid(child, 0)
    release.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_failed_trace_is_tried_again() -> None:
    scale = [None]
    function = jit(lambda x: x * scale[0])
    with pytest.raises((PycError, TypeError)):
        function(X)
    scale[0] = 2.0
    np.testing.assert_array_equal(function(X), X * 2)


def test_a_jitted_function_shows_the_documented_names_only() -> None:
    """What native calls need of it belongs to `pyc.runtime.dispatch`."""
    function = jit(lambda x: x + 1)
    named = {name for name in dir(function) if not name.startswith("_")}
    asked = {"cache_info", "clear_cache", "compile", "lower", "signatures", "trace"}
    assert asked <= named <= {*asked, "explain"}


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("static_argname", "did you mean static_argnames?"),
        ("donate_argnum", "did you mean donate_argnums?"),
        ("devices", "did you mean device?"),
        ("backend", "known are static_argnums, static_argnames, donate_argnums, "),
    ],
)
def test_an_option_that_is_misspelt_names_the_closest(option, told) -> None:
    for decorate in (lambda: jit(lambda x: x, **{option: 1}), lambda: jit(**{option: 1})):
        with pytest.raises(TypeError, match=f"jit: there is no option '{option}'; {told}"):
            decorate()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"static_argnums": "n"}, "static_argnums takes positions, one or several, got 'n'; names"),
        ({"static_argnums": 1.5}, "static_argnums takes positions, one or several, got 1.5"),
        ({"donate_argnums": ["x"]}, r"donate_argnums takes positions, one or several, got \['x'\]"),
        ({"static_argnames": 1}, "static_argnames takes names, one or several, got 1; positions"),
        ({"donate_argnames": (0,)}, r"donate_argnames takes names, one or several, got \(0,\)"),
    ],
)
def test_positions_and_names_that_are_mixed_up_are_told_apart(options, told) -> None:
    with pytest.raises(TypeError, match=f"jit: {told}"):
        jit(lambda x, n: x * n, **options)


def test_positions_and_names_may_be_one_or_several_of_any_kind() -> None:
    for options in (
        {"static_argnums": np.int64(1)},
        {"static_argnums": {1}},
        {"static_argnames": iter(["n"])},
    ):
        function = jit(lambda x, n: x * n, **options)
        assert function(2.0, 3) == 6.0
        assert function.signatures() == ("<lambda>(x: float, n=3)",)
