"""Every place that makes a public error has its full text in a golden file, and every code a page.

The places are read from the source (`sites`), so a new one without a text fails here. A message is
found by what is known of it before the program runs; those of which next to nothing is known are
listed, with the golden file that holds one of them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyc.__main__ import main
from pyc.errors import CLASSES
from pyc.reasons import Reason
from tests.errors.sites import ANYTHING, Site, sites

GOLDEN = Path(__file__).parents[1] / "golden"
INTERNAL = ("CompileError", "VerificationError")
"""Errors of pyc itself, not of the user's program."""
KNOWN = 8
"""Fewer letters of a message do not tell it from others."""
ONE_OF_MANY = {
    ("cache/audit.py", "{} ({})"): "test_cache_upkeep/test_an_unsafe_directory_is_not_changed.txt",
    ("cli/cache_command.py", "{}"): "errors/test_elsewhere/test_a_command[no such key].txt",
    ("cli/ir_command.py", "{}: {}"): "errors/test_elsewhere/test_a_command[no arguments].txt",
    (
        "cli/ir_command.py",
        "{} has no `{}`{}",
    ): "errors/test_elsewhere/test_a_command[no such function].txt",
    ("ir/ops/linalg.py", "{}"): "errors/test_refused/test_refused[matrices-singular_equations].txt",
    ("signature.py", "{}: `{}` is {}"): "trace/test_refusals/test_refused_argument[text_array].txt",
    (
        "trace/dispatch.py",
        "{}.at {}",
    ): "errors/test_refused/test_refused[traces-two_results_at_places].txt",
    (
        "trace/dispatch.py",
        "{}.{} {}",
    ): "errors/test_refused/test_refused[traces-two_results_at_places].txt",
    ("trace/memory.py", "{}: {} {}"): "trace/test_refusals/test_refused[output_argument].txt",
    (
        "numpy/core.py",
        "{}",
    ): "errors/test_refused/test_refused[types-list_that_its_dtype_does_not_hold].txt",
    (
        "numpy/facts.py",
        "{}: {}",
    ): "errors/test_refused/test_refused[arguments-buffer_of_another_size].txt",
    (
        "trace/raising.py",
        "{}, {}",
    ): "errors/test_refused/test_refused[traces-raised_with_a_traced_value].txt",
    (
        "wrong_arguments.py",
        "{}: {}{}",
    ): "errors/test_elsewhere/test_arguments_outside_of_a_trace[memory].txt",
    ("trace/raising.py", "{}: {}"): "trace/test_rolled/test_refused[raises_in_a_branch].txt",
    # The next ones pass on a message that is a site of its own: of an `Effect`, of an `Unstable`.
    (
        "purity/held.py",
        "{} {}",
    ): "purity/test_probes/test_an_effect_is_refused[random_function].txt",
    ("purity/watch.py", "{} {}"): "purity/test_probes/test_an_effect_is_refused[output_print].txt",
    (
        "trace/numpy_module.py",
        "{} {}",
    ): "purity/test_probes/test_an_effect_is_refused[random_numpy].txt",
    ("trace/carried.py", "{}"): "trace/test_rolled/test_refused[dtype_changes].txt",
}
"""The golden file of a message of which next to nothing is known, by file and form."""


def public_sites() -> list[Site]:
    """Found by the tests: whoever collects tests does not wait for it."""
    return [site for site in sites() if site.error not in INTERNAL]


def golden_texts() -> list[str]:
    found = [file.read_text() for file in sorted(GOLDEN.rglob("*.txt"))]
    return [text for text in found if "more: python -m pyc explain PYC" in text]


def short(site: Site) -> tuple[str, str]:
    return site.file, site.form.replace(ANYTHING, "{}")


def test_every_place_that_makes_an_error_has_its_full_text_in_a_golden_file() -> None:
    texts = golden_texts()
    public = public_sites()
    vague = [s for s in public if s.literal < KNOWN]
    missing = [
        str(site)
        for site in public
        if site.literal >= KNOWN and not any(site.is_in(text) for text in texts)
    ]
    assert not missing, "\n".join(missing)
    assert {short(s) for s in vague} == ONE_OF_MANY.keys()


@pytest.mark.parametrize("key", ONE_OF_MANY, ids="-".join)
def test_a_message_that_is_passed_on_has_one_of_its_texts(key: tuple[str, str]) -> None:
    text = (GOLDEN / ONE_OF_MANY[key]).read_text()
    assert any(site.pattern.search(text) for site in public_sites() if short(site) == key)


def test_every_text_ends_with_a_fix_and_its_code() -> None:
    """Between the message, with its place, and the code there is something to do."""
    codes = CLASSES.keys() | {reason.code for reason in Reason}
    for text in golden_texts():
        for block in re.split(r"(?<=explain PYC\d{4})\n", text):
            if "more: python" not in block:
                continue
            *lines, last = block.rstrip("\n").splitlines()
            assert last.split()[-1] in codes
            told = [
                x
                for x in lines
                if x.startswith("  ")
                and not x.startswith(("  at ", "  given: ", "  rule: ", "       "))
            ]
            assert told or "VerificationError" in text or "PYC1520" in text, text


def test_no_text_shows_names_of_pycs_own() -> None:
    inside = re.compile(r"\b(Tracer|Eqn|Value|UNBOUND|pyc/trace|pyc/numpy|pyc/ir)\b|\$\w+")
    for text in golden_texts():
        if "PYC1520" not in text:
            assert not inside.search(text), text


def test_every_class_is_raised() -> None:
    """The base class aside. Donation is not there yet."""
    names = {cls.__name__ for cls in CLASSES.values()}
    used = {site.error for site in sites()}
    assert names - used <= {"PycError", "DonationError"}


@pytest.mark.parametrize("code", sorted(CLASSES))
def test_every_code_has_a_page(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"{code} {CLASSES[code].__name__}\n")
    assert CLASSES[code].remedy in page
