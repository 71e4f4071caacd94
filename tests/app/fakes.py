"""Services without processes and disks: traces made by hand, progress in a dictionary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tutor.attempt.judge import decide
from tutor.attempt.verdict import Answer, Attempt, CheckResult, Verdict
from tutor.explain import words
from tutor.explain.finding import Finding
from tutor.lesson import Evidence, Lesson, Pack, load_pack
from tutor.trace.trace import Trace

from . import made

PACK = Path(__file__).parent / "pack"


class MemoryProgress:
    """Keeps what it is told, as the real one does."""

    def __init__(self) -> None:
        self.codes: dict[tuple[str, str], str] = {}
        self.standings: dict[tuple[str, str], str] = {}
        self.hint_counts: dict[tuple[str, str], int] = {}
        self.passed: dict[tuple[str, str], str] = {}
        self.at: tuple[str, str] | None = None

    def standing(self, lesson: Lesson, step: str) -> str:
        return self.standings.get((lesson.id, step), "todo")

    def code(self, lesson: str, step: str) -> str | None:
        return self.codes.get((lesson, step))

    def keep_code(self, lesson: str, step: str, code: str) -> None:
        self.codes[lesson, step] = code

    def accepted(self, lesson: str, step: str) -> str | None:
        return self.passed.get((lesson, step))

    def tried(self, lesson: Lesson, step: str, attempt: Attempt) -> None:
        key = (lesson.id, step)
        if attempt.verdict.done:
            self.standings[key] = "done"
            self.passed[key] = attempt.code
        elif self.standings.get(key) != "done":
            self.standings[key] = "tried"

    def hinted(self, lesson: str, step: str, count: int) -> None:
        self.hint_counts[lesson, step] = count

    def hints(self, lesson: str, step: str) -> int:
        return self.hint_counts.get((lesson, step), 0)

    def marked(self, lesson: Lesson, step: str, standing: str) -> None:
        self.standings[lesson.id, step] = standing

    def place(self) -> tuple[str, str] | None:
        return self.at

    def moved(self, lesson: str, step: str) -> None:
        self.at = (lesson, step)

    def close(self) -> None:
        pass


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


@dataclass
class FakeServices:
    """Answers each run from a function of the code; `gate` holds runs back while it is closed."""

    runs: Runs = version_counter
    folder: Path = PACK
    progress: MemoryProgress = field(default_factory=MemoryProgress)
    gate: asyncio.Event | None = None
    tried: list[tuple[str, Answer]] = field(default_factory=list)
    started: bool = False
    _pack: Pack | None = None

    def pack(self) -> Pack:
        if self._pack is None:
            self._pack = load_pack(self.folder)
        return self._pack

    words = staticmethod(words)

    def cancel(self) -> Stop:
        return Stop()

    def start(self) -> None:
        self.started = True

    def close(self) -> None:
        pass

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
            verdict = decide(step, answer, Evidence(trace, found))
        return Attempt(step, code, answer, trace, found, verdict)

    async def explain(
        self, code: str, file: str, on_events: Any, cancel: Stop
    ) -> tuple[Trace, tuple[Finding, ...]]:
        self.tried.append((code, None))
        await self._wait(cancel)
        trace, found, _ = self.runs(code)
        return trace, found


def spec(**kwargs: Any) -> Any:
    """A stand-in for something that has only these attributes."""
    return SimpleNamespace(**kwargs)
