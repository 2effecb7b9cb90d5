"""What a traced function was given from outside, as it was before: containers, objects, states.

`Held` remembers each object that the function reads, as it was when it was read first; `check`
refuses if one is not so any more, `restore` makes them so again. Comparing is by identity of what
they hold, so no code of the user runs.
"""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

from pyc.errors import PurityError
from pyc.frozen import frozen
from pyc.purity import table
from pyc.reasons import Reason
from pyc.trace.modules import changed_outside
from pyc.trace.paths import Path
from pyc.trace.users_code import is_users_class

_RECORDS = ("SimpleNamespace", "Namespace")
"""Classes of the standard library whose objects are nothing but attributes."""

MISSING = object()

# --- kinds of objects -----------------------------------------------------------------------------


@frozen()
class _Kind:
    """How an object is remembered, compared and made as it was."""

    copy: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]
    restore: Callable[[Any, Any], None]


def _same_row(x: Sequence[Any], before: Sequence[Any]) -> bool:
    return len(x) == len(before) and all(map(is_, x, before))


def _same_names(x: dict[Any, Any], before: dict[Any, Any]) -> bool:
    return (
        dict.__len__(x) == len(before)
        and all(map(is_, dict.keys(x), before))
        and all(map(is_, dict.values(x), before.values()))
    )


def _same_set(x: set[Any], before: set[Any]) -> bool:
    return len(x) == len(before) and {*map(id, x)} == {*map(id, before)}


def _restore_row(x: Any, before: Any) -> None:
    x[:] = before


def _restore_names(x: dict[Any, Any], before: dict[Any, Any]) -> None:
    dict.clear(x)
    dict.update(x, before)


def _restore_set(x: set[Any], before: set[Any]) -> None:
    set.clear(x)
    set.update(x, before)


def _restore_deque(x: deque[Any], before: list[Any]) -> None:
    x.clear()
    x.extend(before)


_LIST = _Kind(list, _same_row, _restore_row)
_DICT = _Kind(dict, _same_names, _restore_names)
_SET = _Kind(set, _same_set, _restore_set)
_DEQUE = _Kind(list, _same_row, _restore_deque)
_BYTES = _Kind(bytes, lambda x, before: bytes(x) == before, _restore_row)

_KINDS: dict[type, _Kind] = {
    list: _LIST,
    dict: _DICT,
    set: _SET,
    deque: _DEQUE,
    bytearray: _BYTES,
}


def _kind_of(x: Any) -> _Kind | None:
    """How `x` itself is remembered; None for what holds nothing."""
    for cls in type(x).__mro__:
        if cls in _KINDS:
            return _KINDS[cls]
    return None


def _plain_names(cls: type) -> dict[str, Any]:
    """The attributes of a class that are not Python's own."""
    return {k: v for k, v in vars(cls).items() if not _is_pythons(k)}


def _is_pythons(name: str) -> bool:
    return name.startswith("__") or name == "_abc_impl"


def _restore_class(cls: type, before: dict[str, Any]) -> None:
    for name in _plain_names(cls).keys() - before.keys():
        type.__delattr__(cls, name)
    for name, value in before.items():
        type.__setattr__(cls, name, value)


_CLASS = _Kind(
    _plain_names, lambda cls, before: _same_names(_plain_names(cls), before), _restore_class
)


def _stays(x: Any, before: Any) -> None:
    """What was made for one trace goes with it."""


# --- the register ---------------------------------------------------------------------------------


class Held:
    """The objects from outside that one trace has read."""

    def __init__(self) -> None:
        self._objects: dict[int, tuple[Any, Path]] = {}
        """By id: an object from outside, kept alive so that its id stays its own."""
        self._before: list[tuple[Any, Any, _Kind, Path]] = []
        self._shared: set[int] = set()
        """The ids of attributes that other threads have too, and that the function is refused to
        change where it does."""
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._states: list[tuple[str, Callable[[], Any], Callable[[Any], Any], Any]] = []
        self._filters = (warnings.filters, [*warnings.filters])

    def add(self, value: Any, path: Path, stands: bool = False) -> None:
        """Remembers an object that the function reads by `path`. stands: for another one."""
        if id(value) in self._objects:
            return
        self._objects[id(value)] = (value, path)
        kind = _kind_of(value)
        if kind is not None:
            self._before.append((value, kind.copy(value), kind, path))
        if is_users_class(type(value)) or type(value).__name__ in _RECORDS:
            attributes = _attributes(value)
            if attributes is not None:
                if stands:
                    self._shared.add(id(attributes))
                self._before.append((attributes, dict(attributes), _DICT, path))

    def add_made(
        self, made: Any, value: Any, translate: Callable[[Any, Path], Any], path: Path
    ) -> None:
        """Remembers a function or class of the user's, and what was made of it, which becomes
        complete later."""
        if made is value:
            if isinstance(value, type):
                self._before.append((value, _plain_names(value), _CLASS, path))
            else:
                self._before.append((vars(value), dict(vars(value)), _DICT, path))
            return

        own = vars(value)
        before = own.copy()

        def is_kept(name: str, x: Any) -> bool:
            if _is_pythons(name):
                return True
            if own.get(name, MISSING) is not before.get(name, MISSING):
                return True  # another thread has changed the own one
            return name in before and _is_made_of(x, before[name], translate)

        def same(made: Any, _: Any) -> bool:
            return all(is_kept(name, x) for name, x in vars(made).copy().items())

        self._before.append((made, None, _Kind(lambda x: x, same, _stays), path))

    def add_name(self, names: dict[str, Any], name: str) -> None:
        """Remembers a global name that a function which runs without a view may assign."""
        if all(known is not names or n != name for known, n, _ in self._names):
            self._names.append((names, name, names.get(name, MISSING)))

    def add_states(self) -> None:
        """Remembers the states that `random` and `numpy.random` draw from, if these are loaded."""
        # Another thread may be in the middle of importing them: then nobody has drawn yet.
        shared: Any = getattr(sys.modules.get("random"), "_inst", None)
        if shared is not None:
            self._states.append(("random", shared.getstate, shared.setstate, shared.getstate()))
        shared = getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None)
        if shared is not None:
            drawn = _NumpyState(shared)
            self._states.append(("numpy.random", drawn.get, drawn.set, drawn.get()))

    def forget_states(self) -> None:
        """From now on the states may change: a module is loaded, which may do anything, once."""
        self._states.clear()

    def path_of(self, value: Any) -> Path | None:
        """Where an object from outside was read; None if it is not from outside."""
        found = self._objects.get(id(value))
        return None if found is None else found[1]

    def check(self, shared: bool = True) -> None:
        """PurityError, without a place, if something is not as it was. shared: also what other
        threads may have changed."""
        for value, before, kind, path in self._before:
            if (shared or id(value) not in self._shared) and not kind.same(value, before):
                raise changed(path)
        for names, name, before in self._names:
            if names.get(name, MISSING) is not before:
                raise changed_outside(f"the global name `{name}`", Reason.PURITY_NAME)
        filters, before = self._filters
        if warnings.filters is not filters or [*filters] != before:
            raise changed_outside("the filters of `warnings`", Reason.PURITY_ENVIRONMENT)
        for name, state, _, before in self._states:
            if state() != before:
                effect = table.RANDOM
                raise PurityError(f"{name} {effect.does}", rule=effect.rule, fix=effect.fix)

    def restore(self, shared: bool = True) -> None:
        """Makes everything as it was. shared: also what other threads may have changed."""
        for value, before, kind, _ in self._before:
            if (shared or id(value) not in self._shared) and not kind.same(value, before):
                kind.restore(value, before)
        for names, name, before in self._names:
            if before is MISSING:
                names.pop(name, None)
            else:
                names[name] = before
        filters, before = self._filters
        if [*filters] != before:
            _restore_row(filters, before)
        for _, state, restore, before in self._states:
            if state() != before:
                restore(before)


class _NumpyState:
    """The state of NumPy's global generator, as something that can be compared."""

    def __init__(self, shared: Any) -> None:
        self._shared = shared

    def get(self) -> Any:
        """The state now."""
        kind, key, *rest = self._shared.get_state()
        return (kind, key.tobytes(), *rest)

    def set(self, state: Any) -> None:
        """Makes the state what it was."""
        kind, key, *rest = state
        self._shared.set_state((kind, np.frombuffer(key, np.uint32), *rest))


def _attributes(value: Any) -> dict[str, Any] | None:
    """The attributes of an object, without asking its class: reading them is noted there."""
    try:
        found: dict[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found


def _is_made_of(x: Any, value: Any, translate: Callable[[Any, Path], Any]) -> bool:
    """Whether an attribute of what was made of a function or class stands for the own one."""
    return x is value or hasattr(type(x), "__get__") or translate(value, _NOWHERE) is x


_NOWHERE = Path(None, "inside", "")
"""The path of what is compared, not read."""


def root_of(path: Path) -> Path:
    """Where a path begins."""
    while path.parent is not None:
        path = path.parent
    return path


def changed(path: Path) -> PurityError:
    """The error of a function that changes an object that it was given."""
    if root_of(path).kind != "argument":
        return changed_outside(f"`{path.text()}`")
    return PurityError(
        f"the function changes `{path.text()}`, a container that is an argument: compiled code "
        "would change a copy of it",
        rule=Reason.PURITY_ARGUMENT,
        fix="Copy it first (`list(a)`, `dict(a)`), and return what has changed.",
    )
