"""Where CPython and NumPy keep what the native dispatcher reads, checked on live objects.

`HEADER` and the offsets below it are used only if `problem()` is None: it looks at arrays, scalars
and cells of known value. Otherwise calls go through Python, with the reason it gives.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from abc import get_cache_token
from functools import cache
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from pyc.reasons import Reason

HEADER = object.__basicsize__
"""Bytes of an object's header; its last word is the type."""

TYPE = HEADER - 8
DATA, RANK, DIMENSIONS, STRIDES = HEADER, HEADER + 8, HEADER + 16, HEADER + 24
DESCRIPTOR, FLAGS = HEADER + 40, HEADER + 48
ALLOCATOR = HEADER + 72
"""Offset of what gave an array its memory and gets it back."""
TUPLE_SIZE, TUPLE_ITEMS, LIST_ITEMS = HEADER, HEADER + 8, HEADER + 8
TYPE_FLAGS = 168
"""Offset of `tp_flags` in a type object of a 64-bit build."""

TYPE_AS_BUFFER = 160
"""Offset of `tp_as_buffer`, the address of the slots of the buffer protocol."""

TYPE_VERSION = 384
"""Offset of `tp_version_tag`: a class gets another one when it or a base changes, 0 until its next
look-up."""
DICT_VERSION = HEADER + 8
"""Offset of `ma_version_tag` in a dict: no two states of dicts of a process have the same."""
FUNCTION_CODE, FUNCTION_DEFAULTS, FUNCTION_KEYWORD_DEFAULTS = HEADER + 32, HEADER + 40, HEADER + 48

OFFSETS = {
    "header": HEADER,
    "type": TYPE,
    "rank": RANK,
    "dimensions": DIMENSIONS,
    "descriptor": DESCRIPTOR,
    "flags": FLAGS,
    "allocator": ALLOCATOR,
    "tuple_items": TUPLE_ITEMS,
    "list_items": LIST_ITEMS,
}
"""The offsets under the names that the native text has for them."""

C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400

_SLOTS = {
    "PyArray_Type": 2,
    "PyArray_Scalar": 60,
    "PyArray_NewFromDescr": 94,
    "PyDataMem_GetHandler": 305,
    "PyDataMem_DefaultHandler": 306,
}
"""Places in NumPy's C interface, which are part of its stable ABI."""


@cache
def _numpy_table() -> Any:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(_multiarray_umath._ARRAY_API, None)
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))


def numpy_function(name: str) -> int:
    """Address of `name` in NumPy's C interface."""
    return int(_numpy_table()[_SLOTS[name]])


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _half(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


def _row(address: int, count: int) -> list[int]:
    """Words at an address that was itself read: if the offset of it is wrong, it may be anything.

    The kernel reads them, and refuses where a load of our own would end the process.
    """
    try:
        with open("/proc/self/mem", "rb", 0) as memory:
            raw = os.pread(memory.fileno(), 8 * count, address)
    except (OSError, OverflowError):
        return []
    return [int.from_bytes(raw[8 * k : 8 * k + 8], "little", signed=True) for k in range(count)]


def _array_problem() -> str | None:
    probe = np.arange(15, dtype=np.float32).reshape(3, 5)
    for array, flags in ((probe, C_CONTIGUOUS), (probe.T, F_CONTIGUOUS), (probe[::2, ::2], 0)):
        at = id(array)
        dimensions, strides = _word(at + DIMENSIONS), _word(at + STRIDES)
        if (
            _word(at + TYPE) != id(np.ndarray)
            or _word(at + DATA) != array.ctypes.data
            or _half(at + RANK) != array.ndim
            or _row(dimensions, 2) != list(array.shape)
            or _row(strides, 2) != list(array.strides)
            or _word(at + DESCRIPTOR) != id(array.dtype)
            or _half(at + FLAGS) & (C_CONTIGUOUS | F_CONTIGUOUS | ALIGNED) != flags | ALIGNED
        ):
            return "the fields of an array"
    if numpy_function("PyArray_Type") != id(np.ndarray):
        return "NumPy's C interface"
    current = ctypes.PYFUNCTYPE(ctypes.py_object)(numpy_function("PyDataMem_GetHandler"))
    owner = np.empty(3)
    if _word(id(owner) + ALLOCATOR) != id(current()):
        return "what gave an array its memory"
    return None


def _scalar_problem() -> str | None:
    number, pair = 1.2345678e300, complex(2.5, -3.5)
    if ctypes.c_double.from_address(id(number) + HEADER).value != number:
        return "the value of a float"
    if list((ctypes.c_double * 2).from_address(id(pair) + HEADER)) != [pair.real, pair.imag]:
        return "the value of a complex number"
    for scalar in (np.float64(number), np.float32(1.5), np.int8(-7), np.complex128(pair)):
        raw = (ctypes.c_char * scalar.itemsize).from_address(id(scalar) + HEADER).raw
        if raw != scalar.tobytes():
            return f"the value of a {scalar.dtype.name} scalar"
    return None


def _container_problem() -> str | None:
    items = (object(), object())
    held = [*items]
    cell = (lambda: items).__closure__
    assert cell is not None
    at, first = id(items), _word(id(held) + LIST_ITEMS)
    if _word(at + TUPLE_SIZE) != 2 or _word(id(held) + TUPLE_SIZE) != 2:
        return "the length of a tuple or a list"
    wanted = [id(item) for item in items]
    if _row(at + TUPLE_ITEMS, 2) != wanted or _row(first, 2) != wanted:
        return "the items of a tuple or a list"
    if _word(id(cell[0]) + HEADER) != id(items):
        return "the content of a cell"
    for cls in (int, np.ndarray, Reason):
        if _word(id(cls) + TYPE_FLAGS) != cls.__flags__:
            return "the flags of a type"
    if _word(id(int) + TYPE_AS_BUFFER) or not _word(id(bytes) + TYPE_AS_BUFFER):
        return "the buffer slots of a type"
    return None


def _function_problem() -> str | None:
    def probe(x: Any = 1, *, y: Any = None) -> None: ...

    fields = (
        (FUNCTION_CODE, probe.__code__),
        (FUNCTION_DEFAULTS, probe.__defaults__),
        (FUNCTION_KEYWORD_DEFAULTS, probe.__kwdefaults__),
    )
    if any(_word(id(probe) + offset) != id(value) for offset, value in fields):
        return "the fields of a function"
    return None


def _version_problem() -> str | None:
    class Base:
        value = 1

    class Probe(Base):
        pass

    seen = {type_version(Probe)}
    for value in (2, 3):
        Base.value = value
        seen.add(type_version(Probe))
    if 0 in seen or len(seen) != 3 or type_version(Probe) != type_version(Probe):
        return "the version of a class"
    return None


@cache
def _has_dict_versions() -> bool:
    """Whether a dict gets another version whenever something in it changes.

    CPython gives up these versions some day (PEP 699).
    """
    probe: dict[str, Any] = {"a": 1}
    seen = [_word(id(probe) + DICT_VERSION)]
    for step in (
        lambda: probe.__setitem__("b", 2),
        lambda: probe.__setitem__("b", 3),
        lambda: probe.pop("b"),
        lambda: probe.clear(),
    ):
        step()
        seen.append(_word(id(probe) + DICT_VERSION))
    probe.get("a")
    return len({*seen}) == 5 and _word(id(probe) + DICT_VERSION) == seen[-1]


def dict_version(names: dict[str, Any]) -> int | None:
    """The version of a dict; None if CPython gives it none."""
    return _word(id(names) + DICT_VERSION) if _has_dict_versions() else None


def registered_classes() -> tuple[int, int] | None:
    """Where CPython counts the classes that are registered with abstract ones, and how many those
    are; None if it is not there."""
    state = ctypes.pythonapi.PyModule_GetState
    state.restype, state.argtypes = ctypes.c_void_p, [ctypes.py_object]
    address = int(state(sys.modules["_abc"]) or 0) + 8
    token: Any = get_cache_token()
    return (address, token) if address > 8 and _row(address, 1) == [token] else None


def type_version(cls: type) -> int:
    """The version of a class; 0 if CPython gives it none."""
    getattr(cls, "a name that no class has", None)  # a look-up gives it one
    return ctypes.c_uint32.from_address(id(cls) + TYPE_VERSION).value


def fields(value: Any, count: int) -> list[int]:
    """The first fields of an object with slots: the addresses of what they hold."""
    return [_word(id(value) + HEADER + 8 * k) for k in range(count)]


@cache
def problem() -> tuple[Reason, str] | None:
    """Why calls must go through Python: a reason and a detail; None if they can be native."""
    free_threaded = "t" in sys.abiflags
    build = (
        sys.implementation.name,
        sys.platform,
        platform.machine(),
        ctypes.sizeof(ctypes.c_void_p),
    )
    if build != ("cpython", "linux", "x86_64", 8) or free_threaded:
        return Reason.DISPATCH_SLOW_PYTHON, f"{sys.implementation.name} on {platform.machine()}"
    if not (3, 11) <= sys.version_info[:2] <= (3, 13) or HEADER != 16:
        return Reason.DISPATCH_SLOW_PYTHON, platform.python_version()
    for check in _CHECKS:
        found = check()
        if found is not None:
            return Reason.DISPATCH_SLOW_PROBE, found
    return None


_CHECKS = (
    *(_array_problem, _scalar_problem, _container_problem),
    *(_function_problem, _version_problem),
)
