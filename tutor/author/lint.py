"""Every fault of some packs that can be found without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tutor.attempt.proofs import unproved
from tutor.author.advice import advice
from tutor.author.targets import targets
from tutor.author.todo import todos
from tutor.lesson import Fault, Pack, translation
from tutor.lesson.faults import ordered


@dataclass(frozen=True)
class Linted:
    """What was looked at, and what is wrong with it."""

    lessons: int
    faults: tuple[Fault, ...]


def lint(paths: Sequence[Path]) -> Linted:
    """Look through packs, or some files of them. Raises `NoTarget` for what is no pack."""
    found: list[Fault] = []
    lessons = 0
    for target in targets(paths):
        pack = target.load()
        found += target.picked(faults_of(pack, target.shown))
        lessons += len(pack.documents) if target.only is None else len(target.lessons(pack))
    return Linted(lessons, ordered(found))


def faults_of(pack: Pack, shown: str = "") -> tuple[Fault, ...]:
    """The faults and warnings of one pack that need no run."""
    found = [*pack.faults, *advice(pack)]
    for document in (pack.file, pack.glossary, *pack.documents.values()):
        found += [] if document is None else todos(document)
    for lesson_id, lesson in {**pack.lessons, **pack.faulty}.items():
        found += unproved(lesson, pack.documents[lesson_id])
    for language in translation.languages(pack.folder):
        lessons = {**pack.lessons, **pack.faulty}
        found += translation.faults_of(pack.folder, language, lessons, shown)
    return ordered(found)
