"""Shapes without sizes: which arrays of a call walk memory alike, whatever their extents are.

    collapsed((3, 1, 5), (4, 5))  ->  sizes 3, 4, 5 and types with stand-ins for them
    collapsed((3, 5), (3, 5))     ->  size 15: two arrays in C order are one line each

Arrays that broadcast together have an axis for each run of axes along which the same of them are
broadcast; axes of one element are left out. A stand-in (`EXTENTS`) has the place of a size in the
types of a program for arrays of any size, which `passes/any_size.py` makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from pyc.frozen import frozen
from pyc.ir.graph import Eqn, Graph
from pyc.ir.op import Kind
from pyc.ir.types import ArrayType

EXTENTS = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049)
"""What stands for the size of each axis: primes, no size that any rule is about."""
Shape = tuple[int, ...]


class NoGenericFormError(Exception):
    """A Graph has no program for arrays of any size; says why."""


@frozen()
class Collapsed:
    """Shapes that broadcast together. shape: the common one; sizes: of the axes that are left;
    types: of the arrays, with a stand-in for each size, and of rank 0 where they were."""

    shape: Shape
    sizes: Shape
    types: tuple[ArrayType, ...]


def collapsed(types: Sequence[ArrayType]) -> Collapsed | None:
    """The form of arrays that broadcast together; None if they do not, if all are of rank 0, or if
    more axes are left than there are stand-ins."""
    rank = max((len(t.shape) for t in types), default=0)
    if not rank:
        return None
    shapes = [(1,) * (rank - len(t.shape)) + t.shape for t in types]
    shape: list[int] = []
    sizes: list[int] = []
    masks: list[tuple[bool, ...]] = []
    for column in zip(*shapes, strict=True):
        extents = {n for n in column if n != 1}
        if len(extents) > 1:
            return None
        shape.append(extents.pop() if extents else 1)
        if shape[-1] == 1:
            continue
        mask = tuple([n != 1 for n in column])
        if masks and masks[-1] == mask:
            sizes[-1] *= shape[-1]
        else:
            sizes.append(shape[-1])
            masks.append(mask)
    if not sizes:  # arrays of one element
        sizes, masks = [prod(shape)], [tuple([bool(t.shape) for t in types])]
    if len(sizes) > len(EXTENTS):
        return None
    made = [_stand_in(t, [mask[k] for mask in masks]) for k, t in enumerate(types)]
    return Collapsed(tuple(shape), tuple(sizes), tuple(made))


def _stand_in(type: ArrayType, along: Sequence[bool]) -> ArrayType:
    if not type.shape:
        return type
    extents = [e if there else 1 for e, there in zip(EXTENTS, along, strict=False)]
    return ArrayType(tuple(extents), type.dtype)


@frozen()
class Lines:
    """A reduction of lines. type: with stand-ins, to be reduced over its second axis; sizes: of its
    axes."""

    type: ArrayType
    sizes: Shape


def are_apart(axes: Sequence[int]) -> bool:
    """Whether increasing axes are not neighbours."""
    return any(b - a > 1 for a, b in pairwise(axes))


def lines(type: ArrayType, axes: Sequence[int]) -> Lines | None:
    """The form of a reduction over neighbouring axes; None for others. An array whose last axis is
    reduced has two axes then, others have three."""
    if not axes or are_apart(axes):
        return None
    first, end = axes[0], axes[-1] + 1
    sizes: Shape = (prod(type.shape[:first]), prod(type.shape[first:end]), prod(type.shape[end:]))
    if end == len(type.shape):
        sizes = sizes[:2]
    return Lines(ArrayType(EXTENTS[: len(sizes)], type.dtype), sizes)


def has_any_size(graph: Graph) -> bool:
    """Whether a Graph, in whose types are stand-ins, means the same for all sizes: its operations
    are pointwise over one domain of which they see an element at a time, broadcasts and numbers
    beside, and its results are arrays over the whole domain that it computes; or it is one
    reduction over the second axis of two or three."""
    if len(graph.eqns) == 1 and graph.eqns[0].op.kind is Kind.REDUCE:
        (x,) = graph.eqns[0].args
        return x.shape in (EXTENTS[:2], EXTENTS[:3]) and graph.eqns[0].params["axes"] == (1,)
    domains = {r.shape for r in graph.results}
    if len(domains) != 1 or not (domain := domains.pop()):
        return False
    made = {out for e in graph.eqns for out in e.outs}
    if len({r for r in graph.results if r in made}) < len(graph.results):
        return False
    return all(_sees_elements(e, domain) for e in graph.eqns)


def _sees_elements(e: Eqn, domain: Shape) -> bool:
    if e.op.name == "constant":
        return not e.outs[0].shape
    if e.op.kind is not Kind.POINTWISE and e.op.name != "broadcast":
        return False
    return all(_within(out.shape, domain) for out in e.outs)


def _within(shape: Shape, domain: Shape) -> bool:
    behind = domain[len(domain) - len(shape) :]
    return all(n in (1, d) for n, d in zip(shape, behind, strict=True))
