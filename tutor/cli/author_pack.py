"""`author record`, `stats`, `diff` and `migrate`: what a pack is like, and how it changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tutor.lesson import Pack


@click.command("record")
@click.argument("pack", type=click.Path(path_type=Path))
@click.argument("lesson")
@click.option("--step", "step_id", required=True, metavar="ID", help="The step.")
def record_command(pack: Path, lesson: str, step_id: str) -> int:
    """Run the solution of a step of LESSON (group.name), and propose checks that hold for it.

    Delete what does not matter: each check is a way to refuse a right answer.
    """
    from tutor.author.recording import record
    from tutor.cli.author_explain import the_step
    from tutor.lesson.compile import solved
    from tutor.run import Runner

    found, step = the_step(pack / f"{lesson.replace('.', '/', 1)}.yaml", step_id)
    if not step.runs or not solved(step).strip():
        raise click.UsageError(f"The step {step_id} ({step.kind}) has no solution to run.")
    with Runner() as runner:
        proposals = record(runner, found, step)
    click.echo("checks:")
    for proposal in proposals:
        note = "  # the starter passes this too" if proposal.starter else ""
        click.echo(f"  - {proposal.text}{note}")
    return 0


@click.command("stats")
@click.argument("pack", type=click.Path(path_type=Path), default=Path())
def stats_command(pack: Path) -> int:
    """Print a pack in numbers: minutes, words, hints for each step, and its concepts."""
    from tutor.author.statistics import report

    loaded = _loaded(pack)
    for line in report(loaded):
        click.echo(line)
    if loaded.faults:
        click.echo(f"{len(loaded.faults)} faults: author lint shows them.", err=True)
    return 0


@click.command("diff")
@click.argument("old")
@click.argument("new", type=click.Path(path_type=Path), default=Path())
def diff_command(old: str, new: Path) -> int:
    """Say what the change from OLD to NEW does to progress.

    OLD is a folder, or a git revision of the pack NEW. It ends with 1 where somebody's progress
    would be lost or would count wrongly.
    """
    from tutor.author.changes import changes, pack_at
    from tutor.author.versions import NoHistory

    loaded = _loaded(new)
    try:
        with pack_at(old, loaded.folder) as before:
            found = list(changes(before, loaded))
    except NoHistory as error:
        raise click.UsageError(str(error)) from error
    for change in sorted(found, key=lambda change: change.weight):
        click.echo(f"{'LOOK  ' if change.weight == 'ask' else '      '}{change.text}")
    if not found:
        click.echo("Nothing that touches progress.")
    return 1 if any(change.weight == "ask" for change in found) else 0


@click.command("migrate")
@click.argument("pack", type=click.Path(path_type=Path))
@click.option("--to", "to", type=int, required=True, metavar="N", help="The format to reach.")
@click.option("--write", is_flag=True, help="Change the files; without it only the diff is shown.")
def migrate_command(pack: Path, to: int, write: bool) -> int:
    """Bring the files of PACK to a newer format; first look at the diff."""
    from tutor.author.migrating import NotMigrated, difference, migrated
    from tutor.author.targets import NoTarget, files

    try:
        found = files([pack])
    except NoTarget as error:
        raise click.UsageError(str(error)) from error
    changed: list[tuple[Path, str]] = []
    for path in found:
        shown = os.path.relpath(path)
        try:
            text = path.read_text(encoding="utf-8")
            made = migrated(text, to)
        except (NotMigrated, UnicodeDecodeError) as error:
            raise click.UsageError(f"{shown}: {error}.") from error
        if made != text:
            changed.append((path, made))
            click.echo(difference(text, made, shown), nl=False)
    if write:
        for path, made in changed:
            path.write_text(made, encoding="utf-8")
    state = "changed" if write else "to change (--write does)"
    told = f"{len(changed)} of {len(found)} files {state}"
    click.echo(told if changed else f"All {len(found)} files have format {to}.", err=True)
    return 0


def _loaded(path: Path) -> Pack:
    from tutor.author.targets import NoTarget, targets

    try:
        return targets([path])[0].load()
    except NoTarget as error:
        raise click.UsageError(str(error)) from error
