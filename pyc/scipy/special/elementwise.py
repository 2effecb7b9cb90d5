"""Functions of numbers, element by element, with SciPy's names and types.

Integers and bools give float64, types of floats stay: halves too, which SciPy computes and returns
in float32 or float64, as the loops of the function happen to be ordered. Python's numbers are weak,
as in NumPy. Arguments broadcast together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public, run
from pyc.errors import DTypeError
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.numpy import core
from pyc.numpy.on_device import together
from pyc.scipy.special import complex_numbers

Function = Callable[..., Any]


def type_of_results(name: str, *items: Any) -> DType:
    """The type in which a function of real arguments computes.

    raises DTypeError: complex arguments
    """
    kind = core.result_dtype(*items)
    if kind.is_complex:
        found = ", ".join(core.type_text(x) for x in items)
        raise DTypeError(
            f"special.{name}: needs real numbers, got {found}",
            fix="Take the real part before: `x.real`.",
        )
    return kind if kind.is_float else dt.f64


def real_operands(name: str, *items: Any) -> list[Any]:
    """Arguments as arrays of one shape and the type of the results."""
    values = [core.value(x) for x in items]
    return core.operands(f"special.{name}", *values, dtype=type_of_results(name, *values))


_ONE = "x: real numbers of any shape -> the same shape; integers and bools give float64"
_TWO = "x, y: real numbers, broadcast together -> the promoted dtype; float64 for integers"


def _of(name: str, op: str, summary: str) -> Function:
    """A function of one argument or two that is an operation; of complex numbers what `_COMPLEX`
    says."""

    def of_one(x: Any) -> Any:
        return _applied(name, op, x)

    def of_two(x: Any, y: Any) -> Any:
        return _applied(name, op, x, y)

    two = op in _PAIRS
    facts = _TWO if two else _ONE
    facts = facts.replace("real numbers", "numbers") if op in _COMPLEX else facts
    facts += f"\nraises DTypeError: {'no' if op in _COMPLEX else 'complex'} numbers"
    facts += "; ShapeError: they do not broadcast" if two else ""
    return public(core.named(of_two if two else of_one, name, summary, facts))


def _applied(name: str, op: str, *items: Any) -> Any:
    values = [core.value(x) for x in items]
    kind = core.result_dtype(*values)
    if op not in _COMPLEX or not kind.is_complex:
        return bind1(op, *real_operands(name, *values))
    return run(
        f"special.{name}", _COMPLEX[op], *core.operands(f"special.{name}", *values, dtype=kind)
    )


def _unless_zero(x: Any, y: Any, logarithm: Any) -> Any:
    zero = x.dtype.type(0)
    return pnp.where((x == zero) & ~pnp.isnan(y), zero, x * logarithm)


def _wide(function: Function) -> Function:
    """A function of complex128, of each complex type."""

    def of_one(z: Any) -> Any:
        return core.cast(function(core.cast(z, dt.c128)), core.dtype_of(z))

    return of_one


_PAIRS = ("xlogy", "xlog1py")
_COMPLEX: dict[str, Function] = {
    "digamma": _wide(complex_numbers.digamma),
    "erf": _wide(complex_numbers.erf),
    "erfc": _wide(complex_numbers.erfc),
    "erfcx": _wide(complex_numbers.erfcx),
    "expm1": pnp.expm1,
    "gamma": _wide(complex_numbers.gamma),
    "log1p": pnp.log1p,
    "loggamma": _wide(complex_numbers.loggamma),
    "ndtr": _wide(complex_numbers.ndtr),
    "wofz": _wide(complex_numbers.wofz),
    "xlog1py": lambda x, y: _unless_zero(x, y, pnp.log1p(y)),
    "xlogy": lambda x, y: _unless_zero(x, y, pnp.log(y)),
}
"""Operations that have complex arguments, by name, and functions of complex numbers."""

erf = _of("erf", "erf", "The error function.")
erfc = _of("erfc", "erfc", "1 - erf(x), exact for large x.")
erfinv = _of("erfinv", "erfinv", "The number whose erf is x; infinite at -1 and 1, NaN beyond.")
erfcinv = _of("erfcinv", "erfcinv", "The number whose erfc is x; infinite at 0 and 2, NaN beyond.")
ndtr = _of("ndtr", "ndtr", "The probability that a standard normal number is at most x.")
ndtri = _of(
    "ndtri",
    "ndtri",
    "What a standard normal number is below with probability x; NaN beyond [0, 1].",
)
gamma = _of(
    "gamma", "gamma", "The gamma function; infinite at 0, NaN at negative integers and at -inf."
)
gammaln = _of("gammaln", "lgamma", "log(abs(gamma(x))); infinite at 0 and negative integers.")
digamma = _of(
    "digamma",
    "digamma",
    "The derivative of gammaln; infinite at 0, NaN at negative integers and at -inf.",
)
psi = _of("psi", "digamma", "The derivative of gammaln: another name of `digamma`.")
i0 = _of("i0", "i0", "The modified Bessel function of the first kind of order 0.")
i0e = _of("i0e", "i0e", "exp(-abs(x)) i0(x).")
i1 = _of("i1", "i1", "The modified Bessel function of the first kind of order 1.")
i1e = _of("i1e", "i1e", "exp(-abs(x)) i1(x).")
expit = _of("expit", "expit", "The logistic function 1 / (1 + exp(-x)).")
logit = _of("logit", "logit", "log(x / (1 - x)); infinite at 0 and 1, NaN beyond.")
entr = _of("entr", "entr", "-x log(x); 0 at 0, -inf below.")
erfcx = _of("erfcx", "erfcx", "exp(x^2) erfc(x), which large x do not make zero.")
log_ndtr = _of("log_ndtr", "log_ndtr", "log(ndtr(x)), exact for large negative x too.")
exp1 = _of("exp1", "exp1", "The integral of exp(-t) / t from x; infinite at 0, NaN below.")
expi = _of("expi", "expi", "The principal value of the integral of exp(t) / t up to x.")
spence = _of("spence", "spence", "The dilogarithm of 1 - x; NaN below 0.")
j0 = _of("j0", "j0", "The Bessel function of the first kind of order 0.")
j1 = _of("j1", "j1", "The Bessel function of the first kind of order 1.")
y0 = _of("y0", "y0", "The Bessel function of the second kind of order 0; -inf at 0, NaN below.")
y1 = _of("y1", "y1", "The Bessel function of the second kind of order 1; -inf at 0, NaN below.")
k0 = _of("k0", "k0", "The modified Bessel function of the second kind of order 0; NaN below 0.")
k0e = _of("k0e", "k0e", "exp(x) k0(x).")
k1 = _of("k1", "k1", "The modified Bessel function of the second kind of order 1; NaN below 0.")
k1e = _of("k1e", "k1e", "exp(x) k1(x).")
xlogy = _of("xlogy", "xlogy", "x log(y); 0 where x is 0, unless y is NaN.")
xlog1py = _of("xlog1py", "xlog1py", "x log1p(y); 0 where x is 0, unless y is NaN.")
cbrt = _of("cbrt", "cbrt", "The cube root.")
exp2 = _of("exp2", "exp2", "2 to the power x.")
expm1 = _of("expm1", "expm1", "exp(x) - 1, exact near 0.")
log1p = _of("log1p", "log1p", "log(1 + x), exact near 0.")


@public
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x); 1 at 0.

    x: real numbers of any shape -> the same shape; integers and bools give float64
    raises DTypeError: complex numbers

    SciPy: `scipy.special.sinc`.

    >>> sinc([0.25, 0.5])
    array([0.90031632, 0.63661977])
    """
    (x,) = real_operands("sinc", x)
    return run("special.sinc", pnp.sinc, x)


@public
def loggamma(z: Any) -> Any:
    """The logarithm of gamma that is analytic but for a cut along the negative axis: `gammaln` of
    positive real numbers, NaN of negative ones. Its imaginary part is no principal one.

    z: numbers of any shape -> the same shape; integers and bools give float64
    raises DTypeError: no numbers

    SciPy: `scipy.special.loggamma`.

    >>> loggamma([0.25, 1.0 + 2.0j])
    array([ 1.28802252+0.j        , -1.87607879+0.12964632j])
    """
    z = core.value(z)
    if core.dtype_of(z).is_complex:
        return run("special.loggamma", _COMPLEX["loggamma"], z)
    return run("special.loggamma", _loggamma, *real_operands("loggamma", z))


@public
def wofz(z: Any) -> Any:
    """exp(-z^2) erfc(-iz), the Faddeeva function: the line shape that is named after Voigt.

    z: numbers of any shape -> complex numbers of the same shape: complex64 for float32 and
    complex64, complex128 for others
    raises DTypeError: no numbers

    SciPy: `scipy.special.wofz`.

    >>> wofz([0.25, 0.5 + 0.5j])
    array([0.93941306+0.27062952j, 0.53315671+0.23048823j])
    """
    z = core.value(z)
    kind = core.result_dtype(z)
    narrow = kind in (dt.f32, dt.c64)
    (z,) = core.operands("special.wofz", z, dtype=dt.c64 if narrow else dt.c128)
    return run("special.wofz", _COMPLEX["wofz"], z)


@public
def log_expit(x: Any) -> Any:
    """log(expit(x)), which is exact for large x too.

    x: real numbers of any shape -> the same shape; integers and bools give float64
    raises DTypeError: complex numbers

    SciPy: `scipy.special.log_expit`.

    >>> log_expit([0.25, 0.5])
    array([-0.57593942, -0.47407698])
    """
    (x,) = real_operands("log_expit", x)
    return run("special.log_expit", _log_expit, x)


@public
def sici(x: Any) -> Any:
    """The sine and the cosine integral, as a pair; the second is that of abs(x).

    x: real numbers of any shape -> two arrays of the same shape; integers and bools give float64
    raises DTypeError: complex numbers

    SciPy: `scipy.special.sici`.

    >>> sici([0.25, 0.5])
    (array([0.24913357, 0.49310742]), array([-0.82466306, -0.17778408]))
    """
    (x,) = real_operands("sici", x)
    return together(_integrals, x)


def _integrals(x: Any) -> Any:
    return bind1("sine_integral", x), bind1("cosine_integral", x)


@public
def exprel(x: Any) -> Any:
    """(exp(x) - 1) / x; 1 at 0.

    x: real numbers of any shape -> the same shape; integers and bools give float64
    raises DTypeError: complex numbers

    SciPy: `scipy.special.exprel`.

    >>> exprel([0.25, 0.5])
    array([1.13610167, 1.29744254])
    """
    (x,) = real_operands("exprel", x)
    return run("special.exprel", _exprel, x)


@public
def huber(delta: Any, r: Any) -> Any:
    """r^2 / 2 up to abs(r) = delta, delta (abs(r) - delta / 2) beyond; inf where delta < 0.

    delta, r: real numbers, broadcast together -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.huber`.

    >>> huber([1.0, 7.0], [2.0, 4.0])
    array([1.5, 8. ])
    """
    return run("special.huber", _huber, *real_operands("huber", delta, r))


@public
def pseudo_huber(delta: Any, r: Any) -> Any:
    """delta^2 (sqrt(1 + (r / delta)^2) - 1): `huber` without a corner; inf where delta < 0.

    delta, r: real numbers, broadcast together -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.pseudo_huber`.

    >>> pseudo_huber([1.0, 7.0], [2.0, 4.0])
    array([1.23606798, 7.43580424])
    """
    return run("special.pseudo_huber", _pseudo_huber, *real_operands("pseudo_huber", delta, r))


@public
def rel_entr(x: Any, y: Any) -> Any:
    """x log(x / y) for positive numbers; 0 where x is 0 and y is not negative, else inf.

    x, y: real numbers, broadcast together -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.rel_entr`.

    >>> rel_entr([1.0, 7.0], [2.0, 4.0])
    array([-0.69314718,  3.91731052])
    """
    return run("special.rel_entr", _rel_entr, *real_operands("rel_entr", x, y))


@public
def kl_div(x: Any, y: Any) -> Any:
    """x log(x / y) - x + y for positive numbers; y where x is 0 and y is not negative, else inf.

    x, y: real numbers, broadcast together -> the promoted dtype; float64 for integers
    raises DTypeError: complex numbers; ShapeError: they do not broadcast

    SciPy: `scipy.special.kl_div`.

    >>> kl_div([1.0, 7.0], [2.0, 4.0])
    array([0.30685282, 0.91731052])
    """
    return run("special.kl_div", _kl_div, *real_operands("kl_div", x, y))


@public
def gammasgn(x: Any) -> Any:
    """The sign of gamma(x): 1 or -1, that of zero at 0, NaN at the poles below and at -inf.

    x: real numbers of any shape -> the same shape; integers and bools give float64
    raises DTypeError: complex numbers

    SciPy: `scipy.special.gammasgn`.

    >>> gammasgn([0.25, 0.5])
    array([1., 1.])
    """
    (x,) = real_operands("gammasgn", x)
    return run("special.gammasgn", _gammasgn, x)


# --- programs -------------------------------------------------------------------------------------


def _loggamma(x: Any) -> Any:
    return pnp.where(x < 0, x.dtype.type(np.nan), bind1("lgamma", x))


def _log_expit(x: Any) -> Any:
    return pnp.minimum(x, x.dtype.type(0)) - pnp.log1p(pnp.exp(-pnp.abs(x)))


def _exprel(x: Any) -> Any:
    one, zero = x.dtype.type(1), x.dtype.type(0)
    infinite = x == x.dtype.type(np.inf)
    found = pnp.expm1(x) / pnp.where(x == zero, one, x)
    return pnp.where(x == zero, one, pnp.where(infinite, x, found))


def _huber(delta: Any, r: Any) -> Any:
    half, size = delta.dtype.type(0.5), pnp.abs(r)
    found = pnp.where(size <= delta, half * r * r, delta * (size - half * delta))
    return pnp.where(delta < 0, delta.dtype.type(np.inf), found)


def _pseudo_huber(delta: Any, r: Any) -> Any:
    zero, one = delta.dtype.type(0), delta.dtype.type(1)
    v = r / pnp.where(delta == zero, one, delta)
    # sqrt(1 + v^2) - 1 without the difference
    found = (v / (one + pnp.hypot(one, v))) * v * delta * delta
    ends = pnp.where((delta == zero) | (r == zero), zero, found)
    return pnp.where(delta < zero, delta.dtype.type(np.inf), ends)


def _rel_entr(x: Any, y: Any) -> Any:
    zero = x.dtype.type(0)
    # Quotients beyond the range of the type are differences of logarithms.
    ratio, limits = x / y, pnp.finfo(x.dtype)
    normal = (ratio >= limits.smallest_normal) & (ratio <= limits.max)
    value = x * pnp.where(normal, pnp.log(ratio), pnp.log(x) - pnp.log(y))
    beyond = pnp.where((x == zero) & (y >= zero), zero, x.dtype.type(np.inf))
    found = pnp.where((x > zero) & (y > zero), value, beyond)
    return pnp.where(pnp.isnan(x) | pnp.isnan(y), x.dtype.type(np.nan), found)


def _kl_div(x: Any, y: Any) -> Any:
    zero, found = x.dtype.type(0), _rel_entr(x, y)
    inside = pnp.where((x > zero) & (y > zero), found - x + y, found)
    return pnp.where((x == zero) & (y >= zero), y, inside)


def _gammasgn(x: Any) -> Any:
    one, zero = x.dtype.type(1), x.dtype.type(0)
    half = pnp.floor(x) * x.dtype.type(0.5)
    sign = pnp.where((x > zero) | (pnp.floor(half) == half), one, -one)
    sign = pnp.where(x == zero, pnp.copysign(one, x), sign)
    undefined = pnp.isnan(x) | ((x < zero) & (pnp.floor(x) == x))
    return pnp.where(undefined, x.dtype.type(np.nan), sign)


# --- examples -----------------------------------------------------------------------------------

core.document(
    globals(),
    "SciPy: `scipy.special",
    {
        "cbrt": ("[0.25, 0.5]", "array([0.62996052, 0.79370053])"),
        "digamma": ("[0.25, 0.5]", "array([-4.22745353, -1.96351003])"),
        "entr": ("[0.25, 0.5]", "array([0.34657359, 0.34657359])"),
        "erf": ("[0.25, 0.5]", "array([0.27632639, 0.52049988])"),
        "erfc": ("[0.25, 0.5]", "array([0.72367361, 0.47950012])"),
        "erfcinv": ("[0.25, 0.5]", "array([0.81341985, 0.47693628])"),
        "erfcx": ("[0.25, 0.5]", "array([0.77034655, 0.61569034])"),
        "erfinv": ("[0.25, 0.5]", "array([0.22531206, 0.47693628])"),
        "exp1": ("[0.25, 0.5]", "array([1.04428263, 0.55977359])"),
        "exp2": ("[0.25, 0.5]", "array([1.18920712, 1.41421356])"),
        "expi": ("[0.25, 0.5]", "array([-0.54254326,  0.4542199 ])"),
        "expit": ("[0.25, 0.5]", "array([0.5621765 , 0.62245933])"),
        "expm1": ("[0.25, 0.5]", "array([0.28402542, 0.64872127])"),
        "gamma": ("[0.25, 0.5]", "array([3.62560991, 1.77245385])"),
        "gammaln": ("[0.25, 0.5]", "array([1.28802252, 0.57236494])"),
        "i0": ("[0.25, 0.5]", "array([1.01568614, 1.06348337])"),
        "i0e": ("[0.25, 0.5]", "array([0.79101716, 0.64503527])"),
        "i1": ("[0.25, 0.5]", "array([0.12597911, 0.25789431])"),
        "i1e": ("[0.25, 0.5]", "array([0.09811263, 0.1564208 ])"),
        "j0": ("[0.25, 0.5]", "array([0.98443593, 0.93846981])"),
        "j1": ("[0.25, 0.5]", "array([0.12402598, 0.24226846])"),
        "k0": ("[0.25, 0.5]", "array([1.54150675, 0.92441907])"),
        "k0e": ("[0.25, 0.5]", "array([1.97933385, 1.52410939])"),
        "k1": ("[0.25, 0.5]", "array([3.74702597, 1.65644112])"),
        "k1e": ("[0.25, 0.5]", "array([4.81127659, 2.73100971])"),
        "log1p": ("[0.25, 0.5]", "array([0.22314355, 0.40546511])"),
        "log_ndtr": ("[0.25, 0.5]", "array([-0.51298408, -0.36894642])"),
        "logit": ("[0.25, 0.5]", "array([-1.09861229,  0.        ])"),
        "ndtr": ("[0.25, 0.5]", "array([0.59870633, 0.69146246])"),
        "ndtri": ("[0.25, 0.5]", "array([-0.67448975,  0.        ])"),
        "psi": ("[0.25, 0.5]", "array([-4.22745353, -1.96351003])"),
        "spence": ("[0.25, 0.5]", "array([0.97846939, 0.58224053])"),
        "xlog1py": ("[1.0, 7.0], [2.0, 4.0]", "array([ 1.09861229, 11.26606539])"),
        "xlogy": ("[1.0, 7.0], [2.0, 4.0]", "array([0.69314718, 9.70406053])"),
        "y0": ("[0.25, 0.5]", "array([-0.93157302, -0.44451873])"),
        "y1": ("[0.25, 0.5]", "array([-2.70410523, -1.47147239])"),
    },
)
