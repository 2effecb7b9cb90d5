"""Where functions of `pyc.numpy` meet an `Array` outside of a trace.

Such a call is run as one program on the device of the array, by `pyc.eager_calls`, which is above
this module and loaded for the first of them. One on NumPy arrays is run by `pyc.whole_calls` if the
function is made of several operations, else it goes on as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from pyc.array import Array
from pyc.forks import load
from pyc.interpreter import is_tracing

_by_op: ContextVar[bool] = ContextVar("pyc_by_op", default=False)


def holds_array(items: Iterable[Any]) -> bool:
    """Whether there is an `Array` among `items`, or in the lists and tuples among them."""
    for x in items:
        kind = type(x)
        if kind is Array or ((kind is list or kind is tuple) and holds_array(x)):
            return True
    return False


def is_whole(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call has an `Array` among its arguments and is to be run as one program."""
    found = holds_array(args) or (bool(kwargs) and holds_array(kwargs.values()))
    return found and not is_tracing() and not _by_op.get()


def run(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a function on `Array`s: as one program on their device, unless the calls of
    this context are traced or run op by op."""
    if is_tracing() or _by_op.get():
        return function(*args, **kwargs)
    return _calls()(function, args, kwargs)


def is_alone() -> bool:
    """Whether functions called here run as one program each: nothing is traced, nor op by op."""
    return not is_tracing() and not _by_op.get()


OP_BY_OP = object()
"""What stands for the result of a call that does not run as one program."""


def as_one(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a function of several operations on NumPy arrays, by one program; OP_BY_OP if
    it is none, or if the calls of this context are traced or run op by op."""
    if is_tracing() or _by_op.get():
        return OP_BY_OP
    return _whole()(function, args, kwargs)


def together(function: Callable[..., Any], *args: Any) -> Any:
    """What a function of several operations gives, on NumPy arrays by one program."""
    found = as_one(function, args, {})
    return function(*args) if found is OP_BY_OP else found


@cache
def _whole() -> Callable[..., Any]:
    call: Callable[..., Any] = load("pyc.whole_calls").call
    return call


@cache
def _calls() -> Callable[..., Any]:
    call: Callable[..., Any] = load("pyc.eager_calls").call
    return call


@contextmanager
def op_by_op() -> Iterator[None]:
    """Inside the block functions on `Array`s run op by op."""
    token = _by_op.set(True)
    try:
        yield
    finally:
        _by_op.reset(token)
