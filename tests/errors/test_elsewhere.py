"""The full text of errors outside of traced functions: devices, targets, the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import compile_cuda, device
from pyc.__main__ import main
from pyc.backends import cuda, host
from pyc.errors import PycError
from pyc.jit import jit

MODEL = "NUMBER = 3\ndef f(x):\n    return x\n"


class _Status:
    """A status of the CUDA driver."""

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name = number, name

    def __int__(self) -> int:
        return self.number


WELL, FULL, BAD = _Status(0, "CUDA_SUCCESS"), _Status(2, "CUDA_ERROR_OUT_OF_MEMORY"), None
BAD = _Status(218, "CUDA_ERROR_INVALID_PTX")


class Driver:
    """The driver's package on a machine with one GPU, whose linker refuses what it gets."""

    CUjit_option = SimpleNamespace(CU_JIT_ERROR_LOG_BUFFER=0, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES=1)
    CUjitInputType = SimpleNamespace(CU_JIT_INPUT_PTX=0)

    def cuInit(self, flags: int) -> tuple[Any, ...]:
        return (WELL,)

    def cuDeviceGetCount(self) -> tuple[Any, int]:
        return WELL, 1

    def cuGetErrorString(self, status: Any) -> tuple[Any, bytes]:
        return WELL, b"out of memory" if status is FULL else b"a PTX JIT compilation failed"

    def cuLinkCreate(self, count: int, names: Any, values: Any) -> tuple[Any, ...]:
        values[0][:26] = b"ptxas fatal: Unresolved x\0"
        return WELL, 1

    def cuLinkAddData(self, *args: Any) -> tuple[Any, ...]:
        return (BAD,)

    def cuLinkDestroy(self, state: Any) -> tuple[Any, ...]:
        return (WELL,)


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A machine with one GPU."""
    monkeypatch.setattr(cuda, "cuda_binding", Driver)
    cuda.problem.cache_clear()
    cuda.count.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    cuda.problem.cache_clear()
    cuda.count.cache_clear()


def text_of(function: Callable[[], Any]) -> str:
    with pytest.raises(PycError) as found:
        function()
    return f"{type(found.value).__name__}: {found.value}"


def test_a_gpu_that_is_not_there(one_gpu: pytest.MonkeyPatch, golden: Any) -> None:
    golden(text_of(lambda: device.gpu("cuda:3")))


def test_a_gpu_that_is_too_old(one_gpu: pytest.MonkeyPatch, golden: Any) -> None:
    old = SimpleNamespace(name="GeForce GTX 1080", capability=61)
    one_gpu.setattr(compile_cuda, "gpu", lambda name: old)
    golden(text_of(lambda: jit(lambda x: x + 1, device="cuda").lower(np.ones(3))))


def test_memory_of_a_gpu_that_is_used_up(one_gpu: pytest.MonkeyPatch, golden: Any) -> None:
    golden(text_of(lambda: cuda.check((FULL,))))
    with pytest.raises(MemoryError):
        cuda.check((FULL,))


def test_a_call_of_the_driver_that_fails(one_gpu: pytest.MonkeyPatch, golden: Any) -> None:
    golden(text_of(lambda: cuda.check((BAD,))))


def test_a_program_that_the_driver_refuses(one_gpu: pytest.MonkeyPatch, golden: Any) -> None:
    golden(text_of(lambda: cuda.cubin(".version 8.0")))


def test_a_processor_that_is_too_old(monkeypatch: pytest.MonkeyPatch, golden: Any) -> None:
    monkeypatch.setattr(host, "host_flags", lambda: frozenset({"sse2"}))
    golden(text_of(host.host_target))


def test_a_target_that_the_processor_lacks(monkeypatch: pytest.MonkeyPatch, golden: Any) -> None:
    monkeypatch.setattr(host, "host_flags", lambda: host._V3_FLAGS)
    golden(text_of(lambda: host.host_target("x86-64-v4")))


def test_a_program_for_another_value(golden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    length = 2

    def function(x: Any) -> Any:
        return x + np.zeros(length)

    program = jit(function).compile(np.ones(2))
    length = 1
    golden(text_of(lambda: program(np.ones(2))))


def test_a_program_for_two_arrays_and_a_call_with_one(
    golden: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    x = np.ones(2)
    program = jit(lambda x, y: x if x is y else x + y).compile(x, np.zeros(2))
    golden(text_of(lambda: program(x, x)))


def test_an_argument_of_a_class_that_is_not_known(
    golden: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    golden(text_of(lambda: jit(lambda model: model)(object)))


def test_an_argument_whose_copy_does_not_fit_in_memory(
    golden: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    large = np.broadcast_to(np.zeros(1), (1 << 45,))
    golden(text_of(lambda: jit(lambda x: x[:1])(large)))


def test_a_level_that_is_not_there(golden: Any) -> None:
    golden(text_of(lambda: jit(lambda x: x + 1).lower(np.ones(3)).as_text("asm")))


@pytest.mark.parametrize(
    "call",
    [
        lambda: pnp.add(1, 2, out=[]),
        lambda: pnp.add(1, 2, out=(np.zeros(()), np.zeros(()))),
        lambda: pnp.modf(1.5, out=np.zeros(())),
        lambda: pnp.quantile([1, 2], 0.5, weights=[0, 0], method="inverted_cdf"),
        lambda: pnp.angle(1.0, deg=np.ones(3)),
        lambda: pnp.arange(10**15),
        lambda: pnp.linalg.multi_dot(3.0),
    ],
    ids=["no array", "too many", "too few", "no weight", "switch", "memory", "chain"],
)
def test_arguments_outside_of_a_trace(call: Any, golden: Any) -> None:
    golden(text_of(call))


def test_types_that_promote_to_none(golden: Any) -> None:
    small = pyc.ir.dtype.f8e4m3.numpy
    golden(text_of(lambda: pyc.numpy.add(np.ones(2, small), np.ones(2, np.float16))))


def test_a_shape_for_which_an_array_is_copied(golden: Any) -> None:
    turned = np.ones((2, 3)).T
    golden(text_of(lambda: pyc.numpy.reshape(turned, 6, copy=False)))


def test_a_level_that_there_is_not(golden: Any) -> None:
    lowered = pyc.jit(lambda x: x + 1).lower(np.arange(3.0))
    golden(text_of(lambda: lowered.as_text("code")))


def test_a_call_with_the_description_of_an_array(golden: Any) -> None:
    golden(text_of(lambda: pyc.jit(lambda x: x)(pyc.ShapeDtype(3, "f4"))))


def test_a_kind_of_devices_that_there_is_not(golden: Any) -> None:
    golden(text_of(lambda: pyc.devices("gpu")))


@pytest.mark.parametrize("function", [len, np.sin, 3], ids=["function", "ufunc", "number"])
def test_an_explanation_of_what_is_not_jitted(function: Any, golden: Any) -> None:
    golden(text_of(lambda: pyc.cache.explain(function, np.arange(3.0))))


def test_a_report_of_no_such_form(golden: Any) -> None:
    report = pyc.explain(lambda x: x + 1, np.arange(3.0))
    golden(text_of(lambda: report.save("report.pdf")))


COMMANDS = {
    "no function": ["ir", "model.py"],
    "no file": ["ir", "nothing.py:f"],
    "no Python file": ["ir", "model.txt:f"],
    "no such function": ["ir", "model.py:g"],
    "no such function, but one like it": ["ir", "model.py:ff"],
    "no function but a number": ["ir", "model.py:NUMBER", "--args", "1"],
    "no file, but one with a suffix": ["ir", "model:f"],
    "no such target": ["ir", "model.py:f", "--args", "f32[8]", "--target", "zen"],
    "PTX for a processor": ["ir", "model.py:f", "--args", "f32[8]", "--stage", "ptx"],
    "assembly of a GPU": [*("ir", "model.py:f", "--stage", "asm"), "--target", "sm_90"],
    "no arguments": ["ir", "model.py:f"],
    "arguments that are no Python": ["ir", "model.py:f", "--args", "f32[8"],
    "argument that is no literal": ["ir", "model.py:f", "--args", "f32"],
    "array that is too large": ["ir", "model.py:f", "--args", "f64[1000000,1000000,1000]"],
    "no array type": ["ir", "model.py:f", "--args", "f33[8]"],
    "no memory for an array": ["ir", "model.py:f", "--args", "f32[1000000, 1000000, 1000]"],
    "no such demo": ["demo", "nothing"],
    "no folder for pictures": ["demo", "--pictures", "model.py/pictures"],
    "no such key": ["cache", "show", "zz"],
    "no such code": ["explain", "PYC9999"],
    "a report of a code": ["explain", "PYC1300", "--measure"],
    "a report that cannot be written": ["explain", "model.py:f", "--args", "3", "--html", "a/b"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command(
    name: str, golden: Any, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "model.txt").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    assert main(COMMANDS[name]) == 1
    golden(capsys.readouterr().err)


def test_a_function_that_the_driver_lacks(golden: Any) -> None:
    driver = SimpleNamespace(cuGetProcAddress=lambda name, version, flags: (WELL, 0, 1))
    on: Any = SimpleNamespace(driver=driver)
    golden(text_of(lambda: cuda.Device.function(on, "cuGraphInstantiateWithFlags")))


def test_weights_of_a_choice_that_are_no_probabilities(golden: Any) -> None:
    key = pyc.random.key(0)
    golden(text_of(lambda: pyc.random.choice(key, 3, p=np.array([0.5, -0.25, 1.0]))))


def test_a_distance_that_is_negative(golden: Any) -> None:
    golden(text_of(lambda: pyc.verify(np.sin, np.ones(3), ulp=-1)))
