"""Versions of dicts, by which the names of whole modules are looked at natively."""

from __future__ import annotations

import abc
import builtins
import sys

import numpy as np
import pytest

from pyc import looks
from pyc.jit import jit
from pyc.runtime import dispatch, layout

X = np.array([1.0, 4.0])


def native_calls(function) -> int:
    return sum(dispatch.native_calls(function, s) for s in dispatch.specialisations(function))


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="dicts have no versions any more")
def test_a_dict_has_another_version_after_each_change() -> None:
    names = {"a": 1}
    seen = [layout.dict_version(names)]
    for change in (lambda: names.update(b=2), lambda: names.update(b=3), lambda: names.pop("a")):
        change()
        seen.append(layout.dict_version(names))
    assert len({*seen}) == 4 and layout.dict_version(names) == seen[-1]


def test_registered_classes_are_counted() -> None:
    class Abstract(abc.ABC):  # noqa: B024
        pass

    counted = layout.registered_classes()
    assert counted is not None and counted[1] == abc.get_cache_token()
    Abstract.register(type("Other", (), {}))
    assert layout.registered_classes() == (counted[0], abc.get_cache_token()) != counted


@pytest.mark.parametrize("versions", [True, False])
def test_names_that_change_all_the_time_are_looked_at_one_by_one(versions, monkeypatch) -> None:
    """As `builtins._` of an interactive session; or where CPython has no versions."""
    monkeypatch.setattr(looks, "_versions", {})
    if not versions:
        monkeypatch.setattr(layout, "dict_version", lambda names: None)
    monkeypatch.setattr(builtins, "_", 0, raising=False)
    function = jit(lambda x: np.sqrt(x) * abs(-2.0))
    for k in range(12):
        builtins._ = k
        assert function(X).tolist() == [2.0, 4.0]
    before = native_calls(function)
    for k in range(5):
        builtins._ = k
        function(X)
    assert native_calls(function) == before + 5
    monkeypatch.setattr(np, "sqrt", lambda x: x * 0)
    assert function(X).tolist() == [0.0, 0.0]
    monkeypatch.setattr(builtins, "abs", lambda x: 5.0 if type(x) is float else max(x, -x))
    monkeypatch.setattr(np, "sqrt", lambda x: x)
    assert function(X).tolist() == [5.0, 20.0]
