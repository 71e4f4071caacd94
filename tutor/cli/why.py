"""`why`: explain a pasted message or traceback."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import click


@click.command()
@click.argument("message", nargs=-1)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def why(message: tuple[str, ...], form: str) -> int:
    """Explain an error message or a traceback that you paste.

    MESSAGE is the text itself, in quotes. Without it, or with -, the text is read from standard
    input. Any wording of torch from 0.4 on is known, and a whole log may be pasted. Nothing is
    run. The exit status is 0 if the text is recognised, else 1.
    """
    from tutor.diagnose.diagnosis import installed_lessons
    from tutor.explain.why import why as explained
    from tutor.report import why as report

    answer = explained(_text(message), installed_lessons())
    if form == "json":
        click.echo(json.dumps(report.as_json(answer), ensure_ascii=False, indent=2))
    else:
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        cells = shutil.get_terminal_size((88, 24)).columns
        click.echo(report.render(answer, color, cells), err=not answer.recognised)
    return 0 if answer.recognised else 1


def _text(message: tuple[str, ...]) -> str:
    if message and message != ("-",):
        text = " ".join(message)
        if len(message) == 1 and "\n" not in text and _is_file(text):
            raise click.UsageError(f"{text} is a file. Try: autograd-tutor why < {text}")
        return text
    from tutor.explain.why.clean import decoded

    if sys.stdin.isatty():
        end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
        click.echo(
            f"Paste the message or the whole traceback, then press {end} on a line of its own.",
            err=True,
        )
    return decoded(sys.stdin.buffer.read())


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False  # too long for a file's name, or not one at all
