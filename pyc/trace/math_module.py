"""Python's `math`, `cmath` and `statistics`, and `scipy.special`, as a traced function sees them.

Functions of traced numbers are those of pyc.numpy in float64 and give Python numbers, weak in
promotion; of other numbers Python's own run. Where `math` raises for a value out of a function's
domain, the compiled program gives NaN or infinity, as NumPy does.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import cache, reduce, update_wrapper
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import UnsupportedOpError
from pyc.forks import load
from pyc.interpreter import type_of, weak_type
from pyc.numpy.core import value
from pyc.trace import dispatch, location, statistics_module
from pyc.trace.concrete import concrete, is_traced
from pyc.trace.tracer import Tracer


def _real(x: Any) -> Any:
    """An operand as float64; TypeError unless it is one real number, as `math` raises it."""
    if isinstance(x, Tracer):
        if x.size != 1:
            raise TypeError("only arrays of one element can be converted to Python scalars")
        if x.dtype.kind == "c":
            raise TypeError("must be a real number, not a complex one")
        return pnp.astype(pnp.reshape(x, ()) if x.ndim else x, np.float64)
    return float(x)


def _number(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of real numbers whose result is a Python number."""
    return lambda *args: function(*map(_real, args)).weakened()


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `_number`, the result a Python integer; integers stay as they are."""

    def rounded(x: Any) -> Any:
        if x.dtype.kind in "iub":
            return pnp.astype(x, np.int64).weakened()
        return pnp.astype(function(_real(x)), np.int64).weakened()

    return rounded


def _log(x: Any, base: Any = math.e) -> Any:
    if type(base) is float and base == math.e:
        return _number(pnp.log)(x)
    if isinstance(base, Tracer):
        return _number(lambda a, b: pnp.log(a) / pnp.log(b))(x, base)
    return _number(lambda a: pnp.log(pnp.asarray(a)) / math.log(base))(x)


def _hypot(*xs: Any) -> Any:
    if len(xs) == 2:
        return _number(pnp.hypot)(*xs)
    return _number(lambda *v: pnp.linalg.vector_norm(pnp.stack([pnp.asarray(x) for x in v])))(*xs)


def _dist(p: Sequence[Any], q: Sequence[Any]) -> Any:
    return _hypot(*(a - b for a, b in zip(p, q, strict=True)))


def _integers(function: Callable[..., Any], empty: int) -> Callable[..., Any]:
    """`gcd` or `lcm` of any number of integers; `empty` is that of none."""
    return lambda *xs: pnp.astype(reduce(function, xs, empty), np.int64).weakened()


def _prod(iterable: Any, *, start: Any = 1) -> Any:
    found = start
    for x in iterable:
        found = found * x
    return found


def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    def close(x: Any, y: Any) -> Any:
        bound = pnp.maximum(rel_tol * pnp.maximum(abs(x), abs(y)), abs_tol)
        return pnp.logical_or(pnp.equal(x, y), pnp.isfinite(x - y) & (abs(x - y) <= bound))

    return _number(close)(a, b)


_SAME_NAME = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos"),
    *("cosh", "degrees", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "fmod", "isfinite"),
    *("isinf", "isnan", "log10", "log1p", "log2", "nextafter", "pow", "radians", "sin", "sinh"),
    *("sqrt", "tan", "tanh"),
)
_MATH: dict[str, Callable[..., Any]] = {
    **{name: _number(getattr(pnp, name)) for name in _SAME_NAME},
    **{name: _whole(getattr(pnp, name)) for name in ("ceil", "floor", "trunc")},
    "modf": lambda x: tuple(v.weakened() for v in pnp.modf(_real(x))),
    "log": _log,
    "hypot": _hypot,
    "dist": _dist,
    "prod": _prod,
    "isclose": _isclose,
    "gcd": _integers(pnp.gcd, 0),
    "lcm": _integers(pnp.lcm, 1),
}


def _complex(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of complex numbers whose result is a Python number."""
    return lambda x: function(pnp.astype(x, np.complex128)).weakened()


def _complex_log(x: Any, base: Any = None) -> Any:
    """`cmath.log`, of any base."""
    log = _complex(pnp.log)
    return log(x) if base is None else log(x) / log(base)


_CMATH: dict[str, Callable[..., Any]] = {
    name: _complex(getattr(pnp, name))
    for name in (
        *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "isfinite"),
        *("isinf", "isnan", "log10", "sin", "sinh", "sqrt", "tan", "tanh"),
    )
} | {"phase": _complex(pnp.angle), "log": _complex_log}


def _view(function: Any, ours: Callable[..., Any] | None, module: str) -> Callable[..., Any]:
    """`function` for traced values too."""

    def traced(*args: Any, **options: Any) -> Any:
        args = tuple(list(a) if hasattr(type(a), "__next__") else a for a in args)
        if not is_traced(args) and not is_traced(options):
            return function(*args, **options)
        (given, named), known = concrete((args, options), needed=ours is None)
        if known:
            return function(*given, **named)
        if ours is None:
            raise UnsupportedOpError(
                f"{module}.{function.__name__} cannot be traced: pyc.numpy has no such function",
                fix="Write it with functions that `pyc.numpy` has, or do it outside the jitted "
                "function,\nor call it when the program runs: `pyc.pure_callback`.",
                place=location.here(),
            )
        return ours(*args, **options)

    return update_wrapper(traced, function)


_OURS = {"math": _MATH, "cmath": _CMATH, "statistics": statistics_module.FUNCTIONS}


@cache
def _table(module: ModuleType) -> dict[str, Any]:
    """The functions of one of these modules, for traced values too."""
    ours = _OURS[module.__name__]
    return {
        name: _view(value, ours.get(name), module.__name__)
        for name, value in vars(module).items()
        if isinstance(value, (FunctionType, BuiltinFunctionType)) and not name.startswith("_")
    }


def counterpart(function: Any) -> Callable[..., Any] | None:
    """The function of `pyc.scipy` of the name of one of `scipy.special` or `scipy.linalg`; None if
    it is another function, or there is none."""
    name = getattr(function, "__name__", "")
    for part in ("special", "linalg"):
        theirs = sys.modules.get(f"scipy.{part}")
        if theirs is not None and getattr(theirs, name, None) is function:
            ours = load(f"pyc.scipy.{part}")
            found: Callable[..., Any] | None = getattr(ours, name) if name in ours.__all__ else None
            return found
    return None


def as_its_loop_takes(ufunc: np.ufunc, inputs: Sequence[Any]) -> list[Any]:
    """Arguments of a ufunc of `scipy.special` in the types that it computes in: those of the first
    of its loops that they fit, which is often float64 beside anything but float32. Types that NumPy
    does not know stay."""
    values = [value(x) for x in inputs]
    kinds = [weak_type(x) or type_of(x).dtype.numpy for x in values]
    try:
        found = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError:
        return values
    return [pnp.astype(pnp.asarray(x), kind) for x, kind in zip(values, found, strict=False)]


def _special(function: Any) -> Any:
    """A function of `scipy.special`: that of pyc where there is one, else for known values."""
    if not isinstance(function, np.ufunc):
        return _view(function, counterpart(function), "scipy.special")

    def traced(*args: Any, **options: Any) -> Any:
        return dispatch.call_ufunc(function, "__call__", args, options)

    return update_wrapper(traced, function)


def member(name: str, found: Any) -> Any:
    """What stands for an attribute of one of these modules; the value itself for others."""
    functions = FunctionType, BuiltinFunctionType, np.ufunc
    return answer(found) if isinstance(found, functions) else found


def answer(value: Any) -> Any:
    """What stands for a function of these modules; the value itself for others."""
    special = sys.modules.get("scipy.special")
    if special is not None and getattr(special, value.__name__, None) is value:
        return _special(value)
    if (getattr(value, "__module__", None) or "").startswith("scipy.linalg."):
        return _view(value, counterpart(value), "scipy.linalg")
    if isinstance(value, np.ufunc):
        return value
    module = sys.modules.get(value.__module__ or "")
    if module is None or module.__name__ not in _OURS:
        return value
    found = _table(module).get(value.__name__, value)
    return found if getattr(found, "__wrapped__", value) is value else value
