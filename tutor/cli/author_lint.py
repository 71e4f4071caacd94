"""`author lint`: faults of lesson files, found without torch."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tutor.author.render import FORMATS, Format, counted, rendered
from tutor.author.targets import NoTarget

PATHS = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
FORMAT = click.option(
    "--format",
    "format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="For people, programs, or a service that shows faults beside a change.",
)
MOST = click.option("--max", "most", type=click.IntRange(min=1), help="Show so many at most.")
STRICT = click.option("--strict", is_flag=True, help="Count warnings as faults.")


@click.command("lint")
@PATHS
@FORMAT
@STRICT
@MOST
@click.option("--explain", "rule", metavar="RULE", help="Show the page of a rule, and stop.")
def lint_command(
    paths: tuple[Path, ...], format: Format, strict: bool, most: int | None, rule: str | None
) -> int:
    """Find every fault of the packs or files at PATHS (the pack here, if none is given)."""
    if rule is not None:
        return explain(rule)
    from tutor.author.lint import lint

    try:
        linted = lint(paths)
    except NoTarget as error:
        raise click.UsageError(str(error)) from error
    text = rendered(linted.faults, format, most)
    if text:
        click.echo(text)
    click.echo(counted(linted.faults, linted.lessons), err=True)
    sys.stdout.flush()
    wrong = [fault for fault in linted.faults if strict or fault.severity == "error"]
    return 1 if wrong else 0


def explain(word: str) -> int:
    """Print the page of a rule."""
    from tutor.author.rulebook import NoRule, found, page

    try:
        click.echo(page(found(word)).rstrip())
    except NoRule as error:
        raise click.UsageError(str(error)) from error
    return 0
