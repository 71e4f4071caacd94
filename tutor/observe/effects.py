"""What a script does to the world outside of itself: files, connections, other processes.

A script may be run a second time, to prove a fix, only if the first run left nothing behind.
Python's audit events tell of what Python opens; torch's own zip writer is C++ and told apart.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from tutor.observe.log import Log
from tutor.trace import events as ev

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATHS = frozenset(
    [
        "os.remove",
        "os.rename",
        "os.mkdir",
        "os.rmdir",
        "os.truncate",
        "os.link",
        "os.symlink",
        "os.chmod",
        "os.chown",
        "os.utime",
        "shutil.move",
        "shutil.rmtree",
        "sqlite3.connect",
    ]
)
_OTHERS = {
    "socket.connect": "connection",
    "socket.sendto": "connection",
    "subprocess.Popen": "process",
    "os.system": "process",
    "os.exec": "process",
    "os.posix_spawn": "process",
    "os.fork": "process",
    "os.forkpty": "process",
    "builtins.input": "input",
}
_ENOUGH = 64
"""Effects told at the most: one is enough to know."""


class Effects:
    """Tells of each effect once it is installed; there is no way to take it out again."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._told = 0
        self._temporary = tuple(
            {os.path.realpath(folder) + os.sep for folder in (tempfile.gettempdir(), "/dev")}
        )

        # A script that lies or runs in the temporary folder keeps what it writes beside itself.
        self._own = tuple(
            os.path.realpath(folder) + os.sep
            for folder in (os.getcwd(), sys.path[0] or os.getcwd())
        )

    def start(self) -> None:
        """Watch this process from now on."""
        sys.addaudithook(self._hear)

    def wrote(self, path: Any) -> None:
        """Tell of a file that is written, unless it is a temporary one."""
        if isinstance(path, int) or self._told >= _ENOUGH:
            return
        try:
            whole = os.path.realpath(os.fsdecode(path))
        except (TypeError, ValueError):
            whole = str(path)
        passing = whole.startswith(self._temporary) and not whole.startswith(self._own)
        if passing or "__pycache__" in whole:
            return
        self._tell("file", whole)

    def _tell(self, kind: str, what: str) -> None:
        self._told += 1
        self._log.add(ev.Effect(kind, what[:300]))

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        # Called for every audit event of the process, thousands a second: the way out is short.
        if event == "open":
            flags = args[2]
            if isinstance(flags, int) and flags & _WRITING:
                self.wrote(args[0])
        elif event in _PATHS:
            self.wrote(args[0])
        elif event in _OTHERS and self._told < _ENOUGH:
            self._tell(_OTHERS[event], str(args[:1])[:300])
