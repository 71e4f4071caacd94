"""Lessons in other languages: strings laid over a lesson, each with a mark of what it translates.

A file `i18n/<lang>/<track>/<name>.yaml` holds strings by key: `title`, `steps.<id>.text`,
`steps.<id>.choices.<id>.say`. `of` is a hash of the source text; where it no longer fits, or a
string is missing, the learner sees the source.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from tutor.lesson.document import Document, read
from tutor.lesson.faults import Fault
from tutor.lesson.fields import validated
from tutor.lesson.lesson import Lesson
from tutor.lesson.model import LessonId, Model, Words

RULES = {
    "W601": "stale-translation",
    "W602": "missing-translation",
    "W603": "orphan-translation",
    "W604": "translated-code",
}
"""The rules on translations: code to name."""

FOLDER = "i18n"
UNWRITTEN = "TODO"
"""A text that begins so was not translated yet."""

_SHOWN = {"title", "text", "after", "say", "ask", "answer", "why"}
"""Fields that a learner reads (of `answer`, those of the recall cards)."""


class String(Model):
    """One translated text."""

    of: Words = Field(description="The hash of the source text that this translates.")
    text: str = Field("", description="The translation.")


class Overlay(Model):
    """A file of translations of one lesson."""

    lesson: LessonId = Field(description="The lesson's id.")
    strings: dict[str, String] = Field(description="By key, like steps.first.text.")


def mark(text: str) -> str:
    """The hash of a source text, short enough to read."""
    return hashlib.sha256(text.strip().encode()).hexdigest()[:8]


def strings_of(lesson: Lesson) -> dict[str, str]:
    """Every text of a lesson that a learner reads, by key."""
    found = {"title": lesson.title}
    for step in lesson.steps:
        found.update(_texts(f"steps.{step.id}", step))
    for card in lesson.recall:
        found[f"recall.{card.id}.ask"] = card.ask
        found[f"recall.{card.id}.answer"] = card.answer
    return {key: text for key, text in found.items() if text.strip()}


def _texts(key: str, model: BaseModel) -> Iterator[tuple[str, str]]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, str):
            if name in _SHOWN - {"answer"}:
                yield f"{key}.{name}", value
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, BaseModel):
                    below = getattr(item, "id", None) or str(index + 1)
                    yield from _texts(f"{key}.{field.alias or name}.{below}", item)


def translated(lesson: Lesson, overlay: Overlay) -> Lesson:
    """The lesson with each string that is translated and not stale in its place."""
    source = strings_of(lesson)
    ready = {
        key: string.text
        for key, string in overlay.strings.items()
        if key in source and string.of == mark(source[key]) and _written(string)
    }
    steps = tuple(_laid_over(f"steps.{step.id}", step, ready) for step in lesson.steps)
    recall = tuple(
        card.model_copy(
            update={
                name: ready.get(f"recall.{card.id}.{name}", getattr(card, name))
                for name in ("ask", "answer")
            }
        )
        for card in lesson.recall
    )
    title = ready.get("title", lesson.title)
    return lesson.model_copy(update={"title": title, "steps": steps, "recall": recall})


def _written(string: String) -> bool:
    return bool(string.text.strip()) and not string.text.lstrip().startswith(UNWRITTEN)


def _laid_over(key: str, model: Any, ready: Mapping[str, str]) -> Any:
    update: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, str) and f"{key}.{name}" in ready and name in _SHOWN - {"answer"}:
            update[name] = ready[f"{key}.{name}"]
        elif isinstance(value, tuple) and any(isinstance(item, BaseModel) for item in value):
            update[name] = tuple(
                _laid_over(
                    f"{key}.{field.alias or name}.{getattr(item, 'id', None) or index + 1}",
                    item,
                    ready,
                )
                for index, item in enumerate(value)
            )
    return model.model_copy(update=update) if update else model


# -- files ------------------------------------------------------------------------------------


def languages(folder: Path) -> list[str]:
    """The languages that a pack has files for."""
    return sorted(p.name for p in (folder / FOLDER).glob("[!.]*") if p.is_dir())


def overlay_path(folder: Path, language: str, lesson_id: str) -> Path:
    """Where a lesson's translation lies."""
    return folder / FOLDER / language / f"{lesson_id.replace('.', '/', 1)}.yaml"


def load_overlay(path: Path, shown: str) -> tuple[Overlay | None, Document, list[Fault]]:
    """A file of translations (None where its data does not fit), its text, its faults."""
    document = read(path, shown)
    overlay, found = validated(Overlay, document)
    return overlay, document, [*document.faults, *found]


def faults_of(
    folder: Path, language: str, lessons: Mapping[str, Lesson], shown: str
) -> Iterator[Fault]:
    """Everything that is not so in the translations of a pack into one language."""
    known = set()
    for path in sorted((folder / FOLDER / language).glob("*/[!.]*.yaml")):
        name = path.relative_to(folder).as_posix()
        named = f"{shown.rstrip('/')}/{name}" if shown else name
        overlay, document, found = load_overlay(path, named)
        yield from found
        lesson_id = f"{path.parent.name}.{path.stem}"
        known.add(lesson_id)
        lesson = lessons.get(lesson_id)
        if lesson is None:
            yield _fault(document, ("lesson",), "W603", f"the pack has no lesson {lesson_id}")
        elif overlay is not None:
            yield from _of_lesson(document, overlay, lesson)


def _of_lesson(document: Document, overlay: Overlay, lesson: Lesson) -> Iterator[Fault]:
    source = strings_of(lesson)
    for key, string in overlay.strings.items():
        loc = ("strings", key)
        if key not in source:
            message = f'the lesson has no text "{key}"'
            yield _fault(document, loc, "W603", message, key=True)
        elif not _written(string):
            yield _fault(document, loc, "W602", f'"{key}" is not translated yet', key=True)
        elif string.of != mark(source[key]):
            message = f'the source of "{key}" changed ({string.of} → {mark(source[key])})'
            help = f"once the text fits again, write of: {mark(source[key])}"
            yield _fault(document, (*loc, "of"), "W601", message, help)
        elif _code_in(string.text) != _code_in(source[key]):
            wanted = ", ".join(f"`{code}`" for code in _code_in(source[key])) or "none"
            message = f'the code in "{key}" is not that of the source'
            yield _fault(document, (*loc, "text"), "W604", message, f"code there: {wanted}")
    for key in source:
        if key not in overlay.strings:
            yield _fault(document, ("strings",), "W602", f'"{key}" is not translated', key=True)


def _code_in(text: str) -> list[str]:
    """What stands in backticks."""
    return sorted(re.findall(r"`([^`]+)`", text))


def _fault(
    document: Document,
    loc: tuple[str, ...],
    code: str,
    message: str,
    help: str = "",
    *,
    key: bool = False,
) -> Fault:
    node = document.node(loc, key=key)
    line, column, width = (node.line, node.column, node.width) if node else (0, 0, 1)
    return document.text.fault(line, column, (code, RULES[code]), message, help=help, width=width)
