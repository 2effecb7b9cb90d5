"""Where a traced function read a value from: a name, then attributes and items.

    W                 a global name of the function's module
    cfg.dt            an attribute of one
    params["w"][0]    an item
    self.w            an argument's attribute

`text()` is the expression for messages. `holder` of a root is what to read it from again: the
module's names, the cell of a closure, or the function whose default it is.
"""

from __future__ import annotations

from typing import Any


class Path:
    """A step from `parent` (None for a root) by `key`. kind: "global", "cell", "default",
    "argument" for roots; "attribute", "item" for steps."""

    __slots__ = ("holder", "key", "kind", "parent")

    def __init__(self, parent: Path | None, kind: str, key: Any, holder: Any = None) -> None:
        self.parent = parent
        self.kind = kind
        self.key = key
        self.holder = holder

    def attribute(self, name: str) -> Path:
        """The path of an attribute."""
        return Path(self, "attribute", name)

    def item(self, key: Any) -> Path:
        """The path of an item."""
        return Path(self, "item", key)

    def text(self) -> str:
        """The path as Python code."""
        if self.parent is None:
            return str(self.key)
        before = self.parent.text()
        return f"{before}.{self.key}" if self.kind == "attribute" else f"{before}[{self.key!r}]"
