"""A mark beside a line of code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tutor.app.model.rows import Role

SEVERITIES: Mapping[str, Role] = {"error": "bad", "warning": "warn", "note": "dim"}
"""How each severity of a finding looks."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The sign of a line and its note; `word` is what the sign means."""

    glyph: str
    role: Role
    word: str
    note: str = ""
    note_role: Role = "dim"
