"""`pyc.Array` and other libraries: DLPack both ways, CUDA array interface, buffers, pickles."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import device as devices
from pyc import dlpack, reasons
from pyc.array import Array
from pyc.errors import DeviceError, DTypeError
from pyc.reasons import Reason
from tests.backends.interpreted_device import InterpretedDevice, install

X = np.array([[1.5, -2.0, 0.25], [4.0, 3.5, -0.25]], np.float32)
TYPES = ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> InterpretedDevice:
    """Its memory is the host's, so that what is shared can be looked at."""
    device = InterpretedDevice()
    install(device, monkeypatch)
    return device


class Library:
    """An array of another library: what a capsule holds, with the methods of the standard."""

    def __init__(self, array: Any, device: tuple[int, int] = (1, 0), old: bool = False) -> None:
        self.array = array
        self.device = device
        self.old = old
        self.streams: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        if self.old and options:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        x = self.array
        kind = pyc.ir.dtype.of(x.dtype)
        assert kind is not None
        versioned = bool(options)
        return dlpack.export(x.ctypes.data, x.shape, kind, self.device, x, versioned=versioned)


class Owner:
    """Says when it is gone."""

    def __init__(self, gone: list[str]) -> None:
        self.gone = gone

    def __del__(self) -> None:
        self.gone.append("gone")


# --- to others ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_numpy_sees_an_array_on_the_cpu_without_a_copy(dtype: str, shape: Any) -> None:
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    y = pyc.device_put(x, "cpu")
    seen = np.from_dlpack(y)
    assert seen.dtype == x.dtype and seen.shape == shape and seen.tobytes() == x.tobytes()
    if x.size:
        assert not seen.flags.writeable
        assert seen.ctypes.data == y.address == np.asarray(y).ctypes.data
        del y
        gc.collect()
        assert seen.tobytes() == x.tobytes()


def test_the_memory_stays_as_long_as_somebody_sees_it(gpu: InterpretedDevice) -> None:
    y = pyc.device_put(X, "cuda")
    taken = dlpack.take(y.__dlpack__(max_version=(1, 0)))
    address = y.address
    del y
    gc.collect()
    assert taken.address == address in gpu.memory and taken.read_only
    assert dlpack.elements(taken).tolist() == X.tolist()
    del taken
    gc.collect()
    assert address not in gpu.memory


def exported(gone: list[str]) -> Any:
    """A capsule of `X`, whose owner adds to `gone` when it is gone."""
    kind = pyc.ir.dtype.f32
    return dlpack.export(X.ctypes.data, (2, 3), kind, (2, 0), Owner(gone), versioned=True)


def test_what_a_capsule_holds_is_let_go_of_once() -> None:
    gone: list[str] = []
    capsule = exported(gone)
    assert not gone
    del capsule
    assert gone == ["gone"], "nobody has used it"
    capsule = exported(gone)
    taken = dlpack.take(capsule)
    with pytest.raises(BufferError, match="used already"):
        dlpack.take(capsule)
    del capsule
    assert gone == ["gone"] and taken.address == X.ctypes.data
    del taken
    assert gone == ["gone"] * 2
    with pytest.raises(BufferError, match="no capsule"):
        dlpack.take(3)


def test_capsules_and_arrays_that_an_exception_drops_harm_nothing() -> None:
    """Their deleters are called while it is on its way."""
    gone: list[str] = []
    y = pyc.device_put(X, "cpu")
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            (exported(gone), dlpack.take(exported(gone)), np.from_dlpack(y), 1 // 0)
    gc.collect()
    assert gone == ["gone"] * 6 and y.tolist() == X.tolist()


def test_another_thread_may_let_go() -> None:
    gone: list[str] = []
    held = [dlpack.take(exported(gone))]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert gone == ["gone"]


def test_the_versions_of_the_protocol(gpu: InterpretedDevice) -> None:
    y = pyc.device_put(X, "cuda")
    assert not dlpack.take(y.__dlpack__()).read_only, "it cannot say so"
    assert not dlpack.take(y.__dlpack__(max_version=(0, 8))).read_only
    assert dlpack.take(y.__dlpack__(max_version=(1, 3))).read_only
    copied = dlpack.take(y.__dlpack__(max_version=(1, 0), copy=True))
    assert not copied.read_only and copied.address != y.address
    assert dlpack.take(y.__dlpack__(copy=False)).address == y.address


def test_devices_and_streams_of_the_protocol(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = []
    monkeypatch.setattr(gpu, "synchronize", lambda: waits.append(1))
    here, there = pyc.device_put(X, "cpu"), pyc.device_put(X, "cuda")
    assert here.__dlpack_device__() == (1, 0) and there.__dlpack_device__() == (2, 0)
    for stream in (None, 1, 2, 77):
        there.__dlpack__(stream=stream)
    assert len(waits) == 4
    there.__dlpack__(stream=-1)
    assert len(waits) == 4
    with pytest.raises(ValueError, match="ambiguous"):
        there.__dlpack__(stream=0)
    with pytest.raises(ValueError, match="no streams"):
        here.__dlpack__(stream=1)
    moved = dlpack.take(there.__dlpack__(dl_device=(1, 0)))
    assert moved.device == (1, 0) and dlpack.elements(moved).tolist() == X.tolist()
    assert np.from_dlpack(there, device="cpu").tolist() == X.tolist()
    with pytest.raises(BufferError, match="without a copy"):
        there.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="cannot be given"):
        here.__dlpack__(dl_device=(2, 0))


def test_bfloat16_goes_through_dlpack() -> None:
    x = X.astype(pyc.ir.dtype.bf16.numpy)
    y = pnp.from_dlpack(pyc.device_put(x, "cpu").to_device("cpu"))
    assert y.dtype == x.dtype
    taken = dlpack.take(y.__dlpack__())
    assert taken.dtype is pyc.ir.dtype.bf16 and dlpack.elements(taken).tobytes() == x.tobytes()


def test_the_cuda_array_interface(gpu: InterpretedDevice) -> None:
    y = pyc.device_put(X, "cuda")
    found = y.__cuda_array_interface__
    assert found == {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (y.address, True),
        "strides": None,
        "version": 3,
        "stream": 1,
    }
    assert pyc.device_put(np.empty((0, 2)), "cuda").__cuda_array_interface__["data"] == (0, True)
    for x in (pyc.device_put(X, "cpu"), pyc.device_put(X.astype(pyc.ir.dtype.bf16.numpy), "cuda")):
        assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(DeviceError, match="shares its memory"):
        pyc.jit(lambda a: a + 1, donate_argnums=0)(y)
    assert y.tolist() == X.tolist()


# --- from others ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_memory_of_numpy_is_shared(dtype: str, shape: Any) -> None:
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    y = pnp.from_dlpack(x)
    assert type(y) is Array and y.device == "cpu" and y.dtype == x.dtype and y.shape == shape
    assert np.asarray(y).tobytes() == x.tobytes()
    if x.size:
        assert y.address == x.ctypes.data
        assert pnp.from_dlpack(x, copy=False).address == x.ctypes.data
        assert pnp.from_dlpack(x, copy=True).address != x.ctypes.data


def test_memory_that_was_taken_over_lives_with_the_array() -> None:
    x = np.arange(6.0)
    count = sys.getrefcount(x)
    y = pnp.from_dlpack(x)
    z = y + 0
    del y
    gc.collect()
    assert sys.getrefcount(x) == count and z.tolist() == x.tolist()


def test_layouts_are_copied_or_refused() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for view in (x.T, x[:, ::-1], x[::-1, :, ::-2], x[:, 1:2, :], np.broadcast_to(x[0, 0], (5, 4))):
        if view.flags.writeable:
            assert pnp.from_dlpack(view).tolist() == view.tolist()
            assert pnp.from_dlpack(view, copy=True).tolist() == view.tolist()
    with pytest.raises(BufferError, match="C order"):
        pnp.from_dlpack(x.T, copy=False)
    assert pnp.from_dlpack(x[:, 1:2, :1][:1], copy=False).tolist() == [[[4.0]]]


def test_arrays_of_other_libraries(gpu: InterpretedDevice) -> None:
    for old in (False, True):
        theirs = Library(X, (2, 0), old)
        y = pnp.from_dlpack(theirs)
        assert y.device == "cuda:0" and y.address == X.ctypes.data and theirs.streams == [1]
        assert (y * 2).tolist() == (X * 2).tolist()
        assert pnp.from_dlpack(theirs, device="cpu").device == "cpu"
        with pytest.raises(BufferError, match="in a copy only"):
            pnp.from_dlpack(theirs, device="cpu", copy=False)
        del y
        here = pnp.from_dlpack(Library(X, old=old))
        assert here.device == "cpu" and here.address == X.ctypes.data
        assert pnp.from_dlpack(here, device="cuda").device == "cuda:0"
    assert X.tolist() == [[1.5, -2.0, 0.25], [4.0, 3.5, -0.25]]


def test_an_array_is_itself(gpu: InterpretedDevice) -> None:
    y = pyc.device_put(X, "cuda")
    assert pnp.from_dlpack(y) is y and pnp.from_dlpack(y, device="cuda:0") is y
    again = pnp.from_dlpack(y, copy=True)
    assert again.address != y.address and again.tolist() == X.tolist()


def test_what_cannot_be_taken_over_is_named(golden: Any) -> None:
    with pytest.raises(DeviceError) as refused:
        pnp.from_dlpack(Library(X, (7, 0)))
    golden("\n".join(x for x in str(refused.value).splitlines() if " at " not in x))
    with pytest.raises((BufferError, AttributeError)):
        pnp.from_dlpack(np.array(["a"]))
    with pytest.raises(DTypeError):
        pnp.from_dlpack([1, 2])


# --- Python ---------------------------------------------------------------------------------------


def test_a_part_of_an_array_on_a_gpu_is_copied_where_it_begins(gpu: InterpretedDevice) -> None:
    """Kernels move 16 bytes at once, and an address that is no multiple of 16 is an error there."""
    whole = np.frombuffer(bytearray(16 * 9), np.float32)
    whole[:] = range(36)
    first = -whole.ctypes.data % 16 // 4
    for begin in range(first, first + 5):
        theirs = Library(whole[begin : begin + 8], device=(2, 0))
        y = pnp.from_dlpack(theirs)
        shared = y.address == theirs.array.ctypes.data
        assert shared == ((begin - first) % 4 == 0) and y.address % 16 == 0
        assert y.tolist() == theirs.array.tolist() and (y + 1.0)[3] == theirs.array[3] + 1
        if not shared:
            with pytest.raises(BufferError, match="a multiple of 16 bytes"):
                pnp.from_dlpack(theirs, copy=False)


@pytest.mark.parametrize("on", ["cpu", "cuda"])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_comes_back_to_its_device(
    on: str, protocol: int, gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices.backends.cuda_driver(), "problem", lambda: None)
    monkeypatch.setattr(devices.backends.cuda_driver(), "count", lambda: 1)
    monkeypatch.setattr(devices.backends.cuda_driver(), "device", lambda number: gpu)
    for x in (X, np.float64(3), np.empty((0, 2), np.int8)):
        y = pyc.device_put(x, on)
        back = pickle.loads(pickle.dumps({"y": [y]}, protocol))["y"][0]
        assert back.device == y.device and back.dtype == y.dtype and back.shape == y.shape
        assert back.tolist() == x.tolist() and back.address != y.address


def test_a_pickle_of_a_device_that_is_not_here_is_on_the_cpu(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pickle.dumps(pyc.device_put(X, "cuda"))
    problem = (Reason.NO_GPU, "none")
    monkeypatch.setattr(devices.backends.cuda_driver(), "problem", lambda: problem)
    with reasons.collecting() as found:
        back = pickle.loads(data)
    assert back.device == "cpu" and back.tolist() == X.tolist()
    assert Reason.DEVICE_UNPICKLED_ON_CPU in {e.reason for e in found}


def test_copies_of_python_are_the_array_itself() -> None:
    y = pyc.device_put(X, "cpu")
    assert copy.copy(y) is y and copy.deepcopy([y])[0] is y


def test_numpy_sees_the_cpu_and_cannot_write() -> None:
    y = pyc.device_put(X, "cpu")
    seen = np.asarray(y)
    assert seen.ctypes.data == y.address and not seen.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        seen.flags.writeable = True
    own = np.array(y)
    own[0] = 1
    assert np.asarray(y, np.float64).flags.writeable and y.tolist() == X.tolist()
    with pytest.raises(ValueError, match="copy"):
        np.asarray(y, np.float64, copy=False)
    assert np.asarray(y, copy=False).ctypes.data == y.address


def test_what_numpy_may_still_change_is_copied() -> None:
    x = X.copy()
    y = pyc.device_put(x, "cpu")
    x[0] = 9
    assert y.tolist() == X.tolist()
    x.flags.writeable = False
    assert pyc.device_put(x, "cpu").address == x.ctypes.data


def test_the_buffer_of_an_array_on_the_cpu(gpu: InterpretedDevice) -> None:
    view = memoryview(pyc.device_put(X, "cpu"))  # type: ignore[arg-type]
    assert view.readonly and view.tolist() == X.tolist()
    there = pyc.device_put(X, "cuda")
    with pytest.raises(BufferError, match="not the host's"):
        memoryview(there)  # type: ignore[arg-type]
    assert np.asarray(there).tolist() == X.tolist()


def test_a_buffer_keeps_the_memory_and_is_not_written() -> None:
    array = pyc.device_put(X, "cpu")
    view = memoryview(array)  # type: ignore[arg-type]
    assert (view.format, view.shape, view.itemsize) == ("f", X.shape, 4)
    del array
    gc.collect()
    assert view.tolist() == X.tolist()
    with pytest.raises(TypeError, match="not writable"):
        ctypes.c_char.from_buffer(pyc.device_put(X, "cpu"))  # type: ignore[arg-type]
    assert bytes(pyc.device_put(X, "cpu")) == X.tobytes()  # type: ignore[call-overload]


def test_the_buffer_of_a_deleted_array_is_an_error() -> None:
    array = pyc.device_put(X, "cpu")
    array.delete()
    for _ in range(3):
        with pytest.raises(pyc.errors.DonationError):
            memoryview(array)  # type: ignore[arg-type]


def test_arrays_move_between_devices(gpu: InterpretedDevice) -> None:
    y = pyc.device_put(X, "cpu")
    there = y.to_device("cuda")
    assert there.device == "cuda:0" and there.to_device("cuda:0") is there
    assert there.to_device("cpu").tolist() == X.tolist()
    assert y.to_device(pyc.devices("cpu")[0]) is y and pyc.device_put(there, "cuda") is there
    assert y.block_until_ready() is y and pyc.device_get([there])[0].tolist() == X.tolist()


# --- a real GPU and torch -------------------------------------------------------------------------


@pytest.mark.cuda
def test_arrays_on_a_gpu_compute_eagerly() -> None:
    y = pyc.device_put(X, "cuda")
    f = lambda v: np.exp(v)[:, 1:] * 2.5 + v.sum(axis=0)[1:]  # noqa: E731
    found = f(y)
    assert found.device == "cuda:0"
    assert np.asarray(found).tobytes() == np.asarray(f(pyc.device_put(X, "cpu"))).tobytes()
    assert y[X > 0].tolist() == X[X > 0].tolist() and y.at[0].set(1)[0].tolist() == [1, 1, 1]


@pytest.mark.cuda
def test_torch_shares_memory_on_a_gpu() -> None:
    torch = pytest.importorskip("torch")
    y = pyc.device_put(X, "cuda") * 2
    theirs = torch.from_dlpack(y)
    assert theirs.data_ptr() == y.address and theirs.cpu().tolist() == (X * 2).tolist()
    del y
    gc.collect()
    assert theirs.cpu().tolist() == (X * 2).tolist()
    t = torch.arange(1 << 16, device="cuda", dtype=torch.float32) * 3
    back = pnp.from_dlpack(t)
    assert back.address == t.data_ptr()
    assert (back + 1).tolist() == (t + 1).tolist()
    assert (pnp.from_dlpack(t[1:]) + 1).tolist() == (t[1:] + 1).tolist()
    with pytest.raises(BufferError, match="contiguous"):
        pnp.from_dlpack(torch.ones(2, 3, device="cuda").T)


def test_torch_shares_memory_on_the_cpu() -> None:
    torch = pytest.importorskip("torch")
    y = pyc.device_put(X, "cpu")
    theirs = torch.from_dlpack(y)
    assert theirs.data_ptr() == y.address and theirs.tolist() == X.tolist()
    t = torch.arange(6, dtype=torch.float32)
    assert pnp.from_dlpack(t).address == t.data_ptr()
