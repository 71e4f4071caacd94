"""The command line: one module a command, imported only when that command is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from tutor.cli.root import Settings, autograd_tutor

FOUND, USAGE, FAULT = 1, 2, 3
"""Exit statuses besides 0: something was found, a wrong call, our own fault."""


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status; never raises for what a user can do wrong."""
    settings = Settings()
    try:
        result = autograd_tutor.main(
            args=None if args is None else list(args),
            prog_name="autograd-tutor",
            standalone_mode=False,
            obj=settings,
        )
        sys.stdout.flush()
    except click.Abort:
        return FOUND
    except click.ClickException as error:
        print(_refusal(error), file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        # Who read our output has gone; Python must not try to flush to it again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND
    except Exception as error:
        if settings.debug:
            raise
        print(_apology(error), file=sys.stderr)
        return FAULT
    return result if isinstance(result, int) else 0


def _refusal(error: click.ClickException) -> str:
    """What is wrong with a call, and where to read how it is done: one form for all commands."""
    text = f"Error: {error.format_message()}"
    text += "" if text.endswith((".", "?", "…", ":")) or "\n" in text else "."
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{text}\nHelp: {context.command_path} --help" if context is not None else text


def _apology(error: Exception) -> str:
    from tutor import __version__
    from tutor.cli.versions import python_version, torch_version

    what = f"{type(error).__name__}: {error}".rstrip(": ")
    return (
        f"autograd-tutor failed: {what}\n"
        "This is a fault of autograd-tutor, not of your code. Please report it to the project,\n"
        "with what you did and these versions: "
        f"autograd-tutor {__version__}, Python {python_version()}, torch {torch_version()}.\n"
        "To see where it happened: autograd-tutor --debug and then the same words."
    )
