"""Native calls of entries that are Python callbacks, so that a test sees the filled slots."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyc.ir import dtype as dtypes
from pyc.ir.plan import ARGUMENT_BYTES
from pyc.runtime import dispatch
from pyc.runtime.dispatch import Dispatcher
from pyc.runtime.specialisation import (
    ArrayArgument,
    Result,
    ScalarArgument,
    Specialisation,
)

NEEDS_NATIVE_CALLS = pytest.mark.skipif(
    dispatch.available() is not None, reason=str(dispatch.available())
)
POINTER = ctypes.c_void_p
F32 = dtypes.f32
VECTOR = ArrayArgument(F32, (3,))


class Slow:
    """Counts slow calls and gives back what it was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        self.calls.append((args, kwargs))
        return "slow"


def failed(_: Specialisation, code: int, site: int, value: int) -> Any:
    raise RuntimeError(f"failed with {code}, {site}, {value}")


class Entry:
    """An entry made of a Python function body(context, slots, results): addresses.

    A callback that returns nothing returns 0.
    """

    def __init__(self, body: Callable[[int, int, int], int | None], *, release: bool) -> None:
        make = ctypes.CFUNCTYPE if release else ctypes.PYFUNCTYPE
        self.callback = make(ctypes.c_int32, POINTER, POINTER, POINTER)(
            lambda context, slots, results: body(context, slots or 0, results or 0) or 0
        )
        self.address = ctypes.cast(self.callback, POINTER).value or 0


def specialise(
    body: Callable[[int, int, int], int | None],
    arguments: tuple[Any, ...],
    results: tuple[Result, ...] = (),
    **options: Any,
) -> Specialisation:
    entry = Entry(body, release=options.get("release", False))
    options.setdefault("failed", failed)
    return Specialisation(arguments, results, entry.address, keep=entry, **options)


def slot(slots: int, index: int, kind: Any = ctypes.c_int64) -> Any:
    return kind.from_address(slots + ARGUMENT_BYTES * index).value


def floats(address: int, count: int) -> np.ndarray[Any, Any]:
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


def result(results: int, index: int) -> int:
    return ctypes.c_int64.from_address(results + 8 * index).value


def doubled(_: int, slots: int, results: int) -> None:
    floats(result(results, 0), 3)[:] = 2 * floats(slot(slots, 0), 3)


def make_doubler() -> tuple[Dispatcher, Slow]:
    slow = Slow()
    function = Dispatcher(slow)
    assert dispatch.add(function, specialise(doubled, (VECTOR,), (Result(F32, (3,)),)))
    return function, slow


def accepts(argument: Any, value: Any) -> tuple[bool, bytes]:
    """Whether a call with `value` is native, and the bytes of the first slot."""
    seen = []

    def body(_: int, slots: int, __: int) -> None:
        seen.append(ctypes.string_at(slots, ARGUMENT_BYTES))

    slow = Slow()
    function = Dispatcher(slow)
    assert dispatch.add(function, specialise(body, (argument,)))
    function(value)
    assert len(seen) + len(slow.calls) == 1
    return bool(seen), seen[0] if seen else b""


ONE = ScalarArgument(int, dtypes.i64)


def recorder(arguments: tuple[Any, ...], count: int, **options: Any) -> tuple[Any, list[Any], Slow]:
    """A function with integer leaves; the list gets the slots of each native call."""
    seen: list[Any] = []

    def body(_: int, slots: int, __: int) -> None:
        seen.append([slot(slots, k) for k in range(count)])

    slow = Slow()
    function = Dispatcher(slow)
    assert dispatch.add(function, specialise(body, arguments, **options))
    return function, seen, slow


class Model:
    """An object that calls look at."""

    def __init__(self) -> None:
        self.rate = 0.5
