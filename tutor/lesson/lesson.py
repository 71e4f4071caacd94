"""A lesson, and what a pack says about itself."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tutor.lesson.model import Kebab, LessonId, Model, Words
from tutor.lesson.steps import AnyStep, Step

FORMAT = 1
"""The number of the format that this program reads."""


class Reference(Model):
    """A place in torch's documentation."""

    doc: Words
    section: str = ""


class Recall(Model):
    """A question that is asked again later."""

    id: Kebab
    ask: Words
    answer: Words


class Lesson(Model):
    """One lesson file."""

    format: int = Field(ge=1)
    id: LessonId
    was: tuple[LessonId, ...] = Field((), description="Earlier ids of this lesson.")
    title: Words
    revision: int = Field(ge=1, description="Raised when a check changes its meaning.")
    level: Literal["intro", "core", "deep"]
    minutes: int = Field(ge=1, le=120)
    status: Literal["draft", "beta", "active", "retired"] = "active"
    authors: tuple[str, ...] = ()
    licence: str = ""
    torch: str = Field(description='A range of versions, quoted: ">=2.13".')
    teaches: tuple[Kebab, ...] = ()
    requires: tuple[Kebab, ...] = ()
    refs: tuple[Reference, ...] = ()
    setup: str = Field("", description="Code that runs before every step's code.")
    carry: bool = False
    steps: tuple[Step, ...] = Field(min_length=1)
    recall: tuple[Recall, ...] = ()

    @property
    def track(self) -> str:
        """The part of the id before the dot."""
        return self.id.split(".")[0]

    def step(self, step_id: str) -> AnyStep | None:
        """The step of this id, or of this earlier id."""
        for step in self.steps:
            if step.id == step_id or step_id in step.was:
                return step
        return None


class Concept(Model):
    """One line of the glossary."""

    meaning: Words
    doc: str = ""


class Track(Model):
    """A named row of lessons, in order."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    title: Words
    lessons: tuple[LessonId, ...] = Field(min_length=1)


class PackInfo(Model):
    """pack.yaml: what the pack is, and its lessons in order."""

    id: Kebab
    title: Words
    format: int = Field(ge=1)
    version: Words
    licence: Words
    authors: tuple[str, ...] = Field(min_length=1)
    torch: str
    tracks: tuple[Track, ...] = Field(min_length=1)


class Glossary(Model):
    """concepts.yaml: concept id to meaning."""

    concepts: dict[Kebab, Concept]
