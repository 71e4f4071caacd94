"""The processes that a warden or a host answers for, and how to end all of them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable

from tutor.run import system

PATIENCE = 2.0
"""Seconds after which a process that even SIGKILL does not end is left to the system."""


class Family:
    """Everything below this process. `statuses` are the wait statuses of those that ended."""

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}

    def reap(self) -> bool:
        """Collect what has ended. False where no child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.statuses[pid] = status

    def members(self, also: Iterable[int] = (), leave: Iterable[int] = ()) -> list[int]:
        """The processes below this one and below `also`, without `leave` and those below."""
        return system.descendants((os.getpid(), *also), leave)

    def end(self, also: Iterable[int] = (), leave: Iterable[int] = ()) -> int:
        """Kill all members and wait for them; returns how many there were.

        They are stopped before they are killed: a stopped process cannot fork, so the hunt
        comes to an end even where each process starts the next one and dies.
        """
        ended: set[int] = set()
        until = time.monotonic() + PATIENCE
        while self.reap() or not system.ADOPTS:
            living = self.members(also, leave)
            if not living or time.monotonic() > until:
                break
            fresh = [pid for pid in living if pid not in ended]
            for pid in fresh or living:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGSTOP if fresh else signal.SIGKILL)
            ended.update(fresh)
            if not fresh:
                time.sleep(0.001)
        return len(ended)


def end_strays(mark: int, leave: Iterable[int]) -> None:
    """Kill what bears a mark, without `leave` and what is below those, and see it gone.

    For processes that are nobody's any more: stopped first, as in `Family.end`.
    """
    stopped: set[int] = set()
    until = time.monotonic() + PATIENCE
    roots = tuple(leave)
    while time.monotonic() < until:
        known = {*roots, *system.descendants(roots)}
        living = [pid for pid in system.marked(mark) if pid not in known]
        if not living:
            return
        fresh = [pid for pid in living if pid not in stopped]
        for pid in fresh or living:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGSTOP if fresh else signal.SIGKILL)
        stopped.update(fresh)
        if not fresh:
            time.sleep(0.001)
