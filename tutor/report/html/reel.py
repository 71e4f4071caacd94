"""The stops of the time slider: which moments of the run a page holds, and what they are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tutor.report.gaps import gap_words
from tutor.report.values import main_file, place_text
from tutor.trace import events as ev
from tutor.trace.state import State
from tutor.trace.trace import Trace

Kind = Literal["line", "op", "pass", "end"]

MOST = 400
"""Stops of one page: a page grows with them."""

NEAR = 12
"""Stops kept around a moment that a finding names."""

_CONSEQUENCES = frozenset(
    (ev.Tensor, ev.Node, ev.Write, ev.Contents, ev.Bind, ev.Dead, ev.Grad, ev.Via)
)
"""What the observer tells right after a call, and what belongs to it."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A moment, what kind it is, and the index of the event that makes it one."""

    moment: int
    kind: Kind
    event: int


@dataclass(frozen=True, slots=True)
class Reel:
    """The stops of a page in order, the last one the end; `left_out` are those it has not."""

    stops: tuple[Stop, ...]
    states: tuple[State, ...]
    words: tuple[str, ...]
    left_out: int

    @property
    def last(self) -> int:
        return len(self.stops) - 1

    def after(self, moment: int) -> int:
        """The first stop at which what happened at a moment is seen."""
        found = bisect_right(self.stops, moment, key=lambda stop: stop.moment)
        return min(found, self.last)


def reel(trace: Trace, wanted: Iterable[int] = ()) -> Reel:
    """The stops of a run; of a long one those at its ends, near `wanted` moments, and a spread."""
    every = _stops(trace)
    stops = _chosen(every, sorted(set(wanted)))
    states = tuple(trace.at(stop.moment) for stop in stops)
    words = [_words(trace, stop, state) for stop, state in zip(stops, states, strict=True)]
    for gap in trace.gaps:
        # Where the slider steps over what was not kept, it says so.
        index = bisect_right(stops, gap.start, key=lambda stop: stop.moment)
        if index < len(words):
            words[index] += f" ({gap_words(gap)})"
    return Reel(tuple(stops), states, tuple(words), len(every) - len(stops))


def _stops(trace: Trace) -> list[Stop]:
    stops: list[Stop] = []
    open_kind: Kind | None = None
    opened = 0
    for index, event in trace.numbered():
        kind = type(event)
        if kind in _CONSEQUENCES:
            continue
        if open_kind is not None:
            stops.append(Stop(index, open_kind, opened))
            open_kind = None
        if kind is ev.Line:
            stops.append(Stop(index + 1, "line", index))
        elif kind is ev.Op:
            open_kind, opened = "op", index
        elif kind is ev.Visit:
            open_kind, opened = "pass", index
    end = len(trace)
    # What a line of code showed last stands before the words of its end.
    stops = [stop for stop in stops if stop.moment < end]
    stops.append(Stop(end, "end", end - 1))
    return _distinct(stops)


def _distinct(stops: Sequence[Stop]) -> list[Stop]:
    """One stop a moment: the later one says more."""
    kept: list[Stop] = []
    for stop in stops:
        if kept and kept[-1].moment == stop.moment:
            kept.pop()
        kept.append(stop)
    return kept


def _chosen(every: list[Stop], wanted: Sequence[int]) -> list[Stop]:
    if len(every) <= MOST:
        return every
    for kinds in (("line", "pass", "end"), ("line", "end")):
        some = [stop for stop in every if stop.kind in kinds]
        if len(some) <= MOST:
            return _with_near(every, some, wanted, MOST - len(some))
    lines = [stop for stop in every if stop.kind in ("line", "end")]
    side = MOST // 4
    kept = [*lines[:side], *lines[-side:]]
    middle = lines[side:-side]
    kept += middle[:: max(1, len(middle) // side)][:side]
    return _with_near(every, _sorted(kept), wanted, MOST // 4)


def _with_near(
    every: Sequence[Stop], some: list[Stop], wanted: Sequence[int], room: int
) -> list[Stop]:
    """Some stops, and as there is room all those around the moments that findings name."""
    near: list[Stop] = []
    for moment in wanted:
        at = bisect_right(every, moment, key=lambda stop: stop.moment)
        near += every[max(0, at - NEAR) : at + NEAR]
    extra = [stop for stop in dict.fromkeys(near) if stop not in set(some)]
    return _sorted([*some, *extra[:room]])


def _sorted(stops: Iterable[Stop]) -> list[Stop]:
    return sorted(dict.fromkeys(stops), key=lambda stop: stop.moment)


def _words(trace: Trace, stop: Stop, state: State) -> str:
    """Where the run stands: "before line 3", "after mul, line 3", "backward at MulBackward0"."""
    if stop.kind == "end":
        return _end_words(trace)
    place = state.place
    where = place_text(place, main_file(trace)) if place is not None else "the program's end"
    event = trace.event(stop.event)
    if isinstance(event, ev.Op):
        return f"after {event.func.rpartition('.')[2].strip('_')}, {where}"
    if isinstance(event, ev.Visit):
        node = state.nodes.get(event.node)
        name = node.name.rsplit("::", 1)[-1] if node is not None else "a node"
        return f"backward at {name}, {where}"
    return f"before {where}"


def _end_words(trace: Trace) -> str:
    raised = trace.raised
    if raised is not None:
        where = f" on line {raised.frames[-1][1]}" if raised.frames else ""
        return f"the end: {raised.kind}{where}"
    if trace.outcome not in (None, "ok"):
        return f"the end: {trace.outcome}"
    return "the end of the run"


def freed_moments(trace: Trace) -> dict[int, int]:
    """For each node, the moment at which a pass first released what it had saved."""
    moments: dict[int, int] = {}
    for moment, event in trace.of_kind(ev.Freed):
        for node in event.nodes:
            moments.setdefault(node, moment)
    return moments


def first_lines(trace: Trace) -> Iterator[tuple[str, int, int]]:
    """(file, line, moment) of the first time that each line was about to run."""
    seen: set[tuple[str, int]] = set()
    for moment, file, line in trace.line_runs():
        if (file, line) not in seen:
            seen.add((file, line))
            yield file, line, moment
