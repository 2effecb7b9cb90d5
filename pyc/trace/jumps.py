"""Which functions decide something: only their source is read and rewritten, and only for them the
rewriting is loaded. Told from the code object, in a few microseconds."""

from __future__ import annotations

from collections.abc import Iterator
from opcode import opname
from types import CodeType, FunctionType

from pyc.trace import rewriting

_DECIDING = frozenset(
    k
    for k, name in enumerate(opname)
    if "JUMP" in name
    # The last one: from Python 3.12 on a `try` with nothing but `except:` may have no jump.
    or name in ("FOR_ITER", "UNARY_NOT", "TO_BOOL", "CONTAINS_OP", "PUSH_EXC_INFO")
)
_BACK = frozenset(k for k, name in enumerate(opname) if "BACKWARD" in name)


def nested(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def has_control_flow(code: CodeType) -> bool:
    """Whether a function, or one that it makes, has an `if`, a loop, a logical operator or
    `in`."""
    return any(not _DECIDING.isdisjoint(c.co_code[::2]) for c in nested(code))


def has_loops(code: CodeType) -> bool:
    """Whether a function, or one that it makes, has a loop."""
    return any(not _BACK.isdisjoint(c.co_code[::2]) for c in nested(code))


def rewritten(function: FunctionType) -> FunctionType:
    """`function` with its control flow as calls, see `rewrite`; itself if it has none."""
    if not has_control_flow(function.__code__):
        return function
    made: FunctionType = rewriting().rewritten(function)
    return made


__all__ = ["has_control_flow", "has_loops", "nested", "rewritten"]
