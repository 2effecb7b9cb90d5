"""Comprehensions whose `if` depends on data: which elements they have is known when the program
runs.

Rewritten functions make a pair of each element, `item`: the truth of its condition, and its value,
computed only where that holds. Without traced truths `kept` and `passing` give the list or the
iterator that Python has. With them a `Filtered` stands for it, which Python's functions of
iterables fold element by element, and NumPy's take as what a mask selects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

import pyc.numpy as pnp
from pyc.errors import ConcretizationError, format_place
from pyc.ir.graph import Location
from pyc.trace import dispatch, location, raising, selections
from pyc.trace.decisions import negation, truth_of
from pyc.trace.merge import merge
from pyc.trace.parts import Selected
from pyc.trace.python_builtins import NOTHING, chosen
from pyc.trace.state import Result

LONGEST = 4096
"""The most elements that are asked for one of which the condition holds."""
FIX = (
    "What works with it: a loop over it, `sum`, `any`, `all`, `min`, `max`, `len` and `next`, and "
    "`np.array` of it\nfor what works with `x[mask]`. Else keep all elements: `[f(v) if v > 0 else "
    "0.0 for v in x]`, `np.where`."
)
Pair = tuple[Any, Any]
_RESULT = "a result of the function"


def item(test: Any, value: FunctionType, plain: bool) -> Pair:
    """The truth of a condition, a bool or traced, and the value of the element where it holds.
    plain: whether that is a variable or a constant."""
    truth = truth_of(test)
    if type(truth) is not bool and truth.is_at_hand:
        truth = bool(truth)  # the program is for these numbers: the elements are a list
    if type(truth) is bool:
        return truth, value() if truth else None
    if plain:
        return truth, value()
    result = Result("an element of a comprehension")
    result.optional = True
    functions: tuple[Callable[[], Any], Callable[[], Any]] = (
        lambda: None,
        lambda: result.set(value()),
    )
    merge(truth, functions, [result], {result.key}, (value,))
    return truth, result.get()


def kept(items: list[Pair]) -> Any:
    """The list of the elements whose condition holds."""
    if all(type(truth) is bool for truth, _ in items):
        return [value for truth, value in items if truth]
    return FilteredList(items, location.here())


def passing(items: Iterator[Pair]) -> Filtered:
    """The elements whose condition holds, one after the other."""
    return Filtered(items, location.here())


class Filtered(Selected):
    """The elements, one after the other, whose conditions hold. made: by which comprehension.

    As an iterator it gives those whose condition is known.
    """

    __slots__ = ("_items", "made")

    def __init__(self, items: Iterator[Pair], made: Location | None) -> None:
        self._items = items
        self.made = made

    def pairs(self) -> Iterator[Pair]:
        """The pairs that are left, those whose condition is known not to hold left out."""
        return (pair for pair in self._items if pair[0] is not False)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        truth, value = next(self.pairs())
        if truth is not True:
            self.refuse("what goes over it here")
        return value

    def spend(self) -> None:
        """From now on it is an error to go on: where it stands depends on data."""

        def gone() -> Iterator[Pair]:
            self.refuse("what goes on with it after `next`")
            yield

        self._items = gone()

    def refuse(self, use: str) -> NoReturn:
        """ConcretizationError for a use that needs to know which elements there are."""
        made = f" (made at {format_place(self.made)})" if self.made else ""
        raise ConcretizationError(
            f"{use} needs to know which elements a comprehension has, which its `if` decides by "
            f"data{made}",
            fix=FIX,
            place=location.here() if use != _RESULT else self.made,
        )

    def selection(self) -> Any:
        """The elements as NumPy's array of them."""
        pairs = list(self.pairs())
        truths = pnp.asarray([truth for truth, _ in pairs])
        return selections().Selection(pnp.asarray([v for _, v in pairs]), truths, self.made)

    @property
    def type(self) -> NoReturn:
        """ConcretizationError: whoever asks needs an array of a known shape."""
        self.refuse(_RESULT)

    @property
    def shape(self) -> tuple[Any, ...]:
        """TypeError: an iterator has no length."""
        raise TypeError("object of type 'generator' has no len()")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's function of the array of the elements."""
        return dispatch.call_function(function, args, kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's ufunc of the array of the elements."""
        return dispatch.call_ufunc(ufunc, method, inputs, options)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        self.refuse("code that pyc does not trace")


def _refused(use: str) -> Any:
    """A method that is refused."""

    def method(self: FilteredList, *args: Any) -> NoReturn:
        self.refuse(use)

    return method


class FilteredList(Filtered):
    """The same as a list."""

    __slots__ = ("_pairs",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, items: list[Pair], made: Location | None) -> None:
        super().__init__(iter(()), made)
        self._pairs = items

    def pairs(self) -> Iterator[Pair]:
        """The pairs, those whose condition is known not to hold left out."""
        return (pair for pair in self._pairs if pair[0] is not False)

    @property
    def shape(self) -> tuple[Any, ...]:
        """How many elements it has."""
        total: Any = 0
        for truth, _ in self.pairs():
            total = total + (1 if truth is True else chosen(truth, 1, 0))
        return (total,)

    def truth(self) -> Any:
        """Whether it has an element."""
        found: Any = False
        for truth, _ in self.pairs():
            found = _either(found, truth)
        return found

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or not hasattr(list, name):
            raise AttributeError(name)
        self.refuse(f"`.{name}`")

    __iter__ = _refused("what goes over it here")
    __next__ = _refused("`next`")
    __len__ = _refused("`len` by another name")
    __bool__ = _refused("its truth")
    __contains__ = _refused("`in`")
    __getitem__ = __setitem__ = __delitem__ = _refused("an index")
    __add__ = __radd__ = __iadd__ = _refused("`+`")
    __mul__ = __rmul__ = __imul__ = _refused("`*`")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refused("a comparison")


# --- Python's functions of iterables --------------------------------------------------------------


def _both(a: Any, b: Any) -> Any:
    if type(a) is bool:
        return b if a else False
    if type(b) is bool:
        return a if b else False
    return pnp.logical_and(a, b)


def _either(a: Any, b: Any) -> Any:
    return negation(_both(negation(a), negation(b)))


def total(found: Filtered, start: Any) -> Any:
    """`sum`."""
    for truth, value in found.pairs():
        start = chosen(truth, start + value, start)
    return start


def decided(found: Filtered, decisive: bool) -> Any:
    """`any` (decisive: True) or `all` (False)."""
    answer: Any = not decisive
    for truth, value in found.pairs():
        holds = truth_of(value)
        if decisive:
            answer = _either(answer, _both(truth, holds))
        else:
            answer = _both(answer, _either(negation(truth), holds))
        if answer is decisive:
            break
    return answer


def extreme(found: Filtered, less: bool, key: Any, default: Any) -> Any:
    """`min` (less) or `max`."""
    some: Any = False
    best: Any = None
    least: Any = None
    for truth, value in found.pairs():
        rank = value if key is None else key(value)
        if some is False:
            some, best, least = truth, value, rank
            continue
        better = truth_of(rank < least if less else rank > least)
        taken = _both(truth, _either(negation(some), better))
        best, least = chosen(taken, value, best), chosen(taken, rank, least)
        some = _either(some, truth)
    name = "min" if less else "max"
    return _found(some, best, default, ValueError(f"{name}() iterable argument is empty"))


def first(found: Filtered, default: Any) -> Any:
    """`next`."""
    some: Any = False
    best: Any = None
    for k, (truth, value) in enumerate(found.pairs()):
        if truth is True and some is False:
            return value
        best = value if some is False else chosen(some, best, value)
        some = _either(some, truth)
        if some is True:
            break
        if k == LONGEST:
            found.refuse(f"`next` of more than {LONGEST} elements")
    found.spend()
    return _found(some, best, default, StopIteration())


def _found(some: Any, best: Any, default: Any, error: Exception) -> Any:
    """`best` if there is one, `default` or an error of the program if not."""
    if some is True:
        return best
    if default is not NOTHING:
        return default if some is False else chosen(some, best, default)
    if some is False:
        raise error
    check = raising.raised(error, [], location.here())
    raising.bind_check(some, check.bits(), check)
    return best


__all__ = ["Filtered", "Pair", "decided", "extreme", "first", "item", "kept", "passing", "total"]
