"""Ctrl-C ends native code that polls the cancel flag, and only what the main thread runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyc.runtime import native

CHILD = """
import _thread, os, signal, sys, threading, time
import numpy as np
from pyc.backends.assemble import assemble
from pyc.backends.image import Image
from pyc.runtime import call, dispatch
from pyc.ir import dtype
from pyc.runtime import dispatch
from pyc.runtime.dispatch import Dispatcher
from pyc.runtime.specialisation import ScalarArgument, Specialisation

# Counts until the flag is set, or up to a limit (some seconds); -1 if the flag was set.
SPIN = '''
define i32 @spin(ptr %context, ptr %arguments, ptr %results) {
entry:
  %flag.at = getelementptr ptr, ptr %context, i64 3
  %flag = load ptr, ptr %flag.at
  %limit = load i64, ptr %arguments
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %on]
  %set = load atomic i32, ptr %flag monotonic, align 4
  %stop = icmp ne i32 %set, 0
  br i1 %stop, label %cancelled, label %on
on:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %limit
  br i1 %more, label %loop, label %done
done: ret i32 0
cancelled: ret i32 -1
}'''
image = Image(assemble(SPIN))
spin = image.address("spin")
LONG, SHORT = np.int64(1 << 40), np.int64(1000)

def interrupt_soon(delay=0.2):
    def work():
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=work).start()

def run(limit):
    return call.run(spin, [limit], [], release=True).code

assert run(SHORT) == 0
"""


def run_child(body: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(native.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", CHILD + body],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_an_endless_call_ends_with_a_keyboard_interrupt() -> None:
    """Twice, and calls afterwards run to their end."""
    run_child("""
for _ in range(2):
    interrupt_soon()
    try:
        run(LONG)
        time.sleep(1)
    except KeyboardInterrupt:
        continue
    sys.exit("not interrupted")
assert run(SHORT) == 0
""")


def test_an_endless_native_call_ends_with_a_keyboard_interrupt() -> None:
    run_child("""
def failed(specialisation, code, site, value):
    assert code == -1
    raise KeyboardInterrupt
argument = ScalarArgument(int, dtype.i64)
function = Dispatcher(print)
assert dispatch.add(function, Specialisation((argument,), (), spin, failed, release=True))
assert function(1000) == ()
for _ in range(2):
    interrupt_soon()
    try:
        function(1 << 40)
    except KeyboardInterrupt:
        continue
    sys.exit("not interrupted")
assert function(1000) == ()
""")


def test_handlers_of_the_user_are_called_too() -> None:
    """Also one that was put in place after the first native call."""
    run_child("""
assert run(SHORT) == 0
seen = []
signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
interrupt_soon()
assert run(LONG) == -1
assert seen == [signal.SIGINT]
assert run(SHORT) == 0
""")


def test_a_hook_in_front_that_calls_back_makes_no_circle() -> None:
    """Another library may put its handler before ours, as we put ours before its."""
    run_child("""
import ctypes
HOOK = '''
@before = global ptr null
@calls = global i32 0
define void @theirs(i32 %signal, ptr %info, ptr %machine) {
  %old = load i32, ptr @calls
  %new = add i32 %old, 1
  store i32 %new, ptr @calls
  %before = load ptr, ptr @before
  call void %before(i32 %signal, ptr %info, ptr %machine)
  ret void
}'''
hook = Image(assemble(HOOK))
libc = ctypes.CDLL(None)
libc.signal.restype = ctypes.c_void_p
libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
ours = libc.signal(signal.SIGINT, hook.address("theirs"))
ctypes.c_void_p.from_address(hook.address("before")).value = ours
assert run(SHORT) == 0
interrupt_soon()
try:
    run(LONG)
    time.sleep(1)
except KeyboardInterrupt:
    sys.exit(ctypes.c_int32.from_address(hook.address("calls")).value - 1)
sys.exit(2)
""")


def test_an_ignored_signal_stays_ignored() -> None:
    run_child("""
signal.signal(signal.SIGINT, signal.SIG_IGN)
interrupt_soon(0.05)
assert run(np.int64(1 << 29)) == 0
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
""")


def test_a_signal_before_the_call_is_not_lost_and_not_kept() -> None:
    run_child("""
signal.signal(signal.SIGINT, lambda number, frame: None)
run(SHORT)
os.kill(os.getpid(), signal.SIGINT)
assert run(SHORT) == 0
""")


def test_calls_of_other_threads_are_not_cancelled() -> None:
    run_child("""
codes = []
other = threading.Thread(target=lambda: codes.append(run(np.int64(1 << 30))))
other.start()
time.sleep(0.05)
interrupt_soon(0.05)
seen = 0
while not codes:
    try:
        time.sleep(0.01)
    except KeyboardInterrupt:
        seen += 1
assert codes == [0] and seen == 1, (codes, seen)
""")


@pytest.mark.parametrize("release", ["True", "False"])
def test_the_gil_is_released_only_if_asked(release: str) -> None:
    run_child(f"""
steps = 0
def count():
    global steps
    while not stop:
        time.sleep(0.001)
        steps += 1
stop = False
other = threading.Thread(target=count)
other.start()
before = steps
code = call.run(spin, [np.int64(1 << 28)], [], release={release}).code
during = steps - before
stop = True
other.join()
assert code == 0
assert (during > 20) is {release}, during
""")
