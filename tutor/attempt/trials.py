"""What is run to prove a lesson: its solutions, starters, mistakes and programs cut short."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tutor.attempt.attempts import Attempts, code_of
from tutor.attempt.verdict import Answer, Attempt
from tutor.lesson import (
    AnyStep,
    Break,
    ChoiceStep,
    Fill,
    Fix,
    Lesson,
    Order,
    Predict,
    Read,
    Run,
    Write,
)
from tutor.lesson.compile import solved

Role = Literal["asked", "solution", "also", "starter", "empty", "cut", "mistake"]
"""`asked` is the code of a `run` or `predict` step; `cut` a solution without its last statement."""


@dataclass(frozen=True)
class Trial:
    """One code to be tried at one step; `index` counts within its role."""

    step: AnyStep
    role: Role
    code: str
    answer: Answer = None
    index: int = 0


def trials_of(lesson: Lesson) -> list[Trial]:
    """Everything to be run for the proofs of a lesson."""
    return [trial for step in lesson.steps for trial in _trials(step)]


def _trials(step: AnyStep) -> Iterator[Trial]:
    if isinstance(step, (Read, ChoiceStep)):
        return
    if isinstance(step, Predict):
        yield Trial(step, "asked", step.code, {q.id: q.answer for q in step.asked})
    elif isinstance(step, Run):
        yield Trial(step, "asked", step.code)
    elif isinstance(step, Fill):
        yield from _fill(step)
    elif isinstance(step, Order):
        yield Trial(step, "solution", "\n".join(step.lines) + "\n")
        yield Trial(step, "starter", "\n".join(step.shown) + "\n")
    elif isinstance(step, (Fix, Write, Break)):
        yield Trial(step, "solution", step.solution or "")
        yield Trial(step, "starter", step.starter)
    if isinstance(step, (Order, Fix, Write, Break)):
        for index, code in enumerate(step.also):
            yield Trial(step, "also", code, index=index)
    if isinstance(step, (Fill, Order, Fix, Write, Break)):
        yield Trial(step, "empty", "")
        shorter = without_last_statement(solved(step))
        if shorter:
            yield Trial(step, "cut", shorter)
    for index, mistake in enumerate(step.mistakes):
        if mistake.example is not None:
            yield Trial(step, "mistake", mistake.example, index=index)


def _fill(step: Fill) -> Iterator[Trial]:
    answers = {name: blank.answer for name, blank in step.blanks.items()}
    yield Trial(step, "solution", step.filled(answers))
    yield Trial(step, "starter", step.filled({}))
    index = 0
    for name, blank in step.blanks.items():
        for other in blank.also:
            yield Trial(step, "also", step.filled({**answers, name: other}), index=index)
            index += 1


def without_last_statement(code: str) -> str:
    """The code without its last statement, "" where nothing would be left."""
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return ""
    if len(body) < 2:
        return ""
    lines = code.splitlines(keepends=True)
    last = body[-1]
    first_line = min([last.lineno, *(d.lineno for d in getattr(last, "decorator_list", ()))])
    head = "".join(lines[: first_line - 1])
    same_line = lines[first_line - 1][: last.col_offset].rstrip().rstrip(";")
    return head + (f"{same_line}\n" if same_line else "")


async def run_trials(
    attempts: Attempts,
    lesson: Lesson,
    trials: Sequence[Trial],
    gate: asyncio.Semaphore,
    told: Callable[[], None] = lambda: None,
) -> list[Attempt]:
    """Try every code, as many at a time as `gate` lets; equal programs of one step run once.

    `told` is called when one is done, also for those that needed no run of their own.
    """
    running: dict[tuple[str, str], asyncio.Task[Attempt]] = {}

    async def one(trial: Trial) -> Attempt:
        async with gate:
            return await attempts.try_async(
                lesson, trial.step, trial.code, trial.answer, carried=carried(lesson, trial.step)
            )

    for trial in trials:
        key = (trial.step.id, code_of(trial.step, trial.code, trial.answer))
        if key not in running:
            running[key] = asyncio.create_task(one(trial))
        running[key].add_done_callback(lambda _: told())
    try:
        await asyncio.gather(*running.values())
    finally:
        for task in running.values():
            task.cancel()
    return [running[t.step.id, code_of(t.step, t.code, t.answer)].result() for t in trials]


def carried(lesson: Lesson, step: AnyStep) -> tuple[str, ...]:
    """What a learner who solved the steps before this one brings along."""
    if not lesson.carry:
        return ()
    before = lesson.steps[: lesson.steps.index(step)]
    return tuple(code for each in before if (code := solved(each)))
