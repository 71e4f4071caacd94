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

    doc: Words = Field(description="A page of torch's documentation, like notes/autograd.")
    section: str = Field("", description="A heading of it.")


class Recall(Model):
    """A question that is asked again later."""

    id: Kebab = Field(description="Unique in the lesson.")
    ask: Words = Field(description="A short question.")
    answer: Words = Field(description="Its answer.")


class Lesson(Model):
    """One lesson file."""

    format: int = Field(ge=1, description="The number of the format: 1.")
    id: LessonId = Field(
        description="track.name, like folder and file. Never reused: progress is kept by it."
    )
    was: tuple[LessonId, ...] = Field((), description="Earlier ids of this lesson.")
    title: Words = Field(description="What the course list shows.")
    revision: int = Field(ge=1, description="Raised when a check changes its meaning.")
    level: Literal["intro", "core", "deep"] = Field(description="How much it asks for.")
    minutes: int = Field(ge=1, le=120, description="How long it takes.")
    status: Literal["draft", "beta", "active", "retired"] = Field(
        "active", description="How far it is."
    )
    authors: tuple[str, ...] = Field((), description="Who wrote it.")
    licence: str = Field("", description="If it is another than the pack's.")
    torch: str = Field(description='A range of versions, quoted: ">=2.13".')
    teaches: tuple[Kebab, ...] = Field(
        (), description="Concepts that are explained here, by their ids in concepts.yaml."
    )
    requires: tuple[Kebab, ...] = Field((), description="Concepts that an earlier lesson explains.")
    refs: tuple[Reference, ...] = Field((), description="Where to read on.")
    setup: str = Field("", description="Code that runs before every step's code.")
    carry: bool = Field(
        False, description="Whether later steps start from the code of earlier ones."
    )
    steps: tuple[Step, ...] = Field(min_length=1, description="What the learner does, in order.")
    recall: tuple[Recall, ...] = Field((), description="Questions that are asked again later.")

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

    meaning: Words = Field(description="What it is, in one sentence.")
    doc: str = Field("", description="A page of torch's documentation.")


class Track(Model):
    """A named row of lessons, in order."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")] = Field(
        description="The folder of the lessons."
    )
    title: Words = Field(description="What the course list shows.")
    lessons: tuple[LessonId, ...] = Field(
        min_length=1, description="The ids of the lessons, in order."
    )


class PackInfo(Model):
    """pack.yaml: what the pack is, and its lessons in order."""

    id: Kebab = Field(description="What the pack is called where it is installed.")
    title: Words = Field(description="What people call it.")
    format: int = Field(ge=1, description="The number of the format: 1.")
    version: Words = Field(description="The pack's own version, like 1.2.0.")
    licence: Words = Field(description="Under what terms it may be used, like CC-BY-4.0.")
    authors: tuple[str, ...] = Field(min_length=1, description="Who wrote it.")
    torch: str = Field(description='A range of versions, quoted: ">=2.13".')
    tracks: tuple[Track, ...] = Field(min_length=1, description="The lessons, in named rows.")


class Glossary(Model):
    """concepts.yaml: concept id to meaning."""

    concepts: dict[Kebab, Concept] = Field(description="For each concept what it means.")
