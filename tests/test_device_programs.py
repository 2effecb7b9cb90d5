"""Programs of a GPU in the cache: whole, so that who finds one neither plans nor emits.

On the device of the tests, whose machine code is the text of kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import pyc
from pyc import cache, compile_cuda, eager, eager_calls, lax, reasons
from pyc.array import to_device
from pyc.device_code import RECORDS, DeviceCode, plain, restored
from pyc.errors import CompileError, DeviceError, DonationError
from pyc.ir import dtype as dt
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Var, apply, const, maximum, minimum
from pyc.ir.formula import formula, value
from pyc.ir.plan import Place, Step
from pyc.lowered import Lowered
from pyc.reasons import Reason
from tests.backends.interpreted_device import InterpretedDevice, install

X = np.array([[1.5, -2.0, 0.0], [4.0, 3.0, -0.25]], np.float32)
F23 = pyc.ShapeDtype((2, 3), "float32")


@pytest.fixture
def gpu(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> InterpretedDevice:
    """The device, with programs in a cache of the test's own."""
    device = InterpretedDevice()
    install(device, monkeypatch, cached=True)
    return device


def refused(*_: Any) -> Any:
    raise AssertionError("the program is in the cache")


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """no_compiler(): from now on nothing is planned or emitted."""

    def stop() -> None:
        monkeypatch.setattr(compile_cuda, "emitted", refused)
        monkeypatch.setattr(Lowered, "planned", property(refused))
        monkeypatch.setattr(Lowered, "graph", property(refused))

    return stop


def rows(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True), x.astype(np.int8), x[0] > 0


def halved(x: Any) -> Any:
    n = 0
    while x.sum() > 1:
        x, n = x / 2, n + 1
    return x, n


def chosen(x: Any) -> Any:
    return lax.cond(x[0, 0] > 0, lambda v: np.sort(v, axis=1), lambda v: v @ v.T @ v, x)


def stepped(x: Any) -> Any:
    return lax.scan(lambda s, e: (s * 0.5 + e, s), 0.0, np.tile(x.reshape(-1), 1400))[1]


def called(x: Any) -> Any:
    return pyc.pure_callback(lambda v: v * 3, F23, x + 1) * 2


TABLE = np.arange(6.0).reshape(3, 2)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "row programs, other types": rows,
    "a loop that the host decides": halved,
    "a branch": chosen,
    "a step of the host": stepped,
    "a call of Python": called,
    "an array from outside": lambda x: x.astype(float) @ TABLE,
    "constants": lambda x: x + np.array([1.0, 2.0, 3.0], np.float32),
    "no elements": lambda x: x[:0] + 1,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_program_that_is_found_is_not_made(
    name: str, gpu: InterpretedDevice, no_compiler: Callable[[], None]
) -> None:
    f = pyc.jit(FUNCTIONS[name])
    with reasons.collecting() as before:
        made = [np.asarray(v).tobytes() for v in pyc.tree.leaves(f(to_device(X, gpu)))]
    f.clear_cache()
    cache.reset_stats()
    no_compiler()
    with reasons.collecting() as after:
        found = [np.asarray(v).tobytes() for v in pyc.tree.leaves(f(to_device(X, gpu)))]
    assert found == made
    assert cache.stats().total.hits_disk >= 1
    hosts = [[e for e in events if e.reason in reasons.ON_HOST] for events in (before, after)]
    assert hosts[0] == hosts[1] and bool(hosts[0]) is (name == "a step of the host")


def test_a_program_that_is_found_takes_over_what_is_donated(
    gpu: InterpretedDevice, no_compiler: Callable[[], None]
) -> None:
    f = pyc.jit(lambda x, y: (x * 2 + y.sum(), y.sum()), donate_argnums=(0, 1))
    f(to_device(X, gpu), to_device(X[:1], gpu))
    f.clear_cache()
    no_compiler()
    x, y = to_device(X, gpu), to_device(X[:1], gpu)
    with reasons.collecting() as found:
        result = f(x, y)[0]
    assert result.tolist() == (X * 2 - 0.5).tolist()
    assert [e.details["argument"] for e in found if e.reason is Reason.MEMORY_DONATION_UNUSED] == [
        "y"
    ]
    with pytest.raises(DonationError):
        x.tolist()


def test_a_failure_of_a_program_that_is_found_is_at_the_users_line(gpu: InterpretedDevice) -> None:
    def pick(x: Any, i: Any) -> Any:
        return x[i] * 2

    f = pyc.jit(pick)
    i = np.array([0, 1])
    f(to_device(X, gpu), to_device(i, gpu)).tolist()
    f.clear_cache()
    cache.reset_stats()
    with pytest.raises(IndexError, match="index 6") as failed:
        f(to_device(X, gpu), to_device(i + 6, gpu)).tolist()
    assert "x[i] * 2" in str(failed.value) and cache.stats().total.hits_disk == 1


def test_operations_of_any_size_are_found(
    gpu: InterpretedDevice, no_compiler: Callable[[], None]
) -> None:
    for n in (5, 700):
        x = np.arange(float(n))
        assert (to_device(x, gpu) * 2 - 1).tolist() == (x * 2 - 1).tolist()
    eager.clear()
    eager_calls.clear()
    no_compiler()
    x = np.arange(1300.0)
    assert (to_device(x, gpu) * 2 - 1).tolist() == (x * 2 - 1).tolist()


def test_entries_are_made_again(gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pyc.cache.verify` compares all bytes; without the GPU it says what is missing."""
    f = pyc.jit(rows, device="cuda", name="verified")
    f(to_device(X, gpu))
    monkeypatch.setattr("pyc.remake.gpu", lambda name: gpu)
    found = cache.verify("verified")
    assert (found.equal, found.bad, found.unchecked) == (1, (), ())
    monkeypatch.setattr(gpu, "driver_version", 12000)
    (unchecked,) = cache.verify("verified").unchecked
    assert "made for" in unchecked.detail

    def nowhere(name: str) -> Any:
        raise DeviceError("no GPU can be used")

    monkeypatch.setattr("pyc.remake.gpu", nowhere)
    (unchecked,) = cache.verify("verified").unchecked
    assert "needs a GPU: no GPU can be used" in unchecked.detail


def test_reports_know_what_is_in_the_cache(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x: x * 2, name="reported")
    x = to_device(X, gpu)
    assert pyc.cache.explain(f, x).reason is Reason.CACHE_EMPTY
    f(x)
    assert pyc.cache.explain(f, x).reason is None
    gpu.driver_version += 10
    assert pyc.cache.explain(f, x).reason is Reason.CACHE_TARGET_DIFFERS


def test_other_drivers_have_other_code(gpu: InterpretedDevice) -> None:
    """Machine code is the driver's own: a newer one makes it again."""
    f = pyc.jit(lambda x: x * 2)
    f(to_device(X, gpu))
    f.clear_cache()
    gpu.driver_version += 10
    with reasons.collecting() as found:
        f(to_device(X, gpu))
    assert [e.reason for e in found if e.reason.name.startswith("CACHE")] == [
        Reason.CACHE_TARGET_DIFFERS
    ]


# --- records as plain values ----------------------------------------------------------------------


def test_every_step_can_be_kept() -> None:
    assert {kind.__name__ for kind in get_args(Step)} <= set(RECORDS)


def test_values_come_back() -> None:
    for x in (1, -1, True, None, "a", b"\0", (), (1, ("b", (None,))), Place.ARENA, dt.bf16):
        assert restored(plain(x)) == x and type(restored(plain(x))) is type(x)
    code = DeviceCode("", b"", *(() for _ in range(4)))
    assert DeviceCode.of_payload(code.payload()).payload() == code.payload()


@pytest.mark.parametrize("x", [1.5, [1], {"a": 1}, np.int64(3), Reason.NO_GPU, object()])
def test_what_cannot_be_kept_is_refused(x: Any) -> None:
    with pytest.raises(TypeError, match="keeps nothing of type"):
        plain((1, x))


# --- formulas -------------------------------------------------------------------------------------


def test_formulas_are_what_extents_are() -> None:
    n, m = Var("n"), Var("m")
    extents = [
        apply("quotient", n * m + 255, const(256)),
        minimum(maximum(n - m, 0), 7),
        apply("remainder", n + 3, const(5)),
        n * n,
    ]
    for sizes in ((0, 0), (1, 9), (1000, 3), (1 << 30, 5)):
        env = {v: np.asarray(k, np.int64) for v, k in zip((n, m), sizes, strict=True)}
        for extent in extents:
            assert value(formula(extent, (n, m)), sizes) == int(evaluate([extent], env)[0])
    assert formula(12, ()) == 12 and value(12, ()) == 12


def test_extents_of_anything_else_are_refused() -> None:
    n = Var("n")
    for extent in (Var("other"), n & 3):
        with pytest.raises(CompileError, match="more than sizes"):
            formula(extent, (n,))
