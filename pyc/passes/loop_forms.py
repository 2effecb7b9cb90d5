"""What passes ask of loops: how often one runs, and which kernels run it.

The modules of these kernels are loaded by a program that has loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyc.forks import later
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.graph import Eqn, Value, has_effect

SMALL_STATE = 64
"""Numbers carried by a loop whose body is written out."""
LARGEST = 1 << 62
"""What index arithmetic stays below."""


class NotAKernelError(Exception):
    """Why a loop is not one kernel."""


@frozen()
class Counted:
    """A loop that runs `times` times. counters: carries that start at a known number and go on in
    known steps (`start`, `step`), and do not overflow."""

    times: int
    counters: dict[int, tuple[int, int]]


def counted(eqn: Eqn, known: Mapping[Value, Any]) -> Counted | None:
    """How often a counted while runs: `i < n` with known n and start, and a step of 1; None if it
    is not one. known: the constants of one element of the Graph around it."""
    condition, body = eqn.params["condition"], eqn.params["body"]
    if any(map(has_effect, condition.eqns)):
        return None
    inner = {e.out: e for e in (*condition.eqns, *body.eqns) if len(e.outs) == 1}

    def number(value: Value) -> int | None:
        e = inner.get(value)
        if e is None or e.op.name != "constant" or e.params["value"].size != 1:
            return None
        return int(e.params["value"].reshape(-1)[0])

    def counter(k: int) -> tuple[int, int] | None:
        """Where a carry starts, and its step."""
        start = known.get(eqn.args[k - len(eqn.outs)])
        following, param = inner.get(body.results[k]), body.params[k - len(eqn.outs)]
        if start is None or following is None or following.op.name != "add":
            return None
        if param not in following.args or param.dtype is not dt.i64:
            return None
        step = number(following.args[1 - following.args.index(param)])
        return None if step is None else (int(start), step)

    test = inner.get(condition.results[0])
    carries = condition.params[eqn.params["condition_captures"] :]
    if test is None or test.op.name != "lt" or test.args[0] not in carries:
        return None
    found, limit = counter(carries.index(test.args[0])), number(test.args[1])
    if found is None or limit is None or found[1] != 1:
        return None
    times = max(limit - found[0], 0)
    all_found = {k: c for k in range(len(eqn.outs)) if (c := counter(k)) is not None}
    ends = {k: start + times * step for k, (start, step) in all_found.items()}
    return Counted(times, {k: all_found[k] for k, end in ends.items() if abs(end) < LARGEST})


lower_loop = later("pyc.passes.lower_loops", "lower_loop")
lower_updates = later("pyc.passes.lower_updates", "lower_updates")
