"""`author explain`: why a code passes a step or not, check by check."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tutor.lesson import AnyStep, Lesson


@click.command("explain")
@click.argument("lesson", type=click.Path(path_type=Path))
@click.option("--step", "step_id", required=True, metavar="ID", help="The step.")
@click.option("--code", "source", required=True, metavar="FILE",
              help="The code that a learner gave, - for standard input.")  # fmt: skip
def explain_command(lesson: Path, step_id: str, source: str) -> int:
    """Run a code as a try at a step of the lesson file LESSON, and say what decided it.

    It ends with 0 if the step is passed, else with 1.
    """
    from tutor.attempt import Attempts
    from tutor.attempt.trials import carried
    from tutor.author.explaining import explained
    from tutor.run import Runner

    found, step = the_step(lesson, step_id)
    try:
        code = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {source}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{source} is not UTF-8.") from error
    if not step.runs:
        raise click.UsageError(f"The step {step_id} ({step.kind}) runs no code.")
    with Runner() as runner:
        attempt = Attempts(runner).try_(found, step, code, carried=carried(found, step))
    for line in explained(attempt):
        click.echo(line)
    return 0 if attempt.verdict.done else 1


def the_step(path: Path, step_id: str) -> tuple[Lesson, AnyStep]:
    """The lesson of a file and one of its steps. Raises `click.UsageError`, with the faults."""
    from tutor.author.targets import NoTarget, lesson_at

    try:
        _, lesson = lesson_at(path)
    except NoTarget as error:
        raise click.UsageError(str(error)) from error
    step = lesson.step(step_id)
    if step is None:
        ids = ", ".join(each.id for each in lesson.steps)
        raise click.UsageError(f"{lesson.id} has no step {step_id}. It has: {ids}.")
    return lesson, step
