"""What rewritten functions call in place of loops; see `rewrite`. All that they call is here: the
functions of `decisions` too.

On concrete values each does what Python does. A loop that is long or whose end is traced becomes an
op (`carry`):

* up to `SHORT` iterations, and `SHORT_IN_ALL` of nested loops, run in Python: straight code, unless
  that would come to more than `STRAIGHT_COST` (a `for` is judged by its first one) and the loop can
  be an op;
* a loop whose body does nothing with traced values runs in Python;
* what else goes over a range or an array becomes one loop of the program. If its body needs the
  number of the iteration (a slice, a shape, a list) or does more to Python objects than to replace
  values, it runs in Python after all, for a recorded reason, up to `LONGEST` iterations.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import FunctionType
from typing import Any

import pyc.numpy as pnp
from pyc.errors import DTypeError, PycError, TraceError, UnsupportedOpError
from pyc.interpreter import bind, current, is_tracing
from pyc.ir.graph import Eqn, Graph
from pyc.ir.op import Kind
from pyc.reasons import Reason, record
from pyc.trace import filtered, location
from pyc.trace.capture import tracing
from pyc.trace.carried import Unstable
from pyc.trace.carry import ImpureError, Loop
from pyc.trace.decisions import (
    Names,
    Variables,
    all_of,
    all_true,
    any_of,
    any_true,
    branch,
    branch_on,
    choice,
    comparison,
    contained,
    negation,
    note,
    truth_of,
)
from pyc.trace.grown import Grown
from pyc.trace.merge import merge
from pyc.trace.parts import Selected
from pyc.trace.raising import raising
from pyc.trace.sequences import Counted, Rows, Steps, Zipped, sequence
from pyc.trace.state import UNBOUND, Result, Snapshot, Variable
from pyc.trace.telling import percent
from pyc.trace.trace import Trace
from pyc.trace.tracer import Tracer

SHORT = 16
"""Loops of up to this many iterations run in Python."""
SHORT_IN_ALL = 64
"""So many iterations of nested short loops at most."""
STRAIGHT_COST = 256
"""Instructions per element that the iterations of a short loop may come to as straight code. What
LLVM takes grows with them: some 0.3 ms each, where a loop takes some 30 ms in all."""
LONGEST = 4096
"""The most iterations, of nested loops in all, that run in Python because they cannot be ops."""
LONGEST_PLAIN = 1_000_000
"""The longest loop that runs in Python because it does nothing with traced values."""

_REFUSED = (DTypeError, TraceError, UnsupportedOpError)
"""What a body may fail with where it is an op, and not where it runs in Python."""

AssertionError = builtins.AssertionError
"""For rewritten functions, in which the name may be the user's."""
member, kept, passing = filtered.item, filtered.kept, filtered.passing

_unrolled: ContextVar[int] = ContextVar("pyc_unrolled", default=1)
"""Iterations of the loops around that run in Python."""


def repeat(
    test: FunctionType,
    body: FunctionType,
    names: Names,
    live: tuple[str, ...],
    stop: str | None,
) -> None:
    """`while test(): body()`, until the variable `stop` is true."""
    loop = _While(test, body, Variables((test, body), names, live), stop)
    if not is_tracing():
        loop.run_in_python(None)
    else:
        loop.run()


def each(
    items: Any,
    body: FunctionType,
    names: Names,
    live: tuple[str, ...],
    stop: str | None,
    counter: str | None,
    grown: tuple[str, ...],
) -> None:
    """`for ... in items: body(item)`, until the variable `stop` is true. counter: the variable that
    holds the item, if the body does not assign it; grown: those that it only appends to, in each
    iteration."""
    variables = Variables((body,), names, live)
    loop = _For(body, variables, stop, counter, grown)
    if isinstance(items, filtered.Filtered):
        loop.run_filtered(items)
        return
    if isinstance(items, Selected):
        loop.run_selected(items)
        return
    steps = Rows(items) if isinstance(items, Tracer) and items.ndim else items
    if isinstance(steps, range):
        steps = Counted(steps)
    if not is_tracing():
        loop.run_in_python(iter(items))
    elif isinstance(steps, Steps):
        loop.run(steps)
    else:
        before = _recorded()
        done = loop.run_in_python(iter(items))
        if _recorded() > before:
            kind = type(items).__name__
            record(Reason.LOOP_IN_PYTHON, **_where(), iterations=done, over=kind)


class _Statement:
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
        straight code), everything undone."""
        snapshot = Snapshot(self.functions)
        trace = Trace(current())
        trace.may_change = True
        try:
            with tracing(trace):
                found = run()
                recorded = trace.builder.eqns
                return found, not recorded and not trace.captured, sum(map(_cost, recorded))
        finally:
            snapshot.restore()

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


class _For(_Statement):
    def __init__(
        self,
        body: FunctionType,
        variables: Variables,
        stop: str | None,
        counter: str | None,
        grown: tuple[str, ...],
    ) -> None:
        super().__init__((body,), variables, stop)
        self.body = body
        self.counter = variables.named(counter)
        self.grown = [Variable(n, variables.cells[n]) for n in grown if n in variables.cells]

    def run_in_python(self, items: Iterator[Any]) -> int:
        """All iterations, as Python runs them; how many there were."""
        done = 0
        for item in items:
            stopped = self.stopped()
            if type(stopped) is bool:
                if stopped:
                    return done
                self.body(item)
            else:
                self.guarded(lambda item=item: self.body(item))  # type: ignore[misc]
            done += 1
        return done

    def run_filtered(self, items: filtered.Filtered) -> None:
        """Over elements of which data decides whether they are there."""
        nothing: Callable[[], Any] = lambda: None  # noqa: E731
        for truth, item in items.pairs():
            run = partial(self.run_in_python, iter([item]))
            if self.stopped() is True:
                return
            if truth is True:
                run()
            else:
                branch_on(truth, run, nothing, self.variables, self.functions)

    def run_selected(self, items: Any) -> None:
        """Over what a mask selects: over all elements, those that it does not select left out."""
        body, functions, variables = self.body, self.functions, self.variables
        nothing: Callable[[], Any] = lambda: None  # noqa: E731

        def guarded(pair: Any) -> None:
            branch_on(pair[0], partial(body, pair[1]), nothing, variables, functions)

        self.body = guarded  # type: ignore[assignment]
        self.counter, self.grown = None, []
        self.run(Zipped([Rows(part) for part in items.flat_parts()]))

    def run(self, steps: Steps) -> None:
        """Over a sequence that may be traced."""
        length = steps.length
        if type(length) is not int:
            self.run_to_traced_end(steps)
            return
        if length <= SHORT and length * _unrolled.get() <= SHORT_IN_ALL:
            self.run_short(steps)
            return
        if length <= LONGEST_PLAIN and self.is_plain(steps):
            self.unroll(steps, 0)
            return
        self.run_long(steps)

    def run_short(self, steps: Steps) -> None:
        """A loop of few iterations: in Python, or as an op after the first one if that is large.
        One that data may leave becomes an op once they do."""
        length: int = steps.length
        left = length - 1
        before = _recorded()
        if left < 2:
            straight = self.unroll(steps, 0)
        else:
            with _unrolling(length):
                self.body(steps.item(0))
            stopped = self.stopped()
            if stopped is True:
                return
            eqns = current().builder.eqns  # type: ignore[attr-defined]
            cost = left * sum(map(_cost, eqns[before:])) if stopped is False else 0
            if cost > STRAIGHT_COST and self.try_to_roll(steps, 1):
                record(Reason.LOOP_ROLLED_FOR_SIZE, **_where(), iterations=left, cost=cost)
                return
            straight = self.unroll(steps, 1)
        if straight and _recorded() > before:
            record(Reason.LOOP_SHORT, **_where(), iterations=length)

    def run_to_traced_end(self, steps: Steps) -> None:
        """A loop whose length is traced: an op; if it cannot be one, and its bounds are at hand,
        the program is for these, as Python runs the loop."""
        try:
            self.roll(steps, 0)
            return
        except Unstable as unstable:
            error: PycError = unstable.error()
        except _REFUSED as refused:
            error = _forgiven(refused)
        fixed = steps.fixed()
        if fixed is None:
            raise error
        self.run(fixed)

    def run_long(self, steps: Steps) -> None:
        """A loop that is to be an op."""
        length: int = steps.length
        first = 0
        error: PycError
        while True:
            try:
                self.roll(steps, first)
                return
            except Unstable as unstable:
                if unstable.again and first == 0:
                    self.body(steps.item(0))
                    if self.stopped() is True:
                        return
                    first = 1
                    continue
                error = unstable.error()
            except _REFUSED as refused:
                error = _forgiven(refused)
            break
        if (length - first) * _unrolled.get() > LONGEST:
            raise error
        record(
            Reason.LOOP_UNROLLED,
            **_where(),
            iterations=length - first,
            detail=error.message,
        )
        self.unroll(steps, first)

    def is_plain(self, steps: Steps) -> bool:
        """Whether the first iteration does nothing with traced values."""
        try:
            return self.dry(lambda: self.body(steps.item(0)))[1]
        except PycError as refused:
            _forgiven(refused)
            return False

    def unroll(self, steps: Steps, first: int) -> bool:
        """The iterations from `first` on, in Python; as an op once the stop flag is traced. Whether
        all were in Python."""
        length: int = steps.length
        with _unrolling(length):
            for k in range(first, length):
                stopped = self.stopped()
                if type(stopped) is bool:
                    if stopped:
                        return True
                    self.body(steps.item(k))
                    continue
                if length - k > 1 and self.try_to_roll(steps, k):
                    return False
                self.guarded(lambda k=k: self.body(steps.item(k)))  # type: ignore[misc]
        return True

    def try_to_roll(self, steps: Steps, first: int) -> bool:
        """Whether the iterations from `first` on have become an op."""
        try:
            self.roll(steps, first)
        except Unstable:
            return False
        except _REFUSED as refused:
            _forgiven(refused)
            return False
        return True

    def growing(self, always: bool, run: Callable[[Any], None]) -> Loop:
        """The loop as an op to be traced, its lists that grow taken away."""
        lists = [Grown(v) for v in self.grown if type(v.get()) is list]
        try:
            for g in lists:
                g.hide()
            loop = self.loop(run, always)
            functions, reaches = self.functions, loop.snapshot.reaches
            if not any(reaches(g.items, g.variable.cell, functions) for g in lists):
                loop.grown = lists
                return loop
        finally:
            for g in lists:
                g.show()
        return self.loop(run, always)

    def roll(self, steps: Steps, first: int) -> None:
        """The iterations from `first` on, as an op."""
        length = steps.length
        known = type(length) is int
        always = known and self.stopped() is False
        run: Callable[[Any], None] = lambda k: self.body(steps.item(_plus(k, first)))  # noqa: E731
        stacks = known and self.stop is None
        loop = self.growing(always, run) if stacks else self.loop(run, always)
        try:
            graph, captured = loop.body()
        finally:
            for g in loop.grown:
                g.show()
        initials = loop.initials()
        if stacks:
            values = bind(
                "scan",
                *(*captured, *initials),
                body=graph,
                length=length - first,
                captures=len(captured),
                carries=len(initials),
                reverse=False,
            )
        else:
            rest = _plus(length, -first)

            def test(k: Any) -> Any:
                more = k < rest
                return more if self.stop is None else more & negation(self.stopped())

            values = _while_of(loop.condition(test), (graph, captured), initials)
        self.finish(loop, values[: len(initials)])
        if stacks:
            loop.extend(values[len(initials) :], length - first)
        if stacks and self.counter is not None:
            last = steps.item(length - 1)
            if type(last) is int and self.counter.get() is not UNBOUND:
                self.counter.set(last)


def _plus(k: Any, more: int) -> Any:
    return k + more if more else k


class _While(_Statement):
    def __init__(
        self,
        test: FunctionType,
        body: FunctionType,
        variables: Variables,
        stop: str | None,
    ) -> None:
        super().__init__((test, body), variables, stop)
        self.test = test
        self.body = body
        self.by_value = False
        """Whether the program may be for the values of integers that are at hand."""

    def decided(self, truth: Any) -> bool | None:
        """A truth where Python runs the loop; None if it is traced."""
        if type(truth) is not bool and self.by_value and truth.is_at_hand:
            return bool(truth)
        return truth if type(truth) is bool else None

    def run_in_python(self, limit: int | None) -> bool:
        """Iterations as Python runs them, at most `limit`; whether the loop has ended."""
        done = 0
        while limit is None or done < limit:
            stopped = self.decided(self.stopped())
            if stopped is None:
                return False
            if stopped:
                return True
            truth = self.decided(truth_of(self.test()))
            if truth is None:
                return False
            if not truth:
                return True
            self.body()
            done += 1
        return False

    def run(self) -> None:
        """In Python if it is short and its end is known, else as an op."""
        error: PycError | None = None
        try:
            ended, plain, cost = self.dry(lambda: self.run_in_python(SHORT))
        except PycError as refused:
            ended, plain, cost, error = False, False, 0, _forgiven(refused)
        if ended and cost > STRAIGHT_COST and self.try_to_roll():
            record(Reason.LOOP_ROLLED_FOR_SIZE, **_where(), cost=cost)
            return
        if ended or (plain and self.ends_in_python()):
            self.run_in_python(None)
            if not plain:
                record(Reason.LOOP_SHORT, **_where())
            return
        try:
            self.roll()
        except Unstable as unstable:
            error = unstable.error()
        except _REFUSED as refused:
            error = _forgiven(refused)
        else:
            return
        if not self.ends_in_python():
            self.by_value = True
            if not self.ends_in_python():
                raise error
        record(Reason.LOOP_UNROLLED, **_where(), detail=error.message)
        self.run_in_python(None)

    def try_to_roll(self) -> bool:
        """Whether it has become an op."""
        try:
            self.roll()
        except Unstable:
            return False
        except _REFUSED as refused:
            _forgiven(refused)
            return False
        return True

    def ends_in_python(self) -> bool:
        """Whether the loop ends within `LONGEST` iterations whose tests are known."""
        try:
            return bool(self.dry(lambda: self.run_in_python(LONGEST))[0])
        except PycError as refused:
            _forgiven(refused)
            return False

    def roll(self) -> None:
        """The loop as an op. Its condition is the test, if that changes nothing, and cannot fail
        where the loop has been stopped; else whether to go on is carried, and the test is done
        before the loop and at the end of each iteration that has not stopped it."""
        try:
            loop = self.loop(lambda _: self.body(), always=False)
            body = loop.body()
            condition, used = loop.condition(self.go_on)
            again = self.stop is not None and any(_may_fail(e) for e in condition.eqns)
        except ImpureError:
            again = True
        if again:
            go = Result("the condition")
            go.set(truth_of(self.test()))
            loop = self.loop(lambda _: self.step(go), always=False)
            loop.add(go)
            body = loop.body()
            condition, used = loop.condition(lambda _: go.get())
        self.finish(loop, _while_of((condition, used), body, loop.initials()))

    def go_on(self, _: Any) -> Any:
        """Whether there is one more iteration."""
        more = truth_of(self.test())
        return more if self.stop is None else pnp.logical_and(more, negation(self.stopped()))

    def step(self, go: Result) -> None:
        """An iteration, and the test of the next one."""
        self.body()
        stopped = self.stopped()
        if type(stopped) is bool:
            go.set(False if stopped else truth_of(self.test()))
            return

        def again() -> None:
            go.set(truth_of(self.test()))

        places = [*self.variables.live, go]
        known = {*self.variables.known, go.key}
        merge(stopped, (again, lambda: go.set(False)), places, known, self.functions)


def _cost(eqn: Eqn) -> int:
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


def _while_of(
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


def _may_fail(eqn: Eqn) -> bool:
    return eqn.op.effect or eqn.op.fails is not None or eqn.op.kind is Kind.CONTROL


def _forgiven(error: PycError) -> PycError:
    """An error of the body, which may run otherwise."""
    trace = current()
    return trace.forgive(error) if isinstance(trace, Trace) else error


def _where() -> dict[str, Any]:
    """The place of a loop, as the details of an event."""
    place = location.here()
    return {"line": 0} if place is None else {"line": place.line, "file": place.file}


def _recorded() -> int:
    """How many equations the trace has so far."""
    return len(current().builder.eqns)  # type: ignore[attr-defined]


@contextmanager
def _unrolling(iterations: int) -> Iterator[None]:
    token = _unrolled.set(_unrolled.get() * max(iterations, 1))
    try:
        yield
    finally:
        _unrolled.reset(token)


__all__ = ["LONGEST", "SHORT", "all_of", "all_true", "any_of", "any_true", "branch", "choice"]
__all__ += [
    "AssertionError",
    "comparison",
    "contained",
    "each",
    "kept",
    "member",
    "negation",
    "passing",
]
__all__ += ["percent", "raising", "repeat", "sequence"]
