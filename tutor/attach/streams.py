"""What the program writes and which warnings it shows, told without standing in its way.

The standard streams stay the objects they are, a notebook's or a test's too: only their `write`
is stepped through, and only while the region is watched.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from tutor.observe.log import Log
from tutor.trace import events as ev

KEPT = 256 * 1024
"""Letters of output that become events; all of it still comes out."""

_MISSING = object()


def encodable(text: str) -> str:
    """The text as UTF-8 can hold it: lone surrogates are written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class Streams:
    """Listens to the standard streams and to `warnings`."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._kept = 0
        self._undo: list[Callable[[], None]] = []
        self.text: list[str] = []
        self.lost = 0

    def start(self) -> None:
        """Begin to listen."""
        self._listen(sys.stdout, 1)
        if sys.stderr is not sys.stdout:
            self._listen(sys.stderr, 2)
        shown = warnings._showwarnmsg_impl  # type: ignore[attr-defined]

        def show(message: Any) -> None:
            self._log.add(
                ev.Warned(
                    message.category.__name__,
                    encodable(str(message.message)[:2000]),
                    str(message.filename),
                    int(message.lineno),
                )
            )
            shown(message)

        def undo() -> None:
            if warnings._showwarnmsg_impl is show:  # type: ignore[attr-defined]
                warnings._showwarnmsg_impl = shown  # type: ignore[attr-defined]

        warnings._showwarnmsg_impl = show  # type: ignore[attr-defined]
        self._undo.append(undo)

    def stop(self) -> None:
        """Listen no more."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()

    def _listen(self, stream: Any, number: int) -> None:
        try:
            inner = stream.write
            own = vars(stream).get("write", _MISSING)
        except (AttributeError, TypeError):
            return

        def write(text: Any, *more: Any) -> Any:
            written = inner(text, *more)
            self._tell(number, text)
            return written

        try:
            stream.write = write
        except (AttributeError, TypeError):
            return  # it takes no other method: what it prints is not told

        def undo() -> None:
            if vars(stream).get("write") is write:
                if own is _MISSING:
                    del stream.write
                else:
                    stream.write = own

        self._undo.append(undo)

    def _tell(self, number: int, text: Any) -> None:
        if not isinstance(text, str) or not text:
            return
        if self._kept >= KEPT:
            self.lost += len(text)
            return
        text = encodable(text)
        self._kept += len(text)
        self.text.append(text)
        events = self._log.events
        last = events[-1] if events else None
        if type(last) is ev.Output and last.stream == number and len(last.text) < 4096:
            events.pop()
            text = last.text + text
        self._log.add(ev.Output(number, text))
