"""Checks of a kernel as LLVM text: `Fail` under the masks of a vector loop.

A condition is tested for all lanes at once, and what follows is cold.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from pyc.backends import llvm_scalar
from pyc.backends.llvm_builder import Value
from pyc.backends.llvm_expr import VARYING
from pyc.backends.llvm_memory import MemoryEmitter
from pyc.ir import dtype as dt
from pyc.ir.loops import Fail


class CheckEmitter(MemoryEmitter):
    """Statement emission that knows masks, and what a check is."""

    @abstractmethod
    def fail(self, site: int, value: Value) -> None:
        """Records a failure with an i64 value; this code is cold. The lowest (site, value as
        unsigned) of a launch remains."""

    def _full_masks(self) -> list[Value]:
        assert self.lockstep is not None
        full = self.mask_constant([True] * self.lockstep.width, self.builder.root)
        return [full] * self.lockstep.count

    def _all_masks(self) -> list[Value]:
        return list(self.mask) if self.mask is not None else self._full_masks()

    def _and(self, a: Value, b: Value) -> Value:
        folded = self._fold_mask("and", (a, b))
        if folded is not None:
            return folded
        return Value(self.builder.emit(f"and {a}, {b.ref}"), dt.b1, self.builder.scope, a.lanes)

    def checked(self, s: Fail) -> None:
        """Tests the condition, any lane at once; the rest is cold. A check of places is asked for
        only where some are not plain."""
        uniform = self.lockstep is None or self.form(s.condition) != VARYING
        if uniform and self.mask is None:
            self._fail_if_any(s, [self.uniform(s.condition)])
            return
        assert self.lockstep is not None
        pieces = range(self.lockstep.count)
        beyond = [self.any_beyond(s.condition, p) for p in pieces]
        possible = [m for m in beyond if m is not None]
        if not possible:
            self._fail_in_lanes(s)
            return
        b = self.builder
        some, join = b.name("beyond"), b.name("join")
        test = self.any_lane(possible)
        b.open("branch")
        b.line(f"br i1 {test.ref}, label %{some}, label %{join}, !prof !0")
        b.label(some)
        self._fail_in_lanes(s)
        b.line(f"br label %{join}")
        b.close()
        b.label(join)

    def _fail_in_lanes(self, s: Fail) -> None:
        assert self.lockstep is not None
        pieces = range(self.lockstep.count)
        masks = [
            self._and(m, self.varying(s.condition, p))
            for p, m in zip(pieces, self._all_masks(), strict=True)
        ]
        self._fail_if_any(s, masks)

    def _fail_if_any(self, s: Fail, masks: Sequence[Value]) -> None:
        b = self.builder
        test = self.any_lane(masks)
        if test.const is False:
            return
        cold, join = b.name("fail"), b.name("join")
        b.open("branch")
        b.line(f"br i1 {test.ref}, label %{cold}, label %{join}, !prof !0")
        b.label(cold)
        self.fail(s.site, self._least_failing(s, masks))
        b.line(f"br label %{join}")
        b.close()
        b.label(join)

    def _least_failing(self, s: Fail, masks: Sequence[Value]) -> Value:
        """The least value, as unsigned, of the lanes that fail: there is one."""
        b = self.builder
        if not masks[0].lanes:
            varying = self.lockstep is not None and self.form(s.value) == VARYING
            value = self.varying(s.value, 0) if varying else self.uniform(s.value)
            return self.reduce_lanes("umin", self._as_bits(value))
        least: Value | None = None
        for piece, mask in enumerate(masks):
            value = self._as_bits(self.varying(s.value, piece))
            chosen = b.emit(f"select {mask}, {value}, {value.type} splat (i64 -1)")
            if least is not None:
                less = b.emit(f"icmp ult {least}, {chosen}")
                chosen = b.emit(
                    f"select <{value.lanes} x i1> {less}, {least}, {value.type} {chosen}"
                )
            least = Value(chosen, dt.i64, b.scope, value.lanes)
        assert least is not None
        return self.reduce_lanes("umin", least)

    def _as_bits(self, value: Value) -> Value:
        """A failing value as i64: integers extended, floats as the bits of their float64."""
        b = self.builder
        dtype = value.dtype
        scope = b.scope
        if dtype.is_float:
            ref = llvm_scalar.emit(b, "cast", dt.f64, [value], value.lanes, scope)
            wide = Value(ref, dt.f64, scope, value.lanes)
            ref = llvm_scalar.emit(b, "bitcast", dt.i64, [wide], value.lanes, scope)
        else:
            ref = llvm_scalar.emit(b, "cast", dt.i64, [value], value.lanes, scope)
        return Value(ref, dt.i64, scope, value.lanes)
