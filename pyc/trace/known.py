"""Values that are known while tracing: those that depend on no traced input.

A size, an index table, a bound such as `np.prod(x.shape)` is an equation like any other; nothing is
computed while it is recorded. When Python asks for its value (a shape, a branch, `int(...)`, a list
index) the equations under it are evaluated with the Graph interpreter, whose bits are those of the
compiled program, if no parameter is among them. What is known of a value is remembered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.ir.evaluate import evaluate_eqn
from pyc.ir.graph import Builder, Eqn, Value
from pyc.ir.op import Kind

Array = np.ndarray[Any, Any]

ELEMENTS = 1 << 20
"""The most elements that are computed for one value; more is work for the compiled program."""


class KnownValues:
    """What is known of the values of one trace. outer: the value of a capture in the surrounding
    trace, None where it is not known there; KeyError for what is not a capture."""

    def __init__(self, builder: Builder, outer: Callable[[Value], Array | None]) -> None:
        self._builder = builder
        self._outer = outer
        self._seen = 0
        self._makers: dict[Value, tuple[int, Eqn]] = {}
        self._possible: dict[Value, bool] = {}
        self._values: dict[Value, Array] = {}

    def value(self, value: Value) -> Array | None:
        """The elements of `value`, read-only; None: it depends on an input, or is too much work."""
        eqns = self._builder.eqns
        for k in range(self._seen, len(eqns)):
            self._makers.update((out, (k, eqns[k])) for out in eqns[k].outs)
        self._seen = len(eqns)
        if not self._is_possible(value) or not self._compute(value):
            return None
        return self._values[value]

    def inputs_of(self, root: Value) -> list[Value]:
        """The inputs and captures that `root`, whose value is known, is made of."""
        found: dict[Value, None] = {}
        seen: set[Value] = set()
        stack = [root]
        while stack:
            value = stack.pop()
            if value in seen:
                continue
            seen.add(value)
            if value in self._makers:
                stack += self._makers[value][1].args
            else:
                found[value] = None
        return list(found)

    def _is_possible(self, root: Value) -> bool:
        """Whether no input is under `root`."""
        known = self._possible
        stack = [root]
        while stack:
            value = stack[-1]
            if value in known:
                stack.pop()
                continue
            if value not in self._makers:
                known[value] = self._take(value)
                continue
            _, eqn = self._makers[value]
            if eqn.op.effect or eqn.op.kind is Kind.CONTROL:
                known[value] = False
                continue
            missing = [a for a in eqn.args if a not in known]
            stack += missing
            if not missing:
                known[value] = all(known[a] for a in eqn.args)
        return known[root]

    def _take(self, value: Value) -> bool:
        """Whether a parameter is a capture whose value is known outside."""
        outer = self._outer(value)
        if outer is not None:
            self._values[value] = outer
        return outer is not None

    def _compute(self, root: Value) -> bool:
        """Computes `root` and what it needs; False if that is too much."""
        needed: dict[int, Eqn] = {}
        stack = [root]
        while stack:
            value = stack.pop()
            if value not in self._values:
                place, eqn = self._makers[value]
                if place not in needed:
                    needed[place] = eqn
                    stack += eqn.args
        if sum(map(_work, needed.values())) > ELEMENTS:
            return False
        for _, eqn in sorted(needed.items()):
            outs = evaluate_eqn(eqn, [self._values[a] for a in eqn.args])
            for value, out in zip(eqn.outs, outs, strict=True):
                array = np.asarray(out)
                array.flags.writeable = False
                self._values[value] = array
        return True


def _work(eqn: Eqn) -> int:
    """How many elements the Graph interpreter computes for an equation, at most."""
    if eqn.op.kind is Kind.CONTRACT:
        return math.prod(a.type.size for a in eqn.args)
    return sum(v.type.size for v in eqn.outs)
