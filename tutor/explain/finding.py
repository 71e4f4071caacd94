"""What `explain` says: findings, their places and the fixes they propose.

A finding carries a message id and facts, never a finished sentence; `tutor.explain.messages`
turns them into words of the chosen language.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Severity = Literal["error", "warning", "note"]
PlaceRole = Literal["cause", "witness", "surfaced"]
Fact = str | int | float | bool | None | tuple[int, ...] | tuple[str, ...]


class Spot(msgspec.Struct, frozen=True):
    """A user line as it ran. `iteration` counts the enclosing loops, outermost first, from 1."""

    file: str
    line: int
    function: str
    iteration: tuple[int, ...] = ()


class FindingPlace(msgspec.Struct, frozen=True):
    """A place with a role. `stack` is the user's whole stack there, outermost first.

    `text` is the source line without indentation; `note` a few words for the end of the line;
    `moment` the moment of the trace it belongs to (None: a place that is not a moment).
    """

    role: PlaceRole
    file: str
    line: int
    function: str
    iteration: tuple[int, ...] = ()
    stack: tuple[Spot, ...] = ()
    text: str = ""
    note: str = ""
    moment: int | None = None


class Edit(msgspec.Struct, frozen=True):
    """Replace lines `line..end_line` of a file by `new` (`end_line = line - 1` inserts)."""

    file: str
    line: int
    end_line: int
    new: str


class Fix(msgspec.Struct, frozen=True):
    """A change that should make the finding go away.

    `verified` is True or False after it was run, None where it was not; `how` says which
    proof was made.
    """

    title: str
    edits: tuple[Edit, ...]
    verified: bool | None = None
    how: str = ""


class Finding(msgspec.Struct, frozen=True):
    """One thing that went wrong, or is worth knowing.

    `kind` is one of the registry's ids; `message` the id of its sentences; `facts` what they
    are made of. `lesson` is the id of the lesson that teaches it, if one is installed.
    """

    kind: str
    severity: Severity
    message: str
    facts: dict[str, Fact]
    places: tuple[FindingPlace, ...]
    fixes: tuple[Fix, ...] = ()
    lesson: str | None = None

    def at(self, role: PlaceRole) -> tuple[FindingPlace, ...]:
        """The places of one role, best first."""
        return tuple(place for place in self.places if place.role == role)
