"""Parameters of distributions: arrays that broadcast together, and to the shape asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import ShapeError
from pyc.ir import dtype as dt
from pyc.random.arguments import REAL, parameter, shape_of


def parameters(name: str, shape: Any, **given: Any) -> tuple[list[Any], tuple[int, ...]]:
    """Parameters of real numbers, by name, as arrays; and the shape of the result, theirs together
    if it is None.

    raises DTypeError: complex numbers; ShapeError: they do not broadcast
    """
    if shape is not None:
        sizes = shape_of(name, shape)
        return [parameter(name, key, x, REAL, sizes) for key, x in given.items()], sizes
    arrays = [parameter(name, key, x, REAL) for key, x in given.items()]
    shapes = [x.shape for x in arrays]
    try:
        return arrays, np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(f"`{k}` {s}" for k, s in zip(given, shapes, strict=True))
        raise ShapeError(
            f"random.{name}: the shapes of the parameters do not broadcast together: {listed}",
            fix="Add axes of size 1: `x[:, None]`.",
        ) from None


def last_axis_of(name: str, argument: str, x: Any, shape: Any) -> tuple[int, ...] | None:
    """`shape` followed by the last axis of a parameter; None if it is None.

    raises ShapeError: the parameter has no axis
    """
    own = pnp.asarray(x).shape
    if not own:
        raise ShapeError(
            f"random.{name}: `{argument}` is a number, and needs an axis",
            fix="It is one number for each element of the last axis of the result.",
        )
    return None if shape is None else (*shape_of(name, shape), own[-1])


def computed(kind: dt.DType) -> Any:
    """The type that numbers of a type are computed in."""
    return np.float64 if kind is dt.f64 else np.float32


def spread(x: Any, shape: tuple[int, ...], real: Any) -> Any:
    """A parameter in the type of the computation and in the shape of the result."""
    return pnp.broadcast_to(x.astype(real), shape)
