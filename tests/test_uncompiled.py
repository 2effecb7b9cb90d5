"""Functions that are traced and not compiled: Graphs, shapes of results, the interpreter."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import reasons
from pyc.errors import DTypeError, IndexOutOfRangeError, ShapeError
from pyc.ir.graph import Graph
from pyc.reasons import Reason
from tests.programs.differential import same_bits

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
WEIGHTS = np.arange(4.0)


class Model:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @pyc.jit
    def scaled(self, x: Any) -> Any:
        return x * self.scale


def softmax(x: Any, *, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return {"share": e / e.sum(axis=axis, keepdims=True), "count": x.shape[0]}


def compiles(action: Any) -> bool:
    with reasons.collecting() as found:
        action()
    return any(str(event.reason).startswith(("compile_", "cache_")) for event in found)


# --- shapes ---------------------------------------------------------------------------------------


def test_a_shape_dtype_says_what_an_array_would_be() -> None:
    kinds = (np.float32, "float32", "f4", np.dtype("f4"), X.dtype)
    described = {pyc.ShapeDtype((3, 4), kind) for kind in kinds}
    assert described == {pyc.ShapeDtype([3, np.int64(4)], np.float32)}
    (one,) = described
    assert (one.shape, one.dtype, one.ndim, one.size) == ((3, 4), np.float32, 2, 12)
    assert pyc.ShapeDtype(5, bool).shape == (5,) and pyc.ShapeDtype((), "i8").size == 1
    assert repr(one) == "ShapeDtype((3, 4), 'float32')" and eval(f"pyc.{one!r}") == one
    assert pickle.loads(pickle.dumps(one)) == one != pyc.ShapeDtype((3, 4), "f8")
    assert pyc.ShapeDtype(2, pnp.bfloat16).dtype == pnp.bfloat16
    assert pyc.ShapeDtype(2, float).dtype == np.float64
    with pytest.raises(AttributeError, match="does not change"):
        one.shape = (1,)  # type: ignore[misc]


def test_what_is_no_shape_or_dtype_is_refused() -> None:
    with pytest.raises(ShapeError, match="negative"):
        pyc.ShapeDtype((-1,), "f4")
    with pytest.raises(DTypeError, match="integers"):
        pyc.ShapeDtype((1.5,), "f4")
    for wrong in ("U3", object, "nothing"):
        with pytest.raises(DTypeError, match="not supported"):
            pyc.ShapeDtype(3, wrong)


def test_stages_take_descriptions_for_arrays_that_need_not_fit_into_memory() -> None:
    function = pyc.jit(softmax)
    described = pyc.ShapeDtype((3, 4), np.float32)
    assert function.lower(described).as_text() == function.lower(X).as_text()
    assert function.trace(described).as_text() == function.trace(X).as_text()
    compiled = function.compile(described)
    assert function.cache_info().misses == 1
    assert same_bits(compiled(X)["share"], function(X)["share"])
    assert function.cache_info().misses == 1, "the call has the signature of the description"
    huge = pyc.ShapeDtype((1 << 20, 1 << 20), np.float32)
    assert function.lower(huge).memory_analysis().arguments == 1 << 42
    bound = Model(2.0).scaled
    assert bound.lower(described).graph.results[0].shape == (3, 4)


def test_a_call_with_a_description_is_refused() -> None:
    with pytest.raises(DTypeError, match=r"(?s)`x` is a ShapeDtype.*Pass an array"):
        pyc.jit(softmax)(pyc.ShapeDtype((3, 4), np.float32))


def test_shapes_of_results_cost_no_compilation() -> None:
    wanted = {"share": pyc.ShapeDtype((3, 4), "f4"), "count": pyc.ShapeDtype((), "i8")}
    for given in (X, pyc.ShapeDtype((3, 4), "f4")):
        assert pyc.eval_shape(softmax, given, axis=0) == wanted
    assert pyc.eval_shape(pyc.jit(softmax), X) == wanted
    assert pyc.eval_shape(Model(2.0).scaled, X) == pyc.ShapeDtype((3, 4), "f4")
    assert pyc.eval_shape(lambda x, n: (x * n, [n, None]), X, 2) == (
        pyc.ShapeDtype((3, 4), "f4"),
        [pyc.ShapeDtype((), "i8"), None],
    )
    assert not compiles(lambda: pyc.eval_shape(softmax, X))
    with pytest.raises(ShapeError, match="matmul"):
        pyc.eval_shape(lambda x: x @ x, X)


# --- graphs ---------------------------------------------------------------------------------------


def test_a_graph_is_shown_and_read_again() -> None:
    graph = pyc.make_graph(softmax)(X)
    assert isinstance(graph, Graph)
    assert str(graph).startswith("graph(%0: f32[3,4]) {")
    assert str(pyc.ir.parse(str(graph))) == str(graph)
    assert str(pyc.make_graph(pyc.jit(softmax))(pyc.ShapeDtype((3, 4), "f4"))) == str(graph)
    assert not compiles(lambda: pyc.make_graph(softmax)(X))
    assert pyc.make_graph(softmax).__name__ == "softmax"


# --- the interpreter ------------------------------------------------------------------------------


def test_the_interpreter_gives_the_compiled_bits() -> None:
    found = pyc.interpret(softmax)(X, axis=0)
    expected = pyc.jit(softmax)(X, axis=0)
    assert same_bits(found["share"], expected["share"])
    assert found["count"] == expected["count"] and type(found["count"]) is np.int64
    assert not compiles(lambda: pyc.interpret(softmax)(X))


def test_the_interpreter_reads_what_is_outside_as_it_is_now() -> None:
    weights = WEIGHTS.copy()
    model = Model(2.0)
    function = pyc.interpret(lambda x: x * weights + model.scale)
    np.testing.assert_array_equal(function(X), X * weights + 2.0)
    weights[0], model.scale = 7.0, 3.0
    np.testing.assert_array_equal(function(X), X * weights + 3.0)
    np.testing.assert_array_equal(pyc.interpret(model.scaled)(X), X * np.float32(3.0))


def test_the_interpreter_takes_every_layout_and_leaves_arguments_as_they_are() -> None:
    @pyc.jit(donate_argnums=0)
    def doubled(x: Any, steps: int) -> Any:
        for _ in range(steps):
            x = x * 2
        return x

    kept = X.copy()
    for x in (X, X.T, X[:, ::-2], X[:0], X.astype(">f4")):
        np.testing.assert_array_equal(pyc.interpret(doubled)(x, 3), x * 8)
    assert same_bits(X, kept)


def test_errors_of_the_interpreter_are_those_of_the_program() -> None:
    with pytest.raises(IndexOutOfRangeError, match="index 9 is out of bounds"):
        pyc.interpret(lambda x, i: x[i])(X, np.array([0, 9]))


def test_inside_a_trace_an_interpreted_function_is_part_of_it() -> None:
    inner = pyc.interpret(lambda x: x + 1)
    np.testing.assert_array_equal(pyc.jit(lambda x: inner(x) * 2)(X), (X + 1) * 2)


# --- what is kept ---------------------------------------------------------------------------------


def test_cleared_caches_compile_again_and_give_the_same() -> None:
    function = pyc.jit(softmax)
    before = function(X)["share"]
    pnp.exp(X)
    assert function.cache_info().entries == 1
    pyc.clear_caches()
    assert function.cache_info().entries == 0 and function.signatures() == ()
    assert len(pyc.cache.memory) == 0
    with reasons.collecting() as found:
        after = function(X)["share"]
    assert any(event.reason is Reason.COMPILE_FIRST_CALL for event in found)
    assert same_bits(before, after)
    np.testing.assert_allclose(pnp.exp(X), np.exp(X), rtol=1e-6)


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Nothing is freed but what nothing refers to."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_first_call_keeps_neither_arguments_nor_results(without_collector: None) -> None:
    x = np.ones(1000)
    before = sys.getrefcount(x)
    freed: list[bool] = []
    weakref.finalize(pyc.jit(lambda x: x + 1)(x), freed.append, True)
    assert freed and sys.getrefcount(x) == before


def test_clearing_frees_large_results_that_nobody_has(without_collector: None) -> None:
    function = pyc.jit(lambda n: np.zeros(1 << 23) + n)
    function(1.0)
    del function
    assert pyc.runtime.pool.statistics().kept_bytes >= 1 << 26
    pyc.clear_caches()
    assert pyc.runtime.pool.statistics().kept_bytes == 0
