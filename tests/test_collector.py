"""Python's garbage collector runs less while pyc is imported or compiles, and as before after."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc import collector
from pyc.backends.x86 import X86
from pyc.jit import jit

BEFORE = (500, 7, 9)


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    found = gc.get_threshold()
    gc.set_threshold(*BEFORE)
    yield
    gc.set_threshold(*found)


def test_it_runs_seldom_while_a_function_is_traced_and_as_before_afterwards() -> None:
    seen = []

    @jit
    def f(x):
        seen.append(gc.get_threshold())
        return x + 1

    with pytest.raises(Exception, match="append"):
        f(np.ones(3))
    assert gc.get_threshold() == BEFORE, "after an error too"
    f = jit(lambda x: x + (1 if gc.get_threshold() == BEFORE else 2), purity="off")
    assert f(np.ones(3))[0] == 3
    assert gc.get_threshold() == BEFORE


def test_it_runs_seldom_while_a_call_outside_of_a_trace_is_compiled(monkeypatch, cache_dir) -> None:
    seen = []

    def compiled(*args):
        seen.append(gc.get_threshold()[0])
        return emit(*args)

    emit = X86.compile_plan
    monkeypatch.setattr(X86, "compile_plan", compiled)
    pnp.cos(np.ones((3, 5, 7), np.float32))
    assert seen == [collector.YOUNG] and gc.get_threshold() == BEFORE


def test_blocks_nest_and_overlap_in_threads() -> None:
    inside, go = threading.Event(), threading.Event()

    def other() -> None:
        with collector.seldom():
            inside.set()
            go.wait(30)

    thread = threading.Thread(target=other)
    with collector.seldom(), collector.seldom():
        assert gc.get_threshold() == (collector.YOUNG, *BEFORE[1:])
        thread.start()
        inside.wait(30)
    assert gc.get_threshold()[0] == collector.YOUNG, "the other thread still compiles"
    if (child := os.fork()) == 0:
        os._exit(0 if gc.get_threshold() == BEFORE else 1)  # nobody there would end it
    assert os.waitpid(child, 0)[1] == 0
    go.set()
    thread.join()
    assert gc.get_threshold() == BEFORE


@pytest.mark.parametrize("chosen", [(0, 10, 10), (collector.YOUNG * 3, 10, 10)])
def test_a_collector_that_is_off_or_runs_less_stays_so(chosen) -> None:
    gc.set_threshold(*chosen)
    with collector.seldom():
        assert gc.get_threshold() == chosen
    assert gc.get_threshold() == chosen


def test_what_the_user_sets_meanwhile_stays() -> None:
    with collector.seldom():
        gc.set_threshold(123)
    assert gc.get_threshold()[0] == 123


def test_the_import_runs_it_seldom_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    """Each run among the objects of NumPy and pyc takes 0.1 to 4 ms; it was some 30 runs. The
    second process reads byte code, and compiles none."""
    code = """
import gc, weakref, numpy
class Node: pass
node = Node()
node.me, alive = node, weakref.ref(node)
gc.set_threshold(500, 7, 9)
runs = lambda: sum(s["collections"] for s in gc.get_stats())
before, frozen = runs(), gc.get_freeze_count()  # by Python 3.12 itself
del node
import pyc
f = pyc.jit(lambda x: x + 1)
print(runs() - before, gc.get_freeze_count() - frozen, *gc.get_threshold())
gc.collect()
assert alive() is None, "what is garbage is found all the same"
"""
    files = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", code]
    for _ in range(2):
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, **files}
        )
    runs, frozen, *kept = map(int, done.stdout.split())
    assert kept == list(BEFORE) and frozen == 0
    # Where Python itself has put objects aside (3.12), nothing is moved, which is one run more.
    assert runs <= 1 + bool(gc.get_freeze_count())


def test_an_import_that_fails_leaves_it_as_it_was() -> None:
    """Midway, for whatever reason: the program may go on without pyc, or try again."""
    code = """
import gc, sys
gc.set_threshold(500, 7, 9)
sys.modules["pyc.device"] = None  # an import of this name fails
try:
    import pyc
except ImportError:
    print(*gc.get_threshold())
del sys.modules["pyc.device"]
import pyc, numpy
assert pyc.jit(lambda x: x + 1)(numpy.ones(3))[0] == 2
print(*gc.get_threshold())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["500 7 9", "500 7 9"]


def test_what_a_program_has_frozen_stays_frozen() -> None:
    count = "print(gc.get_freeze_count())"
    code = f"import gc; gc.freeze(); {count}; import pyc; {count}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert 0 < after <= before
