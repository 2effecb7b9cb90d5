"""NumPy functions that write into their first argument: `np.put` and its kin.

A traced array is changed as an assignment changes it, for every alias; a NumPy array outside of a
trace by NumPy itself. An `Array` is immutable, and a NumPy array in a trace holds elements: both
are refused with what to write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.array import Array
from pyc.errors import DTypeError, TraceError, UnsupportedOpError
from pyc.interpreter import is_concrete, is_tracing
from pyc.numpy import choices
from pyc.trace import location, updating

__all__ = [
    "copyto",
    "fill_diagonal",
    "place",
    "put",
    "put_along_axis",
    "putmask",
]

_REWRITE = "`x.at[index].set(values)`, `pyc.numpy.where`"


def change(array: Any, new: Any, what: str) -> None:
    """Changes a traced array in place; TraceError for a NumPy array, which holds elements, and
    UnsupportedOpError for an `Array`, or if there is no trace."""
    if is_concrete(array):
        if not is_tracing():
            raise UnsupportedOpError(
                f"{what} would write an array on a device into a NumPy array in place",
                fix="Use what the function returns: `y = np.add(x, 1)`, `a = a + x`; or copy it: "
                "`a[...] = np.asarray(x)`.",
                place=location.here(),
            )
        raise TraceError(
            f"{what} would write traced values into a NumPy array in place",
            fix="Make the array with `pyc.numpy` (`zeros`, `full`, ...), or make a new one: "
            "`x.at[index].set(values)`, `pyc.numpy.where`.",
            place=location.here(),
        )
    if not hasattr(array, "change"):
        raise DTypeError(
            f"{what} changes an array, this is a {type(array).__name__}",
            fix="Make an array of it: `np.array(x)`.",
            place=location.here(),
        )
    array.change(new, what, _REWRITE)


def _changed(function: Callable[..., Any], array: Any, given: Any, new: Callable[[], Any]) -> None:
    """Changes `array` as NumPy's function does, which gets `given` behind it; `new`: makes the
    elements of a traced array afterwards."""
    what = f"np.{function.__name__}"
    if type(array) is np.ndarray and not is_tracing():
        function(array, *(np.asarray(x) if type(x) is Array else x for x in given))
    else:
        is_traced = not is_concrete(array) and type(array) is not Array
        change(array, new() if is_traced else None, what)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """`dst` becomes `src`, broadcast to it, where `where` holds.

    dst: any shape and dtype, which it keeps; where: bool, broadcasts to it; casting: any rule of
    NumPy's for a traced `dst`. A NumPy array outside of a trace is changed by NumPy, with NumPy's
    errors.
    raises DTypeError: `casting` does not lead from one dtype to the other, or dst is no array;
    ShapeError: no fit; OptionError, ArgumentError: an unknown casting, or a mask that is not of
    bools; UnsupportedOpError: `dst` is an `Array`

    NumPy: `numpy.copyto`.

    >>> a = np.zeros(2)
    >>> copyto(a, 3)
    >>> a.tolist()
    [3.0, 3.0]
    """
    if type(dst) is np.ndarray and not is_tracing():
        source, mask = (np.asarray(x) if type(x) is Array else x for x in (src, where))
        np.copyto(dst, source, casting, mask)  # type: ignore[arg-type]
        return
    choices.casting("np.copyto", casting)
    _changed(np.copyto, dst, (), lambda: updating.copied_to(dst, src, where, casting))


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """The elements at the places `ind` of the flattened array become `v`, repeated or cut.

    a: any shape and dtype, which it keeps; ind: integers of any shape; mode: "raise", "clip" or
    "wrap" for places that there are not. A NumPy array outside of a trace is changed by NumPy, with
    NumPy's errors.
    raises IndexOutOfRangeError: a place that there is not, with mode "raise"; IndexTypeError:
    places that are no integers; ArgumentError: another mode; DTypeError: `a` is no array, or no
    numbers; UnsupportedOpError: `a` is an `Array`

    NumPy: `numpy.put`.

    >>> a = np.zeros(3)
    >>> put(a, [0, 2], 1)
    >>> a.tolist()
    [1.0, 0.0, 1.0]
    """
    _changed(np.put, a, (ind, v, mode), lambda: updating.with_put(a, ind, v, mode))


def putmask(a: Any, mask: Any, values: Any) -> None:
    """The elements under a mask become those of `values`, repeated or cut, at their places.

    a: any shape and dtype, which it keeps; mask: of as many elements. A NumPy array outside of a
    trace is changed by NumPy, with NumPy's errors.
    raises ShapeError: a mask of another size; DTypeError: `a` is no array, or values that its dtype
    does not hold; UnsupportedOpError: `a` is an `Array`

    NumPy: `numpy.putmask`.

    >>> a = np.zeros(3)
    >>> putmask(a, np.array([True, False, True]), [1, 2, 3])
    >>> a.tolist()
    [1.0, 0.0, 3.0]
    """
    _changed(np.putmask, a, (mask, values), lambda: updating.with_mask_put(a, mask, values))


def place(arr: Any, mask: Any, vals: Any) -> None:
    """The elements under a mask become `vals`, one after the other, repeated or cut.

    arr: any shape and dtype, which it keeps; mask: of as many elements. A NumPy array outside of a
    trace is changed by NumPy, with NumPy's errors.
    raises ArgumentError: places and no values; ShapeError: a mask of another size; DTypeError:
    `arr` is no array, or values that its dtype does not hold; UnsupportedOpError: `arr` is an
    `Array`

    NumPy: `numpy.place`.

    >>> a = np.zeros(3)
    >>> place(a, np.array([True, False, True]), [1, 2])
    >>> a.tolist()
    [1.0, 0.0, 2.0]
    """
    _changed(np.place, arr, (mask, vals), lambda: updating.with_placed(arr, mask, vals))


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """The main diagonal of a matrix, or of an array whose axes have one length, becomes `val`,
    repeated or cut. wrap: in a tall matrix it begins again below the square.

    a: (m, n) or (n, n, n, ...), of any dtype, which it keeps. A NumPy array outside of a trace is
    changed by NumPy, with NumPy's errors.
    raises ShapeError: an array that is neither; DTypeError: `a` is no array, or no numbers;
    UnsupportedOpError: `a` is an `Array`

    NumPy: `numpy.fill_diagonal`.

    >>> a = np.zeros((2, 2))
    >>> fill_diagonal(a, 1)
    >>> a.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    _changed(np.fill_diagonal, a, (val, wrap), lambda: updating.with_diagonal(a, val, wrap))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """The elements at `indices` along an axis (of the flattened array if None) become `values`.

    arr: (..., n, ...), of any dtype, which it keeps; indices: (..., m, ...), integers, counted from
    the end if negative; values: broadcast to them. A NumPy array outside of a trace is changed by
    NumPy, with NumPy's errors.
    raises IndexOutOfRangeError: an index that there is not; IndexTypeError: indices that are no
    integers; ShapeError: other ranks, or no fit; AxisError: no such axis; DTypeError: `arr` is no
    array, no numbers, or an axis that is no integer; UnsupportedOpError: `arr` is an `Array`

    NumPy: `numpy.put_along_axis`.

    >>> a = np.zeros((2, 2))
    >>> put_along_axis(a, np.array([[1], [0]]), 5, 1)
    >>> a.tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    _changed(
        np.put_along_axis,
        arr,
        (indices, values, axis),
        lambda: updating.with_elements(arr, indices, values, axis),
    )
