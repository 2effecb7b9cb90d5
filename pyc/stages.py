"""The stages of a jitted function that a user may look at: `f.lower(*args)`, `f.compile(*args)`."""

from __future__ import annotations

from typing import Any

from pyc.entries import given_at_trace
from pyc.errors import TraceError
from pyc.ir.graph import Graph
from pyc.lowered import CostAnalysis, MemoryAnalysis
from pyc.programs import Programs
from pyc.signature import Call
from pyc.trace import location


class Lowered:
    """The optimised program of one signature, and its plan."""

    def __init__(self, programs: Programs, call: Call) -> None:
        self._programs = programs
        self._call = call
        self.traced = programs.traced(call)
        leaves = [*call.leaves, *given_at_trace(self.traced)]
        self._program = programs.lowered(self.traced, leaves)

    def __repr__(self) -> str:
        return f"<lowered {self._programs.signature.text(self._call)}>"

    @property
    def graph(self) -> Graph:
        """The Graph after all passes."""
        return self._program.graph

    @property
    def kernels(self) -> tuple[Any, ...]:
        """The scheduled kernels."""
        return self._program.kernels

    @property
    def plan(self) -> Any:
        """The steps and buffers."""
        return self._program.plan

    @property
    def decisions(self) -> tuple[Any, ...]:
        """What was fused, stored, copied and moved to the host, each with its reason."""
        return self._program.decisions

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._program.name

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the graph's parameters."""
        return self._program.arguments

    @property
    def key_document(self) -> dict[str, Any]:
        """What the cache key is made of."""
        return self._program.key_document

    @property
    def target_facts(self) -> dict[str, Any]:
        """The facts of the target that the code relies on."""
        return self._program.target_facts

    def as_text(self, stage: str = "graph") -> str:
        """The text of a level ("traced", "graph", "logical", "kernels" or "plan"), or of the
        "decisions" that made it so."""
        return self._program.as_text(stage)

    def memory_analysis(self) -> MemoryAnalysis:
        """Bytes of one call by use; the peak is what a call allocates."""
        return self._program.memory_analysis()

    def cost_analysis(self) -> CostAnalysis:
        """Kernels, least bytes moved and instructions."""
        return self._program.cost_analysis()

    def compile(self) -> Compiled:
        """The compiled program."""
        return Compiled(self._programs, self._call)


class Compiled:
    """The compiled program of one signature."""

    def __init__(self, programs: Programs, call: Call) -> None:
        self._programs = programs
        self._key = call.key
        self._entry, _ = programs.entry(call)
        self.traced = self._entry.traced
        self.program = self._entry.program

    def __repr__(self) -> str:
        return f"<compiled {self._entry.text}>"

    @location.trimmed
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result for arguments of this signature; TraceError for other ones, and where what
        the function reads from outside has changed."""
        call = self._programs.signature.call(args, kwargs)
        if call.key != self._key:
            raise TraceError(
                f"this program was compiled for {self._entry.text}, "
                f"it is called as {self._programs.signature.text(call)}",
                fix=f"Call `{self._programs.name}` itself: it compiles for each signature.",
                place=location.here(),
            )
        return self._entry.run(call.leaves, self._hidden(call))

    def arrays(self, /, *args: Any, **kwargs: Any) -> list[Any]:
        """The arrays that the Graph's parameters take from these arguments, in order."""
        call = self._programs.signature.call(args, kwargs)
        return self._entry.arrays(call.leaves, self._hidden(call))

    def _hidden(self, call: Call) -> list[Any]:
        found = self._entry.hidden(call)
        if found is None:
            raise self._entry.other_values(call)
        return found

    @property
    def key(self) -> str:
        """The key of its cache entry."""
        return self.program.key

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by pass, of what was run in this process."""
        return self.program.timings

    @property
    def llvm(self) -> str:
        """The text of LLVM's intermediate language, for a processor."""
        return self.as_text("llvm")

    @property
    def asm(self) -> str:
        """The assembly text, for a processor."""
        return self.as_text("asm")

    @property
    def ptx(self) -> str:
        """The PTX text, for a GPU."""
        return self.as_text("ptx")

    def as_text(self, stage: str = "llvm") -> str:
        """The text of a level: those of `Lowered`, "llvm" and "asm"."""
        return self.program.as_text(stage)

    def memory_analysis(self) -> MemoryAnalysis:
        """Bytes of one call by use; the peak is what a call allocates."""
        return self.program.memory_analysis()

    def cost_analysis(self) -> CostAnalysis:
        """Kernels, least bytes moved and instructions."""
        return self.program.cost_analysis()
