"""The base interpreter: one op at a time, compiled like everything else.

Outside a trace `pyc.numpy` and `pyc.lax` act on concrete arrays through this interpreter. Each
(op, argument types, params) is a Graph of one equation that goes through the same compile path, so
results have the bits that they have under `jit`. Arrays in are NumPy arrays and numbers of any
layout; arrays out are fresh NumPy arrays, NumPy scalars for rank 0. If one of the arguments is an
`Array`, the op runs on its device, the others are copied there, and the results are `Array`s.

`dense` brings arguments into the form that compiled programs take; `jit` uses it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc.array import Array as DeviceArray
from pyc.array import of_host, on_host
from pyc.backends import gpu_compiler
from pyc.compile import Compiled, compile_graph
from pyc.errors import DeviceError, DTypeError, LeakedTracerError, OutOfMemoryError
from pyc.forks import load
from pyc.frozen import replace
from pyc.interpreter import WEAK, Interpreter, native_calls, set_base, type_of
from pyc.ir import dtype as dt
from pyc.ir.graph import Builder, Graph, freeze, graph_key
from pyc.ir.op import OPS, Kind, Op
from pyc.ir.plan import STREAMED_BYTES
from pyc.ir.sizes import NoGenericFormError, are_apart, collapsed, has_any_size, lines
from pyc.ir.types import ArrayType
from pyc.reasons import Reason, record
from pyc.runtime import dispatch
from pyc.runtime.dispatch import Dispatcher
from pyc.runtime.specialisation import (
    ArrayArgument,
    DeviceArgument,
    NativeProgram,
    ScalarArgument,
    of_program,
)
from pyc.trace import location
from pyc.trace.tracer import Tracer
from pyc.tree import leaves

if TYPE_CHECKING:
    from pyc.ir.shares import Shares

Array = np.ndarray[Any, Any]

SHARED_FROM, FEW_LINES = 1 << 22, 16
"""Elements from which a reduction to fewer results than these is shared by tasks: a millisecond
alone."""
PROGRAMS = 4096
"""Compiled single ops that are kept."""


def dense(x: Any, name: str = "") -> Any:
    """`x` as a C-contiguous, aligned array of native byte order: itself if it is one, else a copy,
    for a recorded reason. Numbers become arrays of rank 0; arrays on a device stay as they are.

    raises DTypeError: a Python integer beyond int64; OutOfMemoryError
    """
    if isinstance(x, DeviceArray):
        return x
    if type(x) in WEAK:
        try:
            return np.array(x, WEAK[type(x)].numpy)
        except OverflowError:
            raise DTypeError(
                f"`{name}`: the Python integer {x} does not fit int64"
                if name
                else f"the Python integer {x} does not fit int64",
                fix="Pass it as a NumPy scalar of a wider type, such as `np.uint64(...)`, or as a "
                "float.",
                place=location.here(),
            ) from None
    array = np.asarray(x)
    reason = why_copied(array)
    if reason is None:
        return array
    record(reason, argument=name, nbytes=array.nbytes)
    try:
        if reason is Reason.ARGUMENT_COPIED_NOT_CONTIGUOUS and dt.of(array.dtype):
            blocks: Array | None = load("pyc.runtime.transposed").copied(array)
            if blocks is not None:
                return blocks
        return np.array(array, array.dtype.newbyteorder("="), order="C", copy=True)
    except MemoryError:
        raise OutOfMemoryError(
            f"`{name}`: a copy of {array.nbytes:,} bytes could not be allocated: {reason.meaning}",
            fix=reason.remedy,
            place=location.here(),
        ) from None


def why_copied(array: Array) -> Reason | None:
    """Why a program takes a copy of an array; None if it takes the array itself."""
    if not array.dtype.isnative:
        return Reason.ARGUMENT_COPIED_BYTE_SWAPPED
    if not array.flags.aligned:
        return Reason.ARGUMENT_COPIED_MISALIGNED
    return None if array.flags.c_contiguous else Reason.ARGUMENT_COPIED_NOT_CONTIGUOUS


def finish(array: Array) -> Any:
    """A result as NumPy gives it: a scalar for rank 0. Arrays on a device stay there."""
    if isinstance(array, DeviceArray):
        return array
    return array if array.ndim else array[()]


class _Call:
    """A single op on arguments of given types; equal for equal calls."""

    __slots__ = ("key", "op", "params", "types")

    def __init__(self, op: Op, types: tuple[ArrayType, ...], params: dict[str, Any]) -> None:
        self.op = op
        self.types = types
        self.params = params
        self.key = (op.name, types, tuple((k, freeze(params[k])) for k in sorted(params)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class _Program:
    """A Graph; equal for equal programs."""

    __slots__ = ("graph", "key")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.key = graph_key(graph)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Program) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def device_of(items: Iterable[Any]) -> str | None:
    """The device of the `Array`s among `items`, None if there are none.

    raises DeviceError: they are on several devices
    """
    found = None
    for x in items:
        if type(x) is DeviceArray:
            if found is not None and found != x.device:
                raise DeviceError(
                    f"the arrays are on {found} and on {x.device}: one program runs on one device",
                    fix=f'Move one of them: `x.to_device("{found}")`.',
                    place=location.here(),
                )
            found = x.device
    return found


def _natively(program: Compiled, types: Sequence[ArrayType]) -> Callable[..., tuple[Any, ...]]:
    """A program that is called natively: for rank 0 it gives arrays or scalars. types: of its
    arguments."""
    if program.calls_back or program.taken:
        return program
    found = Dispatcher(program)
    dispatch.add(
        found,
        of_program(
            program.native_program((), {}),
            tuple(map(_argument, types)),
            as_tuple=True,
            valid=native_calls,
        ),
    )
    return found


def _argument(type: ArrayType) -> ArrayArgument:
    return ArrayArgument(type.dtype, type.shape, by_value=not type.shape)


def natively_on_device(program: Any, values: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
    """A program of a GPU that is called natively with values of the kinds of these, `Array`s there
    and floats; itself, for a recorded reason, if it cannot be."""
    numbers = [k for k, x in enumerate(values) if type(x) is float]
    native = program.native_program(numbers, {})
    if not isinstance(native, NativeProgram):
        record(Reason.DISPATCH_SLOW_DEVICE, detail=native)
        return program  # type: ignore[no-any-return]
    found = Dispatcher(program)
    arguments = tuple(
        ScalarArgument(float, dt.f64)
        if type(x) is float
        else DeviceArgument(DeviceArray, x._device, x._type)
        for x in values
    )
    dispatch.add(
        found,
        of_program(native, arguments, as_tuple=True, wrap=native.finish, valid=native_calls),
    )
    return found


def compiled(graph: Graph, device: str | None, name: str = "") -> Callable[..., tuple[Any, ...]]:
    """`graph` compiled for the host (None), or for `Array`s on a device: takes an array for each
    parameter, and gives NumPy arrays and scalars, or `Array`s."""
    if device in (None, "cpu"):
        program = compile_graph(graph, name=name)
        return _on_the_host(program, [p.type for p in graph.params], device)
    made: Callable[..., tuple[Any, ...]]
    made = gpu_compiler().compile_cuda(graph, device=device, name=name)
    return made


def _on_the_host(
    program: Compiled, types: Sequence[ArrayType], device: str | None
) -> Callable[..., tuple[Any, ...]]:
    found = _natively(program, types)
    return found if device is None else on_host(found, program.results)


def bound(
    program: Any,
    sizes: Sequence[int],
    types: Sequence[ArrayType],
    results: tuple[ArrayType, ...],
    device: str | None,
) -> Callable[..., tuple[Any, ...]]:
    """What `compiled` gives, of a program for arrays of any size. types, results: of its arguments
    and results for these sizes."""
    for_these = program.bound(sizes, results, sum(t.nbytes for t in types))
    if device not in (None, "cpu"):
        return for_these  # type: ignore[no-any-return]
    return _on_the_host(for_these, types, device)


def compiled_for_any_size(
    graph: Graph,
    device: str | None,
    name: str,
    *,
    streamed: bool = False,
    shared: Shares | None = None,
) -> Any:
    """A program for arrays of any size, where stand-ins for extents are in the types of `graph`
    (`pyc/ir/sizes.py`), for `bound`; None if the Graph is not of the kind that has one. streamed:
    its results are `are_streamed`; shared: how a reduction on a GPU is."""
    if not has_any_size(graph):
        return None
    options: dict[str, Any] = {"extents": "any"}
    if streamed:
        options["streamed"] = True
    if shared is not None:
        options["shared"] = [shared.each, int(shared.parts > 0)]
    try:
        if device in (None, "cpu"):
            return compile_graph(graph, name=name, options=options)
        return gpu_compiler().compile_cuda(graph, device=device, name=name, options=options)
    except NoGenericFormError:
        return None


@lru_cache(maxsize=PROGRAMS)
def _compiled_call(call: _Call, device: str | None) -> Any:
    results = call.op.types(call.types, **call.params)
    on_host = device in (None, "cpu")
    found = _any_size_form(call, on_host)
    # A GPU launches nothing for no elements: the program for the shape knows that.
    if found is not None and (on_host or 0 not in found[1]):
        form, sizes = found
        on_blocks = call.op.kind is Kind.REDUCE and not on_host
        walks = load("pyc.ir.shares").shares(sizes) if on_blocks else None
        program = _for_any_size(form, device, are_streamed(results, device), walks)
        if program is not None:
            given = sizes if walks is None else (*sizes, walks.parts)
            return bound(program, given, call.types, results, device)
    if any(t.shape for t in call.types):
        one_size(call.op.name, ", ".join(map(str, call.types)))
    graph = _graph_of(call)
    return compiled(graph, device, _name(graph))


def _any_size_form(call: _Call, on_host: bool) -> tuple[_Call, tuple[int, ...]] | None:
    """The call with stand-ins for the extents, and what they stand for; None if it has no such
    form."""
    if call.op.kind is Kind.POINTWISE:
        form = collapsed(call.types)
        return None if form is None else (_Call(call.op, form.types, call.params), form.sizes)
    if call.op.kind is Kind.REDUCE:
        of = lines(call.types[0], call.params["axes"])
        if of is not None and not (on_host and _is_shared(call)):
            return _Call(call.op, (of.type,), {**call.params, "axes": (1,)}), of.sizes
    return None


def _is_shared(call: _Call) -> bool:
    """Whether a reduction is of few lines, so long that it is worth a program whose tasks share
    them: that is made for its shape."""
    (result,) = call.op.types(call.types, **call.params)
    return call.types[0].size >= SHARED_FROM and result.size < FEW_LINES


def _for_any_size(call: _Call, device: str | None, streamed: bool, walks: Shares | None) -> Any:
    """The program for arrays of any size, if there is one: in how many parts a reduction is shared
    is one of the sizes."""
    shared = None if walks is None else replace(walks, parts=min(walks.parts, 1))
    return _made_for_any_size(call, device, streamed, shared)


@lru_cache(maxsize=PROGRAMS)
def _made_for_any_size(
    call: _Call, device: str | None, streamed: bool, shared: Shares | None
) -> Any:
    graph = _graph_of(call)
    return compiled_for_any_size(graph, device, _name(graph), streamed=streamed, shared=shared)


def are_streamed(results: Sequence[ArrayType], device: str | None) -> bool:
    """Whether results are so large that stores to them pass by the caches of a CPU."""
    return device in (None, "cpu") and all(t.nbytes >= STREAMED_BYTES for t in results)


def _by_numpy(
    op: Op, args: Sequence[Any], types: tuple[ArrayType, ...], params: dict[str, Any]
) -> Array | None:
    """The result of an operation on arrays of the host that its reference gives to the bit,
    whatever the shapes are; None if it does not for these, or if there is no memory for it.

    raises ShapeError or DTypeError: the operation does not take these types
    """
    op.types(types, **params)
    assert op.reference is not None
    arrays = [np.asarray(a) for a in args]
    if not op.is_exactly_numpys(*arrays, **params):
        return None
    try:
        made = np.asarray(op.reference(*arrays, **params))
        if made.base is None and made.flags.c_contiguous and made.dtype.isnative:
            return made
        return np.array(made, made.dtype.newbyteorder("="), order="C", copy=True)
    except MemoryError:  # the program says what needed how much
        return None


def judged(found: Any) -> Any:
    """What a call has made, once its checks have held: only now its line is known."""
    if type(found) is DeviceArray and found._verdict is None:
        return found
    for array in leaves(found):
        if type(array) is DeviceArray and array._verdict is not None:
            array._device.synchronize()
            array._device.ledger.judge(array._verdict, others=False)
    return found


def _graph_of(call: _Call) -> Graph:
    builder = Builder()
    args = [builder.param(t) for t in call.types]
    return builder.build(builder.bind(call.op, *args, **call.params))


_only_any_size: ContextVar[bool] = ContextVar("pyc_only_any_size", default=False)


@contextmanager
def only_any_size() -> Iterator[None]:
    """Inside the block nothing is compiled for one size: NoGenericFormError."""
    token = _only_any_size.set(True)
    try:
        yield
    finally:
        _only_any_size.reset(token)


def one_size(operation: str, types: str) -> None:
    """Notes that an operation is about to be compiled for its shapes.

    raises NoGenericFormError: in a block where that is not to be done
    """
    if _only_any_size.get():
        raise NoGenericFormError(operation)
    record(Reason.FALLBACK_ONE_SIZE, operation=operation, types=types)


@lru_cache(maxsize=PROGRAMS)
def _compiled_program(program: _Program, device: str | None) -> Any:
    types = [p.type for p in program.graph.params]
    if any(t.shape for t in types):
        one_size(_name(program.graph), ", ".join(map(str, types)))
    return compiled(program.graph, device, _name(program.graph))


def _name(graph: Graph) -> str:
    """What the statistics of the cache call a program of no function: its last operation."""
    last = graph.eqns[-1].op.name if graph.eqns else "copy"
    return f"eager {last}"


def clear() -> None:
    """Forgets the compiled ops."""
    _compiled_call.cache_clear()
    _made_for_any_size.cache_clear()
    _compiled_program.cache_clear()


class Eager(Interpreter):
    """Runs each op at once, on NumPy arrays or on `Array`s."""

    def bind(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
        """NumPy arrays and scalars, or `Array`s: the results of `op`."""
        if op.name == "constant":
            return (finish(np.array(params["value"])),)
        types = tuple([type_of(a) for a in args])
        device = device_of(args)
        if device in (None, "cpu") and (op.kind is Kind.INDEX or op.exact is not None):
            made = _by_numpy(op, args, types, params)
            if made is not None:
                return (finish(made) if device is None else of_host(made),)
        if device not in (None, "cpu") and (op.view or op.parts or op.lookup):
            given = list(map(dense, args))
            seen = load("pyc.movement").result(op, given, types, params, device)
            if seen is not None:
                return (seen,)
        if op.kind is Kind.REDUCE and are_apart(params["axes"]):
            return self._of_last_axes(op, args[0], types[0], params)
        executable = _compiled_call(_Call(op, types, params), device)
        found = tuple([finish(out) for out in executable(*map(dense, args))])
        return found if op.fails is None or device in (None, "cpu") else judged(found)

    def _of_last_axes(
        self, op: Op, x: Any, type: ArrayType, params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """A reduction over axes that are not neighbours, which are made the last ones first: the
        order is that of the reduced axes, wherever they stand."""
        op.types((type,), **params)  # raises for what it does not take
        kept = [a for a in range(type.rank) if a not in params["axes"]]
        order = (*kept, *params["axes"])
        (turned,) = self.bind(OPS["transpose"], (x,), {"axes": order})
        last = tuple(range(len(kept), type.rank))
        return self.bind(op, (turned,), {**params, "axes": last})

    def lift(self, x: Any) -> Any:
        """`x` as a NumPy array or scalar; an `Array` as it is.

        raises LeakedTracerError: a traced value outside of its trace; DTypeError: not an array
        """
        if isinstance(x, Tracer):
            raise LeakedTracerError(
                lambda: f"{x.owner.describe(x.value)} is used outside of its trace",
                fix="Return it from the traced function in place of storing it in a global, an "
                "attribute, a closure or a container.",
                place=location.here(),
            )
        type_of(x)  # raises for what is not an array
        return x if isinstance(x, (np.ndarray, DeviceArray)) else dense(x)

    def inline(self, graph: Graph, args: Sequence[Any]) -> tuple[Any, ...]:
        """NumPy arrays and scalars, or `Array`s: the results of `graph`."""
        executable = _compiled_program(_Program(graph), device_of(args))
        return tuple(finish(out) for out in executable(*map(dense, args)))

    def copy(self, x: Any) -> Any:
        """A new NumPy array, or an `Array` with memory of its own; scalars do not change."""
        if isinstance(x, DeviceArray):
            return x.duplicate()
        return x.copy() if isinstance(x, np.ndarray) else x

    def separate(self, x: Any, arguments: Sequence[Any]) -> Any:
        """A copy if a function has given back its argument, unless that cannot change."""
        if isinstance(x, DeviceArray):
            return x
        return self.copy(x) if any(x is a for a in arguments) else x

    def alias(self, x: Any, source: Any) -> Any:
        """`x`: results of single ops share memory with nothing."""
        return x


set_base(Eager())
