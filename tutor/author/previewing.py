"""A lesson as its learners see it, read anew whenever it is saved: by lines of text."""

from __future__ import annotations

import select
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tutor.author.watching import Watch
from tutor.lesson import Fault, Lesson, Pack, load_pack
from tutor.plain.session import Session
from tutor.plain.talk import Talk
from tutor.progress import Progress
from tutor.run import Runner

LOOK = 0.4
"""Seconds between two looks at the files."""


@dataclass
class Previewed:
    """The pack that is looked at, and the lesson of it."""

    folder: Path
    lesson_id: str
    language: str = ""

    def load(self) -> tuple[Pack, Lesson | None, tuple[Fault, ...]]:
        """The pack as it is on the disk, the lesson if it can be shown, and its faults."""
        pack = load_pack(self.folder, torch="", language=self.language)
        name = f"/{self.lesson_id.replace('.', '/', 1)}.yaml"
        faults = tuple(fault for fault in pack.faults if fault.path.endswith(name))
        return pack, pack.lesson(self.lesson_id), faults


class WatchingTalk(Talk):
    """A conversation that also hears when files were saved while it waits for a line."""

    def __init__(self, watch: Watch, source: TextIO | None, target: TextIO | None) -> None:
        super().__init__(source, target)
        self._watch = watch
        self._waited = source
        self.saved: Callable[[], None] = lambda: None

    def ask(self, prompt: str = "> ") -> str | None:
        while True:
            if self._watch.changed():
                self.saved()
            if self._has_line():
                return super().ask(prompt)

    def _has_line(self) -> bool:
        try:
            ready, _, _ = select.select([self._source], [], [], LOOK)
        except (OSError, ValueError):
            return True  # no file that can be waited for: the line is there, or the end
        return bool(ready)


def preview(
    previewed: Previewed,
    step: str = "",
    source: TextIO | None = None,
    target: TextIO | None = None,
) -> int:
    """Walk through a lesson until `quit`; after each save it is shown anew.

    Progress is kept in a folder that goes away. Returns the exit status.
    """
    talk = WatchingTalk(Watch(previewed.folder), source, target)
    pack, lesson, faults = previewed.load()
    if lesson is None:
        talk.tell([fault.shown() for fault in faults] or ["The lesson cannot be shown."])
        return 1
    with (
        tempfile.TemporaryDirectory(prefix="autograd-tutor-preview-") as folder,
        Progress(Path(folder) / "progress.jsonl") as progress,
        Runner() as runner,
    ):
        session = Session(talk, pack, runner, progress)

        def saved() -> None:
            fresh, again, wrong = previewed.load()
            talk.say("")
            if again is None:
                talk.tell([fault.shown() for fault in wrong] or ["The lesson is gone."])
            else:
                session.replace_pack(fresh, again)

        talk.saved = saved
        session.walk(lesson, step)
    return 0
