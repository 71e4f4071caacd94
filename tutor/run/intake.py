"""From bytes to a growing trace: decoding and folding in slices, within a budget."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice

from tutor.run.limits import MIB, Limits
from tutor.trace import Trace
from tutor.trace.events import AnyEvent
from tutor.trace.trace import Outcome
from tutor.trace.wire import Garbled, Reader

OnEvents = Callable[[Trace, Sequence[AnyEvent]], None]

STEP = 64
"""Events folded between two looks at the clock."""

AHEAD = 8 * MIB
"""Bytes that may wait to be decoded, so that the program need not wait for us: about a second's
work, which is how much longer than its program a run may take."""

CHUNK = 32 * 1024
"""Bytes decoded at a time."""

USUAL = 512
"""Bytes that an event may have on the average; most have less than a hundred."""


class Intake:
    """Takes the bytes of a run's events. `fault` says why no more are taken, if so."""

    def __init__(self, trace: Trace, limits: Limits, on_events: OnEvents | None) -> None:
        self._trace = trace
        self._endless = trace.program is not None and trace.program.profile == "script"
        self._limits = limits
        self._on_events = on_events
        self._reader = Reader()
        self._waiting: deque[bytes] = deque()
        self._ahead = 0
        self._backlog: deque[AnyEvent] = deque()
        self._bytes = 0
        self._count = 0
        self._muted = False
        self.fault: tuple[Outcome, str] | None = None

    @property
    def busy(self) -> bool:
        """Something waits to be decoded or folded."""
        return bool(self._backlog or self._waiting)

    @property
    def full(self) -> bool:
        """So much waits that the program has to wait too."""
        return self._ahead >= AHEAD

    def feed(self, data: bytes) -> None:
        """Take these bytes; what comes after a fault is dropped."""
        if self.fault is not None or self._muted:
            return
        self._ahead += len(data)
        for start in range(0, len(data), CHUNK):
            self._waiting.append(data[start : start + CHUNK])

    def _decode(self) -> None:
        data = self._waiting.popleft()
        self._ahead -= len(data)
        self._bytes += len(data)
        try:
            while events := self._reader.feed(data):
                room = max(0, self._limits.events - self._count)
                self._backlog.extend(events if self._endless else events[:room])
                self._count += len(events)
                if self._endless:
                    self._bytes = max(0, self._bytes - USUAL * len(events))
                data = b""
        except Garbled as error:
            self.fault = ("garbled", f"What it sent as events is not readable: {error}.")
        limits = self._limits
        if self._endless:
            if self._bytes > limits.event_bytes:
                self.fault = ("killed", "What it did cannot be recorded: its events are too large.")
        elif self._bytes > limits.event_bytes or self._count > limits.events:
            self.fault = (
                "killed",
                f"It did more than can be recorded ({limits.events:,} events, or "
                f"{limits.event_bytes // MIB} MiB of them). Let its loops run less often.",
            )
        if self.fault is not None:
            self._waiting.clear()
            self._ahead = 0

    def mute(self) -> None:
        """Call nobody back, and fold nothing more."""
        self._on_events = None
        self._backlog.clear()
        self._waiting.clear()
        self._ahead = 0
        self._muted = True

    def fold(self, seconds: float) -> None:
        """Fold waiting events for about so long, then tell who listens."""
        if not self.busy:
            return
        until = time.monotonic() + seconds
        folded: list[AnyEvent] = []
        while self.busy:
            if not self._backlog:
                self._decode()
                continue
            part = list(islice(self._backlog, STEP))
            for _ in part:
                self._backlog.popleft()
            try:
                self._trace.extend(part)
            except Exception as error:  # Well-formed events of a hostile process may contradict.
                self._backlog.clear()
                self._waiting.clear()
                self.fault = ("garbled", f"Its events contradict each other: {error!r}.")
                break
            if self._on_events is not None:
                folded += part
            if time.monotonic() > until:
                break
        if self._trace.size > self._limits.living:
            self._backlog.clear()
            self._waiting.clear()
            self.fault = (
                "killed",
                "It holds more than can be recorded "
                f"({self._limits.living:,} tensors, graph nodes and the like). "
                "Let its loops run less often, or detach what it keeps.",
            )
        if self._on_events is not None and folded:
            self._on_events(self._trace, folded)
