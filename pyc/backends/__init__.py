"""Native code: emitters of LLVM text, and the drivers that load and run what they give.

This module is the one lazy door to heavy imports: `compiler()` imports the passes and emitters on
first use, so that a process that finds all its code in the cache never loads them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from threading import RLock, get_ident
from typing import Any


class CompilerLock:
    """A re-entrant lock that says whether the current thread has it."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._owner = self._depth = 0

    def acquire(self) -> None:
        """Waits until no other thread has it."""
        self._lock.acquire()
        self._depth += 1
        self._owner = get_ident()

    def release(self) -> None:
        """Undoes one `acquire`."""
        self._depth -= 1
        if not self._depth:
            self._owner = 0
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def is_mine(self) -> bool:
        """Whether the current thread has it. Called back then, by a signal handler or a finaliser,
        it must not wait for another thread: that one may be waiting for the compiler."""
        return self._owner == get_ident()


compiling = CompilerLock()
"""Held while the compiler is imported or runs, LLVM included, and by whoever forks: a child that
came into being in the middle of either would wait for ever for the locks of a thread that it does
not have."""


def _module(name: str) -> Any:
    with compiling:
        return import_module(name)


@cache
def llvm_binding() -> Any:
    """`llvmlite.binding`, with every target that pyc emits for initialised: 28 ms, and not needed
    where `llvm_library` knows the installed release."""
    binding = _module("llvmlite.binding")
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


def compiler() -> Any:
    """`pyc.pipeline`, the module of all that turns a Graph into code."""
    return _module("pyc.pipeline")


def interpreters() -> Any:
    """`pyc.backends.oracle`, the Graph and the Plan interpreter."""
    return _module("pyc.backends.oracle")


@cache
def cuda_binding() -> Any:
    """`cuda.bindings.driver`; ImportError where the package is not installed."""
    return _module("cuda.bindings.driver")


def gpu_compiler() -> Any:
    """`pyc.compile_cuda`, the module that compiles and runs Graphs on a GPU."""
    return _module("pyc.compile_cuda")
