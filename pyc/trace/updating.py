"""Changes of traced arrays in place: `a[key] = v`, `a += b`, `out=`, `a.fill`, `np.copyto`, ...

Each takes a traced array and gives the value that it has after the change, in its own type, by
NumPy's rules of casting and broadcasting; `Tracer.change` puts it there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import (
    ArgumentError,
    ConcretizationError,
    DTypeError,
    IndexOutOfRangeError,
    IntegerRangeError,
    NumericsError,
    OptionError,
    ShapeError,
)
from pyc.forks import load
from pyc.interpreter import WEAK, bind1, is_number, type_of, weak_type
from pyc.ir import dtype as dt
from pyc.numpy import indexing
from pyc.numpy.core import axis_of, broadcast, cast, constant, converted, known_elements, value
from pyc.numpy.core import fits as integer_fits
from pyc.trace import location


def fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether an array of a shape broadcasts to another."""
    extra = len(target) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, target[extra:], strict=True))


def fitted(what: str, array: Any, found: Any, core: int | None = 0) -> Any:
    """A result that is to be stored in `array`: of its shape, cast to its dtype as NumPy's "same
    kind" allows. core: how many of the last axes are not broadcast; None: no axis is.

    raises DTypeError: a cast to a lower kind; ShapeError: another shape
    """
    old, new = type_of(array), type_of(found)
    if not np.can_cast(new.dtype.numpy, old.dtype.numpy, "same_kind"):
        raise DTypeError(
            f"{what}: the result is {new.dtype.name}, which NumPy does not cast to {old} in place",
            fix=f'Write `a = a.astype("{new.dtype.name}")` before, or make a new array: '
            "`a = a + b`.",
            place=location.here(),
        )
    if new.shape != old.shape:
        same = core is not None and new.shape[new.rank - core :] == old.shape[old.rank - core :]
        if not same or not fits(new.shape, old.shape):
            raise ShapeError(
                f"{what}: the result has shape {new.shape}, the array {old.shape}",
                fix="Make a new array: `a = a + b`.",
                place=location.here(),
            )
        found = broadcast(found, old.shape)
    return cast(found, old.dtype)


def no_mask(what: str, given: Any) -> OptionError:
    """The error for a `where=` that is not of bools."""
    return OptionError(
        f"{what}: `where` is an array of bools, this is {type_of(given)}",
        fix="Compare it: `where=mask != 0`.",
        place=location.here(),
    )


def under_mask(what: str, array: Any, new: Any, where: Any) -> Any:
    """`array` with the elements of `new`, which has its type, where `where` holds.

    raises DTypeError, ShapeError: `where` is not a mask that broadcasts to it
    """
    mask, shape = pnp.asarray(where), type_of(array).shape
    if mask.dtype != np.bool_ and not isinstance(where, (list, tuple)):
        raise no_mask(what, mask)
    if not fits(mask.shape, shape):
        raise ShapeError(
            f"{what}: `where` of shape {mask.shape} does not broadcast to the array's, {shape}",
            place=location.here(),
        )
    return pnp.where(pnp.astype(mask, np.bool_), new, array)


def is_mask(key: Any) -> bool:
    """Whether an index is one boolean array."""
    plain = (tuple, slice, int, type(None), type(Ellipsis))
    return not issubclass(type(key), plain) and _dtype(key) is dt.b1


def _dtype(key: Any) -> Any:
    if isinstance(key, (bool, np.bool_)):
        return dt.b1
    if isinstance(key, list):
        return dt.of(np.asarray(key).dtype) if _is_plain(key) else None
    try:
        return type_of(key).dtype
    except DTypeError:
        return None


def _is_plain(items: Any) -> bool:
    return all(_is_plain(i) if isinstance(i, list) else is_number(i) for i in items)


def assigned(array: Any, key: Any, new: Any) -> Any:
    """`array` after `array[key] = new`: cast as NumPy assigns, from any kind to any.

    raises IntegerRangeError: an integer of a list, or an infinite float, where there are integers;
    NumericsError: NaN there
    """
    old = type_of(array)
    if old.dtype.is_integer:
        _check_integers(new, old.dtype)
    new = (cast if type(new) in (list, tuple) else converted)(value(new), old.dtype)
    if is_mask(key):
        return _masked(array, value(key), new)
    if key is Ellipsis or (isinstance(key, slice) and key == slice(None) and old.rank):
        return _spread("assignment", new, old.shape)
    return indexing.update(array, key, new)


def _check_integers(new: Any, kind: dt.DType) -> None:
    """Refuses Python's numbers, and lists of them, that integers of a type are not made of."""
    if type(new) in (list, tuple):
        for each in new:
            _check_integers(each, kind)
            if type(each) is int and not integer_fits(each, kind):
                raise IntegerRangeError(f"Python integer {each} out of bounds for {kind.name}")
    elif type(new) is float and not math.isfinite(new):
        error = NumericsError if math.isnan(new) else IntegerRangeError
        raise error(
            f"assignment: the float {new} is no {kind.name}",
            fix="Give the array a type of floats first: `x.astype(float)`.",
            place=location.here(),
        )


def _spread(what: str, new: Any, shape: tuple[int, ...]) -> Any:
    found = type_of(new).shape
    while len(found) > len(shape) and found[0] == 1:
        found = found[1:]
        new = pnp.reshape(new, found)
    if not fits(found, shape):
        raise ShapeError(
            f"{what}: values of shape {found} do not fit {shape}", place=location.here()
        )
    return broadcast(new, shape)


def _masked(array: Any, mask: Any, new: Any) -> Any:
    """After `array[mask] = new`, for one value or one for each place behind the mask's axes."""
    shape, under = type_of(array).shape, type_of(mask).shape
    if shape[: len(under)] != under:
        raise IndexOutOfRangeError(
            f"a mask of shape {under} does not fit an array of shape {shape}",
            place=location.here(),
        )
    rest = shape[len(under) :]
    given = type_of(new).shape
    while given and given[0] == 1 and len(given) > len(rest):
        given = given[1:]
        new = pnp.reshape(new, given)
    if len(given) > len(rest):
        if known_elements(mask) is not None:
            return indexing.update(array, mask, new)
        raise ConcretizationError(
            "assignment under a mask takes as many values as the mask selects, which depends on "
            "data",
            fix="Write `a = pyc.numpy.where(mask, values, a)` with values of the shape of the "
            "array.",
            place=location.here(),
        )
    wide = pnp.reshape(mask, (*under, *(1,) * len(rest)))
    return bind1("select", broadcast(wide, shape), _spread("assignment", new, shape), array)


_RANKS = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}
"""Kinds of dtypes, and Python's types of numbers, from the least to the greatest."""


def copied_to(array: Any, source: Any, where: Any = True, casting: str = "same_kind") -> Any:
    """`array` after `np.copyto(array, source, casting, where)`."""
    source, kind = value(source), type_of(array).dtype
    weak = type(source) if type(source) in WEAK else weak_type(source)
    if casting == "unsafe":
        if type_of(source).dtype.is_complex and not kind.is_complex and kind is not dt.b1:
            source = bind1("real", source)
        source = cast(source, kind)
    elif weak is not None and _RANKS[weak.__name__] > _RANKS[kind.kind]:
        raise DTypeError(
            f"copyto: NumPy does not cast a Python {weak.__name__} to {kind.name} in place",
            fix="Write `casting='unsafe'` if that is meant.",
            place=location.here(),
        )
    found = _spread("copyto", fitted_kind("copyto", array, source, casting), type_of(array).shape)
    if where is True:
        return found
    mask = value(where)
    if type_of(mask).dtype is not dt.b1:
        raise no_mask("copyto", mask)
    mask = _spread("copyto", mask, type_of(array).shape)
    return bind1("select", mask, found, array)


def _safely(what: str, array: Any, new: Any) -> Any:
    """`new` in the dtype of `array`: of arrays if that loses nothing, of numbers and lists always,
    as NumPy has it."""
    if type(new) in (list, tuple):
        return cast(value(new), type_of(array).dtype)
    return fitted_kind(what, array, new, "safe")


def fitted_kind(what: str, array: Any, new: Any, rule: Any = "same_kind") -> Any:
    """`new` in the dtype of `array`, if a rule of casting allows."""
    old = type_of(array)
    weak = type(new) in WEAK or weak_type(new) is not None
    if not weak and not np.can_cast(type_of(new).dtype.numpy, old.dtype.numpy, rule):
        raise DTypeError(
            f"{what}: NumPy does not cast {type_of(new).dtype.name} to {old.dtype.name} in place",
            fix=f'Write `.astype("{old.dtype.name}")` of the values.',
            place=location.here(),
        )
    return cast(new, old.dtype)


def with_diagonal(array: Any, new: Any, wrap: bool = False) -> Any:
    """`array` after `np.fill_diagonal(array, new, wrap)`, for one value or a line; no values change
    nothing. wrap: the diagonal begins again below the square."""
    shape = type_of(array).shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(
            f"fill_diagonal: needs a matrix, or axes of one length, got shape {shape}",
            place=location.here(),
        )
    if not type_of(pnp.asarray(new)).size:
        return array
    if len(shape) > 2:
        rows = constant(np.arange(shape[0]))
        key = (rows,) * len(shape)
        return indexing.update(array, key, repeated(array, new, (shape[0],)))
    height, width = shape
    places = np.arange(0, height * width if wrap else min(height * width, width**2), width + 1)
    found = np.divmod(places, max(width, 1))
    return indexing.update(array, tuple(map(constant, found)), repeated(array, new, (len(places),)))


def repeated(array: Any, new: Any, shape: tuple[int, ...]) -> Any:
    """Values in the dtype of `array`, repeated or cut in row-major order to fill a shape."""
    found = converted(value(new), type_of(array).dtype)
    return found if type_of(found).shape == shape else pnp.resize(found, shape)


def with_put(array: Any, indices: Any, new: Any, mode: str = "raise") -> Any:
    """`array` after `np.put(array, indices, new, mode)`; no values change nothing. Bools are 0 and
    1; what mode "clip" clips to the ends are negative places too."""
    places = pnp.reshape(pnp.asarray(indices), -1)
    if not (type_of(pnp.asarray(new)).size and type_of(places).size):
        return array
    if type_of(places).dtype is dt.b1:
        places = cast(places, dt.i64)
    if mode == "clip":
        places = pnp.maximum(places, 0)
    flat = pnp.reshape(array, -1)
    flat = indexing.update(flat, places, repeated(array, new, type_of(places).shape), mode=mode)
    return pnp.reshape(flat, type_of(array).shape)


def with_mask_put(array: Any, mask: Any, new: Any) -> Any:
    """`array` after `np.putmask(array, mask, new)`: a value goes to the place of its number; no
    values change nothing."""
    under = _under("putmask", array, mask)
    values = _safely("putmask", array, new)
    if not type_of(pnp.asarray(values)).size:
        return array
    return pnp.where(under, repeated(array, values, type_of(array).shape), array)


def with_placed(array: Any, mask: Any, new: Any) -> Any:
    """`array` after `np.place(array, mask, new)`: the values go to the mask's places in turn.

    raises ArgumentError: there are places and no values; when the program runs, if the mask is
    traced
    """
    under = pnp.reshape(_under("place", array, mask), -1)
    values = pnp.reshape(_safely("place", array, new), -1)
    if not type_of(values).size:
        error = ArgumentError(
            "place: the mask has places, and there are no values", fix="Give at least one value."
        )
        load("pyc.trace.raising").check(pnp.logical_not(pnp.any(under)), error)
        return array
    turn = (pnp.cumulative_sum(pnp.astype(under, np.int64)) - 1) % type_of(values).size
    found = pnp.where(under, pnp.take(values, turn), pnp.reshape(array, -1))
    return pnp.reshape(found, type_of(array).shape)


def _under(what: str, array: Any, mask: Any) -> Any:
    """A mask of as many elements as `array`, of its shape. ShapeError: it has others."""
    found, shape = pnp.astype(pnp.asarray(mask), np.bool_), type_of(array).shape
    if type_of(found).size != type_of(array).size:
        raise ShapeError(
            f"{what}: a mask of shape {type_of(found).shape} for an array of shape {shape}",
            fix="Give a mask of as many elements as the array has.",
            place=location.here(),
        )
    return pnp.reshape(found, shape)


def with_elements(array: Any, indices: Any, new: Any, axis: int | None) -> Any:
    """`array` after `np.put_along_axis(array, indices, new, axis)`."""
    shape = type_of(array).shape
    if axis is None:
        return pnp.reshape(with_elements(pnp.reshape(array, -1), indices, new, 0), shape)
    places = value(indices)
    under = type_of(places).shape
    axis = axis_of("np.put_along_axis", axis, len(shape))
    if len(under) != len(shape):
        raise ShapeError(
            f"put_along_axis: ranks differ: {type_of(array)} and {type_of(places)}",
            fix="Give the indices an axis for each of the array's.",
            place=location.here(),
        )
    key = [
        places
        if k == axis
        else constant(np.arange(n).reshape((1,) * k + (n,) + (1,) * (len(shape) - k - 1)))
        for k, n in enumerate(shape)
    ]
    target = tuple(under[k] if k == axis else n for k, n in enumerate(shape))
    new = broadcast(cast(value(new), type_of(array).dtype), target)
    return indexing.update(array, tuple(key), new)
