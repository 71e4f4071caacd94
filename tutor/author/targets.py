"""What the paths of an authoring command mean: packs, or some of their files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tutor.lesson import Fault, Lesson, Pack, load_pack


class NoTarget(ValueError):
    """A path that holds no lessons; the text says what to do."""


@dataclass(frozen=True)
class Target:
    """A pack that was named, by its folder or by some of its files (None for all of them)."""

    folder: Path
    only: frozenset[Path] | None = None

    @property
    def shown(self) -> str:
        """What faults call the folder: a path from the current folder, where it lies below."""
        path = os.path.relpath(self.folder)
        if path.startswith(os.pardir):
            path = str(self.folder)
        return "" if path == os.curdir else path.replace(os.sep, "/")

    def load(self) -> Pack:
        """The pack, whatever torch is installed."""
        return load_pack(self.folder, torch="", shown=self.shown)

    def picked(self, faults: Iterable[Fault]) -> tuple[Fault, ...]:
        """Those of the pack's faults that belong to the files asked for."""
        if self.only is None:
            return tuple(faults)
        start = self.folder
        names = {
            "/".join(filter(None, [self.shown, path.relative_to(start).as_posix()]))
            for path in self.only
        }
        return tuple(fault for fault in faults if fault.path in names)

    def lessons(self, pack: Pack) -> list[str]:
        """The ids of the lessons asked for, in the pack's order."""
        if self.only is None:
            return list(pack.lessons)
        asked = {f"{path.parent.name}.{path.stem}" for path in self.only}
        return [lesson_id for lesson_id in pack.lessons if lesson_id in asked]


def targets(paths: Sequence[Path]) -> list[Target]:
    """The packs that some paths name; the current folder where none is given.

    A path is a pack's folder, a folder inside it, or a file of it. Raises `NoTarget`.
    """
    found: dict[Path, set[Path] | None] = {}
    for path in paths or [Path()]:
        if not path.exists():
            raise NoTarget(f"There is no file or folder {path}.")
        whole = path.resolve()
        pack = pack_around(whole)
        if pack is None:
            if inner := sorted(whole.glob("*/pack.yaml")) if whole.is_dir() else []:
                for each in inner:
                    found[each.parent] = None
                continue
            raise NoTarget(
                f"{path} is no pack of lessons: there is no pack.yaml in it or above it. "
                "`autograd-tutor author new NAME` makes one."
            )
        if whole == pack:
            found[pack] = None
            continue
        files = set(whole.rglob("*.yaml")) if whole.is_dir() else {whole}
        known = found.get(pack, set())
        found[pack] = None if known is None else known | files
    return [
        Target(folder, None if only is None else frozenset(only)) for folder, only in found.items()
    ]


def files(paths: Sequence[Path]) -> list[Path]:
    """The YAML files of packs that some paths name. Raises `NoTarget`."""
    found: list[Path] = []
    for target in targets(paths):
        inside = [target.folder / "pack.yaml", target.folder / "concepts.yaml"]
        inside += sorted(target.folder.glob("[!.]*/[!.]*.yaml"))
        found += [p for p in inside if p.is_file() and (target.only is None or p in target.only)]
    return found


def lesson_at(path: Path) -> tuple[Pack, Lesson]:
    """The lesson of a file, with its pack. Raises `NoTarget` with the faults it has."""
    target = targets([path])[0]
    if not path.is_file():
        raise NoTarget(f"{path} is no lesson's file.")
    pack = target.load()
    for lesson_id in target.lessons(pack):
        return pack, pack.lessons[lesson_id]
    told = "\n".join(fault.shown() for fault in target.picked(pack.faults))
    raise NoTarget(told or f"{path} is no lesson's file.")


def pack_around(path: Path) -> Path | None:
    """The pack's folder that a path lies in or is."""
    for folder in (path, *path.parents):
        if (folder / "pack.yaml").is_file():
            return folder
    return None
