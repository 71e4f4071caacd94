"""The spare back end: each child is a new Python that imports everything before it is needed."""

from __future__ import annotations

import os
import socket
import sys
from typing import NoReturn

from tutor.run import system
from tutor.run.child import serve
from tutor.run.preload import load_observer
from tutor.run.start import start_python


class Spare:
    """Makes children by starting Python anew, for systems where torch does not survive a fork."""

    def __init__(self) -> None:
        self._observer = ""

    def prepare(self, observer: str) -> None:
        """Nothing is imported here: the host stays small."""
        self._observer = observer

    def make_child(self, request: socket.socket) -> int:
        """Start a child that serves `request`; returns its process id."""
        call = f"from tutor.run.spare import main; main({request.fileno()}, {self._observer!r}"
        return start_python(f"{call}, {os.getpid()})", (request.fileno(),)).pid


def main(request: int, observer: str, warden: int) -> NoReturn:
    """The whole life of a spare."""
    system.die_with_parent()
    if os.getppid() != warden:
        sys.exit(1)
    serve(socket.socket(fileno=request), load_observer(observer))
