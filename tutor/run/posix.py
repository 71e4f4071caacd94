"""The same services as `linux`, as far as other Unix systems have them.

There is no subreaper and no death signal: descendants are those that `ps` still shows below
their root or in the session of one that was seen there.
"""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterable

ADOPTS = False

HURRY: int | None = None
"""No signal is free of other uses: the last events of a process that is ended are lost."""


def adopt_orphans() -> None:
    """Orphans go to the first process of the system; `descendants` finds them by session."""


def die_with_parent() -> None:
    """Not to be had: the warden ends its child when the app's end of its socket closes."""


def end_when_closed(descriptor: int) -> None:
    """Not to be had: the end of file is seen when the import is over."""


def stay_when_closed(descriptor: int) -> None:
    """Nothing to undo."""


def descendants(roots: Iterable[int], leave: Iterable[int] = ()) -> list[int]:
    """The processes below `roots`, and those in sessions led from there, without `leave`.

    The session of the first root, which is this process, is not one of those.
    """
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,sess="], capture_output=True, check=False, text=True
    )
    below: dict[int, list[int]] = {}
    session: dict[int, list[int]] = {}
    for line in listing.stdout.splitlines():
        try:
            pid, parent, leader = (int(field, 0) for field in line.split())
        except ValueError:
            continue
        below.setdefault(parent, []).append(pid)
        session.setdefault(leader, []).append(pid)
    pending = list(roots)
    first = pending[0]
    left = {first, *leave}
    found: list[int] = []
    while pending:
        pid = pending.pop()
        members = session.get(pid, []) if pid != first else []
        for below_pid in (*below.get(pid, ()), *members):
            if below_pid not in left:
                left.add(below_pid)
                found.append(below_pid)
                pending.append(below_pid)
    return found


def new_mark() -> int:
    """Not to be had."""
    return 0


def mark(number: int) -> None:
    """Not to be had."""


def marked(number: int) -> list[int]:
    """Not known."""
    return []


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    listing = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=False, text=True
    )
    return int(listing.stdout or 0) * 1024


def proportional(pid: int) -> int:
    """The same: what a page that is shared would count is not known."""
    return resident(pid)


def limit_memory(extra: int) -> None:
    """Let this process have `extra` bytes of data."""
    resource.setrlimit(resource.RLIMIT_DATA, (extra, extra))


def offer_to_oom_killer() -> None:
    """Not to be had."""


def oom_kills() -> int:
    """Not known."""
    return 0


def widen(pipe: int) -> None:
    """The pipe stays as it is."""
