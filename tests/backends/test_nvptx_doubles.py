"""Products of float64 by tensor cores: each lane reads the elements that the instruction wants,
from where the copies put them, without bank conflicts for b."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc.backends.nvptx import module_text, ptx
from pyc.backends.nvptx_doubles import _Fragments
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.loops import Kernel
from pyc.ir.target import SM_90, nvptx
from pyc.ir.types import ArrayType
from pyc.ir.verify_kernel import verify
from pyc.kernels.matmul_tiles import Dimensions, matmul_tiles, refusal_of_tiles
from tests.backends.assembler import assemble, assembles

PLAIN: Dimensions = (((1,), (0,)), ((), ()))
FIRST: Dimensions = (((0,), (0,)), ((), ()))
LAST: Dimensions = (((1,), (1,)), ((), ()))
BOTH: Dimensions = (((0,), (1,)), ((), ()))
LAYOUTS = {"ik,kj": PLAIN, "ki,kj": FIRST, "ik,jk": LAST, "ki,jk": BOTH}
ROWS = 128


def product(layout: str, m: int, n: int, k: int) -> Kernel:
    a, b = (tuple({"i": m, "j": n, "k": k}[c] for c in part) for part in layout.split(","))
    types = ArrayType(a, dt.f64), ArrayType(b, dt.f64)
    assert not refusal_of_tiles(types, LAYOUTS[layout], SM_90)
    return matmul_tiles(types, SM_90, dimensions=LAYOUTS[layout])


class Calculator:
    """A builder whose registers are numbers: what is emitted is computed. Of a load the address is
    kept, of the second element of a pair eight bytes more."""

    root = None

    def emit(self, text: str, scope: object = None) -> str:
        name, _, rest = text.partition(" ")
        numbers = [int(word) for word in rest.replace(",", "").split() if word.isdigit()]
        if name == "getelementptr":
            return str(numbers[-1])
        if name == "load":
            return rest.split(",")[1].split()[-1]
        x, y = numbers[-2:]
        found = {"add": x + y, "xor": x ^ y, "and": x & y, "extractelement": x + 8 * y}
        return str(found[name] if name in found else x << y if name == "shl" else x >> y)


def fragments(g: int, t: int, b_by_terms: bool) -> _Fragments:
    emitter: Any = SimpleNamespace(builder=Calculator())
    return _Fragments(emitter, "%tile", str(g), str(t), b_by_terms)


def place(row: int, column: int, rows: int) -> int:
    """Where the copies put an element of a tile: panels of 128 bytes, swizzled."""
    panel, inner = divmod(column, 16)
    return (panel * rows + row) * 128 + ((inner // 2) ^ (row % 8)) * 16 + inner % 2 * 8


def term(t: int, j: int, b_by_terms: bool) -> int:
    return 4 * t + j if b_by_terms else 2 * t + j % 2 + 8 * (j // 2)


@pytest.mark.parametrize("b_by_terms", [True, False])
def test_each_lane_reads_its_part_of_both_operands(b_by_terms: bool) -> None:
    assert sorted(term(t, j, b_by_terms) for t in range(4) for j in range(4)) == [*range(16)]
    for lane in range(32):
        g, t = divmod(lane, 4)
        read = fragments(g, t, b_by_terms)
        terms = [term(t, j, b_by_terms) for j in range(4)]
        for block in range(12):
            along, across = (
                read.by_terms(8 * block, "0"),
                read.by_columns(block // 2, block % 2, "0"),
            )
            at = 8 * block + g
            assert along == [str(place(at, k, ROWS)) for k in terms]
            assert across == [str(place(k, at, 16)) for k in terms]
        warp = 5 * 16 * 128
        assert read.by_terms(8, str(warp)) == [str(place(88 + g, k, ROWS)) for k in terms]
        assert read.by_columns(0, 1, str(warp)) == [str(place(k, 88 + g, 16)) for k in terms]


@pytest.mark.parametrize(("b_by_terms", "size"), [(True, 16), (False, 8)])
def test_reads_of_b_meet_no_bank_conflict(b_by_terms: bool, size: int) -> None:
    for number in range(0, 4, size // 8):
        together = 128 // size
        for first in range(0, 32, together):
            banks: set[int] = set()
            for lane in range(first, first + together):
                read = fragments(*divmod(lane, 4), b_by_terms)
                found = read.by_terms(8, "0") if b_by_terms else read.by_columns(1, 1, "0")
                banks.update((int(found[number]) + 4 * w) // 4 % 32 for w in range(size // 4))
            assert len(banks) == 32


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_are_right_and_race_free(layout: str) -> None:
    kernel = product(layout, 66, 98, 36)
    verify(kernel, scheduled=True)
    rng = np.random.default_rng(0)
    x, y = (
        rng.standard_normal([e for e in b.shape if isinstance(e, int)]) for b in kernel.buffers[:2]
    )
    out = np.zeros((66, 98))
    simulate.run(kernel, [x, y, out])
    np.testing.assert_allclose(out, np.einsum(f"{layout}->ij", x, y), rtol=1e-12, atol=1e-12)


def test_the_instruction_is_there_and_halves_are_not() -> None:
    text, (launch,) = module_text((product("ik,kj", 4096, 4096, 64),), SM_90)
    code = ptx(text, SM_90)
    assert code.count("mma.sync.aligned.m16n8k16.row.col.f64") == 12, "96 columns"
    assert "wgmma" not in code and launch.shared_bytes > 48 << 10
    assert refusal_of_tiles((ArrayType((64, 64), dt.f64),) * 2, PLAIN, nvptx(80))


@assembles
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_is_spilled(layout: str, tmp_path: Path) -> None:
    code = ptx(module_text((product(layout, 4096, 4096, 64),), SM_90)[0], SM_90)
    (usage,) = assemble(code, "sm_90a", tmp_path).usages
    assert not usage.spilled and not usage.stack
