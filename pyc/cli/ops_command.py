"""`python -m pyc ops`: the functions of `pyc.numpy`, the operations that programs are made of, the
types that they take, and where they run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import pyc.ir.ops  # noqa: F401 - fills the table
from pyc.cli import functions_table
from pyc.cli.places import Places, places_of
from pyc.ir import dtype as dt
from pyc.ir.op import OPS, Kind, Op

GROUPS = {
    Kind.POINTWISE: "of elements",
    Kind.INDEX: "that move elements",
    Kind.REDUCE: "that reduce",
    Kind.CONTRACT: "products",
    Kind.KERNEL: "with a kernel of their own",
    Kind.LIBRARY: "of LAPACK, and calls of Python",
    Kind.CONTROL: "control flow",
}


def add_parser(commands: Any) -> None:
    """Adds `ops` to the command line."""
    parser = commands.add_parser("ops", help="functions and operations, their types and devices")
    parser.add_argument("--markdown", action="store_true", help="as docs/ops.md")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the table."""
    if options.markdown:
        sys.stdout.write(markdown())
        return 0
    width = max(map(len, OPS))
    print("functions of pyc.numpy")
    for row in functions_table.rows():
        kinds = " ".join(row.kinds) or "no arrays"
        print(f"  {row.name:{width}}  {kinds:{FIVE}}  {_said(row.places)}")
    for kind, ops in grouped():
        print(f"operations {GROUPS[kind]}")
        for op in ops:
            print(f"  {op.name:{width}}  {' '.join(taken(op)) or 'any'}  {_said(places_of(op))}")
    return 0


FIVE = len("bool int uint float complex")
"""Characters of the names of all kinds."""


def _said(places: Places | None) -> str:
    return "" if places is None else f"CPU: {places.cpu}, GPU: {places.gpu}"


def _cells(places: Places | None) -> str:
    return " | " if places is None else f"{places.cpu} | {places.gpu}"


def grouped() -> Iterator[tuple[Kind, list[Op]]]:
    """The operations of each kind, by name."""
    for kind in GROUPS:
        yield kind, sorted((op for op in OPS.values() if op.kind is kind), key=lambda op: op.name)


def taken(op: Op) -> list[str]:
    """The element types that an operation takes; none where it says nothing of them."""
    kinds = op.kinds.split()
    return [dtype.name for dtype in dt.ALL if dtype.kind in kinds]


def markdown() -> str:
    """The table, as `docs/ops.md` has it."""
    kinds = [*dict.fromkeys(dtype.kind for dtype in dt.ALL)]
    types = {k: ", ".join(f"`{d.name}`" for d in dt.ALL if d.kind == k) for k in kinds}
    lines = [
        "# Functions and operations",
        "",
        "Made by `python -m pyc ops --markdown`. Programs are Graphs of operations; `pyc.numpy`,",
        "`pyc.lax` and operators are made of them. Each runs in the interpreters, on CPUs and on",
        "GPUs: where is in the columns CPU and GPU, of the Plans that are made for both.",
        "",
        "* `native`: kernels alone, compiled for the device.",
        "* `LAPACK`: native code that calls routines of the library.",
        "* `fallback_host`: a step that a GPU has no kernel for, or cannot launch, runs on the",
        "  host, all else on the GPU; reports of the program say which, and how many bytes are",
        "  copied. Of LAPACK: all but many small real matrices, which are a kernel; with",
        "  `pip install 'pyc-jit[cuda-linalg]'` most is cuSOLVER's, on the GPU.",
        "* `placed_on_host`: a step whose order leaves few threads at work runs on the host, as",
        "  long loops from one number to the next may, by their shapes.",
        "* `Python`: a call back into Python, on the host.",
        "",
        "Those of LAPACK take numbers of 32 and 64 bits a part.",
        "",
        *(f"* {kind}: {names}" for kind, names in types.items()),
        "",
        "## Functions of `pyc.numpy`",
        "",
        "The types are those of arrays that a function was traced with to make this page; in a row",
        "without any it takes numbers, functions, dtypes or arrays of several kinds. Where it runs",
        "is said of one of these types, or of numbers; nothing is of a function that changes its",
        "argument, or asks for more. NumPy's function of the same name, where there is one, does",
        "the same on traced values.",
        "",
        f"| function | NumPy | {' | '.join(kinds)} | CPU | GPU |",
        f"| --- | --- |{' --- |' * (len(kinds) + 2)}",
    ]
    for row in functions_table.rows():
        cells = ("x" if k in row.kinds else "" for k in kinds)
        theirs = "x" if row.is_numpys else ""
        lines.append(f"| `{row.name}` | {theirs} | {' | '.join(cells)} | {_cells(row.places)} |")
    for kind, ops in grouped():
        lines += ["", f"## Operations {GROUPS[kind]}", ""]
        lines.append(f"| operation | {' | '.join(kinds)} | CPU | GPU |")
        lines.append(f"| --- |{' --- |' * (len(kinds) + 2)}")
        for op in ops:
            own = op.kinds.split() or kinds
            cells = ("x" if k in own else "" for k in kinds)
            where = _cells(places_of(op))
            lines.append(f"| `{op.name}` | {' | '.join(cells)} | {where} |")
    return "\n".join(lines) + "\n"
