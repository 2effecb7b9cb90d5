"""What the process is asked for while a function is traced: files, processes, sockets, threads.

One audit hook (PEP 578) is installed when the first function is traced, since there is no way to
remove one. It is native (`runtime/text_watch.py`): while nothing is traced it costs some
nanoseconds, and where events come with every line of Python it stays so. The register of who
watches which thread is here too.
"""

from __future__ import annotations

import ctypes
import sys
from threading import RLock, get_ident
from typing import Any

from pyc.forks import hold, in_child
from pyc.purity import frames, table
from pyc.runtime import native

_installed: list[ctypes.c_int32] = []
"""How many watch, where the native hook looks; empty until it is installed."""
_watches: dict[int, list[Any]] = {}
"""By thread: those that watch it, the one that asks first at the end."""


def push(watch: Any) -> None:
    """From now on `watch` looks at what this thread does."""
    _watches.setdefault(get_ident(), []).append(watch)
    _installed[0].value = len(_watches)


def pop() -> None:
    """Ends the last `push` of this thread."""
    thread = get_ident()
    stack = _watches[thread]
    stack.pop()
    if not stack:
        del _watches[thread]
        _installed[0].value = len(_watches)


def current(thread: int) -> Any:
    """What watches a thread, None if nothing does."""
    stack = _watches.get(thread)
    return stack[-1] if stack else None


def forget_threads() -> None:
    """In a forked child: the watches of other threads did not come along, but their numbers may."""
    mine = get_ident()
    for thread in [thread for thread in _watches if thread != mine]:
        del _watches[thread]
    if _installed:
        _installed[0].value = len(_watches)


in_child(forget_threads)


def install() -> None:
    """Installs the audit hook of this process."""
    image = native.HOOKS.image()  # may compile, so not with the lock
    with _installing:
        if _installed:
            return
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_told))  # for good: the hook is
        native.pointer(image, "listener").value = id(_told)
        add = ctypes.pythonapi.PySys_AddAuditHook
        add.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        if add(image.address("audit"), None):
            raise RuntimeError("an audit hook of this process allows no other one")
        _installed.append(ctypes.c_int32.from_address(image.address("listening")))


_installing = RLock()  # a signal handler may come while a fork has it
hold(_installing)


def _told(event: str, args: tuple[Any, ...]) -> None:
    effect = table.of_event(event)
    if effect is None and event != "import":
        return
    watch = current(get_ident())
    if watch is None or (event == "open" and _is_source(args)):
        return
    frame: Any = sys._getframe(1)
    if effect is None:
        watch.loads_a_module(frame)
        return
    watch.report(effect, _described(event), frames.asking(frame) if event == "open" else frame)


def _is_source(args: tuple[Any, ...]) -> bool:
    """Whether a file is opened to read Python code, be it text that only seems to have a file."""
    path, mode = args[0], args[1]
    if not isinstance(path, str) or mode not in ("r", "rb", None):
        return False
    return path.endswith((".py", ".pyc")) or (path.startswith("<") and path.endswith(">"))


_NAMES: dict[str, str] = {"open": "opening a file", "_thread.start_new_thread": "starting a thread"}


def _described(event: str) -> str:
    """What an event is about, as the subject of a sentence."""
    return _NAMES.get(event, f"`{event}`")
