"""Whether what an instruction loads is called right away: `f` in `f(x)`, but not in `g(f)`.

A type such as `float` or `np.float32` is two things to its users: a function in `np.float32(x)`,
and a value in `isinstance(x, float)` and `dtype=np.float32`. As a function a view answers with one
that takes traced values, as a value with the type itself, so that comparisons, keys and `is` keep
their meaning. Which of the two is meant stands in the code object: the call expression begins where
the expression of the callee does.
"""

from __future__ import annotations

import sys
from opcode import opname
from types import CodeType

_CALLS = frozenset(k for k, name in enumerate(opname) if name.startswith(("CALL", "PRECALL")))
_KEPT = 4096

_answers: dict[tuple[int, int], tuple[CodeType, bool]] = {}


def is_called(depth: int = 1) -> bool:
    """Whether the function `depth` frames above the caller calls what its current instruction
    loads; False where the code has no column numbers (`python -X no_debug_ranges`)."""
    frame = sys._getframe(depth + 1)
    code, at = frame.f_code, frame.f_lasti
    # Keyed by id: hashing a code object walks its constants. The code is kept alive beside.
    known = _answers.get((id(code), at))
    if known is None:
        if len(_answers) >= _KEPT:
            _answers.clear()
        known = _answers[(id(code), at)] = code, _begins_a_call(code, at)
    return known[1]


def _begins_a_call(code: CodeType, at: int) -> bool:
    """Whether the smallest expression that begins with the one at byte offset `at`, and is larger,
    is a call."""
    places = list(code.co_positions())
    line, end_line, column, end_column = places[at // 2]
    if end_line is None or column is None or end_column is None:
        return False
    own = (end_line, end_column)
    larger = [
        ((last or 0, end or 0), k)
        for k, (first, last, start, end) in enumerate(places)
        if first == line and start == column and (last or 0, end or 0) > own
    ]
    smallest = min((end for end, _ in larger), default=None)
    return any(end == smallest and code.co_code[2 * k] in _CALLS for end, k in larger)
