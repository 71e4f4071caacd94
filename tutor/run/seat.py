"""The app's side of a seat: a child that waits for a program, and the warden beside it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket

from tutor.run.protocol import END, GONE, READY


class Seat:
    """The two sockets of a seat. `warden` is a process id, good while `control` is open."""

    def __init__(self, warden: int, request: socket.socket, control: socket.socket) -> None:
        self.warden = warden
        self.request = request
        self.control = control
        for sock in (request, control):
            sock.setblocking(False)

    @property
    def alive(self) -> bool:
        """Nothing has been heard of its end."""
        return self._peek(self.control) is None

    @property
    def warm(self) -> bool:
        """The child waits for its program."""
        return self._peek(self.request) == READY and self.alive

    @staticmethod
    def _peek(sock: socket.socket) -> bytes | None:
        try:
            return sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def send(self, file: int, streams: tuple[int, int, int], events: int) -> bool:
        """Give the child its program; False where it is gone."""
        try:
            socket.send_fds(self.request, [b"\0"], [file, *streams, events])
        except OSError:
            return False
        return True

    def tell(self, command: bytes) -> None:
        """Send the warden a command."""
        with contextlib.suppress(OSError):
            self.control.send(command + END)
        self.nudge()

    def nudge(self) -> None:
        """Let the warden go on if somebody stopped it."""
        if self.alive:
            with contextlib.suppress(OSError):
                os.kill(self.warden, signal.SIGCONT)

    def gone(self) -> tuple[int, bytes, int] | bool:
        """The warden's last word, once it is there; False before, True where it died without."""
        try:
            data = self.control.recv(GONE.size)
        except BlockingIOError:
            return False
        except OSError:
            return True
        if len(data) < GONE.size:
            return True
        code, reason, left = GONE.unpack(data)
        return code, reason, left

    def kill_warden(self) -> None:
        """Kill the warden itself, whose child dies with it."""
        if self.alive:
            with contextlib.suppress(OSError):
                os.kill(self.warden, signal.SIGKILL)

    def withdraw(self) -> bytes:
        """Take the program back: the child cannot begin any more. Returns what it had said."""
        said = b""
        with contextlib.suppress(OSError):
            self.request.shutdown(socket.SHUT_RDWR)
            said = self.request.recv(4096)
        return said

    def close(self) -> None:
        """Let go of the seat; an unused one ends."""
        self.request.close()
        self.control.close()

    def leave(self, patience: float) -> None:
        """Let go, and wait until everything of the seat is gone (`patience` seconds at most)."""
        self.nudge()
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_WR)
            poller = select.poll()
            poller.register(self.control, 0)  # a hang-up is always reported
            poller.poll(patience * 1000)
        self.close()
