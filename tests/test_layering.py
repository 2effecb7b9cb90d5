"""Imports go one way. The table below is the architecture; a new edge is a decision, made here."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import pyc

ROOT = Path(pyc.__file__).parent

ANYWHERE = {"errors", "reasons", "config", "frozen", "forks", "collector"}
"""Modules that every part may import, and that import nothing of pyc but `frozen` and `forks`."""

IR = {"ir"}
GLUE = {"ir", "interpreter", "numpy", "trace", "tree", "passes", "kernels", "backends", "runtime"}
GLUE |= {"array", "device", "cache", "store", "fingerprint"}

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "reasons": {"forks", "frozen"},
    "config": {"frozen"},
    "frozen": {"initialisers"},
    "initialisers": set(),
    "forks": set(),
    "collector": {"forks"},
    "ir": set(),
    "interpreter": IR,
    "wrong_arguments": set(),
    "tree": {"treedef"},
    "treedef": set(),
    "numpy": IR | {"interpreter", "array", "device", "tree", "wrong_arguments"},
    "trace": IR | {"interpreter", "numpy", "tree", "array", "device", "wrong_arguments"},
    "purity": IR | {"runtime", "trace"},
    "lax": IR | {"interpreter", "numpy", "trace", "tree"},
    "compositions": {"interpreter", "jit", "trace", "wrong_arguments"},
    "random": IR | {"compositions", "interpreter", "numpy", "trace"},
    "scipy": IR | {"compositions", "interpreter", "numpy", "trace"},
    "debug": {"trace"},
    "kernels": IR,
    "passes": IR | {"kernels"},
    "backends": IR | {"fingerprint"},
    "fingerprint": set(),
    "store": {"fingerprint"},
    "cache": {"fingerprint", "store"},
    "dlpack": IR,
    "array": IR | {"backends", "runtime"},
    "ahead": {"backends", "cache"},
    "device": IR | {"array", "backends", "tree"},
    "runtime": IR | {"backends", "store", "cache", "fingerprint"},
    "pipeline": IR | {"backends", "passes"},
    "out_of_memory": IR | {"cache"},
    "lowered": GLUE | {"out_of_memory"},
    "compile": GLUE | {"lowered", "out_of_memory"},
    "compile_host": GLUE | {"compile"},
    "device_code": IR | {"backends", "fingerprint"},
    "compile_cuda": GLUE
    | {"array_methods", "compile_host", "device_code", "lowered", "out_of_memory"},
    "movement": GLUE,
    "remake": GLUE | {"compile", "compile_cuda", "compile_host", "lowered", "movement"},
    "eager": GLUE | {"compile"},
    "report": set(),
    "explanation": GLUE
    | {"compile_cuda", "eager", "entries", "jit", "lowered", "programs", "report", "signature"},
    "eager_calls": GLUE | {"eager"},
    "whole_calls": GLUE | {"eager", "eager_calls"},
    "array_methods": GLUE,
    "signature": IR | {"interpreter", "trace", "tree", "array"},
    "looks": IR | {"array", "interpreter", "runtime", "trace"},
    "specialise": GLUE | {"compile", "compile_cuda", "looks", "signature"},
    "donation": {"array", "trace"},
    "targets": IR | {"backends"},
    "entries": GLUE | {"compile", "compile_cuda", "donation", "eager", "lowered", "signature"},
    "programs": GLUE
    | {"compile", "compile_cuda", "eager", "entries", "lowered", "purity", "signature"},
    "stages": GLUE | {"entries", "lowered", "programs", "signature"},
    "jit": GLUE
    | {"compile", "entries", "looks", "programs", "purity", "report", "signature"}
    | {"specialise", "stages"},
    "uncompiled": GLUE | {"eager", "jit"},
    "vectorized": IR | {"interpreter", "jit", "purity", "trace"},
    "kept": {"backends", "cache", "eager", "eager_calls", "jit", "movement", "runtime"}
    | {"whole_calls"},
    "verification": GLUE | {"eager", "jit", "lowered"},
    "demo": GLUE | {"__init__", "lax", "jit"},
    "cli": GLUE
    | {"__init__", "compile", "compile_cuda", "entries", "explanation", "jit", "demo", "lax"}
    | {"lowered", "report", "targets"},
    "__main__": {"cli", "__init__"},
    "__init__": GLUE
    | {"debug", "compile", "eager", "explanation", "jit", "lax", "cache", "verification"}
    | {"kept", "random", "scipy", "uncompiled", "vectorized"},
}
"""Part of pyc (a module, or a package with all in it) -> the parts that it may import."""

LAZY_DOORS = {"backends/__init__.py"}
"""Files that may import inside functions: heavy packages are loaded on first use there."""


def modules(root: Path) -> Iterator[tuple[Path, ast.Module]]:
    for file in sorted(root.rglob("*.py")):
        yield file.relative_to(root), parsed(file.read_text(), str(file))


@cache
def parsed(text: str, name: str) -> ast.Module:
    """A file, which several of the checks go through."""
    return ast.parse(text, name)


def part_of(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def dotted(path: Path) -> str:
    """The module name below pyc: `ir/ops/__init__.py` is `ir.ops`, the top itself is empty."""
    names = list(path.with_suffix("").parts)
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imports(tree: ast.Module, known: set[str], *, types: bool) -> Iterator[tuple[int, str]]:
    """Line and module (below pyc) of every import of pyc's own; known: the modules there are.

    types: whether imports under `if TYPE_CHECKING` count.
    """
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if not types and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped.update(n for statement in node.body for n in ast.walk(statement))
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write absolute imports"
            base = node.module or ""
            names = [f"{base}.{a.name}" for a in node.names] if base.startswith("pyc") else [base]
        else:
            continue
        for name in names:
            top, _, below = name.partition(".")
            if top == "pyc":
                while below and below not in known:
                    below = below.rpartition(".")[0]
                yield node.lineno, below


def forbidden_edges(root: Path) -> list[str]:
    """Imports that the table does not allow."""
    found = []
    known = {dotted(path) for path, _ in modules(root)}
    for path, tree in modules(root):
        part = part_of(path)
        if part not in ALLOWED:
            found.append(f"{path}: `{part}` is not in the table of tests/test_layering.py")
            continue
        for line, target in imports(tree, known, types=True):
            to = target.split(".")[0] or "__init__"
            if to != part and to not in ALLOWED[part] | (
                ANYWHERE if part not in ANYWHERE else set()
            ):
                found.append(f"{path}:{line}: {part} must not import {to}")
    return found


def hidden_imports(root: Path) -> list[str]:
    """Imports inside functions, but for the sanctioned doors."""
    found = []
    for path, tree in modules(root):
        if path.as_posix() in LAZY_DOORS:
            continue
        for function in ast.walk(tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                found += [
                    f"{path}:{node.lineno}: import inside a function"
                    for node in ast.walk(function)
                    if isinstance(node, (ast.Import, ast.ImportFrom))
                ]
    return found


def undeclared_packages(project: Path) -> list[str]:
    """Packages that a module of pyc or its tests imports when it is loaded, and that a fresh
    installation for the tests lacks."""
    told = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    declared = [*told["dependencies"], *told["optional-dependencies"]["test"]]
    names = {re.split(r"[<>=]", d)[0].replace("-", "_") for d in declared}
    names |= {*sys.stdlib_module_names, "pyc", "tests", "benchmarks", "examples"}
    found = []
    for folder in ("pyc", "tests"):
        for path, tree in modules(project / folder):
            for node in tree.body:
                if isinstance(node, ast.Import):
                    wanted = [a.name for a in node.names]
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    wanted = [node.module or ""]
                else:
                    continue
                missing = {w.partition(".")[0] for w in wanted} - names
                found += [f"{folder}/{path}:{node.lineno}: {name}" for name in sorted(missing)]
    return found


def cycle(root: Path) -> list[str]:
    """Modules that import each other when loaded; empty if none do."""
    known = {dotted(path) for path, _ in modules(root)}
    graph = {
        dotted(path): {to for _, to in imports(tree, known, types=False)} - {dotted(path)}
        for path, tree in modules(root)
    }
    # A package and its modules load as one: `pyc.ir.ops` imports its families to register them.
    packages = {name for name in graph if (root / name.replace(".", "/")).is_dir()}
    for name in graph:
        graph[name] = {
            to for to in graph[name] if to not in packages or not f"{name}.".startswith(f"{to}.")
        }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(autouse=True, scope="module")
def _forgotten() -> Iterator[None]:
    """The files do not stay for the tests of other modules."""
    yield
    parsed.cache_clear()


def test_every_import_is_an_allowed_edge() -> None:
    assert forbidden_edges(ROOT) == []


def test_imports_are_at_the_top() -> None:
    assert hidden_imports(ROOT) == []


def test_what_is_imported_is_declared(tmp_path) -> None:
    assert undeclared_packages(ROOT.parent) == []
    (tmp_path / "pyproject.toml").write_text((ROOT.parent / "pyproject.toml").read_text())
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("import os, numpy\nimport optree.utils\n")
    assert undeclared_packages(tmp_path) == ["tests/test_a.py:2: optree"]


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    assert cycle(ROOT) == []


def test_the_table_itself_has_no_circle() -> None:
    """`__init__` is left out: the command line and the demo programs use pyc as users do."""
    TopologicalSorter({k: v - {"__init__"} for k, v in ALLOWED.items()}).prepare()


@pytest.mark.parametrize(
    ("file", "source", "check", "message"),
    [
        (
            "ir/graph.py",
            "from pyc.passes import fuse",
            forbidden_edges,
            "ir must not import passes",
        ),
        ("errors.py", "import pyc.reasons", forbidden_edges, "errors must not import reasons"),
        ("backends/x86.py", "import pyc", forbidden_edges, "backends must not import __init__"),
        ("helpers.py", "", forbidden_edges, "`helpers` is not in the table"),
        ("jit.py", "def f():\n    import json", hidden_imports, "import inside a function"),
        ("jit.py", "f = lambda: __import__", hidden_imports, None),
        ("backends/__init__.py", "def f():\n    import llvmlite", hidden_imports, None),
    ],
)
def test_a_planted_violation_is_found(tmp_path, file, source, check, message) -> None:
    for name in ("passes/__init__.py", "passes/fuse.py", "reasons.py", "__init__.py", file):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source if name == file else "")
    found = check(tmp_path)
    assert (found == []) if message is None else any(message in line for line in found), found


def test_a_planted_circle_is_found(tmp_path) -> None:
    (tmp_path / "a.py").write_text("from pyc.b import x")
    (tmp_path / "b.py").write_text(
        textwrap.dedent("""
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from pyc.a import y
        """)
    )
    assert cycle(tmp_path) == []
    (tmp_path / "b.py").write_text("import pyc.a")
    assert set(cycle(tmp_path)) == {"a", "b"}
