"""The folder that a snippet runs in: fresh for each run, gone after it."""

from __future__ import annotations

import os
import stat
import tempfile

PREFIX = "autograd-tutor-"


def make_scratch() -> str:
    """A new empty folder that only this user may enter; its name cannot be foreseen."""
    return tempfile.mkdtemp(prefix=PREFIX)


def remove_scratch(path: str) -> None:
    """Remove a folder and all that is in it, whatever a program made of it.

    Links are removed, never followed. Inner folders are emptied into the outer one instead
    of being descended into, so no depth of nesting is too much. Errors leave the rest behind.
    """
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return
        moved = 0
        while _empty_once(path, moved):
            moved += 1
        os.rmdir(path)
    except OSError:
        return


def _empty_once(path: str, turn: int) -> bool:
    """Remove the files, and each folder after moving its entries up; True if any was moved."""
    os.chmod(path, 0o700)
    any_moved = False
    for number, name in enumerate(os.listdir(path)):
        inner = os.path.join(path, name)
        if not stat.S_ISDIR(os.lstat(inner).st_mode):
            os.unlink(inner)
            continue
        os.chmod(inner, 0o700)
        for count, entry in enumerate(os.listdir(inner)):
            os.rename(os.path.join(inner, entry), os.path.join(path, f"{turn}.{number}.{count}~"))
            any_moved = True
        os.rmdir(inner)
    return any_moved
