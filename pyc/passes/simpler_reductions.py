"""Reductions in terms of others that a CPU does faster: the same results, bit for bit.

* The place of an extremum is the first place of what the extremum is: two reductions of one
  instruction or two an element, where keeping a value and its place in step takes many. Of truths
  it is one: the first place of a true (or false) one, if there is any. Extrema of other numbers
  are found with their places, but in long rows of small integers.
* A sum of small integers that cannot be as much as 2^31 is one in 32 bits: twice the lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Var, postorder, select
from pyc.ir.loops import Body, Let, Reduce, Stmt
from pyc.ir.visit import Rewriter
from pyc.passes.elements import positions
from pyc.passes.nest import roots

EXTREMA = {"argmax": "maximum", "argmin": "minimum"}
"""The monoids of extrema."""
CHEAP = 8
"""Instructions of an element that is computed twice."""
FEW = 32
"""Elements of which a place is kept beside the value: two reductions end with as many steps."""

LONG = 1 << 16
"""Elements from which the place of an extremum of small integers is sought behind it: vectors hold
more of them than of places, and the search ends at the first."""


def simpler(core: Body, *, places: bool = False) -> Body:
    """The regions of a row program, with simpler reductions in the place of some. places: those of
    extrema of numbers are found beside the values, as they are."""
    found: list[Stmt] = []
    for number, s in enumerate(core):
        if isinstance(s, Reduce):
            found += _narrow(s) or _place(s, core[number + 1 :], places) or [s]
        else:
            found.append(s)
    return tuple(found)


def _length(s: Reduce) -> int:
    """The elements of a reduction; 0 where only a call brings their number."""
    return prod(e if isinstance(e, int) else 0 for _, e in s.domain)


# --- sums of small integers -----------------------------------------------------------------------


def _narrow(s: Reduce) -> list[Stmt] | None:
    """A sum of integers of few bits in 32 bits."""
    if s.monoid != "add" or s.results[0].dtype is not dt.i64:
        return None
    (value,) = s.values
    if not isinstance(value, Apply) or value.name != "cast":
        return None
    (small,) = value.args
    length = _length(s)
    if not 0 < length * magnitude(small.dtype) < 1 << 31:
        return None
    total = Var("total", dt.i32)
    sum_ = Reduce((total,), s.domain, (small.cast(dt.i32),), "add")
    return [sum_, Let(s.results[0], total.cast(dt.i64))]


def magnitude(dtype: DType) -> int:
    """The greatest magnitude of an integer of a type; 0: it is none of few bits."""
    if dtype is dt.b1:
        return 1
    return 1 << dtype.bits if dtype.is_integer and dtype.bits <= 16 else 0


# --- places of extrema ----------------------------------------------------------------------------


def _place(s: Reduce, after: Sequence[Stmt], places: bool) -> list[Stmt] | None:
    """The extremum, then the first place of what it is; NaN is the extremum where there is any."""
    if s.monoid not in EXTREMA:
        return None
    value, place = s.values
    used = any(e is s.results[0] for e in postorder(roots(after)))
    truth = _truth(value)
    small = value.dtype.is_integer and value.dtype.bits <= 16 and _length(s) >= LONG
    if places and truth is None and not small:
        again = replace(s, results=(Var("extremum", value.dtype), s.results[1]))
        return [again, _found_value(s)] if used else None
    if not FEW < _length(s) < 1 << 31:
        return None
    if truth is not None:
        return [
            *_first_truth(replace(s, values=(truth, place))),
            *([_found_value(s)] if used else []),
        ]
    if sum(isinstance(e, Apply) for e in postorder([value])) > CHEAP:
        return None
    narrow = dt.i32 if value.dtype.bits <= 32 else dt.i64
    extremum, found = Var("extremum", value.dtype), Var("found", narrow)
    domain = tuple((Var(v.name, v.dtype), e) for v, e in s.domain)
    binding: dict[Var, Expr] = {a: b for (a, _), (b, _) in zip(s.domain, domain, strict=True)}
    same, at = Rewriter(variables=binding).exprs((value, place))
    hit = same.equal(extremum)
    if value.dtype.is_float:
        hit |= same.differs(same)
    none = Const((1 << (narrow.bits - 1)) - 1, narrow)
    body: list[Stmt] = [
        Reduce((extremum,), s.domain, (value,), EXTREMA[s.monoid]),
        Reduce((found,), domain, (select(hit, at.cast(narrow), none),), "minimum"),
        Let(s.results[1], found.cast(dt.i64)),
    ]
    return [*body, *([_found_value(s)] if used else [])]


def _truth(value: Expr) -> Expr | None:
    """The truth that orders as a value does, if it is one."""
    if value.dtype is dt.b1:
        return value
    if isinstance(value, Apply) and value.name == "cast" and value.dtype.is_integer:
        return value.args[0] if value.args[0].dtype is dt.b1 else None
    return None


def _first_truth(s: Reduce) -> list[Stmt]:
    """The first place of what is sought, and the first of all if there is none."""
    value, place = s.values
    none = Const((1 << 31) - 1, dt.i32)
    hit = value if s.monoid == "argmax" else ~value
    found = Var("found", dt.i32)
    first = Reduce((found,), s.domain, (select(hit, place.cast(dt.i32), none),), "minimum")
    there = select(found.equal(none), 0, found.cast(dt.i64))
    return [first, Let(s.results[1], there)]


def _found_value(s: Reduce) -> Let:
    """The element at the place: equal elements may differ in their bits, zeros in their sign."""
    extents = [(v, e) for v, e in s.domain if isinstance(e, int)]
    there = positions(extents, s.results[1])
    (element,) = Rewriter(variables=there).exprs(s.values[:1])
    return Let(s.results[0], element)
