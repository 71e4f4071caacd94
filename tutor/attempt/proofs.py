"""What must be true of a lesson when its programs really run: each broken promise is a fault.

The order is that of the format's description: predictions come out as the author says, starters
do not pass yet, nothing passes too early, solutions and alternatives pass, each mistake gets its
own message and no other, hints give nothing away, runs repeat and are quick.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence

from tutor.attempt.attempts import Attempts
from tutor.attempt.judge import all_hold
from tutor.attempt.trials import Trial, run_trials, trials_of
from tutor.attempt.verdict import Attempt, QuestionResult
from tutor.lesson import AnyStep, CodeStep, Evidence, Fault, Lesson, Order, Predict
from tutor.lesson.compile import solved
from tutor.lesson.document import Document, Loc

RULES = {
    "E300": "setup-fails",
    "E301": "answer-not-true",
    "E302": "two-choices-true",
    "E303": "no-choice-true",
    "E310": "solution-rejected",
    "E311": "already-solved",
    "E312": "alternative-rejected",
    "E313": "passes-too-early",
    "E314": "asked-code-fails",
    "E320": "mistake-passes",
    "E321": "mistake-unnoticed",
    "E322": "mistake-overlap",
    "E323": "mistake-on-solution",
    "E324": "mistake-without-example",
    "E330": "hint-gives-solution",
    "E340": "not-repeatable",
    "E341": "slow",
}
"""The rules of proving: code to name."""


SLOW = 1 / 3
"""The part of a step's time that a run may take; a slower machine needs the rest."""


async def prove(
    attempts: Attempts,
    lesson: Lesson,
    document: Document,
    *,
    jobs: int = 2,
    repeat: int = 1,
    steps: Collection[str] | None = None,
    gate: asyncio.Semaphore | None = None,
    told: Callable[[], None] = lambda: None,
) -> tuple[Fault, ...]:
    """Run everything a lesson promises, `repeat` times, and list what is not so.

    `steps` are the ids of those to be proved (all of them), `gate` what several lessons share
    instead of `jobs`, and `told` is called when a run is done.
    """
    gate = gate or asyncio.Semaphore(jobs)
    trials = [t for t in trials_of(lesson) if steps is None or t.step.id in steps]
    prover = _Prover(lesson, document)
    rounds = [await run_trials(attempts, lesson, trials, gate, told) for _ in range(repeat)]
    faults = [f for f in unproved(lesson, document) if steps is None]
    for trial, attempt in zip(trials, rounds[0], strict=True):
        faults += prover.trial(trial, attempt)
        seconds = [_seconds(attempt)]
        if seconds[0] > trial.step.timeout * SLOW:
            # The machine may have been busy: what stays slow is slow.
            seconds += map(_seconds, await run_trials(attempts, lesson, [trial], gate))
            faults += prover.slow(trial, min(seconds))
    for again in rounds[1:]:
        for trial, first, later in zip(trials, rounds[0], again, strict=True):
            if first.verdict != later.verdict:
                message = f'the {trial.role} of "{trial.step.id}" does not give the same each time'
                faults.append(prover.fault(trial, "E340", message))
    return tuple(sorted(set(faults)))


def _seconds(attempt: Attempt) -> float:
    return attempt.trace.end.seconds if attempt.trace.end is not None else 0.0


def unproved(lesson: Lesson, document: Document) -> Iterator[Fault]:
    """What can be seen without a run: hints that give lines away, mistakes without an example."""
    prover = _Prover(lesson, document)
    yield from prover.hints()
    yield from prover.examples()


class _Prover:
    """Turns attempts at one lesson into faults of its file."""

    def __init__(self, lesson: Lesson, document: Document) -> None:
        self._lesson = lesson
        self._document = document

    def fault(
        self, trial: Trial, code: str, message: str, *, loc: Loc | None = None, help: str = ""
    ) -> Fault:
        where = self._place(trial) if loc is None else loc
        node = self._document.node(where)
        line, column = (node.line, node.column) if node else (0, 0)
        return self._document.text.fault(line, column, (code, RULES[code]), message, help=help)

    def _base(self, step: AnyStep) -> Loc:
        return ("steps", self._lesson.steps.index(step))

    def _place(self, trial: Trial) -> Loc:
        base = self._base(trial.step)
        below: dict[str, Loc] = {
            "asked": ("code",),
            "solution": ("solution",),
            "also": ("also", trial.index),
            "starter": ("starter",),
            "mistake": ("mistakes", trial.index, "example"),
        }
        return (*base, *below.get(trial.role, ()))

    # -- one trial --------------------------------------------------------------------

    def trial(self, trial: Trial, attempt: Attempt) -> Iterator[Fault]:
        """What one try shows to be untrue."""
        raised = attempt.trace.raised
        if raised is not None and raised.frames and raised.frames[-1][0] == "setup.py":
            message = f"the setup stops with {raised.kind}: {raised.message.splitlines()[0]}"
            yield self.fault(trial, "E300", message, loc=("setup",))
            return
        checks: dict[str, Callable[[Trial, Attempt], Iterator[Fault]]] = {
            "asked": self._asked,
            "solution": self._accepted,
            "also": self._accepted,
            "starter": self._starter,
            "empty": self._too_early,
            "cut": self._too_early,
            "mistake": self._mistake,
        }
        yield from checks[trial.role](trial, attempt)

    def slow(self, trial: Trial, seconds: float) -> Iterator[Fault]:
        """Whether a run takes too much of the time there is."""
        if seconds > trial.step.timeout * SLOW:
            message = f"the run took {seconds:.1f} s, more than a third of {trial.step.timeout:g} s"
            yield self.fault(trial, "E341", message, help="raise timeout:, or do less")

    def _asked(self, trial: Trial, attempt: Attempt) -> Iterator[Fault]:
        step = trial.step
        if isinstance(step, Predict):
            for question in attempt.verdict.questions:
                yield from self._question(trial, step, question, attempt)
        if any(check.status != "holds" for check in attempt.verdict.checks):
            message = f'the code of "{step.id}" does not pass: {_first_failure(attempt)}'
            yield self.fault(trial, "E314", message)

    def _question(
        self, trial: Trial, step: Predict, question: QuestionResult, attempt: Attempt
    ) -> Iterator[Fault]:
        base: Loc = self._base(step)
        if step.questions:
            index = [q.id for q in step.questions].index(question.id)
            base = (*base, "questions", index)
        wanted = next(q.answer for q in step.asked if q.id == question.id)
        true = [choice.id for choice in question.choices if choice.status == "holds"]
        ran = _outcome(attempt)
        if len(true) > 1:
            message = f"{_all_of(true)} hold after the run; tighten one"
            yield self.fault(trial, "E302", message, loc=(*base, "choices"), help=ran)
        elif not true:
            told = next(c for c in question.choices if c.id == wanted).checks
            got = next((c for c in told if c.status != "holds"), None)
            text = f"; {wanted} wanted {got.wanted}, got {got.got}" if got else ""
            message = f'no choice of "{question.id}" holds after the run{text}'
            yield self.fault(trial, "E303", message, loc=(*base, "choices"), help=ran)
        elif true[0] != wanted:
            message = f'"{question.id}" says "{wanted}", but the run makes "{true[0]}" true'
            yield self.fault(trial, "E301", message, loc=(*base, "answer"), help=ran)

    def _accepted(self, trial: Trial, attempt: Attempt) -> Iterator[Fault]:
        name, code = "solution", "E310"
        if trial.role == "also":
            name, code = f"also[{trial.index + 1}]", "E312"
        if attempt.verdict.status != "passed":
            yield self.fault(trial, code, f"{name} fails: {_first_failure(attempt)}")
        for index, mistake in enumerate(trial.step.mistakes):
            if all_hold(mistake.when, _evidence(attempt)):
                message = f'the mistake "{mistake.id}" fires on {name}'
                loc = (*self._base(trial.step), "mistakes", index, "when")
                yield self.fault(trial, "E323", message, loc=loc)

    def _starter(self, trial: Trial, attempt: Attempt) -> Iterator[Fault]:
        meant = isinstance(trial.step, CodeStep) and trial.step.starter_passes
        if attempt.verdict.done and not meant:
            message = "the starter passes every check"
            yield self.fault(
                trial, "E311", message, help="if that is meant, add  starter_passes: true"
            )

    def _too_early(self, trial: Trial, attempt: Attempt) -> Iterator[Fault]:
        if attempt.verdict.done:
            what = "no code at all" if trial.role == "empty" else "the solution cut short"
            loc = (*self._base(trial.step), "checks")
            message = f'"{trial.step.id}" passes with {what}'
            yield self.fault(trial, "E313", message, loc=loc, help=f"it was: {trial.code!r}")

    def _mistake(self, trial: Trial, attempt: Attempt) -> Iterator[Fault]:
        mistakes = trial.step.mistakes
        own = mistakes[trial.index]
        if attempt.verdict.done:
            yield self.fault(trial, "E320", f'the example of "{own.id}" passes the step')
        evidence = _evidence(attempt)
        if not all_hold(own.when, evidence):
            missed = next(c for c in own.when if not c.judge(evidence).holds).judge(evidence)
            message = f'the example of "{own.id}" does not trigger it'
            help = f"wanted {missed.wanted}, got {missed.got}"
            yield self.fault(trial, "E321", message, help=help)
        for other in mistakes:
            if other.id != own.id and all_hold(other.when, evidence):
                message = f'the example of "{own.id}" also triggers "{other.id}"'
                yield self.fault(trial, "E322", message)

    # -- without a run ----------------------------------------------------------------

    def hints(self) -> Iterator[Fault]:
        """Hints that contain a line of the solution."""
        for step in self._lesson.steps:
            shown = "\n".join(step.shown) if isinstance(step, Order) else step.starting_code
            known = {line.strip() for line in shown.splitlines()}
            given = [line.strip() for line in solved(step).splitlines()]
            lines = [line for line in given if line and line not in known]
            for index, hint in enumerate(step.hints):
                for line in lines:
                    if line in hint.say:
                        loc = (*self._base(step), "hints", index)
                        message = f"the hint gives a line of the solution: {line}"
                        yield self.fault(Trial(step, "empty", ""), "E330", message, loc=loc)

    def examples(self) -> Iterator[Fault]:
        """Mistakes that nothing proves."""
        for step in self._lesson.steps:
            for index, mistake in enumerate(step.mistakes):
                if mistake.example is None:
                    loc = (*self._base(step), "mistakes", index)
                    message = f'the mistake "{mistake.id}" has no example that proves it'
                    yield self.fault(Trial(step, "empty", ""), "E324", message, loc=loc)


def _evidence(attempt: Attempt) -> Evidence:
    return Evidence(attempt.trace, attempt.findings, attempt.slopes)


def _first_failure(attempt: Attempt) -> str:
    for number, check in enumerate(attempt.verdict.checks, 1):
        if check.status != "holds":
            return f"check {number} wanted {check.wanted}, got {check.got}"
    return f"the run was {attempt.trace.outcome}"


def _outcome(attempt: Attempt) -> str:
    """What the run came to, in one line."""
    version = attempt.trace.start.torch if attempt.trace.start else "?"
    raised = attempt.trace.raised
    kinds = ", ".join(finding.kind for finding in attempt.findings)
    told = f"{raised.kind}" if raised else str(attempt.trace.outcome)
    return f"ran on torch {version}: {told}" + (f", kind {kinds}" if kinds else "")


def _all_of(names: Sequence[str]) -> str:
    return " and ".join(f'"{name}"' for name in names)
