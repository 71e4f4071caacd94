"""A pack of lessons as it was loaded: what can be opened, and every fault that was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tutor.lesson.document import Document, read
from tutor.lesson.faults import Fault, did_you_mean, ordered
from tutor.lesson.fields import validated
from tutor.lesson.lesson import FORMAT, Concept, Glossary, Lesson, PackInfo, Track
from tutor.lesson.model import LESSON_ID
from tutor.lesson.prerequisites import prerequisites
from tutor.lesson.rules import faults_of
from tutor.lesson.translation import load_overlay, overlay_path, translated
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
    faulty: Mapping[str, Lesson] = field(default_factory=dict)
    """Lessons left out because of faults, where their data has the right shape all the same."""
    glossary: Document | None = None
    """The file of the concepts, None where there is none."""
    file: Document | None = None
    """pack.yaml, None where there is none."""

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


def load_pack(
    folder: Path, torch: str | None = None, shown: str | None = None, language: str = ""
) -> Pack:
    """Load a pack: never raises for what its files hold, but lists all their faults.

    Lessons for another version of torch than `torch` (that which is installed) are left out.
    `shown` is what the paths in faults begin with ("" for nothing), the folder's name if None.
    Of a `language` that the pack is translated into, each string that is ready is used.
    """
    have = installed_torch() if torch is None else torch
    named = _Named(folder.name if shown is None else shown)
    faults: list[Fault] = []
    if not (folder / "pack.yaml").is_file():
        message = "there is no pack.yaml in this folder, so it is no pack of lessons"
        fault = Fault(shown or str(folder), 1, 1, "E220", "missing-file", message)
        return Pack(folder, None, {}, {}, {}, (fault,))
    info_document = read(folder / "pack.yaml", named("pack.yaml"))
    info, found = validated(PackInfo, info_document)
    faults += [*info_document.faults, *found]
    concepts, glossary = _concepts(folder, named, faults)

    lessons: dict[str, Lesson] = {}
    faulty: dict[str, Lesson] = {}
    shaped: dict[str, Lesson] = {}
    documents: dict[str, Document] = {}
    listed = _listed(info)
    for lesson_id in listed or _present(folder):
        path = _path(folder, lesson_id)
        if not path.is_file():
            faults.append(_missing(info_document, info, lesson_id, folder))
            continue
        lesson, document, found = load_lesson(path, lesson_id, named(lesson_id))
        documents[lesson_id] = document
        faults += found
        if lesson is not None:
            shaped[lesson_id] = lesson
            (faulty if found else lessons)[lesson_id] = lesson
    faults += _files(folder, named, None if info is None else listed)
    if info is not None:
        faults += _tracks(info_document, info)
        faults += _renamed(shaped, documents)
        faults += prerequisites(shaped, documents, concepts, whole=len(shaped) == len(listed))
    skipped = {
        lesson_id: reason
        for lesson_id, lesson in lessons.items()
        if (reason := misfit(lesson.torch, have)) is not None
    }
    taken = {
        name: _in_language(folder, language, lesson) if language else lesson
        for name, lesson in lessons.items()
        if name not in skipped
    }
    return Pack(
        folder,
        info,
        concepts or {},
        taken,
        documents,
        ordered(faults),
        skipped,
        faulty,
        glossary,
        info_document,
    )


def _in_language(folder: Path, language: str, lesson: Lesson) -> Lesson:
    path = overlay_path(folder, language, lesson.id)
    overlay = load_overlay(path, str(path))[0] if path.is_file() else None
    return translated(lesson, overlay) if overlay is not None else lesson


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


@dataclass(frozen=True)
class _Named:
    """What faults call the files of a pack."""

    start: str

    def __call__(self, name: str) -> str:
        """The name of a file, given by its own name or by a lesson's id."""
        file = name if name.endswith(".yaml") else f"{name.replace('.', '/', 1)}.yaml"
        return f"{self.start.rstrip('/')}/{file}" if self.start else file


def _path(folder: Path, lesson_id: str) -> Path:
    track, name = lesson_id.split(".", 1)
    return folder / track / f"{name}.yaml"


def _listed(info: PackInfo | None) -> list[str]:
    rows = info.tracks if info else ()
    return list(dict.fromkeys(lesson for track in rows for lesson in track.lessons))


def _present(folder: Path) -> list[str]:
    """The ids of the lesson files that lie in a pack's track folders."""
    return [
        f"{path.parent.name}.{path.stem}"
        for path in sorted(folder.glob("[!.]*/[!.]*.yaml"))
        if path.parent.name != "i18n"
    ]


def _files(folder: Path, named: _Named, listed: Sequence[str] | None) -> Iterator[Fault]:
    """Files that no track lists, and files whose name can be no lesson's."""
    for lesson_id in _present(folder):
        shown = named(lesson_id)
        if re.match(LESSON_ID, lesson_id) is None:
            message = f'"{shown.rsplit("/", 1)[-1]}" cannot be the name of a lesson\'s file'
            help = "folder and name are lower-case words joined by hyphens: inplace/two-views.yaml"
            yield Fault(shown, 1, 1, "E223", "file-name", message, help)
        elif listed is not None and lesson_id not in listed:
            message = f'"{lesson_id}" is in no track of pack.yaml'
            yield Fault(shown, 1, 1, "E221", "unlisted-file", message)
    for path in sorted(folder.glob("[!.]*/[!.]*.yml")):
        shown = named(f"{path.parent.name}/{path.name[:-4]}.yaml")[:-5] + ".yml"
        message = f'"{path.name}" is not read: the files of lessons end in .yaml'
        yield Fault(shown, 1, 1, "E223", "file-name", message, f"rename it to {path.stem}.yaml")


def _tracks(document: Document, info: PackInfo) -> Iterator[Fault]:
    """Lessons that stand in two places, and tracks of the same id."""
    lessons: set[str] = set()
    tracks: set[str] = set()
    for row, track in enumerate(info.tracks):
        if track.id in tracks:
            message = f'the id "{track.id}" was already given to a track'
            yield document.fault(("tracks", row, "id"), "E211", message)
        tracks.add(track.id)
        for index, lesson_id in enumerate(track.lessons):
            if lesson_id in lessons:
                message = f'"{lesson_id}" was already listed; a lesson has one place'
                yield document.fault(("tracks", row, "lessons", index), "E222", message)
            lessons.add(lesson_id)


def _renamed(lessons: Mapping[str, Lesson], documents: Mapping[str, Document]) -> Iterator[Fault]:
    """Earlier ids of lessons that another lesson has now, or had too."""
    owners: dict[str, str] = {lesson_id: lesson_id for lesson_id in lessons}
    for lesson_id, lesson in lessons.items():
        for index, earlier in enumerate(lesson.was):
            owner = owners.setdefault(earlier, lesson_id)
            if owner != lesson_id or earlier == lesson_id:
                message = f'"{earlier}" cannot be an earlier id: it belongs to {owner}'
                yield documents[lesson_id].fault(("was", index), "E217", message)


def _concepts(
    folder: Path, named: _Named, faults: list[Fault]
) -> tuple[Mapping[str, Concept] | None, Document | None]:
    """The glossary and its file; None where it has faults, which are all that is said then."""
    path = folder / "concepts.yaml"
    if not path.is_file():
        return {}, None
    document = read(path, named("concepts.yaml"))
    glossary, found = validated(Glossary, document)
    faults += [*document.faults, *found]
    return (glossary.concepts, document) if glossary else (None, document)


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
