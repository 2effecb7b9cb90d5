"""Programs on a GPU for native calls: what `device_calls` starts, made of a `CudaProgram`.

`DeviceProgram` takes which parameters are numbers and gives the addresses that a `Specialisation`
needs. Programs whose steps the host takes part in have none: `problem` says why.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyc.backends.cuda import Device, check
from pyc.backends.cuda_program import CudaProgram, LaunchCall, launch_call, slots
from pyc.frozen import replace
from pyc.ir.loops import Fail, walk
from pyc.ir.plan import ARGUMENT_BYTES, Copy, Launch, Loop, Place, Step
from pyc.runtime import device_calls
from pyc.runtime.device_calls import Map, Program, Row

REPLAYED = 2
"""Launches of a program from which on they are replayed as one graph."""
MOST_STEPS = 4096
"""Launches and copies of a program that is started natively, at most."""
_MAP_BYTES, _MAP_ALIGNMENT = 128, 64
_ON_DEVICE = 2
"""CU_MEMORYTYPE_DEVICE of the driver's interface."""
_UNAIMED = 1 << 20
"""Where a tensor map's array is until its first launch: as aligned as any."""


class _NodeParameters(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS of the driver's interface."""

    _fields_ = (
        *(("function", ctypes.c_void_p), ("grid", ctypes.c_uint32 * 3)),
        *(("block", ctypes.c_uint32 * 3), ("shared_bytes", ctypes.c_uint32)),
        *(("parameters", ctypes.c_void_p), ("extra", ctypes.c_void_p)),
        *(("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p)),
    )


def flat(steps: Sequence[Step]) -> list[Launch | Copy] | None:
    """Launches and copies in their order, those of loops of known length written out with the
    buffers that each iteration has; None if the host decides which steps run, or they are too
    many."""
    found: list[Launch | Copy] = []
    now: dict[int, int] = {}
    """The slot whose address a slot has, if it is another one's."""

    def add(steps: Sequence[Step]) -> bool:
        for step in steps:
            if isinstance(step, Launch):
                slots = tuple(now.get(s, s) for s in step.slots)
                found.append(step if slots == step.slots else replace(step, slots=slots))
            elif isinstance(step, Copy):
                to, source = (now.get(s, s) for s in (step.destination, step.source))
                found.append(Copy(to, source))
            elif not isinstance(step, Loop) or step.times is None:
                return False
            else:
                for _ in range(step.times):
                    if not add(step.body) or len(found) > MOST_STEPS:
                        return False
                    for a, b in step.rotate:
                        now[a], now[b] = now.get(b, b), now.get(a, a)
        return True

    return found if add(steps) else None


def problem(program: CudaProgram) -> str | None:
    """Why the calls of a program go through Python, or None."""
    if program.calls:
        return "it calls Python functions back"
    if program.host:
        return "a step runs on the host"
    if flat(program.plan.steps) is None:
        return f"the host decides which steps run, or they are more than {MOST_STEPS}"
    return None


class DeviceProgram:
    """What native calls of a program start; the program has no `problem`.

    numbers: parameters that come as values of up to 16 bytes; fixed: addresses of those that never
    change; ahead: how many places stand before those of the results: the first is the words that
    checks lower.
    """

    def __init__(
        self,
        program: CudaProgram,
        numbers: Collection[int],
        fixed: Mapping[int, int],
        ahead: int = 0,
    ) -> None:
        plan, on = program.plan, program.device
        on.enter()
        self.entry = device_calls.CODE.image().address("start")
        self._kept: list[Any] = [program]
        self._known: dict[Launch | Copy, device_calls.Launch] = {}
        made = self._program = Program()
        words = ctypes.c_uint64 * (len(plan.buffers) + 1)
        self._table, self._last = self._keep(words()), self._keep(words())
        for k, b in enumerate(plan.buffers):
            if b.place is Place.CONSTANT:
                self._table[k] = program.constants + b.index
        made.table, made.last = _at(self._table), _at(self._last)
        for name, function in _FUNCTIONS.items():
            setattr(made, f"f_{name}", on.function(function))
        made.context, made.stream = int(on.context), int(on.stream)
        self._places(program, numbers, fixed, ahead)
        steps = flat(plan.steps)
        assert steps is not None, "there was a problem"
        launches = self._keep((device_calls.Launch * len(steps))())
        for row, step in zip(launches, steps, strict=True):
            self._launch(program, row, step)
        made.launches, made.launch_count = _at(launches), len(steps)
        if len(steps) >= REPLAYED:
            made.graph = _graph(self, launches, on)

    @property
    def address(self) -> int:
        """Where the entry finds the program."""
        return _at(self._program)

    @property
    def replays(self) -> bool:
        """Whether its launches are replayed as a graph."""
        return bool(self._program.graph)

    def _keep(self, memory: Any) -> Any:
        self._kept.append(memory)
        return memory

    def _rows(self, places: list[tuple[int, int]]) -> tuple[int, int]:
        rows = self._keep((Row * len(places))(*(Row(*pair) for pair in places)))
        return _at(rows), len(places)

    def _places(
        self,
        program: CudaProgram,
        numbers: Collection[int],
        fixed: Mapping[int, int],
        ahead: int,
    ) -> None:
        plan, made = program.plan, self._program
        given = slots(plan, Place.ARGUMENT)
        arrays = [(slot, k) for slot, k in given if k not in numbers and k not in fixed]
        for slot, k in given:
            self._table[slot] = fixed.get(k, 0)
        values = [(slot, k) for slot, k in given if k in numbers]
        made.arrays, made.array_count = self._rows(arrays)
        made.numbers, made.number_count = self._rows(values)
        if values:
            nbytes = ARGUMENT_BYTES * len(values)
            made.staged = _at(self._keep((ctypes.c_uint8 * nbytes)()))
            made.number_address = program.own(nbytes)
            for place, (slot, _) in enumerate(values):
                self._table[slot] = made.number_address + ARGUMENT_BYTES * place
        results = [(slot, k + ahead) for slot, k in slots(plan, Place.RESULT)]
        if program.error_bytes:
            results.append((len(plan.buffers), 0))
        made.results, made.result_count = self._rows(results)
        made.pieces, made.piece_count = self._rows([*slots(plan, Place.ARENA)])
        made.arena_bytes = plan.peak

    def _launch(self, program: CudaProgram, row: device_calls.Launch, step: Launch | Copy) -> None:
        """Fills a row. Equal launches, as those of a loop, share their parameters."""
        known = self._known.get(step)
        if known is not None:
            ctypes.memmove(_at(row), _at(known), ctypes.sizeof(row))
            return
        self._known[step] = row
        if isinstance(step, Copy):
            row.destination, row.source = step.destination, step.source
            row.nbytes = program.plan.buffers[step.destination].nbytes
            self._watch(row, (step.destination, step.source))
            return
        call: LaunchCall = self._keep(launch_call(program, step, self._table))
        row.function, *grid, row.threads = call.values[:5]
        row.grid[:] = grid
        row.shared_bytes, row.parameters = call.values[7], call.values[9]
        maps = self._keep((Map * len(call.maps))())
        for k, (m, slot) in enumerate(call.maps):
            memory = self._keep((ctypes.c_uint8 * (_MAP_BYTES + _MAP_ALIGNMENT))())
            at = _at(memory) + -_at(memory) % _MAP_ALIGNMENT
            ctypes.memmove(at, int(program.tensor_map(m, _UNAIMED).getPtr()), _MAP_BYTES)
            call.pointers[call.first_map + k] = at
            maps[k].map, maps[k].place = at, slot
        row.maps, row.map_count = _at(maps), len(call.maps)
        buffers = program.plan.buffers
        used = {slot for slot in step.slots if buffers[slot].place is not Place.CONSTANT}
        if any(isinstance(s, Fail) for s in walk(program.plan.kernels[step.kernel].body)):
            used.add(len(buffers))
        self._watch(row, sorted(used))

    def _watch(self, row: device_calls.Launch, places: Sequence[int]) -> None:
        """A row whose node is changed with the addresses in these places."""
        row.places = _at(self._keep((ctypes.c_int64 * len(places))(*places)))
        row.place_count = len(places)


_FUNCTIONS = {
    "enter": "cuCtxSetCurrent",
    "launch": "cuLaunchKernel",
    "allocate": "cuMemAllocAsync",
    "free": "cuMemFreeAsync",
    "copy": "cuMemcpyDtoDAsync",
    "upload": "cuMemcpyHtoDAsync",
    "replace": "cuTensorMapReplaceAddress",
    "replay": "cuGraphLaunch",
    "change": "cuGraphExecKernelNodeSetParams",
    "move": "cuGraphExecMemcpyNodeSetParams",
}
"""The driver's functions, under the names that the native text has for them."""


def _at(memory: Any) -> int:
    return ctypes.addressof(memory)


def _graph(owner: DeviceProgram, launches: Any, on: Device) -> int:
    """A graph of the launches, one behind the other, ready to be replayed."""

    def call(name: str, *arguments: Any) -> None:
        status = ctypes.CFUNCTYPE(ctypes.c_int)(on.function(name))(*arguments)
        check((on.driver.CUresult(status),)) if status else None

    word = ctypes.c_void_p
    graph, ready, before = word(), word(), word()
    # Copies must be between memory that there is; the first call tells them theirs.
    nbytes = max((x.nbytes for x in launches if not x.function), default=0)
    memory = on.allocate(nbytes) if nbytes else 0
    call("cuGraphCreate", ctypes.byref(graph), ctypes.c_uint(0))
    try:
        for k, launch in enumerate(launches):
            node = word()
            count = ctypes.c_size_t(1 if k else 0)
            names = ctypes.byref(node), graph, ctypes.byref(before), count
            if launch.function:
                parameters = owner._keep(_NodeParameters())
                parameters.function, parameters.parameters = launch.function, launch.parameters
                parameters.grid[:], parameters.block[:] = launch.grid[:], (launch.threads, 1, 1)
                parameters.shared_bytes = launch.shared_bytes
                call("cuGraphAddKernelNode", *names, ctypes.byref(parameters))
            else:
                parameters = owner._keep(device_calls.CopyParameters())
                parameters.from_kind = parameters.to_kind = _ON_DEVICE
                parameters.source = parameters.destination = memory
                parameters.nbytes, parameters.rows, parameters.layers = launch.nbytes, 1, 1
                context = word(int(on.context))
                call("cuGraphAddMemcpyNode", *names, ctypes.byref(parameters), context)
            launch.node, launch.node_parameters = node.value, _at(parameters)
            before = node
        flags = ctypes.c_ulonglong(0)
        call("cuGraphInstantiate", ctypes.byref(ready), graph, flags)
    except BaseException:
        call("cuGraphDestroy", graph)
        raise
    finally:
        if memory:
            on.free(memory, nbytes)
    weakref.finalize(owner, _destroy, on, call, ready, graph).atexit = False
    assert ready.value is not None
    return ready.value


def _destroy(on: Device, call: Any, ready: Any, graph: Any) -> None:
    on.enter()
    call("cuGraphExecDestroy", ready)
    call("cuGraphDestroy", graph)
