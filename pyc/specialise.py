"""From a compiled signature to a `Specialisation`: calls that run no Python.

Takes the arguments of one call as the user gave them and the program that was compiled for them;
returns what the native dispatcher must check to run the same program, or the reason why such calls
go through Python. Anything that could change unnoticed between two calls with the same objects (a
mutable static value, a registered class) is such a reason: the Python way looks again each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from pyc import tree
from pyc.compile import Compiled
from pyc.interpreter import WEAK, native_calls
from pyc.ir import dtype as dt
from pyc.ir.plan import CANCELLED
from pyc.looks import Looks, NotNativeError
from pyc.reasons import Reason
from pyc.runtime.specialisation import (
    Argument,
    ArrayArgument,
    DictArgument,
    ListArgument,
    ObjectArgument,
    Result,
    SameArgument,
    ScalarArgument,
    Specialisation,
    TupleArgument,
)
from pyc.signature import Call, Signature, is_object
from pyc.trace.guards import Guards

MAXIMUM = 64
"""Native specialisations of one function: they are tried one after the other."""

_FIXED = (bool, int, float, complex, str, bytes, type(None))
"""Types of values that cannot change: the same object is the same value."""


def specialise(
    signature: Signature,
    call: Call,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    compiled: Compiled,
    out_tree: tree.TreeDef,
    guards: Guards,
    kept: Sequence[Any],
) -> Specialisation:
    """The native form of the call (*args, **kwargs), whose program is `compiled`.

    guards: what the program depends on besides; kept: for each parameter that an argument is for,
    the value that it must have, None for any
    raises NotNativeError: there is none
    """
    trails = _check_order(signature, call, args, kwargs)
    static = signature.static_positions
    only = iter(kept)
    arguments = [_argument(x, k in static, only) for k, x in enumerate(args)]
    arguments += [_argument(x, name in signature.static_names, only) for name, x in kwargs.items()]
    looks = Looks(guards, call.given, trails, len(kept)).looks
    count = len(compiled.results)
    plain = out_tree == tree.structure(0) or (
        count > 1 and out_tree == tree.flatten_ordered((0,) * count)[1]
    )
    executable = compiled.executable
    return Specialisation(
        arguments=tuple(arguments),
        keywords=tuple(kwargs),
        results=tuple(Result(t.dtype, t.shape) for t in compiled.results),
        entry=executable.address,
        failed=_failure(compiled),
        arena_bytes=compiled.plan.peak,
        constants=executable.constants.ctypes.data,
        externals=executable.externals.ctypes.data,
        release=compiled.release,
        parallel=compiled.parallel,
        as_tuple=None if plain else True,
        wrap=None if plain else out_tree.unflatten,
        valid=native_calls,
        looks=tuple(looks),
        keep=compiled,
    )


def _failure(compiled: Compiled) -> Callable[[Specialisation, int, int, int], Any]:
    def failed(specialisation: Specialisation, code: int, site: int, value: int) -> Any:
        if code == CANCELLED:
            raise KeyboardInterrupt
        raise compiled.failure(site, value)

    return failed


def _check_order(
    signature: Signature, call: Call, args: Sequence[Any], kwargs: dict[str, Any]
) -> dict[int | str, int]:
    """Where each bound argument (its position or its name) is among those that were given.

    raises NotNativeError: the arguments do not stand in the order of the program's parameters;
    binding moves keywords to their positions
    """
    positional, rest = call.given
    moved = [signature.names.positional(k) for k in range(len(args), len(positional))]
    if [*moved, *rest] != [*kwargs]:
        raise NotNativeError(
            Reason.DISPATCH_SLOW_KEYWORDS, "keywords in another order than parameters"
        )
    return {place: k for k, place in enumerate([*range(len(positional)), *rest])}


def _argument(x: Any, static: bool, only: Iterator[Any]) -> Argument:
    kind = type(x)
    if static:
        return _same(x)
    if kind is np.ndarray:
        next(only)
        return _array(x)
    dtype = WEAK.get(kind) if kind is not bool else None
    if dtype is None and isinstance(x, np.generic):
        dtype = dt.of(x.dtype)
    if dtype is not None:
        wanted = next(only)
        if wanted is not None and kind is not int:
            raise NotNativeError(Reason.DISPATCH_SLOW_ARGUMENT, f"the value of a {kind.__name__}")
        return ScalarArgument(kind, dtype, only=wanted)
    if kind is tuple:
        return TupleArgument(tuple(_argument(v, False, only) for v in x))
    if kind is list:
        return ListArgument(tuple(_argument(v, False, only) for v in x))
    if kind is dict:
        return DictArgument(tuple(x), tuple(_argument(v, False, only) for v in x.values()))
    if is_object(x) and tree.is_leaf(x):
        return ObjectArgument(kind)
    return _same(x)


def _array(x: np.ndarray[Any, Any]) -> Argument:
    dtype = dt.of(x.dtype)
    if not x.ndim:
        raise NotNativeError(Reason.DISPATCH_SLOW_ARGUMENT, "an array of rank 0", again=True)
    if dtype is None or not (x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative):
        raise NotNativeError(Reason.DISPATCH_SLOW_ARGUMENT, "an array that is copied", again=True)
    return ArrayArgument(dtype, x.shape)


def _same(x: Any) -> Argument:
    """A static value, by identity: only if the same object is the same value for ever."""
    if type(x) in _FIXED or isinstance(x, (Enum, type, np.dtype, np.ufunc)):
        return SameArgument(x)
    if type(x) is tuple:
        for item in x:
            _same(item)
        return SameArgument(x)
    raise NotNativeError(Reason.DISPATCH_SLOW_ARGUMENT, f"an argument of type {type(x).__name__}")
