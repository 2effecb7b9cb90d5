"""`np.vectorize` of traced arrays: its function traced once, and mapped over all elements.

With a signature it is mapped over the loop axes that this leaves. Arguments broadcast as NumPy's.

The types of the results are those that the function gives, whatever the elements are; NumPy takes
them from the first element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import pyc.numpy as pnp
from pyc import tree
from pyc.errors import ArgumentError, ShapeError
from pyc.interpreter import type_of
from pyc.numpy.core import broadcast, broadcast_shape
from pyc.trace import location
from pyc.trace.bound import Mapped

_NAME = r"\s*\w+\s*"
_ARGUMENT = rf"\(\s*(?:{_NAME}(?:,{_NAME})*)?\)"
_ARGUMENTS = rf"\s*{_ARGUMENT}\s*(?:,\s*{_ARGUMENT}\s*)*"
_SIGNATURE = re.compile(f"^{_ARGUMENTS}->{_ARGUMENTS}$")


def vectorized(
    function: Callable[..., Any],
    options: dict[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The results of `np.vectorize(function, **options)(*args, **kwargs)`.

    raises ArgumentError: a signature that is none, or of another number of arguments or results;
    ShapeError: arguments that do not have the axes that it names, or do not broadcast
    """
    given = options.get("excluded")
    excluded = set(() if given is None else given)
    places = [k for k in range(len(args)) if k not in excluded]
    names = [n for n in kwargs if n not in excluded]
    arrays = [pnp.asarray(x) for x in (*(args[k] for k in places), *(kwargs[n] for n in names))]
    cores, outs = _parsed(options.get("signature"), len(arrays))
    sizes: dict[str, int] = {}
    loops = [_loop(x, core, sizes) for x, core in zip(arrays, cores, strict=True)]
    shape = broadcast_shape("np.vectorize", loops)
    count = prod(shape)
    axes = []
    for k, (x, loop) in enumerate(zip(arrays, loops, strict=True)):
        own = type_of(x).shape[len(loop) :]
        if loop:
            arrays[k] = pnp.reshape(broadcast(x, (*shape, *own)), (count, *own))
        axes.append(0 if loop else None)

    def call(*lane: Any) -> Any:
        given = list(args)
        for k, x in zip(places, lane, strict=False):
            given[k] = x
        found = function(*given, **kwargs | dict(zip(names, lane[len(places) :], strict=True)))
        return _checked(found, outs, sizes)

    results = Mapped(call, tuple(axes), 0, count)(*arrays)
    types = options.get("otypes")
    leaves = list(results) if isinstance(results, tuple) else [results]
    if types is not None and len(types) != len(leaves):
        raise ArgumentError(
            f"np.vectorize: `otypes` has {len(types)} types for {len(leaves)} results",
            place=location.here(),
        )
    for k, y in enumerate(leaves):
        y = pnp.reshape(y, (*shape, *type_of(y).shape[1:]))
        leaves[k] = y if types is None else y.astype(types[k])
    return tuple(leaves) if isinstance(results, tuple) else leaves[0]


def _parsed(signature: str | None, count: int) -> tuple[list[list[str]], list[list[str]] | None]:
    """The names of the axes of each argument and of each result; None if there is no signature:
    then all axes are looped over."""
    if signature is None:
        return [[] for _ in range(count)], None
    if not isinstance(signature, str) or _SIGNATURE.match(signature) is None:
        raise ArgumentError(
            f"np.vectorize: {signature!r} is no signature",
            fix="Write one such as `(m,n),(n)->(m)`.",
            place=location.here(),
        )
    left, right = (
        [re.findall(r"\w+", part) for part in re.findall(_ARGUMENT, side)]
        for side in signature.split("->")
    )
    if len(left) != count:
        raise ArgumentError(
            f"np.vectorize: {signature!r} is for {len(left)} arguments, {count} are given",
            place=location.here(),
        )
    return left, right


def _loop(x: Any, core: Sequence[str], sizes: dict[str, int]) -> tuple[int, ...]:
    """The axes of an argument that are looped over. sizes: of the named ones, which it adds to."""
    shape = type_of(x).shape
    split = len(shape) - len(core)
    if split < 0:
        raise ShapeError(
            f"np.vectorize: {type_of(x)} does not have the axes ({','.join(core)}) that the "
            "signature names",
            place=location.here(),
        )
    for name, size in zip(core, shape[split:], strict=True):
        if sizes.setdefault(name, size) != size:
            raise ShapeError(
                f"np.vectorize: the axis `{name}` of the signature has {sizes[name]} and {size} "
                "elements",
                place=location.here(),
            )
    return shape[:split]


def _checked(found: Any, outs: Sequence[Sequence[str]] | None, sizes: dict[str, int]) -> Any:
    """What the function gives for one lane: arrays of the axes that the signature names."""
    results = found if isinstance(found, tuple) else (found,)
    expected = outs if outs is not None else [()] * len(results)
    if len(results) != len(expected):
        raise ArgumentError(
            f"np.vectorize: the signature is for {len(expected)} results, the function gives "
            f"{len(results)}",
            place=location.here(),
        )
    arrays = tree.map(pnp.asarray, results)
    for y, core in zip(arrays, expected, strict=True):
        shape = type_of(y).shape
        known = dict(sizes)
        fits = len(shape) == len(core)
        fits = fits and all(known.setdefault(c, n) == n for c, n in zip(core, shape, strict=True))
        if not fits:
            axes = ",".join(core)
            raise ShapeError(
                f"np.vectorize: the function gives {type_of(y)}, where the axes ({axes}) are "
                "expected",
                place=location.here(),
            )
    return arrays if isinstance(found, tuple) else arrays[0]


__all__ = ["vectorized"]
