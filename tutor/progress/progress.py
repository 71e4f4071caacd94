"""The learner's progress: kept in memory, written down as it happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tutor.progress.history import History, Key, StepStatus
from tutor.progress.log import Log
from tutor.progress.place import progress_file
from tutor.progress.records import (
    AnyRecord,
    Edited,
    Helped,
    Opened,
    Recalled,
    Skipped,
    Tried,
)

EDIT_DELAY = 0.5
"""Seconds after which an edit is on the disk: a key press does not wait for it."""


class Progress:
    """What the learner did and wrote.

    Never raises for a file that cannot be read or written: it then works in memory, and
    `problem` says so in words. Several programs may have the same file open.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        renames: Mapping[Key, Key] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[Key, str] = {}
        self._timer: threading.Timer | None = None
        self._log: Log | None = None
        self.problem: str | None = None
        records: list[AnyRecord] = []
        path = path or progress_file()
        try:
            self._log = Log(path)
            records = self._log.records
            if self._log.damaged:
                self.problem = (
                    f"{self._log.damaged} line(s) of {path} could not be read; the rest is here."
                )
        except OSError as error:
            self._lost(error)
        self._history = History(records, renames)

    # -- writing down -----------------------------------------------------------------

    def opened(self, lesson: str, step: str) -> None:
        """A step came on the screen."""
        self._add(Opened(self._clock(), lesson, step))

    def edited(self, lesson: str, step: str, code: str) -> None:
        """The code changed. Returns at once; on the disk within a second."""
        with self._lock:
            if self._history.step(lesson, step).code == code:
                return
            self._history.add(Edited(self._clock(), lesson, step, code))
            self._pending[lesson, step] = code
            if self._timer is None:
                self._timer = threading.Timer(EDIT_DELAY, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def tried(
        self,
        lesson: str,
        step: str,
        revision: int,
        status: str,
        *,
        code: str = "",
        answer: str = "",
        right: bool | None = None,
    ) -> None:
        """A try was decided; `status` is the verdict's."""
        self._add(Tried(self._clock(), lesson, step, revision, status, code, answer, right))

    def skipped(self, lesson: str, step: str, revision: int) -> None:
        """The learner took the solution and went on."""
        self._add(Skipped(self._clock(), lesson, step, revision))

    def helped(self, lesson: str, step: str, what: str) -> None:
        """A hint or the solution was shown."""
        self._add(Helped(self._clock(), lesson, step, what))

    def recalled(self, lesson: str, card: str, good: bool) -> None:
        """A recall card was answered."""
        self._add(Recalled(self._clock(), lesson, card, good))

    def flush(self) -> None:
        """Write down the edits that wait."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        """Write down what waits and close the file."""
        with self._lock:
            self._flush()
            if self._log is not None:
                self._log.close()
                self._log = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- asking -----------------------------------------------------------------------

    def status(self, lesson: str, step: str, revision: int) -> StepStatus:
        """Where a step stands, for the lesson at this revision."""
        return self._history.step(lesson, step).status(revision)

    def code(self, lesson: str, step: str) -> str | None:
        """The code of a step as the learner left it, None where it was never changed."""
        return self._history.step(lesson, step).code

    def tries(self, lesson: str, step: str) -> tuple[Tried, ...]:
        """The tries of a step, oldest first."""
        return tuple(self._history.step(lesson, step).tries)

    def hints(self, lesson: str, step: str) -> int:
        """How many hints of a step were shown."""
        return sum(what != "solution" for what in self._history.step(lesson, step).helped)

    def accepted(self, lesson: str, step: str) -> str | None:
        """The code with which a step was done last."""
        done = self._history.step(lesson, step).done
        return done.code if done is not None else None

    @property
    def place(self) -> Key | None:
        """(lesson, step) where the learner was last."""
        return self._history.place

    def finished(self, lesson: str, steps: Iterable[str]) -> bool:
        """Whether all these steps are done or skipped."""
        return self._history.finished_at(lesson, steps) is not None

    def due(self, cards: Iterable[tuple[str, str, tuple[str, ...]]]) -> tuple[Key, ...]:
        """Of (lesson, card, steps of the lesson), those (lesson, card) that are to be asked now.

        The longest due comes first.
        """
        now = self._clock()
        times = [
            (when, (lesson, card))
            for lesson, card, steps in cards
            if (when := self._history.due_at(lesson, card, steps)) is not None and when <= now
        ]
        return tuple(key for _, key in sorted(times))

    # -- inside -----------------------------------------------------------------------

    def _add(self, record: AnyRecord) -> None:
        with self._lock:
            self._flush()  # so that the file keeps the order of what happened
            self._history.add(record)
            self._write([record])

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._clock()
        waiting = [
            Edited(now, lesson, step, code) for (lesson, step), code in self._pending.items()
        ]
        self._pending.clear()
        self._write(waiting)

    def _write(self, records: list[AnyRecord] | list[Edited]) -> None:
        if self._log is None or not records:
            return
        try:
            self._log.extend(records)
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> None:
        """Go on in memory."""
        self._log = None
        where = f" ({error.filename})" if error.filename else ""
        self.problem = (
            f"Progress cannot be saved: {error.strerror or error}{where}. "
            "What you do is kept until you quit."
        )
