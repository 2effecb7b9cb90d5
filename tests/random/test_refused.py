"""Errors outside of a jitted function name the user's line as those inside do (`tests/errors`)."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyc import random
from pyc.errors import PycError
from tests.errors import draws

ROOT = Path(__file__).parents[2]


def a_key_of_floats() -> Any:
    return random.normal(np.zeros(2), (3,))


def a_shape_without_a_key() -> Any:
    return random.uniform((3,))


def too_wide() -> Any:
    return random.randint(draws.KEY, (2,), 0, 1 << 65)


def ends() -> Any:
    return random.uniform(draws.KEY, (2,), np.float32, maxval=[1, 2, 3])


def an_unknown_type() -> Any:
    return random.uniform(draws.KEY, (2,), "f3")


@pytest.mark.parametrize(
    "function", [a_key_of_floats, a_shape_without_a_key, too_wide, ends, an_unknown_type]
)
def test_refused(function: Callable[[], Any], golden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(PycError) as found:
        function()
    golden(f"{type(found.value).__name__}: {found.value}")
    files = {frame.filename for frame in traceback.extract_tb(found.value.__traceback__)}
    assert files == {__file__}, "no frames of pyc's own"


PROGRAMS = {n: f for n, f in vars(draws).items() if hasattr(f, "given")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_is_refused_outside_of_jit(name: str) -> None:
    """With the words that it has inside, but for what is said of traced values."""
    function = PROGRAMS[name]
    args, _ = function.given
    with pytest.raises(PycError) as found:
        function(*args)
    place = found.value.place
    assert place is not None and place.function == name
