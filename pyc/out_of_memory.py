"""The error of a program that asks for more memory than there is.

It says how many bytes a call takes, for what, and where the largest arrays are made. The same text
serves when a program is compiled (no process can address so much), when results or an arena cannot
be allocated, and on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyc import cache
from pyc.errors import OutOfMemoryError, Place, format_place
from pyc.frozen import frozen
from pyc.ir.types import ArrayType


@frozen()
class Demand:
    """What a call allocates. peak: bytes of its arena; results: types; taken: the results that lie
    in arguments; largest: bytes of the largest buffers, and the equations that make them."""

    peak: int
    results: tuple[ArrayType, ...]
    taken: dict[int, int]
    largest: tuple[tuple[int, int], ...]

    @property
    def fresh(self) -> int:
        """Bytes of new results."""
        return sum(t.nbytes for k, t in enumerate(self.results) if k not in self.taken)

    @property
    def nbytes(self) -> int:
        """All of it."""
        return self.peak + self.fresh


def out_of_memory(
    name: str, demand: Demand, why: str, places: Sequence[Place | None], plan: Any
) -> OutOfMemoryError:
    """The error, at the line of the largest buffer. name: of the function; why: what is wrong with
    so many bytes; places: of all equations; plan: goes with the error."""
    made = [(n, places[k] if k >= 0 else None) for n, k in demand.largest]
    lines = [
        cache.readable_bytes(n) + ("" if p is None else f", made at {format_place(p)}")
        for n, p in made
    ]
    needs = (demand.nbytes, demand.fresh, demand.peak)
    total, results, arena = map(cache.readable_bytes, needs)
    return OutOfMemoryError(
        f"{name or 'the program'}: a call takes {total}, {why}: {results} for results, {arena} for "
        "what is computed on the way",
        plan=plan,
        fix="\n".join(["The largest arrays:", *(f"  {line}" for line in lines)]),
        place=next((p for _, p in made if p is not None), None),
    )
