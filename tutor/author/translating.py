"""Files of translations: how far they are, made anew, and brought up to date."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tutor.lesson import Lesson, Pack
from tutor.lesson.translation import (
    UNWRITTEN,
    Overlay,
    String,
    faults_of,
    load_overlay,
    mark,
    overlay_path,
    strings_of,
)

LANGUAGE = re.compile(r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
"""A language tag: de, pt-BR."""


def status(pack: Pack, language: str) -> Iterator[str]:
    """How far the translation of each lesson is, in lines."""
    for lesson_id, lesson in pack.lessons.items():
        texts = strings_of(lesson)
        path = overlay_path(pack.folder, language, lesson_id)
        overlay = load_overlay(path, str(path))[0] if path.is_file() else None
        counts = {"ready": 0, "stale": 0, "missing": 0}
        for key, text in texts.items():
            counts[_state(overlay, key, text)] += 1
        orphans = len(set(overlay.strings) - set(texts)) if overlay else 0
        told = [f"{counts['ready']} of {len(texts)} ready"]
        told += [f"{counts[word]} {word}" for word in ("stale", "missing") if counts[word]]
        told += [f"{orphans} orphan{'s' * (orphans > 1)}"] if orphans else []
        yield f"{lesson_id}: {', '.join(told)}"


def _state(overlay: Overlay | None, key: str, text: str) -> str:
    string = overlay.strings.get(key) if overlay else None
    if string is None or not string.text.strip() or string.text.lstrip().startswith(UNWRITTEN):
        return "missing"
    return "ready" if string.of == mark(text) else "stale"


def extract(pack: Pack, language: str) -> list[Path]:
    """Write a file for each lesson that has none yet."""
    made = []
    for lesson_id, lesson in pack.lessons.items():
        path = overlay_path(pack.folder, language, lesson_id)
        if not path.exists():
            _write(path, lesson, {})
            made.append(path)
    return made


def sync(pack: Pack, language: str) -> Iterator[str]:
    """Add what is missing to the files that are there, and take out what belongs to no text.

    Translations that are stale stay, with their old mark. Yields what changed, in lines.
    """
    for lesson_id, lesson in pack.lessons.items():
        path = overlay_path(pack.folder, language, lesson_id)
        overlay = load_overlay(path, str(path))[0] if path.is_file() else None
        if overlay is None:
            continue
        texts = strings_of(lesson)
        added = [key for key in texts if key not in overlay.strings]
        orphans = [key for key in overlay.strings if key not in texts]
        if added or orphans:
            _write(path, lesson, overlay.strings)
            yield f"{lesson_id}: {len(added)} added, {len(orphans)} taken out"


def _write(path: Path, lesson: Lesson, known: dict[str, String]) -> None:
    lines = [f"lesson: {lesson.id}", "strings:"]
    for key, text in strings_of(lesson).items():
        string = known.get(key) or String(of=mark(text), text=f"{UNWRITTEN} {text}")
        lines += [f"  {key}:", f"    of: {json.dumps(string.of)}", *_block("text", string.text)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _block(key: str, text: str) -> list[str]:
    """A text under a key, as a block where YAML can hold it as one."""
    body = text.rstrip("\n").split("\n")
    if not text.strip() or body[0][:1].isspace() or any(not c.isprintable() for c in "".join(body)):
        return [f"    {key}: {json.dumps(text, ensure_ascii=False)}"]
    chomp = "|" if text.endswith("\n") else "|-"
    return [f"    {key}: {chomp}", *(f"      {line}" if line else "" for line in body)]


def wrong(pack: Pack, language: str) -> int:
    """How many things are not as they should be."""
    return sum(1 for _ in faults_of(pack.folder, language, pack.lessons, ""))
