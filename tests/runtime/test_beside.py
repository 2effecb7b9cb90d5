"""What is compiled in a thread beside the first trace."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

from pyc import forks
from pyc.forks import Beside, compiling
from pyc.runtime import native
from pyc.trace.meanwhile import others
from tests.runtime.test_native import run_child


def begun(compute: Any) -> Beside:
    with compiling:
        return Beside(compute)


def test_the_result_is_waited_for_and_errors_give_none() -> None:
    released = threading.Event()
    beside = begun(lambda: released.wait(10) and 7)
    assert beside.result(0.01) is None
    released.set()
    assert beside.result(10) == 7
    assert begun(lambda: 1 // 0).result(10) is None


def test_it_is_no_thread_of_the_user() -> None:
    before = others()
    released = threading.Event()
    beside = begun(lambda: released.wait(10))
    assert len(forks.threads_of_pyc()) == 1 and others() == before
    released.set()
    assert beside.result(10) and not forks.threads_of_pyc()


def test_nothing_is_computed_where_no_thread_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert begun(lambda: 7).result(10) is None
    assert not forks.threads_of_pyc()


def test_a_fork_waits_for_it() -> None:
    beside = begun(lambda: time.sleep(0.2) or 7)
    child = os.fork()
    if not child:
        os._exit(beside.result(0) or 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert beside.result(0) == 7


def test_a_child_computes_what_it_could_not_take_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork that signal handlers disturb all the time goes on without waiting."""
    monkeypatch.setattr(forks, "MOST_HANDLERS", 0)
    released = threading.Event()
    beside = begun(lambda: released.wait(10))
    child = os.fork()
    if not child:
        os._exit(7 if beside.result(5) is None and not forks.threads_of_pyc() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    released.set()
    assert beside.result(10)


CHILD = """
import os
import numpy as np
import pyc
from pyc.runtime import native

assembled = []
from pyc.backends import assemble
true = assemble._object
def told(*args):
    import threading
    assembled.append(threading.current_thread().name)
    return true(*args)
assemble._object = told
x = np.arange(5.0)
f = pyc.jit(lambda x: x * 2)
"""


def test_the_first_trace_has_the_calls_compiled_beside_it() -> None:
    run_child(
        CHILD
        + """
for _ in range(3):
    assert f(x)[4] == 8
assert assembled == ["MainThread", "pyc compiles"], assembled
""",
        cache="off",
    )


def test_a_process_that_forks_at_once_has_them_too() -> None:
    run_child(
        CHILD
        + """
native.HOOKS.image()
child = os.fork()
for _ in range(3):
    assert f(x)[4] == 8
assert assembled == ["MainThread", "pyc compiles"], assembled
if child:
    assert os.waitpid(child, 0)[1] == 0
""",
        cache="off",
    )


def test_a_process_that_has_them_cached_begins_no_thread(tmp_path: Any) -> None:
    cache = {"PYC_CACHE_DIR": str(tmp_path)}
    tmp_path.chmod(0o700)
    run_child(CHILD + "f(x)\nassert len(assembled) == 2", cache="rw", **cache)
    run_child(CHILD + "f(x)\nassert not assembled", cache="rw", **cache)


def test_the_seconds_of_the_thread_are_those_of_compilation(tmp_path: Any) -> None:
    tmp_path.chmod(0o700)
    run_child(
        CHILD
        + """
from pyc import cache
f(x)
f(x)
assert assembled[1] != "MainThread", assembled
spent = cache.stats().per_function["pyc runtime: calls"].compile_seconds_spent
assert spent > 0.001, spent
""",
        cache="rw",
        PYC_CACHE_DIR=str(tmp_path),
    )


def test_llvmlite_compiles_in_one_thread() -> None:
    """It crashes in two."""
    run_child(
        """
from pyc.backends import llvm_library
llvm_library.KNOWN = ()
"""
        + CHILD
        + """
for _ in range(3):
    assert f(x)[4] == 8
assert assembled == ["MainThread", "MainThread"], assembled
""",
        cache="off",
    )


def test_a_process_that_ends_meanwhile_ends_well() -> None:
    run_child(CHILD + "native.HOOKS.image()", cache="off")


def test_calls_wait_no_longer_than_their_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(native, "PATIENCE_SECONDS", 0.01)
    part = native.Part("slow", (), ("define hidden void @slow() { ret void }",), lambda _: None)
    native.PARTS.remove(part)
    part._beside = begun(lambda: released.wait(10))
    assert part.object_code().startswith(b"\x7fELF")
    released.set()
