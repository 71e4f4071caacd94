"""`author new`, `add`, `schema` and `fmt`: lesson files are made and brought into shape."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from tutor.author.targets import NoTarget
from tutor.lesson.steps import KINDS


@click.command("new")
@click.argument("pack", type=click.Path(path_type=Path))
@click.option("--licence", default="CC-BY-4.0", show_default=True, help="The pack's licence.")
def new_command(pack: Path, licence: str) -> int:
    """Make a pack with one lesson in a new folder PACK; TODO marks what you write."""
    from tutor.author.skeleton import NotMade, new_pack

    try:
        made = new_pack(pack, licence)
    except NotMade as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {error.filename}") from error
    for path in made:
        click.echo(f"made {path}")
    click.echo(
        f"Next: `autograd-tutor author lint {pack}` shows what is still to be written, and "
        f"`autograd-tutor author check {pack}` proves it."
    )
    return 0


@click.command("add")
@click.argument("pack", type=click.Path(path_type=Path))
@click.argument("lesson")
@click.option("--kind", type=click.Choice(KINDS), required=True, help="The kind of step.")
def add_command(pack: Path, lesson: str, kind: str) -> int:
    """Add a step to LESSON (group.name) of PACK; a new lesson is made and listed."""
    from tutor.author.skeleton import NotMade, add

    try:
        path = add(pack, lesson, kind)
    except NotMade as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {error.filename}") from error
    article = "an" if kind == "order" else "a"
    click.echo(f"added {article} {kind} step to {path}")
    return 0


@click.command("schema")
@click.option("--of", "kind", type=click.Choice(["lesson", "pack", "concepts"]), default="lesson",
              show_default=True, help="The kind of file.")  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
def schema_command(kind: str, out: Path | None) -> int:
    """Print the JSON Schema of a lesson file, by which editors complete and explain keys."""
    from tutor.author.schema import schema_of

    text = json.dumps(schema_of(kind), indent=1, ensure_ascii=False)  # type: ignore[arg-type]
    if out is None:
        click.echo(text)
        return 0
    try:
        out.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {out}") from error
    return 0


@click.command("fmt")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--check", "only_look", is_flag=True, help="Change nothing, and end with 1 if any would."
)
def fmt_command(paths: tuple[Path, ...], only_look: bool) -> int:
    """Bring lesson files into one shape: keys in order, code in blocks. Comments stay."""
    from tutor.author.targets import files
    from tutor.author.tidy import NotTidied, tidied

    changed = refused = 0
    try:
        found = files(paths)
    except NoTarget as error:
        raise click.UsageError(str(error)) from error
    for path in found:
        shown = os.path.relpath(path)
        try:
            data = path.read_bytes()
            text = data.decode("utf-8")
            made = tidied(text, shown)
        except (NotTidied, OSError, UnicodeDecodeError) as error:
            click.echo(f"left alone: {error}", err=True)
            refused += 1
            continue
        if made.encode() == data:
            continue
        changed += 1
        click.echo(f"{'would change' if only_look else 'changed'} {shown}")
        if not only_look:
            try:
                path.write_bytes(made.encode())
            except OSError as error:
                raise click.ClickException(f"{error.strerror}: {path}") from error
    sys.stdout.flush()
    return 1 if refused or (changed and only_look) else 0
