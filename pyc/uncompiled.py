"""Functions without compiled code: as a Graph, as shapes of results, run by the interpreter.

Each takes a function, jitted or not, and traces it for the signature of the arguments that are
given, as a call of it would.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pyc.backends import interpreters
from pyc.eager import dense, finish
from pyc.interpreter import is_tracing
from pyc.ir.graph import Graph
from pyc.jit import Jitted, jit, programs_of
from pyc.trace import location
from pyc.trace.abstract import ShapeDtype
from pyc.trace.bound import Bound


def make_graph(fun: Callable[..., Any]) -> Callable[..., Graph]:
    """A function that gives the Graph of `fun`, as written, for the arguments it is called with:
    arrays, numbers, or `ShapeDtype`s. `print` shows it, `pyc.ir.parse` reads it.

    fun: as of `jit`

    raises TypeError: `fun` is not callable

    JAX: `jax.make_jaxpr`.

    >>> str(pyc.make_graph(np.negative)(np.ones(3))).splitlines()[0]
    'graph(%0: f64[3]) {'
    """
    jitted = _jitted(fun)

    @location.trimmed
    def graph(*args: Any, **kwargs: Any) -> Graph:
        found: Graph = jitted.trace(*args, **kwargs).graph
        return found

    return functools.update_wrapper(graph, fun)


@location.trimmed
def eval_shape(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The result of `fun` for these arguments with a `ShapeDtype` for each array and number of it.
    Nothing is computed or compiled.

    args, kwargs: of `fun`: trees of arrays, numbers and `ShapeDtype`s, of which only shapes and
    dtypes count

    raises TypeError: `fun` is not callable; DTypeError: an argument that is none of these; what
    tracing `fun` raises

    JAX: `jax.eval_shape`.

    >>> pyc.eval_shape(np.sum, np.ones((2, 3)))
    ShapeDtype((), 'float64')
    """
    traced = _jitted(fun).trace(*args, **kwargs)
    results = (ShapeDtype(v.shape, v.dtype.numpy) for v in traced.graph.results)
    return traced.out_tree.unflatten(results)


def interpret(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun`, run op by op by the interpreter of Graphs, which is what compiled programs are
    measured by: pointwise work and reductions have the very bits of `pyc.jit(fun)`, contractions
    are rounded once. It is slow, traces at each call, and needs no compiler.

    fun: as of `jit`; arguments and results are as of the jitted function

    raises TypeError: `fun` is not callable

    JAX: `jax.disable_jit` is the nearest.

    >>> pyc.interpret(np.sum)(np.ones(3))
    np.float64(3.0)
    """
    function = _jitted(fun)
    bound = (function.__self__,) if isinstance(function, Bound) else ()
    jitted: Jitted = function.__func__ if isinstance(function, Bound) else function
    programs = programs_of(jitted)

    @location.trimmed
    def interpreted(*args: Any, **kwargs: Any) -> Any:
        args = (*bound, *args)
        if is_tracing():
            return jitted(*args, **kwargs)
        call = programs.signature.call(args, kwargs)
        traced = programs.traced(call)
        given = [(call.leaves[k], x.name) for k, x in zip(traced.places, traced.inputs)]
        given += [(r.value, name) for r, name in zip(traced.guards.hidden, traced.captures)]
        results = interpreters().evaluate(traced.graph, [dense(x, name) for x, name in given])
        return traced.out_tree.unflatten([finish(r) for r in results])

    return functools.update_wrapper(interpreted, fun)


def _jitted(fun: Callable[..., Any]) -> Any:
    return fun if isinstance(fun, (Jitted, Bound)) else jit(fun)
