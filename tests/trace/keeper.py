"""Something that keeps a value and that no check looks into: a running generator."""

from collections.abc import Callable, Generator
from typing import Any


def keeper() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A function that keeps its argument, and one that gives what was kept last, None before."""

    def run() -> Generator[Any, Any, None]:
        kept = None
        while True:
            given = yield kept
            kept = kept if given is None else given

    made = run()
    next(made)
    return made.send, made.__next__
