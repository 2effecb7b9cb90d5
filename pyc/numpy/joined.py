"""`r_` and `c_`: arrays, numbers and ranges written as an index, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.errors import ArgumentError, ConcretizationError, UnsupportedOpError
from pyc.interpreter import is_number
from pyc.numpy.core import cast, constant, literal, result_dtype, shape_of, structural, value
from pyc.numpy.creation import arange, array, asarray
from pyc.numpy.manipulation import permute_dims, swapaxes
from pyc.numpy.pieces import concat

__all__ = ["c_", "r_"]


class Joined:
    """Pieces in a row: arrays, numbers, and ranges as slices (`start:stop:step`, or `start:stop:nj`
    for n numbers up to and with stop). A text before them says along which axis ("0"), how many
    axes they have at least ("0,2"), and which axis is the first of those they had ("0,2,0")."""

    def __init__(self, name: str, axis: int, rank: int, place: int, doc: str) -> None:
        self._name = name
        self._form = axis, rank, place
        self.__doc__ = doc

    def __repr__(self) -> str:
        return f"pyc.numpy.{self._name}"

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        pieces = list(key) if isinstance(key, tuple) else [key]
        form = self._form
        if pieces and isinstance(pieces[0], str):
            form = self._asked(pieces.pop(0))
        if any(isinstance(piece, str) for piece in pieces):
            raise ArgumentError(
                f"{self._name}: a text comes first, before all pieces",
                fix="Write it there: `np.r_['0,2', a, b]`.",
            )
        axis, rank, place = form
        given = [self._range(p) if isinstance(p, slice) else value(p) for p in pieces]
        kind = result_dtype(*given)
        ranges = [isinstance(p, slice) for p in pieces]
        typed = [literal(x, kind) if is_number(x) else cast(asarray(x), kind) for x in given]
        arrays = [self._wide(*item, rank, place) for item in zip(typed, ranges, strict=True)]
        return concat(arrays, axis)

    def _asked(self, text: str) -> tuple[int, int, int]:
        if text in ("r", "c"):
            raise UnsupportedOpError(
                f"{self._name}: {text!r} makes a matrix", fix="Write `np.r_['0,2', a, b]`."
            )
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 3:
            raise ArgumentError(
                f"{self._name}: {text!r} says nothing of the axes",
                fix="Write the axis, how many there are, and which is the first: '0,2,0'.",
            )
        _, rank, place = self._form
        return numbers[0], (*numbers[1:2], rank)[0], (*numbers[2:3], place)[0]

    def _range(self, piece: slice) -> Any:
        given = (piece.start, piece.stop, piece.step)
        bounds = tuple(None if b is None else structural(b) for b in given)
        if not all(b is None or is_number(b) for b in bounds):
            raise ConcretizationError(
                f"{self._name}: a range with a traced bound has a length that depends on data",
                fix="Use a bound that is known: `x.shape[0]`, or a static argument.",
            )
        start, stop, step = bounds
        if isinstance(step, complex):
            return constant(np.r_[slice(*bounds)])
        return arange(start or 0, stop, 1 if step is None else step)

    def _wide(self, x: Any, is_range: bool, rank: int, place: int) -> Any:
        before = len(shape_of(x))
        found = array(x, ndmin=max(rank, 1))
        if place == -1 or before >= rank:
            return found
        if is_range:
            return swapaxes(found, -1, place)
        new = rank - before
        first = place if place >= 0 else place + new + 1
        axes = list(range(rank))
        return permute_dims(found, (*axes[:first], *axes[new:], *axes[first:new]))


r_ = Joined(
    "r_",
    0,
    1,
    -1,
    """Arrays, numbers and ranges in a row: `r_[x, 0, 1:3]`. NumPy: `numpy.r_`.

    >>> r_[[1, 2], 0, 3:5].tolist()
    [1, 2, 0, 3, 4]
    """,
)
c_ = Joined(
    "c_",
    -1,
    2,
    0,
    """Lines as columns, side by side: `c_[x, y]`. NumPy: `numpy.c_`.

    >>> c_[[1, 2], [3, 4]].tolist()
    [[1, 3], [2, 4]]
    """,
)
