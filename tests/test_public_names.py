"""What is public exists, is documented and typed, and loads what it needs when it is asked for."""

from __future__ import annotations

import inspect
import subprocess
import sys
from types import ModuleType

import pytest

import pyc

MODULES = (pyc, pyc.numpy, pyc.numpy.fft, pyc.numpy.linalg, pyc.lax, pyc.debug, pyc.random, pyc.ir)
NAMES = [(module, name) for module in MODULES for name in module.__all__]
IDS = [f"{module.__name__}.{name}" for module, name in NAMES]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=IDS)
def test_a_public_name_is_there_with_its_docstring_and_types(module: ModuleType, name: str) -> None:
    found = getattr(module, name)
    assert name in dir(module)
    if isinstance(found, (ModuleType, type)) or callable(found):
        assert inspect.getdoc(found), f"{name} says nothing of itself"
    own = inspect.isfunction(found) and str(found.__module__).startswith("pyc")
    if own:
        untyped = [
            p.name for p in inspect.signature(found).parameters.values() if p.annotation is p.empty
        ]
        assert not untyped, f"{name}: {untyped} have no types"


def test_no_public_name_is_told_twice() -> None:
    for module in MODULES:
        assert len({*module.__all__}) == len(module.__all__)


ON_DEMAND = {"debug", "lax", "random", "scipy"}
"""Modules that are loaded when they are asked for."""


@pytest.mark.parametrize("name", sorted(pyc.__all__))
def test_each_name_is_there_right_after_the_import(name: str) -> None:
    """Whatever was loaded before; one process each would be slow, so those on demand only."""
    if name not in {n for names in pyc._ELSEWHERE.values() for n in names} | ON_DEMAND:
        assert name in vars(pyc)
        return
    code = f"import pyc; assert pyc.{name} is not None"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pyc' has no attribute 'jitt'"):
        pyc.jitt  # noqa: B018


def test_one_machine_has_its_own_devices() -> None:
    assert pyc.local_devices() == pyc.devices() and pyc.device_count() == len(pyc.devices())
    assert pyc.device_count("cpu") == 1 and pyc.local_devices("cpu")[0].kind == "cpu"
