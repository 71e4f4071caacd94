"""Lines in, lines out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import TextIO


def _readable(text: str) -> str:
    """Text with a replacement character for every byte that was no text (a lone surrogate)."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class Talk:
    """A conversation by lines. What comes from a pipe is echoed, so that a log reads well."""

    def __init__(self, source: TextIO | None = None, target: TextIO | None = None) -> None:
        self._source = source or sys.stdin
        if isinstance(self._source, TextIOWrapper):  # bytes that are no text: see _readable
            self._source.reconfigure(errors="surrogateescape")
        self._target = target or sys.stdout
        self.interactive = self._source.isatty()

    def say(self, *lines: str) -> None:
        """Print lines."""
        for line in lines:
            try:
                self._target.write(line + "\n")
            except UnicodeEncodeError:
                encoding = self._target.encoding or "ascii"
                self._target.write(line.encode(encoding, "replace").decode(encoding) + "\n")
        self._target.flush()

    def tell(self, lines: Iterable[str]) -> None:
        """Print lines, and an empty one after them."""
        self.say(*lines, "")

    def ask(self, prompt: str = "> ") -> str | None:
        """The next line, without its end; None when there are no more."""
        self._target.write(prompt)
        self._target.flush()
        line = self._source.readline()
        if not line:
            self.say("")
            return None
        line = _readable(line.rstrip("\r\n"))
        if not self.interactive:
            self.say(line)
        return line

    def block(self, lines: list[str]) -> str | None:
        """Lines until one that is a single dot (two dots stand for one); None when cut off.

        They are put at the end of `lines`, where they are whatever interrupts the typing.
        """
        while True:
            line = self.ask("| ")
            if line is None:
                return None
            if line == ".":
                return "".join(f"{each}\n" for each in lines)
            lines.append(line[1:] if line.startswith("..") else line)
