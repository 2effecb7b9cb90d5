"""What a report holds: plain records, section by section, without a reference to what they are of.

Numbers are bytes, counts or seconds; places are (file, line) in the user's code with its text. None
stands for what is not known, such as a time that was not measured.
"""

from __future__ import annotations

from typing import Any

from pyc.frozen import frozen


@frozen()
class Line:
    """A line of the user's code. place: `file:line`; text: of the line, empty if there is none."""

    place: str
    text: str


@frozen()
class Argument:
    """Something that a call depends on. kind: how it enters the program; note: what to know of
    it."""

    name: str
    type: str
    kind: str
    note: str = ""


@frozen()
class Note:
    """A reason with its code: `name` is that of the `Reason`; details: of this occurrence."""

    code: str
    name: str
    meaning: str
    remedy: str
    details: str = ""
    line: Line | None = None


@frozen()
class Signature:
    """arguments: of the call; captured: read from outside; guards: looked at before each call, with
    their values; results: paths and types."""

    text: str
    device: str
    target: str
    arguments: tuple[Argument, ...]
    captured: tuple[Argument, ...]
    guards: tuple[str, ...]
    results: tuple[tuple[str, str], ...]


@frozen()
class Purity:
    """mode: "strict", "warn" or "off"; found: warnings of a mode that goes on."""

    mode: str
    found: tuple[str, ...]


@frozen()
class LoopRow:
    """A loop or a branch of the user. became: in words; note: the reason, if one was recorded."""

    line: Line
    became: str
    note: Note | None = None


@frozen()
class Joined:
    """What became one kernel, or several launches in a row. kernels: names; rows: lines of the user
    with the operations of each; count: operations in all."""

    kernels: tuple[str, ...]
    rows: tuple[tuple[Line, tuple[str, ...]], ...]
    count: int


@frozen()
class Boundary:
    """Why two kernels are two: `reader` reads what `maker` makes."""

    maker: str
    reader: str
    note: Note


@frozen()
class Fusion:
    """joined: in the order of the program; boundaries: between kernels that read from each other;
    decisions: values that were stored, loops over whole arrays."""

    joined: tuple[Joined, ...]
    boundaries: tuple[Boundary, ...]
    decisions: tuple[Note, ...]


@frozen()
class KernelRow:
    """One launch. often: how often it runs in a call, in words; loads, stores: elements; read,
    written: bytes; flops: by type; repeated: flops of one iteration of a loop whose length depends
    on data; bound: seconds, None if it is not known; limit: what the bound comes from; measured:
    seconds, None if that was not asked for."""

    name: str
    often: str
    loads: int
    stores: int
    read: int
    written: int
    flops: dict[str, int]
    repeated: dict[str, int]
    exact: bool
    schedule: str
    choice: str
    bound: float | None
    limit: str
    measured: float | None = None

    @property
    def share(self) -> float | None:
        """The part of the bound that was reached: 1 is all that the machine can do. None where the
        bound leaves out what is repeated, and for times too short to be measured."""
        if self.bound is None or not self.measured or self.repeated:
            return None
        return self.bound / self.measured


@frozen()
class Kernels:
    """rows: by number; machine: of the ceilings, empty if there are none; program: the measured
    seconds of a run of all, started from Python; problem: why nothing was measured, though that was
    asked for."""

    rows: tuple[KernelRow, ...]
    machine: str
    program: float | None = None
    problem: str = ""


@frozen()
class BufferRow:
    """Memory of a call. first, last: the steps between which it is alive; use: what it holds."""

    name: str
    nbytes: int
    place: str
    offset: int
    first: int
    last: int
    use: str


@frozen()
class Memory:
    """Bytes of a call by use, and its buffers. in_place: kernels that write where they read, in
    words; copies: of whole buffers, each with its reason; donated: arguments that results take
    over, and those that none could."""

    peak: int
    lower_bound: int
    requested: int
    arguments: int
    results: int
    constants: int
    donated: int
    buffers: tuple[BufferRow, ...]
    in_place: tuple[str, ...]
    copies: tuple[Note, ...]
    others: tuple[Note, ...]


@frozen()
class Promotion:
    """A value that was converted to a wider type. operation: what needed it."""

    line: Line
    before: str
    after: str
    operation: str


@frozen()
class Cache:
    """What a call would find. process: whether this process has the program; disk: whether the disk
    has; note: why not; nearest: fields that differ from the nearest entry; seconds: what compiling
    it, or the nearest, took; compiled: why it is compiled, None if it is not."""

    key: str
    process: bool
    disk: bool
    note: Note | None
    nearest: tuple[tuple[str, str, str], ...]
    seconds: float | None
    compiled: Note | None


@frozen()
class Refusal:
    """What a call would raise. stage: where; message, advice: of the error; shown: its full text;
    code: empty for errors that are not pyc's."""

    stage: str
    error: str
    code: str
    message: str
    advice: str
    line: Line | None
    shown: str


def plain(value: Any) -> Any:
    """Records as dicts, tuples as lists: what JSON holds."""
    if hasattr(type(value), "__match_args__"):
        return {name: plain(getattr(value, name)) for name in type(value).__match_args__}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return value
