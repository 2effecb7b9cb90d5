"""PTX of tensor-core kernels: what it is made of, what the assembler says, what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc.backends.nvptx import module_text, ptx
from pyc.errors import CompileError
from pyc.ir import dtype as dt
from pyc.ir.loops import Kernel
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.target import SM_90
from pyc.ir.text_kernel import print_kernel
from pyc.ir.types import ArrayType
from pyc.kernels.matmul_tiles import Dimensions, matmul_tiles
from tests.backends.assembler import assemble, assembles

PLAIN: Dimensions = (((1,), (0,)), ((), ()))
FIRST: Dimensions = (((0,), (0,)), ((), ()))
LAST: Dimensions = (((1,), (1,)), ((), ()))
BATCH: Dimensions = (((2,), (1,)), ((0,), (0,)))
CASES: dict[str, tuple[Dimensions, tuple[int, ...], tuple[int, ...]]] = {
    "wide": (PLAIN, (4096, 512), (512, 4096)),
    "narrow": (PLAIN, (128, 512), (512, 64)),
    "a by columns": (FIRST, (512, 2048), (512, 2048)),
    "b by columns": (LAST, (4096, 512), (4096, 512)),
    "stacked": (BATCH, (7, 130, 72), (7, 72, 264)),
}


def product(name: str) -> Kernel:
    dimensions, a, b = CASES[name]
    types = ArrayType(a, dt.bf16), ArrayType(b, dt.bf16)
    return matmul_tiles(types, SM_90, dimensions=dimensions)


def test_a_product_is_made_of_what_the_hardware_has() -> None:
    text, (launch,) = module_text((product("wide"),), SM_90)
    code = ptx(text, SM_90)
    assert launch.threads == 384 and launch.shared_bytes > 48 << 10
    assert [m.box for m in launch.maps] == [(128, 64), (64, 64)]
    assert code.count("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16") == 4
    assert code.count("cp.async.bulk.tensor.2d") == 5, "one box of a, four panels of b"
    assert "bar.warp.sync" in code and "bar.sync 2" not in code
    assert code.count("mbarrier.init") == 8, "four stages of two barriers"
    assert ".minnctapersm 1" in code
    assert "setmaxnreg.inc.sync.aligned.u32 232" in code
    assert "setmaxnreg.dec.sync.aligned.u32 40" in code


def test_warps_of_a_role_meet_at_a_barrier_of_theirs() -> None:
    kernel = replaced('barrier "warp"', 'barrier "consumer"')()
    assert "bar.sync 2, 256" in ptx(module_text((kernel,), SM_90)[0], SM_90)


def test_registers_of_a_role_are_asked_for() -> None:
    kernel = replaced('"consumer" warps 0..8', '"consumer" warps 0..8 registers 104')()
    assert "setmaxnreg.dec.sync.aligned.u32 104" in ptx(module_text((kernel,), SM_90)[0], SM_90)


def test_the_layout_of_an_operand_is_one_bit_of_the_instruction() -> None:
    turned = {
        name: re.findall(r"1, 1, (\d), (\d);", ptx(module_text((product(name),), SM_90)[0], SM_90))
        for name in ("wide", "a by columns", "b by columns")
    }
    assert {k: set(v) for k, v in turned.items()} == {
        "wide": {("0", "1")},
        "a by columns": {("1", "1")},
        "b by columns": {("0", "0")},
    }


@assembles
@pytest.mark.parametrize("name", CASES)
def test_it_assembles_without_spills_or_serialised_products(name: str, tmp_path: Path) -> None:
    found = assemble(ptx(module_text((product(name),), SM_90)[0], SM_90), "sm_90a", tmp_path)
    assert not re.search(r"C75\d\d", found.messages), found.messages
    assert found.usages and not any(u.spilled for u in found.usages), found.messages


def replaced(old: str, new: str) -> Callable[[], Kernel]:
    def make() -> Kernel:
        text = print_kernel(product("narrow"))
        assert old in text
        return parse_kernel(text.replace(old, new, 1))

    return make


REFUSED = {
    "every thread copies": (replaced("if i2 == 0 {", "if i2 < 2 {"), "one thread"),
    "a tile is loaded": (
        replaced('barrier "warp"', 'b2[0, 0] = b3[0, 0, 0]\n barrier "warp"'),
        "only copies and tile products",
    ),
    "too few warps": (
        replaced("shape (128, 64, 64) first", "shape (64, 64, 64) first"),
        "64 rows of a tile product need 4 warps",
    ),
    "registers of one warp": (
        replaced('"producer" warps 8..9', '"producer" warps 8..9 registers 24'),
        "groups of 4 warps",
    ),
    "part of a tile": (replaced("box (128, 64) async", "box (64, 64) async"), "a whole tile"),
    "half of the accumulators": (replaced("box (128, 16)", "box (64, 16)"), "whole columns"),
    "a plain copy": (
        replaced("box (128, 64) async signal b6[v6]", "box (128, 64)"),
        "from accumulators only",
    ),
    "a prefetch": (replaced('barrier "warp"', 'prefetch b0[0, 0]\n barrier "warp"'), "no PTX"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_ptx_is_an_error_that_names_the_rule(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(CompileError, match=message):
        module_text((make(),), SM_90)
