"""What came of a run: its trace, and what `explain` found in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tutor.explain import Finding, lesson_of
from tutor.trace import Trace


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A run and its findings, the root cause first."""

    trace: Trace
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """The program came to its end, and no finding is an error or a warning."""
        end = self.trace.end
        ended = end is not None and (
            end.outcome == "ok" or (end.outcome == "exited" and end.code == 0)
        )
        return ended and all(one.severity == "note" for one in self.findings)


def installed_lessons(folder: Path | None = None) -> frozenset[str]:
    """The ids of the lessons in a folder (by default the one that comes with the package).

    An id is told from its place: `inplace/version-counter.yaml` is inplace.version-counter.
    """
    if folder is None:
        from tutor.locations import lessons_dir

        folder = lessons_dir()
    try:
        return frozenset(f"{path.parent.name}.{path.stem}" for path in folder.glob("*/*.yaml"))
    except OSError:
        return frozenset()


def with_lessons(found: Iterable[Finding], installed: Iterable[str]) -> tuple[Finding, ...]:
    """The findings with the lesson of each kind, where that lesson is installed."""
    known = frozenset(installed)
    told = []
    for one in found:
        lesson = lesson_of(one.kind)
        told.append(msgspec.structs.replace(one, lesson=lesson if lesson in known else None))
    return tuple(told)
