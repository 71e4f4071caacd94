"""Proving packs: every promise of every lesson is run, and what is not so is listed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tutor.attempt import Attempts, Runs
from tutor.attempt.proofs import prove
from tutor.attempt.trials import trials_of
from tutor.author.lint import faults_of
from tutor.author.targets import Target, targets
from tutor.author.todo import todos
from tutor.author.versions import changed_since, unrevised
from tutor.lesson import Fault, Lesson, Pack
from tutor.lesson.faults import ordered
from tutor.lesson.versions import installed_torch, misfit


class Watcher(Protocol):
    """Who is told how far the proofs have come."""

    def begin(self, runs: int) -> None:
        """There are so many runs to do."""

    def ran(self) -> None:
        """One of them is done."""

    def lesson(self, lesson_id: str, told: str) -> None:
        """What came of a lesson, in words."""


@dataclass(frozen=True)
class Asked:
    """What is to be proved: `step` is "id" or "lesson/id", `since` a git revision."""

    paths: tuple[Path, ...] = ()
    jobs: int = 2
    repeat: int = 1
    step: str | None = None
    since: str | None = None


@dataclass(frozen=True)
class Checked:
    """What was proved, and what is not so."""

    lessons: int
    runs: int
    faults: tuple[Fault, ...]
    skipped: tuple[str, ...] = ()


class NoStep(ValueError):
    """No lesson that was named has this step."""


@dataclass(frozen=True)
class _Job:
    pack: Pack
    lesson: Lesson
    steps: Collection[str] | None
    runs: int


def check(asked: Asked, make_runs: Callable[[], Runs], watcher: Watcher) -> Checked:
    """Look through packs and prove their lessons; `make_runs` is called if any code must run.

    Raises `NoTarget` for what is no pack, `NoStep`, and `NoHistory` where git cannot tell.
    """
    faults: list[Fault] = []
    jobs: list[_Job] = []
    skipped: list[str] = []
    lessons = 0
    for target in targets(asked.paths):
        pack = target.load()
        chosen = _chosen(target, pack, asked)
        unwritten = {each for each in chosen if any(todos(pack.documents[each]))}
        if asked.since is not None:
            faults += unrevised(pack, asked.since)
        mine = target.picked(faults_of(pack, target.shown))
        faults += mine if asked.since is None else _of(mine, pack, chosen)
        for lesson_id in chosen:
            if lesson_id in unwritten:
                skipped.append(f"{lesson_id} is not run: it has TODOs")
                continue
            lesson = pack.lessons[lesson_id]
            reason = misfit(lesson.torch, installed_torch())
            if reason is not None:
                skipped.append(f"{lesson_id} is left out: {reason}")
                continue
            steps = _steps(lesson, asked.step)
            if steps is None or steps:
                lessons += 1
                trials = [t for t in trials_of(lesson) if steps is None or t.step.id in steps]
                jobs.append(_Job(pack, lesson, steps, len(trials) * asked.repeat))
    if asked.step is not None and not jobs:
        raise NoStep(f"None of these lessons has a step {asked.step}.")
    runs = sum(job.runs for job in jobs)
    watcher.begin(runs)
    if runs:
        faults += asyncio.run(_prove_all(jobs, asked, Attempts(make_runs()), watcher))
    return Checked(lessons, runs, ordered(faults), tuple(skipped))


def _chosen(target: Target, pack: Pack, asked: Asked) -> Sequence[str]:
    chosen = target.lessons(pack)
    if asked.since is not None:
        changed = changed_since(pack.folder, asked.since)
        chosen = [each for each in chosen if f"{each.replace('.', '/', 1)}.yaml" in changed]
    return chosen


def _of(faults: Sequence[Fault], pack: Pack, lessons: Sequence[str]) -> list[Fault]:
    """Faults of the lessons chosen, and of what is no lesson that opens."""
    others = {pack.documents[each].path for each in pack.lessons if each not in lessons}
    return [fault for fault in faults if fault.path not in others]


def _steps(lesson: Lesson, step: str | None) -> Collection[str] | None:
    if step is None:
        return None
    wanted, _, name = step.rpartition("/")
    if wanted and wanted != lesson.id:
        return ()
    return [each.id for each in lesson.steps if each.id == name]


async def _prove_all(
    jobs: Sequence[_Job], asked: Asked, attempts: Attempts, watcher: Watcher
) -> list[Fault]:
    gate = asyncio.Semaphore(asked.jobs)

    async def one(job: _Job) -> tuple[Fault, ...]:
        found = await prove(
            attempts,
            job.lesson,
            job.pack.documents[job.lesson.id],
            repeat=asked.repeat,
            steps=job.steps,
            gate=gate,
            told=watcher.ran,
        )
        many = "no faults" if not found else f"{len(found)} fault{'s' * (len(found) > 1)}"
        watcher.lesson(job.lesson.id, f"{job.runs} runs, {many}")
        return found

    return [fault for found in await asyncio.gather(*map(one, jobs)) for fault in found]
