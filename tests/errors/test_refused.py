"""The full text of what a program is refused with: the user's line and a caret, what was given and
where it came from, the fix, the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyc.errors import PycError
from pyc.jit import jit
from tests.errors import (
    arguments,
    draws,
    fourier,
    kinds,
    lanes,
    matrices,
    names,
    numeric,
    options,
    others,
    outside,
    shapes,
    traces,
    types,
    values,
)
from tests.errors.case import programs

ROOT = Path(__file__).parents[2]
MODULES = {
    "arguments": arguments,
    "draws": draws,
    "fourier": fourier,
    "kinds": kinds,
    "lanes": lanes,
    "matrices": matrices,
    "names": names,
    "numeric": numeric,
    "options": options,
    "others": others,
    "outside": outside,
    "shapes": shapes,
    "traces": traces,
    "types": types,
    "values": values,
}
PROGRAMS = {
    f"{name}-{program}": function
    for name, module in MODULES.items()
    for program, function in programs(vars(module)).items()
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_refused(name, golden, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    args, settings = PROGRAMS[name].given
    with pytest.raises(PycError) as found:
        jit(PROGRAMS[name], **settings)(*args)
    golden(f"{type(found.value).__name__}: {found.value}")
