"""Reductions in terms of others that a CPU does faster: the same results, bit for bit.

* The place of an extremum is the first place of what the extremum is: two reductions of one
  instruction or two an element, where keeping a value and its place in step takes many.
* A sum of small integers that cannot be as much as 2^31 is one in 32 bits: twice the lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Var, postorder, select
from pyc.ir.loops import Body, Let, Reduce, Stmt
from pyc.ir.visit import Rewriter
from pyc.passes.elements import positions
from pyc.passes.nest import roots

EXTREMA = {"argmax": "maximum", "argmin": "minimum"}
TRUTHS = {"argmax": "or", "argmin": "and"}
"""The monoids of extrema, of numbers and of truths."""
CHEAP = 8
"""Instructions of an element that is computed twice."""
FEW = 32
"""Elements of which a place is kept beside the value: two reductions end with as many steps."""


def simpler(core: Body) -> Body:
    """The regions of a row program, with simpler reductions in the place of some."""
    found: list[Stmt] = []
    for number, s in enumerate(core):
        if isinstance(s, Reduce):
            found += _narrow(s) or _place(s, core[number + 1 :]) or [s]
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
    if not 0 < length * _magnitude(small.dtype) < 1 << 31:
        return None
    total = Var("total", dt.i32)
    sum_ = Reduce((total,), s.domain, (small.cast(dt.i32),), "add")
    return [sum_, Let(s.results[0], total.cast(dt.i64))]


def _magnitude(dtype: DType) -> int:
    """The greatest magnitude of an integer of a type; 0: it is none of few bits."""
    if dtype is dt.b1:
        return 1
    return 1 << dtype.bits if dtype.is_integer and dtype.bits <= 16 else 0


# --- places of extrema ----------------------------------------------------------------------------


def _place(s: Reduce, after: Sequence[Stmt]) -> list[Stmt] | None:
    """The extremum, then the first place of what it is; NaN is the extremum where there is any."""
    length = _length(s)
    if s.monoid not in EXTREMA or not FEW < length < 1 << 31:
        return None
    value, place = s.values
    if sum(isinstance(e, Apply) for e in postorder([value])) > CHEAP:
        return None
    narrow = dt.i32 if value.dtype.bits <= 32 else dt.i64
    extremum, found = Var("extremum", value.dtype), Var("found", narrow)
    domain = tuple((Var(v.name, v.dtype), e) for v, e in s.domain)
    binding: dict[Var, Expr] = {a: b for (a, _), (b, _) in zip(s.domain, domain, strict=True)}
    again, at = Rewriter(variables=binding).exprs((value, place))
    hit = again.equal(extremum)
    if value.dtype.is_float:
        hit |= again.differs(again)
    none = Const((1 << (narrow.bits - 1)) - 1, narrow)
    first = select(hit, at.cast(narrow), none)
    better = TRUTHS[s.monoid] if value.dtype is dt.b1 else EXTREMA[s.monoid]
    body: list[Stmt] = [
        Reduce((extremum,), s.domain, (value,), better),
        Reduce((found,), domain, (first,), "minimum"),
        Let(s.results[1], found.cast(dt.i64)),
    ]
    if any(e is s.results[0] for e in postorder(roots(after))):
        # Equal elements may differ in their bits: zeros in their sign.
        extents = [(v, e) for v, e in s.domain if isinstance(e, int)]
        there = positions(extents, found.cast(dt.i64))
        (element,) = Rewriter(variables=there).exprs((value,))
        body.append(Let(s.results[0], element))
    return body
