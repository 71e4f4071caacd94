"""The base of every model of the lesson format: frozen, closed, and strict about empty text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints


class UnknownId(ValueError):
    """A word that must be one of a known list is not; `known` is that list."""

    def __init__(self, message: str, word: str, known: Sequence[str]) -> None:
        super().__init__(message)
        self.word = word
        self.known = known


class Model(BaseModel):
    """Data of a lesson file: unknown keys are faults, nothing changes after loading."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


KEBAB = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
LESSON_ID = r"^[a-z][a-z0-9-]*\.[a-z][a-z0-9]*(-[a-z0-9]+)*$"

Kebab = Annotated[str, StringConstraints(pattern=KEBAB)]
"""An id: lower-case words joined by hyphens."""

LessonId = Annotated[str, StringConstraints(pattern=LESSON_ID)]
"""track.name, each of lower-case words joined by hyphens."""

Words = Annotated[str, StringConstraints(min_length=1)]
"""Text that must say something."""
