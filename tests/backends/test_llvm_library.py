"""LLVM through its C functions: they are declared as llvmlite declares them, and what they give is
what `llvmlite.binding` gives."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import llvmlite.binding.ffi
import pytest
from llvmlite.binding import newpassmanagers, targets  # noqa: F401 - declare what is compared

import pyc
from pyc import reasons
from pyc.backends import llvm_library
from pyc.backends.llvm_library import ALWAYS_INLINE, PROTOTYPES, SIMPLIFY, SROA
from pyc.errors import CompileError
from pyc.reasons import Reason

TEXT = """
define internal i64 @twice(i64 %x) alwaysinline {
  %place = alloca i64
  store i64 %x, ptr %place
  %back = load i64, ptr %place
  %y = add i64 %back, %x
  ret i64 %y
}
define i64 @f(i64 %x) {
  %y = call i64 @twice(i64 %x)
  ret i64 %y
}
"""
HOST = ("x86_64-unknown-linux-gnu", "x86-64-v3", "", 2, "pic", "small")
GPU = ("nvptx64-nvidia-cuda", "sm_90", "+ptx80", 3, "default", "jitdefault")


def passed_as(kind: object) -> object:
    """How the calling convention of x86-64 passes a ctypes type."""
    if kind is None:
        return None
    if kind in (ctypes.c_int, ctypes.c_uint):
        return "int"
    if isinstance(kind, type) and issubclass(kind, ctypes._Pointer):
        return "address"
    if kind in (ctypes.c_void_p, ctypes.c_char_p):
        return "address"
    return kind


@pytest.mark.parametrize("name", PROTOTYPES)
def test_functions_are_declared_as_llvmlite_declares_them(name: str) -> None:
    """A wrong type would not raise: it would crash, or give nonsense."""
    theirs = getattr(llvmlite.binding.ffi.lib, f"LLVMPY_{name}")
    returned, *taken = map(passed_as, PROTOTYPES[name])
    if theirs.argtypes is not None:
        assert taken == [passed_as(t) for t in theirs.argtypes]
    else:  # without arguments, or called with a text's address only
        assert taken == (["address"] if name == "DisposeString" else [])
    # llvmlite does not declare what returns nothing, which ctypes reads as an int.
    assert returned in (passed_as(theirs.restype), None)
    assert (returned is None) <= (theirs.restype is ctypes.c_int)


def test_the_release_that_is_installed_is_known() -> None:
    assert llvm_library._path() is not None
    assert llvm_library.version() == ".".join(map(str, llvmlite.binding.llvm_version_info))
    assert llvm_library.host_features() == dict(llvmlite.binding.get_host_cpu_features())


@pytest.mark.parametrize("options", [HOST, GPU], ids=["host", "gpu"])
@pytest.mark.parametrize("passes", [(), (ALWAYS_INLINE, SROA, SIMPLIFY), 2])
def test_both_ways_to_llvm_give_the_same_code(options: tuple, passes: llvm_library.Passes) -> None:
    ours, theirs = llvm_library._LibraryMachine(*options), llvm_library._BindingMachine(*options)
    assert ours.data_layout == theirs.data_layout
    text = f'target triple = "{options[0]}"\n{TEXT}'
    assembly = ours.assembly_of(text, passes)
    assert assembly == theirs.assembly_of(text, passes)
    assert ("twice" in assembly) == (not passes)
    if options is HOST:
        assert ours.object_of(text, passes) == theirs.object_of(text, passes)


@pytest.mark.parametrize("kind", [llvm_library._LibraryMachine, llvm_library._BindingMachine])
@pytest.mark.parametrize("text", ["define", "define i32 @f() {\n  ret i64 0\n}", "%x = 1"])
def test_text_that_is_not_valid_is_refused(kind: type, text: str) -> None:
    with pytest.raises(CompileError, match=r"LLVM refuses the text: .+"):
        kind(*HOST).object_of(text)


def test_a_processor_that_llvm_lacks_is_refused() -> None:
    with pytest.raises(CompileError, match="no target dodo"):
        llvm_library.machine("dodo-unknown-unknown")


def test_threads_compile_at_the_same_time() -> None:
    """On one machine and on several; each gets what it would get alone."""
    machine = llvm_library.machine(*HOST)
    texts = [TEXT.replace("%back, %x", f"%back, {k}") for k in range(12)]
    expected = [machine.object_of(t) for t in texts]
    found: dict[int, bytes] = {}

    def compile(k: int) -> None:
        of = machine if k % 2 else llvm_library._LibraryMachine(*HOST)
        found[k] = of.object_of(texts[k])

    threads = [Thread(target=compile, args=(k,)) for k in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[k] for k in range(len(texts))] == expected
    assert len(set(expected)) == len(expected)


CHILD = """
import sys
import numpy as np
import pyc
from pyc import reasons
from pyc.backends import llvm_library
if sys.argv[1:] == ["unknown"]:
    llvm_library.KNOWN = ("0.1.",)
assert (pyc.jit(lambda x: x * 3 + 1)(np.arange(7.0)) == np.arange(7.0) * 3 + 1).all()
print("llvmlite" in sys.modules, reasons.Reason.LLVM_UNKNOWN_RELEASE in reasons.counts())
"""


def run(*arguments: str) -> str:
    environment = {
        **os.environ,
        "PYC_CACHE": "off",
        "PYTHONPATH": str(Path(pyc.__file__).parents[1]),
    }
    command = [sys.executable, "-c", CHILD, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_known_release_is_used_without_its_python_layer() -> None:
    assert run() == "False False"


def test_an_unknown_release_declares_its_functions_itself() -> None:
    assert run("unknown") == "True True"


def in_child(good: Callable[[], bool]) -> bool:
    """Whether a forked child finds it so."""
    child = os.fork()
    if not child:
        os._exit(0 if good() else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_forked_child_compiles(elsewhere: bool) -> None:
    """Though a thread of the parent, the one that forks or another, holds a machine then."""
    machine = llvm_library.machine(*HOST)
    expected = machine.object_of(TEXT)
    held, forked = Event(), Event()

    def hold() -> None:
        with machine._lock:  # type: ignore[attr-defined]
            held.set()
            forked.wait(60)

    def compiles() -> bool:
        other = llvm_library.machine(*HOST)
        return other is not machine and other.object_of(TEXT) == expected

    thread = Thread(target=hold)
    if elsewhere:
        thread.start()
        held.wait(60)
        assert in_child(compiles)
        forked.set()
        thread.join()
        return
    with machine._lock:  # type: ignore[attr-defined]
        assert in_child(compiles)


def test_a_forked_child_keeps_machines_that_are_idle() -> None:
    """What LLVM has made for a processor is a tenth of a small function's first call."""
    machine = llvm_library.machine(*HOST)
    expected = machine.object_of(TEXT)

    def kept() -> bool:
        return llvm_library.machine(*HOST) is machine and machine.object_of(TEXT) == expected

    assert in_child(kept)


def test_an_unknown_release_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    llvm_library._path.cache_clear()
    monkeypatch.setattr(llvm_library, "KNOWN", ())
    with reasons.collecting() as events:
        assert llvm_library._path() is None
    assert [e.reason for e in events] == [Reason.LLVM_UNKNOWN_RELEASE]
    llvm_library._path.cache_clear()
