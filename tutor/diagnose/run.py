"""The two ways to run it: waiting, and on an event loop. Both follow the same steps.

The steps are a generator that asks for runs and is sent their traces, so that what is decided
is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Sequence

import msgspec

from tutor.diagnose.diagnosis import Diagnosis, installed_lessons, with_lessons
from tutor.diagnose.repeat import edited, may_repeat
from tutor.explain import Finding, Fix, findings
from tutor.run import Cancel, Runner
from tutor.trace import AnyEvent, Program, Trace

OnEvents = Callable[[Trace, Sequence[AnyEvent]], None]
OnOutput = Callable[[int, bytes], None]

RAN = "ran without the finding"
STILL = "ran, and the finding came again"
FAILED = "ran, and failed in another way"

_Steps = Generator[Program, Trace, tuple[Finding, ...]]

TRIED = 6
"""Fixes tried for one run at the most."""


def diagnose(
    program: Program,
    runner: Runner,
    *,
    verify: bool | None = True,
    on_events: OnEvents | None = None,
    on_output: OnOutput | None = None,
    cancel: Cancel | None = None,
    lessons: Collection[str] | None = None,
) -> Diagnosis:
    """Run a program, say what happened, and try the fixes.

    `verify` None tries them only where a repetition does no harm; True tries them always.
    `lessons` are the ids of the installed lessons.
    """
    trace = runner.run(program, on_events=on_events, on_output=on_output, cancel=cancel)
    found: tuple[Finding, ...] = tuple(findings(trace))
    if _wanted(verify, trace) and not _cancelled(cancel):
        found = verified(trace, found, runner, cancel=cancel)
    return Diagnosis(trace, with_lessons(found, _installed(lessons)))


def explained(trace: Trace, *, lessons: Collection[str] | None = None) -> Diagnosis:
    """Say what happened in a run that is over, without running anything."""
    return Diagnosis(trace, with_lessons(findings(trace), _installed(lessons)))


async def diagnose_async(
    program: Program,
    runner: Runner,
    *,
    verify: bool | None = True,
    on_events: OnEvents | None = None,
    cancel: Cancel | None = None,
    lessons: Collection[str] | None = None,
) -> Diagnosis:
    """The same on the running event loop."""
    trace = await runner.run_async(program, on_events=on_events, cancel=cancel)
    found: tuple[Finding, ...] = tuple(findings(trace))
    if _wanted(verify, trace) and not _cancelled(cancel):
        found = await verified_async(trace, found, runner, cancel=cancel)
    return Diagnosis(trace, with_lessons(found, _installed(lessons)))


def verified(
    trace: Trace, found: Iterable[Finding], runner: Runner, *, cancel: Cancel | None = None
) -> tuple[Finding, ...]:
    """The findings, each fix marked with what came of running it."""
    steps = _verify(trace, tuple(found))
    try:
        program = next(steps)
        while True:
            program = steps.send(runner.run(program, cancel=cancel))
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


async def verified_async(
    trace: Trace, found: Iterable[Finding], runner: Runner, *, cancel: Cancel | None = None
) -> tuple[Finding, ...]:
    """The same on the running event loop."""
    steps = _verify(trace, tuple(found))
    try:
        program = next(steps)
        while True:
            program = steps.send(await runner.run_async(program, cancel=cancel))
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


def _verify(trace: Trace, found: tuple[Finding, ...]) -> _Steps:
    program = trace.program
    told: list[Finding] = []
    left = TRIED
    for one in found:
        fixes: list[Fix] = []
        for fix in one.fixes:
            again = (
                edited(program, fix.edits, trace.texts) if program is not None and left else None
            )
            if again is None:
                fixes.append(fix)
                continue
            left -= 1
            rerun = yield again
            fixes.append(_judged(fix, one, rerun))
        # What was proved comes first, what was refuted last.
        fixes.sort(key=lambda fix: {True: 0, None: 1, False: 2}[fix.verified])
        told.append(msgspec.structs.replace(one, fixes=tuple(fixes)))
    return tuple(told)


def _judged(fix: Fix, one: Finding, rerun: Trace) -> Fix:
    end = rerun.end
    if end is None or end.outcome == "cancelled":
        return fix
    again = [other for other in findings(rerun) if other.severity != "note"]
    if any(other.kind == one.kind for other in again):
        return msgspec.structs.replace(fix, verified=False, how=STILL)
    if any(other.severity == "error" for other in again) or end.outcome not in ("ok", "exited"):
        return msgspec.structs.replace(fix, verified=False, how=FAILED)
    return msgspec.structs.replace(fix, verified=True, how=RAN)


def _wanted(verify: bool | None, trace: Trace) -> bool:
    return may_repeat(trace) if verify is None else verify


def _cancelled(cancel: Cancel | None) -> bool:
    return cancel is not None and cancel.is_set


def _installed(lessons: Collection[str] | None) -> Collection[str]:
    return installed_lessons() if lessons is None else lessons
