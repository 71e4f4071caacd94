"""`progress`: taking what you did to another machine, or to your teacher."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.group()
def progress() -> None:
    """Take your progress to another machine, and bring it together there."""


@progress.command("export")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file.")
def export_command(output: Path | None) -> int:
    """Write all that you did as lines of JSON, to standard output or a file."""
    from tutor.progress import export, progress_file

    try:
        data = export(progress_file())
        if output is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            output.write_bytes(data)
            click.echo(f"{_count(len(data.splitlines()), 'record')} written to {output}.", err=True)
    except BrokenPipeError:
        raise  # for `main`: the reader has gone, which is no trouble of ours
    except FileNotFoundError as error:
        if output is not None and error.filename == str(output):
            raise _refusal(error) from error
        raise click.ClickException("There is no progress yet, so nothing to export.") from error
    except OSError as error:
        raise _refusal(error) from error
    return 0


@progress.command("merge")
@click.argument("file", type=click.Path(path_type=Path))
def merge_command(file: Path) -> int:
    """Add what an exported FILE holds to the progress here. Doing it twice adds nothing."""
    from tutor.progress import merge, progress_file

    try:
        added, damaged = merge(progress_file(), file)
    except OSError as error:
        raise _refusal(error) from error
    click.echo(f"{_count(added, 'new record')} added.")
    if damaged:
        click.echo(f"{_count(damaged, 'line')} of {file} left out: not readable.", err=True)
    return 1 if damaged else 0


@progress.command("table")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file.")
def table_command(files: tuple[Path, ...], output: Path | None) -> int:
    """Make a table (CSV) of a class from the exported FILES of its learners.

    A row for each learner and step: how it stands, tries, hints, and when. A learner goes by
    the name of the file.
    """
    from tutor.progress import read, table

    damaged = 0
    learners = []
    try:
        for file in files:
            contents = read(file)
            learners.append((file.stem, contents.records))
            if contents.damaged:
                damaged += contents.damaged
                lines = _count(contents.damaged, "line")
                click.echo(f"{lines} of {file} left out: not readable.", err=True)
        text = table(learners)
        if output is None:
            click.echo(text, nl=False)
        else:
            output.write_text(text, encoding="utf-8")
            click.echo(f"{_count(len(files), 'learner')} written to {output}.", err=True)
    except BrokenPipeError:
        raise  # for `main`: the reader has gone, which is no trouble of ours
    except OSError as error:
        raise _refusal(error) from error
    return 1 if damaged else 0


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _refusal(error: OSError) -> click.ClickException:
    """One sentence about a file, in the words of the other commands."""
    if isinstance(error, FileNotFoundError) and error.filename:
        return click.ClickException(f"There is no file {error.filename}.")
    if isinstance(error, IsADirectoryError) and error.filename:
        return click.ClickException(f"{error.filename} is a folder. Name a file.")
    where = f"{error.filename}: " if error.filename else ""
    return click.ClickException(f"{where}{error.strerror or error}.")
