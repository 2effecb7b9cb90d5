"""The part of docs/design.md that names every module of pyc with its one job.

    python -m tests.layout          writes it anew

It is made of the first sentence of each module, so what a module says of itself is in both places.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DESIGN = ROOT / "docs" / "design.md"
BEGIN = "<!-- every module: python -m tests.layout -->\n"
END = "<!-- end of every module -->\n"
INDENT = "    "


def first_sentence(file: Path) -> str:
    """What a module says that it is for, on one line and without the full stop."""
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    said = re.split(r"(?<=\.)\s", paragraph)[0]
    return said if said.endswith("...") else said.removesuffix(".")


def layout(package: Path) -> str:
    """The modules of a package and of those in it: a folder before what it holds."""
    lines = [f"{package.name}/", *_inside(package, 1)]
    return "".join(f"{INDENT}{line}\n" for line in lines)


def _inside(folder: Path, depth: int) -> list[str]:
    found = []
    for path in sorted(folder.iterdir(), key=lambda p: (p.is_dir(), p.name)):
        indent = "  " * depth
        if path.suffix == ".py" and (path.name != "__init__.py" or depth == 1):
            found.append(f"{indent}{path.name:<{26 - len(indent)}} {first_sentence(path)}")
        elif (path / "__init__.py").is_file():
            said = first_sentence(path / "__init__.py")
            found.append(f"{indent}{path.name + '/':<{26 - len(indent)}} {said}")
            found += _inside(path, depth + 1)
    return found


def written(text: str) -> str:
    """The design with that part made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{layout(ROOT / 'pyc')}\n{END}{after}"


if __name__ == "__main__":
    DESIGN.write_text(written(DESIGN.read_text()))
