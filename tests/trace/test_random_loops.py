"""Random functions with loops and branches: Python's answer, or an error. Never another answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import tree
from pyc.errors import PycError, TraceError
from tests.trace.random_loops import LENGTH, Writer

RANDOM = np.random.default_rng(3)
X, Y = RANDOM.standard_normal((2, LENGTH))
COUNTS = (0, 1, 5, 18)


def outcome(function: Any, count: int) -> Any:
    """What a function returns, or the error that it raises. An array with the number is never at
    hand while the function is traced."""
    with np.errstate(all="ignore"):
        try:
            return function(X.copy(), Y.copy(), np.array(count), 0.75)
        except (UnboundLocalError, PycError, ValueError, AssertionError) as error:
            return error


def answers(seed: int, aliases: bool, folder: Path, raises: bool = False) -> list[bool]:
    """For each number of iterations, whether it is done as Python does it: the same answer, or an
    error for an error. No other answer is given."""
    file = folder / f"program{seed}.py"
    text = Writer(seed, aliases, raises).text()
    file.write_text(text)
    names: dict[str, Any] = {"__name__": f"program{seed}"}
    exec(compile(text, str(file), "exec"), names)
    jitted = pyc.jit(names["f"])
    found = []
    for count in COUNTS:
        expected, result = outcome(names["f"], count), outcome(jitted, count)
        found.append(isinstance(result, Exception) == isinstance(expected, Exception))
        if isinstance(result, (ValueError, AssertionError)):
            assert type(result) is type(expected) and result.args == expected.args, text
            continue
        if isinstance(result, Exception):
            assert isinstance(result, (TraceError, UnboundLocalError)), text
            found[-1] = found[-1] and type(result) is not TraceError
            continue
        assert not isinstance(expected, Exception), text
        for a, b in zip(tree.leaves(expected), tree.leaves(result), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9, err_msg=text)
    return found


@pytest.mark.parametrize("aliases", [False, True])
def test_a_random_program_gives_the_answer_of_python_or_an_error(
    aliases: bool, tmp_path: Path
) -> None:
    with pyc.config.using(cache="off"):
        found = [answers(seed, aliases, tmp_path) for seed in range(24)]
    assert sum(map(all, found)) >= (12 if aliases else 18)


def test_a_random_program_raises_what_python_raises(tmp_path: Path) -> None:
    with pyc.config.using(cache="off"):
        found = [answers(seed, False, tmp_path, raises=True) for seed in range(100, 124)]
    assert sum(map(all, found)) >= 18
