"""Doors to the scalar definitions of functions, whose modules a process loads when it compiles.

The op table is made at each start; what `exp` is in scalar instructions is asked for when a program
is not in the cache, a tenth of the table's text at most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyc.forks import load
from pyc.ir.op import Complex

Definition = Callable[..., Any]


def real(name: str) -> Definition:
    """The definition of this name for real elements; see `scalar_math`."""
    return lambda *xs: getattr(load("pyc.ir.ops.scalar_math"), name)(*xs)


def special(name: str) -> Definition:
    """The definition of this name for real elements; see `special_math`."""
    return lambda *xs: getattr(load("pyc.ir.ops.special_math"), name)(*xs)


def pair(name: str) -> Definition:
    """The definition of this name for complex elements; see `complex_math`."""
    return lambda *xs: getattr(load("pyc.ir.ops.complex_math"), name)(*xs)


def either(name: str, of_pairs: str = "") -> Definition:
    """The definition of this name for elements of both kinds; of_pairs: its name for complex ones,
    if that is another."""
    for_real, for_pair = real(name), pair(of_pairs or name)
    return lambda *xs: for_pair(*xs) if isinstance(xs[0], Complex) else for_real(*xs)


def of_bfloat16(name: str) -> Definition:
    """The shorter way of this name for bfloat16 elements; see `scalar_bfloat16`."""
    return lambda *xs: getattr(load("pyc.ir.ops.scalar_bfloat16"), name)(*xs)


def divided(name: str) -> Definition:
    """The definition of this name with quotients rounded to whole numbers; see `division`."""
    return lambda *xs: getattr(load("pyc.ir.ops.division"), name)(*xs)


def fast(name: str) -> Definition:
    """The definition of this name for programs with `fastmath`; see `scalar_fast`."""
    return lambda *xs: getattr(load("pyc.ir.ops.scalar_fast"), name)(*xs)


def words(name: str) -> Definition:
    """The definition of this name of random bits; see `scalar_philox`."""
    return lambda *xs, **params: getattr(load("pyc.ir.ops.scalar_philox"), name)(*xs, **params)
