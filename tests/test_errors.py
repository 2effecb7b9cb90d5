"""Errors: their classes, their codes, and the text that a user reads."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

import pyc
from pyc import errors, reasons
from pyc.ir.graph import Location
from pyc.reasons import Reason

SOURCE = "def layer(x, w):\n    h = x @ w\n    return h\n"


@pytest.fixture
def place(tmp_path, monkeypatch) -> Location:
    """The expression `x @ w` of a file in the working directory."""
    (tmp_path / "model.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return Location(str(tmp_path / "model.py"), 2, "layer", 9, 14)


def matmul_error() -> errors.ShapeError:
    return errors.ShapeError(
        "matmul: inner dimensions differ: a is float32[64,33], b is float32[32,8]",
        fix="33 must equal 32. If `w` is stored transposed, write `x @ w.T`.",
    )


def test_text_of_a_placed_error(place, golden) -> None:
    golden(str(matmul_error().at(place)))


def test_text_without_columns_has_no_caret(place, golden) -> None:
    golden(str(matmul_error().at(Location(place.file, 2, "layer"))))


def test_text_without_source_names_the_place(golden) -> None:
    golden(str(matmul_error().at(Location("<stdin>", 7))))


def test_text_of_a_line_indented_with_tabs_keeps_its_caret(tmp_path, monkeypatch, golden) -> None:
    (tmp_path / "model.py").write_text("def f(x):\n\treturn x.foo\n")
    monkeypatch.chdir(tmp_path)
    place = Location(str(tmp_path / "model.py"), 2, "f", 9, 14)
    golden(str(errors.UnsupportedOpError("arrays have no attribute `foo`").at(place)))


def test_a_caret_never_leaves_the_source_line(place) -> None:
    """An expression that goes on in the next line has a smaller end column than start column."""
    text = str(matmul_error().at(Location(place.file, 2, "layer", 9, 3)))
    assert "\n" + " " * text.splitlines()[1].index("x @ w") + "^\n" in text
    text = str(matmul_error().at(Location(place.file, 2, "layer", 9, 500)))
    source, caret = text.splitlines()[1:3]
    assert len(caret) == len(source)


def test_the_first_place_stays(place) -> None:
    error = matmul_error().at(place)
    assert error.at(Location("other.py", 1)).place is place
    assert matmul_error().at(None).at(place).place is place


def test_the_text_is_made_when_shown_and_not_before() -> None:
    made = []

    def message() -> str:
        made.append(1)
        return "late"

    error = errors.TraceError(message, fix=lambda: "do so")
    assert not made
    assert str(error) == "late\n  do so\n  more: python -m pyc explain PYC1100"
    assert made


def test_errors_survive_pickling(place) -> None:
    """Process pools send exceptions in pickles; a lambda must not stop them."""
    error = errors.OutOfMemoryError(lambda: "no room", fix=lambda: "less").at(place)
    error.origin = "given: `x` (f64[3])"
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert type(again) is errors.OutOfMemoryError
    refused = errors.PurityError("a clock", rule=Reason.PURITY_CLOCK).at(place)
    assert str(pickle.loads(pickle.dumps(refused))) == str(refused)


def test_errors_are_caught_as_numpy_raises_them() -> None:
    for cls, builtin in (
        (errors.ShapeError, ValueError),
        (errors.DTypeError, TypeError),
        (errors.IndexOutOfRangeError, IndexError),
        (errors.IntegerRangeError, OverflowError),
        (errors.ArgumentError, ValueError),
        (errors.OutOfMemoryError, MemoryError),
    ):
        with pytest.raises(builtin, match=r"^why\n"):
            raise cls("why")


def test_every_tracing_error_is_a_trace_error() -> None:
    for name in ("Concretization", "LeakedTracer", "TracerBoolConversion"):
        assert issubclass(getattr(errors, f"{name}Error"), errors.TraceError)
    assert not issubclass(errors.ShapeError, errors.TraceError)


def test_every_code_is_stable_and_has_a_page(golden) -> None:
    """Codes are public: a number, once given, keeps its meaning."""
    lines = [f"{code} {cls.__name__}" for code, cls in sorted(errors.CLASSES.items())]
    lines += [f"{reason.code} {reason} ({reason.group})" for reason in Reason]
    golden("\n".join(lines))
    for code, cls in errors.CLASSES.items():
        assert cls.__doc__
        assert cls.remedy in errors.page(code)
    for reason in Reason:
        assert reason.remedy in reasons.page(reason.code)
    assert len(reasons.BY_CODE) == len(Reason)
    assert not reasons.BY_CODE.keys() & errors.CLASSES.keys()


def test_two_classes_cannot_share_a_code() -> None:
    with pytest.raises(TypeError, match="same code PYC1300"):
        type("Another", (errors.PycError,), {"code": "PYC1300", "__doc__": ""})


def test_unknown_codes_have_no_page() -> None:
    with pytest.raises(KeyError):
        errors.page("PYC9999")
    with pytest.raises(KeyError):
        reasons.page("PYC9999")


# --- reasons --------------------------------------------------------------------------------------


@pytest.fixture
def empty_log():
    reasons.clear()
    yield
    reasons.clear()


@pytest.mark.usefixtures("empty_log")
def test_recorded_events_are_counted_and_kept_in_order() -> None:
    reasons.record(Reason.NO_GPU, why="no driver")
    reasons.record(Reason.CACHE_EMPTY)
    reasons.record(Reason.NO_GPU)
    assert reasons.counts() == {Reason.CACHE_EMPTY: 1, Reason.NO_GPU: 2}
    assert [e.reason for e in reasons.events()] == [
        Reason.NO_GPU,
        Reason.CACHE_EMPTY,
        Reason.NO_GPU,
    ]
    assert [str(e) for e in reasons.events("device")] == [
        "no usable GPU [PYC2701]: why=no driver",
        "no usable GPU [PYC2701]",
    ]


@pytest.mark.usefixtures("empty_log")
def test_the_log_is_bounded_and_the_counts_are_not() -> None:
    for k in range(reasons.LOG_LENGTH + 10):
        reasons.record(Reason.NO_GPU, k=k)
    assert len(reasons.events()) == reasons.LOG_LENGTH
    assert reasons.events()[-1].details == {"k": reasons.LOG_LENGTH + 9}
    assert reasons.counts()[Reason.NO_GPU] == reasons.LOG_LENGTH + 10


@pytest.mark.usefixtures("empty_log")
def test_collecting_sees_the_events_of_its_block_only() -> None:
    reasons.record(Reason.CACHE_EMPTY)
    with reasons.collecting() as outer:
        reasons.record(Reason.NO_GPU)
        with reasons.collecting() as inner:
            reasons.record(Reason.DISPATCH_SLOW_PYTHON)
    reasons.record(Reason.CACHE_EMPTY)
    assert [e.reason for e in outer] == [Reason.NO_GPU, Reason.DISPATCH_SLOW_PYTHON]
    assert [e.reason for e in inner] == [Reason.DISPATCH_SLOW_PYTHON]


def test_a_test_is_about_every_reason() -> None:
    """By its name, as the tests of the others: what raises it is found there."""
    files = [f for f in Path(__file__).parent.rglob("*.py") if f.name != "reasons.py"]
    text = "".join(f.read_text() for f in files)
    assert [r.name for r in Reason if r.name not in text and r.name.lower() not in text] == []


def test_every_reason_is_given_somewhere() -> None:
    """A reason that no code records would be a promise in the documentation only."""
    package = Path(pyc.__file__).parent
    files = [f for f in package.rglob("*.py") if f.name != "reasons.py"]
    words = set(re.findall(r"\bReason\.([A-Z_]+)", "".join(f.read_text() for f in files)))
    assert {r.name for r in Reason} <= words
