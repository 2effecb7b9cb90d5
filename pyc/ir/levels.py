"""What users do with any level: read its text, check it."""

from __future__ import annotations

from collections.abc import Sequence

from pyc.ir.graph import Graph
from pyc.ir.loops import Kernel
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.plan import Plan
from pyc.ir.text_graph import parse_graph
from pyc.ir.text_plan import parse_plan
from pyc.ir.verify_graph import verify_graph
from pyc.ir.verify_kernel import verify as verify_kernel
from pyc.ir.verify_plan import verify_plan


def parse(text: str, kernels: Sequence[Kernel] = ()) -> Graph | Kernel | Plan:
    """The Graph, Kernel or Plan that `text` is the text of. kernels: those that a Plan names.

    raises ValueError: it is none, with the line where it does not parse
    """
    first = text.split(maxsplit=1)[:1]
    if first and first[0].startswith("graph("):
        return parse_graph(text)
    if first == ["kernel"]:
        return parse_kernel(text)
    if first == ["plan"]:
        return parse_plan(text, kernels)
    raise ValueError(
        "the text of a Graph begins with `graph(`, of a Kernel with `kernel`, of a Plan with "
        f"`plan`, this one with {text[:20]!r}"
    )


def verify(program: Graph | Kernel | Plan) -> None:
    """Nothing, for a program that keeps the rules of its level.

    raises VerificationError: it does not; the text names what is wrong, a note has the program
    """
    if isinstance(program, Graph):
        verify_graph(program)
    elif isinstance(program, Kernel):
        verify_kernel(program)
    else:
        verify_plan(program)
