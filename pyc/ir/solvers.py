"""Routines of a device's libraries of linear algebra as steps of a Plan, as data.

    routine    "solver.dgetrf": the function of that name for each matrix, one after the other;
               "solver.dgetrf_batched": one that takes all of them
    slots      buffers of the arguments, then of the results
    integers   matrices, then the sizes that `ROUTINES` names

Matrices are stored by columns and lie one behind the other, as those of LAPACK's steps
(`ir/routines.py`). An argument that is of the type of a result may lie in the same buffer.
Workspace is the library's to ask for when the step runs: it is no part of the Plan.

`routine_of` says which function does it, or why none does: what a library would do in so many
calls that the host is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from pyc.frozen import frozen
from pyc.ir.plan import Library

PREFIX = "solver."
BATCHED = "_batched"
GEEV, SYEV_BATCHED = "geev", "syev_batched"
"""Routines that only newer releases have."""
ALWAYS = ("gemm", "geqrf", "gesvdj", "getrf", "getrs", "orgqr", "potrf", "syevd", "trsm")
"""Routines that all releases have."""

CHOLESKY_TURNED = 128
"""Rows from which on matrices with a lower triangle are transposed for `potrf`, and back: on an
H200 it takes 1.6 (of order 256) to 2.7 (4,096) times as long for the upper one of its columns.
Batches of order 32 gain nothing."""
JACOBI_ORDER = 32
"""Rows and columns up to which there is a batched routine of singular values."""
FEW, JACOBI_FEW = (16, 128), (3, 512)
"""How many matrices are taken one by one at most where they have fewer rows or columns than the
second number: each takes launches that leave most of the device idle. The second pair is of
singular values and of eigenvalues, which the cores of the host find sooner side by side."""
LARGEST = 1 << 29
"""Elements of one matrix, and of its vectors: sizes of workspace have 32 bits."""


@frozen()
class Routine:
    """given: how many slots are arguments; sizes: what the integers are; batched: whether one
    call takes all matrices of these sizes; newer: the name by which a target says that it has the
    batched one, if not all releases do; few: as `FEW`."""

    given: int
    sizes: tuple[str, ...]
    batched: Callable[..., bool] | None = None
    newer: str = ""
    few: tuple[int, int] = FEW


ROUTINES: dict[str, Routine] = {
    # a, factor, info; by rows, so that the other triangle is meant, of which the rest is undefined
    "potrf": Routine(1, ("upper", "n"), lambda count, upper, n: n <= 1024),
    # a, factors, pivots, info
    "getrf": Routine(1, ("m", "n"), lambda count, m, n: m == n <= 64 * count),
    # factors, pivots, b, x
    "getrs": Routine(3, ("n", "right"), lambda count, n, right: n <= 128 * count),
    # a, reflectors, taus
    "geqrf": Routine(1, ("m", "n")),
    # reflectors, taus, q
    "orgqr": Routine(2, ("m", "n", "reflectors", "columns")),
    # a, values, [u, v,] info; vectors: 0 none, 1 as many as values, 2 all. The batched one has no 1
    "gesvdj": Routine(
        1,
        ("vectors", "m", "n"),
        lambda count, vectors, m, n: max(m, n) <= JACOBI_ORDER and vectors != 1,
        few=JACOBI_FEW,
    ),
    # a, values, [vectors,] info
    "syevd": Routine(
        1,
        ("vectors", "upper", "n"),
        lambda count, vectors, upper, n: n <= 128 or (count >= 6 and n <= 1024),
        SYEV_BATCHED,
    ),
    # a, values (two arrays of a real matrix, of their parts), [eigenvectors,] info
    "geev": Routine(1, ("vectors", "n"), few=JACOBI_FEW),
    # a, b, x
    "trsm": Routine(2, ("upper", "transposed", "unit", "n", "right"), lambda *sizes: True),
    # a, b, c = op(a) b; adjoint: op; leading: the distances of columns; columns_a: that a has
    "gemm": Routine(
        2,
        ("adjoint", "m", "n", "k", "leading_a", "leading_b", "leading_c", "columns_a"),
        lambda *sizes: True,
    ),
}
"""What each routine takes. Up to which sizes all matrices are taken at once was measured on an H200
(docs/design.md, "Linear algebra on a GPU")."""


def is_solver(routine: str) -> bool:
    """Whether a routine is one of a device's libraries."""
    return routine.startswith(PREFIX)


@cache
def parts(routine: str) -> tuple[str, str, bool]:
    """The letter of the type, the name in `ROUTINES`, and whether it takes all matrices."""
    name = routine[len(PREFIX) :]
    return name[0], name[1:].removesuffix(BATCHED), name.endswith(BATCHED)


def made(step: Library) -> tuple[int, ...]:
    """The slots of the results."""
    return step.slots[ROUTINES[parts(step.routine)[1]].given :]


def routine_of(
    name: str, letter: str, count: int, sizes: Sequence[int], has: Sequence[str]
) -> tuple[str, str]:
    """The routine for `count` matrices, and why it should not be called, if so. has: the
    routines of the device (`Target.solver`)."""
    routine = ROUTINES[name]
    by_name = dict(zip(routine.sizes, sizes, strict=True))
    one = f"{PREFIX}{letter}{name}"
    if _elements(by_name) > LARGEST:
        return one, f"the device's library takes matrices of up to {LARGEST} elements"
    at_once = count > 1 and routine.batched is not None and routine.batched(count, *sizes)
    if at_once and (not routine.newer or routine.newer in has):
        return one + BATCHED, ""
    few, order = routine.few
    if count > few and min(by_name["n"], by_name.get("m", by_name["n"])) < order:
        return one, f"the device's library takes {count} matrices one by one"
    return one, ""


def _elements(sizes: Mapping[str, int]) -> int:
    """Of the largest matrix of a routine; of products, whose sizes are others', 0."""
    if "k" in sizes:
        return 0
    n = sizes["n"]
    m = sizes.get("m", n)
    vectors = max(m, n) ** 2 if sizes.get("vectors") == 2 else 0
    return max(m * n, n * sizes.get("right", 0), m * sizes.get("columns", 0), vectors)
