"""Definitions of several instructions that a kernel may call: `@defined` functions of scalars.

    pow(x, y)                          its instructions, as of any function
    with calls(): pow(x, y)            pow_f64_f64(x, y), an `Apply` of an instruction of its own
    inlined(node, stay)                the instructions of the definition that a node stands for

A definition is an instruction for each types of its arguments, made when it is first called so: its
meaning for the interpreters is that of its body. Only `passes/lower.py` of a target that has calls
asks for them, and `passes/called.py` leaves those that a kernel needs often enough. `Called` says
what a call takes the place of, each rare operand apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.evaluate_expr import Array, Steps, evaluate_steps, steps_of
from pyc.ir.expr import Apply, Expr, Interner, Var, postorder
from pyc.ir.instructions import INSTRUCTIONS, Instruction

Function = Callable[..., Expr]


@frozen(eq=False)
class Called:
    """A definition for arguments of some types.

    parameters, body: in which it calls others; inner: those, with how often; own: its instructions
    aside of them; usual: its instructions and theirs that no rare operand alone needs; widest:
    bytes of the widest float among those.
    """

    function: Function
    parameters: tuple[Var, ...]
    body: Expr
    inner: Counter[str]
    own: int
    usual: int
    widest: int

    @property
    def size(self) -> int:
        """Instructions, with those of the definitions that it calls."""
        return self.own + sum(CALLED[name].size * n for name, n in self.inner.items())


CALLED: dict[str, Called] = {}
"""By the names of their instructions."""

Stay = Callable[[str], bool]
_stay: ContextVar[Stay | None] = ContextVar("stay", default=None)
"""Which definitions are calls; None: none is, and none is looked up."""


def defined(function: Function) -> Function:
    """A function of expressions alone, to one of them, as a definition."""
    known: dict[tuple[DType, ...], str] = {}

    @wraps(function)
    def either(*args: Expr) -> Expr:
        stay = _stay.get()
        if stay is None:
            return function(*args)
        types = tuple([a.dtype for a in args])
        name = known.get(types)
        if name is None:
            name = known[types] = _called(function, types)
        if not stay(name):
            return function(*args)
        return Apply(name, args, CALLED[name].body.dtype)

    return either


@contextmanager
def calls(stay: Stay = lambda name: True) -> Iterator[None]:
    """Inside the block definitions of which `stay` is true are calls."""
    token = _stay.set(stay)
    try:
        yield
    finally:
        _stay.reset(token)


def inlined(node: Apply, stay: Stay) -> Expr:
    """The instructions of a call. stay: which definitions it calls for its part."""
    with calls(stay):
        return CALLED[node.name].function(*node.args)


def size_of(node: Expr) -> int:
    """The instructions that a node stands for."""
    if type(node) is not Apply:
        return 0
    found = CALLED.get(node.name)
    return 1 if found is None else found.size


def usual_size(node: Expr) -> int:
    """The instructions that a node stands for, of which no rare operand alone has need."""
    if type(node) is not Apply:
        return 0
    found = CALLED.get(node.name)
    return 1 if found is None else found.usual


def widest_in(node: Apply) -> int:
    """Bytes of the widest float among an instruction's result and, of a call, what it computes."""
    found = CALLED.get(node.name)
    if found is not None:
        return found.widest
    return node.dtype.itemsize if node.dtype.is_float else 0


def _called(function: Function, types: tuple[DType, ...]) -> str:
    """The name of a definition for these types."""
    name = "_".join((function.__name__, *(t.short for t in types)))
    if name in INSTRUCTIONS:
        raise ValueError(f"instruction {name} is defined twice")
    parameters = tuple(Var(f"x{k}", t) for k, t in enumerate(types))
    with calls():
        (body,) = Interner()([function(*parameters)])
    nodes = [e for e in postorder([body]) if type(e) is Apply]
    inner = Counter(e.name for e in nodes if e.name in CALLED)
    often = _usual(body)
    CALLED[name] = Called(
        *(function, parameters, body, inner, len(nodes) - inner.total()),
        usual=sum(map(usual_size, often)),
        widest=max(map(widest_in, often), default=0),
    )

    def rule(found: tuple[DType, ...]) -> DType:
        if found != types:
            raise TypeError(f"needs ({', '.join(map(repr, types))}), got {found}")
        return body.dtype

    @cache
    def steps() -> Steps:
        return steps_of([body])

    def meaning(args: tuple[Array, ...], _: DType) -> Array:
        return evaluate_steps(steps(), dict(zip(parameters, args, strict=True)))[0]

    INSTRUCTIONS[name] = Instruction(name, len(types), rule, meaning)
    return name


def _usual(body: Expr) -> Collection[Apply]:
    """The instructions of a body that no rare operand alone has need of."""
    found: dict[Apply, None] = {}
    stack = [body]
    while stack:
        e = stack.pop()
        if type(e) is Apply and e not in found:
            found[e] = None
            stack += e.args if e.name != "rare_select" else (e.args[0], e.args[2])
    return found
