"""What is computed in a thread of pyc's own."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

from pyc import forks
from pyc.forks import Beside, compiling
from pyc.trace.meanwhile import others


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
