"""Functions under the names of `jax.lax`.

Control flow; see `pyc/trace/control.py`:

cond(pred, true_fun, false_fun, *operands)     switch(index, branches, *operands)
while_loop(cond_fun, body_fun, init_val)       fori_loop(lower, upper, body_fun, init_val, unroll)
scan(f, init, xs, length, reverse, unroll)     map(f, xs, batch_size)

Slices of a fixed size at computed places; see `pyc/numpy/indexing.py`:

dynamic_slice(operand, start_indices, slice_sizes)
dynamic_update_slice(operand, update, start_indices)

Choosing and sorting; see `pyc/numpy/lax_names.py`:

select(pred, on_true, on_false)                select_n(which, *cases)
sort(operand, dimension, is_stable)            top_k(operand, k, axis=-1)

Running combinations; see `pyc/numpy/lax_scans.py`:

cumsum cumprod cummax cummin cumlogsumexp(operand, axis=0, reverse=False)
associative_scan(fn, elems, reverse=False, axis=0)
"""

from __future__ import annotations

from pyc.numpy.indexing import dynamic_slice, dynamic_update_slice
from pyc.numpy.lax_names import select, select_n, sort, top_k
from pyc.numpy.lax_scans import (
    associative_scan,
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
)
from pyc.trace.branches import cond, switch
from pyc.trace.control import fori_loop, map, scan, while_loop

__all__ = [
    "associative_scan",
    "cond",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "dynamic_slice",
    "dynamic_update_slice",
    "fori_loop",
    "map",
    "scan",
    "select",
    "select_n",
    "sort",
    "switch",
    "top_k",
    "while_loop",
]
