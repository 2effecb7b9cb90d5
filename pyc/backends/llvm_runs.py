"""Runs of `Let` and `Store` in a vector loop, emitted piece by piece.

Statements that do not disturb one another are emitted for one piece of the vector, then for the
next, so that few registers are alive. The meaning is that of lock-step lanes: each statement reads
for all lanes before it, or a later one, writes.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.backends.llvm_builder import Builder, Value
from pyc.backends.llvm_checks import CheckEmitter
from pyc.backends.llvm_expr import VARYING, Binding, nodes_under
from pyc.ir.expr import Const, Expr, Load, Shuffle, Var
from pyc.ir.loops import Buffer, Let, Space, Store, expressions


class RunEmitter(CheckEmitter):
    """Emits runs of simple statements."""

    loads_ahead = 0
    """Vectors that are loaded before the first result of theirs is stored, where that helps."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self._loads: dict[Let | Store, list[tuple[Load, bool]]] = {}

    def bind(self, var: Var, value: Value) -> None:
        """Binds a variable to a uniform value or a sequence."""
        self.bindings[var] = Binding(value)

    def run(self, run: Sequence[Let | Store]) -> None:
        """Lets and stores of a vector loop that do not disturb one another: all of them for one
        piece, then for the next, so that few registers are alive."""
        if not run:
            return
        assert self.lockstep is not None
        self.begin([e for s in run for e in expressions(s)])
        varying: list[tuple[Let, Binding]] = []
        pieces: list[Let | Store] = []
        for s in run:
            if not isinstance(s, Let):
                pieces.append(s)
            elif self.form(s.value) == VARYING:
                binding = Binding(pieces=[None] * self.lockstep.count, expr=s.value)
                self.bindings[s.var] = binding
                if self.is_lazy(s.value):
                    continue
                varying.append((s, binding))
                pieces.append(s)
            else:
                self.bind(s.var, self.any_form(s.value, -1))
        if len(run) == 1 and self.disturbs(run, run[0]):  # all lanes read before any writes
            for piece in range(self.lockstep.count):
                for e in expressions(run[0]):
                    self.any_form(e, piece)
        ahead = self._first_loads(pieces)
        step = max(self.loads_ahead // max(len(ahead), 1), 1)
        for piece in range(self.lockstep.count):
            if ahead and piece % step == 0:
                for near in range(piece, min(piece + step, self.lockstep.count)):
                    for load in ahead:
                        self.any_form(load, near)
            waiting: list[Store] = []
            for s in pieces:
                if isinstance(s, Store):
                    waiting.append(s)
                    continue
                self._store_all(waiting, piece)
                waiting = []
                self.bindings[s.var].pieces[piece] = self.varying(s.value, piece)
            self._store_all(waiting, piece)
        for _, binding in varying:
            binding.expr = None

    def _first_loads(self, run: Sequence[Let | Store]) -> list[Load]:
        """Loads of neighbouring elements that are done for several pieces before the first of these
        is stored: some processors hold a load back behind a store to another place."""
        assert self.lockstep is not None
        stores = any(isinstance(s, Store) and s.buffer.space is Space.GLOBAL for s in run)
        if not stores or not self.loads_ahead or self.lockstep.count == 1 or self.mask is not None:
            return []
        found: dict[tuple[Buffer, str], Load] = {}
        for e in (e for s in run for e in expressions(s) if self.form(e) == VARYING):
            for n in self._order(e):
                if type(n) is Load and (first := self._first_element(n)) is not None:
                    found[n.buffer, first] = n
        return list(found.values())

    def _first_element(self, load: Load) -> str | None:
        """The number of the element from which on lanes read neighbours; None where they do not,
        or where something here writes them."""
        if load.buffer in self.written or any(self.form(i) == VARYING for i in load.index):
            return None
        element = self.linear(load.buffer, load.index, 0)
        return element.base.ref if element.base is not None and element.stride == 1 else None

    def disturbs(self, run: Sequence[Let | Store], s: Let | Store) -> bool:
        """Whether `s` may not join `run` piece by piece: one stores what the other loads or stores,
        other than each lane its own element. Those of `run` do not disturb one another."""
        added = [s] if isinstance(s, Store) else []
        stores: list[Store] = [x for x in run if isinstance(x, Store)]
        if any(self._reads(stores, *found) for found in self._loads_of(s)):
            return True
        every = (found for x in (*run, *added) for found in self._loads_of(x))
        if added and any(self._reads(added, *found) for found in every):
            return True
        return any(self._may_meet(a, b) for a in added for b in stores if a is not b)

    @staticmethod
    def _reads(stores: Sequence[Store], load: Load, moves: bool) -> bool:
        """Whether a load may read what another lane stores."""
        for store in stores:
            if load.buffer is store.buffer:
                if moves or not _same_index(load.index, store.index):
                    return True
            elif load.buffer.may_alias and store.buffer.may_alias:
                return True
        return False

    def _loads_of(self, s: Let | Store) -> list[tuple[Load, bool]]:
        """The loads of a statement, and whether its lanes are moved. Kept, since every statement of
        a run is asked again and the values of long chains share most of their nodes."""
        if s not in self._loads:
            nodes = nodes_under(expressions(s))
            moves = any(isinstance(n, Shuffle) for n in nodes)
            self._loads[s] = [(n, moves) for n in nodes if isinstance(n, Load)]
        return self._loads[s]

    def _store_all(self, stores: Sequence[Store], piece: int) -> None:
        """Stores one after the other, those to neighbouring elements together."""
        done = 0
        while done < len(stores):
            count = next(
                (n for n in (8, 4, 2) if self._together(stores[done : done + n], n, piece)), 1
            )
            if count == 1:
                s = stores[done]
                self.store_piece(s.buffer, s.index, s.value, piece)
            else:
                together = stores[done : done + count]
                values = [self.varying(s.value, piece) for s in together]
                element = self._element(together[0], piece)
                self.store_interleaved(together[0].buffer, element, values, piece)
            done += count

    def _together(self, stores: Sequence[Store], count: int, piece: int) -> bool:
        """Whether `count` stores are to neighbours (real and imaginary parts, what a butterfly
        gives), each lane's behind those of the lane before."""
        if len(stores) < count or self.mask_of(piece) is not None:
            return False
        first = self._element(stores[0], piece)
        if first.base is None or first.stride != count:
            return False
        return all(
            s.buffer is stores[0].buffer
            and self._distance(first, self._element(s, piece)) == (k, count)
            for k, s in enumerate(stores)
        )

    def _may_meet(self, a: Store, b: Store) -> bool:
        """Whether two stores may write one element from different lanes."""
        if a.buffer is not b.buffer:
            return a.buffer.may_alias and b.buffer.may_alias
        if _same_index(a.index, b.index):
            return False
        for n in nodes_under((*a.index, *b.index)):
            if isinstance(n, Load) or (isinstance(n, Var) and n not in self.bindings):
                return True
        self.begin((*a.index, *b.index))
        distance = self._distance(self._element(a, 0), self._element(b, 0))
        return distance is None or distance[0] % distance[1] == 0

    def _element(self, s: Store, piece: int) -> Value:
        return self.linear(s.buffer, s.index, piece)

    def _distance(self, a: Value, b: Value) -> tuple[int, int] | None:
        """(constant distance, common stride) of two lane sequences, None if they are no such."""
        if a.base is None or b.base is None or a.stride != b.stride:
            return None
        (first, left), (second, right) = a.base.anchor, b.base.anchor
        if first.ref != second.ref:
            if first.const is None or second.const is None:
                return None
            left, right = left + first.const, right + second.const
        return right - left, abs(a.stride)


def _same_index(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return all(
        x is y or (isinstance(x, Const) and isinstance(y, Const) and x.value == y.value)
        for x, y in zip(a, b, strict=True)
    )
