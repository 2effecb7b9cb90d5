"""Kernels that begin early wait first, and read nothing by the read-only path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyc.backends.nvptx import module_text, ptx
from pyc.backends.ptx_early import EARLY_BYTES, WAIT
from pyc.frozen import replace
from pyc.ir.target import SM_90, Target, nvptx
from pyc.jit import jit
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.backends.assembler import assemble, assembles

PROGRAMS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "pointwise": (lambda x: np.exp(x) + 1, (300, 7)),
    "rows": (lambda x: x - x.max(axis=1, keepdims=True), (64, 100)),
    "columns": (lambda x: x.sum(axis=0), (700, 33)),
    "product": (lambda x: x.T @ x, (40, 24)),
    "sort": (lambda x: np.sort(x, axis=1), (5, 12)),
    "gather": (lambda x: x[np.array([3, 1, 2]), 1:], (9, 9)),
}


def texts(function: Any, shape: tuple[int, ...], target: Target) -> tuple[str, list[bool]]:
    """The PTX of a function of one array, and which of its kernels begin early."""
    graph = optimise(jit(function).trace(np.ones(shape, np.float32)).graph)
    kernels = plan(graph, target).plan.kernels
    text, launches = module_text(kernels, target)
    return ptx(text, target), [launch.early for launch in launches]


def entries(text: str) -> list[str]:
    """What stands between the braces of each entry."""
    return re.findall(r"^\{\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", PROGRAMS)
def test_waiting_is_the_first_instruction(name: str) -> None:
    text, early = texts(*PROGRAMS[name], SM_90)
    found = entries(text)
    assert len(found) == len(set(early)) or len(found) <= len(early)
    assert all(early)
    for body in found:
        declared, instructions = body.split(f"\t{WAIT}\n")
        assert all(re.match(r"\t\.(reg|shared)|\t//|$", x) for x in declared.splitlines())
        assert not re.search(r"^\t\.(reg|shared)", instructions, re.MULTILINE)
        assert "ld.global.nc" not in body and "begin inline asm" not in body


@assembles
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_assembles(name: str, tmp_path: Path) -> None:
    text, _ = texts(*PROGRAMS[name], SM_90)
    assert assemble(text, SM_90.cpu, tmp_path).usages


def test_long_kernels_and_older_devices_have_ordinary_launches() -> None:
    rows = EARLY_BYTES // (2 * 4 * 64)
    same, early = texts(lambda x: x + 1, (rows, 64), SM_90)
    assert early == [True] and WAIT in same
    larger, early = texts(lambda x: x + 1, (rows + 1, 64), SM_90)
    assert early == [False] and WAIT not in larger and "ld.global.nc" in larger
    older, early = texts(lambda x: x + 1, (8, 8), nvptx(80))
    assert early == [False] and WAIT not in older and "ld.global.nc" in older
    assert replace(SM_90, early_launch=False) != SM_90
