"""Exception classes of pyc, and the one formatter of their text.

An error says what was asked, what was found, where in the user's file, and what to do:

    ShapeError: matmul: inner dimensions differ: a is float32[64,33], b is float32[32,8]
      at model.py:41 in `layer`:  h = x @ w
                                      ^^^^^
      33 must equal 32. If `w` is stored transposed, write `x @ w.T`.
      more: python -m pyc explain PYC1300

The text is made when it is shown, never when the error is raised: `message` and `fix` may be
functions without arguments. The place is attached later, by whoever knows it (`error.at(place)`).
Each class has a stable code; `page(code)` is what `python -m pyc explain` prints.

Imports nothing of pyc.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable
from types import CodeType
from typing import Any, ClassVar, Protocol, Self, TypeVar

from numpy.linalg import LinAlgError

Text = str | Callable[[], str]
"""A text, or a function that makes it when it is needed."""


class Place(Protocol):
    """Where something is in the user's code: `pyc.ir.graph.Location` is one. Columns are 1-based,
    the end is exclusive; 0 and the empty string mean unknown."""

    @property
    def file(self) -> str:
        """Path of the source file."""

    @property
    def line(self) -> int:
        """Its line, 1-based."""

    @property
    def function(self) -> str:
        """Name of the function, or empty."""

    @property
    def column(self) -> int:
        """First column, 1-based, or 0."""

    @property
    def end_column(self) -> int:
        """One past the last column, or 0."""


class Rule(Protocol):
    """What a refusal enforces: the members of group "purity" of `pyc.reasons.Reason`. Its text is
    its name."""

    @property
    def code(self) -> str:
        """Its stable code."""


CLASSES: dict[str, type[PycError]] = {}
"""Every error class by its code."""


class PycError(Exception):
    """Something that pyc refuses or cannot do; the base of all its errors.

    message: what was asked and what was found; fix: what to do, `remedy` of the class if nothing
    nearer is known; place: where in the user's code; origin: where what was found came from.
    """

    code: ClassVar[str] = "PYC1000"
    remedy: ClassVar[str] = "Read the message: it names what was found and what to do."

    def __init__(self, message: Text = "", *, fix: Text = "", place: Place | None = None) -> None:
        super().__init__(message)
        self.fix = fix
        self.place = place
        self.origin = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _register(cls)

    @property
    def message(self) -> str:
        """What was asked and what was found, without place and fix."""
        return _text(self.args[0])

    def at(self, place: Place | None) -> Self:
        """This error, placed in the user's code. The first place given stays: it is the nearest."""
        if self.place is None:
            self.place = place
        return self

    def also(self, advice: str) -> Self:
        """This error, with one more line of what to do or to know."""
        self.fix = f"{_text(self.fix) or self.remedy}\n{advice}"
        return self

    def __str__(self) -> str:
        return format_error(self.message, self.place, self.advice, self.code)

    @property
    def advice(self) -> str:
        """Where what was found came from, and what to do."""
        return "\n".join(filter(None, (self.origin, _text(self.fix) or self.remedy)))

    def __reduce__(self) -> tuple[Any, ...]:
        state = {**self.__dict__, "fix": _text(self.fix)}
        return _restore, (type(self), self.message), state


def _text(text: Text) -> str:
    return text if isinstance(text, str) else text()


def _restore(cls: type[PycError], message: str) -> PycError:
    """An error out of a pickle; its other fields follow as its state."""
    error: PycError = Exception.__new__(cls, message)  # MemoryError's refuses classes of two bases
    error.args = (message,)
    return error


def _register(cls: type[PycError]) -> None:
    known = CLASSES.setdefault(cls.code, cls)
    if known is not cls:
        raise TypeError(f"{cls.__name__} and {known.__name__} have the same code {cls.code}")


_register(PycError)


# --- classes --------------------------------------------------------------------------------------


class TraceError(PycError):
    """The function cannot be traced: it does something with a traced value that has no meaning
    before the program runs."""

    code = "PYC1100"
    remedy = "Keep Python decisions on static values; use pyc.lax for decisions on array values."


class ConcretizationError(TraceError):
    """A traced value was used where Python needs a concrete one."""

    code = "PYC1101"
    remedy = "Make the argument static (`static_argnames=`), or keep the computation on arrays."


class TracerBoolConversionError(TraceError, ValueError):
    """The truth of a traced value was asked for, as by `if`, `while`, `and`, `or`, `not` or a
    chained comparison."""

    code = "PYC1102"
    remedy = (
        "Use `where` to choose between values, `pyc.lax.cond` to choose between computations, "
        "`pyc.lax.while_loop` for loops, and `&`, `|`, `~` for logic; or make the argument static."
    )


class TracerIntegerConversionError(TraceError):
    """A traced value was used as a Python integer, such as a shape, an axis or a list index."""

    code = "PYC1103"
    remedy = "Make the argument static; index arrays, not lists, with traced integers."


class TracerArrayConversionError(TraceError):
    """A traced value was handed to code that needs the array itself, such as a NumPy function
    that pyc cannot trace, or a C extension."""

    code = "PYC1104"
    remedy = (
        "Call a function that pyc traces (`pyc.numpy`), or do this outside the jitted function."
    )


class LeakedTracerError(TraceError):
    """A traced value outlived its trace: it was kept in a global, an attribute, a closure or a
    container, and used later."""

    code = "PYC1105"
    remedy = "Return the value from the jitted function instead of storing it."


class LoopStateError(TraceError):
    """A variable of a loop or a branch that is traced has no value of one type: it changes from one
    iteration to the next, differs between branches, or may have no value at all."""

    code = "PYC1106"
    remedy = "Give the variable a value of its final type before the loop or the `if`."


class UnboundVariableError(TraceError, UnboundLocalError):
    """A variable is used that got no value: the loop or the branch that gives it one was not
    entered."""

    code = "PYC1107"
    remedy = "Give the variable a value before the loop or the `if`."


class PurityError(PycError):
    """The function has an effect that compiled code would lose or repeat at the wrong time.

    rule: which of the rules of `docs/purity.md` it breaks."""

    code = "PYC1200"
    remedy = "Pass what it reads as an argument and return what it changes; print outside."

    def __init__(
        self,
        message: Text = "",
        *,
        rule: Rule | None = None,
        fix: Text = "",
        place: Place | None = None,
    ) -> None:
        super().__init__(message, fix=fix, place=place)
        self.rule = rule

    def __str__(self) -> str:
        if self.rule is None:
            return super().__str__()
        fix = f"{self.advice}\nrule: {self.rule}"
        return format_error(self.message, self.place, fix, self.rule.code)


class PurityWarning(UserWarning):
    """What `purity="warn"` gives in place of a `PurityError`."""


class UnreadFailureWarning(UserWarning):
    """A check failed on a GPU in a call of which no result was read until the process ended."""


class ShapeError(PycError, ValueError):
    """Shapes that do not fit together, or an axis that does not exist."""

    code = "PYC1300"
    remedy = "Compare the shapes and axes that the message names; reshape, transpose or broadcast."


class AxisError(ShapeError, IndexError):
    """An axis that an array does not have."""

    code = "PYC1301"
    remedy = "Axes are counted from 0, or from the end: -1 is the last one."


class WeightsError(ShapeError, RuntimeError):
    """Weights of observations that are not one for each of them."""

    code = "PYC1302"
    remedy = "Give a line of as many weights as there are observations."


class DTypeError(PycError, TypeError):
    """An element type that is not supported, or does not fit the operation."""

    code = "PYC1310"
    remedy = "Convert what has another type before, such as with `.astype(...)`."


class IndexTypeError(DTypeError, IndexError):
    """An index that is neither an integer nor an array of integers or bools."""

    code = "PYC1311"
    remedy = "Convert it before, such as with `i.astype(int)`."


class IndexOutOfRangeError(PycError, IndexError):
    """An index lies outside its axis."""

    code = "PYC1320"
    remedy = 'Check the index, or state what is meant: `x.at[i].get(mode="clip"|"fill"|"wrap")`.'


class ArgumentError(PycError, ValueError):
    """An argument has a value that the function does not take."""

    code = "PYC1350"
    remedy = "Use one of the values that the message names."


class OptionError(DTypeError, ArgumentError):
    """An argument that says how a function works is of a kind that it never takes, such as a number
    where a text is asked for, or an array where one value is. NumPy raises TypeError for some of
    these and ValueError for others; this is both."""

    code = "PYC1351"
    remedy = "Give a value of the kind that the message names."


class ZeroStepError(ArgumentError, ZeroDivisionError):
    """A step or a distance is zero, and is divided by."""

    code = "PYC1352"
    remedy = "Give one that is not zero."


class IntegerRangeError(PycError, OverflowError):
    """A Python integer does not fit the integer type of the array that it meets."""

    code = "PYC1340"
    remedy = "Give the array a wider type first: `x.astype(np.int64)`."


class NumericsError(PycError, ValueError):
    """A check for NaN, infinity or overflow that was asked for has failed; or an integer is raised
    to a negative power, which is NumPy's ValueError."""

    code = "PYC1330"
    remedy = "The message names the operation that made the first such value, and its inputs."


class LinearAlgebraError(PycError, LinAlgError):
    """A matrix has no such factorisation, inverse or solution, or its iteration does not end."""

    code = "PYC1360"
    remedy = "Check the matrix: its rank, its symmetry, NaN and infinities in it."


class DonationError(PycError):
    """A donated argument cannot be taken over, or was used after it was donated."""

    code = "PYC1400"
    remedy = "Do not use an array after donating it; do not donate one that overlaps another."


class CompileError(PycError):
    """Compilation failed after tracing. This is a mistake in pyc, not in your program."""

    code = "PYC1500"
    remedy = "Please report it with the text of the program: `python -m pyc ir FILE:FUNC`."


class UnsupportedOpError(PycError):
    """An operation, or this use of it, that pyc does not have."""

    code = "PYC1510"
    remedy = "Rewrite it with supported operations, or compute it outside the jitted function."


class VerificationError(PycError):
    """A program breaks an invariant of its level, or two ways to run it disagree."""

    code = "PYC1520"
    remedy = "This is a mistake in pyc, not in your program: please report it with the text shown."


class DeviceError(PycError):
    """A device that was asked for is absent, unusable, or does not hold this array."""

    code = "PYC1600"
    remedy = "`python -m pyc doctor` shows the devices and what each of them lacks."


class DeviceNameError(DeviceError, ValueError):
    """No device has such a name, on whatever machine."""

    code = "PYC1601"
    remedy = 'Devices are "cpu", "cuda" and "cuda:N".'


class OutOfMemoryError(PycError, MemoryError):
    """A program needs more memory than there is. plan: its memory plan, if it has one."""

    code = "PYC1610"
    remedy = "Lower the sizes; `f.lower(...).memory_analysis()` shows which buffers make the peak."

    def __init__(
        self,
        message: Text = "",
        *,
        plan: Any = None,
        fix: Text = "",
        place: Place | None = None,
    ) -> None:
        super().__init__(message, fix=fix, place=place)
        self.plan = plan


class CacheMissError(PycError):
    """The cache is frozen (`PYC_CACHE=frozen`) and lacks this program."""

    code = "PYC1700"
    remedy = "Fill the cache by running once with PYC_CACHE=rw, or unfreeze it."


class CacheError(PycError):
    """The cache as a whole cannot be checked or changed: it is read only, or not used."""

    code = "PYC1710"
    remedy = "`python -m pyc doctor` shows the cache directory and what is wrong with it."


class CommandError(PycError):
    """The command line names something that is not there, or is not of the form it asks for."""

    code = "PYC1900"
    remedy = "`python -m pyc COMMAND --help` shows what a command takes."


# --- what the user's own checks raise -------------------------------------------------------------

_raisers: set[CodeType] = set()
F = TypeVar("F", bound=Callable[..., Any])


def raises_for_the_program(function: F) -> F:
    """Marks a function of pyc whose own `raise` statements raise what checks of the program stand
    for, of whatever class: these are no mistakes in pyc."""
    _raisers.add(function.__code__)
    return function


def is_of_the_program(error: Exception) -> bool:
    """Whether a function that `raises_for_the_program` raised an error."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and last.tb_frame.f_code in _raisers


# --- text -----------------------------------------------------------------------------------------


def format_error(message: str, place: Place | None, fix: str, code: str) -> str:
    """The full text of an error: message, place with source line and caret, fix, and its code."""
    lines = [message]
    if place is not None:
        lines += place_lines(place)
    lines += [f"  {line}" for line in fix.splitlines()]
    lines.append(f"  more: python -m pyc explain {code}")
    return "\n".join(lines)


def format_place(place: Place) -> str:
    """`file:line in `function``, the file relative to the working directory if it lies in it."""
    inside = f" in `{place.function}`" if place.function else ""
    return f"{_short_path(place.file)}:{place.line}{inside}"


def place_lines(place: Place) -> list[str]:
    """The place, the user's source line beside it, and a caret under the expression."""
    head = f"  at {format_place(place)}"
    raw = linecache.getline(place.file, place.line).rstrip("\n")
    source = raw.strip()
    if not source:
        return [head]
    head += ":  "
    if not place.column:
        return [head + source]
    indent = len(raw) - len(raw.lstrip())
    start = max(place.column - 1 - indent, 0)
    width = place.end_column - place.column
    width = min(max(width, 1), max(len(source) - start, 1))
    return [head + source, " " * (len(head) + start) + "^" * width]


def _short_path(path: str) -> str:
    here = os.getcwd() + os.sep
    return path[len(here) :] if path.startswith(here) else path


def meaning(cls: type[PycError]) -> str:
    """What an error class stands for, in one line: the first paragraph of its docstring."""
    return " ".join((cls.__doc__ or "").partition("\n\n")[0].split())


def page(code: str) -> str:
    """What is known about an error code; KeyError if there is none such."""
    cls = CLASSES[code]
    bases = " > ".join(c.__name__ for c in reversed(cls.__mro__) if issubclass(c, PycError))
    return f"{code} {cls.__name__}\n\n{meaning(cls)}\n\nWhat to do: {cls.remedy}\n\nClass: {bases}"
