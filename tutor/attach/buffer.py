"""The log of a watched region: events stay in this process, packed, and become a trace later."""

from __future__ import annotations

from tutor.observe.log import Log
from tutor.trace import Trace, wire

PACKED = 16 * 1024 * 1024
"""Bytes of events that wait to be folded: a short region pays nothing for it while it runs."""

LIVING = 2_000_000
"""Things that a trace may hold at one time; beyond that no more is taken."""


class Buffer(Log):
    """Keeps what is logged as packed frames, and folds them when they are asked for.

    A trace keeps of a long run the first and the last events, so memory is bounded; where the
    program itself holds more and more, the log closes at `LIVING`.
    """

    def __init__(self) -> None:
        super().__init__(-1)
        self.trace = Trace()
        self._frames: list[bytes] = []
        self._size = 0

    def _send(self, data: bytes) -> None:
        self._frames.append(data)
        self._size += len(data)
        if self._size > PACKED:
            self._fold()

    def finish(self) -> None:
        """Take no more: threads that go on are not told of."""
        self.flush()
        self.closed = True

    def folded(self) -> Trace:
        """The trace of all that was logged so far."""
        self.flush()
        self._fold()
        return self.trace

    def _fold(self) -> None:
        frames, self._frames, self._size = self._frames, [], 0
        reader = wire.Reader()
        for data in frames:
            self.trace.extend(reader.feed(data))
        if self.trace.size > LIVING:
            self.closed = True
