"""`while` loops of rewritten functions: straight code, or one op."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import pyc.numpy as pnp
from pyc.errors import PycError
from pyc.ir.graph import Eqn
from pyc.ir.op import Kind
from pyc.reasons import Reason, record
from pyc.trace.carried import Unstable
from pyc.trace.carry import ImpureError, unseen
from pyc.trace.decisions import Variables, negation, truth_of
from pyc.trace.loop_statements import (
    LONGEST,
    REFUSED,
    SHORT,
    STRAIGHT_COST,
    Statement,
    forgiven,
    recorded,
    where,
    while_of,
)
from pyc.trace.merge import merge
from pyc.trace.state import Result, Snapshot


class While(Statement):
    """A `while`."""

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
        what = Snapshot(self.functions).unknown
        if what:
            self.run_once(unseen(what))
            return
        error: PycError | None = None
        try:
            ended, plain, cost = self.dry(lambda: self.run_in_python(SHORT))
        except PycError as refused:
            ended, plain, cost, error = False, False, 0, forgiven(refused)
        if ended and cost > STRAIGHT_COST and self.rolls(self.roll):
            record(Reason.LOOP_ROLLED_FOR_SIZE, **where(), cost=cost)
            return
        if ended or (plain and self.ends_in_python()):
            self.run_in_python(None)
            if not plain:
                record(Reason.LOOP_SHORT, **where())
            return
        try:
            self.roll()
        except Unstable as unstable:
            error = unstable.error()
        except REFUSED as refused:
            error = forgiven(refused)
        else:
            return
        if not self.ends_in_python():
            self.by_value = True
            if not self.ends_in_python():
                raise error
        record(Reason.LOOP_UNROLLED, **where(), detail=error.message)
        self.run_in_python(None)

    def run_once(self, why: Unstable) -> None:
        """In Python, where an iteration cannot be undone; the error of `why` if it does not end
        there."""
        before = recorded()
        if not self.run_in_python(LONGEST):
            raise why.error()
        if recorded() > before:
            record(Reason.LOOP_UNROLLED, **where(), detail=why.message)

    def ends_in_python(self) -> bool:
        """Whether the loop ends within `LONGEST` iterations whose tests are known."""
        try:
            return bool(self.dry(lambda: self.run_in_python(LONGEST))[0])
        except PycError as refused:
            forgiven(refused)
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
        self.finish(loop, while_of((condition, used), body, loop.initials()))

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


def _may_fail(eqn: Eqn) -> bool:
    return eqn.op.effect or eqn.op.fails is not None or eqn.op.kind is Kind.CONTROL


__all__ = ["While"]
