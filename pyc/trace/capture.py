"""The Graph of a Python function: the function runs under a `Trace`, errors get the user's line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyc.errors import DTypeError, IndexOutOfRangeError, PycError, ShapeError, TraceError
from pyc.frozen import frozen
from pyc.interpreter import current, using
from pyc.ir.graph import Graph
from pyc.trace import location, strays
from pyc.trace.operands import operands
from pyc.trace.paths import Path
from pyc.trace.reads import Read
from pyc.trace.trace import Input, Trace
from pyc.trace.tracer import Tracer

OF_OPERANDS = (ShapeError, DTypeError, IndexOutOfRangeError)
"""Errors about what an operation was given: their texts say where that came from."""


@contextmanager
def tracing(trace: Trace) -> Iterator[None]:
    """Makes `trace` current within the block and closes it; errors get the user's line."""
    try:
        with using(trace):
            yield
    except PycError as error:
        if not error.origin and isinstance(error, OF_OPERANDS):
            error.origin = operands(error.__traceback__)
        raise error.at(location.of_traceback(error.__traceback__)) from error.__cause__
    except NameError as error:
        trace.explain(error)
        raise
    except RecursionError as error:
        place = location.of_recursion(error.__traceback__) if trace.parent is None else None
        if place is None:
            raise
        raise TraceError(
            f"`{place.function}` calls itself in a branch on a traced value: both branches are "
            "traced, without end",
            fix="Write a loop; or end the recursion by a number that is known, such as the depth.",
            place=place,
        ) from None
    except (TypeError, ValueError, AttributeError) as error:
        # NumPy wraps what a conversion raises, as in `array[0] = traced`.
        cause = error.__cause__
        if not isinstance(cause, PycError):
            named = (
                trace.parent is None and not isinstance(error, ValueError) and strays().stray(error)
            )
            if not named:
                raise
            raise named from None
        cause.fix = (
            "If this writes into a NumPy array: make it with `pyc.numpy`, such as "
            "`a = pyc.numpy.zeros(n)`,\nand write `a = a.at[index].set(x)`."
        )
        raise cause.at(location.of_traceback(error.__traceback__)) from None
    finally:
        trace.close()


def current_namespace() -> Any:
    """The translations of the function that is being traced."""
    trace = current()
    assert isinstance(trace, Trace)
    return trace.namespace


@frozen()
class Captured:
    """A traced function. graph: (inputs, hidden arguments) -> results; results: their tracers (for
    their weakness); hidden: what the hidden arguments are; reads: what else the function has read
    from outside; kept: for each input the value that the program is for, None for any; torn: a path
    that has led to two things meanwhile."""

    graph: Graph
    results: list[Tracer]
    hidden: tuple[Read, ...]
    reads: tuple[Read, ...]
    kept: tuple[Any, ...]
    torn: Path | None


def capture(
    function: Callable[..., Sequence[Any]],
    inputs: Sequence[Input],
    changing: frozenset[Any] = frozenset(),
) -> Captured:
    """The Graph of `function`, and what it has read.

    function: takes one tracer per input, returns arrays, tracers and numbers.
    changing: numbers that are hidden arguments, see `Reads`
    raises PycError: with the user's line; whatever else `function` raises
    """
    trace = Trace(changing=changing)
    with tracing(trace):
        results = trace.results(function(*trace.add_inputs(inputs)))
        if trace.refusal is not None:
            raise trace.refusal
        graph = trace.build(results)
    hidden, reads = tuple(trace.hidden), tuple(trace.reads.found)
    return Captured(graph, results, hidden, reads, trace.kept(), trace.reads.torn)
