"""Forks while other threads trace and compile: the child can do all that its parent could.

Each program below runs in a process of its own, in which a child that hangs is killed by an alarm.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

START = """
import os, signal, sys, threading, time
import numpy as np
import pyc
from pyc import backends, cache
from pyc.forks import compiling

x = np.linspace(0.0, 1.0, 6)
f = pyc.jit(lambda x: np.exp(x) * 2.0, name="f")
g = pyc.jit(lambda x: np.sin(x) + 1.0, name="g")

def child(work):
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
    return pid

def ended(pid):
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"the child ended with {status}"

def both():
    assert np.allclose(f(x), np.exp(x) * 2.0)
    assert np.allclose(g(x), np.sin(x) + 1.0)
"""


def run(program: str, directory: Path, **settings: str) -> str:
    environment = {**os.environ, "PYC_CACHE": "rw", "PYC_CACHE_DIR": str(directory / "cache")}
    environment |= settings
    done = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("stage", ["optimise", "plan", "compile_plan"])
def test_a_fork_waits_for_the_compiler(tmp_path, stage) -> None:
    """LLVM and the import of modules have locks that a child would find held by nobody."""
    program = f"""
        compiler = backends.compiler()
        real, inside = compiler.{stage}, threading.Event()

        def slow(*args, **kwargs):
            inside.set()
            time.sleep(0.5)
            return real(*args, **kwargs)

        compiler.{stage} = slow
        thread = threading.Thread(target=f, args=(x,))
        thread.start()
        inside.wait()
        start = time.monotonic()
        pid = child(both)
        assert time.monotonic() - start > 0.3, "the fork did not wait"
        ended(pid)
        thread.join()
        both()
        print(cache.counted()["f"].stored)
        """
    assert run(program, tmp_path) == "1\n"


@pytest.mark.parametrize("event", ["raises", "is interrupted", "forks"])
def test_a_signal_handler_comes_while_a_fork_waits(tmp_path, event) -> None:
    """Python shows what a handler raises there, and forks. The child must be whole all the same,
    and the compiler free in both. A handler that forks has a fork of its own."""
    program = f"""
        compiler = backends.compiler()
        real, inside, handled = compiler.compile_plan, threading.Event(), []

        def slow(*args, **kwargs):
            compiler.compile_plan = real
            inside.set()
            time.sleep(0.6)
            return real(*args, **kwargs)

        def handler(*_):
            handled.append(1)
            if {event == "raises"}:
                raise ValueError("from the handler")
            elif {event == "is interrupted"}:
                raise KeyboardInterrupt
            elif len(handled) == 1:
                ended(child(both))

        compiler.compile_plan = slow
        thread = threading.Thread(target=f, args=(x,))
        thread.start()
        inside.wait()
        signal.signal(signal.SIGPROF, handler)
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGPROF)).start()
        start = time.monotonic()
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)
            try:
                both()
                os._exit(0)
            finally:
                os._exit(1)
        assert time.monotonic() - start > 0.3, "the fork did not wait"
        assert handled == [1]
        ended(pid)
        thread.join()
        other = threading.Thread(target=both)
        other.start()
        other.join(20)
        assert not other.is_alive(), "the compiler is held by nobody's fork"
        import gc
        assert gc.isenabled()
        """
    run(program, tmp_path)


def test_a_fork_while_a_thread_waits_for_the_compiler(tmp_path) -> None:
    """What that thread has locked already, its child would find locked for ever."""
    program = """
        pyc.jit(lambda x: np.cos(x) + 1.0)(x)  # what is loaded on demand is there now
        with compiling:
            thread = threading.Thread(target=f, args=(x,))
            thread.start()
            while not os.listdir(cache.directory() + "/leases"):
                time.sleep(0.01)
            time.sleep(0.3)
            pid = child(lambda: g(x))
        ended(pid)
        thread.join()
        both()
        """
    run(program, tmp_path)


@pytest.mark.parametrize(
    ("module", "load"),
    [
        ("pyc.store.write", "f(x)"),
        ("pyc.store.lease", "f(x)"),
        ("pyc.pipeline", "f(x)"),
        ("pyc.trace.namespace", "f(x)"),
        ("ml_dtypes", "pyc.numpy.bfloat16"),
        ("pyc.cache.report", "cache.stats()"),
        ("pyc.cache.audit", "cache.verify()"),
    ],
)
def test_a_fork_while_a_thread_imports(tmp_path, module, load) -> None:
    """The child of a fork in the middle of an import would wait for ever to import the module."""
    program = f"""
        import importlib.util
        inside = threading.Event()

        class Slow:
            def find_spec(self, name, path=None, target=None):
                if name == "{module}" and not inside.is_set():
                    inside.set()
                    time.sleep(0.5)

        sys.meta_path.insert(0, Slow())
        thread = threading.Thread(target=lambda: {load})
        thread.start()
        inside.wait()
        ended(child(lambda: {load}))
        thread.join()
        """
    run(program, tmp_path)


def test_a_fork_while_a_thread_traces(tmp_path) -> None:
    """The child traces the same function itself, and its calls are native again."""
    program = """
        from pyc import interpreter
        from pyc.purity import audit, hooks
        inside, go, opened = threading.Event(), threading.Event(), []

        def slow(x):
            inside.set()
            go.wait()
            return x + 1.0

        h = pyc.jit(slow)
        thread = threading.Thread(target=h, args=(x,))
        thread.start()
        inside.wait()

        def opens():
            with open(os.devnull) as file:
                opened.append(file.name)

        def work():
            assert interpreter.native_calls.value == 1
            assert not audit._watches and not hooks._monitor._users
            others = [threading.Thread(target=opens) for _ in range(3)]
            for other in others:
                other.start()
            for other in others:
                other.join()
            assert len(opened) == 3, "a new thread is watched in place of one that was lost"
            go.set()
            assert np.allclose(h(x), x + 1.0)
            both()
            assert interpreter.native_calls.value == 1

        pid = child(work)
        assert interpreter.native_calls.value == 0
        go.set()
        ended(pid)
        thread.join()
        assert interpreter.native_calls.value == 1
        """
    run(program, tmp_path, PYC_PURITY="off")


DECIDES = """
def {name}(x, n):
    total = x * 0.0
    for k in range(n):
        total = total + x * k
    return total
"""


@pytest.mark.parametrize("event", ["fork", "signal"])
def test_a_fork_or_a_signal_while_a_function_is_rewritten(tmp_path, event) -> None:
    """In the child, and in the handler, functions that decide something are rewritten too."""
    (tmp_path / "deciding.py").write_text(DECIDES.format(name="h") + DECIDES.format(name="k"))
    program = f"""
        sys.path.insert(0, {str(tmp_path)!r})
        import deciding
        from pyc.trace import rewriting
        h, k = pyc.jit(deciding.h), pyc.jit(deciding.k)
        real, inside = rewriting().parsed, threading.Event()

        def work(*_):
            assert np.allclose(k(x, 5), x * 10.0)
            assert np.allclose(h(x, 5), x * 10.0)

        def slow(*args):
            rewriting().parsed = real
            inside.set()
            time.sleep(0.5)
            if {event == "signal"}:
                signal.raise_signal(signal.SIGALRM)
            return real(*args)

        rewriting().parsed = slow
        signal.alarm(60)
        signal.signal(signal.SIGALRM, work if {event == "signal"} else signal.SIG_DFL)
        if {event == "signal"}:
            signal.alarm(0)
            work()
        else:
            thread = threading.Thread(target=work)
            thread.start()
            inside.wait()
            ended(child(work))
            thread.join()
        """
    run(program, tmp_path)


def test_threads_rewrite_at_the_same_time(tmp_path) -> None:
    """Python 3.11 cannot parse in two threads at once, and says so with a SystemError."""
    (tmp_path / "deciding.py").write_text(DECIDES.format(name="h") * 8)
    program = f"""
        sys.path.insert(0, {str(tmp_path)!r})
        import deciding
        from pyc.trace import rewriting
        import gc
        gc.set_threshold(20)
        gc.callbacks.append(lambda *_: time.sleep(0))  # other threads come in between
        failed = []

        def work():
            try:
                for _ in range(20):
                    rewriting()._rewritten_code(deciding.h)
            except BaseException as error:
                failed.append(repr(error))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed
        """
    run(program, tmp_path)


def test_a_fork_inside_of_a_trace(tmp_path) -> None:
    """The child goes on with the trace that it is in."""
    program = """
        from pyc import interpreter
        from pyc.trace.trace import Trace
        real, pids = Trace.bind, []

        def forks(*args):
            Trace.bind = real
            pids.append(os.fork())
            return real(*args)

        Trace.bind = forks
        h = pyc.jit(lambda x: x * 3.0)
        assert np.allclose(h(x), x * 3.0)
        assert interpreter.native_calls.value == 1
        both()
        if pids[0] == 0:
            os._exit(0)
        ended(pids[0])
        """
    run(program, tmp_path, PYC_PURITY="off")


def test_a_finaliser_waits_until_the_child_is_ready(tmp_path) -> None:
    """The collector finds it as soon as the child makes objects, before any lock of the threads
    that did not come along is renewed."""
    program = """
        import gc
        from pyc import forks
        from pyc.jit import programs_of
        called, early = [], []

        class Dropped:
            def __del__(self):
                called.append(f(x))

        def late():
            thing = Dropped()
            thing.itself = thing
            del thing
            kept = [[] for _ in range(100_000)]
            early.append(len(called))

        forks._renewals.insert(0, late)
        held, go = threading.Event(), threading.Event()

        def hold():
            with programs_of(f).lock:
                held.set()
                go.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()

        def work():
            assert early == [0] and gc.isenabled()
            gc.collect()
            both()
            assert np.allclose(called[0], np.exp(x) * 2.0)

        ended(child(work))
        go.set()
        thread.join()
        assert gc.isenabled()
        gc.disable()
        ended(child(lambda: os._exit(gc.isenabled())))
        assert not gc.isenabled()
        """
    run(program, tmp_path)


def test_a_child_waits_for_what_its_parent_compiles(tmp_path) -> None:
    """One compilation for both of them."""
    program = """
        from pyc.store import lease
        real, take, inside = cache.store, lease.take, threading.Event()
        asked, tell = os.pipe()

        def slow(*args, **kwargs):
            inside.set()
            assert os.read(asked, 1) == b"!"
            time.sleep(0.2)
            return real(*args, **kwargs)

        def ask(*args, **kwargs):
            os.write(tell, b"!")
            return take(*args, **kwargs)

        g(x)  # so that `f` is the only program missing
        cache.store = slow
        thread = threading.Thread(target=f, args=(x,))
        thread.start()
        inside.wait()

        def work():
            cache.store, lease.take = real, ask
            cache.reset_stats()
            both()
            counts = cache.counted()["f"]
            found = counts.hits_disk, counts.stored, counts.lease_waits
            assert found == (1, 0, 1), counts.as_dict()

        ended(child(work))
        thread.join()
        print(cache.counted()["f"].stored)
        """
    assert run(program, tmp_path) == "1\n"


def test_a_signal_handler_may_compile_while_its_thread_compiles(tmp_path) -> None:
    """The same function too: the thread does not wait for itself."""
    program = """
        calls = []

        def handler(*_):
            calls.append(f(x))
            calls.append(g(x))

        signal.signal(signal.SIGALRM, handler)
        compiler = backends.compiler()
        real = compiler.plan

        def interrupted(*args, **kwargs):
            compiler.plan = real
            signal.raise_signal(signal.SIGALRM)
            return real(*args, **kwargs)

        compiler.plan = interrupted
        start = time.monotonic()
        both()
        assert time.monotonic() - start < 20
        assert np.array_equal(calls[0], f(x)) and np.array_equal(calls[1], g(x))
        """
    run(program, tmp_path)


def test_a_signal_handler_in_the_middle_of_a_trace_is_no_part_of_it(tmp_path) -> None:
    """Its calls give arrays, of the same function too, and the program has nothing of them."""
    program = """
        from pyc.trace.trace import Trace
        real, calls = Trace.bind, []

        def handler(*_):
            y = np.arange(6.0)  # writable: as a constant of the trace it would be refused
            calls.append((f(y), g(y)))

        def interrupted(*args):
            Trace.bind = real
            signal.raise_signal(signal.SIGALRM)
            return real(*args)

        signal.signal(signal.SIGALRM, handler)
        Trace.bind = interrupted
        both()
        y = np.arange(6.0)
        assert len(calls) == 1 and type(calls[0][0]) is np.ndarray
        assert np.allclose(calls[0], [np.exp(y) * 2.0, np.sin(y) + 1.0])
        found = [s for s in cache.ls("f") if s.label == "f"]  # a key may begin with an f too
        assert len(found) == 1, "both traces of `f` gave the same graph"
        """
    run(program, tmp_path, PYC_PURITY="off")


def test_a_callback_does_not_wait_for_a_thread_that_waits_for_the_compiler(tmp_path) -> None:
    """One thread compiles `f` and is called back; the other has begun with `g` and waits for it."""
    program = """
        compiler = backends.compiler()
        real = compiler.plan

        def interrupted(*args, **kwargs):
            compiler.plan = real
            thread.start()
            while not os.listdir(cache.directory() + "/leases")[1:]:
                time.sleep(0.01)
            time.sleep(0.2)
            calls.append(g(x))  # as a signal handler or a finaliser might
            return real(*args, **kwargs)

        compiler.plan = interrupted
        calls = []
        thread = threading.Thread(target=lambda: calls.append(g(x)))
        signal.alarm(60)
        both()
        thread.join()
        assert len(calls) == 2 and np.array_equal(*calls)
        from pyc import reasons
        assert reasons.Reason.CACHE_LEASE_NESTED in reasons.counts()
        """
    run(program, tmp_path)


@pytest.mark.parametrize("lock", ["reasons", "cache", "collector", "interpreter"])
def test_a_callback_in_the_middle_of_counting_stops_nobody(tmp_path, lock) -> None:
    """A signal handler or a finaliser comes while its thread has one of the locks that are held for
    a line or two; the thread that it would wait for comes to the same lock."""
    program = f"""
        from pyc import {lock}
        compiler = backends.compiler()
        real, inside = compiler.compile_plan, threading.Event()

        def counts(*args, **kwargs):
            compiler.compile_plan = real
            inside.set()
            time.sleep(0.3)
            with {lock}._lock:
                return real(*args, **kwargs)

        pyc.jit(lambda x: x + 1.0)(x)  # what is loaded on demand is there now
        compiler.compile_plan = counts
        signal.alarm(60)
        thread = threading.Thread(target=f, args=(x,))
        thread.start()
        inside.wait()
        with {lock}._lock:
            both()  # `g` needs the compiler, `f` is being compiled: its function and lease are held
            assert {lock}._lock._is_owned()
        thread.join()
        both()
        """
    run(program, tmp_path)


# --- all at once ----------------------------------------------------------------------------------

STRESS = Path(__file__).parent / "programs" / "stress.py"


def stress(seconds: int, directory: Path) -> dict[str, object]:
    """What `programs/stress.py` did in so many seconds."""
    done = subprocess.run(
        [sys.executable, str(STRESS), str(seconds), str(directory / "cache")],
        env={**os.environ, "PYC_CACHE": "rw"},
        capture_output=True,
        text=True,
        timeout=seconds + 240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    assert found["failures"] == []
    return found


def test_threads_forks_signals_and_callbacks_for_three_seconds(tmp_path) -> None:
    """No deadlock, right results, and no program compiled twice by any of the processes."""
    found = stress(3, tmp_path)
    assert found["programs"] > 5
    assert found["done"]["forks"] > 0


@pytest.mark.slow
def test_threads_forks_signals_and_callbacks_for_a_minute(tmp_path) -> None:
    found = stress(60, tmp_path)
    assert found["programs"] > 100
    assert found["done"]["forks"] > 10


FINALISED = """
import gc, os, threading, time
ready, done = threading.Event(), []
class Garbage:
    def __del__(self):
        done.append(f(np.ones(3))[0])
def in_child():
    garbage = Garbage()
    garbage.me = garbage
    del garbage
    gc.set_threshold(1, 1, 1)
os.register_at_fork(after_in_child=in_child)  # before all that pyc does there
import numpy as np
import pyc
from pyc.jit import programs_of
f = pyc.jit(lambda x: x + 1)
def compiles():
    with programs_of(f).lock:
        ready.set()
        time.sleep(60)
threading.Thread(target=compiles, daemon=True).start()
ready.wait()
child = os.fork()
if not child:
    gc.collect()
    os._exit(0 if done == [2] else 1)
for _ in range(300):
    pid, status = os.waitpid(child, os.WNOHANG)
    if pid:
        os._exit(os.waitstatus_to_exitcode(status))
    time.sleep(0.1)
os.kill(child, 9)
os._exit(2)
"""


def test_no_finaliser_runs_in_a_child_before_pyc_is_whole_there() -> None:
    """It would wait for the lock of a function that a thread of the parent was compiling."""
    done = subprocess.run([sys.executable, "-c", FINALISED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
