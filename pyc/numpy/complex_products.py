"""Contractions of complex numbers, as real ones.

An array of complex numbers lies in memory as real ones with an axis of two parts. Where the last
axis of an operand is contracted, so are its parts (k terms are 2 k), with two columns for each of
the other operand's:

    (re im) (  b.re  b.im )        re, im: of a
            ( -b.im  b.re )

and where it is not, its parts are columns, with two rows for each of the other operand's, its real
and its imaginary parts, which meet afterwards. Either way one operand is read as it lies, and
copies are of the other one. Small products are four of the parts.
"""

from __future__ import annotations

from math import prod
from typing import Any

from pyc.frozen import frozen
from pyc.interpreter import bind1
from pyc.ir.ops.contract import Axes, Dimensions, free_axes
from pyc.numpy.core import Shape, at_place, broadcast, shape_of, untransposed
from pyc.numpy.elementwise import add, imag, negative, real, subtract

SMALL = 512
"""Products of complex numbers up to which four contractions are as fast."""
TURNING = 16
"""What an element of the operand costs whose numbers are turned, in elements that are copied."""


@frozen()
class _Form:
    """viewed: the operand that is read as it lies, 0 or 1; terms: whether its parts are terms."""

    viewed: int
    terms: bool


def complex_product(a: Any, b: Any, dimensions: Dimensions, shapes: tuple[Shape, Shape]) -> Any:
    """The contraction of complex arrays, which are broadcast to `shapes` first."""
    sides = [_as_it_lies(x, *rest) for x, *rest in zip((a, b), *dimensions, shapes, strict=True)]
    (_, a_terms, a_batch, a_shape), (_, b_terms, b_batch, b_shape) = sides
    form = _form(((a_terms, b_terms), (a_batch, b_batch)), (a_shape, b_shape))
    if form is None:
        return _by_parts(a, b, dimensions, shapes)
    viewed, (x, terms, batch, shape) = sides[form.viewed], sides[1 - form.viewed]
    whole = (*viewed[3], 2)
    seen = broadcast(bind1("view_as_real", _of_rank(viewed[0], len(viewed[3]))), whole)
    x = _of_rank(x, len(shape))
    last = len(viewed[3])
    if form.terms:
        place = terms[viewed[1].index(last - 1)] + 1
        other, spread = _turned(x, place), (*shape[:place], 2, *shape[place:], 2)
    else:
        place = min(free_axes(len(shape), terms, batch), default=0)
        other, spread = _joined(real(x), imag(x), place), (*shape[:place], 2, *shape[place:])
    other = broadcast(other, spread)
    moved = tuple(k + (k >= place) for k in terms)
    of_batch = tuple(k + (k >= place) for k in batch)
    of_viewed = viewed[1]
    if form.terms:
        moved, of_viewed = (*moved, place), (*of_viewed, last)
    operands = [(seen, of_viewed, viewed[2]), (other, moved, of_batch)]
    (p, p_terms, p_batch), (q, q_terms, q_batch) = operands[:: -1 if form.viewed else 1]
    found = bind1("dot_general", p, q, dimensions=((p_terms, q_terms), (p_batch, q_batch)))
    rows = len(p_batch) + len(free_axes(len(shape_of(p)), p_terms, p_batch))
    rank = len(shape_of(found))
    ends = (rows - 1, rank - 1)  # of the axes that only p has, and only q
    if form.terms:
        along = ends[1 - form.viewed]
        return bind1("complex", at_place(found, along, 0), at_place(found, along, 1))
    parts = ends[form.viewed]
    stacked = len(p_batch) if form.viewed else rows
    re, im = [at_place(found, parts, k) for k in (0, 1)]
    stacked -= stacked > parts
    first = subtract(at_place(re, stacked, 0), at_place(im, stacked, 1))
    return bind1("complex", first, add(at_place(im, stacked, 0), at_place(re, stacked, 1)))


def _form(dimensions: Dimensions, shapes: tuple[Shape, Shape]) -> _Form | None:
    """The form with the fewest copies; None for four real contractions."""
    terms, batch = dimensions
    count = prod(shapes[0][k] for k in terms[0])
    free = [
        prod(shapes[k][i] for i in free_axes(len(shapes[k]), terms[k], batch[k])) for k in (0, 1)
    ]
    size = prod(shapes[0][k] for k in batch[0]) * free[0] * free[1]
    if not terms[0] or size * count <= SMALL:
        return None
    sizes = [prod(shape) for shape in shapes]
    best, least = None, 2 * sum(sizes) + 10 * size
    for viewed in (0, 1):
        last, other = len(shapes[viewed]) - 1, sizes[1 - viewed]
        is_term = last in terms[viewed]
        cost = TURNING * other + 4 * size if is_term else 2 * other + 6 * size
        if last not in batch[viewed] and cost < least:
            best, least = _Form(viewed, is_term), cost
    return best


def _as_it_lies(x: Any, terms: Axes, batch: Axes, shape: Shape) -> tuple[Any, Axes, Axes, Shape]:
    """An operand without the transposition that it is a view by, if the axes that it alone has
    are in the same order without."""
    base, order = untransposed(x)
    if base is x or shape_of(x) != shape:
        return x, terms, batch, shape
    free = [order[k] for k in free_axes(len(shape), terms, batch)]
    if free != sorted(free):
        return x, terms, batch, shape
    return base, tuple(order[k] for k in terms), tuple(order[k] for k in batch), shape_of(base)


def _by_parts(a: Any, b: Any, dimensions: Dimensions, shapes: tuple[Shape, Shape]) -> Any:
    """Four real contractions, of real and imaginary parts."""
    left, right = (
        [broadcast(p, shape) for p in (real(x), imag(x))]
        for x, shape in zip((a, b), shapes, strict=True)
    )
    parts = [[bind1("dot_general", x, y, dimensions=dimensions) for y in right] for x in left]
    re = subtract(parts[0][0], parts[1][1])
    return bind1("complex", re, add(parts[0][1], parts[1][0]))


def _of_rank(x: Any, rank: int) -> Any:
    """`x` with axes of one element in front, to so many."""
    shape = shape_of(x)
    missing = rank - len(shape)
    return bind1("reshape", x, shape=((1,) * missing + shape)) if missing else x


def _turned(x: Any, place: int) -> Any:
    """x as the numbers that parts are multiplied with: an axis of parts at `place`, and one of the
    result's parts at the end."""
    turned = _joined(negative(imag(x)), real(x), len(shape_of(x)))
    return _joined(bind1("view_as_real", x), turned, place)


def _joined(x: Any, y: Any, axis: int) -> Any:
    """Two arrays one behind the other along a new axis."""
    shape = shape_of(x)
    one = (*shape[:axis], 1, *shape[axis:])
    return bind1("concatenate", *(bind1("reshape", z, shape=one) for z in (x, y)), axis=axis)
