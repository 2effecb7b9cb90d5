"""The worker pool: every task runs once, whatever the number of threads and who else calls."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyc import config
from pyc.backends.assemble import assemble
from pyc.backends.image import Image
from pyc.runtime import native, threads

POINTER, LONG = ctypes.c_void_p, ctypes.c_int64

TASKS = """
define void @count(ptr %frame, i64 %begin, i64 %end) {
entry: br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%next, %loop]
  %p = getelementptr i32, ptr %frame, i64 %i
  %v = load i32, ptr %p
  %w = add i32 %v, 1
  store i32 %w, ptr %p
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %end
  br i1 %more, label %loop, label %done
done: ret void
}
define void @mark(ptr %frame, i64 %begin, i64 %end) {
  %p = getelementptr i64, ptr %frame, i64 %begin
  store i64 %end, ptr %p
  ret void
}
; frame: pool, parallel, data; each task is a region of its own of 8 tasks
define void @nest(ptr %frame, i64 %begin, i64 %end) {
entry:
  %parallel.at = getelementptr ptr, ptr %frame, i64 1
  %data.at = getelementptr ptr, ptr %frame, i64 2
  %pool = load ptr, ptr %frame
  %parallel = load ptr, ptr %parallel.at
  %data = load ptr, ptr %data.at
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%next, %loop]
  %first = mul i64 %i, 8
  %part = getelementptr i32, ptr %data, i64 %first
  call void %parallel(ptr %pool, ptr @count, ptr %part, i64 8)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %end
  br i1 %more, label %loop, label %done
done: ret void
}
define void @repeat(ptr %parallel, ptr %pool, ptr %frame, i64 %tasks, i64 %times) {
entry: br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  call void %parallel(ptr %pool, ptr @mark, ptr %frame, i64 %tasks)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %times
  br i1 %more, label %loop, label %done
done: ret void
}
"""


@pytest.fixture(scope="module")
def tasks() -> Image:
    return Image(assemble(TASKS))


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    threads.pin_threads(False)
    threads.set_num_threads(None)


def parallel(function: int, frame: int, count: int) -> None:
    pool, run = threads.addresses()
    ctypes.CFUNCTYPE(None, POINTER, POINTER, POINTER, LONG)(run)(pool, function, frame, count)


def counted(tasks: Image, count: int) -> np.ndarray[Any, Any]:
    cells = np.zeros(count + 1, np.int32)
    parallel(tasks.address("count"), cells.ctypes.data, count)
    assert cells[-1] == 0
    return cells[:-1]


@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_every_task_runs_once(tasks: Image, number: int) -> None:
    with threads.threads(number):
        for count in (0, 1, 2, 3, 5, 8, 29, 1000, 4097):
            for _ in range(20):
                assert (counted(tasks, count) == 1).all()


def test_workers_take_part(tasks: Image) -> None:
    """With tasks that take long, the caller does not do them all."""
    numbers: set[int] = set()

    @ctypes.CFUNCTYPE(None, POINTER, LONG, LONG)
    def slow(_: int, __: int, ___: int) -> None:
        numbers.add(threading.get_native_id())
        time.sleep(0.01)

    before = threads.statistics()
    with threads.threads(2):
        parallel(ctypes.cast(slow, POINTER).value or 0, 0, 8)
        after = threads.statistics()
    assert len(numbers) == 2
    assert after.regions == before.regions + 1 and after.helped == before.helped + 1
    assert after.started == 1 and after.threads == 2


def test_one_thread_uses_no_worker(tasks: Image) -> None:
    with threads.threads(1):
        before = threads.statistics()
        assert (counted(tasks, 100) == 1).all()
        after = threads.statistics()
    assert before.regions == after.regions and after.started == 0


def test_nested_regions_run_in_their_task(tasks: Image) -> None:
    with threads.threads(2):
        before = threads.statistics()
        data = np.zeros(800, np.int32)
        pool, run = threads.addresses()
        frame = np.array([pool, run, data.ctypes.data], np.int64)
        parallel(tasks.address("nest"), frame.ctypes.data, 100)
        assert (data == 1).all()
        assert threads.statistics().busy == before.busy + 100


def test_several_python_threads_call_at_once(tasks: Image) -> None:
    wrong = []

    def work() -> None:
        wrong.extend(k for k in range(300) if not (counted(tasks, 37) == 1).all())

    with threads.threads(2):
        callers = [threading.Thread(target=work) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert not wrong


def test_sleeping_workers_are_woken_or_not_waited_for(tasks: Image) -> None:
    with threads.threads(2):
        for _ in range(10):
            time.sleep(0.02)
            assert (counted(tasks, 64) == 1).all()


def test_the_number_can_change_between_calls(tasks: Image) -> None:
    for number in (3, 1, 2, 5, 2):
        threads.set_num_threads(number)
        assert threads.get_num_threads() == number
        assert (counted(tasks, 50) == 1).all()
        assert threads.statistics().started < number


def test_bad_numbers_are_refused() -> None:
    for bad in (0, -1):
        with pytest.raises(ValueError, match="1 or more"):
            threads.set_num_threads(bad)
    for wrong in (2.5, "2", True):
        with pytest.raises(ValueError, match="whole number"):
            threads.set_num_threads(wrong)


def test_a_pool_that_runs_follows_the_setting(tasks: Image) -> None:
    """The number is told to native code once: it must not keep the one of its first call."""
    assert (counted(tasks, 50) == 1).all()
    with config.using(num_threads=3):
        assert threads.statistics().threads == 3
        config.update("num_threads", 2)
        assert threads.statistics().threads == 3
    assert threads.statistics().threads == 2
    config.update("num_threads", 0)
    assert threads.statistics().threads == threads.default_threads()
    with config.using(num_threads=1):
        before = threads.statistics().regions
        assert (counted(tasks, 50) == 1).all()
        assert threads.statistics().regions == before


def test_the_setting_is_the_default_and_a_number_by_hand_goes_before(tasks: Image) -> None:
    assert threads.get_num_threads() == threads.default_threads()
    with config.using(num_threads=3):
        assert threads.get_num_threads() == 3
        with threads.threads(2):
            assert threads.get_num_threads() == 2


def test_the_time_quota_limits_the_default(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/outer/inner\n")
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    assert threads._quota(tmp_path, own) == float("inf")
    (inner / "cpu.max").write_text("max 100000\n")
    assert threads._quota(tmp_path, own) == float("inf")
    (inner.parent / "cpu.max").write_text("150000 100000\n")
    assert threads._quota(tmp_path, own) == 1.5
    own.write_text("4:cpu,cpuacct:/box\n3:memory:/box\n")
    old = tmp_path / "cpu,cpuacct" / "box"
    old.mkdir(parents=True)
    (old / "cpu.cfs_quota_us").write_text("50000\n")
    (old / "cpu.cfs_period_us").write_text("100000\n")
    assert threads._quota(tmp_path, own) == 0.5


@pytest.mark.skipif(len(threads.usable_processors()) < 2, reason="needs two processors")
def test_pinned_workers_are_on_their_processor(tasks: Image) -> None:
    found: dict[int, set[int]] = {}

    @ctypes.CFUNCTYPE(None, POINTER, LONG, LONG)
    def look(_: int, __: int, ___: int) -> None:
        found[threading.get_native_id()] = os.sched_getaffinity(0)
        time.sleep(0.01)

    threads.pin_threads()
    with threads.threads(2):
        parallel(ctypes.cast(look, POINTER).value or 0, 0, 8)
    own = found.pop(threading.get_native_id())
    assert own == set(threads.usable_processors())
    assert list(found.values()) == [{threads.usable_processors()[1]}]


def test_workers_get_no_signals(tasks: Image) -> None:
    with threads.threads(2):
        counted(tasks, 64)
        mine = {str(t.native_id) for t in threading.enumerate()}
        blocked = []
        for thread in os.listdir("/proc/self/task"):
            status = Path(f"/proc/self/task/{thread}/status").read_text()
            mask = int(status.split("SigBlk:")[1].split()[0], 16)
            blocked.append((thread in mine, bool(mask & 1 << 1)))
        assert (False, True) in blocked


CHILD = """
import os, sys, threading
import numpy as np
from test_threads import TASKS, counted
from pyc.backends.assemble import assemble
from pyc.backends.image import Image
from pyc.runtime import native, threads

tasks = Image(assemble(TASKS))
threads.set_num_threads(2)
assert (counted(tasks, 1000) == 1).all()
{body}
"""


def run_child(body: str) -> None:
    code = CHILD.format(body=body)
    here = [str(Path(__file__).parent), str(Path(threads.__file__).parents[2])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(here)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_a_forked_child_starts_its_own_workers() -> None:
    """Also if a thread of the parent is in the pool at that moment."""
    run_child("""
def work():
    while not stop:
        assert (counted(tasks, 5000) == 1).all()
stop = False
other = threading.Thread(target=work)
other.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        good = threads.statistics().regions == 0 and (counted(tasks, 1000) == 1).all()
        good = good and threads.statistics().started == 1
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
other.join()
assert (counted(tasks, 1000) == 1).all()
""")


def test_the_process_ends_while_workers_and_daemon_threads_run() -> None:
    run_child("""
def work():
    while True:
        counted(tasks, 5000)
threading.Thread(target=work, daemon=True).start()
""")


@pytest.mark.slow
def test_a_hot_fork_and_join_takes_less_than_two_microseconds(tasks: Image) -> None:
    """The aim is 0.5 us; the bound leaves room for a busy machine."""
    repeat = tasks.function("repeat", None, POINTER, POINTER, POINTER, LONG, LONG)
    frame = np.zeros(64, np.int64)
    with threads.threads(2):
        pool, run = threads.addresses()
        times = []
        for _ in range(10):
            start = time.perf_counter()
            repeat(run, pool, frame.ctypes.data, 2, 10_000)
            times.append((time.perf_counter() - start) / 10_000)
    assert min(times) < 2e-6


def test_the_native_code_is_the_same_each_time() -> None:
    assert native.THREADS.object_code() == native.THREADS.object_code()


MODE = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
; Sets the mode of this thread; what it was before comes back.
define i32 @exchange(i32 %new) {
  %at = alloca i32
  %old.at = alloca i32
  store i32 %new, ptr %at
  call void @llvm.x86.sse.stmxcsr(ptr %old.at)
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  %old = load i32, ptr %old.at
  ret i32 %old
}
define void @read(ptr %frame, i64 %begin, i64 %end) {
  %p = getelementptr i32, ptr %frame, i64 %begin
  call void @llvm.x86.sse.stmxcsr(ptr %p)
  ret void
}
"""


def test_workers_have_the_default_floating_point_mode() -> None:
    """Also if the thread that starts them flushes subnormals."""
    image = Image(assemble(MODE))
    exchange = image.function("exchange", ctypes.c_int32, ctypes.c_int32)
    pause = ctypes.CFUNCTYPE(None, POINTER, LONG, LONG)
    read = pause(image.address("read"))

    @pause
    def slow(frame: int, begin: int, end: int) -> None:
        time.sleep(0.01)
        read(frame, begin, end)

    modes = np.zeros(8, np.int32)
    with threads.threads(1):
        before = exchange(0x9FC0)
    try:
        with threads.threads(2):
            parallel(ctypes.cast(slow, POINTER).value or 0, modes.ctypes.data, 8)
    finally:
        exchange(before)
    default = modes & 0x8040 == 0
    assert default.any() and not default.all()


@pytest.mark.parametrize(("quota", "expected"), [(0.5, 1), (1.0, 1), (1.5, 2), (1e9, None)])
def test_the_default_is_the_quota_rounded_up(
    monkeypatch: pytest.MonkeyPatch, quota: float, expected: int | None
) -> None:
    monkeypatch.setattr(threads, "_quota", lambda: quota)
    monkeypatch.setattr(threads, "usable_processors", lambda: tuple(range(64)))
    assert threads.default_threads() == (expected or 64)
