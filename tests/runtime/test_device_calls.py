"""Native calls of programs on a GPU: what starts, on which memory, and what goes through Python.

The driver's functions here are those of `InterpretedDevice`, called by address as a GPU's are; that
a GPU does the same is `tests/backends/test_cuda.py`'s to show.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import array, compile_cuda, lax, reasons
from pyc.array import Array, to_device
from pyc.backends import ptx_early
from pyc.errors import OutOfMemoryError
from pyc.ir import dtype as dt
from pyc.ir.types import ArrayType
from pyc.reasons import Reason
from pyc.runtime import device_program, device_steps, dispatch
from tests.backends.interpreted_device import InterpretedDevice, install

X = np.array([[1.5, -2.0, 0.0], [4.0, 3.0, -0.25]], np.float32)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[InterpretedDevice]:
    """`InterpretedDevice` where programs look for a GPU."""
    device = InterpretedDevice()
    install(device, monkeypatch)
    yield device
    if device.refusal is not None:
        raise device.refusal


def put(x: Any, on: Any) -> Array:
    return to_device(x, on)


def native(f: Any) -> int:
    """How many calls of a jitted function were native."""
    return sum(dispatch.native_calls(f, s) for s in dispatch.specialisations(f))


def softmax_twice(x: Any) -> Any:
    """Three launches or more: a product stands between the row programs."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    q = p @ p.T
    return np.exp(q) / np.exp(q).sum(axis=1, keepdims=True)


def test_calls_of_one_kernel_start_it_natively(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x, y: x * 2 + y)
    for k in range(4):
        x, y = X + k, X * k
        found = f(put(x, gpu), put(y, gpu))
        assert type(found) is Array and found.device == "cuda:0"
        np.testing.assert_array_equal(np.asarray(found), x * 2 + y)
    assert native(f) == 3 and gpu.launched == 4 and gpu.replayed == 3


def test_all_memory_of_a_call_is_freed(gpu: InterpretedDevice) -> None:
    f = pyc.jit(softmax_twice)
    for _ in range(3):
        f(put(X, gpu))
    gc.collect()
    kept = len(gpu.memory)
    for _ in range(3):
        f(put(X, gpu))
    gc.collect()
    assert native(f) == 5 and len(gpu.memory) == kept


def test_numbers_are_copied_at_each_call(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x, k, c, z: (x * k, c, x + z))
    x = put(X, gpu)
    for k, c, z in ((2.0, 1 + 2j, 1), (3.0, 3j, 2), (-0.5, -1j, 3)):
        found, same, more = f(x, k, np.complex128(c), z)
        np.testing.assert_array_equal(np.asarray(found), X * np.float32(k))
        assert same.item() == c
        np.testing.assert_array_equal(np.asarray(more), X + z)
    assert native(f) == 2


@pytest.fixture
def steady(gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch) -> InterpretedDevice:
    """The same where memory that was freed is the next of its size."""
    sizes: dict[int, int] = {}
    freed: dict[int, list[int]] = {}
    allocate = gpu.allocate

    def again(nbytes: int) -> int:
        address = freed[nbytes].pop() if freed.get(nbytes) else allocate(nbytes)
        sizes[address] = nbytes
        return address

    def keep(address: int, nbytes: int | None = None) -> None:
        freed.setdefault(sizes[address], []).append(address)

    monkeypatch.setattr(gpu, "allocate", again)
    monkeypatch.setattr(gpu, "free", keep)
    return gpu


@pytest.mark.parametrize("number", [float, int, np.float32, np.float16])
def test_a_number_goes_with_the_launch(steady: InterpretedDevice, number: Any) -> None:
    gpu, f = steady, pyc.jit(lambda x, k: x * k + 1)
    x = put(X, gpu)
    f(x, number(2))
    f(x, number(2))
    before = gpu.changed
    for value, told in ((2, 0), (1, 1), (1, 0), (0, 1)):
        found = f(x, number(value))
        np.testing.assert_array_equal(np.asarray(found), X * np.float32(number(value)) + 1)
        assert gpu.changed == before + told, "the launch is told of another number only"
        before = gpu.changed
        del found
    assert native(f) == 5 and gpu.uploaded == 0


def powers(x: Any, k: Any) -> Any:
    """A number that six launches read."""
    found = []
    for _ in range(6):
        x = (x @ x) * k
        found.append(x)
    return found


def test_a_number_that_many_launches_read_is_copied_if_it_is_another(
    gpu: InterpretedDevice,
) -> None:
    f = pyc.jit(powers)
    given = np.full((3, 3), 0.5)
    x = put(given, gpu)
    for k, uploaded in ((0.5, 0), (0.5, 1), (0.5, 1), (0.25, 2), (-0.0, 3), (0.0, 4), (0.0, 4)):
        found, expected = f(x, k), pyc.jit(powers, device="cpu")(given, k)
        assert gpu.uploaded == uploaded
        for y, z in zip(found, expected, strict=True):
            assert np.asarray(y).tobytes() == z.tobytes()
    assert native(f) == 6


def test_numbers_of_programs_for_any_size(gpu: InterpretedDevice) -> None:
    """Operations outside of `jit`, whose Plans know no sizes."""
    x = put(X, gpu)
    for k in (2.5, -0.0, 2.5, 0.125):
        for found, expected in ((x * k, X * np.float32(k)), (x + k, X + np.float32(k))):
            assert np.asarray(found).tobytes() == expected.tobytes()
    assert not gpu.uploaded


def test_a_number_that_did_not_arrive_is_copied_again(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = pyc.jit(powers)
    x = put(np.full((3, 3), 0.5), gpu)
    f(x, 1.0)
    f(x, 1.0)
    copy = gpu.copy

    def refuse(*arguments: int) -> None:
        raise MemoryError

    monkeypatch.setattr(gpu, "copy", refuse)
    with pytest.raises(OutOfMemoryError):
        f(x, 2.0)
    monkeypatch.setattr(gpu, "copy", copy)
    gpu.refusal = None
    expected = pyc.jit(powers, device="cpu")(np.full((3, 3), 0.5), 2.0)
    assert np.asarray(f(x, 2.0)[-1]).tobytes() == expected[-1].tobytes()


def test_arrays_that_stay_are_not_told_again(steady: InterpretedDevice) -> None:
    w = X * 3
    w.flags.writeable = False
    f = pyc.jit(lambda x: x * w)
    x = put(X, steady)
    f(x)
    f(x)
    before = steady.changed
    f(x)
    f(x)
    assert native(f) == 3 and steady.changed == before


def test_several_launches_are_replayed(gpu: InterpretedDevice) -> None:
    f, expected = pyc.jit(softmax_twice), pyc.jit(softmax_twice, device="cpu")
    for k in range(5):
        x = X * (k + 1)
        np.testing.assert_allclose(np.asarray(f(put(x, gpu))), expected(x), rtol=1e-6)
    assert native(f) == gpu.replayed == 4


@pytest.mark.parametrize("early_bytes", [ptx_early.EARLY_BYTES, 4])
def test_short_kernels_begin_while_the_one_before_runs(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch, early_bytes: int
) -> None:
    monkeypatch.setattr(ptx_early, "EARLY_BYTES", early_bytes)
    f = pyc.jit(softmax_twice)
    for _ in range(3):
        found = f(put(X, gpu))
    assert (gpu.overlapped > 1) == (early_bytes > 4) and np.asarray(found).shape == (2, 2)


def test_older_drivers_have_plain_edges(gpu: InterpretedDevice) -> None:
    gpu.driver_version = 12020
    f = pyc.jit(softmax_twice)
    for _ in range(3):
        found = f(put(X, gpu))
    assert not gpu.overlapped and gpu.replayed == 2
    expected = pyc.jit(softmax_twice, device="cpu")(X)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


def heat(x: Any) -> Any:
    """Steps from one buffer to another."""
    for _ in range(21):
        x = x + 0.1 * (np.roll(x, 1) + np.roll(x, -1) - 2 * x)
    return x


def swapped(x: Any, y: Any) -> Any:
    """Arrays that take turns, a loop in a loop, and a use of what comes out."""

    def step(i: Any, pair: Any) -> Any:
        x, y = lax.fori_loop(0, 3, lambda _, p: (p[1] @ p[1] / 30, p[0] + i / 20), pair)
        return x - x.max(), y

    x, y = lax.fori_loop(0, 4, step, (x, y))
    return x + y, y


@pytest.mark.parametrize("function", [heat, swapped])
def test_loops_of_known_length_are_started_whole(
    gpu: InterpretedDevice, function: Callable[..., Any]
) -> None:
    rng = np.random.default_rng(0)
    f, count = pyc.jit(function), 1 + (function is swapped)
    for _ in range(4):
        given = [rng.standard_normal((12, 12)) for _ in range(count)]
        found = f(*(put(x, gpu) for x in given))
        expected = pyc.jit(function)(*given)
        for y, z in zip(pyc.tree.leaves(found), pyc.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(np.asarray(y), z, rtol=1e-9)
    assert "times" in f.lower(*(put(x, gpu) for x in given)).as_text("plan")
    assert native(f) == gpu.replayed == 3


def test_a_loop_of_many_steps_goes_through_python(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_steps, "MOST_STEPS", 6)
    f = pyc.jit(heat)
    with reasons.collecting() as found:
        f(put(np.ones(3000), gpu))
    assert "its steps are more than 6" in " ".join(str(e.details.get("detail")) for e in found)


def test_only_launches_with_other_addresses_are_told(gpu: InterpretedDevice) -> None:
    f = pyc.jit(softmax_twice)
    x = put(X, gpu)
    kept = [f(x) for _ in range(4)]
    first = gpu.changed
    kept.append(f(x))  # only what writes the result, and what has pieces of another arena
    assert native(f) == 4 and gpu.changed > first
    assert len({y.address for y in kept}) == 5
    for y in kept:
        assert np.asarray(y).tobytes() == np.asarray(kept[0]).tobytes()


def test_arrays_from_outside_are_read_natively(gpu: InterpretedDevice) -> None:
    w = put(X, gpu)
    rate = 2.0

    class Model:
        def __init__(self, w: Array) -> None:
            self.w = w

    model = Model(put(X * 3, gpu))

    @pyc.jit
    def f(x: Any) -> Any:
        return x * w * rate + model.w

    x = put(X + 1, gpu)
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(f(x)), (X + 1) * X * 2 + X * 3)
    assert native(f) == 2
    model.w = put(X * 5, gpu)
    np.testing.assert_array_equal(np.asarray(f(x)), (X + 1) * X * 2 + X * 5)
    w = put(X * 0, gpu)
    np.testing.assert_array_equal(np.asarray(f(x)), X * 5)
    assert native(f) == 4


def test_arrays_of_the_host_that_cannot_change_are_moved_once(gpu: InterpretedDevice) -> None:
    w = X * 3
    w.flags.writeable = False

    @pyc.jit
    def f(x: Any) -> Any:
        return x * w

    x = put(X, gpu)
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(f(x)), X * w)
    assert native(f) == 2
    before = len(gpu.memory)
    w = X * 5
    w.flags.writeable = False
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(f(x)), X * w)
    assert len(f.signatures()) == 1 and native(f) >= 2
    gc.collect()
    assert len(gpu.memory) <= before + 1


def test_arrays_of_the_host_that_may_change_are_copied_for_a_reason(gpu: InterpretedDevice) -> None:
    w = X * 3
    f = pyc.jit(lambda x: x * w)
    with reasons.collecting() as found:
        for k in range(3):
            w[:] = X * k
            np.testing.assert_array_equal(np.asarray(f(put(X, gpu))), X * w)
    details = [str(e.details.get("detail")) for e in found]
    assert details.count("`w` is copied to cuda:0") == 1 and native(f) == 0


def test_trees_and_keywords(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda tree, *, k: {"a": tree["a"] + k, "b": [tree["b"][0] * 2]})
    for _ in range(3):
        found = f({"a": put(X, gpu), "b": (put(X[0], gpu),)}, k=put(X, gpu))
        np.testing.assert_array_equal(np.asarray(found["a"]), X + X)
        np.testing.assert_array_equal(np.asarray(found["b"][0]), X[0] * 2)
    assert native(f) == 2


def test_empty_arrays_and_rank_0(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x: (x + 1, x.sum()))
    for x in (np.empty((0, 3), np.float32), np.float32(2.5), X):
        for _ in range(3):
            more, total = f(put(x, gpu))
            np.testing.assert_array_equal(np.asarray(more), x + 1)
            assert total.shape == () and total.item() == np.sum(x)
    assert native(f) == 6


def test_other_arrays_find_their_own_program(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x: x * 2)
    f(put(X, gpu)), f(put(X[0], gpu)), f(X)
    for x in (X, X[0], X.astype(np.float64)):
        y = f(put(x, gpu))
        assert type(y) is Array and y.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(y), x * 2)
        assert type(f(x)) is np.ndarray


def test_arrays_of_another_object_for_their_type_are_as_good(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x: x * 2)
    x = put(X, gpu)
    f(x), f(x)
    for _ in range(6):
        kind = pyc.ir.types.ArrayType((2, 3), pyc.ir.dtype.f32)
        x = Array(kind, x._device, x.surrender())
        np.testing.assert_array_equal(np.asarray(f(x)), X * 2)
    assert len(f.signatures()) == 1


def test_a_deleted_array_is_refused(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x: x * 2)
    x = put(X, gpu)
    f(x), f(x)
    x.delete()
    with pytest.raises(pyc.errors.DonationError, match="its elements are gone"):
        f(x)


def test_lack_of_memory_names_the_demand(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = pyc.jit(softmax_twice)
    x = put(X, gpu)
    f(x), f(x)
    allocate = gpu.allocate
    for fits in (0, 1):  # neither the result, or the result and not the arena
        left = [fits]

        def allocate_few(nbytes: int, left: list[int] = left) -> int:
            left[0] -= 1
            if left[0] < 0:
                raise OutOfMemoryError("the device is full")
            return allocate(nbytes)

        monkeypatch.setattr(gpu, "allocate", allocate_few)
        with pytest.raises(OutOfMemoryError, match="cuda:0 could not allocate"):
            f(x)
        monkeypatch.setattr(gpu, "allocate", allocate)
    gpu.refusal = None
    assert np.asarray(f(x)).shape == (2, 2) and native(f) == 3, "one of the failed calls counts"


@pytest.mark.parametrize("replayed", [1, 2])
def test_a_refusal_of_the_driver_is_an_error(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch, replayed: int
) -> None:
    monkeypatch.setattr(device_program, "REPLAYED", replayed)
    f = pyc.jit(lambda x: x * 2)
    x = put(X, gpu)
    f(x), f(x)

    def refuse(*arguments: int) -> None:
        raise RuntimeError("no")

    seen = []

    def check(answer: tuple[Any, ...]) -> None:
        seen.append(answer[0])
        raise pyc.errors.DeviceError("the driver refuses")

    monkeypatch.setattr(gpu, "_run", refuse)
    monkeypatch.setattr(gpu, "CUresult", int, raising=False)
    monkeypatch.setattr(compile_cuda.cuda, "check", check)
    with pytest.raises(pyc.errors.DeviceError, match="the driver refuses"):
        f(x)
    assert seen == [999]
    gpu.refusal = None


SLOW: dict[str, tuple[Callable[..., Any], Callable[[Any], tuple[Any, ...]], str]] = {
    "host": (
        lambda x: lax.scan(lambda s, e: (s * 0.5 + e, s), 0.0, x)[1],
        lambda on: (put(np.zeros(20_000), on),),
        "runs on the host",
    ),
    "numpy": (lambda x, y: x + y, lambda on: (put(X, on), X), "is copied to cuda:0"),
}


@pytest.mark.parametrize("name", SLOW)
def test_what_goes_through_python_says_why(name: str, gpu: InterpretedDevice) -> None:
    function, arguments, why = SLOW[name]
    f = pyc.jit(function)
    given = arguments(gpu)
    with reasons.collecting() as found:
        f(*given), f(*given)
    said = [e.details["detail"] for e in found if e.reason is Reason.DISPATCH_SLOW_DEVICE]
    assert native(f) == 0
    assert [why in text for text in said] == [True], "once"


def test_results_on_the_host_are_not_native(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda k: k * 2, device="cuda")
    with reasons.collecting() as found:
        assert [f(2.0), f(3.0)] == [4.0, 6.0]
    assert "no argument is there" in [e.details.get("detail") for e in found]


def test_programs_go_with_their_functions(gpu: InterpretedDevice) -> None:
    before = len(gpu.memory)
    f = pyc.jit(softmax_twice)
    x = put(X, gpu)
    for _ in range(3):
        f(x)
    assert gpu._graphs
    del f, x
    gc.collect()
    assert not gpu._graphs and len(gpu.memory) == before


def test_calls_stay_native_however_many_types_there_are(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrays are known by one object for their type, which a full table of types keeps."""
    monkeypatch.setattr(array, "_MOST_TYPES", 8)
    f = pyc.jit(lambda x: x * 2)
    for k in range(6):
        for n in range(5):
            array.known_type(ArrayType((k, n, 9), dt.f32))
        np.testing.assert_array_equal(np.asarray(f(put(X, gpu))), X * 2)
    assert native(f) == 5
    assert len(array._types) <= 8 and len(array._former_types) <= 8


def test_a_device_runs_no_program_that_was_loaded_on_another() -> None:
    """Of one name: what one test has compiled for it is nothing for the device of the next."""
    f = pyc.jit(lambda x: x * 3)
    for _ in range(2):
        device = InterpretedDevice()
        with pytest.MonkeyPatch.context() as patch:
            install(device, patch)
            for function in (f, np.tanh):
                before = device.launched
                function(put(X, device))
                assert device.launched == before + 1
