"""Errors of Python and of libraries that met a traced value: the like with a name, a line and a
remedy."""

from __future__ import annotations

from types import TracebackType

from pyc.errors import DTypeError, PycError, UnsupportedOpError
from pyc.trace import location
from pyc.trace.tracer import Tracer

_FIX = (
    "Python's own code and compiled packages are not traced. Write it with functions of `numpy`, "
    "or do this step outside\nthe jitted function; a callback may do it when the program runs: "
    "`pyc.pure_callback`."
)


def stray(error: TypeError | AttributeError) -> PycError | None:
    """What to raise in place of `error`; None if it is not about a traced value, or of one that
    NumPy raises for an array too."""
    text = str(error)
    place = location.of_traceback(error.__traceback__)
    if isinstance(error, AttributeError) and isinstance(error.obj, Tracer):
        if not hasattr(error.obj.__class__, error.name or ""):
            return None
        return UnsupportedOpError(
            f"an attribute of arrays in memory: {text}", fix=_FIX, place=place
        )
    if Tracer.__name__ not in text and not _takes_one(error.__traceback__):
        return None
    kind = DTypeError if isinstance(error, TypeError) else UnsupportedOpError
    text = text.replace(Tracer.__name__, "traced value")
    return kind(f"this does not take traced values: {text}", fix=_FIX, place=place)


def _takes_one(traceback: TracebackType | None) -> bool:
    """Whether the function of the standard library that raised it has a traced argument."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or not location.is_of_python(traceback.tb_frame.f_code.co_filename):
        return False
    return any(type(x) is Tracer for x in traceback.tb_frame.f_locals.values())


__all__ = ["stray"]
