"""A device of the tests: memory of this process, and kernels run by the kernel interpreter.

It stands where the CUDA driver stands, so that what `CudaProgram` does around the kernels (its
parameter blocks, copies, steps of the host, loops, error slots, frames) runs without a GPU. It
shows nothing about a GPU. Parameters are decoded from memory as the driver does it: an array of
pointers, each to eight bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import Lock, Thread
from time import perf_counter
from typing import Any

import numpy as np

from pyc import clear_caches, compile_cuda
from pyc import device as devices
from pyc.backends import conditions
from pyc.backends.base import SiteFailed
from pyc.backends.cuda import EDGE_DATA, INTERFACE
from pyc.backends.cuda_program import CudaProgram
from pyc.backends.launching import HostStep, KernelLaunch
from pyc.backends.ptx_early import begins_early
from pyc.backends.verdicts import Ledger
from pyc.compile_host import HostStep as NativeStep
from pyc.compile_host import host_kernel, host_routines
from pyc.device_code import DeviceCode
from pyc.forks import load
from pyc.frozen import replace
from pyc.ir.by_value import by_value
from pyc.ir.graph import Graph
from pyc.ir.loops import Fail, Kernel, walk
from pyc.ir.plan import Library, Plan, launches_of
from pyc.ir.simulate import run
from pyc.ir.target import SM_90, Target
from pyc.lowered import Lowered
from pyc.passes import optimise
from pyc.passes.memory import plan
from pyc.reasons import ON_HOST

Array = np.ndarray[Any, Any]
ALL_ON_HOST: Target = replace(SM_90, parameter_bytes=0)
"""A device that cannot launch any kernel, but for those made by hand."""
ALIGNMENT = 256
_W, _I = ctypes.c_uint64, ctypes.c_uint32
_REFUSED = 999
"""The status of a function that raised: the driver's for an unknown error."""
_POISON = 0xCB
_OF_CONDITIONS = 1 << 40
"""The first number of the kernels of `backends/conditions`."""


class InterpretedDevice:
    """What `CudaProgram` asks of a `Device`."""

    def __init__(self, target: Target = SM_90) -> None:
        self.target = target
        self.ordinal = 0
        self.name = "interpreted"
        self.capability = 90
        self.driver_version = 13000
        self.label = "cuda:0"
        self.stream = 0
        self.driver = self
        self.kernels: dict[int, Kernel] = {}
        self.memory: dict[int, Array] = {}
        self._zones: dict[int, tuple[slice, slice]] = {}
        self.driver_version = conditions.CONDITIONAL
        self.launched = self.replayed = self.changed = self.overlapped = self.uploaded = 0
        self.context = 0
        self.refusal: BaseException | None = None
        self.ledger = Ledger(self)
        self.solver: Any = "no library is installed"
        self._lock = Lock()
        self._functions: dict[str, Any] = {}
        self._graphs: dict[int, list[int]] = {}
        self._made = 0
        self._nodes: dict[int, tuple[int, list[int]]] = {}
        self._edges: set[tuple[int, int]] = set()
        self._handles: dict[int, int] = {}
        self._conditional: dict[int, tuple[int, int, int]] = {}
        self._bodies: list[Any] = []
        self.conditions = conditions.Conditions(self)
        self.deferred = False
        """Whether graphs with loops run in a thread of their own, as they do beside the host."""
        self.at_work: Thread | None = None
        self._of_conditions: list[tuple[str, int]] = []

    # --- what the driver's package has --------------------------------------------------------

    def cuModuleLoadData(self, image: bytes) -> tuple[int, int]:
        """The module is the number of the first of its kernels, as the image says, or whose texts
        the image is made of."""
        if image.isdigit():
            return 0, int(image)
        first = len(self.kernels) + 1
        for number, text in enumerate(image.decode().split("\0"), first):
            self.kernels[number] = load("pyc.ir.parse_kernel").parse_kernel(text)
        return 0, first

    def cuModuleGetFunction(self, module: int, name: bytes) -> tuple[int, int]:
        """Kernels are named k0, k1 ..."""
        return 0, module + int(name[1:])

    def cuModuleUnload(self, module: int) -> tuple[int]:
        """Forgets nothing: other programs count on the numbers."""
        return (0,)

    # --- what a Device has --------------------------------------------------------------------

    def enter(self) -> None:
        """Nothing: there is no context."""

    def synchronize(self) -> None:
        """Nothing: work is done at once."""

    finish = synchronize

    def load(self, text: str, name: str) -> int:
        """A kernel of `backends/conditions`."""
        self._of_conditions.append((name, text.count(".param .u64 ")))
        return _OF_CONDITIONS + len(self._of_conditions) - 1

    def mark(self) -> Thread | None:
        """What runs beside the host now."""
        return self.at_work

    def poll(self, mark: Thread | None) -> None:
        """Waits for it."""
        while mark is not None and mark.is_alive():
            mark.join(0.001)

    wait = poll

    def unmark(self, mark: Thread | None) -> None:
        """Nothing."""

    def interrupt(self, address: int) -> None:
        """Sets a word to 1."""
        _bytes(address, 4).view(np.int32)[0] = 1

    def timed(self, work: Callable[[], None]) -> float:
        """The seconds of `work` on the host: the kernel interpreter's."""
        start = perf_counter()
        work()
        return perf_counter() - start

    def allocate(self, nbytes: int) -> int:
        """The address of poisoned memory, with a red zone before and after it."""
        size = max(nbytes, 16)
        whole = np.full(size + 3 * ALIGNMENT, _POISON, np.uint8)
        first = int(whole.ctypes.data)
        address = first + ALIGNMENT + -first % ALIGNMENT
        self.memory[address] = whole
        self._zones[address] = slice(0, address - first), slice(address - first + size, None)
        return address

    def free(self, address: int, nbytes: int | None = None) -> None:
        """Poisons memory and lets it go; KeyError for what was not allocated, AssertionError where
        something was written beside it."""
        whole = self.memory.pop(address)
        for zone in self._zones.pop(address):
            assert (whole[zone] == _POISON).all(), "written outside of what was allocated"
        whole[:] = _POISON

    pinned, unpin = allocate, free

    def upload(self, address: int, array: Array) -> None:
        """Copies to the device."""
        _bytes(address, array.nbytes)[:] = np.frombuffer(array.tobytes(), np.uint8)

    write = upload

    def read(self, array: Array, address: int) -> None:
        """Copies from the device."""
        array.reshape(-1).view(np.uint8)[:] = _bytes(address, array.nbytes)

    download = read

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Sets memory."""
        _bytes(address, nbytes)[:] = byte

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        """Copies within the device."""
        _bytes(destination, nbytes)[:] = _bytes(source, nbytes).copy()

    def launch(self, function: int, *rest: Any) -> int:
        """Runs a kernel; a failure lowers its words of the error slot."""
        self._run(function, self._parameters(function, rest[8]))
        return 0

    def _parameters(self, function: int, pointers: int) -> list[int]:
        """The values of the parameters, as the driver copies them."""
        if function >= _OF_CONDITIONS:
            count = self._of_conditions[function - _OF_CONDITIONS][1]
        else:
            kernel = self.kernels[function]
            count = len(kernel.buffers) + len(kernel.sizes) + 1 + len(by_value(kernel))
        addresses = (ctypes.c_void_p * count).from_address(pointers)
        return [ctypes.c_uint64.from_address(a or 0).value for a in addresses]

    def _run(self, function: int, values: list[int]) -> None:
        if function >= _OF_CONDITIONS:
            self._condition(self._of_conditions[function - _OF_CONDITIONS][0], values)
            return
        kernel = self.kernels[function]
        count = len(kernel.buffers)
        given = values[count : count + len(kernel.sizes)]
        sizes = dict(zip(kernel.sizes, given, strict=True))
        error, *words = values[count + len(given) :]
        numbers = dict(zip(by_value(kernel), map(ctypes.c_uint64, words), strict=True))
        arrays = []
        for k, (address, b) in enumerate(zip(values, kernel.buffers, strict=False)):
            if not address and k in numbers:
                address = ctypes.addressof(numbers[k])
            shape = tuple(d if isinstance(d, int) else sizes[d] for d in b.shape)
            nbytes = int(np.prod(shape, dtype=np.int64)) * b.dtype.itemsize
            arrays.append(_bytes(address, nbytes).view(b.dtype.numpy).reshape(shape))
        with self._lock:  # as work of one stream
            self.launched += 1
            outcome = run(kernel, arrays, given)
        if outcome.failed is not None:
            site, value = outcome.failed
            slot = _bytes(error, 8 * (2 + site)).view(np.uint64)
            slot[0] = min(int(slot[0]), site)
            slot[1 + site] = min(int(slot[1 + site]), value % 2**64)

    def _condition(self, name: str, values: list[int]) -> None:
        """Runs a kernel of `backends/conditions`."""
        if name == "choose":
            index, *handles = values
            number = int(_bytes(index, 8).view(np.int64)[0])
            for k, handle in enumerate(handles):
                self._handles[handle] = min(max(number, 0), len(handles) - 1) == k
            return
        handle, flag, word, *copies = values
        assert handle in self._handles
        ended = int(_bytes(word, 4).view(np.int32)[0])
        for to, source, nbytes in zip(copies[::3], copies[1::3], copies[2::3], strict=True):
            self.copy(to, source, nbytes)
        self._handles[handle] = bool(_bytes(flag, 1)[0]) and not ended

    # --- what native code calls by address ----------------------------------------------------

    def function(self, name: str, version: int = INTERFACE) -> int:
        """The address of a C function that does here what the driver's does; KeyError for others.
        What it raises is kept in `refusal`."""
        name = name if version == INTERFACE else f"{name}_{version}"
        if name not in self._functions:
            method, *types = _FUNCTIONS[name]

            def guarded(*arguments: int) -> int:
                try:
                    return int(method(self, *arguments) or 0)
                except BaseException as error:
                    self.refusal = error
                    return 2 if isinstance(error, MemoryError) else _REFUSED

            self._functions[name] = ctypes.CFUNCTYPE(ctypes.c_int, *types)(guarded)
        return ctypes.cast(self._functions[name], ctypes.c_void_p).value or 0

    def _current(self, context: int) -> None:
        assert context == self.context

    def _launch(self, function: int, *rest: int) -> None:
        self.launch(function, *rest)

    def _allocate(self, to: int, nbytes: int, stream: int) -> None:
        _W.from_address(to).value = self.allocate(nbytes)

    def _free(self, address: int, stream: int) -> None:
        self.free(address)

    def _copy(self, to: int, source: int, nbytes: int, stream: int) -> None:
        self.copy(to, source, nbytes)

    def _upload(self, to: int, source: int, nbytes: int, stream: int) -> None:
        self.uploaded += 1
        self.copy(to, source, nbytes)

    def _graph_create(self, to: int, flags: int) -> None:
        self._made += 1
        number = _W.from_address(to).value = self._made
        self._graphs[number] = []

    def _graph_add(
        self, to: int, graph: int, before: int, count: int, parameters: int, copies: bool = False
    ) -> None:
        nodes = self._graphs[graph]
        assert not before and not count
        number = _W.from_address(to).value = 1 + len(self._nodes)
        nodes.append(number)
        if copies:
            self._graph_move(graph, number, parameters, self.context)
        else:
            self._graph_change(graph, number, parameters)

    def _graph_change(self, graph: int, node: int, parameters: int) -> None:
        assert any(node in nodes for nodes in self._graphs.values())
        function, pointers = (_W.from_address(parameters + at).value for at in (0, 40))
        self.changed += node in self._nodes
        self._nodes[node] = function, self._parameters(function, pointers)

    def _graph_add_copy(self, *arguments: int) -> None:
        self._graph_add(*arguments[:5], copies=True)

    def _graph_move(self, graph: int, node: int, parameters: int, context: int) -> None:
        assert any(node in nodes for nodes in self._graphs.values())
        self.changed += node in self._nodes
        words = [_W.from_address(parameters + 8 * k).value for k in range(25)]
        assert (words[4], words[15], words[23], words[24]) == (2, 2, 1, 1)
        self._nodes[node] = 0, [words[17], words[6], words[22]]

    def _graph_edge(self, graph: int, source: int, to: int, count: int) -> None:
        assert count == 1
        first, second = (_W.from_address(at).value for at in (source, to))
        nodes = self._graphs[graph]
        assert nodes.index(second) == nodes.index(first) + 1, "one node follows the other"
        self._edges.add((first, second))

    def _graph_early_edge(self, graph: int, source: int, to: int, data: int, count: int) -> None:
        assert self.driver_version >= EDGE_DATA
        self._graph_edge(graph, source, to, count)
        assert _W.from_address(data).value == 1 | 1 << 16, "when told, programmatic"
        first, second = (self._nodes[_W.from_address(at).value][0] for at in (source, to))
        waits = second >= _OF_CONDITIONS or begins_early(self.kernels[second], self.target)
        assert first and second and waits, "only kernels that wait begin early"
        self.overlapped += 1

    def _graph_handle(self, to: int, graph: int, context: int, value: int, flags: int) -> None:
        assert graph in self._graphs and context == self.context and value == flags == 0
        number = _W.from_address(to).value = 1 + len(self._handles)
        self._handles[number] = 0

    def _graph_conditional(
        self, to: int, graph: int, before: int, data: int, count: int, parameters: int
    ) -> None:
        kind, handle, form, bodies, context = (
            _W.from_address(parameters + at).value for at in (0, 16, 24, 32, 40)
        )
        assert kind == 13 and form >> 32 == 1 and not bodies and context == self.context
        assert count == 1 and not data and handle in self._handles
        number = _W.from_address(to).value = 1 + len(self._nodes)
        self._nodes[number] = 0, []
        body = _W()
        self._bodies.append(body)
        self._graph_create(ctypes.addressof(body), 0)
        _W.from_address(parameters + 32).value = ctypes.addressof(body)
        self._conditional[number] = form & 1, handle, body.value
        self._graphs[graph].append(number)
        self._graph_edge(graph, before, to, 1)

    def _graph_ready(self, to: int, graph: int, flags: int) -> None:
        nodes = self._graphs[graph]
        for node in nodes:
            if node in self._conditional:
                self._graph_ready(ctypes.addressof(_W()), self._conditional[node][2], flags)
        assert all(pair in self._edges for pair in pairwise(nodes))
        _W.from_address(to).value = graph

    def _graph_replay(self, graph: int, stream: int) -> None:
        self.replayed += 1
        if self.deferred:
            self.at_work = Thread(target=self._replay, args=(graph,))
            self.at_work.start()
        else:
            self._replay(graph)

    def _replay(self, graph: int) -> None:
        for node in self._graphs[graph]:
            function, values = self._nodes[node]
            if node in self._conditional:
                repeats, handle, body = self._conditional[node]
                while self._handles[handle]:
                    self._replay(body)
                    if not repeats:
                        break
            elif function:
                self._run(function, values)
            else:
                self.copy(*values)

    def _graph_destroy(self, graph: int) -> None:
        for node in self._graphs.pop(graph, ()):
            if node in self._conditional:
                self._graph_destroy(self._conditional[node][2])


_FUNCTIONS: dict[str, tuple[Callable[..., Any], Any, ...]] = {
    "cuCtxSetCurrent": (InterpretedDevice._current, _W),
    "cuLaunchKernel": (InterpretedDevice._launch, _W, *[_I] * 7, _W, _W, _W),
    "cuMemAllocAsync": (InterpretedDevice._allocate, _W, _W, _W),
    "cuMemFreeAsync": (InterpretedDevice._free, _W, _W),
    "cuMemcpyDtoDAsync": (InterpretedDevice._copy, _W, _W, _W, _W),
    "cuMemcpyHtoDAsync": (InterpretedDevice._upload, _W, _W, _W, _W),
    "cuTensorMapReplaceAddress": (InterpretedDevice._current, _W, _W),
    "cuGraphCreate": (InterpretedDevice._graph_create, _W, _I),
    "cuGraphAddKernelNode": (InterpretedDevice._graph_add, _W, _W, _W, _W, _W),
    "cuGraphAddMemcpyNode": (InterpretedDevice._graph_add_copy, _W, _W, _W, _W, _W, _W),
    "cuGraphExecMemcpyNodeSetParams": (InterpretedDevice._graph_move, _W, _W, _W, _W),
    "cuGraphAddDependencies": (InterpretedDevice._graph_edge, _W, _W, _W, _W),
    f"cuGraphAddDependencies_{EDGE_DATA}": (InterpretedDevice._graph_early_edge, *[_W] * 5),
    f"cuGraphConditionalHandleCreate_{EDGE_DATA}": (
        InterpretedDevice._graph_handle,
        *(_W, _W, _W, _I, _I),
    ),
    f"cuGraphAddNode_{EDGE_DATA}": (InterpretedDevice._graph_conditional, *[_W] * 6),
    "cuGraphInstantiateWithFlags": (InterpretedDevice._graph_ready, _W, _W, _W),
    "cuGraphExecKernelNodeSetParams": (InterpretedDevice._graph_change, _W, _W, _W),
    "cuGraphLaunch": (InterpretedDevice._graph_replay, _W, _W),
    "cuGraphExecDestroy": (InterpretedDevice._graph_destroy, _W),
    "cuGraphDestroy": (InterpretedDevice._graph_destroy, _W),
}


def _bytes(address: int, nbytes: int) -> Array:
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), np.uint8)


def loaded(program: Plan, on: InterpretedDevice) -> CudaProgram:
    """A Plan on the device, as `compile_cuda.load` does it."""
    counts = {s.kernel: len(s.slots) for s in launches_of(program.steps) if s.host}
    host: dict[int | Library, HostStep] = {
        k: NativeStep(host_kernel(program.kernels[k], n), "test") for k, n in counts.items()
    }
    host.update(host_routines(program, "test"))
    first = len(on.kernels) + 1
    launches: dict[int, KernelLaunch] = {}
    for number, kernel in enumerate(program.kernels):
        if number not in host:
            early = begins_early(kernel, on.target)
            sites = tuple(s.site for s in walk(kernel.body) if isinstance(s, Fail))
            launch = KernelLaunch(f"k{len(launches)}", (1, 1, 1), 32, sites=sites, early=early)
            launch = replace(launch, values=by_value(kernel))
            launches[number] = launch
            on.kernels[first + len(launches) - 1] = kernel
    image = str(first).encode() if launches else b""
    return CudaProgram(program, launches, image, on, host)  # type: ignore[arg-type]


def obtained(lowered: Lowered, on: InterpretedDevice) -> tuple[DeviceCode, CudaProgram]:
    """The same of a lowered program, beside the cache."""
    planned = lowered.planned
    code = DeviceCode(
        *("", b"", planned.plan, (), (), lowered.graph.types, planned.unused, planned.largest),
        on_host=tuple(
            (d.reason.code, d.equation, d.details) for d in planned.decisions if d.reason in ON_HOST
        ),
    )
    return code, loaded(planned.plan, on)


def install(on: InterpretedDevice, patch: Any, *, cached: bool = False) -> None:
    """Puts the device where programs and arrays look for a GPU. patch: what sets an attribute, as
    pytest's `monkeypatch`; cached: programs go through the cache, with the texts of their kernels
    for machine code."""

    def beside_the_cache(plan: Any, on: Any) -> Any:
        return "", loaded(plan, on)

    def gpu(name: str = "cuda") -> Any:
        return on

    patch.setattr(compile_cuda, "gpu", gpu)
    patch.setattr(devices, "gpu", gpu)

    def obtained_plan(document: Any, make: Any, on: Any, name: str) -> CudaProgram:
        return loaded(make(), on)

    if cached:
        usual = compile_cuda.emitted
        patch.setattr(compile_cuda, "emitted", lambda plan, on: _with_texts(usual, plan, on))
        patch.setattr(compile_cuda.cuda, "cubin", lambda ptx: b"none")
    else:
        patch.setattr(compile_cuda, "load", beside_the_cache)
        patch.setattr(compile_cuda, "obtained", obtained)
        patch.setattr(compile_cuda, "obtained_plan", obtained_plan)
    clear_caches()  # of programs on another device of this name, be it a GPU
    installed.append(on)


installed: list[InterpretedDevice] = []
"""Those that programs may still be loaded on: `tests/conftest.py` forgets them after each test."""


def forget() -> None:
    """Forgets the programs on devices that were installed."""
    installed.clear()
    clear_caches()


def _with_texts(emitted: Callable[..., DeviceCode], plan: Plan, on: Any) -> DeviceCode:
    made = emitted(plan, on)
    text = load("pyc.ir.text_kernel").print_kernel
    return replace(
        made,
        image="\0".join(text(plan.kernels[k]) for k, _ in made.launches).encode(),
        launches=tuple(
            (k, replace(x, name=f"k{n}", maps=())) for n, (k, x) in enumerate(made.launches)
        ),
    )


def call(program: CudaProgram, arguments: Sequence[Array], graph: Graph) -> list[Array]:
    """Results of one call. SiteFailed if a check fails; all memory of the call is freed."""
    on: Any = program.device
    places = [on.allocate(a.nbytes) for a in arguments]
    results = [on.allocate(v.type.nbytes) for v in graph.results]
    try:
        for place, a in zip(places, arguments, strict=True):
            on.upload(place, np.ascontiguousarray(a))
        program(places, results)
        outs = [np.empty(v.shape, v.dtype.numpy) for v in graph.results]
        for out, place in zip(outs, results, strict=True):
            on.download(out, place)
        return outs
    finally:
        for place in (*places, *results):
            on.free(place)


def on_device(graph: Graph, arguments: Sequence[Array], target: Target = SM_90) -> list[Array]:
    """Results of a traced Graph on a new device of `target`."""
    planned = plan(optimise(graph), target, check=True).plan
    return call(loaded(planned, InterpretedDevice(target)), arguments, graph)


__all__ = [
    "ALL_ON_HOST",
    "InterpretedDevice",
    "SiteFailed",
    "call",
    "install",
    "loaded",
    "obtained",
    "on_device",
]
