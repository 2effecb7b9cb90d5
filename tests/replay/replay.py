"""One call, by NumPy and by pyc: what became of it.

`eager` calls the function of `pyc.numpy` on NumPy's arrays; methods of ufuncs are called on arrays
of pyc. `jitted` calls NumPy's own function in a jitted function whose arguments are the arrays of
the call; all else is part of it. Arrays that the call writes to are copied first, and returned.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import pyc
from pyc.errors import PycError, TraceError, UnsupportedOpError
from tests.replay.calls import Call, arrays_of, filled, is_plain
from tests.replay.compare import (
    CONDITIONED,
    EIGEN,
    NO_VALUES,
    condition,
    difference,
    eigen_difference,
)
from tests.replay.paths import is_ufunc, ours, theirs

WAYS = ("eager", "jitted")
IN_PLACE = tuple(
    f"numpy.{name}"
    for name in ("copyto", "put", "putmask", "place", "fill_diagonal", "put_along_axis")
)
"""Functions that write into their first argument."""
AGREE = "agree"
MOST_RESULTS = 100_000
"""Elements of a result that is compared."""
ERRORS: tuple[type[Exception], ...] = (
    *(np.linalg.LinAlgError, IndexError, OverflowError, ZeroDivisionError, TypeError, ValueError),
    *(MemoryError, NotImplementedError, AttributeError, KeyError, RuntimeError),
)
"""Classes of errors that programs tell apart."""


@dataclass(frozen=True)
class Outcome:
    """What became of a call. kind: "agree", "value", "dtype", "shape", "structure", "refused" (an
    argument or a trace that pyc says it does not do), "raises" (NumPy does not), "accepts" (NumPy
    raises), "error" (another class), "change" (of an argument), "crash", "timeout"."""

    key: str
    path: str
    way: str
    kind: str
    text: str
    call: str


def _arguments(call: Call) -> tuple[Any, Any, dict[int, Any]]:
    """The arguments of a call, made anew, and its arrays by number."""
    made: dict[int, Any] = {}

    def give(kept: Any) -> Any:
        return made.setdefault(kept.number, kept.made())

    return filled(call.args, give), filled(call.kwargs, give), made


def _first(call: Call) -> Any:
    """The first argument of a call, by position or by name."""
    args, kwargs, _ = _arguments(call)
    return (*args, *kwargs.values())[0]


def _plain(x: Any) -> bool:
    if isinstance(x, (tuple, list)):
        return all(map(_plain, x))
    if isinstance(x, (np.ndarray, np.generic)):
        return (
            is_plain(x.dtype) and x.size <= MOST_RESULTS and isinstance(x, (np.ndarray, np.generic))
        )
    return isinstance(x, (bool, int, float, complex, type(None), np.dtype))


def expected(call: Call) -> tuple[Any, Any, bool]:
    """What NumPy gives, an error included, its arrays after the call by number, and whether all
    of that is plain."""
    args, kwargs, arrays = _arguments(call)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = theirs(call.path)(*args, **kwargs)
        except Exception as error:
            return error, arrays, not isinstance(error, MemoryError)
    return found, arrays, _plain(found)


def _eager(call: Call) -> tuple[Any, dict[int, Any]]:
    args, kwargs, arrays = _arguments(call)
    function = ours(call.path)
    if function is None:
        function = theirs(call.path)
        on_device = {n: pyc.device_put(a, "cpu") for n, a in arrays.items()}
        args, kwargs = (
            filled(x, lambda kept: on_device[kept.number]) for x in (call.args, call.kwargs)
        )
        return function(*args, **kwargs), {}
    return function(*args, **kwargs), arrays


def _written(call: Call, changed: Any) -> set[int]:
    """The numbers of the arrays that a call writes to: those that NumPy changed, and those that it
    is given for that."""
    function = theirs(call.path)
    inputs = function.nin if isinstance(function, np.ufunc) else len(call.args)
    out = (call.kwargs.get("out"), call.args[inputs:])
    first = call.args[:1] if call.path in IN_PLACE or call.path.endswith(".at") else ()
    found = {kept.number for kept in (*arrays_of(out), *arrays_of(first))}
    before = {kept.number: kept.values for kept in arrays_of((call.args, call.kwargs))}
    return found | {n for n, a in changed.items() if a.tobytes() != before[n].tobytes()}


def _jitted(call: Call, changed: Any) -> tuple[Any, dict[int, Any]]:
    _, _, arrays = _arguments(call)
    function = theirs(call.path)
    if not call.path.startswith("numpy"):
        function = ours(call.path)
    numbers = sorted(arrays)
    written = sorted(_written(call, changed))

    def traced(*given: Any) -> Any:
        values = dict(zip(numbers, given, strict=True))
        for n in written:  # arguments belong to the caller
            values[n] = values[n].copy()
        args = filled(call.args, lambda kept: values[kept.number])
        kwargs = filled(call.kwargs, lambda kept: values[kept.number])
        return function(*args, **kwargs), [values[n] for n in written]

    found, left = pyc.jit(traced)(*(arrays[n] for n in numbers))
    return found, {**arrays, **dict(zip(written, left, strict=True))}


def _class(error: BaseException) -> type[BaseException]:
    return next((c for c in ERRORS if isinstance(error, c)), type(error))


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def replay(call: Call, way: str, wanted: tuple[Any, Any, bool]) -> Outcome:
    """What becomes of a call that NumPy does as `wanted` says."""

    def outcome(kind: str, text: str = "") -> Outcome:
        return Outcome(call.key, call.path, way, kind, text[:300], str(call))

    theirs_gave, theirs_left, _ = wanted
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found, left = _eager(call) if way == "eager" else _jitted(call, theirs_left)
        except Exception as error:
            if not isinstance(theirs_gave, Exception):
                refusal = isinstance(error, (UnsupportedOpError, TraceError))
                kind = "refused" if refusal else "raises"
                return outcome(kind, _first_line(error))
            if isinstance(error, (_class(theirs_gave), type(theirs_gave))):
                return outcome(AGREE)
            text = f"{_first_line(error)} | NumPy: {_first_line(theirs_gave)}"
            return outcome("error" if isinstance(error, PycError) else "raises", text)
    if isinstance(theirs_gave, Exception):
        return outcome("accepts", f"gives {str(found)[:60]} | NumPy: {_first_line(theirs_gave)}")
    options: Any = {
        "elementwise": is_ufunc(call.path),
        "inputs": [k.values for k in arrays_of((call.args, call.kwargs))],
        "values": call.path not in NO_VALUES,
        "factor": condition(_first(call)) if call.path in CONDITIONED else 1.0,
    }
    if call.path in EIGEN:
        apart = eigen_difference(found, theirs_gave, _first(call))
    else:
        apart = difference(found, theirs_gave, **options)
    if apart:
        return outcome(*apart)
    if call.kwargs.get("overwrite_input"):  # what is left in it is anything
        left = {}
    for number, array in left.items():
        changed = difference(array, theirs_left[number], **options)
        if changed:
            return outcome("change", f"argument {number}: {changed[1]}")
    return outcome(AGREE)
