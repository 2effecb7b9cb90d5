"""Tracers behave as NumPy's arrays do: operators, methods, indexing, protocols, weak numbers."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc.errors import ConcretizationError
from pyc.interpreter import type_of
from pyc.ir.evaluate import evaluate
from pyc.jit import jit
from pyc.trace.capture import tracing
from pyc.trace.trace import Input, Trace

X = np.array([[1.5, -2.0, 3.0], [4.0, 0.5, -6.0]])
I = np.array([[1, 2, 3], [-4, 5, 6]])  # noqa: E741
B = np.array([True, False, True])
for _constant in (X, I, B):
    _constant.flags.writeable = False  # so that functions may capture them


def check(function, *args) -> None:
    """`function` gives the same values, types and dtypes jitted as run by NumPy; the reference
    interpreter agrees to the bit."""
    jitted = jit(function)
    got, expected = jitted(*args), function(*args)
    got, expected = (v if isinstance(v, (tuple, list)) else (v,) for v in (got, expected))
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        b = np.asarray(b)[()]
        assert type(a) is type(b)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12 if a.dtype != np.float32 else 1e-6)
    traced = jitted.trace(*args)
    reference = evaluate(traced.graph, jitted.compile(*args).arrays(*args))
    for a, b in zip(got, reference, strict=True):
        np.testing.assert_array_equal(np.asarray(a), b)


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv]
BINARY += [operator.mod, operator.eq, operator.ne, operator.lt, operator.le, operator.gt]
BINARY += [operator.ge]
BITWISE = [operator.and_, operator.or_, operator.xor]


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_binary_operators_on_both_sides(op) -> None:
    check(
        lambda x: (op(x, 2), op(2, x), op(x, 0.5), op(x, x + 1), op(X, x), op(x, np.float32(2))), X
    )
    check(lambda x: (op(x, 2), op(7, x), op(x, 0.5), op(x, np.int8(3))), I)


@pytest.mark.parametrize("op", BITWISE, ids=lambda op: op.__name__)
def test_bitwise_operators(op) -> None:
    check(lambda x, b: (op(x, 3), op(3, x), op(b, True), op(b, b)), I, B)


def test_shifts_powers_and_divmod() -> None:
    check(lambda x: (x << 2, 3 << abs(x), x >> 1, 1000 >> abs(x)), I)
    check(lambda x: (abs(x) ** 2, abs(x) ** 0.5, 2.0**x), X)
    check(lambda x: (*divmod(x, 2.0), *divmod(7.0, x)), X)


def test_unary_operators() -> None:
    check(lambda x: (-x, +x, abs(x)), X)
    check(lambda x, b: (~x, ~b, -x), I, B)


def test_matmul() -> None:
    check(lambda x, y: (x @ y.T, x @ y[0]), X, X + 1)


def test_python_numbers_are_weak_and_stay_weak_through_operators() -> None:
    """As in Python, where `2 * dt` is a number again, and as in NumPy, where functions of numbers
    give strong scalars."""
    single = np.ones(3, np.float32)
    check(
        lambda x, dt, n: (x * dt, x * (2 * dt), x * (dt**2 + n), x * -dt, x * (dt / 2)),
        single,
        0.1,
        3,
    )
    check(lambda x, dt: (x * np.sqrt(dt), x * np.abs(dt)), single, 0.25)
    check(lambda x, n: (x + n, x * (n // 2), x + (n > 1)), np.arange(3, dtype=np.int8), 5)
    check(lambda n: (n / 2, n * 2, n * 0.5, n + True), 3)


def test_augmented_assignment_of_numbers_makes_a_new_value() -> None:
    def total(x, dt):
        first = dt
        dt += 1
        s = x.sum()
        s += dt
        s *= 2
        return s, first, dt

    check(total, X, 0.5)


def test_methods() -> None:
    check(lambda x: (x.sum(), x.sum(0), x.sum(axis=1, keepdims=True), x.sum(dtype=np.float32)), X)
    check(lambda x: (x.mean(), x.mean(0), x.max(1), x.min(), x.prod(0)), X)
    check(lambda x: (x.std(), x.var(0), x.var(ddof=1), x.argmax(), x.argmin(1)), X)
    check(lambda x, b: ((x > 0).any(), (x > 0).all(1), b.sum()), X, B)
    check(lambda x: (x.reshape(3, 2), x.reshape((6,)), x.reshape(-1), x.ravel(), x.flatten()), X)
    check(lambda x: (x.T, x.mT, x.transpose(), x.transpose(1, 0), x.transpose((0, 1))), X)
    check(lambda x: (x.swapaxes(0, 1), x[None].squeeze(), x[None].squeeze(0), x.copy()), X)
    check(lambda x: (x.astype(np.float32), x.astype("int64"), x.round(), x.clip(0, 2)), X)
    check(lambda x: (x.repeat(2), x.repeat(2, axis=0), x.take(np.int64(1)), x.dot(x[0])), X)
    check(lambda x: (x.cumsum(), x.cumsum(0), x.cumprod(1), x.argsort(1), x.argsort(None)), X)
    check(lambda x: (x.trace(), x.diagonal(), x.conj(), x.real, x.imag), X)
    check(lambda x, s: (round(x[0, 0]) * s, x.conjugate()), X, np.float32(2))
    check(lambda x, v: x.searchsorted(v), np.arange(5.0), np.array([0.5, 3.0]))


def test_facts_are_known_while_tracing() -> None:
    def facts(x, n):
        assert (x.shape, x.ndim, x.size, len(x)) == ((2, 3), 2, 6, 2)
        assert x.dtype == np.float64 and x.itemsize == 8 and x.nbytes == 48
        assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)) == ((2, 3), 2, 6, 3)
        assert np.isrealobj(x) and not np.iscomplexobj(x)
        assert (repr(x), f"{x}", repr(n)) == (
            "<traced f64[2,3]>",
            "<traced f64[2,3]>",
            "3",
        )
        assert x.__array_namespace__() is pnp
        assert not hasattr(x, "no_such_attribute")
        with pytest.raises(AttributeError, match="ctypes` of <traced f64"):
            _ = x.ctypes
        with pytest.raises(TypeError, match="len"):
            len(n)
        with pytest.raises(TypeError, match="iteration"):
            iter(n)
        with pytest.raises(ValueError, match="cannot delete array elements"):
            del x[0]
        assert (n == None) is False and (n != None) is True  # noqa: E711
        copies = [copy.copy(x), copy.deepcopy(x), x.copy()]
        assert all(c is not x and c.value is x.value for c in copies)
        with pytest.raises(ConcretizationError):
            pickle.dumps(x)
        with pytest.raises(ValueError, match="ambiguous"):
            bool(x)
        with pytest.raises(TypeError, match="unsupported operand"):
            x + "text"
        return x * n

    jit(facts)(X, 3)


def test_iteration_unpacks_the_first_axis() -> None:
    def rows(x):
        first, second = x
        return first * second, sum(v for v in x), [row.sum() for row in x][1]

    check(rows, X)


def test_indexing() -> None:
    check(lambda x: (x[0], x[-1, 2], x[:, 1], x[::-1], x[1:, ::2], x[..., 0], x[None, 0]), X)
    check(lambda x, i: (x[i], x[0, i], x[i, i]), X, 1)
    check(lambda x, i: (x[i], x[:, i]), X, np.array([1, 0, -1]))


def test_updates() -> None:
    """x.at[...] leaves x as it is."""

    def at(x, i, v):
        return (
            x.at[0].set(v),
            x.at[i].add(1),
            x.at[i, 1].multiply(v),
            x.at[:, i].min(0),
            x.at[1, ::2].max(v),
            x.at[i].subtract(v),
            x.at[0, 0].divide(4),
            x.at[i].get(),
            x.at[i].apply(abs),
            x,
        )

    def expected(x, i, v):
        outs = [x.copy() for _ in range(10)]
        outs[0][0] = v
        outs[1][i] += 1
        outs[2][i, 1] *= v
        outs[3][:, i] = np.minimum(outs[3][:, i], 0)
        outs[4][1, ::2] = np.maximum(outs[4][1, ::2], v)
        outs[5][i] -= v
        outs[6][0, 0] /= 4
        outs[7] = outs[7][i]
        outs[8][i] = abs(outs[8][i])
        return outs

    for got, want in zip(jit(at)(X, 1, 2.5), expected(X, 1, 2.5), strict=True):
        np.testing.assert_array_equal(got, want)


PLACES = np.array([1, 4, 9, -1, -8])
"""Of an array of six: the last three beyond an end, or from it."""
WITHIN = {
    "clip": [1, 4, 5, 5, 0],
    "wrap": [1, 4, 3, 5, 4],
    "drop": [1, 4, None, 5, None],
    "fill": [1, 4, None, 5, None],
}
"""The elements that the places mean, None where there is none."""


@pytest.mark.parametrize("mode", WITHIN)
@pytest.mark.parametrize(
    ("how", "one"),
    [
        ("set", lambda old: 2.0),
        ("add", lambda old: old + 2),
        ("subtract", lambda old: old - 2),
        ("multiply", lambda old: old * 2),
        ("min", lambda old: min(old, 2)),
        ("max", lambda old: max(old, 2)),
        ("divide", lambda old: old / 2),
        ("apply", lambda old: old * 3 + 1),
    ],
)
def test_places_out_of_range_by_mode(how, one, mode) -> None:
    x = np.arange(1.0, 7.0)
    places, within = PLACES, WITHIN[mode]
    if how in ("divide", "apply"):  # each element once
        places, within = PLACES[:3], within[:3]
    expected = x.copy()
    for k in within:
        if k is not None:
            expected[k] = one(expected[k])

    def changed(x, i):
        if how == "apply":
            return x.at[i].apply(lambda v: v * 3 + 1, mode=mode)
        unique = how == "divide"
        return getattr(x.at[i], how)(2.0, mode=mode, unique_indices=unique)

    np.testing.assert_array_equal(jit(changed)(x, places), expected)


@pytest.mark.parametrize("mode", WITHIN)
def test_places_out_of_range_are_read_by_mode(mode) -> None:
    x = np.arange(1.0, 7.0)
    expected = [np.nan if k is None else x[k] for k in WITHIN[mode]]
    found = jit(lambda x, i: x.at[i].get(mode=mode))(x, PLACES)
    np.testing.assert_array_equal(found, expected)


def test_updates_count_repeated_indices() -> None:
    index = np.array([0, 1, 0, 0])
    got = jit(lambda x, i: x.at[i].add(1))(np.zeros(3), index)
    assert got.tolist() == [3.0, 1.0, 0.0]


def test_numpy_functions_are_traced() -> None:
    check(lambda x: (np.add(x, 1), np.sqrt(abs(x)), np.maximum(x, 0), np.absolute(x)), X)
    check(lambda x: (np.where(x > 0, x, 0), np.clip(x, 0, 2), np.clip(x, a_min=0, a_max=1)), X)
    check(
        lambda x: (np.sum(x), np.sum(x, 0), np.mean(x, axis=1), np.sum(x, axis=1, keepdims=True)), X
    )
    check(lambda x: (np.sum(a=x), np.std(x, ddof=1), np.max(x, 0), np.var(x, 0)), X)
    check(lambda x: (np.reshape(x, (3, 2)), np.transpose(x), np.ravel(x), np.copy(x)), X)
    check(lambda x: (np.concatenate([x, x]), np.stack([x, x], axis=1), np.flip(x, 0)), X)
    check(lambda x: (np.matmul(x, x.T), np.dot(x, x.T), np.outer(x[0], x[1])), X)
    check(lambda x: (np.zeros_like(x), np.ones_like(x), np.full_like(x, 3)), X)
    check(lambda x: (np.expand_dims(x, 0), np.squeeze(x[None]), np.broadcast_to(x, (4, 2, 3))), X)
    check(lambda x: (np.logical_and(x > 0, x < 2), np.isnan(x), np.sign(x)), X)


def test_methods_of_ufuncs() -> None:
    check(
        lambda x: (np.add.reduce(x), np.add.reduce(x, axis=None), np.maximum.reduce(x, axis=1)), X
    )
    check(lambda x: (np.add.accumulate(x[0]), np.multiply.accumulate(x, axis=1)), X)
    check(lambda x: (np.multiply.outer(x[0], x[1]), np.add(x, 1, dtype=np.float32)), X)
    check(lambda x: np.logical_or.reduce(x > 3, axis=0), X)


def test_numpy_operands_on_the_left_are_traced() -> None:
    table = np.arange(3.0)
    table.flags.writeable = False
    check(lambda x: (table + x, table @ x.T, np.float64(2) * x, np.bool_(True) & (x > 0)), X)


def test_no_operation_reads_a_tracer_as_an_array() -> None:
    """An array made of a tracer would be an array of objects, with silently wrong results."""
    trace = Trace()
    with tracing(trace):
        (x,) = trace.add_inputs([Input(type_of(X))])
        for f in (np.asarray, np.array, np.float64, lambda v: np.array([v, v])):
            with pytest.raises(Exception, match=r"NumPy asked for the elements|cannot be traced"):
                f(x)


class Stranger:
    """Knows nothing of arrays, compares by identity."""


class Other:
    """Decides what it is equal to."""

    def __eq__(self, other):
        return "mine"

    __hash__ = None


def test_an_array_is_compared_with_texts_none_and_objects_as_numpy_does_it() -> None:
    """A Python False for all elements at once would be a silent wrong answer."""
    strangers = ("text", b"bytes", None, Stranger(), len, {})

    def equal(x):
        return [x == s for s in strangers], [x != s for s in strangers]

    for got, wanted in zip(operator.add(*jit(equal)(X)), operator.add(*equal(X)), strict=True):
        assert got.dtype == bool and got.shape == X.shape
        assert got.tolist() == wanted.tolist()

    def asks_the_other(x):
        assert (x == Other()) == "mine"
        return x

    jit(asks_the_other)(X)
