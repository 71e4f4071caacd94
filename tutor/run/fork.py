"""The fork back end: the host imports the observer once, and each child is a fork of it."""

from __future__ import annotations

import gc
import os
import socket
import warnings
from types import ModuleType

from tutor.run import system
from tutor.run.child import serve
from tutor.run.preload import load_observer


class Fork:
    """Makes children that have everything imported already."""

    def __init__(self) -> None:
        self._observer: ModuleType | None = None

    def prepare(self, observer: str) -> None:
        """Import what every run needs. Nothing here computes: see mechanics, section f."""
        self._observer = load_observer(observer)
        gc.collect()
        gc.freeze()  # Else every full collection in a child walks, and copies, torch's heap.

    def make_child(self, request: socket.socket) -> int:
        """Fork a child that serves `request`; returns its process id."""
        assert self._observer is not None
        warden = os.getpid()
        pid = fork()
        if pid == 0:
            system.die_with_parent()
            if os.getppid() != warden:
                os._exit(1)
            serve(request, self._observer)
        return pid


def fork() -> int:
    """`os.fork`, without Python's warning about threads that only libraries have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
