"""What a traced function is given in place of impure functions, modules and streams.

Hooks do not see functions that C calls (`map(print, x)`, `sorted(x, key=...)`), so what a view
hands out refuses by itself, by whatever name and route it is called. Where nothing watches, after
the trace, it does what it stands for.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, update_wrapper
from threading import get_ident
from types import BuiltinFunctionType, ModuleType
from typing import Any

from pyc.purity import audit, frames, table
from pyc.trace.modules import ModuleView
from pyc.trace.views import OWN


def name_of(function: Any) -> str:
    """A function written in C as it is known to users."""
    module, name = function.__module__, function.__name__
    if module in ("builtins", "io", "_io"):
        return f"`{name}`"
    return f"`{_KNOWN_AS.get(module, module)}.{name}`"


def name_of_method(owner: Any, name: str) -> str:
    """A method written in C as it is known to users."""
    cls = owner if isinstance(owner, type) else type(owner)
    return f"`{cls.__name__}.{name}`"


_KNOWN_AS = {"posix": "os", "_warnings": "warnings", "_signal": "signal", "_locale": "locale"}
_KNOWN_AS |= {"_contextvars": "contextvars", "_decimal": "decimal"}


def guarded(
    function: Any, name: str, effect: table.Effect, by_any: bool = False
) -> Callable[..., Any]:
    """`function`, which refuses to be called while something watches; by_any: by pyc itself too,
    which walks through the user's iterators."""

    def impure(*args: Any, **options: Any) -> Any:
        watch = audit.current(get_ident())
        if watch is not None:
            frame: Any = sys._getframe(1)
            watch.report(effect, name, frames.nearest(frame) if by_any else frame)
        return function(*args, **options)

    return update_wrapper(impure, function)


# --- functions ------------------------------------------------------------------------------------


_PRINT = print


def _print(*args: Any, **options: Any) -> None:
    """`print`, refused but into a stream in memory that the function has made."""
    watch = audit.current(get_ident())
    target = options.get("file")
    if isinstance(target, Stream):
        target = options["file"] = target.stream
    target = sys.stdout if target is None else target
    shared = isinstance(target, io.IOBase | Stream)
    if watch is not None and shared and not watch.is_local(target):
        watch.report(table.PRINTS, "`print`", sys._getframe(1))
    _PRINT(*args, **options)


def _clock_unless_given(function: Any) -> Callable[..., Any]:
    """A function of `time` that reads the clock if it is called without a time."""
    refuse = guarded(function, name_of(function), table.CLOCK)
    needed = table.WITH_ARGUMENTS[function.__name__]

    def converted(*args: Any) -> Any:
        if len(args) >= needed and args[-1] is not None:
            return function(*args)
        return refuse(*args)

    return update_wrapper(converted, function)


_made: dict[int, tuple[Any, Any]] = {}
"""By id, since functions of two names may be equal: a function, and what stands for it."""


def of_function(function: Any) -> Any:
    """What stands for a function written in C; itself if it is pure."""
    known = _made.get(id(function))
    if known is None:
        known = _made[id(function)] = function, _of_function(function)
    return known[1]


def _of_function(function: Any) -> Any:
    if function is print:
        return update_wrapper(_print, print)
    if function.__module__ == "time" and function.__name__ in table.WITH_ARGUMENTS:
        return _clock_unless_given(function)
    effect = table.of_function(function.__module__ or "", function.__name__)
    return function if effect is None else guarded(function, name_of(function), effect)


@cache
def builtin_functions() -> dict[str, Any]:
    """What stands for builtins, by name."""
    found = {
        name: of_function(value)
        for name, value in OWN.items()
        if type(value) is BuiltinFunctionType
    }
    return {name: value for name, value in found.items() if value is not OWN[name]}


# --- modules and streams --------------------------------------------------------------------------


class Stream:
    """An open file, a terminal or a buffer from outside: what it is may be asked, reading from it
    and writing to it are refused."""

    def __init__(self, stream: Callable[[], Any], name: str) -> None:
        self._stream = stream
        self._name = name

    @property
    def stream(self) -> Any:
        """The stream itself."""
        return self._stream()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._stream())

    def __getattr__(self, name: str) -> Any:
        stream = self._stream()
        found = getattr(stream, name)
        if name in table.STREAM_READS:
            return self._method(found, name, table.READS)
        return self._method(found, name, table.WRITES) if name in table.STREAM_WRITES else found

    def _method(self, method: Any, name: str, effect: table.Effect) -> Any:
        watch = audit.current(get_ident())
        if watch is None or watch.is_local(method.__self__):
            return method
        return guarded(method, f"`{self._name}.{name}`", effect, by_any=name == "__next__")

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._method(self._stream().__next__, "__next__", table.READS)()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self._method(self._stream().close, "close", table.WRITES)()


_STREAMS = ("stdin", "stdout", "stderr")


class _SystemView(ModuleView):
    """`sys`, with streams that refuse."""

    def __getattr__(self, name: str) -> Any:
        if name in _STREAMS:
            return Stream(lambda: getattr(sys, name), f"sys.{name}")
        return super().__getattr__(name)


def module(value: ModuleType, view: ModuleView) -> ModuleType:
    """What stands for a module of the standard library whose view is `view`; that itself if it has
    nothing to refuse."""

    def answer(name: str, own: Any) -> Any:
        found = view.__answer__(name, own)
        return of_function(own) if found is own and type(own) is BuiltinFunctionType else found

    made = {sys: _SystemView, time: ModuleView}.get(value)
    return made(value, answer, view.__missed__, view.__names__) if made is not None else view
