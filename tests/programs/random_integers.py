"""Random arithmetic of integers at the ends of their types, from a seed.

What an assembler assumes of integers shows at the ends only (`backends/ptx_kept.py`), and where
results of one width are read as another: here each value is near an end of some type, and many are
converted, compared and selected.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.graph import Graph
from pyc.ir.op import OPS, Kind
from pyc.ir.types import ArrayType
from tests.programs.random_graphs import Program, _arity

Array = np.ndarray[Any, Any]
WIDTHS = (dt.i8, dt.u8, dt.i16, dt.u16, dt.i32, dt.u32, dt.i64, dt.u64)
CONVERTED = (*WIDTHS, *WIDTHS, dt.b1, dt.f32, dt.f64)
STEPS, RESULTS, SIZE = 24, 10, 300
OPERATIONS = sorted(
    name
    for name, op in OPS.items()
    if op.kind is Kind.POINTWISE and op.fails is None and "int" in op.kinds.split()
    if name not in ("cast", "bitcast", "select", "floor_divide", "remainder", "fmod")
)
QUOTIENTS = ("floor_divide", "remainder", "fmod")
"""Of which there are fewer: they take most of the time to compile."""


class Integers(Program):
    """A Graph of operations on integers under construction."""

    def integer(self) -> Any:
        return self.pick(lambda v: v.dtype.is_integer)

    def step(self) -> None:
        """Adds an operation on integers, or a conversion."""
        rng, x = self.rng, self.integer()
        kind = rng.random()
        if kind < 0.25:
            self.bind("cast", x, dtype=rng.choice(CONVERTED))
        elif kind < 0.35:
            condition = self.of_type(ArrayType(x.shape, dt.b1))
            self.bind("select", condition, x, self.operand(x.type))
        else:
            name = rng.choice(QUOTIENTS if kind < 0.4 else OPERATIONS)
            others = [self.operand(x.type) for _ in range(_arity(OPS[name]) - 1)]
            self.bind(name, x, *others)


def random_integers(seed: int) -> Graph:
    """Of three arrays of integers of one or two types, `STEPS` operations; the last are results."""
    rng = random.Random(f"integers {seed}")
    program = Integers(rng)
    first = rng.choice(WIDTHS)
    for dtype in (first, first, rng.choice(WIDTHS)):
        program.param(ArrayType((SIZE,), dtype))
    for _ in range(STEPS):
        program.step()
    return program.builder.build(program.values[-RESULTS:])


def integer_arguments(graph: Graph, seed: int) -> list[Array]:
    """Numbers near the ends of the parameters' types, of narrower types, and near 0."""
    rng = np.random.default_rng(seed)
    powers = [1 << bits for bits in (7, 8, 15, 16, 31, 32, 63, 64)]
    ends = [e + d for power in powers for e in (-power, power) for d in (-1, 0, 1)]
    arrays = []
    for p in graph.params:
        info = np.iinfo(p.dtype.numpy)
        own = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, 3]
        near = [e for e in (*ends, -1, -2, -3, 5, 7, 100) if info.min <= e <= info.max]
        numbers = np.array(own * max(1, len(near) // len(own)) + near, p.dtype.numpy)
        arrays.append(rng.choice(numbers, p.type.size))
    return arrays
