"""Every example checks itself against NumPy; here each is run."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pyc
from pyc.backends import cuda

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NAMES = [p.stem for p in EXAMPLES]


def run(path: Path) -> None:
    """`main` of an example, in a module of its own."""
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()


@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_an_example_agrees_with_numpy_and_prints_a_table(path, capsys) -> None:
    run(path)
    assert len(capsys.readouterr().out.splitlines()) >= 3


@pytest.mark.cuda
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_an_example_agrees_with_numpy_on_a_gpu(path, capsys, monkeypatch) -> None:
    """The same code: every `pyc.jit` in it is for the GPU."""
    asked = []

    def jit(*given, **options):
        asked.append(given)
        return cpu_jit(*given, **options, device="cuda")

    cpu_jit = pyc.jit
    monkeypatch.setattr(pyc, "jit", jit)
    run(path)
    assert asked and len(capsys.readouterr().out.splitlines()) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_an_example_opens_with_its_command_and_asserts(path) -> None:
    """An example that checks nothing would show nothing."""
    module = ast.parse(path.read_text())
    assert f"python examples/{path.name}" in (ast.get_docstring(module) or "")
    (main,) = (n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == "main")
    checks = [
        node
        for node in ast.walk(main)
        if isinstance(node, ast.Assert)
        or (isinstance(node, ast.Attribute) and node.attr.startswith("assert_"))
    ]
    assert len(checks) >= 2, f"{path.name} compares nothing"


def test_an_example_runs_as_a_script(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "quickstart.py")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert "reduce_sum(" in done.stdout
    assert "signatures: gaussian_sum(x: f64[300], " in done.stdout
