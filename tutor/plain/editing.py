"""Getting code from the learner: an editor of theirs, lines, or a file."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tutor.plain.prose import numbered
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
            with interrupts_elsewhere():
                done = subprocess.run([*shlex.split(command), str(path)], check=False)
            status = done.returncode
        except (OSError, ValueError) as error:
            raise NoCode(f"The editor {command} cannot be started: {error}.") from None
        if status != 0:
            raise NoCode(f"The editor ended with {status}, so the code stays as it was.")
        return from_file(str(path))


@contextmanager
def interrupts_elsewhere() -> Iterator[None]:
    """Ctrl-C is for the program in front: without this it would end that, text and all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler, not SIG_IGN: a program that is started inherits what is ignored.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def edited(talk: Talk, code: str, typed: list[str]) -> str:
    """New code, from $VISUAL or $EDITOR at a terminal, else from lines. Raises `NoCode`.

    `typed` holds lines of an earlier, interrupted typing; it is gone on with, and holds what
    was typed when this one is interrupted too.
    """
    if talk.interactive and (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        return from_editor(code)
    if typed:
        talk.say("You typed before:", *numbered("\n".join(typed)))
        talk.say("Go on after these lines. A line with a single dot ends it.")
    else:
        talk.say("Type the whole code. A line with a single dot ends it.")
    try:
        text = talk.block(typed)
    except KeyboardInterrupt:
        talk.say("")
        if not typed:
            raise NoCode("Nothing was typed, so the code stays as it was.") from None
        lines = f"{len(typed)} line{'' if len(typed) == 1 else 's'}"
        raise NoCode(
            f"The code stays as it was, and what you typed is kept ({lines}). "
            "Type edit to go on after it, edit new to begin anew."
        ) from None
    typed.clear()
    if text is None:
        raise NoCode("The lines ended before a single dot, so the code stays as it was.")
    return text
