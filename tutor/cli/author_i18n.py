"""`author i18n`: translations of a pack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tutor.lesson import Pack


@click.group("i18n")
def i18n_command() -> None:
    """See how far translations are, begin one, or bring one up to date."""


_LANGUAGE = click.argument("language")
_PACK = click.argument("pack", type=click.Path(path_type=Path), default=Path())


@i18n_command.command("status")
@_LANGUAGE
@_PACK
def status_command(language: str, pack: Path) -> int:
    """Say for each lesson how many strings are ready, stale or missing; 1 unless all are ready."""
    from tutor.author.translating import status, wrong

    loaded = _loaded(pack, language)
    for line in status(loaded, language):
        click.echo(line)
    missing = [line for line in status(loaded, language) if "missing" in line]
    return 1 if wrong(loaded, language) or missing else 0


@i18n_command.command("extract")
@_LANGUAGE
@_PACK
def extract_command(language: str, pack: Path) -> int:
    """Make a file of strings to translate for each lesson that has none."""
    from tutor.author.translating import extract

    for path in extract(_loaded(pack, language), language):
        click.echo(f"made {path}")
    return 0


@i18n_command.command("sync")
@_LANGUAGE
@_PACK
def sync_command(language: str, pack: Path) -> int:
    """Add strings that are new, and take out those whose source is gone."""
    from tutor.author.translating import sync

    for line in sync(_loaded(pack, language), language):
        click.echo(line)
    return 0


def _loaded(path: Path, language: str) -> Pack:
    from tutor.author.targets import NoTarget, targets
    from tutor.author.translating import LANGUAGE

    if LANGUAGE.match(language) is None:
        raise click.UsageError(f"{language} is no language: de or pt-BR are.")
    try:
        return targets([path])[0].load()
    except NoTarget as error:
        raise click.UsageError(str(error)) from error
