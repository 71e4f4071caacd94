"""The log: events on their way out of the observed process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from tutor.trace import events as ev
from tutor.trace import wire

BATCH = 1024
"""Events in one frame at the most."""

LINGER = 0.02
"""Seconds that an event may wait for company before it is sent."""


class Log:
    """Buffers events and writes them to a descriptor as frames.

    Writing blocks while the reader is behind, which bounds our memory. A descriptor that the
    program closed silences the log instead of raising into the program.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.events: list[ev.Event] = []
        self.add = self.events.append
        self._thread = 0
        self._threads: dict[int, int] = {threading.get_ident(): 0}
        self._sent = time.monotonic()
        self._pid = os.getpid()
        self.closed = False
        self.count = 0
        self.before: Callable[[], None] | None = None
        """Called before events are sent; it may add some."""

    def tick(self) -> None:
        """Send what waits if it is much, or old. Called between lines."""
        if len(self.events) >= BATCH or time.monotonic() - self._sent > LINGER:
            self.flush()

    def flush(self) -> None:
        """Send everything now."""
        self._sent = time.monotonic()
        if not self.events:
            return
        if self.before is not None:
            self.before()
        batch = self.events[:]
        self.events.clear()
        self.count += len(batch)
        if self.closed or os.getpid() != self._pid:  # a fork of the program is not observed
            return
        try:
            # A pass over a large graph adds all its events at once: more than a frame may hold.
            for start in range(0, len(batch), BATCH):
                self._send(wire.encode(batch[start : start + BATCH]))
        except (OSError, ValueError):
            self.closed = True

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def thread(self) -> None:
        """Say which thread the next events come from, if it is another one than before."""
        ident = threading.get_ident()
        number = self._threads.get(ident)
        if number is None:
            number = self._threads[ident] = len(self._threads)
        if number != self._thread:
            self._thread = number
            self.add(ev.Thread(number, threading.current_thread().name))
