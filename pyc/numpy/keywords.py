"""Keyword arguments that NumPy's functions take and pyc's do not, and `device=`.

A new array is NumPy's outside of a trace, of rank 0 too, unless a GPU is named: then it is an
`Array` there. A program runs on one device, so a traced function names none.

Of NumPy's keyword arguments one that asks for nothing (`where=True`, `order="C"`, `out=None`) is
ignored, any other is refused by name with what to write instead. What NumPy does not take either
stays Python's own TypeError.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, wraps
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from pyc.array import Array, moved
from pyc.device import device_named
from pyc.errors import ArgumentError, DTypeError, OptionError, UnsupportedOpError
from pyc.forks import load
from pyc.interpreter import is_tracing
from pyc.numpy import choices, on_device
from pyc.numpy.core import separated

_WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "order": ("K", "C", "A", None),
    "where": (True,),
    "kind": ("introselect",),
    "ndmax": (),
    "copy": (True,),
    "initial": (),  # None asks for the first element in place of an identity
}
"""Arguments that ask for nothing that would change the result, and their values; of others None."""

_CHOICES: dict[str, Callable[[str, Any], Any]] = {
    "order": choices.order,
    "casting": choices.casting,
    "copy": choices.copy,
    "like": choices.like,
    "subok": lambda _, given: choices.truth(given),
    "overwrite_input": lambda _, given: choices.truth(given),
    "ndmax": choices.most_axes,
}
"""What looks at an argument: it raises what NumPy would for a value that the argument never has."""

_NEVER = ("casting", "like", "subok", "overwrite_input")
"""Those of `_CHOICES` that change no result, whichever they are."""

_SORTS = ("sort", "argsort", "partition", "argpartition")
"""Functions whose `order=` names fields."""

STRICT = ("no", "equiv", "safe")
"""Rules of `casting=` that refuse what ufuncs convert otherwise."""

RENAMED = {"a_min": "min", "a_max": "max", "ddof": "correction", "x1": "a", "x2": "b"}
"""Parameters of NumPy that pyc.numpy knows by another name."""

_UFUNC = ("out", "where", "casting", "order", "dtype", "subok", "signature", "axes", "axis")
"""What every ufunc takes, which Python cannot tell before NumPy 2.4."""

_OF_UFUNCS = (
    "dtype",
    "axis",
    "axes",
    "keepdims",
    "casting",
    "order",
    "subok",
    "signature",
    "where",
)
"""What `pyc.trace.dispatch` does for ufuncs, or refuses."""
_METHODS = ("accumulate", "at", "outer", "reduce", "reduceat")

_MASKED: dict[str, tuple[str, ...]] = {
    **{
        prefix + name: ("where", "initial")
        for name in ("sum", "prod", "max", "min")
        for prefix in ("", "nan")
    },
    **{prefix + name: ("where",) for name in ("mean", "var", "std") for prefix in ("", "nan")},
    **dict.fromkeys(("any", "all"), ("where",)),
    **dict.fromkeys(("amax", "amin"), ("where", "initial")),
}
"""What reductions take beside their own arguments; `pyc.numpy.masked` does it."""

_DEFAULTS = {"where": True, "initial": np._NoValue}
"""What `_MASKED` are by default: `initial=None` is something else."""

_VIEWS = frozenset(
    (
        *("array", "array_split", "asanyarray", "asarray", "asarray_chkfinite", "asfortranarray"),
        *("ascontiguousarray", "astype", "require"),
        *("atleast_1d", "atleast_2d", "atleast_3d"),
        *("broadcast_arrays", "broadcast_to", "diag", "diagonal", "expand_dims", "flip"),
        *("fliplr", "flipud", "imag", "matrix_transpose", "moveaxis", "permute_dims", "ravel"),
        *("real", "reshape", "rollaxis", "rot90", "split", "squeeze", "swapaxes", "transpose"),
        *("dsplit", "einsum", "hsplit", "sliding_window_view", "unstack", "vsplit"),
    )
)
"""Functions whose results may share memory with their arguments, as in NumPy."""
_SELDOM_VIEWS = ("diff", "ix_", "matrix_power", "meshgrid", "real_if_close")
"""Those that compute what they give but for some arguments, as `diff(x, n=0)`."""
_OWN_FORM = (
    *("copyto", "fill_diagonal", "from_dlpack", "place", "put", "put_along_axis", "putmask"),
    *("apply_along_axis", "apply_over_axes", "fromfunction", "vectorize"),
)
"""Functions that take what they name only."""

_MAKERS = (
    *("arange", "array", "asanyarray", "asarray", "empty", "empty_like", "eye", "full"),
    *("full_like", "identity", "fft.fftfreq", "fft.rfftfreq", "linspace", "ones", "ones_like"),
    *("zeros", "zeros_like"),
)
"""Functions that make arrays: they take `device=`, and give arrays of rank 0."""
_CONVERTERS = ("astype",)
"""Functions that take `device=`, and give scalars for scalars."""
_OF_ARRAYS = ("broadcast_to", "flip", "permute_dims", "reshape", "squeeze", "transpose")
"""Functions that take no `device=`, and give arrays of rank 0."""

_LAID_OUT = (
    *("array", "asarray", "astype", "copy", "empty", "empty_like", "eye", "full", "full_like"),
    *("ones", "ones_like", "zeros", "zeros_like"),
)
"""Functions of which `order="F"` asks for another place of the same elements in memory: arrays lie
by rows."""

_FIXES = {
    "out": "Use what the function returns: `y = np.{name}(...)`.",
    "order": "Leave it out: arrays made while tracing are in C order.",
    "dtype": "Convert the arguments or the result: `.astype(dtype)`.",
    "casting": "Convert the arguments before: `.astype(dtype)`.",
    "axes": "Move the axes before and after: `np.moveaxis`.",
}


def changes_nothing(name: str, value: Any, function: str = "") -> bool:
    """Whether a keyword argument of NumPy leaves the result as it would be without. function: whose
    it is, by its name in NumPy.

    raises ArgumentError, OptionError: a value that NumPy's argument never has
    """
    if value is np._NoValue:
        return True
    if name == "order" and function in _SORTS:
        choices.no_fields(function, value)
    elif name == "kind" and function in _SORTS:
        value = choices.text(function, "kind", value, ("introselect",))
    elif name == "subok" and function.endswith("_like"):
        return choices.flag(function, name, value) in (True, False)
    elif name in _CHOICES:
        value = _CHOICES[name](function or "np", value)
        if name in _NEVER or (name == "order" and value == "F" and function in _LAID_OUT):
            return True
    return any(
        value is v or (type(value) is type(v) and value == v)
        for v in _WITHOUT_EFFECT.get(name, (None,))
    )


def fix_of(function: str, name: str) -> str:
    """What to write in place of an argument of `function`, as NumPy calls it."""
    if name == "where":
        return (
            f"Say what the other elements are: `np.{function}(..., where=mask, out=...)` with an "
            f"array made for it,\nor `np.where(mask, np.{function}(...), other)`."
        )
    known = _FIXES.get(name)
    if known is not None:
        return known.format(name=function)
    return "Leave it out, or apply its effect to the arguments or the result."


def refuse(shown: str, function: str, name: str) -> NoReturn:
    """UnsupportedOpError for an argument. shown: the function as the user calls it; function: its
    name in NumPy."""
    raise UnsupportedOpError(
        f"{shown}: the argument `{name}` cannot be traced", fix=fix_of(function, name)
    )


def _placed(found: Any, device: Any) -> Any:
    """A new array where it was asked for: "cpu" leaves NumPy's as they are."""
    if device is None or (type(found) is not Array and str(device) in ("cpu", "cpu:0")):
        return found
    return moved(found, device_named(device))


@cache
def parameters(function: Any) -> tuple[inspect.Parameter, ...] | None:
    """The parameters of a function, None if Python cannot tell."""
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _by_position(function: Any) -> list[str]:
    """The names of the parameters of a function that may be given by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters(function) or () if p.kind in kinds]


def _names(theirs: Any) -> tuple[str, ...]:
    """The parameters of a NumPy function that may be given by name."""
    known = None if isinstance(theirs, np.ufunc) else parameters(theirs)
    return _UFUNC if known is None else tuple(p.name for p in known)


def as_ours(
    function: Callable[..., Any],
    shown: str,
    theirs: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments of a call that `function` does not take, under its own names and less those
    that ask for nothing; None if they are not NumPy's either. shown: the function as the user
    calls it; theirs: NumPy's.

    raises UnsupportedOpError: an argument of NumPy's that would change something
    """
    own = [p.name for p in parameters(function) or ()]
    names = _names(theirs)
    positional, named, changed = list(args), {}, False
    for name, value in kwargs.items():
        renamed = name if name in own else RENAMED.get(name, name)
        if renamed in named:
            raise ArgumentError(f"{shown}: `{name}` and `{renamed}` are one argument")
        if renamed in own[: len(args)]:
            raise OptionError(
                f"{shown}: `{renamed}` is given twice, by place and by name",
                fix="Give it once.",
            )
        if renamed in own:
            named[renamed] = value
        elif name not in names:
            return None
        elif name == names[0] and not positional:
            positional.append(value)
        elif not changes_nothing(name, value, function.__name__):
            refuse(shown, function.__name__, name)
        changed = changed or renamed not in own or renamed != name
    return (positional, named) if changed else None


def _as_numpy_has_it(
    function: Callable[..., Any], theirs: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether a call has arguments that calls of NumPy's own function may have: types and axes of a
    ufunc, more by position than `function` takes, and outside of a trace an array to write to."""
    if isinstance(theirs, np.ufunc):
        if any(k in _OF_UFUNCS for k in kwargs):
            return True
        return not is_tracing() and (len(args) > theirs.nin or "out" in kwargs)
    names = _by_position(theirs) if len(args) > 1 else []
    if len(_by_position(function)) < len(args) <= len(names):
        return True
    if is_tracing():
        return False
    at = names.index("out") if "out" in names[: len(args)] else len(args)
    return isinstance(kwargs.get("out", args[at] if at < len(args) else None), np.ndarray)


def _by_dispatch(theirs: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call that has the arguments of NumPy's own function."""
    dispatch, options = load("pyc.trace.dispatch"), dict(kwargs)
    if not isinstance(theirs, np.ufunc):
        return dispatch.call_function(theirs, args, options)
    inputs = args[: theirs.nin]
    out = args[theirs.nin :] or options.pop("out", None)
    if isinstance(kwargs.get("out"), tuple) and len(kwargs["out"]) != theirs.nout:
        raise ArgumentError(
            f"{theirs.__name__}: `out` is a tuple of {len(out)} for {theirs.nout} results"
        )
    if "out" in kwargs and theirs.nout > 1 and isinstance(out, np.ndarray):
        raise DTypeError(f"{theirs.__name__}: `out` must be a tuple of {theirs.nout} arrays")
    out = out if isinstance(out, tuple) else (out,)
    if len(out) > theirs.nout or not all(x is None or isinstance(x, np.ndarray) for x in out):
        raise DTypeError(
            f"{theirs.__name__}: `out` is an array for each of the {theirs.nout} results, got "
            f"{', '.join(type(x).__name__ for x in out)}"
        )
    if any(x is not None for x in out):
        options["out"] = (*out, *[None] * (theirs.nout - len(out)))
    return dispatch.call_ufunc(theirs, "__call__", inputs, options)


def explained(
    function: Callable[..., Any],
    shown: str,
    theirs: Any,
    *,
    separate: bool = False,
    computes: bool = False,
    more: tuple[str, ...] = (),
    takes_device: bool = False,
    gives_arrays: bool = False,
) -> Callable[..., Any]:
    """`function` with NumPy's keyword arguments taken or refused by name. separate: its results
    share memory with none of its arguments; computes: it is no mere view, so that it pays to run
    as one program; more: what it takes of `_MASKED`; takes_device: it
    takes `device=`; gives_arrays: of rank 0, too, in place of scalars."""
    whole = computes and not takes_device and not gives_arrays

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.pop("device", None) if takes_device else None
        if device is not None and is_tracing():
            raise UnsupportedOpError(
                f"{shown}: `device` in a traced function",
                fix="Leave it out: the arrays of a program are on the device that it runs on.",
            )
        if on_device.is_whole(args, kwargs):
            return _placed(on_device.run(run, args, kwargs), device)
        if whole:
            found = on_device.as_one(run, args, kwargs)
            if found is not on_device.OP_BY_OP:
                return found
        try:
            found = function(*args, **kwargs)
        except (TypeError, ValueError, MemoryError) as error:
            entered = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            if entered or not isinstance(error, TypeError):
                of_pyc = load("pyc.wrong_arguments").of_pyc
                clearer = of_pyc(error, shown, function, args, kwargs)
                if clearer is None:
                    raise
                raise clearer from error
            if _as_numpy_has_it(function, theirs, args, kwargs):
                return _by_dispatch(theirs, args, kwargs)
            asked = {k: kwargs.pop(k) for k in more if k in kwargs}
            given = as_ours(function, shown, theirs, args, kwargs)
            if given is None and not asked:
                raise
            args, kwargs = (tuple(given[0]), given[1]) if given else (args, kwargs)
            asked = {k: v for k, v in asked.items() if not changes_nothing(k, v)}
            if asked:
                bound = inspect.signature(function).bind(*args, **kwargs).arguments
                masked = load("pyc.numpy.masked")
                if asked.get("initial", 0) is None:
                    masked.check_first(function.__name__, asked.get("where", True), **bound)
                    del asked["initial"]
            if asked:
                found = masked.reduced(function.__name__, **bound, **asked)
            else:
                found = function(*args, **kwargs)
        found = separated(found, (*args, *kwargs.values())) if separate else found
        if gives_arrays and isinstance(found, np.generic) and not is_tracing():
            found = np.asarray(found)
        return found if device is None else _placed(found, device)

    if more or takes_device:
        own = parameters(function) or ()
        named = inspect.Parameter.KEYWORD_ONLY
        new = [
            inspect.Parameter(k, named, default=_DEFAULTS.get(k), annotation=Any)
            for k in (*more, *(("device",) if takes_device else ()))
        ]
        run.__signature__ = inspect.Signature([*own, *new])  # type: ignore[attr-defined]
    return run


_REDUCING = ("axis", "dtype", "out", "keepdims", "initial", "where")
_BY_PLACE = {"reduce": _REDUCING, "accumulate": _REDUCING[:3], "reduceat": _REDUCING[:3]}
"""Arguments of a ufunc's methods that may be given by place, behind what they are of."""


def options_of_method(
    method: str, given: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of `reduce`, `accumulate` or `reduceat`, given by place and by name, as
    `call_ufunc` takes them. The axis is 0 by default.

    raises TypeError: too many, or one given by place and by name
    """
    names = _BY_PLACE[method]
    if len(given) > len(names):
        raise TypeError(f"{method}: {len(given) - len(names)} more arguments than it has")
    by_place = dict(zip(names, given, strict=False))
    for name in by_place.keys() & named.keys():
        raise TypeError(f"{method}: the argument `{name}` is given twice")
    found = {"axis": 0, **by_place, **named}
    out = found.pop("out", None)
    return found if out is None else {**found, "out": out if type(out) is tuple else (out,)}


def _of_ufunc(theirs: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """A method of a ufunc: `pyc.numpy.add.reduce(x)`. Outside of a trace `at` changes NumPy's
    arrays, as NumPy does."""
    if method == "at" and type(args[0]) is np.ndarray and not is_tracing():
        return theirs.at(*args, **kwargs)
    if method in _BY_PLACE:
        count = 2 if method == "reduceat" else 1
        args, kwargs = args[:count], options_of_method(method, args[count:], kwargs)
    return load("pyc.trace.dispatch").call_ufunc(theirs, method, args, kwargs)


def give_keywords(
    members: dict[str, Any], names: Sequence[str], theirs: Any, path: str = ""
) -> None:
    """Gives the functions of a module NumPy's keyword arguments, which they take or refuse by name,
    and results of their own to all but those of views.

    members: of the module, which are replaced; names: the public ones; theirs: NumPy's module;
    path: what users write before a name
    """
    for name in names:
        found = members.get(name)  # `bfloat16` is made when it is asked for
        if not isinstance(found, FunctionType) or name in _OWN_FORM:
            continue
        shown, computes = f"pyc.numpy.{path}{name}", name not in _VIEWS
        ufunc = getattr(theirs, name, None)
        members[name] = explained(
            found,
            shown,
            getattr(theirs, name, None),
            separate=computes and name not in _SELDOM_VIEWS,
            computes=computes,
            more=() if path else _MASKED.get(name, ()),
            takes_device=path + name in (*_MAKERS, *_CONVERTERS),
            gives_arrays=path + name in (*_MAKERS, *_OF_ARRAYS),
        )
        if isinstance(ufunc, np.ufunc) and ufunc.nin == 2 and not ufunc.signature:
            for method in _METHODS:
                setattr(members[name], method, partial(_of_ufunc, ufunc, method))
