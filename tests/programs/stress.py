"""Threads, forks, signals and finalisers that call and compile jitted functions at the same time.

    python stress.py SECONDS CACHE_DIRECTORY

Every result is compared with NumPy's, every program may be compiled once by all processes together,
and whoever waits for more than a minute is shown with all stacks. Prints what was done, as JSON.
"""

from __future__ import annotations

import faulthandler
import itertools
import json
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import Counter

import numpy as np

import pyc
from pyc import cache, config, reasons
from pyc.reasons import Reason

STUCK_SECONDS = 60
DUPLICATES = (Reason.CACHE_LEASE_TIMEOUT, Reason.CACHE_LEASE_SILENT, Reason.CACHE_LEASE_BROKEN)

done: Counter[str] = Counter()
stored: Counter[str] = Counter()
asked: dict[str, set[int]] = {"shared": set(), "looped": set()}
"""The sizes at which the functions that all call were called."""
serial = itertools.count()
failures: list[str] = []


def count(what: str) -> None:
    done[what] += 1  # may lose one to another thread: these are for a look only


@pyc.jit
def shared(x, y):
    return np.sqrt(x * x + y * y) + np.sum(x)


WEIGHTS = np.linspace(0.5, 1.5, 4)


@pyc.jit
def looped(x, n):
    """Rewritten while it is traced; its weights are a hidden argument."""
    total = np.zeros(4)
    for k in range(n):
        total = total + WEIGHTS * x[k % x.size]
    return total


def check_looped(size: int) -> None:
    """Another function that all call, with a loop."""
    asked["looped"].add(size)
    x = np.linspace(1.0, 2.0, size)
    compare("looped", looped(x, 3 * size), WEIGHTS * np.sum(np.tile(x, 3)))


def check_shared(size: int) -> None:
    """The function that all threads and children call, at sizes that come anew for all at once."""
    asked["shared"].add(size)
    x = np.linspace(1.0, 2.0, size)
    compare("shared", shared(x, 2.0 * x), np.sqrt(x * x + 4.0 * x * x) + np.sum(x))


def check_new(label: str) -> None:
    """A function of its own, compiled here for the first time."""
    k = next(serial)
    number = 1.0 + k + os.getpid() % 1000 / 1000

    def program(x):
        return np.exp(-x) * number + x

    x = np.linspace(0.0, 1.0, 5)
    compare(label, pyc.jit(program, name=f"{label} {os.getpid()} {k}")(x), np.exp(-x) * number + x)


def check_nested() -> None:
    """Jitted functions called back by C code, by NumPy, and inside of another trace."""
    key = pyc.jit(lambda x: -x * 3.0, name="key")
    values = [np.float64(v) for v in (2.0, 3.0, 1.0)]
    compare("key", np.array(sorted(values, key=key)), np.array([3.0, 2.0, 1.0]))
    rows = np.arange(6.0).reshape(2, 3)
    asked["shared"].add(3)
    compare("rows", np.apply_along_axis(lambda row: shared(row, row), 1, rows), rows_of(rows))
    outer = pyc.jit(lambda x: shared(x, x) + 1.0, name="outer")
    compare("outer", outer(rows[0]), rows_of(rows)[0] + 1.0)
    compare("eager", pyc.numpy.cumsum(rows[1]), np.cumsum(rows[1]))


def rows_of(rows):
    return np.sqrt(2.0 * rows * rows) + np.sum(rows, axis=1, keepdims=True)


def compare(what: str, found, expected) -> None:
    count(what)
    if not np.allclose(found, expected, rtol=1e-12):
        failures.append(f"{what} in {os.getpid()}: {found} is not {expected}")


# --- who does it ----------------------------------------------------------------------------------


def sizes(start: float):
    """Sizes that all threads come to at about the same moment: a new one every 50 ms."""
    return 3 + int((time.monotonic() - start) / 0.05)


def work(start: float, end: float, seed: int) -> None:
    """One thread."""
    chance = random.Random(seed)
    while time.monotonic() < end:
        try:
            what = chance.random()
            if what < 0.5:
                check_shared(sizes(start))
            elif what < 0.7:
                check_looped(sizes(start))
            elif what < 0.85:
                check_new("thread")
            else:
                check_nested()
        except BaseException as error:
            failures.append(f"thread: {type(error).__name__}: {error}")
            raise


def on_alarm(*_) -> None:
    """A signal handler, between any two instructions of the main thread: in the middle of a
    compilation, of a fork or of counting."""
    check_shared(4)
    check_looped(4)
    if next(serial) % 5 == 0:
        check_new("signal")
    if time.monotonic() < alarms_until[0]:
        signal.setitimer(signal.ITIMER_REAL, 0.02)


alarms_until = [0.0]


class Dropped:
    """A thing whose finaliser calls a jitted function, wherever the last reference goes."""


def drop() -> None:
    thing = Dropped()
    weakref.finalize(thing, check_shared, 5)
    thing.itself = thing  # a circle: the collector comes for it at some allocation


def child(start: float, report: int) -> None:
    """A forked process: whatever the threads of its parent were doing, it can do all of it."""
    cache.reset_stats()
    reasons.clear()
    failures.clear()
    for sizes_here in asked.values():
        sizes_here.clear()
    check_shared(sizes(start))
    check_looped(sizes(start))
    check_new("child")
    threads = [threading.Thread(target=check_shared, args=(sizes(start) + 1,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_nested()
    os.write(report, json.dumps(outcome()).encode())


def outcome() -> dict[str, object]:
    """What a process stored, by function, and what went wrong."""
    counted = {name: counts.stored for name, counts in cache.counted().items() if counts.stored}
    events = [str(event) for event in reasons.events("cache") if event.reason in DUPLICATES]
    sizes_here = {name: list(numbers) for name, numbers in asked.items()}
    callbacks = reasons.counts().get(Reason.CACHE_LEASE_NESTED, 0)
    found = {"stored": counted, "failures": [*failures, *events], "asked": sizes_here}
    return found | {"callbacks": callbacks}


def fork(start: float) -> None:
    """Forks in the middle of what the threads do, and waits for the child."""
    read, written = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            child(start, written)
            status = 0
        finally:
            os._exit(status)
    os.close(written)
    if not select.select([read], [], [], STUCK_SECONDS)[0]:
        failures.append("a child is stuck")
        os.kill(pid, signal.SIGUSR1)  # shows its stacks
        time.sleep(1.0)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(read, "rb") as answer:
        text = answer.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        failures.append(f"a child ended with {status}")
    else:
        absorb(json.loads(text))
        count("forks")


def absorb(found: dict[str, object]) -> None:
    stored.update(found["stored"])
    failures.extend(found["failures"])
    for name, numbers in found["asked"].items():
        asked[name].update(numbers)
    done["callbacks that did not wait"] += found["callbacks"]


SPAWNED = """
import json, sys
import numpy as np, pyc
from pyc import cache
f = pyc.jit(lambda x: np.tan(x) + 1.0, name="spawned")
x = np.linspace(0, 1, 7)
assert np.allclose(f(x), np.tan(x) + 1.0)
stored = {name: c.stored for name, c in cache.counted().items() if c.stored}
print(json.dumps({"stored": stored, "failures": [], "asked": {}, "callbacks": 0}))
"""


def spawn() -> list[subprocess.Popen[str]]:
    """Fresh processes that compile one function at the same time."""
    return [
        subprocess.Popen([sys.executable, "-c", SPAWNED], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]


def main(seconds: float) -> int:
    # Not `dump_traceback_later` in children: they would wait for its thread, which a fork loses.
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    faulthandler.dump_traceback_later(seconds + 2 * STUCK_SECONDS, exit=True)
    start = time.monotonic()
    end = start + seconds
    spawned = spawn()
    threads = [threading.Thread(target=work, args=(start, end, k)) for k in range(3)]
    for thread in threads:
        thread.start()
    signal.signal(signal.SIGALRM, on_alarm)
    alarms_until[0] = end
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    while time.monotonic() < end:
        fork(start)
        check_shared(sizes(start))
        drop()
    signal.setitimer(signal.ITIMER_REAL, 0)  # one that comes when Python ends would end it
    for thread in threads:
        thread.join()
    for process in spawned:
        text, _ = process.communicate(timeout=STUCK_SECONDS)
        failed = {"stored": {}, "failures": [text], "asked": {}, "callbacks": 0}
        absorb(json.loads(text) if process.returncode == 0 else failed)
    absorb(outcome())
    most = {name: len(numbers) for name, numbers in asked.items()}
    # Callbacks must not wait for other threads: they may compile what another one compiles.
    callbacks = done["callbacks that did not wait"]
    twice = {name: n for name, n in stored.items() if name and n > most.get(name, 1) + callbacks}
    if twice:
        failures.append(f"compiled more than once: {twice}")
    print(json.dumps({"done": done, "programs": stored.total(), "failures": failures[:10]}))
    return 1 if failures else 0


if __name__ == "__main__":
    config.update("cache_dir", sys.argv[2])
    os.environ["PYC_CACHE_DIR"] = sys.argv[2]
    sys.exit(main(float(sys.argv[1])))
