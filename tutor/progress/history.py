"""What a list of records means: status, code and tries of each step, and what to ask again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tutor.progress.records import (
    AnyRecord,
    Edited,
    Helped,
    Opened,
    Recalled,
    Skipped,
    Tried,
)

StepStatus = Literal["new", "tried", "done", "skipped", "revised"]
Key = tuple[str, str]
"""(lesson id, step id)."""

DAY = 24 * 3600.0
INTERVALS = (1.0, 3.0, 7.0, 21.0, 60.0)
"""Days until a card is asked again, after so many good answers in a row."""

DONE = ("passed", "ran")


@dataclass(slots=True)
class StepHistory:
    """What is known of one step."""

    code: str | None = None
    tries: list[Tried] = field(default_factory=list)
    done: Tried | None = None
    """The latest try that counted as done."""
    skipped: Skipped | None = None
    helped: list[str] = field(default_factory=list)

    def status(self, revision: int) -> StepStatus:
        """Where the step stands, for the lesson at this revision."""
        if self.done is not None:
            return "done" if self.done.revision >= revision else "revised"
        if self.skipped is not None:
            return "skipped"
        return "tried" if self.tries else "new"


@dataclass(slots=True)
class CardHistory:
    """How a recall card went: good answers in a row, and when it was last asked."""

    streak: int = 0
    last: float = 0.0


class History:
    """A fold of records. `renames` maps earlier ids to present ones."""

    def __init__(
        self, records: Iterable[AnyRecord] = (), renames: Mapping[Key, Key] | None = None
    ) -> None:
        self._renames = dict(renames or {})
        self._steps: dict[Key, StepHistory] = {}
        self._cards: dict[Key, CardHistory] = {}
        self.place: Key | None = None
        """Where the learner was last."""
        self.last = 0.0
        for record in sorted(records, key=lambda record: record.at):
            self.add(record)

    def add(self, record: AnyRecord) -> None:
        """Take one record more."""
        self.last = max(self.last, record.at)
        if isinstance(record, Recalled):
            card = self._cards.setdefault((record.lesson, record.card), CardHistory())
            card.streak = card.streak + 1 if record.good else 0
            card.last = record.at
            return
        key = self._renames.get((record.lesson, record.step), (record.lesson, record.step))
        step = self._steps.setdefault(key, StepHistory())
        if isinstance(record, Opened):
            self.place = key
        elif isinstance(record, Edited):
            step.code = record.code
        elif isinstance(record, Tried):
            step.tries.append(record)
            if record.status in DONE:
                step.done = record
        elif isinstance(record, Skipped):
            step.skipped = record
        elif isinstance(record, Helped):
            step.helped.append(record.what)

    def step(self, lesson: str, step: str) -> StepHistory:
        """What is known of a step (an empty history where nothing is)."""
        return self._steps.get((lesson, step)) or StepHistory()

    def finished_at(self, lesson: str, steps: Iterable[str]) -> float | None:
        """When the last of these steps was done or skipped; None while one is open."""
        latest = 0.0
        for name in steps:
            known = self.step(lesson, name)
            ends = [end.at for end in (known.done, known.skipped) if end is not None]
            if not ends:
                return None
            latest = max(latest, min(ends))
        return latest

    def due_at(self, lesson: str, card: str, steps: Iterable[str]) -> float | None:
        """When a card of a lesson is to be asked; None while the lesson is not finished."""
        known = self._cards.get((lesson, card))
        if known is not None:
            return known.last + INTERVALS[min(known.streak, len(INTERVALS) - 1)] * DAY
        finished = self.finished_at(lesson, steps)
        return None if finished is None else finished + INTERVALS[0] * DAY
