"""Inputs for every op of the table: per op and type, argument arrays with params.

`cases(op, dtype)` gives what `test_every_op.py` runs. An op whose params cannot be guessed has a
row in `PARAMS`; one that needs none is drawn from its arity. A new op is covered without a line
here unless it has params.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, product
from typing import Any

import numpy as np

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc.errors import PycError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.op import OPS, Kind, Op
from pyc.ir.types import ArrayType
from tests.programs.random_graphs import arity

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """Arguments and params of one equation. plain: no NaN, infinity or extreme among them."""

    arrays: tuple[Array, ...]
    params: dict[str, Any]
    plain: bool = False

    @property
    def types(self) -> tuple[ArrayType, ...]:
        """The types of the arguments."""
        found = [dt.of(a.dtype) for a in self.arrays]
        assert None not in found
        return tuple(ArrayType(a.shape, d) for a, d in zip(self.arrays, found) if d is not None)


# --- elements -------------------------------------------------------------------------------------


def special(dtype: DType) -> Array:
    """The awkward values of a type: NaN, infinities, both zeros, subnormals, ends of the range."""
    if dtype is dt.b1:
        return np.array([False, True])
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        low = [info.min, info.min + 1, -1, -2, -7] if info.min else []
        return np.array([0, 1, 2, 3, 7, dtype.bits - 1, *low, info.max, info.max - 1], dtype.numpy)
    if dtype.is_complex:
        part = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan], dtype.real.numpy)
        grid = np.empty(part.size**2, dtype.numpy)
        grid.real, grid.imag = np.repeat(part, part.size), np.tile(part, part.size)
        return grid
    subnormal = {16: 6e-8, 32: 1e-42, 64: 5e-324, 8: 0.002}[dtype.bits]
    subnormal = 1e-40 if dtype is dt.bf16 else subnormal
    wide = [0.0, -0.0, np.nan, np.inf, -np.inf, subnormal, -subnormal, 1.0, -1.0, 0.5, -2.5, 3.0]
    most = {16: 65504.0, 32: 3.4e38, 64: 1.7e308, 8: 448.0}[dtype.bits]
    with np.errstate(all="ignore"):
        return np.array([*wide, most, -most, 1e-3, 88.5, -103.9, 1e5], np.float64).astype(
            dtype.numpy
        )


def plain(dtype: DType, shape: tuple[int, ...], seed: int) -> Array:
    """Ordinary values, far from overflow."""
    rng = np.random.default_rng(seed)
    if dtype is dt.b1:
        return rng.random(shape) < 0.5
    if dtype.is_integer:
        low = 0 if dtype.kind == "uint" else -9
        return rng.integers(low, 9, shape).astype(dtype.numpy)
    values = rng.standard_normal(shape)
    if dtype.is_complex:
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values).astype(dtype.numpy)


def awkward(dtype: DType, shape: tuple[int, ...], seed: int, share: float = 0.3) -> Array:
    """Ordinary values with special ones among them."""
    rng = np.random.default_rng(seed)
    flat = np.array(plain(dtype, shape, seed)).reshape(-1)
    where = rng.random(flat.size) < share
    flat[where] = rng.choice(special(dtype), int(where.sum()))
    return flat.reshape(shape)


# --- pointwise ------------------------------------------------------------------------------------


def _pointwise_shapes(dtypes: tuple[DType, ...], params: dict[str, Any]) -> Iterator[Case]:
    """All pairs of special values, a long line with a tail, a matrix, rank 0, and nothing."""
    specials = [special(d) for d in dtypes]
    if len(dtypes) <= 2:
        grid = tuple(np.array(g) for g in zip(*product(*specials)))
        columns = [g.astype(d.numpy) for g, d in zip(grid, dtypes)]
        yield Case(tuple(columns), params)
    for shape in ((131,), (3, 5), (), (3, 0)):
        seeds = range(len(dtypes))
        share = 1.0 if shape == () else 0.3
        yield Case(tuple(awkward(d, shape, k, share) for k, d in zip(seeds, dtypes)), params)
    yield Case(tuple(plain(d, (67,), k + 5) for k, d in enumerate(dtypes)), params, plain=True)


def _same_type(op: Op, dtype: DType) -> Iterator[Case]:
    count = arity(op)
    if not count:
        raise AssertionError(f"{op} takes params: add it to PARAMS in tests/ops/cases.py")
    yield from _pointwise_shapes((dtype,) * count, {})


def _binomial_mass(op: Op, dtype: DType) -> Iterator[Case]:
    """Also at the mean of parameters whose sum is beyond the range of float64."""
    yield from _same_type(op, dtype)
    most = special(dtype)[12:13]
    yield Case((most, most, np.array([0.5]).astype(dtype.numpy)), {})


def _two(op: Op, dtype: DType) -> Iterator[Case]:
    yield from _pointwise_shapes((dtype, dtype), {})


def _select(op: Op, dtype: DType) -> Iterator[Case]:
    yield from _pointwise_shapes((dt.b1, dtype, dtype), {})


def _cast(op: Op, dtype: DType) -> Iterator[Case]:
    for to in dt.ALL:
        if not (dtype.is_complex and not to.is_complex and to is not dt.b1):
            yield from list(_pointwise_shapes((dtype,), {"dtype": to}))[:2]


def _bitcast(op: Op, dtype: DType) -> Iterator[Case]:
    for to in dt.ALL:
        if to.bits == dtype.bits and to.kind not in ("bool", "complex"):
            yield from list(_pointwise_shapes((dtype,), {"dtype": to}))[:4]


def _integer_power(op: Op, dtype: DType) -> Iterator[Case]:
    exponents = np.arange(0, 70, dtype=dtype.numpy)
    for shape in ((70,), (7, 10)):
        yield Case((awkward(dtype, shape, 1), exponents.reshape(shape)), {})
    yield Case((np.array(3, dtype.numpy), np.array(4, dtype.numpy)), {})
    yield Case((np.zeros((0, 2), dtype.numpy), np.zeros((0, 2), dtype.numpy)), {})


def _narrow(op: Op, dtype: DType) -> Iterator[Case]:
    for to in (dt.u8, dt.i32, dt.u64, dt.i64):
        top = min(np.iinfo(to.numpy).max, np.iinfo(dt.i64.numpy).max)
        low = max(np.iinfo(to.numpy).min, np.iinfo(dt.i64.numpy).min)
        for shape in ((90,), (3, 7), (), (0,)):
            values = np.resize(np.array([low, top, 0, 1, top - 1, low + 1]), shape)
            if dtype is dt.i64:
                yield Case((values.astype(np.int64),), {"dtype": to})


def _require(op: Op, dtype: DType) -> Iterator[Case]:
    for shape in ((90,), (3, 7), (), (0,)):
        yield Case((awkward(dtype, shape, 1), np.ones(shape, bool)), {"name": "x"})


def _check(op: Op, dtype: DType) -> Iterator[Case]:
    for shape in ((90,), (3, 7), (), (0,)):
        yield Case((np.ones(shape, bool), np.zeros(shape, np.int64)), {"error": "ValueError: x"})


def _factored(op: Op, dtype: DType) -> Iterator[Case]:
    for shape in ((90,), (3, 7), (), (0,)):
        yield Case((np.zeros(shape, dtype.numpy),), {"error": "inv: Singular matrix"})


def _index_check(op: Op, dtype: DType) -> Iterator[Case]:
    low = 0 if dtype.kind == "uint" else -9
    for shape in ((90,), (3, 7), (), (0,)):
        values = np.random.default_rng(0).integers(low, 9, shape).astype(dtype.numpy)
        yield Case((np.asarray(values),), {"bound": 9, "axis": 1})


def _number_check(op: Op, dtype: DType) -> Iterator[Case]:
    for shape in ((90,), (3, 7), (), (0,)):
        values = np.random.default_rng(0).integers(0, 9, shape).astype(dtype.numpy)
        yield Case((np.asarray(values),), {"bound": 9, "asked": "choose"})


# --- index ----------------------------------------------------------------------------------------


def _constant(op: Op, dtype: DType) -> Iterator[Case]:
    for shape in ((), (3, 40), (0, 2)):
        yield Case((), {"value": awkward(dtype, shape, 2, share=1.0)})


def _iota(op: Op, dtype: DType) -> Iterator[Case]:
    if dtype is dt.b1:
        return
    for shape, axis in (((7,), 0), ((3, 35), 1), ((5, 3), 0), ((0,), 0)):
        yield Case((), {"shape": shape, "axis": axis, "dtype": dtype})


def _broadcast(op: Op, dtype: DType) -> Iterator[Case]:
    for shape, to in (((), (3, 5)), ((3, 1), (2, 3, 33)), ((4,), (0, 4)), ((), ())):
        yield Case((awkward(dtype, shape, 1),), {"shape": to})


def _transpose(op: Op, dtype: DType) -> Iterator[Case]:
    for shape, axes in (
        ((17, 34), (1, 0)),
        ((2, 3, 5), (2, 0, 1)),
        ((), ()),
        ((0, 3), (1, 0)),
        ((1, 4), (1, 0)),
    ):
        yield Case((awkward(dtype, shape, 1),), {"axes": axes})


def _reshape(op: Op, dtype: DType) -> Iterator[Case]:
    for shape, to in (
        ((6, 10), (4, 15)),
        ((5,), (1, 5, 1)),
        ((1, 1), ()),
        ((0, 3), (7, 0)),
        ((2, 3, 4), (24,)),
    ):
        yield Case((awkward(dtype, shape, 1),), {"shape": to})


def _view_as_real(op: Op, dtype: DType) -> Iterator[Case]:
    for shape in ((6, 10), (5,), (), (0, 3), (1, 40, 1)):
        yield Case((awkward(dtype, shape, 1),), {})


def _slice(op: Op, dtype: DType) -> Iterator[Case]:
    for shape, start, size, step in (
        ((40,), (3,), (33,), (1,)),
        ((7, 9), (6, 0), (3, 5), (-2, 2)),
        ((5,), (2,), (0,), (1,)),
        ((), (), (), ()),
    ):
        params = {"start": start, "size": size, "step": step}
        yield Case((awkward(dtype, shape, 1),), params)


def _concatenate(op: Op, dtype: DType) -> Iterator[Case]:
    for shapes, axis in (
        (((5,), (37,), (1,)), 0),
        (((3, 4), (3, 0), (3, 2)), 1),
        (((2, 3), (4, 3)), 0),
        (((0,), (0,)), 0),
    ):
        yield Case(tuple(awkward(dtype, s, k) for k, s in enumerate(shapes)), {"axis": axis})


def _pad(op: Op, dtype: DType) -> Iterator[Case]:
    fill = awkward(dtype, (), 3)
    for shape, low, high in (
        ((35,), (2,), (3,)),
        ((3, 4), (0, 1), (2, 0)),
        ((0,), (2,), (1,)),
        ((), (), ()),
    ):
        yield Case((awkward(dtype, shape, 1), fill), {"low": low, "high": high})


def _places(shape: tuple[int, ...], bound: int, seed: int) -> Array:
    """Indices of an axis of `bound`, some beyond both ends."""
    return np.asarray(np.random.default_rng(seed).integers(-2, bound + 2, shape), np.int64)


def _gather(op: Op, dtype: DType) -> Iterator[Case]:
    for shape, axes, position, places in (
        ((9,), (0,), 0, (40,)),
        ((5, 6), (1,), 1, (2, 3)),
        ((4, 5, 6), (0, 2), 1, (7,)),
        ((3,), (0,), 0, ()),
        ((3, 2), (0,), 0, (0,)),
    ):
        found = tuple(_places(places, shape[a], a) for a in axes)
        yield Case((awkward(dtype, shape, 1), *found), {"axes": axes, "position": position})


def _dynamic_slice(op: Op, dtype: DType) -> Iterator[Case]:
    for shape, starts, sizes, values in (
        ((40,), (None,), (33,), (3,)),
        ((5, 6), (None, 2), (2, 3), (-4,)),
        ((5, 6), (None, None), (2, 6), (99, 0)),
        ((0,), (None,), (0,), (1,)),
    ):
        at = tuple(np.array(v, np.int64) for v in values)
        yield Case((awkward(dtype, shape, 1), *at), {"starts": starts, "sizes": sizes})


def _update_slice(op: Op, dtype: DType) -> Iterator[Case]:
    for shape, update, starts, strides, values in (
        ((40,), (33,), (None,), (1,), (4,)),
        ((7, 9), (3, 2), (None, 1), (2, 3), (-3,)),
        ((7, 9), (2, 9), (None, None), (1, 1), (99, 5)),
        ((4,), (0,), (0,), (1,), ()),
        ((), (), (), (), ()),
    ):
        at = tuple(np.array(v, np.int64) for v in values)
        arrays = (awkward(dtype, shape, 1), awkward(dtype, update, 2), *at)
        yield Case(arrays, {"starts": starts, "strides": strides})


def _searchsorted(op: Op, dtype: DType) -> Iterator[Case]:
    if dtype.is_complex:
        return
    for count, shape in ((0, (3,)), (1, (5,)), (37, (4, 20)), (8, ())):
        line = awkward(dtype, (count,), 1)
        wide = line.astype(np.float32) if dtype.is_half else line
        line = line[np.argsort(wide, kind="stable")]
        for right in (False, True):
            yield Case((line, awkward(dtype, shape, 2)), {"right": right})


def _transform(op: Op, dtype: DType) -> Iterator[Case]:
    for k, (shape, axis) in enumerate(
        (
            ((1,), 0),
            ((13, 3), 0),
            ((2, 8), 1),
            ((3, 30, 2), 1),
            ((9, 28), 0),
            ((2, 100), 1),
            ((128,), 0),
            ((4, 0), 0),
            ((5000,), 0),
            ((4116, 2), 0),
        )
    ):
        params = {"axis": axis, "inverse": k % 2 == 1, "scale": (1.0, 0.3, 1.0)[k % 3]}
        for real in ("", "out") if dtype.is_complex else ("in",):
            arrays = (plain(dtype, shape, k),)
            yield Case(arrays, {**params, "real": real}, plain=True)
            if shape[0] < 1000:
                arrays = (awkward(dtype, shape, k, 0.02),)
                yield Case(arrays, {**params, "real": real})


# --- reductions, rows, scatter, contractions ------------------------------------------------------


def _reduce(op: Op, dtype: DType) -> Iterator[Case]:
    shapes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
        ((1030,), (0,)),
        ((5, 7), (1,)),
        ((140, 3), (0,)),
        ((2, 3, 5), (0, 2)),
        ((2, 3), ()),
        ((), ()),
        ((0, 3), (1,)),
        ((3, 0), (1,)),
        ((4, 1), (1,)),
    )
    for k, (shape, axes) in enumerate(shapes):
        yield Case((plain(dtype, shape, k),), {"axes": axes}, plain=True)
        yield Case((awkward(dtype, shape, k, share=0.02),), {"axes": axes})


def _rows(op: Op, dtype: DType) -> Iterator[Case]:
    for k, shape in enumerate(((70,), (3, 9), (2, 3, 4), (0,), (2, 0), (1,))):
        yield Case((plain(dtype, shape, k),), {}, plain=True)
        yield Case((awkward(dtype, shape, k),), {})


def _sorted(op: Op, dtype: DType) -> Iterator[Case]:
    for case in _rows(op, dtype):
        for descending in (False, True):
            yield Case(case.arrays, {"descending": descending})


def _top(op: Op, dtype: DType) -> Iterator[Case]:
    for case in _rows(op, dtype):
        for k in sorted({0, 1, case.arrays[0].shape[-1] // 2, case.arrays[0].shape[-1]}):
            if k <= case.arrays[0].shape[-1]:
                yield Case(case.arrays, {"k": k, "descending": True})
                yield Case(case.arrays, {"k": k, "descending": False})


def _statistics(op: Op, dtype: DType) -> Iterator[Case]:
    for case in _rows(op, dtype):
        length = case.arrays[0].shape[-1]
        for places in [(0,), (length - 1, length // 2, 0)] if length else [()]:
            for descending in (False, True):
                yield Case(case.arrays, {"places": places, "descending": descending})


def _scatter(op: Op, dtype: DType) -> Iterator[Case]:
    for mode in ("set", "add", "mul", "min", "max"):
        for shape, axes, position, places in (
            ((9,), (0,), 0, (40,)),
            ((5, 6), (1,), 1, (2, 3)),
            ((4, 5, 6), (0, 2), 1, (7,)),
            ((3, 2), (0,), 0, (0,)),
        ):
            kept = [n for a, n in enumerate(shape) if a not in axes]
            update = (*kept[:position], *places, *kept[position:])
            found = tuple(_places(places, shape[a], a) for a in axes)
            arrays = (awkward(dtype, shape, 1), awkward(dtype, update, 2), *found)
            yield Case(arrays, {"axes": axes, "position": position, "mode": mode})


def _contract(op: Op, dtype: DType) -> Iterator[Case]:
    for a, b, dimensions in (
        ((5, 7), (7, 3), (((1,), (0,)), ((), ()))),
        ((33, 40), (40, 17), (((1,), (0,)), ((), ()))),
        ((7,), (7,), (((0,), (0,)), ((), ()))),
        ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
        ((3, 0), (0, 2), (((1,), (0,)), ((), ()))),
        ((0, 3), (3, 2), (((1,), (0,)), ((), ()))),
        ((2, 3), (4,), (((), ()), ((), ()))),
        ((4, 6), (6, 4), (((0, 1), (1, 0)), ((), ()))),
    ):
        yield Case((plain(dtype, a, 1), plain(dtype, b, 2)), {"dimensions": dimensions}, plain=True)


def _philox(op: Op, dtype: DType) -> Iterator[Case]:
    for word in range(4 if dtype is dt.u32 else 0):
        yield from _pointwise_shapes((dtype,) * 6, {"word": word})


PARAMS: dict[str, Callable[[Op, DType], Iterator[Case]]] = {
    "select": _select,
    "cast": _cast,
    "bitcast": _bitcast,
    "gcd": _two,
    "lcm": _two,
    "binomial_mass": _binomial_mass,
    "integer_power": _integer_power,
    "narrow": _narrow,
    "philox": _philox,
    "require": _require,
    "check": _check,
    "factored": _factored,
    "index_check": _index_check,
    "number_check": _number_check,
    "constant": _constant,
    "iota": _iota,
    "broadcast": _broadcast,
    "transpose": _transpose,
    "reshape": _reshape,
    "view_as_real": _view_as_real,
    "slice": _slice,
    "concatenate": _concatenate,
    "pad": _pad,
    "gather": _gather,
    "dynamic_slice": _dynamic_slice,
    "update_slice": _update_slice,
    "overlay": _update_slice,
    "searchsorted": _searchsorted,
    "scatter": _scatter,
    "sort": _sorted,
    "argsort": _sorted,
    "top_k": _top,
    "order_statistics": _statistics,
    "fft": _transform,
}
"""Ops with params, kernels of several arguments, and ops of arguments of several types."""

BY_KIND: dict[Kind, Callable[[Op, DType], Iterator[Case]]] = {
    Kind.POINTWISE: _same_type,
    Kind.REDUCE: _reduce,
    Kind.KERNEL: _rows,
    Kind.CONTRACT: _contract,
}
"""The others, by their kind."""


def cases(op: Op, dtype: DType) -> list[Case]:
    """Cases of `op` that its type rule takes, `op.samples` among them. AssertionError for an op
    that nothing here knows how to draw."""
    return list(_taken(op, dtype))


def _taken(op: Op, dtype: DType) -> Iterator[Case]:
    """The same, each drawn when it is asked for."""
    draw = PARAMS.get(op.name) or BY_KIND.get(op.kind)
    if draw is None:
        raise AssertionError(f"{op} ({op.kind}) is drawn by nothing in tests/ops/cases.py")
    samples = (Case(tuple(np.asarray(a, dtype.numpy) for a in s), {}) for s in op.samples)
    return (c for c in chain(draw(op, dtype), samples) if _takes(op, c))


def _takes(op: Op, case: Case) -> bool:
    try:
        op.types(case.types, **case.params)
    except PycError:
        return False
    return True


@cache
def pairs() -> tuple[tuple[str, DType], ...]:
    """Every op of the table but control flow and libraries, with each type that it takes."""
    return tuple(
        (name, dtype)
        for name, op in sorted(OPS.items())
        if op.kind not in (Kind.CONTROL, Kind.LIBRARY)
        for dtype in dt.ALL
        if dtype.kind in op.kinds.split() and next(_taken(op, dtype), None) is not None
    )
