"""Getting code from the learner: an editor of theirs, lines, or a file."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from tutor.plain.talk import Talk

MAX_BYTES = 1_000_000


class NoCode(Exception):
    """There is no new code; the text says why."""


def from_file(name: str) -> str:
    """The text of a file. Raises `NoCode`."""
    path = Path(name).expanduser()
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise NoCode(f"{name} has {size} bytes; the most that is taken is {MAX_BYTES}.")
        data = path.read_bytes()
    except OSError as error:
        raise NoCode(f"{name} cannot be read: {error.strerror or error}.") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NoCode(f"{name} is not UTF-8 text. Save it as UTF-8 and try again.") from None
    if "\0" in text:
        raise NoCode(f"{name} holds a NUL character, so it is no Python.")
    return text


def from_editor(code: str) -> str:
    """The code after the learner's editor was closed. Raises `NoCode`."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    with tempfile.TemporaryDirectory(prefix="autograd-tutor-") as folder:
        path = Path(folder) / "snippet.py"
        path.write_text(code, encoding="utf-8")
        try:
            status = subprocess.run([*shlex.split(command), str(path)], check=False).returncode
        except (OSError, ValueError) as error:
            raise NoCode(f"The editor {command} cannot be started: {error}.") from None
        if status != 0:
            raise NoCode(f"The editor ended with {status}, so the code stays as it was.")
        return from_file(str(path))


def edited(talk: Talk, code: str) -> str:
    """New code, from $VISUAL or $EDITOR at a terminal, else from lines. Raises `NoCode`."""
    if talk.interactive and (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        return from_editor(code)
    talk.say("Type the whole code. A line with a single dot ends it.")
    text = talk.block()
    if text is None:
        raise NoCode("The lines ended before a single dot, so the code stays as it was.")
    return text
