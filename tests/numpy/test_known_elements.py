"""Functions whose elements are known from whole numbers: outside of a trace nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import compile as compiler

CALLS: dict[str, Callable[[Any], Any]] = {
    "eye": lambda xp: xp.eye(3, 5, k=1),
    "eye beyond": lambda xp: xp.eye(3, k=-9),
    "eye of complex64": lambda xp: xp.eye(2, dtype=np.complex64),
    "identity": lambda xp: xp.identity(4, dtype=np.int32),
    "tri": lambda xp: xp.tri(3, 5, -1),
    "tri of bool": lambda xp: xp.tri(4, dtype=bool),
    "fftfreq": lambda xp: xp.fft.fftfreq(7, 0.3),
    "fftfreq of whole d": lambda xp: xp.fft.fftfreq(8, d=3),
    "rfftfreq": lambda xp: xp.fft.rfftfreq(9, 0.1),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_program_is_compiled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "program_of", None)
    found, expected = CALLS[name](pnp), CALLS[name](np)
    assert found.dtype == expected.dtype and found.flags.writeable
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("name", CALLS)
def test_a_program_has_the_same_bits(name: str) -> None:
    call = CALLS[name]
    found = pyc.jit(lambda: call(pnp))()
    np.testing.assert_array_equal(found, call(pnp), strict=True)


def test_a_large_matrix_is_computed() -> None:
    np.testing.assert_array_equal(pnp.eye(300, 301, 7), np.eye(300, 301, 7))
    np.testing.assert_array_equal(pnp.tri(300, 301, 7), np.tri(300, 301, 7))
