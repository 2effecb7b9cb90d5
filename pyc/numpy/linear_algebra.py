"""Products of vectors and matrices. All are contractions (`dot_general`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, AxisError, DTypeError, OptionError, ShapeError
from pyc.numpy import choices
from pyc.numpy.contractions import contract, contract_labelled
from pyc.numpy.core import (
    axis_of,
    broadcast,
    broadcast_shape,
    cast,
    dtype_of,
    integer,
    result_dtype,
    separated,
    shape_of,
    structural,
    to_dtype,
    type_text,
)
from pyc.numpy.creation import asarray
from pyc.numpy.elementwise import conj, multiply, subtract
from pyc.numpy.manipulation import diagonal, permute_dims, ravel, reshape
from pyc.numpy.pieces import stack, unstack
from pyc.numpy.statistics import sum as total

Axes = tuple[int, ...]
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

_LABELS = "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba"
"""Labels that einsum gives to the axes of an ellipsis, the first one that is free."""
_ORDERS = ("greedy", "optimal")


def _same_type(a: Any, b: Any) -> tuple[Any, Any]:
    a, b = asarray(a), asarray(b)
    kind = result_dtype(a, b)
    return cast(a, kind), cast(b, kind)


def matmul(a: Any, b: Any) -> Any:
    """Matrix product over the last axis of `a` and the second-to-last of `b`.

    a: (..., m, k), b: (..., k, n), leading axes broadcast  ->  (..., m, n)
    a line on the left is a row, on the right a column, and its axis is dropped
    dtype: promoted type of a and b; integer inputs accumulate in their own width, bools by or of
    ands
    raises ShapeError: when the two k differ, or an operand has rank 0; names both shapes and the
    user's line; DTypeError: no numbers

    NumPy: `numpy.matmul`.

    >>> matmul([[1, 2], [3, 4]], [[1, 0], [0, 2]])
    array([[1, 4],
           [3, 8]])
    """
    a, b = _same_type(a, b)
    left, right = shape_of(a), shape_of(b)
    if not left or not right:
        raise ShapeError("matmul: an operand has rank 0; use multiply")
    k = left[-1]
    if k != (right[-2] if len(right) > 1 else right[0]):
        raise ShapeError(
            f"matmul: inner dimensions differ: a is {type_text(a)}, b is {type_text(b)}",
            fix=_matmul_fix(left, right),
        )
    if len(left) == 1 or len(right) == 1 or (len(right) == 2 and len(left) >= 2):
        b_axis = max(len(right) - 2, 0)
        if len(left) == 1 and len(right) > 2:
            found = contract(b, a, ((b_axis,), (0,)), ((), ()))
        else:
            found = contract(a, b, ((len(left) - 1,), (b_axis,)), ((), ()))
        return found
    batch = broadcast_shape("matmul", [left[:-2], right[:-2]])
    shapes = (*batch, *left[-2:]), (*batch, *right[-2:])
    n = len(batch)
    axes = tuple(range(n))
    return contract(a, b, ((n + 1,), (n,)), (axes, axes), shapes)


def _matmul_fix(left: Axes, right: Axes) -> str:
    inner = right[-2] if len(right) > 1 else right[0]
    text = f"{left[-1]} must equal {inner}."
    if len(right) > 1 and right[-1] == left[-1]:
        text += " If the right operand is stored transposed, use its `.T`."
    return text


def dot(a: Any, b: Any) -> Any:
    """The sum of products over the last axis of `a` and the second-to-last (or only) axis of `b`.

    a: (..., k), b: (k,) or (..., k, n)  ->  the other axes of a, then those of b; a number
    multiplies
    dtype: the promoted type, as in `matmul`
    raises ShapeError: the two k differ; DTypeError: no numbers

    NumPy: `numpy.dot`.

    >>> dot([[1, 2], [3, 4]], [1, 1])
    array([3, 7])
    """
    a, b = _same_type(a, b)
    left, right = shape_of(a), shape_of(b)
    if not left or not right:
        return multiply(a, b)
    axis = max(len(right) - 2, 0)
    if left[-1] != right[axis]:
        raise ShapeError(
            f"dot: inner dimensions differ: a is {type_text(a)}, b is {type_text(b)}",
            fix=_matmul_fix(left, right),
        )
    return contract(a, b, ((len(left) - 1,), (axis,)), ((), ()))


def vdot(a: Any, b: Any) -> Any:
    """The sum of conj(a) * b over flattened arrays.

    a, b: of any shapes, of as many elements  ->  ()
    dtype: the promoted type, as in `matmul`
    raises ShapeError: other numbers of elements; DTypeError: no numbers

    NumPy: `numpy.vdot`.

    >>> vdot([1, 2], [3, 4])
    np.int64(11)
    """
    a, b = _same_type(a, b)
    return dot(_conjugate(ravel(a)), ravel(b))


def _conjugate(x: Any) -> Any:
    return conj(x) if dtype_of(x).is_complex else x


def inner(a: Any, b: Any) -> Any:
    """The sum of products over the last axes.

    a: (..., k), b: (..., k)  ->  the other axes of a, then those of b; a number multiplies
    dtype: the promoted type, as in `matmul`
    raises ShapeError: the two k differ; DTypeError: no numbers

    NumPy: `numpy.inner`.

    >>> inner([1, 2], [3, 4])
    np.int64(11)
    """
    a, b = _same_type(a, b)
    if not shape_of(a) or not shape_of(b):
        return multiply(a, b)
    return tensordot(a, b, axes=((-1,), (-1,)))


def outer(a: Any, b: Any) -> Any:
    """a[i] * b[j] of flattened arrays.

    a: m elements, b: n elements, of any shapes  ->  (m, n), of the promoted dtype
    raises DTypeError: no numbers

    NumPy: `numpy.outer`.

    >>> outer([1, 2], [3, 4])
    array([[3, 4],
           [6, 8]])
    """
    return multiply(reshape(a, (-1, 1)), reshape(b, (1, -1)))


def vecdot(a: Any, b: Any, axis: int = -1) -> Any:
    """The sum of conj(a) * b over one axis, which must be of one length; the others broadcast.

    a, b: (..., k) for axis -1, or k elsewhere  ->  (...); axis: counted in each of them
    dtype: the promoted type, as in `matmul`
    raises ShapeError: other lengths, an operand of rank 0, or axes that do not broadcast;
    AxisError: no such axis; DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.vecdot`.

    >>> vecdot([[1, 2], [3, 4]], [1, 1])
    array([3, 7])
    """
    a, b = _same_type(a, b)
    if not shape_of(a) or not shape_of(b):
        raise ShapeError(f"vecdot: an operand has rank 0: {type_text(a)}, {type_text(b)}")
    lengths = [shape_of(x)[axis_of("vecdot", axis, len(shape_of(x)))] for x in (a, b)]
    if lengths[0] != lengths[1]:
        raise ShapeError(
            f"vecdot: lengths differ along axis {axis}: {type_text(a)} and {type_text(b)}"
        )
    shape = broadcast_shape("vecdot", [shape_of(a), shape_of(b)])
    a, b = _conjugate(broadcast(a, shape)), broadcast(b, shape)
    place = axis_of("vecdot", choices.integer("vecdot", "an axis", axis), len(shape))
    axes = tuple(k for k in range(len(shape)) if k != place)
    return contract(a, b, ((place,), (place,)), (axes, axes))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The sum of products over pairs of axes: the last n of a and first n of b, or two lists.

    a, b: of any shapes; axes: n, or (axes of a, axes of b), each an axis or a list  ->  the other
    axes of a, then those of b
    dtype: the promoted type, as in `matmul`
    raises ShapeError: axes of other lengths; AxisError: no such axis; ArgumentError: not two lists;
    DTypeError: no numbers, or axes that are no integers

    NumPy: `numpy.tensordot`.

    >>> tensordot([[1, 2], [3, 4]], [[1, 2], [3, 4]], axes=1)
    array([[ 7, 10],
           [15, 22]])
    """
    a, b = _same_type(a, b)
    left, right = shape_of(a), shape_of(b)
    axes = structural(axes)
    if not isinstance(axes, (tuple, list)):
        axes = integer("tensordot", "`axes`", axes)
    if isinstance(axes, int):
        if axes > min(len(left), len(right)):
            raise AxisError(f"tensordot: {axes} axes of {type_text(a)} and {type_text(b)}")
        pairs = (tuple(range(len(left) - axes, len(left))), tuple(range(axes)))
    else:
        if len(axes) != 2:
            raise ArgumentError(f"tensordot: axes are a number or two lists, got {axes}")
        first, second = axes
        lists = [x if isinstance(x, (tuple, list)) else (x,) for x in (first, second)]
        pairs = (
            tuple(axis_of("tensordot", k, len(left)) for k in lists[0]),
            tuple(axis_of("tensordot", k, len(right)) for k in lists[1]),
        )
    if len(pairs[0]) != len(pairs[1]) or any(
        left[i] != right[j] for i, j in zip(*pairs, strict=False)
    ):
        raise ShapeError(
            f"tensordot: axes {pairs[0]} of {type_text(a)} and {pairs[1]} of {type_text(b)} differ"
        )
    if any(len(set(side)) < len(side) for side in pairs):
        raise ShapeError(
            f"tensordot: axes {pairs[0]} of {type_text(a)} and {pairs[1]} of {type_text(b)} have "
            "one twice"
        )
    labels = [chr(k) for k in range(len(left) + len(right))]
    of_a, of_b = labels[: len(left)], labels[len(left) :]
    for i, j in zip(*pairs, strict=True):
        of_b[j] = of_a[i]
    summed = [of_a[i] for i in pairs[0]]
    order = "".join(c for c in (*of_a, *of_b) if c not in summed)
    found, product = contract_labelled("".join(of_a), a, "".join(of_b), b, summed, order)
    return permute_dims(product, tuple(found.index(c) for c in order))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The cross products of vectors of 3 (or 2, in the plane) along the axes `axisa` and `axisb`,
    which become `axisc`; of two vectors in the plane the one component that is not zero. axis: all
    three.

    a, b: (..., 3) or (..., 2), the other axes broadcast  ->  (..., 3), or (...) of two in the plane
    dtype: the promoted type; bools are refused, as they have no difference
    raises ShapeError: other lengths, or axes that do not broadcast; AxisError: no such axis;
    DTypeError: no numbers, or an axis that is no integer

    NumPy: `numpy.cross`.

    >>> cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = asarray(a), asarray(b)
    kind = result_dtype(a, b)
    x, y = (
        unstack(cast(v, kind), axis_of("cross", k, len(shape_of(v))))
        for v, k in ((a, axisa), (b, axisb))
    )
    if not {len(x), len(y)} <= {2, 3}:
        raise ShapeError(f"cross: needs 2 or 3 elements: {type_text(a)}, {type_text(b)}")
    last = _cross_component(x, y, 0, 1)
    if len(x) == len(y) == 2:
        return last
    x, y = (v if len(v) == 3 else (*v, multiply(v[0], 0)) for v in (x, y))
    parts = (_cross_component(x, y, 1, 2), _cross_component(x, y, 2, 0), last)
    return stack(parts, axis_of("cross", axisc, len(shape_of(last)) + 1))


def _cross_component(x: Any, y: Any, i: int, j: int) -> Any:
    return subtract(multiply(x[i], y[j]), multiply(x[j], y[i]))


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: each element of `a` times all of `b`.

    a: (m, n, ...), b: (p, q, ...), of the lower rank with 1 in front  ->  (m p, n q, ...), of the
    promoted dtype
    raises DTypeError: no numbers

    NumPy: `numpy.kron`.

    >>> kron([1, 10], [1, 2])
    array([ 1,  2, 10, 20])
    """
    a, b = _same_type(a, b)
    rank = max(len(shape_of(a)), len(shape_of(b)))
    left = (1,) * (rank - len(shape_of(a))) + shape_of(a)
    right = (1,) * (rank - len(shape_of(b))) + shape_of(b)
    x = reshape(a, tuple(n for s in left for n in (s, 1)))
    y = reshape(b, tuple(n for s in right for n in (1, s)))
    return reshape(multiply(x, y), tuple(m * n for m, n in zip(left, right, strict=True)))


def einsum(
    subscripts: Any,
    *xs: Any,
    optimize: Any = False,
    dtype: Any = None,
    casting: str = "safe",
) -> Any:
    """Einstein summation ("ij,jk->ik", "...ij,...jk->...ik", "ii->i"): pair by pair from the left.

    subscripts: a label for each axis of each of `xs`, and of the result; xs: arrays. A label that
    one operand has twice takes its diagonal; "..." stands for axes that broadcast, as those of
    length 1 do. Of one operand, where nothing is summed, the result is a view, as NumPy's is, and
    has its type.
    Labels may also be given as lists of integers, one behind each operand, and one for the result.
    optimize: True, "greedy", "optimal" or a path for another order of pairs, as NumPy finds it;
    dtype: of the operands and the result, if `casting` allows it; by default the promoted type
    raises ShapeError: labels that do not fit; DTypeError: a conversion that is not allowed, or no
    numbers; ArgumentError: another `optimize` or `casting`

    NumPy: `numpy.einsum`.

    >>> einsum("ij,jk", [[1, 2], [3, 4]], [[1, 0], [0, 1]])
    array([[1, 2],
           [3, 4]])
    """
    casting = choices.casting("einsum", casting)
    optimize = structural(optimize)
    is_path = isinstance(optimize, (tuple, list))
    if not (is_path or isinstance(optimize, bool)) and optimize not in (*_ORDERS, None):
        raise OptionError(
            f"einsum: optimize must be a bool, 'greedy', 'optimal' or a path, got {optimize!r}"
        )
    if not isinstance(subscripts, str):
        subscripts, xs = _spelled((subscripts, *xs))
    values = [asarray(x) for x in xs]
    labels, output = _subscripts(subscripts, values)
    is_view = len(values) == 1 and set(labels[0]) == set(output)
    # A view has the type of the array, whatever is asked for.
    dtype = None if is_view else dtype
    kind = result_dtype(*values) if dtype is None else to_dtype(dtype)
    for x in values if dtype is not None else ():
        if not np.can_cast(dtype_of(x).numpy, kind.numpy, casting):  # type: ignore[arg-type]
            raise DTypeError(
                f"einsum: casting={casting!r} does not allow {dtype_of(x)} to {kind}",
                fix="Write `casting='unsafe'` if that is meant.",
            )
    taken = [_diagonals(name, cast(x, kind)) for name, x in zip(labels, values, strict=True)]
    sizes: dict[str, int] = {}
    for name, x in taken:
        for c, n in zip(name, shape_of(x), strict=True):
            if sizes.setdefault(c, n) not in (n, 1) and n != 1:
                found = ", ".join(map(type_text, values))
                raise ShapeError(f"einsum: {subscripts!r}: sizes {sizes[c]} and {n} of {found}")
            sizes[c] = n if sizes[c] == 1 else sizes[c]
    items = [(name, _stretched(name, x, sizes)) for name, x in taken]
    path: Any = [tuple(range(len(items)))]
    if is_path or (optimize and len(items) > 2):
        try:
            asked = contraction_path(subscripts, values, optimize)[0][1:]
        except (TypeError, RuntimeError) as error:
            raise OptionError(f"einsum: `optimize` is no path: {error}") from None
        path = asked if len(items) > 2 else path
    for places in path:
        chosen = [items.pop(k) for k in sorted(places, reverse=True)][::-1]
        current, result = chosen[0]
        for position in range(1, len(chosen)):
            following, x = chosen[position]
            rest = (*items, *chosen[position + 1 :])
            later = set(output).union(*(name for name, _ in rest))
            current, result = _pair(current, result, following, x, later, output)
        items.append((current, result))
    found = _finish(*items[0], output)
    return found if is_view and output else separated(found, xs)


def _spelled(given: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """Subscripts as a text, of operands with lists of integers behind them; ShapeError: one that is
    no number of a label."""
    count = len(given) // 2
    texts = []
    for each in (*given[1 : 2 * count : 2], *given[2 * count :]):
        items = each if hasattr(each, "__iter__") else [each]
        labels = [k if k is Ellipsis else structural(k) for k in items]
        if not all(k is Ellipsis or (type(k) is int and 0 <= k < len(_LABELS)) for k in labels):
            raise ShapeError(f"einsum: axes are numbered from 0 to 51, or `...`, got {labels}")
        texts.append("".join("..." if k is Ellipsis else _LABELS[::-1][k] for k in labels))
    joined = ",".join(texts[:count])
    return "->".join([joined, *texts[count:]]), tuple(given[: 2 * count : 2])


def contraction_path(subscripts: Any, operands: Sequence[Any], optimize: Any) -> tuple[Any, str]:
    """The order of pairs that NumPy finds for arrays of these shapes, and what it says of it."""
    if not isinstance(subscripts, str):
        subscripts, operands = _spelled((subscripts, *operands))
    empty = [np.broadcast_to(np.int8(0), shape_of(asarray(x))) for x in operands]
    return np.einsum_path(subscripts, *empty, optimize=optimize)


def _subscripts(subscripts: str, values: Sequence[Any]) -> tuple[list[str], str]:
    """The labels of each operand's axes and of the result's, "..." spelled out in capitals that are
    free."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    names = inputs.split(",")
    if len(names) != len(values):
        raise ShapeError(f"einsum: {subscripts!r} names {len(names)} operands, got {len(values)}")
    free = [c for c in _LABELS if c not in subscripts]
    extra = [len(shape_of(x)) - len(n.replace("...", "")) for n, x in zip(names, values)]
    most = max((e for n, e in zip(names, extra) if "..." in n), default=0)
    spelled = []
    for name, x, rank in zip(names, values, extra, strict=True):
        dots = "".join(free[most - rank : most]) if rank > 0 else ""
        full = name.replace("...", dots)
        if len(full) != len(shape_of(x)) or (not full.isalpha() and full):
            raise ShapeError(f"einsum: {name!r} does not label the axes of {type_text(x)}")
        spelled.append(full)
    every = "".join(free[:most])
    if arrow:
        return spelled, output.replace("...", every)
    joined = "".join(spelled)
    once = sorted(c for c in set(joined) - set(every) if joined.count(c) == 1)
    return spelled, every + "".join(once)


def _diagonals(name: str, x: Any) -> tuple[str, Any]:
    """The operand with each label once: the diagonal of axes that share one."""
    while len(set(name)) != len(name):
        label = next(c for c in name if name.count(c) > 1)
        first = name.index(label)
        second = name.index(label, first + 1)
        if shape_of(x)[first] != shape_of(x)[second]:
            raise ShapeError(f"einsum: axes {label!r} of {type_text(x)} differ in size")
        x = diagonal(x, 0, first, second)
        name = name[:first] + name[first + 1 : second] + name[second + 1 :] + label
    return name, x


def _stretched(name: str, x: Any, sizes: dict[str, int]) -> Any:
    return broadcast(x, tuple(sizes[c] for c in name))


def _pair(left: str, a: Any, right: str, b: Any, later: set[str], wanted: str) -> tuple[str, Any]:
    """The product of two operands, summed over what is not in `later`; see `contract_labelled`."""
    summed = [c for c in left if c in right and c not in later]
    for c in [c for c in left if c not in right and c not in later]:
        a, left = _summed(a, left, c)
    for c in [c for c in right if c not in left and c not in later]:
        b, right = _summed(b, right, c)

    return contract_labelled(left, a, right, b, summed, wanted)


def _summed(x: Any, names: str, label: str) -> tuple[Any, str]:
    axis = names.index(label)
    return total(x, axis, dtype_of(x).numpy), names[:axis] + names[axis + 1 :]


def _finish(names: str, x: Any, output: str) -> Any:
    for c in [c for c in names if c not in output]:
        x, names = _summed(x, names, c)
    if sorted(names) != sorted(output):
        raise ShapeError(f"einsum: the result {output!r} has labels that no operand has")
    return permute_dims(x, tuple(names.index(c) for c in output)) if output else x
