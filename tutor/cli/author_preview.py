"""`author preview`: a lesson as its learners see it, read anew at each save."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("preview")
@click.argument("lesson", type=click.Path(path_type=Path))
@click.option("--step", "step_id", default="", metavar="ID", help="Begin at this step.")
@click.option("--lang", "language", default="", help="Show the translation into this language.")
@click.option("--plain", "by_lines", is_flag=True, help="By lines of text, without the app.")
def preview_command(lesson: Path, step_id: str, language: str, by_lines: bool) -> int:
    """Open the lesson file LESSON as its learners see it. Save it, and it is shown anew.

    In the app, F2 writes the solution into the editor and F3 the next mistake. Progress of the
    preview is not kept.
    """
    from tutor.author.previewing import Previewed, preview
    from tutor.author.targets import NoTarget, lesson_at

    try:
        pack, found = lesson_at(lesson)
    except NoTarget as error:
        raise click.UsageError(str(error)) from error
    if step_id and found.step(step_id) is None:
        ids = ", ".join(each.id for each in found.steps)
        raise click.UsageError(f"{found.id} has no step {step_id}. It has: {ids}.")
    previewed = Previewed(pack.folder, found.id, language)
    if by_lines:
        return preview(previewed, step_id)
    from tutor.cli.root import require_terminal

    require_terminal()
    from tutor.app.preview import run

    return run(previewed, step_id)
