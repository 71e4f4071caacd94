"""Rows about the start: from the process to the first frame that a person can read."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.measure import Measure, Row, interleaved, milliseconds

COLUMNS, LINES = 120, 40
QUIT = b"\x11"
"""ctrl+q, which both apps end on."""

PATIENCE = 30.0


def first_text(command: Sequence[str], text: bytes, home: Path) -> float:
    """Seconds from the start of a command in a terminal until it has written this text.

    The command is then asked to quit. Raises SystemExit where the text does not come.
    """
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environ = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "AUTOGRAD_TUTOR_DATA": str(home / "data"),
        "AUTOGRAD_TUTOR_CONFIG": str(home / "config"),
    }
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True
    )
    os.close(theirs)
    try:
        seconds = _wait_for(ours, text, began)
        os.write(ours, QUIT)
        _drain(ours, process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(ours)
    return seconds


def _wait_for(terminal: int, text: bytes, began: float) -> float:
    written = b""
    while time.perf_counter() - began < PATIENCE:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                written += os.read(terminal, 65536)
            except OSError:  # the other end is closed: the app ended by itself
                break
            if text in written:
                return time.perf_counter() - began
    shown = written[-2000:].decode("utf-8", "replace")
    raise SystemExit(f"{shown}\nbench: {text.decode()!r} was never shown")


def _drain(terminal: int, process: subprocess.Popen[bytes]) -> None:
    """Read on until the process has ended, so that it never waits for us."""
    until = time.perf_counter() + 10
    while process.poll() is None and time.perf_counter() < until:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                os.read(terminal, 65536)
            except OSError:
                process.wait(5)


FIRST = b"What torch did"
"""The title of a pane, which the first frame of both apps shows."""

LESSON = b"step 1 of"
"""What our app shows as soon as it has read the lesson."""


def start(rounds: int) -> Iterator[Row]:
    """The command without arguments, against a Textual app of the same kinds of widgets."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)

        def opened(module: str, text: bytes) -> Measure:
            return lambda: first_text([sys.executable, "-m", module], text, home)

        first = interleaved(opened("tutor", FIRST), opened("bench.bare", FIRST), rounds)
        read = interleaved(opened("tutor", LESSON), opened("bench.bare", FIRST), rounds)
    yield Row(
        "process start → first frame", first.ratio, 1.3, held=True, detail=milliseconds(first)
    )
    yield Row("process start → lesson is read", read.ratio, None, detail=milliseconds(read))
