"""pyc as it is after `pip install`: below `site-packages`, and reached through a symbolic link."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pyc

SCRIPT = """
import numpy as np
import pyc
from pyc.errors import IndexOutOfRangeError


def helper(x):
    if x.sum() > 3:
        return x * 2
    return x


@pyc.jit
def run(x, n):
    total = np.zeros(3)
    for k in range(n):
        total[k % 3] += helper(x)[k] if k != 1 else -1.0
    return total


@pyc.jit
def beyond(x, i):
    return x[i]


print(pyc.__file__)
print(*run(np.arange(5.0), 5))
print(len(pyc.verify(run, np.arange(5.0), 5).checks) > 0)
try:
    beyond(np.arange(3.0), 7)
except IndexOutOfRangeError as error:
    print(error.place.line, error.place.function)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `site-packages` that holds the package."""
    folder = tmp_path_factory.mktemp("environment") / "site-packages"
    shutil.copytree(
        Path(pyc.__file__).parent, folder / "pyc", ignore=shutil.ignore_patterns("__pycache__")
    )
    return folder


def run(folder: Path, cwd: Path, *arguments: str) -> str:
    found = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(folder), "PYC_CACHE_DIR": str(cwd / "cache")},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    return found.stdout


@pytest.mark.parametrize("linked", [False, True])
def test_an_installed_package_traces_the_users_code_and_not_its_own(
    installed: Path, tmp_path: Path, linked: bool
) -> None:
    """pyc is Python only, as installed packages are that count as the user's code."""
    folder = installed
    if linked:
        folder = tmp_path / "link" / "site-packages"
        folder.parent.mkdir()
        folder.symlink_to(installed, target_is_directory=True)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    lines = run(folder, tmp_path, str(script)).splitlines()
    assert lines == [str(folder / "pyc" / "__init__.py"), "6.0 7.0 4.0", "True", "23 beyond"]


def test_the_demo_runs_from_an_installed_package(installed: Path, tmp_path: Path) -> None:
    """Its programs lie in the package and are the user's code all the same."""
    found = run(installed, tmp_path, "-m", "pyc", "demo", "mandelbrot")
    assert "agrees" in found
