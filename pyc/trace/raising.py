"""`raise` under a decision on traced values: a check of the program.

What a branch raises is evaluated while it is traced; the program raises the like of it when the
check fails (`ir.graph.Raise`). Its texts may tell one number that only the program knows.
"""

from __future__ import annotations

import dis
import struct
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any

import numpy as np

from pyc import tree
from pyc.errors import PycError, TraceError, place_lines
from pyc.frozen import frozen, replace
from pyc.interpreter import bind1, current, is_tracing
from pyc.ir import dtype as dt
from pyc.ir.graph import Location, Raise
from pyc.ir.ops.elementwise import unbound_variable
from pyc.ir.types import ArrayType
from pyc.trace import location
from pyc.trace.handlers import is_caught
from pyc.trace.operand_trees import lifted
from pyc.trace.telling import Told, telling
from pyc.trace.trace import Trace
from pyc.trace.tracer import Tracer

_CHECK = "Check before the call, on the arguments; or return a flag and raise outside."
_TRACED = "<traced "
"""How the text of a traced value begins."""


def raising(make: Callable[[], Any]) -> Any:
    """What `raise make()` raises."""
    trace = current()
    if not isinstance(trace, Trace):
        return make()
    told: list[Told] = []
    with telling(told):
        error = make()
        error = error() if isinstance(error, type) else error
    if trace.parent is None and isinstance(error, Exception):
        _raise_now(error, told)
    else:
        trace.told += told
    return error


def _raise_now(error: Exception, told: list[Told]) -> None:
    """Puts numbers that are at hand into an exception that is raised whatever the data are.

    raises TraceError: it holds a traced value that is not
    """
    shown = [t for t in told if t.number.is_at_hand]

    def settled(x: Any) -> Any:
        if isinstance(x, Tracer) and x.is_at_hand:
            return _at_hand(x)
        if type(x) is str:
            for t in shown:
                x = x.replace(t.text, t.show(_at_hand(t.number)))
        return x

    error.args = tuple(map(settled, error.args))
    for name, value in vars(error).items():
        setattr(error, name, settled(value))
    leaves = tree.leaves([*error.args, *vars(error).values()])
    if any(isinstance(x, Tracer) for x in leaves) and not is_caught(type(error)):
        why = "which is raised whatever the data are, holds a traced value"
        raise TraceError(f"{type(error).__name__}, {why}", fix=_CHECK, place=location.here())


def _at_hand(number: Any) -> Any:
    found = number.needed()
    return found.item() if number.weak is not None or found.ndim else found[()]


def is_raise(error: Exception) -> bool:
    """Whether a `raise` or an `assert` of the user's has raised it."""
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or location.is_own(last.tb_frame.f_code.co_filename):
        return False
    return _opname(last.tb_frame.f_code, last.tb_lasti) == "RAISE_VARARGS"


def _opname(code: CodeType, offset: int) -> str:
    return next((i.opname for i in dis.get_instructions(code) if i.offset == offset), "")


@frozen(eq=False)
class Raised:
    """What a branch raises. number: the traced number that its texts tell, None if there is none;
    shown: how each text that stands for it is to read."""

    error: Exception
    place: Location | None
    number: Tracer | None
    shown: tuple[Told, ...]

    @property
    def text(self) -> str:
        """Its type and message: what tells programs apart."""
        cls = type(self.error)
        return f"{cls.__module__}.{cls.__qualname__}: {self.error.args!r}"

    def bits(self) -> Any:
        """The number as an int64."""
        if self.number is None:
            return current().lift(np.int64(0))
        number = current().lift(self.number)
        if number.type.dtype.is_float:
            return bind1("bitcast", bind1("cast", number, dtype=dt.f64), dtype=dt.i64)
        return bind1("cast", number, dtype=dt.i64)

    def at(self) -> Raise:
        """The place of the check, which knows the exception."""
        place = self.place or Location("", 0)
        number = self.number
        kind = None if number is None else (number.type, number.weak)
        make = _Maker(self.error, place, kind, tuple(replace(t, number=None) for t in self.shown))
        return Raise(
            place.file, place.line, place.function, place.column, place.end_column, make.error
        )


@frozen(eq=False)
class _Maker:
    """Makes an exception anew. kind: type and weak type of the number in its texts."""

    template: Exception
    place: Location
    kind: tuple[ArrayType, type | None] | None
    shown: tuple[Told, ...]

    def error(self, value: int) -> Exception:
        """The exception, given the bits of the number."""
        number = None if self.kind is None else _number(value, *self.kind)
        template = self.template
        cls = type(template)
        args = tuple(self._filled(a, number) for a in template.args)
        made = cls.__new__(cls, *args)
        made.args = args
        for name, attribute in vars(template).items():
            setattr(made, name, self._filled(attribute, number))
        made.__cause__ = template.__cause__
        made.__suppress_context__ = template.__suppress_context__
        if isinstance(made, PycError):
            return made.at(self.place)
        made.add_note("\n".join(place_lines(self.place)))
        return made

    def _filled(self, value: Any, number: Any) -> Any:
        if type(value) is _Number:
            return number
        if type(value) is str:
            for told in self.shown:
                value = value.replace(told.text, told.show(number))
        return value


class _Number:
    """What stands in the arguments of an exception for the number itself."""

    def __repr__(self) -> str:
        return "<traced>"


def _number(value: int, type: ArrayType, weak: type | None) -> Any:
    dtype = type.dtype
    if dtype.is_float:
        (found,) = struct.unpack("d", struct.pack("q", value))
        return weak(found) if weak is not None else dtype.numpy.type(found)
    if weak is not None:
        return weak(value)
    return dtype.numpy.type(value & (1 << 64) - 1 if dtype.kind == "uint" else value)


def can_tell(error: Exception, told: list[Told]) -> bool:
    """Whether a check of the program can raise an exception. told: the traced numbers in its
    texts."""
    return not _why_not(*_parts(error, told))


def _parts(error: Exception, told: list[Told]) -> tuple[list[Any], tuple[Told, ...], list[Any]]:
    """The arguments and attributes of an exception, which texts and which numbers are in them."""
    values = [*error.args, *vars(error).values()]
    texts = [x for x in values if isinstance(x, str)]
    shown = tuple(t for t in told if any(t.text in x for x in texts))
    numbers = [*(t.number for t in shown), *(x for x in values if isinstance(x, Tracer))]
    return values, shown, numbers


def check_not_caught(error: Exception, place: Location | None) -> None:
    """TraceError if the function may catch what the program is to raise."""
    if is_caught(type(error)):
        caught = _refusal(error, place, "and a `try` or `with` around it may catch it")
        trace: Any = current()
        trace.outermost.refusal = caught
        raise caught


def raised(error: Exception, told: list[Told], place: Location | None = None) -> Raised:
    """What a branch raises, as the program will. told: the traced numbers in its texts; place:
    where, the traceback tells it otherwise.

    raises TraceError: it tells more than one number of the program, or something else than numbers;
    it is caught in the function
    """
    place = place or location.of_traceback(error.__traceback__)
    check_not_caught(error, place)
    values, shown, numbers = _parts(error, told)
    if why := _why_not(values, shown, numbers):
        raise _refusal(error, place, why)
    return Raised(_template(error), place, numbers[0] if numbers else None, shown)


def _why_not(values: list[Any], shown: tuple[Told, ...], numbers: list[Any]) -> str:
    """Why a program cannot raise an exception with these arguments and attributes, if it cannot."""
    rest = "".join(x for x in values if isinstance(x, str))
    for told in shown:
        rest = rest.replace(told.text, "")
    if _TRACED in rest:
        return "and its text tells a traced value that is not a number formatted there"
    inside = [x for v in values if not isinstance(v, Tracer) for x in tree.leaves(v)]
    if any(isinstance(x, Tracer) for x in inside) or any(n.ndim for n in numbers):
        return "and it holds traced arrays or containers of traced values"
    if len({(id(n.owner), n.value) for n in numbers}) > 1:
        return "and it tells several traced numbers, where an error can tell one"
    if any(n.type.dtype.is_complex for n in numbers):
        return "and it tells a complex number, which an error cannot"
    return ""


def _template(error: Exception) -> Exception:
    """A copy that holds neither frames nor traced values."""
    stands = _Number()

    def bare(x: Any) -> Any:
        return stands if isinstance(x, Tracer) else x

    cls = type(error)
    args = tuple(map(bare, error.args))
    made = cls.__new__(cls, *args)
    made.args = args
    for name, value in vars(error).items():
        setattr(made, name, bare(value))
    made.__cause__ = error.__cause__
    made.__suppress_context__ = error.__suppress_context__
    return made


def _refusal(error: Exception, place: Location | None, why: str) -> TraceError:
    message = f"whether to raise {type(error).__name__} depends on a traced value, {why}"
    text = str(error)
    return TraceError(f"{message}: {text}" if text else message, fix=_CHECK, place=place)


def bind_check(ok: Any, bits: Any, found: Raised) -> None:
    """Records that the program raises `found` unless `ok`. bits: those of its number."""
    trace: Any = current()
    trace.bind_at(found.at(), "check", (trace.lift(lifted(ok, dt.b1)), bits), {"error": found.text})


def check(ok: Any, error: Exception) -> None:
    """Raises `error` unless the bool `ok` is true: at once where it is known, else when the program
    runs."""
    known = not is_tracing() or (isinstance(ok, Tracer) and ok.is_at_hand)
    if known:
        if not (ok.needed() if isinstance(ok, Tracer) else ok):
            raise error
        return
    found = raised(error, [], location.here())
    bind_check(ok, found.bits(), found)


def check_bound(bound: Any, name: str, place: Location | None) -> None:
    """Records that the program fails unless a variable, which is used at `place`, has a value. It
    does so whatever becomes of the value: Python asks for it where it comes to the name."""
    found = raised(unbound_variable(name), [], place)
    bind_check(bound, found.bits(), found)


def refusal(error: Exception, why: str) -> TraceError:
    """What the user's code raises, where it cannot be a check: that, and why."""
    return _refusal(error, location.of_traceback(error.__traceback__), why)


__all__ = [
    "Raised",
    "bind_check",
    "can_tell",
    "check",
    "check_bound",
    "check_not_caught",
    "is_raise",
    "raised",
    "raising",
    "refusal",
]
