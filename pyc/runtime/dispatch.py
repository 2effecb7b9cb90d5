"""Native calls: from a Python call to compiled code without running Python in between.

    class Function(Dispatcher): ...            a callable; `_slow` is called for what is not known
    function = Function(slow)
    add(function, Specialisation(...))         from now on such calls are native

A `Specialisation` says what each argument must be, what comes back, and which entry runs. A call
that fits none, or for which no arena is free, goes to `_slow` with the same arguments.

The callable is a Python object whose type has a word for the address of native code. The word is
empty, and calls go through `__call__`, until the first specialisation comes. If `layout.problem`
knows a reason not to, `add` refuses with it and the word stays empty.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from pyc.forks import hold, in_child
from pyc.reasons import Reason, record
from pyc.runtime import layout, native
from pyc.runtime.records import Record, make_record, problem
from pyc.runtime.specialisation import Specialisation

_HAVE_VECTORCALL, _BASE_TYPE = 1 << 11, 1 << 10
_SLOT_CALL, _SLOT_MEMBERS = 50, 72
_MEMBER_SIZE, _MEMBER_READ_ONLY = 19, 1


class _TypeMember(ctypes.Structure):
    _fields_ = (
        *(("name", ctypes.c_char_p), ("type", ctypes.c_int), ("offset", ctypes.c_ssize_t)),
        *(("flags", ctypes.c_int), ("doc", ctypes.c_char_p)),
    )


class _TypeSlot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("value", ctypes.c_void_p))


class _TypeSpec(ctypes.Structure):
    _fields_ = (
        *(("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int)),
        *(("flags", ctypes.c_uint), ("slots", ctypes.c_void_p)),
    )


_type_parts: list[Any] = []
"""What CPython reads as long as the type lives."""


def _make_base() -> Any:
    """A type whose instances have one word more than `object`: the address of a native call."""
    members = (_TypeMember * 2)(
        _TypeMember(b"__vectorcalloffset__", _MEMBER_SIZE, layout.HEADER, _MEMBER_READ_ONLY),
    )
    call = ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p).value
    slots = (_TypeSlot * 3)(
        _TypeSlot(_SLOT_CALL, call), _TypeSlot(_SLOT_MEMBERS, ctypes.addressof(members))
    )
    name = b"pyc.runtime.dispatch._Callable"
    flags = _HAVE_VECTORCALL | _BASE_TYPE
    spec = _TypeSpec(name, layout.HEADER + 8, 0, flags, ctypes.addressof(slots))
    _type_parts.extend((members, slots, spec, name))
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    return make(ctypes.addressof(spec))


_Callable: Any = _make_base() if layout.problem() is None else object

_writing = RLock()
"""Held while a list of records is changed; calls read it without. Re-entrant, as a signal handler
may call a jitted function wherever Python runs."""


class Dispatcher(_Callable):  # type: ignore[misc]
    """A callable that runs specialisations natively and calls `_slow` for everything else.

    It has no public names of its own, for those that `jit` makes have the user's: what is done to
    one is a function of this module. A `__call__` of a subclass must give what `_slow` gives: it is
    called until the first specialisation comes, `_slow` from then on.
    """

    # Native code reads the last two: CPython places them in the order of their names.
    __slots__ = ("__weakref__", "_first", "_slow")

    _first: Record
    _slow: Callable[..., Any]

    def __init__(self, slow: Callable[..., Any]) -> None:
        self._slow = slow

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _enable_native_calls(cls)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """What the slow way returns; native calls do not come here."""
        return self._slow(*args, **kwargs)


def add(function: Dispatcher, specialisation: Specialisation) -> bool:
    """Makes calls of `function` that fit `specialisation` native; the last one is tried first.

    False, with a reason in the log, if it cannot be: such calls stay slow.
    """
    refused = layout.problem() or _layout_of_callables()
    if refused is None and (unknown := problem(specialisation)) is not None:
        refused = Reason.DISPATCH_SLOW_ARGUMENT, unknown
    if refused is not None:
        record(refused[0], detail=refused[1])
        return False
    with _writing:
        function._first = make_record(specialisation, getattr(function, "_first", None))
    word = ctypes.c_void_p.from_address(id(function) + layout.HEADER)
    word.value = native.CALLS.image().address("dispatch")
    return True


def discard(function: Dispatcher, specialisation: Specialisation) -> None:
    """Takes `specialisation` out, if it is there. Calls under way end as they began."""
    with _writing:
        kept = [r for r in _records(function) if r.specialisation is not specialisation]
        _relink(function, kept)


def clear(function: Dispatcher) -> None:
    """Takes all specialisations of `function` out."""
    with _writing:
        _relink(function, [])


def specialisations(function: Dispatcher) -> tuple[Specialisation, ...]:
    """Those added, in the order in which they are tried."""
    return tuple(r.specialisation for r in _records(function))


def native_calls(function: Dispatcher, specialisation: Specialisation) -> int:
    """How many calls the native code ran with `specialisation`."""
    return sum(r.calls for r in _records(function) if r.specialisation is specialisation)


def _records(function: Dispatcher) -> Iterator[Record]:
    found = getattr(function, "_first", None)
    while found is not None:
        yield found
        found = found.following


def _relink(function: Dispatcher, records: list[Record]) -> None:
    """Records never change once they are in use: a new list is made of the rest."""
    first: Record | None = None
    for old in reversed(records):
        first = make_record(old.specialisation, first)
        first.calls = old.calls
    if first is not None:
        function._first = first
    elif hasattr(function, "_first"):
        del function._first


def _enable_native_calls(cls: type) -> None:
    """Sets the flag that CPython never lets classes with a `__call__` inherit (3.11: no class).

    With it an empty word still leads to `__call__`, a full one to native code.
    """
    if layout.problem() is None:
        flags = ctypes.c_ulong.from_address(id(cls) + layout.TYPE_FLAGS)
        flags.value |= _HAVE_VECTORCALL


_enable_native_calls(Dispatcher)


def _layout_of_callables() -> tuple[Reason, str] | None:
    """A reason if a `Dispatcher` or a record is not laid out as the native code has it."""
    return _checked_layout[0] if _checked_layout else _check_layout()


_checked_layout: list[tuple[Reason, str] | None] = []


def _check_layout() -> tuple[Reason, str] | None:
    probe, first = Dispatcher(print), Record()
    probe._first = first
    words = [
        ctypes.c_void_p.from_address(id(probe) + layout.HEADER + k).value or 0 for k in (0, 8, 16)
    ]
    inside = ctypes.c_void_p.from_address(id(first) + layout.HEADER).value
    right = words == [0, id(first), id(print)] and inside == ctypes.addressof(first)
    right = right and bool(Dispatcher.__flags__ & _HAVE_VECTORCALL)
    found = None if right else (Reason.DISPATCH_SLOW_PROBE, "the fields of a callable")
    _checked_layout.append(found)
    return found


def available() -> tuple[Reason, str] | None:
    """None if calls can be native here; else why not."""
    return layout.problem() or _layout_of_callables()


@contextmanager
def suspended() -> Iterator[None]:
    """Inside the block all calls in the process go the slow way, as while a function is traced:
    a native call would run what should become part of the trace."""
    with _writing:
        native.suspended.value += 1
    try:
        yield
    finally:
        with _writing:
            native.suspended.value = max(native.suspended.value - 1, 0)


def _resume() -> None:
    """In a forked child: the blocks of other threads did not come along."""
    native.suspended.value = 0


hold(_writing)
in_child(_resume)
