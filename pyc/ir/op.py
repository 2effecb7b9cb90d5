"""`Op`: the one entry that says everything about an operation of the Graph.

An entry lives in a family file under `ir/ops/` and is registered by `define`. What its kind asks
for:

* pointwise  `scalar(*elements, **params) -> Expr | tuple[Expr, ...]`: the element of the result.
             Arguments have equal shapes and equal types unless `dtype` says otherwise. Half types
             are widened to float32 and rounded back around `scalar` (unless `widen` is False);
             complex elements arrive as `Complex` pairs. Both interpreters and every backend
             evaluate this definition, always through `element.scalar_of`. One result.
             An op that can fail has `fails(*elements, **params) -> (condition, value)`: lowering
             emits `Fail(site, condition, value)` where the element is computed; the error is then
             `failure(value, **params)`, raised on the line of the equation.
* index      `element(read, index, types, **params) -> Expr`: the element at output `index`, where
             `read(k, index)` is an element of argument k. It must read within bounds for every
             index, also under a `select`. Moves data only: `reference` is exact.
             Elements of complex arguments are `Complex` pairs.
             An op with `in_place` = 0 may instead be run in the buffer of argument 0 where that is
             dead afterwards: argument 1's element at `index` is stored at
             `target(read, index, types, **params)`, for every index of argument 1, in row-major
             order; nothing else is written.
* reduce     `monoid` and params["axes"]; `prepare(elements, position, **params)` gives the
             components (default: the element), `finish(components, **params)` the result; through
             `element.components_of` and `element.result_of`, which widen half types to float32.
* contract   params["dimensions"]; see `ops/contract.py`.
* kernel     `build(types, **params) -> Kernel` makes a logical kernel over (arguments, results);
             without it, `kernels.registry` has launches for every target.
             Further buffers of the kernel ("inout") are scratch, which the planner provides.
             With `in_place` = 0, `build(types, in_place=True, **params)` has argument 0 as an
             "inout" buffer that is also the result (no separate result buffer).
* library    `routine(types, **params) -> LibraryStep`: what is called with the arguments, the
             results and the workspace that it asks for. `overwrites` says which results the routine
             may make where an argument of the same type lies, {result: argument}: elsewhere it
             makes them from a copy of its own.
* control    params hold closed Graphs; `trace`, the interpreters and `passes` know these few ops.

`types(argument types, **params) -> tuple[ArrayType, ...]` is the type rule; the default is that of
the kind. It raises ShapeError or DTypeError with the offending types; `trace` adds the user's line.
`batch(batch, args, **params)` is the rule for many lanes at once (`ir/batch.py`); pointwise ops and
reductions have that of their kind.
`reference` is the NumPy function: the oracle within tolerance for tests (exact for index and kernel
ops), and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from enum import Enum
from typing import Any

from pyc.errors import DTypeError, ShapeError
from pyc.forks import load
from pyc.frozen import field, frozen
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr
from pyc.ir.types import ArrayType


class Kind(Enum):
    """How an op is lowered and fused; see the module docstring."""

    POINTWISE = "pointwise"
    INDEX = "index"
    REDUCE = "reduce"
    CONTRACT = "contract"
    KERNEL = "kernel"
    LIBRARY = "library"
    CONTROL = "control"


Types = tuple[ArrayType, ...]


@frozen()
class Complex:
    """A complex scalar as its two real expressions."""

    re: Expr
    im: Expr


@frozen()
class LibraryStep:
    """A call of a routine. integers: what it is told; workspace: bytes of each further buffer."""

    routine: str
    integers: tuple[int, ...]
    workspace: tuple[int, ...] = ()


@frozen()
class Part:
    """An argument of an op whose result is its arguments, one after the other, in boxes of it: the
    shape of the box, the steps through the argument, and where the box begins in the result and its
    steps there."""

    argument: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    first: int
    into: tuple[int, ...]


@frozen()
class Lookup:
    """How an op reads its first argument at places that the others, its tables, name: the steps
    through it, and through each table, along the axes of the result; for each table, the extent of
    the axis that it has places of and the step of that axis."""

    steps: tuple[int, ...]
    table: tuple[int, ...]
    axes: tuple[tuple[int, int], ...]


@frozen(eq=False)
class Op:
    """One operation; see the module docstring. Compares by identity.

    kinds: element kinds of the arguments, space-separated (the tests draw inputs from them); unit:
    {argument position: value that makes the op return the other argument}; absorbing: {position:
    value that is then the result} (both for real types, the value converted to the argument's type
    and compared by its bits);
    effect: must be kept, and in the order of others and of what can fail; widen, fails, failure,
    in_place, overwrites, target, batch: see the module docstring; spared: {position: value of an
    argument with which an op that can fail does not}; exact: of an op of elements,
    `exact(*arrays, **params)`: whether `reference` gives the result for these, to the bit and
    without a failure; of_bfloat16: a shorter `scalar`, of the same bits once rounded, for arguments
    of bfloat16; view: of an op whose result is its argument seen with other strides,
    `view(types, **params)`: the first element and the strides, in elements of the argument in C
    order; relabels: its result lies in memory as its argument does: its elements, or their parts,
    in the same order; parts: of one whose result is its arguments in boxes of it, later ones over
    earlier ones, `parts(types, **params)`: the boxes, None if elements say where they are; lookup:
    of one that reads its first argument at places that the others name, `lookup(types, **params)`;
    scattered:
    of an update whose places may meet, its statements with operands that are computed where it
    stands (`indexing.scattered`); cost: rough
    instructions per element (for the fusion cost model); samples: extra awkward inputs for the
    tests, as argument tuples.
    """

    name: str
    kind: Kind
    types: Callable[..., Types]
    scalar: Callable[..., Any] | None = None
    element: Callable[..., Expr | Complex] | None = None
    monoid: str | None = None
    prepare: Callable[..., tuple[Expr, ...]] | None = None
    finish: Callable[..., Expr] | None = None
    build: Callable[..., Any] | None = None
    routine: Callable[..., LibraryStep] | None = None
    reference: Callable[..., Any] | None = None
    kinds: str = ""
    unit: dict[int, Any] = field(default_factory=dict)
    absorbing: dict[int, Any] = field(default_factory=dict)
    fails: Callable[..., tuple[Expr, Expr]] | None = None
    failure: Callable[..., Exception] | None = None
    in_place: int | None = None
    overwrites: dict[int, int] = field(default_factory=dict)
    target: Callable[..., tuple[Expr, ...]] | None = None
    batch: Callable[..., Any] | None = None
    spared: dict[int, Any] = field(default_factory=dict)
    exact: Callable[..., bool] | None = None
    view: Callable[..., tuple[int, tuple[int, ...]]] | None = None
    relabels: bool = False
    parts: Callable[..., list[Part] | None] | None = None
    lookup: Callable[..., Lookup] | None = None
    scattered: Callable[..., Any] | None = None
    effect: bool = False
    widen: bool = True
    of_bfloat16: Callable[..., Any] | None = None
    cost: int = 1
    samples: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return self.name

    def is_exactly_numpys(self, *arrays: Any, **params: Any) -> bool:
        """Whether `reference` gives the result for these arrays, to the bit."""
        if self.kind is Kind.INDEX:
            return True
        return self.exact is not None and self.exact(*arrays, **params)


ON_DEMAND: dict[str, tuple[str, ...]] = {
    "pyc.ir.ops.cumulative": ("cumsum", "cumprod", "cummax", "cummin"),
    "pyc.ir.ops.divisors": ("gcd", "lcm"),
    "pyc.ir.ops.fourier": ("fft",),
    "pyc.ir.ops.linalg": (
        *("cholesky", "lu", "lu_solve", "lu_inverse", "qr", "qr_columns", "svd", "eigh", "eig"),
        *("least_squares", "triangular_solve", "factored"),
    ),
    "pyc.ir.ops.sort": ("sort", "argsort", "top_k", "order_statistics"),
}
"""Families that few programs need, with all of their ops."""
LINEAR_ALGEBRA = frozenset(ON_DEMAND["pyc.ir.ops.linalg"]) - {"factored"}
"""The ops that are routines of LAPACK: `factored` raises what they found wrong."""
_FAMILY = {name: family for family, names in ON_DEMAND.items() for name in names}


class Table(MutableMapping[str, Op]):
    """The op table. A family of `ON_DEMAND` is loaded by the first who asks for one of its ops, or
    all are by who asks for every op; theirs come last."""

    def __init__(self) -> None:
        self.loaded: dict[str, Op] = {}

    def __getitem__(self, name: str) -> Op:
        if name not in self.loaded and name in _FAMILY:
            load(_FAMILY[name])
        return self.loaded[name]

    def __setitem__(self, name: str, op: Op) -> None:
        self.loaded[name] = op

    def __delitem__(self, name: str) -> None:
        del self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*(name for name in self.loaded if name not in _FAMILY), *_FAMILY])

    def __len__(self) -> int:
        return len({*self.loaded, *_FAMILY})


OPS = Table()
"""Every op by name, filled by the family modules that `ir/ops/__init__.py` imports."""


def define(op: Op) -> Op:
    """Register `op` and return it."""
    if op.name in OPS.loaded:
        raise ValueError(f"op {op.name} is defined twice")
    OPS[op.name] = op
    return op


def same_shape(name: str, args: Types) -> tuple[int, ...]:
    """The common shape of pointwise arguments; ShapeError names them otherwise."""
    first, *others = args
    for a in others:
        if a.shape != first.shape:
            raise ShapeError(f"{name}: shapes differ: {', '.join(map(str, args))}")
    return first.shape


def pointwise_types(
    name: str, kinds: str, result: DType | None = None
) -> Callable[..., tuple[ArrayType, ...]]:
    """Type rule of most pointwise ops: equal shapes, one type of the given kinds; the result has
    that type, or `result`."""
    allowed = set(kinds.split())

    def rule(args: Types, **_: Any) -> Types:
        shape = same_shape(name, args)
        first = args[0].dtype
        equal = first.kind in allowed
        for a in args:
            equal = equal and a.dtype is first
        if not equal:
            found = ", ".join(map(str, args))
            raise DTypeError(f"{name}: needs equal types of kind {kinds}, got {found}")
        return (ArrayType(shape, result or first),)

    return rule


def batch_together(batch: Any, args: Any, **params: Any) -> Any:
    """Rule for batches: one element of the result for one of each argument, of equal shapes."""
    return batch.together(args, **params)


def batch_rows(batch: Any, args: Any, **params: Any) -> Any:
    """Rule for batches: an operation on the last axis of one argument."""
    return batch.rows(args, **params)


def batch_by(module: str, name: str) -> Callable[..., Any]:
    """The rule for batches `name` of a module of `ir/ops`, which is loaded when it is used."""

    def rule(batch: Any, args: Any, **params: Any) -> Any:
        return getattr(load(f"pyc.ir.ops.{module}"), name)(batch, args, **params)

    return rule
