"""Loops that update arrays in place as kernels: `y[i] = f(y[i - 1], x[i])`, tables, running state.

A `while` whose body changes a few elements of some of the arrays that it carries, and whose other
state is a few numbers, becomes one loop of one kernel: the numbers are variables of the loop, the
arrays are buffers that it loads from and stores to, and the body is straight code.

What an iteration loads is bound (`Let`) where the array is as the equation reads it: behind the
store that made this version of it, before the next one. A body that would read a version after it
was overwritten is none of these loops. Checks come last, and the first iteration that fails is the
one that is told, as where each iteration is launched by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import product
from typing import Any

from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir.element import Element
from pyc.ir.expr import Const, Expr, Load, Var, const, postorder
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.loops import Body, Buffer, Carry, Fail, If, Kernel, Let, Stmt, Store
from pyc.ir.op import Complex
from pyc.ir.op import Kind as OpKind
from pyc.ir.ops.indexing import combined, scatter_target
from pyc.passes.index import Linear
from pyc.passes.loop_bodies import (
    LoopLowerer,
    LoopParts,
    LoopPuller,
    State,
    carries_of,
    parts_of,
    scalars_of,
    state_of,
)
from pyc.passes.loop_forms import LARGEST, SMALL_STATE, Counted, NotAKernelError, counted
from pyc.passes.lower import Lowered, Puller, buffer_of, load, store
from pyc.passes.reads import Index, inlines

UNASKED = 1 << 22
"""Iterations of a loop that does not ask whether the call is being cancelled."""
MOST_KEPT = 4
"""Elements of an array that a loop keeps in registers: those that it stored last."""


@frozen()
class _Version:
    """A carried array as it is after `number` of the updates of an iteration to it; made: how many
    updates of all arrays come before it is so, and replaced: before it is no more."""

    carry: int
    made: int
    replaced: int


class _Puller(LoopPuller):
    """Pulls elements of a body whose updates have memory."""

    def __init__(
        self,
        graph: Graph,
        site: Callable[[Eqn], int],
        leaf: Callable[[Value, Index], Element],
        versions: Mapping[Value, _Version],
        read: Callable[[_Version, Index], Element],
    ) -> None:
        super().__init__(graph, site, leaf)
        self.versions = versions
        self.read = read

    def _inlined(self, value: Value) -> Eqn | None:
        return None if value in self.versions else super()._inlined(value)

    def _leaf(self, value: Value, index: Index) -> Element:
        version = self.versions.get(value)
        return super()._leaf(value, index) if version is None else self.read(version, index)


class _Updates(LoopLowerer):
    """The loop of one kernel, over numbers and arrays in memory."""

    def __init__(self, parts: LoopParts, site: Callable[[Eqn], int], count: Counted | None) -> None:
        super().__init__(parts, site)
        self.count = count
        self.chains = _chains(parts)
        self.updates = [e for e in parts.body.eqns if any(e in c for c in self.chains.values())]
        self.memory = {
            k: buffer_of(parts.eqn.outs[k], f"array{k}", "inout") for k in sorted(self.chains)
        }
        self._versions = self._all_versions()
        self.loads: list[list[Stmt]] = [[] for _ in range(len(self.updates) + 1)]
        self.after: dict[Var, int] = {}
        """How many updates come before a variable of `loads` is bound."""
        self.stored: dict[int, list[tuple[Index, Element | None]]] = {}
        """Where each update stores, and what if that is known: not if it combines, or may not."""

    def run(self, name: str) -> Lowered:
        parts = self.parts
        numbers = [k for k in range(parts.carries) if k not in self.memory]
        if sum(parts.initial[k].type.size for k in numbers) > SMALL_STATE:
            raise NotAKernelError(f"the other state has more than {SMALL_STATE} numbers")
        if sum(e.args[1].type.size for e in self.updates) > SMALL_STATE:
            raise NotAKernelError(f"an iteration stores more than {SMALL_STATE} elements")
        counters = {} if self.count is None else self.count.counters
        places = {k: list(product(*map(range, parts.initial[k].shape))) for k in numbers}
        self._states = {
            (k, at): state_of(parts.initial[k].dtype, f"c{k}_{n}_")
            for k in numbers
            for n, at in enumerate(places[k])
        }
        for k, (start, step) in counters.items():
            assert self.count is not None
            end = const(start + self.count.times * step)
            self._states[k, ()] = State(const(start) + self.number * step, end)
        pull = _Puller(
            parts.body,
            self.site,
            self.leaf(parts.body, parts.captures, self._state),
            self._versions,
            self._load,
        )
        self._simplify = pull.simplify
        if self.count is not None:
            pull.simplify.declare(self.number, self.count.times)
        self.pull_checks(pull)
        for e in parts.body.eqns:
            if e.op.fails is not None and not e.out.shape and inlines(e):
                pull.element(e.out, ())
        stores = [self._stores(pull, number, e) for number, e in enumerate(self.updates)]
        carried: list[Carry] = []
        roots: list[Expr] = []
        for k in numbers:
            if k in counters:
                continue
            for at in places[k]:
                index = tuple(const(i) for i in at)
                following = pull.element(parts.body.results[k], index)
                first = self.read(parts.initial[k], index)
                carried += carries_of(self._states[k, at], first, following)
                roots += scalars_of(following)
        fails = [
            Fail(f.site, failing, f.value)
            for f in pull.take_fails()
            if not _is(failing := pull.simplify(f.condition), False)
        ]
        self.stops = bool(fails)
        if self.count is not None:
            carried += self._kept(stores)
        before: list[Stmt] = []
        for number, loads in enumerate(self.loads):
            before += loads
            before += stores[number] if number < len(stores) else []
        roots += [s.value for s in before if isinstance(s, (Let, Store))]
        self.check_size(roots)
        condition: Expr | None = self._condition() if self.count is None else None
        if self.count is not None and self.count.times > UNASKED:
            carried.append(Carry(self.number, const(0), self.number + 1, Var("t_end")))
            condition = self.number < self.count.times
        loop = self.loop(carried, condition, fails, (), before=before)
        outputs = {parts.eqn.outs[k]: buffer for k, buffer in self.memory.items()}
        ends: list[tuple[Buffer, Index, Element]] = []
        for k in numbers:
            if k not in parts.stored:
                continue
            out = parts.eqn.outs[k]
            outputs[out] = buffer_of(out, f"out{k}", "out")
            for at in places[k]:
                index = tuple(const(i) for i in at)
                ends.append((outputs[out], index, self._states[k, at].after))
        body: Body = (loop, *(store(ends) if ends else ()))
        kernel = Kernel(name, (*self.inputs.values(), *outputs.values()), body)
        return Lowered(kernel, tuple(self.inputs), tuple(outputs))

    def _stores(self, pull: Puller, number: int, eqn: Eqn) -> list[Stmt]:
        """The statements of an update, with all that it stores computed before."""
        buffer = self.memory[self._versions[eqn.out].carry]
        types = tuple(a.type for a in eqn.args)
        values: list[Stmt] = []
        stores: list[Stmt] = []
        stored: list[tuple[Index, Element | None]] = []
        for place in product(*map(range, types[1].shape)):
            index = tuple(const(i) for i in place)
            new = pull.element(eqn.args[1], index)

            def read(k: int, at: Index) -> Element:
                return pull.element(eqn.args[k], tuple(at))

            inside: Expr = const(True, dt.b1)
            mode = "set"
            if eqn.op.target is not None:
                target = eqn.op.target(read, index, types, **eqn.params)
            else:
                target, inside = scatter_target(read, index, types, **eqn.params)
                mode = eqn.params["mode"]
            target, inside = pull.walker.canonical(tuple(target)), pull.simplify(inside)
            if self._after((*target, inside, *scalars_of(new))) > number:
                raise NotAKernelError("the body stores what it reads later")
            one: list[Stmt] = []
            bound: list[Var] = []
            for k, part in enumerate(scalars_of(new)):
                bound.append(Var(f"new{number}_{len(values)}", part.dtype))
                self.after[bound[-1]] = number + 1
                values.append(Let(bound[-1], part))
                at = (*target, const(k)) if isinstance(new, Complex) else target
                one.append(combined(buffer, at, bound[-1], mode))
            certain = _is(inside, True)
            stores += one if certain else [If(inside, tuple(one))]
            element = Complex(*bound) if isinstance(new, Complex) else bound[0]
            stored.append((target, element if certain and mode == "set" else None))
        self.stored[number + 1] = stored
        return [*values, *stores]

    # --- reads ------------------------------------------------------------------------------------

    def _all_versions(self) -> dict[Value, _Version]:
        """Every array in memory as the body sees it."""
        number = {e: n for n, e in enumerate(self.updates)}
        found: dict[Value, _Version] = {}
        for k, chain in self.chains.items():
            made = [0, *(number[e] + 1 for e in chain)]
            replaced = [*(number[e] for e in chain), len(self.updates)]
            values = [self.parts.carried_params[k], *(e.out for e in chain)]
            rows = zip(values, made, replaced, strict=True)
            found.update((v, _Version(k, a, b)) for v, a, b in rows)
        return found

    def _load(self, version: _Version, index: Index) -> Element:
        """A variable that holds an element of an array in memory."""
        while version.made in self.stored:
            near = [item for item in self.stored[version.made] if not self._differs(item[0], index)]
            if near and near[-1][0] == index and near[-1][1] is not None:
                return near[-1][1]
            if near:
                break
            version = next(
                v
                for v in self._versions.values()
                if v.carry == version.carry and v.replaced == version.made - 1
            )
        after = max(version.made, self._after(index))
        if after > version.replaced:
            raise NotAKernelError("the body reads an array that it has overwritten")

        def bound(place: Index) -> Var:
            buffer = self.memory[version.carry]
            var = Var(f"{buffer.name}_{len(self.after)}", buffer.dtype)
            self.loads[after].append(Let(var, Load(buffer, place)))
            self.after[var] = after
            return var

        if self.parts.initial[version.carry].dtype.is_complex:
            return Complex(bound((*index, const(0))), bound((*index, const(1))))
        return bound(index)

    def _differs(self, a: Index, b: Index) -> bool:
        """Whether two places are surely not the same."""
        pairs = [map(self._simplify.linear, pair) for pair in zip(a, b, strict=True)]
        return any(x.terms == y.terms and x.constant != y.constant for x, y in pairs)

    def _after(self, roots: Sequence[Expr]) -> int:
        """How many updates come before these can be computed."""
        found = (self.after[n] for n in postorder(roots) if isinstance(n, Var) and n in self.after)
        return max(found, default=0)

    # --- what stays in registers ------------------------------------------------------------------

    def _kept(self, stores: Sequence[Sequence[Stmt]]) -> list[Carry]:
        """What a counted loop carries so that elements that it stored a few iterations ago are not
        loaded; their loads are dropped. Where an iteration stores one element of an array, at a
        place that moves evenly, that of a load is the one of `d` iterations before if it is behind
        by the way of `d` of them."""
        carried: list[Carry] = []
        for chain in self.chains.values():
            number = self.updates.index(chain[0])
            written = [s for s in stores[number] if not isinstance(s, Let)]
            if len(chain) > 1 or len(written) > 1 or not isinstance(written[0], Store):
                continue
            store = written[0]
            found: dict[int, Var] = {}
            for s in self.loads[0]:
                assert isinstance(s, Let) and isinstance(s.value, Load)
                distance = self._behind(store, s.value) if s.value.buffer is store.buffer else None
                if distance is not None:
                    found[distance] = s.var
            self.loads[0] = [
                s for s in self.loads[0] if isinstance(s, Let) and s.var not in found.values()
            ]
            following = store.value
            for d in range(1, max(found, default=0) + 1):
                var = found[d] if d in found else Var(f"before{d}", store.buffer.dtype)
                place = self._at(store.index, -d)
                assert place is not None
                result = Var(f"{var.name}_end", var.dtype)
                carried.append(Carry(var, Load(store.buffer, place), following, result))
                following = var
        return carried

    def _behind(self, store: Store, load: Load) -> int | None:
        """How many iterations before this one stored the element that is loaded; None if that is
        not known, or many."""
        if self._at(store.index, 0) is None:
            return None
        for d in range(1, MOST_KEPT + 1):
            if self._earlier(store.index, d) == tuple(map(self._simplify.linear, load.index)):
                return d
        return None

    def _earlier(self, index: Index, iterations: int) -> tuple[Linear, ...]:
        """The index of that many iterations ago, in terms of this one's number."""
        forms = map(self._simplify.linear, index)
        return tuple(
            Linear(form.constant - iterations * _factor(form, self.number), form.terms)
            for form in forms
        )

    def _at(self, index: Index, iteration: int) -> Index | None:
        """The index in an iteration by its number, which may be negative; None if it depends on
        what is not known before the loop."""
        found: list[Expr] = []
        for form in map(self._simplify.linear, index):
            rest = tuple((atom, f) for atom, f in form.terms if atom is not self.number)
            if any(isinstance(n, Var) for n in postorder([atom for atom, _ in rest])):
                return None
            constant = form.constant + iteration * _factor(form, self.number)
            found.append(self._simplify.build(Linear(constant, rest)))
        return tuple(found)

    # --- numbers and the end ----------------------------------------------------------------------

    def _state(self, k: int, index: Index) -> Element:
        places = [self._simplify.linear(e) for e in index]
        if not all(p.is_constant for p in places):
            raise NotAKernelError("the body reads its state at a computed place")
        return self._states[k, tuple(p.constant for p in places)].inside

    def _condition(self) -> Expr:
        graph = self.parts.condition
        assert graph is not None

        def state(k: int, index: Index) -> Element:
            # Tested before the body: the array is as the iteration before has left it.
            if k in self.memory:
                return load(
                    self.memory[k], index, is_complex=self.parts.initial[k].dtype.is_complex
                )
            return self._state(k, index)

        pull = LoopPuller(graph, self.site, self.leaf(graph, self.parts.condition_captures, state))
        self._simplify = pull.simplify
        return self.tested(pull, graph)


def _factor(form: Linear, var: Var) -> int:
    return sum(f for atom, f in form.terms if atom is var)


def _is(e: Expr, value: bool) -> bool:
    return isinstance(e, Const) and bool(e.value) is value


def _chains(parts: LoopParts) -> dict[int, list[Eqn]]:
    """The updates, in order, that make each carried array of the one before, where an array needs
    memory for that: it is large, or where it is stored to is computed."""
    maker = {out: e for e in parts.body.eqns for out in e.outs}
    found: dict[int, list[Eqn]] = {}
    for k, param in enumerate(parts.carried_params):
        value = parts.body.results[k]
        chain: list[Eqn] = []
        while value is not param and value in maker and maker[value].op.in_place == 0:
            chain.insert(0, maker[value])
            value = maker[value].args[0]
        still = all(e.op.name == "update_slice" and None not in e.params["starts"] for e in chain)
        if chain and value is param and not (still and param.type.size <= SMALL_STATE):
            found[k] = chain
    return found


def lower_updates(
    eqn: Eqn,
    name: str,
    site: Callable[[Eqn], int],
    *,
    read: Container[Value],
    known: Mapping[Value, Any],
    constants: Mapping[Value, Any],
) -> Lowered | None:
    """The kernel that runs a while; its buffers for arrays in memory are "inout": the planner puts
    the initial values there. None if no array is updated in place, NotAKernelError with the reason
    if there is no kernel. read: the results that are stored; known: the constants of one element
    around it; constants: the others."""
    parts = parts_of(eqn, read, constants)
    if not _chains(parts):
        return None
    if any(v.type.size == 0 for v in (*parts.initial, *eqn.outs)):
        raise NotAKernelError("a carried array is empty")
    if any(not inlines(e) and e.op.kind is OpKind.CONTROL for e in parts.body.eqns):
        raise NotAKernelError("the body holds control flow")
    count = counted(eqn, known)
    if count is not None and count.times >= LARGEST:
        count = None
    if count is not None:
        parts = replace(parts, condition=None, length=count.times)
    return _Updates(parts, site, count).run(name)
