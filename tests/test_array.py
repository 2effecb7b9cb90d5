"""`pyc.Array`, its place in jitted functions, and what is said where there is no GPU.

Arrays here are on `InterpretedDevice`, which stands for a GPU's memory; that a GPU does the same is
`tests/backends/test_cuda.py`'s to show.
"""

from __future__ import annotations

import copy
import gc
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import reasons
from pyc.array import Array, to_device
from pyc.backends import cuda
from pyc.errors import DeviceError, DonationError, PycError
from pyc.reasons import Reason
from tests.backends.interpreted_device import InterpretedDevice, install

VALUES = np.array([[1.5, -2.0, 0.0], [4.0, np.inf, -0.25]], np.float32)


@pytest.fixture
def device() -> InterpretedDevice:
    return InterpretedDevice()


def put(x: Any, device: InterpretedDevice) -> Array:
    return to_device(x, device)  # type: ignore[arg-type]


# --- the elements ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [np.bool_, np.int8, np.uint64, np.float16, np.float32, np.float64, np.complex64, "bfloat16"],
)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 4)])
def test_arrays_come_back_as_they_went(dtype: Any, shape: Any, device: InterpretedDevice) -> None:
    kind = pyc.ir.dtype.bf16.numpy if dtype == "bfloat16" else np.dtype(dtype)
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(kind)
    y = put(x, device)
    assert (y.shape, y.dtype, y.ndim) == (x.shape, kind, x.ndim)
    assert (y.size, y.nbytes, y.device) == (x.size, x.nbytes, "cuda:0")
    back = np.asarray(y)
    assert back.dtype == kind and back.shape == shape and back.tobytes() == x.tobytes()
    assert y.block_until_ready() is y and y.tolist() == x.tolist()


def test_any_layout_and_byte_order_goes_to_a_device(device: InterpretedDevice) -> None:
    for x in (VALUES.T, VALUES[:, ::-1], VALUES.astype(">f4"), np.broadcast_to(VALUES[0], (4, 3))):
        y = put(x, device)
        assert y.dtype == np.float32 and y.tolist() == x.tolist()
    assert put(3, device).dtype == np.int64 and put(2.5, device).item() == 2.5


def test_conversions_follow_numpy(device: InterpretedDevice) -> None:
    y = put(VALUES, device)
    assert np.asarray(y, np.float64).dtype == np.float64
    assert np.array(y) is not np.array(y) and np.array(y).flags.writeable
    with pytest.raises(ValueError, match="cuda:0 cannot be seen by NumPy without a copy"):
        np.asarray(y, copy=False)
    one = put(np.int32(7), device)
    assert (int(one), float(one), complex(one), bool(one), len(range(one))) == (7, 7, 7, True, 7)
    assert one.item() == 7 and type(one.item()) is int
    with pytest.raises(ValueError, match="truth value"):
        bool(y)
    with pytest.raises(TypeError):
        range(put(1.5, device))  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        y.item()
    assert len(y) == 2
    with pytest.raises(TypeError, match="rank 0"):
        len(one)


def test_text(device: InterpretedDevice) -> None:
    assert repr(put(VALUES[0], device)) == (
        "Array([ 1.5, -2. ,  0. ], dtype=float32, device='cuda:0')"
    )
    assert repr(put(np.int64(3), device)) == "Array(3, dtype=int64, device='cuda:0')"
    assert "..." in repr(put(np.arange(1000), device))


def test_nothing_about_an_array_can_be_changed(device: InterpretedDevice) -> None:
    y = put(VALUES, device)
    for name in ("shape", "dtype", "type", "address", "device", "other"):
        with pytest.raises(AttributeError):
            setattr(y, name, None)
    host = np.asarray(y)
    host[:] = 0
    assert y.tolist() == VALUES.tolist(), "the copy is the caller's"
    assert copy.copy(y) is y and copy.deepcopy([y])[0] is y


def test_memory_is_freed_with_the_array(device: InterpretedDevice) -> None:
    y = put(VALUES, device)
    assert y.address in device.memory
    del y
    gc.collect()
    assert not device.memory
    y = put(VALUES, device)
    thread = threading.Thread(target=lambda held: held.clear(), args=([y],))
    del y
    thread.start()
    thread.join()
    gc.collect()
    assert not device.memory


def test_a_failed_copy_keeps_no_memory(
    device: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def upload(address: int, array: Any) -> None:
        raise DeviceError("lost")

    monkeypatch.setattr(device, "upload", upload)
    with pytest.raises(DeviceError, match="lost"):
        put(VALUES, device)
    assert not device.memory


# --- what is refused ------------------------------------------------------------------------------


def assign(y: Any) -> None:
    y[0] = 1


def augment(y: Any) -> None:
    a = VALUES.copy()
    a += y


REFUSED: dict[str, Callable[[Any], Any]] = {
    "assignment": assign,
    "augmented assignment of a NumPy array": augment,
    "out of a ufunc": lambda y: np.add(y, 1, out=y),
    "out of a function": lambda y: np.sum(y, out=np.zeros((), np.float32)),
    "sort": lambda y: y.sort(),
    "fill": lambda y: y.fill(0),
    "copyto": lambda y: np.copyto(y, 0),
    "resize": lambda y: y.resize(6),
    "at of a ufunc": lambda y: np.add.at(y, 0, 1),
    "numpy function": lambda y: np.emath.sqrt(y),
    "argument of a ufunc": lambda y: np.sin(y, where=VALUES > 0),
    "index out of range": lambda y: y[5],
    "index array out of range": lambda y: y[np.array([0, 2])].tolist(),
    "mask of another length": lambda y: y[np.array([True, False, True])],
    "shapes": lambda y: y + np.ones(4),
    "type": lambda y: to_device(np.array(["a"]), y._device),
    "another device": lambda y: to_device(y, OTHER),
    "two devices": lambda y: y + to_device(VALUES, OTHER),
    "stream": lambda y: y.to_device("cpu", stream=3),
    "donated while shared": lambda y: (y.__dlpack__(), y.surrender()),
}


OTHER: Any = InterpretedDevice()
OTHER.label = "cuda:1"


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_do(
    name: str, gpu: InterpretedDevice, golden: Callable[..., None]
) -> None:
    """No silent copy of all elements to the host, and nothing that changes an array."""
    with pytest.raises(PycError) as refused:
        REFUSED[name](put(VALUES, gpu))
    lines = [x for x in str(refused.value).splitlines() if "test_array.py" not in x]
    golden("\n".join([type(refused.value).__name__, *(x for x in lines if "^" not in x)]))


def test_other_classes_may_know_what_to_do(device: InterpretedDevice) -> None:
    class Knows:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "added"

    assert put(VALUES, device) + Knows() == "added"
    with pytest.raises(TypeError):
        put(VALUES, device) + object()


def test_arrays_cannot_be_keys(device: InterpretedDevice) -> None:
    """As NumPy's: equality is of the elements."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(put(VALUES, device))


# --- in jitted functions --------------------------------------------------------------------------


@pytest.fixture
def gpu(device: InterpretedDevice, monkeypatch: pytest.MonkeyPatch) -> InterpretedDevice:
    """`InterpretedDevice` where programs look for a GPU."""
    install(device, monkeypatch)
    return device


def scaled(x: Any, k: Any) -> Any:
    return {"out": x * k, "most": x.max()}


def test_results_are_where_the_arguments_are(gpu: InterpretedDevice) -> None:
    """An `Array` among the arguments: `Array`s; NumPy arguments: NumPy, wherever it runs."""
    f = pyc.jit(scaled)
    found = f(put(VALUES, gpu), 2.0)
    assert all(isinstance(v, Array) for v in found.values())
    assert found["out"].tolist() == (VALUES * 2).tolist() and found["most"].item() == np.inf
    again = f(found["out"], np.float32(3))
    assert again["out"].tolist() == (VALUES * 6).tolist()
    plain = pyc.jit(scaled, device="cuda")(VALUES, 2.0)
    assert type(plain["out"]) is np.ndarray and type(plain["most"]) is np.float32
    assert gpu.launched
    here = f(VALUES, 2.0)
    assert type(here["out"]) is np.ndarray and len(f.signatures()) == 3


def test_calls_with_other_arrays_find_their_program(gpu: InterpretedDevice) -> None:
    """Calls with arrays of a known signature are not taken apart; all others are."""
    f = pyc.jit(lambda x, y: (x + y, [y]))
    a, b = put(VALUES, gpu), put(VALUES[0], gpu)
    for x, y in ((a, a), (a, b), (b, b), (a, a), (a, VALUES), (a, 2.0), (a, b)):
        total, (same,) = f(x, y)
        assert total.tolist() == (np.asarray(x) + np.asarray(y)).tolist()
        assert np.asarray(same).tolist() == np.asarray(y).tolist()
    assert f(x=a, y=b)[0].tolist() == f(a, b)[0].tolist()
    with pytest.raises(TypeError):
        f(a)
    with pytest.raises(TypeError):
        f(a, b, b)
    f.clear_cache()
    assert f(a, b)[0].tolist() == (VALUES + VALUES[0]).tolist() and len(f.signatures()) == 1


def test_a_donated_array_is_gone_and_the_result_has_its_memory(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x, y: x * 2 + y, donate_argnums=0)
    y = put(VALUES[1:], gpu)
    x = put(VALUES[:1], gpu)
    for k in range(1, 4):
        address, expected = x.address, np.asarray(x) * 2 + VALUES[1:]
        z = f(x, y) if k < 3 else f(x, y=y)
        assert x.is_deleted() and not y.is_deleted() and z.address == address
        np.testing.assert_array_equal(np.asarray(z), expected)
        assert repr(x) == "Array(<deleted>, f32[1,3], device='cuda:0')" and x.shape == (1, 3)
        uses = (partial(f, x, y), partial(np.asarray, x), x.block_until_ready, x.tolist)
        for use in uses:
            with pytest.raises(DonationError, match="was donated to a call: its elements are gone"):
                use()
        x = z
    with pytest.raises(DonationError, match="`x` shares memory with `y`"):
        f(y, y)
    assert not y.is_deleted()


def test_a_donated_array_is_gone_where_nothing_has_its_memory(gpu: InterpretedDevice) -> None:
    before = len(gpu.memory)
    f = pyc.jit(lambda x: x.sum(), donate_argnums=0)
    x = put(VALUES, gpu)
    total = f(x)
    assert x.is_deleted() and total.item() == VALUES.sum()
    del total, f
    gc.collect()
    assert len(gpu.memory) == before
    # A function for the CPU has copied it.
    x = put(VALUES, gpu)
    pyc.jit(lambda x: x + 1, donate_argnums=0, device="cpu")(x)
    assert x.is_deleted() and len(gpu.memory) == before


def test_numpy_arguments_of_a_gpu_keep_their_elements(gpu: InterpretedDevice) -> None:
    """What is donated is the copy on the device."""
    f = pyc.jit(lambda x: x + 1, donate_argnums=0, device="cuda")
    x = VALUES.copy()
    np.testing.assert_array_equal(f(x), VALUES + 1)
    np.testing.assert_array_equal(x, VALUES)


def test_a_deleted_array_is_named_with_the_users_line(gpu: InterpretedDevice, golden: Any) -> None:
    f = pyc.jit(lambda x: x + 1, donate_argnums=0)
    x = put(VALUES, gpu)
    f(x)
    with pytest.raises(DonationError) as refused:
        f(x)
    golden(str(refused.value))


def test_a_function_for_the_cpu_takes_arrays_from_a_device(gpu: InterpretedDevice) -> None:
    found = pyc.jit(scaled, device="cpu")(put(VALUES, gpu), 2.0)
    assert type(found["out"]) is np.ndarray and not gpu.launched
    assert found["out"].tolist() == (VALUES * 2).tolist()


def test_trees_move_and_wait(gpu: InterpretedDevice) -> None:
    tree = {"a": put(VALUES, gpu), "b": [put(np.int64(1), gpu), VALUES]}
    assert pyc.block_until_ready(tree) is tree
    back = pyc.device_get(tree)
    assert type(back["a"]) is np.ndarray and back["b"][0] == 1
    assert pyc.device_put(tree, "cpu")["a"].tolist() == VALUES.tolist()


def test_old_devices_are_named(gpu: InterpretedDevice) -> None:
    gpu.capability = 75
    with pytest.raises(DeviceError, match=r"capability 7.5; pyc needs 8.0 or newer"):
        pyc.jit(scaled, device="cuda")(VALUES, 2.0)


def test_failures_are_at_the_users_line(gpu: InterpretedDevice) -> None:
    def pick(x: Any, i: Any) -> Any:
        return x[i] * 2

    with pytest.raises(IndexError) as native:
        pyc.jit(pick)(VALUES, np.array([1, 2]))
    with pytest.raises(IndexError) as found:
        pyc.jit(pick)(put(VALUES, gpu), np.array([1, 2])).tolist()
    assert str(found.value) == str(native.value) and "x[i] * 2" in str(found.value)


def test_steps_of_the_host_are_reported(gpu: InterpretedDevice) -> None:
    """The reason is recorded when the program is made, with what is copied at each call."""
    x = np.random.default_rng(0).standard_normal(8000).astype(np.float32)
    f = pyc.jit(lambda v: pyc.lax.scan(lambda s, e: (s * 0.5 + e, s), 0.0, v)[1])
    with reasons.collecting() as found:
        y = f(put(x, gpu))
    assert y.tolist() == f(x).tolist()
    (event,) = (e for e in found if e.reason is Reason.PLACED_ON_HOST)
    assert event.details["function"] == "<lambda>" and "1 thread" in event.details["detail"]
    lowered = f.lower(put(x, gpu))
    assert Reason.PLACED_ON_HOST in {d.reason for d in lowered.decisions}
    assert "on host" in lowered.as_text("plan") and "on host" not in f.lower(x).as_text("plan")


# --- without a GPU --------------------------------------------------------------------------------

ASKED: dict[str, Callable[[], Any]] = {
    "device_put": lambda: pyc.device_put(VALUES),
    "device_put to one": lambda: pyc.device_put([VALUES], "cuda:1"),
    "jit": lambda: pyc.jit(lambda x: x + 1, device="cuda")(VALUES),
    "unknown device": lambda: pyc.device_put(VALUES, "tpu"),
    "unknown device of a function": lambda: pyc.jit(lambda x: x + 1, device="gpu"),
    "wrong number": lambda: pyc.device_put(VALUES, "cuda:x"),
}


def no_package() -> Any:
    raise ImportError("No module named 'cuda'")


class Driver:
    """The driver's package on a machine without a driver, or without a device."""

    def __init__(self, status: int, devices: int = 0) -> None:
        self._status = status
        self._devices = devices

    def cuInit(self, flags: int) -> tuple[Any]:
        return (_Status(self._status),)

    def cuDeviceGetCount(self) -> tuple[Any, int]:
        return _Status(0), self._devices

    def cuGetErrorString(self, status: Any) -> tuple[int, bytes]:
        return 0, b"no CUDA-capable device is detected"


class _Status:
    name = "CUDA_ERROR_NO_DEVICE"

    def __init__(self, number: int) -> None:
        self._number = number

    def __int__(self) -> int:
        return self._number


MACHINES: dict[str, Callable[[], Any]] = {
    "no package": no_package,
    "no driver": lambda: Driver(100),
    "no device": lambda: Driver(0),
}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """machine(name): makes this machine one of `MACHINES`."""

    def become(name: str) -> None:
        monkeypatch.setattr(cuda, "cuda_binding", MACHINES[name])
        cuda.problem.cache_clear()
        cuda.count.cache_clear()

    yield become
    monkeypatch.undo()
    cuda.problem.cache_clear()
    cuda.count.cache_clear()


@pytest.mark.parametrize("name", ASKED)
def test_asking_for_a_device_that_is_not_there(
    name: str, machine: Callable[[str], None], golden: Callable[..., None]
) -> None:
    """The whole text, and the reason in the log."""
    machine("no package")
    with reasons.collecting() as found, pytest.raises(DeviceError) as refused:
        ASKED[name]()
    golden("\n".join([str(refused.value), *map(str, found)]))


@pytest.mark.parametrize("name", MACHINES)
def test_what_a_gpu_needs_is_named(
    name: str, machine: Callable[[str], None], golden: Callable[..., None]
) -> None:
    machine(name)
    with reasons.collecting() as found:
        assert [d.kind for d in pyc.devices()] == ["cpu"]
        assert pyc.devices("cuda") == []
    assert {e.reason for e in found} == {Reason.NO_GPU}
    with pytest.raises(DeviceError) as refused:
        pyc.device_put(VALUES)
    golden(str(refused.value))


def test_all_else_works_without_a_gpu(machine: Callable[[str], None]) -> None:
    machine("no package")
    assert pyc.jit(lambda x: x + 1)(VALUES).tolist() == (VALUES + 1).tolist()
    assert pyc.device_get([VALUES])[0] is VALUES
    assert pyc.jit(lambda x: x + 1, device="cpu")(VALUES).shape == VALUES.shape
