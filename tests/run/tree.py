"""Looking at processes from outside, as `ps` would."""

import time
from pathlib import Path


def state(pid: int) -> str:
    """The letter of /proc (R, S, T, Z…), or "" for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return ""


def alive(pid: int) -> bool:
    return state(pid) not in ("", "Z")


def gone_within(pids: list[int], seconds: float) -> list[int]:
    """Those that still live after so long: empty is what a test hopes for."""
    until = time.monotonic() + seconds
    while (left := [pid for pid in pids if alive(pid)]) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def below(root: int) -> list[int]:
    """All living processes below one, by a scan of /proc that is the test's own."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] != b"Z":
                parents[int(entry.name)] = int(fields[1])
    found: list[int] = []
    pending = [root]
    while pending:
        above = pending.pop()
        for pid, parent in parents.items():
            if parent == above:
                found.append(pid)
                pending.append(pid)
    return found


def wait_for(condition, seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True
