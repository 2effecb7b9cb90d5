"""Control flow under the names of `jax.lax`; see `pyc/trace/control.py`.

cond(pred, true_fun, false_fun, *operands)     switch(index, branches, *operands)
while_loop(cond_fun, body_fun, init_val)       fori_loop(lower, upper, body_fun, init_val)
scan(f, init, xs, length, reverse, unroll)     map(f, xs)
"""

from __future__ import annotations

from pyc.trace.control import cond, fori_loop, map, scan, switch, while_loop

__all__ = ["cond", "fori_loop", "map", "scan", "switch", "while_loop"]
