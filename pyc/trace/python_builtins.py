"""Python's builtins as a traced function sees them.

Functions that compare, count or convert work on traced values too, with Python's meaning: `min` and
`max` return one of their operands, `float(x)` gives a Python number (weak in promotion), `any` one
truth value. Where no operand is traced, or the truth of a comparison is known, Python's own runs.
`eval` and `exec` are refused: names in their code would bypass the view.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

import pyc.numpy as pnp
from pyc.errors import DTypeError, UnsupportedOpError
from pyc.trace import filters, folds, location, modular, stacks
from pyc.trace.modules import CONVERTERS, STANDS_FOR
from pyc.trace.parts import Selected, Sized
from pyc.trace.tracer import Tracer

NOTHING = object()

# --- conversions ----------------------------------------------------------------------------------


def _scalar(x: Tracer, name: str) -> Any:
    """`x` of one element as rank 0; TypeError for others, as NumPy raises it."""
    if x.size != 1:
        raise TypeError(f"{name}(): only arrays of one element can be converted to Python scalars")
    return pnp.reshape(x, ()) if x.ndim else x


def _to_float(*args: Any) -> Any:
    """`float(x)`: a Python float, of which the value may be known only when the program runs."""
    if len(args) != 1 or not isinstance(args[0], Tracer) or args[0].known() is not None:
        return float(*args)
    if args[0].dtype.kind == "c":
        raise TypeError("float() argument must be a real number, not a complex one")
    return pnp.astype(_scalar(args[0], "float"), np.float64).weakened()


def _to_int(*args: Any, **options: Any) -> Any:
    """`int(x)`: a Python integer, rounded towards zero."""
    if len(args) != 1 or not isinstance(args[0], Tracer) or args[0].known() is not None:
        return int(*args, **options)
    x = args[0]
    if x.dtype.kind == "c":
        raise TypeError("int() argument must be a real number, not a complex one")
    if x.dtype == np.uint64:
        raise DTypeError(
            "int() of a traced uint64, which may not fit the int64 that stands for a Python int",
            fix="Write `x.astype(np.int64)`, which wraps around as NumPy does.",
            place=location.here(),
        )
    return pnp.astype(_scalar(x, "int"), np.int64).weakened()


def _to_bool(*args: Any) -> Any:
    """`bool(x)`."""
    if len(args) != 1 or not isinstance(args[0], Tracer) or args[0].known() is not None:
        return bool(*args)
    if args[0].size != 1:
        return bool(args[0])  # raises
    return pnp.astype(_scalar(args[0], "bool"), np.bool_).weakened()


def _to_complex(*args: Any, **options: Any) -> Any:
    """`complex(x)`, `complex(re, im)`."""
    given = [*args, *options.values()]
    if not any(isinstance(x, Tracer) and x.known() is None for x in given):
        return complex(*args, **options)
    parts = dict(zip(("real", "imag"), args), **options)
    re, im = (
        pnp.astype(_scalar(pnp.asarray(parts.get(k, 0)), "complex"), np.complex128)
        for k in ("real", "imag")
    )
    return (re + im * 1j if "imag" in parts else re).weakened()


def _type(*args: Any, **options: Any) -> Any:
    """`type(x)`, for a traced value what NumPy or Python would give; `type(name, bases, ...)`."""
    if len(args) == 1 and not options:
        found = args[0].__class__ if isinstance(args[0], Tracer) else type(args[0])
        return vars(found).get(STANDS_FOR, found)
    return type(*args, **options)


CONVERTERS.update(
    {float: _to_float, int: _to_int, bool: _to_bool, complex: _to_complex, type: _type}
)

# --- comparisons ----------------------------------------------------------------------------------


def _extreme(name: str, choose: Callable[..., Any]) -> Callable[..., Any]:
    """`min` or `max`: the first operand that no other one is less (greater) than."""
    less = name == "min"

    def extreme(*args: Any, key: Any = None, default: Any = NOTHING) -> Any:
        options = {} if default is NOTHING else {"default": default}
        items: Sequence[Any] = args
        if len(args) == 1:
            x = args[0]
            if _is_filtered(x):
                return filters().extreme(x, less, key, default)
            if isinstance(x, Tracer) and key is None and x.ndim == 1 and x.known() is None:
                return _extreme_of_array(args[0], less, options)
            steps = _made_by_loop(x) if key is None else folds().long_steps(x)
            if steps is not None:
                return folds().extreme(steps, less, key)
            items = list(args[0])
        keys = items if key is None else [key(x) for x in items]
        if not any(isinstance(k, Tracer) for k in keys):
            if not items:
                return choose(*args, **options)
            return items[choose(range(len(items)), key=keys.__getitem__)]
        found, best = items[0], keys[0]
        for item, candidate in zip(items[1:], keys[1:], strict=True):
            better = candidate < best if less else candidate > best
            found, best = chosen(better, item, found), chosen(better, candidate, best)
        return found

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = choose.__doc__
    return extreme


def chosen(condition: Any, first: Any, second: Any) -> Any:
    """`first if condition else second`, also where the condition is not known."""
    if not isinstance(condition, Tracer) or condition.size != 1 or condition.known() is not None:
        return first if condition else second
    return _merged(condition, first, second)


def _merged(condition: Any, first: Any, second: Any) -> Any:
    """Numbers by `where`, tuples element by element; UnsupportedOpError for other things."""
    if first is second:
        return first
    if type(first) is tuple and type(second) is tuple and len(first) == len(second):
        return tuple(_merged(condition, a, b) for a, b in zip(first, second, strict=True))
    if any(isinstance(x, (str, bytes)) or x is None or callable(x) for x in (first, second)):
        _refuse_choice(first, second)
    try:
        out = pnp.where(condition, first, second)
    except DTypeError:
        _refuse_choice(first, second)
    weak = all(type(x) in (bool, int, float, complex) or _is_weak(x) for x in (first, second))
    return out.weakened() if weak else out


def _refuse_choice(first: Any, second: Any) -> NoReturn:
    raise UnsupportedOpError(
        f"the choice between a {_kind(first)} and a {_kind(second)} depends on a traced comparison",
        fix="Choose between numbers and arrays: the position in a list in place of a text, -1 or "
        "NaN in place of None.",
        place=location.here(),
    ) from None


def _kind(x: Any) -> str:
    return str(x.__class__.__name__ if isinstance(x, Tracer) else type(x).__name__)


def _is_weak(x: Any) -> bool:
    return isinstance(x, Tracer) and x.weak is not None


def _extreme_of_array(x: Tracer, less: bool, options: dict[str, Any]) -> Any:
    """The extreme of the elements in their order, as Python finds it: NaN only if it comes first,
    since no comparison with it is true."""
    if not x.shape[0]:
        return (min if less else max)((), **options)
    if x.dtype.kind == "c":
        raise TypeError("complex numbers have no order")
    filled: Any = x
    if x.dtype.kind not in "iub":
        filled = pnp.where(pnp.isnan(x), np.inf if less else -np.inf, x)
    place = pnp.argmin(filled) if less else pnp.argmax(filled)
    found = x[place]
    return found if filled is x else pnp.where(pnp.isnan(x[0]), x[0], found)


# --- iterables ------------------------------------------------------------------------------------


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    """`sum`: of a traced array along its first axis, by the order of `np.sum`."""
    if _is_filtered(iterable):
        return filters().total(iterable, start)
    if not isinstance(iterable, Tracer) or not iterable.ndim:
        steps = _made_by_loop(iterable)
        return sum(iterable, start) if steps is None else folds().total(steps, start)
    kind = np.int64 if iterable.dtype == np.bool_ else iterable.dtype
    if not iterable.shape[0]:
        return start
    total = pnp.sum(iterable, axis=0, dtype=kind)
    return total if type(start) is int and start == 0 else start + total


def _any(iterable: Any, /) -> Any:
    """`any`: traced elements are combined."""
    return _combined(iterable, any, pnp.logical_or)


def _all(iterable: Any, /) -> Any:
    """`all`: traced elements are combined."""
    return _combined(iterable, all, pnp.logical_and)


def _combined(iterable: Any, own: Callable[[Iterable[Any]], bool], join: Any) -> Any:
    decisive = own is any
    if _is_filtered(iterable):
        return filters().decided(iterable, decisive)
    if isinstance(iterable, Tracer) and iterable.ndim == 1 and iterable.known() is None:
        return (pnp.any if decisive else pnp.all)(iterable).weakened()
    found: Any = None
    whole = stacks().stack_of(iterable) if type(iterable) is list else None
    if whole is not None and whole.stack.ndim == 1:
        return _combined(whole.array(), own, join)
    for item in iterable:
        if isinstance(item, Tracer) and item.known() is None:
            truth = _to_bool(item)
            found = truth if found is None else join(found, truth).weakened()
        elif bool(item) is decisive:
            return decisive
    return (not decisive) if found is None else found


def _sorted(iterable: Any, /, *, key: Any = None, reverse: bool = False) -> Any:
    """`sorted`: traced scalars as a list of scalars."""
    items = list(iterable)
    keys = items if key is None else [key(x) for x in items]
    if not any(isinstance(k, Tracer) and k.known() is None for k in keys):
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return [items[k] for k in order]
    if key is None and not any(isinstance(x, Tracer) and x.ndim for x in items):
        ordered = pnp.sort(pnp.asarray(items))
        return list(ordered[::-1] if reverse else ordered)
    ranks = pnp.asarray(keys) if _are_alike(keys) else None
    if ranks is None or ranks.ndim != 1 or ranks.dtype.kind == "c" or not _are_alike(items):
        raise UnsupportedOpError(
            "sorted() by traced keys: the order of Python objects would depend on data",
            fix="Sort numbers, or arrays of one shape, by scalars; or keep them in arrays: "
            "`x[np.argsort(keys)]`.",
            place=location.here(),
        )
    if reverse:  # equal ones keep their order
        ranks = -ranks if ranks.dtype.kind == "f" else ~ranks
    found = pnp.asarray(items)[pnp.argsort(ranks)]
    weak = all(type(x) in (bool, int, float) or _is_weak(x) for x in items)
    return [x.weakened() for x in found] if weak else list(found)


def _are_alike(items: Sequence[Any]) -> bool:
    """Whether they are numbers or arrays of one type, which an array can hold as they are."""
    kinds = {(x.shape, x.dtype, x.weak) if isinstance(x, Tracer) else type(x) for x in items}
    allowed = all(not isinstance(k, type) or issubclass(k, (int, float, np.generic)) for k in kinds)
    return len(kinds) == 1 and allowed


def _made_by_loop(x: Any) -> Any:
    """A list that a loop has made as a sequence by number; None for other things."""
    known = type(x) in (list, tuple) and x and type(x[-1]) is Tracer and x[-1].viewed is not None
    return folds().long_steps(x) if known else None


def _is_filtered(x: Any) -> bool:
    """Whether it is a comprehension of which data decides what elements it has."""
    return isinstance(x, Selected) and type(x).__name__.startswith("Filtered")


def _next(*args: Any) -> Any:
    """`next`: of those elements too of which data decides whether there are."""
    if args and _is_filtered(args[0]) and len(args) <= 2:
        return filters().first(args[0], args[1] if len(args) == 2 else NOTHING)
    return next(*args)


def _filter(function: Any, iterable: Any, /) -> Any:
    """`filter`: the elements of which `function` is true, or which are."""
    pairs = ((x if function is None else function(x), x) for x in iterable)
    return filters().passing(filters().item(test, lambda x=x: x, True) for test, x in pairs)


def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    """`pow`: of three operands by its own rule."""
    return pow(base, exp) if mod is None else modular().power(base, exp, mod)


def _len(x: Any, /) -> Any:
    """`len`: of what has a length that only the program knows a traced integer."""
    return x.shape[0] if isinstance(x, Sized) else len(x)


# --- others ---------------------------------------------------------------------------------------


def _refused(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise UnsupportedOpError(
            f"`{name}` runs code that cannot be traced: its names are not those that the function "
            "sees",
            fix="Write the code in the function, or call `eval` outside and pass what it gives.",
            place=location.here(),
        )

    return refuse


REPLACED: dict[str, Any] = {
    "min": _extreme("min", min),
    "max": _extreme("max", max),
    "sum": _sum,
    "len": _len,
    "any": _any,
    "all": _all,
    "sorted": _sorted,
    "pow": _pow,
    "next": _next,
    "filter": _filter,
    "eval": _refused("eval"),
    "exec": _refused("exec"),
}
"""What stands for builtin functions wherever they are read."""

_BY_VALUE = {id(getattr(builtins, name)): found for name, found in REPLACED.items()}


def answer(value: Any) -> Any:
    """What stands for a builtin function that was read from elsewhere; `value` for others."""
    return _BY_VALUE.get(id(value), value)
