"""Functions with an effect are refused, on their line, before the effect; harmless ones pass."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

from pyc.errors import PurityError, PycError
from pyc.jit import jit
from pyc.reasons import Reason, collecting
from tests.purity import harmless, impure, more_harmless, more_impure

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


IMPURE = probes(impure) | probes(more_impure)
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
    with pytest.raises(PycError) as found:
        jit(function)(make())
    return found.value


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
    golden(f"{type(found).__name__}: {found}")
    if isinstance(found, PurityError):
        assert found.rule is RULES[name.partition("_")[0]]
        assert found.place is not None
        assert found.place.column or name in more_impure.ONLY_ONCE
        if found.rule is not Reason.PURITY_GENERATOR and "assigned" not in found.message:
            assert found.rule in {e.reason for e in events} or name.startswith("name_")


def test_there_are_enough_probes() -> None:
    assert len(IMPURE) >= 60


STATE = [
    *("STEPS", "NESTED", "TABLE", "SEEN", "RECENT", "COUNTS", "DEFAULTS", "BYTES", "NUMBERS"),
    *("CONFIG", "COUNT", "CACHE", "KEPT", "DAY"),
]


def test_what_is_refused_has_not_happened(capsys) -> None:
    """Containers, attributes, names, random states and the output are as before all probes."""
    before = {name: copy.deepcopy(getattr(impure, name)) for name in STATE}
    model, made = dict(vars(impure.MODEL)), impure.Model.made
    weights, state = impure.WEIGHTS.copy(), impure.RNG.getstate()
    for function in probes(impure).values():
        refusal(function)
    for name in STATE:
        assert getattr(impure, name) == before[name], name
    assert vars(impure.MODEL) == model and impure.Model.made == made
    assert impure.Model.history == [] and impure.helper_counts.calls == 0
    assert np.equal(impure.WEIGHTS, weights).all() and impure.RNG.getstate() == state
    assert impure.BUFFER.getvalue() == ""
    assert capsys.readouterr() == ("", "")


# --- no false alarms ------------------------------------------------------------------------------

HARMLESS = {
    name: value
    for name, value in (vars(harmless) | vars(more_harmless)).items()
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
