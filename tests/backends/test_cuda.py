"""Programs on a GPU: the CPU's bits, errors at the user's line, arrays that stay there."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.backends import cuda
from pyc.backends.base import SiteFailed
from pyc.compile_cuda import load
from pyc.device import gpu
from pyc.errors import DeviceError
from pyc.ir import dtype as dt
from pyc.ir.expr import Load, Var
from pyc.ir.loops import Buffer, Fail, For, Kernel, Kind, Store
from pyc.ir.plan import Launch, Place, Plan, PlanBuffer
from pyc.jit import programs_of
from pyc.reasons import Reason, collecting
from pyc.runtime import dispatch

Array = np.ndarray[Any, Any]


@pytest.mark.skipif(cuda.problem() is None, reason="there is a GPU")
def test_without_a_gpu_the_error_says_why() -> None:
    with pytest.raises(DeviceError, match="no GPU can be used"):
        gpu()
    with pytest.raises(DeviceError, match="no GPU can be used"):
        pyc.device_put(np.zeros(3))
    assert [d.kind for d in pyc.devices()] == ["cpu"]


def test_small_pieces_of_memory_are_kept_and_given_again() -> None:
    """What the allocator asks of the driver; that a GPU agrees is shown with one."""
    asked: list[int] = []
    freed: list[int] = []

    class Driver:
        def cuCtxSetCurrent(self, context: int) -> tuple[int]:
            return (0,)

        def cuMemAllocAsync(self, nbytes: int, stream: int) -> tuple[int, int]:
            asked.append(nbytes)
            return 0, 4096 * len(asked)

        def cuMemFreeAsync(self, address: int, stream: int) -> tuple[int]:
            freed.append(address)
            return (0,)

    on = object.__new__(cuda.Device)
    on.driver, on.stream, on.context = Driver(), 0, 0
    on._kept = [[] for _ in range(cuda.SMALL + 1)]
    first = on.allocate(100)
    on.free(first, 100)
    assert on.allocate(512) == first and asked == [512]
    assert on.allocate(513) != first and asked == [512, 1024]
    large = on.allocate((1 << cuda.SMALL) + 1)
    on.free(large, (1 << cuda.SMALL) + 1)
    assert freed == [large] and asked[-1] == (1 << cuda.SMALL) + 1
    pieces = [on.allocate(0) for _ in range(cuda.KEPT_PIECES + 3)]
    for piece in pieces:
        on.free(piece, 0)
    assert len(freed) == 4
    on.free(first)
    assert freed[-1] == first, "memory of unknown size goes to the driver"


def test_memory_is_told_by_what_it_is_used_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made of the driver's figures; that a GPU agrees is shown with one."""
    freed: list[int] = []

    class Attributes:
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 5000
        CU_MEMPOOL_ATTR_USED_MEM_HIGH = 9000
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 20000

    class Driver:
        CUmemPool_attribute = Attributes
        trimmed = False

        def cuCtxSetCurrent(self, context: int) -> tuple[int]:
            return (0,)

        def cuMemPoolGetAttribute(self, pool: int, attribute: int) -> tuple[int, int]:
            return 0, attribute

        def cuMemGetInfo(self) -> tuple[int, int, int]:
            return 0, 70000, 90000

        def cuMemFreeAsync(self, address: int, stream: int) -> tuple[int]:
            freed.append(address)
            return (0,)

        def cuStreamSynchronize(self, stream: int) -> tuple[int]:
            return (0,)

        def cuMemPoolTrimTo(self, pool: int, nbytes: int) -> tuple[int]:
            self.trimmed = not nbytes
            return (0,)

    on = object.__new__(cuda.Device)
    on.driver, on.stream, on.context, on.pool = Driver(), 0, 0, 0
    on._kept = [[] for _ in range(cuda.SMALL + 1)]
    on._kept[9], on._kept[10], on._pinned = [1, 2], [3], {4: 100, 5: 20}
    expected = {"bytes_in_use": 5000 - 2048, "peak_bytes_in_use": 9000, "bytes_kept": 17048}
    expected |= {"bytes_reserved": 20000, "bytes_free": 70000, "bytes_limit": 90000}
    assert on.memory_stats() == expected | {"pinned_bytes": 120}
    monkeypatch.setattr(cuda, "_devices", {0: on})
    pyc.clear_caches()
    assert sorted(freed) == [1, 2, 3] and on.driver.trimmed and not any(on._kept)
    (cpu,) = pyc.devices("cpu")
    assert cpu.memory_stats() == {}


@pytest.mark.cuda
def test_the_memory_of_a_gpu_is_told() -> None:
    (info, *_) = pyc.devices("cuda")
    before = info.memory_stats()
    x = pyc.device_put(np.zeros(1 << 24, np.float32))
    during = info.memory_stats()
    assert during["bytes_in_use"] - before["bytes_in_use"] >= 1 << 26
    assert during["peak_bytes_in_use"] >= during["bytes_in_use"]
    assert during["bytes_reserved"] >= during["bytes_in_use"] + during["bytes_kept"] - 1024
    assert 0 < during["bytes_free"] < during["bytes_limit"]
    x.delete()
    pyc.clear_caches()
    after = info.memory_stats()
    assert after["bytes_in_use"] <= before["bytes_in_use"] and after["bytes_kept"] < 1 << 26


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
    "softmax of rows in clusters": (softmax, (20, 100_003)),
    "softmax of rows in groups": (softmax, (5, 1 << 20)),
    "variance of columns": (variance, (3000, 37)),
    "sum of many rows": (lambda x: x.sum(axis=0), (300_000, 7)),
    "softmax of columns in clusters": (lambda x: softmax(x.T).T, (65536, 40)),
    "softmax of columns in several launches": (lambda x: softmax(x.T).T, (200_000, 12)),
    "softmax of columns": (lambda x: softmax(x.T).T, (2100, 33)),
    "sum of all": (lambda x: x.sum(), (300_001,)),
    "argmax": (lambda x: x.argmax(axis=1), (17, 2500)),
    "sort": (lambda x: np.sort(x, axis=1), (5, 40)),
    "running sum": (lambda x: np.cumsum(x), (1001,)),
    "running sum of a long row": (lambda x: np.cumsum(x), (70_003,)),
    "running product of rows": (lambda x: np.cumprod(x * 0.1 + 1, axis=1), (300, 700)),
    "running sum of short rows": (lambda x: np.cumsum(x, axis=1), (3000, 17)),
    "running sum of columns": (lambda x: np.cumsum(x, axis=0), (20_000, 7)),
    "running sum of many columns": (lambda x: np.cumsum(x, axis=0), (300, 70_000)),
    "running maximum": (lambda x: np.maximum.accumulate(x, axis=1), (5, 3000)),
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


def native(f: Any) -> int:
    """How many calls of a jitted function were native."""
    return sum(dispatch.native_calls(f, s) for s in dispatch.specialisations(f))


@pytest.mark.cuda
@pytest.mark.parametrize("name", PROGRAMS)
def test_native_calls_give_the_same_bits(name: str) -> None:
    """One kernel is started, several are replayed as a graph, each time with other arrays."""
    function, shape = PROGRAMS[name]
    f, rng = pyc.jit(function), np.random.default_rng(1)
    given = [np.asarray(rng.standard_normal(shape), np.float32) for _ in range(4)]
    there = [pyc.device_put(x) for x in given]
    found = [f(x) for x in there]
    slow = " on host " in f.lower(there[0]).as_text("plan")
    assert native(f) == (0 if slow else 3)
    for x, y in zip(given, found, strict=True):
        assert np.asarray(y).tobytes() == np.asarray(f(x)).tobytes()


@pytest.mark.cuda
def test_native_calls_with_numbers_and_arrays_from_outside() -> None:
    w = pyc.device_put(np.arange(1000.0, dtype=np.float32))

    @pyc.jit
    def f(x: Any, k: float) -> Any:
        return np.exp(-x * k) @ np.stack([w, w]).T + k

    for k in range(5):
        x = np.linspace(0, 1 + k, 2000, dtype=np.float32).reshape(2, 1000)
        w = pyc.device_put(np.full(1000, k, np.float32))
        expected = np.exp(-x * np.float32(k / 7)).sum(axis=1, keepdims=True) * k + k / 7
        found = np.asarray(f(pyc.device_put(x), k / 7))
        np.testing.assert_allclose(found, np.repeat(expected, 2, 1), rtol=1e-4)
    assert native(f) == 4


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_threads_share_a_graph(dtype: str) -> None:
    """Each call is whole: its addresses and launches are not mixed with those of another. Products
    of bfloat16 have tensor maps, which are aimed for each call."""
    kind = pyc.ir.dtype.bf16.numpy if dtype == "bfloat16" else np.dtype(dtype)

    @pyc.jit
    def f(x: Any, w: Any) -> Any:
        for _ in range(3):
            x = softmax(x @ w)
        return x

    rng = np.random.default_rng(0)
    given = [
        [pyc.device_put((rng.standard_normal((256, 256)) / 8).astype(kind)) for _ in range(2)]
        for _ in range(8)
    ]
    expected = [np.asarray(f(*pair)).tobytes() for pair in given]
    assert len(set(expected)) == 8
    wrong: list[int] = []

    def work(first: int) -> None:
        for n in range(200):
            k = (first + n) % 8
            if np.asarray(f(*given[k])).tobytes() != expected[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and native(f) == 807


@pytest.mark.cuda
def test_shifts_by_large_counts() -> None:
    x = np.array([1, -1, 5, 1 << 62] * 4, np.int64)
    n = np.repeat(np.array([0, 63, 1 << 32, -(1 << 63)], np.int64), 4)
    for op in (np.left_shift, np.right_shift):
        found = pyc.jit(device="cuda")(op)(x, n)
        assert np.asarray(found).tobytes() == op(x, n).tobytes()


@pytest.mark.cuda
def test_a_donated_array_is_the_memory_of_the_result() -> None:
    f = pyc.jit(lambda x, y: np.sort(x, axis=1) * y + x, donate_argnums=0)
    step = pyc.jit(lambda x, y: x * y + 1, donate_argnums=0)
    host = np.random.default_rng(0).standard_normal((64, 300)).astype(np.float32)
    y = pyc.device_put(np.float32(0.5) + 0 * host, "cuda")
    x = pyc.device_put(host, "cuda")
    for _ in range(5):
        address = x.address
        z = step(x, y)
        assert z.address == address and x.is_deleted()
        host = host * np.float32(0.5) + 1
        x = z
    assert np.asarray(x).tobytes() == host.tobytes()
    with pytest.raises(pyc.errors.DonationError):
        step(x, x)
    got = np.asarray(f(x, y))
    assert x.is_deleted()
    assert got.tobytes() == (np.sort(host, axis=1) * np.float32(0.5) + host).tobytes()


@pytest.mark.cuda
def test_a_program_calls_the_host_back() -> None:
    seen: list[float] = []

    def halves(x: Any) -> Any:
        return x * np.float32(0.5)

    @pyc.jit
    def f(x: Any) -> Any:
        pyc.debug.callback(lambda total: None, x.sum())
        return pyc.pure_callback(halves, x, x + 1) * 2

    host = np.random.default_rng(0).standard_normal((33, 70)).astype(np.float32)
    x = pyc.device_put(host, "cuda")
    for _ in range(3):
        seen.append(float(np.asarray(f(x))[0, 0]))
        assert np.asarray(f(x)).tobytes() == (halves(host + 1) * 2).tobytes()
    assert len(set(seen)) == 1


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
def test_captured_arrays_are_read_at_each_call() -> None:
    """NumPy arrays are copied each time, with a reason; those on the GPU stay there, those that
    cannot change are moved once."""
    table = np.ones(8, np.float32)
    fixed = np.full(8, 3, np.float32)
    fixed.flags.writeable = False
    held = {"there": pyc.device_put(np.full(8, 2, np.float32)), "scale": 1.0}
    x = pyc.device_put(np.arange(8, dtype=np.float32))
    function = pyc.jit(lambda v: (v + table + fixed) * held["there"] * held["scale"])

    def agree() -> None:
        for _ in range(2):
            there = np.asarray(held["there"])
            expected = (np.arange(8) + table + fixed) * there * held["scale"]
            np.testing.assert_array_equal(np.asarray(function(x)), expected)

    with collecting() as events:
        agree()
    copied = [e for e in events if e.reason is Reason.DEVICE_CAPTURE_COPIED]
    assert [(e.details["path"], e.details["bytes"]) for e in copied] == [("table", 32)]
    (entry,) = next(iter(programs_of(function).entries.values()))
    assert len(entry.moved) == 1
    table[3] = 7
    agree()
    held["there"] = pyc.device_put(np.full(8, 5, np.float32))
    agree()
    assert function.cache_info().misses == 1
    held["scale"] = 2.0
    agree()
    held["scale"] = 4.0
    agree()
    assert function.cache_info().misses == 2


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


# --- steps of the host ----------------------------------------------------------------------------


def running(x: Any) -> Any:
    """Work with an order, which one thread does."""
    return pyc.scan(lambda c, v: (c * 0.5 + v, c), x[0], x)[1]


def running_sums(x: Any) -> Any:
    """Launches around a step of the host."""
    return running((x * 2).sum(axis=1)) + 1


def running_loop(x: Any, y: Any) -> Any:
    """Steps of the host in a loop that swaps its carries, and in a branch."""

    def body(state: Any) -> Any:
        k, a, b = state
        return k + 1, running(b) * 0.5, a + b[::-1]

    _, a, b = pyc.while_loop(lambda s: s[0] < 3, body, (np.int64(0), x, y))
    return pyc.cond(a[0] > b[0], running, lambda v: v * 2, a), b


def scattered(x: Any, i: Any, w: Any) -> Any:
    """An update in place."""
    return (x * 2).at[i].add(w)


HOST_PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "running sums": (running_sums, ((20_000, 7),)),
    "loop and branch": (running_loop, ((20_000,), (20_000,))),
    "long scan": (running, ((20_000,),)),
}


def data(*shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(7)
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


@pytest.mark.cuda
@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_steps_of_the_host_give_the_bits_of_the_cpu(name: str) -> None:
    function, shapes = HOST_PROGRAMS[name]
    arrays = data(*shapes)
    expected = pyc.tree.leaves(pyc.jit(function)(*arrays))
    on_gpu = pyc.jit(function, device="cuda")
    assert Reason.PLACED_ON_HOST in {d.reason for d in on_gpu.lower(*arrays).decisions}
    for _ in range(2):
        found = pyc.tree.leaves(on_gpu(*arrays))
        for a, b in zip(expected, found, strict=True):
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.cuda
def test_a_launch_of_hundreds_of_arrays() -> None:
    """More parameters than the 4 KiB of older devices."""
    arrays = data(*((10,),) * 600)
    on_gpu = pyc.jit(lambda *xs: pnp.stack(xs), device="cuda")
    assert not {Reason.FALLBACK_HOST} & {d.reason for d in on_gpu.lower(*arrays).decisions}
    assert on_gpu(*arrays).tobytes() == np.stack(arrays).tobytes()


@pytest.mark.cuda
def test_an_update_keeps_the_rest() -> None:
    (x,) = data((4000,))
    rng = np.random.default_rng(3)
    i, w = rng.integers(0, 4000, 5000), rng.standard_normal(5000).astype(np.float32)
    expected = pyc.jit(scattered)(x, i, w)
    found = pyc.jit(scattered, device="cuda")(x, i, w)
    assert found.tobytes() == expected.tobytes()


def picked(x: Any, i: Any, j: Any) -> Any:
    """A check on the device, work on the host, another check."""
    return running(x[i])[j]


@pytest.mark.cuda
@pytest.mark.parametrize("wrong", ["first", "second", "both"])
def test_checks_around_a_step_of_the_host_fail_as_on_the_cpu(wrong: str) -> None:
    x, good = np.linspace(0, 1, 20_000), np.arange(20_000)
    i = good + 1 if wrong != "second" else good
    j = good - 20_001 if wrong != "first" else good
    with pytest.raises(IndexError) as native:
        pyc.jit(picked)(x, i, j)
    on_gpu = pyc.jit(picked, device="cuda")
    for _ in range(2):
        with pytest.raises(IndexError) as found:
            on_gpu(x, i, j)
        assert str(found.value) == str(native.value)
        assert on_gpu(x, good, good).tobytes() == pyc.jit(picked)(x, good, good).tobytes()


@pytest.mark.cuda
def test_many_reductions_of_one_row_fit_a_block() -> None:
    """Thirty reductions meet in two pieces of shared memory."""

    def sums(x: Any) -> Any:
        return [(x * k).sum(axis=1) for k in range(1, 31)]

    (x,) = data((8, 32768))
    for a, b in zip(pyc.jit(sums)(x), pyc.jit(sums, device="cuda")(x), strict=True):
        assert a.tobytes() == b.tobytes()


# --- calls at the same time -----------------------------------------------------------------------


def checked(x: Any, i: Any) -> Any:
    """Several launches, a check, an arena."""
    y = (x * 2 - 1).reshape(200, 500)
    return pyc.numpy.exp(y[i].mean(axis=1)) + x.sum()


def at_once(work: Callable[[int], None], threads: int = 4) -> None:
    """Runs work(number) in several threads; raises what the first of them raised."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=run, args=(n,)) for n in range(threads)]
    for t in started:
        t.start()
    for t in started:
        t.join()
    if errors:
        raise errors[0]


@pytest.mark.cuda
@pytest.mark.parametrize("function", [checked, running_sums])
def test_one_program_in_several_threads(function: Callable[..., Any]) -> None:
    """Calls that pass and calls that fail, of one program, at the same time: each has its own
    result or its own error."""
    on_gpu = pyc.jit(function, device="cuda")
    (x,) = data((100_000,)) if function is checked else data((20_000, 7))
    good = (np.arange(200),) if function is checked else ()
    on_gpu(x, *good)
    expected = {(n, k): pyc.jit(function)(x * (n + 1) + k, *good) for n in range(4) for k in (0, 1)}

    def work(number: int) -> None:
        for k in range(40):
            mine = x * np.float32(number + 1) + np.float32(k % 2)
            if good and (number + k) % 2:
                bad = good[0].copy()
                bad[7 * number] = 300 + number
                with pytest.raises(IndexError, match=f"index {300 + number} is out of"):
                    on_gpu(mine, bad)
                continue
            found = on_gpu(mine, *good)
            assert found.tobytes() == expected[number, k % 2].tobytes(), (number, k)

    at_once(work)


@pytest.mark.cuda
def test_arrays_are_shared_and_dropped_by_threads() -> None:
    """Results of one thread are arguments of others, and are freed wherever they are dropped."""
    x = pyc.device_put(data((1 << 16,))[0])
    f = pyc.jit(lambda v: v * 1.5 + 1)
    expected = np.asarray(f(x)).tobytes()

    def work(number: int) -> None:
        for _ in range(50):
            y = f(x)
            assert isinstance(y, pyc.Array)
            assert np.asarray(y).tobytes() == expected

    at_once(work)


@pytest.mark.cuda
def test_calls_and_programs_give_their_memory_back() -> None:
    on = cuda.device()

    def used() -> int:
        gc.collect()
        on.synchronize()
        pool = cuda.check(on.driver.cuDeviceGetDefaultMemPool(on.ordinal))
        kind = on.driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
        return int(cuda.check(on.driver.cuMemPoolGetAttribute(pool, kind)))

    x = data((1 << 20,))[0]
    pyc.jit(lambda v: v + 1, device="cuda")(x)
    before = used()
    for k in range(20):
        f = pyc.jit(lambda v, k=k: (v * k).reshape(1024, 1024).sum(axis=0), device="cuda")
        f(x)
        f(x)
        del f
    assert used() - before < 1 << 20


# --- arrays ---------------------------------------------------------------------------------------


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 4)])
def test_arrays_come_back_as_they_went(dtype: Any, shape: tuple[int, ...]) -> None:
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    y = pyc.device_put(x)
    assert (y.shape, y.dtype, y.device, y.nbytes) == (x.shape, x.dtype, "cuda:0", x.nbytes)
    back = np.asarray(y)
    assert back.tobytes() == x.tobytes() and y.tolist() == x.tolist()
    assert pyc.device_put(y) is y and pyc.device_get(y).tobytes() == x.tobytes()


@pytest.mark.cuda
def test_results_follow_the_arguments() -> None:
    x = data((3, 4))[0]
    y = pyc.jit(lambda v: (v.sum(), v.T))(pyc.device_put(x))
    assert all(isinstance(v, pyc.Array) for v in y) and y[0].shape == ()
    assert float(y[0]) == float(pyc.jit(lambda v: v.sum())(x))
    assert isinstance(pyc.jit(lambda v: v * 2, device="cpu")(y[1]), np.ndarray)
    with pytest.raises(DeviceError, match="and there is cuda:0"):
        pyc.device_put(x, "cuda:99")


@pytest.mark.cuda
def test_levels_are_those_of_the_device() -> None:
    x = data((64, 128))[0]
    f = pyc.jit(softmax, device="cuda")
    assert "grid" in f.lower(x).as_text("kernels")
    assert ".visible .entry k0" in f.compile(x).as_text("ptx")
