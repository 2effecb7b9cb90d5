"""What `fastmath` allows: a table of rules that change roundings, and no longer care for NaN,
infinities and the sign of zero.

Takes a Graph and returns one of fewer or cheaper equations. Which it is follows from the Graph
alone, so results are the same at each call, with any number of threads. In this order, for
floats and complex numbers:

* units: x + 0 and x - 0 are x, 0 * x is 0, x - x is 0; constants of one chain meet: (x c) d, and
  (x + c) + d;
* reciprocals: x / c is x (1 / c); x / y is x (1 / y) where y is the same along the last axis of x;
* square roots, quotients and extrema in their `fast_` forms (`ops/scalar_fast.py`); powers of whole
  and half exponents as products;
* a number that is a factor of two terms is multiplied once: z + c x + c y is z + c (x + y);
* contraction: x y + z, x y - z and z - x y are one `fma` where nothing else uses the product.

An equation that was rewritten is `told`, with its line. Reductions keep their order: any would be
allowed, and none that was measured is faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from pyc.ir.graph import Builder, Eqn, Graph, Location, Rewriter, Value
from pyc.passes.simplify import Match

Values = tuple[Value, ...]
Told = list[tuple[str, Location | None]]
"""What was done, and to which line."""
LARGEST_POWER = 32
"""Whole exponents up to which a power is written as products: at most eight."""


class _Rules:
    def __init__(self, graph: Graph, builder: Builder, told: Told) -> None:
        self.builder = builder
        self.match = Match(graph, builder)
        self.told = told
        self.uses = Counter(v for e in graph.eqns for v in e.args) + Counter(graph.results)

    def __call__(self, builder: Builder, eqn: Eqn, args: Values) -> Values | None:
        rules = RULES.get(eqn.op.name, ())
        if rules and not (eqn.out.dtype.is_float or eqn.out.dtype.is_complex):
            return None
        for name, rule in rules:
            found = rule(self, eqn, args)
            if found is not None:
                self.told.append((name, eqn.loc))
                return (found,)
        return None

    def bind(self, name: str, *args: Value, of: Eqn) -> Value:
        """The value of an op that stands in place of `of`, on its line."""
        if name == "mul" and of.out.dtype.is_complex:
            name = "fast_mul"
        (out,) = self.builder.bind(name, *args, loc=of.loc)
        return out

    def number(self, value: Value) -> complex | None:
        """The one number that all of a value is known to equal, in double precision."""
        found = self.match.scalar(value)
        return None if found is None else complex(found.astype(np.complex128))

    def filled(self, number: complex, like: Value, of: Eqn) -> Value | None:
        """The number as a value of a type, None where the type does not hold it as a normal one."""
        with np.errstate(all="ignore"):
            exact = np.asarray(number if like.dtype.is_complex else number.real)
            one = exact.astype(like.dtype.numpy)
            least = np.ldexp(1.0, {16: -14, 64: -1022}.get(like.dtype.real.bits, -126))
            size = abs(complex(one))
        if not np.isfinite(size) or (size < least and number != 0):
            return None
        made = self.builder.constant(one)
        if like.shape == ():
            return made
        (out,) = self.builder.bind("broadcast", made, loc=of.loc, shape=like.shape)
        return out


Rule = Callable[[_Rules, Eqn, Values], "Value | None"]


# --- units and chains -----------------------------------------------------------------------------


def _added_to_zero(m: _Rules, e: Eqn, args: Values) -> Value | None:
    for k in (0, 1):
        if m.number(args[k]) == 0:
            return args[1 - k]
    return None


def _subtracted(m: _Rules, e: Eqn, args: Values) -> Value | None:
    if m.number(args[1]) == 0:
        return args[0]
    if m.number(args[0]) == 0:
        return m.bind("neg", args[1], of=e)
    return m.filled(0, e.out, e) if args[0] is args[1] else None


def _times_zero(m: _Rules, e: Eqn, args: Values) -> Value | None:
    return next((a for a in args if m.number(a) == 0), None)


def _chain(combine: Callable[[complex, complex], complex]) -> Rule:
    """(x . c) . d as x . (c . d), for constants c and d."""

    def rule(m: _Rules, e: Eqn, args: Values) -> Value | None:
        for k in (0, 1):
            outer, inner = m.number(args[k]), m.match.maker(args[1 - k], e.op.name)
            if outer is None or inner is None:
                continue
            for j in (0, 1):
                first = m.number(inner.args[j])
                if first is None or inner.args[1 - j].type != e.out.type:
                    continue
                both = m.filled(combine(first, outer), e.out, e)
                if both is not None:
                    return m.bind(e.op.name, inner.args[1 - j], both, of=e)
        return None

    return rule


# --- quotients, powers and extrema ----------------------------------------------------------------


def _by_reciprocal(m: _Rules, e: Eqn, args: Values) -> Value | None:
    x, y = args
    known = m.number(y)
    if known is not None:
        inverse = m.filled(1 / known, e.out, e) if known else None
        return None if inverse is None else m.bind("mul", x, inverse, of=e)
    spread = m.match.maker(y, "broadcast")
    if spread is None or m.number(x) is not None:
        return None
    (one,) = spread.args
    if one.type.size == e.out.type.size or (one.shape and one.shape[-1] != 1):
        return None
    unit = m.filled(1, one, e)
    assert unit is not None
    inverse = m.bind("fast_div", unit, one, of=e)
    (inverse,) = m.builder.bind("broadcast", inverse, loc=e.loc, shape=e.out.shape)
    return m.bind("mul", x, inverse, of=e)


def _reciprocal(m: _Rules, e: Eqn, args: Values) -> Value | None:
    unit = m.filled(1, e.out, e)
    assert unit is not None
    return m.bind("fast_div", unit, args[0], of=e)


def _fast(name: str) -> Rule:
    """The op of this name in place of one with the same arguments."""
    return lambda m, e, args: m.bind(name, *args, of=e)


def _of_reals(rule: Rule) -> Rule:
    return lambda m, e, args: None if args[0].dtype.is_complex else rule(m, e, args)


def _of_pairs(rule: Rule) -> Rule:
    return lambda m, e, args: rule(m, e, args) if args[0].dtype.is_complex else None


def _power(m: _Rules, e: Eqn, args: Values) -> Value | None:
    """x ** (n or n + 0.5) as products and a square root; its error is one of each product."""
    x, known = args[0], m.number(args[1])
    if known is None or abs(known) > LARGEST_POWER or (2 * known.real) % 1:
        return None
    whole, half = divmod(abs(known.real), 1)
    digits, result = int(whole), (m.bind("fast_sqrt", x, of=e) if half else None)
    square = x
    while digits:
        if digits & 1:
            result = square if result is None else m.bind("mul", result, square, of=e)
        digits >>= 1
        if digits:
            square = m.bind("mul", square, square, of=e)
    if result is None:
        return m.filled(1, e.out, e)
    return result if known.real > 0 else _reciprocal(m, e, (result,))


def _squared_size(m: _Rules, e: Eqn, args: Values) -> Value | None:
    """|z|^2 as the sum of the squares of its parts."""
    size = m.match.maker(args[0], "fast_abs")
    if size is None or m.uses[e.args[0]] > 1:
        return None
    re, im = (m.bind(part, size.args[0], of=e) for part in ("real", "imag"))
    return m.bind("fma", re, re, m.bind("square", im, of=e), of=e)


# --- contraction ----------------------------------------------------------------------------------


def _product(m: _Rules, e: Eqn, args: Values, number: int) -> Values | None:
    """The factors of which an argument is the product, if nothing else uses it: elsewhere it may be
    stored, and its factors not be at hand."""
    if m.uses[e.args[number]] > 1:
        return None
    value = args[number]
    made = m.match.maker(value, "mul") or m.match.maker(value, "fast_mul")
    if made is not None:
        return made.args
    made = m.match.maker(value, "square")
    return None if made is None else (made.args[0], made.args[0])


def _by_number(m: _Rules, factors: Values) -> tuple[complex, Value] | None:
    """A product of a number that enlarges and a value as the two."""
    for number, value in (factors[:2], factors[1::-1]):
        known = m.number(number)
        if known is not None and abs(known) >= 1:
            return known, value
    return None


def _shared_factor(m: _Rules, e: Eqn, args: Values) -> Value | None:
    """z + c x + c y as z + c (x + y), for a number c of at least 1: a smaller one may keep the sum
    from being too large."""
    if e.out.dtype.is_complex:
        return None
    for k in (0, 1):
        factors = _product(m, e, args, k)
        other = m.match.maker(args[1 - k], "fma")
        if factors is None or other is None or m.uses[e.args[1 - k]] > 1:
            continue
        one, two = _by_number(m, factors), _by_number(m, other.args)
        if one is not None and two is not None and one[0] == two[0]:
            number = m.filled(one[0], e.out, e)
            assert number is not None
            return m.bind("fma", number, m.bind("add", two[1], one[1], of=e), other.args[2], of=e)
    return None


def _fused_sum(m: _Rules, e: Eqn, args: Values) -> Value | None:
    for k in (0, 1):
        factors = _product(m, e, args, k)
        if factors is not None:
            return _fused(m, e, factors, args[1 - k])
    return None


def _fused_difference(m: _Rules, e: Eqn, args: Values) -> Value | None:
    factors = _product(m, e, args, 1)
    if factors is not None:
        return _fused(m, e, (m.bind("neg", factors[0], of=e), factors[1]), args[0])
    factors = _product(m, e, args, 0)
    if factors is not None:
        return _fused(m, e, factors, m.bind("neg", args[1], of=e))
    return None


def _fused(m: _Rules, e: Eqn, factors: Values, term: Value) -> Value:
    return m.bind("fast_fma" if e.out.dtype.is_complex else "fma", *factors, term, of=e)


RULES: dict[str, tuple[tuple[str, Rule], ...]] = {
    "add": (
        ("a sum with zero", _added_to_zero),
        ("constants that are added", _chain(lambda a, b: a + b)),
        ("a factor of two terms as one product", _shared_factor),
        ("a product and a sum as one `fma`", _fused_sum),
    ),
    "sub": (
        ("a difference with zero", _subtracted),
        ("a product and a difference as one `fma`", _fused_difference),
    ),
    "mul": (
        ("a product with zero", _times_zero),
        ("constants that are multiplied", _chain(lambda a, b: a * b)),
        ("a complex product by `fma`", _of_pairs(_fast("fast_mul"))),
    ),
    "div": (
        ("a product with the reciprocal", _by_reciprocal),
        ("a quotient that a GPU rounds nearly", _fast("fast_div")),
    ),
    "reciprocal": (("a quotient that a GPU rounds nearly", _reciprocal),),
    "sqrt": (("a square root that a GPU rounds nearly", _of_reals(_fast("fast_sqrt"))),),
    "abs": (("the size of a complex number without scaling", _of_pairs(_fast("fast_abs"))),),
    "square": (("the square of a complex number's size as a sum of squares", _squared_size),),
    "power": (("a power as products", _of_reals(_power)),),
    "minimum": (("a minimum of numbers", _of_reals(_fast("fast_minimum"))),),
    "maximum": (("a maximum of numbers", _of_reals(_fast("fast_maximum"))),),
}
"""Rules by op name, each with what it makes, tried in order."""


def relax(graph: Graph, told: Told) -> Graph:
    """The Graph after the rules above, each equation once, in order."""
    builder = Builder()
    return Rewriter(_Rules(graph, builder, told), builder)(graph)
