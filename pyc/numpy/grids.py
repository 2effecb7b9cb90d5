"""Grids and tables of places: what NumPy makes of sizes and ranges alone.

Sizes and bounds decide shapes, so they must be known: Python's numbers, shapes, static arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.errors import ConcretizationError, DTypeError, ShapeError
from pyc.interpreter import is_number, is_tracing
from pyc.ir import dtype as dt
from pyc.numpy.core import constant, dtype_of, integer, shape_of, structural, to_shape, type_text
from pyc.numpy.creation import arange, asarray, iota, meshgrid
from pyc.numpy.elementwise import subtract
from pyc.numpy.indexing import gather
from pyc.numpy.manipulation import reshape
from pyc.numpy.pieces import stack
from pyc.numpy.sorting import nonzero, searchsorted
from pyc.wrong_arguments import needs_function

__all__ = [
    "diag_indices",
    "ix_",
    "mask_indices",
    "mgrid",
    "ogrid",
    "tril_indices",
    "triu_indices",
]


class Grid:
    """Coordinates of the points of a grid, by slices: `start:stop:step`, or `start:stop:nj` for n
    points up to and with `stop`."""

    def __init__(self, name: str, doc: str) -> None:
        self._name = name
        self.__doc__ = doc

    def __repr__(self) -> str:
        return f"pyc.numpy.{self._name}"

    def __getitem__(self, key: Any) -> Any:
        slices = key if isinstance(key, tuple) else (key,)
        lines = [np.r_[slice(*self._bounds(s))] for s in slices]
        if not isinstance(key, tuple):
            return constant(lines[0])
        if self._name == "mgrid":
            common = np.result_type(*lines)
            axes = [constant(line.astype(common)) for line in lines]
            return stack(meshgrid(*axes, indexing="ij"))
        ranks = range(len(lines))
        return tuple(
            constant(line.reshape([-1 if k == n else 1 for n in ranks]))
            for k, line in enumerate(lines)
        )

    def _bounds(self, s: Any) -> tuple[Any, ...]:
        if not isinstance(s, slice):
            raise DTypeError(f"{self._name}: a grid is made of slices, got {s!r}")
        bounds = tuple(None if b is None else structural(b) for b in (s.start, s.stop, s.step))
        if not all(b is None or is_number(b) for b in bounds):
            raise ConcretizationError(
                f"{self._name}: a traced bound makes a shape that depends on data",
                fix="Use a size that is known: `x.shape[0]`, or a static argument.",
            )
        return bounds


mgrid = Grid(
    "mgrid",
    """The coordinates of a grid as one array, (rank, *shape): `mgrid[0:3, 0:2]`; of one slice a
    line. NumPy: `numpy.mgrid`.

    >>> mgrid[0:2, 0:3].shape
    (2, 2, 3)
    """,
)
ogrid = Grid(
    "ogrid",
    """The coordinates of a grid as one array for each axis, of extent 1 along the others; of one
    slice a line. NumPy: `numpy.ogrid`.

    >>> [x.shape for x in ogrid[0:2, 0:3]]
    [(2, 1), (1, 3)]
    """,
)


def _known(name: str, *numbers: Any) -> list[Any]:
    found = [n if n is None else structural(n) for n in numbers]
    if any(hasattr(n, "type") for n in found):
        raise ConcretizationError(
            f"{name}: sizes and diagonals are integers that are known while tracing",
            fix="Pass them as Python integers, or make them static arguments.",
        )
    return [n if n is None else integer(name, "a size or diagonal", n) for n in found]


_SMALL = 64 * 1024
"""Bytes of a table that is written out in a program; larger ones are computed there."""


def _places(counts: Any, firsts: Any) -> tuple[Any, Any]:
    """The rows and columns of a matrix of which each row has `counts` places from `firsts` on."""
    total = int(counts.sum())
    if not is_tracing() or total * 8 <= _SMALL:
        rows = np.repeat(np.arange(counts.size), counts)
        starts = np.cumsum(counts) - counts - firsts
        return constant(rows), constant(np.arange(total) - starts[rows])
    place = iota((total,), 0, dt.i64)
    rows = searchsorted(constant(np.cumsum(counts)), place, "right")
    return rows, subtract(place, gather(constant(np.cumsum(counts) - counts - firsts), rows))


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The places of the main diagonal of an array of `ndim` axes of length n.

    n, ndim: int  ->  ndim times (n,), int64
    raises ConcretizationError: a number is traced; DTypeError: one is no integer

    NumPy: `numpy.diag_indices`.

    >>> [x.tolist() for x in diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    size, rank = _known("diag_indices", n, ndim)
    rank = integer("diag_indices", "`ndim`", rank)
    line = arange(integer("diag_indices", "the length", size))
    return tuple(line for _ in range(rank))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, ...]:
    """The places of an (n, m) matrix (n by n if m is None) on and below its diagonal `k`, row by
    row.

    n, k, m: int  ->  two arrays of one length, the rows and the columns, int64
    raises ConcretizationError: a number is traced; DTypeError: one is no integer

    NumPy: `numpy.tril_indices`.

    >>> [x.tolist() for x in tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, diagonal, columns = _known("tril_indices", n, k, m)
    ends = np.arange(rows) + diagonal + 1
    counts = np.clip(ends, 0, max(rows if columns is None else columns, 0))
    return _places(counts, np.zeros_like(counts))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, ...]:
    """The places of an (n, m) matrix (n by n if m is None) on and above its diagonal `k`, row by
    row.

    n, k, m: int  ->  two arrays of one length, the rows and the columns, int64
    raises ConcretizationError: a number is traced; DTypeError: one is no integer

    NumPy: `numpy.triu_indices`.

    >>> [x.tolist() for x in triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    rows, diagonal, columns = _known("triu_indices", n, k, m)
    width = rows if columns is None else columns
    firsts = np.clip(np.arange(rows) + diagonal, 0, width)
    return _places(width - firsts, firsts)


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Any, ...]:
    """The places of an (n, n) matrix where `mask_func(ones, k)`, such as `triu`, is not zero.

    n: int; k: what the function takes; ones: (n, n), int64  ->  two arrays of one length, the rows
    and the columns, int64
    raises ConcretizationError: n is traced, or the mask depends on traced values; ShapeError: n <
    0, or a mask of rank 0; DTypeError: n is no integer, the mask no array, or made by no function

    NumPy: `numpy.mask_indices`.

    >>> [x.tolist() for x in mask_indices(2, np.tril)]
    [[0, 1, 1], [0, 0, 1]]
    """
    (size,) = _known("mask_indices", n)
    needs_function("mask_indices", "mask_func", mask_func)
    ones = np.ones(to_shape("mask_indices", (size, size)), np.int64)
    found: tuple[Any, ...] = nonzero(mask_func(constant(ones), k))
    return found


def ix_(*args: Any) -> tuple[Any, ...]:
    """Lines of places as an index of their cross product: each along an axis of its own.

    args: k lines (n,)  ->  k arrays of rank k, of their dtypes, n along one axis and 1 along the
    others. A line of bools is the places that it selects, int64, and must be known.
    raises ShapeError: an argument that is no line; ConcretizationError: traced bools; DTypeError:
    no numbers

    NumPy: `numpy.ix_`.

    >>> [x.shape for x in ix_([0, 1], [2, 3, 4])]
    [(2, 1), (1, 3)]
    """
    found = []
    for k, each in enumerate(args):
        line = asarray(each)
        if len(shape_of(line)) != 1:
            raise ShapeError(f"ix_: needs lines, got {type_text(line)}")
        if not shape_of(line)[0] and not hasattr(each, "dtype"):
            line = constant(np.empty(0, np.int64))
        if dtype_of(line) is dt.b1:
            (line,) = nonzero(line)
        ones = [1] * len(args)
        ones[k] = shape_of(line)[0]
        found.append(reshape(line, tuple(ones)))
    return tuple(found)
