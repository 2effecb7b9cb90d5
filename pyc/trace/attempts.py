"""`try: v = x[i]` with an `except IndexError`, where the index is known when the program runs only:
a branch on whether it is in range.

The statement is traced apart first, to find which checks of indices it makes. If they hold it is
done, else what the `except` clause does. What may fail under a `try` in another way, and would be
caught there, is refused: the program would raise what Python hands to the clause.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import Any

import pyc.numpy as pnp
from pyc.errors import IndexOutOfRangeError, LinearAlgebraError, TraceError
from pyc.interpreter import bind1, current, is_tracing
from pyc.ir import dtype as dt
from pyc.ir.op import Kind, Op
from pyc.trace import location
from pyc.trace.capture import tracing
from pyc.trace.decisions import Names, Variables, branch_on
from pyc.trace.handlers import handling, is_caught
from pyc.trace.state import Snapshot
from pyc.trace.trace import Trace

_REMEDY = (
    "Ask before it is done: `if i < len(x):`; or say what is meant: `x.at[i].get(mode=...)`, "
    "`np.clip(i, 0, len(x) - 1)`."
)
_OF_MATRICES = (
    "Ask before it is done: `np.linalg.det(a) != 0`, `np.linalg.eigvalsh(a)[0] > 0`, with "
    "`pyc.cond`;\nor catch it around the call of the jitted function."
)


class _Checks:
    """The checks of indices in a statement. trace: where they are looked for; None where they are
    known to hold."""

    def __init__(self, trace: Trace | None) -> None:
        self.trace = trace
        self.found: list[Any] = []


_checks: ContextVar[_Checks | None] = ContextVar("pyc_checks", default=None)


def attempt(
    classes: Callable[[], Any],
    body: FunctionType,
    orelse: FunctionType,
    names: Names,
    live: tuple[str, ...],
) -> None:
    """`try: body() except classes(): orelse()`, but for exceptions that are raised while tracing:
    these go on. body: a statement that changes nothing before it has its value."""
    if not is_tracing() or not _takes(classes):
        body()
        return
    snapshot = Snapshot((body,))
    if snapshot.unknown:
        body()
        return
    ok = _condition(body, snapshot)
    if ok is None:
        body()
        return

    def done() -> None:
        with _under(_Checks(None)):
            body()

    frame = id(sys._getframe(1))

    def otherwise() -> None:
        token = handling.set(handling.get() | {frame})
        try:
            orelse()
        finally:
            handling.reset(token)

    functions = (body, orelse)
    branch_on(ok, done, otherwise, Variables(functions, names, live), functions)


def _takes(classes: Callable[[], Any]) -> bool:
    """Whether a clause takes an index that is out of range."""
    found = classes()
    members = found if isinstance(found, tuple) else (found,)
    return any(m in IndexOutOfRangeError.__mro__ for m in members)


def _condition(body: FunctionType, snapshot: Snapshot) -> Any:
    """Whether all indices of a statement are in range, None if they are for certain; everything
    undone.

    raises TraceError: the statement does more than to find a value
    """
    trace = Trace(current())
    trace.may_change = True
    checks = _Checks(trace)
    try:
        with _under(checks), tracing(trace):
            body()
            if not checks.found:
                return None
            ok = checks.found[0]
            for other in checks.found[1:]:
                ok = pnp.logical_and(ok, other)
            if trace.changed or trace.lost or any(map(_does_more, trace.builder.eqns)):
                raise _refusal(IndexError)
            values, captured = trace.used_captures([ok])
            graph = trace.build([ok], values)
    finally:
        snapshot.restore()
    interpreter = current()
    return interpreter.inline(graph, [interpreter.lift(c) for c in captured])[0]


def _does_more(eqn: Any) -> bool:
    return eqn.op.effect or eqn.op.fails is not None or eqn.op.kind is Kind.CONTROL


@contextmanager
def _under(checks: _Checks) -> Iterator[None]:
    token = _checks.set(checks)
    try:
        yield
    finally:
        _checks.reset(token)


def bind_failing(
    trace: Trace, op: Op, args: Sequence[Any], params: dict[str, Any]
) -> tuple[Any, ...] | None:
    """The results of an operation that may fail where it is looked at by `attempt`; None where the
    program fails.

    raises TraceError: what it raises may be caught
    """
    if op.name in ("check", "require"):
        return None
    checks = _checks.get()
    if op.name == "index_check" and checks is not None and checks.trace in (None, trace):
        return (_within(checks, args[0], params["bound"]),)
    if op.failure is not None:
        error = type(op.failure(0, **params))
        if is_caught(error):
            refused = _refusal(error)
            trace.outermost.refusal = refused
            raise refused
    return None


def _within(checks: _Checks, index: Any, bound: int) -> Any:
    """An index made non-negative, and within its bound whatever it is; whether it was is noted."""
    signed = index.type.dtype.kind == "int"
    whole = bind1("cast", index, dtype=dt.i64)
    inside = pnp.logical_and(pnp.greater_equal(whole, -bound if signed else 0), whole < bound)
    checks.found.append(pnp.all(inside) if inside.ndim else inside)
    from_end = pnp.where(whole < 0, whole + bound, whole) if signed else whole
    return pnp.clip(from_end, 0, max(bound - 1, 0))


def _refusal(error: type[BaseException]) -> TraceError:
    name = next(c.__name__ for c in error.__mro__ if not c.__module__.startswith("pyc."))
    return TraceError(
        f"whether {name} is raised here depends on a traced value, and a `try` or `with` around it "
        "may catch it",
        fix=_OF_MATRICES if error is LinearAlgebraError else _REMEDY,
        place=location.here(),
    )


__all__ = ["attempt", "bind_failing"]
