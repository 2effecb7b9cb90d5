"""Functions that a program calls back: effects that are declared, and pure functions of the host.

A call is an equation; the function and how its results are checked stand in the equation's place,
so that the Graph, its key and its cache entry know only that there is a call. The function is the
user's own, not the one over views that the trace has handed out: it runs when the program does.

Outside of a trace the function is called at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc import tree
from pyc.errors import DTypeError, ShapeError, TraceError
from pyc.frozen import frozen, replace
from pyc.interpreter import WEAK, current, is_tracing
from pyc.ir import dtype as dt
from pyc.ir.graph import HostCall, Location
from pyc.ir.types import ArrayType
from pyc.trace import location
from pyc.trace.capture import current_namespace
from pyc.trace.trace import Trace

Array = np.ndarray[Any, Any]


def pure_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, vectorized: bool = False
) -> Any:
    """`callback(*args)`, called with NumPy arrays when the program runs.

    callback: a function without an effect, which gives the same for the same arguments: it may be
    called less often than the program says, or not at all if nothing needs the result.
    args: trees of arrays and numbers; result_shape_dtypes: tree of `ShapeDtype`s, or of arrays of
    the shape and dtype of the results. vectorized: under `pyc.vmap`, `callback` is called once for
    all lanes, each argument and result with a first axis more; else it is called for each lane.

    raises TraceError: not a function; DTypeError: no such declaration; when the program runs, what
    `callback` raises, and ShapeError: results of other shapes or structure than declared, or
    DTypeError: of another dtype

    JAX: `jax.pure_callback`.

    >>> pyc.pure_callback(np.sort, np.zeros(3), np.array([3.0, 1.0, 2.0]))
    array([1., 2., 3.])
    """
    declared = result_shape_dtypes
    return _called(
        "pure_host_call", "pure_callback", callback, declared, args, {}, vectorized=vectorized
    )


def io_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, ordered: bool = True
) -> Any:
    """As `pure_callback` for a function with an effect: each call happens, in the order of the
    program, whether `ordered` or not.

    callback, args, result_shape_dtypes: as of `pure_callback`, the shapes and dtypes of the results

    raises TraceError: not a function; DTypeError: no such declaration; when the program runs, what
    `callback` raises, and ShapeError: results of other shapes or structure than declared, or
    DTypeError: of another dtype

    JAX: `jax.experimental.io_callback`.

    >>> seen = []
    >>> int(pyc.io_callback(lambda x: seen.append(x) or x, np.int64(0), np.int64(7)))
    7
    >>> len(seen)
    1
    """
    return _called("host_call", "io_callback", callback, result_shape_dtypes, args, {})


def callback(callback: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Calls `callback(*args, **kwargs)` when the program runs; what it returns is dropped."""
    called_for_effect("debug.callback", callback, args, kwargs)


def called_for_effect(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Calls a function when the program runs. name: that the user calls it by."""
    _called("host_call", name, function, None, args, kwargs)


def debug_print(fmt: str, *args: Any, ordered: bool = True, **kwargs: Any) -> None:
    """Prints `fmt.format(*args, **kwargs)` when the program runs, each time, in order.

    raises IndexError, KeyError: `fmt` names an argument that is not given, at once
    """
    fmt.format(*(Anything() for _ in args), **{k: Anything() for k in kwargs})

    def shown(*args: Any, **kwargs: Any) -> None:
        print(fmt.format(*args, **kwargs))  # noqa: T201 - what it is for

    called_for_effect("debug.print", shown, args, kwargs)


class Anything:
    """Takes any format: what is shown is not known yet."""

    def __format__(self, spec: str) -> str:
        return ""

    def __getattr__(self, name: str) -> Anything:
        return self

    def __getitem__(self, key: Any) -> Anything:
        return self


@frozen(eq=False)
class _Call:
    """One call: answers with arrays of the declared types. name: of the function, for messages."""

    name: str
    function: Callable[..., Any]
    arguments: tree.TreeDef
    results: tree.TreeDef | None
    types: tuple[ArrayType, ...]
    place: Location | None

    def __call__(self, given: list[Array]) -> list[Array]:
        """The results, or a false flag if the function is called for its effect only."""
        args, kwargs = self.arguments.unflatten([a[()] for a in given])
        found = self.function(*args, **kwargs)
        if self.results is None:
            return [np.array(False)]
        return self._checked(found)

    def many(self, lanes: int) -> _Call:
        """The same function for as many lanes at once."""
        types_ = tuple(ArrayType((lanes, *t.shape), t.dtype) for t in self.types)
        return replace(self, types=types_)

    def _checked(self, found: Any) -> list[Array]:
        leaves, structure = tree.flatten_ordered(found)
        if structure != self.results:
            raise ShapeError(
                f"callback `{self.name}` gives {structure}, declared is {self.results}",
                fix="Return the tuples, lists and dicts that are declared, with arrays in them.",
                place=self.place,
            )
        out = []
        for k, (leaf, wanted) in enumerate(zip(leaves, self.types, strict=True)):
            weak = type(leaf) in WEAK and not wanted.shape
            array = np.asarray(leaf, wanted.dtype.numpy if weak else None)
            if array.shape != wanted.shape or array.dtype != wanted.dtype.numpy:
                kind = DTypeError if array.shape == wanted.shape else ShapeError
                raise kind(
                    f"callback `{self.name}`: result {k} is {array.dtype}{list(array.shape)}, "
                    f"declared is {wanted.dtype.name}{list(wanted.shape)}",
                    fix="Return what is declared, or declare what it returns.",
                    place=self.place,
                )
            out.append(np.ascontiguousarray(array).reshape(wanted.shape))
        return out


def _called(
    op: str,
    name: str,
    function: Any,
    declared: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    vectorized: bool = False,
) -> Any:
    """The results of a call that stands here in the program, or that is made now."""
    leaves, arguments = tree.flatten_ordered((args, kwargs))
    results = None
    types_: tuple[ArrayType, ...] = (ArrayType((), dt.b1),)
    if declared is not None:
        shapes, results = tree.flatten_ordered(declared)
        types_ = tuple(_declared(name, s) for s in shapes)
    if results is not None and not types_:
        results, types_ = None, (ArrayType((), dt.b1),)
    place = location.here()
    trace = current()
    made = _Call(_name_of(function), _own(name, function), arguments, results, types_, place)
    if not is_tracing():
        outs: Any = [x[()] for x in made([np.asarray(x) for x in leaves])]
    else:
        assert isinstance(trace, Trace)
        where = place or Location("", 0)
        at = HostCall(
            *(where.file, where.line, where.function, where.column, where.end_column),
            answers=made,
            many=made.many if vectorized else None,
        )
        whole = trace.outermost
        number = whole.host_calls
        whole.host_calls += 1
        outs = trace.bind_at(
            at,
            op,
            tuple(trace.lift(pnp.asarray(x)) for x in leaves),
            {
                "number": number,
                "shapes": tuple(t.shape for t in types_),
                "dtypes": tuple(t.dtype for t in types_),
            },
        )
    return None if results is None else results.unflatten(list(outs))


def _declared(name: str, wanted: Any) -> ArrayType:
    shape, dtype = getattr(wanted, "shape", None), getattr(wanted, "dtype", None)
    kind = None if dtype is None else dt.of(np.dtype(dtype))
    if shape is None or kind is None:
        raise DTypeError(
            f"{name}: a result is declared by a shape and a dtype, not {type(wanted).__name__}",
            fix="Declare each result as `pyc.ShapeDtype(shape, dtype)`.",
            place=location.here(),
        )
    return ArrayType(tuple(int(n) for n in shape), kind)


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _own(name: str, function: Any) -> Callable[..., Any]:
    """The user's own function, where the trace has handed out one over views of its names.

    raises TraceError: not a function, or one made in the traced function that has a loop or branch
    """
    if not callable(function):
        raise TraceError(
            f"{name}: expected a function, got {type(function).__name__}",
            fix="Pass the function first, then its arguments.",
            place=location.here(),
        )
    if not is_tracing():
        return function  # type: ignore[no-any-return]
    found = current_namespace().original(function)
    if found is None:
        raise TraceError(
            f"{name}: `{_name_of(function)}` is not a function that can be called when the program "
            "runs: it is made in the traced function from what is there, or of another kind",
            fix="Define a function outside of the jitted one; pass what it needs as arguments.",
            place=location.here(),
        )
    return found  # type: ignore[no-any-return]


__all__ = ["Anything", "called_for_effect", "callback", "debug_print"]
__all__ += ["io_callback", "pure_callback"]
