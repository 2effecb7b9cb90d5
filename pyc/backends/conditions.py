"""Conditions of CUDA graphs: kernels that tell a graph whether to go on.

A conditional node of a graph (CUDA driver API, "Graph Management", from 12.4 on) runs its body
while a value is not zero that belongs to a handle. Kernels set it by a function of the driver's,
which PTX may call by its name; no library is needed for it. There are two kinds:

    turn    ends an iteration: copies what it leaves to where the next one looks for it, and goes on
            if a flag is true and the call is not to end
    choose  sets one of several conditions: that of the case that an index names

`Running` is a call that has such loops: who waits for it may be interrupted, which ends them.
"""

from __future__ import annotations

import sys
from typing import Any

from pyc.backends.launching import BEGIN, WAIT
from pyc.errors import DeviceError

CONDITIONAL = 12040
"""The version of the driver's interface that has conditional nodes with all that is used here."""
THREADS = 256
"""Of a block of the kernel that ends an iteration."""
VECTOR_BYTES = 16
"""What a thread copies at a time: all buffers of programs are so aligned."""
WORDS, WORD_BYTES = 16, 64
"""Words of calls that are allocated at once, each in a piece of its own."""

_HEAD = """\
.version 8.0
.target {target}
.address_size 64

.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);

.visible .entry {name}({parameters})
{{
	.reg .pred %p<5>;
	.reg .b16 %byte;
	.reg .b32 %r<9>, %value, %word;
	.reg .b64 %rd<9>, %first, %all, %handle, %index, %last;
{wait}
"""
_TELL = """\
	{{
	.param .b64 to;
	.param .b32 is;
	st.param.b64 [to], %handle;
	st.param.b32 [is], %value;
	call cudaGraphSetConditional, (to, is);
	}}
"""
_TURN = """\
	ld.param.u64 %handle, [handle];
	ld.param.u64 %rd1, [flag];
	ld.param.u64 %rd2, [word];
	ld.volatile.global.u8 %value, [%rd1];
	ld.volatile.global.u32 %word, [%rd2];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mov.u32 %r4, %nctaid.x;
	mul.wide.u32 %first, %r1, %r2;
	cvt.u64.u32 %rd3, %r3;
	add.s64 %first, %first, %rd3;
	mul.wide.u32 %all, %r2, %r4;
"""
_COPY = """\
	ld.param.u64 %rd1, [to{k}];
	ld.param.u64 %rd2, [from{k}];
	ld.param.u64 %rd3, [bytes{k}];
	shr.u64 %rd4, %rd3, 4;
	mov.u64 %rd5, %first;
VECTORS{k}:
	setp.ge.u64 %p1, %rd5, %rd4;
	@%p1 bra REST{k};
	shl.b64 %rd6, %rd5, 4;
	add.s64 %rd7, %rd2, %rd6;
	add.s64 %rd8, %rd1, %rd6;
	ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%rd7];
	st.global.v4.b32 [%rd8], {{%r5, %r6, %r7, %r8}};
	add.s64 %rd5, %rd5, %all;
	bra VECTORS{k};
REST{k}:
	shl.b64 %rd5, %rd4, 4;
	add.s64 %rd5, %rd5, %first;
BYTES{k}:
	setp.ge.u64 %p1, %rd5, %rd3;
	@%p1 bra COPIED{k};
	add.s64 %rd7, %rd2, %rd5;
	add.s64 %rd8, %rd1, %rd5;
	ld.global.u8 %byte, [%rd7];
	st.global.u8 [%rd8], %byte;
	add.s64 %rd5, %rd5, %all;
	bra BYTES{k};
COPIED{k}:
"""
_TURN_END = """\
	setp.ne.u64 %p1, %first, 0;
	@%p1 bra END;
	setp.ne.u32 %p2, %value, 0;
	setp.eq.and.u32 %p3, %word, 0, %p2;
	selp.b32 %value, 1, 0, %p3;
"""
_CHOOSE = """\
	ld.param.u64 %rd1, [index];
	ld.global.s64 %index, [%rd1];
	max.s64 %index, %index, 0;
	min.s64 %index, %index, {last};
"""
_CASE = """\
	ld.param.u64 %handle, [handle{k}];
	setp.eq.s64 %p1, %index, {k};
	selp.b32 %value, 1, 0, %p1;
"""


def turn_text(copies: int, capability: int) -> str:
    """PTX of `turn(handle, flag, word, to, from, bytes, ...)` with so many copies. flag: address of
    a b1; word: of an i32 that is zero as long as the loop may go on."""
    names = ["handle", "flag", "word"]
    names += [f"{name}{k}" for k in range(copies) for name in ("to", "from", "bytes")]
    body = _TURN + "".join(_COPY.format(k=k) for k in range(copies)) + _TURN_END
    return _text("turn", names, body + _TELL.format() + "END:\n", capability)


def choose_text(cases: int, capability: int) -> str:
    """PTX of `choose(index, handle, ...)`. index: address of an i64, clamped to the cases."""
    names = ["index", *(f"handle{k}" for k in range(cases))]
    body = _CHOOSE.format(last=cases - 1)
    body += "".join(_CASE.format(k=k) + _TELL.format() for k in range(cases))
    return _text("choose", names, body, capability)


def _text(name: str, parameters: list[str], body: str, capability: int) -> str:
    early = capability >= 90
    head = _HEAD.format(
        name=name,
        target="sm_90" if early else "sm_80",
        parameters=", ".join(f".param .u64 {p}" for p in parameters),
        wait=f"\t{BEGIN}\n\t{WAIT}" if early else "",
    )
    return f"{head}{body}\tret;\n}}\n"


class Conditions:
    """The kernels of a device, each loaded when it is first asked for, for good; and the words of
    calls that may be told to end."""

    def __init__(self, on: Any) -> None:
        self._on = on
        self._loaded: dict[str, int] = {}
        self._refusal: str | None = None
        self.free: list[int] = []

    @property
    def refusal(self) -> str:
        """Why graphs have no conditions here; empty if they have."""
        if self._refusal is None:
            self._refusal = ""
            if self._on.driver_version < CONDITIONAL:
                self._refusal = "the driver is older than CUDA 12.4"
            else:
                try:
                    self.turn(0)
                except DeviceError as error:
                    self._refusal = f"the driver does not take conditions ({error.message})"
        return self._refusal

    def turn(self, copies: int) -> int:
        """The kernel that ends an iteration with so many copies."""
        return self._load("turn", turn_text(copies, self._on.capability))

    def choose(self, cases: int) -> int:
        """The kernel that chooses one of so many cases."""
        return self._load("choose", choose_text(cases, self._on.capability))

    def _load(self, name: str, text: str) -> int:
        if text not in self._loaded:
            self._loaded[text] = self._on.load(text, name)
        return self._loaded[text]

    def begin(self) -> Running:
        """A call with loops begins."""
        try:
            address = self.free.pop()
        except IndexError:
            self._on.enter()
            slab = self._on.allocate(WORDS * WORD_BYTES)
            self._on.fill(slab, 0, WORDS * WORD_BYTES)
            self.free.extend(slab + WORD_BYTES * k for k in range(1, WORDS))
            address = slab
        return Running(self._on, address)


class Running:
    """A call whose loops run on a device, and the word by which they are ended; once it is done the
    word is for another call. `_address`: of the word."""

    # Native code reads the first: CPython places them in the order of their names.
    __slots__ = ("_address", "_on")

    def __init__(self, on: Any, address: int) -> None:
        self._address = address
        self._on = on

    def __del__(self) -> None:
        if self._on is not None and not sys.is_finalizing():
            self._end(self._on.mark())  # nobody has come to wait for it

    @property
    def address(self) -> int:
        """Of the word: its loops go on while it is zero."""
        return self._address

    def finish(self) -> None:
        """Waits for the call. What interrupts it (Ctrl-C) ends the loops and is raised then: the
        results of the call are none."""
        on = self._on
        mark = on.mark()
        try:
            on.poll(mark)
        except BaseException:
            self._end(mark)
            raise
        on.unmark(mark)
        self._leave()

    def _end(self, mark: Any) -> None:
        """Ends the loops of the call, all of whose work comes before a mark."""
        on = self._on
        on.interrupt(self._address)
        on.wait(mark)
        on.fill(self._address, 0, WORD_BYTES)
        on.unmark(mark)
        self._leave()

    def _leave(self) -> None:
        self._on.conditions.free.append(self._address)
        self._on = None
