"""Steps of LAPACK for x86-64: a function of a range of tasks, as kernels are.

Takes the description of a step (`ir/routines.py`), gives `void @libraryK(ptr frame, i64 begin,
i64 end)`: for each matrix of its tasks it copies what is copied and calls the Fortran functions,
whose addresses are in the context's table. The frame has the context, then the addresses of the
buffers. Numbers and letters are constants of the module: Fortran takes them by address.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyc.backends.x86_kernel import OFFSET
from pyc.ir.routines import PREFIX, ZERO_BYTES, Argument, Call, Description, Memory


class LibraryFunction:
    """Emits the function of one step. name: its own; slots: how many buffers there are; external:
    the number of a routine in the context's table, by its name."""

    def __init__(
        self, name: str, step: Description, slots: int, external: Callable[[str], int]
    ) -> None:
        self._name = name
        self._step = step
        self._slots = slots
        self._external = external
        self._lines: list[str] = []
        self._constants: dict[int | str, str] = {}
        self._count = 0

    def text(self) -> str:
        """The constants and the function."""
        self._line("br label %enter")
        table = self._entry()
        self._loops(table)
        constants = [
            f"{name} = internal constant {_constant(value)}"
            for value, name in self._constants.items()
        ]
        head = f"define hidden void @{self._name}(ptr %frame, i64 %begin, i64 %end) #0 {{"
        return "\n".join([*constants, head, "entry:", *self._lines, "}", ""])

    def _line(self, text: str) -> None:
        self._lines.append("  " + text)

    def _emit(self, text: str) -> str:
        self._count += 1
        self._line(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def _entry(self) -> dict[str, str]:
        """Loads what does not change; the address of each Fortran function."""
        self._lines.append("enter:")
        self._line("%context = load ptr, ptr %frame, align 8")
        for k in range(self._slots):
            at = self._emit(f"getelementptr i8, ptr %frame, i64 {8 * (k + 1)}")
            self._line(f"%b{k} = load ptr, ptr {at}, align 8")
        externals = self._emit(f"getelementptr i8, ptr %context, i64 {OFFSET['externals']}")
        table = self._emit(f"load ptr, ptr {externals}, align 8")
        found: dict[str, str] = {}
        for step in self._step.steps:
            if isinstance(step, Call) and step.function not in found:
                offset = 8 * self._external(PREFIX + step.function)
                at = self._emit(f"getelementptr i8, ptr {table}, i64 {offset}")
                found[step.function] = self._emit(f"load ptr, ptr {at}, align 8")
        return found

    def _loops(self, functions: dict[str, str]) -> None:
        """Over the tasks of the range, and the matrices of each: at least one."""
        tasks, matrices = self._step.tasks, self._step.matrices
        self._line("br label %task")
        self._lines.append("task:")
        self._line("%t = phi i64 [ %begin, %enter ], [ %following, %rest ]")
        self._line("%following = add nsw i64 %t, 1")
        for name, task in (("first", "%t"), ("last", "%following")):
            self._line(f"%{name}.m = mul nsw i64 {task}, {matrices}")
            self._line(f"%{name} = sdiv i64 %{name}.m, {tasks}")
        self._line("br label %matrix")
        self._lines.append("matrix:")
        self._line("%i = phi i64 [ %first, %task ], [ %next, %matrix ]")
        for step in self._step.steps:
            if isinstance(step, Call):
                self._call(functions[step.function], step.arguments)
            else:
                to, source = self._address(step.destination), self._address(step.source)
                self._line(f"call void @copy(ptr {to}, ptr {source}, i64 {step.nbytes})")
        self._line("%next = add nsw i64 %i, 1")
        self._line("%more = icmp slt i64 %next, %last")
        self._line("br i1 %more, label %matrix, label %rest")
        self._lines.append("rest:")
        self._line("%others = icmp slt i64 %following, %end")
        self._line("br i1 %others, label %task, label %done")
        self._lines.append("done:")
        self._line("ret void")

    def _call(self, function: str, arguments: Sequence[Argument]) -> None:
        """Calls a Fortran function: addresses, then the lengths of texts."""
        given = [f"ptr {self._argument(a)}" for a in arguments]
        given += ["i64 1" for a in arguments if isinstance(a, str)]
        self._line(f"call void {function}({', '.join(given)})")

    def _argument(self, a: Argument) -> str:
        if isinstance(a, Memory):
            return self._address(a)
        key = _ZERO if isinstance(a, float) else a
        return self._constants.setdefault(key, f"@{self._name}.c{len(self._constants)}")

    def _address(self, m: Memory) -> str:
        number = "%t" if m.of_task else "%i"
        offset = self._emit(f"mul nsw i64 {number}, {m.stride}")
        if m.offset:
            offset = self._emit(f"add nsw i64 {offset}, {m.offset}")
        return self._emit(f"getelementptr i8, ptr %b{m.slot}, i64 {offset}")


def _constant(value: int | str) -> str:
    """An i32, a letter, or the bytes of a zero."""
    if isinstance(value, int):
        return f"i32 {value}, align 4"
    if value == _ZERO:
        return f"[{ZERO_BYTES} x i8] zeroinitializer, align {ZERO_BYTES}"
    return f"i8 {ord(value)}, align 1"


_ZERO = "zero"
"""Stands for `ZERO` among the constants: as a number it would be the integer 0."""
