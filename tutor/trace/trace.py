"""A run as it was recorded: its events, and the state at any moment of it."""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar

from tutor.trace import events as ev
from tutor.trace.events import AnyEvent
from tutor.trace.fold import Checkpoint, Folder
from tutor.trace.program import Program
from tutor.trace.state import OpState, PassState, Site, State

KEYFRAME = 256
"""Events between two keyframes of a short run: what `at` replays at the most."""

KEYFRAME_SHARE = 16
"""In a long run keyframes lie a 16th of its length apart: each costs memory."""

NEAR = 16
"""Finer keyframes before the moment that was asked for last: the next is asked for nearby."""

_NOTED = frozenset({ev.Line, ev.Op, ev.GradRead, ev.Answer, ev.Truncated, ev.Finished, ev.Start})

T = TypeVar("T")

Outcome = Literal[
    "ok", "error", "exited", "timeout", "out-of-memory", "killed", "cancelled", "garbled"
]


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended, as the process that watched it saw it.

    `output` is all that came out on the descriptors, bounded (`lost` bytes were dropped).
    `message` says more where the end needs words ("stopped after 10 s").
    """

    outcome: Outcome
    code: int | None = None
    signal: int | None = None
    seconds: float = 0.0
    output: str = ""
    lost: int = 0
    message: str = ""


def _latest(keyframes: list[tuple[int, Checkpoint]], moment: int) -> tuple[int, Checkpoint]:
    """The last keyframe that is not after a moment (the beginning, where there is none)."""
    index = bisect_right(keyframes, moment, key=lambda frame: frame[0]) - 1
    return keyframes[index] if index >= 0 else (0, Checkpoint())


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

    Moments are numbers of events: `at(0)` is before the first, `at(len(trace))` the latest.
    """

    def __init__(self, program: Program | None = None) -> None:
        self.program = program
        self.end: End | None = None
        self.answers: dict[str, ev.Answer] = {}
        self.ops: list[OpState] = []
        """Every call kept, in order."""
        self.grad_reads: list[tuple[ev.GradRead, int, Site]] = []
        """(event, moment, site) of each read of `.grad` in user code."""
        self.truncated_values = 0
        self.truncated_events = 0
        self.finished: ev.Finished | None = None
        self.start: ev.Start | None = None
        self._events: list[AnyEvent] = []
        self._folder = Folder()
        self._keyframes: list[tuple[int, Checkpoint]] = [(0, Checkpoint())]
        self._near: list[tuple[int, Checkpoint]] = []
        self._next_keyframe = KEYFRAME
        self._last: State | None = None
        self._line_moments: list[int] = []

    # -- growing ---------------------------------------------------------------------

    def extend(self, events: Iterable[AnyEvent]) -> None:
        """Take the next events of the run."""
        folder = self._folder
        with _uncollected():
            for event in events:
                folder.add(event)
                self._events.append(event)
                if type(event) in _NOTED:
                    self._note(event)
                if folder.moment >= self._next_keyframe:
                    moment = folder.moment
                    self._keyframes.append((moment, folder.checkpoint()))
                    self._next_keyframe = moment + max(KEYFRAME, moment // KEYFRAME_SHARE)
        self._last = None

    def _note(self, event: AnyEvent) -> None:
        """Keep the events that are asked for by kind, whatever the moment."""
        match event:
            case ev.Line():
                self._line_moments.append(self._folder.moment)
            case ev.Op():
                assert self._folder.last_op is not None  # the fold has just seen it
                self.ops.append(self._folder.last_op)
            case ev.GradRead():
                self.grad_reads.append((event, self._folder.moment - 1, self._folder.site))
            case ev.Answer():
                self.answers[event.id] = event
            case ev.Truncated():
                self.truncated_values += event.values
                self.truncated_events += event.events
            case ev.Finished():
                self.finished = event
            case ev.Start():
                self.start = event

    # -- reading ---------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._events)

    @property
    def events(self) -> Sequence[AnyEvent]:
        return self._events

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
        if self._last is None:
            self._last = self._folder.state()
        return self._last

    def at(self, moment: int) -> State:
        """The state after the first `moment` events (clamped to what there is)."""
        moment = max(0, min(moment, len(self._events)))
        if moment == len(self._events):
            return self.last
        start, checkpoint = max(
            _latest(self._keyframes, moment), _latest(self._near, moment), key=lambda pair: pair[0]
        )
        if start == moment:
            return checkpoint.state
        folder = Folder(checkpoint)
        with _uncollected():
            fine = max(start, moment - NEAR * KEYFRAME)
            folder.feed(self._events[start:fine])
            if moment - start > KEYFRAME:
                self._near = []
            for cut in range(fine, moment, KEYFRAME):
                if moment - start > KEYFRAME:
                    self._near.append((cut, folder.checkpoint()))
                folder.feed(self._events[cut : min(cut + KEYFRAME, moment)])
            return folder.state()

    @property
    def lines(self) -> Sequence[int]:
        """The moments right after each line event: what a step by line goes to."""
        return self._line_moments

    @property
    def passes(self) -> tuple[PassState, ...]:
        """The backward passes, in order."""
        return tuple(sorted(self.last.passes.values(), key=lambda p: p.moment))

    @property
    def raised(self) -> ev.Raised | None:
        """The exception that ended the program."""
        return self.last.raised

    @property
    def outcome(self) -> Outcome | None:
        return self.end.outcome if self.end else None

    def op(self, number: int) -> OpState | None:
        """The call with this number."""
        index = bisect_right(self.ops, number, key=lambda op: op.op) - 1
        if 0 <= index < len(self.ops) and self.ops[index].op == number:
            return self.ops[index]
        return None

    def of_kind(self, kind: type[T]) -> Iterator[tuple[int, T]]:
        """(moment, event) of each event of one type."""
        for moment, event in enumerate(self._events):
            if type(event) is kind:
                yield moment, event
