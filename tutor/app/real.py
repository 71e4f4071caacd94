"""The services of the installed app: each room is imported when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tutor.app.services import Cancel, OnEvents

if TYPE_CHECKING:
    from tutor.app.model.fixes import Words
    from tutor.attempt import Answer, Attempt, Attempts
    from tutor.explain.finding import Finding
    from tutor.lesson import AnyStep, Lesson, Pack
    from tutor.progress import Progress
    from tutor.run import Runner
    from tutor.trace.trace import Trace


class RealServices:
    """Lessons of the package, progress on the disk, runs in processes of their own."""

    def __init__(self) -> None:
        self._runner: Runner | None = None

    @cached_property
    def _pack(self) -> Pack:
        from tutor.lesson import load_course

        return load_course()

    def pack(self) -> Pack:
        return self._pack

    @cached_property
    def progress(self) -> Progress:
        from tutor.progress import Progress

        return Progress(renames=renames(self._pack))

    def words(self, finding: Finding) -> Words:
        from tutor.explain import words

        return words(finding)

    @property
    def runner(self) -> Runner:
        if self._runner is None:
            from tutor.run import Runner

            self._runner = Runner()
        return self._runner

    @cached_property
    def _attempts(self) -> Attempts:
        from tutor.attempt import Attempts

        return Attempts(self.runner)

    def cancel(self) -> Cancel:
        from tutor.run import Cancel

        return Cancel()

    def start(self) -> None:
        self.runner.start()

    @property
    def ready(self) -> bool:
        return self._runner is not None and self._runner.ready

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()
        if "progress" in self.__dict__:
            self.progress.close()

    async def try_step(
        self,
        lesson: Lesson,
        step: AnyStep,
        code: str,
        answer: Answer,
        carried: Sequence[str],
        on_events: OnEvents,
        cancel: Any,
    ) -> Attempt:
        return await self._attempts.try_async(
            lesson, step, code, answer, carried=carried, on_events=on_events, cancel=cancel
        )

    async def explain(
        self, code: str, file: str, on_events: OnEvents, cancel: Any
    ) -> tuple[Trace, tuple[Finding, ...]]:
        from tutor.explain import findings
        from tutor.trace.program import snippet

        program = snippet(code, file=file)
        trace = await self.runner.run_async(program, on_events=on_events, cancel=cancel)
        return trace, tuple(findings(trace))


def renames(pack: Pack) -> dict[tuple[str, str], tuple[str, str]]:
    """(lesson, step) of earlier ids, and what they are called now."""
    table: dict[tuple[str, str], tuple[str, str]] = {}
    for lesson in pack.lessons.values():
        for step in lesson.steps:
            for old_lesson in (lesson.id, *lesson.was):
                for old_step in (step.id, *step.was):
                    if (old_lesson, old_step) != (lesson.id, step.id):
                        table[old_lesson, old_step] = (lesson.id, step.id)
    return table
