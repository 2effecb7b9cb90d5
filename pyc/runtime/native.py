"""The runtime's own native code: modules of LLVM IR, each made once and loaded once.

    HOOKS    what `pyc.purity` watches a trace with
    CALLS    from a Python call to an entry and back, Ctrl-C included
    THREADS  the worker pool: for programs that share their work out
    CODE     of `device_calls`: starts programs on a GPU

`Part.text()` is a module; `object_code()` compiles it; `load(code)` maps ready bytes; `image()` is
the mapped code: from the disk cache, where no LLVM is needed, or compiled now. Where HOOKS had to
be compiled, CALLS are compiled in a thread beside the trace. The text depends on the memory layout
that `layout` found, on nothing else of the machine, so it is the key under which its object is
kept.

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
from pyc.forks import Beside, compiling, hold, in_child, load, may_wait
from pyc.runtime import (
    layout,
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

PARTS: list[Part] = []
"""Those whose modules are imported."""

PATIENCE_SECONDS = 5.0
"""The longest that anybody waits for what is compiled in another thread; it takes 0.03."""


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
        then: Part | None = None,
    ) -> None:
        """externals: the C functions it calls; texts: its functions, with names of places for their
        numbers; prepare: fills other variables, once it is mapped; own, numbers: structures and
        numbers that no other part has; then: the part that is needed next."""
        self.name = name
        self.externals = externals
        self._texts = texts
        self._prepare = prepare
        self._own = own or {}
        self._numbers = numbers or {}
        self._then = then
        self._beside: Beside | None = None
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
        """The compiled `text()`; the part that is needed next is compiled from now on."""
        return self._compiled()[0]

    def _compiled(self) -> tuple[bytes, float]:
        """The object code, and the seconds that it took, here or in another thread."""
        beside, self._beside = self._beside, None
        made: bytes | None = beside.result(PATIENCE_SECONDS) if beside is not None else None
        seconds = beside.seconds if beside is not None else 0.0
        with compiling:
            if made is None:
                start = perf_counter()
                made = load("pyc.backends.assemble").assemble(self.text())
                seconds = perf_counter() - start
            if self._then is not None:
                self._then._begin()
        return made, seconds

    def _begin(self) -> None:
        """Compiles the code beside what the calling thread does next, if that can be."""
        if self._image is None and self._beside is None:
            compute = load("pyc.backends.assemble").assembler(self.text())
            if compute is not None:
                self._beside = Beside(compute)

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
        """The mapped code, from the cache or compiled now if it is not loaded."""
        if self._image is not None:
            return self._image
        name = f"pyc runtime: {self.name}"
        document: Document = {"runtime": self.text(), "versions": versions(("llvmlite",))}
        with cache.claim(document, {}, name, wait=may_wait()) as found:
            if isinstance(found, Entry):
                return self.load(found.payload["object"])
            code, seconds = self._compiled()
            cache.store(document, {}, {"object": code}, seconds, name)
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


def _prepare_calls(found: Image) -> None:
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
HOOKS = Part("hooks", text_watch.EXTERNALS, (text_watch.TEXT,), lambda found: None, then=CALLS)
THREADS = Part("threads", text_threads.EXTERNALS, (text_threads.TEXT,), lambda found: None)

in_child(_renew_main_thread)


@memoised
def python_function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Function `name` of `CALLS` for ctypes, called with the GIL; Python errors it sets are
    raised."""
    return ctypes.PYFUNCTYPE(result, *arguments)(CALLS.image().address(name))
