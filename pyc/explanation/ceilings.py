"""What this machine can do at most, measured: bytes a second from each level of memory, and flops.

Plain loops are written in the text of kernels, compiled for this processor and timed: one that only
reads, one that copies, one that only fills, over arrays from 4 kB to those that lie in main
memory; and chains of `fma` in registers. Small ones run in one thread, as small kernels do, large
ones in all. The best of several runs counts. That takes a second, once for a machine and a number
of threads: it is kept in the cache directory, and in the process where that cannot be written. For
a GPU `device_ceilings` does the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from math import log
from typing import Any

import numpy as np

from pyc import cache, config
from pyc.backends.cpu import aligned_bytes
from pyc.backends.host import host_target
from pyc.explanation.native import Native
from pyc.fingerprint import sha256
from pyc.forks import load
from pyc.frozen import frozen
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.plan import STREAMED_BYTES, Launch, Place, Plan, PlanBuffer
from pyc.ir.target import Target
from pyc.report.words import plural
from pyc.runtime import threads
from pyc.store import read_own_file

FORMAT = 2
SIZES = (1 << 12, 1 << 14, 1 << 17, 1 << 20, 1 << 23, 1 << 26, 1 << 28)
"""Bytes that a loop touches in all."""
ALONE_UP_TO, SHARED_FROM = 1 << 20, 1 << 20
"""Bytes up to which one thread runs a loop, and from which all do; in between the better counts."""
MEMORY_SHARE = 8
"""Of the free memory at most this part is used for measuring."""
ROUNDS, LEAST_RUNS, ENOUGH_SECONDS = 3, 3, 5e-3
"""How often all loops are timed, and the runs of each: so many, and as long as that at least."""
LEAST_SECONDS, USUAL_RATE = 2e-4, 2e10
"""How long a run of one thread lasts at least, as its loop is repeated at some 20 GB/s or more."""
MIXES = {"read": 0.0, "copy": 0.5, "fill": 1.0}
"""The share of its bytes that each loop writes."""
FLOP_TYPES = ("f32", "f64")

Rate = tuple[int, float]
Block = np.ndarray[Any, Any]


@frozen()
class Ceilings:
    """What a machine reached. threads: 0 for a GPU, which has its own; rates: for each mix of
    `MIXES` (bytes touched, bytes a second), from small to large; flops: by element type (of one
    thread or block, of all) a second; launch: seconds of a kernel that does nothing."""

    processor: str
    threads: int
    rates: dict[str, tuple[Rate, ...]]
    flops: dict[str, tuple[float, float]]
    launch: float = 0.0

    def __str__(self) -> str:
        if not self.threads:
            return self.processor
        return f"{self.processor}, {plural(self.threads, 'thread')}"

    def memory_seconds(self, read: int, written: int) -> float:
        """The time of plain loops that read and write so many bytes: between the measured sizes and
        mixes the times of a byte are interpolated."""
        total = read + written
        if not total:
            return 0.0
        share = written / total
        (low, low_share), (high, high_share) = (
            (("read", 0.0), ("copy", 0.5)) if share <= 0.5 else (("copy", 0.5), ("fill", 1.0))
        )
        part = (share - low_share) / (high_share - low_share)
        return total * ((1 - part) * self._byte(low, total) + part * self._byte(high, total))

    def _byte(self, mix: str, total: int) -> float:
        """Seconds for one byte in a loop that touches `total`."""
        sizes = [log(size) for size, _ in self.rates[mix]]
        return float(np.interp(log(total), sizes, [1 / rate for _, rate in self.rates[mix]]))

    def flop_seconds(self, flops: dict[str, int], tasks: int) -> float:
        """The time of so many flops by type, shared by `tasks` tasks; half types and complex ones
        are computed in those that are measured."""
        seconds = 0.0
        for name, count in flops.items():
            one, every = self.flops[name]
            seconds += count / min(one * max(tasks, 1), every)
        return seconds

    def as_dict(self) -> dict[str, Any]:
        """The same in plain values."""
        return {
            "processor": self.processor,
            "threads": self.threads,
            "bytes_per_second": {m: [list(r) for r in rates] for m, rates in self.rates.items()},
            "flops_per_second": {t: list(pair) for t, pair in self.flops.items()},
            "launch_seconds": self.launch,
        }

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Ceilings:
        """From what `as_dict` gave."""
        rates = found["bytes_per_second"]
        return cls(
            str(found["processor"]),
            int(found["threads"]),
            {m: tuple((int(s), float(r)) for s, r in rates[m]) for m in MIXES},
            {t: (float(a), float(b)) for t, (a, b) in found["flops_per_second"].items()},
            float(found["launch_seconds"]),
        )

    def best(self, other: Ceilings) -> Ceilings:
        """The higher of two measurements of a machine, each by each."""
        rates = {}
        for mix, known in self.rates.items():
            more = dict(other.rates[mix])
            rates[mix] = tuple((size, max(rate, more.get(size, 0.0))) for size, rate in known)
        flops = {
            t: (max(a, other.flops[t][0]), max(b, other.flops[t][1]))
            for t, (a, b) in self.flops.items()
        }
        launch = min(self.launch, other.launch)
        return Ceilings(self.processor, self.threads, rates, flops, launch)


_known: dict[str, Ceilings] = {}


def ceilings(*, again: bool = False) -> Ceilings:
    """Those of this machine, measured now if they never were. again: measured now too, and the best
    of both kept."""
    return known(f"{processor()} {threads.get_num_threads()}", measure, again=again)


def known(name: str, measure: Callable[[], Ceilings], *, again: bool) -> Ceilings:
    """The ceilings of what has this name, measured now if they never were."""
    key = sha256(f"{FORMAT} {name}".encode()).hexdigest()[:16]
    found = _known.get(key) or _kept(key)
    if found is None or again:
        now = measure()
        found = now if found is None else found.best(now)
        _keep(key, found)
    _known[key] = found
    return found


def processor() -> str:
    """The name of this machine's processor, and the features that code is made for."""
    name = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            found = (line.partition(":")[2].strip() for line in lines if "model name" in line)
            name = next(found, "")
    except OSError:
        pass
    return f"{name or 'unknown processor'} ({host_target().id})"


def _file(key: str) -> str:
    return f"ceilings-{key}"


def _kept(key: str) -> Ceilings | None:
    """What an earlier process measured."""
    if config.current().cache == "off":
        return None
    store = cache.disk(writable=False)
    if store.problem is not None:
        return None
    try:
        opened = read_own_file(os.path.join(store.directory, _file(key)))
        return None if opened is None else Ceilings.of_dict(json.loads(opened[0]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(key: str, found: Ceilings) -> None:
    if config.current().cache != "rw":
        return
    store = cache.disk(writable=True)
    if store.problem is None and store.writable:
        content = json.dumps(found.as_dict(), indent=1).encode()
        load("pyc.store.write").put_note(store, _file(key), content)


# --- measuring ------------------------------------------------------------------------------------


@frozen(eq=False)
class _Loop:
    """A loop to be timed. what, of: the mix and the bytes that it touches, or the element type and
    whether it uses all threads; work: bytes or flops of one run."""

    what: str
    of: int
    native: Native
    given: Sequence[Block]
    made: Sequence[Block]
    work: int


def measure() -> Ceilings:
    """What this machine reaches now."""
    target, count = host_target(), threads.get_num_threads()
    most = max(_free_memory() // MEMORY_SHARE, SHARED_FROM)
    sizes = [size for size in SIZES if size <= most]
    memory = [aligned_bytes(max(sizes)).view(np.float32) for _ in range(2)]
    for block in memory:
        block[:] = 1.0
    loops = [loop for mix in MIXES for size in sizes for loop in _moves(mix, size, memory, target)]
    loops += [_flops(name, target, n) for name in FLOP_TYPES for n in dict.fromkeys((1, count))]
    best: dict[tuple[str, int], float] = {}
    for _ in range(ROUNDS):  # so that a burst of other work spoils one of them only
        for loop in loops:
            key = loop.what, loop.of
            best[key] = max(best.get(key, 0.0), loop.work / _shortest(loop))
    rates = {mix: tuple((size, best[mix, size]) for size in sizes) for mix in MIXES}
    flops = {name: (best[name, 1], best[name, count]) for name in FLOP_TYPES}
    return Ceilings(processor(), count, rates, flops)


def _shortest(loop: _Loop) -> float:
    """The shortest of some runs."""
    times: list[float] = []
    while len(times) < LEAST_RUNS or sum(times) < ENOUGH_SECONDS:
        times.append(loop.native.run(loop.given, loop.made))
    return min(times)


def _free_memory() -> int:
    """Bytes that this process may still use, by the machine and by its control group."""
    free = 1 << 30
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
            free = int(next(found)) * 1024
        limit, used = (_number(f"/sys/fs/cgroup/memory.{what}") for what in ("max", "current"))
    except (OSError, ValueError, StopIteration):
        return free
    return min(free, limit - used)


def _number(file: str) -> int:
    with open(file, encoding="ascii") as text:
        return int(text.read())


def _moves(mix: str, size: int, memory: Sequence[Block], target: Target) -> Iterator[_Loop]:
    """The loops that touch `size` bytes: in one thread, or in all."""
    count, lanes = threads.get_num_threads(), target.lanes(4)
    per_element = 8 if mix == "copy" else 4
    given, made = [memory[0]] if mix != "fill" else [], [memory[1]]
    alone = [1] if size <= ALONE_UP_TO else []
    together = [4 * count] if size >= SHARED_FROM and (count > 1 or not alone) else []
    for tasks in (*alone, *together):
        part = size // per_element // (tasks * 8 * lanes) * 8 * lanes
        repeats = max(1, int(LEAST_SECONDS * USUAL_RATE / size)) if tasks == 1 else 1
        work = repeats * tasks * part * per_element
        for streamed in (False, True) if mix != "read" and size >= 2 * STREAMED_BYTES else (False,):
            text = _text(mix, part, tasks, repeats, lanes, streamed)
            yield _Loop(mix, size, Native(plan_of(text), target), given, made, work)


def plan_of(text: str) -> Plan:
    """A kernel as a program of its own."""
    kernel = parse_kernel(text)
    places = [Place.RESULT if b.role == "out" else Place.ARGUMENT for b in kernel.buffers]
    buffers, numbers = [], dict.fromkeys(Place, 0)
    for b, place in zip(kernel.buffers, places, strict=True):
        nbytes = int(np.prod([d for d in b.shape if isinstance(d, int)])) * b.dtype.itemsize
        buffers.append(PlanBuffer(nbytes, place, numbers[place], first=1, last=1))
        numbers[place] += 1
    slots = tuple(range(len(buffers)))
    return Plan(
        kernels=(kernel,),
        buffers=tuple(buffers),
        steps=(Launch(0, slots),),
        arguments=tuple(k for k in slots if places[k] is Place.ARGUMENT),
        results=tuple(k for k in slots if places[k] is Place.RESULT),
    )


def _text(mix: str, part: int, tasks: int, repeats: int, lanes: int, streamed: bool) -> str:
    """The kernel of a loop over `part` float32 in each of `tasks` tasks, or `repeats` times."""
    count = tasks * part
    outer = f"0..{tasks} parallel" if tasks > 1 else f"0..{repeats} serial"
    first = f"i0 * {part}" if tasks > 1 else "0"
    if mix == "read":
        width = 8 * lanes
        names = ", ".join(f"v{k} = 0.0:f32" for k in range(8))
        after = ", ".join(f"v{k}" for k in range(8, 16))
        places = [f"({first}) + ((i2 * {width}) + (i1 + {k * lanes}))" for k in range(8)]
        sums = ", ".join(f"v{k} + b0[{place}]" for k, place in enumerate(places))
        return f"""kernel "read"() {{
  b0: in f32[{count}]
  b1: out f32[{tasks * lanes}]
  for i0 in {outer} {{
    for i1 in 0..{lanes} vector {{
      for i2 in 0..{part // width} serial carry ({names}) -> ({after}) {{
        next {sums}
      }}
      b1[{f"(i0 * {lanes}) + i1" if tasks > 1 else "i1"}] = {_sum(range(8, 16))}
    }}
  }}
}}
"""
    inputs = f"b0: in f32[{count}]\n  " if mix == "copy" else ""
    out = "b1" if mix == "copy" else "b0"
    at = f"({first}) + ((i1 * {lanes}) + i2)"
    return f"""kernel "{mix}"() {{
  {inputs}{out}: out f32[{count}] align 64{" streamed" if streamed else ""}
  for i0 in {outer} {{
    for i1 in 0..{part // lanes} serial {{
      for i2 in 0..{lanes} vector {{
        {out}[{at}] = {f"b0[{at}]" if mix == "copy" else "1.0:f32"}
      }}
    }}
  }}
}}
"""


def _sum(names: range) -> str:
    """The sum of variables, each sum in parentheses."""
    total = f"v{names[0]}"
    for k in names[1:]:
        total = f"({total}) + v{k}"
    return total


CHAINS, LENGTH = 10, 4096
"""Chains of `fma` that run side by side, and their length."""


def _flops(name: str, target: Target, count: int) -> _Loop:
    """Chains of `fma` in so many threads."""
    lanes = target.lanes(4 if name == "f32" else 8)
    tasks = 8 * count
    names = ", ".join(f"v{k} = b0[i1]" for k in range(CHAINS))
    after = ", ".join(f"v{k}" for k in range(CHAINS, 2 * CHAINS))
    steps = ", ".join(f"fma(v{k}, 0.5:{name}, 1.0:{name})" for k in range(CHAINS))
    text = f"""kernel "fma"() {{
  b0: in {name}[{lanes}]
  b1: out {name}[{tasks * lanes}]
  for i0 in 0..{tasks} {"parallel" if count > 1 else "serial"} {{
    for i1 in 0..{lanes} vector {{
      for i2 in 0..{LENGTH} serial carry ({names}) -> ({after}) {{
        next {steps}
      }}
      b1[(i0 * {lanes}) + i1] = {_sum(range(CHAINS, 2 * CHAINS))}
    }}
  }}
}}
"""
    dtype = np.float32 if name == "f32" else np.float64
    given, made = [np.ones(lanes, dtype)], [np.empty(tasks * lanes, dtype)]
    work = tasks * lanes * LENGTH * CHAINS * 2
    return _Loop(name, count, Native(plan_of(text), target), given, made, work)


__all__ = [
    "FLOP_TYPES",
    "MIXES",
    "Ceilings",
    "ceilings",
    "known",
    "measure",
    "plan_of",
    "processor",
]
