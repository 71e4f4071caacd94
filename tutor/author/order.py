"""The order in which keys are written, for each place of a file."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tutor.lesson.document import Loc

_LESSON = [
    "format",
    "id",
    "was",
    "title",
    "revision",
    "level",
    "status",
    "minutes",
    "authors",
    "licence",
    "torch",
    "teaches",
    "requires",
    "refs",
    "setup",
    "carry",
    "steps",
    "recall",
]

_STEP = [
    "id",
    "was",
    "kind",
    "panes",
    "timeout",
    "seed",
    "text",
    "code",
    "editable",
    "starter",
    "starter_passes",
    "lines",
    "extra",
    "blanks",
    "choices",
    "answer",
    "questions",
    "sure",
    "checks",
    "mistakes",
    "hints",
    "solution",
    "also",
    "after",
]

_BELOW = {
    "mistakes": ["id", "when", "say", "example"],
    "hints": ["say", "when"],
    "choices": ["id", "text", "right", "holds", "say"],
    "questions": ["id", "text", "choices", "answer"],
    "blanks": ["answer", "also", "width"],
    "recall": ["id", "ask", "answer"],
    "refs": ["doc", "section"],
}

_PACK = ["id", "title", "format", "version", "licence", "authors", "torch", "tracks"]
_TRACK = ["id", "title", "lessons"]

CODE = frozenset(["setup", "code", "starter", "solution", "example", "also"])
"""Keys whose value is a program."""


def order_at(loc: Loc, keys: Collection[str]) -> Sequence[str] | None:
    """The order of the keys at a place, None where they stay as they are (checks, names)."""
    words = [part for part in loc if isinstance(part, str)]
    if not words:
        return _PACK if "tracks" in keys else _LESSON
    last = words[-1]
    if loc[-1] == last:  # a mapping that is itself a value, like `blanks`
        return None
    if words == ["steps"]:
        return _STEP
    if words == ["tracks"]:
        return _TRACK
    if {"checks", "when", "holds"} & set(words):
        return None
    return _BELOW.get(last)
