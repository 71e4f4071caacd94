"""How the moments of a run are found, and where a run stands at one of them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from tutor.app.model.names import op_name, place_text
from tutor.app.model.times import Kind, Stop, Timeline
from tutor.report.gaps import gap_words, number
from tutor.trace import events as ev
from tutor.trace.trace import Trace

_CONSEQUENCES = frozenset(
    (ev.Tensor, ev.Node, ev.Write, ev.Contents, ev.Bind, ev.Dead, ev.Grad, ev.Via)
)
"""What the observer reports right after a call, and what belongs to it."""


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
    for index, event in trace.numbered():
        kind = type(event)
        if kind in _CONSEQUENCES:  # most events: nothing to do
            continue
        if walk.open_op >= 0:
            if kind is ev.BackwardStart:
                walk.waiting_op = walk.open_op
            else:
                walk.stop(index, "op", walk.ops, walk.open_op)
            walk.open_op = -1
        if kind is ev.Op:
            if not walk.setup:
                walk.open_op = index
        elif isinstance(event, ev.Line):
            file = walk.files.get(event.frame, "")
            walk.first.setdefault((file, event.line), index + 1)
            if not walk.setup:
                walk.stop(index + 1, "line", walk.lines, index)
        elif kind is ev.Visit or kind is ev.BackwardEnd:
            if walk.open_step >= 0:
                walk.stop(index, "pass", walk.steps, walk.open_step)
            walk.open_step = index if kind is ev.Visit else -1
            if kind is ev.BackwardEnd:
                walk.open_op, walk.waiting_op = walk.waiting_op, -1
        elif isinstance(event, ev.Enter):
            stack.append(event.frame)
            walk.files[event.frame] = event.file
            if len(stack) == 1:
                walk.setup = event.file in setup
        elif isinstance(event, ev.Leave):
            if event.frame in stack:
                del stack[stack.index(event.frame) :]
        elif isinstance(event, ev.Skipped):
            after = trace.at(index + event.events)
            walk.gaps.append(index)
            stack = [frame.frame for frame in after.stack]
            walk.files.update((frame.frame, frame.file) for frame in after.frames.values())
            walk.open_op = walk.waiting_op = walk.open_step = -1
    end = len(trace)
    if walk.open_op >= 0:
        walk.stop(end, "op", walk.ops, walk.open_op)
    stops = walk.stops
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
    """Where the run stands at a moment: "before line 3 · torch call 4 of 4"."""
    if moment >= line.end:
        return _end_words(trace, line)
    stop = line.at(moment)
    if stop is None:
        return "before the first line"
    event = trace.event(stop.event)
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
    after = line.after(moment)
    gap = next((gap for gap in trace.gaps if moment <= gap.start < after), None)
    if gap is not None:
        return f"{words} · then {gap_words(gap)}"
    if trace.gaps:
        count = number(trace.at(moment).op + 1)
        return f"{words} · torch call {count} of {number(trace.last.op + 1)}"
    done = bisect_right(line.ops, moment)
    return f"{words} · torch call {done} of {len(line.ops)}" if line.ops else words


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
    count = trace.last.op + 1 if trace.gaps else len(line.ops)
    return f"end of the run · {number(count)} torch call{'' if count == 1 else 's'}"
