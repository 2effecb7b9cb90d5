"""Programs as NumPy users write them: jitted they give what Python gives, the second time too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from pyc import tree
from pyc.jit import jit
from tests.errors.case import programs
from tests.users import arrays, chosen, classes, control, library, masked, places, stars

MODULES = {
    "arrays": arrays,
    "chosen": chosen,
    "classes": classes,
    "control": control,
    "library": library,
    "masked": masked,
    "places": places,
    "stars": stars,
}
PROGRAMS = {
    f"{name}-{program}": function
    for name, module in MODULES.items()
    for program, function in programs(vars(module)).items()
}


def same(found: Any, expected: Any) -> None:
    """Equal structures, shapes and dtypes, and equal numbers up to rounding."""
    a, b = tree.flatten(found), tree.flatten(expected)
    assert a[1] == b[1], (found, expected)
    for x, y in zip(a[0], b[0], strict=True):
        if isinstance(y, (str, bool, int, type(None))):
            assert type(x) in (type(y), np.bool_, np.int64) and x == y
            continue
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_gives_what_numpy_gives(name: str) -> None:
    function = PROGRAMS[name]
    args, options = function.given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
    jitted = jit(function, **options)
    same(jitted(*args), expected)
    same(jitted(*args), expected)
