"""Threads, forks, signals and finalisers that call and compile jitted functions at the same time.

    python stress.py SECONDS CACHE_DIRECTORY

Every result is compared with NumPy's. Every program that was asked for, by its key and target, is
compiled and stored exactly once by all processes together: only a callback, which must not wait,
may compile a program that another one compiles, and each time that it did not wait is known by the
program. Nothing else may happen to the cache. Whoever waits for more than a minute is shown with
all stacks. Prints what was done, as JSON.
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
from pyc.forks import in_child
from pyc.reasons import Reason
from pyc.store import lease, write

STUCK_SECONDS = 60
USUAL = {
    *(Reason.CACHE_EMPTY, Reason.CACHE_KEY_DIFFERS, Reason.CACHE_LEASE_NESTED),
    Reason.CACHE_EVICTED,  # more than a thousand programs in one process
}
"""All that may happen to the cache here."""

done: Counter[str] = Counter()
log: list[str] = []
"""What was stored, each time: the function's name, and the program's key and target; and for what a
callback did not wait: key and target alone. Without a lock: callbacks come wherever one is."""
asked: dict[str, set[int]] = {"shared": set(), "looped": set()}
"""The sizes at which the functions that all call were called."""
serial = itertools.count()
failures: list[str] = []


def watch() -> None:
    """From now on what this process stores, and for what it does not wait, is counted."""
    real_put, real_take = write.put, lease.take

    def put(store, document, facts, payload, **rest):
        refused = real_put(store, document, facts, payload, **rest)
        if refused is None:
            program = os.path.basename(write.lease_path(store, document, facts))
            log.append(f"{rest['label']} {program}")
        return refused

    def take(path, *, wait=True):
        turn = real_take(path, wait=wait)
        if turn.reason is Reason.CACHE_LEASE_NESTED:
            log.append(os.path.basename(path))
        return turn

    write.put, lease.take = put, take
    in_child(forget)  # before anything can run there, finalisers included


def forget() -> None:
    """In a child: what its parent did, its parent tells."""
    reasons.clear()
    for of_parent in (failures, log, *asked.values()):
        of_parent.clear()


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
    """What a process stored, by program, and what went wrong."""
    counts = reasons.counts()
    unusual = [
        f"{reason} {n} times in {os.getpid()}"
        for reason, n in counts.items()
        if reason.group == "cache" and reason not in USUAL
    ]
    return {
        "log": log,
        "failures": [*failures, *unusual],
        "asked": {name: list(numbers) for name, numbers in asked.items()},
    }


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
    log.extend(found["log"])
    failures.extend(found["failures"])
    for name, numbers in found["asked"].items():
        asked[name].update(numbers)


def spawn() -> list[subprocess.Popen[str]]:
    """Fresh processes that compile one function at the same time."""
    arguments = [sys.executable, __file__, "spawned", cache.directory()]
    return [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(3)]


def spawned() -> None:
    """What such a process does."""
    x = np.linspace(0.0, 1.0, 7)
    f = pyc.jit(lambda x: np.tan(x) + 1.0, name="spawned")
    compare("spawned", f(x), np.tan(x) + 1.0)
    print(json.dumps(outcome()))


def judge() -> dict[str, int]:
    """Every program asked for was stored once, but for callbacks; returns counts of all."""
    entries, programs = Counter(log), Counter()
    stored = {name: times for name, times in entries.items() if " " in name}
    for name, times in stored.items():
        label, _, program = name.rpartition(" ")
        programs[label] += 1
        # A callback compiles on its own; then the one that it did not wait for stores it too.
        if times > 1 + entries[program]:
            failures.append(f"compiled {times} times, {entries[program]} callbacks: {name}")
    expected = {"spawned": 1, **{name: len(numbers) for name, numbers in asked.items()}}
    for name, number in expected.items():
        if programs[name] != number:
            failures.append(f"{programs[name]} programs of {name}, asked for {number}")
    return {
        "programs": len(stored),
        "compiled": sum(stored.values()),
        "callbacks that did not wait": len(log) - sum(stored.values()),
    }


def main(seconds: float) -> int:
    # Not `dump_traceback_later` in children: they would wait for its thread, which a fork loses.
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    faulthandler.dump_traceback_later(seconds + 2 * STUCK_SECONDS, exit=True)
    start = time.monotonic()
    end = start + seconds
    fresh = spawn()
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
    for process in fresh:
        text, _ = process.communicate(timeout=STUCK_SECONDS)
        if process.returncode:
            failures.append(f"a spawned process ended with {process.returncode}: {text}")
        else:
            absorb(json.loads(text))
    failures[:] = outcome()["failures"]
    found = judge()
    print(json.dumps({"done": done, **found, "failures": failures[:10]}))
    return 1 if failures else 0


if __name__ == "__main__":
    config.update("cache_dir", sys.argv[2])
    watch()
    if sys.argv[1] == "spawned":
        spawned()
    else:
        sys.exit(main(float(sys.argv[1])))
