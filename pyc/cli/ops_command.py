"""`python -m pyc ops`: the operations that programs are made of, and the types that they take."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import pyc.ir.ops  # noqa: F401 - fills the table
from pyc.ir import dtype as dt
from pyc.ir.op import OPS, Kind, Op

GROUPS = {
    Kind.POINTWISE: "of elements",
    Kind.INDEX: "that move elements",
    Kind.REDUCE: "that reduce",
    Kind.CONTRACT: "products",
    Kind.KERNEL: "with a kernel of their own",
    Kind.LIBRARY: "calls of Python",
    Kind.CONTROL: "control flow",
}


def add_parser(commands: Any) -> None:
    """Adds `ops` to the command line."""
    parser = commands.add_parser("ops", help="the operations of programs, and their types")
    parser.add_argument("--markdown", action="store_true", help="as docs/ops.md")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the table."""
    if options.markdown:
        sys.stdout.write(markdown())
        return 0
    width = max(map(len, OPS))
    for kind, ops in grouped():
        print(f"operations {GROUPS[kind]}")
        for op in ops:
            print(f"  {op.name:{width}}  {' '.join(taken(op)) or 'any'}")
    return 0


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
        "# Operations",
        "",
        "Made by `python -m pyc ops --markdown`. Programs are Graphs of these operations;",
        "`pyc.numpy`, `pyc.lax` and operators are made of them. Each runs in the interpreters,",
        "on the CPU and on a GPU (what runs on the host there has the reason `fallback_host` or",
        "`placed_on_host`).",
        "",
        *(f"* {kind}: {names}" for kind, names in types.items()),
    ]
    for kind, ops in grouped():
        lines += ["", f"## Operations {GROUPS[kind]}", ""]
        lines.append(f"| operation | {' | '.join(kinds)} |")
        lines.append(f"| --- |{' --- |' * len(kinds)}")
        for op in ops:
            own = op.kinds.split() or kinds
            cells = ("x" if k in own else "" for k in kinds)
            lines.append(f"| `{op.name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
