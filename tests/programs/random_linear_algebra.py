"""Random programs of linear algebra, from a seed: matrices, batches, types, what is around them.

Their bits are those of a library on a processor, so they are held against what they solve: each
result is exact for a matrix within some roundings of the given one for each of its rows
(docs/numerics.md), where other programs are held against the interpreter's bits. Some matrices have
no result: these programs must raise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.graph import Builder, Graph, Value
from pyc.ir.types import ArrayType

Array = np.ndarray[Any, Any]
Bind = Callable[[Builder, list[Value]], list[Value]]

SIDES = (1, 2, 3, 4, 5, 8, 17, 33)
LARGE = (64, 70, 100)
BATCHES: tuple[tuple[int, ...], ...] = ((), (), (3,), (2, 3), (1,), (0,))
MANY = (130, 200)
"""Matrices of a batch of small ones, which have kernels of their own."""
DTYPES = (dt.f32, dt.f64, dt.c64, dt.c128)
MARGIN = 20
"""Roundings allowed for each row of a matrix."""


@dataclass(frozen=True)
class Problem:
    """Ops on matrices. arguments: as the ops take them, mostly by columns; bind: the ops; errors:
    how far the results for one matrix of each argument are off, relative to what was given; fails:
    whether some matrix has no result."""

    arguments: list[Array]
    bind: Bind
    errors: Callable[..., Iterator[Any]]
    fails: bool = False


@dataclass(frozen=True)
class LinearAlgebra:
    """A Graph and its arguments. turned: results that are matrices by rows; skipped: whether the
    program takes a branch in which all results are 0."""

    graph: Graph
    arguments: list[Array]
    problem: Problem
    batch: tuple[int, ...]
    turned: list[bool]
    skipped: bool

    @property
    def fails(self) -> bool:
        """Whether the program must raise LinearAlgebraError."""
        return self.problem.fails and not self.skipped

    @property
    def work(self) -> int:
        """Multiplications, roughly."""
        return sum(x.size * x.shape[-1] for x in self.problem.arguments if x.ndim)

    def wrong(self, results: Sequence[Any]) -> str:
        """What is wrong with the results; empty if nothing is."""
        found = [np.asarray(x) for x in results]
        for k, (value, x) in enumerate(zip(self.graph.results, found, strict=True)):
            if x.shape != value.shape:
                return f"result {k} has shape {list(x.shape)}, not {list(value.shape)}"
            if not np.isfinite(x).all():
                return f"result {k} is not finite"
        if self.skipped:
            return "results of a branch that is not taken" if any(x.any() for x in found) else ""
        found = [x.swapaxes(-1, -2) if t else x for x, t in zip(found, self.turned, strict=True)]
        given = self.problem.arguments
        order, eps = max(given[0].shape[-2:]), float(np.finfo(given[0].dtype).eps)
        for place in np.ndindex(*self.batch):
            wide = [_wide(x[place]) for x in (*given, *found)]
            with np.errstate(all="ignore"):
                for k, off in enumerate(self.problem.errors(*wide)):
                    if not off <= MARGIN * order * eps:
                        return (
                            f"check {k} of matrix {place}: {off / order / eps:.3g} roundings a row"
                        )
        return ""


def random_linear_algebra(seed: int) -> LinearAlgebra:
    """One of `PROBLEMS`, straight, in a branch, in a loop or over the first axis of a batch."""
    draw = Draw(seed)
    rng = draw.rng
    problem = rng.choice(PROBLEMS)(draw)
    rank = len(draw.batch) + 2
    turned = [x.ndim == rank and rng.random() < 0.4 for x in problem.arguments]
    doubled = rng.random() < 0.4
    turn_results = rng.random() < 0.4
    construct = rng.choice(("straight", "straight", "cond", "while", "scan"))
    if construct == "scan" and not (draw.batch and draw.batch[0]):
        construct = "straight"
    arguments = [
        np.ascontiguousarray(x.swapaxes(-1, -2)) if t else x
        for x, t in zip(problem.arguments, turned, strict=True)
    ]
    if doubled:
        arguments[0] = arguments[0] * arguments[0].dtype.type(2)

    def ops(b: Builder, params: Sequence[Value]) -> list[Value]:
        args = list(params)
        if doubled:  # and halved: both are exact
            args[0] = b.bind1("mul", args[0], _filled(b, args[0].type, 0.5))
        args = [_transposed(b, x) if t else x for x, t in zip(args, turned, strict=True)]
        outs = problem.bind(b, args)
        if turn_results:
            outs = [_transposed(b, x) if _is_matrix(x, args[0]) else x for x in outs]
        return outs

    types = [ArrayType(x.shape, _type(x)) for x in arguments]
    plain = Builder()
    outs = ops(plain, [plain.param(t) for t in types])
    turned_outs = [turn_results and len(v.shape) == rank for v in outs]
    skipped = construct == "cond" and rng.random() < 0.3
    graph = plain.build(outs)
    if construct != "straight":
        around = {"cond": _in_branch, "while": _in_loop, "scan": _in_scan}[construct]
        arguments, graph = around(ops, types, arguments, graph, int(not skipped))
    return LinearAlgebra(graph, arguments, problem, draw.batch, turned_outs, skipped)


# --- around them ----------------------------------------------------------------------------------


def _in_branch(
    ops: Bind, types: list[ArrayType], arguments: list[Array], plain: Graph, chosen: int
) -> tuple[list[Array], Graph]:
    """The ops in the second branch, zeros in the first."""
    builder, other = Builder(), Builder()
    for t in types:
        other.param(t)
    zeros = other.build([_filled(other, v.type, 0) for v in plain.results])
    index = builder.param(ArrayType((), dt.i64))
    params = [builder.param(t) for t in types]
    outs = builder.bind("cond", index, *params, branches=(zeros, plain))
    return [np.array(chosen), *arguments], builder.build(outs)


def _in_loop(
    ops: Bind, types: list[ArrayType], arguments: list[Array], plain: Graph, chosen: int
) -> tuple[list[Array], Graph]:
    """The ops in each of two iterations."""
    builder, test, body = Builder(), Builder(), Builder()
    carried = [ArrayType((), dt.i64), *(v.type for v in plain.results)]
    counter, *_ = [test.param(t) for t in carried]
    condition = test.build([test.bind1("lt", counter, test.constant(2, dt.i64))])
    captured = [body.param(t) for t in types]
    number, *_ = [body.param(t) for t in carried]
    following = body.bind1("add", number, body.constant(1, dt.i64))
    looped = body.build([following, *ops(body, captured)])
    params = [builder.param(t) for t in types]
    start = [_filled(builder, t, 0) for t in carried]
    _, *outs = builder.bind(
        "while",
        *(*params, *start),
        condition=condition,
        body=looped,
        condition_captures=0,
        body_captures=len(params),
    )
    return arguments, builder.build(outs)


def _in_scan(
    ops: Bind, types: list[ArrayType], arguments: list[Array], plain: Graph, chosen: int
) -> tuple[list[Array], Graph]:
    """The ops on one matrix after the other."""
    builder, body = Builder(), Builder()
    row = body.build(ops(body, [body.param(ArrayType(t.shape[1:], t.dtype)) for t in types]))
    params = [builder.param(t) for t in types]
    length = types[0].shape[0]
    outs = builder.bind(
        "scan", *params, body=row, length=length, captures=0, carries=0, reverse=False
    )
    return arguments, builder.build(outs)


# --- matrices -------------------------------------------------------------------------------------


class Draw:
    """What a problem is drawn from: a type, an order, a batch, numbers."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(f"linear algebra {seed}")
        self.numbers = np.random.default_rng(seed)
        self.dtype: DType = rng.choice(DTYPES)
        self.order = rng.choice(SIDES if rng.random() < 0.9 else LARGE)
        self.batch = rng.choice(BATCHES)
        if self.order <= 4 and rng.random() < 0.3:
            self.batch = (rng.choice(MANY),)

    def flag(self) -> bool:
        """Yes or no."""
        return self.rng.random() < 0.5

    def side(self) -> int:
        """A number of rows or columns near the order."""
        return max(1, self.order + self.rng.choice([-7, -2, -1, 0, 0, 1, 3, 9]))

    def fails(self) -> bool:
        """Whether there is to be a matrix without a result."""
        return 0 not in self.batch and self.rng.random() < 0.1

    def normal(self, *shape: int) -> Array:
        """Standard normal numbers, a batch of such arrays."""
        whole = (*self.batch, *shape)
        x = self.numbers.standard_normal(whole)
        if self.dtype.is_complex:
            x = x + 1j * self.numbers.standard_normal(whole)
        return np.asarray(x).astype(self.dtype.numpy)

    def conditioned(self, columns: int, rows: int) -> Array:
        """Matrices whose singular values are between 1 and 3."""
        u, _, vt = np.linalg.svd(self.normal(columns, rows), full_matrices=False)
        values = self.numbers.uniform(1, 3, (*self.batch, min(columns, rows)))
        return np.asarray((u * values[..., None, :]) @ vt).astype(self.dtype.numpy)

    def square(self) -> Array:
        """Such square matrices."""
        return self.conditioned(self.order, self.order)

    def positive(self) -> Array:
        """Hermitian positive definite matrices."""
        x = self.conditioned(self.order, self.order)
        h = x @ x.conj().swapaxes(-1, -2)
        return np.asarray((h + h.conj().swapaxes(-1, -2)) / 2).astype(self.dtype.numpy)

    def one(self) -> tuple[int, ...]:
        """The place of a matrix."""
        return tuple(self.rng.randrange(n) for n in self.batch)


def _type(x: Array) -> DType:
    found = dt.of(x.dtype)
    assert found is not None
    return found


def _wide(x: Any) -> Any:
    """Floats in the largest precision, integers as they are."""
    x = np.asarray(x)
    return x.astype({"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype))


def _is_matrix(x: Value, like: Value) -> bool:
    return len(x.shape) == len(like.shape)


def _transposed(b: Builder, x: Value) -> Value:
    rank = len(x.shape)
    return b.bind1("transpose", x, axes=(*range(rank - 2), rank - 1, rank - 2))


def _filled(b: Builder, type: ArrayType, number: float) -> Value:
    constant = b.constant(np.asarray(number).astype(type.dtype.numpy))
    return b.bind1("broadcast", constant, shape=type.shape)


def _factored(b: Builder, info: Value) -> Value:
    return b.bind1("factored", info, error="no result")


def _size(x: Array) -> float:
    """The spectral norm; 1 of nothing."""
    return float(np.linalg.norm(x, 2)) if x.size else 1.0


def _apart(a: Array, b: Any, scale: float = 0.0) -> float:
    """The difference of two arrays relative to the first, or to a scale."""
    return float(np.linalg.norm(a - b)) / (scale or _size(np.atleast_2d(a)))


def _from_unitary(q: Array) -> float:
    """How far columns are from orthonormal ones."""
    return float(np.linalg.norm(q.conj().T @ q - np.eye(q.shape[1])))


# --- the problems ---------------------------------------------------------------------------------


def _cholesky(draw: Draw) -> Problem:
    upper, fails, a = draw.flag(), draw.fails(), draw.positive()
    if fails:
        a[draw.one()] *= -1

    def bind(b: Builder, args: list[Value]) -> list[Value]:
        factor, info = b.bind("cholesky", args[0], upper=upper)
        return [factor, _factored(b, info)]

    def errors(a: Array, factor: Array, info: Array) -> Iterator[Any]:
        yield info
        yield np.abs(np.tril(factor, -1) if upper else np.triu(factor, 1)).max()
        f = factor.conj().T if upper else factor
        yield _apart(a, f @ f.conj().T)

    return Problem([a], bind, errors, fails)


def _solve(draw: Draw) -> Problem:
    fails, a, b = draw.fails(), draw.square(), draw.normal(draw.rng.choice([1, 2, 5]), draw.order)
    if fails:
        a[draw.one()][draw.rng.randrange(draw.order)] = 0

    def bind(builder: Builder, args: list[Value]) -> list[Value]:
        factors, pivots, info = builder.bind("lu", args[0])
        return [builder.bind1("lu_solve", factors, pivots, args[1]), _factored(builder, info)]

    def errors(a: Array, b: Array, x: Array, info: Array) -> Iterator[Any]:
        yield info
        yield _apart(b.T, a.T @ x.T, _size(a) * _size(x))

    return Problem([a, b], bind, errors, fails)


def _inverse(draw: Draw) -> Problem:
    fails, a = draw.fails(), draw.square()
    if fails:
        a[draw.one()][draw.rng.randrange(draw.order)] = 0

    def bind(b: Builder, args: list[Value]) -> list[Value]:
        factors, pivots, info = b.bind("lu", args[0])
        _factored(b, info)
        return list(b.bind("lu_inverse", factors, pivots))

    def errors(a: Array, inverse: Array, info: Array) -> Iterator[Any]:
        yield info
        yield _apart(np.eye(len(a)), a @ inverse, _size(a) * _size(inverse))

    return Problem([a], bind, errors, fails)


def _lu(draw: Draw) -> Problem:
    a = draw.normal(draw.side(), draw.side())

    def bind(b: Builder, args: list[Value]) -> list[Value]:
        return list(b.bind("lu", args[0]))

    def errors(a: Array, factors: Array, pivots: Array, info: Array) -> Iterator[Any]:
        yield info
        a, factors = a.T.copy(), factors.T
        least = min(a.shape)
        if (pivots < 1).any() or (pivots > len(a)).any():
            yield np.inf
            return
        for k, p in enumerate(pivots):
            a[[k, p - 1]] = a[[p - 1, k]]
        lower = np.tril(factors[:, :least], -1) + np.eye(len(a), least)
        parts = np.abs(np.tril(factors[:, :least], -1))
        yield max(parts.max() - np.sqrt(2), 0)
        yield _apart(a, lower @ np.triu(factors[:least]), _size(lower) * _size(factors))

    return Problem([a], bind, errors)


def _qr(draw: Draw) -> Problem:
    a = draw.normal(draw.side(), draw.side())
    n, m = a.shape[-2:]
    columns = draw.rng.randint(min(m, n), m)

    def bind(b: Builder, args: list[Value]) -> list[Value]:
        reflectors, taus = b.bind("qr", args[0])
        return [b.bind1("qr_columns", reflectors, taus, columns=columns), reflectors]

    def errors(a: Array, q: Array, reflectors: Array) -> Iterator[Any]:
        least = min(a.shape)
        yield _from_unitary(q.T)
        yield _apart(a.T, q.T[:, :least] @ np.triu(reflectors.T[:least]))

    return Problem([a], bind, errors)


def _svd(draw: Draw) -> Problem:
    a, vectors = draw.normal(draw.side(), draw.side()), draw.rng.choice([0, 1, 2])

    def bind(b: Builder, args: list[Value]) -> list[Value]:
        *outs, info = b.bind("svd", args[0], vectors=vectors)
        return [*outs, _factored(b, info)]

    def errors(a: Array, values: Array, *rest: Array) -> Iterator[Any]:
        yield rest[-1]
        yield max(0.0, -values.min(), np.diff(values).max(initial=0.0))
        yield _apart(values, np.linalg.svd(a, compute_uv=False), _size(a))
        if vectors:
            u, vt, least = rest[0].T, rest[1].T, len(values)
            yield _from_unitary(u)
            yield _from_unitary(vt.conj().T)
            yield _apart(a.T, (u[:, :least] * values) @ vt[:least])

    return Problem([a], bind, errors)


def _eigh(draw: Draw) -> Problem:
    x, upper, vectors = draw.normal(draw.order, draw.order), draw.flag(), draw.flag()
    a = (x + x.conj().swapaxes(-1, -2)).astype(x.dtype)

    def bind(b: Builder, args: list[Value]) -> list[Value]:
        *outs, info = b.bind("eigh", args[0], upper=upper, vectors=vectors)
        return [*outs, _factored(b, info)]

    def errors(a: Array, values: Array, *rest: Array) -> Iterator[Any]:
        yield rest[-1]
        yield max(0.0, -np.diff(values).min(initial=0.0))
        yield _apart(values, np.linalg.eigvalsh(a), _size(a))
        if vectors:
            v = rest[0].T
            yield _from_unitary(v)
            yield _apart(a.T, (v * values) @ v.conj().T)

    return Problem([a], bind, errors)


def _eig(draw: Draw) -> Problem:
    a, vectors = draw.normal(draw.order, draw.order), draw.flag()
    parts = 1 if draw.dtype.is_complex else 2

    def bind(b: Builder, args: list[Value]) -> list[Value]:
        *outs, info = b.bind("eig", args[0], vectors=vectors)
        return [*outs, _factored(b, info)]

    def errors(a: Array, *rest: Array) -> Iterator[Any]:
        yield rest[-1]
        values = rest[0] if parts == 1 else rest[0] + 1j * rest[1]
        a, size = a.T, _size(a)
        yield abs(np.trace(a) - values.sum()) / size
        # Each is an eigenvalue of a matrix nearby.
        for x in values:
            yield np.linalg.svd(a - x * np.eye(len(a)), compute_uv=False)[-1] / size
        if vectors:
            v = rest[parts].T.astype(np.complex128)
            for k in range(len(a) if parts == 2 else 0):
                if values[k].imag > 0:  # a pair: the parts of the first of two conjugate vectors
                    v[:, k] += 1j * v[:, k + 1]
                    v[:, k + 1] = v[:, k].conj()
            yield np.abs(np.linalg.norm(v, axis=0) - 1).max()
            yield _apart(a @ v, v * values, size)

    return Problem([a], bind, errors)


def _least_squares(draw: Draw) -> Problem:
    n, m = draw.side(), draw.side()
    a, b = draw.conditioned(n, m), draw.normal(draw.rng.choice([1, 3]), max(m, n))
    rcond = np.full(draw.batch, 1e-3, a.real.dtype)

    def bind(builder: Builder, args: list[Value]) -> list[Value]:
        *outs, info = builder.bind("least_squares", *args)
        return [*outs, _factored(builder, info)]

    def errors(
        a: Array, b: Array, rcond: Array, x: Array, values: Array, rank: Array, info: Array
    ) -> Iterator[Any]:
        yield info
        yield abs(int(rank) - min(a.shape))
        yield _apart(values, np.linalg.svd(a, compute_uv=False), _size(a))
        exact = np.linalg.pinv(a.T) @ b.T[: len(a.T)]
        # The square of the largest condition, of what is orthogonal to the columns.
        yield _apart(exact, x.T[: len(exact)], 9 * (_size(exact) + _size(b)))
        if len(a) < len(a.T):
            # What is left of the right sides by LAPACK's steps; zeros by a device's library.
            rest = np.linalg.norm(a.T @ exact - b.T[: len(a.T)], axis=0)
            beyond = np.linalg.norm(x.T[len(a) :], axis=0)
            yield _apart(rest, beyond, 9 * _size(b)) if beyond.any() else 0.0

    return Problem([a, b, rcond], bind, errors)


def _triangular(draw: Draw) -> Problem:
    upper, transposed, unit, fails = draw.flag(), draw.flag(), draw.flag(), draw.fails()
    n = draw.order
    a = (draw.normal(n, n) / max(n, 1) + 2 * np.eye(n)).astype(draw.dtype.numpy)
    b = draw.normal(draw.rng.choice([1, 4]), n)
    fails = fails and not unit
    if fails:
        k = draw.rng.randrange(n)
        a[(*draw.one(), k, k)] = 0

    def bind(builder: Builder, args: list[Value]) -> list[Value]:
        params = {"upper": upper, "transposed": transposed, "unit": unit}
        x, info = builder.bind("triangular_solve", *args, **params)
        return [x, _factored(builder, info)]

    def errors(a: Array, b: Array, x: Array, info: Array) -> Iterator[Any]:
        yield info
        whole = np.triu(a.T) if upper else np.tril(a.T)
        if unit:
            np.fill_diagonal(whole, 1)
        whole = whole.T if transposed else whole
        yield _apart(b.T, whole @ x.T, _size(whole) * _size(x))

    return Problem([a, b], bind, errors, fails)


PROBLEMS: tuple[Callable[[Draw], Problem], ...] = (
    *(_cholesky, _solve, _inverse, _lu, _qr, _svd, _eigh, _eig, _least_squares, _triangular),
)
