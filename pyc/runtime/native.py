"""The runtime's own native code: one module of LLVM IR, made once, loaded once.

`text()` is the module, `object_code()` compiles it (this loads LLVM), `load(code)` maps ready
bytes (a cached object: no LLVM), `image()` is the mapped code, compiled if nothing was loaded
before. The text depends on the memory layout that `layout` found, on nothing else of the machine,
so it is the key under which its object may be kept.

C functions reach the code through one pointer variable each, `f_NAME`, filled when it is loaded.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache
from string import Template
from typing import Any

from pyc.backends.assemble import assemble
from pyc.backends.image import Image
from pyc.runtime import (
    layout,
    structures,
    text_dispatch,
    text_interrupt,
    text_match,
    text_threads,
)

_lock = threading.Lock()
_loaded: list[Image] = []

suspended = ctypes.c_int32(0)
"""How many blocks want calls to go the slow way now; native calls look at it."""

os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)

_PYTHON = ("Py", "_Py")
_EXTERNALS = (
    *(*text_threads.EXTERNALS, *text_interrupt.EXTERNALS),
    *(*text_match.EXTERNALS, *text_dispatch.EXTERNALS),
)


def text() -> str:
    """The LLVM IR module of the runtime, for this version of Python and NumPy."""
    variables = "\n".join(f"@f_{name} = hidden global ptr null" for name in _EXTERNALS)
    parts = (text_threads.TEXT, text_interrupt.TEXT, text_match.TEXT, text_dispatch.TEXT)
    numbers = layout.OFFSETS | structures.PLACES
    numbers |= text_threads.NUMBERS | text_match.NUMBERS | text_dispatch.NUMBERS
    filled = Template("\n".join(parts)).substitute(numbers)
    return "\n".join((variables, structures.definitions(), filled))


def object_code() -> bytes:
    """The compiled `text()`, to be kept and given to `load` in later processes."""
    return assemble(text())


def load(code: bytes) -> Image:
    """The runtime's code, mapped from `code` unless it is mapped already.

    raises CompileError: `code` is not an object made by `object_code`
    """
    with _lock:
        if not _loaded:
            found = Image(code)
            for name in _EXTERNALS:
                _pointer(found, f"f_{name}").value = _external(name)
            _pointer(found, "suspended").value = ctypes.addressof(suspended)
            ctypes.c_int64.from_address(found.address("main_thread")).value = _main_thread()
            _loaded.append(found)
            os.register_at_fork(after_in_child=_renew_main_thread)
        return _loaded[0]


def loaded() -> bool:
    """Whether the code is mapped."""
    return bool(_loaded)


def image() -> Image:
    """The runtime's code, compiled now if it is not loaded."""
    return _loaded[0] if _loaded else load(object_code())


@cache
def python_function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Function `name` for ctypes, called with the GIL; Python errors it sets are raised."""
    return ctypes.PYFUNCTYPE(result, *arguments)(image().address(name))


def _pointer(found: Image, name: str) -> ctypes.c_void_p:
    return ctypes.c_void_p.from_address(found.address(name))


def _external(name: str) -> int:
    if name.startswith("PyArray_"):
        return layout.numpy_function(name)
    library = ctypes.pythonapi if name.startswith(_PYTHON) else ctypes.CDLL(None)
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address is not None
    return address


def _main_thread() -> int:
    found = threading.main_thread().ident
    assert found is not None
    return found


def _renew_main_thread() -> None:
    """After a fork the forking thread is the main thread."""
    ctypes.c_int64.from_address(_loaded[0].address("main_thread")).value = threading.get_ident()
