"""A request to end a run, made from another thread, a signal handler or the event loop."""

from __future__ import annotations

import contextlib
import socket
import threading


class Cancel:
    """Ends the runs that it was given to; a second `set` ends the grace of a script.

    `set` takes no lock and never blocks, so a signal handler may call it.
    """

    def __init__(self) -> None:
        self._count = 0
        self._wakers: tuple[socket.socket, ...] = ()
        self._lock = threading.Lock()

    @property
    def is_set(self) -> bool:
        return self._count > 0

    @property
    def insists(self) -> bool:
        """Set more than once: do not wait for the program to stop by itself."""
        return self._count > 1

    def set(self) -> None:
        """Ask; every waiting run wakes at once."""
        self._count += 1
        for waker in self._wakers:
            # A socket object, not a number: once closed it can never mean another file.
            with contextlib.suppress(OSError):
                waker.send(b"\0")

    def subscribe(self, waker: socket.socket) -> None:
        """Write a byte to this non-blocking socket at each `set` from now on."""
        with self._lock:
            self._wakers = (*self._wakers, waker)

    def unsubscribe(self, waker: socket.socket) -> None:
        """Undo `subscribe`."""
        with self._lock:
            self._wakers = tuple(known for known in self._wakers if known is not waker)
