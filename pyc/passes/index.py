"""Integer simplification of index expressions: canonical linear forms with ranges.

Takes i64 expressions over loop variables whose ranges are known and returns equal ones (for every
value in range): sums of atoms with constant factors, in the order the atoms were first met, with
divisions, remainders, clamps and comparisons decided by range where they can be. Sums and products
wrap as i64 does, since a user's arithmetic on positions (a hash of `np.arange(n)`, say) may
overflow; what is decided by range is decided only where nothing can have wrapped.

`fuse` and `lower` canonicalise every index they form, so two indices that mean the same are the
same object; nothing later has to prove it again.
"""

from __future__ import annotations

from typing import Any

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.expr import Apply, Const, Expr, Interner, Var, apply, const, rebuild
from pyc.ir.integer_range import I64_HIGH, I64_LOW, in_i64

Range = tuple[int, int]
"""Inclusive bounds."""

ANY: Range = (I64_LOW, I64_HIGH)
"""All of i64: the range of what is not known."""

_COMPARISONS = {"lt", "le", "gt", "ge", "eq", "ne"}
_FOLDED = {"add", "sub", "mul", "neg", "quotient", "remainder", "minimum", "maximum", "select"}
_FOLDED |= {"shr", "and"}


@frozen()
class Linear:
    """constant + sum of factor * atom; atoms are interned expressions by first appearance."""

    constant: int
    terms: tuple[tuple[Expr, int], ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether no atom is left."""
        return not self.terms


class Simplifier:
    """Simplifies the index expressions of one compile. Variables are declared before use.

    joins: quotients and remainders of one value become it again where they are added up.
    """

    def __init__(self, interner: Interner | None = None, joins: bool = False) -> None:
        self.interner = interner or Interner()
        self._joins = joins
        self._ranges: dict[Var, Range] = {}
        self._linear: dict[Expr, Linear] = {}
        self._of_applied: dict[Apply, Range] = {}
        self._simple: dict[Expr, Expr] = {}
        self._built: dict[tuple[Any, ...], Expr] = {}
        """By the ids of atoms, which the other two keep."""

    def declare(self, var: Var, extent: int) -> Var:
        """`var` ranges over [0, extent)."""
        self._ranges[var] = (0, max(extent - 1, 0))
        self._of_applied.clear()
        return var

    def variable(self, name: str, extent: int) -> Var:
        """A new loop variable over [0, extent)."""
        return self.declare(Var(name), extent)

    def __call__(self, e: Expr) -> Expr:
        """`e` in canonical form; the same object for equal forms."""
        simple = self._simple
        stack: list[Expr | None] = [e]
        while stack:
            node = stack.pop()
            if node is None:  # the one below it has its operands
                node = stack.pop()
                assert node is not None
            elif node in simple:
                continue
            elif operands := node.operands:
                stack += (node, None)
                stack += operands
                continue
            if node not in simple:
                result = self._node(rebuild(node, tuple([simple[c] for c in node.operands])))
                simple[node] = simple[result] = result
        return simple[e]

    def linear(self, e: Expr) -> Linear:
        """The linear form of an i64 expression."""
        return self._linear_of(self(e))

    def range(self, e: Expr) -> Range:
        """Inclusive bounds of an i64 expression; `ANY` where they are not known."""
        return self._range_of(self._linear_of(self(e)))

    def build(self, form: Linear) -> Expr:
        """The canonical expression of a linear form."""
        key = (form.constant, *((id(a), f) for a, f in form.terms))
        found = self._built.get(key)
        if found is not None:
            return found
        total: Expr | None = None
        for atom, factor in form.terms:
            term = atom if factor == 1 else apply("mul", atom, const(factor))
            total = term if total is None else apply("add", total, term)
        if total is None:
            total = const(form.constant)
        elif form.constant:
            total = apply("add", total, const(form.constant))
        (total,) = self.interner([total])
        self._built[key] = total
        if self._linear.get(total, form) != form:
            self._of_applied.clear()
        self._linear[total] = form
        self._simple[total] = total
        return total

    # --- one node over simplified operands --------------------------------------------------------

    def _node(self, e: Expr) -> Expr:
        if isinstance(e, Apply) and e.name in _COMPARISONS and e.args[0].dtype is dt.i64:
            decided = self._compare(e.name, e.args[0], e.args[1])
            if decided is not None:
                return self.interner([Const(decided, dt.b1)])[0]
        if isinstance(e, Apply) and e.dtype is dt.b1:
            folded = self._logic(e)
            if folded is not None:
                return folded
        if isinstance(e, Apply) and e.name == "select" and isinstance(e.args[0], Const):
            return e.args[1] if e.args[0].value else e.args[2]
        if e.dtype is not dt.i64 or not isinstance(e, Apply) or e.name not in _FOLDED:
            (e,) = self.interner([e])
            return e
        form = self._fold(e)
        if form is None:
            (e,) = self.interner([e])
            return e
        return self.build(form)

    def _logic(self, e: Apply) -> Expr | None:
        """and/or/not with a constant operand."""
        if e.name == "not" and isinstance(e.args[0], Const):
            return self.interner([Const(not e.args[0].value, dt.b1)])[0]
        if e.name not in ("and", "or"):
            return None
        for known, other in (e.args, e.args[::-1]):
            if isinstance(known, Const):
                keeps = bool(known.value) == (e.name == "and")
                return other if keeps else known
        return None

    def _fold(self, e: Apply) -> Linear | None:
        forms = [self._linear_of(a) for a in e.args] if e.name != "select" else []
        if e.name == "add":
            return self._joined(_combine(forms[0], forms[1], 1))
        if e.name == "sub":
            return _combine(forms[0], forms[1], -1)
        if e.name == "neg":
            return _combine(Linear(0), forms[0], -1)
        if e.name == "mul":
            for factor, other in (forms, forms[::-1]):
                if factor.is_constant:
                    return _scale(other, factor.constant)
            return None
        if e.name in ("quotient", "remainder"):
            return self._divide(e.name, forms[0], forms[1])
        if e.name in ("minimum", "maximum"):
            return self._clamp(e.name, forms[0], forms[1])
        if e.name == "shr" and forms[1].is_constant and 0 <= forms[1].constant < 63:
            return self._divide("quotient", forms[0], Linear(1 << forms[1].constant))
        if e.name == "and":
            for mask, other in (forms, forms[::-1]):
                if mask.is_constant and _is_low_mask(mask.constant):
                    return self._divide("remainder", other, Linear(mask.constant + 1))
        return None

    def _joined(self, form: Linear) -> Linear:
        """n * quotient(x, n) + remainder(x, n) is x."""
        if not self._joins:
            return form
        divided = [(a, f) for a, f in form.terms if isinstance(a, Apply)]
        quotients = {a.args: (a, f) for a, f in divided if a.name == "quotient"}
        for remainder, factor in divided:
            whole = quotients.get(remainder.args) if remainder.name == "remainder" else None
            if whole is None:
                continue
            x, n = remainder.args
            if not isinstance(n, Const) or whole[1] != factor * n.value:
                continue
            both = (remainder, whole[0])
            place = next(k for k, (a, _) in enumerate(form.terms) if a in both)
            behind = tuple(t for t in form.terms[place:] if t[0] not in both)
            found = _combine(
                Linear(form.constant, form.terms[:place]), _scale(self._linear_of(x), factor), 1
            )
            return self._joined(_combine(found, Linear(0, behind), 1))
        return form

    def _divide(self, name: str, form: Linear, divisor: Linear) -> Linear | None:
        """Splits off multiples of the divisor, which needs a non-negative dividend."""
        n = divisor.constant
        bounds = self._bounds(form)
        if not divisor.is_constant or n <= 0 or bounds is None or bounds[0] < 0:
            return None
        if bounds[1] < n:
            return Linear(0) if name == "quotient" else form
        rest = [(a, f) for a, f in form.terms if f % n]
        whole = Linear(form.constant // n, tuple((a, f // n) for a, f in form.terms if f % n == 0))
        remaining = Linear(form.constant % n, tuple(rest))
        inner = self._bounds(remaining)
        if inner is None or inner[0] < 0:
            return None
        if inner[1] < n:
            return whole if name == "quotient" else remaining
        if not whole.terms and not whole.constant:
            return self._nested(name, remaining, n)
        atom = self.build(self._atom(name, remaining, n))
        return (
            _combine(whole, self._linear_of(atom), 1)
            if name == "quotient"
            else Linear(0, ((atom, 1),))
        )

    def _atom(self, name: str, form: Linear, n: int) -> Linear:
        nested = self._nested(name, form, n)
        if nested is not None:
            return nested
        (atom,) = self.interner([apply(name, self.build(form), const(n))])
        self._simple[atom] = atom
        return Linear(0, ((atom, 1),))

    def _nested(self, name: str, form: Linear, n: int) -> Linear | None:
        """quotient(quotient(x, a), b) is quotient(x, a * b)."""
        if name != "quotient" or form.constant or len(form.terms) != 1:
            return None
        atom, factor = form.terms[0]
        if factor != 1 or not isinstance(atom, Apply) or atom.name != "quotient":
            return None
        if not isinstance(atom.args[1], Const):
            return None
        total = int(atom.args[1].value) * n
        if total > ANY[1]:
            return None
        inner = self._linear_of(atom.args[0])
        return self._divide("quotient", inner, Linear(total)) or self._atom(
            "quotient", inner, total
        )

    def _clamp(self, name: str, a: Linear, b: Linear) -> Linear | None:
        ra, rb = self._range_of(a), self._range_of(b)
        if ra[1] <= rb[0]:
            return a if name == "minimum" else b
        if rb[1] <= ra[0]:
            return b if name == "minimum" else a
        return None

    def _compare(self, name: str, a: Expr, b: Expr) -> bool | None:
        left, right = self._linear_of(a), self._linear_of(b)
        difference = _sum(left, right, -1)
        if not difference.terms and (name in ("eq", "ne") or not difference.constant):
            same = not difference.constant
            return same if name in ("eq", "le", "ge") else not same
        if self._bounds(left) is None or self._bounds(right) is None:
            return None  # which of two is greater says nothing once one has wrapped
        low, high = self._extremes(difference)
        always = {
            "lt": (high < 0, low >= 0),
            "le": (high <= 0, low > 0),
            "gt": (low > 0, high <= 0),
            "ge": (low >= 0, high < 0),
            "eq": (low == high == 0, low > 0 or high < 0),
            "ne": (low > 0 or high < 0, low == high == 0),
        }[name]
        return True if always[0] else False if always[1] else None

    # --- forms and ranges -------------------------------------------------------------------------

    def _linear_of(self, e: Expr) -> Linear:
        form = self._linear.get(e)
        if form is None:
            form = Linear(int(e.value)) if isinstance(e, Const) else Linear(0, ((e, 1),))
            self._linear[e] = form
        return form

    def _range_of(self, form: Linear) -> Range:
        return self._bounds(form) or ANY

    def _bounds(self, form: Linear) -> Range | None:
        """The bounds of a linear form; None where it may wrap."""
        low, high = self._extremes(form)
        return (low, high) if ANY[0] <= low and high <= ANY[1] else None

    def _extremes(self, form: Linear) -> Range:
        """The bounds of a linear form over unbounded integers."""
        low = high = form.constant
        for atom, factor in form.terms:
            bounds = self._atom_range(atom)
            ends = (bounds[0] * factor, bounds[1] * factor)
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _atom_range(self, atom: Expr) -> Range:
        if isinstance(atom, Var):
            return self._ranges.get(atom, ANY)
        if isinstance(atom, Const):
            return int(atom.value), int(atom.value)
        if not isinstance(atom, Apply):
            return ANY
        found = self._of_applied.get(atom)
        if found is None:
            # Kept: where each of many steps reads the one before twice, paths double at each.
            found = self._of_applied[atom] = self._applied_range(atom)
        return found

    def _applied_range(self, atom: Apply) -> Range:
        if atom.name in ("quotient", "remainder") and isinstance(atom.args[1], Const):
            low, high = self._range_of(self._linear_of(atom.args[0]))
            n = int(atom.args[1].value)
            if low < 0 or n <= 0:
                return ANY
            return (0, min(high, n - 1)) if atom.name == "remainder" else (low // n, high // n)
        if atom.name == "and":
            known = [int(x.value) for x in atom.args if isinstance(x, Const)]
            return (0, known[0]) if known and known[0] >= 0 else ANY
        if atom.name in ("minimum", "maximum", "select"):
            a, b = (self._range_of(self._linear_of(x)) for x in atom.args[-2:])
            if atom.name == "select":
                return min(a[0], b[0]), max(a[1], b[1])
            pick = min if atom.name == "minimum" else max
            return pick(a[0], b[0]), pick(a[1], b[1])
        return ANY


def _is_low_mask(value: int) -> bool:
    """Whether a number is 2**k - 1, which as a mask is what remains of a division by 2**k."""
    return 0 < value < 1 << 62 and value & (value + 1) == 0


def _sum(a: Linear, b: Linear, sign: int) -> Linear:
    """a + sign * b over unbounded integers."""
    factors = dict(a.terms)
    for atom, f in b.terms:
        factors[atom] = factors.get(atom, 0) + sign * f
    terms = tuple((atom, f) for atom, f in factors.items() if f)
    return Linear(a.constant + sign * b.constant, terms)


def _combine(a: Linear, b: Linear, sign: int) -> Linear:
    """a + sign * b."""
    return _wrapped(_sum(a, b, sign))


def _scale(a: Linear, factor: int) -> Linear:
    return _wrapped(Linear(a.constant * factor, tuple((atom, f * factor) for atom, f in a.terms)))


def _wrapped(form: Linear) -> Linear:
    """A form with the numbers that i64 has for its own: equal modulo 2**64."""
    numbers = (form.constant, *(f for _, f in form.terms))
    if 0 not in numbers[1:] and ANY[0] <= min(numbers) and max(numbers) <= ANY[1]:
        return form
    terms = ((atom, in_i64(f)) for atom, f in form.terms)
    return Linear(in_i64(form.constant), tuple((atom, f) for atom, f in terms if f))
