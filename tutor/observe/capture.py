"""The program's output and warnings, seen in their order with everything else."""

from __future__ import annotations

import io
import sys
import warnings
from contextlib import suppress
from typing import Any

from tutor.observe.log import Log
from tutor.trace import events as ev

KEPT = 256 * 1024
"""Bytes of output that become events; all of it still goes to the descriptor."""


class _Tee(io.BufferedWriter):
    """A buffer that tells the log what passes.

    Not the raw stream beneath it: a KeyboardInterrupt that came in a `write` of ours there, after
    the data went out, would have the buffer send them again.
    """

    def __init__(self, descriptor: int, log: Log, kept: list[int]) -> None:
        super().__init__(io.FileIO(descriptor, "wb", closefd=False), 8192)
        self._stream = descriptor
        self._log = log
        self._kept = kept

    def write(self, data: Any) -> int:
        written = super().write(data)
        room = min(written, KEPT - self._kept[0])
        if room > 0:
            self._kept[0] += room
            text = bytes(memoryview(data).cast("B")[:room]).decode("utf-8", "replace")
            with suppress(IndexError):  # another thread has sent them meanwhile
                last = self._log.events[-1]
                known = last if type(last) is ev.Output else None
                if known and known.stream == self._stream and len(known.text) < 4096:
                    self._log.events.pop()
                    text = known.text + text
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
                _Tee(descriptor, self._log, self._kept),
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
