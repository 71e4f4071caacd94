"""`plain`: lessons by lines of text, for pipes, logs and screen readers."""

from __future__ import annotations

import click

from tutor.cli.lessons import require_lesson


@click.command()
@click.argument("lesson", required=False)
def plain(lesson: str | None) -> int:
    """Walk through lessons by lines of text, without a full screen.

    LESSON is a lesson or a step of it, as in inplace.version-counter/repair.
    """
    require_lesson(lesson)
    from tutor.plain.command import main

    return main(lesson)
