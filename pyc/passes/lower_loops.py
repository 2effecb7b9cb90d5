"""Loops as kernels: a `while` or `scan` whose state fits registers becomes a loop inside a kernel.

Two forms, tried in this order; both read captured arrays freely and need the loop's end to follow
from scalars (or from nothing, for a scan):

* *per element*: every carried array has one domain, and the body is pointwise over it. Each element
  of the domain runs the whole loop with its state in registers; the schedule puts elements side by
  side in vectors and spreads them over tasks. A condition `any(mask)` is allowed when an element
  keeps its numbers where its part of the mask is false (`where(mask, new, old)`), on which alone
  the mask depends: stopping early is then the same (`leaving`). If the body is not
  pointwise, axes of few elements are tried as numbers of the element (systems of three equations,
  a matrix for each element): these are written out, as below.
* *small state*: a few numbers in all (Kalman filters, small matrices): the state is one variable
  per number and the body straight code, reductions and products included, in the documented order.

What is neither runs as a whole-array loop of the Plan, with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from pyc.frozen import frozen
from pyc.ir.element import Element
from pyc.ir.expr import Const, Expr, Interner, Var, const, postorder
from pyc.ir.graph import Eqn, Value
from pyc.ir.loops import Body, Buffer, Carry, For, Kernel, Kind, Stmt
from pyc.ir.op import Complex
from pyc.ir.op import Kind as OpKind
from pyc.passes.leaving import Term, conditions, given
from pyc.passes.loop_bodies import (
    LoopLowerer,
    LoopParts,
    LoopPuller,
    carries_of,
    parts_of,
    scalars_of,
    state_of,
)
from pyc.passes.loop_forms import SMALL_STATE, NotAKernelError
from pyc.passes.lower import Lowered, buffer_of, store
from pyc.passes.reads import Index, inlines, units_dropped

FEW = 8
"""Elements along an axis that may be written out."""


_Elements = dict[tuple[int, tuple[int, ...]], Element]
"""A number of an element by its carry, and where it lies along the axes that are written out."""


@frozen()
class _Leaving:
    """mask: an element's part of the mask; condition: whether it goes on."""

    mask: Expr
    condition: Expr


class _PerElement(LoopLowerer):
    """Every element of the domain runs the loop. few: axes of few elements are not part of the
    domain, and what lies along them is written out."""

    def __init__(self, parts: LoopParts, site: Callable[[Eqn], int], *, few: bool) -> None:
        super().__init__(parts, site)
        self.few = few

    def run(self, name: str) -> list[Lowered]:
        parts = self.parts
        arrays = [k for k, v in enumerate(parts.initial) if self._domain(v.shape)]
        scalars = [k for k in range(parts.carries) if k not in arrays]
        stacked = parts.eqn.outs[parts.carries :]
        shapes = {self._domain(parts.initial[k].shape) for k in arrays}
        shapes |= {self._domain(v.shape[1:]) for v in stacked}
        if parts.length is not None and any(self._domain(v.shape[1:]) == () for v in stacked):
            shapes.add(())
        if len(shapes) > 1:
            raise NotAKernelError("the carried arrays have different shapes")
        domain = shapes.pop() if shapes else ()
        if self.few:
            whole = (*parts.initial, *(v for v in parts.body.results[parts.carries :]))
            if sum(prod(self._written(v.shape)) for v in whole) > SMALL_STATE:
                raise NotAKernelError(
                    f"the state of an element has more than {SMALL_STATE} numbers"
                )
        if not domain:
            return [self._kernel(name, (), list(range(parts.carries)))]
        found = [self._kernel(name, domain, arrays + scalars)]
        if any(k in parts.stored for k in scalars):
            alone = _PerElement(parts, self.site, few=self.few)
            found.append(alone._kernel(f"{name}_scalars", (), scalars, stack=False))
        return found

    def _is_written(self, extent: int) -> bool:
        return self.few and 1 < extent <= FEW

    def _domain(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The extents that loops run over."""
        return tuple(d for d in shape if d != 1 and not self._is_written(d))

    def _written(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The extents of the axes that are written out."""
        return tuple(filter(self._is_written, shape))

    def _places(
        self, shape: tuple[int, ...], variables: Sequence[Var]
    ) -> dict[tuple[int, ...], Index]:
        """The index of each number of a value that belongs to one element of the domain, by where
        it lies along the axes that are written out."""
        found: dict[tuple[int, ...], Index] = {}
        for at in product(*map(range, self._written(shape))):
            fixed, free = iter(at), iter(variables)
            found[at] = tuple(
                const(next(fixed)) if self._is_written(d) else const(0) if d == 1 else next(free)
                for d in shape
            )
        return found

    def _kernel(
        self, name: str, domain: tuple[int, ...], chosen: list[int], *, stack: bool = True
    ) -> Lowered:
        parts = self.parts
        pull = LoopPuller(parts.body, self.site, self.leaf(parts.body, parts.captures, self._state))
        simplify = pull.simplify
        variables = [simplify.variable(f"i{p}", d) for p, d in enumerate(domain)]
        self._simplify = simplify
        if parts.length is not None:
            simplify.declare(self.number, parts.length)
        self._here = {
            (k, at): pull.walker.canonical(index)
            for k in chosen
            for at, index in self._places(parts.initial[k].shape, variables).items()
        }
        self._states = {
            (k, at): state_of(parts.initial[k].dtype, f"c{'_'.join(map(str, (k, *at)))}_")
            for k, at in self._here
        }
        leaving = self._leaving(domain, variables)
        condition = self._condition() if leaving is None else leaving.condition
        self.pull_checks(pull)
        following = {
            (k, at): pull.element(value, self._places(value.shape, variables)[at])
            for k, at in self._here
            for value in (parts.body.results[k],)
        }
        if leaving is not None:
            following = self._going_on(leaving, following, pull)
        carried: list[Carry] = []
        roots: list[Expr] = []
        for (k, at), here in self._here.items():
            new = following[k, at]
            carried += carries_of(self._states[k, at], self.read(parts.initial[k], here), new)
            roots += scalars_of(new)
        outs: list[tuple[Buffer, Index, Element]] = []
        inside: list[Stmt] = []
        outputs: dict[Value, Buffer] = {}
        if stack:
            rows: list[tuple[Buffer, Index, Element]] = []
            for n, out in enumerate(parts.eqn.outs[parts.carries :]):
                value = parts.body.results[parts.carries + n]
                outputs[out] = buffer_of(out, f"stack{n}", "out")
                for index in self._places(value.shape, variables).values():
                    index = pull.walker.canonical(index)
                    element = pull.element(value, index)
                    rows.append((outputs[out], (simplify(self.step), *index), element))
                    roots += scalars_of(element)
            inside += store(rows) if rows else []
        fails = pull.take_fails()
        self.check_size(roots)
        for (k, at), here in self._here.items():
            out = parts.eqn.outs[k]
            if k not in parts.stored or (domain and not self._domain(out.shape)):
                continue  # nobody reads it, or the scalars' own kernel stores it
            if out not in outputs:
                outputs[out] = buffer_of(out, f"out{k}", "out")
            outs.append((outputs[out], here, self._states[k, at].after))
        body: Body = (self.loop(carried, condition, fails, inside), *(store(outs) if outs else ()))
        for var, extent in reversed(list(zip(variables, domain, strict=True))):
            body = (For(var, extent, Kind.PARALLEL, body),)
        kernel = Kernel(name, (*self.inputs.values(), *outputs.values()), body)
        return Lowered(kernel, tuple(self.inputs), tuple(outputs))

    def _state(self, k: int, index: Index) -> Element:
        """Carry k at an index: its variable, if the index is this element's own."""
        keys = tuple(map(self._key, index))
        for (number, at), here in self._here.items():
            if number == k and keys == tuple(map(self._key, here)):
                return self._states[k, at].inside
        if all(number != k for number, _ in self._here):
            raise NotAKernelError("a scalar of the loop depends on an array")
        raise NotAKernelError("the body reads its state at another place")

    def _key(self, e: Expr) -> object:
        if isinstance(e, Var):
            return e
        form = self._simplify.linear(e)
        return (form.constant, *((id(a), f) for a, f in form.terms))

    def _leaving(self, domain: tuple[int, ...], variables: Sequence[Var]) -> _Leaving | None:
        """How each element may leave the loop by itself; None if its end follows from numbers, or
        it cannot."""
        graph = self.parts.condition
        if graph is None or not domain:
            return None
        terms = conditions(graph)
        if len(terms.masks) != 1 or self._domain(terms.masks[0].value.shape) != domain:
            return None
        if self._written(terms.masks[0].value.shape):
            raise NotAKernelError("the numbers of an element stop apart")
        captures = self.parts.condition_captures
        pull = LoopPuller(graph, self.site, self.leaf(graph, captures, self._state))
        for var, extent in zip(variables, domain, strict=True):
            pull.simplify.declare(var, extent)

        def pulled(term: Term, index: Index) -> Expr:
            found = self.tested(pull, graph, term.value, index)
            return found if term.truth else ~found

        (term,) = terms.masks
        mask = pulled(term, self._places(term.value.shape, variables)[()])
        condition = mask
        for number in terms.numbers:
            condition = pulled(number, ()) & condition
        return _Leaving(mask, condition)

    def _going_on(self, leaving: _Leaving, following: _Elements, pull: LoopPuller) -> _Elements:
        """What an element carries on while its part of the mask is true; NotAKernelError if it
        might change, or fail, where that is false."""
        shared = {key for key in following if not self._domain(self.parts.initial[key[0]].shape)}
        if any(k in self.parts.stored for k, _ in shared):
            raise NotAKernelError("a number that elements share is read after the loop")
        numbers = {v for key in shared for v in scalars_of(self._states[key].inside)}
        old = [v for key in following for v in scalars_of(self._states[key].inside)]
        new = [v for element in following.values() for v in scalars_of(element)]
        checks = [fail.condition for fail in pull.fails.values()]
        intern = Interner()
        mask, *rest = intern([leaving.mask, *old, *new, *checks])
        if not numbers.isdisjoint(postorder([mask])):
            raise NotAKernelError("an element may go on after it has stopped")
        old, new, checks = rest[: len(old)], rest[len(old) :][: len(new)], rest[len(old + new) :]
        pairs = zip(*(intern(given(them, mask, truth=False)) for them in (old, new)), strict=True)
        if any(a is not b for v, (a, b) in zip(old, pairs, strict=True) if v not in numbers):
            raise NotAKernelError("an element may change after it has stopped")
        for check in given(checks, mask, truth=False):
            fails = pull.simplify(check)
            if not isinstance(fails, Const) or fails.value:
                raise NotAKernelError("an element may fail after it has stopped")
        found = iter(given(new, mask, truth=True))
        return {
            key: Complex(next(found), next(found)) if isinstance(e, Complex) else next(found)
            for key, e in following.items()
        }

    def _condition(self) -> Expr | None:
        graph = self.parts.condition
        if graph is None:
            return None
        captures = self.parts.condition_captures
        pull = LoopPuller(graph, self.site, self.leaf(graph, captures, self._state))
        return self.tested(pull, graph)


class _SmallState(LoopLowerer):
    """The whole state as single numbers, the body written out."""

    def run(self, name: str) -> list[Lowered]:
        parts = self.parts
        if sum(v.type.size for v in parts.initial) > SMALL_STATE:
            raise NotAKernelError(f"the state has more than {SMALL_STATE} numbers")
        places = [list(product(*map(range, v.shape))) for v in parts.initial]
        self._states = {
            (k, at): state_of(v.dtype, f"c{k}_{n}_")
            for k, v in enumerate(parts.initial)
            for n, at in enumerate(places[k])
        }
        pull = LoopPuller(parts.body, self.site, self.leaf(parts.body, parts.captures, self._state))
        self._simplify = pull.simplify
        if parts.length is not None:
            pull.simplify.declare(self.number, parts.length)
        condition = self._condition()
        self._simplify = pull.simplify
        self.pull_checks(pull)
        carried: list[Carry] = []
        roots: list[Expr] = []
        for k, v in enumerate(parts.initial):
            for at in places[k]:
                index = tuple(const(i) for i in at)
                following = pull.element(parts.body.results[k], index)
                carried += carries_of(self._states[k, at], self.read(v, index), following)
                roots += scalars_of(following)
            self.check_size(roots)
        outputs: dict[Value, Buffer] = {}
        rows: list[tuple[Buffer, Index, Element]] = []
        for n, out in enumerate(parts.eqn.outs[parts.carries :]):
            if prod(out.shape[1:]) > SMALL_STATE:
                raise NotAKernelError("a stacked result is large")
            outputs[out] = buffer_of(out, f"stack{n}", "out")
            value = parts.body.results[parts.carries + n]
            for at in product(*map(range, value.shape)):
                index = tuple(const(i) for i in at)
                element = pull.element(value, index)
                rows.append((outputs[out], (pull.simplify(self.step), *index), element))
                roots += scalars_of(element)
            self.check_size(roots)
        fails, inside = pull.take_fails(), store(rows) if rows else []
        ends: list[tuple[Buffer, Index, Element]] = []
        for k, out in enumerate(parts.eqn.outs[: parts.carries]):
            if k not in parts.stored:
                continue
            outputs[out] = buffer_of(out, f"out{k}", "out")
            for at in places[k]:
                index = tuple(const(i) for i in at)
                ends.append((outputs[out], index, self._states[k, at].after))
        body: Body = (self.loop(carried, condition, fails, inside), *(store(ends) if ends else ()))
        kernel = Kernel(name, (*self.inputs.values(), *outputs.values()), body)
        return [Lowered(kernel, tuple(self.inputs), tuple(outputs))]

    def _state(self, k: int, index: Index) -> Element:
        places = [self._simplify.linear(e) for e in index]
        if not all(p.is_constant for p in places):
            raise NotAKernelError("the body reads its state at a computed place")
        return self._states[k, tuple(p.constant for p in places)].inside

    def _condition(self) -> Expr | None:
        graph = self.parts.condition
        if graph is None:
            return None
        pull = LoopPuller(
            graph, self.site, self.leaf(graph, self.parts.condition_captures, self._state)
        )
        self._simplify = pull.simplify
        return self.tested(pull, graph)


def lower_loop(
    eqn: Eqn,
    name: str,
    site: Callable[[Eqn], int],
    read: Container[Value] | None = None,
    constants: Mapping[Value, Any] | None = None,
    *,
    side_by_side: bool = True,
) -> list[Lowered]:
    """The kernels that run a while or scan; raises NotAKernelError with the reason if none can.
    read: the results that are stored, None for all; constants: the arrays around it that are
    known; side_by_side: whether there are threads enough for all elements of an array to run the
    iterations that change others, too."""
    parts = parts_of(eqn, read, constants)
    if not side_by_side and any(map(_changes_few, parts.body.eqns)):
        raise NotAKernelError("an iteration changes few elements of an array")
    if any(v.type.size == 0 for v in (*parts.initial, *eqn.outs)):
        raise NotAKernelError("a carried array is empty")
    if any(not inlines(e) and e.op.kind is OpKind.CONTROL for e in parts.body.eqns):
        raise NotAKernelError("the body holds control flow")
    try:
        return _PerElement(parts, site, few=False).run(name)
    except NotAKernelError as first:
        small = sum(v.type.size for v in parts.initial) <= SMALL_STATE
        if not small and not _has_few(parts):
            raise
        try:
            if small:
                return _SmallState(parts, site).run(name)
            return _PerElement(parts, site, few=True).run(name)
        except NotAKernelError as second:
            raise NotAKernelError(f"{first}; {second}") from None


def _changes_few(e: Eqn) -> bool:
    """Whether an equation changes a small part of a large array, at places that are computed."""
    if e.op.name != "update_slice" or None not in e.params["starts"]:
        return False
    return e.out.type.size > max(SMALL_STATE, FEW * e.args[1].type.size)


def _has_few(parts: LoopParts) -> bool:
    """Whether a carried array has axes of few elements beside others."""
    lengths = [sorted(units_dropped(v.shape)) for v in parts.initial]
    return any(few and few[0] <= FEW < few[-1] for few in lengths)
