"""Which names stand for one array: of rank 0, of what was not copied; NumPy's answer."""

from __future__ import annotations

from collections.abc import Callable
from operator import setitem
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import ArgumentError, DTypeError, TraceError

X = np.array([1.0, 2.0, 3.0, 4.0])


def a_sum_in_an_array_of_rank_0(x: Any) -> Any:
    total = np.zeros(())
    same = total
    for k in range(4):
        total += x[k]
    return total, same


def one_that_a_helper_adds_to(x: Any) -> Any:
    total = np.array(0.0)

    def add(to: Any, what: Any) -> None:
        to += what

    for each in x:
        add(total, each)
    return total + 0


def two_that_change_places(x: Any) -> Any:
    a, b = np.array(0.0), x[0] * np.ones(())
    b = np.array(b)
    for _ in range(10):
        a, b = b, a + b
    return a + 0, b + 0


def one_in_a_while_loop(x: Any) -> Any:
    a, b = np.zeros(()), np.zeros(())
    while a < 10:
        a += x[1]
        b -= a
    return a + 0, b + 0


def one_that_a_branch_changes(x: Any) -> Any:
    a = np.array(0.0)
    same = a
    if x[0] > 0:
        a += 1
    else:
        a -= 1
    return a + 0, same + 0


def one_in_a_list_twice(x: Any) -> Any:
    a = np.zeros(())
    both = [a, a]
    both[0] += x[1]
    return both[1] + 0


def one_of_a_scalar(x: Any) -> Any:
    a = np.asarray(x[0])
    b = a
    a += 1
    c = np.array(x[0], copy=None)
    d = c
    c *= 5
    return a, b, c, d, x[0]


def one_of_another(x: Any) -> Any:
    a = np.array(x[0])
    b = a.copy()
    c = b
    b += 1
    return a, b, c


def views_of_rank_0(x: Any) -> Any:
    a = x.copy()
    v = a[1, ...]
    v += 5
    w = a[:1].squeeze()
    w *= 3
    u = a[2:3].reshape(())
    u -= 1
    return a, v, w, u


def elements_are_scalars(x: Any) -> Any:
    a = x.copy()
    e = a[1]
    e += 5
    for each in a:
        each += 1
    f, *_ = a
    f += 1
    g = a.reshape(-1)[2]
    g += 1
    h = a.flat[3]
    h += 1
    return a, e, f, g, h


def results_are_scalars(x: Any) -> Any:
    s = x.sum()
    t, u, v = s, np.squeeze(s), np.float64(s)
    s += 1
    u += 2
    w = v
    v += 3
    return s, t, u, v, w


def arrays_of_a_scalar_are_apart_from_it(x: Any) -> Any:
    s, t, u, v, w = x[0], x.sum(), x[1] * 2, x[2], np.float64(x[3])
    s.ravel()[0] = 11
    np.atleast_1d(t)[0] += 1
    np.expand_dims(u, 0)[...] = 13
    line = v.reshape(1)
    line *= 3
    for k in range(20):
        w.reshape(-1)[0] -= k
        np.atleast_2d(w)[0, 0] += x[k % 4]
    if x[0] > 0:
        np.atleast_3d(s)[...] = 15
    return s, t, u, v, w, line


def one_with_two_names_after_a_loop(x: Any) -> Any:
    a = np.zeros(())
    for k in range(50):
        a += x[k % 4]
    b = a
    a += 1
    return a, b


def one_with_two_names_in_a_loop(x: Any) -> Any:
    a = np.zeros(())
    for k in range(50):
        b = a
        a += x[k % 4]
    return a, b


def one_with_two_names_in_a_branch_of_a_loop(x: Any) -> Any:
    a, b = np.zeros(()), np.ones(())
    for k in range(30):
        if x[k % 4] > 2:
            b = a
            a += 1
        else:
            a -= x[k % 4]
    return a, b


def one_with_two_names_in_inner_loops(x: Any) -> Any:
    a = np.asarray(x[0])
    for _ in range(20):
        for k in range(20):
            b = a
            a += x[k % 4]
        a *= 0.5
    return a, b


def one_that_each_iteration_makes_anew(x: Any) -> Any:
    a = np.zeros(())
    for k in range(30):
        b = a
        a += 1
        a = np.array(a + x[k % 4])
    return a, b


def one_that_becomes_a_scalar(x: Any) -> Any:
    a = np.zeros(())
    for k in range(30):
        b = a
        a = a + x[k % 4]
    return a, b


def one_that_a_list_holds_many_times(x: Any) -> Any:
    a = np.zeros(())
    history = []
    for k in range(30):
        a += x[k % 4]
        history.append(a)
    return np.array(history)


def functions_that_make_arrays_of_scalars(x: Any) -> Any:
    v = x[0]
    made = [
        np.where(v > 0, v, 1.0), np.select([v > 0], [v], 0.0), np.broadcast_to(v, ()) + np.zeros(1),
        np.piecewise(v, [v > 0], [lambda z: z * 2, 0]), np.tensordot(x, x, 1), np.require(v),
        np.roll(v, 1), np.tile(v, ()), np.i0(v * 0), np.cov(x[:2]), np.array(v).astype(int), v[...],
        np.array(v)[...].astype("f4"), np.resize(v, ()),
    ]  # fmt: skip
    same = list(made)
    for k in range(len(made)):
        made[k] += 1
    return (v, *same)


def scalars_of_arrays(x: Any) -> Any:
    a, b = np.array(x[0]), np.zeros(())
    c, d, e = np.float64(a), np.float32(b), np.float64(x[1, ...])
    f = c
    a += 1
    b += 2
    c += 3
    d += 4
    for k in range(20):
        e += x[k % 4]
    return a, b, c, d, e, f, x[1]


def arrays_that_are_not_copied(x: Any) -> Any:
    a = x.copy()
    np.array(a, copy=None)[0] = 11
    np.asanyarray(a)[1] = 12
    np.array(a, copy=False, ndmin=2)[0, 2] = 13
    np.asarray_chkfinite(a)[3] = 14
    b = x.copy()
    np.asfortranarray(b)[0] = 15
    b.view(np.ndarray)[1] = 16
    c = x.copy()
    np.float64(c)[1] = 17
    np.float32(c)[2] = 18
    return a, b, c


def one_array_is_copied_by_functions_of_several(x: Any) -> Any:
    a = x.copy()
    np.concatenate([a])[0] = 11
    np.hstack((a,))[1] = 12
    np.repeat(a=a, repeats=1)[2] = 14
    np.block([a])[3] = 15
    wide = a.reshape(2, 2)
    np.vstack([wide])[0, 0] = 16
    np.column_stack([wide])[0, 1] = 17
    return a


PROGRAMS = (
    *(a_sum_in_an_array_of_rank_0, one_that_a_helper_adds_to, two_that_change_places),
    *(one_in_a_while_loop, one_that_a_branch_changes, one_in_a_list_twice, one_of_a_scalar),
    *(one_of_another, views_of_rank_0, elements_are_scalars, results_are_scalars),
    *(functions_that_make_arrays_of_scalars, arrays_of_a_scalar_are_apart_from_it),
    scalars_of_arrays,
    *(one_with_two_names_after_a_loop, one_with_two_names_in_a_loop, one_that_becomes_a_scalar),
    *(
        one_with_two_names_in_inner_loops,
        one_that_each_iteration_makes_anew,
        one_that_a_list_holds_many_times,
    ),
    *(arrays_that_are_not_copied, one_array_is_copied_by_functions_of_several),
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_what_numpy_changes_is_changed_and_nothing_else(program: Callable[..., Any]) -> None:
    expected, found = program(X.copy()), pyc.jit(program)(X)
    pairs = zip(expected, found) if isinstance(expected, tuple) else ((expected, found),)
    for a, b in pairs:
        np.testing.assert_array_equal(b, a)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def test_a_name_for_one_of_two_depends_on_data_in_a_loop() -> None:
    """As of arrays of other ranks: a change of what it may be needs a copy."""
    with pytest.raises(TraceError, match="may share memory with the one that is changed"):
        pyc.jit(one_with_two_names_in_a_branch_of_a_loop)(X)


def test_an_array_of_rank_0_keeps_its_type() -> None:
    def program(x: Any) -> Any:
        a = np.array(3)
        a += x[0]
        return a

    with pytest.raises(DTypeError, match="does not cast"):
        pyc.jit(program)(X)


def added_in_a_loop(x: Any, s: Any) -> Any:
    for k in range(20):
        s += x[k % 4]
    return s


def added_by_another_name(x: Any, s: Any) -> Any:
    t = s
    for _ in range(2):
        for k in range(20):
            t += x[k % 4]
    return t, s


def added_in_a_while_loop(x: Any, s: Any) -> Any:
    n = 0
    while x[n] < 3:
        s += x[n]
        n += 1
    return s


@pytest.mark.parametrize("program", [added_in_a_loop, added_by_another_name, added_in_a_while_loop])
def test_an_argument_of_rank_0_is_not_changed_by_a_loop(program: Callable[..., Any]) -> None:
    """Of an array the caller would see it, as outside of loops; of a scalar it is one program."""
    total = np.array(2.5)
    program(X, total)
    assert total != 2.5
    with pytest.raises(TraceError, match="belongs to the caller"):
        pyc.jit(program)(X, np.array(2.5))


def exchanged(x: Any, s: Any, t: Any) -> Any:
    for k in range(20):
        s, t = t, s * 0.5 + x[k % 4]
    return s, t


def halved(x: Any, s: Any, t: Any) -> Any:
    low, high = s, t
    while high - low > 1e-6:
        middle = (low + high) / 2
        if middle * middle > x[1]:
            high = middle
        else:
            low = middle
    return low, high


def made_anew_and_changed(x: Any, s: Any, t: Any) -> Any:
    for k in range(20):
        s = s * 0.5
        s += x[k % 4]
        for _ in range(20):
            t = np.maximum(s, t) + 1
            t -= 0.5
    return s, t


@pytest.mark.parametrize("number", [np.array, np.float64])
@pytest.mark.parametrize("program", [exchanged, halved, made_anew_and_changed])
def test_a_loop_begins_with_arguments_of_rank_0(
    program: Callable[..., Any], number: Callable[..., Any]
) -> None:
    numbers = number(0.5), number(2.0)
    for a, b in zip(program(X, *numbers), pyc.jit(program)(X, *numbers), strict=True):
        np.testing.assert_array_equal(b, a)
        assert type(b) is np.float64


def one_that_a_branch_makes_a_scalar(x: Any) -> Any:
    a = np.array(x[0])
    if x[1] > 2:
        a = x[2]
    b = a
    a += 1
    return a, b


def one_that_a_function_may_make(x: Any) -> Any:
    def made(v: Any) -> Any:
        if v > 2:
            return np.array(v)
        return v

    a = made(x[3])
    b = a
    a += 1
    return a, b


def one_of_a_list_or_a_scalar(x: Any) -> Any:
    both = [np.array(x[0]), x[1]]
    a = both[0] if x[2] > 0 else both[1]
    a += 5
    return both[0], a


def one_that_the_first_iteration_changes(x: Any) -> Any:
    z = np.zeros(())
    a = z
    for _ in range(20):
        a += 1
        a = a * 1.0
    return z, a


def one_that_iterations_change_but_the_first(x: Any) -> Any:
    a = x[0]
    for _ in range(20):
        b = a
        a += 1
        if x[1] < 5:
            a = np.array(a)
    return a, b


def one_that_a_view_changes(x: Any) -> Any:
    a = x[0]
    if x[1] < 3:
        a = np.array(x[2])
    b = a.reshape(-1)
    b[0] = 9
    return a, b


@pytest.mark.parametrize(
    "program",
    [
        *(one_that_a_branch_makes_a_scalar, one_that_a_function_may_make),
        *(one_of_a_list_or_a_scalar, one_that_the_first_iteration_changes),
        *(one_that_iterations_change_but_the_first, one_that_a_view_changes),
    ],
)
def test_another_name_for_an_array_or_a_scalar_has_no_value_after_a_change(
    program: Callable[..., Any],
) -> None:
    """Data decide which one it is, so what the other name stands for depends on them."""
    with pytest.raises(TraceError, match="may share memory"):
        pyc.jit(program)(X)


def changed_without_another_name(x: Any) -> Any:
    a, b = np.zeros(()), x[0]
    if x[0] > 2:
        a = x[1]
    a += 1
    for k in range(20):
        a += x[k % 4]
        b += x[k % 4]
        b = np.where(b > 10, b - 10, b)
    return a, b


def wrapped(x: Any) -> Any:
    s = np.array(0.0)
    for k in range(20):
        s += x[k % 4]
        if s > 10:
            s = s - 10
    return s, x.sum()


def a_scalar_that_becomes_an_array(x: Any) -> Any:
    a = x.sum()
    b = a
    for _ in range(20):
        a -= 1
        c = np.asarray(a)
        c += 1
        a = c
    return a, b, c


def an_array_after_a_loop(x: Any) -> Any:
    a = np.zeros(())
    for k in range(20):
        a = np.array(a + x[k % 4])
    b = a
    a += 1
    return a, b


@pytest.mark.parametrize("first", [X, X[::-1].copy()])
@pytest.mark.parametrize(
    "program",
    [
        *(changed_without_another_name, wrapped, a_scalar_that_becomes_an_array),
        an_array_after_a_loop,
    ],
)
def test_what_data_make_an_array_or_a_scalar_is_changed(
    program: Callable[..., Any], first: Any
) -> None:
    for a, b in zip(program(first.copy()), pyc.jit(program)(first), strict=True):
        np.testing.assert_array_equal(b, a)


def an_array_that_is_one_already(x: Any) -> Any:
    a, b, c = np.zeros(()), x * 1, x + 1
    same, n = a, 0
    for k in range(20):
        a = np.asarray(a)
        b = np.asarray(b, dtype=float)
        b += x[k % 4]
        a += 1
    while x[n] < 3:
        c = np.asarray(c)
        n += 1
    return a, b, c, same


def test_a_loop_may_ask_for_an_array_of_what_is_one() -> None:
    """The name holds the array that it held: of the surroundings, as the body sees it."""
    found = pyc.jit(an_array_that_is_one_already)(X)
    for a, b in zip(an_array_that_is_one_already(X), found, strict=True):
        np.testing.assert_array_equal(b, a)


CHANGES_OF_SCALARS: dict[str, Callable[[Any, Any], Any]] = {
    "ellipsis": lambda x, v: setitem(v, ..., 1),
    "augmented": lambda x, v: setitem(v, (), v[()] + 1),
    "out": lambda x, v: np.add(v, 1, out=v),
    "out of a reduction": lambda x, v: x.sum(out=v),
    "copyto": lambda x, v: np.copyto(v, 1),
    "place": lambda x, v: np.place(v, True, 1),
    "putmask": lambda x, v: np.putmask(v, True, 1),
    "at": lambda x, v: np.add.at(v, (), 1),
    "transposed": lambda x, v: setitem(v.T, ..., 3),
}


@pytest.mark.parametrize("made", ["an element", "a sum", "a sum of scalars"])
@pytest.mark.parametrize("name", CHANGES_OF_SCALARS)
def test_scalars_cannot_be_changed_in_place(name: str, made: str) -> None:
    def program(x: Any) -> Any:
        v = {"an element": x[0], "a sum": x.sum(), "a sum of scalars": x[0] + x[1]}[made]
        CHANGES_OF_SCALARS[name](x, v)
        return v

    with pytest.raises(TypeError):
        program(X)
    with pytest.raises(DTypeError, match="NumPy makes a scalar of it"):
        pyc.jit(program)(X)


@pytest.mark.parametrize(
    "change", [lambda v: v.fill(2), lambda v: v.put(0, 2), lambda v: v.flat.__setitem__(0, 2)]
)
def test_changes_of_scalars_that_numpy_drops_are_refused(change: Callable[[Any], None]) -> None:
    """NumPy changes a copy that nobody sees."""

    def program(x: Any) -> Any:
        v = x[0]
        change(v)
        return v

    assert program(X) == X[0]
    with pytest.raises(DTypeError, match="NumPy makes a scalar of it"):
        pyc.jit(program)(X)


def test_a_copy_that_may_not_be_made_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="copy=False"):
        pyc.jit(lambda x: np.array(x * 1, dtype=np.float32, copy=False))(X)


def test_writing_to_what_require_gives_is_refused_where_numpy_may_copy() -> None:
    def program(x: Any) -> Any:
        a = x * 1
        np.require(a, requirements="C")[0] = 1
        return a

    with pytest.raises(TraceError, match="may share memory"):
        pyc.jit(program)(X)


OUTSIDE = np.array(1.5)
AMONG = [np.array(2), np.float64(3.0), np.ones(1)]


def kinds_of_arrays_and_scalars(x: Any) -> Any:
    found = [
        np.zeros(()), np.array(0.0), x[1, ...], x[:1].squeeze(), np.asarray(x[0]), OUTSIDE, *AMONG,
        x[0], x.sum(), np.float64(x[0]), x[1:2], x[0] + OUTSIDE,
    ]  # fmt: skip
    return [
        isinstance(each, np.ndarray) + 2 * isinstance(each, np.generic) + 4 * np.isscalar(each)
        for each in found
    ] + [isinstance(OUTSIDE, float), isinstance(x[0], float), type(OUTSIDE) is np.ndarray]


def test_arrays_of_rank_0_are_told_from_scalars() -> None:
    """By `isinstance`, `type` and `np.isscalar`: made, viewed and from outside; of arguments either
    is the same program."""
    np.testing.assert_array_equal(
        pyc.jit(kinds_of_arrays_and_scalars)(X), kinds_of_arrays_and_scalars(X)
    )
    told = pyc.jit(lambda x: x + isinstance(x, float))
    assert told(np.array(1.0)) == told(np.float64(1.0)) == told(1.0) == 2
