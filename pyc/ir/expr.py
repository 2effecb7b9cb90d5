"""Scalar expressions: the value of one element, as a DAG of instructions over loads and variables.

    Expr = Const(value) | Var(name) | Load(buffer, index) | Apply(instruction, args)
         | Shuffle(value, loop variable, distance)

Nodes are immutable and compare by identity, so building is cheap and sharing is exact: a node used
twice is computed once where its statement stands. `Interner` merges equal nodes for one compile;
nothing is interned per process (structural hashing of shared chains is exponential). All traversals
here are iterative: chains are as long as users write them.

Operators build nodes with the left operand's type; a bare Python number becomes a constant of the
other operand's type. `x * y + z` is two roundings; one rounding is `fma(x, y, z)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.instructions import INSTRUCTIONS

if TYPE_CHECKING:
    from pyc.ir.loops import Buffer

Number = Union[bool, int, float]


class Expr:
    """A scalar value of type `dtype`. Equality is identity; compare values with `.equal`.

    operands: the nodes that it is made of, in order.
    """

    __slots__ = ("dtype", "operands")
    dtype: DType
    operands: tuple[Expr, ...]

    def _binary(self, name: str, other: Operand) -> Expr:
        return apply(name, self, as_expr(other, self.dtype))

    def _reflected(self, name: str, other: Operand) -> Expr:
        return apply(name, as_expr(other, self.dtype), self)

    def __add__(self, other: Operand) -> Expr:
        return self._binary("add", other)

    def __radd__(self, other: Operand) -> Expr:
        return self._reflected("add", other)

    def __sub__(self, other: Operand) -> Expr:
        return self._binary("sub", other)

    def __rsub__(self, other: Operand) -> Expr:
        return self._reflected("sub", other)

    def __mul__(self, other: Operand) -> Expr:
        return self._binary("mul", other)

    def __rmul__(self, other: Operand) -> Expr:
        return self._reflected("mul", other)

    def __truediv__(self, other: Operand) -> Expr:
        return self._binary("div", other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return self._reflected("div", other)

    def __and__(self, other: Operand) -> Expr:
        return self._binary("and", other)

    def __or__(self, other: Operand) -> Expr:
        return self._binary("or", other)

    def __xor__(self, other: Operand) -> Expr:
        return self._binary("xor", other)

    def __lshift__(self, other: Operand) -> Expr:
        return self._binary("shl", other)

    def __rshift__(self, other: Operand) -> Expr:
        return self._binary("shr", other)

    def __neg__(self) -> Expr:
        return apply("neg", self)

    def __invert__(self) -> Expr:
        return apply("not", self)

    def __lt__(self, other: Operand) -> Expr:
        return self._binary("lt", other)

    def __le__(self, other: Operand) -> Expr:
        return self._binary("le", other)

    def __gt__(self, other: Operand) -> Expr:
        return self._binary("gt", other)

    def __ge__(self, other: Operand) -> Expr:
        return self._binary("ge", other)

    def equal(self, other: Operand) -> Expr:
        """self == other as a b1 expression."""
        return self._binary("eq", other)

    def differs(self, other: Operand) -> Expr:
        """self != other as a b1 expression; `x.differs(x)` tests for NaN."""
        return self._binary("ne", other)

    def cast(self, dtype: DType) -> Expr:
        """The value converted to `dtype` (see `instructions.cast`); itself if already of it."""
        if dtype is self.dtype:
            return self
        return Apply("cast", (self,), dtype)

    def bitcast(self, dtype: DType) -> Expr:
        """The bits of self read as `dtype`, which must have the same size."""
        if dtype.bits != self.dtype.bits:
            raise TypeError(f"bitcast from {self.dtype} to {dtype}: sizes differ")
        if dtype is self.dtype:
            return self
        return Apply("bitcast", (self,), dtype)

    def __bool__(self) -> bool:
        raise TypeError("an Expr has no truth value: use select()")


class Const(Expr):
    """A literal, held as a NumPy scalar of its type (so that its bits are exact)."""

    __slots__ = ("value",)

    def __init__(self, value: Any, dtype: DType) -> None:
        self.dtype = dtype
        self.operands = ()
        self.value = _exact(value, dtype)


def _exact(value: Any, dtype: DType) -> Any:
    """`value` as a NumPy scalar of `dtype`; integers wrap."""
    if type(value) is float:  # as nearly all literals are, and ten times as fast
        if dtype is dt.f64:
            return np.float64(value)
        if dtype is dt.f32 and 1e-30 < abs(value) < 1e30:
            return np.float32(value)
    if dtype.is_integer and not isinstance(value, np.generic):
        return _wrapped(int(value), dtype.short)
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype.numpy)[()]


@lru_cache(maxsize=1024)
def _wrapped(value: int, short: str) -> Any:
    dtype = dt.parse(short)
    bits = np.array([value & (1 << dtype.bits) - 1], dt.unsigned_of(dtype.bits).numpy)
    return bits.view(dtype.numpy)[0]


class Var(Expr):
    """A name bound by a loop, `Let`, `Reduce`, carried value or size parameter."""

    __slots__ = ("name",)

    def __init__(self, name: str, dtype: DType = dt.i64) -> None:
        self.dtype = dtype
        self.operands = ()
        self.name = name


class Load(Expr):
    """One element of a buffer, read where the statement that uses it stands."""

    __slots__ = ("buffer", "index")

    def __init__(self, buffer: Buffer, index: Sequence[Expr]) -> None:
        self.dtype = buffer.dtype
        self.buffer = buffer
        self.index = self.operands = tuple(index)


class Apply(Expr):
    """An instruction over arguments. `cast` and `bitcast` carry their target in `dtype`."""

    __slots__ = ("args", "name")

    def __init__(self, name: str, args: tuple[Expr, ...], dtype: DType) -> None:
        self.dtype = dtype
        self.name = name
        self.args = self.operands = args


class Shuffle(Expr):
    """What iteration `var ^ distance` of the lock-step loop over `var` computes for `value`.

    The loop over `var` is of kind vector (a shuffle within the vector) or thread (a warp shuffle);
    its extent is a power of two and all its iterations are active here.
    """

    __slots__ = ("distance", "value", "var")

    def __init__(self, value: Expr, var: Var, distance: int) -> None:
        self.dtype = value.dtype
        self.operands = (value,)
        self.value = value
        self.var = var
        self.distance = distance


def const(value: Any, dtype: DType = dt.i64) -> Const:
    """A literal of type `dtype` (default: i64, the type of indices)."""
    return Const(value, dtype)


Operand = Union[Expr, Number]


def as_expr(value: Operand, dtype: DType) -> Expr:
    """`value` itself if it is an expression, else the literal of type `dtype`."""
    return value if isinstance(value, Expr) else Const(value, dtype)


def apply(name: str, *args: Expr) -> Expr:
    """The instruction `name` over typed arguments; TypeError where its type rule refuses them."""
    instruction = INSTRUCTIONS[name]
    if len(args) != instruction.arity:
        raise TypeError(f"{name} takes {instruction.arity} arguments, got {len(args)}")
    try:
        dtype = instruction.result(tuple(a.dtype for a in args))
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    return Apply(name, args, dtype)


def fma(a: Expr, b: Operand, c: Operand) -> Expr:
    """a * b + c with one rounding."""
    return apply("fma", a, as_expr(b, a.dtype), as_expr(c, a.dtype))


def select(condition: Expr, then: Operand, otherwise: Operand, dtype: DType | None = None) -> Expr:
    """`then` where `condition`, else `otherwise`; both are evaluated."""
    type = dtype or next(e.dtype for e in (then, otherwise) if isinstance(e, Expr))
    return apply("select", condition, as_expr(then, type), as_expr(otherwise, type))


def rare_select(condition: Expr, rare: Expr, usual: Expr) -> Expr:
    """`select`, telling the backend that `rare` is worth computing only when some lane needs it."""
    return apply("rare_select", condition, rare, usual)


def minimum(a: Expr, b: Operand) -> Expr:
    """IEEE 754-2019 minimum."""
    return apply("minimum", a, as_expr(b, a.dtype))


def maximum(a: Expr, b: Operand) -> Expr:
    """IEEE 754-2019 maximum."""
    return apply("maximum", a, as_expr(b, a.dtype))


def sqrt(a: Expr) -> Expr:
    """Square root, exactly rounded."""
    return apply("sqrt", a)


def absolute(a: Expr) -> Expr:
    """|a|; the most negative integer stays itself."""
    return apply("abs", a)


def polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """c[0] + c[1] x + c[2] x^2 + ... by Horner's rule with fma."""
    result: Expr = Const(coefficients[-1], x.dtype)
    for c in reversed(coefficients[:-1]):
        result = fma(result, x, c)
    return result


# --- traversal ------------------------------------------------------------------------------------


def rebuild(e: Expr, operands: tuple[Expr, ...]) -> Expr:
    """The node `e` over other operands; `e` itself if they are the same objects."""
    if operands == e.operands:  # by identity: nodes have no other equality
        return e
    if type(e) is Apply:
        return Apply(e.name, operands, e.dtype)
    if type(e) is Load:
        return Load(e.buffer, operands)
    assert isinstance(e, Shuffle)
    return Shuffle(operands[0], e.var, e.distance)


def postorder(roots: Iterable[Expr]) -> list[Expr]:
    """Every node reachable from `roots` once, operands before users."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack: list[Expr | None] = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        if node is None:  # the one below it has its operands
            order.append(stack.pop())  # type: ignore[arg-type]
        elif node not in seen:
            seen.add(node)
            if operands := node.operands:
                stack += (node, None)
                stack += operands[::-1]
            else:
                order.append(node)
    return order


def transform(roots: Sequence[Expr], change: Callable[[Expr], Expr]) -> list[Expr]:
    """`roots` with `change` applied bottom-up to every node (after its operands)."""
    done: dict[Expr, Expr] = {}
    for node in postorder(roots):
        operands = tuple([done[c] for c in node.operands])
        done[node] = change(rebuild(node, operands) if operands else node)
    return [done[r] for r in roots]


def substitute(roots: Sequence[Expr], binding: dict[Var, Expr]) -> list[Expr]:
    """`roots` with variables replaced."""
    return transform(roots, lambda e: binding.get(e, e) if isinstance(e, Var) else e)


class Interner:
    """Merges structurally equal nodes of one compile: equal in, the same object out.

    Loads intern by buffer and index: the caller keeps one interner per region in which no store
    changes what they read (see `loops.Let`).
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[Any, ...], Expr] = {}
        self._merged: dict[Expr, Expr] = {}
        """What each node that was given is merged to, so that it is looked at once. It also keeps
        the nodes whose ids are in keys."""

    def __call__(self, roots: Sequence[Expr]) -> list[Expr]:
        """`roots` with equal sub-expressions shared."""
        merged = self._merged
        stack: list[Expr | None] = [*roots]
        stack.reverse()
        while stack:
            node = stack.pop()
            if node is None:  # the one below it has its operands
                node = stack.pop()
                assert node is not None
            elif node in merged:
                continue
            elif operands := node.operands:
                stack += (node, None)
                stack += operands[::-1]
                continue
            if node not in merged:
                found = self._merge(rebuild(node, tuple([merged[c] for c in node.operands])))
                merged[node] = merged[found] = found
        return [merged[r] for r in roots]

    def _merge(self, e: Expr) -> Expr:
        key: tuple[Any, ...]
        if type(e) is Apply:
            key = (e.name, e.dtype, *map(id, e.args))
        elif type(e) is Const:
            key = ("const", e.dtype, e.value.tobytes())
        elif type(e) is Load:
            key = ("load", id(e.buffer), *map(id, e.index))
        elif isinstance(e, Var):
            return e
        else:
            assert isinstance(e, Shuffle)
            key = ("shuffle", id(e.value), id(e.var), e.distance)
        return self._nodes.setdefault(key, e)
