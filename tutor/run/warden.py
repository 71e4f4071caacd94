"""The process that watches over one child, and leaves nothing of a run behind."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
import traceback
from collections.abc import Callable
from typing import NoReturn

from tutor.run import system
from tutor.run.family import Family
from tutor.run.limits import Limits
from tutor.run.protocol import (
    BY_ITSELF,
    END,
    FOLDER,
    GONE,
    INTERRUPT,
    KILL,
    TOO_MANY,
    TOO_MUCH,
    WATCH,
)
from tutor.run.scratch import remove_scratch

POLL_SECONDS = 0.1
"""How often the processes of a snippet are counted."""

LAST_WORDS = 0.25
"""Seconds that a program that is to be ended gets to send its last events."""


class Warden:
    """Watches a child until it has ended, then ends whatever it started."""

    def __init__(self, control: socket.socket, child: int, wake: int, limits: Limits) -> None:
        self._control = control
        self._child = child
        self._wake = wake
        self._limits = limits
        self._family = Family()
        self._commands = b""
        self._scratch: str | None = None
        self._base = 0
        self._next_count: float | None = None
        self._reason = BY_ITSELF

    def watch(self) -> None:
        """Return when the run is over, reported, and swept."""
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        poller.register(self._wake, select.POLLIN)
        while self._child not in self._family.statuses:
            pause = None
            if self._next_count is not None:
                pause = max(0.0, self._next_count - time.monotonic()) * 1000
            numbers = [number for number, _ in poller.poll(pause)]
            if self._wake in numbers:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 4096)
            if self._control.fileno() in numbers and not self._obey():
                break
            self._family.reap()
            if self._next_count is not None and time.monotonic() >= self._next_count:
                self._count()
                self._next_count = time.monotonic() + POLL_SECONDS
        left = self._family.end((self._child,))
        status = self._family.statuses.get(self._child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(status)
        if system.HURRY is not None and code == -system.HURRY:
            code = -signal.SIGKILL  # It had no handler, and was to be killed in any case.
        with contextlib.suppress(OSError):
            self._control.sendall(GONE.pack(code, self._reason, left))
        if self._scratch is not None:
            remove_scratch(self._scratch)

    def _obey(self) -> bool:
        """Take commands; False where the run is to be ended now."""
        try:
            data = self._control.recv(8192)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        *commands, self._commands = (self._commands + data).split(END)
        for command in commands:
            kind = command[:1]
            if kind == KILL:
                self._hurry()
                return False
            if kind == INTERRUPT:
                self._interrupt()
            elif kind == FOLDER:
                self._scratch = os.fsdecode(command[1:])
            elif kind == WATCH:
                self._base = system.resident(self._child)
                self._next_count = time.monotonic() + POLL_SECONDS
        return True

    def _hurry(self) -> None:
        """Let the child send what it has not sent yet; it kills itself when it has."""
        if system.HURRY is None:
            return
        with contextlib.suppress(OSError):
            os.kill(self._child, system.HURRY)
            os.kill(self._child, signal.SIGCONT)
        until = time.monotonic() + LAST_WORDS
        while self._child not in self._family.statuses:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._wake], [], [], left)[0]:
                return
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake, 4096)
            self._family.reap()

    def _interrupt(self) -> None:
        """What Ctrl-C does in a terminal: SIGINT to the whole group."""
        with contextlib.suppress(OSError):
            os.killpg(self._child, signal.SIGINT)

    def _count(self) -> None:
        """End the run where it has too many processes, or they hold too much memory."""
        members = self._family.members((self._child,))
        if len(members) - 1 > self._limits.descendants:
            self._reason = TOO_MANY
        elif self._hold_too_much(members):
            self._reason = TOO_MUCH
        else:
            return
        self._family.end((self._child,))

    def _hold_too_much(self, members: list[int]) -> bool:
        """The quick sum counts what forks share several times, so it only raises suspicion."""
        limit = self._limits.memory_bytes
        quick = sum(max(0, system.resident(pid) - self._base) for pid in members)
        return quick > limit and sum(map(system.proportional, members)) > limit + self._base


def guard(
    control: socket.socket,
    request: socket.socket,
    make_child: Callable[[socket.socket], int],
    limits: Limits,
) -> NoReturn:
    """Be the warden of a new child, in a process made for it, and end this process."""
    status = 1
    try:
        system.adopt_orphans()
        wake, wake_end = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _ignore)
        child = make_child(request)
        request.close()
        Warden(control, child, wake, limits).watch()
        status = 0
    except BaseException:  # It goes to the host's standard error, which the app reads.
        traceback.print_exc()
    finally:
        os._exit(status)


def _ignore(_number: int, _frame: object) -> None:
    """A handler, so that the signal writes to the wake-up pipe."""
