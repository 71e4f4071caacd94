"""Rows of styled text: what every pane but the prose is made of.

A span carries a *role*, never a colour: the widget maps roles to styles of the theme.
Widths are in terminal cells, so that wide letters align.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from rich.cells import cell_len, set_cell_size

Role = Literal[
    "",
    "dim",
    "strong",
    "good",
    "bad",
    "warn",
    "code",
    "name",
    "op",
    "link",
    "new",
    "add",
    "cut",
    "key",
    "rail",
    "active",
]
"""What a text is: "link" can be followed, "new" just changed, "key" is a key to press, "rail" and
"active" are the slider's way and the chosen tab."""

ROLES: tuple[Role, ...] = tuple(role for role in get_args(Role) if role)


class Span(NamedTuple):
    """A piece of text in one style."""

    text: str
    role: Role = ""


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A line of a user file that a row leads to, and the moment it belongs to, if any."""

    file: str
    line: int
    moment: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a pane.

    `target` makes it a link to code; `action` names something else that Enter does ("fix 0",
    "fold 12", "more"). `key` tells the same row again after the pane was built anew.
    """

    spans: Spans = ()
    target: Target | None = None
    action: str = ""
    key: str = ""

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    @property
    def live(self) -> bool:
        """Whether Enter does something here."""
        return self.target is not None or bool(self.action)


BLANK = Row()


def width_of(spans: Iterable[Span]) -> int:
    """Cells these spans take."""
    return sum(cell_len(span.text) for span in spans)


def cut(spans: Spans, width: int, more: str = "…") -> Spans:
    """The spans within `width` cells; what is left out is told by the `more` sign."""
    if width_of(spans) <= width:
        return spans
    room = max(0, width - cell_len(more))
    kept: list[Span] = []
    for span in spans:
        size = cell_len(span.text)
        if size <= room:
            kept.append(span)
            room -= size
            continue
        if room:
            kept.append(Span(set_cell_size(span.text, room).rstrip(), span.role))
        break
    return (*kept, Span(more, "dim"))[: len(kept) + 1] if width > 0 else ()


def split(left: Spans, right: Spans, width: int, more: str = "…") -> Spans:
    """`left` and `right` at the two edges of a row; the left one gives way."""
    room = width - width_of(right)
    if right:
        room -= 1
    left = cut(left, room, more)
    return (*left, Span(" " * max(0, width - width_of(left) - width_of(right))), *right)


def _words(spans: Spans) -> Iterable[Span]:
    """The spans cut after each run of blanks, so that lines can break there."""
    for span in spans:
        start = 0
        text = span.text
        for index in range(1, len(text)):
            if text[index - 1] == " " and text[index] != " ":
                yield Span(text[start:index], span.role)
                start = index
        if text:
            yield Span(text[start:], span.role)


def wrap(spans: Spans, width: int, indent: str = "") -> list[Spans]:
    """The spans broken into lines of at most `width` cells, later lines indented.

    Breaks at blanks; a word that is longer than a line is cut into pieces.
    """
    width = max(4, width)
    indent = indent if cell_len(indent) < width - 3 else ""
    lines: list[list[Span]] = [[]]
    used = 0
    for word in _words(spans):
        text = word.text
        if used and used + cell_len(text.rstrip()) > width:
            lines.append([Span(indent)] if indent else [])
            used = cell_len(indent)
        while used + cell_len(text.rstrip()) > width:
            piece = set_cell_size(text, width - used).rstrip()
            lines[-1].append(Span(piece, word.role))
            text = text[len(piece) :]
            lines.append([Span(indent)] if indent else [])
            used = cell_len(indent)
        lines[-1].append(Span(text, word.role))
        used += cell_len(text)
    return [_trimmed(line) for line in lines]


def _trimmed(line: list[Span]) -> Spans:
    """The line without blanks at its end, neighbours of one role joined."""
    joined: list[Span] = []
    for span in line:
        if joined and joined[-1].role == span.role:
            joined[-1] = Span(joined[-1].text + span.text, span.role)
        elif span.text:
            joined.append(span)
    while joined and not (text := joined[-1].text.rstrip()):
        joined.pop()
    if joined:
        joined[-1] = Span(text, joined[-1].role)
    return tuple(joined)
