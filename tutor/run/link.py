"""The app's side of the host: starts it, replaces it when it dies, and hands out its seats."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import threading
from collections import deque
from typing import IO
from weakref import WeakSet

import msgspec

from tutor.run import system
from tutor.run.family import end_strays
from tutor.run.limits import Limits
from tutor.run.protocol import MORE, RECORD, SEAT, SWEEP, Config, nameless_file
from tutor.run.seat import Seat
from tutor.run.start import start_python

PATIENCE = 3.0
"""Seconds that the host gets to end by itself, and to sweep."""


class Link:
    """Seats, as they come from one host after another. Safe to use from several threads.

    `losses` counts the hosts that died; `fault` is what the last of them wrote.
    """

    def __init__(self, backend: str, observer: str, limits: Limits) -> None:
        self._backend = backend
        self._observer = observer
        self._limits = limits
        self._lock = threading.RLock()
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._seats: deque[Seat] = deque()
        self._queue: deque[object] = deque()
        self._coming = 0
        self._swept = 0
        self._mark = system.new_mark()
        self._taken: WeakSet[Seat] = WeakSet()
        self._closed = False
        self.losses = 0
        self.fault = ""

    def start(self) -> None:
        """Start the host, unless it runs."""
        with self._lock:
            if self._socket is not None or self._closed:
                return
            with contextlib.ExitStack() as undo:
                try:
                    ours, theirs = socket.socketpair()
                    undo.callback(ours.close)
                    with theirs:
                        errors = undo.enter_context(nameless_file())
                        self._process = start_python(
                            self._code(theirs.fileno()), (theirs.fileno(),), errors
                        )
                except OSError as error:
                    self.fault = str(error)
                    return
                undo.pop_all()
            ours.setblocking(False)
            self._socket, self._errors = ours, errors
            self._coming = 1  # a host makes its first seat unasked

    def _code(self, control: int) -> str:
        config = Config(control, self._backend, self._observer, self._limits, self._mark)
        return f"from tutor.run.host import main; main({msgspec.json.encode(config)!r})"

    @property
    def warm(self) -> bool:
        """A seat waits for its program."""
        self.poll()
        return any(seat.warm for seat in tuple(self._seats))

    @property
    def running(self) -> bool:
        """There is a host, or one is starting."""
        return self._socket is not None

    @property
    def last_words(self) -> str:
        """What the processes that make seats last complained of."""
        with self._lock:
            return self.fault if self._errors is None else self._read_errors() or self.fault

    def watch(self) -> socket.socket | None:
        """A socket of the caller's own that becomes readable when `poll` has something to do.

        None after `close`: nothing will come.
        """
        with self._lock:
            self.start()
            return None if self._socket is None else self._socket.dup()

    def take(self, who: object) -> Seat | None:
        """A seat, where there is one for `who`; it is the caller's to close.

        Who asked first is served first, and is remembered until it has its seat or leaves.
        """
        self.poll()
        with self._lock:
            if who not in self._queue:
                self._queue.append(who)
            if self._queue.index(who) >= len(self._seats):
                return None
            while self._seats:
                seat = self._seats.popleft()
                if seat.alive:
                    self._queue.remove(who)
                    self._taken.add(seat)
                    return seat
                seat.close()
        return None

    def leave(self, who: object) -> None:
        """Somebody wants no seat any more."""
        with self._lock, contextlib.suppress(ValueError):
            self._queue.remove(who)

    def ask(self) -> None:
        """Have a seat for each that waits, and at least one, waiting or on its way."""
        with self._lock:
            self.start()
            if self._socket is None:
                return
            wanted = max(len(self._queue), 1) - len(self._seats) - self._coming
            with contextlib.suppress(OSError):
                if wanted > 0:
                    self._coming += self._socket.send(MORE * wanted)

    def poll(self) -> None:
        """Take in what the host has sent; where it has died, start another."""
        with self._lock:
            while self._socket is not None:
                try:
                    data, descriptors, _, _ = socket.recv_fds(self._socket, RECORD.size, 2)
                except BlockingIOError:
                    return
                except OSError:
                    data, descriptors = b"", []
                if not data:
                    self._lose()
                    return
                kind, warden = RECORD.unpack(data)
                if kind == SEAT:
                    for number in descriptors:
                        os.set_inheritable(number, False)
                    request, control = (socket.socket(fileno=number) for number in descriptors)
                    self._seats.append(Seat(warden, request, control))
                    self._coming = max(0, self._coming - 1)
                else:
                    self._swept += 1

    def nudge(self) -> None:
        """Let the host go on if somebody stopped it."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(signal.SIGCONT)

    def sweep(self) -> None:
        """End what a killed warden left.

        The host has inherited it, and does that. Where the program killed the host as well,
        it is found by its mark.
        """
        with self._lock:
            self.nudge()
            before, losses = self._swept, self.losses
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.send(SWEEP)
                while self._swept == before and self.losses == losses:
                    if not select.select([self._socket], [], [], PATIENCE)[0]:
                        break
                    self.poll()
            wardens = [seat.warden for seat in (*self._seats, *self._taken) if seat.alive]
            hosts = [] if self._process is None else [self._process.pid]
            end_strays(self._mark, (*hosts, *wardens))

    def _lose(self) -> None:
        """The host is dead: keep what it wrote, and start another."""
        assert self._process is not None
        self.losses += 1
        self._process.kill()
        self._process.wait()
        self.fault = self._read_errors()
        self._disconnect()
        if self._process.returncode < 0:
            self.start()  # Killed: the next may do better. One that gave up would do so again.

    def _read_errors(self) -> str:
        """The last line that the host wrote to its standard error, usually an exception."""
        assert self._errors is not None
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 4096))
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None
        self._coming = 0

    def close(self) -> None:
        """End the host and every seat; returns when they are gone."""
        with self._lock:
            self._closed = True
            for seat in self._seats:
                seat.leave(PATIENCE)
            self._seats.clear()
            process = self._process
            self._disconnect()
            if process is None:
                return
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self._process = None
