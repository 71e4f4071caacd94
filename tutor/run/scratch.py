"""The folder that a snippet runs in: fresh for each run, gone after it."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile

PREFIX = "autograd-tutor-"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def make_scratch() -> str:
    """A new empty folder that only this user may enter; its name cannot be foreseen."""
    return tempfile.mkdtemp(prefix=PREFIX)


def remove_scratch(path: str) -> None:
    """Remove a folder and all that is in it, whatever a program made of it.

    Links are removed, never followed. One folder is open at a time and the way back is `..`,
    so no depth of nesting is too much. Errors leave the rest behind.
    """
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return
        os.chmod(path, 0o700)
        _empty(os.open(path, _FOLDER))
        os.rmdir(path)


def _empty(folder: int) -> None:
    """Remove what is in an open folder, and close it."""
    names: list[str] = []
    pending = [_remove_files(folder)]
    try:
        while True:
            if pending[-1]:
                names.append(pending[-1].pop())
                os.chmod(names[-1], 0o700, dir_fd=folder)
                folder = _move(folder, names[-1])
                pending.append(_remove_files(folder))
                continue
            pending.pop()
            if not pending:
                return
            folder = _move(folder, "..")
            os.rmdir(names.pop(), dir_fd=folder)
    finally:
        os.close(folder)


def _remove_files(folder: int) -> list[str]:
    """Remove all but the folders in an open folder; returns the names of those."""
    inner = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                inner.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=folder)
    return inner


def _move(folder: int, name: str) -> int:
    """Open a folder beside this one, and close this one."""
    moved = os.open(name, _FOLDER, dir_fd=folder)
    os.close(folder)
    return moved
