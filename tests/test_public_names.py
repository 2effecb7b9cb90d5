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


FORKED = """
import os, sys, pyc
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        assert getattr(pyc, name) is not None, name
        os._exit(0)
    print(name, os.waitpid(child, 0)[1], flush=True)
"""
"""Asks for each name in a process of its own, in which nothing but `import pyc` came before."""


@pytest.fixture(scope="module")
def on_demand() -> tuple[dict[str, str], str]:
    """By name on demand: "0" if it is there right after the import; and what was said."""
    names = sorted({n for names in pyc._ELSEWHERE.values() for n in names} | ON_DEMAND)
    command = [sys.executable, "-c", FORKED, *names]
    done = subprocess.run(command, capture_output=True, text=True)
    found = (line.split() for line in done.stdout.splitlines() if line.count(" ") == 1)
    return {name: status for name, status in found if name in names}, done.stderr


@pytest.mark.parametrize("name", sorted(pyc.__all__))
def test_each_name_is_there_right_after_the_import(
    name: str, on_demand: tuple[dict[str, str], str]
) -> None:
    """Whatever was loaded before; one process each would be slow, so those on demand only."""
    if name not in {n for names in pyc._ELSEWHERE.values() for n in names} | ON_DEMAND:
        assert name in vars(pyc)
        return
    status, said = on_demand
    assert status.get(name) == "0", said


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pyc' has no attribute 'jitt'"):
        pyc.jitt  # noqa: B018


def test_one_machine_has_its_own_devices() -> None:
    assert pyc.local_devices() == pyc.devices() and pyc.device_count() == len(pyc.devices())
    assert pyc.device_count("cpu") == 1 and pyc.local_devices("cpu")[0].kind == "cpu"
