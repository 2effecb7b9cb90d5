"""Programs on a GPU for native calls: what `device_calls` starts, made of a `CudaProgram`.

`DeviceProgram` takes which parameters are numbers and gives the addresses that a `Specialisation`
needs. Programs whose steps the host takes part in have none, nor those that call a library of the
device, whose launches are its own: `problem` says why.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyc.backends.cuda_program import CudaProgram, LaunchCall, launch_call, slots
from pyc.ir.plan import (
    ARGUMENT_BYTES,
    CONTEXT_FIELDS,
    Copy,
    Launch,
    Loop,
    Place,
    Plan,
    walk_steps,
)
from pyc.runtime import device_calls, device_steps
from pyc.runtime.device_calls import Map, Number, Program, Row
from pyc.runtime.device_graph import Graph, rows_of
from pyc.runtime.device_steps import Choice, Item, While, walk_items, written_out

REPLAYED, REPLAYED_BOUND = 1, 2
"""Launches of a program from which on they are replayed as one graph: the driver starts one in half
of the time that it needs for a launch, but takes 50 us to make it. That is as long as thirty calls
save, and programs for arrays of any size are bound for each shape that comes along."""
MOST_TOLD = 4
"""Launches that are told of a number which is another one than at the last call; where more read
it, it is copied to the device once."""
_WORDS = ARGUMENT_BYTES // 8
_MAP_BYTES, _MAP_ALIGNMENT = 128, 64
_UNAIMED = 1 << 20
"""Where a tensor map's array is until its first launch: as aligned as any."""


def problem(program: CudaProgram) -> str | None:
    """Why the calls of a program go through Python, or None."""
    if program.calls:
        return "it calls Python functions back"
    if program.host:
        return "a step runs on the host"
    if program.solves:
        return "a step calls a library of the device"
    items = written_out(program.plan)
    if items is None:
        return (
            f"its steps are more than {device_steps.MOST_STEPS}, or a loop of unknown length "
            "carries much"
        )
    asks = any(isinstance(item, (While, Choice)) for item in walk_items(items))
    refusal = program.device.conditions.refusal if asks else ""
    return f"the host decides which steps run: {refusal}" if refusal else None


def runs_loops(program: CudaProgram) -> bool:
    """Whether loops of unknown length run on the device, so that calls are waited for: whoever
    interrupts one ends them."""
    if not any(isinstance(s, Loop) and s.times is None for s in walk_steps(program.plan.steps)):
        return False
    return problem(program) is None


_AHEAD = 0, 1
"""Where addresses stand behind those of the buffers: of the words that checks lower, and of the
word that ends loops."""
_ENTRY = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)
"""An entry, called with the interpreter's lock held."""


class DeviceProgram:
    """What native calls of a program start; the program has no `problem`.

    numbers: parameters that come as values of up to 16 bytes; fixed: addresses of those that never
    change; ahead: how many places stand before those of the results: the first are the words that
    checks lower, if there are checks, and the word that ends loops, if any run on the device.
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
        self._ahead = ahead
        self._named = bool(program.error_bytes), runs_loops(program)
        self.entry = device_calls.CODE.image().address("start")
        self._kept: list[Any] = [program]
        self._known: dict[Launch | Copy, device_calls.Launch] = {}
        made = self._program = Program()
        items = written_out(plan)
        assert items is not None, "there was a problem"
        first = len(plan.buffers) + 2
        self._numbers = _by_value(program, items, numbers, first)
        words = ctypes.c_uint64 * (first + _WORDS * len(self._numbers))
        self._table, self._last = self._keep(words()), self._keep(words())
        for k, b in enumerate(plan.buffers):
            if b.place is Place.CONSTANT:
                self._table[k] = program.constants + b.index
        made.table, made.last = _at(self._table), _at(self._last)
        for name, function in _FUNCTIONS.items():
            setattr(made, f"f_{name}", on.function(function))
        made.context, made.stream = int(on.context), int(on.stream)
        self._places(program, numbers, fixed, ahead)
        rows = self._keep((device_calls.Launch * rows_of(items))())
        made.launches, made.launch_count = _at(rows), len(rows)

        def fill(row: device_calls.Launch, step: Launch | Copy) -> None:
            self._launch(program, row, step)

        def early(step: Launch) -> bool:
            return program.launches[step.kernel].early

        if len(rows) >= (REPLAYED_BOUND if program.is_bound else REPLAYED):
            sizes = [b.nbytes for b in plan.buffers]
            graph = Graph(on, rows, fill, early, made.table, sizes, len(sizes) + 1)
            copies = [s for s in walk_items(items) if isinstance(s, Copy)]
            copied = max((plan.buffers[s.destination].nbytes for s in copies), default=0)
            made.graph = graph.ready(items, copied, self)
            self._kept.append(graph.kept)
        else:
            for row, step in zip(rows, items, strict=True):
                assert isinstance(step, (Launch, Copy)), "others have several rows"
                fill(row, step)

    @property
    def address(self) -> int:
        """Where the entry finds the program."""
        return _at(self._program)

    @property
    def replays(self) -> bool:
        """Whether its launches are replayed as a graph."""
        return bool(self._program.graph)

    def run(
        self, arguments: Sequence[int], ahead: Sequence[int], results: Sequence[int]
    ) -> tuple[int, int]:
        """Starts a call from Python, all parameters being arrays, by addresses. What the entry
        returns, and the driver's status if it has refused."""
        made = [*ahead, *[0] * (self._ahead - len(ahead)), *results]
        slots = (ctypes.c_uint64 * (2 * len(arguments)))()
        for k, address in enumerate(arguments):
            slots[2 * k] = id(address)
        places = (ctypes.c_uint64 * len(made))(*map(id, made))
        context = (ctypes.c_int64 * len(CONTEXT_FIELDS))()
        context[CONTEXT_FIELDS.index("externals")] = self.address
        code = _ENTRY(self.entry)(_at(context), _at(slots), _at(places))
        return code, context[CONTEXT_FIELDS.index("error_value")]

    def _keep(self, memory: Any) -> Any:
        self._kept.append(memory)
        return memory

    def _rows(self, places: list[tuple[int, int]]) -> tuple[int, int]:
        rows = self._keep((Row * len(places))(*(Row(*pair) for pair in places)))
        return _at(rows), len(places)

    def _taken(
        self, plan: Plan, values: list[tuple[int, int]], to: Mapping[int, int]
    ) -> tuple[int, int]:
        """Rows of numbers. values: their slots and arguments; to: where those of slots go."""
        rows = self._keep((Number * len(values))())
        for row, (slot, k) in zip(rows, values, strict=True):
            # A Plan for arrays of any size knows no sizes.
            bits = (1 << 8 * (plan.buffers[slot].nbytes or ARGUMENT_BYTES)) - 1
            row.to, row.source = to[slot], k
            row.low, row.high = (ctypes.c_int64(bits >> n).value for n in (0, 64))
        return _at(rows), len(values)

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
        told = [(slot, k) for slot, k in values if slot in self._numbers]
        sent = [(slot, k) for slot, k in values if slot not in self._numbers]
        made.arrays, made.array_count = self._rows(arrays)
        at = {slot: made.table + 8 * place for slot, place in self._numbers.items()}
        made.numbers, made.number_count = self._taken(plan, told, at)
        places = [p + k for p in self._numbers.values() for k in range(_WORDS)]
        made.words, made.word_count = self._rows([(p, 0) for p in places])
        if sent:
            nbytes = ARGUMENT_BYTES * len(sent)
            made.staged = _at(self._keep((ctypes.c_uint8 * nbytes)()))
            made.number_address = program.own(nbytes)
            at = {slot: made.staged + ARGUMENT_BYTES * k for k, (slot, _) in enumerate(sent)}
            made.sent, made.sent_count = self._taken(plan, sent, at)
            for place, (slot, _) in enumerate(sent):
                self._table[slot] = made.number_address + ARGUMENT_BYTES * place
        # Nodes are made with these addresses, which do not change.
        for slot, k in given:
            if k in numbers or k in fixed:
                self._last[slot] = self._table[slot]
        results = [(slot, k + ahead) for slot, k in slots(plan, Place.RESULT)]
        first = len(plan.buffers)
        named = [place for place, is_there in zip(_AHEAD, self._named, strict=True) if is_there]
        results += [(first + place, k) for k, place in enumerate(named)]
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
        call: LaunchCall = self._keep(launch_call(program, step, self._table, self._numbers))
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
        if program.launches[step.kernel].sites:
            used.add(len(buffers))
        used |= {self._numbers[slot] for slot in step.slots if slot in self._numbers}
        self._watch(row, sorted(used))

    def _watch(self, row: device_calls.Launch, places: Sequence[int]) -> None:
        """A row whose node is changed with the addresses in these places."""
        row.places = _at(self._keep((ctypes.c_int64 * len(places))(*places)))
        row.place_count = len(places)


def _by_value(
    program: CudaProgram, items: Sequence[Item], numbers: Collection[int], first: int
) -> dict[int, int]:
    """Where in the table, from place `first` on, the words of those slots are that hold numbers
    which come by value: few launches read them, and nothing else does."""
    readers = {slot: 0 for slot, k in slots(program.plan, Place.ARGUMENT) if k in numbers}
    for item in walk_items(items):
        if isinstance(item, Launch):
            values = program.launches[item.kernel].values
            for position, slot in enumerate(item.slots):
                if slot in readers:
                    readers[slot] += 1 if position in values else MOST_TOLD + 1
            continue
        if isinstance(item, Copy):
            other = [item.destination, item.source]
        elif isinstance(item, While):
            other = [item.flag, *(s for c in item.returned for s in (c.destination, c.source))]
        else:
            other = [item.index]
        for slot in other:
            readers.pop(slot, None)
    told = [slot for slot, count in readers.items() if count <= MOST_TOLD]
    return {slot: first + _WORDS * k for k, slot in enumerate(told)}


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
