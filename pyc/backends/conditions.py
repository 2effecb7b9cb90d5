"""Conditions of CUDA graphs: kernels that tell a graph whether to go on.

A conditional node of a graph (CUDA driver API, "Graph Management", from 12.4 on) runs its body
while a value is not zero that belongs to a handle. Kernels set it by a function of the driver's,
which PTX may call by its name; no library is needed for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pyc.backends.cuda import check

CONDITIONAL = 12040
"""The version of the driver's interface that has conditional nodes with all that is used here."""

SET_FLAG, SET_CASE = "set_flag", "set_case"

TEXT = """
.version 8.0
.target sm_80
.address_size 64

.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);

// The value of `handle` is the byte at `flag`.
.visible .entry set_flag(.param .u64 handle, .param .u64 flag)
{
	.reg .b32 %value;
	.reg .b64 %handle, %flag;
	ld.param.u64 %handle, [handle];
	ld.param.u64 %flag, [flag];
	ld.global.u8 %value, [%flag];
	{
	.param .b64 to;
	.param .b32 is;
	st.param.b64 [to], %handle;
	st.param.b32 [is], %value;
	call.uni cudaGraphSetConditional, (to, is);
	}
	ret;
}

// The value of `handle` is whether the number at `index`, held to [0, last], is `number`.
.visible .entry set_case(
	.param .u64 handle, .param .u64 index, .param .u64 number, .param .u64 last
)
{
	.reg .pred %is;
	.reg .b32 %value;
	.reg .b64 %handle, %at, %index, %number, %last;
	ld.param.u64 %handle, [handle];
	ld.param.u64 %at, [index];
	ld.param.u64 %number, [number];
	ld.param.u64 %last, [last];
	ld.global.s64 %index, [%at];
	max.s64 %index, %index, 0;
	min.s64 %index, %index, %last;
	setp.eq.s64 %is, %index, %number;
	selp.b32 %value, 1, 0, %is;
	{
	.param .b64 to;
	.param .b32 is;
	st.param.b64 [to], %handle;
	st.param.b32 [is], %value;
	call.uni cudaGraphSetConditional, (to, is);
	}
	ret;
}
"""


class Conditions(NamedTuple):
    """The kernels on a device: `set_flag(handle, flag)` and `set_case(handle, index, number,
    last)`."""

    set_flag: int
    set_case: int


def conditions(on: Any) -> Conditions:
    """The kernels on a device, loaded once and for good."""
    found: Conditions | None = on.conditions
    if found is None:
        on.enter()
        module = check(on.driver.cuModuleLoadData(TEXT.encode() + b"\0"))
        get = on.driver.cuModuleGetFunction
        names = SET_FLAG.encode(), SET_CASE.encode()
        found = on.conditions = Conditions(*(int(check(get(module, name))) for name in names))
    return found
