"""The root command: finds the command or the lesson that the first word names."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import click

from tutor import __version__
from tutor.cli.late import Entry, LateGroup

COMMANDS = {
    "open": Entry("tutor.cli.open", "open_file", "Open a Python file in the playground."),
    "explain": Entry("tutor.cli.explain", "explain", "Run a script and say what happened."),
    "why": Entry("tutor.cli.why", "why", "Explain a pasted error message or traceback."),
    "plain": Entry("tutor.cli.plain", "plain", "Walk through lessons by lines of text."),
    "progress": Entry("tutor.cli.progress", "progress", "Take your progress to another machine."),
    "author": Entry("tutor.cli.author", "author", "Write lessons, and prove what they promise."),
    "pack": Entry("tutor.cli.pack", "pack", "Install packs of lessons that others wrote."),
    "doctor": Entry("tutor.cli.doctor", "doctor", "Check that everything needed is there."),
}
"""In the order of the help, which is read without importing any of them."""


@dataclass
class Settings:
    """What the root's own options say."""

    debug: bool = False


class Commands(LateGroup):
    """The commands, imported late; other words are lessons."""

    entries = COMMANDS

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in COMMANDS:
            return super().resolve_command(ctx, args)
        # An option after an unknown word belongs to no command; a lesson takes none.
        refuse_unknown(args)
        return "start", start, args


@click.group(
    cls=Commands,
    invoke_without_command=True,
    subcommand_metavar="[LESSON[/STEP] | COMMAND [ARGS]...]",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="autograd-tutor %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of a fault of autograd-tutor.")
@click.pass_context
def autograd_tutor(ctx: click.Context, debug: bool) -> int:
    """Learn PyTorch autograd by running code and seeing what really happened.

    Without a command it opens the app where you left off, the first time at the first lesson;
    or at the lesson that you name: autograd-tutor inplace.version-counter/repair
    """
    ctx.ensure_object(Settings).debug = debug
    if ctx.invoked_subcommand is None:
        return open_app(None)
    return 0


def refuse_unknown(words: list[str]) -> None:
    """Refuse words that are neither a command nor one lesson. Raises `click.UsageError`."""
    first = words[0]
    near = get_close_matches(first, COMMANDS, n=1)
    hint = f" Did you mean `{near[0]}`?" if near else ""
    if Path(first).is_file():
        raise click.UsageError(f"{first} is a file. Try: autograd-tutor open {first}")
    if "." not in first or len(words) > 1:
        raise click.UsageError(
            f"There is no command {first!r}.{hint} "
            "A lesson is named by its group and its own name, as in basics.leaf."
        )


@click.command(add_help_option=False)
@click.argument("lesson")
def start(lesson: str) -> int:
    """Open the app at a lesson."""
    return open_app(lesson)


def open_app(lesson: str | None) -> int:
    """Open the app, where a terminal is there to show it; a newcomer gets the first lesson."""
    from tutor.cli.lessons import first_lesson, require_lesson

    require_lesson(lesson)
    require_terminal()
    lesson = lesson or first_lesson()
    from tutor import app

    return app.run(lesson)


def require_terminal() -> None:
    """Refuse where the app could not be seen or used. Raises `click.ClickException`."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.ClickException(
            "The app needs a terminal, and its input or output is not one here. "
            "`autograd-tutor plain` works with lines of text."
        )
