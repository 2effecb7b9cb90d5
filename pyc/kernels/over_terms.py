"""Loops over the terms of a product, some at once: the same sums in the same order, less counting.

    for each run of terms: what is done once for it, such as asking for lines to come
      for each `at_once` of them: their products, one term behind the other, without a loop
    for each term that is left: the same

A product's loop has few instructions beside its fma: those that count and ask for lines were a
quarter. A core that runs two threads takes up instructions of each in turn, and then they matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Union

from pyc.ir.expr import Expr, Var, const
from pyc.ir.loops import Body, Carry, For, Kind

Sums = list[Expr]
Step = Callable[[Expr, Sums], tuple[Body, Sums]]
"""What is done at a number of a loop, and the sums then, given those so far."""
Term = Callable[[Union[Expr, None], Expr, Sums], tuple[Body, Sums]]
"""The same at a term: where its run begins, if not at the first, and how many terms behind."""


def over_terms(
    count: int,
    length: int,
    at_once: int,
    before: Callable[[Expr, int], Body],
    term: Term,
    sums: Sequence[Expr],
) -> tuple[Body, Sums]:
    """The loops over `count` terms, and the sums behind them. length: terms of a run, a multiple of
    at_once; before: what is done once for so many terms from one on; term: for each; sums: those
    that there are."""
    runs = count // length if length > 1 else 0
    body: Body = ()
    after = list(sums)
    if runs:

        def run(number: Expr, sums: Sums) -> tuple[Body, Sums]:
            first = number * length

            def some(start: Expr | None, sums: Sums) -> tuple[Body, Sums]:
                def one(k: Expr, sums: Sums) -> tuple[Body, Sums]:
                    return term(first, k if start is None else start + k, sums)

                return _loop("term", at_once, Kind.UNROLL, one, sums)

            if length == at_once:
                terms, after = some(None, sums)
            else:
                steps = length // at_once
                terms, after = _loop(
                    "step", steps, Kind.SERIAL, lambda k, s: some(k * at_once, s), sums
                )
            return (*before(first, length), *terms), after

        body, after = _loop("run", runs, Kind.SERIAL, run, after)
    done = runs * length
    if done < count:

        def one(k: Expr, sums: Sums) -> tuple[Body, Sums]:
            here = k + done if done else k
            products, after = term(const(done) if done else None, k, sums)
            return (*before(here, 1), *products), after

        behind, after = _loop("k", count - done, Kind.SERIAL, one, after)
        body = (*body, *behind)
    return body, after


def _loop(
    name: str, extent: int, kind: Kind, step: Step, sums: Sequence[Expr]
) -> tuple[Body, Sums]:
    """A loop that carries sums, and what they are behind it."""
    var = Var(name)
    within = [Var(f"s{r}", e.dtype) for r, e in enumerate(sums)]
    results = [Var(f"e{r}", e.dtype) for r, e in enumerate(sums)]
    body, after = step(var, list(within))
    carried = zip(within, sums, after, results, strict=True)
    return (For(var, extent, kind, body, tuple(Carry(*c) for c in carried)),), list(results)
