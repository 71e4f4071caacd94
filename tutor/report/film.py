"""What a row says at each stop of a run: kept as few variants, each with its time."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple


class Piece(NamedTuple):
    """Text in one style: "", "dim", "strong", "name", "code", "good", "bad" or "warn"."""

    text: str
    style: str = ""


Line = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """A line that is true from stop `since` until before stop `until` (None: to the end)."""

    line: Line
    since: int = 0
    until: int | None = None

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.line)


Slot = tuple[Variant, ...]
"""The variants of one row, in the order of time; at most one is true at a stop."""


@dataclass(slots=True)
class Film:
    """Takes what rows say, stop after stop, and keeps what changes."""

    _told: dict[Hashable, list[Variant]] = field(default_factory=dict)

    def say(self, key: Hashable, stop: int, line: Line) -> None:
        """From this stop on a row says this; () is nothing."""
        told = self._told.setdefault(key, [])
        if told and told[-1].until is None:
            if told[-1].line == line:
                return
            told[-1] = Variant(told[-1].line, told[-1].since, stop)
            if told[-1].since == stop:
                told.pop()
        if line:
            told.append(Variant(line, stop))

    def slot(self, key: Hashable) -> Slot:
        """The variants of a row; () if it never says anything."""
        return tuple(self._told.get(key, ()))


def always(*pieces: Piece) -> Slot:
    """A row that says the same at every stop."""
    return (Variant(pieces),)
