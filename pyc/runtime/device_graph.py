"""CUDA graphs of programs (CUDA driver API, "Graph Management").

`Graph` makes one of the items of a program: its nodes stand one behind the other. Loops of unknown
length and branches are conditional nodes, whose bodies are graphs of their own and whose conditions
a kernel sets (`backends/conditions`), so that the host takes no part. Each node has a row
(`device_calls.Launch`), by which calls tell it the addresses that it has to do with.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from pyc.backends.conditions import THREADS, VECTOR_BYTES
from pyc.backends.cuda import EDGE_DATA, INTERFACE, Device, check
from pyc.ir.plan import Copy, Launch
from pyc.runtime import device_calls
from pyc.runtime.device_steps import Choice, Item, While

_ON_DEVICE = 2
"""CU_MEMORYTYPE_DEVICE of the driver's interface."""
_CONDITIONAL_NODE = 13
"""CU_GRAPH_NODE_TYPE_CONDITIONAL."""
_IF, _WHILE = 0, 1
"""Kinds of conditional nodes."""
_PROGRAMMATIC, _WHEN_TOLD = 1, 1
"""CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC: the node may be launched once `from_port` of the one
before says so, and waits itself for its end; CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC: all blocks of
that one have said so, or are done."""

_MOST_BLOCKS = 528
"""Of a kernel that copies what an iteration leaves: four for each multiprocessor of an H200."""


class _Edge(ctypes.Structure):
    """CUgraphEdgeData of the driver's interface."""

    _fields_ = (
        *(("from_port", ctypes.c_uint8), ("to_port", ctypes.c_uint8), ("type", ctypes.c_uint8)),
        ("reserved", ctypes.c_uint8 * 5),
    )


class _KernelParameters(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS of the driver's interface."""

    _fields_ = (
        *(("function", ctypes.c_void_p), ("grid", ctypes.c_uint32 * 3)),
        *(("block", ctypes.c_uint32 * 3), ("shared_bytes", ctypes.c_uint32)),
        *(("parameters", ctypes.c_void_p), ("extra", ctypes.c_void_p)),
        *(("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p)),
    )


class _ConditionalParameters(ctypes.Structure):
    """CUgraphNodeParams of the driver's interface, of a conditional node."""

    _fields_ = (
        *(("node_type", ctypes.c_int32), ("reserved", ctypes.c_int32 * 3)),
        *(("handle", ctypes.c_uint64), ("kind", ctypes.c_int32), ("size", ctypes.c_uint32)),
        *(("bodies", ctypes.c_void_p), ("context", ctypes.c_void_p)),
        ("more", ctypes.c_uint8 * 208),
    )


class _Last(NamedTuple):
    """The last node of a row of them."""

    node: int
    is_kernel: bool


class Graph:
    """A graph under construction. rows: one for each node that has addresses, filled as the nodes
    are made; fill: puts what a step runs into a row; early: whether a step may be launched while
    the kernel before runs; table: where the addresses of slots are; sizes: bytes of the slots;
    word: the place of the address of the word by which the call's loops are ended."""

    def __init__(
        self,
        on: Device,
        rows: Any,
        fill: Callable[[Any, Launch | Copy], None],
        early: Callable[[Launch], bool],
        table: int,
        sizes: Sequence[int],
        word: int,
    ) -> None:
        self._on = on
        self._rows: Iterator[Any] = iter(rows)
        self._fill = fill
        self._early = early
        self._table = table
        self._bytes = sizes
        self._word = word
        self.kept: list[Any] = []
        """What the driver and the rows point to."""
        self._root = ctypes.c_void_p()
        # Copies must be between memory that there is; the first call tells them theirs.
        self._memory = 0

    def _call(self, name: str, *arguments: Any, version: int = INTERFACE) -> None:
        _call(self._on, name, *arguments, version=version)

    def ready(self, items: Sequence[Item], copied: int, owner: Any) -> int:
        """The graph of some items, ready to be replayed; it lives as long as `owner`. copied: bytes
        of the largest copy."""
        on = self._on
        ready = ctypes.c_void_p()
        self._memory = on.allocate(copied) if copied else 0
        self._call("cuGraphCreate", ctypes.byref(self._root), ctypes.c_uint(0))
        try:
            self._items(self._root, items, None)
            flags = ctypes.c_ulonglong(0)
            # `cuGraphInstantiate` of any version takes a buffer for texts in place of the flags.
            self._call("cuGraphInstantiateWithFlags", ctypes.byref(ready), self._root, flags)
        except BaseException:
            self._call("cuGraphDestroy", self._root)
            raise
        finally:
            if self._memory:
                on.free(self._memory, copied)
        weakref.finalize(owner, _destroy, on, ready, self._root).atexit = False
        assert ready.value is not None
        return ready.value

    def _items(self, graph: Any, items: Sequence[Item], last: _Last | None) -> _Last | None:
        for item in items:
            if isinstance(item, While):
                last = self._while(graph, item, last)
            elif isinstance(item, Choice):
                last = self._choice(graph, item, last)
            else:
                row = next(self._rows)
                self._fill(row, item)
                early = isinstance(item, Launch) and self._early(item)
                last = self._node(graph, row, last, early)
        return last

    def _while(self, graph: Any, item: While, last: _Last | None) -> _Last:
        handle = self._handle()
        last = self._items(graph, item.condition, last)
        last = self._turn(graph, item.flag, (), handle, last)
        node, body = self._conditional(graph, _WHILE, handle, last)
        inside = self._items(body, (*item.body, *item.again), None)
        self._turn(body, item.flag, item.returned, handle, inside)
        return node

    def _choice(self, graph: Any, item: Choice, last: _Last | None) -> _Last | None:
        handles = [self._handle() for _ in item.cases]
        function = self._on.conditions.choose(len(handles))
        index = self._table + 8 * item.index
        given = (index, *self._values(handles))
        last = self._telling(graph, function, given, (item.index,), last)
        for handle, case in zip(handles, item.cases, strict=True):
            last, body = self._conditional(graph, _IF, handle, last)
            self._items(body, case, None)
        return last

    def _handle(self) -> int:
        """A new condition of the graph."""
        handle = ctypes.c_uint64()
        context = ctypes.c_void_p(int(self._on.context))
        zero = ctypes.c_uint(0)
        arguments = ctypes.byref(handle), self._root, context, zero, zero
        self._call("cuGraphConditionalHandleCreate", *arguments, version=EDGE_DATA)
        return handle.value

    def _turn(
        self, graph: Any, flag: int, copies: Sequence[Copy], handle: int, last: _Last | None
    ) -> _Last:
        """A node of the kernel that ends an iteration."""
        copies = [c for c in copies if self._bytes[c.destination]]
        sizes = [self._bytes[c.destination] for c in copies]
        slots = [flag, self._word]
        given = [*self._values([handle]), self._table + 8 * flag, self._table + 8 * self._word]
        for copy, nbytes in zip(copies, self._values(sizes), strict=True):
            slots += [copy.destination, copy.source]
            given += [self._table + 8 * copy.destination, self._table + 8 * copy.source, nbytes]
        function = self._on.conditions.turn(len(copies))
        blocks = -(-max(sizes, default=1) // (VECTOR_BYTES * THREADS))
        shape = min(blocks, _MOST_BLOCKS), THREADS
        return self._telling(graph, function, given, slots, last, *shape)

    def _values(self, values: Sequence[int]) -> list[int]:
        """Where some values stand, for parameters to point to."""
        memory = (ctypes.c_uint64 * len(values))(*values)
        self.kept.append(memory)
        return [ctypes.addressof(memory) + 8 * k for k in range(len(values))]

    def _telling(
        self,
        graph: Any,
        function: int,
        given: Sequence[int],
        slots: Sequence[int],
        last: _Last | None,
        blocks: int = 1,
        threads: int = 1,
    ) -> _Last:
        """A node of a kernel that sets conditions. given: where its parameters stand; slots: whose
        addresses are among them."""
        pointers = (ctypes.c_void_p * len(given))(*given)
        watched = (ctypes.c_int64 * len(slots))(*slots)
        self.kept += [pointers, watched]
        row = next(self._rows)
        row.function, row.grid[:], row.threads = function, (blocks, 1, 1), threads
        row.parameters = ctypes.addressof(pointers)
        row.places, row.place_count = ctypes.addressof(watched), len(slots)
        return self._node(graph, row, last, early=self._on.target.early_launch)

    def _conditional(
        self, graph: Any, kind: int, handle: int, last: _Last | None
    ) -> tuple[_Last, Any]:
        """A conditional node behind another one, and the graph of its body."""
        assert last is not None, "a kernel sets its condition"
        made = _ConditionalParameters(node_type=_CONDITIONAL_NODE, handle=handle, kind=kind, size=1)
        made.context = int(self._on.context)
        node, before = ctypes.c_void_p(), ctypes.c_void_p(last.node)
        told = ctypes.byref(before), None, ctypes.c_size_t(1), ctypes.byref(made)
        self._call("cuGraphAddNode", ctypes.byref(node), graph, *told, version=EDGE_DATA)
        body = ctypes.c_void_p.from_address(made.bodies).value
        assert node.value is not None
        return _Last(node.value, False), ctypes.c_void_p(body)

    def _node(self, graph: Any, row: Any, last: _Last | None, early: bool) -> _Last:
        """A node of a kernel or a copy behind another one."""
        node = ctypes.c_void_p()
        names = ctypes.byref(node), graph, None, ctypes.c_size_t(0)
        parameters: Any
        if row.function:
            parameters = _KernelParameters()
            parameters.function, parameters.parameters = row.function, row.parameters
            parameters.grid[:], parameters.block[:] = row.grid[:], (row.threads, 1, 1)
            parameters.shared_bytes = row.shared_bytes
            self._call("cuGraphAddKernelNode", *names, ctypes.byref(parameters))
        else:
            parameters = device_calls.CopyParameters()
            parameters.from_kind = parameters.to_kind = _ON_DEVICE
            parameters.source = parameters.destination = self._memory
            parameters.nbytes, parameters.rows, parameters.layers = row.nbytes, 1, 1
            context = ctypes.c_void_p(int(self._on.context))
            self._call("cuGraphAddMemcpyNode", *names, ctypes.byref(parameters), context)
        self.kept.append(parameters)
        row.node, row.node_parameters = node.value, ctypes.addressof(parameters)
        if last is not None:
            self._edge(graph, last, node, early and last.is_kernel)
        assert node.value is not None
        return _Last(node.value, bool(row.function))

    def _edge(self, graph: Any, last: _Last, node: Any, early: bool) -> None:
        before = ctypes.c_void_p(last.node)
        ends = ctypes.byref(before), ctypes.byref(node)
        one = ctypes.c_size_t(1)
        if early and self._on.driver_version >= EDGE_DATA:
            edge = ctypes.byref(_Edge(_WHEN_TOLD, 0, _PROGRAMMATIC))
            self._call("cuGraphAddDependencies", graph, *ends, edge, one, version=EDGE_DATA)
        else:
            self._call("cuGraphAddDependencies", graph, *ends, one)


def rows_of(items: Sequence[Item]) -> int:
    """How many rows a graph of some items needs."""
    count = 0
    for item in items:
        if isinstance(item, While):
            count += rows_of((*item.condition, *item.body, *item.again)) + 2
        elif isinstance(item, Choice):
            count += 1 + sum(map(rows_of, item.cases))
        else:
            count += 1
    return count


def _call(on: Device, name: str, *arguments: Any, version: int = INTERFACE) -> None:
    """Calls a function of the driver by its address; DeviceError if it refuses."""
    status = ctypes.CFUNCTYPE(ctypes.c_int)(on.function(name, version))(*arguments)
    if status:
        check((on.driver.CUresult(status),))


def _destroy(on: Device, ready: Any, graph: Any) -> None:
    on.enter()
    _call(on, "cuGraphExecDestroy", ready)
    _call(on, "cuGraphDestroy", graph)
