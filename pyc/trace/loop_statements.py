"""What the loops of rewritten functions have in common: when they run in Python, how they
become ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import Any

from pyc.errors import DTypeError, PycError, TraceError, UnsupportedOpError
from pyc.interpreter import bind, current
from pyc.ir.graph import Eqn, Graph
from pyc.ir.op import Kind
from pyc.trace import location
from pyc.trace.capture import tracing
from pyc.trace.carried import Unstable
from pyc.trace.carry import Loop, unseen
from pyc.trace.decisions import Variables, branch_on, note, truth_of
from pyc.trace.sequences import SHORT
from pyc.trace.state import UNBOUND, Snapshot
from pyc.trace.trace import Trace
from pyc.trace.tracer import Tracer

SHORT_IN_ALL = 64
"""So many iterations of nested short loops at most."""
STRAIGHT_COST = 256
"""Instructions per element that the iterations of a short loop may come to as straight code. What
LLVM takes grows with them: some 0.3 ms each, where a loop takes some 30 ms in all."""
LONGEST = 4096
"""The most iterations, of nested loops in all, that run in Python because they cannot be ops."""
LONGEST_PLAIN = 1_000_000
"""The longest loop that runs in Python because it does nothing with traced values."""

REFUSED = (DTypeError, TraceError, UnsupportedOpError)
"""What a body may fail with where it is an op, and not where it runs in Python."""

unrolled: ContextVar[int] = ContextVar("pyc_unrolled", default=1)
"""Iterations of the loops around that run in Python."""


class Statement:
    """What loops have in common. functions: those of the statement."""

    def __init__(
        self, functions: Sequence[FunctionType], variables: Variables, stop: str | None
    ) -> None:
        self.functions = functions
        self.variables = variables
        self.stop = variables.named(stop)

    def stopped(self) -> Any:
        """The truth of the stop flag."""
        return False if self.stop is None else truth_of(self.stop.get())

    def guarded(self, run: Callable[[], Any]) -> None:
        """Runs an iteration if the flag, which is traced, does not stop the loop."""
        nothing: Callable[[], Any] = lambda: None  # noqa: E731
        branch_on(self.stopped(), nothing, run, self.variables, self.functions)

    def dry(self, run: Callable[[], Any]) -> tuple[Any, bool, int]:
        """(what `run` returns, whether it does nothing with traced values, what it comes to as
        straight code), everything undone.

        raises LoopStateError: it may use something that cannot be undone; it was not begun then
        """
        snapshot = Snapshot(self.functions)
        if snapshot.unknown:
            raise unseen(snapshot.unknown).error()
        trace = Trace(current())
        trace.may_change = True
        try:
            with tracing(trace):
                found = run()
                recorded = trace.builder.eqns
                return found, not recorded and not trace.captured, sum(map(cost_of, recorded))
        finally:
            snapshot.restore()

    def rolls(self, roll: Callable[[], None]) -> bool:
        """Whether the loop has become an op by `roll()`."""
        try:
            roll()
        except Unstable:
            return False
        except REFUSED as refused:
            forgiven(refused)
            return False
        return True

    def loop(self, run: Callable[[Any], None], always: bool) -> Loop:
        """The loop as an op to be traced; Unstable if it cannot be one."""
        variables = self.variables
        loop = Loop(self.functions, variables.live, variables.all, run, always)
        arrays = [p for p in variables.augmented if isinstance(p.get(), Tracer) and p.get().ndim]
        loop.keep(arrays)
        return loop

    def finish(self, loop: Loop, values: Sequence[Any]) -> None:
        """Puts the results of an op into variables, arrays and objects."""
        loop.finish(values)
        for variable in self.variables.dead:
            variable.set(UNBOUND)
        note(
            loop.unbound,
            "after a loop that may have no iteration: it has a value in it only",
            "a value before the loop",
        )


def cost_of(eqn: Eqn) -> int:
    """About what an equation adds to the code of a program, in instructions per element."""
    if eqn.op.name == "constant":
        return 0
    return eqn.op.cost if eqn.op.kind is Kind.POINTWISE else _COSTS[eqn.op.kind]


_COSTS = {
    Kind.INDEX: 1,
    Kind.REDUCE: 8,
    Kind.CONTRACT: 16,
    Kind.KERNEL: 16,
    Kind.LIBRARY: 16,
    Kind.CONTROL: 32,
}
"""What the others add: loops of their own."""


def while_of(
    condition: tuple[Graph, list[Any]], body: tuple[Graph, list[Any]], initials: list[Any]
) -> tuple[Any, ...]:
    """The results of a `while`, whose Graphs come with their captures."""
    (test, tested), (step, captured) = condition, body
    return bind(
        "while",
        *(*tested, *captured, *initials),
        condition=test,
        body=step,
        condition_captures=len(tested),
        body_captures=len(captured),
    )


def forgiven(error: PycError) -> PycError:
    """An error of the body, which may run otherwise."""
    trace = current()
    return trace.forgive(error) if isinstance(trace, Trace) else error


def where() -> dict[str, Any]:
    """The place of a loop, as the details of an event."""
    place = location.here()
    return {"line": 0} if place is None else {"line": place.line, "file": place.file}


def recorded() -> int:
    """How many equations the trace has so far."""
    return len(current().builder.eqns)  # type: ignore[attr-defined]


@contextmanager
def unrolling(iterations: int) -> Iterator[None]:
    """Counts loops within this one, which runs in Python."""
    token = unrolled.set(unrolled.get() * max(iterations, 1))
    try:
        yield
    finally:
        unrolled.reset(token)


__all__ = ["LONGEST", "LONGEST_PLAIN", "REFUSED", "SHORT", "SHORT_IN_ALL", "STRAIGHT_COST"]
__all__ += ["Statement", "cost_of", "forgiven", "recorded", "unrolled", "unrolling", "where"]
__all__ += ["while_of"]
