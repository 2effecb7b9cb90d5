"""`pyc.debug.print`, `pyc.debug.callback`, `pyc.io_callback`, `pyc.pure_callback`: calls back into
Python happen when they should, with the values that are there, and what they raise is raised."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import cache, reasons
from pyc.array import to_device
from pyc.errors import DTypeError, LeakedTracerError, ShapeError, TraceError
from pyc.jit import jit
from pyc.reasons import Reason
from pyc.runtime import dispatch
from tests.backends.interpreted_device import InterpretedDevice, install

seen: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


def note(*values: Any) -> None:
    seen.append(tuple(np.asarray(v).tolist() for v in values))


def square(x: Any) -> Any:
    seen.append("square")
    return np.asarray(x) ** 2


F3 = pyc.ShapeDtype((3,), np.float64)
X = np.arange(3.0)


# --- effects --------------------------------------------------------------------------------------


def test_print_prints_when_the_program_runs(capsys: Any) -> None:
    @jit
    def f(x: Any) -> Any:
        pyc.debug.print("x = {}, sum {total:.1f}", x, total=x.sum())
        return x * 2

    for k in range(3):
        np.testing.assert_array_equal(f(X + k), (X + k) * 2)
        assert capsys.readouterr().out == f"x = {X + k}, sum {(X + k).sum():.1f}\n"


def test_calls_happen_in_order_and_none_is_merged_or_dropped() -> None:
    @jit
    def f(x: Any) -> Any:
        pyc.debug.callback(note, 1, x[0])
        y = np.sort(x)[::-1] * 2
        pyc.debug.callback(note, 2, y)
        pyc.debug.callback(note, 1, x[0])
        pyc.io_callback(square, F3, x)
        pyc.debug.callback(note, 3)

    for _ in range(3):
        seen.clear()
        assert f(X) is None
        assert seen == [(1, 0.0), (2, [4.0, 2.0, 0.0]), (1, 0.0), "square", (3,)]


def test_loops_and_branches_call_every_time() -> None:
    @jit
    def f(x: Any, n: Any) -> Any:
        for i in range(n):
            pyc.debug.callback(note, i, x[0])
            x = x * 2
            if x[0] > 3:
                pyc.debug.callback(note, "big" == "big", x[0])
        while x[0] > 1:
            x = x - 3
            pyc.debug.callback(note, x[0])
        return x

    f(X + 1, 3)
    expected = [(0, 1.0), (1, 2.0), (True, 4.0), (2, 4.0), (True, 8.0), (5.0,), (2.0,), (-1.0,)]
    assert seen == expected
    seen.clear()
    f(X + 1, 3)
    assert seen == expected


def test_library_loops_too() -> None:
    @jit
    def f(x: Any) -> Any:
        def body(c: Any, v: Any) -> Any:
            pyc.debug.callback(note, c, v)
            return c + v, c * v

        total, rows = pyc.scan(body, 0.0, x)
        last = pyc.while_loop(
            lambda c: c < 20,
            lambda c: pyc.io_callback(next_of, pyc.ShapeDtype((), np.float64), c),
            total + 1,
        )
        return pyc.cond(last > 5, branch, lambda v: v, last), rows

    def next_of(c: Any) -> Any:
        note(c)
        return c * 3.0

    def branch(v: Any) -> Any:
        pyc.debug.callback(note, -1)
        return v + 1

    got, rows = f(X)
    assert (got, rows.tolist()) == (37.0, [0.0, 0.0, 2.0])
    assert seen == [(0.0, 0.0), (0.0, 1.0), (1.0, 2.0), (4.0,), (12.0,), (-1,)]


def test_checks_come_before_and_after_in_order() -> None:
    """An index out of range ends the program: what comes before it has happened."""

    @jit
    def f(x: Any, i: Any) -> Any:
        pyc.debug.callback(note, 1)
        y = x[i]
        pyc.debug.callback(note, 2, y)
        return y

    assert f(X, 2) == 2.0 and seen == [(1,), (2, 2.0)]
    seen.clear()
    with pytest.raises(IndexError):
        f(X, 7)
    assert (2, 2.0) not in seen and len(seen) <= 1


# --- results --------------------------------------------------------------------------------------


def test_results_are_what_the_function_gives() -> None:
    def parts(d: Any) -> Any:
        assert type(d["n"]) is np.int64 and type(d["x"]) is np.ndarray
        return {"a": d["x"][:2].astype(np.float32), "b": (d["n"] * 2, 0.5)}

    shapes = {
        "a": pyc.ShapeDtype((2,), np.float32),
        "b": (pyc.ShapeDtype((), np.int64), pyc.ShapeDtype((), np.float64)),
    }

    @jit
    def f(x: Any, n: Any) -> Any:
        found = pyc.pure_callback(parts, shapes, {"x": x, "n": n})
        return found["a"] * 2, found["b"][0] + 1, found["b"][1]

    for _ in range(2):
        a, n, h = f(X, 4)
        assert a.tolist() == [0.0, 2.0] and a.dtype == np.float32 and (n, h) == (9, 0.5)


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint16, np.float16, np.complex64, "bfloat16", np.float64]
)
@pytest.mark.parametrize("shape", [(), (0, 2), (3, 2)])
def test_every_type_goes_there_and_back(dtype: Any, shape: Any) -> None:
    kind = pyc.ir.dtype.bf16.numpy if dtype == "bfloat16" else np.dtype(dtype)
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(kind)

    @jit
    def f(x: Any) -> Any:
        return pyc.pure_callback(same, x, x)

    def same(x: Any) -> Any:
        seen.append((x.dtype, x.shape))
        return x

    got = f(x)
    assert got.dtype == kind and got.shape == shape and got.tobytes() == x.tobytes()
    assert seen == ([(kind, shape)] if x.size else []), "nothing needs a result without elements"


def test_a_pure_call_that_nothing_needs_is_dropped() -> None:
    @jit
    def f(x: Any) -> Any:
        pyc.pure_callback(square, F3, x)
        return x + 1

    f(X)
    assert seen == []


def test_arrays_belong_to_the_function() -> None:
    kept: list[Any] = []

    @jit
    def f(x: Any) -> Any:
        pyc.debug.callback(kept.append, x * 2)
        return x * 2

    def keep(x: Any) -> Any:
        x[0] = 100.0
        kept.append(x)

    @jit
    def g(x: Any) -> Any:
        pyc.debug.callback(keep, x)
        return x + 1

    assert g(X).tolist() == [1.0, 2.0, 3.0] and X[0] == 0.0 and kept[0][0] == 100.0


def test_outside_of_a_trace_functions_are_called_at_once(capsys: Any) -> None:
    pyc.debug.print("{} {a}", 1, a=2)
    assert capsys.readouterr().out == "1 2\n"
    np.testing.assert_array_equal(pyc.pure_callback(square, F3, X), X**2)
    pyc.debug.callback(note, 5)
    assert seen == ["square", (5,)]


# --- which function -------------------------------------------------------------------------------


def make(number: int) -> Any:
    def told(x: Any) -> None:
        seen.append((number, float(x)))

    @jit
    def f(x: Any) -> Any:
        pyc.debug.callback(told, x)
        return x + 1

    return f


def test_programs_of_one_key_call_their_own_functions(cache_dir: Any) -> None:
    """The function is no part of the key: the entry is shared, in memory and on the disk."""
    first, second = make(1), make(2)
    for f in (first, second, first):
        f(0.5)
    assert seen == [(1, 0.5), (2, 0.5), (1, 0.5)]
    assert first.compile(0.5).key == second.compile(0.5).key
    cache.memory.clear()
    cache.reset_stats()
    make(3)(0.5)
    assert seen[-1] == (3, 0.5) and cache.stats().total.hits_disk == 1
    assert cache.verify().ok


def shown(x: Any) -> None:
    seen.append(("first", float(x)))


def test_a_function_that_is_replaced_is_noticed(monkeypatch: Any) -> None:
    @jit
    def f(x: Any) -> Any:
        pyc.debug.callback(shown, x)
        return x

    f(1.0)

    def other(x: Any) -> None:
        seen.append(("second", float(x)))

    monkeypatch.setitem(globals(), "shown", other)
    f(1.0)
    assert seen == [("first", 1.0), ("second", 1.0)]


def test_what_a_function_changes_where_it_is_looked_at_compiles_again() -> None:
    """The list is in a closure, which is read before each call: right, and slow; one in a global or
    an attribute is read by the function only."""
    told: list[Any] = []

    def tell(x: Any) -> None:
        told.append(float(x))

    f = jit(lambda x: pyc.debug.callback(tell, x))
    f(1.0), f(1.0), f(2.0)
    assert told == [1.0, 1.0, 2.0] and f.cache_info().misses == 3
    g = jit(lambda x: pyc.debug.callback(note, x))
    g(1.0), g(1.0), g(2.0)
    assert seen == [(1.0,), (1.0,), (2.0,)] and g.cache_info().misses == 1


def test_lambdas_and_methods() -> None:
    class Log:
        def __init__(self) -> None:
            self.rows: list[Any] = []

        def add(self, x: Any) -> None:
            self.rows.append(float(x))

    log = Log()

    @jit
    def f(x: Any) -> Any:
        pyc.debug.callback(log.add, x)
        return pyc.pure_callback(lambda v: np.float64(v * 2), pyc.ShapeDtype((), np.float64), x)

    assert (f(1.5), f(2.0), log.rows) == (3.0, 4.0, [1.5, 2.0])


def test_purity_is_about_what_is_not_declared() -> None:
    @jit
    def f(x: Any) -> Any:
        pyc.debug.callback(note, x)
        print("lost")
        return x

    with pytest.raises(pyc.errors.PurityError, match="print"):
        f(1.0)
    assert seen == []


# --- what is refused ------------------------------------------------------------------------------


def wrong_shape(x: Any) -> Any:
    return x[:2]


def wrong_type(x: Any) -> Any:
    return x.astype(np.float32)


def wrong_tree(x: Any) -> Any:
    return x, x


REFUSED: dict[str, tuple[Any, type[Exception]]] = {
    "shape": (lambda x: pyc.pure_callback(wrong_shape, x, x), ShapeError),
    "type": (lambda x: pyc.io_callback(wrong_type, x, x), DTypeError),
    "tree": (lambda x: pyc.pure_callback(wrong_tree, x, x), ShapeError),
    "no declaration": (lambda x: pyc.pure_callback(square, 3, x), DTypeError),
    "no function": (lambda x: pyc.debug.callback(3, x), TraceError),
    "a function of what is traced": (
        lambda x: (lambda y: pyc.debug.callback(lambda v: note(y), x))(x + 1),
        TraceError,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_do(name: str, golden: Any) -> None:
    function, error = REFUSED[name]
    f = jit(function)
    for _ in range(2):
        with pytest.raises(error) as refused:
            f(X)
    golden(str(refused.value))
    assert not issubclass(error, LeakedTracerError)


def test_a_format_that_names_no_argument_is_refused_at_once() -> None:
    with pytest.raises(IndexError):
        jit(lambda x: pyc.debug.print("{} {}", x))(X)
    with pytest.raises(KeyError):
        jit(lambda x: pyc.debug.print("{y}", x))(X)


class Mistake(Exception):
    pass


def fail(x: Any) -> None:
    if x > 1:
        raise Mistake(float(x))


@jit
def failing(x: Any) -> Any:
    y = x + 1
    pyc.debug.callback(fail, y)
    pyc.debug.callback(note, y)
    return y


def test_what_a_function_raises_the_call_raises() -> None:
    for _ in range(2):
        with pytest.raises(Mistake) as raised:
            failing(1.0)
        assert raised.value.args == (2.0,) and seen == []
        frames = [frame.name for frame in raised.traceback]
        assert frames[0].startswith("test_what") and frames[-1] == "fail"
        assert not [f for f in raised.traceback if "/pyc/" in str(f.path)]
        (told,) = raised.value.__notes__
        assert told.endswith("in `failing`") and "called back at" in told
    assert failing(-1.0) == 0.0 and seen == [(0.0,)]


# --- programs that call programs ------------------------------------------------------------------


def again(x: Any) -> Any:
    return countdown(np.float64(x - 1)) if x > 0 else np.float64(x)


@jit
def countdown(x: Any) -> Any:
    return pyc.io_callback(again, pyc.ShapeDtype((), np.float64), x) + 2


def test_a_program_calls_itself() -> None:
    assert countdown(np.float64(20)) == 42.0


def test_another_program_is_compiled_in_the_middle_of_one() -> None:
    def inner(x: Any) -> Any:
        return jit(lambda v: np.sort(v)[::-1] * 2)(x)

    @jit
    def f(x: Any) -> Any:
        return pyc.pure_callback(inner, F3, np.sort(x)) + 1

    assert f(X).tolist() == [5.0, 3.0, 1.0]


def test_threads_call_their_own(cache_dir: Any) -> None:
    big = np.random.default_rng(0).standard_normal(1 << 16)
    inner = jit(lambda x: np.sort(x).sum())

    def host(x: Any) -> Any:
        seen.append(threading.get_ident())
        return inner(x)

    @jit
    def f(x: Any, k: Any) -> Any:
        total = pyc.io_callback(host, pyc.ShapeDtype((), np.float64), x * k)
        return total + (x * k).sum()

    expected = [2 * (np.sort(big * k).sum()) for k in range(4)]
    wrong: list[Any] = []

    def run(k: int) -> None:
        for _ in range(10):
            if not np.isclose(f(big, float(k)), expected[k], atol=1e-6):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong and not any(t.is_alive() for t in threads) and len(seen) == 40
    assert len(set(seen)) == 4


INTERRUPTED = """
import os, signal, time
import numpy as np, pyc

def wait(i):
    if i == 3:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(20)

@pyc.jit
def f(x):
    def body(i, x):
        pyc.debug.callback(wait, i)
        return x + 1
    return pyc.fori_loop(0, 10, body, x)

try:
    f(np.zeros(3))
except KeyboardInterrupt:
    print("interrupted")
print(pyc.jit(lambda x: x + 1)(1.0))
"""


def test_ctrl_c_in_a_function_ends_the_program() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.stdout == "interrupted\n2.0\n", done.stderr


def test_such_calls_go_through_python_with_a_reason() -> None:
    reasons.clear()
    f = make(7)
    f(1.0), f(2.0)
    assert not dispatch.specialisations(f)
    assert [e for e in reasons.events() if e.reason is Reason.DISPATCH_SLOW_HOST_CALL]


def test_verify_and_donation_know_them() -> None:
    @jit
    def f(x: Any) -> Any:
        return pyc.pure_callback(square, F3, x) * 2

    report = pyc.verify(f, X)
    assert [c.executor for c in report.checks] == ["passes", "compiled"] and report.skipped

    g = jit(lambda x: pyc.pure_callback(square, F3, x) + x, donate_argnums=0)
    x = X.copy()
    assert g(x).tolist() == [0.0, 2.0, 6.0]


# --- a GPU ----------------------------------------------------------------------------------------


def test_a_gpu_calls_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    device = InterpretedDevice()
    install(device, monkeypatch)

    @jit
    def f(x: Any) -> Any:
        pyc.debug.callback(note, x.sum())
        return pyc.pure_callback(square, F3, x + 1) * 2

    x = to_device(X, device)  # type: ignore[arg-type]
    for _ in range(2):
        assert f(x).tolist() == [2.0, 8.0, 18.0]
    assert seen == [(3.0,), "square"] * 2

    @jit
    def g(x: Any) -> Any:
        pyc.debug.callback(fail, x[2])
        return x

    with pytest.raises(Mistake):
        g(x)
