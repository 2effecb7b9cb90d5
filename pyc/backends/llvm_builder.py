"""Building blocks of LLVM text: values, scopes and positional names.

`Builder` collects the body of one function as nested lists of lines. A `Scope` is a stretch of code
that dominates everything emitted while it is open; each has a list of lines in front of it, where
values land that do not depend on it (that is how loop invariants are hoisted). Names are counted,
so equal input gives equal text.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Union

from pyc.backends.llvm_halves import Halves
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType

Lines = list[Union[str, "Lines"]]

SCALAR_TYPES = {
    dt.b1: "i1",
    dt.f32: "float",
    dt.f64: "double",
    **{t: f"i{t.bits}" for t in dt.ALL if t.is_integer},
    # Storage types have no arithmetic: their registers hold the bits.
    **{t: f"i{t.bits}" for t in dt.ALL if t.is_half},
}
"""The register type of each element type; a b1 is i1 in registers and i8 in memory."""


def register_type(dtype: DType, lanes: int = 0) -> str:
    """The LLVM type of a value: a vector for lanes > 0."""
    scalar = SCALAR_TYPES[dtype]
    return f"<{lanes} x {scalar}>" if lanes else scalar


def memory_type(dtype: DType, lanes: int = 0) -> str:
    """The LLVM type of `lanes` stored elements (one for 0)."""
    scalar = "i8" if dtype is dt.b1 else SCALAR_TYPES[dtype]
    return f"<{lanes} x {scalar}>" if lanes else scalar


def literal(value: Any, dtype: DType) -> str:
    """The text of a scalar constant, bit for bit."""
    if dtype is dt.b1:
        return "true" if value else "false"
    if dtype.is_integer:
        return str(int(value))
    if dtype.is_half:
        bits = int.from_bytes(dtype.numpy.type(value).tobytes(), "little")
        return str(bits)
    if dtype is dt.f64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"
    # LLVM writes a float as the double of equal value; NaN payloads must survive the widening.
    bits = int.from_bytes(dtype.numpy.type(value).tobytes(), "little")
    exponent = (bits >> 23) & 0xFF
    if exponent == 0xFF:
        wide = ((bits >> 31) << 63) | (0x7FF << 52) | ((bits & 0x7FFFFF) << 29)
    else:
        wide = struct.unpack("<Q", struct.pack("<d", float(value)))[0]
    return f"0x{wide:016X}"


class Scope:
    """Code that dominates all that is emitted while it is open.

    kind: "loop" (runs many times: invariants leave it), "branch" (runs rarely: nothing emitted for
    it leaves it) or "block". certain: it runs at least once whenever its parent does, so that its
    loads may move in front of it. lines: where its code goes; before: code of its parent in front
    of it.
    """

    __slots__ = ("before", "certain", "depth", "kind", "lines", "open", "parent")

    def __init__(
        self, parent: Scope | None, kind: str, lines: Lines, before: Lines, certain: bool
    ) -> None:
        self.parent = parent
        self.kind = kind
        self.certain = certain
        self.lines = lines
        self.before = before
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.open = True


class Value:
    """A value in registers.

    ref: its text, "" for a lane sequence that has not been materialised; lanes: 0 for a uniform
    value; scope: where it was computed; const: its value if known while emitting (an int, a bool,
    or a tuple of bools for a mask); low, high: bounds of an integer, None if unknown; multiple: a
    number that divides it (0 for zero itself); plus: the value and the constant that it is the sum
    of; base, stride: a lane sequence `base + stride * lane` of the whole vector loop; run: of a
    vector whose lanes are first, first + 1 ... up to some lane and then repeat that number, the
    scalar `first` and how many lanes differ; known: the lanes of an i64 vector that is a constant.
    """

    __slots__ = (
        *("base", "const", "dtype", "high", "known", "lanes", "low", "multiple", "plus", "ref"),
        *("run", "scope", "stride"),
    )

    def __init__(
        self,
        ref: str,
        dtype: DType,
        scope: Scope,
        lanes: int = 0,
        const: Any = None,
        low: int | None = None,
        high: int | None = None,
        base: Value | None = None,
        stride: int = 0,
        multiple: int = 1,
    ) -> None:
        self.ref = ref
        self.dtype = dtype
        self.scope = scope
        self.lanes = lanes
        self.const = const
        self.low = low
        self.high = high
        self.base = base
        self.stride = stride
        self.multiple = multiple
        self.plus: tuple[Value, int] | None = None
        self.run: tuple[Value, int] | None = None
        self.known: tuple[int, ...] | None = None

    @property
    def anchor(self) -> tuple[Value, int]:
        """A value and the constant whose sum this is."""
        return self.plus if self.plus is not None else (self, 0)

    @property
    def type(self) -> str:
        """The LLVM type."""
        return register_type(self.dtype, self.lanes)

    def __str__(self) -> str:
        return f"{self.type} {self.ref}"


class Builder:
    """The text of one function: numbered names, nested scopes, declared intrinsics."""

    def __init__(self, intrinsics: dict[str, str], allowed: Iterable[str]) -> None:
        """intrinsics: declarations of the module so far, by name; allowed: names without their
        type suffixes. LLVM aborts the process on an intrinsic that a target lacks."""
        self.intrinsics = intrinsics
        self.allowed = frozenset(allowed)
        self.halves: Halves | None = None
        """Of targets that round float32 to half types, to nearest even and subnormals kept, and add
        and multiply these by instructions of their own. A NaN may change its payload."""
        self.approximates = False
        """Of targets that have approximate instructions for `fast_div` and `fast_sqrt`."""
        self.count = 0
        self.allocations: list[str] = []
        body: Lines = []
        self.root = Scope(None, "block", body, [], True)
        self.scope = self.root

    def name(self, prefix: str = "v") -> str:
        """A fresh name without its sigil."""
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, text: str) -> None:
        """Appends an instruction to the open scope."""
        self.scope.lines.append("  " + text)

    def label(self, name: str) -> None:
        """Starts a basic block."""
        self.scope.lines.append(f"{name}:")

    def jump(self, name: str) -> None:
        """Ends the block here and starts block `name`, so that a phi can refer to its edge."""
        self.line(f"br label %{name}")
        self.label(name)

    def open(self, kind: str, certain: bool = True, before: Lines | None = None) -> Scope:
        """Enters a nested scope; `before`: the code in front of an earlier arm of the same branch,
        shared by its other arm."""
        if before is None:
            before = []
            self.scope.lines.append(before)
        lines: Lines = []
        self.scope.lines.append(lines)
        self.scope = Scope(self.scope, kind, lines, before, certain)
        return self.scope

    def close(self) -> None:
        """Leaves the innermost scope; its values are gone."""
        self.scope.open = False
        assert self.scope.parent is not None
        self.scope = self.scope.parent

    def placement(self, needed: Scope, speculative: bool = True) -> Scope:
        """The scope to compute a value in that needs values of `needed`: out of every loop that it
        does not depend on, but never in front of a branch without leaving a loop. A value that
        must not be computed needlessly (a load) is not `speculative`."""
        scope = self.scope
        best = scope
        while scope is not needed and scope.kind != "branch" and (speculative or scope.certain):
            assert scope.parent is not None, "a value is used outside of its scope"
            if scope.kind == "loop":
                best = scope.parent
            scope = scope.parent
        return best

    def lines_of(self, scope: Scope) -> Lines:
        """Where code of the open `scope` goes now."""
        inner = self.scope
        if inner is scope:
            return scope.lines
        while inner.parent is not scope:
            assert inner.parent is not None
            inner = inner.parent
        return inner.before

    def emit(self, text: str, scope: Scope | None = None) -> str:
        """A fresh register that holds instruction `text`, computed in `scope` (default: here)."""
        self.count += 1
        ref = f"%v{self.count}"
        lines = self.scope.lines if scope is None else self.lines_of(scope)
        lines.append(f"  {ref} = {text}")
        return ref

    def intrinsic(self, name: str, result: str, parameters: Sequence[str]) -> str:
        """The text `result @name(` of a call to a declared intrinsic; the caller adds arguments."""
        base = name
        while base not in self.allowed:
            base, dot, _ = base.rpartition(".")
            if not dot:
                raise ValueError(f"LLVM intrinsic {name} is not in this target's table")
        if name not in self.intrinsics:
            self.intrinsics[name] = f"declare {result} @{name}({', '.join(parameters)})"
        return f"call {result} @{name}"

    def allocate(self, type: str, count: int, alignment: int, space: str = "") -> str:
        """Address of `count` stack elements, allocated once at the function's entry."""
        ref = f"%{self.name('a')}"
        suffix = f", {space}" if space else ""
        text = f"  {ref} = alloca [{count} x {type}], align {alignment}{suffix}"
        self.allocations.append(text)
        return ref

    def text(self) -> str:
        """The body's lines."""
        out: list[str] = list(self.allocations)
        stack: list[Any] = [iter(self.root.lines)]
        while stack:
            for item in stack[-1]:
                if isinstance(item, str):
                    out.append(item)
                else:
                    stack.append(iter(item))
                    break
            else:
                stack.pop()
        return "\n".join(out)


def deepest(scopes: Iterable[Scope]) -> Scope:
    """The innermost of nested scopes."""
    best: Scope | None = None
    for scope in scopes:
        if best is None or scope.depth > best.depth:
            best = scope
    assert best is not None
    return best


def splat(text: str, dtype: DType, lanes: int) -> str:
    """The constant `text` of `dtype` in every lane."""
    return f"splat ({SCALAR_TYPES[dtype]} {text})"


def lane_constants(values: Iterable[Any], dtype: DType) -> str:
    """A constant vector."""
    scalar = SCALAR_TYPES[dtype]
    return "<" + ", ".join(f"{scalar} {literal(v, dtype)}" for v in values) + ">"


def suffix(type: str) -> str:
    """An LLVM type as intrinsic names spell it: `<16 x float>` is `v16f32`."""
    if type.startswith("<"):
        count, _, scalar = type[1:-1].partition(" x ")
        return f"v{count}{suffix(scalar)}"
    if type.startswith("ptr addrspace("):
        return f"p{type[14:-1]}"
    return {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(type, type)
