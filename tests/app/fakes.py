"""Services without processes: traces made by hand, progress in a file of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tutor.attempt.judge import decide
from tutor.attempt.verdict import (
    Answer,
    Attempt,
    CheckResult,
    ChoiceResult,
    QuestionResult,
    Verdict,
)
from tutor.explain import words
from tutor.explain.finding import Finding
from tutor.lesson import Evidence, Lesson, Pack, load_pack
from tutor.progress import Progress
from tutor.trace.trace import Trace

from . import made

PACK = Path(__file__).parent / "pack"


class Stop:
    """A cancel handle that remembers."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def set(self) -> None:
        self.event.set()


Runs = Callable[[str], tuple[Trace, tuple[Finding, ...], Verdict]]


def version_counter(code: str) -> tuple[Trace, tuple[Finding, ...], Verdict]:
    """What the runs of the lesson on version counters give, as far as the tests need them."""
    if ".add_(1)" in code:
        failed = (
            CheckResult("it does not raise", "fails", "no exception", "RuntimeError"),
            CheckResult("y is exp(x) + 1", "holds", "", ""),
        )
        return made.failing_trace(code), (made.inplace_finding(),), Verdict("failed", failed)
    passed = (CheckResult("it does not raise", "holds", "", ""),)
    return made.healthy_trace(code), (), Verdict("passed", passed)


def predicted(step: Any, answer: Answer, true: str) -> Verdict:
    """The verdict on the prediction of the test lesson, where the run made this answer true."""
    choices = tuple(
        ChoiceResult(
            choice.id,
            choice.text,
            "holds" if choice.id == true else "fails",
            choice.id == answer,
            (CheckResult(choice.text, "holds", "", ""),),
        )
        for choice in step.choices
    )
    right = answer == true
    question = QuestionResult(step.id, step.text, true, str(answer), right, choices)
    return Verdict("passed", (), None, None, (question,), true, right, choices)


@dataclass
class FakeServices:
    """Answers each run from a function of the code; `gate` holds runs back while it is closed."""

    file: Path
    runs: Runs = version_counter
    folder: Path = PACK
    gate: asyncio.Event | None = None
    tried: list[tuple[str, Answer]] = field(default_factory=list)
    started: bool = False
    _pack: Pack | None = None
    _progress: Progress | None = None

    @property
    def progress(self) -> Progress:
        if self._progress is None:
            self._progress = Progress(self.file)
        return self._progress

    def pack(self) -> Pack:
        if self._pack is None:
            self._pack = load_pack(self.folder)
        return self._pack

    words = staticmethod(words)

    def cancel(self) -> Stop:
        return Stop()

    def start(self) -> None:
        self.started = True

    @property
    def ready(self) -> bool:
        return self.started

    def close(self) -> None:
        self.progress.close()

    async def _wait(self, cancel: Stop) -> bool:
        """Wait for the gate; True if the run was cancelled meanwhile."""
        if self.gate is None:
            return False
        waits = [asyncio.ensure_future(e.wait()) for e in (self.gate, cancel.event)]
        _, rest = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        return cancel.event.is_set()

    async def try_step(
        self,
        lesson: Lesson,
        step: Any,
        code: str,
        answer: Answer,
        carried: Sequence[str],
        on_events: Any,
        cancel: Stop,
    ) -> Attempt:
        self.tried.append((code, answer))
        if await self._wait(cancel):
            trace = made.ended(made.failing_trace(code, upto=20), "cancelled")
            return Attempt(step, code, answer, trace, (), Verdict("undecided"))
        if step.kind == "choice":
            trace = Trace()
            return Attempt(step, code, answer, trace, (), decide(step, answer, Evidence(trace, ())))
        trace, found, verdict = self.runs(code)
        if step.kind == "predict":
            verdict = predicted(step, answer, "raises" if found else "right")
        return Attempt(step, code, answer, trace, found, verdict)

    async def explain(
        self, code: str, file: str, on_events: Any, cancel: Stop
    ) -> tuple[Trace, tuple[Finding, ...]]:
        self.tried.append((code, None))
        await self._wait(cancel)
        trace, found, _ = self.runs(code)
        return trace, found
