"""Choosing among things: `permutation`, `choice`, `categorical`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public, run
from pyc.errors import ArgumentError, ShapeError
from pyc.interpreter import is_tracing, type_of
from pyc.ir import dtype as dt
from pyc.numpy import core
from pyc.random.arguments import REAL, check_broadcast, is_known, key_of, parameter, shape_of
from pyc.random.distributions import Shape, Sizes, below, fraction, gumbel_numbers
from pyc.random.generator import drawn


@public
def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """The elements of `x` along `axis` in random order; those of `arange(x)` if `x` is an integer.
    Each order is as likely as any other: that of random integers of 64 bits. NumPy:
    `Generator.permutation`, and `Generator.permuted` for `independent`.

    key: (2,) uint32; x: of any dtype -> its shape and dtype
    independent: each line along the axis has an order of its own
    raises ArgumentError: `key` is no key; AxisError: no such axis; DTypeError: an axis that is no
    integer, or an `x` that is no array
    """
    key = key_of("permutation", key)
    values = _population("permutation", "x", x)
    if isinstance(values, int):
        return run("random.permutation", _order, key, fixed=((max(values, 0),),))
    place = core.axis_of("random.permutation", axis, values.ndim)
    return run("random.permutation", _shuffled, key, values, fixed=(place, bool(independent)))


@public
def choice(
    key: Any, a: Any, shape: Sizes = (), replace: bool = True, p: Any = None, axis: int = 0
) -> Any:
    """Elements of `a` along `axis`, or of `arange(a)` if `a` is an integer. NumPy:
    `Generator.choice`.

    key: (2,) uint32; a: of any dtype, which the result has
    shape: of what is drawn, which stands in place of the axis
    replace: whether one may come more than once
    p: the probability of each, up to a common factor; not negative. Without replacement those of
    probability 0 come last; with it they never do, unless all are 0
    raises ArgumentError: `key` is no key, nothing to draw from, or too few without replacement;
    outside of a trace: `p` is negative, NaN, or has no finite sum; AxisError: no such axis;
    DTypeError: complex `p`, an axis or a shape that is not of integers; ShapeError: `p` is not one
    for each, or a negative extent
    """
    key = key_of("choice", key)
    sizes = shape_of("choice", shape)
    values = _population("choice", "a", a)
    known = isinstance(values, int)
    place = 0 if known else core.axis_of("random.choice", axis, values.ndim)
    count = max(values, 0) if known else values.shape[place]
    drawn_count = prod(sizes)
    if drawn_count > count and not (replace and count):
        how = "" if replace else " without replacement"
        raise ArgumentError(
            f"random.choice: {drawn_count} cannot be drawn from {count}{how}",
            fix="Draw fewer, or from more; with `replace=True` each can come again.",
        )
    weights = None if p is None else parameter("choice", "p", p, REAL)
    if weights is not None and weights.shape != (count,):
        raise ShapeError(
            f"random.choice: `p` has shape {weights.shape}, and there are {count} to draw from",
            fix="It is one probability for each of them.",
        )
    if weights is not None and not is_tracing():
        _check_weights(np.asarray(weights))
    fixed = sizes, count, bool(replace)
    if known:
        return run("random.choice", _places, key, weights, fixed=fixed)
    return run("random.choice", _chosen, key, values, weights, fixed=(place, *fixed))


def _check_weights(weights: np.ndarray[Any, Any]) -> None:
    """ArgumentError: numbers that are no probabilities, not up to a factor either."""
    with np.errstate(over="ignore"):
        total = weights.sum(dtype=np.float64)
    if not (np.all(weights >= 0) and np.isfinite(total)):
        bad = weights[~(weights >= 0)]
        found = f"holds {bad[0]}" if len(bad) else f"sums to {total}"
        raise ArgumentError(
            f"random.choice: `p` {found}, and probabilities are not negative, with a finite sum",
            fix="Give one weight of at least 0 for each: they need not sum to 1.",
        )


@public
def categorical(key: Any, logits: Any, axis: int = -1, shape: Sizes | None = None) -> Any:
    """Places along `axis`, each with a probability in proportion to `exp(logits)`: the greatest of
    these after adding Gumbel noise.

    key: (2,) uint32; logits: real, with the axis -> int64
    shape: of the result, to which the other axes of `logits` broadcast; theirs if it is None
    raises ArgumentError: `key` is no key, or nothing to choose from; AxisError: no such axis;
    DTypeError: complex logits; ShapeError: they do not broadcast to `shape`, or a negative extent
    """
    key = key_of("categorical", key)
    values = parameter("categorical", "logits", logits, REAL)
    place = core.axis_of("random.categorical", axis, values.ndim)
    count = values.shape[place]
    others = tuple(n for k, n in enumerate(values.shape) if k != place)
    sizes = others if shape is None else shape_of("categorical", shape)
    check_broadcast("categorical", f"`logits` without axis {place}", others, sizes)
    if prod(sizes) and not count:
        raise ArgumentError(
            f"random.categorical: axis {place} of `logits` has no elements",
            fix="There must be at least one to choose.",
        )
    return run("random.categorical", _greatest, key, values, fixed=(place, sizes))


def _population(name: str, argument: str, x: Any) -> Any:
    """An array of at least one axis, or an integer.

    raises ArgumentError: an array of rank 0, or a traced number that is not known
    """
    if is_known(x):
        return int(x)
    values = pnp.asarray(x)
    if not values.ndim:
        found = core.structural(x)
        if is_known(found):
            return int(found)
        raise ArgumentError(
            f"random.{name}: `{argument}` is {type_of(values)}, neither an array with an axis nor "
            "an integer that is known",
            fix="Pass an array, or an integer; one that is an argument of a jitted function can be "
            "static\n(`static_argnames=`).",
        )
    return values


# --- programs -------------------------------------------------------------------------------------


def _order(key: Any, shape: Shape, axis: int = 0) -> Any:
    return pnp.argsort(drawn(key, shape, True), axis=axis)


def _shuffled(key: Any, values: Any, axis: int, independent: bool) -> Any:
    if independent:
        return pnp.take_along_axis(values, _order(key, values.shape, axis), axis)
    order = _order(key, (values.shape[axis],))
    return pnp.take(values, order, axis=axis, mode="clip")


def _chosen(
    key: Any, values: Any, p: Any, axis: int, shape: Shape, count: int, replace: bool
) -> Any:
    places = _places(key, p, shape, count, replace)
    return pnp.take(values, places, axis=axis, mode="clip")


def _places(key: Any, p: Any, shape: Shape, count: int, replace: bool) -> Any:
    """Places from [0, count); p: their weights, or None."""
    if not count:
        return pnp.zeros(shape, dtype=np.int64)  # of which there are none
    if not replace:
        if p is None:
            order = _order(key, (count,))
        else:  # Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006
            times = pnp.log(p.astype(np.float64)) + gumbel_numbers(key, (count,), dt.f64)
            order = pnp.argsort(-times)
        return order[: prod(shape)].reshape(shape)
    if p is None:
        return below(key, shape, np.uint64(count)).astype(np.int64)
    sums = pnp.cumsum(p.astype(np.float64))
    part = drawn(key, shape, True, lambda word: fraction(word, np.float64))
    # A part is never 0 and a first place that reaches it adds something: its weight is not 0.
    places = pnp.searchsorted(sums, sums[-1] * part)
    return pnp.minimum(places, count - 1)


def _greatest(key: Any, logits: Any, axis: int, shape: Shape) -> Any:
    kind = type_of(logits).dtype
    real = dt.f32 if kind.is_float and kind.bits < 64 else dt.f64
    values = pnp.moveaxis(logits, axis, -1).astype(real.numpy)
    noise = gumbel_numbers(key, (*shape, values.shape[-1]), real)
    return pnp.argmax(values + noise, axis=-1)
