"""Section 4 of docs/design.md: every module with its one job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.layout import BEGIN, DESIGN, END, ROOT, first_sentence, layout, written

MODULES = sorted((ROOT / "pyc").rglob("*.py"))


def test_the_design_names_every_module() -> None:
    """Renew with `python -m tests.layout`."""
    text = DESIGN.read_text()
    assert text == written(text)
    section = text.partition("\n## 4. ")[2].partition("\n## 5. ")[0]
    listed = section.partition(BEGIN)[2].partition(END)[0].split("\n")
    names = [line.split()[0] for line in listed if line.strip()]
    packages = [m for m in MODULES if m.name == "__init__.py"]
    assert sorted(n for n in names if n.endswith(".py")) == sorted(
        ["__init__.py", *(m.name for m in MODULES if m not in packages)]
    )
    assert sorted(n for n in names if n.endswith("/")) == sorted(
        f"{p.parent.name}/" for p in packages
    )


@pytest.mark.parametrize("file", MODULES, ids=lambda f: str(f.relative_to(ROOT)))
def test_a_module_says_its_one_job_in_its_first_sentence(file: Path) -> None:
    said = first_sentence(file)
    assert 15 <= len(said) <= 140, said


def test_a_module_that_is_new_is_missed(tmp_path: Path) -> None:
    package = tmp_path / "pyc"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text('"""The whole: of it. More."""\n')
    (package / "inner" / "__init__.py").write_text('"""A part."""\n')
    (package / "inner" / "new.py").write_text('"""What is new\nhere.\n\nRest."""\n')
    assert layout(package).split("\n") == [
        "    pyc/",
        "      __init__.py              The whole: of it",
        "      inner/                   A part",
        "        new.py                 What is new here",
        "",
    ]
