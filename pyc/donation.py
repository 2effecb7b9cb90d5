"""Donated arguments: what a call checks before it may write to them.

A donated NumPy array is overwritten: nothing else that the call reads may lie in its memory. What
the array holds afterwards is not said; a result may be the array itself. A donated `pyc.Array` is
gone after the call, and its next use is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.array import Array
from pyc.errors import DonationError
from pyc.trace import location


def check_donated(
    function: str, donated: Sequence[int], names: Sequence[str], arrays: Sequence[Any]
) -> None:
    """Returns if a call may take over the memory of its donated arguments.

    donated: their numbers; names, arrays: of all arguments and of what is read from outside, as the
    program takes them
    raises DonationError: a donated array is read-only, or shares memory with another of `arrays`
    """
    spans = [_span(a) for a in arrays]
    for k in donated:
        a = arrays[k]
        if isinstance(a, np.ndarray) and a.ndim and not a.flags.writeable:
            raise DonationError(
                f"{function}: the donated argument `{names[k]}` is read-only",
                fix=f"Pass a copy (`{names[k]}.copy()`), or do not donate it.",
                place=location.here(),
            )
        for other, span in enumerate(spans):
            if other != k and _overlap(spans[k], span):
                raise DonationError(
                    f"{function}: the donated argument `{names[k]}` shares memory with "
                    f"`{names[other]}`",
                    fix=f"Pass a copy of one of them (`{names[other]}.copy()`), or do not donate "
                    f"`{names[k]}`.",
                    place=location.here(),
                )


def _span(a: Any) -> tuple[str, int, int]:
    """The device of an array, where its memory begins and where it ends. Numbers have none."""
    if isinstance(a, Array):
        return a.device, a.address, a.address + a.nbytes
    if not isinstance(a, np.ndarray) or not a.ndim:
        return "", 0, 0
    start = a.__array_interface__["data"][0]
    return "", start, start + a.nbytes


def _overlap(a: tuple[str, int, int], b: tuple[str, int, int]) -> bool:
    return a[0] == b[0] and a[1] < b[2] and b[1] < a[2]
