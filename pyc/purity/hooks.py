"""Sees which functions run in this thread: by `sys.monitoring`, or by a profiler on Python 3.11.

Takes a `Watch`, which is told from then on of each function written in C that code outside pyc and
NumPy calls, and of each function written in Python that begins; gives what ends that. `step` looks
after every instruction instead, to find the one that changed something.

Neither hook sees what C calls by itself; a profiler sees ufuncs and methods of extension types of
Cython as little.
"""

from __future__ import annotations

import ctypes
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from threading import RLock, get_ident
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from pyc.errors import PurityError
from pyc.forks import hold, in_child
from pyc.purity import audit, frames
from pyc.reasons import Reason, record
from pyc.runtime import native, text_watch
from pyc.trace import location

if TYPE_CHECKING:
    from pyc.purity.watch import Watch

Stop = Callable[[], Any]
"""Ends what a hook does."""

# --- a profiler -----------------------------------------------------------------------------------


def profiling(watch: Watch) -> Stop:
    """Tells `watch` by a profiler; one that is there already goes on."""
    before: Any = sys.getprofile()
    if isinstance(before, _Hook):  # of a trace that is interrupted by this one
        _Hook(watch).install()
        return before.install
    stop = partial(sys.setprofile, before)
    if before is not None and not callable(before):
        # A profiler written in C cannot be called from here.
        record(Reason.PURITY_HOOK_TAKEN, profiler=type(before).__name__)
        before.disable()
        stop = partial(_resume, before)
    if callable(before):
        sys.setprofile(_chained(watch, before))
    elif text_watch.HAS_PROFILE:
        _Hook(watch).install()
    else:
        sys.setprofile(_chained(watch, None))
    return stop


def _resume(profiler: Any) -> None:
    sys.setprofile(None)
    profiler.enable()


class _Hook:
    """Tells a watch through native code, which leaves out code that is marked as quiet here."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._image = native.HOOKS.image()
        api = ctypes.pythonapi
        if not _extra:
            _extra.append(api._PyEval_RequestCodeExtraIndex(None))
            place = self._image.address("quiet_index")
            ctypes.c_int64.from_address(place).value = _extra[0]
        self._index = _extra[0]
        self._mark = api._PyCode_SetExtra
        self._mark.argtypes = [ctypes.py_object, ctypes.c_ssize_t, ctypes.c_void_p]

    def install(self) -> None:
        """Makes this the profiler of the thread."""
        put = ctypes.pythonapi.PyEval_SetProfile
        put.argtypes = [ctypes.c_void_p, ctypes.py_object]
        put(self._image.address("profile"), self)

    def __call__(self, frame: FrameType, what: int, argument: Any) -> None:
        if location.is_own_frame(frame):
            self._mark(frame.f_code, self._index, 1)
        elif what:
            self._watch.calls(argument, None, frame)
        else:
            self._watch.enters(frame.f_code, frame)


_extra: list[int] = []
"""The number of the extra word of code objects that is ours."""


def _chained(watch: Watch, before: Callable[[FrameType, str, Any], Any] | None) -> Any:
    """A profiler in Python, which calls the one before it too."""

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        if before is not None:
            before(frame, event, argument)
        if event == "c_call":
            if not location.is_own_frame(frame):
                watch.calls(argument, None, frame)
        elif event == "call" and not location.is_own_frame(frame):
            watch.enters(frame.f_code, frame)

    return hook


# --- sys.monitoring -------------------------------------------------------------------------------


def _free_tool(monitoring: Any) -> int:
    """A tool id that nobody uses, -1 if there is none."""
    return next((k for k in (4, 3, 5, 2) if monitoring.get_tool(k) is None), -1)


class _Monitor:
    """The events of all threads that trace. Global ones tell which code begins; calls are asked of
    code that is looked at only, so that pyc's own code runs at full speed."""

    def __init__(self) -> None:
        self._lock = RLock()  # a signal handler may trace
        hold(self._lock)
        self._users: Counter[int] = Counter()
        """Traces under way, by thread."""
        self._codes: list[CodeType] = []
        self._tool = -1

    def acquire(self) -> bool:
        """Switches the events on for one more trace; False if no tool id is free."""
        found: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        with self._lock:
            if self._users:
                self._users[get_ident()] += 1
                found.restart_events()
                return True
            self._tool = _free_tool(found)
            if self._tool < 0:
                return False
            self._users[get_ident()] = 1
            self._api = found
            self._events = found.events
            found.use_tool_id(self._tool, "pyc")
            found.register_callback(self._tool, self._events.PY_START, self._begins)
            found.register_callback(self._tool, self._events.CALL, self._calls)
            found.set_events(self._tool, self._events.PY_START)
            return True

    def release(self) -> None:
        """Ends an `acquire`."""
        thread = get_ident()
        with self._lock:
            self._users[thread] -= 1
            if not self._users[thread]:
                del self._users[thread]
            if not self._users:
                self._end()

    def forget_threads(self) -> None:
        """In a forked child: the traces of other threads did not come along."""
        mine = get_ident()
        others = [thread for thread in self._users if thread != mine]
        for thread in others:
            del self._users[thread]
        if others and not self._users:
            self._end()

    def _end(self) -> None:
        self._api.set_events(self._tool, 0)
        for code in self._codes:
            self._api.set_local_events(self._tool, code, 0)
        self._codes.clear()
        for event in (self._events.PY_START, self._events.CALL):
            self._api.register_callback(self._tool, event, None)
        self._api.free_tool_id(self._tool)

    def _begins(self, code: CodeType, offset: int) -> Any:
        if location.is_own(code.co_filename):
            return self._api.DISABLE
        watch = audit.current(get_ident())
        if watch is None:
            return None
        if not self._api.get_local_events(self._tool, code):
            self._api.set_local_events(self._tool, code, self._events.CALL)
            self._codes.append(code)
        again = watch.enters(code, sys._getframe(1))
        return None if again or self._users.total() > 1 else self._api.DISABLE

    def _calls(self, code: CodeType, offset: int, function: Any, first: Any) -> None:
        watch = audit.current(get_ident())
        if watch is not None:
            watch.calls(function, first, sys._getframe(1))


_monitor = _Monitor()
in_child(_monitor.forget_threads)


def monitoring(watch: Watch) -> Stop:
    """Tells `watch` by `sys.monitoring`, or by a profiler if all its tool ids are taken."""
    return _monitor.release if _monitor.acquire() else profiling(watch)


call: Callable[[Any], Stop] = monitoring if sys.version_info >= (3, 12) else profiling
"""The hook of this version of Python."""


# --- instruction by instruction -------------------------------------------------------------------


class _Stepper:
    """Finds the instruction of the user's code after which something from outside has changed.

    What libraries do is looked at when they are done: an error in the middle would leave locks
    taken. For the same reason there is one error, and none while it is on its way out."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._last: tuple[CodeType, int] | None = None
        self._raised = False

    def look(self, frame: FrameType, at: int) -> None:
        """The instruction at byte offset `at` is next.

        raises PurityError: something has changed; placed at the instruction before
        """
        code = frame.f_code
        if self._raised or frames.in_library(code) is not None:
            return
        if "__name__" not in frame.f_globals:  # a library has made it of a text
            return
        try:
            self._watch.check()
        except PurityError as error:
            self._raised = True
            raise error.at(self._last and location.locate(*self._last)) from None
        self._last = code, at


def _step_by_trace(watch: Watch) -> Stop:
    before = sys.gettrace()
    stepper = _Stepper(watch)

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        stepper.look(frame, frame.f_lasti)
        return local

    def begins(frame: FrameType, event: str, argument: Any) -> Any:
        if location.is_own_frame(frame):
            return None
        frame.f_trace_opcodes = True
        return local

    sys.settrace(begins)
    return partial(sys.settrace, before)


def _step_by_monitoring(watch: Watch) -> Stop:
    found: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    tool = _free_tool(found)
    if tool < 0:
        return _step_by_trace(watch)
    stepper, thread = _Stepper(watch), get_ident()

    def next_instruction(code: CodeType, offset: int) -> Any:
        if location.is_own(code.co_filename):
            return found.DISABLE
        if get_ident() == thread:
            stepper.look(sys._getframe(1), offset)
        return None

    def left(code: CodeType, offset: int, error: BaseException) -> Any:
        """An error ends a function of the user: no instruction of it comes after."""
        if not location.is_own(code.co_filename) and get_ident() == thread:
            stepper.look(sys._getframe(1), offset)

    events = found.events

    def stop() -> None:
        found.set_events(tool, 0)
        for event in (events.INSTRUCTION, events.PY_UNWIND):
            found.register_callback(tool, event, None)
        found.free_tool_id(tool)

    found.use_tool_id(tool, "pyc")
    found.register_callback(tool, events.INSTRUCTION, next_instruction)
    found.register_callback(tool, events.PY_UNWIND, left)
    found.set_events(tool, events.INSTRUCTION | events.PY_UNWIND)
    return stop


step: Callable[[Any], Stop]
step = _step_by_trace if text_watch.HAS_PROFILE else _step_by_monitoring
"""Finds the instruction that changed something: raises PurityError, with its place, after it."""
