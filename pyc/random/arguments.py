"""What the functions of `pyc.random` do with their arguments: checked, and named in errors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import ArgumentError, DTypeError, ShapeError
from pyc.interpreter import type_of
from pyc.ir import dtype as dt
from pyc.numpy import core

KEY = (2,), dt.u32
"""The shape and type of a key."""
REAL = ("bool", "int", "uint", "float")
WHOLE = ("int", "uint")
"""Kinds of numbers, as types name them."""


def described(x: Any) -> str:
    """What something is, for messages: the type of an array or a number, else its class."""
    try:
        return str(type_of(x))
    except DTypeError:
        return type(x).__name__


def key_of(name: str, key: Any) -> Any:
    """A key, as it is.

    raises ArgumentError: it is none
    """
    try:
        kind = type_of(key)
        if (kind.shape, kind.dtype) == KEY:
            return key
    except DTypeError:
        pass
    raise ArgumentError(
        f"random.{name}: a key is an array of two uint32, this is {described(key)}",
        fix="Make one with `pyc.random.key(seed)`, or take one of those that `split` gives:\n"
        "`keys = pyc.random.split(key, n)`, then `keys[i]`.",
    )


def shape_of(name: str, shape: Any) -> tuple[int, ...]:
    """A shape: integers, or one."""
    return core.to_shape(f"random.{name}", shape)


def dtype_of(name: str, dtype: Any, default: dt.DType, allowed: Collection[dt.DType]) -> dt.DType:
    """A type of the results; the default for None.

    raises DTypeError: it is not one of those that are allowed
    """
    found = default if dtype is None else core.to_dtype(dtype)
    if found not in allowed:
        names = ", ".join(kind.name for kind in allowed)
        raise DTypeError(
            f"random.{name}: the dtype is {found.name}, and can be {names}",
            fix="Draw one of these and convert the result: `.astype(...)`.",
        )
    return found


def parameter(
    name: str, argument: str, x: Any, kinds: Collection[str], shape: tuple[int, ...] | None = None
) -> Any:
    """An argument as an array of one of some kinds ("int", "float" ...), which broadcasts to a
    shape, if there is one.

    raises DTypeError: it is of another kind; ShapeError: it has another shape
    """
    array = pnp.asarray(x)
    kind = type_of(array)
    if kind.dtype.kind not in kinds:
        raise DTypeError(
            f"random.{name}: the dtype of `{argument}` is {kind.dtype.name}",
            fix=f"It can be of one of these kinds: {', '.join(kinds)}. Convert it before.",
        )
    if shape is not None:
        check_broadcast(name, f"`{argument}`", kind.shape, shape)
    return array


def check_broadcast(name: str, what: str, shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    """ShapeError unless an array of a shape broadcasts to another."""
    same = all(n in (1, m) for n, m in zip(shape[::-1], to[::-1], strict=False))
    if not same or len(shape) > len(to):
        raise ShapeError(
            f"random.{name}: {what} has shape {shape}, which does not broadcast to {to}",
            fix="Say the whole shape of the result: `shape=`.",
        )


def is_known(x: Any) -> bool:
    """Whether something is an integer of Python or NumPy that has a value, no array."""
    return issubclass(type(x), (int, np.integer)) and not issubclass(type(x), bool)


def whole_number(name: str, argument: str, x: Any) -> Any:
    """An integer of at most 64 bits: a `uint64` if it is known (the two's complement of one below
    zero), else as it is.

    raises ArgumentError: it is none, or has more bits
    """
    if is_known(x):
        if not -(1 << 63) <= int(x) < 1 << 64:
            raise ArgumentError(
                f"random.{name}: `{argument}` has more than 64 bits: {x}",
                fix="It can be from -2**63 to 2**64 - 1; more bits can be folded in:\n"
                "`pyc.random.fold_in(key, more)`.",
            )
        return np.uint64(int(x) & (1 << 64) - 1)
    try:
        kind = type_of(x)
        if not kind.shape and kind.dtype.is_integer:
            return x
    except DTypeError:
        pass
    raise ArgumentError(
        f"random.{name}: `{argument}` is one integer, this is {described(x)}",
        fix="Give an integer, such as a seed or the number of a step; several keys at a time are\n"
        "made by `pyc.random.split(key, n)`.",
    )
