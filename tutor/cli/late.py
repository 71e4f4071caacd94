"""Groups of commands that are imported when they are asked for: the help imports none."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import click


class Entry(NamedTuple):
    """A command: `attribute` of a module, and its line in the help."""

    module: str
    attribute: str
    summary: str


class LateGroup(click.Group):
    """A group whose commands stand in the table `entries`, in the order of the help."""

    entries: dict[str, Entry]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        command = getattr(import_module(entry.module), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])
