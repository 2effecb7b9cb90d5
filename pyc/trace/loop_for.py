"""`for` loops of rewritten functions: straight code, or one op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FunctionType
from typing import Any

from pyc.errors import PycError
from pyc.interpreter import bind, current
from pyc.reasons import Reason, record
from pyc.trace import filtered
from pyc.trace.carried import Unstable
from pyc.trace.carry import Loop
from pyc.trace.decisions import Variables, branch_on, negation
from pyc.trace.grown import Grown
from pyc.trace.loop_statements import (
    LONGEST,
    LONGEST_PLAIN,
    REFUSED,
    SHORT,
    SHORT_IN_ALL,
    STRAIGHT_COST,
    Statement,
    cost_of,
    forgiven,
    recorded,
    unrolled,
    unrolling,
    where,
    while_of,
)
from pyc.trace.ranges import range_of
from pyc.trace.sequences import Rows, Steps, Zipped
from pyc.trace.state import UNBOUND, Variable


class For(Statement):
    """A `for`. functions: those of the user's in it; counter: the variable that holds the item, if
    the body does not assign it; grown: those that it appends to; longest: the most iterations that
    run in Python because they cannot be an op."""

    longest: float = LONGEST

    def __init__(
        self,
        body: Callable[[Any], Any],
        functions: tuple[FunctionType, ...],
        variables: Variables,
        stop: str | None,
        counter: str | None,
        grown: Mapping[Variable, int],
    ) -> None:
        super().__init__(functions, variables, stop)
        self.body = body
        self.counter = variables.named(counter)
        self.grown = grown

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

        self.body = guarded
        self.counter, self.grown = None, {}
        self.run(Zipped([Rows(part) for part in items.flat_parts()]))

    def run(self, steps: Steps) -> None:
        """Over a sequence that may be traced."""
        length = steps.length
        if type(length) is not int:
            self.run_to_traced_end(steps)
            return
        if length <= SHORT and length * unrolled.get() <= SHORT_IN_ALL:
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
        before = recorded()
        if left < 2:
            straight = self.unroll(steps, 0)
        else:
            with unrolling(length):
                self.body(steps.item(0))
            stopped = self.stopped()
            if stopped is True:
                return
            eqns = current().builder.eqns  # type: ignore[attr-defined]
            cost = left * sum(map(cost_of, eqns[before:])) if stopped is False else 0
            if cost > STRAIGHT_COST and self.try_to_roll(steps, 1):
                record(Reason.LOOP_ROLLED_FOR_SIZE, **where(), iterations=left, cost=cost)
                return
            straight = self.unroll(steps, 1)
        if straight and recorded() > before:
            record(Reason.LOOP_SHORT, **where(), iterations=length)

    def run_to_traced_end(self, steps: Steps) -> None:
        """A loop whose length is traced: an op; if it cannot be one, and its bounds are at hand,
        the program is for these, as Python runs the loop."""
        try:
            self.roll(steps, 0)
            return
        except Unstable as unstable:
            error: PycError = unstable.error()
        except REFUSED as refused:
            error = forgiven(refused)
        fixed = steps.fixed()
        if fixed is None:
            raise error
        self.run(fixed)

    def run_long(self, steps: Steps, first: int = 0) -> None:
        """The iterations from `first` on, which are to be an op."""
        length: int = steps.length
        for k in range(first, steps.lead):
            self.body(steps.item(k))
            if self.stopped() is True:
                return
        first = begin = max(first, steps.lead)
        error: PycError
        while True:
            try:
                self.roll(steps, first)
                return
            except Unstable as unstable:
                if first - begin < min(unstable.again, SHORT) and first < length:
                    self.body(steps.item(first))
                    if self.stopped() is True:
                        return
                    first += 1
                    continue
                error = unstable.error()
            except REFUSED as refused:
                error = forgiven(refused)
            break
        if (length - first) * unrolled.get() > self.longest:
            raise error
        record(
            Reason.LOOP_UNROLLED,
            **where(),
            iterations=length - first,
            detail=error.message,
        )
        self.unroll(steps, first)

    def trial(self, item: Any) -> Any:
        """What is done with the first item to see whether anything there is traced."""
        return self.body(item)

    def is_plain(self, steps: Steps) -> bool:
        """Whether the first iteration does nothing with traced values."""
        try:
            return self.dry(lambda: self.trial(steps.item(0)))[1]
        except PycError as refused:
            forgiven(refused)
            return False

    def unroll(self, steps: Steps, first: int) -> bool:
        """The iterations from `first` on, in Python; as an op once the stop flag is traced. Whether
        all were in Python."""
        length: int = steps.length
        with unrolling(length):
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
        return self.rolls(partial(self.roll, steps, first))

    def growing(self, always: bool, run: Callable[[Any], None]) -> Loop:
        """The loop as an op to be traced, its lists that grow taken away."""
        lists = [Grown(v, n) for v, n in self.grown.items() if type(v.get()) is list]
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
        for g in loop.grown:
            g.length = length - first
        loop.last = max(range_of(length).high - first - 1, 0)
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

            values = while_of(loop.condition(test), (graph, captured), initials)
        self.finish(loop, values[: len(initials)])
        if stacks:
            loop.extend(values[len(initials) :], length - first)
        if stacks and self.counter is not None:
            last = steps.item(length - 1)
            if type(last) is int and self.counter.get() is not UNBOUND:
                self.counter.set(last)


def _plus(k: Any, more: int) -> Any:
    return k + more if more else k


__all__ = ["For"]
