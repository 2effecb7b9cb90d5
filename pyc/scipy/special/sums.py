"""Sums of exponentials, and what is divided by them, with SciPy's names and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public, run
from pyc.errors import DTypeError
from pyc.ir import dtype as dt
from pyc.numpy import core


def _real(name: str, x: Any) -> tuple[Any, dt.DType]:
    """`_wide` of real numbers.

    raises DTypeError: complex numbers
    """
    x = pnp.asarray(x)
    if core.dtype_of(x).is_complex:
        raise DTypeError(
            f"special.{name}: needs real numbers, got {core.type_text(x)}",
            fix="Take the real part before: `x.real`.",
        )
    return _wide(x, core.floating(x))


def _wide(x: Any, result: dt.DType) -> tuple[Any, dt.DType]:
    """An argument in the type of the computation (float32 for halves), and the type of results."""
    wide = dt.f32 if result.is_half else result
    return core.cast(x, wide), result


def _summand(x: Any) -> tuple[Any, dt.DType]:
    """An argument of `logsumexp`: integers and bools are float64."""
    x = pnp.asarray(x)
    kind = core.dtype_of(x)
    return _wide(x, kind if kind.is_float or kind.is_complex else dt.f64)


def _axes(name: str, axis: Any, x: Any) -> core.Shape:
    core.no_list(name, axis)
    core.no_bool(name, axis)
    return core.axes_of(name, axis, len(core.shape_of(x)))


@public
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log(sum(b * exp(a))) over some axes (`axis`; all if None), without overflow; -inf of none.

    b: factors, which broadcast with `a`; None: 1
    return_sign: the logarithm of the absolute value of the sum and its sign, as a pair; a real sum
    below zero has no logarithm, NaN, without it
    a: numbers -> those axes left out, or of length 1 with `keepdims`; of dtype float64 for
    integers; of complex numbers the principal logarithm
    raises DTypeError: an axis that is no integer; AxisError: no such axis; ShapeError: `b` does not
    broadcast

    SciPy: `scipy.special.logsumexp`.

    >>> logsumexp([0.25, 0.5])
    np.float64(1.0759394198788437)
    """
    a, kind = _summand(a)
    if b is not None:
        b, other = _summand(b)
        kind = dt.promote(kind, other)
        wide = dt.promote(core.dtype_of(a), core.dtype_of(b))
        a, b = core.operands("special.logsumexp", a, b, dtype=wide)
    axes = _axes("special.logsumexp", axis, a)
    fixed = axes, bool(keepdims), bool(return_sign), kind
    return run("special.logsumexp", _logsumexp, a, b, fixed=fixed)


@public
def softmax(x: Any, axis: Any = None) -> Any:
    """exp(x) over its sum along some axes (`axis`; all if None).

    x: real numbers -> the same shape and dtype; integers give float64, bools float16
    raises DTypeError: complex numbers, or an axis that is no integer; AxisError: no such axis

    SciPy: `scipy.special.softmax`.

    >>> softmax([0.25, 0.5])
    array([0.4378235, 0.5621765])
    """
    x, kind = _real("softmax", x)
    axes = _axes("special.softmax", axis, x)
    return run("special.softmax", _softmax, x, fixed=(axes, kind))


@public
def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax` along some axes (`axis`; all if None).

    x: real numbers -> the same shape and dtype; integers give float64, bools float16
    raises DTypeError: complex numbers, or an axis that is no integer; AxisError: no such axis

    SciPy: `scipy.special.log_softmax`.

    >>> log_softmax([0.25, 0.5])
    array([-0.82593942, -0.57593942])
    """
    x, kind = _real("log_softmax", x)
    axes = _axes("special.log_softmax", axis, x)
    return run("special.log_softmax", _log_softmax, x, fixed=(axes, kind))


# --- programs -------------------------------------------------------------------------------------


def _logsumexp(
    a: Any, b: Any, axes: core.Shape, keepdims: bool, return_sign: bool, kind: dt.DType
) -> Any:
    if kind.is_complex:
        found, sign = _complex_sum(a, b, axes, return_sign)
    else:
        found, sign = _plain_sum(a, axes) if b is None else _weighted_sum(a, b, axes)
    if not return_sign and not kind.is_complex:
        found = pnp.where(sign < 0, found.dtype.type(np.nan), found)
    sign = sign.astype(kind.numpy)
    found = found.astype((kind.real if return_sign else kind).numpy)
    pair = [x if keepdims else pnp.squeeze(x, axes) for x in (found, sign)]
    return tuple(pair) if return_sign else pair[0]


def _greatest(a: Any, axes: core.Shape) -> Any:
    """The greatest element, with the axes kept; -inf of none."""
    if 0 not in a.shape:
        return pnp.max(a, axis=axes, keepdims=True)
    kept = tuple(1 if k in axes else n for k, n in enumerate(a.shape))
    return pnp.full(kept, -np.inf, a.dtype)


def _plain_sum(a: Any, axes: core.Shape) -> tuple[Any, Any]:
    """What is greatest is counted, so that the rest is not lost beside it."""
    most = _greatest(a, axes)
    top = a == most
    rest = pnp.sum(pnp.where(top, a.dtype.type(0), pnp.exp(a - most)), axis=axes, keepdims=True)
    count = pnp.sum(top, axis=axes, keepdims=True).astype(a.dtype)
    found = pnp.log1p(rest / count) + pnp.log(count) + most
    found = pnp.where((count == 0) & (rest == 0), most, found)  # of no elements
    return found, pnp.ones_like(found)


def _weighted_sum(a: Any, b: Any, axes: core.Shape) -> tuple[Any, Any]:
    zero = a.dtype.type(0)
    a = pnp.where(b == zero, a.dtype.type(-np.inf), a)
    most = _greatest(a, axes)
    shift = pnp.where(pnp.isfinite(most), most, zero)
    total = pnp.sum(b * pnp.exp(a - shift), axis=axes, keepdims=True)
    return pnp.log(pnp.abs(total)) + shift, pnp.sign(total)


def _complex_sum(a: Any, b: Any, axes: core.Shape, return_sign: bool) -> tuple[Any, Any]:
    """The one of the greatest real part is taken out, so that the rest is not lost beside it."""
    if b is not None:
        a = pnp.where(b == 0, a.dtype.type(-np.inf), a)
    most = _greatest(a.real, axes)
    shift = pnp.where(pnp.isfinite(most), most, most.dtype.type(0))
    powers = pnp.exp(a - shift)
    total = pnp.sum(powers if b is None else b * powers, axis=axes, keepdims=True)
    if not return_sign:
        return pnp.log(total) + shift, total
    return pnp.log(pnp.abs(total)) + shift, pnp.sign(total)


def _softmax(x: Any, axes: core.Shape, kind: dt.DType) -> Any:
    powers = pnp.exp(x - pnp.max(x, axis=axes, keepdims=True))
    return (powers / pnp.sum(powers, axis=axes, keepdims=True)).astype(kind.numpy)


def _log_softmax(x: Any, axes: core.Shape, kind: dt.DType) -> Any:
    most = pnp.max(x, axis=axes, keepdims=True)
    rest = x - pnp.where(pnp.isfinite(most), most, x.dtype.type(0))
    sums = pnp.log(pnp.sum(pnp.exp(rest), axis=axes, keepdims=True))
    return (rest - sums).astype(kind.numpy)
