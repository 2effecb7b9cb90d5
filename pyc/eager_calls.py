"""Functions on `Array`s outside of a trace: each call of a function is one program.

A call is taken apart into a *form* (the function, and its arguments with a hole for each array and
each Python float) and the values for the holes. The form is traced once for the types of the
values, and compiled for the device on the path of `jit`: the bits are the same, all between the
arguments and the results is fused, and nothing is computed on the host. A function whose results
have shapes that depend on elements runs op by op, for a recorded reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc import tree
from pyc.array import Array, moved
from pyc.device import device_named
from pyc.eager import PROGRAMS, compiled, dense, device_of
from pyc.errors import ConcretizationError, PycError, TraceError
from pyc.frozen import frozen, replace
from pyc.interpreter import WEAK, type_of
from pyc.ir.types import ArrayType
from pyc.numpy import on_device
from pyc.numpy.core import constant
from pyc.trace import location
from pyc.trace.capture import capture
from pyc.trace.trace import Input
from pyc.trace.tracer import Tracer

_EXPONENTS = ("power", "float_power")
"""Functions that compute other bits for some Python numbers: these are part of the form."""
_COPIES = ("copy", "array")
"""Functions whose results have memory of their own."""


# A form is made of tuples, which Python hashes and compares by itself. Such a tuple is
#   (_HOLE, kind)                  a place for an array (None), or a Python number of this type
#   (_FIXED, kind, value)          a value that is no array
#   (_FIXED, kind, text, _Number)  a Python number: zeros differ by sign, and NaNs are not equal
#   (dict, names, *forms), (slice, *forms), (kind, *forms): what holds others; kind makes it
_HOLE, _FIXED = "hole", "fixed"
_ARRAY = (_HOLE, None)


class _UnknownShapeError(Exception):
    """How many elements a result has depends on data."""


class _Number:
    """A number, equal to any other: its text, which stands beside it, is compared."""

    __slots__ = ("value",)

    def __init__(self, value: complex) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Number

    def __hash__(self) -> int:
        return 0


def _form(x: Any, values: list[Any], exact: bool) -> tuple[Any, ...]:
    """The form of an argument; the values for its holes are added. exact: Python numbers are fixed
    in the form."""
    kind = type(x)
    if kind is Array or kind is np.ndarray or isinstance(x, np.generic):
        values.append(x)
        return _ARRAY
    if kind is float or kind is complex:
        if not exact:
            values.append(x)
            return (_HOLE, kind)
        return (_FIXED, kind, repr(x), _Number(x))
    if kind is tuple or kind is list:
        return (kind, *[_form(v, values, exact) for v in x])
    if kind is slice:
        return (slice, *[_form(v, values, True) for v in (x.start, x.stop, x.step)])
    if kind is dict:
        return (dict, tuple(x), *[_form(v, values, exact) for v in x.values()])
    return (_FIXED, kind, x)


def _filled(form: tuple[Any, ...], values: Iterator[Any]) -> Any:
    """The argument of a form, with the next of `values` in each hole."""
    head = form[0]
    if head is _HOLE:
        return next(values)
    if head is _FIXED:
        return form[2] if len(form) == 3 else form[3].value
    if head is dict:
        return {name: _filled(f, values) for name, f in zip(form[1], form[2:], strict=True)}
    items = [_filled(f, values) for f in form[1:]]
    return slice(*items) if head is slice else head(items)


@frozen(eq=False)
class _Program:
    """A form compiled. run: None if every result is an argument; found: the form of the results;
    same: for each hole of it, the argument that it is, or None for the next result of `run`."""

    run: Callable[..., tuple[Any, ...]] | None
    found: Any
    same: tuple[int | None, ...]


def _result_form(x: Any, leaves: list[Any]) -> tuple[Any, ...]:
    """The form of what a function has returned; its arrays are added to `leaves`."""
    kind = type(x)
    if kind is Tracer:
        leaves.append(x)
        return _ARRAY
    if kind is np.ndarray or isinstance(x, np.generic):
        leaves.append(constant(x))
        return _ARRAY
    if issubclass(kind, tuple) and hasattr(kind, "_make"):
        return (kind._make, *[_result_form(v, leaves) for v in x])
    if kind in (tuple, list):
        return (kind, *[_result_form(v, leaves) for v in x])
    if kind in WEAK or x is None or isinstance(x, np.dtype):
        return (_FIXED, kind, x)
    raise _UnknownShapeError


@lru_cache(maxsize=PROGRAMS)
def _compiled(
    function: Callable[..., Any],
    form: Any,
    types: tuple[ArrayType, ...],
    weak: tuple[type | None, ...],
    device: str,
) -> _Program:
    """A form compiled for values of these types."""
    found: Any = None
    inputs: list[Any] = []

    def flat(*tracers: Any) -> list[Any]:
        nonlocal found
        args, kwargs = _filled(form, iter(tracers))
        inputs[:] = [t.value for t in tracers]
        leaves: list[Any] = []
        found = _result_form(function(*args, **kwargs), leaves)
        return leaves

    given = [Input(t, w) for t, w in zip(types, weak, strict=True)]
    captured = capture(flat, given)
    graph = captured.graph
    name = function.__name__
    same = tuple(
        inputs.index(r) if r in inputs and name not in _COPIES and weak[inputs.index(r)] is None
        else None
        for r in graph.results
    )  # fmt: skip
    new = [r for r, s in zip(graph.results, same, strict=True) if s is None]
    run = compiled(replace(graph, results=tuple(new)), device, f"eager {name}") if new else None
    return _Program(run, found, same)


def call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a function of arrays, `Array`s among them: `Array`s on their device.

    raises PycError: what the function raises, at the user's line; DeviceError: the arrays are on
    several devices
    """
    key = None if kwargs else _key(function, args)
    quick = None if key is None else _quick.get(key)
    exact = function.__name__ in _EXPONENTS
    try:
        if quick is not None:
            return _judged(quick.run(*[np.array(x) if type(x) is float else x for x in args])[0])
        for fixed in (exact,) if exact else (False, True):
            try:
                return _judged(_call(function, args, kwargs, fixed, key))
            except (TraceError, _UnknownShapeError):  # it needs the value of a number, or elements
                continue
        return _op_by_op(function, args, kwargs)
    except PycError as error:
        # A program is shared by calls from many lines: this is the one that has failed.
        error.place = location.here()
        raise


def _judged(found: Any) -> Any:
    """What a call has made, once its checks have held: only now its line is known."""
    for array in tree.leaves(found):
        if type(array) is Array and array._verdict is not None:
            array._device.synchronize()
            array._device.ledger.judge(array._verdict, others=False)
    return found


def _key(function: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, ...] | None:
    """What tells apart the programs of calls with `Array`s and floats alone; None for others."""
    key: list[Any] = [function]
    for x in args:
        if type(x) is Array:
            key += id(x._type), id(x._device)
        elif type(x) is float:
            key.append(float)
        else:
            return None
    return tuple(key)


@frozen(eq=False)
class _Quick:
    """The program of such a call, which has one result, a new array. types: of its arrays, kept so
    that their identities, which are in the key, stay theirs."""

    run: Callable[..., tuple[Any, ...]]
    types: tuple[Any, ...]


_quick: dict[tuple[Any, ...], _Quick] = {}


def _call(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    exact: bool,
    key: tuple[Any, ...] | None,
) -> Any:
    values: list[Any] = []
    form = _form((tuple(args), dict(kwargs)), values, exact)
    device = device_of(values)
    assert device is not None
    try:
        hash(form)
    except TypeError:  # an argument that cannot be told from others
        return _op_by_op(function, args, kwargs)
    types = tuple([type_of(v) for v in values])
    weak = tuple([type(v) if type(v) in WEAK else None for v in values])
    program = _compiled(function, form, types, weak, device)
    numbered = exact and float in (key or ())
    if key is not None and not numbered and program.found == _ARRAY and program.same == (None,):
        assert program.run is not None
        if len(_quick) >= PROGRAMS:
            _quick.clear()
        _quick[key] = _Quick(program.run, tuple([x._type for x in args if type(x) is Array]))
    results = iter(program.run(*map(dense, values)) if program.run is not None else ())
    outs = [next(results) if k is None else values[k] for k in program.same]
    return _placed(_filled(program.found, iter(outs)), device)


def _op_by_op(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    values: list[Any] = []
    form = _form((tuple(args), dict(kwargs)), values, True)
    device = device_of(values)
    assert device is not None
    try:
        with on_device.op_by_op():
            found = function(*args, **kwargs)
    except ConcretizationError:
        theirs = _numpys().get(function)
        if theirs is None:
            raise
        on_host = [x.needed() if type(x) is Array else x for x in values]
        positional, named = _filled(form, iter(on_host))
        found = theirs(*positional, **named)
    return _placed(found, device)


@cache
def _numpys() -> Mapping[Any, Callable[..., Any]]:
    """Functions of pyc.numpy, to NumPy's."""
    return {ours: theirs for theirs, ours in pnp.FROM_NUMPY.items()}


def _placed(x: Any, device: str) -> Any:
    """A result with every array of it on the device."""
    if type(x) in (tuple, list):
        return type(x)(_placed(v, device) for v in x)
    if type(x) is np.ndarray or isinstance(x, np.generic):
        return moved(x, device_named(device))
    return x


def clear() -> None:
    """Forgets the compiled calls."""
    _quick.clear()
    _compiled.cache_clear()
