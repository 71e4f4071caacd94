"""The moments that the slider stops at, and how a step finds the next one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tutor.app.model.names import op_name, place_text
from tutor.trace import events as ev
from tutor.trace.trace import Trace

Kind = Literal["line", "op", "pass", "end"]

_CONSEQUENCES = (ev.Tensor, ev.Node, ev.Write, ev.Contents, ev.Bind, ev.Dead, ev.Grad, ev.Via)
"""What the observer reports right after a call, and what belongs to it."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A moment worth stopping at; `number` counts the stops of its kind from 1.

    `event` is the index of the event that made it one.
    """

    moment: int
    kind: Kind
    number: int
    event: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The stops of a run in order, with the moments of each kind, and the gaps.

    `first` maps (file, line) to the moment at which that line was first about to run.
    """

    stops: tuple[Stop, ...] = ()
    lines: tuple[int, ...] = ()
    ops: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    end: int = 0
    gaps: tuple[int, ...] = ()
    first: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def ran(self, moment: int, file: str) -> set[int]:
        """The lines of a file that have begun before a moment."""
        return {line for (name, line), at in self.first.items() if name == file and at < moment}

    def of(self, kind: Kind) -> tuple[int, ...]:
        """The moments of one kind, in order."""
        return {"line": self.lines, "op": self.ops, "pass": self.steps, "end": (self.end,)}[kind]

    def step(self, moment: int, kind: Kind, forward: bool) -> int:
        """The next or previous moment of this kind; the end, or the first, where none is left."""
        moments = self.of(kind)
        if forward:
            index = bisect_right(moments, moment)
            return moments[index] if index < len(moments) else self.end
        index = bisect_left(moments, moment) - 1
        return moments[index] if index >= 0 else (moments[0] if moments else moment)

    def at(self, moment: int) -> Stop | None:
        """The latest stop that is not after this moment."""
        index = bisect_right(self.stops, moment, key=lambda s: s.moment) - 1
        return self.stops[index] if index >= 0 else None

    def fraction(self, moment: int) -> float:
        """How far along the slider a moment lies, from 0 to 1, counted in stops."""
        if moment >= self.end or len(self.stops) < 2:
            return 1.0
        index = bisect_left(self.stops, moment, key=lambda s: s.moment)
        return min(1.0, index / (len(self.stops) - 1))

    def near(self, fraction: float) -> int:
        """The moment of the stop nearest to a place on the slider."""
        if not self.stops:
            return self.end
        index = round(max(0.0, min(1.0, fraction)) * (len(self.stops) - 1))
        return self.stops[index].moment


@dataclass(slots=True)
class _Walk:
    """The stops found so far on one way through the events."""

    stops: list[Stop] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    ops: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)
    first: dict[tuple[str, int], int] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)
    setup: bool = False
    """Whether the setup is running: what happens there is no stop."""
    open_op: int = -1
    waiting_op: int = -1
    """The call that started the backward pass that runs: it is over when that is."""
    open_step: int = -1

    def stop(self, moment: int, kind: Kind, moments: list[int], event: int) -> None:
        moments.append(moment)
        self.stops.append(Stop(moment, kind, len(moments), event))


def timeline(trace: Trace) -> Timeline:
    """Every line, call and step of a backward pass of the learner's code."""
    walk = _Walk()
    setup = {event.file for _, event in trace.of_kind(ev.Text) if event.role == "setup"}
    stack: list[int] = []
    for index, event in enumerate(trace.events):
        kind = type(event)
        if walk.open_op >= 0 and kind not in _CONSEQUENCES:
            if kind is ev.BackwardStart:
                walk.waiting_op = walk.open_op
            else:
                walk.stop(index, "op", walk.ops, walk.open_op)
            walk.open_op = -1
        if walk.open_step >= 0 and kind in (ev.Visit, ev.BackwardEnd):
            walk.stop(index, "pass", walk.steps, walk.open_step)
            walk.open_step = -1
        if isinstance(event, ev.Enter):
            stack.append(event.frame)
            walk.files[event.frame] = event.file
            if len(stack) == 1:
                walk.setup = event.file in setup
        elif isinstance(event, ev.Leave):
            if event.frame in stack:
                del stack[stack.index(event.frame) :]
        elif isinstance(event, ev.Line):
            file = walk.files.get(event.frame, "")
            walk.first.setdefault((file, event.line), index + 1)
            if not walk.setup:
                walk.stop(index + 1, "line", walk.lines, index)
        elif kind is ev.Op:
            if not walk.setup:
                walk.open_op = index
        elif kind is ev.Visit:
            walk.open_step = index
        elif kind is ev.BackwardEnd:
            walk.open_op, walk.waiting_op = max(walk.open_op, walk.waiting_op), -1
        elif kind is ev.Skipped:
            walk.gaps.append(index + 1)
    end = len(trace)
    if walk.open_op >= 0:
        walk.stop(end, "op", walk.ops, walk.open_op)
    stops = sorted(walk.stops, key=lambda s: s.moment)
    if not stops or stops[-1].moment < end:
        stops.append(Stop(end, "end", 1, end - 1))
    return Timeline(
        tuple(stops),
        tuple(walk.lines),
        tuple(walk.ops),
        tuple(walk.steps),
        end,
        tuple(walk.gaps),
        walk.first,
    )


def moment_words(trace: Trace, line: Timeline, moment: int) -> str:
    """Where the run stands at a moment: "before line 3 · call 4 of 4"."""
    if moment >= line.end:
        return _end_words(trace, line)
    stop = line.at(moment)
    if stop is None:
        return "before the first line"
    event = trace.events[stop.event]
    place = trace.at(moment).place
    where = place_text(place) if place else ""
    if stop.kind == "op" and isinstance(event, ev.Op):
        words = f"after {op_name(event.func)}, {where}"
    elif stop.kind == "pass" and isinstance(event, ev.Visit):
        node = trace.at(moment).nodes.get(event.node)
        name = node.name.rsplit("::", 1)[-1] if node else "a node"
        return f"backward step {stop.number} of {len(line.steps)}: {name}"
    else:
        words = f"before {where}"
    done = bisect_right(line.ops, moment)
    return f"{words} · op {done} of {len(line.ops)}" if line.ops else words


def _end_words(trace: Trace, line: Timeline) -> str:
    """How the run ended."""
    raised = trace.raised
    if raised is not None:
        frames = raised.frames
        where = f" at line {frames[-1][1]}" if frames else ""
        return f"end: {raised.kind}{where}"
    outcome = trace.outcome
    if outcome not in (None, "ok"):
        return f"end: {outcome}"
    count = len(line.ops)
    return f"end of the run · {count} op{'' if count == 1 else 's'}"
