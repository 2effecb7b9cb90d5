"""Where a traced function read a value from: a name, then attributes and items.

    W                 a global name of the function's module
    cfg.dt            an attribute of one
    params["w"][0]    an item
    self.w            an argument's attribute

`text()` is the expression for messages, `value_of` reads the value again. A root has a `holder`,
what to read it from: the module's names, the cell of a closure, the function whose default it is,
the class whose member it is; an argument's is its place in the call. What stands for the traced
function itself is its own holder.

Equal steps from one path are one object, so a path stands for a place: `read` is what was found
there (`reads.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

MISSING = object()
"""What a path leads to where nothing is."""


class Path:
    """A step from `parent` (None for a root) by `key`. kind: "global", "cell", "default", "member",
    "argument", "object", "class", "members" or "inside" for roots; "attribute", "item" or "keys"
    for steps.

    is_outside: whether the value existed before the trace and is no leaf of the arguments, which
    are part of the signature: what is read there has to be looked at again before each call."""

    __slots__ = ("_steps", "holder", "is_outside", "key", "kind", "parent", "read")

    def __init__(self, parent: Path | None, kind: str, key: Any, holder: Any = None) -> None:
        self.parent = parent
        self.kind = kind
        self.key = key
        self.holder = holder
        self.read: Any = None
        self._steps: dict[tuple[str, Any], Path] = {}
        if parent is None:
            self.is_outside = kind not in ("argument", "inside")
        else:
            entered = kind == "attribute" and parent.root.kind == "argument"
            self.is_outside = parent.is_outside or entered

    @property
    def root(self) -> Path:
        """Where the path begins."""
        found = self
        while found.parent is not None:
            found = found.parent
        return found

    def attribute(self, name: str) -> Path:
        """The path of an attribute."""
        return self._step("attribute", name)

    def item(self, key: Any) -> Path:
        """The path of an item."""
        return self._step("item", key)

    def keys(self) -> Path:
        """The path of the keys of a dict."""
        return self._step("keys", "")

    def _step(self, kind: str, key: Any) -> Path:
        found = self._steps.get((kind, key))
        if found is None:
            found = self._steps[kind, key] = Path(self, kind, key)
        return found

    def identity(self) -> tuple[Any, ...]:
        """What tells paths of two traces apart."""
        before = () if self.parent is None else self.parent.identity()
        return (*before, self.kind, self.key, id(self.holder))

    def text(self) -> str:
        """The path as Python code."""
        if self.parent is None:
            return f"{self.holder.__name__}.{self.key}" if self.kind == "member" else str(self.key)
        before = self.parent.text()
        if self.kind == "keys":
            return f"{before}.keys()"
        return f"{before}.{self.key}" if self.kind == "attribute" else f"{before}[{self.key!r}]"

    def value_of(self, before: Any, arguments: Any) -> Any:
        """The value that the path leads to now, MISSING if nothing is there.

        before: the parent's value; arguments: (positional, keywords) of the call
        """
        kind, key, holder = self.kind, self.key, self.holder
        if kind == "attribute":
            return getattr(before, key, MISSING)
        if kind == "item":
            return _item(before, key)
        if kind == "keys":
            return list(dict.__iter__(before))
        if kind == "global":
            return holder.get(key, MISSING)
        if kind == "cell":
            try:
                return holder.cell_contents
            except ValueError:  # nothing is in it
                return MISSING
        if kind == "default":
            return default_of(holder, key)
        if kind == "member":
            return member_of(holder, key)
        if kind == "argument":
            return arguments[0][holder] if isinstance(holder, int) else arguments[1][holder]
        return holder


def _item(container: Any, key: Any) -> Any:
    if isinstance(container, dict):
        return dict.get(container, key, MISSING)
    rows: tuple[Any, ...] = (list, tuple, deque)
    for row in rows:
        if isinstance(container, row):
            try:
                return row.__getitem__(container, key)
            except IndexError:
                return MISSING
    return MISSING


def default_of(function: Any, name: str) -> Any:
    """The default of a parameter, MISSING if it has none."""
    if function.__kwdefaults__ and name in function.__kwdefaults__:
        return function.__kwdefaults__[name]
    given: Sequence[Any] = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    found = dict(zip(reversed(names), reversed(given), strict=False))
    return found.get(name, MISSING)


def member_of(cls: type, name: str) -> Any:
    """What a class or a base of it holds by a name, no descriptor asked; MISSING if nothing."""
    for kind in cls.__mro__:
        if name in vars(kind):
            return vars(kind)[name]
    return MISSING
