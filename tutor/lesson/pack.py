"""A pack of lessons as it was loaded: what can be opened, and every fault that was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tutor.lesson.document import Document, read
from tutor.lesson.faults import Fault, did_you_mean, ordered
from tutor.lesson.fields import validated
from tutor.lesson.lesson import FORMAT, Concept, Glossary, Lesson, PackInfo, Track
from tutor.lesson.rules import faults_of
from tutor.lesson.versions import installed_torch, misfit


@dataclass(frozen=True)
class Pack:
    """Lessons in the order of their tracks; those with faults of their own are left out.

    `documents` holds the file of each lesson that could be read, for places in messages.
    """

    folder: Path
    info: PackInfo | None
    concepts: Mapping[str, Concept]
    lessons: Mapping[str, Lesson]
    documents: Mapping[str, Document]
    faults: tuple[Fault, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Lessons left out because they are for another torch, and why."""

    @property
    def title(self) -> str:
        return self.info.title if self.info else self.folder.name

    @property
    def tracks(self) -> tuple[Track, ...]:
        return self.info.tracks if self.info else ()

    def lesson(self, lesson_id: str) -> Lesson | None:
        """The lesson of this id, or of this earlier id."""
        known = self.lessons.get(lesson_id)
        if known is None:
            known = next((x for x in self.lessons.values() if lesson_id in x.was), None)
        return known

    def renames(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Earlier (lesson, step) ids to the present ones."""
        table = {}
        for lesson in self.lessons.values():
            for step in lesson.steps:
                for lesson_id in (lesson.id, *lesson.was):
                    for step_id in (step.id, *step.was):
                        if (lesson_id, step_id) != (lesson.id, step.id):
                            table[lesson_id, step_id] = (lesson.id, step.id)
        return table

    def after(self, lesson_id: str) -> Lesson | None:
        """The lesson that follows."""
        ids = list(self.lessons)
        place = ids.index(lesson_id) + 1 if lesson_id in ids else 0
        return self.lessons[ids[place]] if place < len(ids) else None


def load_pack(folder: Path, torch: str | None = None) -> Pack:
    """Load a pack: never raises for what its files hold, but lists all their faults.

    Lessons for another version of torch than `torch` (that which is installed) are left out.
    """
    have = installed_torch() if torch is None else torch
    faults: list[Fault] = []
    if not (folder / "pack.yaml").is_file():
        message = "there is no pack.yaml in this folder, so it is no pack of lessons"
        fault = Fault(str(folder), 1, 1, "E220", "missing-file", message)
        return Pack(folder, None, {}, {}, {}, (fault,))
    info_document = read(folder / "pack.yaml", _shown(folder, "pack.yaml"))
    info, found = validated(PackInfo, info_document)
    faults += [*info_document.faults, *found]
    concepts = _concepts(folder, faults)

    lessons: dict[str, Lesson] = {}
    documents: dict[str, Document] = {}
    listed = _listed(info)
    for lesson_id in listed or _present(folder):
        path = _path(folder, lesson_id)
        if not path.is_file():
            faults.append(_missing(info_document, info, lesson_id, folder))
            continue
        lesson, document, found = load_lesson(path, lesson_id, _shown(folder, lesson_id))
        documents[lesson_id] = document
        faults += found
        if lesson is not None and not found:
            lessons[lesson_id] = lesson
    for lesson_id in _present(folder):
        if info is not None and lesson_id not in listed:
            message = f'"{lesson_id}" is in no track of pack.yaml'
            faults.append(Fault(_shown(folder, lesson_id), 1, 1, "E221", "unlisted-file", message))
    if info is not None:
        faults += _prerequisites(lessons, documents, concepts)
    skipped = {
        lesson_id: reason
        for lesson_id, lesson in lessons.items()
        if (reason := misfit(lesson.torch, have)) is not None
    }
    taken = {name: lesson for name, lesson in lessons.items() if name not in skipped}
    return Pack(folder, info, concepts or {}, taken, documents, ordered(faults), skipped)


def load_lesson(
    path: Path, lesson_id: str, shown: str
) -> tuple[Lesson | None, Document, list[Fault]]:
    """One lesson file: the lesson (None where its data does not fit), its text, its faults."""
    document = read(path, shown)
    faults = list(document.faults)
    newer = _newer_format(document)
    if newer is not None:
        return None, document, [*faults, newer]
    lesson, found = validated(Lesson, document)
    faults += found
    if lesson is not None:
        faults += faults_of(lesson, document, lesson_id)
    return lesson, document, faults


def _shown(folder: Path, name: str) -> str:
    file = name if name.endswith(".yaml") else f"{name.replace('.', '/', 1)}.yaml"
    return f"{folder.name}/{file}"


def _path(folder: Path, lesson_id: str) -> Path:
    track, name = lesson_id.split(".", 1)
    return folder / track / f"{name}.yaml"


def _listed(info: PackInfo | None) -> list[str]:
    return [lesson for track in (info.tracks if info else ()) for lesson in track.lessons]


def _present(folder: Path) -> list[str]:
    """The ids of the lesson files that lie in a pack's track folders."""
    return [
        f"{path.parent.name}.{path.stem}"
        for path in sorted(folder.glob("*/*.yaml"))
        if path.parent.name != "i18n"
    ]


def _concepts(folder: Path, faults: list[Fault]) -> Mapping[str, Concept] | None:
    """The glossary; None where its file has faults, which are all that is said of it then."""
    path = folder / "concepts.yaml"
    if not path.is_file():
        return {}
    document = read(path, _shown(folder, "concepts.yaml"))
    glossary, found = validated(Glossary, document)
    faults += [*document.faults, *found]
    return glossary.concepts if glossary else None


def _newer_format(document: Document) -> Fault | None:
    node = document.node(("format",))
    if document.root is None or node is document.root or node is None:
        return None
    text = node.value if isinstance(node.value, str) else ""
    if not text.isdecimal() or int(text) <= FORMAT:
        return None
    message = f"this file has format {text}; this program reads up to format {FORMAT}"
    return document.fault(("format",), "E207", message, help="update autograd-tutor")


def _missing(document: Document, info: PackInfo | None, lesson_id: str, folder: Path) -> Fault:
    for row, track in enumerate(info.tracks if info else ()):
        if lesson_id in track.lessons:
            loc = ("tracks", row, "lessons", track.lessons.index(lesson_id))
            message = f'there is no file for "{lesson_id}"'
            return document.fault(
                loc, "E220", message, help=did_you_mean(lesson_id, _present(folder))
            )
    raise AssertionError(lesson_id)


def _prerequisites(
    lessons: Mapping[str, Lesson],
    documents: Mapping[str, Document],
    concepts: Mapping[str, Concept] | None,
) -> Iterator[Fault]:
    """Concepts nobody explains, and lessons that need what comes later or never."""
    teachers: dict[str, str] = {}
    for lesson_id, lesson in lessons.items():
        for concept in lesson.teaches:
            teachers.setdefault(concept, lesson_id)
    order = list(lessons)
    for lesson_id, lesson in lessons.items():
        document = documents[lesson_id]
        for key, names in (("teaches", lesson.teaches), ("requires", lesson.requires)):
            for index, concept in enumerate(names):
                if concepts is not None and concept not in concepts:
                    message = f'concepts.yaml has no "{concept}"'
                    near = did_you_mean(concept, sorted(concepts))
                    yield document.fault((key, index), "E403", message, help=near)
        for index, concept in enumerate(lesson.requires):
            teacher = teachers.get(concept)
            if concepts is not None and concept not in concepts:
                continue
            if teacher is None:
                message = f'needs "{concept}", which no lesson teaches'
                yield document.fault(("requires", index), "E401", message)
            elif order.index(teacher) >= order.index(lesson_id):
                message = f'needs "{concept}", first taught in {teacher}'
                yield document.fault(("requires", index), "E401", message)
