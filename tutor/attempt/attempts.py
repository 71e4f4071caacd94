"""Tries: a code is run, explained and judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from tutor.attempt.judge import decide
from tutor.attempt.slopes import measured
from tutor.attempt.verdict import Answer, Attempt, Slopes
from tutor.diagnose.diagnosis import installed_lessons, with_lessons
from tutor.explain import findings
from tutor.lesson import AnyStep, Evidence, Fill, Lesson, Order
from tutor.lesson.checks import Numeric
from tutor.lesson.compile import nudged, program_of, slopes_of
from tutor.trace import Program, Trace


class Runs(Protocol):
    """What runs programs (`tutor.run.Runner`)."""

    def run(
        self, program: Program, *, on_events: Callable[..., Any] | None = ..., cancel: Any = ...
    ) -> Trace:
        """Run to the end."""

    async def run_async(
        self, program: Program, *, on_events: Callable[..., Any] | None = ..., cancel: Any = ...
    ) -> Trace:
        """Run to the end without blocking."""


def code_of(step: AnyStep, code: str, answer: Answer) -> str:
    """The program of an answer: filled blanks, arranged lines, else the code itself."""
    if isinstance(step, Fill) and isinstance(answer, dict):
        return step.filled(answer)
    if isinstance(step, Order) and isinstance(answer, tuple):
        return step.arranged(tuple(n for n in answer if isinstance(n, int)))
    return code


class Attempts:
    """Tries with one runner."""

    def __init__(self, runner: Runs, installed: Collection[str] | None = None) -> None:
        """`installed` are the lessons that findings may point to (by default those there are)."""
        self._runner = runner
        self._installed = frozenset(installed_lessons() if installed is None else installed)

    def program(
        self, lesson: Lesson, step: AnyStep, code: str, carried: Sequence[str] = ()
    ) -> Program:
        """What is run for a code: `carried` is accepted code of earlier steps."""
        return program_of(lesson, step, code, carried if lesson.carry else ())

    def judge(
        self,
        lesson: Lesson,
        step: AnyStep,
        code: str,
        answer: Answer,
        trace: Trace,
        slopes: Slopes | None = None,
    ) -> Attempt:
        """Decide a run that has ended. Pure."""
        found = with_lessons(findings(trace), self._installed) if step.runs else ()
        verdict = decide(step, answer, Evidence(trace, found, slopes))
        return Attempt(step, code, answer, trace, found, verdict, slopes)

    def try_(
        self,
        lesson: Lesson,
        step: AnyStep,
        code: str,
        answer: Answer = None,
        *,
        carried: Sequence[str] = (),
        cancel: Any = None,
    ) -> Attempt:
        """Run and decide, blocking."""
        code = code_of(step, code, answer)
        program = self.program(lesson, step, code, carried)
        if not step.runs:
            return self.judge(lesson, step, code, answer, Trace(program))
        trace = self._runner.run(program, cancel=cancel)
        attempt = self.judge(lesson, step, code, answer, trace)
        needs = _needed(attempt)
        if not needs:
            return attempt
        slopes = {}
        for need in needs:
            again = [self._runner.run(p, cancel=cancel) for p in nudged(program, need)]
            slopes[need.key] = measured(need, again)
        return self.judge(lesson, step, code, answer, trace, slopes)

    async def try_async(
        self,
        lesson: Lesson,
        step: AnyStep,
        code: str,
        answer: Answer = None,
        *,
        carried: Sequence[str] = (),
        on_events: Callable[..., Any] | None = None,
        cancel: Any = None,
    ) -> Attempt:
        """Run and decide; `on_events` hears of the run as it goes."""
        code = code_of(step, code, answer)
        program = self.program(lesson, step, code, carried)
        if not step.runs:
            return self.judge(lesson, step, code, answer, Trace(program))
        trace = await self._runner.run_async(program, on_events=on_events, cancel=cancel)
        attempt = self.judge(lesson, step, code, answer, trace)
        needs = _needed(attempt)
        if not needs:
            return attempt
        slopes = {}
        for need in needs:
            again = [await self._runner.run_async(p, cancel=cancel) for p in nudged(program, need)]
            slopes[need.key] = measured(need, again)
        return self.judge(lesson, step, code, answer, trace, slopes)


def _needed(attempt: Attempt) -> tuple[Numeric, ...]:
    """The slopes that are worth measuring: the run was whole, and nothing else decides it."""
    if attempt.verdict.status != "undecided" or attempt.trace.outcome != "ok":
        return ()
    return slopes_of(attempt.step)
