"""What other threads change while a function is traced or compiled: it is traced again, and right.

A thread changes something at one point of a trace: before the first thing is read, before the
second, and so on. At the end the answers are those of plain Python, whatever the point was.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from pyc import reasons
from pyc.errors import PurityError, TraceError
from pyc.jit import Jitted, jit
from pyc.reasons import Reason
from pyc.trace.namespace import Namespace
from pyc.trace.paths import Path
from tests.trace.changes.everyday import CHANGES
from tests.trace.test_captures import X, agree, module

POINTS = {"while it is traced": (Namespace, "translate"), "behind it": (Path, "value_of")}
"""Functions of pyc that read one thing each: of a trace; of guards and of native calls' looks."""


@pytest.fixture(scope="module")
def other() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Runs a function in another thread, and waits for it without calling anything."""
    work: list[Callable[[], None] | None] = [None]
    interval = sys.getswitchinterval()
    ended = False

    def run() -> None:
        while not ended:
            if work[0] is not None:
                work[0]()
                work[0] = None
            time.sleep(1e-5)

    def do(step: Callable[[], None]) -> None:
        work[0] = step
        while work[0] is not None:
            pass

    sys.setswitchinterval(1e-4)
    thread = threading.Thread(target=run)
    thread.start()
    yield do
    ended = True
    thread.join()
    sys.setswitchinterval(interval)


def disturbed(function: Jitted, point: str, turn: int, step: Callable[[], None]) -> bool:
    """Calls a function, and does `step` when `point` has come for the `turn`th time; whether it
    has."""
    owner, name = POINTS[point]
    own = getattr(owner, name)
    count = 0

    def hook(*args: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == turn:
            step()
        return own(*args, **options)

    setattr(owner, name, hook)
    try:
        function(X)
        function(X)
    finally:
        setattr(owner, name, own)
    return count >= turn


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_by_another_thread_at_any_point(what: str, point: str, other) -> None:
    source, change = CHANGES[what]
    turn = 1
    while True:
        names = module(source)
        function = jit(names["F"])
        code = compile(change, "<change>", "exec")
        there = disturbed(function, point, turn, lambda: other(lambda: exec(code, names)))  # noqa: B023
        if not there:
            break
        agree(function, X)
        turn += 1 if turn < 12 else 7
    assert turn > 1


def test_a_list_that_another_thread_appends_to_all_the_time() -> None:
    rows: list[Any] = [1.0, np.ones(3)]
    names = module("def f(x): return x * len(rows) + sum(v for v in rows if type(v) is float)")
    names["rows"] = rows
    stop = False

    def append() -> None:
        while not stop:
            rows.append(1.0)
            if len(rows) > 40:
                del rows[2:]
            time.sleep(0)

    thread = threading.Thread(target=append)
    thread.start()
    ended, refused = 0, []
    try:
        for _ in range(30):
            function = jit(names["F"])
            try:
                function(X)
                ended += 1
            except TraceError as error:
                refused.append(str(error))
    finally:
        stop = True
        thread.join()
    assert all("than it has now" in t or "has changed while" in t for t in refused)
    agree(function, X)
    assert names["F"](X)[0] == X[0] * len(rows) + sum(v for v in rows if type(v) is float)


def test_another_threads_changes_are_not_undone(other) -> None:
    """The attributes of objects are shared: a count that goes on while a method is traced."""
    names = module(
        "class C: pass\nc = C(); c.k = 2.0; c.calls = 0\ndef f(x): return x * c.k * abs(-1)"
    )
    c = names["c"]
    for turn in range(1, 8):
        function = jit(names["F"])

        def count() -> None:
            c.calls += 1

        calls = c.calls
        there = disturbed(function, "while it is traced", turn, lambda: other(count))
        assert c.calls == calls + there
        assert function.cache_info().misses == 1
        agree(function, X)
    assert c.calls > 5


def test_what_the_function_itself_does_is_still_refused(other) -> None:
    names = module(
        "class C: pass\nc = C(); c.k = 2.0\n"
        "def f(x):\n    object.__setattr__(c, 'k', 3.0)\n    return x * c.k"
    )
    with pytest.raises(PurityError, match="changes `c`"):
        jit(names["F"])(X)
    assert names["c"].k == 2.0


def test_a_trace_that_is_made_again_has_a_reason(other) -> None:
    names = module("class C: pass\nc = C(); c.k = 2.0\ndef f(x): return x * c.k * (abs(-1) * c.k)")
    again = []
    for turn in range(1, 12):
        names["c"].k = 2.0
        function = jit(names["F"])
        with reasons.collecting() as events:
            disturbed(
                function,
                "while it is traced",
                turn,
                lambda: other(lambda: setattr(names["c"], "k", 3.0)),
            )
        again += [e for e in events if e.reason is Reason.GUARD_CHANGED_MEANWHILE]
        agree(function, X)
    assert again
    assert all(e.details["function"] == "f" for e in again)
    assert "`c.k` has changed" in again[0].details["detail"]


@pytest.mark.parametrize("purity", ["strict", "off"])
def test_refused_what_changes_all_the_time(purity: str, golden, other, monkeypatch) -> None:
    names = module("class C: pass\nc = C(); c.k = 2\ndef f(x): return x * c.k + np.zeros(c.k)[0]")
    own = Namespace.translate

    def translate(self: Any, value: Any, path: Path) -> Any:
        found = own(self, value, path)
        if path.text() == "c.k":
            other(lambda: setattr(names["c"], "k", names["c"].k + 1))
        return found

    monkeypatch.setattr(Namespace, "translate", translate)
    with pytest.raises(TraceError) as error:
        jit(names["F"], purity=purity)(X)
    monkeypatch.undo()
    golden(str(error.value))
    agree(jit(names["F"]), X)
