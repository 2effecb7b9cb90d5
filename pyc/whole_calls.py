"""Functions of several operations on NumPy arrays outside of a trace: the whole is one program.

Where each operation is a program of its own, the first call of `nanvar` compiles seventeen. So what
a call is made of is traced; one of several operations that are compiled is a program of the whole,
for the shapes that it comes with first: for other shapes its operations run alone, by programs for
arrays of any size, until they have come `IN_STEPS` times. The bits are the same. What is a single
operation, or copies elements only, what changes its arguments or gives them back, and what needs
their values, runs as it always did: `call` says so by `OP_BY_OP`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pyc.eager import PROGRAMS, compiled, dense, one_size
from pyc.eager_calls import (
    EXPONENTS,
    IN_STEPS,
    UnknownShapeError,
    filled,
    for_sizes,
    form_of,
    is_first,
    of_elements,
    steps_of,
    traced_lately,
)
from pyc.errors import PycError, TraceError
from pyc.frozen import frozen
from pyc.interpreter import WEAK, type_of
from pyc.ir.types import ArrayType
from pyc.numpy.on_device import OP_BY_OP
from pyc.reasons import aside
from pyc.trace import location

_PLAIN = (int, bool, str, type(None), type, np.dtype)
"""Types of arguments that are part of a form."""
_MOST = 16
"""Items of a list or a tuple that are looked at: of a longer one nothing is known."""


class _LeftError(Exception):
    """An argument of a kind that programs do not take."""


@frozen(eq=False)
class _Whole:
    """A call compiled. run: takes its values; found: the form of the results."""

    run: Callable[..., tuple[Any, ...]]
    found: Any


_known: dict[Any, Any] = {}
"""By function, forms and types of arguments: a `_Whole`, OP_BY_OP, or how often it was left."""
_single: set[Any] = set()
"""Calls that are no programs of the whole, by function, form, dtypes and ranks."""


def _look(x: Any, key: list[Any], values: list[Any], exact: bool) -> None:
    """Adds what tells an argument's programs apart to `key`, and what programs take to `values`."""
    kind = type(x)
    if kind is np.ndarray:
        key += x.dtype, x.shape
        values.append(x)
    elif kind in _PLAIN:
        key += kind, x
    elif kind is float or kind is complex:
        key += (kind, repr(x)) if exact else (kind,)
        if not exact:
            values.append(x)
    elif isinstance(x, np.generic):
        key.append(kind)
        values.append(x)
    elif (kind is tuple or kind is list) and len(x) <= _MOST:
        key += kind, len(x)
        for item in x:
            _look(item, key, values, exact)
    else:
        raise _LeftError


def call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a function of NumPy arrays gives, by one program; OP_BY_OP if it is not to run so.

    raises PycError: what the program finds when it runs
    """
    exact = function.__name__ in EXPONENTS
    key: list[Any] = [function]
    values: list[Any] = []
    try:
        for x in args:
            _look(x, key, values, exact)
        for name, x in kwargs.items():
            key.append(name)
            _look(x, key, values, exact)
        found = _known.get(tuple(key), 0)
    except (_LeftError, TypeError):  # or one that has no hash
        return OP_BY_OP
    if found is OP_BY_OP:
        return found
    if type(found) is int:
        found = _prepared(function, args, kwargs, exact, found)
        if len(_known) >= PROGRAMS:
            _known.clear()
        _known[tuple(key)] = found
        if type(found) is not _Whole:
            return OP_BY_OP
    try:
        results = found.run(*map(dense, values))
    except PycError as error:
        # A program is shared by calls from many lines: this is the one that has failed.
        error.place = location.here()
        raise
    return filled(found.found, iter(results))


def _prepared(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    exact: bool,
    times: int,
) -> Any:
    """A call compiled; OP_BY_OP; or, for shapes that came `times` times, one more."""
    values: list[Any] = []
    form = form_of((tuple(args), dict(kwargs)), values, exact)
    if not any(type(v) is np.ndarray for v in values):
        return OP_BY_OP
    try:
        types = tuple([type_of(v) for v in values])
        weak = tuple([type(v) if type(v) in WEAK else None for v in values])
        ranks = function, form, tuple([(t.dtype, t.rank) for t in types]), weak
        if ranks in _single:
            return OP_BY_OP
        with aside():  # an error is for the operation to raise, and a reason for it to record
            traced = traced_lately(function, form, types, weak)
            if (
                traced.changed
                or traced.asks
                or steps_of(traced.graph) < 2
                or traced.same.count(None) < len(traced.same)
            ):
                _single.add(ranks)
                return OP_BY_OP
            if function in of_elements():
                program = for_sizes(function, form, types, weak, None)
                if program is not None and program.run is not None:
                    return _Whole(program.run, program.found)
            if times < IN_STEPS and not is_first(function, form, types, weak):
                return times + 1
    except (TraceError, UnknownShapeError):  # it needs values, or has results of unknown shapes
        _single.add(ranks)
        return OP_BY_OP
    except (PycError, TypeError, ValueError):
        return OP_BY_OP
    return _Whole(_compiled(function, traced.graph, types), traced.found)


def _compiled(
    function: Callable[..., Any], graph: Any, types: tuple[ArrayType, ...]
) -> Callable[..., tuple[Any, ...]]:
    if any(t.shape for t in types):
        one_size(function.__name__, ", ".join(map(str, types)))
    return compiled(graph, None, f"eager {function.__name__}")


def clear() -> None:
    """Forgets the compiled calls."""
    _known.clear()
    _single.clear()
