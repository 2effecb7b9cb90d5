"""Loops of unknown length and branches on a GPU: the host takes no part in them.

The driver's graphs are those of `InterpretedDevice`; `tests/backends/test_cuda.py` has what a GPU
must show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import compile_cuda, lax, reasons
from pyc.array import Array, to_device
from pyc.backends.conditions import CONDITIONAL, WORDS, Conditions, Running, choose_text, turn_text
from pyc.errors import DeviceError
from pyc.ir.plan import Branch, Copy, Launch, Library, Loop, Place, Plan, PlanBuffer
from pyc.ir.target import nvptx
from pyc.reasons import Reason
from pyc.runtime import device_steps, dispatch
from pyc.runtime.device_graph import rows_of
from pyc.runtime.device_steps import Choice, While, walk_items, written_out
from tests.backends.assembler import assemble, assembles
from tests.backends.interpreted_device import InterpretedDevice, install


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[InterpretedDevice]:
    """`InterpretedDevice` where programs look for a GPU."""
    device = InterpretedDevice()
    install(device, monkeypatch)
    yield device
    device.ledger.forget()
    if device.refusal is not None:
        raise device.refusal


def put(x: Any, on: Any) -> Any:
    return to_device(x, on) if isinstance(x, np.ndarray) else x


def native(f: Any) -> int:
    """How many calls of a jitted function were native."""
    return sum(dispatch.native_calls(f, s) for s in dispatch.specialisations(f))


def grow(x: Any) -> Any:
    """One array that is carried; no iteration, one or several."""
    return lax.while_loop(lambda v: v.sum() < 1e3, lambda v: v @ v, x)


def newton(x: Any) -> Any:
    """A number and an array, and an argument that is read in each iteration."""

    def body(state: Any) -> Any:
        i, v = state
        return i + 1, v - (v * v - x) / (2 * v)

    def goes_on(state: Any) -> Any:
        i, v = state
        return (i < 50) & (abs(v * v - x).max() > 1e-9)

    return lax.while_loop(goes_on, body, (0, x + 1))


def nested(x: Any) -> Any:
    """A loop in a loop, and a use of what comes out."""

    def halved(v: Any) -> Any:
        return lax.while_loop(lambda u: u.sum() > 1, lambda u: u * 0.5, v)

    def step(state: Any) -> Any:
        i, v = state
        return i + 1, halved(v) * 3 + i

    return lax.while_loop(lambda s: s[0] < 3, step, (0, x))[1] + 1


def known_inside(x: Any) -> Any:
    """A loop of known, odd length in one of unknown length: its buffers take turns."""

    def step(v: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, u: u @ u / 3 + i, v)

    return lax.while_loop(lambda v: v.max() < 50, step, x)


def inside_known(x: Any) -> Any:
    """A loop of unknown length in one of known, odd length."""

    def step(i: Any, pair: Any) -> Any:
        v, w = pair
        return lax.while_loop(lambda u: u.max() < 9, lambda u: u * 2 + 1, w), v - i

    return lax.fori_loop(0, 3, step, (x, x + 1))


def branch(x: Any, i: Any) -> Any:
    return lax.switch(i, [lambda v: v @ v, lambda v: v.sum(axis=0) + v, lambda v: v * 2], x)


def branch_in_loop(x: Any) -> Any:
    def step(state: Any) -> Any:
        i, v = state
        return i + 1, lax.cond(i % 2 == 0, lambda u: u @ u / 4, lambda u: np.roll(u, 1) + i, v)

    return lax.while_loop(lambda s: (s[0] < 7) & (s[1].max() < 50), step, (0, x))


def plain_python(x: Any) -> Any:
    """What a user writes."""
    error = x.sum()
    while error > 0.5:
        x = x / 2 + 0.001
        error = x.sum() - 0.3
    if error < 0.2:
        x = x @ x
    return x, error


def square(k: int) -> np.ndarray[Any, Any]:
    """So large that what is done with it is no one kernel."""
    return np.ones((20, 20)) * (0.06 + 0.02 * k)


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "grow": (grow, lambda k: (square(k),)),
    "newton": (newton, lambda k: (np.arange(1, 300.0) + k,)),
    "nested": (nested, lambda k: (np.ones(300) * k / 3,)),
    "known inside": (known_inside, lambda k: (square(k),)),
    "inside known": (inside_known, lambda k: (np.arange(300.0) - k,)),
    "branch": (branch, lambda k: (square(k), k - 1)),
    "branch in loop": (branch_in_loop, lambda k: (square(k),)),
    "plain python": (plain_python, lambda k: (square(k),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_host_takes_no_part(name: str, gpu: InterpretedDevice) -> None:
    function, arguments = PROGRAMS[name]
    f = pyc.jit(function)
    for k in range(5):
        given = arguments(k)
        found = f(*(put(x, gpu) for x in given))
        expected = pyc.jit(function)(*given)
        for y, z in zip(pyc.tree.leaves(found), pyc.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(np.asarray(y), z, rtol=1e-9)
    plan = f.compile(*(put(x, gpu) for x in given)).program.program.plan
    items = [*walk_items(written_out(plan) or ())]
    loops = any(isinstance(item, While) for item in items)
    assert loops or any(isinstance(item, Choice) for item in items)
    assert native(f) >= 3 and gpu.replayed == (5 if loops else native(f))


def test_arguments_are_left_as_they_are(gpu: InterpretedDevice) -> None:
    """The copies of an iteration go to buffers of the program."""
    f = pyc.jit(grow)
    x = put(square(0), gpu)
    for _ in range(3):
        f(x)
        np.testing.assert_array_equal(np.asarray(x), square(0))
    assert native(f) == 2


def test_a_check_in_a_loop(gpu: InterpretedDevice) -> None:
    @pyc.jit
    def walk(x: Any, i: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < 6, lambda s: (s[0] + 1, s[1] + x[s[1]]), (0, i))[1]

    x, i = put(np.array([1, 1, 1, 1, 1, 3, 1, 1]), gpu), put(np.int64(0) * np.ones((), int), gpu)
    for _ in range(3):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 8"):
            walk(x, i).tolist() and walk(x, put(np.asarray(3), gpu)).tolist()
    assert native(walk)


@pytest.mark.parametrize("way", ["older", "refuses"])
def test_drivers_without_conditions_ask_the_host_for_a_reason(
    way: str, gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(text: str, name: str) -> int:
        raise DeviceError("CUDA driver: unresolved")

    expected = np.asarray(pyc.jit(grow)(put(square(0), gpu)))
    replayed, gpu.conditions = gpu.replayed, Conditions(gpu)
    if way == "older":
        gpu.driver_version = CONDITIONAL - 10
    else:
        monkeypatch.setattr(gpu, "load", refuse)
    f = pyc.jit(grow)
    with reasons.collecting() as found:
        for _ in range(3):
            y = f(put(square(0), gpu))
    (said,) = {e.details["detail"] for e in found if e.reason is Reason.DISPATCH_SLOW_DEVICE}
    assert said.startswith("the host decides which steps run: the driver ")
    assert ("older than CUDA 12.4" if way == "older" else "CUDA driver: unresolved") in said
    assert native(f) == 0 and gpu.replayed == replayed > 0
    assert np.asarray(y).tobytes() == expected.tobytes()


def test_loops_that_carry_much_ask_the_host(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copying would take longer than asking."""
    f = pyc.jit(grow)
    monkeypatch.setattr(device_steps, "RETURNED_BYTES", 20 * 20 * 8 - 1)
    with reasons.collecting() as found:
        for _ in range(2):
            y = f(put(square(0), gpu))
    said = [e.details["detail"] for e in found if e.reason is Reason.DISPATCH_SLOW_DEVICE]
    assert native(f) == 0 and "a loop of unknown length carries much" in said[0]
    np.testing.assert_allclose(np.asarray(y), pyc.jit(grow)(square(0)))


@assembles
@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize("text", [turn_text, choose_text])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_conditions_assemble(
    text: Callable[[int, int], str], count: int, capability: int, tmp_path: Any
) -> None:
    """The driver's function is found when the code is loaded."""
    made = text(count, capability)
    assert ("griddepcontrol.wait;" in made) == (capability >= 90)
    (usage,) = assemble(made, nvptx(capability).cpu, tmp_path).usages
    assert usage.spilled == 0


# --- steps written out ----------------------------------------------------------------------------

A, B, C, FLAG, INDEX = range(5)


def plan_of(*steps: Any) -> Plan:
    """Steps over three arrays of 64 bytes, a flag and an index."""
    buffers = (
        *(PlanBuffer(64, Place.ARENA, 64 * k) for k in range(3)),
        PlanBuffer(1, Place.ARENA, 192),
        PlanBuffer(8, Place.ARENA, 256),
    )
    return Plan((), buffers, steps, (), ())


def test_what_takes_turns_is_copied_back() -> None:
    loop = Loop((Launch(0, (A, FLAG)),), FLAG, (Launch(1, (A, B)),), ((A, B),))
    items = written_out(plan_of(loop, Launch(2, (A,))))
    again = (Launch(0, (B, FLAG)),)
    inside = While((Launch(0, (A, FLAG)),), FLAG, (Launch(1, (A, B)),), again, (Copy(A, B),))
    assert items == (inside, Launch(2, (A,))) and rows_of(items) == 2 + 3 + 1


def test_loops_of_known_length_have_the_buffers_of_each_iteration() -> None:
    loop = Loop((), FLAG, (Launch(1, (A, B)),), ((A, B),), times=3)
    assert written_out(plan_of(loop, Launch(2, (A,)))) == (
        *(Launch(1, (A, B)), Launch(1, (B, A)), Launch(1, (A, B)), Launch(2, (B,))),
    )
    # In what may run more or less often than once, they end where they began.
    case = Branch(INDEX, ((loop,), ()))
    assert written_out(plan_of(case, Launch(2, (A,)))) == (
        Choice(INDEX, ((Launch(1, (A, B)), Launch(1, (B, A)), Launch(1, (A, B)), Copy(A, B)), ())),
        Launch(2, (A,)),
    )


def test_a_loop_after_an_odd_one_has_its_buffers() -> None:
    odd = Loop((), FLAG, (Launch(1, (A, B)),), ((A, B),), times=1)
    loop = Loop((Launch(0, (A, FLAG)),), FLAG, (Launch(2, (A, C)),), ((A, C),))
    assert written_out(plan_of(odd, loop, Copy(C, A))) == (
        Launch(1, (A, B)),
        While(
            *((Launch(0, (B, FLAG)),), FLAG, (Launch(2, (B, C)),)),
            *((Launch(0, (C, FLAG)),), (Copy(B, C),)),
        ),
        Copy(C, B),
    )


def test_a_copy_onto_itself_is_left_out() -> None:
    buffers = (PlanBuffer(64, Place.RESULT, 0), PlanBuffer(64, Place.RESULT, 0))
    assert written_out(Plan((), buffers, (Copy(0, 1),), (), ())) == ()


@pytest.mark.parametrize(
    "step",
    [
        Launch(0, (A,), host=True),
        Library("r", (A,)),
        Loop((), FLAG, (), ((A, B), (B, C))),
        Loop((Launch(0, (A,), host=True),), FLAG, ()),
        Branch(INDEX, ((Library("r", (A,)),),)),
    ],
    ids=["host", "library", "three take turns", "host in a loop", "library in a branch"],
)
def test_what_needs_the_host_has_no_graph(step: Any) -> None:
    assert written_out(plan_of(step)) is None


def test_the_bound_counts_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop((), FLAG, (Launch(1, (A,)), Copy(A, B)), times=4)
    monkeypatch.setattr(device_steps, "MOST_STEPS", 8)
    items = written_out(plan_of(loop))
    assert items is not None and len([*walk_items(items)]) == 8
    monkeypatch.setattr(device_steps, "MOST_STEPS", 7)
    assert written_out(plan_of(loop)) is None


def test_results_are_arrays_on_the_device(gpu: InterpretedDevice) -> None:
    f = pyc.jit(newton)
    for _ in range(3):
        count, root = f(put(np.array([4.0, 9.0]), gpu))
        assert type(count) is Array and type(root) is Array and root.device == "cuda:0"
        np.testing.assert_allclose(root.tolist(), [2, 3])


# --- Ctrl-C ---------------------------------------------------------------------------------------


def endless(x: Any, i: Any) -> Any:
    """A loop that ends where `x` is not zero; then a check that fails unless it came to its end."""
    n, v = lax.while_loop(lambda s: s[1].sum() == 0, lambda s: (s[0] + 1, s[1] * 1), (i, x))
    return x[np.where(v.sum() == 0, 999, n * 0)] + v


@pytest.mark.parametrize("from_python", [True, False], ids=["python", "native"])
def test_an_interruption_ends_a_loop(
    from_python: bool, gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu.deferred = True
    f = pyc.jit(endless)
    zeros, ones, i = (put(x, gpu) for x in (np.zeros(300), np.ones(300), np.zeros((), int)))
    if not from_python:
        f(ones, i)
    for _ in range(2):
        before = gpu.launched

        def interrupted(mark: Any, until: int = before + 30) -> None:
            while gpu.launched < until:
                mark.join(0.001)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(gpu, "poll", interrupted)
            with pytest.raises(KeyboardInterrupt):
                f(zeros, i)
        assert gpu.at_work is not None and not gpu.at_work.is_alive()
        # What its check found at the end means nothing: nobody is told, nor is the next call.
        gpu.ledger.judge()
        np.testing.assert_array_equal(np.asarray(f(ones, i)), np.full(300, 2.0))
    assert native(f) == (2 if from_python else 4)
    assert len(gpu.conditions.free) == WORDS and not gpu.ledger.open_calls


def test_a_call_that_nobody_waits_for_is_ended(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interruption may come before anybody waits."""
    gpu.deferred = True
    f = pyc.jit(endless)
    zeros, ones, i = (put(x, gpu) for x in (np.zeros(300), np.ones(300), np.zeros((), int)))
    f(ones, i)

    def interrupted(running: Running, verdict: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(compile_cuda, "_finished", interrupted)
        with pytest.raises(KeyboardInterrupt):
            f(zeros, i)
    assert gpu.at_work is not None and not gpu.at_work.is_alive()
    assert len(gpu.conditions.free) == WORDS
