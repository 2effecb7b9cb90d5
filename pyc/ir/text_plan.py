"""The text of a Plan: `print_plan` and `parse_plan`, inverse to each other.

    plan   = 'plan peak' N 'lower_bound' N '{' line* step* '}'
    line   = 'kernel' N STRING                     the bodies of kernels are texts of their own
           | 'buffer' b0 ':' N 'bytes at' place N ['scalar'] ['donated'] ['alive' N '..' N]
           | 'arguments' b0, ...  |  'results' b0, ...
           | 'given' N
           | 'constants' 0x...
           | 'site' N STRING 'equation' N
    size   = N | 'given' N
    place  = argument | result | arena | constant
    step   = 'launch' N STRING ['on host'] '(' b0, ... ')' ['sizes (' size, ... ')']
           | 'library' STRING '(' b0, ... ')' ['integers (' N, ... ')']
           | 'loop while' b0 ['rotate' b1 '<->' b2, ...] '{' step* '} {' step* '}'
           | 'branch' b0 '{' step* '} {' step* '}' ...
           | 'copy' b0 '<-' b1

The first braces of a loop hold its condition, the second its body; those of a branch are its cases.
Takes a Plan, or a text and the kernels that it names by number and name; ValueError gives the line
where a text does not parse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pyc.ir.loops import Kernel
from pyc.ir.plan import (
    Branch,
    Copy,
    Given,
    Launch,
    Library,
    Loop,
    Place,
    Plan,
    PlanBuffer,
    Site,
    Step,
)
from pyc.ir.tokens import TokenReader, quoted, unquoted

T = TypeVar("T")


# --- printing -------------------------------------------------------------------------------------


def print_plan(plan: Plan) -> str:
    """The text of a plan, ending in a newline."""
    lines = [f"plan peak {plan.peak} lower_bound {plan.lower_bound} {{"]
    lines += [f"  kernel {k} {_quoted(x.name)}" for k, x in enumerate(plan.kernels)]
    lines += [f"  buffer b{k}: {_buffer(b)}" for k, b in enumerate(plan.buffers)]
    lines.append(f"  arguments {_slots(plan.arguments)}".rstrip())
    lines.append(f"  results {_slots(plan.results)}".rstrip())
    if plan.given:
        lines.append(f"  given {plan.given}")
    if plan.constants:
        lines.append(f"  constants 0x{plan.constants.hex()}")
    lines += [
        f"  site {k} {_quoted(s.rule)} equation {s.equation}" for k, s in enumerate(plan.sites)
    ]
    lines += [f"  {line}" for line in _steps(plan, plan.steps)]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return quoted(text)


def _slots(slots: Sequence[int]) -> str:
    return ", ".join(f"b{k}" for k in slots)


def _buffer(buffer: PlanBuffer) -> str:
    scalar = " scalar" if buffer.scalar else ""
    alive = f" alive {buffer.first}..{buffer.last}" if buffer.first or buffer.last else ""
    facts = scalar + (" donated" if buffer.donated else "") + alive
    return f"{buffer.nbytes} bytes at {buffer.place.value} {buffer.index}{facts}"


def _integers(word: str, values: Sequence[int]) -> str:
    return f" {word} ({', '.join(map(str, values))})" if values else ""


def _sizes(sizes: Sequence[int | Given]) -> str:
    texts = [f"given {n.number}" if isinstance(n, Given) else str(n) for n in sizes]
    return f" sizes ({', '.join(texts)})" if texts else ""


def _block(plan: Plan, steps: Sequence[Step]) -> list[str]:
    return ["{", *(f"  {line}" for line in _steps(plan, steps)), "}"]


def _joined(head: str, blocks: Sequence[list[str]]) -> list[str]:
    """`head { ... } { ... }` over several lines."""
    lines = [head]
    for block in blocks:
        lines[-1] += f" {block[0]}"
        lines += block[1:]
    return lines


def _steps(plan: Plan, steps: Sequence[Step]) -> list[str]:
    lines: list[str] = []
    for step in steps:
        if isinstance(step, Launch):
            known = step.kernel < len(plan.kernels)
            name = f"{step.kernel} {_quoted(plan.kernels[step.kernel].name if known else '?')}"
            name += " on host " if step.host else ""
            lines.append(f"launch {name}({_slots(step.slots)}){_sizes(step.sizes)}")
        elif isinstance(step, Library):
            called = f"library {_quoted(step.routine)}({_slots(step.slots)})"
            lines.append(called + _integers("integers", step.integers))
        elif isinstance(step, Copy):
            lines.append(f"copy b{step.destination} <- b{step.source}")
        elif isinstance(step, Loop):
            swaps = ", ".join(f"b{a} <-> b{b}" for a, b in step.rotate)
            times = "" if step.times is None else f" times {step.times}"
            head = f"loop while b{step.flag}{times}{f' rotate {swaps}' if swaps else ''}"
            lines += _joined(head, [_block(plan, step.condition), _block(plan, step.body)])
        else:
            lines += _joined(f"branch b{step.index}", [_block(plan, c) for c in step.cases])
    return lines


# --- parsing --------------------------------------------------------------------------------------

_TOKEN = r"""(?P<skip>\s+|\#[^\n]*)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<bytes>0x[0-9a-f]*)
      | (?P<slot>b\d+\b)
      | (?P<number>-?\d+)
      | (?P<word>[a-z_]+)
      | (?P<sign><->|<-|\.\.|[(){},:])
    """


def parse_plan(text: str, kernels: Sequence[Kernel]) -> Plan:
    """The plan that `text` is, over `kernels`, which must be those it names, in order.

    raises ValueError: names the line and what was expected there
    """
    return _Parser(text, kernels).plan()


class _Parser(TokenReader):
    def __init__(self, text: str, kernels: Sequence[Kernel]) -> None:
        super().__init__(text, _TOKEN)
        self._kernels = tuple(kernels)

    def plan(self) -> Plan:
        self._words("plan", "peak")
        peak = self._number()
        self._words("lower_bound")
        lower_bound = self._number()
        self._words("{")
        for k, kernel in enumerate(self._kernels):
            self._words("kernel", str(k), _quoted(kernel.name))
        buffers: list[PlanBuffer] = []
        while self._skip("buffer"):
            self._words(f"b{len(buffers)}", ":")
            buffers.append(self._buffer())
        self._buffers = len(buffers)
        self._words("arguments")
        arguments = self._slots()
        self._words("results")
        results = self._slots()
        given = self._number() if self._skip("given") else 0
        constants = b""
        if self._skip("constants"):
            constants = bytes.fromhex(self._token("bytes", "bytes")[2:])
        sites: list[Site] = []
        while self._skip("site"):
            self._words(str(len(sites)))
            rule = unquoted(self._token("string", "a rule"))
            self._words("equation")
            sites.append(Site(rule, self._number()))
        steps = self._steps()
        self._words("}")
        if self._kind:
            raise self._error("the end")
        return Plan(
            kernels=self._kernels,
            buffers=tuple(buffers),
            steps=steps,
            arguments=arguments,
            results=results,
            peak=peak,
            lower_bound=lower_bound,
            constants=constants,
            sites=tuple(sites),
            given=given,
        )

    def _buffer(self) -> PlanBuffer:
        nbytes = self._number()
        self._words("bytes", "at")
        if self._text not in {p.value for p in Place}:
            raise self._error("a place")
        place = Place(self._token("word", "a place"))
        index = self._number()
        scalar = self._skip("scalar")
        donated = self._skip("donated")
        first = last = 0
        if self._skip("alive"):
            first = self._number()
            self._words("..")
            last = self._number()
        return PlanBuffer(nbytes, place, index, scalar, first, last, donated)

    def _steps(self) -> tuple[Step, ...]:
        readers: dict[str, Callable[[], Step]] = {
            "launch": self._launch,
            "library": self._library,
            "loop": self._loop,
            "branch": self._branch,
            "copy": self._copy,
        }
        steps: list[Step] = []
        while self._text in readers:
            word = self._text
            self._advance()
            steps.append(readers[word]())
        return tuple(steps)

    def _block(self) -> tuple[Step, ...]:
        self._words("{")
        steps = self._steps()
        self._words("}")
        return steps

    def _launch(self) -> Step:
        kernel = self._number()
        if not 0 <= kernel < len(self._kernels):
            raise self._error(f"one of {len(self._kernels)} kernels before this")
        self._words(_quoted(self._kernels[kernel].name))
        host = self._skip("on")
        if host:
            self._words("host")
        self._words("(")
        slots = self._slots()
        self._words(")")
        sizes: tuple[int | Given, ...] = ()
        if self._skip("sizes"):
            self._words("(")
            sizes = self._listed(self._size)
            self._words(")")
        return Launch(kernel, slots, sizes, host)

    def _size(self) -> int | Given:
        return Given(self._number()) if self._skip("given") else self._number()

    def _library(self) -> Step:
        routine = unquoted(self._token("string", "the name of a routine"))
        self._words("(")
        slots = self._slots()
        self._words(")")
        return Library(routine, slots, self._integers("integers"))

    def _loop(self) -> Step:
        self._words("while")
        flag = self._slot()
        times = int(self._token("number", "how often")) if self._skip("times") else None
        rotate = self._listed(self._swap) if self._skip("rotate") else ()
        condition = self._block()
        return Loop(condition, flag, self._block(), rotate, times)

    def _swap(self) -> tuple[int, int]:
        first = self._slot()
        self._words("<->")
        return first, self._slot()

    def _branch(self) -> Step:
        index = self._slot()
        cases = [self._block()]
        while self._text == "{":
            cases.append(self._block())
        return Branch(index, tuple(cases))

    def _copy(self) -> Step:
        destination = self._slot()
        self._words("<-")
        return Copy(destination, self._slot())

    # --- tokens -----------------------------------------------------------------------------------

    def _listed(self, read: Callable[[], T]) -> tuple[T, ...]:
        items = [read()]
        while self._skip(","):
            items.append(read())
        return tuple(items)

    def _slots(self) -> tuple[int, ...]:
        return self._listed(self._slot) if self._kind == "slot" else ()

    def _integers(self, word: str) -> tuple[int, ...]:
        if not self._skip(word):
            return ()
        self._words("(")
        values = self._listed(self._number)
        self._words(")")
        return values

    def _slot(self) -> int:
        text = self._text
        if self._kind != "slot" or int(text[1:]) >= self._buffers:
            raise self._error("a buffer")
        self._advance()
        return int(text[1:])

    def _number(self) -> int:
        return int(self._token("number", "a number"))

    def _token(self, kind: str, expected: str) -> str:
        text = self._text
        if self._kind != kind:
            raise self._error(expected)
        self._advance()
        return text
