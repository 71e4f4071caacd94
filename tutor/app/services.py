"""What the app asks of the other rooms, behind one narrow door.

Importing this module imports none of them: the first frame is painted before lessons are read
(pydantic), and torch is never loaded in this process at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tutor.app.model.step import Standing

if TYPE_CHECKING:
    from tutor.app.model.fixes import Words
    from tutor.attempt.verdict import Answer, Attempt
    from tutor.explain.finding import Finding
    from tutor.lesson import AnyStep, Lesson, Pack
    from tutor.progress import Progress
    from tutor.trace.trace import Trace

OnEvents = Callable[["Trace", Sequence[Any]], None]


class Cancel(Protocol):
    """Ends a run."""

    def set(self) -> None: ...


class Services(Protocol):
    """Everything that is not the screen."""

    @property
    def progress(self) -> Progress:
        """The learner's progress; its file is read at the first use."""

    def pack(self) -> Pack:
        """The lessons; read at the first call."""

    def words(self, finding: Finding) -> Words:
        """The sentences of a finding."""

    def cancel(self) -> Cancel:
        """A new handle to end one run with."""

    def start(self) -> None:
        """Begin to make the process ready that runs programs."""

    @property
    def ready(self) -> bool:
        """Whether a run would start at once."""

    def close(self) -> None:
        """End all runs and processes, and write down what waits."""

    async def try_step(
        self,
        lesson: Lesson,
        step: AnyStep,
        code: str,
        answer: Answer,
        carried: Sequence[str],
        on_events: OnEvents,
        cancel: Cancel,
    ) -> Attempt:
        """Run one step's code and decide it."""

    async def explain(
        self, code: str, file: str, on_events: OnEvents, cancel: Cancel
    ) -> tuple[Trace, tuple[Finding, ...]]:
        """Run a code that belongs to no lesson, and say what happened."""


def answer_text(answer: Answer) -> str:
    """An answer on one line, for the record."""
    if isinstance(answer, dict):
        return ", ".join(f"{name}: {value}" for name, value in answer.items())
    if isinstance(answer, tuple):
        return " ".join(map(str, answer))
    return answer or ""


def standing(progress: Progress, lesson: Lesson, step: str) -> Standing:
    """How a step of a lesson stands."""
    return progress.status(lesson.id, step, lesson.revision)


def note_try(progress: Progress, lesson: Lesson, made: Attempt, sure: str = "") -> None:
    """Write a try down; `sure` is how sure the learner was, where that was asked."""
    text = answer_text(made.answer) + (f" (sure: {sure})" if sure else "")
    verdict = made.verdict
    progress.tried(
        lesson.id,
        made.step.id,
        lesson.revision,
        verdict.status,
        code=made.code,
        answer=text,
        right=verdict.chosen_right,
    )
