"""NumPy's functions on traced arrays and on `Array`s, by NumPy's two protocols.

A table leads from the NumPy function to the function of `pyc.numpy` that has its name, so what
pyc.numpy has is what NumPy code may call. Arguments are matched by NumPy's own signature and handed
on by name: a position never changes its meaning. What has no counterpart is an error that names the
function or the argument, never a conversion to a NumPy array.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

import pyc.numpy as pnp
from pyc.array import Array
from pyc.errors import (
    ArgumentError,
    ConcretizationError,
    DTypeError,
    OptionError,
    TraceError,
    UnsupportedOpError,
)
from pyc.interpreter import is_concrete, is_tracing, type_of, weak_type
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.types import ArrayType
from pyc.numpy import choices, keywords, on_device
from pyc.numpy.core import separated, to_dtype, value
from pyc.trace import (
    calling_functions,
    combining,
    concrete_values,
    location,
    math_views,
    selecting,
    selections,
    updating,
    writing,
)
from pyc.trace.parts import Selected

Function = Callable[..., Any]

_REDUCTIONS: dict[Any, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}
_ACCUMULATIONS: dict[Any, str] = {
    np.add: "cumulative_sum",
    np.multiply: "cumulative_prod",
    np.maximum: "cummax",
    np.minimum: "cummin",
}


_IN_PLACE = frozenset(
    (np.copyto, np.put, np.putmask, np.place, np.fill_diagonal, np.put_along_axis)
)
"""NumPy functions that write into their first argument; `pyc.trace.in_place` has them."""
_AT: dict[Any, str] = {
    np.add: "add",
    np.subtract: "subtract",
    np.multiply: "multiply",
    np.maximum: "max",
    np.minimum: "min",
}
"""Ufuncs whose `at` has a scatter."""


def _change(array: Any, new: Any, what: str) -> None:
    writing().change(array, new, what)


def _shape(x: Any) -> tuple[int, ...]:
    return type_of(value(x)).shape


def _ndim(x: Any) -> int:
    return type_of(value(x)).rank


def _size(x: Any, axis: Any = None) -> int:
    return pnp.size(x, axis)


def _copy(x: Any) -> Any:
    return pnp.asarray(x).copy()


def _is_complex(x: Any) -> bool:
    return type_of(value(x)).dtype.is_complex


def _is_scalar(x: Any) -> bool:
    return bool(pnp.isscalar(x))


def _is_real(x: Any) -> bool:
    return not type_of(value(x)).dtype.is_complex


def _shares_memory(*args: Any, **options: Any) -> NoReturn:
    """Refused: where arrays from outside lie may be another place in each call."""
    raise TraceError(
        "whether arrays share memory may differ from call to call, and nothing looks after it",
        fix="Ask outside of the jitted function, and pass what it gives as an argument.",
        place=location.here(),
    )


def _nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    found = pnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    if choices.copy("np.nan_to_num", copy):
        return found
    _change(x, found, "np.nan_to_num")
    return x if type_of(x).rank else separated(x, (x,))  # `x[()]`, a scalar


def _text(x: Any) -> str:
    return repr(x)


_FACTS: dict[Any, Function] = {
    np.shape: _shape,
    np.ndim: _ndim,
    np.size: _size,
    np.copy: _copy,
    np.iscomplexobj: _is_complex,
    np.isrealobj: _is_real,
    np.isscalar: _is_scalar,
    np.nan_to_num: _nan_to_num,
    np.shares_memory: _shares_memory,
    np.may_share_memory: _shares_memory,
    np.array_repr: _text,
    np.array_str: _text,
    np.array2string: _text,
}
"""NumPy functions of what is known while tracing."""


_CALLING: dict[Any, Function] = {
    np.apply_along_axis: lambda *args, **kwargs: calling_functions().apply_along_axis(
        *args, **kwargs
    ),
    np.apply_over_axes: lambda *args: calling_functions().apply_over_axes(*args),
    np.fromfunction: lambda *args, **kwargs: calling_functions().fromfunction(*args, **kwargs),
}
"""NumPy functions that call a function of the user's."""


def counterpart(function: Any) -> Function | None:
    """What stands for a function or ufunc of NumPy; None if nothing does."""
    return _CALLING.get(function) or _FACTS.get(function) or pnp.counterpart(function)


def _cannot() -> str:
    return "cannot be traced" if is_tracing() else "does not take arrays on a device"


def _refuse(message: str, fix: str = "") -> NoReturn:
    raise UnsupportedOpError(
        message,
        fix=fix
        or (
            "Write it with functions that `pyc.numpy` has, or do it outside the jitted function,\n"
            "or call it when the program runs: `pyc.pure_callback`."
            if is_tracing()
            else "Write it with functions that `pyc.numpy` has, or on the host: `np.asarray(x)`."
        ),
        place=location.here(),
    )


def name_of(function: Any) -> str:
    """A function as users write it: `np.linalg.norm`."""
    path = (getattr(function, "__module__", None) or "numpy").split(".")
    if path[0] != "numpy":
        return str(function.__name__)
    public = (name for name in path[1:] if name != "core" and not name.startswith("_"))
    return ".".join(["np", *public, function.__name__])


def _selected(items: Iterable[Any]) -> bool:
    """Whether elements under a traced mask are among arguments, or in lists of them."""
    return any(
        isinstance(x, Selected) or (type(x) in (list, tuple) and _selected(x)) for x in items
    )


# --- functions ------------------------------------------------------------------------------------


def call_function(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a NumPy function on values of the trace. What pyc.numpy does not have NumPy
    computes, if all arguments are known.

    raises UnsupportedOpError: no counterpart, or an argument that it does not have
    """
    if _selected(args) or _selected(kwargs.values()):
        args = selections().as_arrays(args)
        return selections().call_function(function, args, kwargs)
    if not is_tracing():
        return _call_function(function, args, kwargs)
    try:
        return _call_function(function, args, kwargs)
    except (ConcretizationError, UnsupportedOpError):
        found, known = concrete_values().by_numpy(name_of(function), function, args, kwargs)
        if known:
            return found
        found = selecting().places(function, args, kwargs)
        if found is None:
            raise
        return found


def _call_function(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if function in _IN_PLACE:
        if args and is_concrete(args[0]):
            _change(args[0], None, name_of(function))
        return getattr(writing(), function.__name__)(*args, **kwargs)
    ours = counterpart(function)
    if ours is None:
        _refuse(f"{name_of(function)} {_cannot()}: pyc.numpy has no such function")
    places = _places(function, ours, len(args), tuple(kwargs))
    if places is not None:
        given = (*args, *kwargs.values())
        return ours(*[given[k] for k in places[0]], **{name: given[k] for name, k in places[1]})
    out, args, kwargs = _without_out(function, args, kwargs)
    positional, named = _arranged(function, ours, args, kwargs)
    found = ours(*positional, **named)
    if out is None:
        return found
    core = 0 if function in _STRETCHED else None
    return _given(out, found, f"{name_of(function)}: `out=`", core=core)


@cache
def _places(
    theirs: Any, ours: Function, count: int, names: tuple[str, ...]
) -> tuple[list[int], list[tuple[str, int]]] | None:
    """Which of so many arguments, and of those with these names behind them, `ours` takes by
    position, and which by what name; None if that depends on what they are."""
    given = dict(zip(names, range(count, count + len(names)), strict=True))
    try:
        out, args, kwargs = _without_out(theirs, range(count), given)
        positional, named = _arranged(theirs, ours, args, kwargs)
    except (UnsupportedOpError, ArgumentError):
        return None
    known = len(positional) + len(named) == count + len(names)
    return ([*positional], [*named.items()]) if out is None and known else None


def _without_out(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, Sequence[Any], Mapping[str, Any]]:
    """The array that a call is to write to, None for none, and the call without it."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in keywords.parameters(function) or () if p.kind in kinds]
    given = dict(kwargs)
    if "out" in names[: len(args)]:
        at = names.index("out")
        given.update(zip(names[at:], args[at:], strict=False))
        args = args[:at]
    out = given.pop("out", None)
    return (out[0] if isinstance(out, tuple) else out), args, given


_STRETCHED = {
    *(np.clip, np.fix, np.isneginf, np.isposinf, np.outer, np.einsum, np.quantile, np.percentile),
    *(np.nanquantile, np.nanpercentile, np.nanmedian),
}
"""Functions whose result NumPy broadcasts to the shape of `out=`. Of others it must have that
shape: NumPy raises, so that a mistake in a shape is not hidden."""


def _given(out: Any, found: Any, what: str, where: Any = True, core: int | None = 0) -> Any:
    """`out`, changed to a result where `where` holds. A NumPy array outside of a trace is
    written. core: how many of the last axes are not broadcast; None: the shapes are equal."""
    written = type(out) is np.ndarray and not is_tracing() and type(found) is not Array
    if is_concrete(out) and not written:
        _change(out, found, what)
    new = updating.fitted(what, out, found, core)
    new = new if where is True else updating.under_mask(what, out, new, where)
    if written:
        np.copyto(out, new)
    else:
        _change(out, new, what)
    return out


def _arranged(
    theirs: Any, ours: Function, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Arguments of NumPy's function as arguments of ours."""
    own = keywords.parameters(ours) or ()
    names = {p.name for p in own if p.kind is not p.POSITIONAL_ONLY}
    open_ended = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in own)
    given = keywords.parameters(theirs)
    named: dict[str, Any] = {}
    positional: list[Any] = []
    if given is None or open_ended or any(p.kind is p.VAR_POSITIONAL for p in given):
        positional = list(args)
    else:
        # Leading parameters correspond by position while they are arrays or have equal names.
        aligned = True
        for k, value in enumerate(args):
            same = k < len(own) and (
                own[k].kind is inspect.Parameter.POSITIONAL_ONLY
                or own[k].name == keywords.RENAMED.get(given[k].name, given[k].name)
                or k == 0
            )
            aligned = aligned and same
            if aligned and own[k].kind is not inspect.Parameter.KEYWORD_ONLY:
                positional.append(value)
            else:
                named[given[k].name] = value
    named.update(kwargs)
    if given and not positional and given[0].name in named and given[0].name not in names:
        positional.append(named.pop(given[0].name))
    out: dict[str, Any] = {}
    for name, value in named.items():
        renamed = name if name in names else keywords.RENAMED.get(name, name)
        if renamed in names or open_ended:
            out[renamed] = value
        elif not keywords.changes_nothing(name, value, theirs.__name__):
            _refuse_argument(name_of(theirs), name)
    return positional, out


def _refuse_argument(function: str, name: str) -> NoReturn:
    own = function.removeprefix("np.").removeprefix("linalg.").split(".")
    _refuse(f"{function}: the argument `{name}` {_cannot()}", keywords.fix_of(own[0], name))


def _refuse_foreign(name: str) -> NoReturn:
    """Refuses a ufunc that is not NumPy's, such as those of `scipy.special`."""
    _refuse(
        f"the ufunc `{name}` of another library than NumPy {_cannot()}",
        f"Write `pyc.numpy.{name}`." if name in pnp.__all__ else "",
    )


# --- ufuncs ---------------------------------------------------------------------------------------


def with_scalars(inputs: tuple[Any, ...], references: int | None = None) -> tuple[Any, ...]:
    """The inputs of `__array_ufunc__`, with scalars for arrays of rank 0 that NumPy has made of
    scalars, as it does on the left of a comparison. Nobody else refers to such an array, so it
    cannot change. references: how many there are then."""
    limit = _references if references is None else references
    return tuple(
        x[()] if type(x) is np.ndarray and not x.ndim and sys.getrefcount(x) <= limit else x
        for x in inputs
    )


class _Probe:
    """Counts the references to an array that NumPy makes of a scalar."""

    count = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        count = 0
        while type(with_scalars(inputs, count)[0]) is np.ndarray:
            count += 1
        return count


_references: int = np.float64(0) < _Probe()  # type: ignore[operator]


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """The result of a method of a ufunc on values of the trace. What pyc.numpy does not have NumPy
    computes, if all inputs are known.

    raises UnsupportedOpError: no counterpart, or an argument that it does not have; TraceError: it
    writes into an array (`out=`, and `a += traced` for a NumPy array `a`)
    """
    if _selected(inputs):
        inputs = selections().as_arrays(inputs)
        if method == "at" and ufunc in _AT and len(inputs) == 3 and not is_concrete(inputs[0]):
            new = selecting().combined(*inputs, _AT[ufunc])
            return _change(inputs[0], new, f"np.{ufunc.__name__}.at")
        return selections().call_ufunc(ufunc, method, inputs, options)
    if not is_tracing():
        return _call_ufunc(ufunc, method, inputs, options)
    try:
        return _call_ufunc(ufunc, method, inputs, options)
    except UnsupportedOpError:
        run = ufunc if method == "__call__" else getattr(ufunc, method)
        found, known = concrete_values().by_numpy(f"np.{ufunc.__name__}", run, inputs, options)
        if known:
            return found
        raise


def _call_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    name = f"np.{ufunc.__name__}"
    if method == "__call__" and options:
        _check_options(name, ufunc, inputs, options)
    out = next((o for o in options.get("out", ()) if o is not None), None)
    if method == "at":
        array, key, *values = inputs
        if is_concrete(array) or not is_tracing():
            _change(array, None, f"{name}.at")
        _change(array, _changed_at(name, ufunc, array, key, values), f"{name}.at")
        return None
    if out is not None:
        if is_concrete(out) and not is_tracing():
            if any(type(x) is Array for x in inputs):
                _change(out, None, f"{name}: `out=`, or an augmented assignment,")
        elif is_concrete(out):
            raise TraceError(
                f"{name}: a traced value would be written into a NumPy array in place (`out=`, or "
                "an augmented assignment such as `a += x`)",
                fix="Make a new array: `a = a + x`, `y = f(x)`.",
                place=location.here(),
            )
        rest = {k: v for k, v in options.items() if k not in ("out", "casting")}
        where = rest.pop("where", True) if method == "__call__" else True
        if where is not True and ufunc is np.power:  # what is not asked for must not fail
            inputs = (inputs[0], pnp.where(where, inputs[1], pnp.astype(inputs[1], np.int8) * 0))
        found = call_ufunc(ufunc, method, inputs, rest)
        core = _core_axes(ufunc) if method in ("__call__", "outer") else None
        if not isinstance(found, tuple):
            return _given(out, found, f"{name}: `out=`", where, core)
        return tuple(
            f if o is None else _given(o, f, f"{name}: `out=`", where, core)
            for o, f in zip(options["out"], found, strict=True)
        )
    rest = {k: v for k, v in options.items() if k != "out" and not keywords.changes_nothing(k, v)}
    if method == "__call__":
        ours = counterpart(ufunc)
        if ours is None and getattr(np, ufunc.__name__, None) is not ufunc:
            ours = math_views().counterpart(ufunc) or _refuse_foreign(ufunc.__name__)
            inputs = math_views().as_its_loop_takes(ufunc, inputs)
        if ours is None:
            _refuse(f"{name} {_cannot()}: pyc.numpy has no such function")
        dtype = rest.pop("dtype", None)
        if ufunc.signature and rest.keys() & {"axis", "axes", "keepdims"}:
            return combining().along(ufunc, ours, inputs, dtype, **rest)
        if rest:
            _refuse_argument(name, next(iter(rest)))
        return ours(*inputs) if dtype is None else _in_type(ufunc, ours, inputs, dtype)
    if method == "outer":
        if rest or len(inputs) != 2:
            _refuse_argument(f"{name}.outer", next(iter(rest), "inputs"))
        x, y = (pnp.asarray(v) for v in inputs)
        return call_ufunc(ufunc, "__call__", (pnp.reshape(x, x.shape + (1,) * y.ndim), y), {})
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature or counterpart(ufunc) is None:
        _refuse(f"{name}.{method} {_cannot()}")
    for option in rest:
        if option not in _OPTIONS[method]:
            _refuse_argument(f"{name}.{method}", option)
    if method == "reduce" and rest.get("keepdims") is False:
        del rest["keepdims"]
    axis = rest.pop("axis", None) if "axis" in options else 0
    if method != "reduce":
        axis = _running_axis(f"{name}.{method}", axis, type_of(value(inputs[0])))
    known = {"reduce": _REDUCTIONS, "accumulate": _ACCUMULATIONS}.get(method, {})
    if ufunc in known:
        allowed = {"keepdims", "where"} if method == "reduce" else set()
        if ufunc in (np.add, np.multiply, np.maximum, np.minimum) and method == "reduce":
            allowed.add("initial")
        if ufunc in (np.add, np.multiply):
            allowed.add("dtype")
        if rest.keys() <= allowed:
            (x,) = inputs
            return getattr(pnp, known[ufunc])(x, axis=axis, **rest)
    run, given = getattr(combining(), method), (ufunc.__name__, *inputs)
    if not is_tracing() and not on_device.is_whole(given, rest):
        found = run(*given, axis=axis, **rest)
        found = found[()] if isinstance(found, np.ndarray) else found  # scalars for rank 0
    else:
        found = on_device.run(run, given, {"axis": axis, **rest})
    return separated(found, inputs)


def _core_axes(ufunc: np.ufunc) -> int:
    """How many axes of a result are no axes of a loop: two of a product of matrices."""
    if not ufunc.signature:
        return 0
    names = ufunc.signature.rpartition("->")[2].strip("()")
    return len(names.split(",")) if names else 0


def _running_axis(name: str, axis: Any, given: ArrayType) -> Any:
    """The axis along which a ufunc accumulates; None names that of a line."""
    if not given.rank:
        raise DTypeError(
            f"{name}: needs rank 1 or more, got {given}",
            fix="A number is its own result: leave the call out.",
            place=location.here(),
        )
    if axis is None and given.rank > 1:
        raise ArgumentError(f"{name}: {given} has several axes: give one", place=location.here())
    return 0 if axis is None else axis


_OPTIONS = {
    "reduce": ("axis", "dtype", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype"),
    "reduceat": ("axis", "dtype"),
}
"""What methods of ufuncs take beside their inputs and `out`."""


def _changed_at(name: str, ufunc: np.ufunc, array: Any, key: Any, values: Sequence[Any]) -> Any:
    """A traced array after `ufunc.at(array, key, *values)`."""
    how = _AT.get(ufunc) if len(values) == 1 else None
    if how is None or not _casts_first(how, array, values[0]):
        if ufunc.nin != 1 + len(values) or ufunc.nout != 1 or counterpart(ufunc) is None:
            _refuse(f"{name}.at {_cannot()}")
        return combining().changed_at(ufunc.__name__, array, key, *values)
    return getattr(array.at[key], how)(values[0])


def _casts_first(how: str, array: Any, new: Any) -> bool:
    """Whether values that are cast to the type of the array first give what NumPy computes in the
    common type, and casts then."""
    old, given = type_of(array).dtype, type_of(value(new)).dtype
    if old.is_integer and given.is_integer:
        wraps = how not in ("min", "max") or weak_type(new) is int
        return wraps or np.can_cast(given.numpy, old.numpy, "safe")
    return np.can_cast(given.numpy, old.numpy, "same_kind")


def _check_options(
    name: str, ufunc: np.ufunc, inputs: Sequence[Any], options: Mapping[str, Any]
) -> None:
    """Refuses what NumPy does not take as options of a call of a ufunc; NumPy tells, of no
    elements.

    raises OptionError: a value that an option never has, or an option that this ufunc has not;
    DTypeError: `casting=` rules out a conversion of an input, or of a result to its `out=`
    """
    where = options.get("where", True)
    if where is not True and type_of(value(where)).dtype is not dt.b1:
        raise updating.no_mask(name, value(where))
    asked = {k: v for k, v in options.items() if k in _JUDGED}
    if ufunc.signature and "where" in options:
        raise OptionError(
            f"{name}: has no `where`: its elements are sums", fix=_WHERE, place=location.here()
        )
    if not asked:
        return
    types = [type_of(x) for x in map(value, inputs)]
    kinds = [weak_type(x) or t.dtype.numpy for x, t in zip(map(value, inputs), types, strict=True)]
    if ufunc.signature:
        if not all(t.rank for t in types):
            return
        given = [np.zeros((1,) * t.rank, t.dtype.numpy) for t in types]
    else:
        given = [np.empty(0, k) if isinstance(k, np.dtype) else k(1) for k in kinds]
        outs = options.get("out")
        if outs is not None:
            outs = (o if o is None else np.empty(0, type_of(o).dtype.numpy) for o in outs)
            asked["out"] = tuple(outs)
    casting = choices.casting(name, options.get("casting", "same_kind"))
    if casting in keywords.STRICT and "dtype" in options:
        asked["dtype"] = options["dtype"]
    try:
        with np.errstate(all="ignore"):
            ufunc(*given, **asked)
    except np.exceptions.AxisError:
        return  # told below, of the arrays themselves
    except (TypeError, ValueError) as error:
        if type(error) in (TypeError, ValueError):
            fix = next((_FIXES[k] for k in asked if k in _FIXES), "")
            told = f"{name}: refused by NumPy: {error}"
            raise OptionError(told, fix=fix, place=location.here()) from None
        shown = ", ".join(str(k) if isinstance(k, np.dtype) else k.__name__ for k in kinds)
        raise DTypeError(
            f"{name}: casting={casting!r} rules out a conversion that "
            f"operands of {shown} need here",
            fix="Convert them before, `.astype(dtype)`, or leave `casting` out.",
            place=location.here(),
        ) from None


_FIXES = {
    "axes": "Write a tuple for each input, and for the result.",
    "axis": "Move the axes before: `np.moveaxis`.",
    "keepdims": "Leave it out: only sums of vectors keep an axis.",
    "signature": "Leave it out, or write `dtype=`.",
}
"""What to write in place of some options that NumPy refuses."""
_WHERE = "Choose among the results: `np.where(mask, product, other)`."
_JUDGED = ("casting", "order", "subok", "signature", "axis", "axes", "keepdims")
"""Options of ufuncs that NumPy judges."""


def _in_type(ufunc: np.ufunc, ours: Function, inputs: Sequence[Any], dtype: Any) -> Any:
    """The result of a ufunc computed in a type, to which its inputs must lead by NumPy's rule
    "same_kind"."""
    name, kind = f"np.{ufunc.__name__}", to_dtype(dtype)
    if all(loop.endswith("?") for loop in ufunc.types if "O" not in loop):
        if kind is not dt.b1:
            raise _no_loop(name, kind)
        return ours(*inputs)
    for x in map(value, inputs):
        given = type_of(x).dtype
        whole = weak_type(x) is int and kind.is_integer
        if not whole and not np.can_cast(given.numpy, kind.numpy, "same_kind"):
            raise DTypeError(
                f"{name}: an input of dtype {given.name} does not lead to dtype {kind.name}",
                fix="Convert it before: `.astype(dtype)`.",
                place=location.here(),
            )
    found = ours(*(pnp.asarray(x, kind) for x in inputs))
    if any(type_of(x).dtype is not kind for x in (found if isinstance(found, tuple) else (found,))):
        raise _no_loop(name, kind)
    return found


def _no_loop(name: str, kind: DType) -> DTypeError:
    return DTypeError(
        f"{name}: does not compute in dtype {kind.name}",
        fix="Convert the arguments or the result: `.astype(dtype)`.",
        place=location.here(),
    )


__all__ = ["call_function", "call_ufunc", "counterpart"]
