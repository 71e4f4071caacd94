"""From a step and a code to the program that decides it: sources and questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tutor.lesson.checks import Check, Numeric, every
from tutor.lesson.lesson import Lesson
from tutor.lesson.steps import AnyStep, Fill, Order, Predict, Run
from tutor.trace import Nudge, Probe, Program, snippet

SETUP = "setup.py"
MAIN = "snippet.py"
"""The names that places carry: what stands above the code, and the learner's code."""

STEP = 1e-6
"""How far a leaf is moved to measure a slope, in float64."""

DIRECTIONS = (1, 2, 3)
"""Seeds of the directions in which it is moved."""


def checks_of(step: AnyStep) -> Iterator[Check]:
    """Every check that a verdict on a step may need."""
    yield from step.checks
    for mistake in step.mistakes:
        yield from mistake.when
    for hint in step.hints:
        yield from hint.when
    if isinstance(step, Predict):
        for question in step.asked:
            for choice in question.choices:
                yield from choice.holds


def questions_of(lesson: Lesson, step: AnyStep) -> tuple[Probe, ...]:
    """What the run must answer for a verdict on a step, each question once."""
    asked = every(check.asks() for check in checks_of(step))
    return tuple(_with_solution(lesson, step, probe) for probe in asked)


def _with_solution(lesson: Lesson, step: AnyStep, probe: Probe) -> Probe:
    """The question; one that compares with the solution takes it along."""
    if probe.kind != "agree":
        return probe
    args = {**probe.args, "setup": lesson.setup, "solution": solved(step)}
    return Probe(probe.id, probe.kind, args)


def solved(step: AnyStep) -> str:
    """The code of somebody who solved a step, "" where there is none."""
    if isinstance(step, Fill):
        return step.filled({name: blank.answer for name, blank in step.blanks.items()})
    if isinstance(step, Order):
        return "\n".join(step.lines) + "\n"
    if isinstance(step, (Predict, Run)):
        return step.code
    return step.solution or ""


def slopes_of(step: AnyStep) -> tuple[Numeric, ...]:
    """The slopes that must be measured by running again, each once."""
    return tuple(dict.fromkeys(need for check in checks_of(step) for need in check.rechecks()))


def program_of(lesson: Lesson, step: AnyStep, code: str, carried: Sequence[str] = ()) -> Program:
    """The program of a try: the setup, code carried from earlier steps, the learner's code."""
    return snippet(
        code,
        setup="\n".join(part for part in (lesson.setup, *carried) if part.strip()),
        file=MAIN,
        timeout=step.timeout,
        seed=step.seed,
        probes=questions_of(lesson, step),
    )


def nudged(program: Program, need: Numeric) -> tuple[Program, ...]:
    """The runs that measure a slope: one in place, then two for each direction (+, -)."""
    loss = () if need.loss is None else (Probe("loss", "value", {"of": need.loss}),)
    along = tuple(
        Probe(f"along {seed}", "along", {"of": need.of, "seed": seed}) for seed in DIRECTIONS
    )
    moves = [Nudge(need.of, DIRECTIONS[0], 0.0)]
    moves += [Nudge(need.of, seed, sign * STEP) for seed in DIRECTIONS for sign in (1, -1)]
    return tuple(
        Program(
            program.sources,
            timeout=program.timeout,
            seed=program.seed,
            probes=along if move.step == 0 else loss,
            nudge=move,
        )
        for move in moves
    )
