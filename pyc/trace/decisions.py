"""What rewritten functions call in place of `if`, `and`, `or`, `not`, conditional expressions and
chained comparisons; see `rewrite`. On concrete values each does what Python does, a traced truth
becomes a branch of the program (`merge`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import pyc.numpy as pnp
from pyc.errors import PycError
from pyc.interpreter import current
from pyc.ir import dtype as dt
from pyc.trace import location
from pyc.trace.exits import HELD, RESULT
from pyc.trace.merge import ONE_SIDED, Lost, merge
from pyc.trace.parts import Selected
from pyc.trace.state import UNBOUND, Place, Result, Variable
from pyc.trace.trace import Trace
from pyc.trace.tracer import Tracer

Names = tuple[tuple[str, int, bool], ...]


# --- variables ------------------------------------------------------------------------------------


class Variables:
    """The variables that functions of one statement assign.

    names: (name, line where it is assigned, whether it is only augmented) of each; live: those that
    are read later
    """

    def __init__(
        self, functions: Sequence[FunctionType], names: Names, live: tuple[str, ...]
    ) -> None:
        cells = {
            name: cell
            for f in functions
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        }
        self.cells = cells
        self.all = [Variable(_shown(n), cells[n], line) for n, line, _ in names]
        by_name = {n: v for (n, _, _), v in zip(names, self.all, strict=True)}
        self.live: list[Place] = [by_name[n] for n in live]
        self.dead = [v for v in self.all if not any(v is p for p in self.live)]
        self.augmented: list[Place] = [by_name[n] for n, _, only in names if only and n in live]
        self.known = {v.key for v in self.all}
        for name, variable in by_name.items():
            variable.optional, variable.final = name in (RESULT, HELD), name == RESULT

    def named(self, name: str | None) -> Variable | None:
        """The variable of a name."""
        return None if name is None else Variable(name, self.cells[name])


def _shown(name: str) -> str:
    return "the returned value" if name in (RESULT, HELD) else name


def note(places: Iterable[Place], why: str, remedy: str, again: bool = True) -> None:
    """Tells what to say if the variables are used. remedy: what to give them; again: also if there
    is something to say already."""
    interpreter = current()
    frame = location.user_frame()
    if isinstance(interpreter, Trace) and frame is not None:
        for place in places:
            key = (frame.f_code.co_filename, place.name)
            if again or key not in interpreter.unbound:
                interpreter.unbound[key] = (why, remedy)


# --- truth ----------------------------------------------------------------------------------------


def truth_of(x: Any) -> Any:
    """The truth of `x`: a bool, or a traced one of rank 0."""
    if isinstance(x, Selected):
        return x.truth()
    if not isinstance(x, Tracer) or x.size != 1:
        return bool(x)
    known = x.known()
    if known is not None:
        return bool(known)
    flat = pnp.reshape(x, ()) if x.ndim else x
    return flat if flat.type.dtype is dt.b1 else pnp.not_equal(flat, 0)


def negation(x: Any) -> Any:
    """`not x`."""
    truth = truth_of(x)
    return not truth if type(truth) is bool else pnp.logical_not(truth).weakened()


def all_true(first: Any, *rest: Callable[[], Any]) -> Any:
    """The truth of `first and ...`, whose other operands are functions."""
    return _logic(True, first, rest)


def any_true(first: Any, *rest: Callable[[], Any]) -> Any:
    """The truth of `first or ...`, whose other operands are functions."""
    return _logic(False, first, rest)


def _logic(unit: bool, first: Any, rest: Sequence[Callable[[], Any]]) -> Any:
    truth = truth_of(first)
    if not rest:
        return truth
    if type(truth) is bool:
        return _logic(unit, rest[0](), rest[1:]) if truth is unit else truth
    yes: Callable[[], Any] = lambda: _logic(unit, rest[0](), rest[1:])  # noqa: E731
    no: Callable[[], Any] = lambda: not unit  # noqa: E731
    functions = (yes, no) if unit else (no, yes)
    return _choice(truth, functions, rest, "the condition")


def all_of(first: Any, *rest: Callable[[], Any]) -> Any:
    """`first and ...`, whose other operands are functions."""
    if not rest:
        return first
    truth = truth_of(first)
    if type(truth) is bool:
        return all_of(rest[0](), *rest[1:]) if truth else first
    return _choice(truth, (lambda: all_of(rest[0](), *rest[1:]), lambda: first), rest, "`and`")


def any_of(first: Any, *rest: Callable[[], Any]) -> Any:
    """`first or ...`, whose other operands are functions."""
    if not rest:
        return first
    truth = truth_of(first)
    if type(truth) is bool:
        return first if truth else any_of(rest[0](), *rest[1:])
    return _choice(truth, (lambda: first, lambda: any_of(rest[0](), *rest[1:])), rest, "`or`")


def contained(item: Any, holder: Any) -> Any:
    """`item in holder`: of an array whether an element is equal, of lists and tuples too where only
    the program knows."""
    if isinstance(holder, Tracer):
        return pnp.any(pnp.equal(holder, item)).weakened()
    if type(holder) not in (list, tuple):
        return item in holder
    if not any(isinstance(x, Tracer) and x.known() is None for x in (item, *holder)):
        return item in holder
    return _logic(False, False, [partial(_is_equal, x, item) for x in holder])


def _is_equal(a: Any, b: Any) -> Any:
    return True if a is b else a == b


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": contained,
    "NotIn": lambda a, b: negation(contained(a, b)),
}


def comparison(operators: tuple[str, ...], left: Any, right: Any, *rest: Callable[[], Any]) -> Any:
    """`left < right < ...`, whose later operands are functions; each is evaluated once."""
    found = _COMPARE[operators[0]](left, right)
    if not rest:
        return found
    return all_of(found, lambda: comparison(operators[1:], right, rest[0](), *rest[1:]))


def choice(test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """`yes() if test else no()`."""
    truth = truth_of(test)
    if type(truth) is bool:
        return yes() if truth else no()
    return _choice(truth, (yes, no), (yes, no), "the conditional expression")


def _choice(
    truth: Any,
    functions: tuple[Callable[[], Any], Callable[[], Any]],
    reach: Sequence[Any],
    what: str,
) -> Any:
    yes, no = functions
    result = Result(what)

    def both() -> None:
        merge(
            truth,
            (lambda: result.set(no()), lambda: result.set(yes())),
            [result],
            {result.key},
            reach,
        )

    if _merged(truth, both, reach):
        return result.get()
    return yes() if truth else no()


def _merged(truth: Any, both: Callable[[], None], reach: Sequence[Any]) -> bool:
    """Whether `both` has merged the branches. If that cannot be done, and the truth depends only on
    numbers that are at hand, the program is for its value instead, as Python takes one branch. A
    function that calls itself in a branch has no end there: it is decided from outside, and then
    wherever it calls itself.

    raises Exception: what `both` raises where the truth is not at hand
    """
    trace = current()
    assert isinstance(trace, Trace)
    outermost = trace.outermost
    codes = {f.__code__ for f in reach if isinstance(f, FunctionType)}
    if codes & outermost.recursive and truth.is_at_hand:
        return False
    try:
        both()
    except RecursionError:
        if trace is not outermost or not truth.is_at_hand:
            raise
        outermost.recursive |= codes
        return False
    except Exception as error:
        if not truth.is_at_hand:
            raise
        if isinstance(error, PycError):
            trace.forgive(error)
        return False
    return True


def branch(
    test: Any, then: FunctionType, orelse: FunctionType, names: Names, live: tuple[str, ...]
) -> None:
    """`if test: then() else: orelse()`."""
    truth = truth_of(test)
    if type(truth) is bool:
        (then if truth else orelse)()
    else:
        branch_on(truth, then, orelse, Variables((then, orelse), names, live), (then, orelse))


def branch_on(
    truth: Any,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    variables: Variables,
    reach: Sequence[Callable[..., Any]],
) -> None:
    """`if truth: then() else: orelse()`, for a traced truth. reach: the user's functions, through
    which all is found that they may change."""
    without: dict[Place, Lost] = {}

    def both() -> None:
        without.update(merge(truth, (orelse, then), variables.live, variables.known, reach))

    if not _merged(truth, both, reach):
        (then if truth else orelse)()
        return
    for variable in variables.dead:
        variable.set(UNBOUND)
    for place, lost in without.items():
        place.set(UNBOUND)
        why = f"after an `if` on a traced value: {lost.why}"
        note([place], why, lost.remedy, again=lost is not ONE_SIDED)


__all__ = ["Names", "Variables", "all_of", "all_true", "any_of", "any_true", "branch", "branch_on"]
__all__ += ["choice", "comparison", "contained", "negation", "note", "truth_of"]
