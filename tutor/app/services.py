"""What the app asks of the other rooms, behind one narrow door.

Importing this module imports none of them: the first frame is painted before lessons are read
(pydantic), and torch is never loaded here at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tutor.app.model.explanation import Words
from tutor.app.model.step import Standing
from tutor.explain.finding import Finding

if TYPE_CHECKING:
    from tutor.attempt.verdict import Answer, Attempt
    from tutor.lesson import AnyStep, Lesson, Pack
    from tutor.trace.trace import Trace

OnEvents = Callable[["Trace", Sequence[Any]], None]


class Cancel(Protocol):
    """Ends a run."""

    def set(self) -> None: ...


class Progress(Protocol):
    """What the learner did and wrote, kept on disk."""

    def standing(self, lesson: Lesson, step: str) -> Standing:
        """How a step stands."""

    def code(self, lesson: str, step: str) -> str | None:
        """The learner's latest code of a step; None where nothing was written."""

    def keep_code(self, lesson: str, step: str, code: str) -> None:
        """Write an edit down, so that it survives a crash."""

    def accepted(self, lesson: str, step: str) -> str | None:
        """The code with which a step was passed."""

    def tried(self, lesson: Lesson, step: str, attempt: Attempt) -> None:
        """A try was made; a verdict that is done makes the step done."""

    def hinted(self, lesson: str, step: str, count: int) -> None:
        """So many hints are shown."""

    def hints(self, lesson: str, step: str) -> int:
        """How many hints of a step are shown."""

    def marked(self, lesson: Lesson, step: str, standing: Standing) -> None:
        """A step was read or skipped."""

    def place(self) -> tuple[str, str] | None:
        """The lesson and step where the learner was."""

    def moved(self, lesson: str, step: str) -> None:
        """The learner is at this step now."""

    def close(self) -> None:
        """Nothing more is written."""


class Services(Protocol):
    """Everything that is not the screen."""

    @property
    def progress(self) -> Progress:
        """The learner's progress."""

    def pack(self) -> Pack:
        """The lessons; read at the first call."""

    def words(self, finding: Finding) -> Words:
        """The sentences of a finding."""

    def cancel(self) -> Cancel:
        """A new handle to end one run with."""

    def start(self) -> None:
        """Begin to make the process ready that runs programs."""

    def close(self) -> None:
        """End all runs and processes."""

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
