"""Every op as PTX for three generations of GPUs, and what the assembler makes of it: nothing here
needs a GPU.

LLVM ends the process over an intrinsic that it cannot select, so emitting each op is a test of the
whitelist. Registers, spills and shared memory of the schedules are golden figures, those of one
LLVM and one assembler.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from pyc.backends.nvptx import module_text, ptx
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.graph import Builder
from pyc.ir.op import OPS
from pyc.ir.target import SM_90, Target, nvptx
from pyc.ir.types import ArrayType
from pyc.kernels.matmul_blocks import matmul_blocks
from pyc.passes.memory import plan
from tests.backends import test_nvptx, test_nvptx_tiles
from tests.backends.assembler import assemble, assembles, version
from tests.backends.test_ptx_golden import of_this_llvm
from tests.ops.cases import cases, pairs
from tests.ops.test_every_op import graph_of

ASSEMBLER = "12.9.86"
"""Whose figures are golden."""

TARGETS = {target.cpu: target for target in (nvptx(80), SM_90, nvptx(100))}
TYPES: dict[str, list[DType]] = {}
for _name, _dtype in pairs():
    if _name != "constant":  # a buffer, no kernel
        TYPES.setdefault(_name, []).append(_dtype)

PREFERRED = (dt.f32, dt.i32, dt.c64, dt.b1)
"""Types of which the default run takes the first that an op has; the slow suite takes all."""


def text_of(name: str, dtype: DType, arch: str, most: int | None = None) -> str:
    """PTX of the kernels of the cases of an op, or of so many of them."""
    graph, _ = graph_of(OPS[name], list(cases(OPS[name], dtype))[:most])
    target = TARGETS[arch]
    kernels = plan(graph, target).plan.kernels
    assert kernels
    return ptx(module_text(kernels, target)[0], target)


SPILLS = 100
"""The most bytes that a kernel of one op may spill, in cases as small as these: each is at its
bound of registers so that many of its blocks run at once."""
SPILLED = {("zeta", False): 112, ("zeta", True): 408}
"""Of an op that spills more, in float64 or not: three sums of six or nine powers in float64, whose
logarithms are pairs, are in flight at once."""


def spills(name: str, dtype: DType) -> int:
    """The most bytes that a kernel of an op may spill."""
    return SPILLED.get((name, dtype is dt.f64), SPILLS)


def check(name: str, dtype: DType, text: str, arch: str, folder: Path) -> None:
    """The assembler accepts the kernels of an op, which spill no more than they may."""
    found = assemble(text, arch, folder).usages
    most = spills(name, dtype)
    assert found and all(usage.spilled <= most for usage in found), list(map(str, found))


@assembles
@pytest.mark.parametrize("name", TYPES)
def test_every_op_assembles(name: str, tmp_path: Path) -> None:
    """LLVM makes PTX for each generation. The assembler, half of the time, takes that of one: which
    one goes by the name, so that each has a third of the ops; the slow suite has all."""
    dtype = next((t for t in PREFERRED if t in TYPES[name]), TYPES[name][0])
    assembled = list(TARGETS)[crc32(name.encode()) % len(TARGETS)]
    for arch in TARGETS:
        text = text_of(name, dtype, arch, most=3)
        if arch == assembled:
            check(name, dtype, text, arch, tmp_path)


@pytest.mark.slow
@assembles
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("name", TYPES)
def test_every_type_assembles(name: str, arch: str, tmp_path: Path) -> None:
    for dtype in TYPES[name]:
        check(name, dtype, text_of(name, dtype, arch), arch, tmp_path)


def scheduled(name: str, target: Target) -> str:
    """PTX of a case of `test_nvptx`."""
    make, types = test_nvptx.CASES[name]
    builder = Builder()
    params = [builder.param(ArrayType(shape, dtype)) for shape, dtype in types]
    kernels = plan(builder.build(make(builder, params)), target).plan.kernels
    return ptx(module_text(kernels, target)[0], target)


@of_this_llvm
@assembles
def test_budgets(golden: Callable[[str], None], tmp_path: Path) -> None:
    if version() != ASSEMBLER:
        pytest.skip(f"the figures are those of the assembler {ASSEMBLER}")
    lines = []
    for arch, target in TARGETS.items():
        for name in test_nvptx.CASES:
            found = assemble(scheduled(name, target), arch, tmp_path).usages
            assert not any(usage.spilled or usage.stack for usage in found), list(map(str, found))
            lines += [f"{arch} {name}, {usage}" for usage in found]
    for name in test_nvptx_tiles.CASES:
        text = ptx(module_text((test_nvptx_tiles.product(name),), SM_90)[0], SM_90)
        lines += [f"sm_90a product, {name}, {u}" for u in assemble(text, "sm_90a", tmp_path).usages]
    golden("\n".join(lines))


@assembles
@pytest.mark.parametrize("dtype", [dt.f64, dt.f32], ids=lambda t: t.name)
@pytest.mark.parametrize("terms", [7, 16, 40, 1001])
@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
def test_products_of_odd_shapes_spill_nothing(
    dtype: DType, terms: int, turned: bool, tmp_path: Path
) -> None:
    """The stores of a tile that the result does not fill are conditional, and the products before
    them must not move into their branches: the fragments of every term would be kept for it."""
    a, b = (terms, 515), (203, terms)
    contract = ((0,), (1,))
    if not turned:
        a, b, contract = a[::-1], b[::-1], ((1,), (0,))
    types = (ArrayType(a, dtype), ArrayType(b, dtype))
    kernel = matmul_blocks(types, SM_90, dimensions=(contract, ((), ())))
    text = ptx(module_text((kernel,), SM_90)[0], SM_90)
    for usage in assemble(text, "sm_90a", tmp_path).usages:
        assert not usage.spilled and not usage.stack, str(usage)
