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
from pyc.array import Array, moved
from pyc.device import device_named
from pyc.eager import (
    PROGRAMS,
    are_streamed,
    bound,
    compiled,
    compiled_for_any_size,
    dense,
    device_of,
    judged,
    natively_on_device,
    one_size,
    only_any_size,
)
from pyc.errors import ConcretizationError, PycError, TraceError
from pyc.frozen import frozen, replace
from pyc.interpreter import WEAK, type_of
from pyc.ir.graph import Graph
from pyc.ir.op import Kind
from pyc.ir.sizes import NoGenericFormError, collapsed
from pyc.ir.types import ArrayType
from pyc.numpy import on_device
from pyc.numpy.core import constant
from pyc.reasons import aside, record
from pyc.trace import location
from pyc.trace.capture import capture
from pyc.trace.trace import Input
from pyc.trace.tracer import Tracer

EXPONENTS = ("power", "float_power")
"""Functions that compute other bits for some Python numbers: these are part of the form."""
_MORE_OF_ELEMENTS = (
    *("angle", "astype", "clip", "imag", "iscomplex", "isclose", "isneginf", "isposinf", "isreal"),
    *("nan_to_num", "real", "round", "sinc", "where"),
)
"""Functions of elements that are no ufuncs of NumPy's."""
_COPIES = ("copy", "array")
"""Functions whose results have memory of their own."""


IN_STEPS = 8
"""Calls of a function on arrays of the same shapes that are run operation by operation: what these
cost is about what a program for the shapes takes to compile."""

FORMS = 4
"""Forms of a function whose first shapes are one program: of one that is called with ever other
whole numbers, the operations are worth having."""

# A form is made of tuples, which Python hashes and compares by itself. Such a tuple is
#   (_HOLE, kind)                  a place for an array (None), or a Python number of this type
#   (_FIXED, kind, value)          a value that is no array
#   (_FIXED, kind, text, _Number)  a Python number: zeros differ by sign, and NaNs are not equal
#   (dict, names, *forms), (slice, *forms), (kind, *forms): what holds others; kind makes it
_HOLE, _FIXED = "hole", "fixed"
_ARRAY = (_HOLE, None)


class UnknownShapeError(Exception):
    """How many elements a result has depends on data."""


class _NumberError(Exception):
    """A function looks at a Python number that is not part of the form."""


class _Number:
    """A number, equal to any other: its text, which stands beside it, is compared."""

    __slots__ = ("value",)

    def __init__(self, value: complex) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Number

    def __hash__(self) -> int:
        return 0


def form_of(x: Any, values: list[Any], exact: bool) -> tuple[Any, ...]:
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
        return (kind, *[form_of(v, values, exact) for v in x])
    if kind is slice:
        return (slice, *[form_of(v, values, True) for v in (x.start, x.stop, x.step)])
    if kind is dict:
        return (dict, tuple(x), *[form_of(v, values, exact) for v in x.values()])
    return (_FIXED, kind, x)


def filled(form: tuple[Any, ...], values: Iterator[Any]) -> Any:
    """The argument of a form, with the next of `values` in each hole."""
    head = form[0]
    if head is _HOLE:
        return next(values)
    if head is _FIXED:
        return form[2] if len(form) == 3 else form[3].value
    if head is dict:
        return {name: filled(f, values) for name, f in zip(form[1], form[2:], strict=True)}
    items = [filled(f, values) for f in form[1:]]
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
    raise UnknownShapeError


@lru_cache(maxsize=PROGRAMS)
def _compiled(
    function: Callable[..., Any],
    form: Any,
    types: tuple[ArrayType, ...],
    weak: tuple[type | None, ...],
    device: str,
) -> _Program:
    """A form compiled for values of these types."""
    if function in of_elements():
        found = for_sizes(function, form, types, weak, device)
        if found is not None:
            return found
    traced = traced_lately(function, form, types, weak)
    run = None
    if traced.graph.results:
        if any(t.shape for t in types):
            one_size(function.__name__, ", ".join(map(str, types)))
        run = compiled(traced.graph, device, f"eager {function.__name__}")
    return _Program(run, traced.found, traced.same)


def for_sizes(
    function: Callable[..., Any],
    form: Any,
    types: tuple[ArrayType, ...],
    weak: tuple[type | None, ...],
    device: str | None,
) -> _Program | None:
    """The form of a function of elements by a program for arrays of any size; None if it has none,
    or is refused: what is wrong with these shapes is for the program for them to say."""
    shapes = collapsed(types)
    # A GPU launches nothing for no elements: the program for the shapes knows that.
    if shapes is None or (device not in (None, "cpu") and 0 in shapes.sizes):
        return None
    try:
        traced = _traced_for_any_size(function, form, shapes.types, weak)
        if not traced.graph.results:
            return _Program(None, traced.found, traced.same)
        results = tuple([ArrayType(shapes.shape, r.dtype) for r in traced.graph.results])
        streamed = are_streamed(results, device)
        program = _for_any_size(function, form, shapes.types, weak, device, streamed)
    except (PycError, UnknownShapeError):
        return None
    if program is None:
        return None
    run = bound(program, shapes.sizes, types, results, device)
    return _Program(run, traced.found, traced.same)


@lru_cache(maxsize=PROGRAMS)
def _for_any_size(
    function: Callable[..., Any],
    form: Any,
    types: tuple[ArrayType, ...],
    weak: tuple[type | None, ...],
    device: str | None,
    streamed: bool,
) -> Any:
    """A form's program for arrays of any size, if it has one."""
    graph = _traced_for_any_size(function, form, types, weak).graph
    return compiled_for_any_size(graph, device, f"eager {function.__name__}", streamed=streamed)


@cache
def of_elements() -> frozenset[Any]:
    """Functions whose results have, at each place, what depends on the elements there."""
    theirs = {name: getattr(np, name, None) for name in pnp.__all__}
    names = [k for k, f in theirs.items() if isinstance(f, np.ufunc) and f.signature is None]
    return frozenset(getattr(pnp, name) for name in (*names, *_MORE_OF_ELEMENTS))


@frozen(eq=False)
class _Traced:
    """A form traced. graph: computes the results that are no arguments; found, same: see
    `_Program`; changed: whether it stores into an argument; asks: whether it looks at elements
    where they are known, as to check them."""

    graph: Graph
    found: Any
    same: tuple[int | None, ...]
    changed: bool
    asks: bool


@lru_cache(maxsize=PROGRAMS)
def _traced_for_any_size(
    function: Callable[..., Any],
    form: Any,
    types: tuple[ArrayType, ...],
    weak: tuple[type | None, ...],
) -> _Traced:
    """A form traced for stand-ins, once for all devices."""
    return _traced(function, form, types, weak)


@lru_cache(maxsize=4)
def traced_lately(
    function: Callable[..., Any],
    form: Any,
    types: tuple[ArrayType, ...],
    weak: tuple[type | None, ...],
) -> _Traced:
    """A form traced, for what is asked next of the same call."""
    return _traced(function, form, types, weak)


def _traced(
    function: Callable[..., Any],
    form: Any,
    types: tuple[ArrayType, ...],
    weak: tuple[type | None, ...],
) -> _Traced:
    found: Any = None
    changed = asks = False
    inputs: list[Any] = []

    def flat(*tracers: Any) -> list[Any]:
        nonlocal found, changed, asks
        args, kwargs = filled(form, iter(tracers))
        inputs[:] = [t.value for t in tracers]
        leaves: list[Any] = []
        found = _result_form(function(*args, **kwargs), leaves)
        changed = any(t.value is not v for t, v in zip(tracers, inputs, strict=True))
        asks = any(t.owner.asked_in_vain for t in tracers)
        return leaves

    given = [Input(t, w) for t, w in zip(types, weak, strict=True)]
    graph = capture(flat, given).graph
    same = tuple(
        inputs.index(r)
        if r in inputs and function.__name__ not in _COPIES and weak[inputs.index(r)] is None
        else None
        for r in graph.results
    )
    new = tuple(r for r, s in zip(graph.results, same, strict=True) if s is None)
    return _Traced(replace(graph, results=new), found, same, changed, asks)


def call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a function of arrays, `Array`s among them: `Array`s on their device.

    raises PycError: what the function raises, at the user's line; DeviceError: the arrays are on
    several devices
    """
    key = _key(function, args, kwargs)
    quick = None if key is None else _quick.get(key)
    if quick is _BY_VALUE and key is not None:
        quick = _quick.get(_with_numbers(key, (*args, *kwargs.values())))
    exact = function.__name__ in EXPONENTS
    try:
        if quick is not None:
            given = (*args, *kwargs.values()) if kwargs else args
            return judged(quick.run(*quick.values(given))[0])
        for fixed in (exact,) if exact else (False, True):
            try:
                return judged(_call(function, args, kwargs, fixed, key))
            except (TraceError, UnknownShapeError, _NumberError):
                # It needs the value of a number, or elements.
                continue
        return _op_by_op(function, args, kwargs)
    except PycError as error:
        # A program is shared by calls from many lines: this is the one that has failed.
        error.place = location.here()
        raise


_PLAIN = (int, bool, str, type(None))
"""Types of arguments that are part of a form."""


def _key(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """What tells apart the programs of calls with `Array`s, floats and plain values alone; None for
    others. Types stand in front of plain values, for some that differ are equal."""
    key: list[Any] = [function]
    for x in args:
        kind = type(x)
        if kind is Array:
            key += id(x._type), id(x._device)
        elif kind is float:
            key.append(float)
        elif kind in _PLAIN:
            key += kind, x
        else:
            return None
    for name, x in kwargs.items():
        kind = type(x)
        if kind is Array:
            key += name, id(x._type), id(x._device)
        elif kind is float:
            key += name, float
        elif kind in _PLAIN:
            key += name, kind, x
        else:
            return None
    return tuple(key)


@frozen(eq=False)
class _Quick:
    """The program of such a call, which has one result, a new array. values: its arguments, of
    those of the call, by position and then by name; types: of its arrays, kept so that their
    identities, which are in the key, stay theirs."""

    run: Callable[..., tuple[Any, ...]]
    values: Callable[[Sequence[Any]], list[Any]]
    types: tuple[Any, ...] = ()


def _arrays(args: Sequence[Any]) -> list[Any]:
    return [x for x in args if type(x) is Array]


def _and_floats(args: Sequence[Any]) -> list[Any]:
    return [x for x in args if type(x) is Array or type(x) is float]


def _and_numbers(args: Sequence[Any]) -> list[Any]:
    """Floats as arrays of rank 0."""
    return [np.array(x) if type(x) is float else x for x in _and_floats(args)]


def _with_numbers(key: tuple[Any, ...], args: Sequence[Any]) -> tuple[Any, ...]:
    """The key of a call whose floats are part of its form."""
    return (*key, *[repr(x) for x in args if type(x) is float])


_quick: dict[tuple[Any, ...], _Quick] = {}
_BY_VALUE = _Quick(filled, _arrays)
"""Stands for the programs of a key of calls whose floats are part of their forms."""


def _call(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    exact: bool,
    key: tuple[Any, ...] | None,
) -> Any:
    values: list[Any] = []
    form = form_of((tuple(args), dict(kwargs)), values, exact)
    device = device_of(values)
    assert device is not None
    try:
        hash(form)
    except TypeError:  # an argument that cannot be told from others
        return _op_by_op(function, args, kwargs)
    types = tuple([type_of(v) for v in values])
    weak = tuple([type(v) if type(v) in WEAK else None for v in values])
    asks = _asks(function, form, types, weak)
    if asks and any(weak):
        raise _NumberError
    if (
        function not in of_elements()
        and _may_have_steps(function, form, types, weak)
        and (asks or device != "cpu" or not is_first(function, form, types, weak))
    ):
        found = _in_steps((function, form, types, weak, device), function, args, kwargs)
        if found is not None:
            return _placed(*found, device)
    program = _compiled(function, form, types, weak, device)
    if key is not None and program.found == _ARRAY and program.same == (None,):
        _remember(key, program.run, (*args, *kwargs.values()), exact, device)
    results = iter(program.run(*map(dense, values)) if program.run is not None else ())
    outs = [next(results) if k is None else values[k] for k in program.same]
    return _placed(filled(program.found, iter(outs)), device)


@lru_cache(maxsize=PROGRAMS)
def _asks(
    function: Callable[..., Any],
    form: Any,
    types: tuple[ArrayType, ...],
    weak: tuple[type | None, ...],
) -> bool:
    """Whether a form looks at elements where they are known."""
    with aside():  # the call that follows records its reasons
        return traced_lately(function, form, types, weak).asks


def _remember(
    key: tuple[Any, ...], run: Any, args: Sequence[Any], exact: bool, device: str
) -> None:
    """Lets calls of a key find their program at once."""
    if len(_quick) >= PROGRAMS:
        _quick.clear()
    values = _and_numbers if device == "cpu" else _and_floats
    if exact and float in key:
        values = _arrays
        _quick[key] = _BY_VALUE
        key = _with_numbers(key, args)
    if device != "cpu":
        run = natively_on_device(run, values(args))
    _quick[key] = _Quick(run, values, tuple([x._type for x in args if type(x) is Array]))


_STEPS = (Kind.POINTWISE, Kind.REDUCE, Kind.INDEX)
"""Kinds of operations with programs for arrays of any size."""
_has_steps: dict[Any, bool] = {}
"""Whether the operations of a call, seen with arrays of one shape, are of these kinds."""


def _may_have_steps(
    function: Callable[..., Any],
    form: Any,
    types: tuple[ArrayType, ...],
    weak: tuple[type | None, ...],
) -> bool:
    """Whether a function may run by programs for arrays of any size alone: else those of its first
    operations would be compiled in vain."""
    key = function, form, tuple([t.dtype for t in types])
    known = _has_steps.get(key)
    if known is None:
        with aside():
            try:
                graph = traced_lately(function, form, types, weak).graph
                known = all(e.op.kind in _STEPS for e in graph.eqns)
            except (PycError, UnknownShapeError):
                known = True
        if len(_has_steps) >= PROGRAMS:
            _has_steps.clear()
        _has_steps[key] = known
    return known


_first: dict[Any, tuple[ArrayType, ...] | None] = {}
"""The types with which a call came first; None for one of a single step."""


_forms: dict[Any, int] = {}
"""How many forms a function came in with arrays of the same ranks: whole numbers are part of them.
"""


def is_first(
    function: Callable[..., Any],
    form: Any,
    types: tuple[ArrayType, ...],
    weak: tuple[type | None, ...],
) -> bool:
    """Whether a function of several steps comes with the types that it came with first: then one
    program of the whole takes less to compile than its steps do, each alone. For other types the
    steps are there, or worth having.

    raises PycError: what tracing it raises
    """
    key = function, form, tuple([(t.dtype, t.rank) for t in types]), weak
    if key not in _first:
        if len(_first) >= PROGRAMS:
            _first.clear()
            _forms.clear()
        graph = traced_lately(function, form, types, weak).graph
        alike = function, key[2]
        _forms[alike] = _forms.get(alike, 0) + 1
        _first[key] = types if steps_of(graph) > 1 and _forms[alike] <= FORMS else None
    return _first[key] == types


def steps_of(graph: Graph) -> int:
    """How many operations of a Graph are compiled where each runs alone on the host."""
    return sum(
        e.op.kind is not Kind.INDEX and e.op.exact is None and e.op.name != "constant"
        for e in graph.eqns
    )


_steps: dict[Any, int] = {}
"""How often a call was run in steps, by all that its program would be compiled for."""


def _in_steps(
    key: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any] | None:
    """The result of a function by programs for arrays of any size, operation by operation; None if
    one of them has no such program, or if the call has come so often that a program of the whole,
    for its shapes, is worth compiling. It has the same bits."""
    times = _steps.get(key, 0)
    if times >= IN_STEPS:
        return None
    with aside() as events:
        try:
            with only_any_size(), on_device.op_by_op():
                found = function(*args, **kwargs)
        except (NoGenericFormError, PycError):  # an error is the program's to raise
            _steps[key] = IN_STEPS
            return None
    for event in events:
        record(event.reason, **event.details)
    if len(_steps) >= PROGRAMS:
        _steps.clear()
    _steps[key] = times + 1
    return (found,)


def _op_by_op(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    values: list[Any] = []
    form = form_of((tuple(args), dict(kwargs)), values, True)
    device = device_of(values)
    assert device is not None
    try:
        with on_device.op_by_op():
            found = function(*args, **kwargs)
    except ConcretizationError:
        theirs = pnp.TO_NUMPY.get(function)
        if theirs is None:
            raise
        on_host = [x.needed() if type(x) is Array else x for x in values]
        positional, named = filled(form, iter(on_host))
        found = theirs(*positional, **named)
    return _placed(found, device)


def _placed(x: Any, device: str) -> Any:
    """A result with every array of it on the device."""
    if isinstance(x, tuple) and hasattr(x, "_make"):
        return x._make(_placed(v, device) for v in x)
    if type(x) in (tuple, list):
        return type(x)(_placed(v, device) for v in x)
    if type(x) is np.ndarray or isinstance(x, np.generic):
        return moved(x, device_named(device))
    return x


def clear() -> None:
    """Forgets the compiled calls."""
    _quick.clear()
    _steps.clear()
    _has_steps.clear()
    _first.clear()
    _forms.clear()
    _asks.cache_clear()
    traced_lately.cache_clear()
    _compiled.cache_clear()
    _for_any_size.cache_clear()
    _traced_for_any_size.cache_clear()
