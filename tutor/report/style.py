"""Colours of a terminal, the marks of the roles, and markdown in one line."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

MARKS = {"surfaced": "✗", "cause": "◆", "witness": "◇"}
"""As in the editor's gutter: where it came out, what to change first, what made it matter."""

ROLES = {"cause": "cause", "witness": "witness", "surfaced": "came out"}

_SGR = {
    "error": "31;1",
    "warning": "33;1",
    "note": "36;1",
    "surfaced": "31",
    "cause": "33;1",
    "witness": "36",
    "good": "32",
    "bad": "31",
    "dim": "2",
    "bold": "1",
    "code": "1",
}

_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*([^*\s][^*]*)\*")


@dataclass(frozen=True, slots=True)
class Style:
    """Paints text, or leaves it plain."""

    color: bool = False

    def paint(self, text: str, name: str) -> str:
        """The text in a named colour, where colours are on."""
        if not self.color or not text:
            return text
        return f"\x1b[{_SGR[name]}m{text}\x1b[0m"

    def inline(self, text: str) -> str:
        """Markdown of one line: code stays in backticks where there is no colour for it."""
        if not self.color:
            return _STRONG.sub(r"\1", text)
        text = _CODE.sub(lambda found: self.paint(found[1], "code"), text)
        return _STRONG.sub(r"\1", text)


def width(text: str) -> int:
    """Terminal cells of a plain text: wide characters take two, combining ones none."""
    cells = 0
    for letter in text:
        if unicodedata.combining(letter):
            continue
        cells += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
    return cells


def pad(text: str, cells: int) -> str:
    """The text with spaces up to a number of cells."""
    return text + " " * max(0, cells - width(text))


def clip(text: str, cells: int) -> str:
    """The text cut to a number of cells, with a sign where it was cut."""
    if width(text) <= cells:
        return text
    kept = ""
    for letter in text:
        if width(kept) + width(letter) > cells - 1:
            break
        kept += letter
    return kept + "…"


def wrap(text: str, cells: int) -> list[str]:
    """Lines of at most this many cells, broken at spaces; code in backticks stays together."""
    lines: list[str] = []
    current = ""
    for word in re.findall(r"`[^`]*`\S*|\S+", text):
        joined = f"{current} {word}" if current else word
        if current and width(joined) > cells:
            lines.append(current)
            current = word
        else:
            current = joined
    return [*lines, current] if current else lines
