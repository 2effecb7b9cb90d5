"""Functions of numerical practice, jitted unchanged: right, or refused on the declared line.

`pytest tests/corpus --update-golden` writes the table of refusals and the README's count anew:
read the diff.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.corpus import outcome


@pytest.mark.parametrize("name", outcome.CASES)
def test_a_function_is_right_or_refused_as_declared(name, request):
    """A refused function that starts to work, a working one that is refused, a wrong line, and
    above all a result that is not NumPy's: each fails."""
    found = outcome.run(outcome.CASES[name])
    if request.config.getoption("--update-golden"):
        outcome.declare(name, found)
    else:
        assert found == outcome.declared().get(name)


def test_the_table_names_only_cases():
    assert outcome.declared().keys() <= outcome.CASES.keys()


def test_names_are_unique():
    cases = [case for module in outcome.MODULES for case in module.CASES]
    assert len(cases) == len(outcome.CASES) >= 200


def test_the_count_is_in_the_readme(capsys):
    """The README's sentence follows the table."""
    with capsys.disabled():
        print(f"\n{outcome.sentence()}")
    assert outcome.sentence() in outcome.README.read_text()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (np.float32(1), np.float64(1)),
        (np.zeros(2), np.zeros((2, 1))),
        (np.zeros(2), np.full(2, 1e-6)),
        (np.array([1.0, np.nan]), np.array([1.0, 1.0])),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([1.0]), np.float64(1.0)),
        ((1.0,), [1.0]),
        ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}),
        (1.0, None),
        (True, 1),
    ],
)
def test_the_comparison_can_fail(found, expected):
    """Each kind of difference is found, in containers too."""
    with pytest.raises(AssertionError):
        outcome.compare([found], [expected], "result")
