"""The runtime's own native code: modules of LLVM IR, each made once and loaded once.

    HOOKS    what `pyc.purity` watches a trace with
    CALLS    from a Python call to an entry and back, Ctrl-C included
    THREADS  the worker pool: for programs that share their work out
    CODE     of `device_calls`: starts programs on a GPU

`Part.text()` is a module; `object_code()` compiles it; `load(code)` maps ready bytes; `image()` is
the mapped code: what came with pyc (`shipped`), where no LLVM is needed. The text depends on the
memory layout that `layout` found, on nothing else of the machine; that of another layout is
compiled, and kept in the disk cache under the text.

C functions reach the code through one pointer variable each, `f_NAME`, filled when it is loaded.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from functools import cache as memoised
from time import perf_counter
from typing import Any

from pyc import cache
from pyc.backends.image import Image
from pyc.fingerprint import Document, versions
from pyc.forks import compiling, hold, in_child, load, may_wait
from pyc.runtime import (
    layout,
    shipped,
    structures,
    text_dispatch,
    text_interrupt,
    text_match,
    text_threads,
    text_watch,
)
from pyc.store import Entry

suspended = ctypes.c_int32(0)
"""How many blocks want calls to go the slow way now; native calls look at it."""

_PYTHON = ("Py", "_Py")

KEPT_BYTES = 8 << 20
"""Bytes of a block that is freed once: twice the largest result that is allocated by lines."""

PARTS: list[Part] = []
"""Those whose modules are imported."""


class Part:
    """One module of native code."""

    def __init__(
        self,
        name: str,
        externals: tuple[str, ...],
        texts: tuple[str, ...],
        prepare: Callable[[Image], None],
        own: dict[str, type[ctypes.Structure]] | None = None,
        numbers: dict[str, int] | None = None,
    ) -> None:
        """externals: the C functions it calls; texts: its functions, with names of places for their
        numbers; prepare: fills other variables, once it is mapped; own, numbers: structures and
        numbers that no other part has."""
        self.name = name
        self.externals = externals
        self._texts = texts
        self._prepare = prepare
        self._own = own or {}
        self._numbers = numbers or {}
        self._image: Image | None = None
        self._lock = threading.RLock()
        hold(self._lock)
        PARTS.append(self)

    def text(self) -> str:
        """The LLVM IR module, for this version of Python and NumPy."""
        variables = (f"@f_{name} = hidden global ptr null" for name in self.externals)
        numbers = layout.OFFSETS | structures.PLACES
        numbers |= text_threads.NUMBERS | text_match.NUMBERS | text_dispatch.NUMBERS
        numbers |= structures.places(self._own) | self._numbers
        filled = re.sub(r"\$(\w+)", lambda m: str(numbers[m[1]]), "\n".join(self._texts))
        shared, own = structures.definitions(), structures.definitions(self._own)
        return "\n".join((*variables, shared, own, filled))

    def object_code(self) -> bytes:
        """The compiled `text()`."""
        with compiling:
            made: bytes = load("pyc.backends.assemble").assemble(self.text())
            return made

    def load(self, code: bytes) -> Image:
        """The mapped code, from `code` unless it is mapped already.

        raises CompileError: `code` is not an object made by `object_code`
        """
        with self._lock:
            if self._image is None:
                found = Image(code)
                for name in self.externals:
                    pointer(found, f"f_{name}").value = _external(name)
                self._prepare(found)
                self._image = found
            return self._image

    def loaded(self) -> bool:
        """Whether the code is mapped."""
        return self._image is not None

    def image(self) -> Image:
        """The mapped code; if it is not loaded, what came with pyc, or is in the cache, or is
        compiled now."""
        if self._image is not None:
            return self._image
        text = self.text()
        ready = shipped.object_of(text)
        if ready is not None:
            return self.load(ready)
        name = f"pyc runtime: {self.name}"
        document: Document = {"runtime": text, "versions": versions(("llvmlite",))}
        with cache.claim(document, {}, name, wait=may_wait()) as found:
            if isinstance(found, Entry):
                return self.load(found.payload["object"])
            start = perf_counter()
            code = self.object_code()
            cache.store(document, {}, {"object": code}, perf_counter() - start, name)
        return self.load(code)


def pointer(found: Image, name: str) -> ctypes.c_void_p:
    """The pointer variable `name` of some code."""
    return ctypes.c_void_p.from_address(found.address(name))


def _external(name: str) -> int:
    if name.startswith(("PyArray_", "PyDataMem_")):
        return layout.numpy_function(name)
    library = ctypes.pythonapi if name.startswith(_PYTHON) else ctypes.CDLL(None)
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address is not None
    return address


# --- calls ----------------------------------------------------------------------------------------


def _keep_freed_memory() -> None:
    """Frees a large block, once. glibc gives free memory at the end of its heap back to the system
    when it is twice the largest block that a process has freed so far (mallopt(3), on the dynamic
    threshold for mappings). Where no large one was, results of a megabyte could be of new pages in
    each call: 430 to 540 us for 25 (x * 2 of 1 MB)."""
    libc = ctypes.CDLL(None)
    allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("malloc", libc))
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", libc))
    free(allocate(KEPT_BYTES))


def _prepare_calls(found: Image) -> None:
    _keep_freed_memory()
    pointer(found, "suspended").value = ctypes.addressof(suspended)
    pointer(found, "memory_error").value = id(MemoryError)
    main = threading.main_thread().ident
    assert main is not None
    ctypes.c_int64.from_address(found.address("main_thread")).value = main


def _renew_main_thread() -> None:
    """After a fork the forking thread is the main thread."""
    if CALLS.loaded():
        place = CALLS.image().address("main_thread")
        ctypes.c_int64.from_address(place).value = threading.get_ident()


CALLS = Part(
    "calls",
    (*text_interrupt.EXTERNALS, *text_match.EXTERNALS, *text_dispatch.EXTERNALS),
    (text_interrupt.TEXT, text_match.TEXT, text_dispatch.TEXT),
    _prepare_calls,
)
HOOKS = Part("hooks", *text_watch.parts(profile=text_watch.HAS_PROFILE), lambda found: None)
THREADS = Part("threads", text_threads.EXTERNALS, (text_threads.TEXT,), lambda found: None)

in_child(_renew_main_thread)


@memoised
def python_function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Function `name` of `CALLS` for ctypes, called with the GIL; Python errors it sets are
    raised."""
    return ctypes.PYFUNCTYPE(result, *arguments)(CALLS.image().address(name))
