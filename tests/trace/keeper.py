"""Something that keeps a value and that no check looks into: a running generator."""

from collections.abc import Generator
from typing import Any


def keeper() -> Generator[Any, Any, None]:
    """Gives what was last sent to it, None before."""

    def run() -> Generator[Any, Any, None]:
        kept = None
        while True:
            given = yield kept
            kept = kept if given is None else given

    made = run()
    next(made)
    return made
