"""NumPy functions that call a function of the user's with parts of an array.

The function is traced once and mapped over the parts, where NumPy calls it for each of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import DTypeError, OptionError, ShapeError
from pyc.numpy import choices
from pyc.numpy.core import axis_of, to_dtype, to_shape
from pyc.trace import location
from pyc.trace.bound import Mapped
from pyc.trace.element_calls import vectorized
from pyc.wrong_arguments import needs_function


def _needs_function(name: str, parameter: str, given: Any) -> None:
    try:
        needs_function(name, parameter, given)
    except DTypeError as error:
        raise error.at(location.here()) from None


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """The results of `func1d(line, *args, **kwargs)` for the lines of `arr` along an axis, the
    axes of a result in the place of that axis.

    arr: (..., n, ...), any dtype  ->  (..., *result.shape, ...), of the dtype that the function
    gives; it is called once, with a traced line (n,)
    raises ShapeError: there is no line; AxisError: no such axis; DTypeError: no numbers, the
    function's too, or an axis that is no integer

    NumPy: `numpy.apply_along_axis`.

    >>> apply_along_axis(lambda line: line.sum(), 1, [[1, 2], [3, 4]]).tolist()
    [3, 7]
    """
    x = pnp.asarray(arr)
    place = axis_of("apply_along_axis", axis, x.ndim)
    lines = pnp.moveaxis(x, place, -1)
    around = lines.shape[:-1]
    if 0 in around:
        raise ShapeError(
            "apply_along_axis: cannot apply a function to no lines", place=location.here()
        )

    def call(line: Any) -> Any:
        return pnp.asarray(func1d(line, *args, **kwargs))

    found = Mapped(call, 0, 0, None)(pnp.reshape(lines, (-1, x.shape[place])))
    found = pnp.reshape(found, around + found.shape[1:])
    rank = len(around)
    inner = tuple(range(rank, found.ndim))
    return pnp.permute_dims(found, (*range(place), *inner, *range(place, rank)))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """`a` after `a = func(a, axis)` for one axis after the other, each kept with length 1.

    a: any shape; axes: one, or several; func: gives an array of the same rank, or of one less ->
    the rank of `a`, of the dtype that it gives
    raises ShapeError: the function gives another rank; AxisError: no such axis; DTypeError: no
    numbers, the function's too, or an axis that is no integer

    NumPy: `numpy.apply_over_axes`.

    >>> apply_over_axes(pnp.sum, [[1, 2], [3, 4]], (0, 1)).tolist()
    [[10]]
    """
    _needs_function("apply_over_axes", "func", func)
    found = pnp.asarray(a)
    rank = found.ndim
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        place = axis_of("apply_over_axes", axis, rank)
        result = pnp.asarray(func(found, place))
        if result.ndim != rank:
            result = pnp.expand_dims(result, place)
        if result.ndim != rank:
            raise ShapeError(
                "apply_over_axes: the function must give the rank of its argument, or one less",
                place=location.here(),
            )
        found = result
    return found


def vectorize(
    pyfunc: Callable[..., Any] | None = None,
    otypes: Any = None,
    doc: str | None = None,
    excluded: Any = None,
    cache: bool = False,
    signature: str | None = None,
) -> Callable[..., Any]:
    """`pyfunc` of one element as a function of arrays, which broadcast together: it is traced once
    and mapped over all elements, or with a `signature` such as "(m,n),(n)->(m)" over the axes that
    this does not name; a decorator without `pyfunc`.

    otypes: the dtypes of the results; excluded: places and names of arguments that are given as
    they are; doc: the documentation of the result; cache: nothing changes, it is called once
    raises DTypeError: what is not callable, or a dtype that is not supported; ArgumentError: when
    it is called, a signature that is none, or of another number of arguments or results;
    ShapeError: then, arguments that do not have the axes that it names, or do not broadcast

    NumPy: `numpy.vectorize`.

    >>> vectorize(lambda a, b: a * b + 1)([1, 2], 3).tolist()
    [4, 7]
    """
    choices.truth(cache)
    if signature is not None and not isinstance(signature, str):
        raise OptionError(f"vectorize: `signature` is a text, got {signature!r}")
    options = {"otypes": otypes, "excluded": excluded, "signature": signature}
    if pyfunc is None:
        return functools.partial(vectorize, doc=doc, **options)
    if not callable(pyfunc):
        raise DTypeError(f"vectorize: needs a function, got {pyfunc!r}", place=location.here())
    for what, given in (("otypes", otypes), ("excluded", excluded)):
        if given is not None and (not hasattr(given, "__iter__") or getattr(given, "ndim", 1) == 0):
            raise OptionError(
                f"vectorize: `{what}` has one item or several, got {given!r}",
                fix=f"Give a list: `{what}=[{given!r}]`.",
                place=location.here(),
            )
    try:
        np.vectorize(len, otypes=otypes)
    except ValueError as error:
        raise OptionError(f"vectorize: {error}") from None
    for each in () if otypes is None else otypes:
        to_dtype(each)
    function = pyfunc

    def elementwise(*args: Any, **kwargs: Any) -> Any:
        return vectorized(function, options, args, kwargs)

    functools.update_wrapper(elementwise, function)
    elementwise.__doc__ = function.__doc__ if doc is None else doc
    return elementwise


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """`function` of the indices of an array of a shape, one array for each axis.

    shape: an integer or several; dtype: of the indices, float64 by default; kwargs: for the
    function ->  what it gives, which is most often of that shape
    raises ShapeError: a negative length; DTypeError: no integers, or a dtype that is not supported

    NumPy: `numpy.fromfunction`.

    >>> fromfunction(lambda i, j: i + j, (2, 2)).tolist()
    [[0.0, 1.0], [1.0, 2.0]]
    """
    _needs_function("fromfunction", "function", function)
    return function(*pnp.indices(to_shape("fromfunction", shape), dtype), **kwargs)


__all__ = ["apply_along_axis", "apply_over_axes", "fromfunction", "vectorize", "vectorized"]
