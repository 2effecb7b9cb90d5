"""What the forms of loops as kernels (`lower_loops`, `lower_updates`) have in common.

A while or scan is taken apart (`parts_of`); elements of its body are pulled as those of other
kernels are (`LoopPuller`), where parameters stand for captured arrays, slices, or the state, which
is variables of the loop (`State`); and the loop is one statement (`LoopLowerer.loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.element import Element, components_of, literal, result_of, widened
from pyc.ir.expr import Const, Expr, Var, const, postorder
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.loops import Buffer, Carry, Fail, For, Kind, Stmt, While
from pyc.ir.op import Complex
from pyc.ir.op import Kind as OpKind
from pyc.ir.order import LANES, MONOIDS
from pyc.passes.loop_forms import NotAKernelError
from pyc.passes.lower import Puller, buffer_of, load
from pyc.passes.reads import Index, Walker, inlines

BODY_LIMIT = 1500
"""Expressions of a body that is written out or vectorised as one loop."""


@frozen()
class LoopParts:
    """A while or scan, taken apart: argument values of the outer Graph by role, and body Graphs.
    rows: the sliced inputs of a scan; length: None for a while; stored: the results to store;
    constants: the arrays around the loop that are known."""

    eqn: Eqn
    body: Graph
    condition: Graph | None
    condition_captures: tuple[Value, ...]
    captures: tuple[Value, ...]
    initial: tuple[Value, ...]
    rows: tuple[Value, ...]
    length: int | None
    reverse: bool
    stored: frozenset[int]
    constants: Mapping[Value, Any]

    @property
    def carries(self) -> int:
        """How many values are carried."""
        return len(self.initial)

    @property
    def carried_params(self) -> tuple[Value, ...]:
        """The body's parameters for the carries."""
        start = len(self.captures)
        return self.body.params[start : start + self.carries]


def parts_of(
    eqn: Eqn,
    read: Container[Value] | None = None,
    constants: Mapping[Value, Any] | None = None,
) -> LoopParts:
    """The parts of a while or scan equation, of which `read` are stored (None: all results)."""
    p, args = eqn.params, eqn.args
    constants = constants or {}
    stored = frozenset(k for k, out in enumerate(eqn.outs) if read is None or out in read)
    if eqn.op.name == "scan":
        first, last = p["captures"], p["captures"] + p["carries"]
        return LoopParts(
            eqn,
            p["body"],
            None,
            (),
            args[:first],
            args[first:last],
            args[last:],
            p["length"],
            p["reverse"],
            stored,
            constants,
        )
    tests, works = p["condition_captures"], p["body_captures"]
    return LoopParts(
        eqn,
        p["body"],
        p["condition"],
        args[:tests],
        args[tests : tests + works],
        args[tests + works :],
        (),
        None,
        False,
        stored,
        constants,
    )


class LoopPuller(Puller):
    """Pulls elements of a loop's body: parameters are captured arrays, slices, or state."""

    def __init__(
        self,
        graph: Graph,
        site: Callable[[Eqn], int],
        leaf: Callable[[Value, Index], Element],
    ) -> None:
        super().__init__(Walker(graph), frozenset(), _no_buffer, site)
        self._parameter = leaf
        self.params = set(graph.params)

    def _inlined(self, value: Value) -> Eqn | None:
        """Updates have no memory here: each element is the new or the old one."""
        eqn = self.walker.producer.get(value)
        moves = eqn is not None and eqn.op.kind in (OpKind.POINTWISE, OpKind.INDEX)
        return eqn if moves else None

    def _leaf(self, value: Value, index: Index) -> Element:
        if value in self.params:
            return self._parameter(value, index)
        scalar = self.walker.scalars.get(value)
        if scalar is not None:
            return literal(scalar, value.dtype)
        if value in self.walker.constants:
            return literal(self.walker.constants[value][self._constant(index)], value.dtype)
        eqn = self.walker.producer.get(value)
        if eqn is not None and eqn.op.kind is OpKind.REDUCE:
            return self._reduced(eqn, index)
        if eqn is not None and eqn.op.name == "dot_general":
            return self._product(eqn, index)
        raise NotAKernelError(f"the body needs memory for {eqn.op if eqn else 'a value'}")

    def _constant(self, index: Index) -> tuple[int, ...]:
        places = [self.simplify.linear(e) for e in index]
        if not all(p.is_constant for p in places):
            raise NotAKernelError("the body needs an array in memory")
        return tuple(p.constant for p in places)

    def _reduced(self, eqn: Eqn, index: Index) -> Element:
        """A reduction over few elements, written out in the documented order."""
        (x,) = eqn.args
        axes = eqn.params["axes"]
        extents = [x.shape[a] for a in axes]
        if not 0 < prod(extents) <= LANES:
            raise NotAKernelError(f"the body reduces over {prod(extents)} elements")
        values: list[tuple[Expr, ...]] = []
        for number, place in enumerate(product(*map(range, extents))):
            at = _insert(index, axes, place)
            elements = [self.element(x, at)]
            values.append(components_of(eqn.op, elements, const(number), eqn.params))
        assert eqn.op.monoid is not None
        total = _tree(values, eqn.op.monoid)
        return result_of(eqn.op, total, eqn.out.dtype, eqn.params)

    def _product(self, eqn: Eqn, index: Index) -> Element:
        """A contraction over few elements, written out."""
        a, b = eqn.args
        (a_contract, b_contract), (a_batch, b_batch) = eqn.params["dimensions"]
        batch = index[: len(a_batch)]
        a_free = a.type.rank - len(a_contract) - len(a_batch)
        rows = index[len(a_batch) : len(a_batch) + a_free]
        columns = index[len(a_batch) + a_free :]
        extents = [a.shape[k] for k in a_contract]
        if not 0 < prod(extents) <= LANES:
            raise NotAKernelError(f"the body sums over {prod(extents)} products")
        kind = widened(a.dtype)
        values: list[tuple[Expr, ...]] = []
        for place in product(*map(range, extents)):
            middle = tuple(const(k) for k in place)
            x = self.element(a, _assemble(a, a_batch, batch, a_contract, middle, rows))
            y = self.element(b, _assemble(b, b_batch, batch, b_contract, middle, columns))
            assert isinstance(x, Expr)
            assert isinstance(y, Expr)
            values.append((x.cast(kind) * y.cast(kind),))
        (total,) = _tree(values, "add")
        return total.cast(eqn.out.dtype)


def _no_buffer(value: Value) -> Buffer:
    raise AssertionError("a loop's body has no buffers of its own")


def _insert(index: Index, axes: Sequence[int], place: Sequence[int]) -> Index:
    """The full index of kept positions `index` and reduced positions `place`."""
    fixed = dict(zip(axes, place, strict=True))
    rest = iter(index)
    rank = len(index) + len(axes)
    return tuple(const(fixed[k]) if k in fixed else next(rest) for k in range(rank))


def _assemble(
    value: Value,
    batch_axes: Sequence[int],
    batch: Index,
    contract_axes: Sequence[int],
    contracted: Index,
    free: Index,
) -> Index:
    known = dict(zip(batch_axes, batch, strict=True))
    known.update(zip(contract_axes, contracted, strict=True))
    rest = iter(free)
    return tuple(known[k] if k in known else next(rest) for k in range(value.type.rank))


def _tree(values: list[tuple[Expr, ...]], monoid: str) -> tuple[Expr, ...]:
    """The documented order over at most LANES values."""
    combine, width = MONOIDS[monoid].combine, LANES // 2
    while width:
        for k in range(min(width, max(len(values) - width, 0))):
            values[k] = combine(values[k], values[k + width])
        values = values[:width]
        width //= 2
    return values[0]


class LoopLowerer:
    """What both forms share: buffers, state variables, and the loop statement."""

    def __init__(self, parts: LoopParts, site: Callable[[Eqn], int]) -> None:
        self.parts = parts
        self.site = site
        self.inputs: dict[Value, Buffer] = {}
        self.number = Var("t")
        self.step: Expr = self.number
        self.stops = False
        if parts.reverse and parts.length is not None:
            self.step = const(parts.length - 1) - self.number

    def input(self, value: Value) -> Buffer:
        """The buffer of a value of the outer Graph."""
        if value not in self.inputs:
            self.inputs[value] = buffer_of(value, f"in{len(self.inputs)}", "in")
        return self.inputs[value]

    def read(self, value: Value, index: Index) -> Element:
        """An element of a value of the outer Graph."""
        return load(self.input(value), index, is_complex=value.dtype.is_complex)

    def leaf(
        self, graph: Graph, captures: tuple[Value, ...], state: Callable[[int, Index], Element]
    ) -> Callable[[Value, Index], Element]:
        """What a parameter of `graph` at an index stands for."""
        places = {p: k for k, p in enumerate(graph.params)}
        carries = self.parts.carries

        def find(param: Value, index: Index) -> Element:
            k = places[param]
            if k < len(captures):
                return self._captured(captures[k], index)
            k -= len(captures)
            if k < carries:
                return state(k, index)
            return self.read(self.parts.rows[k - carries], (self.step, *index))

        return find

    def _captured(self, value: Value, index: Index) -> Element:
        """An element of a captured array: a literal where it is known."""
        array = self.parts.constants.get(value)
        if array is None or not all(isinstance(e, Const) for e in index):
            return self.read(value, index)
        place = tuple(int(e.value) for e in index if isinstance(e, Const))
        return literal(array[place], value.dtype)

    def pull_checks(self, pull: Puller) -> None:
        """Pulls the scalars of the body that can fail, in its order, if one is a check: it has no
        reader that would."""
        effects = [e for e in self.parts.body.eqns if e.op.effect]
        if not all(inlines(e) for e in effects):
            raise NotAKernelError("the body calls Python")
        if any(e.out.shape for e in effects):
            raise NotAKernelError("the body checks every element")
        self.stops = bool(effects)
        if self.stops:
            for e in self.parts.body.eqns:
                if e.op.effect or (e.op.fails is not None and not e.out.shape):
                    pull.element(e.out, ())

    @staticmethod
    def tested(pull: Puller, graph: Graph, value: Value | None = None, index: Index = ()) -> Expr:
        """What the condition of the loop gives, or a value of it; NotAKernelError if it can
        fail."""
        found = pull.element(value or graph.results[0], index)
        if pull.fails or any(e.op.effect for e in graph.eqns):
            raise NotAKernelError("the condition can fail")
        assert isinstance(found, Expr)
        return found

    def loop(
        self,
        carried: Sequence[Carry],
        condition: Expr | None,
        fails: Sequence[Fail],
        rest: Sequence[Stmt],
        *,
        before: Sequence[Stmt] = (),
    ) -> Stmt:
        """The loop statement. fails: the checks of the body, over what `before` binds. Where one is
        a `raise` of the user's, the first iteration that fails is the last: what would fail later
        is not told, and a loop that only the exception ends has an end."""
        if self.stops:
            going, gone = Var("going", dt.b1), Var("gone", dt.b1)
            fine: Expr = going
            for fail in fails:
                fine = fine & ~fail.condition
            carried = [*carried, Carry(going, const(True, dt.b1), fine, gone)]
            fails = [Fail(f.site, going & f.condition, f.value) for f in fails]
            condition = None if condition is None else condition & going
        body = (*before, *fails, *rest)
        if condition is not None:
            return While(tuple(carried), condition, body)
        assert self.parts.length is not None
        return For(self.number, self.parts.length, Kind.SERIAL, body, tuple(carried))

    def check_size(self, roots: Sequence[Expr]) -> None:
        """NotAKernelError if the body is too large to be one."""
        if len(postorder(roots)) > BODY_LIMIT:
            raise NotAKernelError(f"the body has more than {BODY_LIMIT} expressions")


@frozen()
class State:
    """One carried number: its variables (two if complex) inside and after the loop."""

    inside: Element
    after: Element


def state_of(dtype: dt.DType, name: str) -> State:
    """New variables for a number of this type."""

    def one(suffix: str) -> Element:
        if dtype.is_complex:
            return Complex(Var(f"{name}r{suffix}", dtype.real), Var(f"{name}i{suffix}", dtype.real))
        return Var(f"{name}{suffix}", dtype)

    return State(one(""), one("_end"))


def carries_of(state: State, initial: Element, following: Element) -> list[Carry]:
    """What a loop carries for a number that starts as `initial` and goes on as `following`."""
    if isinstance(state.inside, Complex):
        assert isinstance(state.after, Complex)
        assert isinstance(initial, Complex)
        assert isinstance(following, Complex)
        rows = [
            (state.inside.re, initial.re, following.re, state.after.re),
            (state.inside.im, initial.im, following.im, state.after.im),
        ]
    else:
        rows = [(state.inside, initial, following, state.after)]  # type: ignore[list-item]
    return [Carry(v, i, n, r) for v, i, n, r in rows]  # type: ignore[arg-type]


def scalars_of(element: Element) -> list[Expr]:
    """The real expressions of an element."""
    return [element.re, element.im] if isinstance(element, Complex) else [element]
