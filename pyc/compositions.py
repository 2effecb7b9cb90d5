"""Functions made of many operations, as those of `pyc.random` and `pyc.scipy`: a call is a program.

Within a trace a function is traced with everything else. Outside, its program is compiled once for
each shape and dtype, and called like a jitted function.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from pyc import wrong_arguments
from pyc.errors import PycError
from pyc.interpreter import current, is_tracing
from pyc.jit import jit
from pyc.trace import location

P = ParamSpec("P")
R = TypeVar("R")

PROGRAMS = 1024
"""Functions with their shapes and dtypes that are kept compiled."""


def run(
    name: str, function: Callable[..., Any], *arrays: Any, fixed: tuple[Hashable, ...] = ()
) -> Any:
    """What a function of arrays (None for one that is not given), followed by what is fixed in its
    program, gives. name: what users call it by, as `random.normal`."""
    if is_tracing():
        # What is known while tracing is a constant of the program too: one arithmetic for all.
        lift = current().lift
        return function(*(None if x is None else lift(x) for x in arrays), *fixed)
    return _program(name, function, fixed)(*arrays)


@lru_cache(maxsize=PROGRAMS)
def _program(
    name: str, function: Callable[..., Any], fixed: tuple[Hashable, ...]
) -> Callable[..., Any]:
    def program(*arrays: Any) -> Any:
        return function(*arrays, *fixed)

    # Pure by construction: looking for effects would trace it twice.
    return jit(program, name=name, purity="off")


def public(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose errors name the user's line outside of a trace too."""

    @wraps(function)
    def door(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except PycError as error:
            if not is_tracing():
                location.trim(error.at(location.here()))
            raise
        except (TypeError, ValueError, MemoryError) as error:
            clearer = wrong_arguments.of_pyc(error, function.__name__, function, args, kwargs)
            if clearer is None:
                raise
            raise clearer.at(location.here()) from error

    return door
