"""What is true at one moment of a run: an immutable value, the result of a fold of events.

The parts are structs, which are made in a fraction of a dataclass's time; they never form a
cycle, so the garbage collector is spared the walk over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from immutables import Map
from msgspec import Struct, field
from msgspec.structs import replace

from tutor.trace.events import NONE, BackwardStart, Node, Op, Raised, Save, Tensor, Value, Warned
from tutor.trace.keep import Prefix


class Place(Struct, frozen=True, array_like=True, gc=False):
    """A line of a user file, as it ran: `iteration` counts the enclosing loops from 1."""

    file: str
    line: int
    function: str
    iteration: tuple[int, ...] = ()
    frame: int = NONE


Site = tuple[Place, ...]
"""The user's stack at one moment, outermost first; the last one is where it happened."""


class Named(Struct, frozen=True, array_like=True, gc=False):
    """A name that meant a tensor, from moment `since` until `until` (None: still)."""

    name: str
    function: str
    frame: int
    since: int
    site: Site
    until: int | None = None


class OpState(Struct, frozen=True, array_like=True, gc=False):
    """One call of a torch function, with where it was made."""

    event: Op
    site: Site
    moment: int
    grad_mode: bool
    inference: bool

    @property
    def op(self) -> int:
        return self.event.op

    @property
    def func(self) -> str:
        return self.event.func


class TensorState(Struct, frozen=True, array_like=True, gc=False):
    """One tensor: what torch says of it (`meta`), its birth, its value, its names, its grad.

    `born` is where it was first seen, `op` the call that made it (NONE: not seen being made).
    `value` is what it held when last looked at, `grad` the uid of its `.grad`, and
    `grad_value` what that holds. `origin` is the call itself, `accumulated` how many times a
    pass added into its `.grad`.
    """

    meta: Tensor
    born: Site
    moment: int
    op: int = NONE
    value: Value | None = None
    names: tuple[Named, ...] = ()
    grad: int = NONE
    grad_value: Value | None = None
    origin: OpState | None = None
    accumulated: int = 0
    dead: bool = False

    @property
    def uid(self) -> int:
        return self.meta.uid


class WriteState(Struct, frozen=True, array_like=True, gc=False):
    """One move of a version counter, from `before` to `after`."""

    counter: int
    uid: int
    storage: int
    before: int
    after: int
    op: int
    moment: int
    site: Site
    origin: OpState | None = None
    """The call that wrote, where it is known."""


class CounterState(Struct, frozen=True, array_like=True, gc=False):
    """A version counter: its value, and the writes that moved it, oldest first."""

    counter: int
    version: int
    writes: tuple[WriteState, ...] = ()
    missed: int = 0
    """Older writes that are no longer kept."""


class NodeState(Struct, frozen=True, array_like=True, gc=False):
    """One node of the graph: what torch says of it, where it was made, what became of it.

    `freed` is the pass that released its saves (NONE: not released); `visited` the passes
    that reached it. `died` is the moment of its death (NONE: it lives), `origin` the call that
    made it, where it is known, and `runs` how many times its line had begun to run by then.
    """

    event: Node
    site: Site
    moment: int
    freed: int = NONE
    visited: tuple[int, ...] = ()
    died: int = NONE
    origin: OpState | None = None
    runs: int = 0

    @property
    def dead(self) -> bool:
        return self.died != NONE

    @property
    def name(self) -> str:
        return self.event.name

    @property
    def saves(self) -> tuple[Save, ...]:
        return self.event.saves

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        return self.event.edges


class AccumulateState(Struct, frozen=True, array_like=True, gc=False):
    """One accumulation into a tensor's `.grad`, at the end of a pass."""

    run: int
    uid: int
    before: Value | None
    after: Value | None
    site: Site
    moment: int


class PassState(Struct, frozen=True, array_like=True, gc=False):
    """One backward pass. `arrived` and `sent` map a node to the gradients seen there."""

    event: BackwardStart
    site: Site
    moment: int
    order: Prefix[int] = field(default_factory=Prefix)
    """The nodes in the order in which the engine reached them."""
    arrived: Map[int, tuple[Value | None, ...]] = field(default_factory=Map)
    sent: Map[int, tuple[Value | None, ...]] = field(default_factory=Map)
    accumulated: Prefix[AccumulateState] = field(default_factory=Prefix)
    stale: tuple[int, str, int, int] | None = None
    """(node, save, found, expected) of the save that made it fail; found NONE: freed."""
    altered: tuple[tuple[int, str, int], ...] = ()
    ended: bool = False
    ok: bool = True
    failing: int = NONE
    error: tuple[str, str] | None = None
    results: tuple[int, ...] = ()
    end_moment: int = NONE

    @property
    def run(self) -> int:
        return self.event.run


class FrameState(Struct, frozen=True, array_like=True, gc=False):
    """A user frame on the stack."""

    frame: int
    function: str
    file: str
    first_line: int
    line: int
    counts: tuple[tuple[int, int], ...] = ()
    via: int = NONE
    names: Map[str, int] = field(default_factory=Map)

    @property
    def place(self) -> Place:
        counted = tuple(count for _, count in self.counts if count)
        return Place(self.file, self.line, self.function, counted, self.frame)


class UnseenState(Struct, frozen=True, array_like=True, gc=False):
    """A place from which something ran out of the observer's sight (see `events.Unseen`)."""

    what: str
    detail: str
    moment: int
    site: Site


class State(Struct, frozen=True, array_like=True, gc=False):
    """Everything that is shown: after the first `moment` events."""

    moment: int = 0
    stack: tuple[FrameState, ...] = ()
    frames: Map[int, FrameState] = field(default_factory=Map)
    """All frames that have not ended, and the ended ones whose names may still be asked for."""
    tensors: Map[int, TensorState] = field(default_factory=Map)
    counters: Map[int, CounterState] = field(default_factory=Map)
    nodes: Map[int, NodeState] = field(default_factory=Map)
    passes: Map[int, PassState] = field(default_factory=Map)
    grad_mode: bool = True
    inference: bool = False
    output: Prefix[tuple[int, str]] = field(default_factory=Prefix)
    """(stream, text): what Python code wrote, in order."""
    warnings: tuple[Warned, ...] = ()
    unseen: tuple[UnseenState, ...] = ()
    raised: Raised | None = None
    op: int = NONE
    """The latest call."""
    ran: Map[tuple[str, int], int] = field(default_factory=Map)
    """How many times each line (file, number) began to run."""
    recent: tuple[tuple[int, str], ...] = ()
    """The latest output, where there was more than `output` holds."""
    unprinted: int = 0
    """Characters of output between the two that are not kept."""
    begun: int = 0
    """Backward passes that have begun."""

    @property
    def place(self) -> Place | None:
        """Where the program is: the innermost user frame."""
        return self.stack[-1].place if self.stack else None

    @property
    def text(self) -> str:
        """What the program has printed so far, both streams in order."""
        first = "".join(text for _, text in self.output)
        if not self.recent:
            return first
        gap = f"\n… {self.unprinted:,} characters are not kept …\n" if self.unprinted else ""
        return first + gap + "".join(text for _, text in self.recent)

    def named(self, name: str) -> TensorState | None:
        """The tensor a name means now: innermost frame first, then outwards, then the module's."""
        for frame in reversed(self.stack):
            uid = frame.names.get(name, NONE)
            if uid != NONE:
                return self.tensors.get(uid)
        uid = self.module_names.get(name, NONE)
        return self.tensors.get(uid) if uid != NONE else None

    @property
    def module_names(self) -> Map[str, int]:
        """The names of the main program's top level (frame 0), kept after its end."""
        frame = self.frames.get(0)
        return frame.names if frame is not None else Map()

    def names_of(self, uid: int) -> tuple[str, ...]:
        """The names that mean this tensor now, `b (in fn)` for those of inner frames."""
        tensor = self.tensors.get(uid)
        if tensor is None:
            return ()
        return tuple(
            named.name if named.function == "<module>" else f"{named.name} (in {named.function})"
            for named in tensor.names
            if named.until is None
        )

    def sharing(self, counter: int) -> tuple[TensorState, ...]:
        """The tensors that share a version counter, oldest first."""
        return tuple(
            sorted(
                (t for t in self.tensors.values() if t.meta.counter == counter),
                key=lambda t: t.moment,
            )
        )

    def save_state(self, node: NodeState, save: Save) -> str:
        """What became of a save: "live", "stale" (the counter moved on), "freed", or "packed"."""
        if node.freed != NONE:
            return "freed"
        if save.packed:
            return "packed"
        counter = self.counters.get(save.counter)
        if counter is not None and counter.version != save.version:
            return "stale"
        return "live"

    def altered(self, node: NodeState, save: Save) -> bool:
        """Whether a backward found other contents than were saved, at an unmoved version."""
        return any(
            (number, name) == (node.event.node, save.name)
            for run in self.passes.values()
            for number, name, _ in run.altered
        )

    def roots(self) -> tuple[int, ...]:
        """Living nodes that no other living node leads to, newest first."""
        reached = {
            target
            for node in self.nodes.values()
            if not node.dead
            for target, _ in node.edges
            if target != NONE
        }
        alive = (n for n in self.nodes.values() if not n.dead and n.event.node not in reached)
        return tuple(
            n.event.node
            for n in sorted(alive, key=lambda n: -n.moment)
            if n.event.leaf == NONE  # an AccumulateGrad alone is no graph
        )

    def walk(self, root: int) -> Iterator[NodeState]:
        """The nodes below a root in depth-first order, each once."""
        return walk(self.nodes, root)


def walk(nodes: Mapping[int, NodeState], root: int) -> Iterator[NodeState]:
    """The nodes below a root in depth-first order, each once."""
    seen: set[int] = set()
    pending = [root]
    while pending:
        node = nodes.get(pending.pop())
        if node is None or node.event.node in seen:
            continue
        seen.add(node.event.node)
        yield node
        pending.extend(target for target, _ in reversed(node.edges) if target != NONE)


def closed(named: Named, moment: int) -> Named:
    """The same name, ended at this moment."""
    return replace(named, until=moment)
