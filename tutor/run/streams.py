"""What comes out of a run: its events into the trace, its output kept and passed on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from tutor.run.intake import Intake, OnEvents
from tutor.run.launch import EVENTS
from tutor.run.limits import Limits
from tutor.run.output import Output
from tutor.trace import Trace

OnOutput = Callable[[int, bytes], None]

CHUNK = 1024 * 1024
"""Bytes read at a time: all that a pipe holds."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is done in one step: seconds of decoding and folding, between two readings."""

    seconds: float


BLOCKING = Pace(0.01)
APP = Pace(0.004)
"""Between two turns of an event loop: a key press must not wait longer than a frame."""


class Streams:
    """The pipes of a run, read in small portions."""

    def __init__(
        self,
        trace: Trace,
        limits: Limits,
        pace: Pace,
        on_events: OnEvents | None,
        on_output: OnOutput | None,
    ) -> None:
        self.output = Output(limits.output_bytes)
        self.intake = Intake(trace, limits, on_events)
        self.pipes: dict[int, int] = {}
        """Read ends that are open, and what comes through each."""
        self.ended: list[int] = []
        """Read ends that gave their end of file, to be closed by whoever waited for them."""
        self._pace = pace
        self._on_output = on_output

    def sources(self) -> list[int]:
        """Descriptors to wait for: no more events while too many wait to be folded."""
        return [fd for fd, kind in self.pipes.items() if kind != EVENTS or not self.intake.full]

    def step(self) -> bool:
        """Take a chunk from each pipe and fold for a moment; True where more may be there."""
        more = False
        for descriptor, kind in list(self.pipes.items()):
            if kind == EVENTS and self.intake.full:
                continue
            try:
                data = os.read(descriptor, CHUNK)
            except BlockingIOError:
                continue
            if not data:
                del self.pipes[descriptor]
                self.ended.append(descriptor)
                continue
            more = True
            if kind == EVENTS:
                self.intake.feed(data)
                continue
            self.output.add(kind, data)
            if self._on_output is not None:
                self._on_output(kind, data)
        more = more or self.intake.busy
        self.intake.fold(self._pace.seconds)
        return more

    @property
    def events_ended(self) -> bool:
        """Nobody holds the writing end of the events' pipe any more."""
        return EVENTS not in self.pipes.values()

    def drop(self) -> list[int]:
        """Give up all pipes, which are the caller's to close."""
        dropped = [*self.pipes, *self.ended]
        self.pipes, self.ended = {}, []
        return dropped

    def mute(self) -> None:
        """Call nobody back from now on, and fold nothing more."""
        self._on_output = None
        self.intake.mute()
