"""Functions with an effect are refused, on their line, before the effect; harmless ones pass."""

from __future__ import annotations

import gc
import inspect
import os
import random
import re
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from pyc.errors import PurityError, PycError
from pyc.jit import jit
from pyc.reasons import Reason, collecting
from tests.purity import far, far_harmless, harmless, impure, more_harmless, more_impure
from tests.purity.appearance import appearance

ROOT = Path(__file__).parents[2]
X = np.array([1.5, 2.25, 3.0])
RULES = {
    "output": Reason.PURITY_OUTPUT,
    "file": Reason.PURITY_FILE,
    "process": Reason.PURITY_PROCESS,
    "network": Reason.PURITY_NETWORK,
    "thread": Reason.PURITY_THREAD,
    "environment": Reason.PURITY_ENVIRONMENT,
    "clock": Reason.PURITY_CLOCK,
    "random": Reason.PURITY_RANDOM,
    "name": Reason.PURITY_NAME,
    "object": Reason.PURITY_OBJECT,
    "argument": Reason.PURITY_ARGUMENT,
    "generator": Reason.PURITY_GENERATOR,
    "repeat": Reason.PURITY_NOT_REPEATABLE,
}


def probes(module) -> dict[str, FunctionType]:
    """The functions of a module by name; those without a parameter make one."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and name.partition("_")[0] in RULES
    }


EFFECTS = (impure, more_impure, *far.MODULES)
IMPURE = {name: probe for module in EFFECTS for name, probe in probes(module).items()}
ARGUMENTS = {
    "xs": lambda: [X, X],
    "params": lambda: {"w": X, "layers": [X, X]},
    "state": lambda: impure.State(X, [X]),
}


def refusal(function) -> PycError:
    """What the first call of a jitted function raises."""
    parameters = list(inspect.signature(function).parameters)
    if not parameters:
        function = function()
        parameters = list(inspect.signature(function).parameters)
    make = ARGUMENTS.get(parameters[0], lambda: X.copy())
    if function is far.methods.object_context_manager_from_outside:  # one can be entered once
        far.methods.ENTERED = far.methods.noting()
    with pytest.raises(PycError) as found:
        jit(function)(make())
    return found.value


UNMARKED = [
    *("environment_contextlib_chdir", "thread_condition", "thread_lock_reentrant"),
    *("thread_lock_with", "thread_semaphore", "thread_locked"),
    "object_context_manager_from_outside",
]
"""What `with` does is marked at `with` up to Python 3.12, then at its expression."""


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    """Paths in messages are relative to the root, and nothing is written there."""
    monkeypatch.chdir(ROOT)
    yield
    assert not (ROOT / "numbers.txt").exists() and not (ROOT / "x.npy").exists()


@pytest.mark.parametrize("name", sorted(IMPURE))
def test_an_effect_is_refused(name, golden) -> None:
    function = IMPURE[name]
    with collecting() as events:
        found = refusal(function)
    text = f"{type(found).__name__}: {found}"
    golden(re.sub(r"\n *\^+\n", "\n", text) if name in UNMARKED else text)
    if isinstance(found, PurityError):
        assert found.rule is RULES[name.partition("_")[0]]
        assert found.place is not None and found.place.column
        if found.rule is not Reason.PURITY_GENERATOR and "assigned" not in found.message:
            assert found.rule in {e.reason for e in events} or name.startswith("name_")


def test_there_are_enough_probes() -> None:
    assert len(IMPURE) >= 60
    assert len(IMPURE) == sum(len(probes(module)) for module in EFFECTS), "two of one name"


@pytest.mark.parametrize("module", EFFECTS)
def test_a_refusal_leaves_what_is_outside_as_it_was(module, capsys) -> None:
    """Whatever kind of object it is: containers, objects and classes of the user and of libraries,
    what only the hooks see before it happens, and what is seen afterwards only."""

    def state() -> dict[str, Any]:
        own = {k: v for k, v in vars(module).items() if isinstance(v, _WATCHED) or k.isupper()}
        return {k: appearance(v) for k, v in own.items()} | {"names": [*vars(module)]}

    def process() -> tuple[Any, ...]:
        loaded = {"nothing_here", "tests_purity_module", "mymod"}.intersection(sys.modules)
        facts = [*sys.path], [*sys.argv], [*sys.meta_path], np.pi, np.geterr()
        return *facts, loaded, dict(os.environ), os.getcwd(), gc.isenabled(), random.getstate()

    before, outside = state(), process()
    texts = [str(refusal(function)) for function in probes(module).values()]
    changed = {name for name, value in state().items() if value != before[name]}
    told = re.findall(r"has changed in `(\w+)` cannot be undone", "\n".join(texts))
    assert changed <= {*told} <= {"ENTERED", "SEQUENCE"}
    assert process() == outside and capsys.readouterr() == ("", "")


_WATCHED = (type, FunctionType)


# --- no false alarms ------------------------------------------------------------------------------

HARMLESS = {
    name: value
    for name, value in (vars(harmless) | vars(more_harmless) | vars(far_harmless)).items()
    if isinstance(value, FunctionType) and name.startswith("pass_")
}


@pytest.fixture
def a_module_that_does_much(tmp_path, monkeypatch):
    """Loading a module may do anything: it happens once in the process, whoever asks first."""
    source = "import time, random\nSTART = time.time(), random.random()\nopen(__file__).close()\n"
    (tmp_path / "this_is_not_there_else.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_a_harmless_function_is_jitted(name, a_module_that_does_much, capsys) -> None:
    function = HARMLESS[name]
    found = jit(function)(X.copy())
    np.testing.assert_allclose(found, function(X.copy()), rtol=1e-14)
    assert capsys.readouterr() == ("", "")


def test_there_are_enough_harmless_functions() -> None:
    assert len(HARMLESS) >= 40
