"""The packs that a learner installed: where they lie, and which of them are trusted.

A pack is other people's code. It is opened only while its files are those that were trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from tutor.lesson.model import KEBAB, Model

SHELF = "packs.json"

KEPT = re.compile(
    r"^(?:pack\.yaml|concepts\.yaml|README(?:\.md|\.txt)?|LICEN[CS]E(?:\.md|\.txt)?"
    r"|[a-z][a-z0-9-]*/[a-z0-9-]+\.yaml"
    r"|i18n/[A-Za-z0-9-]+/[a-z][a-z0-9-]*/[a-z0-9-]+\.yaml)$"
)
"""The files that make a pack, as paths below its folder; all others are left out."""


class Shelved(Model):
    """What is known of an installed pack: `trusted` is the digest that was trusted, or ""."""

    title: str
    version: str
    source: str
    trusted: str = ""


class Shelf(Model):
    """The file that lists the installed packs by id."""

    packs: dict[str, Shelved] = Field(default_factory=dict)


def read_shelf(folder: Path) -> Shelf:
    """What is installed in a folder of packs; nothing where its list is missing or damaged."""
    try:
        shelf = Shelf.model_validate(json.loads((folder / SHELF).read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError, RecursionError):
        return Shelf()
    return Shelf(packs={k: v for k, v in shelf.packs.items() if re.fullmatch(KEBAB, k)})


def write_shelf(folder: Path, packs: Mapping[str, Shelved]) -> None:
    """Write the list anew, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    data = Shelf(packs=dict(sorted(packs.items()))).model_dump_json(indent=1)
    draft = folder / f".{SHELF}.{os.getpid()}"
    draft.write_text(f"{data}\n", encoding="utf-8")
    draft.replace(folder / SHELF)


def files_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files that make a pack: (path below its folder, file), in order; no links."""
    found = []
    for root, names, files in os.walk(folder):
        names[:] = [name for name in names if not Path(root, name).is_symlink()]
        for name in files:
            path = Path(root, name)
            below = path.relative_to(folder).as_posix()
            if KEPT.match(below) and path.is_file() and not path.is_symlink():
                found.append((below, path))
    yield from sorted(found)


def digest_of(folder: Path) -> str:
    """What tells whether any file of a pack has changed: a hash of all names and contents."""
    hashed = hashlib.sha256()
    for below, path in files_of(folder):
        data = path.read_bytes()
        hashed.update(f"{below}\0{len(data)}\0".encode())
        hashed.update(data)
    return hashed.hexdigest()


def trusted_packs(folder: Path) -> Iterator[tuple[str, Path]]:
    """The installed packs that are as they were when they were trusted: (id, folder)."""
    for pack_id, known in read_shelf(folder).packs.items():
        place = folder / pack_id
        try:
            if known.trusted and place.is_dir() and digest_of(place) == known.trusted:
                yield pack_id, place
        except OSError:
            continue
