"""Checks on a GPU: a call does not wait for them, and no failure is lost.

The kernels are interpreted (`InterpretedDevice`); `tests/backends/test_cuda.py` has what a GPU must
show.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from threading import Lock, Thread
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import reasons
from pyc.array import Array, to_device
from pyc.errors import DonationError
from pyc.reasons import Reason
from pyc.runtime import dispatch
from tests.backends.interpreted_device import InterpretedDevice, install

VALUES = np.arange(8.0)
GOOD, BAD = np.array([1, 2, 7]), np.array([1, 9, 7])


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[InterpretedDevice]:
    """`InterpretedDevice` where programs look for a GPU."""
    device = InterpretedDevice()
    install(device, monkeypatch)
    yield device
    device.ledger.forget()
    if device.refusal is not None:
        raise device.refusal


def put(x: Any, on: Any) -> Array:
    return to_device(np.asarray(x), on)


def native(f: Any) -> int:
    """How many calls of a jitted function were native."""
    return sum(dispatch.native_calls(f, s) for s in dispatch.specialisations(f))


def pick(x: Any, i: Any) -> Any:
    """An index out of range fails."""
    return x[i] * 2


def ready(gpu: InterpretedDevice) -> tuple[Any, Array, Array, Array]:
    """A jitted function whose calls are native, and its arguments: good ones and bad ones."""
    f = pyc.jit(pick)
    x, good, bad = put(VALUES, gpu), put(GOOD, gpu), put(BAD, gpu)
    for _ in range(2):
        assert f(x, good).tolist() == [2, 4, 14]
    assert native(f) == 1
    return f, x, good, bad


READS: dict[str, Callable[[Array], Any]] = {
    "asarray": np.asarray,
    "item": lambda y: y.item(0),
    "tolist": lambda y: y.tolist(),
    "repr": repr,
    "str": str,
    "block_until_ready": lambda y: y.block_until_ready(),
    "tree": lambda y: pyc.block_until_ready({"y": [y]}),
    "device_get": pyc.device_get,
    "to_device": lambda y: y.to_device("cpu"),
    "dlpack": lambda y: y.__dlpack__(),
    "bool": lambda y: bool(y[1] > 0),
}


@pytest.mark.parametrize("read", READS)
def test_a_failure_is_raised_by_what_reads_a_result(gpu: InterpretedDevice, read: str) -> None:
    f, x, _, bad = ready(gpu)
    with pytest.raises(IndexError) as at_once:
        pyc.jit(pick)(VALUES, BAD)
    y = f(x, bad)
    assert native(f) == 2
    with pytest.raises(IndexError) as later:
        READS[read](y)
    assert str(later.value) == str(at_once.value) and "x[i] * 2" in str(later.value)


def test_the_first_call_does_not_wait_either(gpu: InterpretedDevice) -> None:
    y = pyc.jit(pick)(put(VALUES, gpu), put(BAD, gpu))
    with pytest.raises(IndexError):
        y.tolist()


def test_numpy_results_are_read_in_the_call(gpu: InterpretedDevice) -> None:
    f = pyc.jit(pick, device="cuda")
    for _ in range(3):
        with pytest.raises(IndexError):
            f(VALUES, BAD)
        assert f(VALUES, GOOD).tolist() == [2, 4, 14]


def test_a_result_of_a_failed_call_stays_failed(gpu: InterpretedDevice) -> None:
    f, x, good, bad = ready(gpu)
    y = f(x, bad)
    for _ in range(3):
        with pytest.raises(IndexError):
            y.tolist()
    assert y.is_deleted() and repr(y) == "Array(<failed>, f64[3], device='cuda:0')"
    for use in (lambda: f(y, good), lambda: y + 1, y.__dlpack__, y.block_until_ready):
        with pytest.raises(IndexError, match=r"index 9 is out of bounds"):
            use()
    assert f(x, good).tolist() == [2, 4, 14]


def test_all_results_of_a_call_fail_together(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x, i: {"a": x[i] * 2, "b": (x + 1, x.sum())})
    x, good, bad = put(VALUES, gpu), put(GOOD, gpu), put(BAD, gpu)
    for i in (good, good, bad):
        found = f(x, i)
    assert native(f) == 2
    for y in (found["b"][1], found["b"][0], found["a"]):
        with pytest.raises(IndexError):
            np.asarray(y)


def test_whoever_waits_first_raises_and_good_results_are_kept(gpu: InterpretedDevice) -> None:
    """What is computed from a failed result must not be read as if it were good."""
    f, x, good, bad = ready(gpu)
    before, failed, after = f(x, good), f(x, bad), f(x, good)
    derived = f(failed, put(np.array([0, 0, 0]), gpu))
    with pytest.raises(IndexError):
        derived.tolist()
    with pytest.raises(IndexError):
        failed.tolist()
    assert before.tolist() == after.tolist() == [2, 4, 14]


def test_a_result_tells_of_its_own_failure_first(gpu: InterpretedDevice) -> None:
    f = pyc.jit(pick)
    x = put(VALUES, gpu)
    first, second = (f(x, put(np.array([0, k]), gpu)) for k in (20, 30))
    with pytest.raises(IndexError, match="index 30 is out"):
        second.tolist()
    with pytest.raises(IndexError, match="index 20 is out"):
        first.tolist()


def test_each_failure_is_raised(gpu: InterpretedDevice) -> None:
    """In the order of the calls, with the value and the line of each."""
    f = pyc.jit(pick)
    x = put(VALUES, gpu)
    indices = [put(np.array([0, k]), gpu) for k in (3, 20, 30, 4, 40)]
    for i in indices[:1] * 2:
        f(x, i).tolist()
    kept = [f(x, i) for i in indices]
    for value in (20, 30, 40):
        with pytest.raises(IndexError, match=f"index {value} is out"):
            x.block_until_ready()
    x.block_until_ready()
    assert kept[0].tolist() == [0, 6] and kept[3].tolist() == [0, 8]
    with pytest.raises(IndexError, match="index 30 is out"):
        kept[2].tolist()


def test_results_that_die_unread_are_not_forgotten(gpu: InterpretedDevice) -> None:
    f, x, good, bad = ready(gpu)
    f(x, bad)
    with pytest.raises(IndexError):
        x.block_until_ready()
    x.block_until_ready()
    # The words of the call are another's by the time that someone waits.
    f(x, bad)
    for _ in range(40):
        f(x, good)
    with pytest.raises(IndexError):
        x.tolist()
    assert x.tolist() == VALUES.tolist()


def test_loops_of_calls_need_no_more_words(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x, i: x[i] + 1)
    x, i = put(np.zeros(3), gpu), put(np.array([0, 1, 2]), gpu)
    x = f(f(x, i), i)
    kept = len(gpu.memory)
    for _ in range(100):
        x = f(x, i)
    assert native(f) == 101 and gpu.ledger.open_calls <= 3
    assert x.tolist() == [102] * 3 and len(gpu.memory) == kept and not gpu.ledger.open_calls


def test_many_results_have_words_of_their_own(gpu: InterpretedDevice) -> None:
    f, x, good, bad = ready(gpu)
    kept = [f(x, bad if k == 37 else good) for k in range(50)]
    with pytest.raises(IndexError):
        kept[0].tolist()
    assert gpu.ledger.open_calls
    for k, y in enumerate(kept):
        if k == 37:
            with pytest.raises(IndexError):
                y.tolist()
        else:
            assert y.tolist() == [2, 4, 14]
    assert not gpu.ledger.open_calls


def test_a_failure_after_the_function_is_gone(gpu: InterpretedDevice) -> None:
    f, x, _, bad = ready(gpu)
    y = f(x, bad)
    del f
    gc.collect()
    with pytest.raises(IndexError):
        y.tolist()


def test_all_memory_is_freed_in_the_end(gpu: InterpretedDevice) -> None:
    before = len(gpu.memory)
    f, x, good, bad = ready(gpu)
    kept = [f(x, good) for _ in range(20)]
    kept.append(f(x, bad))
    with pytest.raises(IndexError):
        x.tolist()
    del kept, f, x, good, bad
    gc.collect()
    pyc.clear_caches()
    gc.collect()
    assert len(gpu.memory) == before


def test_several_kernels_with_checks_are_replayed(gpu: InterpretedDevice) -> None:
    """Each call has words of its own, which the nodes of the graph are told."""

    def twice(x: Any, i: Any, j: Any) -> Any:
        return np.sort(np.sort(x[i])[j])

    f = pyc.jit(twice)
    x, good, bad = put(VALUES, gpu), put(np.array([2, 1, 0]), gpu), put(np.array([0, 1, 3]), gpu)
    for _ in range(2):
        f(x, good, good).tolist()
    kept = [f(x, good, good), f(x, good, bad), f(x, good, good)]
    assert native(f) == 4 and gpu.replayed == 4
    with pytest.raises(IndexError, match=r"index 3 is out of bounds for axis 0 with size 3"):
        kept[0].tolist()
    assert kept[0].tolist() == kept[2].tolist() == [0, 1, 2]
    with pytest.raises(IndexError, match=r"sort\(x\[i\]\)\[j\]"):
        kept[1].tolist()


def test_a_step_of_the_host_raises_what_failed_before_it(gpu: InterpretedDevice) -> None:
    x = np.random.default_rng(0).standard_normal(20_000).astype(np.float32)
    index = np.arange(20_000)
    f = pyc.jit(lambda x, i: pyc.lax.scan(lambda s, e: (s * 0.5 + e, s), 0.0, x[i])[1])
    assert "on host" in f.lower(put(x, gpu), put(index, gpu)).as_text("plan")
    expected = f(x, index).tolist()
    assert f(put(x, gpu), put(index, gpu)).tolist() == expected
    with pytest.raises(IndexError):
        f(put(x, gpu), put(index + 1, gpu)).tolist()
    assert f(put(x, gpu), put(index, gpu)).tolist() == expected


def test_threads_read_their_own_results(gpu: InterpretedDevice) -> None:
    f, x, good, bad = ready(gpu)
    wrong: list[Any] = []
    # A native call keeps the interpreter's lock from its first call of the driver to its last; the
    # driver's functions of this device are Python's, between which another thread may have it.
    native_call = Lock()

    def work(fails: bool) -> None:
        for _ in range(30):
            with native_call:
                y = f(x, bad if fails else good)
            try:
                outcome = y.tolist()
            except IndexError:
                outcome = None
            if fails and outcome is not None:
                wrong.append(outcome)
            if not fails and outcome is None and y.tolist() != [2, 4, 14]:
                wrong.append(y)

    threads = [Thread(target=work, args=(k == 0,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# --- donation -------------------------------------------------------------------------------------


def test_donated_arrays_are_taken_natively(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x, y: (x * 2, y.sum()), donate_argnums=(0, 1))
    for k in range(4):
        x, y = put(VALUES + k, gpu), put(VALUES, gpu)
        address = x.address
        doubled, total = f(x, y)
        assert x.is_deleted() and y.is_deleted() and doubled.address == address
        assert doubled.tolist() == (2 * (VALUES + k)).tolist() and total.item() == 28
        del x, y, doubled, total
    assert native(f) == 3


def test_a_donated_array_that_is_given_twice_is_refused(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x, y: x * 2 + y, donate_argnums=0)
    y = put(VALUES, gpu)
    for _ in range(3):
        f(put(VALUES, gpu), y)
    assert native(f) == 2
    with pytest.raises(DonationError, match="`x` shares memory with `y`"):
        f(y, y)
    w = put(VALUES, gpu)
    g = pyc.jit(lambda x: x * 2 + w, donate_argnums=0)
    for _ in range(3):
        g(put(VALUES, gpu))
    assert native(g) == 2
    with pytest.raises(DonationError):
        g(w)
    assert not y.is_deleted() and not w.is_deleted()


def test_a_donated_array_that_is_shared_is_refused_natively(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x: x * 2, donate_argnums=0)
    for _ in range(3):
        f(put(VALUES, gpu))
    x = put(VALUES, gpu)
    capsule = x.__dlpack__()
    with pytest.raises(pyc.errors.DeviceError, match="shares its memory"):
        f(x)
    assert native(f) == 2 and x.tolist() == VALUES.tolist() and capsule is not None


def test_a_donated_array_and_a_check(gpu: InterpretedDevice) -> None:
    f = pyc.jit(pick, donate_argnums=0)
    for i in (GOOD, GOOD, GOOD, BAD):
        x = put(VALUES, gpu)
        y = f(x, put(i, gpu))
        assert x.is_deleted()
        if i is GOOD:
            assert y.tolist() == [2, 4, 14]
    assert native(f) == 3
    with pytest.raises(IndexError):
        y.tolist()
    with pytest.raises(DonationError):
        x.tolist()


# --- the end of the process -----------------------------------------------------------------------

UNREAD = """
import numpy as np
import pyc
import pytest
from pyc.array import to_device
from tests.backends.interpreted_device import InterpretedDevice, install

on = InterpretedDevice()
install(on, pytest.MonkeyPatch())
f = pyc.jit(lambda x, i: x[i] * 2)
y = f(to_device(np.arange(3.0), on), to_device(np.array([0, 5]), on))
"""


def test_a_failure_that_nobody_waits_for_is_a_warning_at_the_end() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNREAD], capture_output=True, text=True, check=True
    )
    assert "cuda:0:0: UnreadFailureWarning: IndexOutOfRangeError: index 5" in done.stderr
    done = subprocess.run(
        [sys.executable, "-c", UNREAD.replace("0, 5", "0, 2")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr


def test_the_warning_has_its_reason(gpu: InterpretedDevice) -> None:
    f, x, _, bad = ready(gpu)
    f(x, bad)
    with reasons.collecting() as found, pytest.warns(pyc.errors.UnreadFailureWarning):
        gpu.ledger.close()
    (event,) = (e for e in found if e.reason is Reason.DEVICE_FAILURE_UNREAD)
    assert event.details["device"] == "cuda:0" and "index 9" in event.details["detail"]
    x.block_until_ready()
