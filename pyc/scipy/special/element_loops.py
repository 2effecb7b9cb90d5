"""`repeated`: a step that each element of an array repeats until it is done, as one loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyc.numpy as pnp
from pyc.trace.control import while_loop

Step = Callable[..., tuple[Any, Sequence[Any]]]
"""What an element has, to whether it goes on, and what it has then."""


def repeated(step: Step, waiting: Any, *state: Any) -> Sequence[Any]:
    """What each element has when it is done. waiting: which elements begin; the others keep what
    they have, `state`."""

    def again(now: Any) -> Any:
        waiting, *old = now
        go_on, new = step(*old)
        kept = [pnp.where(waiting, n, o) for n, o in zip(new, old, strict=True)]
        return (waiting & go_on, *kept)

    found: Sequence[Any] = while_loop(lambda now: pnp.any(now[0]), again, (waiting, *state))
    return found[1:]
