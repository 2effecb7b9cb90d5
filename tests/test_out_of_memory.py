"""`OutOfMemoryError`: what asks for too much is named with its lines, and everything goes on."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.array import to_device
from pyc.errors import OutOfMemoryError
from pyc.jit import jit
from tests.backends.interpreted_device import InterpretedDevice, install


def too_large_a_result(x: Any) -> Any:
    return np.zeros((10**7, 10**7)) + x


def too_large_on_the_way(x: Any) -> Any:
    return np.sort(np.zeros((2**24, 2**23)) + x, axis=0)[0, 0]


def uncountable(x: Any) -> Any:
    y = np.zeros((10**7, 10**6)) + x
    return np.tensordot(y, y, axes=0)


@pytest.mark.parametrize("function", [too_large_a_result, too_large_on_the_way, uncountable])
def test_what_no_process_can_address_is_refused_when_it_is_compiled(
    function: Any, golden: Any
) -> None:
    f = jit(function)
    for run in (f, f.compile, lambda x: f.lower(x).plan):
        with pytest.raises(OutOfMemoryError) as refused:
            run(1.0)
        assert isinstance(refused.value, MemoryError)
    golden(str(refused.value))
    assert f.cache_info().entries == 0


def test_large_arrays_that_take_no_memory_are_no_matter() -> None:
    f = jit(lambda x: (np.zeros((10**7, 10**7)) + x)[3, 4])
    assert f(2.0) == 2.0


LIMITED = """
import resource, sys
import numpy as np, pyc; from pyc.runtime import dispatch

def results(x):
    y = np.zeros(SIZE) + x
    return y * 2, x

def arena(x):
    return np.sort(np.concatenate([np.zeros(4 * 10**8), x]))[:3]

small = pyc.jit(lambda x: np.sort(x)[::-1] * 2)
print(small(np.ones(3)))
f = pyc.jit(results)
f(1.0), f(2.0)  # from here on native
sorting, adding = pyc.jit(arena), pyc.jit(lambda x: x + 1)
long = np.broadcast_to(1.0, (1 << 29,))
sorting.compile(np.ones(3)), adding.compile(long)
resource.setrlimit(resource.RLIMIT_AS, (CEILING, CEILING))
held = []
try:
    while True:
        held.append(f(1.0))
except pyc.errors.OutOfMemoryError as error:
    print(type(error).__mro__[2].__name__, len(held) > 1, error.plan is not None)
    text = str(error)
native = sum(dispatch.native_calls(f, s) for s in dispatch.specialisations(f))
print(native >= len(held))
held.clear()
print(text)
print(f(1.0)[0][:2], small(np.ones(3)))
try:
    sorting(np.ones(3))
except pyc.errors.OutOfMemoryError as error:
    print(error)
try:
    adding(long)
except MemoryError as error:
    print(isinstance(error, pyc.errors.OutOfMemoryError), error)
print(small(np.arange(3.0)))
"""


@pytest.mark.parametrize("size", [2 << 20, 40 << 20])
def test_memory_that_is_not_there(size: int, tmp_path: Any, golden: Any) -> None:
    """Results from NumPy's own allocation and recycled ones, an arena, the copy of an argument."""
    file = tmp_path / "limited.py"
    file.write_text(LIMITED.replace("SIZE", str(size)).replace("CEILING", str(3 << 30)))
    done = subprocess.run(
        [sys.executable, file.name], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    golden(done.stdout)


def test_a_gpu_without_room(monkeypatch: pytest.MonkeyPatch, golden: Any) -> None:
    device = InterpretedDevice()
    install(device, monkeypatch)

    def doubled(x: Any) -> Any:
        return np.sort(x * 2, axis=0) + 1

    f = jit(doubled)
    x = to_device(np.ones((300, 200), np.float32), device)  # type: ignore[arg-type]
    f(x)
    allocate = device.allocate

    def refuse(nbytes: int) -> int:
        if nbytes > 1 << 16:
            raise OutOfMemoryError("CUDA driver: out of memory (CUDA_ERROR_OUT_OF_MEMORY)")
        return allocate(nbytes)

    device.allocate = refuse  # type: ignore[method-assign]
    with pytest.raises(OutOfMemoryError) as refused:
        f(x)
    golden(str(refused.value))
    device.allocate = allocate  # type: ignore[method-assign]
    assert f(x).shape == (300, 200)


def test_the_driver_is_asked_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status of the driver becomes the error of its kind."""

    class Status(int):
        name = "CUDA_ERROR_OUT_OF_MEMORY"

    class Driver:
        @staticmethod
        def cuGetErrorString(status: int) -> tuple[int, bytes]:
            return 0, b"out of memory"

    monkeypatch.setattr("pyc.backends.cuda.cuda_binding", Driver)
    with pytest.raises(OutOfMemoryError, match="CUDA driver: out of memory"):
        pyc.backends.cuda.check((Status(2),))
