"""`pyc.verify`: agrees where all is well, and names what differs where it is not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.backends import oracle
from pyc.errors import VerificationError
from pyc.ir.graph import Rewriter
from pyc.passes import memory

X = np.random.default_rng(0).standard_normal((5, 37)).astype(np.float32)


@pytest.fixture(autouse=True)
def _uncached(monkeypatch: pytest.MonkeyPatch) -> Any:
    with pyc.config.using(cache="off"):
        pyc.cache.memory.clear()
        yield
        pyc.cache.memory.clear()


def softmax(x: Any) -> Any:
    e = pnp.exp(x - x.max(axis=1, keepdims=True))
    return {"p": e / e.sum(axis=1, keepdims=True), "top": x.argmax(axis=1)}


def test_all_ways_agree() -> None:
    report = pyc.verify(softmax, X)
    assert {(c.executor, c.result) for c in report.checks} == {
        (way, name)
        for way in ("compiled", "passes", "plan")
        for name in ("result['p']", "result['top']")
    }
    assert all(c.difference == 0 and not c.bounded for c in report.checks)
    assert report.error == "" and "softmax: verified" in str(report)


def test_methods_keywords_and_statics() -> None:
    function = pyc.jit(lambda x, n, *, power: x**power * n, static_argnames="power")
    report = pyc.verify(function, X, 2.5, power=2)
    assert [c.difference for c in report.checks] == [0, 0, 0]
    assert function.cache_info().entries == 1


def test_errors_agree_too() -> None:
    report = pyc.verify(lambda x, i: x[i], X[0], np.array([3, 99]))
    assert report.checks == () and "99" in report.error
    assert "every way raises" in str(report)


def test_contractions_have_a_bound() -> None:
    """matmul + bias + relu, in a loop too: differences are allowed as far as the bound goes."""

    def layer(x: Any, w: Any, b: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, h: pnp.maximum(h @ w + b, 0.0), x)

    rng = np.random.default_rng(1)
    w, b = rng.standard_normal((37, 37)) / 6, rng.standard_normal(37)
    report = pyc.verify(layer, X.astype(np.float64), w, b)
    assert all(c.bounded for c in report.checks)
    report = pyc.verify(layer, X, w.astype(np.float32), b.astype(np.float32))
    assert all(c.bounded for c in report.checks)


def test_a_wrong_product_is_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """One part in ten thousand is far more than the bound of 37 terms."""
    plan = memory._Planner.program

    def wrong(self: Any, graph: Any) -> Any:
        def rule(builder: Any, eqn: Any, args: Any) -> Any:
            if eqn.op.name != "dot_general":
                return None
            (out,) = builder.bind(eqn.op, *args, **eqn.params)
            factor = builder.constant(np.full(out.shape, 1.0001), out.dtype)
            return builder.bind("mul", out, factor)

        return plan(self, Rewriter(rule)(graph))

    monkeypatch.setattr(memory._Planner, "program", wrong)
    with pytest.raises(VerificationError, match="plan: `result`"):
        pyc.verify(lambda x, w: x @ w, X, X.T.copy())


def test_a_wrong_rule_is_named_with_its_element(
    monkeypatch: pytest.MonkeyPatch, golden: Any
) -> None:
    """x + 0.0 -> x keeps a -0.0 that the program turns into 0.0."""
    simplify = import_module("pyc.passes.simplify")
    monkeypatch.setattr(simplify, "_same_bits", lambda a, b: bool(a == b))
    x = np.array([1.0, 2.0, -0.0, 4.0], np.float32)
    with pytest.raises(VerificationError) as found:
        pyc.verify(lambda x: x + 0.0, x)
    golden("\n".join([str(found.value), *found.value.__notes__]))


def test_ulp_allows_small_differences() -> None:
    report = pyc.verify(softmax, X, ulp=1)
    assert max(c.difference for c in report.checks) <= 1


def test_every_way_names_the_same_element() -> None:
    """Of several indices out of range the least is named, whatever the order of lanes: bits and
    messages depend on the program only."""
    x = np.arange(100.0)
    index = np.arange(64) % 100
    index[[3, 20, 41, 60]] = 300, 150, 200, -120
    report = pyc.verify(lambda x, i: x[i] * 2, x, index)
    assert "150" in report.error.splitlines()[0]


def test_plan_and_compiled_must_name_the_same_element(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter that took the first in place of the least would be found."""
    run_plan = oracle.run_plan

    def first(*args: Any) -> Any:
        try:
            return run_plan(*args)
        except oracle.PlanFailure as failed:
            raise oracle.PlanFailure(failed.site, 300) from None

    monkeypatch.setattr(oracle, "run_plan", first)
    index = np.array([3, 300, 150])
    with pytest.raises(VerificationError, match=r"compiled gives .*150.* plan .*300"):
        pyc.verify(lambda x, i: x[i] * 2, np.arange(100.0), index)
