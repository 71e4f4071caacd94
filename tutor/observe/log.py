"""The log: events on their way out of the observed process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

# By name: a program that replaces these in their modules must not silence its own record.
from os import fstat, getpid, write
from threading import get_ident
from time import monotonic
from typing import Any

import msgspec

from tutor.trace import events as ev
from tutor.trace import wire

BATCH = 1024
"""Events in one frame at the most."""

LINGER = 0.02
"""Seconds that an event may wait for company before it is sent."""


class Log:
    """Buffers events and writes them to a descriptor as frames.

    Writing blocks while the reader is behind, which bounds our memory. A descriptor that the
    program closed, or put another file in the place of, silences the log instead of raising
    into the program or writing to its file.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._file = _identity(descriptor) if descriptor >= 0 else None
        self.events: list[ev.Event] = []
        self.add = self.events.append
        self._thread = 0
        self._threads: dict[int, int] = {get_ident(): 0}
        self._sent = monotonic()
        self._pid = getpid()
        self._lock = threading.Lock()
        self._writer = 0
        self.closed = False
        self.count = 0
        self.before: Callable[[], None] | None = None
        """Called before events are sent; it may add some."""

    def tick(self) -> None:
        """Send what waits if it is much, or old. Called between lines."""
        if len(self.events) >= BATCH or monotonic() - self._sent > LINGER:
            self.flush()

    def flush(self) -> None:
        """Send everything now. Frames of several threads come one after the other."""
        self._sent = monotonic()
        if not self.events:
            return
        if self.closed or getpid() != self._pid:  # a fork of the program is not observed
            self.events.clear()
            return
        if self.writing:
            return  # called from a signal handler, or while memory is freed
        if self.before is not None:
            self.before()
        with self._lock:
            self._writer = get_ident()
            batch = self.events[:]
            del self.events[: len(batch)]
            self.count += len(batch)
            try:
                # A pass over a large graph adds all its events at once.
                for start in range(0, len(batch), BATCH):
                    self._write(batch[start : start + BATCH])
            except (OSError, ValueError):
                self.closed = True
            finally:
                self._writer = 0

    @property
    def writing(self) -> bool:
        """This very thread is in the middle of a frame: nothing else may be written now."""
        return self._writer == get_ident()

    def _write(self, batch: Sequence[ev.Event]) -> None:
        """Write these as one frame, or as several where one would be too large to be read."""
        try:
            data = wire.encode(batch)
        except UnicodeEncodeError:
            data = wire.encode(_readable(msgspec.to_builtins(batch)))
        if len(data) > wire.MAX_FRAME:
            half = len(batch) // 2
            for part in (batch[:half], batch[half:]) if half else ():
                self._write(part)
            return  # A single event of that size says nothing that anybody could read.
        self._send(data)

    def _send(self, data: bytes) -> None:
        if _identity(self._descriptor) != self._file:
            raise OSError("the descriptor is another file now")
        view = memoryview(data)
        while view:
            view = view[write(self._descriptor, view) :]

    def thread(self) -> None:
        """Say which thread the next events come from, if it is another one than before."""
        ident = get_ident()
        number = self._threads.get(ident)
        if number is None:
            number = self._threads[ident] = len(self._threads)
        if number != self._thread:
            self._thread = number
            self.add(ev.Thread(number, threading.current_thread().name))


def _readable(data: Any) -> Any:
    """The same with `?` for each lone surrogate: a message may hold anything, UTF-8 may not."""
    if isinstance(data, str):
        return data.encode("utf-8", "replace").decode("utf-8")
    if isinstance(data, list | tuple):
        return [_readable(part) for part in data]
    return data


def _identity(descriptor: int) -> tuple[int, int]:
    """Which file a descriptor leads to. Raises OSError for one that is closed."""
    found = fstat(descriptor)
    return found.st_dev, found.st_ino
