"""The program's output and warnings, seen in their order with everything else."""

from __future__ import annotations

import io
import sys
import warnings
from typing import Any

from tutor.observe.log import Log
from tutor.trace import events as ev

KEPT = 256 * 1024
"""Bytes of output that become events; all of it still goes to the descriptor."""


class _Tee(io.FileIO):
    """A raw stream that tells the log what passes."""

    def __init__(self, descriptor: int, log: Log, kept: list[int]) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._stream = descriptor
        self._log = log
        self._kept = kept

    def write(self, data: Any) -> int:
        written = super().write(data) or 0
        room = min(written, KEPT - self._kept[0])
        if room > 0:
            self._kept[0] += room
            text = bytes(data[:room]).decode("utf-8", "replace")
            if self._log.events and type(self._log.events[-1]) is ev.Output:
                last = self._log.events[-1]
                if last.stream == self._stream and len(last.text) < 4096:
                    text = last.text + text
                    self._log.events.pop()
            self._log.add(ev.Output(self._stream, text))
        return written


class Capture:
    """Stands between the program and its standard streams, and behind `warnings`."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._kept = [0]

    def start(self) -> None:
        """Replace the standard streams and listen to warnings that are shown."""
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        for name, descriptor, errors in (
            ("stdout", 1, "strict"),
            ("stderr", 2, "backslashreplace"),
        ):
            stream = io.TextIOWrapper(
                io.BufferedWriter(_Tee(descriptor, self._log, self._kept), 8192),
                encoding=encoding,
                errors=errors,
                line_buffering=True,
                write_through=name == "stderr",
            )
            stream.mode = "w"  # type: ignore[misc]
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        shown = warnings._showwarnmsg_impl  # type: ignore[attr-defined]

        def show(message: Any) -> None:
            self._log.add(
                ev.Warned(
                    message.category.__name__,
                    str(message.message)[:2000],
                    str(message.filename),
                    int(message.lineno),
                )
            )
            shown(message)

        warnings._showwarnmsg_impl = show  # type: ignore[attr-defined]

    def finish(self) -> None:
        """Push out what the program left in its streams."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                continue
