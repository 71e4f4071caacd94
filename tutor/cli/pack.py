"""`pack`: packs of lessons that others wrote."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.group()
def pack() -> None:
    """Install packs of lessons that others wrote, or make yours ready for them."""


@pack.command("build")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
              help="The file to write (the pack's id and version, if not given).")  # fmt: skip
def build_command(folder: Path, output: Path | None) -> int:
    """Write the pack in FOLDER into one file that others can install."""
    from tutor.author.archives import build
    from tutor.author.lint import faults_of
    from tutor.lesson import load_pack

    loaded = load_pack(folder, torch="", shown=str(folder))
    wrong = [f for f in faults_of(loaded, str(folder)) if f.severity == "error"]
    if loaded.info is None or wrong:
        for fault in wrong:
            click.echo(fault.shown(), err=True)
        click.echo("Nothing was written: mend these faults first.", err=True)
        return 1
    out = output or Path(f"{loaded.info.id}-{loaded.info.version}.agpack")
    try:
        count = build(folder, out)
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {out}") from error
    click.echo(f"{count} files written to {out}.")
    return 0


@pack.command("install")
@click.argument("source")
@click.option("--yes", is_flag=True, help="Trust it without being asked.")
@click.option("--no-trust", "later", is_flag=True, help="Install it closed; `pack trust` opens it.")
def install_command(source: str, yes: bool, later: bool) -> int:
    """Install a pack from a file, a folder, or a git repository (URL@REVISION).

    What the pack would run is shown first, and you are asked once whether you trust it. Its code
    runs with the limits of all code here, and as your user.
    """
    from tutor.author.shelving import NotInstalled, install, offered, told
    from tutor.locations import packs_dir

    try:
        with offered(source) as offer:
            for line in told(offer.pack, offer.source, offer.digest):
                click.echo(line)
            if not later and not yes and not _asked():
                click.echo("Nothing was installed.")
                return 1
            install(offer, packs_dir(), trust=not later, taken=_taken(offer.id))
    except NotInstalled as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {error.filename}") from error
    click.echo("Installed." if not later else f"Installed; `pack trust {offer.id}` opens it.")
    return 0


def _asked() -> bool:
    if not sys.stdin.isatty():
        raise click.ClickException(
            "Nobody can be asked here. Say --yes to trust it, or --no-trust to decide later."
        )
    return click.confirm("Do you trust this pack?", default=False)


def _taken(but: str) -> frozenset[str]:
    """The lessons of all packs but one."""
    from tutor.lesson import load_pack
    from tutor.lesson.shelf import read_shelf
    from tutor.locations import lessons_dir, packs_dir

    found = set(load_pack(lessons_dir(), torch="").lessons)
    for pack_id in read_shelf(packs_dir()).packs:
        if pack_id != but:
            found |= set(load_pack(packs_dir() / pack_id, torch="").lessons)
    return frozenset(found)


@pack.command("list")
def list_command() -> int:
    """List the installed packs, and whether they are opened."""
    from tutor.author.shelving import state_of
    from tutor.lesson.shelf import read_shelf
    from tutor.locations import packs_dir

    known = read_shelf(packs_dir()).packs
    for pack_id, each in known.items():
        state = state_of(pack_id, each, packs_dir())
        click.echo(f"{pack_id} {each.version}  {each.title}  ({state}; from {each.source})")
    if not known:
        click.echo("No packs are installed.")
    return 0


@pack.command("remove")
@click.argument("pack_id", metavar="PACK")
def remove_command(pack_id: str) -> int:
    """Take a pack away. What you did in it stays in your progress."""
    from tutor.author.shelving import NotInstalled, remove
    from tutor.locations import packs_dir

    try:
        remove(pack_id, packs_dir())
    except NotInstalled as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{pack_id} is gone.")
    return 0


@pack.command("trust")
@click.argument("pack_id", metavar="PACK")
@click.option("--yes", is_flag=True, help="Trust it without being asked.")
def trust_command(pack_id: str, yes: bool) -> int:
    """Show what an installed pack would run, as it is now, and trust it."""
    from tutor.author.shelving import NotInstalled, missing, told, trust
    from tutor.lesson import load_pack
    from tutor.lesson.shelf import digest_of, read_shelf
    from tutor.locations import packs_dir

    shelf = packs_dir()
    known = read_shelf(shelf).packs
    if pack_id not in known:
        raise click.ClickException(missing(pack_id, known))
    place = shelf / pack_id
    loaded = load_pack(place, torch="", shown=pack_id)
    if loaded.info is None:
        told_of = "\n".join(fault.shown() for fault in loaded.faults)
        raise click.ClickException(told_of or f"{pack_id} cannot be read.")
    for line in told(loaded, known[pack_id].source, digest_of(place)):
        click.echo(line)
    if not yes and not _asked():
        return 1
    try:
        trust(pack_id, shelf)
    except (NotInstalled, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{pack_id} is trusted as it is now.")
    return 0
