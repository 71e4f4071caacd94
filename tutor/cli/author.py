"""`author`: the commands for those who write lessons, each imported when it is asked for."""

from __future__ import annotations

import click

from tutor.cli.late import Entry, LateGroup

COMMANDS = {
    "new": Entry("tutor.cli.author_new", "new_command", "Make a pack to begin from."),
    "add": Entry("tutor.cli.author_new", "add_command", "Add a step to a lesson, or a lesson."),
    "record": Entry("tutor.cli.author_pack", "record_command", "Propose checks from a run."),
    "lint": Entry("tutor.cli.author_lint", "lint_command", "Find faults without running anything."),
    "check": Entry("tutor.cli.author_check", "check_command", "Prove all that lessons promise."),
    "preview": Entry("tutor.cli.author_preview", "preview_command", "See a lesson as you write."),
    "explain": Entry("tutor.cli.author_explain", "explain_command", "Why a code passes or not."),
    "diff": Entry("tutor.cli.author_pack", "diff_command", "What a change does to progress."),
    "migrate": Entry("tutor.cli.author_pack", "migrate_command", "Rewrite files of older formats."),
    "stats": Entry("tutor.cli.author_pack", "stats_command", "A pack in numbers."),
    "i18n": Entry("tutor.cli.author_i18n", "i18n_command", "Translate a pack."),
    "fmt": Entry("tutor.cli.author_new", "fmt_command", "Bring lesson files into one shape."),
    "schema": Entry("tutor.cli.author_new", "schema_command", "Print the schema for editors."),
}
"""In the order of the help."""


class Group(LateGroup):
    """The commands of `author`."""

    entries = COMMANDS


@click.group(cls=Group)
def author() -> None:
    """Write lessons: begin a pack, find its faults, prove what it promises, try it out."""
