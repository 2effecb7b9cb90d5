"""In place: which results of a Graph can be made in the buffer of a value that they replace.

A *link* is an equation that may write a result where one of its operands lies:

* an update (slice store, scatter) writes its operand's buffer;
* a routine of a library factors a matrix where it lies;
* a loop over whole arrays keeps a carry in the buffer of its initial value;
* a branch makes a result in the buffer of an operand, if in every case it can.

A link holds where nothing reads the operand afterwards, nor a second time in the equation itself. A
*chain* of links leads from a value back to where its buffer is first written. A loop whose body
carries a value along such a chain copies nothing, however deep the updates are nested.

The body of a loop may begin the chain of a result in the buffer of a carry, too, which then takes
no second one: where the group that begins it

* reads the carry for the last time, and its kernel may store there (`overwrite`): elements, rows,
  loops over elements, and what a product is combined with;
* comes after the last one that reads the carry.

Everything here is known before a buffer exists; `memory` acts on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.op import Kind
from pyc.ir.target import Target
from pyc.kernels.contraction import contraction
from pyc.passes.fuse import fuse
from pyc.passes.fusion import Fusion, Group
from pyc.passes.loop_forms import NotAKernelError, lower_loop
from pyc.passes.lower import Lowered, elementwise_reads, lower, lower_epilogue
from pyc.passes.nest import has_regions, peel, unwrap
from pyc.passes.overwrite import may_overwrite
from pyc.passes.rows import better_in_output

FOREVER = 1 << 60
"""The group that reads last what is a result."""


class Uses:
    """Who makes each value of a Graph, and the number of the group that reads it last. group: the
    number of the one that makes a value; maker: with its equation, where all of it is that."""

    def __init__(self, graph: Graph, fusion: Fusion) -> None:
        self.graph = graph
        self.fusion = fusion
        self.last: dict[Value, int] = {}
        self.group: dict[Value, int] = {}
        self.maker: dict[Value, tuple[int, Eqn]] = {}
        for number, group in enumerate(fusion.groups):
            for read in group.reads:
                self.last[read.value] = number
            self.group.update((out, number) for out in group.outputs)
            if group.opaque is not None and group.epilogue is None and group.sum is None:
                self.maker.update((out, (number, group.opaque)) for out in group.outputs)
        self.last.update((result, FOREVER) for result in graph.results)


@frozen()
class Chain:
    """values: from a result back to where its buffer is first written, each in the buffer of the
    one before; swapped[k]: the link to values[k] is a loop that exchanges buffers."""

    values: tuple[Value, ...]
    swapped: tuple[bool, ...]

    @property
    def origin(self) -> Value:
        """The last of `values`."""
        return self.values[-1]


@frozen()
class Moves:
    """What one iteration of a loop does to the buffers of its carries. home[k]: the carry in whose
    buffer the body makes result k (None: a buffer of its own); updated: carries whose buffer is
    written on the way; stays[k]: result k is its home as it came in, so that nothing is computed;
    nested: carries whose buffers an inner loop exchanges."""

    home: tuple[int | None, ...]
    updated: frozenset[int]
    stays: tuple[bool, ...]
    nested: frozenset[int]

    @property
    def names(self) -> tuple[int, ...]:
        """The buffer in which result k is made: a carry's number, or the number of carries + k for
        a buffer of its own. After the iteration that buffer is carry k's."""
        return tuple(len(self.home) + k if j is None else j for k, j in enumerate(self.home))

    def turns(self, k: int) -> tuple[int, ...]:
        """Which of these buffers, as they are at first, is carry k's after 0, 1, 2, ... iterations;
        then it is the first again."""
        after = dict(enumerate(self.names))
        for start in sorted(set(after) - set(after.values())):
            end = after[start]
            while end in after:
                end = after[end]
            after[end] = start  # a buffer of its own takes the carry's that nobody's result is in
        cycle = [k]
        while after[cycle[-1]] != k:
            cycle.append(after[cycle[-1]])
        return tuple(cycle)

    def swapped(self, k: int) -> bool:
        """Whether carry k is not in the same buffer after each iteration."""
        return self.home[k] != k or k in self.nested


@frozen()
class Branches:
    """home[k]: the operand in whose buffer every case can make result k, or None; nested: results
    whose buffers a loop in a case exchanges."""

    home: tuple[int | None, ...]
    nested: frozenset[int]


class Chains:
    """The chains of a program for a target, and what follows from them for its loops and
    branches."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._uses: dict[Graph, Uses] = {}
        self._read: set[Value] = set()
        self._loops: dict[Eqn, Moves | None] = {}
        self._branches: dict[Eqn, Branches] = {}
        self._kernels: dict[tuple[Graph, int], list[Lowered]] = {}

    def uses(self, graph: Graph) -> Uses:
        """The uses of a Graph's values, with its fusion."""
        if graph not in self._uses:
            self._uses[graph] = Uses(graph, fuse(graph, target=self._target))
            self._read |= self._uses[graph].last.keys()
        return self._uses[graph]

    def chain(self, uses: Uses, value: Value) -> Chain:
        """The longest chain that ends in `value`."""
        values, swapped = [value], [False]
        while True:
            link = self._link(uses, values[-1])
            if link is None:
                return Chain(tuple(values), tuple(swapped))
            values.append(link[0])
            swapped.append(link[1])

    def _link(self, uses: Uses, value: Value) -> tuple[Value, bool] | None:
        """The operand whose buffer `value` can be made in, and whether a loop exchanges it."""
        number, eqn = uses.maker.get(value, (-1, None))
        written = None if eqn is None else self._written(eqn, eqn.outs.index(value))
        if eqn is None or written is None:
            return None
        operand = eqn.args[written[0]]
        if uses.last.get(operand) != number or eqn.args.count(operand) != 1:
            return None
        return operand, written[1]

    def _written(self, eqn: Eqn, k: int) -> tuple[int, bool] | None:
        """The position of the operand that result k may overwrite."""
        if eqn.op.in_place is not None:
            return eqn.op.in_place, False
        if k in eqn.op.overwrites:
            position = eqn.op.overwrites[k]
            return (position, False) if eqn.args[position].type == eqn.outs[k].type else None
        if eqn.op.kind is not Kind.CONTROL:
            return None
        if eqn.op.name == "cond":
            branches = self.branch(eqn)
            home = branches.home[k]
            return None if home is None else (1 + home, k in branches.nested)
        moves = self.loop(eqn)
        if moves is None:
            return None
        return len(eqn.args) - len(eqn.outs) + k, moves.swapped(k)

    def loop(self, eqn: Eqn) -> Moves | None:
        """The moves of a loop over whole arrays; None for a loop that is a kernel. The uses of the
        Graph that it stands in are known: a kernel stores what is read."""
        if eqn not in self._loops:
            kernel = _is_kernel(eqn, self._read, self._target)
            self._loops[eqn] = None if kernel else self._moves(eqn.params["body"], eqn)
        return self._loops[eqn]

    def _moves(self, body: Graph, eqn: Eqn) -> Moves:
        uses = self.uses(body)
        carries = body.params[eqn.params["body_captures"] :]
        chains = [self.chain(uses, r) for r in body.results]
        number = {p: k for k, p in enumerate(carries)}
        found = [number.get(c.origin) for c in chains]
        home: list[int | None] = [None] * len(found)
        taken: set[int] = set()
        # Several results may be one parameter: the one that stays where it is goes first.
        for k, j in sorted(enumerate(found), key=lambda pair: pair[0] != pair[1]):
            if j is not None and j not in taken:
                taken.add(j)
                home[k] = j
        here = [(k, j, chains[k]) for k, j in enumerate(home) if j is not None]
        stays = tuple(
            j is not None and len(c.values) == 1 for j, c in zip(home, chains, strict=True)
        )
        self._begun(uses, carries, chains, home)
        return Moves(
            tuple(home),
            frozenset(j for _, j, c in here if len(c.values) > 1),
            stays,
            frozenset(i for k, j, c in here if any(c.swapped) for i in (k, j)),
        )

    def _begun(
        self,
        uses: Uses,
        carries: Sequence[Value],
        chains: Sequence[Chain],
        home: list[int | None],
    ) -> None:
        """Gives results of a body that begin in a buffer of their own that of a carry, where one
        is free: their own carry's first, so that nothing is exchanged."""
        results = uses.graph.results
        open_ = [
            k
            for k, c in enumerate(chains)
            if home[k] is None and c.origin.shape and not any(c.swapped)
            if c.origin in uses.group and results.count(results[k]) == 1
        ]
        for others in (False, True):
            for k in open_:
                start = chains[k].origin
                free = (j for j, p in enumerate(carries) if j not in home and p.type == start.type)
                if home[k] is None:
                    home[k] = next(
                        (
                            j
                            for j in free
                            if (j != k) is others
                            if self._follows(uses, start, carries[j])
                            or (
                                self.replaces(uses, start, carries[j])
                                and not self._keeps_rows(uses, start)
                            )
                        ),
                        None,
                    )

    def replaces(self, uses: Uses, value: Value, operand: Value) -> bool:
        """Whether the group that makes `value` reads `operand` for the last time, and may store
        the one where the other lies."""
        number = uses.group.get(value)
        if number is None or uses.last.get(operand) != number:
            return False
        group, walker = uses.fusion.groups[number], uses.fusion.walker
        element_wise = group.opaque is None and not group.reduces
        if element_wise and operand not in elementwise_reads(walker, group):
            return False
        key = uses.graph, number
        if key not in self._kernels:
            self._kernels[key] = self._lowered(uses, group)
        reading = [k for k in self._kernels[key] if operand in k.inputs]
        return (
            len(reading) == 1
            and value in reading[0].outputs
            and _may_take(reading[0], value, operand)
        )

    def _lowered(self, uses: Uses, group: Group) -> list[Lowered]:
        """The logical kernels of a group, if they may store in the memory of what they read."""
        graph, fusion, eqn = uses.graph, uses.fusion, group.opaque
        found: list[Lowered] = []
        if eqn is None:
            found = [lower(graph, fusion, fusion.walker, group, "trial", _no_site)]
        elif group.epilogue is not None and group.sum is None:
            epilogue = lower_epilogue(graph, fusion, fusion.walker, group, _no_site)
            kernel = contraction(tuple(a.type for a in eqn.args), epilogue, **eqn.params)
            found = [Lowered(kernel, (*group.operands, *epilogue.inputs), (group.epilogue,))]
        elif eqn.op.name in ("while", "scan") and self.loop(eqn) is None:
            found = lower_loop(eqn, "trial", _no_site, uses.last)
        return [k for k in found if not (self._target.has_blocks and _is_shared(k))]

    def _keeps_rows(self, uses: Uses, value: Value) -> bool:
        """Whether the kernel that may replace a carry by `value` keeps long rows, which lie in its
        result while it reads the carry again: in place it would compute them twice."""
        kernels = self._kernels[uses.graph, uses.group[value]]
        kept = (b for k in kernels for b in unwrap(peel(k.kernel.body)[1])[0])
        return any(map(better_in_output, kept))

    def _follows(self, uses: Uses, value: Value, operand: Value) -> bool:
        """Whether the group that makes `value` comes after the last one that reads `operand`, in
        whose memory that one makes nothing: this may be read by then, and later."""
        last = uses.last.get(operand, -1)
        if last >= uses.group[value]:
            return False
        made = uses.fusion.groups[last].outputs if last >= 0 else ()
        links = (self._link(uses, out) for out in made)
        return all(link is None or link[0] is not operand for link in links)

    def alone(self, eqn: Eqn) -> bool:
        """Whether a loop is the only one that exchanges the buffers of its carries."""
        body = eqn.params["body"]
        self.uses(body)
        inside = [e for e in body.eqns if e.op.kind is Kind.CONTROL]
        return all(e.op.name != "cond" and self.loop(e) is None for e in inside)

    def branch(self, eqn: Eqn) -> Branches:
        """Where the results of a cond can be made."""
        if eqn not in self._branches:
            self._branches[eqn] = self._homes(eqn.params["branches"], len(eqn.outs))
        return self._branches[eqn]

    def _homes(self, branches: tuple[Graph, ...], count: int) -> Branches:
        home: list[int | None] = []
        nested = set()
        for k in range(count):
            chains = [self.chain(self.uses(b), b.results[k]) for b in branches]
            places = {_position(b, c.origin) for b, c in zip(branches, chains, strict=True)}
            place = places.pop() if len(places) == 1 else None
            home.append(None if place in home else place)
            if any(any(c.swapped) for c in chains):
                nested.add(k)
        return Branches(tuple(home), frozenset(nested))


def _position(graph: Graph, value: Value) -> int | None:
    return graph.params.index(value) if value in graph.params else None


def _no_site(eqn: Eqn) -> int:
    """A trial fails nowhere."""
    return 0


def _may_take(lowered: Lowered, out: Value, value: Value) -> bool:
    """Whether a kernel may make `out` in the memory of `value`, wherever it reads that."""
    buffers = dict(zip(lowered.outputs, lowered.kernel.buffers[len(lowered.inputs) :], strict=True))
    sources = [
        b for v, b in zip(lowered.inputs, lowered.kernel.buffers, strict=False) if v is value
    ]
    return all(may_overwrite(lowered.kernel, buffers[out], b) for b in sources)


def _is_shared(lowered: Lowered) -> bool:
    """Whether several threads of a block work on one position of a kernel."""
    _, body = unwrap(peel(lowered.kernel.body)[1])
    return has_regions(body)


def _is_kernel(eqn: Eqn, read: set[Value], target: Target) -> bool:
    try:
        lower_loop(eqn, "trial", _no_site, read, side_by_side=target.has_blocks)
    except NotAKernelError:
        return False
    return True
