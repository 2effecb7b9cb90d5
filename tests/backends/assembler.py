"""The PTX assembler, and what it says of kernels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

PARTS = "nvidia.cuda_nvcc"
"""The package of the `test` extra that brings `ptxas`."""


@cache
def assembler() -> str | None:
    """The path of `ptxas`: from PTXAS, the installed package or the search path."""
    spec = find_spec(PARTS) if find_spec(PARTS.partition(".")[0]) else None
    places = [
        Path(place) / "bin" / "ptxas" for place in (spec and spec.submodule_search_locations) or ()
    ]
    installed = next((str(place) for place in places if place.exists()), None)
    return os.environ.get("PTXAS") or installed or shutil.which("ptxas")


@cache
def version() -> str:
    """Of the assembler, "12.9.86" say, as it says itself."""
    path = assembler()
    assert path is not None
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"V([\d.]+)", text)[0]


assembles = pytest.mark.skipif(assembler() is None, reason="no ptxas for this machine (set PTXAS)")


@dataclass(frozen=True)
class Usage:
    """What one kernel takes of a multiprocessor. spilled: bytes stored and loaded for want of
    registers; stack: bytes of a thread's local memory; shared: bytes of a block."""

    kernel: str
    registers: int
    spilled: int
    stack: int
    shared: int

    def __str__(self) -> str:
        return (
            f"{self.kernel}: {self.registers} registers, {self.stack} bytes of stack, "
            f"{self.spilled} spilled, {self.shared} shared"
        )


@dataclass(frozen=True)
class Assembled:
    """usages: of each kernel, in the order of the text; messages: all that was said."""

    usages: tuple[Usage, ...]
    messages: str


def assemble(ptx: str, arch: str, folder: Path) -> Assembled:
    """Machine code of a PTX module for a processor such as "sm_90a"; AssertionError: it is not
    accepted."""
    path = assembler()
    assert path is not None
    source = folder / "k.ptx"
    source.write_text(ptx)
    command = [path, "-v", f"-arch={arch}", "-O3", "-o", str(folder / "k.cubin"), str(source)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    messages = found.stdout + found.stderr
    assert found.returncode == 0, messages
    return Assembled(tuple(_usages(messages)), messages)


def _usages(messages: str) -> list[Usage]:
    found = {}
    for block in messages.split("Compiling entry function ")[1:]:
        (name,) = re.findall(r"^'(\w+)'", block)
        stack, *spills = re.findall(r"(\d+) bytes (?:stack|spill)", block)
        registers = re.findall(r"Used (\d+) registers", block)
        shared = re.findall(r"(\d+) bytes smem", block)
        found[name] = Usage(
            *(name, int(registers[0]), sum(map(int, spills)), int(stack)),
            int(shared[0]) if shared else 0,
        )
    return [found[name] for name in sorted(found)]
