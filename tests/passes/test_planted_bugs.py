"""Mistakes planted in passes, op definitions, the planner and the emitter: each must be found.

A mistake is a function that takes `plant` and puts it in; beside it stands the program that shows
it. `pyc.verify` runs that program in every way and must raise; without the mistake it must not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import cycle
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.errors import VerificationError
from pyc.frozen import replace
from pyc.ir.evaluate import evaluate_eqn
from pyc.ir.expr import Apply, Const, Expr, Var
from pyc.ir.op import OPS
from pyc.ir.plan import Branch, Copy, Loop, Place
from pyc.ir.visit import Rewriter
from tests.programs import differential

RNG = np.random.default_rng(3)
LINE = RNG.standard_normal(37).astype(np.float32)
SQUARE = RNG.standard_normal((9, 9)).astype(np.float32)


class Plant:
    """Changes attributes, table entries and fields of ops for one test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.undo: list[Callable[[], None]] = []

    def attribute(self, place: str, name: str, wrong: Any) -> None:
        """`wrong` in place of `name` in a module, or a class of it (`module:Class`)."""
        module, _, inner = place.partition(":")
        owner = import_module(module)
        self.monkeypatch.setattr(getattr(owner, inner) if inner else owner, name, wrong)

    def original(self, place: str, name: str) -> Any:
        """What stands there now."""
        module, _, inner = place.partition(":")
        owner = import_module(module)
        return getattr(getattr(owner, inner) if inner else owner, name)

    def item(self, table: Any, key: Any, wrong: Any) -> None:
        """`wrong` at `key` of a table."""
        self.monkeypatch.setitem(table, key, wrong)

    def op(self, name: str, field: str, wrong: Any) -> None:
        """`wrong` as a field of an op."""
        op = OPS[name]
        right = getattr(op, field)
        object.__setattr__(op, field, wrong)
        self.undo.append(lambda: object.__setattr__(op, field, right))

    def plan(self, change: Callable[[Any], Any]) -> None:
        """A Plan changed after it was made."""
        program = self.original("pyc.passes.memory:_Planner", "program")

        def wrong(planner: Any, graph: Any) -> Any:
            found = program(planner, graph)
            return replace(found, plan=change(found.plan))

        self.attribute("pyc.passes.memory:_Planner", "program", wrong)

    def kernels(self, change: Callable[[Expr], Expr]) -> None:
        """Expressions of scheduled kernels changed."""
        right = self.original("pyc.passes.launches", "schedule")

        def wrong(kernel: Any, target: Any) -> Any:
            stages = right(kernel, target)
            rewriter = Rewriter(expr=change)
            return tuple(
                replace(s, kernel=replace(s.kernel, body=rewriter.body(s.kernel.body)))
                for s in stages
            )

        self.attribute("pyc.passes.launches", "schedule", wrong)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Plant]:
    found = Plant(monkeypatch)
    with pyc.config.using(cache="off"):
        pyc.cache.memory.clear()
        yield found
        for undo in reversed(found.undo):
            undo()
        pyc.cache.memory.clear()


BUGS: dict[str, tuple[Callable[[Plant], None], Callable[..., Any], tuple[Any, ...]]] = {}


def bug(program: Callable[..., Any], *arguments: Any) -> Callable[[Any], Any]:
    """Registers a mistake with the program that shows it."""

    def register(put: Callable[[Plant], None]) -> Callable[[Plant], None]:
        BUGS[put.__name__] = (put, program, arguments)
        return put

    return register


# --- Graph passes ---------------------------------------------------------------------------------

ZEROS = np.array([-0.0, 0.0, 1.0, np.nan, np.inf], np.float32)


@bug(lambda x: x + 0.0, ZEROS)
def adding_zero_is_nothing(plant: Plant) -> None:
    plant.attribute("pyc.passes.simplify", "_same_bits", lambda a, b: bool(a == b))


@bug(lambda x: x * 0.0, ZEROS)
def times_zero_is_zero(plant: Plant) -> None:
    plant.item(OPS["mul"].absorbing, 1, 0.0)


@bug(lambda x: 0.0 - x, ZEROS)
def zero_minus_x_is_x(plant: Plant) -> None:
    plant.item(OPS["sub"].unit, 0, 0)


@bug(lambda x: pnp.transpose(pnp.transpose(x, (1, 2, 0)), (1, 0, 2)), RNG.random((2, 3, 4)))
def transposes_compose_in_the_wrong_order(plant: Plant) -> None:
    def wrong(m: Any, e: Any, args: Any) -> Any:
        inner = m.maker(args[0], "transpose")
        if inner is None:
            return None
        axes = tuple(e.params["axes"][a] for a in inner.params["axes"])
        shape = tuple(inner.args[0].shape[a] for a in axes)
        if shape != e.out.shape:
            axes = tuple(sorted(axes))
        found = m.builder.bind(e.op, inner.args[0], axes=axes)
        return (
            found
            if found[0].type == e.out.type
            else m.builder.bind("reshape", found[0], shape=e.out.shape)
        )

    rules = import_module("pyc.passes.simplify").RULES
    plant.item(rules, "transpose", (wrong,))


@bug(lambda x: x[::-1], LINE)
def a_flip_of_everything_is_nothing(plant: Plant) -> None:
    simplify = import_module("pyc.passes.simplify")
    plant.item(simplify.RULES, "slice", (simplify._to_own_type,))


@bug(lambda x: pnp.where(pnp.asarray(np.bool_(True)), x, -x), LINE)
def a_known_condition_takes_the_other_side(plant: Plant) -> None:
    def wrong(m: Any, e: Any, args: Any) -> Any:
        known = m.scalar(args[0])
        return None if known is None else ((args[2],) if known else (args[1],))

    plant.item(import_module("pyc.passes.simplify").RULES, "select", (wrong,))


@bug(lambda x: x + pnp.exp(pnp.asarray(0.1)) * 3.0, RNG.random(5))
def constants_are_folded_in_single_precision(plant: Plant) -> None:
    def wrong(eqn: Any, args: Any) -> Any:
        found = evaluate_eqn(eqn, args)
        return [np.asarray(f, np.float32).astype(f.dtype) for f in found]

    plant.attribute("pyc.passes.fold", "evaluate_eqn", wrong)


def _running(x: Any) -> Any:
    def step(total: Any, row: Any) -> Any:
        total = pnp.cumsum(total + row)
        return total, total * 2

    return lax.scan(step, x[0], x, reverse=True)


@bug(_running, SQUARE)
def a_reversed_scan_runs_forwards(plant: Plant) -> None:
    right = plant.original("pyc.passes.loops", "_body")

    def wrong(eqn: Any, *rest: Any) -> Any:
        return right(replaced_params(eqn, reverse=False), *rest)

    plant.attribute("pyc.passes.loops", "_body", wrong)


def replaced_params(eqn: Any, **params: Any) -> Any:
    eqn_type = type(eqn)
    return eqn_type(eqn.op, eqn.args, {**eqn.params, **params}, eqn.outs, eqn.loc)


@bug(_running, SQUARE)
def a_scan_ends_one_step_early(plant: Plant) -> None:
    right = plant.original("pyc.passes.loops", "_condition")
    plant.attribute("pyc.passes.loops", "_condition", lambda t, length: right(t, length - 1))


def _counting(x: Any) -> Any:
    def step(i: Any, s: Any) -> Any:
        return s[0] + 1, x.at[s[0]].set(s[1][i])

    return lax.fori_loop(0, 5, step, (2, x))[1]


@bug(_counting, SQUARE.reshape(-1))
def counters_that_start_differently_are_one(plant: Plant) -> None:
    right = plant.original("pyc.passes.carries", "_equal_carries")

    def wrong(loop: Any) -> Any:
        return right(replace(loop, initial=(loop.initial[0],) * len(loop.initial)))

    plant.attribute("pyc.passes.carries", "_equal_carries", wrong)


def _leaving(x: Any) -> Any:
    """Elements stop one by one; what has a sign of its own, and the counter, tell when."""

    def step(s: Any) -> Any:
        k, x, zero = s
        return k + 1, pnp.where(x < 4, x * 1.5, x), zero + (x < 4).astype(x.dtype)

    start = (0, x, -x * 0.0)
    return lax.while_loop(lambda s: (s[0] < 9) & pnp.any(s[1] < 4), step, start)[1:]


@bug(_leaving, np.abs(SQUARE) * 4)
def an_element_leaves_though_it_changes(plant: Plant) -> None:
    right = plant.original("pyc.passes.leaving", "_folded")

    def wrong(e: Any) -> Any:
        if isinstance(e, Apply) and e.name == "add":
            zero = [isinstance(a, Const) and not a.value for a in e.args]
            return e.args[zero.index(False)] if any(zero) else e
        return right(e)

    plant.attribute("pyc.passes.leaving", "_folded", wrong)


def _walk(x: Any, wall: Any) -> Any:
    place, out = x[0], np.zeros_like(x)
    for i in range(x.shape[0]):
        place = np.maximum(x[i], np.minimum(place, wall))
        out[i] = place
    return out


@bug(_walk, np.tile(-ZEROS, 5), np.float32(-0.0))
def a_zero_is_a_plain_bound(plant: Plant) -> None:
    plant.attribute("pyc.passes.bounds", "_is_plain", lambda e: e.equal(e))


def _broken(x: Any) -> Any:
    y = x * 0
    for _ in range(20):
        y = y + 1
        if not np.any(x < 4):
            break
        x = np.where(x < 4, x * 1.5, x)
    return x, np.where(x < 100, y[0], y)


@bug(_broken, np.abs(LINE) + np.float32(0.5))
def a_break_undoes_what_came_before(plant: Plant) -> None:
    right = plant.original("pyc.passes.breaks", "_broken")
    plant.attribute("pyc.passes.breaks", "_broken", lambda e, outer, _: right(e, outer, set()))
    answers = cycle((False, True))  # the loop is none, the rewritten one would be
    plant.attribute("pyc.passes.breaks", "_is_kernel", lambda *_: next(answers))


def _nearly_all(x: Any) -> Any:
    y = np.zeros((70,))
    for i in range(1, 70):
        y[i] = x[i % 9]
    return y


@bug(_nearly_all, LINE[:9].astype(float))
def a_loop_stores_all_of_an_array(plant: Plant) -> None:
    plant.attribute("pyc.passes.initial_values", "_is_stored", lambda box, boxes: True)


def _added(x: Any) -> Any:
    y = np.zeros((70,))
    for i in range(70):
        y[i] = y[i] + x[i % 9]
    return y


@bug(_added, LINE[:9].astype(float))
def an_iteration_stores_before_it_reads(plant: Plant) -> None:
    right = plant.original("pyc.passes.initial_values", "_read_before")
    plant.attribute(
        "pyc.passes.initial_values", "_read_before", lambda *a, same: right(*a, same=True)
    )


def _too_far(x: Any) -> Any:
    total = np.zeros_like(x[0])
    for i in range(x.shape[0]):
        total = np.sort(total + x[i + 1])
    return total


@bug(_too_far, np.tile(SQUARE, (8, 1)))
def a_check_that_fails_in_the_end_is_dropped(plant: Plant) -> None:
    right = plant.original("pyc.passes.counted_places", "_place")
    plant.attribute("pyc.passes.counted_places", "_place", lambda e, found, _: right(e, found, 1))


# --- definitions and lowering ---------------------------------------------------------------------


@bug(lambda x, i: x[i] * 2, LINE, np.array([1, 99]))
def a_check_is_dropped(plant: Plant) -> None:
    plant.attribute("pyc.passes.lower", "fails_of", lambda *_: None)


@bug(lambda x, y: pnp.sort(pnp.sort(x).at[3:6].set(y)), LINE, LINE[:3])
def an_update_lands_one_further(plant: Plant) -> None:
    right = OPS["update_slice"].target
    assert right is not None

    def wrong(read: Any, index: Any, types: Any, **params: Any) -> Any:
        first, *rest = right(read, index, types, **params)
        return (first + 1, *rest)

    plant.op("update_slice", "target", wrong)


@bug(lambda x: pnp.pad(x, 2), LINE)
def a_pad_is_one_wider(plant: Plant) -> None:
    right = OPS["pad"].element
    assert right is not None

    def wrong(read: Any, index: Any, types: Any, *, low: Any, high: Any) -> Any:
        return right(read, index, types, low=tuple(n + 1 for n in low), high=high)

    plant.op("pad", "element", wrong)


@bug(lambda x, y, i: x.at[i].set(y), LINE, LINE[:4], np.array([1, 5, 1, 2]))
def a_scatter_adds_where_it_should_set(plant: Plant) -> None:
    right = OPS["scatter"].build
    assert right is not None
    plant.op("scatter", "build", lambda types, **p: right(types, **{**p, "mode": "add"}))
    within = OPS["scatter"].scattered
    assert within is not None
    plant.op("scatter", "scattered", lambda *a, **p: within(*a, **{**p, "mode": "add"}))


@bug(lambda x: x.cumsum()[3:] * 2, LINE)
def a_running_sum_is_a_running_maximum(plant: Plant) -> None:
    plant.op("cumsum", "build", OPS["cummax"].build)


@bug(lambda x: pnp.sort(x * 2), LINE)
def rows_are_sorted_downwards(plant: Plant) -> None:
    right = OPS["sort"].build
    assert right is not None
    plant.op("sort", "build", lambda types, **p: right(types, descending=not p["descending"]))


# --- reductions -----------------------------------------------------------------------------------

COLUMNS = (RNG.standard_normal((700, 9)) * 10.0 ** RNG.integers(-4, 4, (700, 9))).astype(np.float32)
ROWS = np.ascontiguousarray(COLUMNS.T)
LONG = (RNG.standard_normal(2600) * 10.0 ** RNG.integers(-4, 4, 2600)).astype(np.float32)


@bug(lambda x: x.sum(axis=0), COLUMNS[:60])
def lanes_are_visited_in_plain_order(plant: Plant) -> None:
    plant.attribute("pyc.passes.reduction", "reversed_bits", lambda q, bits: q)


@bug(lambda x: x.sum(), LONG)
def the_last_chunk_is_missing(plant: Plant) -> None:
    right = plant.original("pyc.passes.reduction:AcrossLanes", "reduce")

    def wrong(self: Any, results: Any, elements: Any) -> Any:
        elements.n = elements.n // 1024 * 1024
        return right(self, results, elements)

    plant.attribute("pyc.passes.reduction:AcrossLanes", "reduce", wrong)


@bug(lambda x: x.sum(axis=1), np.full((3, 37), -0.0, np.float32))
def the_neutral_element_of_sums_is_plus_zero(plant: Plant) -> None:
    right = plant.original("pyc.passes.reduction", "neutral")

    def wrong(monoid: Any, types: Any) -> Any:
        return tuple(
            Const(abs(c.value), c.dtype) if c.dtype.is_float else c for c in right(monoid, types)
        )

    plant.attribute("pyc.passes.reduction", "neutral", wrong)


@bug(lambda x: x.sum(), LONG)
def vectors_of_a_chunk_meet_back_to_front(plant: Plant) -> None:
    right = plant.original("pyc.passes.reduction:AcrossLanes", "_rows")

    def wrong(self: Any, elements: Any, base: Expr, rows: int, lane: Any) -> Any:
        at = elements.at

        def swapped(position: Expr) -> Any:
            row = (position - base) >> 7
            return at(position + ((rows - 1) - row * 2) * 128)

        elements.at = swapped
        found = right(self, elements, base, rows, lane)
        elements.at = at
        return found

    plant.attribute("pyc.passes.reduction:AcrossLanes", "_rows", wrong)


# --- schedules ------------------------------------------------------------------------------------


@bug(lambda x: x * 2, LINE)
def the_mask_of_the_tail_is_one_short(plant: Plant) -> None:
    def change(e: Expr) -> Expr:
        if isinstance(e, Apply) and e.name == "lt" and isinstance(e.args[0], Var):
            bound = e.args[1]
            if e.args[0].name == "lane" and isinstance(bound, Const):
                return e.args[0] < int(bound.value) - 1
        return e

    plant.kernels(change)


@bug(lambda x: pnp.concatenate([x, -x]), LINE)
def pieces_are_cut_one_early(plant: Plant) -> None:
    decide = plant.original("pyc.passes.segments:Segments", "_decide")

    def flipped(self: Any, e: Expr) -> Expr:
        found = decide(self, e)
        if isinstance(found, Const) and found.dtype.kind == "bool" and not isinstance(e, Const):
            return Const(True, found.dtype)
        return found

    plant.attribute("pyc.passes.segments:Segments", "_decide", flipped)


def _across(u: Any) -> Any:
    d = u[:-2] * 3 + u[1:-1] * 5 - u[2:] * u[2:]
    return d[:, :-2] + d[:, 1:-1] * d[:, 2:]


@bug(_across, np.tile(SQUARE, (1, 9)))
def a_line_is_an_element_short(plant: Plant) -> None:
    right = plant.original("pyc.passes.schedule", "shared_line")

    def wrong(*args: Any) -> Any:
        line = right(*args)
        return line and replace(line, extra=line.extra - 1)

    plant.attribute("pyc.passes.schedule", "shared_line", wrong)


@bug(lambda x: x.at[1:-1].set((x[:-2] + x[2:]) / 2), LINE)
def an_overlay_lies_one_further(plant: Plant) -> None:
    right = OPS["overlay"].element
    assert right is not None

    def wrong(read: Any, index: Any, types: Any, *, starts: Any, strides: Any) -> Any:
        return right(read, index, types, starts=tuple(n + 1 for n in starts), strides=strides)

    plant.op("overlay", "element", wrong)


# --- memory ---------------------------------------------------------------------------------------


@bug(lambda x: pnp.sort(pnp.sort(x)[::-1] * 2), LINE)
def a_shifted_read_is_overwritten(plant: Plant) -> None:
    plant.attribute(
        "pyc.passes.lower",
        "elementwise_reads",
        lambda walker, group: frozenset(r.value for r in group.reads),
    )


def _updated(x: Any) -> Any:
    y = pnp.sort(x)
    return pnp.sort(y.at[2:5].set(0.0)), pnp.sort(-y)


@bug(_updated, LINE)
def a_live_operand_is_updated(plant: Plant) -> None:
    right = plant.original("pyc.passes.launches:Launches", "update")

    def wrong(self: Any, scope: Any, number: int, group: Any, eqn: Any) -> None:
        scope.uses.last[eqn.args[0]] = number
        right(self, scope, number, group, eqn)

    plant.attribute("pyc.passes.launches:Launches", "update", wrong)


def _swapped(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 5, lambda i, s: (s[1], pnp.flip(s[0]) + s[1]), (x, y))


@bug(_swapped, LINE, LINE[::-1].copy())
def swaps_are_done_in_the_wrong_order(plant: Plant) -> None:
    right = plant.original("pyc.passes.memory", "_as_swaps")
    plant.attribute("pyc.passes.memory", "_as_swaps", lambda rotate: right(rotate)[::-1])


def _looped(x: Any) -> Any:
    y = pnp.sort(x)
    z = lax.fori_loop(0, 5, lambda i, y: y.at[i].set(y[i + 1] + i), y)
    return pnp.sort(z), pnp.sort(-y)


@bug(_looped, SQUARE.reshape(-1))
def a_loop_updates_what_is_read_later(plant: Plant) -> None:
    def wrong(self: Any, scope: Any, number: int, eqn: Any, operand: Any) -> bool:
        return self.slots[scope.slot[operand]].place is Place.ARENA

    plant.attribute("pyc.passes.slots:Slots", "overwrites", wrong)


@bug(lambda x: pnp.sort(pnp.sort(x).at[pnp.argsort(x)].add(pnp.sort(x))), LINE)
def an_update_overwrites_what_it_reads_twice(plant: Plant) -> None:
    right = plant.original("pyc.passes.slots:Slots", "overwrites")

    def wrong(self: Any, scope: Any, number: int, eqn: Any, operand: Any) -> bool:
        once = replaced_args(eqn, (operand,))
        return bool(right(self, scope, number, once, operand))

    plant.attribute("pyc.passes.slots:Slots", "overwrites", wrong)


def replaced_args(eqn: Any, args: Any) -> Any:
    return type(eqn)(eqn.op, args, eqn.params, eqn.outs, eqn.loc)


def _moved(x: Any, y: Any) -> Any:
    a, b = lax.fori_loop(0, 5, lambda i, s: (s[1], pnp.sort(s[0] + s[1])), (x, y))
    return pnp.sort(a), pnp.sort(b)


@bug(_moved, SQUARE.reshape(-1), SQUARE.reshape(-1)[::-1].copy())
def a_carry_that_moves_on_is_written(plant: Plant) -> None:
    right = plant.original("pyc.passes.in_place:Chains", "_moves")

    def wrong(self: Any, *rest: Any) -> Any:
        moves = right(self, *rest)
        return replace(moves, updated=frozenset(range(len(moves.home))))

    plant.attribute("pyc.passes.in_place:Chains", "_moves", wrong)


def _read_again(x: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        x, y = state
        return x.at[i].set(7.0), pnp.sort(x + y)

    return lax.fori_loop(0, 4, step, (x, x))


@bug(_read_again, SQUARE.reshape(-1))
def chains_go_on_through_values_that_are_read_again(plant: Plant) -> None:
    def wrong(self: Any, uses: Any, value: Any) -> Any:
        found = uses.maker.get(value)
        if found is None or (written := self._written(found[1], 0)) is None:
            return None
        return found[1].args[written[0]], written[1]

    plant.attribute("pyc.passes.in_place:Chains", "_link", wrong)


def _beside_its_neighbours(x: Any, y: Any) -> Any:
    """One carry may be replaced where it lies; the other is read at its neighbours."""

    def step(i: Any, state: Any) -> Any:
        x, y = state
        x = x * 0.5 + y[::-1]
        return x, pnp.roll(y, 1) * 0.5 + y

    return lax.fori_loop(0, 4, step, (pnp.sort(x), pnp.sort(y)))


@bug(_beside_its_neighbours, SQUARE.reshape(-1), SQUARE.reshape(-1)[::-1] * 2)
def a_carry_is_replaced_where_its_neighbours_are_read(plant: Plant) -> None:
    plant.attribute(
        "pyc.passes.in_place",
        "elementwise_reads",
        lambda walker, group: frozenset(r.value for r in group.reads),
    )
    plant.attribute("pyc.passes.in_place", "may_overwrite", lambda *_: True)


def _read_behind(x: Any) -> Any:
    return lax.fori_loop(0, 4, lambda i, x: pnp.sort(pnp.sort(x) + x) - x[::-1], x)


@bug(_read_behind, SQUARE.reshape(-1))
def a_carry_is_replaced_before_it_is_read_again(plant: Plant) -> None:
    plant.attribute("pyc.passes.in_place:Chains", "replaces", lambda *_: True)
    plant.attribute("pyc.passes.in_place:Chains", "_keeps_rows", lambda *_: False)


def _begun_behind(x: Any) -> Any:
    """What an update made in the carry's buffer is read while the next one is stored."""

    def step(i: Any, x: Any) -> Any:
        made = x.at[i].set(7.0)
        return made[::-1] * 0.5 + made

    return lax.fori_loop(0, 4, step, pnp.sort(x))


@bug(_begun_behind, SQUARE.reshape(-1))
def a_result_begins_where_a_value_of_the_body_lies(plant: Plant) -> None:
    def wrong(self: Any, uses: Any, value: Any, operand: Any) -> bool:
        return bool(uses.last.get(operand, -1) < uses.group[value])

    plant.attribute("pyc.passes.in_place:Chains", "_follows", wrong)
    moves = plant.original("pyc.passes.in_place:Chains", "_moves")

    def updated(self: Any, body: Any, eqn: Any) -> Any:
        found = moves(self, body, eqn)
        return replace(found, updated=frozenset(range(len(found.home))))

    plant.attribute("pyc.passes.in_place:Chains", "_moves", updated)


@bug(lambda x: lax.fori_loop(0, 3, lambda i, x: pnp.flip(x) + x, x), SQUARE.reshape(-1))
def a_loop_ends_in_the_other_buffer(plant: Plant) -> None:
    right = plant.original("pyc.passes.memory", "counted")

    def wrong(*args: Any) -> Any:
        found = right(*args)
        return found and replace(found, times=found.times + 1)

    plant.attribute("pyc.passes.memory", "counted", wrong)


def _several(x: Any) -> Any:
    a = pnp.sort(x)
    b = pnp.sort(-a)
    c = pnp.cumsum(b)
    return pnp.sort(c + b), c


def _placed(found: Any, offset: Callable[[int, Any], int]) -> Any:
    buffers = tuple(
        replace(b, index=offset(k, b)) if b.place is Place.ARENA else b
        for k, b in enumerate(found.buffers)
    )
    return replace(found, buffers=buffers)


@bug(lambda x, y: pnp.sort(pnp.sort(x) + pnp.sort(y)), LINE, LINE * LINE)
def every_buffer_is_at_the_start_of_the_arena(plant: Plant) -> None:
    plant.plan(lambda found: _placed(found, lambda k, b: 0))


@bug(lambda x, y: pnp.sort(pnp.sort(x) + pnp.sort(y)), LINE, LINE * LINE)
def every_offset_but_the_first_is_one_line_low(plant: Plant) -> None:
    plant.plan(lambda found: _placed(found, lambda k, b: max(b.index - 64, 0)))


@bug(lambda x, y: pnp.sort(pnp.sort(x) + pnp.sort(y)), LINE, LINE * LINE)
def memory_is_freed_one_step_early(plant: Plant) -> None:
    def change(found: Any) -> Any:
        early = (
            replace(b, last=max(b.last - 1, b.first)) if b.place is Place.ARENA else b
            for b in found.buffers
        )
        return replace(found, buffers=tuple(early))

    plant.plan(change)


@bug(_swapped, LINE, LINE[::-1].copy())
def arrays_are_not_swapped(plant: Plant) -> None:
    def change(found: Any) -> Any:
        def kept(rotate: Any) -> Any:
            return tuple(p for p in rotate if found.buffers[p[0]].nbytes < LINE.nbytes)

        steps = (
            replace(s, rotate=kept(s.rotate)) if isinstance(s, Loop) else s for s in found.steps
        )
        return replace(found, steps=tuple(steps))

    plant.plan(change)


def _branch(x: Any) -> Any:
    return lax.cond(x[0] > 0, lambda a: pnp.sort(a), lambda a: pnp.sort(-a), x)


@bug(_branch, np.abs(LINE))
def branches_are_in_the_wrong_order(plant: Plant) -> None:
    def change(found: Any) -> Any:
        steps = tuple(
            replace(s, cases=s.cases[::-1]) if isinstance(s, Branch) else s for s in found.steps
        )
        return replace(found, steps=steps)

    plant.plan(change)


@bug(lambda x: lax.fori_loop(0, 9, lambda i, a: pnp.sort(-a), x), LINE)
def the_first_copy_into_a_loop_is_missing(plant: Plant) -> None:
    def change(found: Any) -> Any:
        large = [b.nbytes == LINE.nbytes for b in found.buffers]
        steps = (s for s in found.steps if not (isinstance(s, Copy) and large[s.destination]))
        return replace(found, steps=tuple(steps))

    plant.plan(change)


@bug(_several, LINE)
def a_launch_is_left_out(plant: Plant) -> None:
    plant.plan(lambda found: replace(found, steps=(*found.steps[:1], *found.steps[2:])))


@bug(lambda x, y: pnp.sort(x) - pnp.cumsum(y), LINE, LINE[::-1].copy())
def arguments_of_a_kernel_are_exchanged(plant: Plant) -> None:
    def change(found: Any) -> Any:
        last = found.steps[-1]
        slots = (last.slots[1], last.slots[0], *last.slots[2:])
        return replace(found, steps=(*found.steps[:-1], replace(last, slots=slots)))

    plant.plan(change)


# --- native code ----------------------------------------------------------------------------------


def _emitted(plant: Plant, before: str, after: str) -> None:
    right = plant.original("pyc.backends.x86", "modules")

    def wrong(*arguments: Any) -> Any:
        made = right(*arguments)
        assert before in made.text
        return replace(made, text=made.text.replace(before, after))

    plant.attribute("pyc.backends.x86", "modules", wrong)


@bug(lambda x, y: x - y, LINE, LINE[::-1].copy())
def subtractions_are_emitted_as_additions(plant: Plant) -> None:
    _emitted(plant, " = fsub ", " = fadd ")


@bug(lambda x: x * x + 1, LINE)
def products_are_contracted_by_the_compiler(plant: Plant) -> None:
    _emitted(plant, " = fmul ", " = fmul contract ")
    right = plant.original("pyc.backends.x86", "modules")

    def wrong(*arguments: Any) -> Any:
        made = right(*arguments)
        return replace(made, text=made.text.replace(" = fadd ", " = fadd contract "))

    plant.attribute("pyc.backends.x86", "modules", wrong)


@bug(lambda x: x < 1, np.array([1.0, 2.0, np.nan, 0.0], np.float32))
def comparisons_are_unordered(plant: Plant) -> None:
    _emitted(plant, "fcmp olt", "fcmp ult")


@bug(lambda x: x // 3, np.array([-7, 7, -1, 0, 5], np.int32))
def division_rounds_towards_zero(plant: Plant) -> None:
    _emitted(plant, " = sub ", " = add ")


# --- finding them ---------------------------------------------------------------------------------


REFUSED = {
    "chains_go_on_through_values_that_are_read_again": "would overwrite what is still read",
}
"""Mistakes that the planner itself refuses, by its message."""

IN_PASSES = (
    *("adding_zero_is_nothing", "times_zero_is_zero", "zero_minus_x_is_x"),
    *("transposes_compose_in_the_wrong_order", "a_flip_of_everything_is_nothing"),
    *("a_known_condition_takes_the_other_side", "constants_are_folded_in_single_precision"),
    *("a_reversed_scan_runs_forwards", "a_scan_ends_one_step_early"),
    *("counters_that_start_differently_are_one", "a_break_undoes_what_came_before"),
    *("a_loop_stores_all_of_an_array", "an_iteration_stores_before_it_reads"),
    "a_check_that_fails_in_the_end_is_dropped",
)
IN_NATIVE_CODE = (
    *("subtractions_are_emitted_as_additions", "products_are_contracted_by_the_compiler"),
    *("comparisons_are_unordered", "division_rounds_towards_zero"),
)
LEVELS = {**dict.fromkeys(IN_PASSES, "passes"), **dict.fromkeys(IN_NATIVE_CODE, "compiled")}
"""The way to run that shows a mistake first; the Plan interpreter shows all others."""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str, plant: Plant) -> None:
    """Right without the mistake; with it the first way that differs is the level where it was
    planted, or the planner refuses what it would do."""
    put, program, arguments = BUGS[name]
    pyc.verify(program, *arguments)
    pyc.cache.memory.clear()
    put(plant)
    if name in REFUSED:
        with pytest.raises(AssertionError, match=REFUSED[name]):
            pyc.verify(program, *arguments)
        return
    with pytest.raises(VerificationError, match=rf": {LEVELS.get(name, 'plan')}(:| gives results)"):
        pyc.verify(program, *arguments)


def test_there_are_at_least_twenty() -> None:
    assert len(BUGS) >= 20


SEEDS = {
    "an_update_lands_one_further": 0,
    "the_mask_of_the_tail_is_one_short": 0,
    "a_pad_is_one_wider": 17,
    "branches_are_in_the_wrong_order": 4,
    "a_live_operand_is_updated": 14,
    "the_neutral_element_of_sums_is_plus_zero": 25,
    "a_scatter_adds_where_it_should_set": 8,
    "a_shifted_read_is_overwritten": 24,
    "a_loop_updates_what_is_read_later": 0,
    "chains_go_on_through_values_that_are_read_again": 4,
    "a_carry_is_replaced_where_its_neighbours_are_read": 29,
    "a_loop_ends_in_the_other_buffer": 1,
    "an_overlay_lies_one_further": 4,
}
"""Mistakes that the random programs find, with the first seed that does."""


@pytest.mark.parametrize("name", SEEDS)
def test_random_programs_find_it(name: str, plant: Plant) -> None:
    """The differential runner reports the program of this seed, and nothing without the mistake."""
    seed = SEEDS[name]
    assert differential.compare(seed, "plan") == ""
    BUGS[name][0](plant)
    assert differential.compare(seed, "plan") != ""
