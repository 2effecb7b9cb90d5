"""Loops over the terms of a product, some at once: the same sums in the same order, less counting.

    for each run of terms, such as a line of the caches has:
      what is done once for it, such as asking for lines to come
      for each `at_once` of them: their products, one term behind the other, without a loop; between
        them, where it has parts, a part of what is done for the run
    for each term that is left: the same

A product's loop has few instructions beside its fma: those that count and ask for lines were a
quarter. A core that runs two threads takes up instructions of each in turn, and then they matter;
lines that are asked for one by one hold up loads less than those that are asked for together.
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
Part = Callable[[Expr, Expr, int], Body]
"""What is done for a run: where it begins, the number of a part of it, and of how many."""


def over_terms(
    count: int,
    length: int,
    at_once: int,
    before: Callable[[Expr, int], Body],
    term: Term,
    sums: Sequence[Expr],
    part: Part | None = None,
) -> tuple[Body, Sums]:
    """The loops over `count` terms, and the sums behind them. length: terms of a run, a multiple of
    at_once; before: what is done once for so many terms from one on; term: for each; sums: those
    that there are; part: in place of `before`, what is done among the terms of a run."""
    runs = count // length if length > 1 else 0
    steps = length // at_once
    body: Body = ()
    after = list(sums)

    def some(first: Expr, step: Expr, sums: Sums) -> tuple[Body, Sums]:
        """The products of `at_once` terms of the run that begins at `first`."""
        if part is None:

            def one(k: Expr, sums: Sums) -> tuple[Body, Sums]:
                return term(first, k if steps == 1 else step * at_once + k, sums)

            return _loop("term", at_once, Kind.UNROLL, one, sums)
        asked = part(first, step, steps)
        body: Body = ()
        for k in range(at_once):
            here = const(k) if steps == 1 else step * at_once + k

            def alone(_: Expr, sums: Sums, here: Expr = here) -> tuple[Body, Sums]:
                return term(first, here, sums)

            products, sums = _loop("term", 1, Kind.UNROLL, alone, sums)
            mine = asked[k * len(asked) // at_once : (k + 1) * len(asked) // at_once]
            body = (*body, *mine, *products)
        return body, sums

    def run(number: Expr, sums: Sums) -> tuple[Body, Sums]:
        first = number * length
        asked = before(first, length) if part is None else ()
        if steps == 1:
            terms, after = some(first, const(0), sums)
        else:
            terms, after = _loop(
                "step", steps, Kind.SERIAL, lambda k, sums: some(first, k, sums), sums
            )
        return (*asked, *terms), after

    if runs:
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
