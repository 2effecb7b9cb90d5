"""The default device: where functions run of which neither `jit` nor an argument says it."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import config, reasons
from pyc.errors import DeviceError
from pyc.reasons import Reason
from pyc.runtime import dispatch
from tests.backends.interpreted_device import InterpretedDevice, install

X = np.array([[1.5, -2.0], [4.0, -0.25]], np.float32)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[InterpretedDevice]:
    device = InterpretedDevice()
    install(device, monkeypatch)
    yield device
    assert device.refusal is None


def native(f: Any) -> int:
    return sum(dispatch.native_calls(f, s) for s in dispatch.specialisations(f))


def test_a_function_of_numpys_arrays_runs_there(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x: x * 2 + 1)
    expected = X * 2 + 1
    with pyc.default_device("cuda"):
        found = f(X)
        assert type(found) is np.ndarray and found.tobytes() == expected.tobytes()
    assert gpu.launched == 1
    assert f(X).tobytes() == expected.tobytes() and gpu.launched == 1
    with pyc.default_device("cuda:0"):
        f(X)
    assert gpu.launched == 2 and f.cache_info().misses == 2


def test_native_calls_of_before_do_not_go_on(gpu: InterpretedDevice) -> None:
    """They know where they run: inside of the block the function runs elsewhere, after it they are
    what they were."""
    f = pyc.jit(lambda x: x * 2)
    for _ in range(3):
        f(X)
    assert native(f) == 2
    with pyc.default_device("cuda"):
        for _ in range(3):
            f(X)
        assert gpu.launched == 3 and native(f) == 2
        with pyc.default_device("cpu"):
            f(X)
            assert gpu.launched == 3
        f(X)
        assert gpu.launched == 4
    for _ in range(2):
        f(X)
    assert gpu.launched == 4 and native(f) == 4


def test_who_says_where_it_runs_is_heard(gpu: InterpretedDevice) -> None:
    on_cpu, anywhere = pyc.jit(lambda x: x * 3, device="cpu"), pyc.jit(lambda x: x * 3)
    here = pyc.device_put(X, "cpu")
    with pyc.default_device("cuda"):
        for _ in range(3):
            on_cpu(X)
            assert anywhere(here).device == "cpu"
        assert gpu.launched == 0 and native(on_cpu) == 2 and native(anywhere) == 2
    there = pyc.device_put(X, "cuda")
    with pyc.default_device("cpu"):
        assert anywhere(there).device == "cuda:0" and gpu.launched == 1


def test_arrays_from_outside_say_it_too(gpu: InterpretedDevice) -> None:
    there = pyc.device_put(X, "cuda")
    f = pyc.jit(lambda x: x + there)
    with pyc.default_device("cpu"):
        assert np.asarray(f(X)).tobytes() == (X + X).tobytes() and gpu.launched == 1


def test_trees_and_static_values_and_numbers(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda t, n, how: {"a": t["a"] * n, "b": [t["b"][0] + 1]} if how == "x" else t)
    given = {"a": X, "b": [np.int64(3)]}
    expected = f(given, 2.0, "x")
    with pyc.default_device("cuda"):
        found = f(given, 2.0, "x")
    assert pyc.tree.structure(found) == pyc.tree.structure(expected)
    assert found["a"].tobytes() == expected["a"].tobytes() and found["b"] == expected["b"]
    assert gpu.launched


def test_arrays_are_put_there(gpu: InterpretedDevice) -> None:
    assert pyc.device_put(X).device == "cuda:0", "without a default"
    with pyc.default_device("cpu"):
        assert pyc.device_put(X).device == "cpu"
        assert pyc.device_put(X, "cuda").device == "cuda:0"
        with pyc.default_device(None):
            assert pyc.device_put(X).device == "cuda:0"
    with pyc.default_device(pyc.devices("cpu")[0]):
        assert pyc.device_put(X).device == "cpu"


def test_stages_are_of_the_default_device(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x: x * 2)
    with pyc.default_device("cuda"):
        assert "grid" in f.lower(X).as_text("kernels")
    assert "grid" not in f.lower(X).as_text("kernels")


def test_a_default_for_good(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x: x * 2)
    f(X)
    config.update("default_device", "cuda")
    try:
        f(X)
        assert gpu.launched == 1
    finally:
        config.update("default_device", "")
    f(X)
    assert gpu.launched == 1


def test_it_is_the_business_of_one_thread(gpu: InterpretedDevice) -> None:
    """Another thread goes on on the CPU meanwhile."""
    f = pyc.jit(lambda x: x * 2)
    f(X)
    with pyc.default_device("cuda"):
        thread = threading.Thread(target=lambda: f(X))
        thread.start()
        thread.join()
        assert gpu.launched == 0
        f(X)
    assert gpu.launched == 1


def test_compiling_for_another_device_has_its_reason(gpu: InterpretedDevice) -> None:
    f = pyc.jit(lambda x: x * 2)
    f(X)
    for call in (lambda: f(pyc.device_put(X, "cuda")), lambda: f(X)):
        with reasons.collecting() as found, pyc.default_device("cuda"):
            call()
        seen = [e.reason for e in found if e.reason.name.startswith("COMPILE")]
        assert seen == [Reason.COMPILE_NEW_DEVICE]


def test_a_default_that_is_not_there() -> None:
    with pytest.raises(DeviceError, match="unknown device 'tpu'"), pyc.default_device("tpu"):
        pass
    with pytest.raises(ValueError, match="must be cpu, cuda or cuda:N"):
        config.update("default_device", "gpu")
    if not pyc.devices("cuda"):
        f = pyc.jit(lambda x: x * 2)
        with pytest.raises(DeviceError, match="no GPU can be used"), pyc.default_device("cuda:1"):
            f(X)
        assert f(X).tolist() == (X * 2).tolist()
    assert config.current().default_device == ""


@pytest.mark.cuda
def test_a_gpu_is_the_default() -> None:
    f = pyc.jit(lambda x: np.exp(x).sum(axis=1))
    expected = f(X)
    with pyc.default_device("cuda"):
        for _ in range(3):
            assert f(X).tobytes() == expected.tobytes()
        assert pyc.device_put(X).device == "cuda:0"


# --- programs for arrays that are not there -------------------------------------------------------


def test_a_shape_stands_for_an_array_on_a_device(gpu: InterpretedDevice) -> None:
    """`f.lower`, `f.compile` and `pyc.explain` of what will be there; nothing is allocated."""
    f = pyc.jit(lambda x, y: np.exp(x) @ y)
    shape = pyc.ShapeDtype((2, 2), "float32", device="cuda")
    before = dict(gpu.memory)
    assert "grid" in f.lower(shape, shape).as_text("kernels")
    assert "grid" not in f.lower(*[pyc.ShapeDtype((2, 2), "float32")] * 2).as_text("kernels")
    assert gpu.memory == before
    compiled = f.compile(shape, X)
    there = pyc.device_put(X, "cuda")
    assert np.asarray(compiled(there, X)).tobytes() == np.asarray(f(there, X)).tobytes()
    assert f.cache_info().misses == 1, "what was compiled ahead is what the call finds"
    found = pyc.eval_shape(f, shape, shape)
    assert found == pyc.ShapeDtype((2, 2), np.float32) and found.device is None


def test_a_shape_stands_for_an_array_on_the_cpu() -> None:
    f = pyc.jit(lambda x: x + 1)
    f.compile(pyc.ShapeDtype(3, float, "cpu"))
    assert f(pyc.device_put(np.ones(3), "cpu")).device == "cpu" and f.cache_info().misses == 1


def test_shapes_on_devices_are_values() -> None:
    here, there = pyc.ShapeDtype(3, "f4"), pyc.ShapeDtype(3, "f4", "cuda")
    assert here != there and there == pyc.ShapeDtype((3,), np.float32, device="cuda:0")
    assert len({here, there, pyc.ShapeDtype(3, "f4", "cuda:0")}) == 2
    assert repr(there) == "ShapeDtype((3,), 'float32', 'cuda:0')"
    assert repr(here) == "ShapeDtype((3,), 'float32')"
    assert pickle.loads(pickle.dumps(there)) == there
    with pytest.raises(AttributeError, match="'device' cannot be set"):
        there.device = None
    with pytest.raises(DeviceError, match="unknown device 'tpu'"):
        pyc.ShapeDtype(3, "f4", "tpu")


def test_a_trace_is_lowered_for_any_target() -> None:
    traced = pyc.jit(lambda x, n: np.tanh(x) * n, name="f").trace(X, 2.0)
    assert "grid" in traced.lower("sm_90").as_text("kernels")
    assert traced.lower("sm_100a").target.id == "sm_100"
    assert traced.lower("x86-64-v3").target.id == "x86-64-v3"
    here = traced.lower()
    assert here.target == traced.lower("native").target and here.arguments == ("x", "n")
    assert here.memory_analysis().arguments > 0 and here.as_text("graph") and here.name == "f"
    donated = pyc.jit(lambda x: x * 2, donate_argnums=0).trace(X)
    assert donated.lower("sm_90").memory_analysis().donated == X.nbytes
