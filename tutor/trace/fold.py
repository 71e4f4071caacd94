"""The fold: how each event changes what is true.

`Folder` takes events in order and hands out immutable states. Between two states it works on
mutable copies of the maps, so that a long stretch costs little, and `state()` freezes them.
One handler an event type; an event of an unknown or foreign shape never reaches this module
(the wire is typed), but ids may be anything, so every look-up tolerates a missing one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from immutables import Map
from msgspec import Struct, field
from msgspec.structs import replace

from tutor.trace import events as ev
from tutor.trace.events import NONE, AnyEvent
from tutor.trace.keep import Queue
from tutor.trace.loops import advance, loops_of
from tutor.trace.state import (
    AccumulateState,
    CounterState,
    FrameState,
    Named,
    NodeState,
    OpState,
    PassState,
    Site,
    State,
    TensorState,
    UnseenState,
    WriteState,
    closed,
)
from tutor.trace.sweep import SWEEP, sweep
from tutor.trace.writes import Savers, thinned, too_many

DEEPEST = 64
"""Frames in a site at most: the outermost quarter, and the rest nearest to where it is."""

KEPT_DEAD = 4096
"""Nodes kept after their death, so that the graph of a finished line can still be shown."""

KEPT_ENDED = 512
"""Frames kept after their return, for the names they had."""

KEPT_PRINTS = 8192
"""Pieces of output kept from the beginning (a print gives one or two)."""

KEPT_PRINTED = 512 * 1024
"""Characters of output kept from the beginning."""

LAST_PRINTS = 256
"""Pieces of output kept from the end, where there are more."""

MOST_UNSEEN = 256
"""Places kept from which something ran unobserved."""


class Checkpoint(Struct, frozen=True, array_like=True, gc=False):
    """Where a fold can be taken up again: a state, and what the fold knows besides."""

    state: State = field(default_factory=State)
    thread: int = 0
    stacks: tuple[tuple[int, tuple[FrameState, ...]], ...] = ()
    """The stacks of the other threads."""
    last_op: OpState | None = None
    texts: dict[str, str] = field(default_factory=dict)
    dead: Map[int, int] = field(default_factory=Map)
    ended: Map[int, int] = field(default_factory=Map)
    sweep_at: int = 0
    """Tensors at which to sweep; 0 before the first time."""
    printed: int = 0


class Folder:
    """Folds events into states. `texts` and `vias` are tables that only grow."""

    def __init__(self, base: Checkpoint | None = None) -> None:
        base = base or Checkpoint()
        state = base.state
        self.moment = state.moment
        self.texts: dict[str, str] = dict(base.texts)
        self.vias: dict[int, tuple[tuple[str, str], ...]] = {}
        self.last_op: OpState | None = base.last_op
        self._stack: list[FrameState] = list(state.stack)
        self._thread_id = base.thread
        self._stacks = {thread: list(stack) for thread, stack in base.stacks}
        self._stacks[base.thread] = self._stack
        self._frames = state.frames.mutate()
        self._tensors = state.tensors.mutate()
        self._counters = state.counters.mutate()
        self._nodes = state.nodes.mutate()
        self._passes = state.passes.mutate()
        self._grad_mode = state.grad_mode
        self._inference = state.inference
        self._output = state.output
        self._warnings = state.warnings
        self._unseen = state.unseen
        self._raised = state.raised
        self._op = state.op
        self._ran = state.ran.mutate()
        self._recent = state.recent
        self._unprinted = state.unprinted
        self._begun = state.begun
        self._printed = base.printed
        self.line = 0
        """The line that began to run last, in whatever file."""
        self.line_runs = 0
        """How many times it has begun."""
        self._sweep_at = base.sweep_at or SWEEP
        self._site: Site | None = None
        self._dead = Queue(KEPT_DEAD, base.dead)
        self._ended = Queue(KEPT_ENDED, base.ended)
        self._savers = Savers()

    # -- reading ---------------------------------------------------------------------

    @property
    def site(self) -> Site:
        """Where the program is: the user stack, without the middle of a very deep one."""
        if self._site is None:
            stack = self._stack
            if len(stack) > DEEPEST:  # each op of a deep recursion would keep a site as deep
                stack = [*stack[: DEEPEST // 4], *stack[-(DEEPEST - DEEPEST // 4) :]]
            self._site = tuple(frame.place for frame in stack)
        return self._site

    def state(self) -> State:
        """The state after the events so far. Cheap where little changed since the last one."""
        frozen = State(
            moment=self.moment,
            stack=tuple(self._stack),
            frames=self._frames.finish(),
            tensors=self._tensors.finish(),
            counters=self._counters.finish(),
            nodes=self._nodes.finish(),
            passes=self._passes.finish(),
            grad_mode=self._grad_mode,
            inference=self._inference,
            output=self._output,
            warnings=self._warnings,
            unseen=self._unseen,
            raised=self._raised,
            op=self._op,
            ran=self._ran.finish(),
            recent=self._recent,
            unprinted=self._unprinted,
            begun=self._begun,
        )
        self._frames = frozen.frames.mutate()
        self._tensors = frozen.tensors.mutate()
        self._counters = frozen.counters.mutate()
        self._nodes = frozen.nodes.mutate()
        self._passes = frozen.passes.mutate()
        self._ran = frozen.ran.mutate()
        return frozen

    def checkpoint(self) -> Checkpoint:
        """What a new `Folder` needs to go on from here with the same results."""
        others = (pair for pair in self._stacks.items() if pair[0] != self._thread_id)
        return Checkpoint(
            self.state(),
            self._thread_id,
            tuple((thread, tuple(stack)) for thread, stack in others if stack),
            self.last_op,
            dict(self.texts),
            self._dead.freeze(),
            self._ended.freeze(),
            self._sweep_at,
            self._printed,
        )

    def node(self, number: int) -> NodeState:
        """A node as it is now. Raises `KeyError` where it is not known."""
        return self._nodes[number]

    @property
    def size(self) -> int:
        """How many things are held: tensors, nodes, passes, frames, and rows of the tables."""
        held = len(self._tensors) + len(self._counters) + len(self._nodes) + len(self._passes)
        return held + len(self._frames) + len(self._ran) + len(self.vias) + len(self.texts)

    # -- folding ---------------------------------------------------------------------

    def feed(self, events: Iterable[AnyEvent]) -> None:
        """Fold these events, in order."""
        for event in events:
            self.add(event)

    def add(self, event: AnyEvent) -> None:
        """Fold one event."""
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)
        self.moment += 1

    # places

    def _text(self, event: ev.Text) -> None:
        self.texts[event.file] = event.text

    def _via(self, event: ev.Via) -> None:
        self.vias[event.via] = event.frames

    def _thread(self, event: ev.Thread) -> None:
        self._thread_id = event.thread
        self._stack = self._stacks.setdefault(event.thread, [])
        self._site = None

    def _enter(self, event: ev.Enter) -> None:
        known = self._frames.get(event.frame)
        if known is None:
            frame = FrameState(
                event.frame, event.function, event.file, event.line, event.line, (), event.via
            )
        elif known.file != event.file:  # setup and program are one module in two files
            frame = replace(
                known, file=event.file, first_line=event.line, line=event.line, counts=()
            )
        else:
            frame = known
        if event.within != NONE:
            table = loops_of(self.texts.get(event.file, ""), event.function, event.line)
            # Not counted, where counts begin in the middle: zero is not shown.
            counts = tuple((loop.header, 0) for loop in table.get(event.within, ()))
            frame = replace(frame, line=event.within, counts=counts)
        self._stack.append(frame)
        self._frames[event.frame] = frame
        self._site = None

    def _leave(self, event: ev.Leave) -> None:
        if all(frame.frame != event.frame for frame in self._stack):
            return
        while self._stack:
            frame = self._stack.pop()
            if event.done and frame.function != "<module>":
                self._end_names(frame)
            if frame.frame == event.frame:
                break
        self._site = None

    def _end_names(self, frame: FrameState) -> None:
        for name, uid in frame.names.items():
            self._unname(frame.frame, name, uid)
        self._frames[frame.frame] = replace(frame, names=Map())
        old = self._ended.push(frame.frame)
        if old is not None:
            self._frames.pop(old, None)

    def _line(self, event: ev.Line) -> None:
        stack = self._stack
        index = len(stack) - 1
        if index < 0:
            return
        frame = stack[index]
        if frame.frame != event.frame:
            while index >= 0 and stack[index].frame != event.frame:
                index -= 1
            if index < 0:
                return
            frame = stack[index]
        counts = frame.counts
        text = self.texts.get(frame.file)
        if text is not None:
            table = loops_of(text, frame.function, frame.first_line)
            if table or counts:
                counts = advance(table, counts, frame.line, event.line)
        moved = FrameState(
            frame.frame,
            frame.function,
            frame.file,
            frame.first_line,
            event.line,
            counts,
            frame.via,
            frame.names,
        )
        stack[index] = moved
        self._frames[event.frame] = moved
        self._site = None
        key = (frame.file, event.line)
        self.line, self.line_runs = event.line, self._ran.get(key, 0) + 1
        self._ran[key] = self.line_runs

    def _mode(self, event: ev.Mode) -> None:
        self._grad_mode = event.grad
        self._inference = event.inference

    # names

    def _bind(self, event: ev.Bind) -> None:
        frame = self._frames.get(event.frame)
        if frame is None:
            return
        old = frame.names.get(event.name, NONE)
        if old == event.uid:
            return
        if old != NONE:
            self._unname(event.frame, event.name, old)
        if event.uid == NONE:
            names = frame.names.delete(event.name) if old != NONE else frame.names
        else:
            names = frame.names.set(event.name, event.uid)
            tensor = self._tensors.get(event.uid)
            if tensor is not None:
                named = Named(event.name, frame.function, event.frame, self.moment, self.site)
                kept = tensor.names if len(tensor.names) < 32 else tensor.names[-16:]
                self._tensors[event.uid] = replace(tensor, names=(*kept, named))
        updated = replace(frame, names=names)
        self._frames[event.frame] = updated
        for index in range(len(self._stack) - 1, -1, -1):
            if self._stack[index].frame == event.frame:
                self._stack[index] = updated
                break

    def _unname(self, frame: int, name: str, uid: int) -> None:
        tensor = self._tensors.get(uid)
        if tensor is None:
            return
        names = tuple(
            closed(n, self.moment) if n.until is None and n.frame == frame and n.name == name else n
            for n in tensor.names
        )
        self._tensors[uid] = replace(tensor, names=names)

    # tensors and ops

    def _tensor(self, event: ev.Tensor) -> None:
        known = self._tensors.get(event.uid)
        if known is None:
            made_by = NONE
            last = self.last_op
            if last is not None and event.uid in last.event.outs:
                made_by = last.op
            else:
                last = None
            self._tensors[event.uid] = TensorState(
                event, self.site, self.moment, made_by, origin=last
            )
        else:
            self._tensors[event.uid] = replace(known, meta=event)
        if event.counter not in self._counters:
            self._counters[event.counter] = CounterState(event.counter, event.version)

    def _contents(self, event: ev.Contents) -> None:
        known = self._tensors.get(event.uid)
        if known is not None:
            self._tensors[event.uid] = replace(known, value=event.value)

    def _op_event(self, event: ev.Op) -> None:
        self._op = event.op
        self.last_op = OpState(event, self.site, self.moment, self._grad_mode, self._inference)

    def _call(self, number: int) -> OpState | None:
        """The latest call, if it has this number: nothing refers to an earlier one."""
        last = self.last_op
        return last if last is not None and last.event.op == number else None

    def _runs(self) -> int:
        """How many times the present line has begun to run."""
        if not self._stack:
            return 0
        frame = self._stack[-1]
        return self._ran.get((frame.file, frame.line), 0)

    def _node(self, event: ev.Node) -> None:
        self._nodes[event.node] = NodeState(
            event, self.site, self.moment, origin=self._call(event.op), runs=self._runs()
        )
        self._savers.add(event)

    def _write(self, event: ev.Write) -> None:
        counter = self._counters.get(event.counter)
        write = WriteState(
            event.counter,
            event.uid,
            event.storage,
            event.before,
            event.after,
            event.op,
            self.moment,
            self.site,
            self._call(event.op),
        )
        writes = (*(counter.writes if counter else ()), write)
        missed = counter.missed if counter else 0
        if too_many(writes):
            nodes = self._living()
            writes, dropped = thinned(writes, self._savers, nodes)
            missed += dropped
        self._counters[event.counter] = CounterState(event.counter, event.after, writes, missed)
        known = self._tensors.get(event.uid)
        if known is not None and event.counter != NONE:
            # Values of other aliases are sent anew only when they are next used.
            meta = _with_version(known.meta, event.after)
            self._tensors[event.uid] = replace(known, meta=meta, value=None)

    def _living(self) -> Map[int, NodeState]:
        """The nodes as they are now, to look things up in."""
        frozen = self._nodes.finish()
        self._nodes = frozen.mutate()
        return frozen

    def _dead_event(self, event: ev.Dead) -> None:
        for node in event.nodes:
            known = self._nodes.get(node)
            if known is not None and not known.dead:
                self._nodes[node] = replace(known, died=self.moment)
                old = self._dead.push(node)
                if old is not None:
                    self._nodes.pop(old, None)
        for uid in event.tensors:
            tensor = self._tensors.get(uid)
            if tensor is not None and not tensor.dead:
                self._tensors[uid] = replace(tensor, dead=True)
        if len(self._tensors) > self._sweep_at:
            self._sweep()

    def _sweep(self) -> None:
        """Drop what is dead, and what nothing that is kept refers to."""
        state = sweep(self.state())
        self._tensors = state.tensors.mutate()
        self._counters = state.counters.mutate()
        self._passes = state.passes.mutate()
        self._savers = Savers()
        self._sweep_at = max(SWEEP, 2 * len(self._tensors))

    # backward

    def _start_pass(self, event: ev.BackwardStart) -> None:
        self._passes[event.run] = PassState(event, self.site, self.moment)
        self._begun += 1

    def _visit(self, event: ev.Visit) -> None:
        run = self._passes.get(event.run)
        if run is not None:
            self._passes[event.run] = replace(
                run,
                order=run.order.appended(event.node),
                arrived=run.arrived.set(event.node, event.grads),
            )
        node = self._nodes.get(event.node)
        if node is not None:
            self._nodes[event.node] = replace(node, visited=(*node.visited[-15:], event.run))

    def _sent(self, event: ev.Sent) -> None:
        run = self._passes.get(event.run)
        if run is not None:
            self._passes[event.run] = replace(run, sent=run.sent.set(event.node, event.grads))

    def _accumulate(self, event: ev.Accumulate) -> None:
        run = self._passes.get(event.run)
        if run is not None:
            entry = AccumulateState(
                event.run, event.uid, event.before, event.after, self.site, self.moment
            )
            self._passes[event.run] = replace(run, accumulated=run.accumulated.appended(entry))
        known = self._tensors.get(event.uid)
        if known is not None:
            self._tensors[event.uid] = replace(
                known,
                grad=event.grad,
                grad_value=event.after,
                accumulated=known.accumulated + 1,
            )

    def _grad(self, event: ev.Grad) -> None:
        known = self._tensors.get(event.uid)
        if known is not None:
            self._tensors[event.uid] = replace(known, grad=event.grad, grad_value=event.value)

    def _freed(self, event: ev.Freed) -> None:
        for node in event.nodes:
            known = self._nodes.get(node)
            if known is not None and known.freed == NONE:  # the first one did it
                self._nodes[node] = replace(known, freed=event.run)

    def _stale(self, event: ev.Stale) -> None:
        run = self._passes.get(event.run)
        if run is not None:
            found = (event.node, event.save, event.found, event.expected)
            self._passes[event.run] = replace(run, stale=found)

    def _altered(self, event: ev.Altered) -> None:
        run = self._passes.get(event.run)
        if run is not None:
            entry = (event.node, event.save, event.storage)
            self._passes[event.run] = replace(run, altered=(*run.altered, entry))

    def _end_pass(self, event: ev.BackwardEnd) -> None:
        run = self._passes.get(event.run)
        if run is not None:
            self._passes[event.run] = replace(
                run,
                ended=True,
                ok=event.ok,
                failing=event.failing,
                error=event.error,
                results=event.results,
                end_moment=self.moment,
            )

    # what came out

    def _out(self, event: ev.Output) -> None:
        self._printed += len(event.text)
        if len(self._output) < KEPT_PRINTS and self._printed <= KEPT_PRINTED:
            self._output = self._output.appended((event.stream, event.text))
            return
        self._printed = KEPT_PRINTED  # a short piece after a long one would be out of order
        if len(self._recent) >= LAST_PRINTS:
            self._unprinted += len(self._recent[0][1])
        self._recent = (*self._recent[1 - LAST_PRINTS :], (event.stream, event.text))

    def _warned(self, event: ev.Warned) -> None:
        self._warnings = (*self._warnings[-255:], event)

    def _unobserved(self, event: ev.Unseen) -> None:
        if len(self._unseen) < MOST_UNSEEN:
            here = UnseenState(event.what, event.detail, self.moment, self.site)
            self._unseen = (*self._unseen, here)

    def _raise(self, event: ev.Raised) -> None:
        self._raised = event


def _with_version(meta: ev.Tensor, version: int) -> ev.Tensor:
    """The same description at another version (Structs copy faster by position than by name)."""
    return ev.Tensor(
        meta.uid,
        meta.shape,
        meta.dtype,
        meta.device,
        meta.requires_grad,
        meta.leaf,
        meta.node,
        meta.out,
        meta.counter,
        version,
        meta.storage,
        meta.base,
        meta.kind,
        meta.label,
    )


_HANDLERS: dict[type, Callable[[Folder, Any], None]] = {
    ev.Text: Folder._text,
    ev.Via: Folder._via,
    ev.Thread: Folder._thread,
    ev.Enter: Folder._enter,
    ev.Leave: Folder._leave,
    ev.Line: Folder._line,
    ev.Mode: Folder._mode,
    ev.Bind: Folder._bind,
    ev.Tensor: Folder._tensor,
    ev.Contents: Folder._contents,
    ev.Op: Folder._op_event,
    ev.Node: Folder._node,
    ev.Write: Folder._write,
    ev.Dead: Folder._dead_event,
    ev.BackwardStart: Folder._start_pass,
    ev.Visit: Folder._visit,
    ev.Sent: Folder._sent,
    ev.Accumulate: Folder._accumulate,
    ev.Grad: Folder._grad,
    ev.Freed: Folder._freed,
    ev.Stale: Folder._stale,
    ev.Altered: Folder._altered,
    ev.BackwardEnd: Folder._end_pass,
    ev.Output: Folder._out,
    ev.Warned: Folder._warned,
    ev.Unseen: Folder._unobserved,
    ev.Raised: Folder._raise,
}
