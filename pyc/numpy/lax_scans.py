"""Running combinations under the names of `jax.lax`: of sums and the like, and by a function.

`cumsum` and its like are single operations, in the documented order (`pyc/ir/order.py`); they keep
the type of their operand. `associative_scan` calls a function on slices of the whole arrays, some
2 log2(n) times, so that what it traces has few operations however long the arrays are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyc import tree
from pyc.errors import ShapeError
from pyc.interpreter import bind1
from pyc.numpy.core import axis_of, part, shape_of, type_text
from pyc.numpy.creation import asarray
from pyc.numpy.manipulation import flip, reshape
from pyc.numpy.pieces import concat, stack
from pyc.numpy.transcendental import logaddexp
from pyc.wrong_arguments import needs_function


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running sums along an axis, first to last or in `reverse`, in the type of the operand."""
    return _running("cumsum", operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running products along an axis, first to last or in `reverse`, in the type of the operand."""
    return _running("cumprod", operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running maxima along an axis, first to last or in `reverse`; NaN stays."""
    return _running("cummax", operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running minima along an axis, first to last or in `reverse`; NaN stays."""
    return _running("cummin", operand, axis, reverse)


def _running(op: str, operand: Any, axis: int, reverse: bool) -> Any:
    x = asarray(operand)
    place = axis_of(op, axis, len(shape_of(x)))
    return bind1(op, x, axis=place, reverse=bool(reverse))


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The logarithm of running sums of e^operand along an axis, without overflow."""
    return associative_scan(logaddexp, asarray(operand), reverse, axis)


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Running combinations of the slices of arrays along an axis, in a tree of them.

    fn: (earlier, later) -> combined, trees like `elems`, an associative function that works on many
    slices at once along `axis`; elems: a tree of arrays, equally long along `axis`; reverse: last
    to first. Returns a tree like `elems`: at each place the combination of the slices up to it.

    raises DTypeError: fn is no function; ShapeError: the arrays differ in length along `axis`, or
    fn gives other shapes
    """
    needs_function("associative_scan", "fn", fn)
    leaves, treedef = tree.flatten(elems)
    arrays = [asarray(x) for x in leaves]
    if not arrays:
        return elems
    places = [axis_of("associative_scan", axis, len(shape_of(x))) for x in arrays]
    turn = [flip(x, k) if reverse else x for x, k in zip(arrays, places, strict=True)]
    lengths = {shape_of(x)[k] for x, k in zip(arrays, places, strict=True)}
    if len(lengths) > 1:
        texts = ", ".join(map(type_text, arrays))
        raise ShapeError(f"associative_scan: lengths along axis {axis} differ: {texts}")

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        result = fn(treedef.unflatten(a), treedef.unflatten(b))
        given, structure = tree.flatten(result)
        if structure != treedef:
            raise ShapeError(
                f"associative_scan: the function gives {structure}, its arguments are {treedef}"
            )
        made = [asarray(x) for x in given]
        for x, y in zip(a, made, strict=True):
            if shape_of(x) != shape_of(y):
                raise ShapeError(
                    f"associative_scan: the function makes {type_text(y)} of {type_text(x)}"
                )
        return made

    found = _scanned(combine, turn, places, lengths.pop())
    back = [flip(x, k) if reverse else x for x, k in zip(found, places, strict=True)]
    return treedef.unflatten(back)


def _scanned(
    combine: Callable[[list[Any], list[Any]], list[Any]],
    arrays: list[Any],
    places: list[int],
    length: int,
) -> list[Any]:
    """Pairs of neighbours are combined and scanned: these are the results at odd places; each with
    its next neighbour is the result at the even place behind it."""
    if length < 2:
        return arrays

    def every_second(items: list[Any], first: int, count: int) -> list[Any]:
        return [_strided(x, k, first, count) for x, k in zip(items, places, strict=True)]

    half, behind = length // 2, (length - 1) // 2
    pairs = combine(every_second(arrays, 0, half), every_second(arrays, 1, half))
    odd = _scanned(combine, pairs, places, half)
    even = [part(x, k, 0, 1) for x, k in zip(arrays, places, strict=True)]
    if behind:
        before = [part(x, k, 0, behind) for x, k in zip(odd, places, strict=True)]
        later = combine(before, every_second(arrays, 2, behind))
        even = [
            concat(two, k) for two, k in zip(zip(even, later, strict=True), places, strict=True)
        ]
    return [_interleaved(x, y, k) for x, y, k in zip(even, odd, places, strict=True)]


def _strided(x: Any, axis: int, first: int, count: int) -> Any:
    """`count` elements along an axis: the one at `first` and every second one after it."""
    shape = shape_of(x)
    return bind1(
        "slice",
        x,
        start=tuple(first if k == axis else 0 for k in range(len(shape))),
        size=tuple(count if k == axis else n for k, n in enumerate(shape)),
        step=tuple(2 if k == axis else 1 for k in range(len(shape))),
    )


def _interleaved(even: Any, odd: Any, axis: int) -> Any:
    """Elements of two arrays along an axis in turn; `even` may have one more."""
    count = shape_of(odd)[axis]
    pairs = stack([part(even, axis, 0, count), odd], axis + 1)
    shape = shape_of(odd)
    found = reshape(pairs, (*shape[:axis], 2 * count, *shape[axis + 1 :]))
    if shape_of(even)[axis] > count:
        found = concat([found, part(even, axis, count, 1)], axis)
    return found
