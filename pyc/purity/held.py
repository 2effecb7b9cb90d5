"""What a traced function was given from outside, as it was before: containers, objects, states.

`Held` remembers each object that the function reads, as it was when it was read first; `check`
refuses if one is not so any more, `restore` makes them so again. Comparing is by identity of what
they hold, so no code of the user runs.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from enum import EnumType
from typing import Any

import numpy as np

from pyc.errors import PurityError
from pyc.purity import table
from pyc.purity.states import (
    DICT,
    SLOTS,
    Kind,
    Memento,
    attributes,
    container_kind,
    kinds_of,
    memento,
    restore_row,
)
from pyc.reasons import Reason
from pyc.trace.modules import changed_outside
from pyc.trace.paths import Path
from pyc.trace.users_code import is_users_class

_RECORDS = ("SimpleNamespace", "Namespace")
"""Classes of the standard library whose objects are nothing but attributes."""

MISSING = object()


# --- the register ---------------------------------------------------------------------------------


class Held:
    """The objects from outside that one trace has read."""

    def __init__(self) -> None:
        self._objects: dict[int, tuple[Any, Path]] = {}
        """By id: an object from outside, kept alive so that its id stays its own."""
        self._before: list[tuple[Any, Any, Kind, Path]] = []
        self._shared: set[int] = set()
        """The ids of attributes that other threads have too, and that the function is refused to
        change where it does."""
        self._whole: dict[int, tuple[Memento, Path, bool]] = {}
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._states: list[tuple[str, Callable[[], Any], Callable[[Any], Any], Any]] = []
        self._filters = (warnings.filters, [*warnings.filters])

    def note(self, value: Any, path: Path) -> None:
        """Remembers that an object is from outside, read by `path`."""
        self._objects.setdefault(id(value), (value, path))

    def add(self, value: Any, path: Path, stands: bool = False) -> None:
        """Remembers an object that the function reads by `path`, and what it holds. stands: for
        another one."""
        if id(value) in self._objects:
            return
        self._objects[id(value)] = (value, path)
        kind = container_kind(value)
        if kind is not None:
            self._remember(value, kind, path)
        if is_users_class(type(value)) or type(value).__name__ in _RECORDS:
            own = attributes(value)
            if own is not None:
                if stands:
                    self._shared.add(id(own))
                self._remember(own, DICT, path)
            self._remember(value, SLOTS, path)

    def add_whole(self, value: Any, path: Path, checked: bool = False) -> None:
        """Remembers all that can be reached from an object that the function is given itself.
        checked: whether `check` looks at it; else others do."""
        if id(value) in self._whole:
            return
        found = memento(value, path.text())
        if found is not None:
            self._whole[id(value)] = found, path, checked

    def add_parts(self, value: Any, path: Path) -> None:
        """Remembers the attributes of an enumeration and its members, or of a class or function of
        a library."""
        if id(value) not in self._objects:
            self._objects[id(value)] = (value, path)
            members = value._member_map_.values() if isinstance(value, EnumType) else ()
            for part in (value, *members):
                for holder, kind in kinds_of(part):
                    self._remember(holder, kind, path)

    def _remember(self, holder: Any, kind: Kind, path: Path) -> None:
        self._before.append((holder, kind.copy(holder), kind, path))

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

    def forget(self) -> None:
        """Lets go of everything."""
        for register in (self._objects, self._before, self._whole, self._names, self._states):
            register.clear()

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
        for whole, path, checked in self._whole.values():
            if checked and not whole.holds():
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

    def restore(self, shared: bool = True) -> list[Path]:
        """Makes everything as it was; gives where that was not possible. shared: also what other
        threads may have changed."""
        for value, before, kind, _ in self._before:
            if (shared or id(value) not in self._shared) and not kind.same(value, before):
                kind.restore(value, before)
        for whole, _, _ in self._whole.values():
            whole.restore()
        for names, name, before in self._names:
            if before is MISSING:
                names.pop(name, None)
            else:
                names[name] = before
        filters, before = self._filters
        if [*filters] != before:
            restore_row(filters, before)
        for _, state, restore, before in self._states:
            if state() != before:
                restore(before)
        return [path for whole, path, _ in self._whole.values() if not whole.holds()]


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
