"""Loops as kernels: a `while` or `scan` whose state fits registers becomes a loop inside a kernel.

Two forms, tried in this order; both read captured arrays freely and need the loop's end to follow
from scalars (or from nothing, for a scan):

* *per element*: every carried array has one domain, and the body is pointwise over it. Each element
  of the domain runs the whole loop with its state in registers; the schedule puts elements side by
  side in vectors and spreads them over tasks. A condition `any(mask)` is allowed when `mask` is
  itself carried, only ever narrowed (`mask & ...`), and every other carry keeps its value where the
  mask is false (`where(mask, new, old)`): stopping early is then the same.
* *small state*: a few numbers in all (Kalman filters, small matrices): the state is one variable
  per number and the body straight code, reductions and products included, in the documented order.

What is neither runs as a whole-array loop of the Plan, with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import product
from math import prod

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.element import Element, components_of, literal, result_of, widened
from pyc.ir.expr import Expr, Var, const, postorder
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.loops import Body, Buffer, Carry, Fail, For, Kernel, Kind, Stmt, While
from pyc.ir.op import Complex
from pyc.ir.op import Kind as OpKind
from pyc.ir.order import LANES, MONOIDS
from pyc.passes.lower import Lowered, Puller, buffer_of, load, store
from pyc.passes.reads import Index, Walker, full_index, inlines, units_dropped

SMALL_STATE = 64
"""Numbers carried by a loop whose body is written out."""
BODY_LIMIT = 1500
"""Expressions of a body that is written out or vectorised as one loop."""


class NotAKernelError(Exception):
    """Why a loop is not one kernel."""


@frozen()
class LoopParts:
    """A while or scan, taken apart: argument values of the outer Graph by role, and body Graphs.
    rows: the sliced inputs of a scan; length: None for a while; stored: the results to store."""

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

    @property
    def carries(self) -> int:
        """How many values are carried."""
        return len(self.initial)

    @property
    def carried_params(self) -> tuple[Value, ...]:
        """The body's parameters for the carries."""
        start = len(self.captures)
        return self.body.params[start : start + self.carries]


def parts_of(eqn: Eqn, read: Container[Value] | None = None) -> LoopParts:
    """The parts of a while or scan equation, of which `read` are stored (None: all results)."""
    p, args = eqn.params, eqn.args
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
    )


class _LoopPuller(Puller):
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
        self._constant(index)
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
        self._constant(index)
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


class _Lowerer:
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
                return self.read(captures[k], index)
            k -= len(captures)
            if k < carries:
                return state(k, index)
            return self.read(self.parts.rows[k - carries], (self.step, *index))

        return find

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

    def loop(
        self,
        carried: Sequence[Carry],
        condition: Expr | None,
        fails: Sequence[Fail],
        rest: Sequence[Stmt],
    ) -> Stmt:
        """The loop statement. fails: the checks of the body. Where one is a `raise` of the user's,
        the first iteration that fails is the last: what would fail later is not told, and a loop
        that only the exception ends has an end."""
        if self.stops:
            going, gone = Var("going", dt.b1), Var("gone", dt.b1)
            fine: Expr = going
            for fail in fails:
                fine = fine & ~fail.condition
            carried = [*carried, Carry(going, const(True, dt.b1), fine, gone)]
            fails = [Fail(f.site, going & f.condition, f.value) for f in fails]
            condition = None if condition is None else condition & going
        body = (*fails, *rest)
        if condition is not None:
            return While(tuple(carried), condition, body)
        assert self.parts.length is not None
        return For(self.number, self.parts.length, Kind.SERIAL, body, tuple(carried))

    def check_size(self, roots: Sequence[Expr]) -> None:
        """NotAKernelError if the body is too large to be one."""
        if len(postorder(roots)) > BODY_LIMIT:
            raise NotAKernelError(f"the body has more than {BODY_LIMIT} expressions")


@frozen()
class _State:
    """One carried number: its variables (two if complex) inside and after the loop."""

    inside: Element
    after: Element


def _state_of(dtype: dt.DType, name: str) -> _State:
    def one(suffix: str) -> Element:
        if dtype.is_complex:
            return Complex(Var(f"{name}r{suffix}", dtype.real), Var(f"{name}i{suffix}", dtype.real))
        return Var(f"{name}{suffix}", dtype)

    return _State(one(""), one("_end"))


def _carries(state: _State, initial: Element, following: Element) -> list[Carry]:
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


def _parts(element: Element) -> list[Expr]:
    return [element.re, element.im] if isinstance(element, Complex) else [element]


class _PerElement(_Lowerer):
    """Every element of the domain runs the loop."""

    def run(self, name: str) -> list[Lowered]:
        parts = self.parts
        arrays = [k for k, v in enumerate(parts.initial) if units_dropped(v.shape)]
        scalars = [k for k in range(parts.carries) if k not in arrays]
        stacked = parts.eqn.outs[parts.carries :]
        shapes = {units_dropped(parts.initial[k].shape) for k in arrays}
        shapes |= {units_dropped(v.shape[1:]) for v in stacked}
        if parts.length is not None and any(units_dropped(v.shape[1:]) == () for v in stacked):
            shapes.add(())
        if len(shapes) > 1:
            raise NotAKernelError("the carried arrays have different shapes")
        domain = shapes.pop() if shapes else ()
        if not domain:
            return [self._kernel(name, (), list(range(parts.carries)))]
        found = [self._kernel(name, domain, arrays + scalars)]
        if any(k in parts.stored for k in scalars):
            alone = _PerElement(parts, self.site)
            found.append(alone._kernel(f"{name}_scalars", (), scalars, stack=False))
        return found

    def _kernel(
        self, name: str, domain: tuple[int, ...], chosen: list[int], *, stack: bool = True
    ) -> Lowered:
        parts = self.parts
        pull = _LoopPuller(
            parts.body, self.site, self.leaf(parts.body, parts.captures, self._state)
        )
        simplify = pull.simplify
        variables = [simplify.variable(f"i{p}", d) for p, d in enumerate(domain)]
        self._simplify = simplify
        if parts.length is not None:
            simplify.declare(self.number, parts.length)
        self._states = {k: _state_of(parts.initial[k].dtype, f"c{k}_") for k in chosen}
        self._places = places = {
            k: pull.walker.canonical(full_index(parts.initial[k].shape, variables)) for k in chosen
        }
        condition = self._condition(domain, chosen)
        self.pull_checks(pull)
        carried: list[Carry] = []
        roots: list[Expr] = []
        for k in chosen:
            value = parts.body.results[k]
            index = pull.walker.canonical(full_index(value.shape, variables))
            following = pull.element(value, index)
            first = self.read(parts.initial[k], places[k])
            carried += _carries(self._states[k], first, following)
            roots += _parts(following)
        outs: list[tuple[Buffer, Index, Element]] = []
        inside: list[Stmt] = []
        outputs: dict[Value, Buffer] = {}
        if stack:
            rows: list[tuple[Buffer, Index, Element]] = []
            for n, out in enumerate(parts.eqn.outs[parts.carries :]):
                value = parts.body.results[parts.carries + n]
                index = pull.walker.canonical(full_index(value.shape, variables))
                element = pull.element(value, index)
                outputs[out] = buffer_of(out, f"stack{n}", "out")
                rows.append((outputs[out], (simplify(self.step), *index), element))
                roots += _parts(element)
            inside += store(rows) if rows else []
        fails = pull.take_fails()
        self.check_size(roots)
        for k in chosen:
            out = parts.eqn.outs[k]
            if k not in parts.stored or (domain and not units_dropped(out.shape)):
                continue  # nobody reads it, or the scalars' own kernel stores it
            outputs[out] = buffer_of(out, f"out{k}", "out")
            outs.append((outputs[out], places[k], self._states[k].after))
        body: Body = (self.loop(carried, condition, fails, inside), *(store(outs) if outs else ()))
        for var, extent in reversed(list(zip(variables, domain, strict=True))):
            body = (For(var, extent, Kind.PARALLEL, body),)
        kernel = Kernel(name, (*self.inputs.values(), *outputs.values()), body)
        return Lowered(kernel, tuple(self.inputs), tuple(outputs))

    def _state(self, k: int, index: Index) -> Element:
        """Carry k at an index: its variable, if the index is this element's own."""
        if k not in self._states:
            raise NotAKernelError("a scalar of the loop depends on an array")
        here = self._places[k]
        if len(index) != len(here) or any(
            self._key(a) != self._key(b) for a, b in zip(index, here, strict=True)
        ):
            raise NotAKernelError("the body reads its state at another place")
        return self._states[k].inside

    def _key(self, e: Expr) -> object:
        if isinstance(e, Var):
            return e
        form = self._simplify.linear(e)
        return (form.constant, *((id(a), f) for a, f in form.terms))

    def _condition(self, domain: tuple[int, ...], chosen: list[int]) -> Expr | None:
        parts = self.parts
        graph = parts.condition
        if graph is None:
            return None
        mask = _mask_of(parts) if domain else None
        if mask is not None and len(chosen) == sum(
            bool(units_dropped(parts.initial[k].shape)) for k in chosen
        ):
            element = self._states[mask].inside
            assert isinstance(element, Expr)
            return element
        pull = _LoopPuller(
            graph, self.site, self.leaf(graph, parts.condition_captures, self._state)
        )
        found = pull.element(graph.results[0], ())
        if pull.fails or any(e.op.effect for e in graph.eqns):
            raise NotAKernelError("the condition can fail")
        assert isinstance(found, Expr)
        return found


def _mask_of(parts: LoopParts) -> int | None:
    """The carry m of a loop `while any(m)` that may stop per element (see the module docstring)."""
    graph = parts.condition
    assert graph is not None
    makers = {o: e for e in graph.eqns for o in e.outs}
    last = makers.get(graph.results[0])
    if last is None or last.op.name != "reduce_any":
        return None
    carried = graph.params[len(parts.condition_captures) :]
    if last.args[0] not in carried:
        return None
    m = carried.index(last.args[0])
    params = parts.carried_params
    producers = {o: e for e in parts.body.eqns for o in e.outs}
    narrowed = producers.get(parts.body.results[m])
    if narrowed is None or narrowed.op.name not in ("logical_and", "bitwise_and"):
        return None
    if params[m] not in narrowed.args:
        return None
    for k, result in enumerate(parts.body.results):
        if k == m or result is params[k]:
            continue
        kept = producers.get(result)
        if kept is None or kept.op.name != "select":
            return None
        if kept.args[0] is not params[m] or kept.args[2] is not params[k]:
            return None
    return m


class _SmallState(_Lowerer):
    """The whole state as single numbers, the body written out."""

    def run(self, name: str) -> list[Lowered]:
        parts = self.parts
        if sum(v.type.size for v in parts.initial) > SMALL_STATE:
            raise NotAKernelError(f"the state has more than {SMALL_STATE} numbers")
        places = [list(product(*map(range, v.shape))) for v in parts.initial]
        self._states = {
            (k, at): _state_of(v.dtype, f"c{k}_{n}_")
            for k, v in enumerate(parts.initial)
            for n, at in enumerate(places[k])
        }
        pull = _LoopPuller(
            parts.body, self.site, self.leaf(parts.body, parts.captures, self._state)
        )
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
                carried += _carries(self._states[k, at], self.read(v, index), following)
                roots += _parts(following)
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
                roots += _parts(element)
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
        pull = _LoopPuller(
            graph, self.site, self.leaf(graph, self.parts.condition_captures, self._state)
        )
        self._simplify = pull.simplify
        found = pull.element(graph.results[0], ())
        if pull.fails or any(e.op.effect for e in graph.eqns):
            raise NotAKernelError("the condition can fail")
        assert isinstance(found, Expr)
        return found


def lower_loop(
    eqn: Eqn, name: str, site: Callable[[Eqn], int], read: Container[Value] | None = None
) -> list[Lowered]:
    """The kernels that run a while or scan; raises NotAKernelError with the reason if none can.
    read: the results that are stored, None for all."""
    parts = parts_of(eqn, read)
    if any(v.type.size == 0 for v in (*parts.initial, *eqn.outs)):
        raise NotAKernelError("a carried array is empty")
    if any(not inlines(e) and e.op.kind is OpKind.CONTROL for e in parts.body.eqns):
        raise NotAKernelError("the body holds control flow")
    try:
        return _PerElement(parts, site).run(name)
    except NotAKernelError as first:
        if sum(v.type.size for v in parts.initial) > SMALL_STATE:
            raise
        try:
            return _SmallState(parts, site).run(name)
        except NotAKernelError as second:
            raise NotAKernelError(f"{first}; {second}") from None
