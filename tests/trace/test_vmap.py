"""`vmap`: what a function gives over lanes is what it gives lane by lane, to the bit."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import pickle
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import lax, tree
from pyc.errors import LeakedTracerError, PurityError, TraceError
from pyc.runtime import dispatch
from tests.programs.differential import same_bits
from tests.trace.lane_programs import PROGRAMS, TABLE, N, X

Array = np.ndarray[Any, Any]


def axes_of(in_axes: Any, count: int) -> tuple[Any, ...]:
    return in_axes if isinstance(in_axes, tuple) else (in_axes,) * count


def lane_by_lane(function: Any, args: tuple[Any, ...], in_axes: Any = 0) -> Any:
    """The results of a Python loop over the lanes, stacked."""
    axes = axes_of(in_axes, len(args))
    size = next(a.shape[axis] for a, axis in zip(args, axes) if axis is not None)
    rows = [
        function(*(a if axis is None else np.take(a, k, axis) for a, axis in zip(args, axes)))
        for k in range(size)
    ]
    return tree.map(lambda *parts: np.stack([np.asarray(p) for p in parts]), *rows)


def check(found: Any, expected: Any) -> None:
    assert tree.structure(found) == tree.structure(expected)
    for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        a = np.asarray(a)
        assert a.dtype == b.dtype and same_bits(a, b), f"{a} is not {b}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_are_what_a_loop_over_them_gives(name: str) -> None:
    program = PROGRAMS[name]
    expected = lane_by_lane(pyc.jit(program.function), program.args, program.in_axes)
    mapped = pyc.vmap(program.function, in_axes=program.in_axes)
    check(mapped(*program.args), expected)
    check(pyc.jit(mapped)(*program.args), expected)
    jitted = pyc.vmap(pyc.jit(program.function), in_axes=program.in_axes)
    check(pyc.interpret(jitted)(*program.args), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_of_lanes(name: str) -> None:
    """Two batch axes, one of them with the arguments that have none."""
    program = PROGRAMS[name]
    axes = axes_of(program.in_axes, len(program.args))
    twice = [a if x is None else np.stack([a, a[::-1]]) for a, x in zip(program.args, axes)]
    mapped = pyc.vmap(program.function, in_axes=axes)
    expected = lane_by_lane(mapped, tuple(twice), axes)
    check(pyc.vmap(mapped, in_axes=axes)(*twice), expected)


def test_numpy_runs_most_programs_too() -> None:
    """The loop over lanes of jitted functions is that of NumPy, for one of each kind."""
    for name in ("loops_in_loops_with_a_branch", "local_array_in_place", "views_and_aliases"):
        program = PROGRAMS[name]
        expected = lane_by_lane(program.function, program.args, program.in_axes)
        for a, b in zip(
            tree.leaves(pyc.vmap(program.function)(*program.args)), tree.leaves(expected)
        ):
            np.testing.assert_allclose(a, b, rtol=1e-15)


# --- axes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("out", [0, 1, -1, -2])
def test_axes_in_and_out(axis: int, out: int) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    found = pyc.vmap(lambda v: v[0] * 2, in_axes=axis, out_axes=out)(x)
    assert same_bits(found, np.moveaxis(np.take(np.moveaxis(x, axis, 0), 0, 1) * 2, 0, out))


def test_trees_of_axes() -> None:
    tables = {"w": np.arange(6.0).reshape(2, 3), "b": [np.ones(3), np.zeros((3, 2))]}
    axes = ({"b": [0, 0], "w": 1}, None)

    def f(t, x):
        return {"s": t["w"].sum() + t["b"][0], "r": (x, t["b"][1])}

    mapped = pyc.vmap(f, in_axes=axes, out_axes={"s": 0, "r": (None, 1)})
    found = mapped(tables, X)
    assert same_bits(found["s"], tables["w"].sum(0) + 1)
    assert same_bits(found["r"][0], X) and found["r"][1].shape == (2, 3)


def test_keywords_are_mapped_over_their_first_axis() -> None:
    def f(x, scale, *, shift):
        return x * scale + shift

    found = pyc.vmap(f, in_axes=(0, None))(X, 2.0, shift=N)
    assert same_bits(found, X * 2.0 + N[:, None])
    found = pyc.vmap(f, in_axes=(0,))(X, shift=N, scale=np.arange(5.0))
    assert same_bits(found, X * np.arange(5.0)[:, None] + N[:, None])


def test_axis_size() -> None:
    assert same_bits(
        pyc.vmap(lambda: np.arange(3.0), axis_size=2)(), np.stack([np.arange(3.0)] * 2)
    )
    assert pyc.vmap(lambda x: x, in_axes=None, axis_size=4)(X).shape == (4, 5, 3)
    assert pyc.vmap(lambda x: x.sum(), axis_size=5)(X).shape == (5,)


def test_results_that_are_the_same_for_all_lanes_need_no_axis() -> None:
    found = pyc.vmap(lambda x, n: (x, n + 1, TABLE[0], 1.5), (0, None), (0, None, None, None))(X, 3)
    assert same_bits(found[0], X) and found[1] == 4 and found[3] == 1.5
    assert found[2].shape == (3,)


def test_a_weak_result_stays_weak() -> None:
    @pyc.jit
    def f(x):
        number = pyc.vmap(lambda v: 2.0, out_axes=None)(x)
        return x * number

    assert f(X.astype(np.float32)).dtype == np.float32


def test_numbers_and_texts_that_are_the_same_for_all() -> None:
    def f(x, power, mode, flag):
        y = x**power if mode == "power" else x
        return -y if flag else y

    mapped = pyc.vmap(f, in_axes=(0, None, None, None))
    np.testing.assert_allclose(mapped(X, 2, "power", True), -(X**2))
    assert same_bits(mapped(X, 2, "", False), X)
    misses = mapped.cache_info().misses
    mapped(X, 2.5, "", False)
    mapped(X, 3.5, "", False)
    assert mapped.cache_info().misses == misses + 1


@pytest.mark.parametrize("size", [0, 1])
def test_few_lanes(size: int) -> None:
    program = PROGRAMS["loops_in_loops_with_a_branch"]
    found = pyc.vmap(program.function)(X[:size], N[:size])
    assert found.shape == (size,)
    found = pyc.vmap(lambda x, n: (x @ TABLE.T, TABLE[n], np.sort(x)))(X[:size], N[:size])
    assert [f.shape for f in found] == [(size, 8), (size, 3), (size, 3)]


# --- as a function --------------------------------------------------------------------------------


def test_a_second_call_compiles_nothing() -> None:
    mapped = pyc.vmap(lambda x, w: np.tanh(x @ w), in_axes=(0, None))
    first = mapped(X, TABLE.T)
    for _ in range(3):
        assert same_bits(mapped(X, TABLE.T), first)
    assert mapped.cache_info() == (1, 1)
    mapped(X[:4], TABLE.T)
    assert mapped.cache_info() == (2, 2)


def distances(a: Any, points: Any) -> Any:
    return np.sqrt(((a - points) ** 2).sum(-1))


class Scorer:
    def __init__(self) -> None:
        self.w = np.ones(3)

    def score(self, x: Any) -> Any:
        return np.sum(self.w * x)


SCORER = Scorer()
PAIRS = pyc.vmap(distances, in_axes=(0, None))
NATIVE = {
    "a function that reads NumPy": (PAIRS, (X, X)),
    "jitted": (pyc.jit(PAIRS), (X, X)),
    "of a jitted one": (pyc.jit(pyc.vmap(pyc.jit(distances), in_axes=[0, None])), (X, X)),
    "lanes of lanes": (
        pyc.jit(pyc.vmap(pyc.vmap(np.dot, in_axes=(None, 0)), in_axes=(0, None))),
        (X, X),
    ),
    "a method": (pyc.jit(pyc.vmap(SCORER.score)), (X,)),
    "a bound argument": (pyc.jit(pyc.vmap(functools.partial(distances, X), out_axes=-1)), (X,)),
    "trees of axes": (
        pyc.jit(
            pyc.vmap(
                lambda p, y: {"a": p["x"] + y, "b": p["z"]},
                in_axes=({"x": 0, "z": None}, None),
                out_axes={"a": -1, "b": 0},
            )
        ),
        ({"x": X, "z": X}, X[0]),
    ),
    "within a jitted one": (
        pyc.jit(lambda x, y: pyc.vmap(distances, (0, None))(x, y)),
        (X, X),
    ),
}


@pytest.mark.parametrize("what", NATIVE)
def test_calls_are_native(what: str) -> None:
    """As those of a function that is written for all lanes: mapping costs a call nothing."""
    function, args = NATIVE[what]
    for _ in range(3):
        function(*args)
    assert [dispatch.native_calls(function, s) for s in dispatch.specialisations(function)] == [2]


def test_axes_are_those_of_the_call_of_vmap() -> None:
    axes = [0, None]
    mapped = pyc.vmap(distances, in_axes=axes)
    expected = mapped(X, X)
    axes[1] = 0
    assert same_bits(mapped(X, X), expected) and same_bits(pyc.jit(mapped)(X, X), expected)


def test_as_a_decorator() -> None:
    @pyc.vmap
    def plain(x):
        """Twice."""
        return x * 2

    @functools.partial(pyc.vmap, in_axes=1)
    def partly(x):
        return x.sum()

    @pyc.vmap(in_axes=1, out_axes=1)
    def with_axes(x):
        return x - x[0]

    assert same_bits(plain(X), X * 2) and plain.__name__ == "plain" and plain.__doc__ == "Twice."
    assert same_bits(partly(X), pyc.jit(lambda x: x.sum(0))(X))
    assert same_bits(with_axes(X), X - X[0])


class Model:
    scale = 2.0

    def __init__(self) -> None:
        self.w = np.ones(3)

    def score(self, x):
        return x @ self.w * self.scale

    @pyc.vmap(in_axes=(None, 0))
    def shifted(self, x):
        return x - self.w


def test_methods_read_their_object_at_each_call() -> None:
    model = Model()
    scores = pyc.vmap(model.score)
    assert same_bits(scores(X), pyc.jit(lambda x: x @ model.w * 2)(X))
    model.w = np.arange(3.0)
    np.testing.assert_allclose(scores(X), X @ model.w * 2)
    assert scores.cache_info().misses == 1
    Model.scale = 3.0
    try:
        np.testing.assert_allclose(scores(X), X @ model.w * 3)
    finally:
        Model.scale = 2.0
    assert same_bits(model.shifted(X), X - model.w)


WEIGHT = np.ones(3)


def test_captured_arrays_are_read_at_each_call() -> None:
    global WEIGHT
    mapped = pyc.vmap(lambda x: x * WEIGHT)
    assert same_bits(mapped(X), X)
    WEIGHT = np.full(3, 2.0)
    assert same_bits(mapped(X), X * 2)
    assert mapped.cache_info().misses == 1


scaled = pyc.vmap(lambda x, k: x * k, in_axes=(0, None))


def test_a_mapped_function_in_a_jitted_one() -> None:
    """Made outside and inside, over values of the outer trace, in bodies of loops."""

    @pyc.jit
    def f(x, k):
        total = x.sum()
        y = scaled(x, k) + pyc.vmap(lambda v: v / total)(x)
        mapped = pyc.vmap(lambda v, t: (v * t, v.sum()), in_axes=(0, None), out_axes=(1, 0))
        z, s = lax.scan(lambda c, _: (c + mapped(c, k)[0].T, mapped(c, k)[1]), y, None, length=3)
        return z, s

    def expected(x, k):
        y = x * k + x / x.sum()
        s = []
        for _ in range(3):
            s.append(y.sum(1))
            y = y + y * k
        return y, np.stack(s)

    for a, b in zip(f(X, 0.5), expected(X, 0.5), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_outside_of_jit_in_functions_of_lax() -> None:
    ys = lax.map(pyc.vmap(lambda v: v * 2), X)
    assert same_bits(ys, X * 2)
    found = lax.scan(lambda c, x: (c + pyc.vmap(lambda v: v + 1)(x), None), np.zeros(3), X)[0]
    np.testing.assert_allclose(found, (X + 1).sum(0))


def test_what_jitted_functions_have() -> None:
    mapped = pyc.vmap(lambda x: np.exp(x - x.max()))
    graph = pyc.make_graph(mapped)(X)
    assert [v.shape for v in graph.results] == [(5, 3)]
    assert {e.op.name for e in graph.eqns} == {"reduce_max", "broadcast", "reshape", "sub", "exp"}
    assert "reduce_max" in str(pyc.explain(mapped, X).text())
    assert pyc.eval_shape(mapped, X).shape == (5, 3)
    pyc.verify(mapped, X)
    assert len(mapped.lower(X).plan.steps) == 1


def test_arrays_of_a_device_stay_there() -> None:
    found = pyc.vmap(lambda x: x * 2)(pyc.device_put(X, "cpu"))
    assert isinstance(found, pyc.Array)
    assert same_bits(np.asarray(found), X * 2)


scores_of_columns = pyc.vmap(np.sum, in_axes=1)


def test_copies_and_pickles_are_functions() -> None:
    assert copy.copy(scaled) is scaled and copy.deepcopy(scaled) is scaled
    assert same_bits(pickle.loads(pickle.dumps(scores_of_columns))(X), scores_of_columns(X))


def test_axes_of_registered_classes() -> None:
    @dataclasses.dataclass
    class Point:
        a: Any
        b: Any

    Pair = collections.namedtuple("Pair", "u v")
    tree.register_dataclass(Point)

    def f(p):
        return Point(p.a * 2, p.b.u + p.b.v)

    mapped = pyc.vmap(f, in_axes=(Point(0, Pair(None, 0)),), out_axes=Point(1, 0))
    found = mapped(Point(X, Pair(1.0, N)))
    assert type(found) is Point and same_bits(found.a, (X * 2).T) and same_bits(found.b, N + 1.0)


def test_what_jit_refuses_is_refused() -> None:
    def generator(x):
        yield x

    def prints(x):
        print("x")
        return x

    with pytest.raises(PurityError, match="generator"):
        pyc.vmap(generator)
    with pytest.raises(PurityError, match="print"):
        pyc.vmap(prints)(X)
    with pytest.raises(TypeError, match="expected a function, got int"):
        pyc.vmap(3)
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        pyc.vmap(lambda x: x)(X, X)


def test_a_traced_lane_that_is_kept_cannot_be_used() -> None:
    @pyc.jit
    def f(x):
        kept = []

        def lane(v):
            kept.append(v)
            return v

        pyc.vmap(lane)(x)
        return kept[0]

    with pytest.raises(LeakedTracerError):
        f(X)


# --- effects and errors when the program runs -----------------------------------------------------


def test_what_is_printed_is_printed_for_the_lanes_that_get_there(capsys) -> None:
    def f(x, n):
        if n > 1:
            pyc.debug.print("{} of {:.0f}", n, x[0] * 0)
        return x

    pyc.vmap(f)(np.abs(X), N)
    assert capsys.readouterr().out == "3 of 0\n7 of 0\n2 of 0\n"


def test_effects_follow_each_other_in_the_loop_of_each_lane() -> None:
    seen: list[tuple[int, int]] = []

    def note(n, i):
        seen.append((int(n), int(i)))

    def f(n):
        for i in range(n):
            pyc.debug.callback(note, n, i)
        return n

    pyc.vmap(f)(np.array([1, 3, 0]))
    assert sorted(seen) == [(1, 0), (3, 0), (3, 1), (3, 2)]
    assert [i for n, i in seen if n == 3] == [0, 1, 2]


def test_effects_of_what_is_the_same_for_all_happen_once() -> None:
    seen: list[int] = []

    def note(n):
        seen.append(int(n))

    def f(x, n):
        pyc.debug.callback(note, n)
        return x

    pyc.vmap(f, in_axes=(0, None))(X, 7)
    assert seen == [7]


def test_a_vectorized_callback_is_called_once_for_all_lanes() -> None:
    shapes: list[Any] = []

    def total(v, k):
        shapes.append((v.shape, np.shape(k)))
        return v.sum(-1) + k

    def f(x, k):
        result = pyc.ShapeDtype((), np.float64)
        return pyc.pure_callback(total, result, x, k, vectorized=True)

    np.testing.assert_allclose(pyc.vmap(f, (0, None))(X, 1.0), X.sum(1) + 1)
    assert shapes == [((5, 3), (5,))]
    np.testing.assert_allclose(f(X[0], 1.0), X[0].sum() + 1)
    both = np.stack([X, X])
    np.testing.assert_allclose(
        pyc.vmap(pyc.vmap(f, (0, None)), (0, None))(both, 1.0), both.sum(2) + 1
    )
    assert shapes[-1] == ((2, 5, 3), (2, 5))


def raises_for_large(x, n):
    if n > 6:
        raise ValueError(f"n is {n}")
    return x * n


def test_exceptions_name_the_number_of_their_lane_and_the_line() -> None:
    with pytest.raises(ValueError, match="n is 7") as found:
        pyc.vmap(raises_for_large)(X, N)
    assert "raises_for_large" in found.value.__notes__[0]
    with pytest.raises(AssertionError, match="small"):
        pyc.vmap(_asserts)(X, N)
    with pytest.raises(IndexError, match=r"index 3 is out of bounds for axis 0 with size 3"):
        pyc.vmap(lambda x, n: x[n])(X, np.minimum(N, 3))
    assert pyc.vmap(raises_for_large)(X, N % 5).shape == (5, 3)


def test_declared_checks_tell_what_is_wrong_in_their_lane() -> None:
    def f(x, n):
        if n > 2:
            pyc.debug.check(n < 7, "n is {}, x {:.3f}", n, x[0])
        return x

    assert pyc.vmap(f)(X, N % 7).shape == (5, 3)
    with pytest.raises(AssertionError, match=f"n is 7, x {X[3, 0]:.3f}"):
        pyc.vmap(f)(X, N)


def _asserts(x, n):
    assert n < 5, "small"
    return x


def test_an_argument_is_the_callers() -> None:
    def f(x):
        x[0] = 1.0
        return x

    with pytest.raises(TraceError, match="belongs to the caller"):
        pyc.vmap(f)(X)

    def scalar(v):
        v += 1
        return v

    assert same_bits(pyc.vmap(scalar)(X[0]), X[0] + 1)


def test_an_array_of_the_surrounding_function_cannot_be_changed_by_lanes() -> None:
    @pyc.jit
    def f(x):
        a = np.zeros(3)

        def lane(v):
            a[0] = v[0]
            return v

        return pyc.vmap(lane)(x) + a

    with pytest.raises(TraceError):
        f(X)


# --- map in blocks --------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [None, 1, 2, 5, 7, 10, 99])
@pytest.mark.parametrize("count", [0, 1, 10])
def test_map_in_blocks(batch_size: int | None, count: int) -> None:
    x = np.arange(count * 3.0).reshape(count, 3)

    def f(v):
        return {"s": v["x"].sum() * v["n"], "r": np.stack([v["x"], -v["x"]])}

    given = {"x": x, "n": np.arange(count)}
    for run in (lax.map, pyc.jit(lax.map, static_argnums=0, static_argnames="batch_size")):
        found = run(f, given, batch_size=batch_size)
        assert same_bits(found["s"], pyc.jit(lambda x, n: x.sum(1) * n)(x, np.arange(count)))
        assert same_bits(found["r"], np.stack([x, -x], 1))


def test_a_name_of_the_lanes_changes_no_result() -> None:
    for name in (None, "batch", ("rows", 1), 3):
        named = pyc.vmap(lambda x: x.sum(), axis_name=name)
        np.testing.assert_array_equal(named(X), pyc.vmap(lambda x: x.sum())(X))
    inner = pyc.vmap(pyc.vmap(np.sin, axis_name="i"), axis_name="i")
    np.testing.assert_array_equal(inner(X), pyc.vmap(pyc.vmap(np.sin))(X))
    decorated = pyc.vmap(axis_name="batch")(np.sum)
    assert "over 'batch'" in repr(decorated.__wrapped__)
