"""The Plan: the steps an executable runs, and where each of its buffers lies.

    Plan  = kernels, buffers, steps, arena size
    Step  = Launch(kernel, slots, host)          a kernel over buffers, by the device or the host
          | Library(routine, slots, integers)    a routine of a declared library, or a trampoline
          | Loop(condition, flag, body, rotate)  repeats while the flag, an element b1, is true
          | Branch(index, cases)                 runs the case an i64 element names (clamped)
          | Copy(destination, source)

A slot is an index into `buffers`. A buffer is an argument, a result, a constant, or a range of the
arena of one call. A result may be an argument, which was donated: it is made in that memory, and
the address that the caller gives for it is not used. The planner's offsets are the addresses used,
and its peak is the arena allocated. Everything here is data: `backends` emit one native entry from
it, the plan interpreter runs it, the cache stores it.

Entry ABI (CPU; the GPU's host entry has the same signature and context):

    i32 entry(ptr context, ptr arguments, ptr results)

* arguments: 16 bytes each: the data address of an array in the first 8, or the scalar itself.
* results: 8 bytes each: the address of a C-ordered destination; rank 0 too. Not read where a result
  is made in the memory of an argument.
* returns 0, or 1 + the number of the failed site (its value in the context), or CANCELLED.

Context, 8 bytes a field, in the order of `CONTEXT_FIELDS`: the arena (64-byte aligned, one per
concurrent call); the worker pool and `parallel(pool, function, frame, tasks)`, which calls
`function(frame, begin, end)` so that [0, tasks) is covered once, and is null to run serially; the
address of the cancel flag (i32, polled on back-edges); the error site and value; the table of
external addresses (object code has no undefined symbols); the constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Union

from pyc.forks import load
from pyc.frozen import field, frozen, replace
from pyc.ir.loops import Kernel

CONTEXT_FIELDS = (
    *("arena", "pool", "parallel", "cancel", "error_site", "error_value"),
    *("externals", "constants"),
)
ARGUMENT_BYTES = 16
CANCELLED = -1
NO_MEMORY = -3
"""What a native call reports where its results could not be allocated; no entry returns it."""
DEVICE_FAILED = -4
"""What an entry of a program on a GPU returns where the driver refused; its status is the value."""
ADDRESSABLE_BYTES = 1 << 47
"""Bytes that a process can address: no program can have more."""
ALIGNMENT = 64
"""Alignment in bytes of arena offsets and constants, and of results of `STREAMED_BYTES`."""
STREAMED_BYTES = 32 << 20
"""Size of buffers that do not stay in any cache until they are read again: stores to them may pass
by the caches, which saves reading what is written."""


class Place(Enum):
    """What a buffer's `index` counts: argument, result, byte of the arena, byte of constants."""

    ARGUMENT = "argument"
    RESULT = "result"
    ARENA = "arena"
    CONSTANT = "constant"


@frozen()
class PlanBuffer:
    """nbytes at a place. scalar: the argument's value sits in its slot. first, last: the steps
    (numbered in program order, nested steps included) between which an arena buffer is alive.
    donated: an argument that may be written."""

    nbytes: int
    place: Place
    index: int
    scalar: bool = False
    first: int = 0
    last: int = 0
    donated: bool = False


@frozen()
class Given:
    """A size that a program learns only when it is bound to shapes: the number-th of those."""

    number: int


@frozen()
class Launch:
    """Runs kernels[kernel]; slots[k] is the buffer of its k-th parameter; sizes are its sizes.

    host: the kernel is a logical one, which the host runs on copies of its buffers while the device
    waits: what it reads comes from the device, what it writes goes there. Parameters beyond `slots`
    are the host's own scratch memory.
    """

    kernel: int
    slots: tuple[int, ...]
    sizes: tuple[int | Given, ...] = ()
    host: bool = False

    @property
    def known_sizes(self) -> tuple[int, ...]:
        """The sizes of a launch of which none is given."""
        found = tuple(n for n in self.sizes if isinstance(n, int))
        assert len(found) == len(self.sizes), "a program for arrays of any size is not bound"
        return found


@frozen()
class Library:
    """Calls external `routine` as `i32 routine(ptr context, ptr slots, ptr integers)`."""

    routine: str
    slots: tuple[int, ...]
    integers: tuple[int, ...] = ()


@frozen()
class Loop:
    """Runs `condition`, stops if the b1 in slot `flag` is false, runs `body`, swaps the addresses
    of each pair in `rotate`, and repeats. `condition` must not write what `body` carries. times:
    how often `body` runs, if that is known: then nobody needs to ask the flag."""

    condition: tuple[Step, ...]
    flag: int
    body: tuple[Step, ...]
    rotate: tuple[tuple[int, int], ...] = ()
    times: int | None = None


@frozen()
class Branch:
    """Runs cases[i] for the i64 i in slot `index`, clamped to the cases there are."""

    index: int
    cases: tuple[tuple[Step, ...], ...]


@frozen()
class Copy:
    """Copies nbytes from slot `source` to slot `destination`: equal sizes, and either the same
    address, where nothing happens, or no overlap."""

    destination: int
    source: int


Step = Union[Launch, Library, Loop, Branch, Copy]


@frozen()
class Site:
    """What a failed site means: the rule broken and the Graph equation that can break it."""

    rule: str
    equation: int


@frozen()
class Plan:
    """Steps over buffers. peak: bytes of the arena; lower_bound: the most bytes alive at once;
    arguments, results: slots in call order; constants: the bytes of the constant section; given:
    how many sizes it is bound to, i64 each, for which on a CPU `given_bytes` are left in front of
    the constants. The buffers of such a Plan do not say how many bytes they have."""

    kernels: tuple[Kernel, ...]
    buffers: tuple[PlanBuffer, ...]
    steps: tuple[Step, ...]
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    peak: int = 0
    lower_bound: int = 0
    constants: bytes = b""
    sites: tuple[Site, ...] = field(default=())
    given: int = 0

    def __str__(self) -> str:
        text: str = load("pyc.ir.text_plan").print_plan(self)
        return text

    def taken(self) -> dict[int, int]:
        """The argument whose memory a result is made in, by number, for results that have none of
        their own."""
        found = ((k, self.buffers[slot]) for k, slot in enumerate(self.results))
        return {k: b.index for k, b in found if b.place is Place.ARGUMENT}


def bound(plan: Plan, sizes: Sequence[int]) -> Plan:
    """A Plan with sizes for those that are given; of launches alone."""

    def known(size: int | Given) -> int:
        return sizes[size.number] if isinstance(size, Given) else size

    launches = (s for s in plan.steps if isinstance(s, Launch))
    steps = tuple(replace(s, sizes=tuple(map(known, s.sizes))) for s in launches)
    assert len(steps) == len(plan.steps)
    return replace(plan, steps=steps, given=0)


def given_bytes(given: int) -> int:
    """The bytes in front of the constants that hold so many sizes."""
    return -(-8 * given // ALIGNMENT) * ALIGNMENT


def walk_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Every step, nested ones included, in program order."""
    stack = list(reversed(steps))
    while stack:
        step = stack.pop()
        yield step
        if isinstance(step, Loop):
            stack.extend(reversed((*step.condition, *step.body)))
        elif isinstance(step, Branch):
            stack.extend(reversed([s for case in step.cases for s in case]))


def launches_of(steps: Sequence[Step]) -> Iterator[Launch]:
    """Every launch, nested ones included, in program order."""
    return (s for s in walk_steps(steps) if isinstance(s, Launch))
