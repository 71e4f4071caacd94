"""What Linux gives for watching over processes: subreapers, death signals, /proc."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import secrets
import signal
from collections.abc import Iterable

ADOPTS = True
"""A subreaper inherits orphans: no child left means no descendant left."""

HURRY: int | None = signal.SIGRTMAX - 3
"""The signal that asks a program's process for its last events; no program uses it by name."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_F_SETPIPE_SZ = 1031
_PAGE = os.sysconf("SC_PAGE_SIZE")

_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Be killed when the thread that forked this process ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_when_closed(descriptor: int) -> None:
    """Be ended by SIGIO when the other end closes, even in the middle of an import."""
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)


def stay_when_closed(descriptor: int) -> None:
    """Undo `end_when_closed`."""
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_NONBLOCK)


def descendants(roots: Iterable[int], leave: Iterable[int] = ()) -> list[int]:
    """The processes below `roots`, without `leave` and what is below those."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parent = _parent(name)
            if parent is not None:
                below.setdefault(parent, []).append(int(name))
    known = set(leave)
    found: list[int] = []
    pending = list(roots)
    while pending:
        for pid in below.get(pending.pop(), ()):
            if pid not in known:
                known.add(pid)
                found.append(pid)
                pending.append(pid)
    return found


def _parent(name: str) -> int | None:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            # The command, in brackets, may hold anything; the fields follow the last bracket.
            return int(file.read().rpartition(b")")[2].split(None, 2)[1])
    except (OSError, IndexError, ValueError):
        return None


def new_mark() -> int:
    """A number by which the processes of one runner can be known, 0 where there is none.

    It is a limit on signals that wait, which nobody comes near and nobody looks at: every
    process inherits it from the one that forked it, through any `exec`, and /proc shows it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_SIGPENDING)
    most = min(
        (limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY), default=1 << 20
    )
    return most - secrets.randbelow(most // 2) - 1 if most >= 1024 else 0


def mark(number: int) -> None:
    """Mark this process, and all that it will start."""
    if number:
        _, hard = resource.getrlimit(resource.RLIMIT_SIGPENDING)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_SIGPENDING, (number, hard))


def marked(number: int) -> list[int]:
    """The living processes that bear a mark, wherever they are."""
    wanted = str(number).encode()
    return [
        int(name)
        for name in os.listdir("/proc")
        if number and name.isdigit() and _waiting_signals(name) == wanted
    ]


def _waiting_signals(name: str) -> bytes:
    """The soft limit of a process on signals that wait; nothing for one that has ended."""
    try:
        with open(f"/proc/{name}/limits", "rb") as file:
            text = file.read()
        with open(f"/proc/{name}/stat", "rb") as file:
            state = file.read().rpartition(b")")[2].split(None, 1)[0]
    except (OSError, IndexError):
        return b""
    if state in b"ZX":
        return b""
    return text.partition(b"Max pending signals")[2].split(None, 1)[0]


def resident(pid: int) -> int:
    """Bytes of private memory that a process holds (what it shares with files not counted)."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            fields = file.read().split()
        return (int(fields[1]) - int(fields[2])) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0


def proportional(pid: int) -> int:
    """Bytes of memory that a process holds, its share of what it shares with others.

    Exact where `resident` counts a page once for each process of a fork, and far slower.
    """
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            line = next(line for line in file if line.startswith(b"Pss:"))
        return int(line.split()[1]) * 1024
    except (OSError, IndexError, ValueError, StopIteration):
        return 0


def limit_memory(extra: int) -> None:
    """Let this process grow by `extra` bytes.

    Its data is limited, not its address space: torch reserves far more addresses than it uses.
    """
    with open("/proc/self/status", "rb") as file:
        data = next(line for line in file if line.startswith(b"VmData:"))
    limit = int(data.split()[1]) * 1024 + extra
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def offer_to_oom_killer() -> None:
    """Be the first that the system ends when it runs out of memory."""
    # Where that is not allowed, the system chooses by size alone.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def oom_kills() -> int:
    """How many processes the system has ended for want of memory since it started."""
    try:
        with open("/proc/vmstat", "rb") as file:
            text = file.read()
        return int(text.partition(b"\noom_kill ")[2].split(None, 1)[0])
    except (OSError, IndexError, ValueError):
        return 0


def widen(pipe: int) -> None:
    """Make a pipe hold more, so that a program that prints much waits less."""
    # Where the user's quota of pipe pages is used up, the pipe stays as it is.
    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe, _F_SETPIPE_SZ, 1024 * 1024)
