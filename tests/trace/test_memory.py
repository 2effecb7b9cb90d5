"""Changes in place and what shares memory: NumPy's answer, or a refusal, for every function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import PycError, TraceError
from tests.numpy.test_functions import TABLE

Program = Callable[[Any, list[Any]], Any]


def with_arguments(arguments: tuple[Any, ...]) -> list[np.ndarray[Any, Any]]:
    return [a for a in arguments if isinstance(a, np.ndarray)]


def changed_after(call: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """A program that calls, changes what it gave, and returns the result."""

    def program(np_: Any, *given: Any) -> Any:
        copies = [g.copy() if isinstance(a, np.ndarray) else a for a, g in zip(arguments, given)]
        found = call(np_, *copies)
        for a, c in zip(arguments, copies, strict=True):
            if isinstance(a, np.ndarray) and a.ndim and not np.issubdtype(a.dtype, np.integer):
                c[...] = ~c if a.dtype == np.bool_ else c + 1
        return found

    return program


def written_through(call: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """A program that calls, writes to the result, and returns what it gave."""

    def program(np_: Any, *given: Any) -> Any:
        copies = [g.copy() if isinstance(a, np.ndarray) else a for a, g in zip(arguments, given)]
        found = call(np_, *copies)
        for part in found if isinstance(found, (tuple, list)) else (found,):
            if getattr(part, "ndim", 0):
                part[...] = 1
        return copies

    return program


def answer(program: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    with np.errstate(all="ignore"):
        return program(np, *arguments)


UNCERTAIN = {"diagonal", "diag"}
"""Functions whose results are views in NumPy and are computed otherwise here: using both sides
after a change is refused."""


@pytest.mark.parametrize("make", [changed_after, written_through])
@pytest.mark.parametrize(
    ("name", "call", "arguments"), TABLE, ids=[f"{n}-{k}" for k, (n, _, _) in enumerate(TABLE)]
)
def test_a_function_shares_memory_where_numpy_does(
    name: str, call: Any, arguments: tuple[Any, ...], make: Any
) -> None:
    program = make(call, arguments)
    read_only = False
    try:
        expected = answer(program, arguments)
    except ValueError:
        read_only = True
    if read_only:  # NumPy's view may not be written to
        with pytest.raises(TraceError, match=r"read-only|may share"):
            pyc.jit(lambda *xs: program(pyc.numpy, *xs)).trace(*arguments)
        return
    jitted = pyc.jit(lambda *xs: program(pyc.numpy, *xs))
    if name in UNCERTAIN and make is changed_after and arguments[0].ndim > 1:
        with pytest.raises(TraceError, match="may share memory"):
            jitted.trace(*arguments)
        return
    with pyc.config.using(cache="off"):
        found = jitted(*arguments)
    pairs = (
        zip(expected, found, strict=True)
        if isinstance(expected, (list, tuple))
        else ((expected, found),)
    )
    for a, b in pairs:
        eps = 64 * np.finfo(a.dtype).eps if np.asarray(a).dtype.kind in "fc" else 0
        np.testing.assert_allclose(b, a, rtol=eps, atol=eps)


# --- programs -------------------------------------------------------------------------------------


def views_of_views(np_: Any, x: Any) -> Any:
    a = x.copy()
    b = a[1:]
    c = b[::-1].T
    c[0] = 5
    a[2, 3] += 1
    b *= 2
    return a, b, c


def elimination(np_: Any, x: Any) -> Any:
    a = x[:4, :4] + 5 * np_.eye(4)
    for k in range(4):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np_.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def stencil(np_: Any, x: Any) -> Any:
    u = np_.zeros(x.shape)
    u[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1]
    u[0], u[-1] = 1, x[0]
    u[:, 0] = np_.arange(4)
    return u


def masks(np_: Any, x: Any) -> Any:
    a = x.copy()
    a[a < 0] = 0
    a[x > 2] = np_.array(2.0)
    a[np_.array([True, False, False, True])] = x[0]
    return a


def integer_arrays(np_: Any, x: Any) -> Any:
    a = x.copy()
    a[[0, 2], [1, 1]] = 9
    a[np_.array([3, 1])] = x[:2]
    a[1, [0, 1]] += 1
    return a


def dtypes(np_: Any, x: Any) -> Any:
    a = np_.zeros(5, dtype=np.int32)
    a[:] = x[0] * 10
    b = a[1:3]
    b += 7
    c = np_.ones(5, dtype=bool)
    c[2:] = x[0, 2:]
    return a, b, c


def methods(np_: Any, x: Any) -> Any:
    a = x.copy()
    a[1].sort()
    a[2].fill(7)
    a.put([0, 3], 1)
    a.flat[5] = -1
    a.flat[-3:] = [1, 2, 3]
    return a, a.flat[2], len(a.flat)


def complex_parts(np_: Any, x: Any) -> Any:
    z = x + 1j * x
    z.real[0] = 3
    z.imag = 1
    z.real *= 2
    return z, z.real


def reshaped(np_: Any, x: Any) -> Any:
    a = np_.zeros((4, 5))
    line = a.ravel()
    line[::2] = 1
    copied = a.T.reshape(-1)
    a[0] = 3
    copied[0] = 9
    a.reshape(2, 10)[1, :3] = x[0, :3]
    return a, line, copied


def scalars(np_: Any, x: Any) -> Any:
    total = x.sum()
    before = total
    total += 1
    a = x.copy()
    element = a[1, 2]
    a[1, 2] = 0
    return total, before, element


def aliases(np_: Any, x: Any) -> Any:
    a = np_.zeros(3)
    b = a
    b += 1
    c = np_.asarray(a)
    c[0] = 5
    d = a.astype(np.float64)
    d[1] = 7
    e = +a
    e[2] = 9
    return a, b, c, d, e


PROGRAMS = (
    *(views_of_views, elimination, stencil, masks, integer_arrays, dtypes, methods),
    *(complex_parts, reshaped, scalars, aliases),
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_program_that_changes_its_own_arrays_gives_what_numpy_gives(program: Program) -> None:
    x = np.random.default_rng(4).standard_normal((4, 5)) * 3
    kept = x.copy()
    expected = program(np, x)
    found = pyc.jit(lambda v: program(pyc.numpy, v))(x)
    assert (x == kept).all()
    for a, b in zip(
        *((r if isinstance(r, tuple) else (r,)) for r in (expected, found)), strict=True
    ):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)


PLACES = np.array([[1], [0], [3], [2]])
PLACES.flags.writeable = False


def test_numpys_functions_write_into_traced_arrays() -> None:
    def program(a: Any, x: Any) -> Any:
        np.add(a, x, out=a)
        np.copyto(a[1], x[0], where=x[0] > 0)
        np.putmask(a, a > 3, 3.0)
        np.add.at(a, ([0, 0], [1, 1]), 1.0)
        np.fill_diagonal(a, 2.0)
        np.put_along_axis(a, PLACES, -1.0, axis=1)
        np.cumsum(x, axis=0, out=a[:, :])
        return a * 1

    x = np.random.default_rng(4).standard_normal((4, 5)) * 3
    expected = program(np.ones((4, 5)), x)
    found = pyc.jit(lambda v: program(pyc.numpy.ones((4, 5)), v))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


REFUSED = {
    "an argument": (lambda x: x.__setitem__(0, 1.0), "belongs to the caller"),
    "a view of an argument": (lambda x: x[1:].T.__setitem__(0, 1.0), "belongs to the caller"),
    "an argument by an operator": (lambda x: x.__iadd__(1), "belongs to the caller"),
    "an argument's fill": (lambda x: x.fill(1), "belongs to the caller"),
    "an argument as output": (lambda x: np.exp(x, out=x), "belongs to the caller"),
    "a broadcast view": (
        lambda x: pyc.numpy.broadcast_to(x + 1, (2, 4, 5)).__setitem__(0, 1.0),
        "read-only",
    ),
    "a cast to a lower kind": (
        lambda x: pyc.numpy.zeros(5, dtype=int).__iadd__(x[0]),
        "does not cast",
    ),
    "values as a mask selects": (
        lambda x: (x + 1).__setitem__(x > 0, x[0]),
        "do not fit|depends on data",
    ),
    "a shape that does not fit": (lambda x: (x + 1).__setitem__(0, x[:, 0]), "do not fit"),
    "inside of a loop's function": (
        lambda x: (
            lambda a: pyc.lax.fori_loop(0, 3, lambda i, c: (a.__setitem__(0, 1.0), c)[1], x)
        )(x + 1),
        "inside of a function for `pyc.lax`",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_change_that_cannot_be_right_is_refused(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(PycError, match=message):
        pyc.jit(lambda x: function(x)).trace(np.zeros((4, 5)))
