"""Looks at what a function does while it is traced, and refuses what compiled code would not do.

A `Watch` belongs to one run of the function. The hooks tell it what is called and entered
(`hooks.py`), the audit hook what the process is asked for (`audit.py`), the views what stands for
impure functions (`views.py`), and the namespace what is read from outside (`answer`, to `held.py`).
A refusal is an exception in the user's frame, before the effect happens; where the user's code
catches it, it is raised again when the function is over.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import EnumType
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any

from pyc.errors import PurityError, PycError
from pyc.purity import audit, frames, hooks, stand_ins, table, views
from pyc.purity.code import global_stores
from pyc.purity.held import Held, changed, root_of
from pyc.trace import location
from pyc.trace.meanwhile import others
from pyc.trace.modules import ModuleView
from pyc.trace.paths import Path
from pyc.trace.users_code import is_users, is_users_class

if TYPE_CHECKING:
    from pyc.trace.namespace import Namespace

_STREAM: Any = table.IN_MEMORY[0].__mro__[-2]
"""The class of all streams: an ordinary one, without a register of what else counts as one."""

_INSIDE = ("attribute", "inside")
"""Kinds of paths that begin at an object that the function has made."""
_functions: dict[int, tuple[Any, table.Effect | None]] = {}
"""Effects of functions written in C, by id; the function is kept alive beside."""
_codes: dict[int, tuple[CodeType, table.Effect | None, str]] = {}
"""Effects and names of functions of the standard library, by the id of their code."""
_PYTHON_NAMES = frozenset(name for _, name in table.PYTHON)
_UNSEEN = frozenset(["__setattr__", "__delattr__", "__setstate__"])
"""Names in code that may change attributes in a way that is not seen when it happens."""
_WARNS = (warnings.warn, warnings.warn_explicit)


def _effect_of_code(code: CodeType) -> tuple[table.Effect | None, str]:
    """The effect of a function of the standard library written in Python, and its name."""
    known = _codes.get(id(code))
    if known is None:
        file = frames.in_library(code) or ""
        found = table.PYTHON.get((file, code.co_qualname))
        known = _codes[id(code)] = code, found, table.name_of_python(file, code.co_qualname)
    return known[1:]


def _effect_of(function: Any) -> table.Effect | None:
    known = _functions.get(id(function))
    if known is None:
        found = table.of_function(function.__module__ or "", function.__name__)
        known = _functions[id(function)] = function, found
    return known[1]


def _is_direct(frame: FrameType | None) -> bool:
    """Whether a frame is of the user's code."""
    return frame is not None and is_users(frame.f_globals)


class Watch:
    """One run of a function that is traced. strict: refuse, else warn; checks: raise PurityError
    without a place if what they look after has changed."""

    def __init__(self, strict: bool, step_by_step: bool = False) -> None:
        self.held = Held()
        self.strict = strict
        self._stepping = step_by_step
        self._found: PurityError | None = None
        self._warned: set[Any] = set()
        self._busy = False
        self._last: Any = None
        """The function written in C that was called last."""
        self._known: dict[int, CodeType] = {}
        """The code that was entered, by id."""
        self._checks: list[Callable[[], None]] = [self._check_held]

    # --- a run ------------------------------------------------------------------------------------

    def attach(self, space: Namespace) -> None:
        """From now on `space` asks here about what it reads."""
        self._checks.append(space.check)
        space.observer = self.answer
        space.keeper = self.held.add_whole
        space.builtins.standing.update(views.builtin_functions())

    @location.calls_the_user
    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The result of the function.

        raises PurityError: it has an effect; without a place if only its traces were found
        """
        self.held.add_states()
        for name in ("stdin", "stdout", "stderr"):
            self.held.note(getattr(sys, name), Path(None, "object", f"sys.{name}", sys))
        audit.push(self)
        stop = hooks.step(self) if self._stepping else hooks.call(self)
        try:
            result = function(*args, **kwargs)
        except PycError as error:
            found = self.refused(self._found or error)
            if found is error:
                raise
            raise found from None
        except Exception:
            if self._found is not None:
                raise self.refused(self._found) from None
            raise
        finally:
            audit.pop()
            stop()
        if self._found is not None:
            raise self.refused(self._found)
        self._over()
        return result

    def refused(self, error: PycError) -> PycError:
        """The error of a refusal; what exists outside is as it was before, or the error says that
        it is not."""
        left = [path.text() for path in self.restore()]
        if left:
            names = ", ".join(f"`{name}`" for name in left)
            error.also(f"What the trace has changed in {names} cannot be undone.")
        return error

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Within the block, a refusal leaves what this run has read as it was."""
        try:
            yield
        except PycError as error:
            self.refused(error)
            raise

    def end(self) -> None:
        """Lets go of all that was read: nothing is kept alive."""
        self.held.forget()

    @property
    def has_warned(self) -> bool:
        """Whether effects have happened, and were warned of."""
        return bool(self._warned)

    def _over(self) -> None:
        try:
            self.check()
        except PurityError as error:
            if self.strict or error.rule in table.CHANGES_OUTSIDE:
                raise self.refused(error) from None
            self._warn(error)

    def _check_held(self) -> None:
        self.held.check(shared=self._is_alone())

    def restore(self) -> list[Path]:
        """Makes everything as it was before the function ran; gives where that was not possible."""
        return self.held.restore(shared=self._is_alone())

    def _is_alone(self) -> bool:
        """Whether changed attributes are the work of the function. Where there are other threads it
        would have been seen to change them, unless its code names a way to do so unseen."""
        if self._stepping or not others():
            return True
        return any(_UNSEEN & {*code.co_names} for code in self._known.values())

    def check(self) -> None:
        """PurityError, without a place, if something from outside has changed."""
        for check in self._checks:
            check()

    # --- what the hooks tell ----------------------------------------------------------------------

    def calls(self, function: Any, first: Any, frame: FrameType) -> None:
        """A function written in C is about to be called. first: its first argument, if known."""
        kind = type(function)
        if kind is BuiltinFunctionType:
            owner = function.__self__
            if owner is None or type(owner) is ModuleType:
                effect = _effect_of(function)
                if effect is not None:
                    self._called(effect, function, frame)
                self._last = function
                return
        elif kind is MethodDescriptorType:
            owner = first
        else:
            return
        self._last = function
        name = function.__name__
        effect = self.method(owner, name)
        if effect is not None:
            self.report(effect, views.name_of_method(owner, name), frame)
        elif name in table.CHANGING:
            self.change(owner, name, frame)

    def _called(self, effect: table.Effect, function: Any, frame: FrameType) -> None:
        if function is print and self.is_local(sys.stdout):
            return
        known_as = function.__module__, function.__name__
        if known_as in table.DIRECT_FUNCTIONS and not _is_direct(frame):
            return
        self.report(effect, views.name_of(function), frame)

    def method(self, owner: Any, name: str) -> table.Effect | None:
        """The effect of a method written in C."""
        if name in table.STREAM_METHODS and isinstance(owner, _STREAM):
            if not self.is_local(owner):
                return table.WRITES if name in table.STREAM_WRITES else table.READS
        elif name in table.NOW and isinstance(owner, type):
            if any(c.__module__ == "datetime" for c in owner.__mro__):
                return table.CLOCK
        elif name in table.DRAWS and any(c.__module__ == "_random" for c in type(owner).__mro__):
            shared = getattr(sys.modules.get("random"), "_inst", None)
            if owner is shared or self.held.path_of(owner) is not None:
                return table.RANDOM
        return None

    def change(self, owner: Any, name: str, frame: FrameType) -> None:
        """Refuses a method that changes an object from outside."""
        path = self.held.path_of(owner)
        if path is None:
            return
        for cls in type(owner).__mro__:
            if name in table.CHANGES.get(cls.__name__, ()):
                self._place(changed(path), frame)
                return

    def enters(self, code: CodeType, frame: FrameType) -> bool:
        """A function written in Python begins; whether it has to be told of the next time too."""
        if code.co_qualname in _PYTHON_NAMES:
            effect, called = _effect_of_code(code)
            if effect is not None:
                if self._is_meant(code, frame):
                    self.report(effect, called, frame)
                return True
        if id(code) not in self._known:
            names = frame.f_globals
            users = type(names) is dict and is_users(names)
            stored = [name for _, name in global_stores(code)] if users else []
            if stored and frames.behind(frame) is None:
                return True  # the garbage collector's doing, this time
            self._known[id(code)] = code
            for name in stored:
                self.held.add_name(names, name)
        return False

    def _is_meant(self, code: CodeType, frame: FrameType) -> bool:
        """Whether a function of the standard library is entered in a way that has an effect."""
        if code.co_name == "_showwarnmsg":
            return self._last in _WARNS
        if code.co_name == "seed":
            return frame.f_locals.get("a") is None
        owner = table.OWNERS.get(code.co_qualname)
        if owner is not None:
            return self.held.path_of(frame.f_locals.get(owner)) is not None
        return code.co_name not in table.DIRECT or _is_direct(frame.f_back)

    def loads_a_module(self, frame: FrameType) -> None:
        """A module is about to be loaded, which may do anything: it happens once."""
        if frames.behind(frame) is not None:
            self.held.forget_states()

    def is_local(self, stream: Any) -> bool:
        """Whether a stream is one in memory that the function has made."""
        return isinstance(stream, table.IN_MEMORY) and self.held.path_of(stream) is None

    # --- what is read -----------------------------------------------------------------------------

    def answer(self, value: Any, made: Any, path: Path) -> Any:
        """What stands for `value`, which the function reads by `path`; made: its translation."""
        if root_of(path).kind in _INSIDE or value is sys.modules:
            return made
        if made is value:
            made = self._itself(value, path)
            if made is not value:
                return made
        else:
            self.held.note(value, path)
        if isinstance(made, ModuleView):
            return views.module(value, made)
        kind = type(value)
        if kind is FunctionType or isinstance(value, type):
            users = is_users(value.__globals__) if kind is FunctionType else is_users_class(value)
            if made is value and users and not issubclass(kind, EnumType):
                self.held.add_whole(value, path, checked=True)
            elif made is value:
                self.held.add_parts(value, path)
        else:
            self.held.add(made, path, stands=made is not value)
        return made

    def _itself(self, value: Any, path: Path) -> Any:
        """What stands for an object that has no translation: most often itself."""
        kind = type(value)
        if kind is BuiltinFunctionType or kind is MethodWrapperType:
            return self._guarded(value, path)
        if isinstance(value, _STREAM):
            self.held.add(value, path)
            return views.Stream(lambda: value, path.text())
        found = stand_ins().stand_in(value, path.text())
        if found is not value:
            self.held.note(value, path)
        elif kind.__module__ == "random":
            self.held.add(value, path)
        return found

    def _guarded(self, function: Any, path: Path) -> Any:
        owner = function.__self__
        if owner is None or type(owner) is ModuleType:
            return views.of_function(function)
        name = function.__name__
        found = stand_ins().stand_in(owner, path.text())
        if found is not owner and name not in found.allowed:
            return views.guarded(function, f"`{path.text()}`", found.effect, by_any=True)
        if path.kind != "attribute" or type(owner).__module__ == "builtins":
            self.held.add(owner, path)
        effect = self.method(owner, name)
        if effect is None:
            return function
        return views.guarded(function, views.name_of_method(owner, name), effect)

    # --- refusing ---------------------------------------------------------------------------------

    def report(self, effect: table.Effect, name: str, frame: FrameType | None) -> None:
        """Refuses an effect of the function `name` that `frame` causes, if the user is behind it.

        raises PurityError: with the user's place, if refusals are strict; else it warns
        """
        self._place(PurityError(f"{name} {effect.does}", rule=effect.rule, fix=effect.fix), frame)

    def _place(self, error: PurityError, frame: FrameType | None) -> None:
        if self._busy or frame is None:
            return
        code = frame.f_code
        if (frames.in_library(code), code.co_qualname) in table.INTERNAL:
            return
        user = frames.behind(frame)
        if user is None:
            return
        error.at(frames.place_of(user))
        if not self.strict and error.rule not in table.CHANGES_OUTSIDE:
            self._warn(error)
            return
        if self._found is None:
            self._found = error
        raise error

    def _warn(self, error: PurityError) -> None:
        key = (error.rule, error.place)
        if key in self._warned:
            return
        self._warned.add(key)
        self._busy = True
        try:
            frames.warn(error)
        finally:
            self._busy = False
