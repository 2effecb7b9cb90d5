"""Programs on a GPU: the CPU's bits, errors at the user's line, arrays that stay there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends import cuda
from pyc.backends.base import SiteFailed
from pyc.compile_cuda import load
from pyc.errors import DeviceError
from pyc.ir import dtype as dt
from pyc.ir.expr import Load, Var
from pyc.ir.loops import Buffer, Fail, For, Kernel, Kind, Store
from pyc.ir.plan import Launch, Place, Plan, PlanBuffer

Array = np.ndarray[Any, Any]


@pytest.mark.skipif(cuda.problem() is None, reason="there is a GPU")
def test_without_a_gpu_the_error_says_why() -> None:
    why = cuda.problem()
    assert why is not None
    with pytest.raises(DeviceError, match="no GPU can be used"):
        cuda.device()
    with pytest.raises(DeviceError, match="no GPU can be used"):
        pyc.device_put(np.zeros(3))
    assert [d.kind for d in pyc.devices()] == ["cpu"]


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def variance(x: Any) -> Any:
    return ((x - x.mean(axis=0)) ** 2).mean(axis=0)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "chain": (lambda x: x / (1 + np.exp(-x)) + 0.5 * x, (1003,)),
    "rank 0": (lambda x: np.sin(x) + 1, ()),
    "transpose": (lambda x: x.T * 2, (70, 129)),
    "sum of short rows": (lambda x: x.sum(axis=1), (999, 3)),
    "sum of ragged rows": (lambda x: x.sum(axis=1), (40, 1030)),
    "softmax": (softmax, (33, 4096)),
    "softmax of long rows": (softmax, (2, 70_000)),
    "variance of columns": (variance, (3000, 37)),
    "sum of all": (lambda x: x.sum(), (300_001,)),
    "argmax": (lambda x: x.argmax(axis=1), (17, 2500)),
    "sort": (lambda x: np.sort(x, axis=1), (5, 40)),
    "stencil": (lambda x: x[1:-1] + 0.25 * (x[2:] - x[:-2]), (1000, 17)),
}


@pytest.mark.cuda
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gpu_gives_the_bits_of_the_cpu(name: str) -> None:
    function, shape = PROGRAMS[name]
    x = np.asarray(np.random.default_rng(1).standard_normal(shape), np.float32)
    expected = np.asarray(pyc.jit(function)(x))
    found = np.asarray(pyc.jit(device="cuda")(function)(x))
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def biased(x: Any, y: Any, bias: Any) -> Any:
    return np.maximum(x @ y + bias, 0)


PRODUCTS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...], str]] = {
    "wide": (lambda x, y: x @ y, ((1300, 520), (520, 4096)), "bf16"),
    "ragged": (lambda x, y: x @ y, ((131, 72), (72, 264)), "f16"),
    "narrow": (lambda x, y: x @ y, ((64, 1000), (1000, 40)), "bf16"),
    "y by columns": (lambda x, y: x @ y.T, ((300, 136), (75, 136)), "bf16"),
    "x by columns": (lambda x, y: x.T @ y, ((136, 304), (136, 80)), "f16"),
    "stacked": (lambda x, y: x @ y, ((5, 130, 72), (5, 72, 264)), "bf16"),
    "bias and relu": (biased, ((520, 256), (256, 384), (384,)), "bf16"),
    "odd rows": (lambda x, y: x @ y, ((33, 35), (35, 37)), "bf16"),
}


@pytest.mark.cuda
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_half_types_keep_their_bound_and_repeat_their_bits(name: str) -> None:
    function, shapes, kind = PRODUCTS[name]
    rng = np.random.default_rng(5)
    arguments = [rng.standard_normal(s).astype(dt.parse(kind).numpy) for s in shapes]
    jitted = pyc.jit(device="cuda")(function)
    found = np.asarray(jitted(*arguments))
    assert found.tobytes() == np.asarray(jitted(*arguments)).tobytes()
    wide = [a.astype(np.float64) for a in arguments]
    exact, size = function(*wide), function(*(np.abs(w) for w in wide))
    room = 2.0**-8 if kind == "bf16" else 2.0**-10
    assert np.all(np.abs(found.astype(np.float64) - exact) <= room * (size + 1e-6))


@pytest.mark.cuda
def test_arrays_on_the_device_stay_there() -> None:
    x = pyc.device_put(np.arange(8, dtype=np.float32))
    y = pyc.jit(lambda v: v * 2)(x)
    assert isinstance(y, pyc.Array) and y.device == "cuda:0"
    assert y.block_until_ready() is y
    assert np.asarray(y).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    assert "device='cuda:0'" in repr(y)


@pytest.mark.cuda
def test_the_lowest_failure_is_reported_with_its_lowest_value() -> None:
    n = 100_000
    source = Buffer("source", dt.i64, (n,), role="in")
    out = Buffer("out", dt.i64, (n,), role="out")
    block, thread = Var("block"), Var("thread")
    at = block * 250 + thread
    value = Load(source, (at,))
    body = (Fail(2, value > 50, value), Fail(5, value > 10, value), Store(out, (at,), value))
    inner = For(thread, 250, Kind.THREAD, body)
    kernel = Kernel("checked", (source, out), (For(block, n // 250, Kind.GRID, (inner,)),))
    buffers = (PlanBuffer(8 * n, Place.ARGUMENT, 0), PlanBuffer(8 * n, Place.RESULT, 0))
    plan = Plan((kernel,), buffers, (Launch(0, (0, 1)),), (0,), (1,))
    on = cuda.device()
    _, program = load(plan, on)
    places = [on.allocate(8 * n) for _ in range(2)]
    data = np.random.default_rng(0).permutation(n)
    on.upload(places[0], data)
    for _ in range(3):
        with pytest.raises(SiteFailed) as failed:
            program(places[:1], places[1:])
        assert (failed.value.site, failed.value.value) == (2, 51)
    on.upload(places[0], np.zeros(n, np.int64))
    program(places[:1], places[1:])
    for place in places:
        on.free(place)


@pytest.mark.cuda
def test_an_index_out_of_range_raises_as_on_the_cpu() -> None:
    @pyc.jit(device="cuda")
    def pick(x: Any, i: Any) -> Any:
        return x[i]

    x, i = np.arange(10.0), np.array([1, 2, 30])
    with pytest.raises(IndexError):
        pick(x, i)
