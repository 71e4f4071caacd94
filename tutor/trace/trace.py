"""A run as it was recorded: its events, and the state at any moment of it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import merge
from typing import Any, Literal, TypeVar, cast

from msgspec.structs import replace

from tutor.trace import events as ev
from tutor.trace.chunks import CHUNK, Chunk, Chunks, Read, Stretch
from tutor.trace.events import NONE, AnyEvent
from tutor.trace.fold import Checkpoint, Folder
from tutor.trace.interest import Interest
from tutor.trace.program import Program
from tutor.trace.state import NodeState, OpState, PassState, State, TensorState, WriteState

FINE = 256
"""Events between the finer states that are kept where a moment was asked for last."""

_NOTED = frozenset(
    [
        *(ev.Line, ev.Op, ev.Node, ev.GradRead, ev.Contents, ev.Visit, ev.BackwardEnd),
        *(ev.Altered, ev.Warned, ev.Answer, ev.Truncated, ev.Finished, ev.Start),
    ]
)

_LEFT = frozenset({ev.Effect, ev.Text, ev.Warned})
"""Of a stretch that is let go these are kept: there are few, and each tells by itself."""

_MOST_LEFT = 1024
"""Events kept at the most of those, and of the readings of gradients."""

T = TypeVar("T")

Outcome = Literal[
    "ok", "error", "exited", "timeout", "out-of-memory", "killed", "cancelled", "garbled"
]


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended, as the process that watched it saw it.

    `output` is all that came out on the descriptors, bounded (`lost` bytes were dropped).
    `message` says more where the end needs words ("stopped after 10 s"). `cut` says that the
    record ends before the run: how that ended is not known.
    """

    outcome: Outcome
    code: int | None = None
    signal: int | None = None
    seconds: float = 0.0
    output: str = ""
    lost: int = 0
    message: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch whose events are not kept: none of the moments inside it can be looked at.

    `lines` is how many lines ran in it, `first` and `last` the iterations of the enclosing loops
    (outermost first) where it begins and where it ends.
    """

    start: int
    end: int
    lines: int
    first: tuple[int, ...]
    last: tuple[int, ...]


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage collection meanwhile: a fold makes many objects that live, and no cycle.

    Two thirds of the time of folding a chain of 100 000 nodes went into full collections.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Trace:
    """The events of one run, growing while it runs; everything shown is a fold of a prefix.

    Moments are numbers of events: `at(0)` is before the first, `at(len(trace))` the latest. Of a
    long run not all events are kept (see `gaps`); moments count those that are not, too.
    """

    def __init__(self, program: Program | None = None, *, bounded: bool = True) -> None:
        self.program = program
        self.end: End | None = None
        self.answers: dict[str, ev.Answer] = {}
        self.truncated_values = 0
        self.finished: ev.Finished | None = None
        self.start: ev.Start | None = None
        self._folder = Folder()
        self._chunks = Chunks(bounded)
        self._open = self._chunks.open
        self._interest = Interest()
        self._near: list[tuple[int, Checkpoint]] = []
        self._unseen = 0
        self._dropped = 0
        self._left: list[tuple[int, AnyEvent]] = []
        self._left_reads: dict[tuple[int, bool, str, int], Read] = {}
        self._cache: dict[str, Any] = {}
        """What was computed from the events so far; emptied when more come."""

    # -- growing ---------------------------------------------------------------------

    def extend(self, events: Iterable[AnyEvent]) -> None:
        """Take the next events of the run."""
        folder = self._folder
        if self._cache:
            self._cache = {}
        with _uncollected():
            for event in events:
                folder.add(event)
                self._open.events.append(event)
                if type(event) in _NOTED:
                    self._note(event)
                if folder.moment - self._open.start >= CHUNK:
                    self._begin(folder.checkpoint())

    def _begin(self, checkpoint: Checkpoint) -> None:
        """Begin a new chunk, and let an old one go where it is time."""
        for chunk in self._chunks.begin(checkpoint):
            self._dropped += len(chunk.events)
            for number, event in enumerate(chunk.events):
                if type(event) in _LEFT and len(self._left) < _MOST_LEFT:
                    self._left.append((chunk.start + number, event))
            for read in chunk.reads:
                if len(self._left_reads) < _MOST_LEFT:
                    self._left_reads.setdefault(_key(read), read)
        self._open = self._chunks.open

    def _note(self, event: AnyEvent) -> None:
        """Keep the events that are asked for by kind, whatever the moment."""
        folder, chunk = self._folder, self._open
        match event:
            case ev.Line():
                chunk.lines.append(folder.moment)
                if folder.line_runs == 1:
                    chunk.special = True
                return
            case ev.Op():
                assert folder.last_op is not None  # the fold has just seen it
                chunk.ops.append(folder.last_op)
            case ev.Node():
                chunk.nodes.append(folder.node(event.node))
                return
            case ev.GradRead():
                chunk.reads.append((event, folder.moment - 1, folder.site))
            case ev.Answer():
                self.answers[event.id] = event
            case ev.Truncated():
                self.truncated_values += event.values
                self._unseen += event.events
            case ev.Finished():
                self.finished = event
            case ev.Start():
                self.start = event
        if self._interest.look(event, folder.line):
            chunk.special = True

    # -- saving and opening ------------------------------------------------------------

    def checkpoint(self) -> Checkpoint:
        """What a fold needs to go on from here."""
        return self._folder.checkpoint()

    def skip(
        self, checkpoint: Checkpoint, left: list[tuple[int, AnyEvent]], reads: list[Read]
    ) -> None:
        """Go on from a later state: what lies between was not kept, but for these."""
        folder = Folder(checkpoint)
        folder.vias = self._folder.vias
        self._dropped += max(0, folder.moment - self._folder.moment)
        self._folder = folder
        self._left += left
        self._left_reads.update((_key(read), read) for read in reads)
        self._cache = {}
        self._begin(checkpoint)

    def stretches(self) -> Iterator[Stretch]:
        """What is kept, in order, and what the gaps between changed."""
        before: Chunk | None = None
        for chunk in self._chunks.all:
            gap = None
            left: list[tuple[int, AnyEvent]] = []
            reads: list[Read] = []
            if before is not None and before.end < chunk.start:
                folder = Folder(before.checkpoint)
                folder.feed(before.events)
                gap = (folder.checkpoint(), chunk.checkpoint)
                span = range(before.end, chunk.start)
                left = [pair for pair in self._left if pair[0] in span]
                reads = [read for read in self._left_reads.values() if read[1] in span]
            yield Stretch(gap, chunk.events, left, reads)
            before = chunk

    @property
    def left_out(self) -> tuple[int, int]:
        """(events, values) that the observer left out."""
        return self._unseen, self.truncated_values

    @left_out.setter
    def left_out(self, counts: tuple[int, int]) -> None:
        self._unseen, self.truncated_values = counts

    # -- reading: states -------------------------------------------------------------

    def __len__(self) -> int:
        return self._folder.moment

    @property
    def size(self) -> int:
        """How many things the state holds (tensors, nodes, passes): the memory grows with it."""
        return self._folder.size + len(self.answers)

    @property
    def texts(self) -> dict[str, str]:
        """The text of each user file that the trace names."""
        return self._folder.texts

    @property
    def vias(self) -> dict[int, tuple[tuple[str, str], ...]]:
        """The paths of library frames, by id."""
        return self._folder.vias

    @property
    def last(self) -> State:
        """The state after all events."""
        return self._cached("last", self._folder.state)

    def at(self, moment: int) -> State:
        """The state after the first `moment` events.

        Clamped to what there is; inside a gap it is the state at the end of the gap.
        """
        if moment >= len(self):
            return self.last
        moment = max(0, moment)
        chunks = self._chunks.all
        index = self._chunks.holding(moment)
        chunk = chunks[index]
        if moment > chunk.end:
            chunk = chunks[index + 1]
            moment = chunk.start
        if moment == chunk.start:
            return chunk.checkpoint.state
        start, checkpoint = chunk.start, chunk.checkpoint
        for near in self._near:
            if start < near[0] <= moment:
                start, checkpoint = near
        if start == moment:
            return checkpoint.state
        folder = Folder(checkpoint)
        with _uncollected():
            if not any(chunk.start < near[0] <= chunk.end for near in self._near):
                self._near = []
            for cut in range(start, moment, FINE):
                if cut > start:
                    self._near.append((cut, folder.checkpoint()))
                folder.feed(chunk.events[cut - chunk.start : min(cut + FINE, moment) - chunk.start])
            return folder.state()

    # -- reading: events -------------------------------------------------------------

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The stretches whose events are not kept, in order."""
        return self._cached("gaps", lambda: tuple(map(self._gap, self._chunks.gaps())))

    def _gap(self, index: int) -> Gap:
        before, after = self._chunks.all[index], self._chunks.all[index + 1]
        began, ended = self.at(before.end), after.checkpoint.state
        return Gap(
            before.end,
            after.start,
            sum(ended.ran.values()) - sum(began.ran.values()),
            began.place.iteration if began.place else (),
            ended.place.iteration if ended.place else (),
        )

    def kept(self, moment: int) -> int:
        """This moment, or where it lies inside a gap, the moment at the end of that gap."""
        moment = max(0, min(moment, len(self)))
        index = self._chunks.holding(moment)
        if moment <= self._chunks.all[index].end:
            return moment
        return self._chunks.all[index + 1].start

    def numbered(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, AnyEvent]]:
        """(number, event) of the events kept from `start` up to `stop`, in order.

        A gap gives one `Skipped`, numbered as its first event.
        """
        stop = len(self) if stop is None else stop
        gaps = {gap.start: gap for gap in self.gaps}
        for chunk in self._chunks.all[self._chunks.holding(start) :]:
            if chunk.start >= stop:
                return
            first = max(start - chunk.start, 0)
            events = (
                chunk.events[first : stop - chunk.start]
                if first or stop < chunk.end
                else (chunk.events)
            )
            yield from enumerate(events, chunk.start + first)
            gap = gaps.get(chunk.end)
            if gap is not None and start <= chunk.end < stop:
                yield chunk.end, ev.Skipped(gap.end - gap.start, gap.lines, gap.first, gap.last)

    def event(self, number: int) -> AnyEvent | None:
        """The event of this number (from 0), None where it is not kept."""
        chunk = self._chunks.all[self._chunks.holding(number)]
        index = number - chunk.start
        return chunk.events[index] if 0 <= index < len(chunk.events) else None

    @property
    def events(self) -> Sequence[AnyEvent]:
        """The events kept, in order, with a `Skipped` for each gap."""
        return self._cached("events", lambda: [event for _, event in self.numbered()])

    def of_kind(self, kind: type[T]) -> Iterator[tuple[int, T]]:
        """(number, event) of each event of one type that is kept, in order."""
        found = ((n, event) for n, event in self.numbered() if type(event) is kind)
        left = [(n, event) for n, event in self._left if type(event) is kind]
        return merge(found, left, key=lambda pair: pair[0])

    def line_runs(self) -> Iterator[tuple[int, str, int]]:
        """(number, file, line) of each line event that is kept, in order."""
        files: dict[int, str] = {}
        for number, event in self.numbered():
            if type(event) is ev.Line:
                yield number, files.get(event.frame, ""), event.line
            elif type(event) is ev.Enter:
                files[event.frame] = event.file
            elif type(event) is ev.Skipped:
                frames = self.at(number + event.events).frames.values()
                files.update((frame.frame, frame.file) for frame in frames)

    @property
    def ops(self) -> list[OpState]:
        """The calls kept, in order: those of living nodes and tensors from inside a gap too."""
        return self._cached("ops", self._ops)

    def _ops(self) -> list[OpState]:
        ops = [op for chunk in self._chunks.all for op in chunk.ops]
        if not self.gaps:
            return ops
        numbers = {op.op for op in ops}
        for op in origins(self.last):
            if op.op not in numbers:
                numbers.add(op.op)
                ops.append(op)
        return sorted(ops, key=lambda op: op.moment)

    @property
    def nodes(self) -> Mapping[int, NodeState]:
        """The nodes of the last state, and dead ones as they were made, where that is kept."""
        return self._cached("nodes", self._nodes)

    def _nodes(self) -> Mapping[int, NodeState]:
        known = self.last.nodes
        gone = [n for chunk in self._chunks.all for n in chunk.nodes if n.event.node not in known]
        if not gone:
            return known
        dead = {node.event.node: replace(node, died=node.moment) for node in gone}
        return {**dead, **known}

    @property
    def tensors(self) -> Mapping[int, TensorState]:
        """The tensors of the last state, and dead ones of which an event is kept, as of then."""
        return self._cached("tensors", self._tensors)

    def _tensors(self) -> Mapping[int, TensorState]:
        known = self.last.tensors
        gone: dict[int, TensorState] = {}
        for chunk in self._chunks.all if self._dropped else ():
            told = {e.uid for e in chunk.events if type(e) is ev.Tensor and e.uid not in known}
            if told:
                then = self.at(chunk.end).tensors
                gone.update((uid, then[uid]) for uid in told if uid in then)
        return {**gone, **known} if gone else known

    def op(self, number: int) -> OpState | None:
        """The call with this number."""
        by_number: dict[int, OpState] = self._cached(
            "numbers", lambda: {op.op: op for op in self.ops}
        )
        return by_number.get(number)

    @property
    def grad_reads(self) -> list[Read]:
        """(event, moment, site) of each read of `.grad` in user code that is kept."""
        return self._cached("reads", self._reads)

    def _reads(self) -> list[Read]:
        reads = [read for chunk in self._chunks.all for read in chunk.reads]
        if not self._left_reads:
            return reads
        return sorted([*reads, *self._left_reads.values()], key=lambda read: read[1])

    @property
    def lines(self) -> Sequence[int]:
        """The moments right after each line event: what a step by line goes to."""
        return self._cached(
            "lines", lambda: [moment for chunk in self._chunks.all for moment in chunk.lines]
        )

    # -- reading: facts of the whole run ------------------------------------------------

    @property
    def truncated_events(self) -> int:
        """Events that are not kept, and those that the observer did not send."""
        return self._dropped + self._unseen

    def runs_before(self, file: str, line: int, moment: int) -> int:
        """How many times a line had begun to run before a moment (at the end of its gap)."""
        return self.at(moment).ran.get((file, line), 0)

    @property
    def passes(self) -> tuple[PassState, ...]:
        """The backward passes, in order."""
        return self._cached(
            "passes", lambda: tuple(sorted(self.last.passes.values(), key=lambda p: p.moment))
        )

    @property
    def raised(self) -> ev.Raised | None:
        """The exception that ended the program."""
        return self.last.raised

    @property
    def outcome(self) -> Outcome | None:
        return self.end.outcome if self.end else None

    def _cached(self, name: str, compute: Callable[[], T]) -> T:
        found = self._cache.get(name)
        if found is None:
            found = self._cache[name] = compute()
        return cast(T, found)


def _key(read: Read) -> tuple[int, bool, str, int]:
    """What makes two readings of a gradient the same to a person."""
    event, _, site = read
    file, line = (site[-1].file, site[-1].line) if site else ("", 0)
    return event.uid, event.grad == NONE, file, line


def origins(state: State) -> Iterator[OpState]:
    """The calls that what a state holds came from, in no order, some more than once."""
    holders: list[NodeState | TensorState | WriteState] = [
        *state.nodes.values(),
        *state.tensors.values(),
        *(write for counter in state.counters.values() for write in counter.writes),
    ]
    for holder in holders:
        if holder.origin is not None:
            yield holder.origin
