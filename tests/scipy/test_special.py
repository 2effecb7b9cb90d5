"""`pyc.scipy.special` against correctly rounded values, against SciPy, and as users call it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc import errors
from pyc.ir.ops import special_math
from pyc.scipy import special
from tests.scipy.values import FILE, INTEGRAL_FILE

VALUES = json.loads(FILE.read_text())
INTEGRALS = json.loads(INTEGRAL_FILE.read_text())
OF_TWO = ("rel_entr", "kl_div", "xlogy", "xlog1py")
MORE = ("beta", "betaln", "zeta", "polygamma", "binom", "comb", "poch", "gammainc", "gammaincc")
MORE += ("huber", "pseudo_huber", "betainc", "betaincc")
"""Functions of more arguments that `test_incomplete` looks at."""
NO_ELEMENTS = ("logsumexp", "softmax", "log_softmax", "bernoulli", "multigammaln", "sici", "wofz")
OF_ONE = [
    n
    for n in special.__all__
    if n not in (*OF_TWO, *MORE, *NO_ELEMENTS) and hasattr(scipy.special, n)
]
NAMES = {"lgamma": "gammaln"}
"""Operations, and the functions of another name."""

# The promise of docs/numerics.md in ULP of the type, and half an ULP of the stored value's own.
PROMISE = {"f32": 1.0, "f64": 3.0}
WITHIN_THE_TYPE = ("expit", "logit", "entr", "ndtr", "xlogy", "xlog1py")
LOOSER = ("gamma", "lgamma", "digamma", "i0", "i0e", "i1", "i1e", "ndtri")


def bound(name: str, kind: str) -> float:
    if kind == "f64":
        return 4.0 if name in LOOSER else PROMISE[kind]
    return 3.0 if name in WITHIN_THE_TYPE else PROMISE[kind]


@pytest.mark.parametrize("row", VALUES)
def test_errors_are_within_the_promise(row: str) -> None:
    name, kind = row.split(".")
    dtype = np.float32 if kind == "f32" else np.float64
    found = VALUES[row]
    arguments = [
        np.array([float.fromhex(a[k]) for a, _ in found], dtype) for k in range(len(found[0][0]))
    ]
    expected = np.array([float.fromhex(v) for _, v in found], dtype)
    result = getattr(special, NAMES.get(name, name))(*arguments)
    assert result.dtype == dtype
    with np.errstate(all="ignore"):
        error = np.abs(result - expected) / np.spacing(np.abs(expected))
    same = (result == expected) | (np.isnan(result) & np.isnan(expected))
    assert np.isfinite(expected).sum() > 30
    assert np.where(same, 0.0, error).max() <= bound(name, kind) + 0.5


def test_every_operation_has_stored_values() -> None:
    stored = {row.split(".")[0] for row in VALUES}
    # Those that are functions of several operations, or parts of some, have files of their own.
    elsewhere = {row.split(".")[0].split(" ")[0] for row in INTEGRALS} | set(PARTS)
    assert set(special_math.__all__) <= stored | elsewhere
    assert all(len(rows) == 60 for rows in VALUES.values())


def test_a_wrong_unit_in_the_last_places_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds are tight enough that a sloppy definition fails."""
    exact = special.expit
    monkeypatch.setattr(special, "expit", lambda x: exact(x) * x.dtype.type(1 + 8e-7))
    with pytest.raises(AssertionError):
        test_errors_are_within_the_promise("expit.f32")


AWKWARD = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1e-310, -1e-310]
AWKWARD += [1e-45, 3e38, -3e38, 171.0, 172.0, -170.5, -185.5, 0.75, 1e300, -1e20, 1e-5, 37.5]
PARTS = ("beta_positive", "betaln_positive", "binomial_mass", "poisson_mass", "gamma_tail")
PARTS += ("lgamma1p", "sine_integral", "cosine_integral")
"""Operations that are parts of functions of other names."""
UNLIKE_SCIPY = {"i0": [np.inf, -np.inf], "i1": [np.inf, -np.inf], "gammaln": [1e-310, -1e-310]}
UNLIKE_SCIPY["loggamma"] = UNLIKE_SCIPY["gammaln"]
HUGE = [np.inf, -np.inf, 3e38, 1e300, -3e38, -1e20]
UNLIKE_SCIPY |= {"j0": HUGE, "j1": HUGE, "y0": HUGE, "y1": HUGE}
UNLIKE_SCIPY |= {"spence": [np.inf]}
"""SciPy's are NaN there, and infinite for gammaln; its waves of huge numbers are noise."""
OSCILLATING = ("j0", "j1", "y0", "y1")
"""Errors near their zeros are of the size of the wave."""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OF_ONE)
def test_poles_infinities_and_nan_are_those_of_scipy(name: str, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x = np.array(AWKWARD, np.float64).astype(dtype)
        x = x[~np.isin(x, np.array(UNLIKE_SCIPY.get(name, []), np.float64).astype(dtype))]
        expected = getattr(scipy.special, name)(x)
    found = getattr(special, name)(x)
    tolerance = 2e-6 if dtype is np.float32 else 1e-13
    tiny = np.finfo(dtype).tiny
    within = tolerance * 0.05 if name in OSCILLATING else tiny
    np.testing.assert_allclose(found, expected, tolerance, within)
    ends = (np.isinf(expected) | (expected == 0)) & (expected != np.copysign(0, x) * 0 + 0)
    np.testing.assert_array_equal(np.signbit(found[ends]), np.signbit(expected[ends]))


def test_bessel_functions_of_infinity() -> None:
    np.testing.assert_array_equal(special.i0(np.array([np.inf, -np.inf])), [np.inf, np.inf])
    np.testing.assert_array_equal(special.i1(np.array([np.inf, -np.inf])), [np.inf, -np.inf])


def test_odd_functions_keep_the_sign_of_zero() -> None:
    for name in ("erf", "erfinv", "i1", "i1e", "cbrt", "expm1", "log1p"):
        assert np.signbit(getattr(special, name)(np.array([-0.0, 0.0]))).tolist() == [True, False]


@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_arguments(name: str) -> None:
    values = np.array([0.0, 1.0, 0.3, 2.5, np.inf, np.nan, -1.0, 1e-3, 1e5])
    x, y = (a.reshape(-1) for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(x, y)
    np.testing.assert_allclose(getattr(special, name)(x, y), expected, 1e-13)
    rows = getattr(special, name)(values[:, None], values)
    np.testing.assert_allclose(rows, expected.reshape(9, 9).T, 1e-13)


@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_types_of_results(name: str) -> None:
    count = 2 if name in OF_TWO else 1
    for given_type, wanted in (
        *[(t, "f8") for t in ("?", "i1", "u2", "i4", "u8", "f8")],
        *[("f4", "f4"), ("f2", "f2"), (pnp.bfloat16, pnp.bfloat16)],
    ):
        x = np.ones(3).astype(given_type)
        assert getattr(special, name)(*[x] * count).dtype == np.dtype(wanted), given_type
    assert np.asarray(getattr(special, name)(*[0.5] * count)).dtype == np.float64


def test_python_numbers_are_weak() -> None:
    x = np.ones(3, np.float32)
    assert special.xlogy(2.0, x).dtype == np.float32
    assert special.xlogy(x, 2).dtype == np.float32
    assert special.xlogy(np.int32(2), x).dtype == np.float64


def test_halves_are_rounded_once() -> None:
    x = np.linspace(-4, 4, 99).astype(np.float16)
    for name in ("expit", "erf", "i0e", "ndtr"):
        found = getattr(special, name)(x)
        once = getattr(special, name)(x.astype(np.float32)).astype(np.float16)
        np.testing.assert_array_equal(found, once)


# --- sums of exponentials -------------------------------------------------------------------------

ROWS = np.random.default_rng(3).normal(size=(4, 5, 6)) * 20


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (), 1])
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_axes(name: str, axis: Any) -> None:
    expected = getattr(scipy.special, name)(ROWS, axis=axis)
    np.testing.assert_allclose(getattr(special, name)(ROWS, axis=axis), expected, 1e-13, 1e-15)
    jitted = pyc.jit(lambda x: getattr(special, name)(x, axis=axis))(ROWS)
    np.testing.assert_array_equal(jitted, getattr(special, name)(ROWS, axis=axis))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("return_sign", [False, True])
def test_weighted_sums(keepdims: bool, return_sign: bool) -> None:
    b = np.random.default_rng(4).normal(size=(5, 1))
    b[2] = 0.0
    options = {"axis": 1, "b": b, "keepdims": keepdims, "return_sign": return_sign}
    expected = scipy.special.logsumexp(ROWS, **options)
    found = special.logsumexp(ROWS, **options)
    assert type(found) is type(expected) or return_sign
    for a, e in zip(*((x if return_sign else (x,)) for x in (found, expected)), strict=True):
        assert a.shape == e.shape
        np.testing.assert_allclose(a, e, 1e-12)


@pytest.mark.parametrize(
    "row",
    [[np.inf, 1], [-np.inf, -np.inf], [np.nan, 1], [np.inf, -np.inf], [np.inf, np.inf], [0, -40]],
)
def test_sums_of_infinities(row: list[float]) -> None:
    x = np.array(row, np.float64)
    with np.errstate(all="ignore"):
        for name in ("logsumexp", "softmax", "log_softmax"):
            expected = getattr(scipy.special, name)(x)
            np.testing.assert_allclose(getattr(special, name)(x), expected, 1e-15, err_msg=name)


def test_what_is_small_beside_the_greatest_is_not_lost() -> None:
    assert special.logsumexp([0.0, -40.0]) == pytest.approx(np.exp(-40.0), rel=1e-15)


def test_sums_of_nothing() -> None:
    np.testing.assert_array_equal(special.logsumexp(np.zeros((0, 3)), axis=0), [-np.inf] * 3)
    assert special.logsumexp(np.zeros((0,))) == -np.inf
    assert special.logsumexp(np.zeros((3, 0)), axis=0).shape == (0,)


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_types_of_sums(name: str) -> None:
    for kind in ("f2", "f4", "f8", "i4", "i8"):
        x = np.arange(3).astype(kind)
        assert getattr(special, name)(x).dtype == getattr(scipy.special, name)(x).dtype
    assert getattr(special, name)(np.ones(3).astype(pnp.bfloat16)).dtype == pnp.bfloat16


@pytest.mark.parametrize("name", ["expit", "gammaln", "softmax", "log_softmax"])
def test_complex_numbers_are_refused(name: str) -> None:
    with pytest.raises(errors.DTypeError, match=f"special.{name}: needs real numbers"):
        getattr(special, name)(np.ones(3, np.complex64))


RNG = np.random.default_rng(5)
PLANE = (RNG.normal(size=(6, 8)) + 1j * RNG.normal(size=(6, 8))) * 4
EDGES = np.array([0, 1e-9 + 1e-9j, -1 + 1e-5j, complex(np.inf, 1), complex(np.nan, 0), -1e3 + 2j])
OF_COMPLEX: dict[str, Callable[..., Any]] = {
    "expm1": lambda s, z: (s.expm1(z), s.expm1(EDGES)),
    "log1p": lambda s, z: (s.log1p(z), s.log1p(EDGES)),
    "xlogy": lambda s, z: (s.xlogy(z, z + 1), s.xlogy(z * 0, z), s.xlogy(EDGES, 2j)),
    "xlog1py": lambda s, z: (s.xlog1py(z, z + 1), s.xlog1py(z * 0, z), s.xlog1py(EDGES, 2j)),
    "logsumexp": lambda s, z: (
        s.logsumexp(z),
        s.logsumexp(z, axis=1),
        s.logsumexp(z, axis=0, keepdims=True, b=z + 1),
        s.logsumexp(z, axis=0, b=(z.real > 0) * 1.0),
        *s.logsumexp(z, axis=1, return_sign=True),
        s.logsumexp(z - 800, axis=1),
        s.logsumexp(np.array([np.inf + 1j, 2])),
    ),
}


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_functions_of_complex_numbers(name: str, kind: Any) -> None:
    """The type, the shape and, within some units in the last place, the number that SciPy gives."""
    z = PLANE.astype(kind)
    with np.errstate(all="ignore"):
        wanted = OF_COMPLEX[name](scipy.special, z)
    bound = 40 * np.finfo(kind).eps
    through = pyc.jit(lambda z: OF_COMPLEX[name](scipy.special, z))(z)
    for k, (a, b, w) in enumerate(zip(OF_COMPLEX[name](special, z), through, wanted, strict=True)):
        for found in (a, b):
            assert (found.shape, found.dtype) == (w.shape, w.dtype), k
            np.testing.assert_allclose(found, w, bound, bound, err_msg=str(k))


def test_an_axis_that_is_not_there() -> None:
    with pytest.raises(errors.ShapeError, match="axis 3 is out of bounds"):
        special.softmax(ROWS, axis=3)


# --- through SciPy, and everywhere ----------------------------------------------------------------


def _through_scipy() -> dict[str, Callable[..., Any]]:
    from_module = scipy.special
    return {
        "ufunc": lambda x: from_module.gammaln(x),
        "two": lambda x: from_module.xlogy(x, 2.0) + scipy.special.expit(x),
        "function": lambda x: scipy.special.logsumexp(x, axis=1, keepdims=True),
        "softmax": lambda x: from_module.softmax(x, axis=0),
        "psi": lambda x: scipy.special.digamma(x) * scipy.special.psi(x),
    }


@pytest.mark.parametrize("name", _through_scipy())
def test_scipys_own_functions_are_traced(name: str) -> None:
    function = _through_scipy()[name]
    x = np.random.default_rng(0).uniform(0.1, 5, (3, 4)).astype(np.float32)
    found, expected = pyc.jit(function)(x), function(x)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, 2e-6)


@pytest.mark.parametrize("name", ["erf", "entr", "xlogy"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i4", "u2", "?"])
def test_scipys_ufuncs_give_scipys_types(name: str, dtype: str) -> None:
    x = np.ones(3, dtype)
    theirs = getattr(scipy.special, name)
    function: Callable[..., Any] = (lambda x: theirs(x, 2.0)) if name == "xlogy" else theirs
    found, expected = pyc.jit(lambda x: function(x))(x), function(x)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, 1e-6)


def test_scipys_ufuncs_take_arrays_of_pyc() -> None:
    x = pyc.device_put(np.linspace(0.1, 0.9, 5), "cpu")
    found = scipy.special.erfinv(x)
    assert isinstance(found, pyc.Array)
    np.testing.assert_allclose(np.asarray(found), scipy.special.erfinv(np.asarray(x)), 1e-15)


def test_functions_of_special_fuse_with_what_is_around_them() -> None:
    """One kernel, and the bits of the interpreter."""

    def f(x: Any) -> Any:
        return special.expit(x * 2) * special.gammaln(x) + special.i0e(x)

    x = np.linspace(-3.3, 9.0, 1003)
    lowered = pyc.jit(f).lower(x)
    assert len(lowered.kernels) == 1
    np.testing.assert_array_equal(pyc.jit(f)(x), pyc.interpret(f)(x))


def test_lanes() -> None:
    np.testing.assert_array_equal(
        pyc.vmap(lambda row: special.logsumexp(row))(ROWS.reshape(20, 6)),
        special.logsumexp(ROWS.reshape(20, 6), axis=1),
    )
    np.testing.assert_array_equal(pyc.vmap(special.gammaln)(ROWS), special.gammaln(ROWS))


@settings(max_examples=60, deadline=None)
@given(st.floats(-60, 60))
def test_the_logistic_function_and_its_inverse(x: float) -> None:
    p = special.expit(np.float64(x))
    assert 0 <= p <= 1
    assert special.log_expit(np.float64(x)) == pytest.approx(scipy.special.log_expit(x), rel=1e-14)
    if -30 < x < 10:
        assert special.logit(p) == pytest.approx(x, abs=1e-10)
