"""Contractions of arrays whose axes have labels, as the products of matrices that nests multiply.

    ("mk", a), ("bkn", b), summed k, wanted "bmn"    is    a, the same for all b, @ b

A product of matrices has one axis of rows, one of columns and one of terms, or several that are
neighbours wherever they stand (`kernels/merged.py`), and a result with the columns last. Other
contractions are brought into that form: an axis that only one operand has is one of a batch, for
all of which the other one is the same; operands change sides where the result ends with rows; terms
that are no neighbours become so in a copy of one operand, and rows and columns where the products
would be small. What is left to the generic kernel: integers, and results that end with an axis of
both operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from pyc.frozen import frozen
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.numpy.complex_products import complex_product
from pyc.numpy.core import Shape, broadcast, cast, dtype_of, literal, shape_of
from pyc.numpy.manipulation import permute_dims

Axes = tuple[int, ...]

LANES = 8
FEW = 6
"""Columns up to which vectors are of terms that are neighbours (`kernels/few_columns.py`)."""
FEWEST_ROWS = 4
"""Rows from which a matrix is packed whose terms are neighbours (`kernels/matmul.py`)."""
LATENCY = 8
LOAD = 1 / 4
MEETING = 1.5
PACKING = 2.0
GENERIC = 8.0
STORE = 2.0
START = 100.0
MOVING = 1.5
TURNING = 3.0
"""What `_cost` reckons with, in vectors of products: vectors that are under way at once, a load,
the meeting of partial sums, an element that is packed, how much slower the generic kernel is, a
vector that is stored, the start of a product or copy, an element that is copied, and one whose
neighbours are not."""


def contract(
    a: Any,
    b: Any,
    contract: tuple[Axes, Axes],
    batch: tuple[Axes, Axes],
    shapes: tuple[Shape, Shape] | None = None,
) -> Any:
    """The contraction of arrays of one type; bools by or of ands, complex numbers by parts. shapes:
    what the operands are broadcast to first."""
    kind = dtype_of(a)
    dimensions = (contract, batch)
    of_a, of_b = (shape_of(a), shape_of(b)) if shapes is None else shapes
    if any(of_a[k] == 0 for k in contract[0]):
        free = [
            [n for k, n in enumerate(shape) if k not in contract[i] + batch[i]]
            for i, shape in enumerate((of_a, of_b))
        ]
        shape = (*(of_a[k] for k in batch[0]), *free[0], *free[1])
        return broadcast(literal(0, kind), shape)

    def product(x: Any, y: Any) -> Any:
        x, y = broadcast(x, of_a), broadcast(y, of_b)
        return bind1("dot_general", x, y, dimensions=dimensions)

    if kind is dt.b1:
        return cast(product(cast(a, dt.i64), cast(b, dt.i64)), dt.b1)
    if kind.is_complex:
        return complex_product(a, b, dimensions, (of_a, of_b))
    return product(a, b)


def contract_labelled(
    left: str, a: Any, right: str, b: Any, summed: Sequence[str], wanted: str = ""
) -> tuple[str, Any]:
    """The contraction over the labels `summed`, and the labels of its axes. left, right: those of
    the operands' axes, each once; a label of both that is not summed is one of the result. wanted:
    the order that the result is for, which it need not have."""
    batch = [c for c in left if c in right and c not in summed]
    rows = [c for c in left if c not in right]
    columns = [c for c in right if c not in left]
    names = "".join([*batch, *rows, *columns])
    target = wanted if sorted(wanted) == sorted(names) else names
    kind = dtype_of(a)
    is_product = summed and rows and columns and (kind.is_float or kind.is_complex)
    if not is_product or target[-1] in batch:
        return names, _dot(left, a, right, b, summed, batch)
    left, a, right, b, terms = _with_terms_together(left, a, right, b, summed, target)
    sizes = dict(zip((*left, *right), (*shape_of(a), *shape_of(b)), strict=True))
    form = _form(left, right, terms, target, sizes)
    if form.turned:
        left, a, right, b = right, b, left, a
    if form.copied[0]:
        left, a = _copied(left, a, terms, target, right)
    if form.copied[1]:
        right, b = _copied(right, b, terms, target, left)
    return form.order, _dot(left, a, right, b, terms, form.outer, sizes)


@frozen()
class _Form:
    """A contraction as products of matrices. turned: the operands change sides; rows, columns:
    their labels; outer: those of the batch; copied: which operands have their own axes moved
    together."""

    turned: bool
    rows: str
    columns: str
    outer: str
    copied: tuple[bool, bool]

    @property
    def order(self) -> str:
        """The labels of the result."""
        return self.outer + self.rows + self.columns


def _form(left: str, right: str, terms: str, target: str, sizes: Mapping[str, int]) -> _Form:
    """The quickest form, by what `_cost` reckons."""
    forms = []
    for turned, one, two in ((False, left, right), (True, right, left)):
        rows = _choices([c for c in one if c not in two], one, target)
        columns = _choices([c for c in two if c not in one], two, target)
        for run, moved in rows:
            for other, too in columns:
                outer = "".join(c for c in target if c not in run and c not in other)
                forms.append(_Form(turned, run, other, outer, (moved, too)))
    if len(forms) == 2 and forms[0].order == target:
        return forms[0]
    return min(forms, key=lambda form: _cost(form, left, right, terms, target, sizes))


def _choices(free: Sequence[str], names: str, target: str) -> list[tuple[str, bool]]:
    """The labels that may be the rows of an operand; whether a copy must bring them together."""
    runs = _runs(free, names, target)
    if len(runs) == 1:
        return [(runs[0], False)]
    whole = _runs(free, names)
    if len(whole) == 1:
        return [*((run, False) for run in runs), (whole[0], False)]
    return [*((run, False) for run in runs), ("".join(c for c in target if c in free), True)]


def _cost(
    form: _Form, left: str, right: str, terms: str, target: str, sizes: Mapping[str, int]
) -> float:
    """About what a form takes on a CPU, in vectors of 8 products. It need not be right: it keeps
    small products from being the parts of a large one, and large results from being moved."""

    def size(names: str) -> int:
        return prod(sizes[c] for c in names)

    one, two = (right, left) if form.turned else (left, right)
    m, n, k, count = size(form.rows), size(form.columns), size(terms), size(form.outer)
    vectors = -(-n // LANES)
    if n <= FEW and one[-1] in terms:
        product = m * n * (k / LANES + MEETING)
    else:
        product = max(m * vectors + (m + vectors) * LOAD, LATENCY) * k
        if two[-1] in terms:
            product = product * GENERIC if m < FEWEST_ROWS else product + PACKING * n * k
    total = count * (product + STORE * m * vectors + START)
    for names, moved in zip((one, two), form.copied, strict=True):
        total += moved * (START + MOVING * size(names))
    if form.order != target:
        total += START + size(target) * (MOVING if form.order[-1] == target[-1] else TURNING)
    return total


def _dot(
    left: str,
    a: Any,
    right: str,
    b: Any,
    summed: Sequence[str],
    batch: Sequence[str],
    sizes: Mapping[str, int] | None = None,
) -> Any:
    """The contraction whose batch axes have these labels. An operand that has not all of them is
    the same along those; sizes: of these."""
    sides = []
    shapes = []
    for names, x, others in ((left, a, right), (right, b, left)):
        absent = [c for c in batch if c not in names and c in others]
        full = "".join(absent) + names
        shapes.append((*(sizes[c] for c in absent if sizes is not None), *shape_of(x)))
        sides.append([tuple(full.index(c) for c in group) for group in (summed, batch)])
    (a_terms, a_batch), (b_terms, b_batch) = sides
    return contract(a, b, (a_terms, b_terms), (a_batch, b_batch), (shapes[0], shapes[1]))


def _runs(labels: Sequence[str], *orders: str) -> list[str]:
    """Labels cut where they are not neighbours in each of the orders, in that of the first."""
    runs: list[str] = []
    for c in (c for c in orders[0] if c in labels):
        if runs and all(order.find(runs[-1] + c) >= 0 for order in orders):
            runs[-1] += c
        else:
            runs.append(c)
    return runs


def _with_terms_together(
    left: str, a: Any, right: str, b: Any, summed: Sequence[str], target: str
) -> tuple[str, Any, str, Any, str]:
    """Operands in which the summed axes are neighbours, in one order, which is the last: of two
    that could be copied the smaller one is."""
    runs = _runs(summed, left, right)
    if len(runs) == 1:
        return left, a, right, b, runs[0]
    sizes = [prod(shape_of(x)) for x in (a, b)]
    orders = ["".join(c for c in names if c in summed) for names in (left, right)]
    stays = [k for k, names in enumerate((left, right)) if orders[k] in names]
    order = orders[max(stays, key=lambda k: sizes[k])] if stays else orders[1]
    first, second = left, right
    if order not in left:
        first, a = _copied(left, a, order, target, right)
    if order not in right:
        second, b = _copied(right, b, order, target, left)
    return first, a, second, b, order


def _copied(names: str, x: Any, terms: str, target: str, other: str) -> tuple[str, Any]:
    """An operand whose terms are together, and its own axes in the order of the result: these last
    if its last axis is one of them. other: the labels of the other operand."""
    batch = [c for c in target if c in names and c in other]
    free = [c for c in target if c in names and c not in other]
    order = "".join([*batch, *free, *terms] if names[-1] in terms else [*batch, *terms, *free])
    return order, permute_dims(x, tuple(names.index(c) for c in order))
