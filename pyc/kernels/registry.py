"""Which kernel does a contraction: the first nest of a list that does not refuse it.

A nest is hand-made and scheduled, and sees neighbouring axes as one (`merged.py`); the generic
logical kernel (scheduled by `passes/schedule`) does what all of them refuse. Refusing is a function
of shapes, types and target only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pyc.forks import later
from pyc.frozen import frozen
from pyc.ir.loops import Kernel
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue, contraction
from pyc.kernels.merged import merged, sides_of
from pyc.kernels.operand import Dimensions, Operand
from pyc.kernels.sequence import LaunchSequence
from pyc.kernels.windows import View, WindowSum

Copies = tuple[tuple[int, Kernel], ...]
"""Numbers of operands, and logical kernels over (the operand, a scratch buffer of the nest)."""


@frozen()
class Nest:
    """A hand-made nest. refusal: why it does not do a contraction, of (types, dimensions, target);
    build: its kernel, of (types, target, epilogue, **params); blocks: for targets with blocks;
    rows: of (types, dimensions), what it reads of the operands, and copies before it; copies: of
    (types, dimensions, target), copies before it that it knows of; windows: whether it reads
    operands that are windows where they lie (the parameter `views`)."""

    name: str
    blocks: bool
    refusal: Callable[..., str]
    build: Callable[..., Kernel]
    rows: Callable[..., tuple[tuple[Operand, Operand], Copies]] | None = None
    copies: Callable[..., Copies] | None = None
    windows: bool = False


def _nest(
    name: str,
    refusal: str,
    *,
    blocks: bool = False,
    windows: bool = False,
    rows: str = "",
    copies: str = "",
) -> Nest:
    """The nest `name` of the module of this name, and its functions there. A program loads the
    modules of the nests that it asks."""
    module = f"pyc.kernels.{name}"
    asked = later(module, rows) if rows else None
    made = later(module, copies) if copies else None
    return Nest(name, blocks, later(module, refusal), later(module, name), asked, made, windows)


NESTS = (
    _nest("matmul", "refusal", windows=True, copies="copies"),
    _nest("matmul_amx", "refusal_of_amx"),
    _nest("matmul_pairs", "refusal_of_pairs"),
    _nest("few_columns", "refusal_of_few_columns", windows=True),
    _nest("dot_columns", "refusal_of_dot_columns", windows=True),
    _nest("few_rows", "refusal_of_few_rows", windows=True),
    _nest("dot_rows", "refusal_of_dot_rows", windows=True),
    _nest("dot_slabs", "refusal_of_dot_slabs"),
    _nest("matmul_tiles", "refusal_of_tiles", blocks=True, rows="rows_for_tiles"),
    _nest("matmul_threads", "refusal_of_threads", blocks=True),
    _nest("matmul_blocks", "refusal_of_blocks", blocks=True),
)
"""The nests for contractions, the fastest first."""


@frozen()
class Choice:
    """The kernel of a contraction, over buffers (arguments, results, scratch). scheduled: by hand;
    refused: the nests before it in the list, each with why; copies: what runs before."""

    name: str
    kernel: Kernel
    scheduled: bool
    refused: tuple[tuple[str, str], ...]
    copies: Copies = ()

    def __str__(self) -> str:
        """The name, and what was refused for which reason."""
        return "; ".join([self.name, *(f"not {name}: {why}" for name, why in self.refused)])


def first_nest(types: tuple[ArrayType, ...], dimensions: Dimensions, target: Target) -> Nest | None:
    """The nest that does a contraction of merged axes; None: the generic kernel does it."""
    nests = (nest for nest in NESTS if nest.blocks is target.has_blocks)
    return next((n for n in nests if not n.refusal(types, dimensions, target)), None)


def choose(
    op: str,
    types: tuple[ArrayType, ...],
    params: Mapping[str, Any],
    target: Target,
    epilogue: Epilogue | None = None,
    added: WindowSum | None = None,
) -> Choice:
    """The kernel that runs `op`. With an epilogue the buffers are (arguments, the epilogue's
    inputs, result). A nest's buffers may have neighbouring axes of these as one. added: it is a
    sum of such products, whose arguments are windows of the buffers; `sums` has asked."""
    if op != "dot_general":
        raise NotImplementedError(f"no kernel for {op}")
    refused: list[tuple[str, str]] = []
    dimensions, nest_types, nest_epilogue = params["dimensions"], types, epilogue
    fewer = merged(types, dimensions)
    if fewer is not None:
        nest_types, dimensions = fewer.types, fewer.dimensions
        if epilogue is not None:
            product = params.get("result") or types[0].dtype
            nest_epilogue = fewer.epilogue(epilogue, product)
    nest_params = {**params, "dimensions": dimensions}
    if added is not None:
        sides = zip((added.a, added.b), types, sides_of(types, fewer), strict=True)
        nest_params["views"] = tuple(View(windows, t.shape, runs) for windows, t, runs in sides)
        count = len(added.a.starts)
        name = "matmul"
        build = NESTS[0].build
        nest = first_nest(nest_types, dimensions, target)
        if count > 1:
            nest_params["start"] = added.start
        elif nest is None:
            generic = contraction(types, epilogue, **params, windows=(added.a, added.b))
            for nest in NESTS:
                if nest.blocks is target.has_blocks:
                    refused.append((nest.name, nest.refusal(nest_types, dimensions, target)))
            name = "contraction, read where they lie"
            return Choice(name, generic, False, tuple(refused))
        else:
            assert nest.windows, "`sums` has asked"
            name, build = nest.name, nest.build
        kernel = build(nest_types, target, nest_epilogue, **nest_params)
        return Choice(f"{name}, {count} in one, read where they lie", kernel, True, ())
    for nest in NESTS:
        if nest.blocks is not target.has_blocks:
            continue
        why = nest.refusal(nest_types, dimensions, target)
        if not why:
            copies: Copies = ()
            if nest.rows is not None:
                nest_params["operands"], copies = nest.rows(nest_types, dimensions)
            if nest.copies is not None:
                copies = nest.copies(nest_types, dimensions, target)
            kernel = nest.build(nest_types, target, nest_epilogue, **nest_params)
            return Choice(nest.name, kernel, True, tuple(refused), copies)
        refused.append((nest.name, why))
    return Choice("contraction", contraction(types, epilogue, **params), False, tuple(refused))


_sort_blocks = later("pyc.kernels.sort_blocks", "sort_blocks")
_sort_parts = later("pyc.kernels.sort_parts", "sort_parts")
_sort_places = later("pyc.kernels.sort_places", "sort_places")
_sort_tasks = later("pyc.kernels.sort_tasks", "sort_tasks")
_sort_vectors = later("pyc.kernels.sort_vectors", "sort_vectors")

SEQUENCES: Mapping[str, Callable[..., LaunchSequence | None]] = {
    "sort": partial(_sort_blocks, "sort"),
    "argsort": partial(_sort_blocks, "argsort"),
    "top_k": partial(_sort_blocks, "top_k"),
    "order_statistics": later("pyc.kernels.sort_blocks", "statistics_blocks"),
    "scatter": later("pyc.kernels.scatter_blocks", "scatter_blocks"),
}
"""Ops that are launches of their own on targets with blocks, of (types, **params)."""


def _sort(
    op: str, types: tuple[ArrayType, ...], target: Target, **params: Any
) -> LaunchSequence | None:
    """By vectors, where the target parts these. Few long rows by several tasks each."""
    for way in (_sort_parts, _sort_places, _sort_tasks, _sort_vectors):
        found: LaunchSequence | None = way(op, types, target, **params)
        if found is not None:
            return found
    return None


ON_CORES: Mapping[str, Callable[..., LaunchSequence | None]] = {
    "sort": partial(_sort, "sort"),
    "argsort": partial(_sort, "argsort"),
}
"""Ops that are launches of their own on some CPUs, or for some shapes, of (types, target,
**params)."""


EVERYWHERE: Mapping[str, Callable[..., LaunchSequence]] = {
    "fft": later("pyc.kernels.fourier", "fourier")
}
"""Ops that are launches of their own on every target, of (types, target, **params)."""


def sequence_of(
    op: str, types: tuple[ArrayType, ...], params: Mapping[str, Any], target: Target
) -> LaunchSequence | None:
    """The launches that do an op on a target; None: its logical kernel does it."""
    if op in EVERYWHERE:
        return EVERYWHERE[op](types, target, **params)
    if target.has_blocks:
        make = SEQUENCES.get(op)
        return None if make is None else make(types, **params)
    on_cores = ON_CORES.get(op)
    return None if on_cores is None else on_cores(types, target, **params)
