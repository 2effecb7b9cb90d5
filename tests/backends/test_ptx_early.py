"""Kernels that begin early wait first, and read nothing by the read-only path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyc.backends.launching import BEGIN, WAIT
from pyc.backends.nvptx import module_text, ptx
from pyc.backends.ptx_early import EARLY_BLOCKS, EARLY_BYTES
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
def test_nothing_is_read_or_written_before_waiting(name: str) -> None:
    text, early = texts(*PROGRAMS[name], SM_90)
    found = entries(text)
    assert len(found) <= len(early) and all(early)
    for body in found:
        before, after = body.split(f"\t{WAIT}\n")
        assert before.count(BEGIN) == 1 and BEGIN not in after
        done = [line.split()[0] for line in before.splitlines() if line.strip()]
        memory = ("ld.global", "ld.shared", "st.", "atom", "red", "cp.", "bar", "mbarrier", "call")
        assert not any(word.startswith((*memory, "@", "$", "bra")) for word in done)
        assert "mov.u32" in done and not re.search(r"^\t\.(reg|shared)", after, re.MULTILINE)
        assert "ld.global.nc" not in body and "begin inline asm" not in body


@assembles
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_assembles(name: str, tmp_path: Path) -> None:
    text, _ = texts(*PROGRAMS[name], SM_90)
    assert assemble(text, SM_90.cpu, tmp_path).usages


LARGE: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "blocks": (lambda x: x + 1, (EARLY_BLOCKS, 1024), (EARLY_BLOCKS, 1025)),
    "bytes": (PROGRAMS["rows"][0], (32, EARLY_BYTES >> 8), (32, (EARLY_BYTES >> 8) + 1)),
}


@pytest.mark.parametrize("name", LARGE)
def test_long_kernels_have_ordinary_launches(name: str) -> None:
    function, most, more = LARGE[name]
    text, early = texts(function, most, SM_90)
    assert early == [True] and WAIT in text
    text, early = texts(function, more, SM_90)
    assert True not in early and WAIT not in text and "ld.global.nc" in text


def test_older_devices_have_ordinary_launches() -> None:
    text, early = texts(lambda x: x + 1, (8, 8), nvptx(80))
    assert early == [False] and WAIT not in text and "ld.global.nc" in text
