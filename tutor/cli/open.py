"""`open`: the app's playground with a file."""

from __future__ import annotations

from pathlib import Path

import click

from tutor.cli.root import require_terminal
from tutor.cli.script import read_script


@click.command("open")
@click.argument("file", type=click.Path(path_type=Path))
def open_file(file: Path) -> int:
    """Open a Python file in the playground: run it, see what happened, change it, save it."""
    read_script(file)  # what cannot be read is refused here, not on a screen without it
    require_terminal()
    from tutor import app

    return app.run(file=str(file))
