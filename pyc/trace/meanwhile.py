"""What other threads change while a function is traced: the trace is repeated.

A trace reads one thing after the other, and other threads go on meanwhile. What was read must be so
at the end (the guards say), and the same each time that it is read. Where it is not, or something
from outside has changed that the function does not change again, the trace is worth nothing:
`steadily` makes another one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

from pyc.errors import PycError, TraceError
from pyc.forks import threads_of_pyc
from pyc.reasons import Reason, record

TRIES = 5
"""How often a function is traced before it is given up."""

T = TypeVar("T")


class ChangedMeanwhileError(Exception):
    """A trace was disturbed. refusal: what is raised if that happens each time."""

    def __init__(self, refusal: PycError) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def others() -> bool:
    """Whether there are other threads that may run code of the user."""
    # Only the numbers: this frame would hold itself, and with it the frames of the call.
    running = frozenset(sys._current_frames())
    return len(running) > 1 and len(running - threads_of_pyc()) > 1


def torn(name: str, path: str) -> ChangedMeanwhileError:
    """What is raised where a path has led to two things in one trace of the function `name`."""
    return ChangedMeanwhileError(
        TraceError(
            f"`{path}` has changed while `{name}` was traced, each of {TRIES} times: another "
            "thread changes it all the time",
            fix="Trace while nobody changes it (the first call of each signature), under a lock "
            "that the other thread\ntakes too; or pass it as an argument.",
        )
    )


def steadily(trace: Callable[[], T], name: str) -> T:
    """What `trace` gives when no other thread disturbs it.

    raises PycError: it was disturbed each time; what else `trace` raises
    """
    for left in reversed(range(TRIES)):
        try:
            return trace()
        except ChangedMeanwhileError as error:
            if not left or not others():
                raise error.refusal from None
            record(Reason.GUARD_CHANGED_MEANWHILE, function=name, detail=str(error.refusal))
    raise AssertionError("unreachable")


__all__ = ["ChangedMeanwhileError", "others", "steadily", "torn"]
