"""`donate_argnums`: results in the caller's memory, on every way that a call can take."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
from pyc import cache, reasons
from pyc.errors import DonationError
from pyc.jit import jit
from pyc.reasons import Reason
from pyc.runtime import dispatch, pool

X = np.arange(6.0).reshape(2, 3)
ROWS = np.arange(12.0).reshape(3, 4)


def address(x: np.ndarray[Any, Any]) -> int:
    return x.__array_interface__["data"][0]


def step(x: Any, y: Any) -> Any:
    return x * 2 + y


def recorded(reason: Reason) -> list[Any]:
    return [event for event in reasons.events() if event.reason is reason]


def native_calls(function: Any) -> int:
    return sum(dispatch.native_calls(function, s) for s in dispatch.specialisations(function))


# --- results in arguments -------------------------------------------------------------------------


def test_a_donated_argument_is_the_result() -> None:
    """x = f(x) allocates nothing: the first call, made in Python, and native ones."""
    f = jit(step, donate_argnums=0)
    x, y = np.ones(6), np.arange(6.0)
    for k in range(5):
        expected = step(x, y)
        z = f(x, y)
        assert z is x
        np.testing.assert_array_equal(z, expected)
        assert native_calls(f) == k
    analysis = f.lower(x, y).memory_analysis()
    assert (analysis.donated, analysis.results, analysis.peak) == (48, 0, 0)


def test_no_memory_is_allocated_for_it() -> None:
    f = jit(lambda x: x + 1, donate_argnums=0)
    x = f(np.zeros(1 << 22))
    before = pool.statistics()
    for _ in range(3):
        x = f(x)
    after = pool.statistics()
    assert (before.fresh, before.recycled) == (after.fresh, after.recycled)
    assert (x == 4).all()


def test_programs_that_replace_an_argument_have_no_other_memory() -> None:
    """Rows, products and loops over 4 MB: the result is the argument, by native calls too."""
    reasons.clear()
    rng = np.random.default_rng(0)
    state, weights = rng.standard_normal((1000, 512)), rng.standard_normal((512, 512)) / 20

    def normalised(x: Any) -> Any:
        away = x - x.mean(axis=1, keepdims=True)
        return away / np.sqrt((away * away).mean(axis=1, keepdims=True) + 1e-5)

    def residual(x: Any, w: Any, y: Any) -> Any:
        return x + y @ w

    def relaxed(x: Any) -> Any:
        for _ in range(30):
            x = x * 0.9 + 0.1
        return x

    for function, others in ((normalised, ()), (residual, (weights, state + 1)), (relaxed, ())):
        f = jit(function, donate_argnums=0)
        expected = jit(function)(state, *others)
        for _ in range(3):
            x = state.copy()
            assert f(x, *others) is x
            np.testing.assert_array_equal(x, expected)
        assert native_calls(f)
        analysis = f.lower(state, *others).memory_analysis()
        assert (analysis.donated, analysis.results, analysis.peak) == (state.nbytes, 0, 0)
        assert not recorded(Reason.MEMORY_DONATION_UNUSED)


def test_the_memory_of_a_view_is_used() -> None:
    """What else sees that memory sees the result: the caller said so."""
    f = jit(lambda x: x + 1, donate_argnums=0)
    big = np.zeros((4, 3))
    for k in range(3):
        got = f(big[1])
        assert address(got) == address(big[1])
        np.testing.assert_array_equal(big, [[0] * 3, [k + 1] * 3, [0] * 3, [0] * 3])


def test_without_donation_arguments_stay() -> None:
    for options in ({}, {"donate_argnums": ()}, {"donate_argnums": 1}):
        f = jit(lambda x, y: (x + 1, y.sum()), **options)
        for _ in range(3):
            x = np.zeros(3)
            got, _ = f(x, np.ones(5))
            assert got is not x and (x == 0).all()


@pytest.mark.parametrize(
    "x", [ROWS.T.copy().T, ROWS.astype(">f8"), ROWS[::2], np.broadcast_to(ROWS[0], (3, 4))]
)
def test_an_argument_that_is_copied_stays_and_the_result_has_the_copy(x: Any) -> None:
    f = jit(lambda x: x + 1, donate_argnums=0)
    expected = np.array(x)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), expected + 1)
        np.testing.assert_array_equal(x, expected)


def test_keywords_names_and_negative_positions() -> None:
    x, y = np.ones(3), np.ones(3)
    for options in ({"donate_argnums": -1}, {"donate_argnames": "y"}, {"donate_argnames": ["y"]}):
        f = jit(lambda x, y: x + y, **options)
        for _ in range(3):
            y[:] = 3
            assert f(x, y=y) is y and (y == 4).all()
            y[:] = 3
            assert f(x, y) is y and (y == 4).all()
    named = jit(lambda x, *, out: x + out, donate_argnames="out")
    for _ in range(3):
        y[:] = 1
        assert named(x, out=y) is y and (y == 2).all()
    rest = jit(lambda x, **rest: x + rest["y"], donate_argnames="y")
    assert rest(x, y=y) is y


def test_trees_are_donated_whole() -> None:
    def move(state: Any, dt: Any) -> Any:
        return {"x": state["x"] + dt * state["v"][0], "v": (state["v"][0] * 0.5, state["v"][1])}

    f = jit(move, donate_argnums=0)
    state = {"x": np.ones(4), "v": (np.ones(4), np.zeros(2))}
    for k in range(4):
        expected = move(state, 0.5)
        given = [state["x"], *state["v"]]
        state = f(state, 0.5)
        found = [state["x"], *state["v"]]
        assert all(any(a is b for b in given) for a in found)
        for a, b in zip(found, [expected["x"], *expected["v"]], strict=True):
            np.testing.assert_array_equal(a, b)
        assert native_calls(f) == k


@pyc.tree.register_dataclass
@dataclass
class State:
    x: Any
    v: Any


def test_registered_classes_go_through_python() -> None:
    reasons.clear()
    f = jit(lambda s: State(s.x + s.v, s.v * 0.5), donate_argnums=0)
    s = State(np.zeros(3), np.ones(3))
    for _ in range(3):
        x, v = s.x, s.v
        s = f(s)
        assert s.x is x and s.v is v
    np.testing.assert_array_equal(s.x, [1.75] * 3)
    [event] = recorded(Reason.DISPATCH_SLOW_ARGUMENT)
    assert event.details["detail"] == "a donated dataclass"


def test_methods_donate_arguments_behind_self() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = np.full(3, 2.0)

        @jit
        def plain(self, x: Any) -> Any:
            return x * self.w

        donating = jit(lambda self, x: x * self.w, donate_argnames="x")

    model, x = Model(), np.ones(3)
    assert model.plain(x) is not x
    for k in range(3):
        assert model.donating(x) is x and (x == 2.0 ** (k + 1)).all()


def test_nothing_is_donated_within_a_trace() -> None:
    """The outer function decides what it writes to; its arguments stay."""
    inner = jit(lambda x: x + 1, donate_argnums=0)
    outer = jit(lambda x: (inner(x), x * 2))
    for _ in range(3):
        x = np.ones(3)
        a, b = outer(x)
        assert (a == 2).all() and (b == 2).all() and (x == 1).all()


TYPES = [np.float64, np.float32, np.int32, np.int8, np.uint16, np.complex128, np.bool_]
PROGRAMS: list[Any] = [
    lambda x, y: (x + y, y),
    lambda x, y: (y, x),
    lambda x, y: (x[::-1] + y, x),
    lambda x, y: (x.at[0].set(y[0]), y + y),
    lambda x, y: (x, x),
    lambda x, y: (y.sum(), x + y),
    lambda x, y: (pyc.numpy.roll(x, 1), y),
    lambda x, y: pyc.lax.fori_loop(0, 3, lambda i, c: (c[1], c[0] + c[1][::-1]), (x, y)),
    lambda x, y: pyc.lax.fori_loop(0, 3, lambda i, c: (c[1], c[0] + c[1]), (x, y)),
    lambda x, y: (x - x.sum(axis=0, keepdims=True), y * 2),
    lambda x, y: (x + y.sum(axis=-1, keepdims=True), y - x.sum()),
    lambda x, y: (y + x.sum(axis=0, keepdims=True) + x[::-1], x - y.sum(axis=-1, keepdims=True)),
]
ARRANGED: dict[str, Any] = {
    "its own": lambda a: a.copy(),
    "a part of another": lambda a: np.stack([a, a])[1],
    "transposed": lambda a: a.T.copy().T,
    "every second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "misaligned": lambda a: misaligned(a),
}


def misaligned(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that begins one byte behind where it should."""
    memory = np.zeros(a.nbytes + 1, np.uint8)
    found = memory[1:].view(a.dtype).reshape(a.shape)
    found[...] = a
    return found


_jitted: dict[tuple[int, tuple[int, ...]], Any] = {}


@settings(max_examples=150, deadline=None)
@given(
    number=st.integers(0, len(PROGRAMS) - 1),
    donated=st.sampled_from([(0,), (1,), (0, 1)]),
    dtype=st.sampled_from(TYPES),
    shape=st.sampled_from([(5,), (4, 3), (1, 2, 2), (3, 0)]),
    seed=st.integers(0, 9),
    arranged=st.sampled_from([*ARRANGED]),
)
def test_donation_changes_no_result(
    number: int, donated: Any, dtype: Any, shape: Any, seed: int, arranged: str
) -> None:
    key = number, donated
    if key not in _jitted:
        _jitted[key] = (jit(PROGRAMS[number], donate_argnums=donated), jit(PROGRAMS[number]))
    function, plain = _jitted[key]
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(0, 4, shape).astype(dtype) for _ in range(2))
    expected = plain(x, y)
    for _ in range(3):
        given = [ARRANGED[arranged](x), ARRANGED[arranged](y)]
        got = function(*given)
        for a, b in zip(got, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
        for k, (kept, now) in enumerate(zip((x, y), given, strict=True)):
            if k not in donated:
                np.testing.assert_array_equal(kept, now)
        addresses = [address(a) for a in got if a.ndim and a.size]
        assert len(set(addresses)) == len(addresses), "results share no memory with each other"


# --- what is refused ------------------------------------------------------------------------------


def refusals() -> dict[str, Any]:
    read_only = np.ones(4)
    read_only.flags.writeable = False
    x, w = np.ones(8), np.ones(4)

    def with_capture(x: Any) -> Any:
        return x + w

    return {
        "the same array twice": lambda: jit(step, donate_argnums=0)(x, x),
        "an overlap": lambda: jit(step, donate_argnums=0)(x[:4], x[2:6]),
        "both donated": lambda: jit(step, donate_argnums=(0, 1))(x[:4], x[3:7]),
        "in a tree": lambda: jit(lambda s: s["a"] + s["b"], donate_argnums=0)({"a": x, "b": x}),
        "a read-only array": lambda: jit(step, donate_argnums=0)(read_only, x[:4]),
        "a capture": lambda: jit(with_capture, donate_argnums=0)(w),
    }


@pytest.mark.parametrize("case", refusals())
def test_what_is_refused_says_what_to_do(case: str, golden: Any) -> None:
    with pytest.raises(DonationError) as refused:
        refusals()[case]()
    golden(str(refused.value))


@pytest.mark.parametrize("warm", range(3))
def test_native_calls_refuse_the_same(warm: int) -> None:
    f = jit(step, donate_argnums=0)
    for _ in range(warm):
        f(np.ones(4), np.ones(4))
    x = np.arange(8.0)
    for other in (x[:4], x[1:5], x[3:7]):
        with pytest.raises(DonationError, match="`x` shares memory with `y`"):
            f(x[:4], other)
    np.testing.assert_array_equal(x, np.arange(8.0))
    assert f(x[:4], x[4:]) is not None
    np.testing.assert_array_equal(x, [4, 7, 10, 13, 4, 5, 6, 7])
    x.flags.writeable = False
    with pytest.raises(DonationError, match="read-only"):
        f(x[:4], np.ones(4))


def test_a_captured_array_that_is_donated_is_refused_natively() -> None:
    w = np.ones(4)
    f = jit(lambda x: x + w, donate_argnums=0)
    for _ in range(3):
        f(np.zeros(4))
    with pytest.raises(DonationError, match="`x` shares memory with `w`"):
        f(w)
    np.testing.assert_array_equal(w, np.ones(4))


def test_wrong_options() -> None:
    with pytest.raises(ValueError, match="donate_argnums has 2, but <lambda> takes 2 positional"):
        jit(lambda x, y: x, donate_argnums=2)
    with pytest.raises(ValueError, match="donate_argnames has 'z', but <lambda> takes x, y"):
        jit(lambda x, y: x, donate_argnames="z")
    for options in (
        {"static_argnums": 1, "donate_argnums": 1},
        {"static_argnames": "y", "donate_argnums": -1},
        {"static_argnames": "y", "donate_argnames": ("x", "y")},
    ):
        with pytest.raises(ValueError, match="`y` of <lambda> is both static and donated"):
            jit(lambda x, y: x, **options)


# --- reasons, the cache, threads ------------------------------------------------------------------


def test_a_donation_of_no_use_is_recorded_with_the_argument() -> None:
    reasons.clear()
    f = jit(lambda x, s: (x[:2] * s, x.sum()), donate_argnums=(0, 1))
    f(np.ones(4), 2.0)
    told = [(e.details["argument"], e.details["detail"]) for e in recent()]
    assert told == [
        ("x", "no result is f64[4]"),
        ("s", "a number has no memory to take over"),
    ]
    text = f.lower(np.ones(4), 2.0).as_text("decisions")
    assert "the program: the memory of a donated argument was not used for a result" in text


def recent() -> list[Any]:
    return recorded(Reason.MEMORY_DONATION_UNUSED)


def test_donation_enters_the_key_and_comes_back_from_the_disk(cache_dir: Any) -> None:
    def program(x: Any, y: Any) -> Any:
        return x * 3 + y, y[:2]

    made = [jit(program, donate_argnums=d) for d in ((), 0, (0, 1))]
    keys = {f.compile(np.ones(5), np.ones(5)).key for f in made}
    assert len(keys) == 3
    cache.memory.clear()
    cache.reset_stats()
    reasons.clear()
    for f, d in zip([jit(program, donate_argnums=d) for d in ((), 0, (0, 1))], range(3)):
        x, y = np.ones(5), np.ones(5)
        got, _ = f(x, y)
        assert (got is x) == (d > 0)
        np.testing.assert_array_equal(got, np.full(5, 4.0))
    assert cache.stats().total.hits_disk == 3
    assert [e.details["argument"] for e in recent()] == ["y"]
    assert cache.verify().ok and cache.verify().equal >= 3


def test_verify_leaves_donated_arguments_alone() -> None:
    x = np.ones(5)
    pyc.verify(jit(lambda x: x * 2, donate_argnums=0), x)
    np.testing.assert_array_equal(x, np.ones(5))


def test_threads_donate_arrays_of_their_own() -> None:
    f = jit(lambda x: x + 1, donate_argnums=0)
    failures: list[Any] = []

    def run(n: int) -> None:
        x = np.full(n, 0.0)
        for k in range(200):
            y = f(x)
            if y is not x or not (x == k + 1).all():
                failures.append((n, k))

    threads = [threading.Thread(target=run, args=(n,)) for n in (8, 8, 8, 20_000)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_a_failed_check_raises_as_without_donation() -> None:
    f = jit(lambda x, i: x.at[i].set(1.0), donate_argnums=0)
    for _ in range(3):
        x = np.zeros(3)
        assert f(x, 1) is x
        with pytest.raises(pyc.errors.IndexOutOfRangeError):
            f(x, 7)
