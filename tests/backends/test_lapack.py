"""The library of LAPACK: where it is missing, and that it is loaded by who uses it only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends import lapack
from pyc.errors import DeviceError


@pytest.fixture
def forgotten() -> Iterator[None]:
    """The library is looked for anew."""
    lapack._library.cache_clear()
    yield
    lapack._library.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_a_missing_package_is_named(monkeypatch: Any, golden: Any) -> None:
    monkeypatch.setattr(lapack, "find", lambda name: None)
    with pytest.raises(DeviceError) as found:
        lapack.address("lapack.dgetrf")
    golden(f"{type(found.value).__name__}: {found.value}")


@pytest.mark.usefixtures("forgotten")
def test_a_broken_library_is_named(monkeypatch: Any, tmp_path: Path) -> None:
    def found(name: str) -> Any:
        return type("Spec", (), {"origin": str(tmp_path / "__init__.py")})

    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libscipy_openblas.so").write_text("no library")
    monkeypatch.setattr(lapack, "find", found)
    with pytest.raises(DeviceError, match="scipy-openblas32, which cannot be loaded"):
        lapack.address("lapack.dgetrf")


LOADED = """
import numpy as np, pyc
f = pyc.jit(lambda a: np.linalg.{function}(a))
f(np.eye(3))
print("scipy_openblas32" in open("/proc/self/maps").read())
"""


@pytest.mark.parametrize(("function", "loaded"), [("inv", "True"), ("matrix_norm", "False")])
def test_the_library_is_loaded_for_who_uses_it(function: str, loaded: str) -> None:
    code = LOADED.replace("{function}", function)
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == loaded


def test_numpys_own_library_is_left_alone() -> None:
    """NumPy computes what it did before."""
    a = np.random.default_rng(0).standard_normal((300, 300))
    before = np.linalg.inv(a)
    pyc.jit(lambda a: np.linalg.inv(a))(a)
    assert np.array_equal(np.linalg.inv(a), before)
