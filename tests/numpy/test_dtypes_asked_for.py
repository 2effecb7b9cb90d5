"""`dtype=` of means and variances, and complex numbers that become real: NumPy's rules, with its
`ComplexWarning` at the user's line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from tests.numpy.interpreted import difference

Call = Callable[..., Any]

F = np.array([[1.7, 2.5, -3.2], [40.5, 0.25, 8.0]])
INTS = np.array([[1, 2, 300], [7, -5, 4]])
BOOLS = np.array([[True, False, True], [False, False, True]])
C = np.array([[1 + 2j, 3 - 1j], [0.5j, 2.0]])
GAPS = np.array([[1.0, np.nan, 4.0], [2.0, 8.0, np.nan]])


def outside(call: Call, *arrays: Any) -> Any:
    return call(pnp, *arrays)


def jitted(call: Call, *arrays: Any) -> Any:
    return pyc.jit(lambda *xs: call(np, *xs))(*arrays)


@pytest.mark.parametrize("run", [outside, jitted])
@pytest.mark.parametrize("kind", ["i8", "i1", "u4", "?"])
@pytest.mark.parametrize("x", [F[:, 1:2] + 3, np.abs(INTS), INTS[1:, :1]])
def test_means_in_a_type_without_fractions_truncate(x: Any, kind: str, run: Call) -> None:
    """np.mean(integers, dtype=int) was a float64, without a word."""

    def means(np: Any, x: Any) -> Any:
        return (
            np.mean(x, dtype=kind),
            np.mean(x, axis=0, dtype=kind),
            np.mean(x, 1, dtype=kind, keepdims=True),
            np.average(x, axis=0),
        )

    assert not difference(means(np, x), run(means, x))


@pytest.mark.parametrize("run", [outside, jitted])
@pytest.mark.parametrize("x", [F, INTS, BOOLS, C])
def test_variances_in_integers_truncate(x: Any, run: Call) -> None:
    def variances(np: Any, x: Any) -> Any:
        return (
            np.var(x, dtype=int),
            np.var(x, axis=0, dtype="i8", ddof=1),
            np.var(x, 1, dtype="u8", keepdims=True),
            np.std(x, dtype=int),
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        expected = variances(np, x)
        found = run(variances, x)
    assert not difference(expected, found)


@pytest.mark.parametrize("run", [outside, jitted])
@pytest.mark.parametrize("x", [F, INTS, C])
def test_means_under_masks_truncate_as_those_of_all(x: Any, run: Call) -> None:
    def means(np: Any, x: Any, m: Any) -> Any:
        return (
            np.mean(x, dtype=int, where=m),
            np.var(x, axis=0, dtype=int, where=m),
            np.var(x, dtype="u4", where=m, ddof=1),
            np.mean(x, axis=1, dtype="i2", where=m, keepdims=True),
            np.std(x, dtype=int, where=m),
        )

    mask = np.ones(x.shape, bool)
    mask[0, 0] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        assert not difference(means(np, x, mask), run(means, x, mask))


@pytest.mark.parametrize("run", [outside, jitted])
def test_integers_have_no_nan(run: Call) -> None:
    def missing(np: Any, x: Any) -> Any:
        return (
            np.nanmean(x, dtype=int),
            np.nanvar(x, axis=1, dtype=int),
            np.nanstd(x, dtype=int),
            np.nanmean(x, axis=0),
        )

    assert not difference(missing(np, INTS), run(missing, INTS))


@pytest.mark.parametrize("run", [outside, jitted])
def test_means_of_floats_with_nan_are_floats(run: Call) -> None:
    for call in (
        lambda np, x: np.nanmean(x, dtype=int),
        lambda np, x: np.nanvar(x, dtype=int),
        lambda np, x: np.nanstd(x, axis=0, dtype=bool),
        lambda np, x: np.nanmean(x, dtype=int, where=x > 1),
    ):
        with pytest.raises(TypeError):
            call(np, GAPS)
        with pytest.raises(TypeError, match="cannot hold the result"):
            run(call, GAPS)


def _assigned(x: Any, key: Any, new: Any) -> Any:
    x = x.copy()
    x[key] = new
    return x


LOSSES: dict[str, Call] = {
    "astype": lambda np, z: np.asarray(z).astype("f4"),
    "asarray": lambda np, z: np.asarray(z, dtype=float),
    "array": lambda np, z: np.array(z, dtype="i2"),
    "sum": lambda np, z: np.sum(z, dtype=int),
    "prod": lambda np, z: np.prod(z, axis=0, dtype=float),
    "cumsum": lambda np, z: np.cumsum(z, axis=1, dtype=float),
    "cumprod": lambda np, z: np.cumprod(z, dtype="f4"),
    "mean": lambda np, z: np.mean(z, dtype=float),
    "mean in halfs": lambda np, z: np.mean(z, axis=0, dtype="f2"),
    "var": lambda np, z: np.var(z, dtype=float),
    "std": lambda np, z: np.std(z, axis=0, dtype="f8"),
    "nanmean": lambda np, z: np.nanmean(z, axis=1, dtype=float),
    "nanvar": lambda np, z: np.nanvar(z, axis=1, dtype=float),
    "nansum": lambda np, z: np.nansum(z, dtype=float),
    "trace": lambda np, z: np.linalg.trace(z, dtype=float),
    "old trace": lambda np, z: np.trace(z, dtype=int),
    "nanvar under a mask": lambda np, z: np.nanvar(z, dtype=float, where=z != 2),
    "concatenate": lambda np, z: np.concatenate([z, z], dtype=float, casting="unsafe"),
    "full": lambda np, z: np.full((2,), z[0], dtype=float),
    "full_like": lambda np, z: np.full_like(z, z[0, 0], dtype=int),
    "add.reduce": lambda np, z: np.add.reduce(z, axis=1, dtype=float),
}


@pytest.mark.parametrize("run", [outside, jitted])
@pytest.mark.parametrize("name", LOSSES)
def test_complex_numbers_become_real_with_numpys_warning(name: str, run: Call) -> None:
    call = LOSSES[name]
    with pytest.warns(np.exceptions.ComplexWarning):
        expected = call(np, C)
    with pytest.warns(np.exceptions.ComplexWarning) as told:
        found = run(call, C)
    assert not difference(expected, found)
    assert {w.filename for w in told} == {__file__}


@pytest.mark.parametrize("key", [0, (slice(None), 1), Ellipsis, slice(None)])
def test_complex_numbers_assigned_to_real_places_warn(key: Any) -> None:
    """`out[:] = np.fft.ifft(y)`, as much code has it."""
    x, new = np.zeros((2, 2)), C if key in (Ellipsis, slice(None)) else C[0]
    with pytest.warns(np.exceptions.ComplexWarning):
        expected = _assigned(x, key, new)
    with pytest.warns(np.exceptions.ComplexWarning):
        found = pyc.jit(lambda x, z: _assigned(x, key, z))(x, new)
    assert not difference(expected, found)


def test_the_warning_is_an_error_where_warnings_are() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(np.exceptions.ComplexWarning):
            pyc.jit(lambda z: z.astype(float))(C)


def test_a_line_warns_once_by_pythons_own_filter() -> None:
    """A program is traced more than once where a loop is; the reader is told once."""

    def parts(z: Any) -> Any:
        total = 0.0
        for k in range(2):
            total += z[0, k].astype(float)
        return total

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        assert pyc.jit(parts)(C) == 4.0
    assert len(told) == 1


def test_a_complex_value_fits_no_real_place() -> None:
    """As NumPy: a Python number, and lists of them, are errors."""
    for new in (1j, [1j, 2]):
        with pytest.raises(TypeError):
            _assigned(np.zeros((2, 2)), 0, new)
        with pytest.raises(TypeError, match=r"imaginary|complex"):
            pyc.jit(lambda x, new=new: _assigned(x, 0, new))(np.zeros((2, 2)))


@pytest.mark.parametrize("run", [outside, jitted])
@pytest.mark.parametrize("shift", [1.0, 1.7, -1.7, np.float64(2.5), True])
def test_rolls_truncate_their_shifts(shift: Any, run: Call) -> None:
    def rolled(np: Any, x: Any) -> Any:
        return np.roll(x, shift), np.roll(x, shift, 1), np.roll(x, [shift, 1.5], axis=(0, 1))

    assert not difference(rolled(np, F), run(rolled, F))


@pytest.mark.parametrize("run", [outside, jitted])
def test_rolls_by_arrays_of_floats(run: Call) -> None:
    def rolled(np: Any, x: Any, s: Any) -> Any:
        return np.roll(x, s[0]), np.roll(x, s, (0, 1)), np.roll(x, s)

    assert not difference(rolled(np, F, [1.7, -2.2]), run(rolled, F, np.array([1.7, -2.2])))


@pytest.mark.parametrize("shift", [1j, np.inf, np.nan, "a", np.zeros((1, 1))])
def test_rolls_by_what_is_no_number_of_places(shift: Any) -> None:
    for run in (outside, jitted):
        with pytest.raises((TypeError, ValueError, OverflowError)) as found:
            run(lambda np, x: np.roll(x, shift, 0), F)
        assert isinstance(found.value, pyc.errors.PycError)
