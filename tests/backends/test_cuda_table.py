"""The whole table of functions on a GPU: the CPU's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends import cuda
from pyc.compile import compile_graph
from tests.numpy.test_functions import TABLE
from tests.programs.differential import same_bits

needs_gpu = pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
CONTRACTIONS = (
    *("matmul", "matvec", "vecmat", "dot", "vdot", "inner", "outer", "tensordot", "kron", "einsum"),
)


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("row", range(len(TABLE)), ids=lambda k: f"{TABLE[k][0]}-{k}")
def test_the_table_of_functions(row: int) -> None:
    """Every function of pyc.numpy: pointwise work and reductions have the CPU's bits."""
    name, call, arguments = TABLE[row]

    def function(*xs: Any) -> Any:
        return call(pyc.numpy, *xs)

    with pyc.config.using(cache="off"):
        expected = pyc.tree.leaves(pyc.jit(function)(*arguments))
        found = pyc.tree.leaves(pyc.jit(function, device="cuda")(*arguments))
    for a, b in zip(expected, found, strict=True):
        if name in CONTRACTIONS:
            size = float(np.abs(a).max()) if a.size else 0.0
            np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5 * max(size, 1.0))
        else:
            assert same_bits(a, b), name


@pytest.mark.cuda
@needs_gpu
def test_control_flow_and_scans() -> None:
    """Loops with state on the device."""

    def newton(x: Any) -> Any:
        return pyc.while_loop(
            lambda s: (np.abs(s * s - x) > 1e-9).any(), lambda s: 0.5 * (s + x / s), x
        )

    x = np.linspace(1, 9, 50)
    compiled = compile_graph(pyc.jit(newton).trace(x).graph)(x)[0]
    np.testing.assert_array_equal(pyc.jit(newton, device="cuda")(x), compiled)


@pytest.mark.cuda
@needs_gpu
def test_cached_programs_of_a_gpu_are_verified(cache_dir) -> None:
    """`pyc.cache.verify` makes each entry of a GPU program anew, and finds a changed one."""
    x = np.linspace(-1.0, 1.0, 4096, dtype=np.float32)
    pyc.jit(lambda x: np.sin(x) * 2 + x.sum(), device="cuda")(x)
    rows = list(pyc.cache.ls())
    found = pyc.cache.verify()
    assert rows and not found.bad and not found.unchecked
    assert found.equal == len(rows)
    path = max(cache_dir.rglob("*.msgpack"), key=lambda p: p.stat().st_mtime)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    assert len(pyc.cache.verify().bad) == 1
