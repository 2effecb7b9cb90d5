"""Calls: which definitions a kernel calls, and which it has in place.

Takes a kernel with calls (`ir/defined.py`) and returns it with those that are worth one: where the
instructions of a definition would be there several times, they are a function of the module, and
LLVM and the passes see them once. One that is called seldom, or is short, would only take longer.
"""

from __future__ import annotations

from collections import Counter

from pyc.frozen import replace
from pyc.ir.defined import CALLED, Called, inlined
from pyc.ir.expr import Apply, Expr, postorder
from pyc.ir.loops import Kernel, expressions, walk
from pyc.ir.visit import Rewriter

LEAST_SAVED = 250
"""Instructions that calls of a definition spare a kernel, at least: 10 ms of its compilation."""
LEAST_CALLED = 200
"""Instructions of a definition that is called then: such ones are as fast as in place, or faster,
for they leave the rest its registers."""
MANY_SAVED, FEWER_CALLED = 2000, 100
"""The same of a shorter one. It may take 6 % longer, and more where calls have something in common
(the logarithm of x in x**a + x**b)."""
ALWAYS_CALLED = 500
"""The same of one that is called in any case: another kernel of the module may need it too."""


def with_calls(kernel: Kernel) -> Kernel:
    """The kernel with the calls that are worth it."""
    roots = [e for s in walk(kernel.body) for e in expressions(s)]
    found = [e.name for e in postorder(roots) if type(e) is Apply and e.name in CALLED]
    if not found:
        return kernel
    called = worthwhile(Counter(found))

    def rule(e: Expr) -> Expr:
        if type(e) is Apply and e.name in CALLED and e.name not in called:
            return inlined(e, called.__contains__)
        return e

    return replace(kernel, body=Rewriter(expr=rule).body(kernel.body))


def worthwhile(counts: Counter[str]) -> set[str]:
    """The definitions to call. counts: how often a kernel has which."""
    called = set()
    counts = counts.copy()
    pending = set(counts)
    while pending:
        # One that has another within it is longer.
        name = max(sorted(pending), key=lambda n: CALLED[n].size)
        pending.discard(name)
        definition, count = CALLED[name], counts[name]
        saved = (count - 1) * definition.size
        if is_worthwhile(definition, saved):
            called.add(name)
            count = 1
        for inner, times in definition.inner.items():
            counts[inner] += count * times
            pending.add(inner)
    return called


def is_worthwhile(definition: Called, saved: int) -> bool:
    """Whether a definition is called, which spares the kernel so many instructions."""
    if definition.usual >= ALWAYS_CALLED:
        return True
    few = saved >= LEAST_SAVED and definition.usual >= LEAST_CALLED
    return few or (saved >= MANY_SAVED and definition.usual >= FEWER_CALLED)
