"""The process that makes seats: a warden each, and a child that waits for a program."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from typing import Protocol

import msgspec

from tutor.run import system
from tutor.run.family import Family
from tutor.run.fork import Fork, fork
from tutor.run.protocol import MORE, RECORD, SEAT, SWEEP, SWEPT, Config
from tutor.run.spare import Spare
from tutor.run.warden import guard

PATIENCE = 5.0
"""Seconds that wardens get to clear up after the app is gone."""


class Backend(Protocol):
    """How children come to be: what differs between the back ends."""

    def prepare(self, observer: str) -> None:
        """Called once in the host."""

    def make_child(self, request: socket.socket) -> int:
        """Called in each warden; returns the child's process id."""


BACKENDS: dict[str, type[Backend]] = {"fork": Fork, "spare": Spare}


class Host:
    """Makes seats on demand, and sweeps up after a warden that was killed."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._app = socket.socket(fileno=config.control)
        self._backend = BACKENDS[config.backend]()
        self._family = Family()
        self._wardens: set[int] = set()
        self._wake, self._wake_end = os.pipe()

    def run(self) -> None:
        """Serve the app until it is gone."""
        system.adopt_orphans()
        system.mark(self._config.mark)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        system.end_when_closed(self._app.fileno())
        if self._abandoned():
            return
        self._backend.prepare(self._config.observer)
        system.stay_when_closed(self._app.fileno())
        for descriptor in (self._wake, self._wake_end):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self._wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        self._make_seat()
        self._serve()
        self._clear_up()

    def _abandoned(self) -> bool:
        """The app was gone before this process could ask to be told."""
        try:
            return not self._app.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False

    def _serve(self) -> None:
        poller = select.poll()
        poller.register(self._app, select.POLLIN)
        poller.register(self._wake, select.POLLIN)
        while True:
            ready = [number for number, _ in poller.poll()]
            if self._wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 4096)
                if self._reap():
                    self._family.end(leave=self._wardens)
            if self._app.fileno() in ready and not self._obey():
                return

    def _obey(self) -> bool:
        """Do what the app asks; False where it is gone."""
        try:
            commands = self._app.recv(4096)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for command in commands:
            if bytes((command,)) == MORE:
                self._make_seat()
            elif bytes((command,)) == SWEEP:
                self._reap()
                self._family.end(leave=self._wardens)
                self._app.send(RECORD.pack(SWEPT, 0))
        return bool(commands)

    def _reap(self) -> bool:
        """Collect what has ended; True where a warden did not end by itself."""
        self._family.reap()
        ended = {pid: self._family.statuses.pop(pid) for pid in list(self._family.statuses)}
        killed = any(status for pid, status in ended.items() if pid in self._wardens)
        self._wardens -= ended.keys()
        return killed

    def _make_seat(self) -> None:
        """Fork a warden, which makes its child, and give the app the sockets of both."""
        request, child_end = socket.socketpair()
        control, warden_end = socket.socketpair()
        warden = fork()
        if warden == 0:
            for descriptor in (self._wake, self._wake_end):
                os.close(descriptor)
            for sock in (self._app, request, control):
                sock.close()
            guard(warden_end, child_end, self._backend.make_child, self._config.limits)
        self._wardens.add(warden)
        with request, control, child_end, warden_end, contextlib.suppress(OSError):
            record = RECORD.pack(SEAT, warden)
            socket.send_fds(self._app, [record], [request.fileno(), control.fileno()])

    def _clear_up(self) -> None:
        """Wait for the wardens, which see that the app is gone, then end what is left."""
        until = time.monotonic() + PATIENCE
        while self._wardens and time.monotonic() < until:
            select.select([self._wake], [], [], 0.05)
            self._reap()
        self._family.end()


def main(config: str) -> None:
    """The whole life of a host."""
    Host(msgspec.json.decode(config, type=Config)).run()
