"""What came of a function of the corpus under pyc: right, or refused with a code on a line.

`run` gives the outcome of a case or raises `AssertionError` where pyc's results differ from
NumPy's. `refused.txt` declares the cases that are refused, one a line: name, code, source line.
"""

from __future__ import annotations

import fcntl
import linecache
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pyc
from tests.corpus import (
    discrete,
    finance,
    finite_differences,
    functions,
    geometry,
    images,
    learning,
    linear_algebra,
    motion,
    nature,
    signals,
    statistics,
    written_out,
)
from tests.corpus.case import Case, other_samples

FOLDER = Path(__file__).parent
README = FOLDER.parents[1] / "README.md"
COUNT = r"\d+ functions of numerical practice, jitted unchanged: \d+ right, \d+ refused"
REFUSED = FOLDER / "refused.txt"
AT_THE_CALL = "(the call)"
MODULES = (
    discrete,
    finance,
    finite_differences,
    functions,
    geometry,
    images,
    learning,
    linear_algebra,
    motion,
    nature,
    written_out,
    signals,
    statistics,
)
CASES: dict[str, Case] = {
    f"{module.__name__.rpartition('.')[2]}.{case.function.__qualname__}": case
    for module in MODULES
    for case in module.CASES
}

# The order of additions and pyc's own math functions differ from NumPy's in the last bits.
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.complex64): 1e-5}


class Refusal(NamedTuple):
    """The code of an error, and the text of the user's line that it was raised on."""

    code: str
    line: str


def run(case: Case) -> Refusal | None:
    """None where pyc gives what NumPy gives, else the refusal.

    Compared are values, dtypes, shapes and containers of the results, and the arguments after
    the call: what NumPy changes in place is a result too. The jitted function is called twice with
    the same arguments, the second time by the way of known signatures, and with other samples,
    which take other branches of the same program.
    """
    jitted = pyc.jit(case.function)
    for call, offset in (("first call", 0), ("second call", 0), ("other samples", 1)):
        with other_samples(offset):
            expected_arguments, arguments = case.arguments(), case.arguments()
        with np.errstate(all="ignore"):
            expected = case.function(*expected_arguments)
        try:
            result = jitted(*arguments)
        except pyc.errors.PycError as error:
            return Refusal(error.code, line_of(error))
        compare(result, expected, f"{call}: result")
        compare(arguments, expected_arguments, f"{call}: arguments")
    return None


def compare(found: Any, expected: Any, where: str) -> None:
    """Raises `AssertionError` where `found` is not what NumPy gave."""
    if isinstance(expected, dict):
        assert type(found) is type(expected) and list(found) == list(expected), where
        for key in expected:
            compare(found[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, (tuple, list)):
        assert type(found) is type(expected) and len(found) == len(expected), where
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            compare(one, other, f"{where}[{place}]")
    elif isinstance(expected, (np.ndarray, np.generic, bool, int, float, complex)):
        compare_numbers(found, expected, where)
    elif hasattr(expected, "__dict__") and not callable(expected):
        assert type(found) is type(expected), where
        compare(vars(found), vars(expected), where)
    else:
        assert found == expected, f"{where}: {found!r}, not {expected!r}"


def compare_numbers(found: Any, expected: Any, where: str) -> None:
    """Arrays and numbers; a Python number comes back as a NumPy scalar of its type, and so does an
    array of rank 0."""
    arrays = [isinstance(x, np.ndarray) and x.ndim > 0 for x in (found, expected)]
    assert arrays[0] == arrays[1], f"{where}: {type(found)}, not {type(expected)}"
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), (
        f"{where}: {found.dtype}{found.shape}, not {expected.dtype}{expected.shape}"
    )
    if expected.dtype.kind in "fc":
        tolerance = TOLERANCE.get(expected.dtype, 1e-10)
        np.testing.assert_allclose(found, expected, tolerance, tolerance, err_msg=where)
    else:
        np.testing.assert_array_equal(found, expected, where)


def line_of(error: pyc.errors.PycError) -> str:
    """The text of the line that the error names; an argument is refused where the function is
    called, which is no line of the corpus."""
    place = error.place
    if place is None or Path(place.file) not in {Path(str(m.__file__)) for m in MODULES}:
        return AT_THE_CALL
    return linecache.getline(place.file, place.line).strip()


def declared() -> dict[str, Refusal]:
    """The declared refusals by name."""
    rows = (line.split(None, 2) for line in REFUSED.read_text().splitlines())
    return {name: Refusal(code, line) for name, code, line in rows}


def sentence() -> str:
    """The count of each outcome, as the README gives it."""
    refused = len(declared())
    counts = f"{len(CASES) - refused} right, {refused} refused"
    return f"{len(CASES)} functions of numerical practice, jitted unchanged: {counts}"


def declare(name: str, refusal: Refusal | None) -> None:
    """Writes the outcome of one case into the table, and the count into the README; several test
    processes may do so at once."""
    with REFUSED.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        table = {**declared(), name: refusal}
        rows = [f"{name:46} {row.code} {row.line}\n" for name in CASES if (row := table.get(name))]
        file.seek(0)
        file.truncate()
        file.writelines(rows)
        file.flush()
        README.write_text(re.sub(COUNT, sentence(), README.read_text()))
