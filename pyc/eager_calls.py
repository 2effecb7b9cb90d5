"""Functions on `Array`s outside of a trace: each call of a function is one program.

A call is taken apart into a *form* (the function, and its arguments with a hole for each array and
each Python float) and the values for the holes. The form is traced once for the types of the
values, and compiled for the device on the path of `jit`: the bits are the same, all between the
arguments and the results is fused, and nothing is computed on the host. A function whose results
have shapes that depend on elements runs op by op, for a recorded reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

import pyc.numpy as pnp
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


@frozen()
class _Hole:
    """A place for an array, or for a Python number of the type `weak`."""

    weak: type | None


class _UnknownShapeError(Exception):
    """How many elements a result has depends on data."""


class _Fixed:
    """A part of a form that is none of arrays. Zeros differ by sign and NaNs are not equal: numbers
    are known by their text."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = type(value), repr(value) if type(value) in (float, complex) else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fixed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@frozen()
class _Items:
    """A tuple, list, slice or dict (of these names) in a form."""

    kind: type
    items: tuple[Any, ...]
    names: tuple[str, ...] = ()


def _form(x: Any, values: list[Any], exact: bool) -> Any:
    """The form of an argument; the values for its holes are added. exact: Python numbers are fixed
    in the form."""
    kind = type(x)
    if kind is Array or kind is np.ndarray or isinstance(x, np.generic):
        values.append(x)
        return _Hole(None)
    if kind in (float, complex) and not exact:
        values.append(x)
        return _Hole(kind)
    if kind in (tuple, list):
        return _Items(kind, tuple([_form(v, values, exact) for v in x]))
    if kind is slice:
        return _Items(kind, tuple([_form(v, values, True) for v in (x.start, x.stop, x.step)]))
    if kind is dict:
        return _Items(kind, tuple([_form(v, values, exact) for v in x.values()]), tuple(x))
    return _Fixed(x)


def _filled(form: Any, values: Any) -> Any:
    """The argument of a form, with the next of `values` in each hole."""
    if isinstance(form, _Hole):
        return next(values)
    if isinstance(form, _Fixed):
        return form.value
    items = [_filled(f, values) for f in form.items]
    if form.kind is dict:
        return dict(zip(form.names, items, strict=True))
    return slice(*items) if form.kind is slice else form.kind(items)


@frozen(eq=False)
class _Program:
    """A form compiled. run: None if every result is an argument; found: the form of the results;
    same: for each hole of it, the argument that it is, or None for the next result of `run`."""

    run: Callable[..., tuple[Any, ...]] | None
    found: Any
    same: tuple[int | None, ...]


def _result_form(x: Any, leaves: list[Any]) -> Any:
    """The form of what a function has returned; its arrays are added to `leaves`."""
    kind = type(x)
    if kind is Tracer:
        leaves.append(x)
        return _Hole(None)
    if kind is np.ndarray or isinstance(x, np.generic):
        leaves.append(constant(x))
        return _Hole(None)
    if issubclass(kind, tuple) and hasattr(kind, "_make"):
        return _Items(kind._make, tuple([_result_form(v, leaves) for v in x]))
    if kind in (tuple, list):
        return _Items(kind, tuple([_result_form(v, leaves) for v in x]))
    if kind in WEAK or x is None or isinstance(x, np.dtype):
        return _Fixed(x)
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
    exact = function.__name__ in _EXPONENTS
    try:
        for fixed in (exact,) if exact else (False, True):
            try:
                return _call(function, args, kwargs, fixed)
            except (TraceError, _UnknownShapeError):  # it needs the value of a number, or elements
                continue
        return _op_by_op(function, args, kwargs)
    except PycError as error:
        # A program is shared by calls from many lines: this is the one that has failed.
        error.place = location.here()
        raise


def _call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], exact: bool
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
    _compiled.cache_clear()
