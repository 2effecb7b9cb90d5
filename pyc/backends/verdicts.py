"""Verdicts: whether the checks of a call on a GPU hold, known once the device has come so far.

A call of a program with checks does not wait for them: its kernels lower words of the device's
memory, which are the call's alone. Whatever waits for the device later (`Ledger.judge`) reads the
words of the calls since and raises what the first one that failed says. The results of that call
are given up: each later use of one raises the same. No failure is lost: the words of a call whose
results nobody read stay open until someone waits for the device, or the process ends, which warns.
"""

from __future__ import annotations

import atexit
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any, Protocol

import numpy as np

from pyc.errors import UnreadFailureWarning, raises_for_the_program
from pyc.forks import in_child
from pyc.reasons import Reason, record

HELD = -1
"""What the words of a call are while nothing has failed: the first, the lowest site that failed,
then the lowest value of each site, compared as unsigned."""
SLAB = 16
"""Calls whose words are allocated, and read, at once."""


class _Device(Protocol):
    """What is asked of a `Device`."""

    @property
    def label(self) -> str: ...
    def enter(self) -> None: ...
    def allocate(self, nbytes: int) -> int: ...
    def free(self, address: int, nbytes: int | None = None) -> None: ...
    def fill(self, address: int, byte: int, nbytes: int) -> None: ...
    def download(self, array: np.ndarray[Any, Any], address: int) -> None: ...


class _Call:
    """A call whose outcome is not known, or that failed: then with site and value. begun: all of it
    is on its way, so that its words say how it ends once that is done; owned: a `Verdict` has its
    words, which no other call may use."""

    __slots__ = ("address", "begun", "checks", "failure", "owned", "results")

    def __init__(self, checks: Checks, address: int) -> None:
        self.checks = checks
        self.address = address
        self.begun = False
        self.owned = True
        self.failure: tuple[int, int] | None = None
        self.results: tuple[weakref.ref[Any], ...] = ()


class Verdict:
    """What the results of a call know of its checks; when the last of them dies, its words are for
    another call. `_address`: of the words."""

    # Native code reads the first: CPython places them in the order of their names.
    __slots__ = ("__weakref__", "_address", "_call")

    def __init__(self, call: _Call) -> None:
        self._address = call.address
        self._call = call

    @property
    def address(self) -> int:
        """Of the words that the call's kernels lower."""
        return self._address

    def covers(self, results: Iterable[Any]) -> None:
        """Tells the `Array`s that the call gives that they are this one's; the call has begun."""
        given, call = tuple(results), self._call
        for array in given:
            array._verdict = self
        call.results = tuple(map(weakref.ref, given))
        call.begun = True

    def void(self) -> None:
        """The call was ended before its time, and all its work is done: what its words say means
        nothing."""
        self._call.checks.void(self._call)

    @property
    def error(self) -> Exception | None:
        """What is wrong with the results, if it is known that the call failed."""
        call = self._call
        return None if call.failure is None else call.checks.error(*call.failure)

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._call.checks.release(self._call)


class Checks:
    """The checks of a program on a device. words: of each call; error: what a failed site with its
    value means."""

    def __init__(self, on: Any, words: int, error: Callable[[int, int], Exception]) -> None:
        self.words = words
        self.error = error
        self._on: _Device = on
        self._ledger: Ledger = on.ledger
        self._free: list[int] = []
        self._slabs: list[int] = []
        nbytes = 8 * words * SLAB
        weakref.finalize(self, _free, on, self._slabs, nbytes).atexit = False

    def verdict(self) -> Verdict:
        """The verdict of a call that begins now."""
        try:
            address = self._free.pop()
        except IndexError:
            address = self._grow()
        call = _Call(self, address)
        self._ledger.open(call)
        return Verdict(call)

    def _grow(self) -> int:
        nbytes = 8 * self.words
        self._on.enter()
        slab = self._on.allocate(nbytes * SLAB)
        self._on.fill(slab, 0xFF, nbytes * SLAB)
        self._slabs.append(slab)
        self._free.extend(slab + nbytes * k for k in range(SLAB - 1, 0, -1))
        return slab

    def release(self, call: _Call) -> None:
        """The words of a call are free for another, which may find them lowered already: what
        nobody has read fails with that one."""
        call.begun = True
        if call.owned:
            call.owned = False
            self._free.append(call.address)

    def claim(self, call: _Call) -> bool:
        """Takes the words of a call away from it; False if another call has them."""
        if call.owned:
            call.owned = False
            return True
        try:
            self._free.remove(call.address)
        except ValueError:
            return False
        return True

    def void(self, call: _Call) -> None:
        """Nobody is told of a call."""
        if self._ledger.close_call(call) and self.claim(call):
            self.clear(call.address)

    def clear(self, address: int) -> None:
        """Frees words that have been lowered."""
        self._on.fill(address, 0xFF, 8 * self.words)
        self._free.append(address)

    def slab_of(self, address: int) -> int:
        """The slab where words lie."""
        size = 8 * self.words * SLAB
        return next(slab for slab in self._slabs if slab <= address < slab + size)


def _free(on: Any, slabs: list[int], nbytes: int) -> None:
    on.enter()
    for slab in slabs:
        on.free(slab, nbytes)


class Ledger:
    """The calls on a device whose verdicts are open, by the address of their words, in order."""

    def __init__(self, on: Any) -> None:
        self._on: _Device = on
        self._calls: dict[int, _Call] = {}
        self._judging = RLock()
        """Held while words are read: whoever waits meanwhile must know what they said. Re-entrant,
        as a signal handler may read an array wherever Python runs."""
        _ledgers.add(self)

    def open(self, call: _Call) -> None:
        """A call with checks begins."""
        self._calls.pop(call.address, None)  # nobody has read it: its failure shows in this one
        self._calls[call.address] = call

    def close_call(self, call: _Call) -> bool:
        """A call is looked at no more; False if that has happened already."""
        with self._judging:
            if self._calls.get(call.address) is not call:
                return False
            del self._calls[call.address]
            return True

    @property
    def open_calls(self) -> int:
        """How many verdicts are open."""
        return len(self._calls)

    @raises_for_the_program
    def judge(self, own: Verdict | None = None, others: bool = True) -> None:
        """Raises what the first call says whose checks failed; all calls so far are done. The
        failures of others are raised by the next ones who ask, in whatever thread: what they read
        may have been computed from results of those calls. own: the verdict to look at first;
        others: look at others too."""
        with self._judging:
            failed = self._first_failure(own, others)
        if failed is not None:
            raise failed

    def _first_failure(self, own: Verdict | None = None, others: bool = True) -> Exception | None:
        calls = [call for call in self._calls.values() if call.begun]
        if not others:
            calls = [call for call in calls if own is not None and call is own._call]
        if own is not None:
            calls.sort(key=lambda call: call is not own._call)
        slabs: dict[int, np.ndarray[Any, Any]] = {}
        for call in calls:
            checks, address = call.checks, call.address
            at = checks.slab_of(address)
            if at not in slabs:
                slabs[at] = np.empty((SLAB, checks.words), np.int64)
                self._on.download(slabs[at], at)
            words = slabs[at][(address - at) // (8 * checks.words)]
            if self._calls.get(address) is not call:
                continue  # another call has the words since
            site = int(words[0])
            if site == HELD:
                del self._calls[address]
                checks.release(call)
            elif checks.claim(call):
                del self._calls[address]
                return self.fail(call, site, int(words[1 + site]))
        return None

    def fail(self, call: _Call, site: int, value: int) -> Exception:
        """What is raised for a call that failed, whose results are given up."""
        call.failure = site, value
        call.checks.clear(call.address)
        for result in call.results:
            array = result()
            if array is not None:
                array.delete()
        return call.checks.error(site, value)

    def close(self) -> None:
        """At the end of the process: warns of failures that nobody has waited for."""
        if not self._calls:
            return
        self._on.enter()
        while (failed := self._first_failure()) is not None:
            text = f"{type(failed).__name__}: {failed}"
            record(Reason.DEVICE_FAILURE_UNREAD, device=self._on.label, detail=text)
            warnings.warn_explicit(text, UnreadFailureWarning, self._on.label, 0)

    def forget(self) -> None:
        """In a forked child: the device is the parent's."""
        self._calls.clear()
        self._judging = RLock()


_ledgers: weakref.WeakSet[Ledger] = weakref.WeakSet()


def _close() -> None:
    for ledger in [*_ledgers]:
        ledger.close()


def _forget() -> None:
    for ledger in [*_ledgers]:
        ledger.forget()


atexit.register(_close)
in_child(_forget)
