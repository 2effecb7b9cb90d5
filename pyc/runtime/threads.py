"""The worker pool of this process: how many threads, where they run, what they did.

The pool is native code and data (`text_threads`). Compiled kernels call
`parallel(pool, function, frame, tasks)`, whose two addresses `addresses()` gives; a pool that is
busy or of one thread runs the tasks in the caller. Workers start at the first parallel call, block
all signals, and end with the process. A forked child starts its own.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

from pyc import config
from pyc.forks import in_child
from pyc.frozen import frozen
from pyc.runtime import native
from pyc.runtime.structures import MASK_BYTES, MAXIMUM_THREADS, Pool

SPIN_CYCLES = 20_000_000
"""Cycles of the counter (about 7 ms) that an idle worker spins at most before it sleeps."""


@frozen()
class ThreadStatistics:
    """What the pool did. threads: as set; started: workers there are; regions: parallel calls;
    helped: workers that took part in one; busy: calls run by the caller alone since another one
    was under way; slept: wake-ups of sleeping workers."""

    threads: int
    started: int
    regions: int
    helped: int
    busy: int
    slept: int


_state: dict[str, int] = {}
"""The number of threads set by hand (`threads`), and whether workers are pinned (`pinned`)."""


def usable_processors() -> tuple[int, ...]:
    """Processors that this process may run on."""
    return tuple(sorted(os.sched_getaffinity(0)))


def _quota(
    root: str | os.PathLike[str] = "/sys/fs/cgroup",
    own: str | os.PathLike[str] = "/proc/self/cgroup",
) -> float:
    """Processors' worth of time that the control groups allow; infinity without a limit."""
    found = float("inf")
    try:
        lines = _text(own).splitlines()
    except OSError:
        return found
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        base = os.path.join(root, controllers) if controllers else os.fspath(root)
        folder = os.path.normpath(os.path.join(base, path.lstrip("/")))
        # Each group above may set a lower limit.
        while folder == base or folder.startswith(f"{base}/"):
            found = min(found, _limit(folder))
            folder = os.path.dirname(folder)
    return found


def _text(path: str | os.PathLike[str]) -> str:
    with open(path) as file:
        return file.read()


def _limit(folder: str) -> float:
    try:
        if os.path.exists(f"{folder}/cpu.max"):
            quota, period = _text(f"{folder}/cpu.max").split()
        else:
            quota = _text(f"{folder}/cpu.cfs_quota_us").strip()
            period = _text(f"{folder}/cpu.cfs_period_us").strip()
        return float("inf") if quota in ("max", "-1") else int(quota) / int(period)
    except (OSError, ValueError):
        return float("inf")


def default_threads() -> int:
    """Threads if none are set: the processors this process may use, cut by its time quota."""
    quota = _quota()
    usable = len(usable_processors())
    return usable if quota >= usable else max(1, ceil(quota))


def get_num_threads() -> int:
    """Threads that a parallel kernel may use, the caller included.

    >>> pyc.get_num_threads() >= 1
    True
    """
    wanted = _state.get("threads") or config.current().num_threads or default_threads()
    return min(wanted, MAXIMUM_THREADS)


def set_num_threads(count: int | None) -> None:
    """Sets the threads of parallel kernels, for the process.

    count: how many, of which at most 256 take part; None: as the setting `num_threads` says, by
    default as many as are usable

    raises ValueError: not a whole number, or less than 1

    >>> pyc.set_num_threads(None)
    """
    if count is not None and (isinstance(count, bool) or not hasattr(count, "__index__")):
        raise ValueError(f"the number of threads must be a whole number, got {count!r}")
    if count is not None and count < 1:
        raise ValueError(f"the number of threads must be 1 or more, got {count}")
    _state["threads"] = int(count or 0)
    if native.THREADS.loaded():
        _pool()
        _follow()


def _follow() -> None:
    """Gives the pool the number of threads that holds now."""
    pool, wanted = _pools[0], get_num_threads()
    if pool.wanted == wanted:
        return
    pool.wanted = wanted
    if pool.started >= wanted:
        # Workers too many would wake and spin at each call, though they take no part.
        _stop()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Inside the block parallel kernels use `count` threads (in the whole process).

    count: as of `set_num_threads`

    raises ValueError: not a whole number, or less than 1

    >>> with pyc.threads(2):
    ...     print(pyc.get_num_threads())
    2
    """
    before = _state.get("threads")
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before or None)


def pin_threads(on: bool = True) -> None:
    """Ties worker i to the i-th usable processor, the caller's left out; or unties them all.

    Good only where no other process wants these processors: it stops the workers, which start
    anew at the next parallel call.
    """
    _state["pinned"] = int(on)
    if native.THREADS.loaded():
        _place(_pool())


def _place(pool: Pool) -> None:
    """Writes the processors of each worker; workers read them when they start."""
    _stop()
    pinned = _state.get("pinned", 0)
    usable = usable_processors()
    for number in range(1, MAXIMUM_THREADS):
        worker = pool.workers[number]
        chosen = usable[number % len(usable)]
        worker.pinned = int(pinned and len(usable) > 1 and chosen < 8 * MASK_BYTES)
        if worker.pinned:
            ctypes.memset(worker.processors, 0, MASK_BYTES)
            worker.processors[chosen // 8] = 1 << chosen % 8


def statistics() -> ThreadStatistics:
    """What the pool did so far."""
    if not native.THREADS.loaded():
        return ThreadStatistics(get_num_threads(), 0, 0, 0, 0, 0)
    p = _pool()
    return ThreadStatistics(p.wanted, p.started, p.regions, p.helped, p.busy, p.slept)


_pools: list[Pool] = []


def _pool() -> Pool:
    """The native pool, set up at first use."""
    if not _pools:
        pool = Pool.from_address(native.THREADS.image().address("pool"))
        pool.wanted = get_num_threads()
        pool.longest = SPIN_CYCLES
        _pools.append(pool)
        if _state.get("pinned"):
            _place(pool)
        config.listen(_follow)
        in_child(_forget_workers)
        atexit.register(_finish)
    return _pools[0]


def addresses() -> tuple[int, int]:
    """Addresses of the pool and of `parallel`, for the context of an entry."""
    return ctypes.addressof(_pool()), native.THREADS.image().address("parallel")


def _stop() -> bool:
    """Ends the workers; False if the pool is busy. They start again when needed."""
    stop = native.THREADS.image().function("stop_workers", ctypes.c_int32, ctypes.c_void_p)
    return not stop(ctypes.addressof(_pool()))


def _finish() -> None:
    # Daemon threads may still call kernels while the interpreter ends: they run alone.
    _pool().wanted = 1
    _stop()


def _forget_workers() -> None:
    """In a forked child: no worker came along, and the lock may be that of a lost thread."""
    pool = _pool()
    start = ctypes.addressof(pool)
    ctypes.memset(start, 0, Pool.wanted.offset)
    pool.started = 0
    pool.regions = pool.busy = pool.helped = pool.slept = 0
