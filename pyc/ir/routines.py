"""Routines of LAPACK as steps of a Plan: what a `Library` step of theirs does, as data.

    routine    "lapack.dgetrf": the routine of that name, for a batch of matrices
    slots      buffers of the arguments, of the results, then workspace
    integers   tasks, matrices, then the sizes that the routine's entry in `_ROUTINES` takes

`describe` spells a step out: what is moved and which Fortran functions are called for each matrix,
and with which memory. Native code, and the interpreter of Plans, do just that. Matrices are stored
by columns, as Fortran has them: an array (..., n, m) of m by n matrices, transposed. Those of a
batch lie one behind the other. Task t of T has the matrices from t * count // T on, and a workspace
of its own, so that what is computed does not depend on who runs which task.

Fortran takes every argument by address; the lengths of texts follow behind the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2
from typing import Union

from pyc.frozen import frozen, replace
from pyc.ir.plan import ALIGNMENT, Library, Place, Plan, PlanBuffer

PREFIX = "lapack."
TASK_FLOPS = 250_000
"""Operations that are worth a task of their own: some 50 us of small matrices."""
MOST_TASKS = 64
WORKSPACE_BYTES = 64 << 20
"""Bytes of workspace from which there are fewer tasks."""

_BLOCK = 64
"""Columns that are treated at once: what LAPACK uses is 32 or 64."""


@frozen()
class Memory:
    """Memory of one matrix in buffer `slot`, `stride` bytes behind that of the matrix before; or,
    of workspace, of the task before. offset: where it begins, in bytes."""

    slot: int
    stride: int
    of_task: bool = False
    offset: int = 0


ZERO = 0.0
"""A number of any type: bytes that are 0."""
ZERO_BYTES = 16

Argument = Union[Memory, int, str, float]
"""Memory, or the address of an i32, of a letter or of `ZERO`."""


@frozen()
class Call:
    """Calls a Fortran function."""

    function: str
    arguments: tuple[Argument, ...]


@frozen()
class Move:
    """Copies nbytes, which do not overlap unless they are the same."""

    destination: Memory
    source: Memory
    nbytes: int


@frozen()
class Description:
    """A step: `tasks` tasks share `matrices` matrices; `steps` are done for each. given: how many
    slots are arguments; slots: how many are not workspace; workspace: bytes of each slot of it for
    one task."""

    tasks: int
    matrices: int
    steps: tuple[Call | Move, ...]
    given: int
    slots: int
    workspace: tuple[int, ...]

    @property
    def roles(self) -> tuple[str, ...]:
        """What is done to each slot: "in", "out" or, to workspace, "work"."""
        results = self.slots - self.given
        return ("in",) * self.given + ("out",) * results + ("work",) * len(self.workspace)


def alone(plan: Plan, step: Library) -> Plan:
    """A Plan of one step of `plan`, whose buffers are all the caller's."""
    places = tuple(range(len(step.slots)))
    sizes = [plan.buffers[slot].nbytes for slot in step.slots]
    buffers = tuple(PlanBuffer(n, Place.ARGUMENT, k) for k, n in enumerate(sizes))
    return Plan((), buffers, (replace(step, slots=places),), places, ())


class _Steps:
    """The steps for a matrix of one type, in the making. letter: s, d, c or z; item, real: bytes
    of an element and of its parts."""

    def __init__(self, letter: str, slots: int) -> None:
        self.letter = letter
        self.is_complex = letter in "cz"
        self.real = 4 if letter in "sc" else 8
        self.item = 2 * self.real if self.is_complex else self.real
        self.done: list[Call | Move] = []
        self.workspace: list[int] = []
        self._slots = slots

    def at(self, slot: int, elements: int, nbytes: int = 0) -> Memory:
        """An array of a matrix. nbytes: of an element that is not of the letter's type."""
        return Memory(slot, elements * (nbytes or self.item))

    def integers(self, slot: int, elements: int = 1) -> Memory:
        """Integers of a matrix, such as its `info`."""
        return Memory(slot, 4 * elements)

    def work(self, elements: int, nbytes: int = 0) -> Memory:
        """Workspace of a task."""
        size = -(-max(elements, 1) * (nbytes or self.item) // ALIGNMENT) * ALIGNMENT
        self.workspace.append(size)
        return Memory(self._slots + len(self.workspace) - 1, size, of_task=True)

    def move(self, destination: Memory, source: Memory, elements: int) -> None:
        """Copies elements of the letter's type."""
        if elements:
            self.done.append(Move(destination, source, elements * self.item))

    def call(self, name: str, *arguments: Argument) -> None:
        """Calls the function for the letter's type."""
        self.done.append(Call(self.letter + name, arguments))


def _potrf(s: _Steps, upper: int, n: int) -> None:
    """a, factor, info; by rows, so that the other triangle is meant."""
    factor = s.at(1, n * n)
    s.move(factor, s.at(0, n * n), n * n)
    s.call("potrf", "L" if upper else "U", n, factor, _leading(n), s.integers(2))
    if n > 1:
        rest = replace(factor, offset=(n if upper else 1) * s.item)
        s.call("laset", "U" if upper else "L", n - 1, n - 1, ZERO, ZERO, rest, n)


def _getrf(s: _Steps, m: int, n: int) -> None:
    """a, factors, pivots, info."""
    s.move(s.at(1, m * n), s.at(0, m * n), m * n)
    pivots = s.integers(2, min(m, n))
    s.call("getrf", m, n, s.at(1, m * n), _leading(m), pivots, s.integers(3))


def _getrs(s: _Steps, n: int, right: int) -> None:
    """factors, pivots, b, x."""
    s.move(s.at(3, n * right), s.at(2, n * right), n * right)
    factors = (s.at(0, n * n), _leading(n), s.integers(1, n))
    s.call("getrs", "N", n, right, *factors, s.at(3, n * right), _leading(n), s.work(1, 4))


def _getri(s: _Steps, n: int) -> None:
    """factors, pivots, inverse, info."""
    s.move(s.at(2, n * n), s.at(0, n * n), n * n)
    size = max(1, n * _BLOCK)
    matrix = (s.at(2, n * n), _leading(n), s.integers(1, n))
    s.call("getri", n, *matrix, s.work(size), size, s.integers(3))


def _geqrf(s: _Steps, m: int, n: int) -> None:
    """a, reflectors, taus."""
    s.move(s.at(1, m * n), s.at(0, m * n), m * n)
    size = max(1, n * _BLOCK)
    matrix = (s.at(1, m * n), _leading(m), s.at(2, min(m, n)))
    s.call("geqrf", m, n, *matrix, s.work(size), size, s.work(1, 4))


def _orgqr(s: _Steps, m: int, n: int, reflectors: int, columns: int) -> None:
    """n columns with reflectors, taus, q."""
    s.move(s.at(2, m * columns), s.at(0, m * n), m * min(n, columns))
    size = max(1, columns * _BLOCK)
    matrix = (s.at(2, m * columns), _leading(m), s.at(1, reflectors))
    name = "ungqr" if s.is_complex else "orgqr"
    s.call(name, m, columns, reflectors, *matrix, s.work(size), size, s.work(1, 4))


def _gesdd(s: _Steps, vectors: int, m: int, n: int) -> None:
    """a, values, [u, vt,] info; vectors: 0 none, 1 as many as values, 2 all."""
    least, most = min(m, n), max(m, n)
    matrix = s.work(m * n)
    s.move(matrix, s.at(0, m * n), m * n)
    wide, high = (least, least) if vectors == 1 else (m, n)
    unused = s.work(1)
    u = s.at(2, m * wide) if vectors else unused
    vt = s.at(3, high * n) if vectors else unused
    info = s.integers(4 if vectors else 2)
    size = 4 * least * least + 8 * least + most + _BLOCK * (least + most)
    integers = s.work(8 * least, 4)
    values = s.at(1, least, s.real)
    arguments: list[Argument] = ["NSA"[vectors], m, n, matrix, _leading(m), values]
    arguments += [u, _leading(m), vt, _leading(high if vectors else 1), s.work(size), size]
    if s.is_complex:
        rest = 7 * least if not vectors else least * max(5 * least + 7, 2 * most + 2 * least + 1)
        arguments.append(s.work(rest, s.real))
    s.call("gesdd", *arguments, integers, info)


def _syevd(s: _Steps, vectors: int, upper: int, n: int) -> None:
    """a, values, [eigenvectors,] info."""
    matrix = s.at(2, n * n) if vectors else s.work(n * n)
    s.move(matrix, s.at(0, n * n), n * n)
    info = s.integers(3 if vectors else 2)
    size = (1 + _BLOCK) * n + 2 * n * n + 1 if vectors else (2 + _BLOCK) * n + 1
    if vectors and not s.is_complex:
        size += 6 * n
    integers = 3 + 5 * n
    arguments: list[Argument] = ["NV"[vectors], "LU"[upper], n, matrix, _leading(n)]
    arguments += [s.at(1, n, s.real), s.work(size), size]
    if s.is_complex:
        rest = 1 + 5 * n + 2 * n * n if vectors else 1 + n
        arguments += [s.work(rest, s.real), rest]
    arguments += [s.work(integers, 4), integers, info]
    s.call("heevd" if s.is_complex else "syevd", *arguments)


def _geev(s: _Steps, vectors: int, n: int) -> None:
    """a, values (two arrays of a real matrix, of their parts), [eigenvectors,] info."""
    matrix = s.work(n * n)
    s.move(matrix, s.at(0, n * n), n * n)
    parts = 1 if s.is_complex else 2
    values = [s.at(1 + k, n) for k in range(parts)]
    right = s.at(1 + parts, n * n) if vectors else s.work(1)
    info = s.integers(1 + parts + vectors)
    size = (4 + _BLOCK) * n + 1
    arguments: list[Argument] = ["N", "NV"[vectors], n, matrix, _leading(n), *values]
    arguments += [s.work(1), 1, right, _leading(n if vectors else 1), s.work(size), size]
    if s.is_complex:
        arguments.append(s.work(2 * n, s.real))
    s.call("geev", *arguments, info)


def _gelsd(s: _Steps, m: int, n: int, right: int) -> None:
    """a, b (as high as the higher of a and x), rcond, x, values, rank, info."""
    least, most = min(m, n), max(m, n)
    matrix = s.work(m * n)
    s.move(matrix, s.at(0, m * n), m * n)
    x = s.at(3, most * right)
    s.move(x, s.at(1, most * right), most * right)
    leaf = 25
    levels = max(0, int(log2(max(least, 1) / (leaf + 1))) + 1) + 1
    small = (leaf + 1) ** 2
    size = 12 * least + 2 * least * leaf + 8 * least * levels + least * right + small
    size += _BLOCK * (least + most + right) + least * least
    arguments: list[Argument] = [m, n, right, matrix, _leading(m), x, _leading(most)]
    arguments += [s.at(4, least, s.real), s.at(2, 1, s.real), s.integers(5), s.work(size), size]
    if s.is_complex:
        rest = 10 * most + 2 * most * leaf + 8 * most * levels + 3 * leaf * right
        rest += max(small, most * (1 + right) + 2 * right)
        arguments.append(s.work(rest, s.real))
    integers = 3 * least * levels + 11 * least
    s.call("gelsd", *arguments, s.work(integers, 4), s.integers(6))


def _trtrs(s: _Steps, upper: int, transposed: int, unit: int, n: int, right: int) -> None:
    """a, b, x, info."""
    s.move(s.at(2, n * right), s.at(1, n * right), n * right)
    flags = ("LU"[upper], "NT"[transposed], "NU"[unit])
    matrix = (s.at(0, n * n), _leading(n), s.at(2, n * right), _leading(n))
    s.call("trtrs", *flags, n, right, *matrix, s.integers(3))


def _leading(rows: int) -> int:
    """The distance of columns."""
    return max(rows, 1)


_ROUTINES: dict[str, tuple[Callable[..., None], int, int]] = {
    "potrf": (_potrf, 1, 2),
    "getrf": (_getrf, 1, 3),
    "getrs": (_getrs, 3, 1),
    "getri": (_getri, 2, 2),
    "geqrf": (_geqrf, 1, 2),
    "orgqr": (_orgqr, 2, 1),
    "gesdd": (_gesdd, 1, 2),
    "syevd": (_syevd, 1, 2),
    "geev": (_geev, 1, 2),
    "gelsd": (_gelsd, 3, 4),
    "trtrs": (_trtrs, 2, 2),
}
"""What each routine does, how many arguments it takes, and how many results it has at least."""


def is_lapack(routine: str) -> bool:
    """Whether a routine is one of LAPACK's."""
    return routine.startswith(PREFIX)


def describe(routine: str, integers: Sequence[int]) -> Description:
    """What a step does."""
    tasks, matrices, *sizes = integers
    letter, name = routine[len(PREFIX)], routine[len(PREFIX) + 1 :]
    function, given, results = _ROUTINES[name]
    if name in ("gesdd", "syevd", "geev"):
        results += (2 if name == "gesdd" else 1) * bool(sizes[0])
        results += name == "geev" and letter in "sd"
    slots = given + results
    steps = _Steps(letter, slots)
    function(steps, *sizes)
    done, workspace = tuple(steps.done), tuple(steps.workspace)
    return Description(tasks, matrices, done, given, slots, workspace)


def step_of(
    name: str, letter: str, matrices: int, flops: int, sizes: Sequence[int]
) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """The routine, the integers, and the bytes of each slot of workspace, of a step for so many
    matrices, each of some operations."""
    routine = f"{PREFIX}{letter}{name}"
    workspace = describe(routine, (1, matrices, *sizes)).workspace
    affordable = WORKSPACE_BYTES // max(sum(workspace), 1)
    tasks = max(1, min(matrices, matrices * flops // TASK_FLOPS, MOST_TASKS, affordable))
    return routine, (tasks, matrices, *sizes), tuple(tasks * n for n in workspace)
